//! Refusals of the network: what was asked for, and what would give it. Pure.
//!
//! Danger: what is suggested is added without thought. An address that hands out credentials is suggested to nobody, and
//! a line that would not help sends an agent round in circles.

use std::net::SocketAddr;

use super::attribute::{Grant, Ground, nothing, profile, tools};
use crate::hosts::{AddressClass, may_be_suggested};
use crate::policy::{NetworkRight, Right, right};
use crate::supervisor::{Denial, Target};

/// What stands for an address where the socket itself was refused.
pub(super) const SOCKETS: [&str; 3] = ["ipv4", "ipv6", "unix"];

/// Whether a refusal tells no host: a name server was to be asked, or not even a socket was had.
pub(super) fn is_question(denial: &Denial) -> bool {
    is_name_server(denial)
        || matches!(&denial.target, Target::Address(address) if SOCKETS.contains(&address.as_str()))
}

/// Whether a name server was to be asked.
pub(super) fn is_name_server(denial: &Denial) -> bool {
    matches!(&denial.target, Target::Address(address) if address.ends_with(":53"))
}

/// The right that an address needs, and what gives it.
pub(super) fn of_address(ground: &Ground<'_>, address: &str) -> (Right, Grant) {
    if is_own(address) {
        return (Right::Loopback, tools(Right::Loopback));
    }
    if !right::holds(ground.law, Right::Network)
        && matches!(ground.rights.network, NetworkRight::None | NetworkRight::Loopback)
    {
        return (Right::Network, tools(Right::Network));
    }
    if matches!(ground.rights.network, NetworkRight::Hosts(_)) {
        return (
            Right::Network,
            nothing(
                "with a host list no connection is direct: use the proxy that HTTP_PROXY names, also as socks5h:// (see docs/network.md)",
            ),
        );
    }
    let socket = address.parse::<SocketAddr>().ok();
    if socket.is_some_and(|socket| !may_be_suggested(AddressClass::of(socket.ip()))) {
        return (Right::Network, nothing("whether such an address may be reached, a person decides"));
    }
    let unnamed = SOCKETS.contains(&address) || address.ends_with(":53");
    let entry = if unnamed { "HOST" } else { address.strip_suffix(":443").unwrap_or(address) };
    let grant = match &ground.law.jail.network {
        Some(_) => Grant::State { line: format!("\"network\": [… , {entry:?}]") },
        None => profile("network", format!("hosts = [{entry:?}]")),
    };
    (Right::Network, grant)
}

/// Whether an address is the command's own loopback.
pub(super) fn is_own(address: &str) -> bool {
    let own = ["127.", "[::1]", "localhost:"];
    own.iter().any(|own| address.starts_with(own)) || matches!(address, "localhost" | "::1")
}

#[cfg(test)]
mod tests {
    use super::super::attribute::attribute;
    use super::super::attribute::tests::{connecting, with_ground};
    use super::*;
    use crate::classify::Environment;
    use crate::policy::Rights;
    use crate::supervisor::Cause;

    #[test]
    fn a_question_about_the_own_loopback_asks_for_no_right() {
        let here = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        let line = "python3 -m http.server --bind ::1";
        for (state, hosts, ended_well, right, incidental) in [
            ("testing", &["::1", "localhost"][..], true, Right::Network, true),
            ("testing", &["::1"], false, Right::Network, false),
            ("testing", &["::1", "example.org"], true, Right::Network, false),
            ("planning", &["::1"], true, Right::Loopback, false),
        ] {
            with_ground(state, line, &here, |ground| {
                let refused = connecting("10.0.0.2:53", Cause::Network, libc::ENETUNREACH, hosts, ended_well);
                let denied = attribute(ground, refused);
                assert_eq!((denied.right, denied.incidental), (right, incidental), "{state} {ended_well}");
                assert!(!denied.hosts.contains(&"::1".to_owned()) || state == "planning");
            });
        }
    }

    #[test]
    fn what_was_tried_past_the_proxy_is_not_said_to_be_missing_in_the_list() {
        let here = Environment { cwd: "/w".into(), home: "/home/u".into(), ..Environment::default() };
        with_ground("testing", "python3 x.py", &here, |ground| {
            for (address, hosts) in [("203.0.113.7:443", &[][..]), ("10.0.0.2:53", &["listed.example"])] {
                let rights = Rights {
                    network: NetworkRight::Hosts(vec!["listed.example".into()]),
                    ..ground.rights.clone()
                };
                let refused = connecting(address, Cause::Network, libc::ENETUNREACH, hosts, false);
                let denied = attribute(&Ground { rights: &rights, ..*ground }, refused);
                assert!(
                    matches!(&denied.grant, Grant::Nothing { why } if why.contains("HTTP_PROXY")),
                    "{address}"
                );
                assert_eq!(denied.forward, None);
            }
        });
    }
}
