//! A person at a terminal, and short ways of saying what the tests say often.

use std::path::Path;

use crate::project::{Project, Ran, ran};

/// What a person saw.
#[derive(Debug)]
pub struct Seen {
    pub code: i64,
    pub output: String,
}

/// Runs swbox on a terminal of its own; `answers` are typed when their question appears.
pub fn person(project: &Project, args: &[&str], answers: &[(&str, &str)]) -> Seen {
    at_terminal(project, None, args, answers)
}

/// The same as the child of a process of that name.
pub fn under(project: &Project, harness: &str, args: &[&str], answers: &[(&str, &str)]) -> Seen {
    at_terminal(project, Some(harness), args, answers)
}

fn at_terminal(project: &Project, harness: Option<&str>, args: &[&str], answers: &[(&str, &str)]) -> Seen {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/sessions/person.py");
    let mut command = project.command_as(Path::new("python3"), &[driver]);
    if let Some(name) = harness {
        command.args(["--under", name]);
    }
    command.arg(serde_json::to_string(answers).unwrap()).arg(env!("CARGO_BIN_EXE_swbox")).args(args);
    command.env("TERM", "dumb");
    let ran: Ran = ran(command.output().unwrap());
    let value: serde_json::Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    Seen {
        code: value["code"].as_i64().unwrap(),
        output: value["output"].as_str().unwrap().replace("\r\n", "\n"),
    }
}

/// Whether the tests with a person can run here.
pub fn has_person(test: &str) -> bool {
    crate::project::has(test, "python3")
}
