//! A store that cannot be written runs nothing, and a session that is killed at any moment can be told again.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::kit::{good, has_person, journal, line, replays, start};
use crate::project::{Project, ran};

fn state_directory(project: &Project) -> PathBuf {
    project.home().join(".local/state/swbox")
}

#[test]
fn a_later_schema_and_a_damaged_store_run_nothing() {
    if !has_person("a_later_schema_and_a_damaged_store_run_nothing") {
        return;
    }
    let project = Project::new();
    start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    let file = state_directory(&project).join("sessions.db");
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let refused = line(&project, "echo x > made");
    assert!(refused.code == 125 && refused.stderr.contains("store_newer"), "{refused:?}");
    fs::write(&file, "no store ".repeat(1000)).unwrap();
    let refused = line(&project, "echo x > made");
    assert!(refused.code == 125 && refused.stderr.contains("store_damaged"), "{refused:?}");
    fs::remove_file(&file).unwrap();
    let refused = line(&project, "echo x > made");
    assert!(refused.code == 126 && refused.stderr.contains("session_over"), "{refused:?}");
    assert!(!project.path().join("made").exists());
}

/// Runs an agent's line with the state directory on a file system of its own, prepared by `prepare`.
fn with_own_disk(project: &Project, name: &str, prepare: &str) -> Option<crate::project::Ran> {
    let state = state_directory(project);
    let script = format!(
        "cp -a '{0}' '{0}.copy' && mount -t tmpfs -o size=1m,mode=700 own '{0}' || exit 77\n\
         cp -a '{0}.copy/.' '{0}/' && {prepare} || exit 77\nexec \"$@\"",
        state.display()
    );
    let script = script.replace("STATE", &state.to_string_lossy());
    let mut command =
        project.command_as(std::path::Path::new("unshare"), &["--user", "--map-root-user", "--mount"]);
    command.args(["sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_swbox"), "bash", "-c", "echo x > made"]);
    let ran = ran(command.output().ok()?);
    let _ = fs::remove_dir_all(state.with_extension("copy"));
    if ran.code == 77 || ran.stderr.contains("unshare") {
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|feature| feature == "userns"), "{ran:?}");
        println!("SKIP {name}: no user namespace with a tmpfs here");
        return None;
    }
    Some(ran)
}

