//! What is made of what was seen of a run: refusals with their reason and remedy, the files that it touched, programs
//! that may not run, and what it did beyond what its text declared.
//!
//! Duty: `eyes::Eyes` takes each thing as it is seen, within bounds, and [`Effects`] is what a report has of it.
//! Danger: the names come from the jailed command. They are bounded in number here; whoever prints them escapes them.

mod address;
mod attribute;
mod beyond;
mod choose;
mod events;
mod eyes;
mod inferred;
mod later;
mod place;
mod programs;
mod reserved;
mod shortfall;
mod sight;
mod tally;
mod undeclared;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub use attribute::Grant;
pub(super) use attribute::Ground;
pub use choose::Choice;
pub(super) use choose::{Needs, acts, choose};
pub use events::EVENTS_VERSION;
pub(super) use events::Events;
pub(super) use eyes::{Eyes, Watching, open_to_commands, touched};
pub(super) use inferred::{Signs, infer};
pub(super) use later::later;
pub use place::Closed;
pub(super) use place::Places;
pub use undeclared::Undeclared;

use crate::diagnostic::Diagnostic;
use crate::policy::{Hint, Reason, Right};
use crate::supervisor::{Act, Denial, Target};

/// A refusal of the jail, explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What was refused.
    pub denial: Denial,
    /// What it is about, as a person would write it.
    pub shown: String,
    /// The hosts that were asked for by name, where only the name server's address was seen.
    pub hosts: Vec<String>,
    /// Whether it was what a tool tries in its own directory, and the command ended well: that is not told on a terminal.
    pub incidental: bool,
    /// Whether it lies outside of what the jail shows, and nobody looked whether the host has it.
    pub unknown: bool,
    /// How often.
    pub count: u64,
    /// The program that tried it, where known.
    pub program: String,
    /// The right that was missing.
    pub right: Right,
    /// What would grant it.
    pub grant: Grant,
    /// The way to a state that has it.
    pub forward: Option<Hint>,
}

/// The workspace files that a run touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Files that were made, changed, renamed or removed, relative to the workspace, in order; no directories, and nothing
    /// of a git directory, which is git's own.
    pub files: Vec<PathBuf>,
    /// Whether nothing can be missing.
    pub whole: bool,
}

/// A program that was stopped before its first instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Why.
    pub reason: Reason,
    /// The file that would have run.
    pub file: PathBuf,
    /// What it was given.
    pub argv: Vec<Vec<u8>>,
}

/// What was seen of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// How it was watched.
    pub choice: Choice,
    /// What was refused, in the order of the first try.
    pub denials: Vec<Denied>,
    /// Workspace files that were touched; absent where nobody watched or no change stays.
    pub touched: Option<Touched>,
    /// How many programs began.
    pub programs: u64,
    /// What was done beyond what the text declares, with how often.
    pub undeclared: Vec<(Undeclared, u64)>,
    /// Calls whose effect is not known: name, why, how often.
    pub unseen: Vec<(&'static str, &'static str, u64)>,
    /// How many things were seen that are not kept, since they were too many.
    pub dropped: u64,
    /// The program that ended the run.
    pub stopped: Option<Stopped>,
    /// Why not all events could be written.
    pub events_failed: Option<Diagnostic>,
}

impl Effects {
    /// As JSON fields.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert(
            "observed".into(),
            json!({
                "mode": self.choice.name(),
                "programs": self.programs,
                "dropped": self.dropped,
                "unseen": self
                    .unseen
                    .iter()
                    .map(|(call, why, count)| json!({ "call": call, "why": why, "count": count }))
                    .collect::<Vec<_>>(),
            }),
        );
        let denials = self.denials.iter().map(|denied| Value::Object(denied.fields()));
        fields.insert("denials".into(), denials.collect());
        let undeclared = self.undeclared.iter().map(|(undeclared, count)| {
            let mut fields = eyes::undeclared_fields(undeclared);
            fields.insert("count".into(), json!(count));
            Value::Object(fields)
        });
        fields.insert("undeclared".into(), undeclared.collect());
        let touched = self.touched.as_ref().map(|touched| {
            let names = touched
                .files
                .iter()
                .map(|path| Value::Object(events::text("path", events::bytes(path)).into_iter().collect()));
            json!({ "whole": touched.whole, "files": names.collect::<Vec<_>>() })
        });
        fields.insert("touched".into(), json!(touched));
        let stopped = self.stopped.as_ref().map(|stopped| {
            json!({
                "code": stopped.reason.code,
                "message": stopped.reason.message,
                "file": stopped.file.to_string_lossy(),
                "argv": stopped.argv.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>(),
            })
        });
        fields.insert("stopped".into(), json!(stopped));
        fields
    }

    /// Whether a read seemed to be refused, or was: the next run of the command is to be watched for reads. Not of a name of which
    /// nobody may hear whether it is there: a watch would say it.
    pub(super) fn misses_reads(&self) -> bool {
        self.denials.iter().any(|denied| denied.denial.act == Act::Read && !denied.unknown)
    }

    /// How many refusals there were, inferred ones among them.
    pub fn refusals(&self) -> u64 {
        self.denials.iter().map(|denied| denied.count).sum()
    }
}

impl Denied {
    /// As JSON fields.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("act".into(), json!(self.denial.act));
        fields.extend(target_fields(&self.denial.target));
        if !self.hosts.is_empty() {
            fields.insert("hosts".into(), json!(self.hosts));
        }
        fields.insert("incidental".into(), json!(self.incidental));
        if self.unknown {
            fields.insert("unknown".into(), json!(true));
        }
        fields.insert("program".into(), json!(self.program));
        fields.insert("cause".into(), json!(self.denial.cause));
        fields.insert("errno".into(), json!(self.denial.errno));
        fields.insert("inferred".into(), json!(self.denial.inferred));
        fields.insert("right".into(), json!(self.right));
        fields.insert("grant".into(), json!(self.grant));
        fields.insert("forward".into(), self.forward.as_ref().map_or(Value::Null, super::report::hint));
        fields.insert("count".into(), json!(self.count));
        fields
    }
}

impl Closed {
    /// As JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({ "subject": self.subject, "grant": self.grant })
    }
}

/// What an act is on, as JSON fields: `path`, `host` or `socket`.
fn target_fields(target: &Target) -> Vec<(String, Value)> {
    match target {
        Target::Path(path) => events::text("path", events::bytes(path)),
        Target::Address(address) => vec![("host".to_owned(), json!(address))],
        Target::Abstract(name) => events::text("socket", name),
    }
}
