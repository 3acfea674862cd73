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
    at_terminal(project, &[], args, answers)
}

/// The same as the child of a process of that name.
pub fn under(project: &Project, harness: &str, args: &[&str], answers: &[(&str, &str)]) -> Seen {
    at_terminal(project, &["--under", harness], args, answers)
}

/// The same when that process has let go of it (`--lets-go`), or only holds the other side of its terminal (`--holds`).
pub fn beyond(project: &Project, harness: &str, way: &str, args: &[&str], answers: &[(&str, &str)]) -> Seen {
    at_terminal(project, &["--under", harness, way], args, answers)
}

fn at_terminal(project: &Project, place: &[&str], args: &[&str], answers: &[(&str, &str)]) -> Seen {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/sessions/person.py");
    let mut command = project.command_as(Path::new("python3"), &[driver]);
    command.args(place);
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

/// A person starts a session; its id.
pub fn start(project: &Project, args: &[&str]) -> String {
    let words: Vec<&str> = ["session", "start", "--quiet"].into_iter().chain(args.iter().copied()).collect();
    let seen = person(project, &words, &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    seen.output.trim().to_owned()
}

/// An agent's line.
pub fn line(project: &Project, text: &str) -> Ran {
    project.swbox(&["bash", "-c", text])
}

/// An agent's line that must succeed.
pub fn good(project: &Project, text: &str) -> String {
    let ran = line(project, text);
    assert_eq!(ran.code, 0, "{text}: {ran:?}");
    ran.stdout
}

/// The state of the workspace's session.
pub fn state(project: &Project) -> String {
    json(project, &["state", "--json"])["handout"]["state"].as_str().unwrap().to_owned()
}

/// The JSON answer of a command.
pub fn json(project: &Project, args: &[&str]) -> serde_json::Value {
    let ran = project.swbox(args);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {ran:?}"))
}

/// What waits in the session, the newest last.
pub fn waiting(project: &Project, id: &str) -> Vec<String> {
    let value = json(project, &["session", "status", id, "--json"]);
    value["waiting"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// The journal.
pub fn journal(project: &Project, id: &str) -> Vec<serde_json::Value> {
    let ran = project.swbox(&["session", "log", id, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replays the session; it must come out the same.
pub fn replays(project: &Project, id: &str) {
    let ran = project.swbox(&["session", "replay", id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("the same session"), "{ran:?}");
}

/// Writes a workflow beside the project, where no command of the project can change it.
pub fn workflow(project: &Project, name: &str, text: &str) -> String {
    let path = project.outside().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}
