//! What is written down of how a command ended.
//!
//! Danger: a status that evidence goes by must not say that all went well where the workspace is not as it says.

use crate::jail::{Exit, Outcome};

/// The status as a shell would give it, and 125 where the workspace is not as that says; none where nothing ran.
pub(super) fn exit_code(outcome: &Outcome) -> Option<i32> {
    if !outcome.is_sound() {
        return Some(125);
    }
    match outcome.exit {
        Exit::Code(code) | Exit::NotStarted { code, .. } => Some(i32::from(code)),
        Exit::Signal(signal) => Some(128 + signal),
        Exit::Timeout => Some(124),
    }
}

/// Bytes that went to the agent, where they were seen.
pub(super) fn output(outcome: &Outcome) -> u64 {
    outcome.output.as_ref().map_or(0, |(out, err)| out.total + err.total)
}
