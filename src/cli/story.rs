//! A journal as a story: one line for each thing that happened.

use std::fmt::Write as _;

use serde_json::Value;

use super::output::Paint;
use super::show::{excerpt, visible};
use super::when::when;
use crate::service::session::{Cause, Fact, Record, Told};

/// How much of a command or a claim is shown.
const LONGEST: usize = 200;

/// How many files are named.
const MOST_FILES: usize = 5;

/// The story of a journal.
pub(super) fn story(entries: &[Told], paint: Paint) -> String {
    let mut out = String::new();
    for entry in entries {
        let mut lines = Vec::new();
        tell(entry, &mut lines, paint);
        for (at, line) in lines.iter().enumerate() {
            let stamp = if at == 0 { when(entry.at) } else { String::new() };
            let _ = writeln!(out, "{} {line}", paint.dim(&format!("{:>4} {stamp:<19}", position(entry, at))));
        }
    }
    out
}

fn position(entry: &Told, line: usize) -> String {
    if line == 0 { entry.position.to_string() } else { String::new() }
}

fn tell(entry: &Told, lines: &mut Vec<String>, paint: Paint) {
    let body = &entry.body;
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    match entry.kind.as_str() {
        "begin" => match body["branch_of"].as_str() {
            Some(parent) => lines.push(format!(
                "a branch of {parent} begins in \"{}\"",
                text(&body["session"]["current"]["state"])
            )),
            None => lines.push(format!(
                "a session of {} ({}) begins in \"{}\"",
                text(&body["workflow"]),
                text(&body["origin"]),
                text(&body["session"]["current"]["state"])
            )),
        },
        "bound" => lines.push(format!("bound to {} {}", text(&body["harness"]), text(&body["key"]))),
        "reload" => lines.push(format!("a person took over a new law ({})", text(&body["origin"]))),
        "rules" => lines.push(format!(
            "a person allowed `{}` by the rule {} of theirs",
            text(&body["prefix"]),
            text(&body["rule"])
        )),
        "start" => {
            let command = excerpt(body["extra"]["command"].as_str().unwrap_or_default(), LONGEST);
            let state = text(&body["extra"]["state"]);
            let verdict = match body["reply"]["reply"].as_str() {
                Some("allowed") => String::new(),
                Some("forbidden") => {
                    let reasons: Vec<String> =
                        body["extra"]["reasons"].as_array().into_iter().flatten().map(text).collect();
                    format!("  {} ({})", paint.red("forbidden"), reasons.join(", "))
                }
                _ => format!("  {}", paint.yellow("held back")),
            };
            lines.push(format!("[{state}] $ {command}{verdict}"));
        }
        "end" => {
            let code = &body["event"]["what"]["exit_code"];
            let code = code.as_i64().map_or_else(|| "?".to_owned(), |code| code.to_string());
            lines.push(format!("  ended with {code}"));
        }
        "lost" => lines.push(format!(
            "  nobody saw the end of $ {}",
            excerpt(body["extra"]["command"].as_str().unwrap_or_default(), LONGEST)
        )),
        _ => {}
    }
    for record in body["records"].as_array().into_iter().flatten() {
        if let Ok(record) = serde_json::from_value::<Record>(record.clone()) {
            lines.extend(fact(&record.fact, paint));
        }
    }
}

fn fact(fact: &Fact, paint: Paint) -> Option<String> {
    Some(match fact {
        Fact::Moved { from, to, cause, claimed, .. } => {
            let why = match cause {
                Cause::Event { event, .. } => format!("by {}", visible(event)),
                Cause::Interrupt { interrupt, files } => {
                    format!("by the interrupt {} on {}", visible(interrupt), named(files))
                }
                Cause::Limit => "by the iteration limit".to_owned(),
                Cause::Join => "since its branches ended".to_owned(),
                Cause::Force { reason, channel } => {
                    format!("by force ({}): {}", visible(channel), visible(reason))
                }
            };
            let claimed = if claimed.is_null() {
                String::new()
            } else {
                format!("; claimed {}", excerpt(&claimed.to_string(), LONGEST))
            };
            format!("{} {why}{claimed}", paint.bold(&format!("\"{}\" → \"{}\"", visible(from), visible(to))))
        }
        Fact::Returned { workflow, end, success } => {
            let how = if *success { "ended well" } else { "failed" };
            format!("{} {how} ({})", visible(workflow), visible(end))
        }
        Fact::Forked { branches } => format!("branches begin: {}", visible(&branches.join(", "))),
        Fact::BranchEnded { name, end } => format!("the branch {} ended: {}", visible(name), visible(end)),
        Fact::Parked { approval, what } => {
            format!("{} waits for a person: {}", approval, excerpt(what, LONGEST))
        }
        Fact::Approved { approval, channel } => {
            format!("{approval} {} ({})", paint.green("approved"), visible(channel))
        }
        Fact::Rejected { approval, channel, reason } => {
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {}", visible(reason)));
            format!("{approval} {} ({}){reason}", paint.red("rejected"), visible(channel))
        }
        Fact::Stale { approval, reason } => format!("{approval} no longer counts: {}", visible(reason)),
        Fact::ClaimMismatch(mismatch) => format!(
            "claim and fact differ: {} claimed {}, seen {}",
            visible(&mismatch.field),
            excerpt(&mismatch.claimed.to_string(), LONGEST),
            excerpt(&mismatch.observed.to_string(), LONGEST)
        ),
        Fact::EvidenceAsked { commands, .. } => {
            let commands: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
            format!("asked to be shown: {}", excerpt(&commands.join("; "), LONGEST))
        }
        Fact::Proven { proof } => {
            let tests = proof.tests.map_or_else(String::new, |tests| format!(" after {tests} tests"));
            let command = excerpt(&proof.command.join(" "), LONGEST);
            format!("seen: `{command}` ended with {}{tests}", proof.exit_code)
        }
        Fact::Queued { interrupt, files } => {
            format!("{} waits its turn, on {}", visible(interrupt), named(files))
        }
        Fact::Dropped { interrupt } => format!("{} was given up", visible(interrupt)),
        Fact::Called { .. } => return None,
        Fact::Wrote { call, files } => {
            let who = if call.is_none() { "somebody else changed" } else { "  changed" };
            format!("{who} {}", named(files))
        }
        Fact::Refused(refusal) => format!("{} [{}]", visible(&refusal.message), refusal.code.name()),
        Fact::EndingJobs { jobs } => format!("ending jobs: {}", visible(&jobs.join(", "))),
        Fact::Stopped { reason } => format!("the session is over: {}", visible(reason)),
    })
}

fn named(files: &[String]) -> String {
    let mut text = visible(&files.iter().take(MOST_FILES).cloned().collect::<Vec<_>>().join(", "));
    if files.len() > MOST_FILES {
        let _ = write!(text, " and {} more", files.len() - MOST_FILES);
    }
    if files.is_empty() { "the workspace".to_owned() } else { text }
}
