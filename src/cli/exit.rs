//! Exit codes: the one table. `docs/errors.md` and `swbox --help` repeat it, and a test compares them.

use crate::diagnostic::Diagnostic;

/// The codes that swbox itself ends with; a command's own code is passed through.
#[derive(Debug)]
pub enum Code {}

impl Code {
    /// Everything went well; `check`: allow; `workflow validate`: no problem.
    pub const OK: u8 = 0;
    /// `workflow validate`: problems found; `doctor`: a strict protection cannot be had; `trust`: a file is not accepted.
    pub const PROBLEMS: u8 = 1;
    /// The command line of swbox itself cannot be understood.
    pub const USAGE: u8 = 2;
    /// `check`: a person must say yes first.
    pub const CHECK_PROMPT: u8 = 10;
    /// `check`: forbidden.
    pub const CHECK_FORBIDDEN: u8 = 20;
    /// The wall clock ran out; the whole process tree was ended.
    pub const TIMEOUT: u8 = 124;
    /// swbox could not set up the jail, read a file it needs or write its own output, or had to quarantine.
    pub const SETUP: u8 = 125;
    /// Refused: forbidden, not approved, or the program cannot be executed.
    pub const REFUSED: u8 = 126;
    /// The program was not found.
    pub const NOT_FOUND: u8 = 127;
    /// A signal ended the command: this plus the signal's number.
    pub const SIGNAL: u8 = 128;
}

/// Code, the commands that use it, meaning.
pub const TABLE: &[(&str, &str, &str)] = &[
    ("0", "all", "done; `check`: allow; `exec`, `bash`: the command's own success"),
    (
        "1",
        "workflow validate, doctor, audit, trust",
        "problems found; a strict protection cannot be had; a command would be refused; a file is not accepted",
    ),
    ("2", "all but exec and bash", "swbox's own command line cannot be understood"),
    ("10", "check", "prompt: a person must say yes first"),
    ("20", "check", "forbidden"),
    ("124", "exec, bash", "the time ran out and the process tree was ended"),
    ("125", "all", "swbox could not set up, read or write what it needs, or had to quarantine a file"),
    (
        "126",
        "exec, bash, the session's commands, trust",
        "refused (forbidden, not approved, not moved, not a person), or the program cannot be executed",
    ),
    ("127", "exec, bash", "the program was not found"),
    ("128+n", "exec, bash", "signal n ended the command"),
    ("other", "exec, bash", "the command's own exit code"),
];

/// Problems that are a refusal: nothing is wrong with swbox or its host, the work has no session to go on in.
const REFUSALS: [&str; 4] = ["session_ambiguous", "session_over", "session_none", "not_a_person"];

/// The exit code of a problem.
pub(super) fn of_problem(problem: &Diagnostic) -> u8 {
    if REFUSALS.contains(&problem.code) { Code::REFUSED } else { Code::SETUP }
}

/// A signal's exit code by the shells' habit.
pub fn of_signal(signal: i32) -> u8 {
    u8::try_from(signal).ok().and_then(|signal| Code::SIGNAL.checked_add(signal)).unwrap_or(Code::SETUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_code_once() {
        let codes = [
            Code::OK,
            Code::PROBLEMS,
            Code::USAGE,
            Code::CHECK_PROMPT,
            Code::CHECK_FORBIDDEN,
            Code::TIMEOUT,
            Code::SETUP,
            Code::REFUSED,
            Code::NOT_FOUND,
        ];
        let listed: Vec<u8> = TABLE.iter().filter_map(|(code, _, _)| code.parse().ok()).collect();
        assert_eq!(listed, codes);
        assert_eq!(of_signal(9), 137);
        assert_eq!(of_signal(200), Code::SETUP);
    }
}
