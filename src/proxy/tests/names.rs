//! Names: what they resolve to decides, and it is decided once.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::name_server;
use super::origin::{Origin, Says};
use super::{Proxy, status};
use crate::proxy::resolve::Sources;
use crate::proxy::serve::Limits;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_listed_address_works_and_the_same_unlisted_is_refused() {
    let origin = Origin::start();
    let authority = format!("127.0.0.1:{}", origin.port());
    let listed = Proxy::start(&[&authority]).get(&authority);
    assert_eq!(status(&listed), 200);
    assert!(listed.contains(&format!("reached {authority}")), "{listed}");

    let proxy = Proxy::start(&["example.org"]);
    let refused = proxy.get(&authority);
    assert_eq!(status(&refused), 403);
    assert!(refused.contains("in state \"testing\""), "{refused}");
    assert_eq!(proxy.refused()[0].add, Some(format!("hosts = [\"{authority}\"]")));
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn every_spelling_of_an_unlisted_address_is_refused() {
    let origin = Origin::start();
    let proxy = Proxy::start(&[&format!("127.0.0.2:{}", origin.port())]);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0",
        "localhost",
    ] {
        assert_eq!(status(&proxy.get(&format!("{host}:{}", origin.port()))), 403, "{host}");
    }
    assert_eq!(origin.seen().len(), 0);
}

#[test]
fn a_listed_name_must_not_lead_inside() {
    let origin = Origin::start();
    let names = name_server(|name, _| match name {
        "inside.example" => Says::Addresses(vec![ip("127.0.0.1")]),
        "mapped.example" => Says::Addresses(vec![ip("::ffff:127.0.0.1")]),
        "nat64.example" => Says::Addresses(vec![ip("64:ff9b::7f00:1")]),
        "alias.example" => Says::Alias("inside.example", vec![ip("127.0.0.1")]),
        "metadata.example" => Says::Addresses(vec![ip("169.254.169.254")]),
        _ => Says::NoSuchName,
    });
    let port = origin.port();
    let proxy = Proxy::with_names(&[format!("*.example:{port}")], &[names]);
    for host in ["inside", "mapped", "nat64", "alias", "metadata"] {
        let answer = proxy.get(&format!("{host}.example:{port}"));
        assert_eq!(status(&answer), 403, "{host}");
        assert!(answer.contains("it resolves to"), "{answer}");
    }
    assert_eq!(status(&proxy.get(&format!("nothing.example:{port}"))), 502);
    assert_eq!(origin.seen().len(), 0);
    assert!(proxy.refused().iter().all(|refused| refused.reason == "resolves_inside"));

    // The twin: with the address listed, the same names lead there.
    let proxy = Proxy::with_names(&[format!("*.example:{port}"), format!("127.0.0.1:{port}")], &[names]);
    for host in ["inside", "mapped", "alias"] {
        assert_eq!(status(&proxy.get(&format!("{host}.example:{port}"))), 200, "{host}");
    }
}

/// The name server gives the admitted address to every other question and the host's own in between. Whatever the order,
/// the unlisted server is never reached.
#[test]
fn rebinding_gains_nothing() {
    let (good, secret) = Origin::pair([127, 0, 0, 2], [127, 0, 0, 1]);
    let port = good.port();
    let names = name_server(|_, before| Says::Addresses(vec![ip(["127.0.0.2", "127.0.0.1"][before % 2])]));
    let proxy = Proxy::with_names(&[format!("a.example:{port}"), format!("127.0.0.2:{port}")], &[names]);
    let answers: Vec<u16> = (0..20).map(|_| status(&proxy.get(&format!("a.example:{port}")))).collect();
    assert_eq!(answers, [200, 403].repeat(10));
    assert_eq!(good.seen().len(), 10);
    assert_eq!(secret.seen().len(), 0);
}

#[test]
fn of_several_addresses_only_admitted_ones_are_dialled() {
    let (good, secret) = Origin::pair([127, 0, 0, 2], [127, 0, 0, 1]);
    let port = good.port();
    let names = name_server(|_, _| Says::Addresses(vec![ip("127.0.0.1"), ip("::1"), ip("127.0.0.2")]));
    let proxy = Proxy::with_names(&[format!("a.example:{port}"), format!("127.0.0.2:{port}")], &[names]);
    for _ in 0..5 {
        assert_eq!(status(&proxy.get(&format!("a.example:{port}"))), 200);
    }
    assert_eq!(secret.seen().len(), 0);
}

#[test]
fn an_address_that_does_not_answer_gives_way_to_the_next() {
    let good = Origin::at("127.0.0.2:0".parse().unwrap());
    let port = good.port();
    let names = name_server(|_, _| Says::Addresses(vec![ip("127.0.0.9"), ip("127.0.0.2")]));
    let proxy = Proxy::with_names(&[format!("a.example:{port}"), format!("127.0.0.0/8:{port}")], &[names]);
    assert_eq!(status(&proxy.get(&format!("a.example:{port}"))), 200);
    drop(good);
    let names = name_server(|_, _| Says::Addresses(vec![ip("127.0.0.9")]));
    let proxy = Proxy::with_names(&[format!("a.example:{port}"), format!("127.0.0.0/8:{port}")], &[names]);
    assert_eq!(status(&proxy.get(&format!("a.example:{port}"))), 502);
}

#[test]
fn long_answers_come_by_tcp_and_a_dead_server_gives_way() {
    let origin = Origin::start();
    let port = origin.port();
    let list = [format!("a.example:{port}"), format!("127.0.0.1:{port}")];
    let long = name_server(|_, _| Says::TooLong(vec![ip("127.0.0.1")]));
    assert_eq!(status(&Proxy::with_names(&list, &[long]).get(&format!("a.example:{port}"))), 200);
    let silent = name_server(|_, _| Says::Nothing);
    assert_eq!(status(&Proxy::with_names(&list, &[silent, long]).get(&format!("a.example:{port}"))), 200);
    let failing = name_server(|_, _| Says::Failure);
    assert_eq!(status(&Proxy::with_names(&list, &[failing]).get(&format!("a.example:{port}"))), 502);
}

#[test]
fn the_hosts_file_is_asked_first_and_judged_too() {
    let origin = Origin::start();
    let port = origin.port();
    let sources = || {
        let names = name_server(|_, _| Says::Addresses(vec![ip("127.0.0.9")]));
        Sources::parse("127.0.0.1 build.example\n", "").with_servers(&[names])
    };
    let both = [format!("build.example:{port}"), format!("127.0.0.1:{port}")];
    let proxy = Proxy::with(&both, sources(), Limits::default());
    assert_eq!(status(&proxy.get(&format!("Build.Example.:{port}"))), 200);
    let proxy = Proxy::with(&both[..1], sources(), Limits::default());
    assert_eq!(status(&proxy.get(&format!("build.example:{port}"))), 403);
}

/// A question to a name server is a message to whoever runs the domain.
#[test]
fn a_name_that_is_not_listed_is_not_asked_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let names = name_server(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        Says::NoSuchName
    });
    let proxy = Proxy::with_names(&["listed.example"], &[names]);
    for host in ["secret.evil.example", "secret.listed.example", "listed.example:8080", "evil.example:443"] {
        assert_eq!(status(&proxy.get(host)), 403, "{host}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert_eq!(status(&proxy.get("listed.example")), 502);
    assert!(asked.load(Ordering::Relaxed) > 0);
}
