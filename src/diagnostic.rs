//! One shape for everything swbox has to tell a person: code, message, place, help.

use std::path::PathBuf;

/// A problem, with a stable code and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostic {
    /// Stable snake-case code, listed in `docs/errors.md`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file concerned.
    pub file: Option<PathBuf>,
    /// Path inside the document (`states.planning.on.DONE`).
    pub path: Option<String>,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column, from 1, in characters.
    pub column: Option<usize>,
    /// What the user can do next.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the file concerned.
    #[must_use]
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
            }
            write!(f, ": ")?;
        }
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        write!(f, "{} [{}]", self.message, self.code)
    }
}

impl std::error::Error for Diagnostic {}
