//! Jobs that are watched when their command has ended: what they write, what they run, and who watches them.

use std::fs;
use std::time::{Duration, Instant};

use crate::kit::{good, has_person, journal, json, line, replays, start, state, workflow};
use crate::project::Project;

/// A state that writes; one that a file leads to; and a program that no state may run.
const WORKFLOW: &str = r#"{"id": "aside", "initial": "working",
  "interrupts": {"NOTE": {"trigger": {"file_pattern": "notes/*"}, "target": "handling"}},
  "rules": [{"prefix": "git push", "decision": "forbid", "justification": "a person pushes"}],
  "states": {
    "working": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "testing", "FAIL": "failed"}},
    "handling": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"HANDLED": "$return", "FAIL": "failed"}},
    "testing": {"allowed_tools": ["Read", "run_test"], "on": {"DONE": "completed", "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn begin(project: &Project) -> String {
    fs::create_dir(project.path().join("notes")).unwrap();
    start(project, &["--workflow", &workflow(project, "aside.json", WORKFLOW)])
}

fn jobs(project: &Project) -> Vec<String> {
    let value = json(project, &["jobs", "--json"]);
    value["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

/// The process that watches the session's only job.
fn watcher(project: &Project, id: &str) -> i32 {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let own = entries.filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let home = format!("HOME={}", project.home().display());
        let its = environment.split(|byte| *byte == 0).any(|word| word == home.as_bytes());
        (name.trim() == "swbox-watcher" && its).then_some(id)
    });
    let own: Vec<i32> = own.collect();
    let [one] = own[..] else { panic!("{id}: {own:?}") };
    one
}

fn ends(project: &Project, id: &str) -> Vec<serde_json::Value> {
    journal(project, id).into_iter().filter(|entry| entry["kind"] == "job_end").collect()
}

/// A program that waits for a file of the session, then does what follows.
fn later(then: &str) -> String {
    format!("(until [ -e /tmp/go ]; do sleep 0.05; done; {then}) >/dev/null 2>&1 &")
}

#[test]
fn what_a_job_writes_after_its_command_fires_an_interrupt() {
    if !has_person("what_a_job_writes_after_its_command_fires_an_interrupt") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    // One that makes a file later, and one that writes on to what it has open: nothing but the first call is seen of that.
    good(&project, &later("echo x > notes/late; sleep 1000"));
    assert_eq!(state(&project), "working");
    good(&project, "echo > /tmp/go");
    wait("the interrupt", || state(&project) == "handling");
    good(&project, "swbox transition HANDLED");
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    good(&project, &format!("swbox kill {job}; true").replace("; true", ""));
    good(&project, "rm /tmp/go");
    let open = later("while :; do echo more >&3; sleep 0.1; done");
    good(&project, &format!("exec 3>notes/open; {open}"));
    wait("the interrupt of the command itself", || state(&project) == "handling");
    good(&project, "swbox transition HANDLED");
    assert_eq!(state(&project), "working");
    good(&project, "echo > /tmp/go");
    wait("the interrupt by an open file", || state(&project) == "handling");
    good(&project, "swbox transition HANDLED");
    replays(&project, &id);
}

/// The one that writes the touch down ends the job, and waits for the watcher that has started it.
#[test]
fn an_interrupt_into_a_lesser_state_ends_the_job_that_fired_it() {
    if !has_person("an_interrupt_into_a_lesser_state_ends_the_job_that_fired_it") {
        return;
    }
    let project = Project::new();
    fs::create_dir(project.path().join("notes")).unwrap();
    let handled = r#""handling": {"allowed_tools": ["Read", "Write", "Bash"]"#;
    let text = WORKFLOW.replace(handled, r#""handling": {"allowed_tools": ["Read"]"#);
    assert_ne!(text, WORKFLOW);
    let id = start(&project, &["--workflow", &workflow(&project, "lesser.json", &text)]);
    good(&project, &later("echo x > notes/late; while :; do date +%N > beat; done"));
    good(&project, "echo > /tmp/go");
    wait("the interrupt", || state(&project) == "handling");
    assert!(jobs(&project).is_empty());
    let moves =
        journal(&project, &id).iter().map(|entry| entry["body"]["records"].to_string()).collect::<String>();
    assert_eq!(moves.matches("\"cause\":\"interrupt\"").count(), 1, "{moves}");
    let last = fs::read(project.path().join("beat")).unwrap();
    good(&project, "cat README.md");
    assert_eq!(fs::read(project.path().join("beat")).unwrap(), last);
    replays(&project, &id);
}

#[test]
fn the_last_write_of_a_job_that_is_ended_is_written_down_before_its_state_is_left() {
    if !has_person("the_last_write_of_a_job_that_is_ended_is_written_down_before_its_state_is_left") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    good(&project, "(while :; do date +%N > beat; done) >/dev/null 2>&1 &");
    wait("the writer", || project.path().join("beat").exists());
    let went = good(&project, "swbox transition DONE");
    assert!(went.contains("was ended"), "{went}");
    assert_eq!(state(&project), "testing");
    let entries = journal(&project, &id);
    let at = |found: &dyn Fn(&serde_json::Value) -> bool| {
        entries.iter().position(found).unwrap_or_else(|| panic!("{entries:#?}"))
    };
    let ended = at(&|entry| entry["kind"] == "job_end");
    let left = at(&|entry| {
        let mut records = entry["body"]["records"].as_array().into_iter().flatten();
        records.any(|record| record["fact"] == "moved" && record["to"] == "testing")
    });
    let told = at(&|entry| entry["body"]["records"].to_string().contains("\"beat\""));
    assert!(told < left && ended < left, "{told} {ended} {left}");
    replays(&project, &id);
}

#[test]
fn a_job_that_begins_a_forbidden_program_is_ended() {
    if !has_person("a_job_that_begins_a_forbidden_program_is_ended") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    fs::write(project.path().join("push.sh"), "git push origin main; echo pushed > pushed; sleep 1000\n")
        .unwrap();
    good(&project, &later("sh push.sh"));
    assert_eq!(jobs(&project).len(), 1);
    good(&project, "echo > /tmp/go");
    wait("the job's end", || jobs(&project).is_empty());
    assert!(!project.path().join("pushed").exists());
    let ends = ends(&project, &id);
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["body"]["extra"]["stopped"], serde_json::json!(["git", "push", "origin", "main"]));
    assert_eq!(ends[0]["body"]["event"]["what"]["exit_code"], 126);
    replays(&project, &id);
}

/// The write comes about when the command's end is seen: of the command's or of the job's files, it is told.
#[test]
fn what_is_written_by_an_open_descriptor_as_the_command_ends_is_told() {
    if !has_person("what_is_written_by_an_open_descriptor_as_the_command_ends_is_told") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    for round in 0..4 {
        let name = format!("held{round}");
        fs::write(project.path().join(&name), "x\n").unwrap();
        let writes =
            format!("while kill -0 $$; do :; done; sleep 0.0{round}; echo x >&3; exec 3>&-; sleep 1000");
        good(&project, &format!("exec 3>> {name}; ({writes}) >/dev/null 2>&1 &"));
        let quoted = format!("\"{name}\"");
        let told = || journal(&project, &id).iter().any(|entry| entry["body"].to_string().contains(&quoted));
        wait("what the descriptor wrote", told);
    }
    replays(&project, &id);
}

#[test]
fn without_its_watcher_a_job_does_nothing_that_is_watched() {
    if !has_person("without_its_watcher_a_job_does_nothing_that_is_watched") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    good(&project, &later("echo x > notes/late; echo y > /tmp/after; sleep 1000"));
    let watcher = watcher(&project, &id);
    let killed = std::process::Command::new("kill").args(["-9", &watcher.to_string()]).status().unwrap();
    assert!(killed.success());
    good(&project, "echo > /tmp/go");
    // It has tried all of it, and comes to its end.
    wait("the job's end", || jobs(&project).is_empty());
    assert!(!project.path().join("notes/late").exists());
    assert_eq!(line(&project, "cat /tmp/after").code, 1);
    // Its end counts as a write.
    let ends = ends(&project, &id);
    assert_eq!(ends[0]["body"]["event"]["what"]["lost"], true, "{}", ends[0]);
    replays(&project, &id);
}

/// What a job does comes between two equal calls of one message as little as nothing.
#[test]
fn a_busy_job_makes_no_second_wish_of_a_repeated_event() {
    if !has_person("a_busy_job_makes_no_second_wish_of_a_repeated_event") {
        return;
    }
    let project = Project::new();
    let text = r#"{"id": "chain", "initial": "a", "states": {
        "a": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "b", "FAIL": "failed"}},
        "b": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "c", "FAIL": "failed"}},
        "c": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "completed", "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    let id = start(&project, &["--workflow", &workflow(&project, "chain.json", text)]);
    good(&project, "(n=0; while :; do n=$((n + 1)); echo x > made$n; sleep 0.1; done) >/dev/null 2>&1 &");
    good(&project, "swbox transition DONE");
    wait("what the job did since", || journal(&project, &id).last().unwrap()["kind"] == "job_seen");
    let again = line(&project, "swbox transition DONE");
    assert!(again.code == 126 && again.stdout.contains("state_moved"), "{again:?}");
    assert_eq!(state(&project), "b");
    replays(&project, &id);
}

#[test]
fn nobody_else_says_what_a_job_did() {
    if !has_person("nobody_else_says_what_a_job_did") {
        return;
    }
    let project = Project::new();
    let id = begin(&project);
    good(&project, "sleep 1000 & echo");
    let [job] = &jobs(&project)[..] else { panic!("{:?}", jobs(&project)) };
    let word = serde_json::json!({
        "session": id, "job": job, "touched": ["notes/a"], "denials": 0, "whole": true, "over": true, "stopped": null,
    });
    let said = crate::project::with_input(project.command(&["job-seen"]), word.to_string().as_bytes());
    assert_ne!(said.code, 0);
    assert!(said.stderr.contains("job_unknown"), "{said:?}");
    let inside = line(&project, &format!("echo '{word}' | swbox job-seen"));
    assert_ne!(inside.code, 0, "{inside:?}");
    assert_eq!((state(&project).as_str(), jobs(&project).len()), ("working", 1));
    replays(&project, &id);
}
