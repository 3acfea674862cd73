//! What a driver gets back: the decision with its reasons, what the jail was, what the command did. One shape for
//! text and JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::effects::{Closed, Effects};
use super::session::SessionShown;
use crate::classify::{Classification, ClassifiedSegment, Op, Subject};
use crate::diagnostic::Diagnostic;
use crate::jail::{Achieved, Captured, Exit, JailPlan, Outcome};
use crate::policy::{Decision, Evaluation, Hint, Rights};
use crate::shell::{Span, Trust};

/// The version of the JSON form; it grows when a field changes its meaning or goes.
pub const JSON_VERSION: u32 = 1;

/// Which law a command was judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LawShown {
    /// The workflow's id.
    pub workflow: String,
    /// `builtin`, or the file.
    pub origin: String,
    /// The state.
    pub state: String,
    /// Its tools as written; `None` where the state names none and has the default set.
    pub tools: Option<Vec<String>>,
    /// Whether nothing runs in it.
    pub is_final: bool,
    /// The session that is in this state.
    pub session: Option<String>,
}

/// A judged command.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The line as shown; an argv is quoted.
    pub source: String,
    /// The law.
    pub law: LawShown,
    /// How the line was read.
    pub classification: Classification,
    /// The decision.
    pub evaluation: Evaluation,
    /// Places that the refused operations would change and that no state opens: there is no hint then.
    pub closed: Vec<Closed>,
    /// Time that took.
    pub took: Duration,
}

/// A judged command and what became of it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The judgement.
    pub judgement: Judgement,
    /// The workspace.
    pub workspace: PathBuf,
    /// Where the command started.
    pub cwd: PathBuf,
    /// The profiles that took part.
    pub profiles: Vec<String>,
    /// What it may do; absent when it was refused.
    pub rights: Option<Rights>,
    /// The plan; only where it was asked for.
    pub plan: Option<JailPlan>,
    /// What it did; absent when it did not run.
    pub outcome: Option<Outcome>,
    /// Things a person should know.
    pub notices: Vec<String>,
    /// Validation stages that the workflow fails; loading goes on, a person hears of it.
    pub warnings: Vec<Diagnostic>,
    /// What the session adds, where one applies.
    pub session: Option<SessionShown>,
    /// What was seen of the run; absent when it did not run.
    pub effects: Option<Effects>,
}

impl Judgement {
    /// Whether the command may run.
    pub fn allowed(&self) -> bool {
        self.evaluation.decision == Decision::Allow
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.fields())
    }

    fn fields(&self) -> Map<String, Value> {
        let reading = &self.classification;
        let mut fields = Map::new();
        fields.insert("version".into(), json!(JSON_VERSION));
        fields.insert("decision".into(), json!(self.evaluation.decision));
        fields.insert("command".into(), json!(self.source));
        fields.insert(
            "law".into(),
            json!({
                "workflow": self.law.workflow,
                "origin": self.law.origin,
                "state": self.law.state,
                "allowed_tools": self.law.tools,
                "final": self.law.is_final,
                "session": self.law.session,
            }),
        );
        let reasons: Vec<Value> = self
            .evaluation
            .reasons
            .iter()
            .map(|reason| {
                json!({
                    "decision": reason.decision,
                    "code": reason.code,
                    "message": reason.message,
                    "class": reason.class.map(crate::classify::OpClass::name),
                    "subject": reason.subject,
                    "needs": reason.needs,
                    "span": reason.span.map(span),
                })
            })
            .collect();
        fields.insert("reasons".into(), Value::Array(reasons));
        fields.insert("hint".into(), self.evaluation.hint.as_ref().map_or(Value::Null, hint));
        if !self.closed.is_empty() {
            let closed = self.closed.iter().map(Closed::to_json);
            fields.insert("closed".into(), closed.collect());
        }
        for (name, value) in reading_fields(&self.source, reading) {
            fields.insert(name.into(), value);
        }
        fields.insert("timing".into(), json!({ "decide_us": micros(self.took) }));
        fields
    }
}

/// A reading as JSON fields: classes, opacity, trust, catastrophe, segments.
pub fn reading_fields(source: &str, reading: &Classification) -> Vec<(&'static str, Value)> {
    let (trusted, untrusted) = match &reading.trust {
        Trust::Trusted => (true, Value::Null),
        Trust::Untrusted { code, reason, span: at } => {
            (false, json!({ "code": code, "reason": reason, "span": span(*at) }))
        }
    };
    let opaque = reading.opaque.as_ref().map_or(
        Value::Null,
        |opacity| json!({ "code": opacity.code, "reason": opacity.reason, "span": span(opacity.span) }),
    );
    let catastrophe = reading
        .catastrophe
        .as_ref()
        .map_or(Value::Null, |shape| json!({ "shape": shape.shape, "span": span(shape.span) }));
    vec![
        ("classes", json!(reading.classes.iter().map(crate::classify::OpClass::name).collect::<Vec<_>>())),
        ("trusted", json!(trusted)),
        ("untrusted", untrusted),
        ("opaque", opaque),
        ("catastrophe", catastrophe),
        (
            "segments",
            Value::Array(reading.segments.iter().map(|segment| self::segment(source, segment)).collect()),
        ),
    ]
}

