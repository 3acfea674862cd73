//! What was refused, once for each host and reason, with a count: the command's owner reads it after the run.
//!
//! Danger: the names come from the jailed command. They are bounded in number and length and made visible ASCII here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};

use crate::hosts::Refused;
use crate::hosts::{BadHost, Target};

/// How many distinct refusals are kept; further ones are only counted.
const KEPT: usize = 256;
/// How many characters of a host are kept.
const HOST_LENGTH: usize = 300;

/// A host that the command asked for and did not get.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RefusedHost {
    /// The host as asked for, in visible ASCII.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Stable code: `host_not_listed`, `port_not_listed`, `address_not_listed`, `resolves_inside`, `bad_host`.
    pub reason: String,
    /// One plain sentence.
    pub message: String,
    /// The line that would let it pass, where one may be suggested: `hosts = ["registry.example.org"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
    /// How often it was asked for.
    pub count: u64,
}

/// What the proxy refused in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Each refused host, in the order of first asking.
    pub refused: Vec<RefusedHost>,
    /// What went wrong with the proxy itself or its report.
    pub problems: Vec<String>,
}

/// One line from the proxy to swbox.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(super) enum Line {
    /// A refused host.
    Refused(RefusedHost),
    /// Something about the proxy that a person should know.
    Problem { message: String },
    /// The last line: without it the report is not whole.
    End { more: u64 },
}

/// Collects refusals of one run.
#[derive(Debug)]
pub(super) struct Log {
    state: String,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    index: HashMap<(String, u16, &'static str), usize>,
    refused: Vec<RefusedHost>,
    more: u64,
}

impl Log {
    /// A log for a command in the state of this name.
    pub(super) fn new(state: &str) -> Self {
        Self { state: visible(state), kept: Mutex::default() }
    }

    /// Records a refusal by the list; gives the text for the client.
    pub(super) fn refused(&self, target: &Target, why: Refused) -> String {
        let add = why.entry_to_add(target).map(|entry| format!("hosts = [\"{entry}\"]"));
        self.record(&target.host.to_string(), target.port, why.code(), &why.to_string(), add)
    }

    /// Records a host that is none; gives the text for the client.
    pub(super) fn bad_host(&self, host: &str, port: u16, why: BadHost) -> String {
        self.record(host, port, "bad_host", &why.to_string(), None)
    }

    fn record(
        &self,
        host: &str,
        port: u16,
        reason: &'static str,
        clause: &str,
        add: Option<String>,
    ) -> String {
        let host = visible(host);
        let place =
            if self.state.is_empty() { String::new() } else { format!(" in state \"{}\"", self.state) };
        let message = format!("host \"{host}\" port {port} is refused{place}: {clause}");
        let text = match &add {
            Some(line) => format!("swbox: {message}; to allow it add {line}"),
            None => format!("swbox: {message}"),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let next = kept.refused.len();
        match kept.index.entry((host.clone(), port, reason)) {
            Entry::Occupied(at) => {
                let at = *at.get();
                if let Some(refused) = kept.refused.get_mut(at) {
                    refused.count += 1;
                }
            }
            Entry::Vacant(free) if next < KEPT => {
                free.insert(next);
                kept.refused.push(RefusedHost { host, port, reason: reason.into(), message, add, count: 1 });
            }
            Entry::Vacant(_) => kept.more += 1,
        }
        text
    }

    /// The lines of the report.
    pub(super) fn lines(&self) -> Vec<Line> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = kept.refused.iter().cloned().map(Line::Refused);
        refused.chain([Line::End { more: kept.more }]).collect()
    }
}

impl Report {
    /// Reads what the proxy wrote; a missing end is a problem of its own.
    pub(super) fn read(text: &str) -> Self {
        let mut report = Self::default();
        let mut whole = false;
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Refused(host)) => report.refused.push(host),
                Ok(Line::Problem { message }) => report.problems.push(message),
                Ok(Line::End { more }) => {
                    whole = true;
                    if more > 0 {
                        report.problems.push(format!("{more} refusals of further hosts are not listed"));
                    }
                }
                Err(_) => report.problems.push(visible(line)),
            }
        }
        if !whole {
            report.problems.push("the proxy ended early; hosts that it refused may be missing here".into());
        }
        report
    }
}

fn visible(text: &str) -> String {
    text.chars().take(HOST_LENGTH).flat_map(char::escape_default).take(2 * HOST_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Host;

    fn target(host: &str, port: u16) -> Target {
        Target { host: Host::parse(host).unwrap(), port }
    }

    fn report(log: &Log) -> Report {
        let text: Vec<String> = log.lines().iter().map(|l| serde_json::to_string(l).unwrap()).collect();
        Report::read(&text.join("\n"))
    }

    #[test]
    fn a_host_is_named_once_with_its_count() {
        let log = Log::new("testing");
        let text = log.refused(&target("a.example", 443), Refused::NotListed);
        assert_eq!(
            text,
            "swbox: host \"a.example\" port 443 is refused in state \"testing\": it is not in the list; \
             to allow it add hosts = [\"a.example\"]"
        );
        log.refused(&target("A.example.", 443), Refused::NotListed);
        log.refused(&target("a.example", 8080), Refused::NotListed);
        let report = report(&log);
        assert_eq!(report.problems, Vec::<String>::new());
        let seen: Vec<_> = report.refused.iter().map(|r| (r.host.as_str(), r.port, r.count)).collect();
        assert_eq!(seen, [("a.example", 443, 2), ("a.example", 8080, 1)]);
        assert_eq!(report.refused[1].add.as_deref(), Some("hosts = [\"a.example:8080\"]"));
    }

    #[test]
    fn names_are_bounded_and_visible() {
        let log = Log::new("s");
        let text = log.bad_host("a\u{1b}[31m\"\u{202e}b", 80, BadHost::NotAscii);
        assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
        assert!(log.bad_host(&"x".repeat(100_000), 80, BadHost::TooLong).len() < 1000);
        for n in 0..1000 {
            log.refused(&target(&format!("h{n}.example"), 80), Refused::NotListed);
        }
        let report = report(&log);
        assert_eq!(report.refused.len(), KEPT);
        assert_eq!(report.problems, [format!("{} refusals of further hosts are not listed", 1002 - KEPT)]);
    }

    #[test]
    fn a_report_without_its_end_says_so() {
        assert_eq!(Report::read("").problems.len(), 1);
        assert_eq!(Report::read("{\"event\":\"end\",\"more\":0}").problems.len(), 0);
        assert_eq!(Report::read("{\"event\":\"end\",\"more\":0}\nnonsense").problems.len(), 1);
    }
}
