//! swbox's own writing: standard output with an honest answer when it cannot be written, and colour where wanted.

use std::io::{self, IsTerminal, Write};

use crate::diagnostic::Diagnostic;

/// When to colour: `Auto` is on a terminal, unless NO_COLOR is set or TERM is `dumb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// Colours for one stream, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output.
    pub(super) fn stdout(choice: ColorChoice) -> Self {
        Self { on: wanted(choice, io::stdout().is_terminal()) }
    }

    /// For standard error.
    pub(super) fn stderr(choice: ColorChoice) -> Self {
        Self { on: wanted(choice, io::stderr().is_terminal()) }
    }

    /// Without colours.
    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self { on: false }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Whether standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

fn wanted(choice: ColorChoice, terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Writes all of `text` to standard output.
///
/// A reader that went away (`swbox … | head -1`) is no fault: the rest is dropped in silence, as programs do that
/// die of SIGPIPE. Everything else (a full disk) is.
///
/// # Errors
/// `output_failed`.
pub(super) fn print(text: &str) -> Result<(), Diagnostic> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Diagnostic::new("output_failed", format!("standard output cannot be written: {error}"))
                .help("free some space or write elsewhere; the command itself may have run"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes to standard error; nobody can be told when that fails.
pub(super) fn complain(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