fn segment(source: &str, segment: &ClassifiedSegment) -> Value {
    json!({
        "text": segment.span.of(source),
        "span": span(segment.span),
        "program": segment.program,
        "argv": segment.argv,
        "raw": segment.raw,
        "prefix": segment.prefix,
        "classes": segment.classes.iter().map(crate::classify::OpClass::name).collect::<Vec<_>>(),
        "ops": segment.ops.iter().map(op).collect::<Vec<_>>(),
        "opaque": segment.opaque.as_ref().map(|opacity| json!({ "code": opacity.code, "reason": opacity.reason })),
        "closed": segment.closed,
        "pure": segment.pure,
    })
}

fn op(op: &Op) -> Value {
    let (kind, subject) = match &op.subject {
        Subject::None => ("none", Value::Null),
        Subject::Path(path) => ("path", json!(path)),
        Subject::Host(host) => ("host", json!(host)),
        Subject::Unknown => ("unknown", Value::Null),
    };
    json!({ "class": op.class.name(), "subject_kind": kind, "subject": subject, "tool": op.tool, "span": span(op.span) })
}

fn span(span: Span) -> Value {
    json!({ "start": span.start, "end": span.end })
}

pub(super) fn hint(hint: &Hint) -> Value {
    json!({
        "path": hint.path,
        "grants": hint.grants,
        "state": hint.path.last().map(|step| &step.target),
    })
}

impl Report {
    /// Whether the command may run, or ran: a session may refuse what the policy allows, and hold a person's yes.
    pub fn may_run(&self) -> bool {
        match &self.session {
            None => self.judgement.allowed(),
            Some(session) => session.refusal.is_none() && (self.judgement.allowed() || session.approved),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let mut fields = self.judgement.fields();
        fields.insert("workspace".into(), json!(self.workspace.to_string_lossy()));
        fields.insert("cwd".into(), json!(self.cwd.to_string_lossy()));
        fields.insert("profiles".into(), json!(self.profiles));
        fields.insert("rights".into(), json!(self.rights));
        fields.insert("plan".into(), self.plan.as_ref().map_or(Value::Null, plan_to_json));
        fields.insert("notices".into(), json!(self.notices));
        let warnings: Vec<Value> = self.warnings.iter().map(diagnostic_to_json).collect();
        fields.insert("warnings".into(), Value::Array(warnings));
        if let Some(session) = &self.session {
            fields.insert("session".into(), self::session(session));
        }
        if let Some(outcome) = &self.outcome {
            fields.insert("jail".into(), jail(outcome));
            fields.insert("exit".into(), exit(outcome));
            fields.insert(
                "timing".into(),
                json!({
                    "decide_us": micros(self.judgement.took),
                    "setup_us": micros(outcome.setup),
                    "run_us": micros(outcome.duration),
                }),
            );
            let output = outcome
                .output
                .as_ref()
                .map(|(stdout, stderr)| json!({ "stdout": captured(stdout), "stderr": captured(stderr) }));
            fields.insert("output".into(), output.unwrap_or(Value::Null));
            fields.insert("refused_hosts".into(), json!(outcome.refused_hosts));
        }
        if let Some(effects) = &self.effects {
            fields.extend(effects.fields());
        }
        Value::Object(fields)
    }
}

/// A plan step by step. A path that is not UTF-8 cannot be written in JSON: then the steps are left out, and why is said.
pub fn plan_to_json(plan: &JailPlan) -> Value {
    serde_json::to_value(plan).unwrap_or_else(|error| json!({ "unprintable": error.to_string() }))
}

/// What a session adds.
fn session(session: &SessionShown) -> Value {
    json!({
        "id": session.id,
        "state": session.state,
        "after": session.after,
        "refusal": session.refusal,
        "approval": session.approval,
        "approved": session.approved,
        "touched": { "source": session.source, "files": session.touched },
        "job": session.job,
        "unrecorded": session.unrecorded.as_ref().map(diagnostic_to_json),
    })
}

/// What the jail was.
fn jail(outcome: &Outcome) -> Value {
    let protections: Map<String, Value> = outcome
        .protections
        .iter()
        .map(|(protection, achieved)| (name_of(protection), json!(achieved)))
        .collect();
    json!({
        "level": outcome.level,
        "protections": protections,
        "degraded": outcome.degraded,
        "quarantined": outcome.quarantined.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "appeared": outcome.appeared.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "planted": outcome
            .planted
            .iter()
            .map(|planted| {
                json!({
                    "file": planted.file.to_string_lossy(),
                    "setting": planted.setting,
                    "moved": planted.moved.as_ref().map(|path| path.to_string_lossy()),
                })
            })
            .collect::<Vec<_>>(),
        "config": outcome
            .config
            .iter()
            .map(|change| {
                json!({
                    "file": change.file.to_string_lossy(),
                    "settings": change.settings,
                    "written": change.refused.is_none(),
                    "refused": change.refused,
                })
            })
            .collect::<Vec<_>>(),
        "outputs": outcome.outputs.as_ref().map(|kept| {
            json!({
                "files": kept.files,
                "bytes": kept.bytes,
                "paths": kept.paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
                "left": kept
                    .left
                    .iter()
                    .map(|(path, why)| json!({ "path": path.to_string_lossy(), "why": why }))
                    .collect::<Vec<_>>(),
                "more_left": kept.more_left,
                "problem": kept.problem,
            })
        }),
        "limit": outcome.limit.map(crate::jail::LimitHit::name),
        "limit_inferred": outcome.limit_inferred,
    })
}

fn name_of(protection: &crate::profile::Protection) -> String {
    serde_json::to_value(protection)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// How the command ended.
pub(super) fn exit(outcome: &Outcome) -> Value {
    let mut fields = Map::new();
    fields.insert("code".into(), Value::Null);
    fields.insert("signal".into(), Value::Null);
    fields.insert("timed_out".into(), json!(outcome.exit == Exit::Timeout));
    fields.insert("not_started".into(), Value::Null);
    match outcome.exit {
        Exit::Code(code) => {
            fields.insert("code".into(), json!(code));
        }
        Exit::Signal(signal) => {
            fields.insert("signal".into(), json!(signal));
            fields.insert("signal_name".into(), json!(signal_name(signal)));
        }
        Exit::Timeout => {}
        Exit::NotStarted { code, errno } => {
            let error = std::io::Error::from_raw_os_error(errno);
            fields.insert(
                "not_started".into(),
                json!({ "code": code, "errno": errno, "message": error.to_string() }),
            );
        }
    }
    Value::Object(fields)
}

/// `SIGKILL` for 9.
pub fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("SIG{signal}"), |signal| signal.as_str().to_owned())
}

