//! What the jail was less than asked: all of it on a terminal, and elsewhere what may be why a run did not do what it was
//! to do. An agent has no terminal, and takes the host's shortcoming for a fault of its command.
//!
//! Danger: a line after each run is noise that nobody reads. So a run that went well says nothing without a terminal.

use std::fmt::Write as _;

use super::show::visible;
use crate::service::effects::{Denied, Grant};
use crate::service::{Exit, Report, Target};

/// The reasons that keep a command from something that its state gives it, by their codes, and whether that is only so of a
/// command that was refused a connection.
const HINDERING: [(&str, bool); 5] = [
    ("foreign-workspace", false),
    ("no-throwaway", false),
    ("no-new-names", false),
    ("no-loopback", true),
    ("no-hosts", true),
];

/// The line, or nothing.
pub(super) fn weaker(out: &mut String, report: &Report, terminal: bool) {
    let Some(outcome) = &report.outcome else { return };
    let reasons: Vec<String> = outcome
        .degraded
        .iter()
        .filter(|reason| terminal || bears(report, reason))
        .map(|reason| visible(reason))
        .collect();
    if !reasons.is_empty() {
        let _ = writeln!(
            out,
            "swbox: weaker than asked on this host: {}; see `swbox doctor`",
            reasons.join("; ")
        );
    }
}

/// Whether a reason may be why the run failed, and is not told with what was refused.
fn bears(report: &Report, reason: &str) -> bool {
    let told =
        || report.effects.iter().flat_map(|effects| &effects.denials).filter(|denied| !denied.incidental);
    let connects = |denied: &Denied| matches!(denied.denial.target, Target::Address(_));
    let says = |denied: &Denied| matches!(&denied.grant, Grant::Nothing { why } if why == reason);
    let fails = report
        .outcome
        .as_ref()
        .is_some_and(|outcome| !matches!(outcome.exit, Exit::Code(0) | Exit::NotStarted { .. }));
    let code = reason.split_once(':').map_or(reason, |(code, _)| code);
    HINDERING.iter().any(|(known, connecting)| {
        *known == code && if *connecting { told().any(connects) } else { fails || told().next().is_some() }
    }) && !told().any(says)
}
