//! The refusal and the trailer: what a person or an agent reads when something was not done.

use std::fmt::Write as _;

use super::output::Paint;
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::effects::{Closed, Grant};
use crate::service::{Decision, Hint, Judgement, LimitHit, Outcome, Reason, Report};

/// How many further reasons are shown.
const MORE: usize = 4;

/// How many refused hosts are shown.
const MOST_HOSTS: usize = 10;

/// A decision other than `Allow`, in the form of the documentation: what, what it needs, the way forward.
pub(super) fn refusal(judgement: &Judgement, paint: Paint) -> String {
    let law = &judgement.law;
    let verdict = match judgement.evaluation.decision {
        Decision::Forbidden => paint.red("forbidden"),
        Decision::Prompt => paint.yellow("a person must approve this"),
        Decision::Allow => paint.green("allowed"),
    };
    let decisive: Vec<&Reason> = judgement
        .evaluation
        .reasons
        .iter()
        .filter(|reason| reason.decision == judgement.evaluation.decision)
        .collect();
    let mut out = format!("swbox: {verdict} in state \"{}\"", visible(&law.state));
    // Two commands of one nested line are told by the same words.
    let mut lines: Vec<String> = Vec::new();
    for line in decisive.iter().map(|reason| one(reason)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if let Some(first) = lines.first() {
        let _ = write!(out, ": {first}");
    }
    out.push('\n');
    let rest = lines.get(1..).unwrap_or_default();
    for line in rest.iter().take(MORE) {
        field(&mut out, "also", line, paint);
    }
    if rest.len() > MORE {
        field(&mut out, "also", &format!("{} more; see --json", rest.len() - MORE), paint);
    }
    let (unlisted, lacking): (Vec<&Reason>, Vec<&Reason>) =
        decisive.iter().copied().partition(|reason| reason.code == "command_not_listed");
    if let Some(needs) = needs(&unlisted) {
        field(&mut out, "needs", &format!("to begin with {needs} (allowed_commands)"), paint);
    }
    let shut = |reason: &&Reason| {
        let of = |closed: &Closed| reason.subject.as_ref() == Some(&closed.subject);
        judgement.closed.iter().any(|closed| of(closed) && matches!(closed.grant, Grant::Nothing { .. }))
    };
    // No tool helps where no state may.
    let lacking: Vec<&Reason> = lacking.into_iter().filter(|reason| !shut(reason)).collect();
    if let Some(needs) = needs(&lacking) {
        let has = match &law.tools {
            _ if law.is_final => "this state is final".to_owned(),
            Some(tools) if tools.is_empty() => "this state has none".to_owned(),
            Some(tools) => format!("this state has {}", visible(&tools.join(", "))),
            None => "this state has the default tools".to_owned(),
        };
        field(&mut out, "needs", &format!("{needs} in allowed_tools; {has}"), paint);
    }
    if let Some(hint) = &judgement.evaluation.hint {
        field(&mut out, "forward", &forward(hint, law.session.is_some()), paint);
    } else if !judgement.closed.is_empty() {
        for (place, why) in shut_places(&judgement.closed) {
            field(&mut out, "forward", &format!("none: {place}: {why}"), paint);
        }
    } else if decisive.iter().any(|reason| !reason.needs.is_empty()) {
        field(&mut out, "forward", "none: no state that follows allows the whole of it", paint);
    }
    out
}

/// Places that no state opens, those of one remedy together.
fn shut_places(closed: &[Closed]) -> Vec<(String, String)> {
    let mut told: Vec<(Vec<String>, String)> = Vec::new();
    for one in closed {
        let why = super::denials::clause(&one.grant);
        match told.iter_mut().find(|(_, known)| *known == why) {
            Some((places, _)) => places.push(visible(&one.subject)),
            None => told.push((vec![visible(&one.subject)], why)),
        }
    }
    let shown =
        told.into_iter().take(MORE).map(|(places, why)| match places.split_at(MORE.min(places.len())) {
            (first, []) => (first.join(", "), why),
            (first, more) => (format!("{} and {} more", first.join(", "), more.len()), why),
        });
    shown.collect()
}

fn field(out: &mut String, name: &str, text: &str, paint: Paint) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  {} {text}", paint.bold(&format!("{name:<8}")));
}

