//! Whom a client asks for: a host name in one canonical spelling, or an address in any of its spellings, and a port.
//!
//! Danger: two spellings of one address must never be judged differently. What resolvers and C libraries would take for an
//! address (`2130706433`, `0x7f.1`, `017700000001`) is an address here, and what is neither name nor address is refused.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// A host as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name: lower case, no trailing dot, letters, digits, `-` and `_` only.
    Name(String),
    /// An address; a mapped one is its IPv4 address.
    Address(IpAddr),
}

/// Why a text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// More than 253 bytes.
    #[error("it is longer than 253 bytes")]
    TooLong,
    /// An internationalised name that was not converted.
    #[error("it has characters outside ASCII; the `xn--` form is needed")]
    NotAscii,
    /// A character that no host name has.
    #[error("it has a character that host names do not have")]
    OddCharacter,
    /// An empty label, one over 63 bytes, or one with `-` at an end.
    #[error("a label is empty, too long, or has `-` at an end")]
    BadLabel,
    /// It ends like an address and is none.
    #[error("it looks like an address and is none")]
    BadAddress,
}

impl Host {
    /// Reads a host as clients spell it: `Example.ORG.`, `[::1]`, `0x7f.1`.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        if text.is_empty() {
            return Err(BadHost::Empty);
        }
        if !text.is_ascii() {
            return Err(BadHost::NotAscii);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(BadHost::BadAddress)?;
            return v6(inner).ok_or(BadHost::BadAddress);
        }
        if text.contains(':') {
            return v6(text).ok_or(BadHost::BadAddress);
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() {
            return Err(BadHost::Empty);
        }
        if text.len() > 253 {
            return Err(BadHost::TooLong);
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
            return Err(BadHost::OddCharacter);
        }
        if text.rsplit('.').next().is_some_and(is_number) {
            return number_v4(text).map(|v4| Self::Address(v4.into())).ok_or(BadHost::BadAddress);
        }
        if text.split('.').any(|label| {
            label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-')
        }) {
            return Err(BadHost::BadLabel);
        }
        Ok(Self::Name(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(v4)) => write!(f, "{v4}"),
            Self::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
        }
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn v6(text: &str) -> Option<Host> {
    let address: Ipv6Addr = text.parse().ok()?;
    Some(Host::Address(IpAddr::V6(address).to_canonical()))
}

/// Whether a last label makes the whole an address: digits, or `0x` and hex digits.
fn is_number(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit())
        || hex_digits(label).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn hex_digits(label: &str) -> Option<&str> {
    label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"))
}

/// What `inet_aton` reads: one to four numbers, decimal, octal or hexadecimal, the last filling the remaining bytes.
fn number_v4(text: &str) -> Option<Ipv4Addr> {
    let numbers = text.split('.').map(number).collect::<Option<Vec<u32>>>()?;
    let (&last, leading) = numbers.split_last()?;
    let free = 4_usize.checked_sub(leading.len()).filter(|&free| free > 0)?;
    if free < 4 && last >= 1 << (8 * free) {
        return None;
    }
    let mut bits = last;
    for (index, &part) in leading.iter().enumerate() {
        bits |= u32::from(u8::try_from(part).ok()?) << (24 - 8 * index);
    }
    Some(Ipv4Addr::from(bits))
}

fn number(label: &str) -> Option<u32> {
    match hex_digits(label) {
        Some("") => Some(0),
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if label.len() > 1 && label.starts_with('0') => u32::from_str_radix(label, 8).ok(),
        None => label.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Host {
        Host::Address(text.parse().unwrap())
    }

    #[test]
    fn every_spelling_of_an_address() {
        for text in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0X7F.0.0.1",
            "0x7f.1",
            "017700000001",
            "0177.0.0.01",
            "0177.0x0.0.1",
            "00000177.1",
            "[::ffff:127.0.0.1]",
            "::ffff:7f00:1",
            "[0:0:0:0:0:ffff:7f00:0001]",
        ] {
            assert_eq!(Host::parse(text), Ok(address("127.0.0.1")), "{text}");
        }
        assert_eq!(Host::parse("0"), Ok(address("0.0.0.0")));
        assert_eq!(Host::parse("0x"), Ok(address("0.0.0.0")));
        assert_eq!(Host::parse("1.2.772"), Ok(address("1.2.3.4")));
        assert_eq!(Host::parse("4294967295"), Ok(address("255.255.255.255")));
        assert_eq!(Host::parse("[::1]"), Ok(address("::1")));
        assert_eq!(Host::parse("[::]"), Ok(address("::")));
        assert_eq!(Host::parse("[64:ff9b::a00:1]"), Ok(address("64:ff9b::10.0.0.1")));
    }

    #[test]
    fn names_have_one_spelling() {
        for text in ["Example.ORG", "example.org.", "EXAMPLE.org"] {
            assert_eq!(Host::parse(text), Ok(Host::Name("example.org".into())), "{text}");
        }
        assert_eq!(Host::parse("_dns.example"), Ok(Host::Name("_dns.example".into())));
        assert_eq!(Host::parse("xn--bcher-kva.example"), Ok(Host::Name("xn--bcher-kva.example".into())));
        assert_eq!(Host::parse("localhost"), Ok(Host::Name("localhost".into())));
        assert_eq!(Host::parse("1password.com"), Ok(Host::Name("1password.com".into())));
    }

    #[test]
    fn neither_name_nor_address() {
        use BadHost::*;
        let long = format!("{}.example", "a.".repeat(130));
        let label = format!("{}.example", "a".repeat(64));
        let table = [
            ("", Empty),
            (".", Empty),
            ("bücher.example", NotAscii),
            ("example\u{ff0e}org", NotAscii),
            ("127\u{3002}0.0.1", NotAscii),
            ("\u{2460}27.0.0.1", NotAscii),
            ("a b", OddCharacter),
            ("a/b", OddCharacter),
            ("a@b", OddCharacter),
            ("a%2eb", OddCharacter),
            ("a\tb", OddCharacter),
            ("a\0b", OddCharacter),
            ("a#b", OddCharacter),
            ("*.example", OddCharacter),
            ("a..b", BadLabel),
            (".a", BadLabel),
            ("a..", BadLabel),
            ("-a.example", BadLabel),
            ("a-.example", BadLabel),
            (long.as_str(), TooLong),
            (label.as_str(), BadLabel),
            ("1.2.3.4.5", BadAddress),
            ("256.0.0.1", BadAddress),
            ("1.2.3.256", BadAddress),
            ("1.2.65536", BadAddress),
            ("4294967296", BadAddress),
            ("09.1.1.1", BadAddress),
            ("1..1", BadAddress),
            ("a.example.1", BadAddress),
            ("example.0x7f", BadAddress),
            ("[::1", BadAddress),
            ("[127.0.0.1]", BadAddress),
            ("[fe80::1%eth0]", BadAddress),
            ("[v1.x]", BadAddress),
            ("::g", BadAddress),
            ("a:b", BadAddress),
        ];
        for (text, why) in table {
            assert_eq!(Host::parse(text), Err(why), "{text}");
        }
    }

    /// One number in one of the spellings that C libraries read.
    fn spelled(number: u64, base: u8, zeros: usize) -> String {
        let zeros = "0".repeat(zeros);
        match base {
            8 => format!("0{zeros}{number:o}"),
            16 => format!("0x{zeros}{number:x}"),
            17 => format!("0X{zeros}{number:X}"),
            _ => number.to_string(),
        }
    }

    proptest::proptest! {
        #[test]
        fn an_address_is_an_address_however_it_is_spelled(
            bits: u32,
            parts in 1_usize..=4,
            bases in proptest::array::uniform4(proptest::sample::select(vec![8_u8, 10, 16, 17])),
            zeros in 0_usize..3,
            dot: bool,
        ) {
            let octets = bits.to_be_bytes().map(u64::from);
            let mut words: Vec<String> = (0..parts - 1).map(|at| spelled(octets[at], bases[at], zeros)).collect();
            let rest = octets[parts - 1..].iter().fold(0, |sum, octet| sum << 8 | octet);
            words.push(spelled(rest, bases[parts - 1], zeros));
            let text = words.join(".") + if dot { "." } else { "" };
            proptest::prop_assert_eq!(Host::parse(&text), Ok(Host::Address(Ipv4Addr::from(bits).into())), "{}", text);
        }

        #[test]
        fn what_is_read_is_read_the_same_again(text in "[a-zA-Z0-9._:\\[\\]x*@%-]{0,30}|.{0,20}") {
            if let Ok(host) = Host::parse(&text) {
                proptest::prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }
    }
}
