//! The host list of a command: what its entries mean, and the verdict on a target and on each address it resolves to. Pure.
//!
//! Danger: this is the whole wall between a jailed command and the network. What no entry names is refused, and a name
//! that resolves to an inner address is refused although the name is listed.

use core::net::IpAddr;
use std::fmt;

use super::address::{AddressClass, AddressRange};
use super::target::{BadHost, Host, Target};

/// Ports of an entry that names none.
pub const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// The word after an entry that lets its names resolve to private addresses.
const PRIVATE: &str = "private";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Any,
    Name(String),
    /// Names below this one, not itself.
    Below(String),
    Range(AddressRange),
}

/// One entry: `host`, `host:port`, `*.example.org`, `*`, `10.0.0.5:8080`, `10.0.0.0/8`, `[fd00::1]:443`, and
/// `host private`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    port: Option<u16>,
    private: bool,
}

/// Why an entry is not accepted: an entry that could not be enforced as it reads is an error, never ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` is no host entry: {problem}")]
pub struct BadEntry {
    /// The entry as written.
    pub entry: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A parsed host list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList {
    entries: Vec<Entry>,
}

/// That a name or an address is listed, and how far its resolution may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    private: bool,
}

/// Why a target is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// No entry names the host.
    NotListed,
    /// The host is listed, with other ports.
    PortNotListed,
    /// An address is asked for and no entry names it.
    AddressNotListed(AddressClass),
    /// The listed name resolves to such an address.
    ResolvesInside(IpAddr, AddressClass),
}

impl Refused {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotListed => "host_not_listed",
            Self::PortNotListed => "port_not_listed",
            Self::AddressNotListed(_) => "address_not_listed",
            Self::ResolvesInside(..) => "resolves_inside",
        }
    }

    /// The entry that would let the target pass; none where following it without thought would hand out credentials.
    pub fn entry_to_add(self, target: &Target) -> Option<String> {
        let port = match target.port {
            0 => return None,
            port if DEFAULT_PORTS.contains(&port) => String::new(),
            port => format!(":{port}"),
        };
        match self {
            Self::NotListed | Self::PortNotListed => Some(format!("{}{port}", target.host)),
            Self::AddressNotListed(class) => {
                may_be_suggested(class).then(|| format!("{}{port}", target.host))
            }
            Self::ResolvesInside(_, AddressClass::Private) => {
                Some(format!("{}{port} {PRIVATE}", target.host))
            }
            Self::ResolvesInside(address, class) => {
                may_be_suggested(class).then(|| format!("{}{port}", Host::Address(address)))
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("it is not in the list"),
            Self::PortNotListed => f.write_str("it is in the list, but not with this port"),
            Self::AddressNotListed(class) => {
                write!(f, "{class} must be in the list as an address")
            }
            Self::ResolvesInside(address, class) => write!(f, "it resolves to {address}, {class}"),
        }
    }
}

/// Whether a line that opens an address of this class may be suggested to somebody who adds it without thought.
pub fn may_be_suggested(class: AddressClass) -> bool {
    matches!(class, AddressClass::Public | AddressClass::Private | AddressClass::Loopback)
}

/// Whether a text is an entry; what is wrong with it where it is none.
pub fn check(text: &str) -> Result<(), BadEntry> {
    Entry::parse(text).map(|_| ()).map_err(|problem| BadEntry { entry: text.to_owned(), problem })
}

