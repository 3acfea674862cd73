//! HTTP: what is asked is what is reached, nothing rides behind a request, and nobody can hold the proxy.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use super::origin::Origin;
use super::{Proxy, status};
use crate::proxy::resolve::Sources;
use crate::proxy::serve::Limits;

fn with_origin() -> (Origin, Proxy, String) {
    let origin = Origin::start();
    let authority = format!("127.0.0.1:{}", origin.port());
    let proxy = Proxy::start(&[&authority]);
    (origin, proxy, authority)
}

#[test]
fn the_server_is_told_what_was_asked_and_nothing_of_the_hop() {
    let (origin, proxy, at) = with_origin();
    let answer = proxy.ask(format!(
        "POST http://{at}/a/b?c=d HTTP/1.1\r\nHost: {at}\r\nProxy-Authorization: Basic eA==\r\nX-Kept: 1\r\n\
         Connection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\n\
         Keep-Alive: timeout=5\r\nContent-Length: 5\r\n\r\nhello"
    ));
    assert_eq!(status(&answer), 200);
    let seen = origin.seen().remove(0);
    assert!(seen.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("Host: {at}\r\n")) && seen.contains("X-Kept: 1"), "{seen}");
    assert!(seen.ends_with("\r\n\r\nhello"), "{seen}");
    let lower = seen.to_ascii_lowercase();
    for gone in ["proxy-", "x-hop", "te:", "upgrade", "keep-alive"] {
        assert!(!lower.contains(gone), "{gone} in {seen}");
    }
}

#[test]
fn a_request_that_says_two_things_is_refused() {
    let (origin, proxy, at) = with_origin();
    let port = origin.port();
    for request in [
        format!("GET http://{at}/ HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", port ^ 1),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nHost: {at}\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: x@{at}\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: \r\n\r\n"),
        format!("GET http://example.org@{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET http://{at}@example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        format!("GET https://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET ftp://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        "GET http://127.0.0.1:/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".into(),
        "GET http://127.0.0.1:0/ HTTP/1.1\r\nHost: 127.0.0.1:0\r\n\r\n".into(),
        format!("CONNECT 127.0.0.1 HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("CONNECT {at} HTTP/1.1\r\nHost: example.org:{port}\r\n\r\n"),
        format!("CONNECT x@{at} HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("CONNECT http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"),
        format!("POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n"),
        format!(
            "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
        ),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nX : y\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n folded: y\r\n\r\n"),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nX: {}\r\n\r\n", "y".repeat(300_000)),
        format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n{}\r\n", "X: y\r\n".repeat(200)),
        "\x16\x03\x01\x02\x00\x01\x00".into(),
        "nonsense\r\n\r\n".into(),
    ] {
        let answer = proxy.ask(&request);
        let code = if answer.is_empty() { 400 } else { status(&answer) };
        assert!((400..500).contains(&code), "{code} for {:?}", &request[..request.len().min(200)]);
    }
    assert_eq!(origin.seen(), Vec::<String>::new());
}

#[test]
fn a_hidden_second_request_is_judged_as_one() {
    let (origin, proxy, at) = with_origin();
    // Behind a length that ends early, the rest is the client's next request to the proxy, and refused.
    let answer = proxy.ask(format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 2\r\n\r\nokGET http://secret.example/ HTTP/1.1\r\nHost: secret.example\r\n\r\n"
    ));
    assert!(answer.contains("200 OK") && answer.contains("403 Forbidden"), "{answer}");
    // Inside a chunked body it stays a body: the origin sees one request.
    let hidden = format!("GET /hidden HTTP/1.1\r\nHost: {at}\r\n\r\n");
    let body = format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    proxy.ask(format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{body}"
    ));
    // Said twice, the chunks count (RFC 9112, 6.3) and the server hears of one length only.
    proxy.ask(format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
    ));
    proxy.ask(format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: {at}\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"
    ));
    let seen = origin.seen();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(seen[3].to_ascii_lowercase().matches("content-length").count(), 1, "{seen:?}");
    assert!(!seen[2].to_ascii_lowercase().contains("content-length"), "{seen:?}");
    assert!(seen[0].ends_with("\r\n\r\nok"), "{seen:?}");
    assert!(seen[1].starts_with("POST / "), "{seen:?}");
}

