//! One problem of a workflow file: what, where in the document, what to do. Placed on line and column at the end.

use super::span::{Node, Path, line_column};
use crate::diagnostic::Diagnostic;

/// The stages of validation, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The file is a machine: types, references.
    Structure,
    /// There is a final state `failed` (or one of `meta.failure_states`).
    FailureState,
    /// Each non-final state can reach it.
    FailurePath,
    /// The initial state neither writes nor executes.
    QuietStart,
    /// There is an approval gate.
    Gate,
    /// Privilege rises by steps, or through an approval.
    Ladder,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Worth knowing; nothing fails.
    Advice,
    /// A validation stage fails; loading goes on.
    Violation,
    /// The file cannot be loaded.
    Error,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Stable snake-case code.
    pub code: &'static str,
    /// The stage it belongs to.
    pub stage: Stage,
    /// How much it matters.
    pub weight: Weight,
    /// Where in the document.
    pub path: Path,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Finding {
    /// A problem of the first stage that prevents loading.
    pub fn error(code: &'static str, path: Path, message: impl Into<String>) -> Self {
        Self {
            code,
            stage: Stage::Structure,
            weight: Weight::Error,
            path,
            message: message.into(),
            help: None,
        }
    }

    /// Something of the first stage worth knowing.
    pub fn advice(code: &'static str, path: Path, message: impl Into<String>) -> Self {
        Self { weight: Weight::Advice, ..Self::error(code, path, message) }
    }

    /// A failed stage.
    pub fn violation(stage: Stage, code: &'static str, path: Path, message: impl Into<String>) -> Self {
        Self { stage, weight: Weight::Violation, ..Self::error(code, path, message) }
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With line and column from the document it is about; `prefix` leads to the machine inside it.
    pub fn place(&self, text: &str, root: &Node, prefix: &Path) -> Diagnostic {
        let (range, path) = root.locate(&self.path.under(prefix));
        let (line, column) = line_column(text, range.start);
        let shown = path.to_string();
        Diagnostic {
            code: self.code,
            message: self.message.clone(),
            file: None,
            path: (!shown.is_empty()).then_some(shown),
            line: Some(line),
            column: Some(column),
            help: self.help.clone(),
        }
    }
}
