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
const CLIENTS: [(&str, &str); 5] =
    [("curl", "xK"), ("wget", "ei"), ("nc", "xXec"), ("ncat", "ec"), ("netcat", "xXec")];

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
        "nc" | "ncat" | "netcat" => {
            let listens = |word: &String| {
                word == "--listen" || word.starts_with('-') && !word.starts_with("--") && word.contains('l')
            };
            words.iter().any(listens) && words.iter().all(|word| stays(word, "xXec"))
        }
        "php" => words.first().is_some_and(|word| word == "-S"),
        program if program.starts_with("python") => {
            matches!(words, [flag, module, ..] if flag == "-m" && SERVERS.contains(&module.as_str()))
        }
        _ => false,
    }
}

/// Whether a host is the loopback by its literal name: of an address all four plain numbers, the first 127.
fn is_loopback(host: &str) -> bool {
    let parts = || host.split('.');
    let plain = |part: &str| part.parse::<u8>().is_ok_and(|number| number.to_string() == part);
    matches!(host, "localhost" | "::1")
        || parts().next() == Some("127") && parts().count() == 4 && parts().all(plain)
}