impl HostList {
    /// Reads the entries; all that are wrong at once.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, Vec<BadEntry>> {
        let mut list = Self::default();
        let mut bad = Vec::new();
        for text in entries.iter().map(AsRef::as_ref) {
            match Entry::parse(text) {
                Ok(entry) => list.entries.push(entry),
                Err(problem) => bad.push(BadEntry { entry: text.to_owned(), problem }),
            }
        }
        if bad.is_empty() { Ok(list) } else { Err(bad) }
    }

    /// Every port that some entry grants, sorted.
    pub fn ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self
            .entries
            .iter()
            .flat_map(|entry| match &entry.port {
                Some(port) => std::slice::from_ref(port),
                None => &DEFAULT_PORTS,
            })
            .copied()
            .collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether a target may be resolved and dialled at all.
    pub fn admit(&self, target: &Target) -> Result<Grant, Refused> {
        let named = || self.entries.iter().filter(|entry| entry.pattern.names(&target.host));
        let mut granted = named().filter(|entry| entry.has_port(target.port)).peekable();
        if granted.peek().is_some() {
            return Ok(Grant { private: granted.any(|entry| entry.private) });
        }
        Err(match &target.host {
            _ if named().next().is_some() => Refused::PortNotListed,
            Host::Name(_) => Refused::NotListed,
            Host::Address(address) => Refused::AddressNotListed(AddressClass::of(*address)),
        })
    }

    /// Whether an address that an admitted target resolved to may be dialled.
    pub fn admit_address(&self, grant: Grant, address: IpAddr, port: u16) -> Result<(), Refused> {
        let address = address.to_canonical();
        let class = AddressClass::of(address);
        let as_such = |entry: &Entry| entry.has_port(port) && entry.pattern.names(&Host::Address(address));
        match class {
            AddressClass::Public => Ok(()),
            AddressClass::Private if grant.private => Ok(()),
            _ if self.entries.iter().any(as_such) => Ok(()),
            _ => Err(Refused::ResolvesInside(address, class)),
        }
    }
}

impl Pattern {
    fn names(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, Host::Name(_)) => true,
            (Self::Name(name), Host::Name(asked)) => name == asked,
            (Self::Below(parent), Host::Name(asked)) => {
                asked.strip_suffix(parent.as_str()).is_some_and(|front| front.ends_with('.'))
            }
            (Self::Range(range), Host::Address(address)) => range.contains(*address),
            (Self::Any | Self::Name(_) | Self::Below(_), Host::Address(_))
            | (Self::Range(_), Host::Name(_)) => false,
        }
    }
}

impl Entry {
    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| DEFAULT_PORTS.contains(&port), |own| own == port)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        let first = words.next().ok_or("it is empty")?;
        let private = match (words.next(), words.next()) {
            (None, _) => false,
            (Some(PRIVATE), None) => true,
            _ => return Err(format!("after the host only the word `{PRIVATE}` may stand")),
        };
        if first.contains("://") {
            return Err("write the host alone, without a scheme".into());
        }
        let (host, port) = split_port(first)?;
        let pattern = Pattern::parse(host)?;
        if private && matches!(pattern, Pattern::Any | Pattern::Range(_)) {
            return Err(format!("`{PRIVATE}` belongs to a name; list private addresses as a range"));
        }
        Ok(Self { pattern, port, private })
    }
}

/// Splits `host:port`; a bare IPv6 address has none.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let bare_v6 = !text.starts_with('[') && text.matches(':').count() > 1;
    let bracket_ends_it = text.ends_with(']');
    let (false, false, Some((host, port))) = (bare_v6, bracket_ends_it, text.rsplit_once(':')) else {
        return Ok((text, None));
    };
    match port.parse::<u16>() {
        Ok(number) if number > 0 && port.bytes().all(|b| b.is_ascii_digit()) => Ok((host, Some(number))),
        _ => Err(format!("`{port}` is no port (1 to 65535)")),
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(parent) = text.strip_prefix("*.") {
            return match Host::parse(parent) {
                Ok(Host::Name(name)) => Ok(Self::Below(name)),
                Ok(Host::Address(_)) => Err("`*.` stands before a name, not an address".into()),
                Err(bad) => Err(explain(bad, parent)),
            };
        }
        if text.contains('*') {
            return Err("`*` stands alone or as the first label, `*.example.org`".into());
        }
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Some((first, prefix)) = inner.split_once('/') {
            let address: IpAddr =
                first.parse().map_err(|_| format!("`{first}` is no address; a path cannot be listed"))?;
            if address.to_canonical() != address {
                return Err(format!("write it as IPv4, `{}`", address.to_canonical()));
            }
            let prefix = prefix.parse().map_err(|_| format!("`{prefix}` is no prefix length"))?;
            return AddressRange::new(address, prefix)
                .map(Self::Range)
                .ok_or_else(|| "the range has bits set below its prefix, or too long a prefix".into());
        }
        match Host::parse(text) {
            Ok(Host::Name(name)) => Ok(Self::Name(name)),
            Ok(Host::Address(address)) => match inner.parse::<IpAddr>() {
                Ok(_) => Ok(Self::Range(AddressRange::single(address))),
                Err(_) => Err(format!("write the address as `{address}`")),
            },
            Err(bad) => Err(explain(bad, text)),
        }
    }
}

