//! A classified line against the law of a state: every source speaks, the strictest word holds.
//!
//! Danger: an `Allow` here starts a process. Each command is judged on its own and nothing a line adds can lower what
//! is said of the rest, so the result is a plain maximum.

use super::decision::{Decision, Evaluation, Reason};
use super::law::StateLaw;
use super::loopback;
use super::need::need;
use super::reason::{self, ReasonCode};
use super::rule::{Base, RuleSet};
use super::scratch;
use super::snippet::{snippet, visible};
use crate::classify::{Classification, ClassifiedSegment, Op, OpClass, OpSet, Subject};
use crate::shell::{Span, Trust};

/// Commands of swbox that are a person's.
const PERSON_COMMANDS: [&str; 7] = ["approve", "reject", "session", "rules", "trust", "init", "serve"];

/// Commands of swbox that are an agent's, answered outside the jail.
const AGENT_COMMANDS: [&str; 5] = ["state", "transition", "jobs", "output", "kill"];

/// The judgement of one line in one state, without the way forward.
pub(super) fn judge(
    law: &StateLaw,
    rules: &RuleSet,
    workspace: Option<&str>,
    line: &str,
    classification: &Classification,
) -> Evaluation {
    let scratch = scratch::is_scratch_line(law, workspace, classification);
    let mut judge = Judge { law, rules, workspace, scratch, line, reasons: Vec::new() };
    judge.whole(classification);
    if !law.is_final {
        for segment in &classification.segments {
            judge.segment(segment);
        }
    }
    judge.done()
}

struct Judge<'a> {
    law: &'a StateLaw,
    rules: &'a RuleSet,
    workspace: Option<&'a str>,
    /// All that the line changes is in private directories.
    scratch: bool,
    line: &'a str,
    reasons: Vec<Reason>,
}

