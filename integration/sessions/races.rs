//! A write beside a transition: judged wholly before it or wholly after it. Where it can be, the order is made: the test
//! holds the store's queue, lets the processes line up in it one by one, and lets go.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::kit::{good, has_person, journal, replays, start, state, workflow};
use crate::project::{Project, ran};

/// A state that writes, one that reads, and the way to and fro.
const TWO: &str = r#"{"id": "two", "initial": "reading", "states": {
    "reading": {"allowed_tools": ["Read", "run_test"], "on": {"OPEN": "writing", "FAIL": "failed", "END": "completed"}},
    "writing": {"allowed_tools": ["Read", "Write", "run_test"], "on": {"CLOSE": "reading", "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

fn begin(project: &Project, text: &str) -> Child {
    let mut command = project.command(&["bash", "-c", text]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a process stands in the queue of the store, which somebody else holds.
fn lined_up(child: &Child) {
    let until = Instant::now() + Duration::from_secs(60);
    let id = child.id().to_string();
    let waits = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&"->") && words.contains(&"FLOCK") && words.contains(&id.as_str())
    };
    while !fs::read_to_string("/proc/locks").unwrap().lines().any(waits) {
        assert!(Instant::now() < until, "{id} does not wait for its turn");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Lets lines stand in the queue in this order, and then go on together; what came of each.
fn in_order(project: &Project, lines: &[&str]) -> Vec<Output> {
    let lock = project.home().join(".local/state/swbox/sessions.lock");
    let lock = File::options().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    let children: Vec<Child> = lines
        .iter()
        .map(|text| {
            let child = begin(project, text);
            lined_up(&child);
            child
        })
        .collect();
    lock.unlock().unwrap();
    children.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

#[test]
fn a_write_that_was_judged_before_a_transition_does_not_run_after_it() {
    if !has_person("a_write_that_was_judged_before_a_transition_does_not_run_after_it") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", &workflow(&project, "two.json", TWO)]);
    let mut closed = 0;
    for round in 0..12 {
        if state(&project) == "reading" {
            good(&project, "swbox transition OPEN");
        }
        // Both writers read the state while it was "writing", and wait to write their start down.
        let (before, after) = (format!("echo x > before{round}"), format!("echo x > after{round}"));
        let outputs = in_order(&project, &[&before, "swbox transition CLOSE", &after]);
        let [first, moved, last] = [0, 1, 2].map(|at| ran(outputs[at].clone()));
        assert_eq!(first.code, 0, "{first:?}");
        assert!(project.path().join(format!("before{round}")).exists());
        let there = project.path().join(format!("after{round}")).exists();
        // The first writer ran, or had run, when the transition was judged.
        match moved.code {
            0 => {
                closed += 1;
                assert_eq!((last.code, there), (126, false), "{last:?}");
            }
            _ => {
                assert!(moved.stdout.contains("[busy]"), "{moved:?}");
                assert_eq!((last.code, there), (0, true), "{last:?}");
            }
        }
        // The transition first: whoever was judged before it is judged again.
        if state(&project) == "writing" {
            let late = format!("echo x > late{round}");
            let outputs = in_order(&project, &["swbox transition CLOSE", &late]);
            let [moved, last] = [0, 1].map(|at| ran(outputs[at].clone()));
            assert_eq!((moved.code, last.code), (0, 126), "{moved:?} {last:?}");
            assert!(last.stderr.contains("forbidden in state \"reading\""), "{last:?}");
            assert!(!project.path().join(format!("late{round}")).exists());
            closed += 1;
        }
    }
    assert_eq!(closed, 12);
    wholly(&project, &id);
    replays(&project, &id);
}

#[test]
fn a_signal_ends_who_waits_for_the_store_and_nothing_runs() {
    if !has_person("a_signal_ends_who_waits_for_the_store_and_nothing_runs") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", &workflow(&project, "two.json", TWO)]);
    let before = journal(&project, &id).len();
    let lock = project.home().join(".local/state/swbox/sessions.lock");
    let lock = File::options().write(true).open(lock).unwrap();
    // A command that only reads has its jail begun by then, one that may run programs has not.
    for text in ["cat README.md", "./check"] {
        lock.lock().unwrap();
        let mut child = begin(&project, text);
        lined_up(&child);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "{text} waits on");
            std::thread::sleep(Duration::from_millis(5));
        };
        lock.unlock().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM), "{text}");
    }
    assert_eq!(journal(&project, &id).len(), before);
    replays(&project, &id);
}

#[test]
fn in_a_storm_of_writes_and_transitions_each_is_before_or_after() {
    const WRITERS: usize = 2;
    const EACH: usize = 20;
    if !has_person("in_a_storm_of_writes_and_transitions_each_is_before_or_after") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", &workflow(&project, "two.json", TWO)]);
    let (mut written, mut refused, mut moves) = (0, 0, 0);
    std::thread::scope(|scope| {
        let project = &project;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let mut done = Vec::new();
                    for number in 0..EACH {
                        let name = format!("storm{writer}-{number}");
                        let ran = project.swbox(&["bash", "-c", &format!("echo {name} > {name}")]);
                        let there = project.path().join(&name).exists();
                        assert!(matches!((ran.code, there), (0, true) | (126, false)), "{ran:?}");
                        done.push(there);
                    }
                    done
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            for event in ["OPEN", "CLOSE"] {
                let moved = project.swbox(&["bash", "-c", &format!("swbox transition {event}")]);
                moves += usize::from(moved.code == 0);
                if moved.code == 0 && event == "CLOSE" {
                    let now = project.tree();
                    let again = project.swbox(&["bash", "-c", "cat README.md"]);
                    assert_eq!(again.code, 0, "{again:?}");
                    assert_eq!(now, project.tree(), "written to after the state was left");
                }
            }
        }
        for there in writers.into_iter().flat_map(|writer| writer.join().unwrap()) {
            *(if there { &mut written } else { &mut refused }) += 1;
        }
    });
    println!("{written} written, {refused} refused, {moves} moves");
    assert!(moves > 0);
    wholly(&project, &id);
    replays(&project, &id);
}

/// Holds the journal against the tree: every write that has begun began in the state that allows it and ended before the
/// session left that, and what is in the tree is what they wrote.
fn wholly(project: &Project, id: &str) {
    let (mut now, mut running) = ("reading".to_owned(), Vec::new());
    let mut written = 0;
    for entry in journal(project, id) {
        let body = &entry["body"];
        let line = body["extra"]["command"].as_str().unwrap_or_default();
        match entry["kind"].as_str().unwrap() {
            "start" if line.starts_with("echo") => {
                let name = line.rsplit(' ').next().unwrap();
                let allowed = body["reply"]["reply"] == "allowed";
                assert_eq!(body["extra"]["state"], now.as_str(), "{entry}");
                assert_eq!(allowed, now == "writing", "{entry}");
                assert_eq!(project.path().join(name).exists(), allowed, "{entry}");
                if allowed {
                    running.push(entry["position"].as_u64().unwrap());
                    written += 1;
                }
            }
            "end" => running.retain(|start| body["extra"]["start"] != *start),
            _ => {}
        }
        for record in body["records"].as_array().into_iter().flatten() {
            if record["fact"] == "moved" {
                assert!(running.is_empty(), "left while a writer runs: {entry}");
                record["to"].as_str().unwrap_or_else(|| panic!("{entry}")).clone_into(&mut now);
            }
        }
    }
    let is_made = |name: &str| ["before", "after", "late", "storm"].iter().any(|kind| name.starts_with(kind));
    let names = fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| is_made(&name.to_string_lossy())).count(), written);
}
