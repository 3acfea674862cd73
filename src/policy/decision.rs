//! The verdict on a command line and its reasons.

use super::reason;
use crate::classify::OpClass;
use crate::shell::Span;

/// What may happen with a command; sources combine by `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Run it (in the jail).
    Allow,
    /// A person must say yes first.
    Prompt,
    /// Do not run it.
    Forbidden,
}

/// One source of the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What this source says.
    pub decision: Decision,
    /// Stable snake-case code from the table in `docs/reasons.md`, e.g. `missing_tool`, `final_state`, `catastrophe`.
    pub code: &'static str,
    /// One plain clause: `cat > config.yml` writes a file.
    pub message: String,
    /// The class concerned, where one is.
    pub class: Option<OpClass>,
    /// What it acts on, for a person.
    pub subject: Option<String>,
    /// The tools of which one would satisfy it.
    pub needs: Vec<String>,
    /// Where in the line.
    pub span: Option<Span>,
}

/// One step towards a state that would allow the command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// The event to send.
    pub event: String,
    /// The state it leads to.
    pub target: String,
    /// What the edge asks for: `approval`, `guard`, `evidence`; empty for a free edge.
    pub requires: Vec<String>,
}

/// The way forward: the shortest path (at most three edges) to a state that allows the whole line.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hint {
    /// The edges in order.
    pub path: Vec<Step>,
    /// The tools that the last state has and that matter here.
    pub grants: Vec<String>,
}

/// The verdict with all its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// The combined decision.
    pub decision: Decision,
    /// Each source that spoke, strictest first.
    pub reasons: Vec<Reason>,
    /// Where a refusal has a way forward.
    pub hint: Option<Hint>,
}

impl Evaluation {
    /// Makes a question a refusal: nobody is asked here.
    pub fn deny(&mut self) {
        if self.decision != Decision::Prompt {
            return;
        }
        self.decision = Decision::Forbidden;
        let first = self.reasons.first();
        self.reasons.insert(
            0,
            Reason {
                decision: Decision::Forbidden,
                code: reason::APPROVALS_DENIED.code,
                message: "a person would have to say yes, and approvals are denied here".to_owned(),
                class: None,
                subject: None,
                needs: Vec::new(),
                span: first.and_then(|reason| reason.span),
            },
        );
    }
}
