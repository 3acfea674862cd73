//! Sockets by family, type and protocol. Where packets may go is not decided here but by the network namespace.
//!
//! MPTCP, SCTP, SMC and TCP Fast Open pass Landlock's TCP rules, netlink, vsock, packet and crypto sockets are kernel
//! surface: only plain TCP and UDP are left.

use super::super::rule::Answer::{Allow, Family, Operation, Protocol};
use super::super::rule::When::{Always, IpSockets, NoSockets, UnixSockets};
use super::super::rule::{Case, Condition, Entry};
use super::{allow, any, is, judged, masked, refuse};

const UNIX: Condition = is(0, 1);
const INET: Condition = is(0, 2);
const INET6: Condition = is(0, 10);
const NETLINK: Condition = is(0, 16);

/// `SOCK_TYPE_MASK`; above it are SOCK_CLOEXEC and SOCK_NONBLOCK.
const TYPE: u32 = 0xF;
const STREAM: Condition = masked(1, TYPE, 1);
const DATAGRAM: Condition = masked(1, TYPE, 2);
const RAW: Condition = masked(1, TYPE, 3);

const DEFAULT: Condition = is(2, 0);
const TCP: Condition = is(2, 6);
const UDP: Condition = is(2, 17);

const fn protocol(all: &'static [Condition]) -> Case {
    Case { all, answer: Protocol }
}

const fn operation(all: &'static [Condition]) -> Case {
    Case { all, answer: Operation }
}

const MSG_FASTOPEN: u32 = 0x2000_0000;

pub(super) const ROWS: &[Entry] = &[
    judged(
        "socket",
        (41, 198),
        NoSockets,
        &[refuse(&[UNIX]), refuse(&[INET]), refuse(&[INET6])],
        Family,
        "no sockets in this state",
    ),
    judged(
        "socket",
        (41, 198),
        UnixSockets,
        &[allow(&[UNIX]), refuse(&[INET]), refuse(&[INET6])],
        Family,
        "no network in this state",
    ),
    judged(
        "socket",
        (41, 198),
        IpSockets,
        &[
            allow(&[UNIX]),
            allow(&[INET, STREAM, DEFAULT]),
            allow(&[INET, STREAM, TCP]),
            allow(&[INET, DATAGRAM, DEFAULT]),
            allow(&[INET, DATAGRAM, UDP]),
            allow(&[INET6, STREAM, DEFAULT]),
            allow(&[INET6, STREAM, TCP]),
            allow(&[INET6, DATAGRAM, DEFAULT]),
            allow(&[INET6, DATAGRAM, UDP]),
            allow(&[NETLINK, DEFAULT]),
            refuse(&[INET, RAW]),
            refuse(&[INET6, RAW]),
            protocol(&[INET]),
            protocol(&[INET6]),
        ],
        Family,
        "plain TCP and UDP and the list of interfaces (route netlink); other families and protocols are kernel surface",
    ),
    judged(
        "socketpair",
        (53, 199),
        Always,
        &[allow(&[UNIX])],
        Family,
        "pairs of other families are kernel surface",
    ),
    judged("sendto", (44, 206), IpSockets, &[operation(&[any(3, MSG_FASTOPEN)])], Allow, FAST_OPEN),
    judged("sendmsg", (46, 211), IpSockets, &[operation(&[any(2, MSG_FASTOPEN)])], Allow, FAST_OPEN),
    judged("sendmmsg", (307, 269), IpSockets, &[operation(&[any(3, MSG_FASTOPEN)])], Allow, FAST_OPEN),
];

const FAST_OPEN: &str = "connects without connect(2): passes every check of connections";