/// A captured stream, with what was cut and what was no UTF-8 said.
fn captured(stream: &Captured) -> Value {
    let mut bytes = stream.head.clone();
    let dropped = stream.dropped();
    let head = String::from_utf8_lossy(&bytes).into_owned();
    bytes.extend_from_slice(&stream.tail);
    let tail = String::from_utf8_lossy(&stream.tail).into_owned();
    let text = if dropped > 0 {
        format!("{head}\n[swbox: {dropped} bytes cut here]\n{tail}")
    } else {
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let invalid: usize = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    json!({
        "text": text,
        "bytes": stream.total,
        "truncated_bytes": dropped,
        "invalid_sequences": invalid,
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A failure as JSON.
pub fn failure_to_json(problem: &Diagnostic) -> Value {
    json!({ "version": JSON_VERSION, "error": diagnostic_to_json(problem) })
}

/// A diagnostic as JSON.
pub fn diagnostic_to_json(problem: &Diagnostic) -> Value {
    json!({
        "code": problem.code,
        "message": problem.message,
        "file": problem.file.as_ref().map(|file| file.to_string_lossy()),
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "help": problem.help,
    })
}

/// How many protections are less than prevented, for one line of text.
pub fn weakened(outcome: &Outcome) -> usize {
    outcome.protections.iter().filter(|(_, achieved)| *achieved == Achieved::Degraded).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_said_and_invalid_bytes_are_counted() {
        let stream = Captured { head: b"a\xff\xfe".to_vec(), tail: b"z".to_vec(), total: 100 };
        let value = captured(&stream);
        assert_eq!(value["truncated_bytes"], 96);
        assert_eq!(value["invalid_sequences"], 2);
        assert!(value["text"].as_str().unwrap().contains("[swbox: 96 bytes cut here]"));

        let whole = Captured {
            head: "gr\u{f6}".as_bytes()[..3].to_vec(),
            tail: "gr\u{f6}".as_bytes()[3..].to_vec(),
            total: 4,
        };
        assert_eq!(captured(&whole)["text"], "gr\u{f6}", "a character over the seam is whole");
    }
}
