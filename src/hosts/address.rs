//! What kind of place an IP address is, so that a listed name cannot be pointed at something inside.
//!
//! Danger: a class too few here lets a name that resolves to an inner address through. Everything that is not known to be
//! a public unicast address has a class of its own, and an address that carries another (NAT64, 6to4, mapped) has the
//! class of what it carries.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// The kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressClass {
    /// A public unicast address.
    Public,
    /// RFC 1918, carrier-grade NAT, unique local, site-local.
    Private,
    /// The host itself.
    Loopback,
    /// The directly attached network.
    LinkLocal,
    /// A cloud's metadata service: credentials are read there.
    Metadata,
    /// A group of receivers.
    Multicast,
    /// `0.0.0.0` or `::`, which Linux dials as loopback.
    Unspecified,
    /// Documentation, benchmarks, broadcast, retired tunnels, not assigned.
    Reserved,
}

impl AddressClass {
    /// The class of an address, looking through every embedding.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        if METADATA_V4.contains(&address) {
            return Self::Metadata;
        }
        match address.octets() {
            [0, 0, 0, 0] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [224..=239, ..] => Self::Multicast,
            [0 | 240..=255, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if METADATA_V6.contains(&address) {
            return Self::Metadata;
        }
        let segments = address.segments();
        let low = v4(segments[6], segments[7]);
        match segments {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Mapped, and the translated form of RFC 2765.
            [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Self::of_v4(low),
            // Compatible addresses are retired: what they carry, and never public.
            [0, 0, 0, 0, 0, 0, ..] => Self::of_v4(low).but_not_public(),
            // The well-known NAT64 prefix is how a host with IPv6 only reaches public IPv4.
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => Self::of_v4(low),
            // A site's own NAT64 prefix: what is behind it is the site's business.
            [0x64, 0xff9b, 1, ..] => Self::of_v4(low).but_not_public_then(Self::Private),
            [0x2002, a, b, ..] => Self::of_v4(v4(a, b)),
            // Teredo, benchmarks, ORCHID and the rest of the IETF block.
            [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Reserved,
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Self::Private,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // ISATAP carries an IPv4 address in its interface identifier.
            [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, ..] => Self::of_v4(low),
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }

    fn but_not_public(self) -> Self {
        self.but_not_public_then(Self::Reserved)
    }

    fn but_not_public_then(self, instead: Self) -> Self {
        if self == Self::Public { instead } else { self }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Private => "a private address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud metadata address",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "the unspecified address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Metadata services of the large clouds; some lie in ranges that are otherwise private or even public.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// A range of addresses, `10.0.0.0/8` or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    prefix: u8,
}

impl AddressRange {
    /// One address.
    pub fn single(address: IpAddr) -> Self {
        Self { first: address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// The addresses that share the first `prefix` bits with `first`; `None` when `first` is not the first of them.
    pub fn new(first: IpAddr, prefix: u8) -> Option<Self> {
        let range = Self { first, prefix };
        let host_bits = match first {
            IpAddr::V4(_) if prefix > 32 => return None,
            IpAddr::V6(_) if prefix > 128 => return None,
            IpAddr::V4(v4) => u128::from(v4.to_bits() & !mask32(prefix)),
            IpAddr::V6(v6) => v6.to_bits() & !mask128(prefix),
        };
        (host_bits == 0).then_some(range)
    }

    /// Whether the address lies in the range; `::ffff:10.0.0.1` is `10.0.0.1`.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(it)) => it.to_bits() & mask32(self.prefix) == first.to_bits(),
            (IpAddr::V6(first), IpAddr::V6(it)) => it.to_bits() & mask128(self.prefix) == first.to_bits(),
            _ => false,
        }
    }
}

fn mask32(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

fn mask128(prefix: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        use AddressClass::*;
        let table = [
            ("93.184.216.34", Public),
            ("1.1.1.1", Public),
            ("100.63.255.255", Public),
            ("100.128.0.0", Public),
            ("172.15.0.1", Public),
            ("172.32.0.1", Public),
            ("192.0.1.1", Public),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("100.127.255.255", Private),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("169.254.1.1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("168.63.129.16", Metadata),
            ("100.100.100.200", Metadata),
            ("224.0.0.1", Multicast),
            ("239.255.255.250", Multicast),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Reserved),
            ("240.0.0.1", Reserved),
            ("255.255.255.255", Reserved),
            ("192.0.2.1", Reserved),
            ("198.18.0.1", Reserved),
            ("198.19.255.255", Reserved),
            ("198.51.100.7", Reserved),
            ("203.0.113.9", Reserved),
            ("192.88.99.1", Reserved),
            ("2606:2800:220:1::1", Public),
            ("2a00:1450::1", Public),
            ("::", Unspecified),
            ("::1", Loopback),
            ("::127.0.0.1", Loopback),
            ("::8.8.8.8", Reserved),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", Metadata),
            ("::ffff:10.0.0.1", Private),
            ("::ffff:8.8.8.8", Public),
            ("::ffff:0:127.0.0.1", Loopback),
            ("64:ff9b::8.8.8.8", Public),
            ("64:ff9b::10.0.0.1", Private),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b::127.0.0.1", Loopback),
            ("64:ff9b:1::8.8.8.8", Private),
            ("64:ff9b:1::127.0.0.1", Loopback),
            ("2002:7f00:1::1", Loopback),
            ("2002:a00:1::", Private),
            ("2002:a9fe:a9fe::", Metadata),
            ("2001::1", Reserved),
            ("2001:db8::1", Reserved),
            ("3fff::1", Reserved),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("fc00::1", Private),
            ("fd12:3456::1", Private),
            ("fec0::1", Private),
            ("fe80::1", LinkLocal),
            ("ff02::1", Multicast),
            ("100::1", Reserved),
            ("4000::1", Reserved),
            ("2a00:1::5efe:127.0.0.1", Loopback),
            ("2a00:1::200:5efe:10.1.2.3", Private),
        ];
        for (text, class) in table {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(AddressClass::of(address), class, "{text}");
        }
    }

    #[test]
    fn ranges() {
        let range = |first: &str, prefix| AddressRange::new(first.parse().unwrap(), prefix);
        let ten = range("10.0.0.0", 8).unwrap();
        assert!(ten.contains("10.255.1.2".parse().unwrap()));
        assert!(ten.contains("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!ten.contains("11.0.0.0".parse().unwrap()));
        assert!(!ten.contains("64:ff9b::10.0.0.1".parse().unwrap()));
        assert!(range("0.0.0.0", 0).unwrap().contains("8.8.8.8".parse().unwrap()));
        assert!(!range("0.0.0.0", 0).unwrap().contains("::1".parse().unwrap()));
        let ula = range("fd00::", 8).unwrap();
        assert!(ula.contains("fd12::1".parse().unwrap()) && !ula.contains("fc00::1".parse().unwrap()));
        assert_eq!(range("10.0.0.1", 8), None);
        assert_eq!(range("10.0.0.0", 33), None);
        assert_eq!(range("fd00::", 129), None);
        let one = AddressRange::single("127.0.0.1".parse().unwrap());
        assert!(one.contains("127.0.0.1".parse().unwrap()) && !one.contains("127.0.0.2".parse().unwrap()));
    }
}
