//! Servers to reach: an HTTP origin that tells what it was sent, and a name server whose answers a test chooses.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A server of one connection at a time; keeps what each was sent.
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    pub(super) fn start() -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into())
    }

    /// Answers each request with the address that was reached.
    pub(super) fn at(address: SocketAddr) -> Self {
        Self::answering(address, |stream, _| address_reached(stream))
    }

    /// Two on the same port of two addresses. The port is free on the first by asking and on the second by luck, so
    /// another is taken where it is not.
    pub(super) fn pair(first: [u8; 4], second: [u8; 4]) -> (Self, Self) {
        loop {
            let listener = TcpListener::bind((Ipv4Addr::from(first), 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            if let Ok(other) = TcpListener::bind((Ipv4Addr::from(second), port)) {
                let serve = |listener| Self::serving(listener, |stream, _| address_reached(stream));
                return (serve(listener), serve(other));
            }
        }
    }

    pub(super) fn answering(
        address: SocketAddr,
        answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
    ) -> Self {
        Self::serving(TcpListener::bind(address).unwrap(), answer)
    }

    fn serving(listener: TcpListener, answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let request = read_request(&mut stream);
                keep.lock().unwrap().push(request.clone());
                answer(&mut stream, &request);
            }
        });
        Self { address, seen }
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn address_reached(stream: &mut TcpStream) {
    let body = format!("reached {}", stream.local_addr().unwrap());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
}

/// A head and a body of its declared length.
fn read_request(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        text.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).map(str::trim);
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    text.extend(body);
    String::from_utf8_lossy(&text).into_owned()
}

/// What a name server says to a question.
pub(super) enum Says {
    Addresses(Vec<IpAddr>),
    /// An alias, and its addresses.
    Alias(&'static str, Vec<IpAddr>),
    NoSuchName,
    Failure,
    Nothing,
    /// By UDP only that the answer is too long; by TCP the addresses.
    TooLong(Vec<IpAddr>),
}

/// A name server; `says` gets the name and how many questions for IPv4 came before.
pub(super) fn name_server_at(
    at: SocketAddr,
    says: impl Fn(&str, usize) -> Says + Send + Sync + 'static,
) -> SocketAddr {
    // The kernel gives a port that is free for UDP; for TCP it may be taken.
    let (udp, tcp) = std::iter::repeat_with(|| UdpSocket::bind(at).unwrap())
        .find_map(|udp| TcpListener::bind(udp.local_addr().unwrap()).ok().map(|tcp| (udp, tcp)))
        .unwrap();
    let address = udp.local_addr().unwrap();
    let says = Arc::new(says);
    let count = Arc::new(Mutex::new(0));
    let (tcp_says, tcp_count) = (Arc::clone(&says), Arc::clone(&count));
    thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((length, client)) = udp.recv_from(&mut buffer) {
            if let Some(answer) = reply(&buffer[..length], says.as_ref(), &count, true) {
                udp.send_to(&answer, client).unwrap();
            }
        }
    });
    thread::spawn(move || {
        for stream in tcp.incoming() {
            let (mut stream, says, count) = (stream.unwrap(), Arc::clone(&tcp_says), Arc::clone(&tcp_count));
            thread::spawn(move || {
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut question).unwrap();
                    let answer = reply(&question, says.as_ref(), &count, false).unwrap();
                    stream.write_all(&u16::try_from(answer.len()).unwrap().to_be_bytes()).unwrap();
                    stream.write_all(&answer).unwrap();
                }
            });
        }
    });
    address
}

fn reply(
    question: &[u8],
    says: &impl Fn(&str, usize) -> Says,
    count: &Mutex<usize>,
    udp: bool,
) -> Option<Vec<u8>> {
    let mut at = 12;
    let mut labels = Vec::new();
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    let (name_end, section_end) = (at + 1, at + 5);
    let wants_v4 = question[name_end..name_end + 2] == [0, 1];
    let before = {
        let mut count = count.lock().unwrap();
        *count += usize::from(wants_v4);
        count.saturating_sub(1)
    };
    let (code, truncated, alias, addresses) = match says(&labels.join("."), before) {
        Says::Addresses(addresses) => (0, false, None, addresses),
        Says::Alias(alias, addresses) => (0, false, Some(alias), addresses),
        Says::NoSuchName => (3, false, None, Vec::new()),
        Says::Failure => (2, false, None, Vec::new()),
        Says::Nothing => return None,
        Says::TooLong(_) if udp => (0, true, None, Vec::new()),
        Says::TooLong(addresses) => (0, false, None, addresses),
    };
    let mut answers: Vec<Vec<u8>> = Vec::new();
    let mut owner = vec![0xc0, 12];
    if let Some(alias) = alias {
        let mut wire: Vec<u8> =
            alias.split('.').flat_map(|l| [&[byte(l.len())], l.as_bytes()].concat()).collect();
        wire.push(0);
        answers.push(record(&owner, 5, &wire));
        owner = wire;
    }
    for address in addresses {
        match address {
            IpAddr::V4(v4) if wants_v4 => answers.push(record(&owner, 1, &v4.octets())),
            IpAddr::V6(v6) if !wants_v4 => answers.push(record(&owner, 28, &v6.octets())),
            _ => {}
        }
    }
    let mut reply = question[..2].to_vec();
    reply.extend([0x81 | if truncated { 2 } else { 0 }, 0x80 | code, 0, 1]);
    reply.extend(u16::try_from(answers.len()).unwrap().to_be_bytes());
    reply.extend([0, 0, 0, 0]);
    reply.extend(&question[12..section_end]);
    reply.extend(answers.concat());
    Some(reply)
}

fn record(owner: &[u8], kind: u8, data: &[u8]) -> Vec<u8> {
    [owner, &[0, kind, 0, 1, 0, 0, 0, 0, 0, byte(data.len())], data].concat()
}

fn byte(length: usize) -> u8 {
    u8::try_from(length).unwrap()
}
