//! `--events`: the form, the place, and what happens when it cannot be written.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::project::{Project, Ran, ran};
use crate::schema::fault;

/// The events of a run, each held against the form.
pub fn events(path: &Path) -> Vec<Value> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/events.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        assert_eq!(fault(&schema, event), None, "{event}");
    }
    events
}

/// Runs a line with events and gives both.
pub fn told(project: &Project, args: &[&str]) -> (Ran, Vec<Value>) {
    let path = project.outside().join("events.jsonl");
    let _ = fs::remove_file(&path);
    let all: Vec<&str> =
        ["exec", "--events", path.to_str().unwrap()].into_iter().chain(args.iter().copied()).collect();
    let ran = project.swbox(&all);
    let events = if path.exists() { events(&path) } else { Vec::new() };
    (ran, events)
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_told_from_start_to_exit_in_the_documented_form() {
    let project = Project::new();
    let (ran, events) = told(&project, &["--state", "testing", "-c", "sh -c 'true'; exit 3"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let kinds = kinds(&events);
    assert_eq!((kinds.first(), kinds.last()), (Some(&"start"), Some(&"exit")), "{kinds:?}");
    assert_eq!(events[0]["state"], "testing");
    assert_eq!(events[0]["workspace"], project.path().to_str().unwrap());
    let programs: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "exec")
        .map(|event| event["file"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(programs[0], "bash", "{programs:?}");
    assert!(programs.len() >= 2, "{programs:?}");
    let end = events.last().unwrap();
    assert_eq!(end["exit"]["code"], 3);
    assert_eq!(end["lost"], 0);
    assert_eq!(end["observed"]["mode"], "notify");
    assert_eq!(ran.stdout, "");
}

/// What a program got is told to the byte.
#[test]
fn arguments_that_are_no_text_are_told_with_their_bytes() {
    let project = Project::new();
    let line = "sh -c true x \"$(printf '\\377\\ny')\" $'a\\nb'";
    let (ran, events) = told(&project, &["--state", "testing", "-c", line]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let program = events.iter().find(|event| event["argv"][1] == "-c" && event["argv"][2] == "true").unwrap();
    assert_eq!(program["argv"][5], "a\nb", "{program}");
    assert_eq!(program["argv_hex"], serde_json::json!([null, null, null, null, "ff0a79", null]), "{program}");
    assert!(events.iter().filter(|event| event["argv_hex"].is_array()).count() <= 2, "{events:?}");
}

#[test]
fn a_limit_is_an_event_and_a_refused_command_has_none() {
    let project = Project::new();
    let (ran, events) = told(&project, &["--state", "testing", "--timeout", "1s", "-c", "sleep 60"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let limit = events.iter().find(|event| event["event"] == "limit").unwrap();
    assert_eq!(limit["limit"], "timeout");
    let (ran, events) = told(&project, &["--state", "planning", "-c", "rm README.md"]);
    assert_eq!((ran.code, events.len()), (126, 0), "{ran:?}");
}

#[test]
fn secrets_of_the_caller_are_masked() {
    let project = Project::new();
    let path = project.outside().join("log");
    let mut command = project.command(&["exec", "--events", path.to_str().unwrap(), "--state", "testing"]);
    command.args(["-c", "true abc-very-secret-value-9"]).env("MY_API_TOKEN", "abc-very-secret-value-9");
    assert_eq!(ran(command.output().unwrap()).code, 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("abc-very-secret-value-9"), "{text}");
}

#[test]
fn where_a_command_could_write_nothing_is_written_and_nothing_runs() {
    let project = Project::new();
    let inside = project.path().join("events.jsonl");
    let run = |to: &str| project.swbox(&["exec", "--events", to, "--state", "testing", "-c", "echo ran"]);
    let refused = run(inside.to_str().unwrap());
    assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
    assert!(refused.stderr.contains("events_inside"), "{refused:?}");
    let link = project.outside().join("link");
    std::os::unix::fs::symlink(project.path(), &link).unwrap();
    assert!(run(link.join("e").to_str().unwrap()).stderr.contains("events_inside"));
    let missing = project.outside().join("no/such/place");
    let refused = run(missing.to_str().unwrap());
    assert_eq!((refused.code, refused.stdout.as_str()), (125, ""), "{refused:?}");
    assert!(refused.stderr.contains("events_unwritable"), "{refused:?}");
    assert!(run("fd:1").stderr.contains("events_unwritable"));
    assert!(run("fd:77").stderr.contains("events_unwritable"));
}

#[test]
fn what_could_not_be_written_is_said_after_the_command() {
    let project = Project::new();
    let full = project.swbox(&["exec", "--events", "/dev/full", "--state", "testing", "-c", "echo ran"]);
    assert_eq!((full.code, full.stdout.as_str()), (125, "ran\n"), "{full:?}");
    assert!(full.stderr.contains("events_failed"), "{full:?}");
}

/// A limit of the caller's that the events come up against is not the command's.
#[test]
fn a_limit_that_the_events_run_into_does_not_end_the_command() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let line = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/true $i; done; echo ran";
    let script =
        format!("ulimit -f 2; exec {swbox} exec --events ../outside/log --state testing -c '{line}'");
    let ran = project.bare(&script);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, "ran\n"), "{ran:?}");
    assert!(ran.stderr.contains("events_failed") && !ran.stderr.contains("its limit"), "{ran:?}");
}

#[test]
fn a_descriptor_of_the_caller_takes_them_and_the_command_does_not_get_it() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let script = format!("{swbox} exec --events fd:3 --state testing -c 'ls /proc/self/fd' 3>../outside/log");
    let ran = project.bare(&script);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.stdout.lines().any(|name| name == "4"), "{ran:?}");
    let events = events(&project.outside().join("log"));
    assert_eq!(events.last().unwrap()["event"], "exit");
}

/// Nobody saw it being opened.
#[test]
fn a_change_by_a_stream_that_is_a_file_of_the_workspace_is_told() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    fs::write(project.path().join("made"), "x").unwrap();
    let law = r#"{"id":"law","initial":"work","states":{
        "work":{"allowed_tools":["Read","Write","Bash"],"on":{"END":"failed"}},"failed":{"type":"final"}}}"#;
    fs::write(project.outside().join("law.json"), law).unwrap();
    for (given, told) in [("made", Some("made")), ("../outside/made", None)] {
        let script = format!(
            "{swbox} exec --events ../outside/log --workflow ../outside/law.json -c \"python3 -c 'import os; os.fchmod(1, 0o640)'\" >>{given}"
        );
        let ran = project.bare(&script);
        assert_eq!(ran.code, 0, "{ran:?}");
        let events = events(&project.outside().join("log"));
        let touches = events.iter().filter(|event| event["event"] == "touch");
        let names: Vec<_> = touches.map(|touch| PathBuf::from(touch["path"].as_str().unwrap())).collect();
        assert_eq!(
            names,
            told.map(|name| project.path().join(name)).into_iter().collect::<Vec<_>>(),
            "{events:?}"
        );
        fs::remove_file(project.outside().join("log")).unwrap();
    }
}

#[test]
fn a_reader_that_is_gone_does_not_stop_the_command() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let script = format!(
        "{swbox} exec --events fd:3 --state testing -c 'sleep 0.2; echo ran; ls >/dev/null' 3> >(true)"
    );
    let mut command = project.command_as(Path::new("/bin/bash"), &["-c", &script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "ran\n");
    assert_eq!(child.wait().unwrap().code(), Some(125));
}