fn explain(bad: BadHost, text: &str) -> String {
    match bad {
        BadHost::OddCharacter if text.contains('/') => "write the host alone, without a path".into(),
        _ => bad.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> HostList {
        HostList::parse(entries).unwrap()
    }

    fn target(host: &str, port: u16) -> Target {
        Target { host: Host::parse(host).unwrap(), port }
    }

    #[test]
    fn entries_against_targets() {
        use Refused::*;
        let public = AddressNotListed(AddressClass::Public);
        type Row<'a> = (&'a [&'a str], &'a str, u16, Result<(), Refused>);
        let table: &[Row] = &[
            (&[], "example.org", 443, Err(NotListed)),
            (&["example.org"], "example.org", 443, Ok(())),
            (&["example.org"], "EXAMPLE.org.", 80, Ok(())),
            (&["Example.ORG."], "example.org", 80, Ok(())),
            (&["example.org"], "example.org", 22, Err(PortNotListed)),
            (&["example.org"], "example.org", 8080, Err(PortNotListed)),
            (&["example.org:22"], "example.org", 22, Ok(())),
            (&["example.org:22"], "example.org", 443, Err(PortNotListed)),
            (&["example.org", "example.org:22"], "example.org", 443, Ok(())),
            (&["example.org"], "www.example.org", 443, Err(NotListed)),
            (&["example.org"], "example.org.evil.net", 443, Err(NotListed)),
            (&["example.org"], "evilexample.org", 443, Err(NotListed)),
            (&["*.example.org"], "example.org", 443, Err(NotListed)),
            (&["*.example.org"], "a.example.org", 443, Ok(())),
            (&["*.example.org"], "a.b.example.org", 443, Ok(())),
            (&["*.example.org"], "evilexample.org", 443, Err(NotListed)),
            (&["*.example.org"], "example.org.evil.net", 443, Err(NotListed)),
            (&["*.example.org:8443"], "a.example.org", 8443, Ok(())),
            (&["*"], "anything.example", 443, Ok(())),
            (&["*"], "anything.example", 22, Err(PortNotListed)),
            (&["*"], "93.184.216.34", 443, Err(public)),
            (&["*"], "127.0.0.1", 443, Err(AddressNotListed(AddressClass::Loopback))),
            (&["93.184.216.34"], "93.184.216.34", 443, Ok(())),
            (&["93.184.216.34"], "1572395042", 443, Ok(())),
            (&["93.184.216.34"], "[::ffff:93.184.216.34]", 443, Ok(())),
            (&["127.0.0.1:8080"], "0x7f.1", 8080, Ok(())),
            (&["127.0.0.1:8080"], "127.0.0.1", 80, Err(PortNotListed)),
            (&["127.0.0.1:8080"], "127.0.0.2", 8080, Err(AddressNotListed(AddressClass::Loopback))),
            (&["10.0.0.0/8"], "10.9.8.7", 443, Ok(())),
            (&["10.0.0.0/8:5432"], "10.9.8.7", 5432, Ok(())),
            (&["10.0.0.0/8"], "11.0.0.1", 443, Err(public)),
            (&["fd00::1"], "[fd00::1]", 443, Ok(())),
            (&["[fd00::1]:8080"], "[fd00:0::1]", 8080, Ok(())),
            (&["fd00::/8"], "[fd12::9]", 443, Ok(())),
            (&["[fd00::/8]:81"], "[fd12::9]", 81, Ok(())),
            (&["xn--bcher-kva.example"], "XN--bcher-kva.example", 443, Ok(())),
        ];
        for (entries, host, port, verdict) in table {
            assert_eq!(
                list(entries).admit(&target(host, *port)).map(|_| ()),
                *verdict,
                "{entries:?} {host}:{port}"
            );
        }
    }

    #[test]
    fn addresses_after_resolution() {
        let judge = |entries: &[&str], host: &str, address: &str, port| {
            let list = list(entries);
            let grant = list.admit(&target(host, port)).unwrap();
            list.admit_address(grant, address.parse().unwrap(), port).is_ok()
        };
        assert!(judge(&["a.example"], "a.example", "93.184.216.34", 443));
        assert!(judge(&["a.example"], "a.example", "::ffff:93.184.216.34", 443));
        for inner in [
            "127.0.0.1",
            "0.0.0.0",
            "10.0.0.1",
            "169.254.169.254",
            "fd00:ec2::254",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "224.0.0.1",
            "240.0.0.1",
        ] {
            assert!(!judge(&["a.example"], "a.example", inner, 443), "{inner}");
            assert!(!judge(&["*"], "a.example", inner, 443), "{inner} by *");
        }
        assert!(judge(&["a.example private"], "a.example", "10.0.0.1", 443));
        assert!(judge(&["a.example private"], "a.example", "fd00::1", 443));
        assert!(judge(&["*.example private"], "a.example", "192.168.0.1", 443));
        for never in ["127.0.0.1", "169.254.169.254", "fd00:ec2::254", "169.254.0.1", "0.0.0.0", "::1"] {
            assert!(!judge(&["a.example private"], "a.example", never, 443), "{never}");
        }
        // The mark belongs to its entry and its port.
        assert!(!judge(&["a.example", "b.example private"], "a.example", "10.0.0.1", 443));
        assert!(!judge(&["a.example", "a.example:8080 private"], "a.example", "10.0.0.1", 443));
        // A listed address admits names that resolve to it, at its ports only.
        assert!(judge(&["a.example", "10.0.0.0/24"], "a.example", "10.0.0.9", 443));
        assert!(!judge(&["a.example", "10.0.0.0/24"], "a.example", "10.0.1.9", 443));
        assert!(!judge(&["a.example", "127.0.0.1:8080"], "a.example", "127.0.0.1", 443));
        assert!(judge(&["a.example", "169.254.169.254"], "a.example", "169.254.169.254", 80));
    }

    #[test]
    fn entries_that_cannot_hold_are_errors() {
        for bad in [
            "",
            " ",
            "https://example.org",
            "example.org/path",
            "example.org:0",
            "example.org:65536",
            "example.org:+80",
            "example.org:https",
            "example.org:*",
            "foo*.example.org",
            "*example.org",
            "a.*.example.org",
            "**.example.org",
            "*.",
            "*.*",
            "*.127.0.0.1",
            "bücher.example",
            "user@example.org",
            "example.org public",
            "example.org private twice",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "10.0.0.0/8 private",
            "* private",
            "::ffff:0:0/96",
            "127.1",
            "0x7f000001",
            "2130706433",
            "[fd00::1]8080",
            "[fd00::1",
            "fe80::1%eth0",
            "exa mple.org",
        ] {
            assert!(HostList::parse(&[bad]).is_err(), "{bad:?}");
        }
        let all = HostList::parse(&["a b", "ok.example", "c d"]).unwrap_err();
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn the_entry_to_add_is_exact_and_parses() {
        use AddressClass::*;
        let add = |refused: Refused, host, port| refused.entry_to_add(&target(host, port));
        assert_eq!(add(Refused::NotListed, "a.example", 443).as_deref(), Some("a.example"));
        assert_eq!(add(Refused::NotListed, "a.example", 8080).as_deref(), Some("a.example:8080"));
        assert_eq!(add(Refused::PortNotListed, "a.example", 22).as_deref(), Some("a.example:22"));
        assert_eq!(add(Refused::AddressNotListed(Private), "[fd00::1]", 81).as_deref(), Some("[fd00::1]:81"));
        let inner: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(
            add(Refused::ResolvesInside(inner, Private), "a.example", 443).as_deref(),
            Some("a.example private")
        );
        let own: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(
            add(Refused::ResolvesInside(own, Loopback), "a.example", 81).as_deref(),
            Some("127.0.0.1:81")
        );
        assert_eq!(add(Refused::AddressNotListed(Metadata), "169.254.169.254", 80), None);
        for text in ["a.example:8080", "[fd00::1]:81", "a.example private", "127.0.0.1:81"] {
            assert!(HostList::parse(&[text]).is_ok(), "{text}");
        }
    }

    #[test]
    fn ports_of_a_list() {
        assert_eq!(list(&["a.example", "b.example:22", "c.example:443"]).ports(), [22, 80, 443]);
        assert_eq!(list(&["b.example:22"]).ports(), [22]);
    }
}
