//! Commands, transitions and other sessions beside each other.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::kit::{good, has_person, journal, line, replays, start, state, waiting};
use crate::project::Project;

/// Starts a line and waits until its start is written and it runs.
fn begin(project: &Project, text: &str) -> Child {
    let child = project.command(&["bash", "-c", text]).stdout(Stdio::null()).spawn().unwrap();
    wait(|| project.path().join("runs").exists());
    child
}

fn wait(done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "waited in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_running_writer_keeps_its_state_from_being_left() {
    if !has_person("a_running_writer_keeps_its_state_from_being_left") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    let mut writer = begin(&project, "echo x > runs; sleep 1000; echo late > late");
    let busy = line(&project, "swbox transition DONE");
    assert_eq!(busy.code, 126, "{busy:?}");
    assert!(busy.stdout.contains("[busy]"), "{busy:?}");
    assert_eq!(state(&project), "implementing");
    // Killed, its end is not seen by anybody: it counts as a write, and the way is free.
    writer.kill().unwrap();
    writer.wait().unwrap();
    good(&project, "swbox transition DONE");
    assert_eq!(state(&project), "testing");
    let entries = journal(&project, &id);
    let kinds: Vec<&str> = entries.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    let (lost, last) = (kinds.iter().position(|kind| *kind == "lost"), kinds.len() - 1);
    assert!(lost.is_some_and(|at| at < last), "{kinds:?}");
    assert!(!project.path().join("late").exists());
    replays(&project, &id);
}

/// Containers share a HOME and not their numbers of processes: what runs in one is not dead because another cannot see it.
#[test]
fn a_writer_in_another_pid_namespace_keeps_its_state_from_being_left() {
    let name = "a_writer_in_another_pid_namespace_keeps_its_state_from_being_left";
    if !has_person(name) {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    let mut writer = begin(&project, "echo x > runs; sleep 1000; echo late > late");
    let elsewhere = |words: &[&str]| {
        let unshare = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
        let mut command = project.command_as(std::path::Path::new("unshare"), &unshare);
        crate::project::ran(command.args(words).output().unwrap())
    };
    if elsewhere(&["true"]).code == 0 {
        let swbox = env!("CARGO_BIN_EXE_swbox");
        let busy = elsewhere(&[swbox, "bash", "-c", "swbox transition DONE"]);
        assert_eq!(busy.code, 126, "{busy:?}");
        assert!(busy.stdout.contains("[busy]"), "{busy:?}");
        assert_eq!(state(&project), "implementing");
    } else {
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "userns"), "no PID namespace");
        println!("SKIP {name}: no PID namespace of an ordinary user here");
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    good(&project, "swbox transition DONE");
    replays(&project, &id);
}

#[test]
fn a_transition_that_is_killed_while_it_gathers_evidence_blocks_nothing() {
    if !has_person("a_transition_that_is_killed_while_it_gathers_evidence_blocks_nothing") {
        return;
    }
    let project = Project::new();
    let text = r#"{"id": "slow", "initial": "testing", "states": {
        "testing": {"allowed_tools": ["Read", "run_test"], "on": {
            "PASS": {"target": "completed", "evidence": {"command": "sleep 1000", "exit_code": 0}}, "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    let id = start(&project, &["--workflow", &crate::kit::workflow(&project, "slow.json", text)]);
    let mut asking = project.command(&["transition", "PASS"]).stdout(Stdio::null()).spawn().unwrap();
    let asked = |fact: &str| {
        let entries = journal(&project, &id);
        entries.iter().any(|entry| entry["body"]["records"].to_string().contains(fact))
    };
    wait(|| asked("evidence_asked"));
    // While it is being gathered nothing else moves; then nobody gathers any more.
    assert_eq!(line(&project, "swbox transition FAIL").code, 126);
    asking.kill().unwrap();
    asking.wait().unwrap();
    good(&project, "swbox transition FAIL");
    replays(&project, &id);
}

#[test]
fn a_write_beside_a_parked_transition_makes_it_stale() {
    if !has_person("a_write_beside_a_parked_transition_makes_it_stale") {
        return;
    }
    let project = Project::new();
    let first = start(&project, &[]);
    let with = |id: &str, text: &str| project.swbox(&["exec", "--session", id, "-c", text]);
    assert_eq!(with(&first, "swbox transition PLAN_READY").code, 0);
    assert_eq!(with(&first, "swbox transition DONE").code, 0);
    assert_eq!(with(&first, "swbox transition TESTS_PASS").code, 126);
    let approval = waiting(&project, &first).pop().unwrap();
    let second = start(&project, &[]);
    assert_eq!(with(&second, "swbox transition PLAN_READY").code, 0);
    assert_eq!(with(&second, "echo x > made").code, 0);
    let seen = crate::kit::person(&project, &["approve", &approval], &[("Type \"review\"", "review")]);
    assert_eq!(seen.code, 126, "{seen:?}");
    for id in [&first, &second] {
        replays(&project, id);
    }
}

#[test]
fn many_commands_at_once_lose_nothing() {
    if !has_person("many_commands_at_once_lose_nothing") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    let children: Vec<Child> = (0..20)
        .map(|number| {
            let text = format!("echo {number}");
            project
                .command(&["bash", "-c", &text])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let ran = crate::project::ran(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let entries = journal(&project, &id);
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!((count("start"), count("end"), count("lost")), (20, 20, 0));
    replays(&project, &id);
}

/// Two equal requests of one message, one after the other or at once, are one wish.
#[test]
fn the_same_event_twice_walks_one_edge() {
    if !has_person("the_same_event_twice_walks_one_edge") {
        return;
    }
    let project = Project::new();
    let text = r#"{"id": "chain", "initial": "a", "states": {
        "a": {"on": {"DONE": "b", "FAIL": "failed"}}, "b": {"on": {"DONE": "c", "FAIL": "failed"}},
        "c": {"on": {"DONE": "d", "FAIL": "failed"}}, "d": {"on": {"DONE": "completed", "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    let id = start(&project, &["--workflow", &crate::kit::workflow(&project, "chain.json", text)]);
    good(&project, "swbox transition DONE");
    let again = line(&project, "swbox transition DONE");
    assert!(again.code == 126 && again.stdout.contains("state_moved"), "{again:?}");
    assert_eq!(state(&project), "b");
    // Whoever says where it is means it.
    good(&project, "swbox transition DONE --from b");
    let send = || {
        let mut command = project.command(&["bash", "-c", "swbox transition DONE"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    good(&project, "cat README.md");
    let both = [send(), send()];
    let codes: Vec<i32> =
        both.into_iter().map(|child| crate::project::ran(child.wait_with_output().unwrap()).code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(state(&project), "d");
    replays(&project, &id);
}
