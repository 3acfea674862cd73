//! A program that was started, judged by the arguments that it got: what the text of a line or a script did not show.
//!
//! What speaks here is what names commands: rules for the whole tree, `disallowed_tools` where they name an act that leaves the host,
//! and `allowed_commands` for what an unreadable line's own shell starts. Classes do not: rights hold what they do.
//!
//! Danger: a guard rail, not a wall. An own or copied binary evades it; and a word too many here kills a program that the
//! line was rightly allowed to run. What was decided on the line is not judged again.

use super::decision::{Decision, Reason};
use super::law::StateLaw;
use super::reason::{self, ReasonCode};
use super::snippet::visible;
use super::{Policy, evaluate};
use crate::classify::{Classification, ClassifiedSegment};
use crate::shell::Trust;
use crate::workflow::tool::{Family, ToolId, ToolSet};

/// How much of a program's arguments is shown.
const LONGEST: usize = 120;

/// A program that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Started<'a> {
    /// What its arguments may mean, classified: as given, by the file that really runs, and a script without its
    /// interpreter. A prohibition holds for each of them, an entry is enough for one.
    pub readings: &'a [Classification],
    /// Whether the line's own shell starts it.
    pub by_line: bool,
}

impl Policy<'_> {
    /// Whether anything here depends on what programs are given: else nobody need look.
    pub fn judges_programs(&self, law: &StateLaw, line: &Classification) -> bool {
        self.rules.restricts() || !denied(law).is_empty() || law.entries().is_some() && is_unread(line)
    }

    /// What forbids a program, or asks a person about it; nothing where it may run.
    pub fn judge_program(
        &self,
        law: &StateLaw,
        line: &Classification,
        started: Started<'_>,
    ) -> Option<Reason> {
        let known = |segment: &ClassifiedSegment| {
            let words = |other: &ClassifiedSegment| segment.argv == other.argv || segment.argv == other.raw;
            !is_unread(line) && line.segments.iter().any(words)
        };
        let unknown = |reading: &&Classification| !reading.segments.iter().all(known);
        let readings: Vec<&Classification> = started.readings.iter().filter(unknown).collect();
        if readings.len() < started.readings.len() {
            return None;
        }
        let segments = || readings.iter().flat_map(|reading| &reading.segments);
        segments().find_map(|segment| self.forbidden(law, segment)).or_else(|| {
            let judged = started.by_line && is_unread(line) && law.entries().is_some();
            judged.then(|| self.unlisted(law, &readings)).flatten()
        })
    }

    fn forbidden(&self, law: &StateLaw, segment: &ClassifiedSegment) -> Option<Reason> {
        let text = shown(&segment.argv);
        let because = |rule: &super::rule::Rule| {
            let why = rule.justification.as_ref().map(|why| format!(": {}", visible(why)));
            format!("by the rule `{}`{}", rule.entry.text, why.unwrap_or_default())
        };
        let said = self.rules.ask(segment);
        if let Some(rule) = said.forbid {
            return Some(say(reason::RULE_FORBID, format!("`{text}` is forbidden {}", because(rule))));
        }
        if let (Some(rule), None) = (said.prompt, said.lifting()) {
            let message =
                format!("`{text}` needs a person's yes {}; send it as its own command", because(rule));
            return Some(say(reason::RULE_PROMPT, message));
        }
        let is_denied = |name: &&str| ToolId::named(name).is_some_and(|id| denied(law).contains(id));
        let denied = segment.ops.iter().filter_map(|op| op.tool).find(is_denied)?;
        let message = format!("`{text}` is `{denied}`, which the state {:?} disallows", law.name);
        Some(Reason { needs: vec![denied.to_owned()], ..say(reason::TOOL_DISALLOWED, message) })
    }

    /// What neither an entry of the command list nor the tools cover, in the reading that says least.
    fn unlisted(&self, law: &StateLaw, readings: &[&Classification]) -> Option<Reason> {
        let mut first = None;
        for reading in readings {
            let line = reading.segments.first().map(|segment| shown(&segment.argv)).unwrap_or_default();
            let said = evaluate::judge(law, &self.rules, self.workspace.as_deref(), &line, reading);
            let found = said.reasons.into_iter().find(|reason| reason.decision == Decision::Forbidden)?;
            first.get_or_insert(Reason { span: None, ..found });
        }
        first
    }
}

/// Tools that the state takes away and whose act leaves the workspace, so that neither a throw-away layer nor a private
/// directory makes it harmless: a test may commit in its own `/tmp`, and may not push.
fn denied(law: &StateLaw) -> ToolSet {
    const LEAVING: ToolSet = ToolSet::of(&[Family::GitRemote, Family::External]);
    LEAVING
        .iter()
        .filter(|id| law.tools.denied.contains(*id))
        .map(ToolSet::one)
        .fold(ToolSet::EMPTY, ToolSet::union)
}

/// Whether the text of the line does not show which commands it starts.
fn is_unread(line: &Classification) -> bool {
    line.trust != Trust::Trusted
}

fn say(code: ReasonCode, message: String) -> Reason {
    Reason {
        decision: code.decision,
        code: code.code,
        message,
        class: None,
        subject: None,
        needs: Vec::new(),
        span: None,
    }
}

/// The words as a shell would need them, cut.
fn shown(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| shell_words::quote(word).into_owned()).collect();
    let text = words.join(" ");
    let short: String = text.chars().take(LONGEST).collect();
    let cut = if short.len() < text.len() { " …" } else { "" };
    format!("{}{cut}", visible(&short))
}
