//! What a line does on the command's own loopback: a request to a server that it has started itself, and a server that
//! waits there. Where the state gives a loopback that needs no tool for a network: `curl -s localhost:3000` reaches nobody
//! else.
//!
//! Danger: an address is only text here, and options send a request elsewhere. So it counts for the programs of a table,
//! without the options that do that, and the jail gives such a line no more than the loopback; where a list of commands
//! may give a network to the whole line it does not count at all.

use super::law::StateLaw;
use super::right::{self, Right};
use crate::classify::{ClassifiedSegment, Op, OpClass, Subject};

/// A program that asks an address, and the letters of its options after which it asks somebody else or something else.
const CLIENTS: [(&str, &str); 2] = [("curl", "xK"), ("wget", "ei")];

/// Names of netcat, of which there are several kinds.
const NETCAT: [&str; 3] = ["nc", "ncat", "netcat"];

/// How options begin by which a request goes elsewhere than its address says.
const ELSEWHERE: [&str; 16] = [
    "--abstract-unix-socket",
    "--config",
    "--connect-to",
    "--dns-",
    "--doh-",
    "--exec",
    "--input-file",
    "--interface",
    "--preproxy",
    "--proxy",
    "--resolve",
    "--sh-exec",
    "--lua-exec",
    "--socks",
    "--unix-socket",
    "--use-askpass",
];

/// Letters of netcat's options that take no value and change nobody who is asked, in each of its kinds.
const NC_PLAIN: &str = "lkvnutzC46N";

/// Letters of those that take a number in each.
const NC_NUMBERS: &str = "piwqm";

/// Long options of ncat that say no more than these.
const NC_LONG: [&str; 5] = ["--listen", "--keep-open", "--verbose", "--nodns", "--udp"];

/// Modules of python that only serve.
const SERVERS: [&str; 1] = ["http.server"];

/// Whether the operation of a command stays on the loopback that the state gives it anyway.
pub(super) fn is_own(law: &StateLaw, segment: &ClassifiedSegment, op: &Op) -> bool {
    op.class == OpClass::Network
        && law.entries().is_none()
        && right::holds(law, Right::Loopback)
        && !law.denies(op)
        && (listens(segment) || asks_itself(segment, op))
}

/// Whether the command asks its own loopback, as its words say.
fn asks_itself(segment: &ClassifiedSegment, op: &Op) -> bool {
    let Subject::Host(host) = &op.subject else { return false };
    if NETCAT.contains(&segment.program.as_str()) {
        return is_loopback(host) && netcat(segment.argv.get(1..).unwrap_or_default()) == Some(Netcat::Asks);
    }
    let client = CLIENTS.iter().find(|(program, _)| *program == segment.program);
    let Some((_, letters)) = client else { return false };
    is_loopback(host) && segment.argv.iter().skip(1).all(|word| stays(word, letters))
}

/// Whether a word is no option that sends a request elsewhere. A word that is not known might be one.
fn stays(word: &str, letters: &str) -> bool {
    if word.starts_with("--") {
        // Long options may be shortened.
        let name = word.split('=').next().unwrap_or(word);
        return name == "--"
            || !ELSEWHERE.iter().any(|option| name.starts_with(option) || option.starts_with(name));
    }
    match word.strip_prefix('-') {
        Some(cluster) => !cluster.contains(|letter| letters.contains(letter)),
        None => !word.contains('\u{fffd}'),
    }
}

/// Whether the command is a server that waits on the loopback and asks nobody.
fn listens(segment: &ClassifiedSegment) -> bool {
    let words = segment.argv.get(1..).unwrap_or_default();
    match segment.program.as_str() {
        program if NETCAT.contains(&program) => netcat(words) == Some(Netcat::Waits),
        "php" => match words {
            [flag, address, ..] if flag == "-S" => address.rsplit_once(':').is_some_and(|(host, port)| {
                is_port(port)
                    && is_loopback(
                        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host),
                    )
            }),
            _ => false,
        },
        program if program.starts_with("python") => match words {
            [flag, module, rest @ ..] if flag == "-m" && SERVERS.contains(&module.as_str()) => serves(rest),
            _ => false,
        },
        _ => false,
    }
}

/// What netcat does on the loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Netcat {
    /// It waits for somebody.
    Waits,
    /// It asks a server.
    Asks,
}

/// What netcat does with these words, if they name no host but the loopback. What is not known of each of its kinds might
/// be somebody to ask.
fn netcat(words: &[String]) -> Option<Netcat> {
    let (mut listens, mut operands) = (false, Vec::new());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            if !NC_LONG.contains(&word) {
                return None;
            }
            listens |= word == "--listen";
            continue;
        }
        let Some(cluster) = word.strip_prefix('-') else {
            operands.push(word);
            continue;
        };
        if cluster.is_empty() {
            return None;
        }
        for (at, letter) in cluster.char_indices() {
            if NC_PLAIN.contains(letter) {
                listens |= letter == 'l';
                continue;
            }
            // The rest of the word is its value, or the next one.
            let rest = &cluster[at + letter.len_utf8()..];
            let value = Some(rest).filter(|rest| !rest.is_empty()).or_else(|| words.next())?;
            let fits = NC_NUMBERS.contains(letter) && is_port(value) || letter == 's' && is_loopback(value);
            if !fits {
                return None;
            }
            break;
        }
    }
    match operands[..] {
        [] if listens => Some(Netcat::Waits),
        [only] if listens => (is_port(only) || is_loopback(only)).then_some(Netcat::Waits),
        [host, port] => {
            (is_loopback(host) && is_port(port)).then_some(if listens { Netcat::Waits } else { Netcat::Asks })
        }
        _ => None,
    }
}

/// Whether python's server with these words binds no address but the loopback, or none that is named.
fn serves(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let fits = match word.split_once('=') {
            Some(("--bind", host)) => is_loopback(host),
            Some(("--directory", _)) => true,
            _ => match word {
                "--bind" | "-b" => words.next().is_some_and(is_loopback),
                "--directory" | "-d" => words.next().is_some(),
                port => is_port(port),
            },
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Whether a word is a number as a port is.
fn is_port(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<u16>().is_ok()
}

/// Whether a host is the loopback by its literal name: of an address all four plain numbers, the first 127.
fn is_loopback(host: &str) -> bool {
    let parts = || host.split('.');
    let plain = |part: &str| part.parse::<u8>().is_ok_and(|number| number.to_string() == part);
    matches!(host, "localhost" | "::1")
        || parts().next() == Some("127") && parts().count() == 4 && parts().all(plain)
}
