//! Prefix rules: `allow`, `prompt` or `forbid` commands by how they begin, with examples that loading checks.
//!
//! Danger: an allow rule that matches a wrapper or an interpreter allows everything. Such a command is never the
//! subject of an allow rule, and an allow must match the command as written and unwrapped.

use super::entry::Entry;
use crate::classify::{self, ClassifiedSegment, Environment};
use crate::diagnostic::Diagnostic;
use crate::workflow::model::{RuleSpec, Verdict};

/// Who wrote a rule; only the user's allow rules lift a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user's own configuration, or a workspace file that the user trusted.
    User,
    /// The workflow.
    Workflow,
}

/// The decision where no rule speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// The jail bounds it.
    #[default]
    Allow,
    /// A person decides.
    Prompt,
}

/// A compiled rule.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) entry: Entry,
    pub(super) verdict: Verdict,
    pub(super) origin: Origin,
    pub(super) justification: Option<String>,
}

/// The rules in force, whoever wrote them, and what holds where none speaks.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    pub(super) rules: Vec<Rule>,
    /// The decision where no rule speaks.
    pub base: Base,
    /// Whether the jail judges the argv of each exec against the rules, so that an unreadable line may run.
    pub argv_judged: bool,
}

/// What the rules say of one command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said<'r> {
    pub(super) forbid: Option<&'r Rule>,
    pub(super) prompt: Option<&'r Rule>,
    pub(super) allow: Option<&'r Rule>,
}

impl RuleSet {
    /// The same where programs are, or are not, judged by what they are given.
    #[must_use]
    pub fn judging_argv(mut self, judged: bool) -> Self {
        self.argv_judged = judged;
        self
    }

    /// Adds rules of one origin, after holding each against its own examples.
    ///
    /// # Errors
    /// Each rule without a command, and each example that the rule does not keep.
    pub fn add(&mut self, specs: &[RuleSpec], origin: Origin) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Vec::new();
        for spec in specs {
            let entry = Entry::new(&spec.prefix);
            if entry.len() == 0 {
                problems.push(
                    Diagnostic::new(
                        "rule_prefix",
                        format!("{:?} is not the beginning of a command", spec.prefix),
                    )
                    .help("write words as in a shell: `git push`, `npm run *`"),
                );
                continue;
            }
            let justification = spec.justification.clone();
            let rule = Rule { entry, verdict: spec.decision, origin, justification };
            problems.extend(rule.unkept(spec));
            self.rules.push(rule);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule could refuse or ask, so that a line must be readable.
    pub(super) fn restricts(&self) -> bool {
        self.base == Base::Prompt || self.rules.iter().any(|rule| rule.verdict != Verdict::Allow)
    }

    /// What is said of a command.
    pub(super) fn ask(&self, segment: &ClassifiedSegment) -> Said<'_> {
        let mut said = Said::default();
        for rule in &self.rules {
            let slot = match rule.verdict {
                Verdict::Forbid if rule.entry.concerns(segment) => &mut said.forbid,
                Verdict::Prompt if rule.entry.concerns(segment) => &mut said.prompt,
                Verdict::Allow if rule.allows(segment) => &mut said.allow,
                Verdict::Forbid | Verdict::Prompt | Verdict::Allow => continue,
            };
            // The most specific rule of each kind speaks.
            if slot.is_none_or(|present| present.entry.len() < rule.entry.len()) {
                *slot = Some(rule);
            }
        }
        said
    }
}

impl Rule {
    /// The examples of `spec` that the rule does not keep.
    fn unkept(&self, spec: &RuleSpec) -> Vec<Diagnostic> {
        let touches = |text: &str| {
            let line = classify::classify_line(text, &Environment::default());
            line.segments.iter().any(|segment| match self.verdict {
                // Whoever writes a rule: the example asks whether it would match, not whether it may lift a prompt.
                Verdict::Allow => self.covers(segment),
                Verdict::Prompt | Verdict::Forbid => self.entry.concerns(segment),
            })
        };
        let problem = |text: &String, message: &str| {
            Diagnostic::new(
                "rule_example",
                format!("the rule `{}` {message} its example {text:?}", spec.prefix),
            )
            .help("correct the prefix or the example")
        };
        let missed =
            spec.matches.iter().filter(|text| !touches(text)).map(|text| problem(text, "does not match"));
        let caught = spec.not_match.iter().filter(|text| touches(text));
        missed.chain(caught.map(|text| problem(text, "matches, against"))).collect()
    }

    fn allows(&self, segment: &ClassifiedSegment) -> bool {
        self.origin == Origin::User && self.covers(segment)
    }

    fn covers(&self, segment: &ClassifiedSegment) -> bool {
        !segment.indirect
            && segment.opaque.is_none()
            && self.entry.matches(segment)
            && self.entry.matches_raw(segment)
    }
}

impl Said<'_> {
    /// The allow rule that lifts the prompt: more specific than a prompt rule, any against the base.
    pub(super) fn lifting(&self) -> Option<&Rule> {
        let allow = self.allow?;
        let lifted = self.prompt.is_none_or(|prompt| prompt.entry.len() < allow.entry.len());
        lifted.then_some(allow)
    }
}
