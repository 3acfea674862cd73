//! The proxy against real servers on loopback: a name server, origin servers, and clients that misbehave.

mod http;
mod names;
mod origin;
mod socks;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::dial::Gate;
use super::log::{Log, RefusedHost, Report};
use super::resolve::{Resolver, Sources};
use super::serve::{self, Limits};
use crate::hosts::HostList;

/// A proxy in a thread of its own, as the process runs it.
struct Proxy {
    address: SocketAddr,
    gate: Arc<Gate>,
}

impl Proxy {
    fn start<S: AsRef<str>>(hosts: &[S]) -> Self {
        Self::with(hosts, Sources::parse("", ""), Limits::default())
    }

    fn with_names<S: AsRef<str>>(hosts: &[S], servers: &[SocketAddr]) -> Self {
        Self::with(hosts, Sources::parse("", "").with_servers(servers), Limits::default())
    }

    fn with<S: AsRef<str>>(hosts: &[S], sources: Sources, limits: Limits) -> Self {
        let list = HostList::parse(hosts).unwrap();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let gate = Arc::new(Gate {
                    list,
                    resolver: Resolver::new(sources),
                    log: Log::new("testing"),
                    limits,
                });
                tell.send(Arc::clone(&gate)).unwrap();
                serve::serve(gate, tokio::net::TcpListener::from_std(listener).unwrap()).await;
            });
        });
        Self { address, gate: told.recv().unwrap() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes, ends the sending side, gives all that comes back. The proxy may break off what it will not read on.
    fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(request.as_ref()).and_then(|()| stream.shutdown(Shutdown::Write));
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8_lossy(&answer).into_owned(),
        }
    }

    fn get(&self, authority: &str) -> String {
        self.ask(format!(
            "GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        ))
    }

    fn refused(&self) -> Vec<RefusedHost> {
        let lines: Vec<String> =
            self.gate.log.lines().iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        Report::read(&lines.join("\n")).refused
    }
}

fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status in {answer:?}"))
}

fn name_server(says: impl Fn(&str, usize) -> origin::Says + Send + Sync + 'static) -> SocketAddr {
    origin::name_server_at((Ipv4Addr::LOCALHOST, 0).into(), says)
}
