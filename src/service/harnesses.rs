//! Programs that run agents: how they look among the ancestors of a process, and by which variable they name their own
//! session to the commands that they start.
//!
//! Danger: a harness that is missing here is taken for a person's shell. The table is one of several walls: an approval
//! also needs a terminal and what a person types.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Harness {
    /// Its name in bindings and messages.
    pub(super) name: &'static str,
    /// Base names of its program.
    programs: &'static [&'static str],
    /// Directories that hold its script, where an interpreter runs it.
    packages: &'static [&'static str],
    /// The variable with its own session's id.
    session: Option<&'static str>,
    /// Variables that it sets in every command.
    marks: &'static [&'static str],
}

/// The harnesses that are known.
pub(super) const ALL: &[Harness] = &[
    Harness {
        name: "claude",
        programs: &["claude"],
        packages: &["claude-code"],
        session: Some("CLAUDE_CODE_SESSION_ID"),
        marks: &["CLAUDECODE", "CLAUDE_PID"],
    },
    Harness {
        name: "codex",
        programs: &["codex", "codex-exec"],
        packages: &["codex"],
        session: Some("CODEX_THREAD_ID"),
        marks: &["CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID"],
    },
    Harness {
        name: "opencode",
        programs: &["opencode"],
        packages: &["opencode-ai"],
        session: None,
        marks: &["OPENCODE"],
    },
    Harness {
        name: "pi",
        programs: &["pi"],
        packages: &["pi-coding-agent"],
        session: Some("PI_SESSION_ID"),
        marks: &[],
    },
    Harness {
        name: "cursor",
        programs: &["cursor-agent"],
        packages: &["cursor-agent"],
        session: Some("CURSOR_CONVERSATION_ID"),
        marks: &["CURSOR_AGENT"],
    },
    Harness { name: "aider", programs: &["aider"], packages: &[], session: None, marks: &[] },
    Harness { name: "amp", programs: &["amp"], packages: &[], session: None, marks: &[] },
    Harness { name: "copilot", programs: &["copilot"], packages: &["copilot"], session: None, marks: &[] },
    Harness { name: "crush", programs: &["crush"], packages: &[], session: None, marks: &[] },
    Harness {
        name: "gemini",
        programs: &["gemini"],
        packages: &["gemini-cli"],
        session: None,
        marks: &["GEMINI_CLI"],
    },
    Harness { name: "goose", programs: &["goose"], packages: &[], session: None, marks: &[] },
    Harness { name: "openhands", programs: &["openhands"], packages: &[], session: None, marks: &[] },
    Harness { name: "qwen", programs: &["qwen"], packages: &["qwen-code"], session: None, marks: &[] },
    Harness { name: "swbox", programs: &[], packages: &[], session: None, marks: &["SWBOX_AGENT"] },
];

/// Variables by which a harness says that nobody is at its terminal.
const UNATTENDED: &[(&str, &str)] = &[("CLAUDE_CODE_SESSION_ATTENDED", "0"), ("CI", "true"), ("CI", "1")];

/// Whether somebody may be there to answer a question.
pub(super) fn is_attended(value: impl Fn(&str) -> Option<String>) -> bool {
    !UNATTENDED.iter().any(|(name, none)| value(name).as_deref() == Some(none))
}

/// Interpreters whose first argument is the program.
const INTERPRETERS: [&str; 8] = ["node", "bun", "deno", "python", "python3", "ruby", "bash", "sh"];

/// The harness that set this variable, if one does.
pub(super) fn of_variable(is_set: impl Fn(&str) -> bool) -> Option<&'static Harness> {
    ALL.iter().find(|harness| harness.session.iter().chain(harness.marks).any(|name| is_set(name)))
}

/// The id that a harness gives its session in the environment of its commands.
pub(super) fn own_session(value: impl Fn(&str) -> Option<String>) -> Option<(String, String)> {
    ALL.iter().find_map(|harness| Some((harness.name.to_owned(), value(harness.session?)?)))
}

/// The harness that a process is, by the kernel's name for it and its arguments.
pub(super) fn of_process(name: &[u8], arguments: &[&[u8]]) -> Option<&'static Harness> {
    let mut words = arguments.iter().copied();
    let first = words.next().unwrap_or_default();
    let script = is_interpreter(base(first)).then(|| words.find(|word| !word.starts_with(b"-"))).flatten();
    ALL.iter().find(|harness| {
        let is_program =
            |path: &[u8]| harness.programs.iter().any(|program| stem(base(path)) == program.as_bytes());
        let is_package = |path: &[u8]| {
            Path::new(OsStr::from_bytes(path))
                .iter()
                .any(|part| harness.packages.iter().any(|package| part == *package))
        };
        is_program(name)
            || is_program(first)
            || script.is_some_and(|script| is_program(script) || is_package(script))
    })
}

fn is_interpreter(name: &[u8]) -> bool {
    INTERPRETERS.iter().any(|known| {
        name.strip_prefix(known.as_bytes())
            .is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
    })
}

fn base(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Without a script's ending.
fn stem(name: &[u8]) -> &[u8] {
    [".js", ".mjs", ".cjs", ".py", ".ts", ".sh"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending.as_bytes()))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, arguments: &[&str]) -> Option<&'static str> {
        let arguments: Vec<&[u8]> = arguments.iter().map(|word| word.as_bytes()).collect();
        of_process(name.as_bytes(), &arguments).map(|harness| harness.name)
    }

    #[test]
    fn harnesses_are_known_by_name_argument_and_package() {
        for (name, arguments, expected) in [
            ("claude", &["claude"][..], Some("claude")),
            ("node", &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], Some("claude")),
            (
                "node",
                &["/usr/bin/node", "--max-old-space-size=4096", "/usr/bin/claude", "-p"],
                Some("claude"),
            ),
            ("python3.12", &["/usr/bin/python3.12", "/home/u/.local/bin/aider"], Some("aider")),
            ("bash", &["bash", "./codex.sh"], Some("codex")),
            ("bash", &["bash", "-c", "echo codex"], None),
            ("bash", &["-bash"], None),
            ("vim", &["vim", "claude"], None),
            ("sshd", &["sshd: u@pts/0"], None),
            ("cursor", &["/opt/cursor/cursor"], None),
        ] {
            assert_eq!(found(name, arguments), expected, "{name} {arguments:?}");
        }
    }

    #[test]
    fn a_harness_names_its_session_and_leaves_marks() {
        let set = |name: &str| name == "CLAUDECODE";
        assert_eq!(of_variable(set).map(|harness| harness.name), Some("claude"));
        assert_eq!(of_variable(|_| false), None);
        assert!(is_attended(|_| None));
        assert!(!is_attended(|name| (name == "CI").then(|| "true".to_owned())));
        let value = |name: &str| (name == "CODEX_THREAD_ID").then(|| "t1".to_owned());
        assert_eq!(own_session(value), Some(("codex".to_owned(), "t1".to_owned())));
    }
}