impl Judge<'_> {
    fn done(mut self) -> Evaluation {
        self.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decision));
        let decision = self.reasons.first().map_or(Decision::Allow, |reason| reason.decision);
        Evaluation { decision, reasons: self.reasons, hint: None }
    }

    fn say(&mut self, code: ReasonCode, message: String, span: Option<Span>) -> &mut Reason {
        let position = self.reasons.len();
        self.reasons.push(Reason {
            decision: code.decision,
            code: code.code,
            message,
            class: None,
            subject: None,
            needs: Vec::new(),
            span,
        });
        &mut self.reasons[position]
    }

    /// What concerns the line as a whole.
    fn whole(&mut self, classification: &Classification) {
        if let Some(catastrophe) = &classification.catastrophe {
            let text = snippet(self.line, catastrophe.span);
            let what = match catastrophe.shape {
                "fork_bomb" => "is a fork bomb",
                "remove_tilde" | "remove_home" => "removes the home directory",
                _ => "removes the whole file system",
            };
            self.say(
                reason::CATASTROPHE,
                format!("`{text}` {what}; nothing overrides this"),
                Some(catastrophe.span),
            );
        }
        if self.law.is_final {
            let message = format!("the state {:?} is final; nothing runs there", self.law.name);
            self.say(reason::FINAL_STATE, message, None);
            return;
        }
        if let Trust::Untrusted { reason, span, .. } = &classification.trust {
            let message = format!("the line cannot be read for certain: {reason}");
            let (code, span) = (self.untrusted(), Some(*span));
            self.say(code, message, span);
        }
        let covered = classification.segments.iter().any(|segment| segment.opaque.is_some());
        if let (Some(opacity), false) = (&classification.opaque, covered) {
            let listed = self.law.entries().is_some();
            let code = if listed { reason::COMMAND_NOT_LISTED } else { self.opaque() };
            self.say(code, visible(&opacity.reason), Some(opacity.span));
        }
    }

    fn untrusted(&self) -> ReasonCode {
        if !self.law.executes() {
            return reason::UNTRUSTED;
        }
        let ruled = self.law.entries().is_some() || self.rules.restricts();
        if ruled && !self.rules.argv_judged {
            reason::UNTRUSTED_WITH_RULES
        } else {
            reason::UNTRUSTED_BOUNDED
        }
    }

    /// The word on something opaque, where no command list stands against it.
    fn opaque(&self) -> ReasonCode {
        if self.law.executes() {
            return reason::OPAQUE_BOUNDED;
        }
        if self.law.opaque_read_only() { reason::OPAQUE_READ_ONLY } else { reason::OPAQUE }
    }

    fn segment(&mut self, segment: &ClassifiedSegment) {
        self.rules(segment);
        // Either is the last word on the command: what it lacks besides would name a way that is none.
        if is_one_of(segment, &PERSON_COMMANDS) {
            let text = snippet(self.line, segment.span);
            self.say(reason::PERSON_COMMAND, format!("`{text}` is for a person"), Some(segment.span));
            return;
        }
        if is_one_of(segment, &AGENT_COMMANDS) {
            let text = snippet(self.line, segment.span);
            let message = format!("`{text}` counts only in a session and alone; send it as its own command");
            self.say(reason::AGENT_COMMAND, message, Some(segment.span));
            return;
        }
        let entries = self.law.entries();
        let matching = entries.unwrap_or_default().iter().filter(|entry| entry.matches(segment));
        let matching: Vec<_> = matching.collect();
        let granted = matching.iter().fold(OpSet::EMPTY, |set, entry| set.union(entry.grant().classes));
        let grants_opaque = matching.iter().any(|entry| entry.grant().opaque);
        let listed = !matching.is_empty();
        let mut missing = false;
        for op in &segment.ops {
            let satisfied = self.law.satisfies(&self.inside(op)) || granted.contains(op.class);
            if !self.op_is_free(segment, op) && !satisfied {
                missing = true;
                self.missing(segment, op, listed);
            }
        }
        if segment.ops.is_empty() && !is_free(segment) && segment.opaque.is_none() && !self.runs_programs() {
            missing = true;
            let op =
                Op { class: OpClass::Passthrough, subject: Subject::None, span: segment.span, tool: None };
            self.missing(segment, &op, listed);
        }
        if let Some(opacity) = segment.opaque.as_ref().filter(|_| entries.is_none() || listed) {
            // What the bare entry does not hide, an option of this command hides.
            let code = if listed && !grants_opaque { reason::BEYOND_ENTRY } else { self.opaque() };
            let reason = self.say(code, visible(&opacity.reason), Some(opacity.span));
            if code == reason::OPAQUE {
                reason.class = Some(OpClass::Passthrough);
                reason.needs = names(need(OpClass::Passthrough).names);
            }
        }
        if entries.is_some() && !listed && !missing && !self.needs_no_entry(segment) {
            let text = snippet(self.line, segment.span);
            let message = format!("`{text}` is not among the commands that this state lists");
            let list = entries.unwrap_or_default().iter().map(|entry| entry.text.clone()).collect();
            self.say(reason::COMMAND_NOT_LISTED, message, Some(segment.span)).needs = list;
        }
    }

    fn rules(&mut self, segment: &ClassifiedSegment) {
        let said = self.rules.ask(segment);
        let text = || snippet(self.line, segment.span);
        let because = |rule: &super::rule::Rule| {
            let why = rule.justification.as_ref().map(|why| format!(": {}", visible(why)));
            why.unwrap_or_default()
        };
        if let Some(rule) = said.forbid {
            let message =
                format!("`{}` is forbidden by the rule `{}`{}", text(), rule.entry.text, because(rule));
            self.say(reason::RULE_FORBID, message, Some(segment.span));
        }
        let asks = said.prompt.is_some() || self.rules.base == Base::Prompt && !is_harmless(segment);
        if !asks {
            return;
        }
        if let Some(allow) = said.lifting() {
            let message = format!("`{}` is allowed by the rule `{}`", text(), allow.entry.text);
            self.say(reason::RULE_ALLOW, message, Some(segment.span));
        } else if let Some(rule) = said.prompt {
            let message = format!(
                "`{}` needs a person's yes by the rule `{}`{}",
                text(),
                rule.entry.text,
                because(rule)
            );
            self.say(reason::RULE_PROMPT, message, Some(segment.span));
        } else {
            let message = format!("`{}` needs a person's yes: no rule covers it", text());
            self.say(reason::DEFAULT_PROMPT, message, Some(segment.span));
        }
    }

    fn runs_programs(&self) -> bool {
        self.law.executes() || self.law.opaque_read_only()
    }

    /// The operation without its exact tool where that is for the workspace only and the path lies outside.
    fn inside<'o>(&self, op: &'o Op) -> std::borrow::Cow<'o, Op> {
        let outside = match (&op.subject, self.workspace) {
            (Subject::Path(path), Some(workspace)) => !is_inside(path, workspace),
            _ => false,
        };
        if outside && op.class == OpClass::Destructive {
            return std::borrow::Cow::Owned(Op { tool: None, ..op.clone() });
        }
        std::borrow::Cow::Borrowed(op)
    }

    /// Whether an operation needs no tool here: no effect of its own, a filter of its input, or said as opacity.
    fn op_is_free(&self, segment: &ClassifiedSegment, op: &Op) -> bool {
        if self.scratch && scratch::is_free(self.law, op) || self.is_unseen_output(segment, op) {
            return true;
        }
        match op.class {
            OpClass::Passthrough => {
                is_free(segment) || segment.opaque.is_some() || self.law.opaque_read_only()
            }
            OpClass::FileRead | OpClass::ContentSearch | OpClass::FileSearch => {
                segment.stdin_filter && op.subject == Subject::None
            }
            OpClass::Network => loopback::is_own(self.law, segment, op),
            OpClass::FileWrite
            | OpClass::FileModify
            | OpClass::Destructive
            | OpClass::GitWrite
            | OpClass::GitRead => false,
        }
    }

    /// What an opaque program writes where the line does not say (`cmake -B build` as much as `make`): its opacity says
    /// it already, and where the state has no tool to write the throw-away layer takes it. Not what it changes
    /// (`eslint --fix`): whoever asks for that wants it to last.
    fn is_unseen_output(&self, segment: &ClassifiedSegment, op: &Op) -> bool {
        op.class == OpClass::FileWrite
            && op.subject == Subject::None
            && segment.opaque.is_some()
            && self.law.executes()
            && !self.law.denies(op)
    }

    /// Whether a command list has nothing to say of a command: no effect, or `closed` and allowed by the other tools.
    fn needs_no_entry(&self, segment: &ClassifiedSegment) -> bool {
        if segment.opaque.is_some() {
            return false;
        }
        let scratch = |op: &Op| self.scratch && scratch::is_free(self.law, op);
        is_free(segment)
            || segment.closed
                && !segment.ops.is_empty()
                && segment
                    .ops
                    .iter()
                    .all(|op| op.class != OpClass::Passthrough && (self.law.satisfies(op) || scratch(op)))
    }

    fn missing(&mut self, segment: &ClassifiedSegment, op: &Op, listed: bool) {
        let need = need(op.class);
        let text = snippet(self.line, segment.span);
        let subject = match &op.subject {
            Subject::Path(subject) | Subject::Host(subject) => Some(visible(subject)),
            Subject::None | Subject::Unknown => None,
        };
        let class = op.class.name();
        let shown =
            subject.as_ref().map_or_else(|| class.to_owned(), |subject| format!("{class}: {subject}"));
        let code = if self.law.denies(op) {
            reason::TOOL_DISALLOWED
        } else if listed {
            reason::BEYOND_ENTRY
        } else if matches!(op.class, OpClass::Destructive | OpClass::GitWrite) {
            reason::MISSING_SENTINEL
        } else {
            reason::MISSING_TOOL
        };
        let mut needs = names(need.names);
        if let Some(exact) = op.tool {
            needs.insert(0, exact.to_owned());
        }
        let reason = self.say(code, format!("`{text}` {} ({shown})", need.clause), Some(op.span));
        reason.class = Some(op.class);
        reason.subject = subject;
        reason.needs = needs;
    }
}

fn is_one_of(segment: &ClassifiedSegment, commands: &[&str]) -> bool {
    let mut words = segment.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    segment.program == "swbox" && words.next().is_some_and(|word| commands.contains(&word.as_str()))
}

/// Whether a path lies in the workspace, as far as its text shows.
fn is_inside(path: &str, workspace: &str) -> bool {
    let rest = path.strip_prefix(workspace.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    rest.is_some_and(|inner| !inner.is_empty() && inner.split('/').all(|part| part != ".."))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether running the program itself needs no tool.
fn is_free(segment: &ClassifiedSegment) -> bool {
    segment.effect_free || segment.pure || segment.stdin_filter
}

/// Whether a base of `prompt` has nothing to ask: no effect, or reading that does what it says and no more.
fn is_harmless(segment: &ClassifiedSegment) -> bool {
    const READING: OpSet = OpSet::of(&[
        OpClass::FileRead,
        OpClass::ContentSearch,
        OpClass::FileSearch,
        OpClass::GitRead,
        OpClass::Passthrough,
    ]);
    segment.opaque.is_none() && (is_free(segment) || segment.closed) && segment.classes.is_subset(READING)
}
