//! Names to addresses by the host's configuration: `/etc/hosts` first, then the name servers of `/etc/resolv.conf`.
//!
//! Danger: the binary is static, so the C library's name services are not there; and what a name server says is judged by
//! the caller, never dialled from here. Nothing is cached: the addresses of one answer are judged and dialled together.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use domain::base::Name;
use domain::resolv::StubResolver;
use domain::resolv::stub::conf::{ResolvConf, ServerConf, Transport};

/// How long one name may take; the library repeats a lost question after five seconds.
const TIME_LIMIT: Duration = Duration::from_secs(11);
/// Like the C library: more name servers and suffixes than these are not asked.
const SERVERS: usize = 3;
const SUFFIXES: usize = 6;

/// In a static binary the source of question ids is a file that is opened at first use, and then kept: to be called while
/// files can be opened, on the thread that will ask.
pub(super) fn prepare_randomness() {
    domain::base::Header::new().set_random_id();
}

/// Why a name has no address.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookupError {
    /// The name servers know none.
    #[error("it does not resolve")]
    NoAddress,
    /// No name server answered.
    #[error("no name server answered: {0}")]
    NoAnswer(io::Error),
}

/// Where names are looked up, read once.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Sources {
    hosts: HashMap<String, Vec<IpAddr>>,
    servers: Vec<SocketAddr>,
    suffixes: Vec<String>,
    dots: usize,
}

impl Sources {
    /// Reads the texts of `/etc/hosts` and `/etc/resolv.conf`. Lines that make no sense are skipped, as the C library does.
    pub(super) fn parse(hosts: &str, resolv_conf: &str) -> Self {
        let mut sources = Self { dots: 1, ..Self::default() };
        for line in lines(hosts, &['#']) {
            let mut words = line.split_ascii_whitespace();
            let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
            for name in words {
                sources.hosts.entry(name.to_ascii_lowercase()).or_default().push(address);
            }
        }
        for line in lines(resolv_conf, &['#', ';']) {
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") if sources.servers.len() < SERVERS => {
                    if let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) {
                        sources.servers.push(SocketAddr::new(address, 53));
                    }
                }
                Some("search" | "domain") => {
                    sources.suffixes = words
                        .map(|suffix| suffix.trim_matches('.').to_owned())
                        .filter(|suffix| !suffix.is_empty())
                        .take(SUFFIXES)
                        .collect();
                }
                Some("options") => {
                    for dots in words.filter_map(|word| word.strip_prefix("ndots:")?.parse().ok()) {
                        sources.dots = dots;
                    }
                }
                _ => {}
            }
        }
        if sources.servers.is_empty() {
            sources.servers.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 53));
        }
        sources
    }

    /// With these name servers instead of the configured ones.
    #[cfg(test)]
    pub(super) fn with_servers(mut self, servers: &[SocketAddr]) -> Self {
        self.servers = servers.to_vec();
        self
    }

    /// The ports on which name servers are asked.
    pub(super) fn server_ports(&self) -> impl Iterator<Item = u16> {
        self.servers.iter().map(SocketAddr::port)
    }

    /// The absolute names to ask for, in order. A name with a dot is first taken as it is: a suffix must not answer for a
    /// listed name that exists.
    fn candidates(&self, name: &str) -> Vec<String> {
        let dots = name.matches('.').count();
        let mut candidates = Vec::new();
        if dots < self.dots.max(1) {
            candidates.extend(self.suffixes.iter().map(|suffix| format!("{name}.{suffix}")));
        }
        candidates.insert(if dots == 0 { candidates.len() } else { 0 }, name.to_owned());
        candidates
    }
}

/// Looks names up.
#[derive(Debug)]
pub(super) struct Resolver {
    sources: Sources,
    stub: StubResolver,
}

impl Resolver {
    /// A resolver over these sources; must be made inside the runtime that uses it.
    pub(super) fn new(sources: Sources) -> Self {
        let mut conf = ResolvConf::new();
        conf.servers = sources.servers.iter().map(|&at| ServerConf::new(at, Transport::UdpTcp)).collect();
        conf.options.timeout = TIME_LIMIT;
        Self { stub: StubResolver::from_conf(conf), sources }
    }

    /// The addresses of a name in canonical spelling, never empty.
    pub(super) async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        if let Some(addresses) = self.sources.hosts.get(name) {
            return Ok(addresses.clone());
        }
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let mut failed = LookupError::NoAddress;
        for candidate in self.sources.candidates(name) {
            let Ok(question) = Name::<Vec<u8>>::from_chars(candidate.chars()) else { continue };
            match tokio::time::timeout(TIME_LIMIT, self.stub.lookup_host(question)).await {
                Ok(Ok(found)) => {
                    let addresses: Vec<IpAddr> = found.iter().collect();
                    if !addresses.is_empty() {
                        return Ok(addresses);
                    }
                }
                Ok(Err(error)) => failed = LookupError::NoAnswer(error),
                Err(_) => failed = LookupError::NoAnswer(io::ErrorKind::TimedOut.into()),
            }
        }
        Err(failed)
    }
}

fn lines<'a>(text: &'a str, comment: &'a [char]) -> impl Iterator<Item = &'a str> {
    text.lines().map(move |line| line.split(comment).next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_a_host() {
        let sources = Sources::parse(
            "127.0.0.1 localhost\n10.1.2.3 Build.Corp build # old\n::1 ip6-localhost\nnonsense here\n",
            "# made by hand\nnameserver 10.0.0.2\nnameserver 2001:db8::1\nnameserver fe80::1%eth0\nnameserver 10.0.0.3\n\
             nameserver 10.0.0.4\nsearch corp.example. example\noptions ndots:2 edns0\nlookup file\n",
        );
        assert_eq!(sources.hosts["build.corp"], ["10.1.2.3".parse::<IpAddr>().unwrap()]);
        assert_eq!(sources.hosts["build"], sources.hosts["build.corp"]);
        assert!(!sources.hosts.contains_key("old"));
        let servers: Vec<String> = sources.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["10.0.0.2:53", "[2001:db8::1]:53", "10.0.0.3:53"]);
        assert_eq!(sources.candidates("git"), ["git.corp.example", "git.example", "git"]);
        assert_eq!(sources.candidates("a.b"), ["a.b", "a.b.corp.example", "a.b.example"]);
        assert_eq!(sources.candidates("a.b.c"), ["a.b.c"]);
    }

    #[test]
    fn without_configuration_the_own_server_is_asked() {
        let sources = Sources::parse("", "");
        assert_eq!(sources.servers, ["127.0.0.1:53".parse().unwrap()]);
        assert_eq!(sources.candidates("git"), ["git"]);
        assert_eq!(sources.candidates("git.example"), ["git.example"]);
    }
}