/// One reason as a clause; class and subject stand in it.
pub(super) fn one(reason: &Reason) -> String {
    visible(&reason.message)
}

/// `Write or Edit`, and so on for each distinct need.
fn needs(reasons: &[&Reason]) -> Option<String> {
    let mut sets: Vec<String> = Vec::new();
    for reason in reasons.iter().filter(|reason| !reason.needs.is_empty()) {
        let names: Vec<String> = reason.needs.iter().map(|name| visible(name)).collect();
        let set = names.join(" or ");
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    (!sets.is_empty()).then(|| sets.join(", and "))
}

/// The edges to a state that allows the whole line.
pub(super) fn forward(hint: &Hint, in_session: bool) -> String {
    let mut out = String::new();
    for (at, step) in hint.path.iter().enumerate() {
        if at > 0 {
            out.push_str(", then ");
        }
        let _ = write!(out, "{} → \"{}\"", visible(&step.event), visible(&step.target));
        let last = at + 1 == hint.path.len();
        let mut notes = Vec::new();
        if last && !hint.grants.is_empty() {
            notes.push(format!("has {}", visible(&hint.grants.join(", "))));
        }
        if !step.requires.is_empty() {
            notes.push(format!("needs {}", step.requires.join(" and ")));
        }
        if !notes.is_empty() {
            let _ = write!(out, " ({})", notes.join("; "));
        }
    }
    if in_session {
        if let Some(step) = hint.path.first() {
            let _ = write!(out, "; do: swbox transition {}", shell_words::quote(&visible(&step.event)));
        }
    } else if let Some(step) = hint.path.last() {
        let _ = write!(out, "; rerun with --state {}", shell_words::quote(&visible(&step.target)));
    }
    out
}

/// What was kept of the throw-away layer, what was left out, what went wrong.
fn outputs(out: &mut String, outcome: &Outcome) {
    let Some(kept) = &outcome.outputs else { return };
    let name = |path: &std::path::Path| visible(&path.to_string_lossy());
    if kept.files > 0 {
        let paths: Vec<String> = kept.paths.iter().map(|path| name(path)).collect();
        let _ =
            writeln!(out, "swbox: {} files of {} were kept, all else vanished", kept.files, paths.join(", "));
    }
    for (path, why) in &kept.left {
        let _ = writeln!(out, "swbox: {} was not kept: {why}", name(path));
    }
    if kept.more_left > 0 {
        let _ = writeln!(out, "swbox: {} more were not kept", kept.more_left);
    }
    if let Some(problem) = &kept.problem {
        let _ = writeln!(out, "swbox: the outputs could not be kept: {}", visible(problem));
    }
}

/// What is said after a run, or nothing.
pub(super) fn trailer(report: &Report, terminal: bool, paint: Paint) -> String {
    let mut out = String::new();
    for notice in &report.notices {
        let _ = writeln!(out, "swbox: {}", visible(notice));
    }
    if let Some(session) = &report.session {
        if session.after != session.state && session.refusal.is_none() {
            let _ = writeln!(
                out,
                "swbox: the session is in \"{}\" now; see `swbox state`",
                visible(&session.after)
            );
        }
        if let Some(problem) = &session.unrecorded {
            let problem = visible(&problem.to_string());
            let _ = writeln!(out, "swbox: the command ran, and its end could not be written down: {problem}");
        }
    }
    if terminal && !report.warnings.is_empty() {
        let law = &report.judgement.law;
        let _ = writeln!(
            out,
            "swbox: the workflow \"{}\" fails {} checks; see `swbox workflow validate {}`",
            visible(&law.workflow),
            report.warnings.len(),
            visible(&shell_words::quote(&law.origin))
        );
    }
    super::denials::denials(&mut out, report, paint);
    if let Some(problem) = report.effects.as_ref().and_then(|effects| effects.events_failed.as_ref()) {
        out.push_str(&failure(problem, paint));
    }
    let Some(outcome) = &report.outcome else { return out };
    for path in &outcome.quarantined {
        let _ = writeln!(
            out,
            "swbox: {} appeared where no command may put it; it was moved to quarantine",
            visible(&path.to_string_lossy())
        );
    }
    for planted in &outcome.planted {
        let file = visible(&planted.file.to_string_lossy());
        let setting = visible(&planted.setting);
        if let Some(why) = planted.unseen() {
            let _ = writeln!(
                out,
                "swbox: planted-config: {file} was not looked into: {}; a repository that was planted there would not be found, so commands that may write end with 125 while it is there: remove it, or make it less",
                visible(why)
            );
            continue;
        }
        let _ = match &planted.moved {
            Some(moved) => writeln!(
                out,
                "swbox: planted-config: {file} ({setting}) makes git run something or read elsewhere; it was moved to {}",
                visible(&moved.to_string_lossy())
            ),
            None => writeln!(
                out,
                "swbox: planted-config: {file} ({setting}) is still there: look at it before you use git in this workspace"
            ),
        };
    }
    for change in &outcome.config {
        let Some(refused) = &change.refused else { continue };
        let _ = writeln!(
            out,
            "swbox: {} was not changed, whatever git said: {}; a person can do it outside",
            visible(&change.file.to_string_lossy()),
            visible(refused)
        );
    }
    outputs(&mut out, outcome);
    for path in &outcome.appeared {
        let _ = writeln!(
            out,
            "swbox: {} is new or was changed, and other programs run what it says; look at it first",
            visible(&path.to_string_lossy())
        );
    }
    if let Some(limit) = outcome.limit.map(LimitHit::name).filter(|name| *name != "timeout") {
        let _ = writeln!(out, "swbox: the command ran into its limit `{}` (profile, [limits])", limit);
    }
    refused_hosts(&mut out, outcome);
    super::weaker::weaker(&mut out, report, terminal);
    out
}

/// The hosts that the command did not reach, each once with the line that would let it.
fn refused_hosts(out: &mut String, outcome: &Outcome) {
    for host in outcome.refused_hosts.iter().take(MOST_HOSTS) {
        let times = if host.count > 1 { format!(" ({} times)", host.count) } else { String::new() };
        let _ = write!(out, "swbox: {}{times}", visible(&host.message));
        if let Some(line) = &host.add {
            let _ = write!(out, "; to allow it add {}", visible(line));
        }
        out.push('\n');
    }
    if let Some(more @ 1..) = outcome.refused_hosts.len().checked_sub(MOST_HOSTS) {
        let _ = writeln!(out, "swbox: {more} more hosts were refused; --json names them");
    }
}

/// A failure of swbox itself.
pub(super) fn failure(problem: &Diagnostic, paint: Paint) -> String {
    let mut out = format!("{} {}\n", paint.red("swbox:"), visible(&problem.to_string()));
    if let Some(help) = &problem.help {
        field(&mut out, "help", &visible(help), paint);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Step;

    #[test]
    fn the_way_forward_names_each_edge_and_what_it_asks() {
        let step = |event: &str, target: &str, requires: &[&str]| Step {
            event: event.to_owned(),
            target: target.to_owned(),
            requires: requires.iter().map(|name| (*name).to_owned()).collect(),
        };
        let hint = Hint {
            path: vec![step("PLAN_READY", "implementing", &[])],
            grants: vec!["write_file".to_owned()],
        };
        assert_eq!(
            forward(&hint, false),
            "PLAN_READY → \"implementing\" (has write_file); rerun with --state implementing"
        );
        let hint = Hint {
            path: vec![step("DONE", "testing", &[]), step("PASS", "review", &["approval", "guard"])],
            grants: vec![],
        };
        assert_eq!(
            forward(&hint, false),
            "DONE → \"testing\", then PASS → \"review\" (needs approval and guard); rerun with --state review"
        );
    }

    #[test]
    fn in_a_session_the_way_forward_is_the_first_event() {
        let step =
            |event: &str| Step { event: event.to_owned(), target: "b".to_owned(), requires: Vec::new() };
        let hint = Hint { path: vec![step("ONE"), step("TWO")], grants: vec![] };
        assert_eq!(forward(&hint, true), "ONE → \"b\", then TWO → \"b\"; do: swbox transition ONE");
    }

    #[test]
    fn a_failure_shows_place_code_and_help_without_control_characters() {
        let problem = Diagnostic::new("x_y", "bad \x1b[2J").file("a\n.toml").help("do");
        assert_eq!(
            failure(&problem, Paint::plain()),
            "swbox: a\\n.toml: bad \\u{1b}[2J [x_y]\n  help     do\n"
        );
    }
}
