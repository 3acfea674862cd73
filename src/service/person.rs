//! A person's channel: a terminal outside every jail, with no registered harness among the ancestors, and what a person
//! types there.
//!
//! Danger: an agent that could speak here would approve itself. What runs as the same user outside every jail can forge
//! a terminal and let go of its ancestors; the threat model says so. What runs inside one cannot: it sees neither the store nor a terminal of ours.

use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Write};

use super::{ancestry, harnesses};
use crate::diagnostic::Diagnostic;

/// The channel's name in journals.
pub(super) const CHANNEL: &str = "terminal";

/// The controlling terminal, with a person at it.
#[derive(Debug)]
pub struct Terminal {
    device: BufReader<fs::File>,
}

impl Terminal {
    /// Opens the channel for `what`.
    ///
    /// # Errors
    /// `not_a_person`, with the reason.
    pub fn open(what: &str) -> Result<Self, Diagnostic> {
        no_agent(what)?;
        let refuse = |why: String| Err(refusal(what, &why));
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return refuse("there is no terminal".to_owned());
        }
        match fs::File::options().read(true).write(true).open("/dev/tty") {
            Ok(device) => Ok(Self { device: BufReader::new(device) }),
            Err(error) => refuse(format!("there is no controlling terminal ({error})")),
        }
    }

    /// Shows a text.
    ///
    /// # Errors
    /// `not_a_person` where the terminal goes away.
    pub fn show(&mut self, text: &str) -> Result<(), Diagnostic> {
        let device = self.device.get_mut();
        device.write_all(text.as_bytes()).and_then(|()| device.flush()).map_err(gone)
    }

    /// Shows a question and gives the line that is typed, without blanks around it; empty at the end of input.
    ///
    /// # Errors
    /// `not_a_person` where the terminal goes away.
    pub fn ask(&mut self, question: &str) -> Result<String, Diagnostic> {
        self.show(question)?;
        let mut line = String::new();
        self.device.read_line(&mut line).map_err(gone)?;
        Ok(line.trim().to_owned())
    }
}

fn gone(error: std::io::Error) -> Diagnostic {
    Diagnostic::new("not_a_person", format!("the terminal is gone: {error}"))
}

/// Refuses what a command of a registered harness asks, or something inside a jail.
///
/// # Errors
/// `not_a_person`, with the reason.
pub(super) fn no_agent(what: &str) -> Result<(), Diagnostic> {
    if confined() {
        return Err(refusal(what, "this process is inside a jail"));
    }
    if let Some(harness) = harnesses::of_variable(|name| std::env::var_os(name).is_some()) {
        return Err(refusal(what, &format!("the environment is that of a command of {}", harness.name)));
    }
    match ancestry::harness_behind() {
        None => Ok(()),
        Some((harness, how)) => Err(refusal(what, &format!("{} {how}", harness.name))),
    }
}

fn refusal(what: &str, why: &str) -> Diagnostic {
    Diagnostic::new("not_a_person", format!("{what} is for a person: {why}"))
        .help("run it yourself in a terminal of your own, outside the agent's")
}

/// Whether the kernel has taken away that this process gains privileges, as in every jail of swbox.
fn confined() -> bool {
    fs::read_to_string("/proc/self/status").map_or(true, |status| {
        status.lines().any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|value| value.trim() != "0"))
    })
}
