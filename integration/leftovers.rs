//! However a run of swbox ends, nothing of it stays: no process, no mount, no file, no control group, and the workspace
//! is whole.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod project;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use project::Project;
use rustix::process::{Pid, Signal, kill_process};

/// Three states, for their three kinds of workspace: read-only, writable, throw-away.
const STATES: [&str; 3] = ["planning", "implementing", "testing"];

/// One project whose runs can be told from everything else on the host.
struct Scene {
    project: Project,
    marker: String,
    temporary: PathBuf,
    tree: Vec<(PathBuf, String)>,
}

impl Scene {
    fn new(number: u32) -> Self {
        let project = Project::new();
        let temporary = project.outside().join("tmp");
        fs::create_dir(&temporary).unwrap();
        // The first run makes the cache of the workspace, which is meant to stay.
        assert_eq!(project.line("testing", "true").code, 0);
        let tree = project.tree();
        Self { project, marker: format!("{number}.{:07}", std::process::id()), temporary, tree }
    }

    /// A line whose processes try to stay: in a session of their own, deaf to signals, orphaned.
    fn staying(&self) -> String {
        let sleep = format!("sleep {}", self.marker);
        format!("setsid {sleep} & (trap '' TERM HUP INT; {sleep}) & (({sleep}) &)")
    }

    fn command(&self, state: &str, more: &[&str], line: &str) -> Command {
        let mut args = vec!["exec", "--workflow", "bugfix", "--state", state];
        args.extend(more);
        args.extend(["-c", line]);
        let mut command = self.project.command(&args);
        command.env("TMPDIR", &self.temporary).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn processes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            for file in ["cmdline", "environ"] {
                // A process may end while it is looked at, and others' are not ours to read.
                let text = fs::read(entry.path().join(file)).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).replace('\0', " ");
                if text.contains(&self.marker) {
                    found.push(format!("{}: {text}", entry.path().display()));
                }
            }
        }
        found
    }

    /// Nothing is left.
    fn clean(&self, what: &str) {
        let start = Instant::now();
        while !self.processes().is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let place = self.project.outside().parent().unwrap().to_string_lossy().into_owned();
        assert!(!mounts.contains(&place), "{what}: {mounts}");
        let left: Vec<_> = fs::read_dir(&self.temporary).unwrap().flatten().collect();
        assert!(left.is_empty(), "{what}: {left:?}");
        assert_eq!(self.project.tree(), self.tree, "{what}");
        assert_eq!(self.project.git(&["status", "--porcelain"]), "", "{what}");
        let groups =
            Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", "*swbox*"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&groups.stdout), "", "{what}");
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Whether the commands of this scene have started.
fn started(scene: &Scene) {
    let start = Instant::now();
    while !scene.processes().iter().any(|text| text.contains(": sleep ")) {
        assert!(start.elapsed() < Duration::from_secs(60), "it never started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_normal_exit_leaves_nothing() {
    let scene = Scene::new(31);
    for (state, more) in [("planning", ""), ("implementing", "; mktemp >/dev/null"), ("testing", "")] {
        let status = scene.command(state, &[], &format!("{}{more}", scene.staying())).status().unwrap();
        assert_eq!(status.code(), Some(0), "{state}");
        scene.clean(state);
    }
}

#[test]
fn a_timeout_leaves_nothing() {
    let scene = Scene::new(32);
    let line = format!("{}; sleep {}", scene.staying(), scene.marker);
    let status = scene.command("testing", &["--timeout", "1s"], &line).status().unwrap();
    assert_eq!(status.code(), Some(124));
    scene.clean("timeout");
}

/// The time runs out while the jail is being built: the command has two seconds from then all the same.
#[test]
fn a_command_that_was_late_before_it_began_is_asked_before_it_is_killed() {
    let scene = Scene::new(36);
    let begun = Instant::now();
    for state in ["planning", "testing"] {
        loop {
            // TERM is ignored from the start, so that only KILL ends it.
            let command =
                scene.command(state, &["--timeout", "0.000001"], "echo began; sleep 0.01; echo went on");
            let mut ignoring = Command::new("sh");
            ignoring
                .args(["-c", "trap '' TERM; exec \"$0\" \"$@\""])
                .arg(command.get_program())
                .args(command.get_args());
            ignoring.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            if let Some(directory) = command.get_current_dir() {
                ignoring.current_dir(directory);
            }
            let output = ignoring.output().unwrap();
            assert_eq!(output.status.code(), Some(124), "{output:?}");
            if output.stdout == b"began\nwent on\n" {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{state}: {output:?}");
        }
    }
}

#[test]
fn a_stop_by_signal_leaves_nothing() {
    let scene = Scene::new(33);
    for stop in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let line = format!("{}; exec sleep {}", scene.staying(), scene.marker);
        let mut child = scene.command("testing", &[], &line).spawn().unwrap();
        started(&scene);
        signal(&child, stop);
        assert!(!child.wait().unwrap().success(), "{stop:?}");
        scene.clean(&format!("{stop:?}"));
    }
}

#[test]
fn a_kill_at_fifty_random_moments_leaves_nothing() {
    let scene = Scene::new(34);
    // How long a whole run takes here, so that the moments lie before, in and after each step of the launch.
    let begin = Instant::now();
    assert!(scene.command("testing", &[], "true").status().unwrap().success());
    let span = u64::try_from(begin.elapsed().as_micros()).unwrap().max(1000);
    let mut random = u64::from(std::process::id()) | 1;
    println!("seed {random}, a run takes {span} µs");
    for round in 0..50_usize {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let state = STATES[round % 3];
        let line = format!("{}; exec sleep {}", scene.staying(), scene.marker);
        let mut child = scene.command(state, &[], &line).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random % (2 * span)));
        signal(&child, Signal::KILL);
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "round {round}: {status}");
    }
    scene.clean("SIGKILL");
}

/// Launches in sequence, as an agent's day has them.
fn sequence(launches: usize) {
    let scene = Scene::new(35);
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for launch in 0..launches {
        let state = STATES[launch % 3];
        let status = scene.command(state, &[], "ls >/dev/null").status().unwrap();
        assert_eq!(status.code(), Some(0), "launch {launch} in {state}");
    }
    assert_eq!(descriptors(), before);
    scene.clean("sequence");
    let cache = scene.project.home().join(".cache/swbox");
    let kept = fs::read_dir(&cache).map_or(0, Iterator::count);
    assert!(kept <= 1, "{kept} caches of one workspace");
}

#[test]
fn two_hundred_launches_leave_nothing() {
    sequence(200);
}

#[test]
#[ignore = "minutes: cargo test --test leftovers -- --ignored"]
fn two_thousand_launches_leave_nothing() {
    sequence(2000);
}
