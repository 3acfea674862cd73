//! SOCKS5: names are resolved outside, addresses must be listed, nothing but CONNECT.

use std::io::{Read, Write};
use std::net::IpAddr;

use super::Proxy;
use super::name_server;
use super::origin::{Origin, Says};

/// The reply code and what came after it, for a request in the given form.
fn ask(proxy: &Proxy, command: u8, kind: u8, address: &[u8], port: u16) -> (u8, String) {
    let mut stream = proxy.connect();
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut method = [0; 2];
    stream.read_exact(&mut method).unwrap();
    assert_eq!(method, [5, 0]);
    stream.write_all(&[&[5, command, 0, kind], address, &port.to_be_bytes()].concat()).unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).unwrap();
    let mut rest = String::new();
    if reply[1] == 0 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_to_string(&mut rest).unwrap();
    }
    (reply[1], rest)
}

fn name(name: &str) -> Vec<u8> {
    [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat()
}

#[test]
fn names_and_addresses_by_the_list() {
    let origin = Origin::start();
    let port = origin.port();
    let inside: IpAddr = "127.0.0.1".parse().unwrap();
    let names = name_server(move |name, _| match name {
        "a.example" | "b.example" => Says::Addresses(vec![inside]),
        _ => Says::NoSuchName,
    });
    let list = [format!("a.example:{port}"), format!("gone.example:{port}"), format!("127.0.0.1:{port}")];
    let proxy = Proxy::with_names(&list, &[names]);
    let (code, text) = ask(&proxy, 1, 3, &name("A.example."), port);
    assert_eq!(code, 0);
    assert!(text.contains("reached 127.0.0.1"), "{text}");
    assert_eq!(ask(&proxy, 1, 1, &[127, 0, 0, 1], port).0, 0);
    // An address in the place of a name is an address.
    assert_eq!(ask(&proxy, 1, 3, &name("2130706433"), port).0, 0);
    assert_eq!(ask(&proxy, 1, 3, &name("gone.example"), port).0, 4);
    for (kind, address, port) in [
        (3, name("b.example"), port),
        (3, name("a.example"), port ^ 1),
        (1, vec![127, 0, 0, 2], port),
        (4, [0; 15].into_iter().chain([1]).collect(), port),
        (3, name("0x7f.0.0.2"), port),
        (3, name("a b"), port),
        (3, name("a.example"), 0),
    ] {
        assert_eq!(ask(&proxy, 1, kind, &address, port).0, 2, "{kind} {address:?}");
    }
    // BIND and UDP are not offered.
    assert_eq!(ask(&proxy, 2, 3, &name("a.example"), port).0, 7);
    assert_eq!(ask(&proxy, 3, 3, &name("a.example"), port).0, 7);
    assert_eq!(origin.seen().len(), 3);
}

#[test]
fn without_its_address_listed_a_name_does_not_lead_inside() {
    let origin = Origin::start();
    let port = origin.port();
    let names = name_server(|_, _| Says::Addresses(vec!["127.0.0.1".parse().unwrap()]));
    let proxy = Proxy::with_names(&[format!("a.example:{port}")], &[names]);
    assert_eq!(ask(&proxy, 1, 3, &name("a.example"), port).0, 2);
    assert_eq!(origin.seen().len(), 0);
}