#[test]
fn a_full_and_a_read_only_disk_run_nothing() {
    let test = "a_full_and_a_read_only_disk_run_nothing";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    for (prepare, code) in [
        ("{ dd if=/dev/zero of='STATE/filler' bs=4k 2>/dev/null; true; }", "store_full"),
        ("mount -o remount,bind,ro 'STATE'", "store_unavailable"),
    ] {
        let Some(ran) = with_own_disk(&project, test, prepare) else { return };
        assert!(ran.code == 125 && ran.stderr.contains(code), "{code}: {ran:?}");
        assert!(!project.path().join("made").exists(), "{code}");
    }
    // The twin: with room it runs.
    let ran = with_own_disk(&project, test, "true").unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn killed_at_any_moment_the_session_can_be_told_again() {
    killed("killed_at_any_moment_the_session_can_be_told_again", 60);
}

#[test]
#[ignore = "half a minute and more: cargo test --test sessions -- --ignored"]
fn killed_five_hundred_times_the_session_can_be_told_again() {
    killed("killed_five_hundred_times_the_session_can_be_told_again", 500);
}

/// Kills the program at random moments of a command, so often; the session must be whole.
fn killed(test: &str, rounds: u64) {
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    let mut seed = 0x51_7c_c1_b7_27_22_0a_95_u64 ^ u64::from(std::process::id());
    println!("seed {seed:#x}");
    let mut acknowledged = 0;
    for round in 0..rounds {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let text = format!("echo {round} > made");
        let mut child = Command::new("setsid")
            .arg(env!("CARGO_BIN_EXE_swbox"))
            .args(["bash", "-c", &text])
            .current_dir(project.path())
            .env("HOME", project.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(seed % 60_000));
        // One that ended by itself before has told its caller so: its end must be there.
        if child.try_wait().unwrap().is_some_and(|status| status.success()) {
            acknowledged += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    good(&project, "echo last > made");
    replays(&project, &id);
    let entries = journal(&project, &id);
    let count = |kind: &str| entries.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!(count("start"), count("end") + count("lost"), "each start has an end or is lost");
    assert!(count("end") > acknowledged, "{} of {acknowledged} acknowledged ends and the last", count("end"));
    println!("{rounds} kills: {} starts, {} ends, {} lost", count("start"), count("end"), count("lost"));
}

#[test]
fn processes_on_one_session_lose_and_reorder_nothing() {
    busy("processes_on_one_session_lose_and_reorder_nothing", 8, None);
}

#[test]
#[ignore = "half a minute and more: cargo test --test sessions -- --ignored"]
fn fifty_processes_for_thirty_seconds_lose_and_reorder_nothing() {
    let test = "fifty_processes_for_thirty_seconds_lose_and_reorder_nothing";
    busy(test, 50, Some(Duration::from_secs(30)));
}

/// Commands that each process sends where no time is given.
const EACH: u32 = 4;

/// So many processes at once send commands into one session, one after the other; each must be in the journal once, in
/// the order of its process, with its end.
fn busy(test: &str, processes: usize, span: Option<Duration>) {
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    let workers: Vec<Vec<Duration>> = std::thread::scope(|scope| {
        let (project, begun) = (&project, Instant::now());
        let work = move |worker: usize| {
            let mut took = Vec::new();
            let goes_on = |sent: usize| span.map_or(sent < EACH as usize, |span| begun.elapsed() < span);
            while goes_on(took.len()) {
                let sent = Instant::now();
                let ran = line(project, &format!("echo {worker}.{}", took.len()));
                assert_eq!(ran.code, 0, "{ran:?}");
                took.push(sent.elapsed());
            }
            took
        };
        let all: Vec<_> = (0..processes).map(|worker| scope.spawn(move || work(worker))).collect();
        all.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    replays(&project, &id);
    let entries = journal(&project, &id);
    let sent: usize = workers.iter().map(Vec::len).sum();
    for kind in ["start", "end"] {
        let mut seen = vec![0; processes];
        for entry in entries.iter().filter(|entry| entry["kind"] == kind) {
            let command = entry["body"]["extra"]["command"].as_str().unwrap();
            let (worker, number) = command.strip_prefix("echo ").unwrap().split_once('.').unwrap();
            let worker: usize = worker.parse().unwrap();
            assert_eq!(number.parse(), Ok(seen[worker]), "{kind} of {worker}");
            seen[worker] += 1;
        }
        assert_eq!(seen, workers.iter().map(Vec::len).collect::<Vec<_>>(), "{kind}");
    }
    let positions: Vec<u64> = entries.iter().map(|entry| entry["position"].as_u64().unwrap()).collect();
    assert!(positions.windows(2).all(|pair| pair[1] == pair[0] + 1), "a position is missing");
    let mut took: Vec<Duration> = workers.into_iter().flatten().collect();
    took.sort();
    println!(
        "{processes} processes, {sent} commands: median {:?}, p99 {:?}",
        took[sent / 2],
        took[sent * 99 / 100]
    );
}

#[test]
fn secrets_are_not_written_down() {
    if !has_person("secrets_are_not_written_down") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    let token = "ghp_abcdefghijklmnopqrstuvwx0123456789";
    let mut command = project.command(&["bash", "-c", &format!("echo {token} my-own-secret-value")]);
    command.env("MY_API_KEY", "my-own-secret-value");
    assert_eq!(ran(command.output().unwrap()).code, 0);
    line(
        &project,
        &format!(
            "swbox transition PLAN_READY --data '{{\"password\": \"hunter2hunter2\", \"t\": \"{token}\"}}'"
        ),
    );
    let text = project.swbox(&["session", "log", &id, "--json"]).stdout;
    assert!(text.contains("[masked]"));
    let mut bytes = text.into_bytes();
    for entry in fs::read_dir(state_directory(&project)).unwrap() {
        bytes.extend(fs::read(entry.unwrap().path()).unwrap_or_default());
    }
    let all = String::from_utf8_lossy(&bytes);
    for secret in [token, "my-own-secret-value", "hunter2hunter2"] {
        assert!(!all.contains(secret), "{secret} is in the store");
    }
    replays(&project, &id);
}
