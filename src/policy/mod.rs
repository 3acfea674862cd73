//! State, rules and operations to a decision and to rights. Pure.
//!
//! Duty: [`Policy::compile`] once a machine, then [`Policy::evaluate`] a line, [`Policy::decide_tool`] a tool call and
//! [`Policy::rights`] for the jail. Danger: an `Allow` here starts a process. Absent evidence is never `Allow` by
//! class; decisions combine by `max`.

pub mod decision;
mod entry;
mod evaluate;
mod hint;
pub mod law;
mod loopback;
pub mod need;
pub mod program;
pub mod reason;
pub mod right;
pub mod rights;
pub mod rule;
mod scratch;
mod snippet;

pub use decision::{Decision, Evaluation, Hint, Reason, Step};
pub use law::StateLaw;
pub use program::Started;
pub use right::Right;
pub use rights::{NetworkRight, Rights, RightsRequest, WorkspaceRight};
pub use rule::{Base, Origin, RuleSet};

use crate::classify::Classification;
use crate::diagnostic::Diagnostic;
use crate::workflow::Machine;
use crate::workflow::tool::{Meaning, ToolId, ToolSet, meaning};

/// A machine whose states can be asked.
#[derive(Debug)]
pub struct Policy<'m> {
    machine: &'m Machine,
    rules: RuleSet,
    laws: Vec<StateLaw>,
    workspace: Option<String>,
}

impl<'m> Policy<'m> {
    /// Compiles the states and adds the workflow's rules to the user's.
    ///
    /// # Errors
    /// Rules that cannot be used.
    pub fn compile(machine: &'m Machine, mut rules: RuleSet) -> Result<Self, Vec<Diagnostic>> {
        rules.add(&machine.rules, Origin::Workflow)?;
        let laws = machine.states.iter().map(|(name, state)| StateLaw::new(name, state)).collect();
        Ok(Self { machine, rules, laws, workspace: None })
    }

    /// With the workspace that the lines run in, resolved: `delete_file` holds in it only.
    #[must_use]
    pub fn within(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// The machine it is the policy of.
    pub fn machine(&self) -> &'m Machine {
        self.machine
    }

    /// The law of a state.
    pub fn state(&self, name: &str) -> Option<&StateLaw> {
        self.machine.states.get_index_of(name).and_then(|at| self.laws.get(at))
    }

    /// The law of a state, or what is wrong with its name.
    ///
    /// # Errors
    /// When the machine has no such state.
    pub fn require_state(&self, name: &str) -> Result<&StateLaw, Diagnostic> {
        self.state(name).ok_or_else(|| {
            let names: Vec<_> = self.machine.states.keys().map(String::as_str).collect();
            Diagnostic::new(
                "unknown_state",
                format!("the workflow {:?} has no state {name:?}", self.machine.id),
            )
            .help(format!("its states are {}", names.join(", ")))
        })
    }

    /// The decision on a classified line, with its reasons and, for a refusal, the way forward.
    pub fn evaluate(&self, law: &StateLaw, line: &str, classification: &Classification) -> Evaluation {
        let mut evaluation = self.judge(law, line, classification);
        if evaluation.decision == Decision::Forbidden && !law.is_final {
            evaluation.hint = self.hint(law, &evaluation, |other| {
                self.judge(other, line, classification).decision != Decision::Forbidden
            });
        }
        evaluation
    }

    /// The decision on a call of a native tool by its name, as a harness gives it. Shell tools are judged by their
    /// line ([`Self::evaluate`]); this says only whether the tool as such is there.
    pub fn decide_tool(&self, law: &StateLaw, tool: &str) -> Evaluation {
        let decision = law.decide(tool);
        let mut evaluation = Evaluation { decision, reasons: Vec::new(), hint: None };
        if decision == Decision::Allow {
            return evaluation;
        }
        let shown = snippet::visible(tool);
        let (code, message) = if law.is_final {
            (reason::FINAL_STATE, format!("the state {:?} is final; nothing runs there", law.name))
        } else if law.tools.denies(tool) {
            (reason::TOOL_DISALLOWED, format!("the state {:?} disallows `{shown}`", law.name))
        } else {
            (reason::MISSING_TOOL, format!("`{shown}` is not among the tools of the state {:?}", law.name))
        };
        evaluation.reasons.push(Reason {
            decision,
            code: code.code,
            message,
            class: None,
            subject: None,
            needs: vec![shown],
            span: None,
        });
        if !law.is_final {
            evaluation.hint =
                self.hint(law, &evaluation, |other| !other.is_final && other.decide(tool) == Decision::Allow);
        }
        evaluation
    }

    /// The rights of a line in a state: what the jail may grant, whatever was decided.
    pub fn rights(&self, law: &StateLaw, line: &Classification, request: RightsRequest<'_>) -> Rights {
        rights::rights(law, line, self.workspace.as_deref(), request)
    }

    fn judge(&self, law: &StateLaw, line: &str, classification: &Classification) -> Evaluation {
        evaluate::judge(law, &self.rules, self.workspace.as_deref(), line, classification)
    }

    fn hint(&self, law: &StateLaw, refusal: &Evaluation, allows: impl Fn(&StateLaw) -> bool) -> Option<Hint> {
        let (path, target) =
            hint::path(self.machine, &law.name, |name| self.state(name).is_some_and(&allows))?;
        let needed = needed_tools(refusal);
        let target = self.state(target)?;
        let matters = |name: &&String| match meaning(name) {
            Meaning::Known(id) => needed.contains(id),
            Meaning::Own => false,
            Meaning::Unknown => refusal.reasons.iter().any(|reason| reason.needs.contains(name)),
        };
        Some(Hint::new(path, target.listed().iter().filter(matters).cloned().collect()))
    }
}

/// The tools of which one would satisfy a reason of the refusal.
fn needed_tools(refusal: &Evaluation) -> ToolSet {
    let mut needed = ToolSet::EMPTY;
    for reason in refusal.reasons.iter().filter(|reason| reason.decision == Decision::Forbidden) {
        if let Some(class) = reason.class {
            needed = needed.union(need::need(class).any);
        }
        for id in reason.needs.iter().filter_map(|name| ToolId::named(name)) {
            needed =
                needed.union(if reason.class.is_none() { need::satisfying(id) } else { ToolSet::one(id) });
        }
    }
    needed
}

#[cfg(test)]
mod tests;