#[test]
fn several_requests_on_one_connection_each_reach_their_own() {
    let (first, second) = (Origin::start(), Origin::start());
    let at = |origin: &Origin| format!("127.0.0.1:{}", origin.port());
    let proxy = Proxy::start(&[at(&first)]);
    let request = |at: &str| format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n");
    let answer = proxy.ask(request(&at(&first)) + &request(&at(&second)) + &request(&at(&first)));
    assert_eq!(answer.matches(" 200 OK").count(), 2, "{answer}");
    assert_eq!(answer.matches(" 403 Forbidden").count(), 1, "{answer}");
    assert_eq!((first.seen().len(), second.seen().len()), (2, 0));
}

/// The far side answers only after it has seen the end of what it was sent.
#[test]
fn a_tunnel_passes_the_end_of_one_side_on() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(format!("got {}", all.len()).as_bytes()).unwrap();
    });
    let proxy = Proxy::start(&[&at]);
    let mut stream = proxy.connect();
    // The payload comes in one piece with the request's head.
    let mut message = format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n").into_bytes();
    message.extend(vec![b'x'; 1_000_000]);
    stream.write_all(&message).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\ngot 1000000"), "{answer}");
    server.join().unwrap();
}

#[test]
fn a_large_download_streams() {
    const SIZE: usize = 300 << 20;
    let origin = Origin::answering((Ipv4Addr::LOCALHOST, 0).into(), |stream, _| {
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes()).unwrap();
        let piece = vec![7; 1 << 20];
        for _ in 0..SIZE >> 20 {
            stream.write_all(&piece).unwrap();
        }
    });
    let at = format!("127.0.0.1:{}", origin.port());
    let proxy = Proxy::start(&[&at]);
    let mut stream = proxy.connect();
    let request = format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let before = resident();
    let (mut total, mut most, mut buffer) = (0, 0, vec![0; 1 << 20]);
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            length => total += length,
        }
        most = most.max(resident());
    }
    assert!(total > SIZE);
    assert!(most.saturating_sub(before) < 64 << 20, "{} bytes more", most - before);
}

/// Resident bytes of this process.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn slow_clients_are_cut_off_and_do_not_hold_others() {
    let origin = Origin::start();
    let at = format!("127.0.0.1:{}", origin.port());
    let short = Duration::from_millis(300);
    let limits = Limits { connections: 4, first_byte: short, head: short, ..Limits::default() };
    let proxy = Proxy::with(&[&at], Sources::parse("", ""), limits);
    let began = Instant::now();
    // Silent, one header byte at a time, and half a SOCKS greeting: together they take every place.
    let mut silent = proxy.connect();
    let mut slow = proxy.connect();
    slow.write_all(b"GET http://").unwrap();
    let mut socks = proxy.connect();
    socks.write_all(&[5]).unwrap();
    let mut dripping = proxy.connect();
    let drip = dripping.try_clone().unwrap();
    thread::spawn(move || {
        while (&drip).write_all(b"X").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(status(&proxy.get(&at)), 200);
    for stream in [&mut silent, &mut slow, &mut socks, &mut dripping] {
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// The far ends never close: a client that is gone must not hold its place for ever.
#[test]
fn tunnels_count_against_the_bound_until_their_client_is_gone() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap().to_string();
    thread::spawn(move || listener.incoming().map(Result::unwrap).collect::<Vec<_>>());
    let limits = Limits { connections: 2, lone: Duration::from_millis(300), ..Limits::default() };
    let proxy = Proxy::with(&[&at], Sources::parse("", ""), limits);
    let open = || {
        let mut stream = proxy.connect();
        stream.write_all(format!("CONNECT {at} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(900))).unwrap();
        let answered = stream.read(&mut [0; 64]).is_ok_and(|length| length > 0);
        (stream, answered)
    };
    let held = [open(), open()];
    assert!(held.iter().all(|(_, answered)| *answered));
    let (mut waiting, answered) = open();
    assert!(!answered, "a third tunnel while two are open and silent");
    drop(held);
    assert!(waiting.read(&mut [0; 64]).is_ok_and(|length| length > 0));
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let origin = Origin::answering((Ipv4Addr::LOCALHOST, 0).into(), |stream, _| {
        let _ = stream.read(&mut [0]);
    });
    let at = format!("127.0.0.1:{}", origin.port());
    let limits = Limits { answer: Duration::from_millis(300), ..Limits::default() };
    let proxy = Proxy::with(&[&at], Sources::parse("", ""), limits);
    assert_eq!(status(&proxy.get(&at)), 504);
    // One that is not there at all is another matter.
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().to_string();
    assert_eq!(status(&Proxy::start(&[&gone]).get(&gone)), 502);
}
