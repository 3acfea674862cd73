//! After a run: what the jail refused it, in a few lines, with what would let it pass.

use std::fmt::Write as _;

use super::output::Paint;
use super::refusal::forward;
use super::show::{excerpt, visible};
use crate::service::effects::{Denied, Effects, Grant};
use crate::service::session::Gathered;
use crate::service::{Act, Report, Target};

/// How many kinds of refusals are shown.
const MOST: usize = 6;

/// How many ways on are shown.
const WAYS: usize = 2;

/// What is said of names that nobody looked for.
const UNKNOWN: &str = "whether it exists is not said";

/// How much of a name is shown.
const LONGEST: usize = 160;

/// What was refused in a run, or nothing.
pub(super) fn denials(out: &mut String, report: &Report, paint: Paint) {
    let Some(effects) = &report.effects else { return };
    let law = &report.judgement.law;
    let told = Told { state: &law.state, in_session: law.session.is_some(), by: None };
    refused(out, effects, |denied| by_proxy(report, denied), told, paint);
}

/// What was refused in a run that swbox made for a transition, or nothing.
pub(super) fn of_evidence(out: &mut String, evidence: &Gathered, paint: Paint) {
    let command = excerpt(&shell_words::join(&evidence.command), LONGEST);
    if let Some(reason) = &evidence.refused {
        let message = excerpt(&reason.message, LONGEST * 2);
        let _ = writeln!(out, "swbox: `{command}` was not run for this: {message} [{}]", reason.code);
    }
    let Some(effects) = &evidence.effects else { return };
    let told = Told { state: &evidence.state, in_session: true, by: Some(&command) };
    refused(out, effects, |_| false, told, paint);
}

/// What a run was.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    state: &'a str,
    in_session: bool,
    /// The command, where it is not the caller's own.
    by: Option<&'a str>,
}

fn refused(
    out: &mut String,
    effects: &Effects,
    elsewhere: impl Fn(&Denied) -> bool,
    told: Told<'_>,
    paint: Paint,
) {
    stopped(out, effects, paint);
    let named = |denied: &&Denied| !elsewhere(denied) && !denied.incidental;
    let denied: Vec<&Denied> = effects.denials.iter().filter(named).collect();
    if denied.is_empty() {
        return;
    }
    let state = visible(told.state);
    // Of names that nobody looked for it is not said that they were refused.
    let known = || denied.iter().filter(|denied| !denied.unknown);
    let count: u64 = known().map(|denied| denied.count).sum();
    let mixed = count > 0;
    let inferred = known().all(|denied| denied.denial.inferred);
    let (what, were, probably) = (
        if count == 1 { "operation" } else { "operations" },
        if count == 1 { "was" } else { "were" },
        if inferred { "probably " } else { "" },
    );
    let by = told.by.map_or_else(String::new, |command| format!(" of `{command}`"));
    let _ = if mixed {
        writeln!(out, "swbox: {count} {what}{by} {were} {probably}denied by the jail in state \"{state}\"")
    } else {
        let (names, lie) = if denied.len() == 1 { ("a name", "lies") } else { ("names", "lie") };
        writeln!(
            out,
            "swbox: {names}{by} {lie} outside of what the jail shows in state \"{state}\": {UNKNOWN}"
        )
    };
    let groups = groups(&denied);
    let wide = groups.iter().take(MOST).map(|group| verb(group[0].denial.act).len()).max().unwrap_or(0);
    for group in groups.iter().take(MOST) {
        let denied = group[0];
        let count: u64 = group.iter().map(|denied| denied.count).sum();
        let times = match (count, group.len()) {
            (1, _) | (_, 2..) => String::new(),
            _ => format!(" ({count} times)"),
        };
        let others = match (group.len() - 1, directory(denied)) {
            (others @ 1.., Some(directory)) => {
                format!(" and {others} more in {}", excerpt(directory, LONGEST))
            }
            _ => String::new(),
        };
        let probably = match denied.unknown {
            true if mixed => format!("outside of what the jail shows ({UNKNOWN}): "),
            false if denied.denial.inferred && !inferred => "probably: ".to_owned(),
            true | false => String::new(),
        };
        let name = excerpt(&denied.shown, LONGEST);
        let act = format!("{:<wide$}", verb(denied.denial.act));
        let _ = writeln!(out, "  {}  {name}{others}{times}  {probably}{}", paint.bold(&act), remedy(denied));
    }
    if let Some(more @ 1..) = groups.len().checked_sub(MOST) {
        let _ = writeln!(out, "  and {more} more; --json names them");
    }
    let mut ways: Vec<String> = Vec::new();
    for hint in denied.iter().filter_map(|denied| denied.forward.as_ref()) {
        let way = forward(hint, told.in_session);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    for way in ways.iter().take(WAYS) {
        let _ = writeln!(out, "  {} {way}", paint.bold("forward "));
    }
}

/// Refusals of which one line tells all: the same act in the same directory with the same remedy. Two are told by name.
fn groups<'d>(denied: &[&'d Denied]) -> Vec<Vec<&'d Denied>> {
    let alike = |one: &Denied, other: &Denied| {
        one.denial.act == other.denial.act
            && one.denial.inferred == other.denial.inferred
            && one.unknown == other.unknown
            && directory(one).is_some()
            && directory(one) == directory(other)
            && remedy(one) == remedy(other)
            && one.forward == other.forward
    };
    let mut groups: Vec<Vec<&Denied>> = Vec::new();
    for one in denied {
        match groups.iter_mut().find(|group| alike(group[0], one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let split = |group: Vec<&'d Denied>| match &group[..] {
        [one, other] => vec![vec![*one], vec![*other]],
        _ => vec![group],
    };
    groups.into_iter().flat_map(split).collect()
}

/// The directory of what was refused, as it is shown.
fn directory(denied: &Denied) -> Option<&str> {
    match &denied.denial.target {
        Target::Path(_) => denied.shown.rsplit_once('/').map(|(directory, _)| directory).or(Some(".")),
        Target::Address(_) | Target::Abstract(_) => None,
    }
}

/// Whether the proxy refused it: the text of that stands elsewhere.
fn by_proxy(report: &Report, denied: &Denied) -> bool {
    let Target::Address(address) = &denied.denial.target else { return false };
    let hosts = report.outcome.iter().flat_map(|outcome| &outcome.refused_hosts);
    hosts.into_iter().any(|host| *address == format!("{}:{}", host.host, host.port))
}

fn stopped(out: &mut String, effects: &Effects, paint: Paint) {
    let Some(stopped) = &effects.stopped else { return };
    let message = excerpt(&stopped.reason.message, LONGEST * 2);
    let _ = writeln!(
        out,
        "swbox: {} before its first instruction: {message} [{}]",
        paint.red("a program was stopped"),
        stopped.reason.code
    );
    if !stopped.reason.needs.is_empty() {
        let _ = writeln!(out, "  {} {}", paint.bold("needs   "), visible(&stopped.reason.needs.join(" or ")));
    }
}

const fn verb(act: Act) -> &'static str {
    match act {
        Act::Read => "read",
        Act::Write => "open for write",
        Act::Create => "create",
        Act::Remove => "remove",
        Act::Rename => "rename",
        Act::Metadata => "change metadata",
        Act::Connect => "connect",
        Act::Bind => "listen",
        Act::Exec => "run",
    }
}

/// What would let it pass, as a clause.
fn remedy(denied: &Denied) -> String {
    clause(&denied.grant)
}

/// What would let something pass, as a clause.
pub(super) fn clause(grant: &Grant) -> String {
    match grant {
        Grant::Tools { any } => format!("needs {} in allowed_tools", any.join(" or ")),
        Grant::Profile { table, line } => {
            format!("a profile may open it: [{}] {}", visible(table), visible(line))
        }
        Grant::State { line } => format!("the state's own list may open it: {}", visible(line)),
        Grant::Option { name } => {
            format!(
                "nothing in the command's text says that it does this; {name} gives it all that the state has"
            )
        }
        Grant::Nothing { why } => visible(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(act: Act, path: &str, count: u64, grant: Grant) -> Denied {
        Denied {
            denial: crate::service::Denial {
                act,
                target: Target::Path(path.into()),
                cause: crate::service::DenialCause::Rights,
                errno: 13,
                inferred: false,
            },
            shown: path.to_owned(),
            hosts: Vec::new(),
            incidental: false,
            unknown: false,
            count,
            program: String::new(),
            right: crate::service::Right::Write,
            grant,
            forward: None,
        }
    }

    #[test]
    fn many_names_of_a_directory_are_one_line() {
        let no = || Grant::Nothing { why: "no".into() };
        let all = [
            denied(Act::Create, "/a/x", 1, no()),
            denied(Act::Create, "/b/1", 3, no()),
            denied(Act::Create, "/b/2", 1, no()),
            denied(Act::Remove, "/b/1", 1, no()),
            denied(Act::Create, "/b/3", 1, no()),
            denied(Act::Create, "here", 1, no()),
            denied(Act::Create, "there", 1, no()),
        ];
        let all: Vec<&Denied> = all.iter().collect();
        let names = |group: &Vec<&Denied>| group.iter().map(|one| one.shown.clone()).collect::<Vec<_>>();
        let told: Vec<Vec<String>> = groups(&all).iter().map(names).collect();
        assert_eq!(
            told,
            [vec!["/a/x"], vec!["/b/1", "/b/2", "/b/3"], vec!["/b/1"], vec!["here"], vec!["there"]]
        );
    }

    #[test]
    fn a_remedy_is_one_clause() {
        let profile = Grant::Profile { table: "binds".into(), line: "writable = [\"~/x\"]".into() };
        for (grant, text) in [
            (Grant::Tools { any: vec!["Write", "Edit"] }, "needs Write or Edit in allowed_tools"),
            (profile, "a profile may open it: [binds] writable = [\"~/x\"]"),
            (Grant::Nothing { why: "no".into() }, "no"),
        ] {
            let denied = denied(Act::Write, "/x", 1, grant);
            assert_eq!(remedy(&denied), text);
        }
    }
}
