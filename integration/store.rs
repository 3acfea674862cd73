//! The store under crashes, full and read-only disks, other versions and fifty writers. Each writer is a process of its
//! own: this program again, with its order in the environment.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};
use swbox::diagnostic::Diagnostic;
use swbox::store::{Durability, Entry, Running, SessionRow, Sqlite, Store, StoreError, verify};

/// What a spawned copy of this program is to do.
const ORDER: &str = "SWBOX_STORE_TEST";

const SESSION: &str = "s-test";

fn directory(name: &str) -> PathBuf {
    let base = std::env::var_os("SWBOX_TEST_DIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let path = base.join(format!("swbox-store-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn row() -> SessionRow {
    SessionRow {
        id: SESSION.into(),
        workspace: "/work".into(),
        workflow: "w".into(),
        created: 1,
        touched: 1,
        over: false,
        state: "planning".into(),
        position: 0,
        head: swbox::store::Hash::default(),
        body: "0".into(),
        place: "{}".into(),
    }
}

fn create(directory: &Path) {
    let mut store = Sqlite::open(directory).unwrap();
    let mut write = store.begin(Durability::Machine).unwrap();
    write.create(&row()).unwrap();
    write.commit().unwrap();
}

/// One command: a start, then an end that moves the session's body on by one. Gives the position of the end.
fn command(store: &mut Sqlite, who: &str, number: u64) -> Result<u64, StoreError> {
    let mut write = store.begin(Durability::Process)?;
    let mut row = write.session(SESSION)?.unwrap();
    write.append(&mut row, number, "start", &json!({ "who": who, "number": number }))?;
    let start = row.position;
    let pid = i32::try_from(std::process::id()).unwrap();
    let running = Running { session: SESSION.into(), position: start, pid, born: 1, body: "{}".into() };
    write.started(&running)?;
    write.commit()?;
    let mut write = store.begin(Durability::Machine)?;
    let mut row = write.session(SESSION)?.unwrap();
    assert!(write.ended(SESSION, start)?);
    row.body = (row.body.parse::<u64>().unwrap() + 1).to_string();
    write.append(&mut row, number, "end", &json!({ "who": who, "number": number, "start": start }))?;
    write.update(&row)?;
    write.commit()?;
    Ok(row.position)
}

/// A spawned copy of this program: `KIND DIRECTORY NAME COUNT`.
#[test]
fn worker() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    let [kind, directory, name, count] = words[..] else { panic!("{order}") };
    let directory = Path::new(directory);
    match kind {
        "write" => {
            let mut store = Sqlite::open(directory).unwrap();
            for number in 1..=count.parse().unwrap() {
                let position = command(&mut store, name, number).unwrap();
                println!("done {position}");
            }
        }
        // Each command in a store opened anew, as swbox does it.
        "reopen" => {
            for number in 1..=count.parse().unwrap() {
                command(&mut Sqlite::open(directory).unwrap(), name, number).unwrap();
            }
        }
        // A disk that takes nothing: the kernel answers every flush of this process so.
        "unflushed" => {
            let answer = SeccompAction::Errno(libc::EIO.cast_unsigned());
            let arch = std::env::consts::ARCH.try_into().unwrap();
            let rules = [(libc::SYS_fdatasync, vec![]), (libc::SYS_fsync, vec![])].into_iter().collect();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).unwrap();
            let mut store = Sqlite::open(directory).unwrap();
            seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
            let first = command(&mut store, name, 1).map_err(|error| Diagnostic::from(error).code);
            let second =
                store.begin(Durability::Process).map(drop).map_err(|error| Diagnostic::from(error).code);
            println!("outcome {first:?} {second:?}");
        }
        "hold" => {
            let mut store = Sqlite::open(directory).unwrap();
            let _write = store.begin(Durability::Machine).unwrap();
            println!("held");
            std::io::stdin().lines().next();
        }
        "fill" => {
            let outcome = fill(directory);
            println!("outcome {outcome}");
        }
        _ => panic!("{order}"),
    }
}

/// Writes until the store refuses, and says how it refused.
fn fill(directory: &Path) -> String {
    let written = Sqlite::open(directory).and_then(|mut store| {
        if store.session(SESSION)?.is_none() {
            let mut write = store.begin(Durability::Machine)?;
            write.create(&row())?;
            write.commit()?;
        }
        for number in 1.. {
            let mut write = store.begin(Durability::Process)?;
            let mut row = write.session(SESSION)?.unwrap();
            write.append(&mut row, number, "start", &json!({ "text": "x".repeat(10_000) }))?;
            write.commit()?;
        }
        Ok(())
    });
    let code = Diagnostic::from(written.unwrap_err()).code;
    // What was acknowledged before is whole.
    let whole = Sqlite::open(directory).and_then(|store| {
        let entries = store.journal(SESSION, 0)?;
        let head = store.session(SESSION)?.map(|row| row.head).unwrap_or_default();
        Ok(verify(SESSION, &entries, &head).map(|()| entries.len()))
    });
    format!("{code} {whole:?}")
}

fn spawn(order: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["worker", "--exact", "--nocapture", "--test-threads=1"])
        .env(ORDER, order)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Checks the whole store: the chain, the body by replay, and that what runs is what has begun and not ended.
fn check(directory: &Path) -> (Vec<Entry>, u64) {
    let mut store = Sqlite::open(directory).unwrap();
    let row = store.session(SESSION).unwrap().unwrap();
    let entries = store.journal(SESSION, 0).unwrap();
    assert_eq!(verify(SESSION, &entries, &row.head), Ok(()));
    assert_eq!(row.position, entries.len() as u64);
    let ends: Vec<u64> = entries
        .iter()
        .filter(|entry| entry.kind == "end")
        .map(|entry| serde_json::from_str::<Value>(&entry.body).unwrap()["start"].as_u64().unwrap())
        .collect();
    assert_eq!(row.body, ends.len().to_string(), "replay gives another body");
    let begun = entries.iter().filter(|entry| entry.kind == "start").map(|entry| entry.position);
    let open: Vec<u64> = begun.filter(|position| !ends.contains(position)).collect();
    let write = store.begin(Durability::Process).unwrap();
    let running: Vec<u64> = write.running(SESSION).unwrap().iter().map(|running| running.position).collect();
    assert_eq!(running, open);
    (entries, row.position)
}

#[test]
fn killed_at_any_moment_nothing_acknowledged_is_lost() {
    let directory = directory("crash");
    create(&directory);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    println!("seed {seed:#x}");
    let mut acknowledged = 0;
    for round in 0..500 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let mut child = spawn(&format!("write {} r{round} 1000000", directory.display()));
        std::thread::sleep(Duration::from_micros(seed % 25_000));
        child.kill().unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            // The last line may be cut.
            let position = line.ok().and_then(|line| line.strip_prefix("done ")?.parse().ok());
            acknowledged = acknowledged.max(position.unwrap_or(0));
        }
        child.wait().unwrap();
        if round % 25 == 0 {
            let (_, position) = check(&directory);
            assert!(position >= acknowledged, "{position} < {acknowledged}");
        }
    }
    let (entries, position) = check(&directory);
    assert!(position >= acknowledged, "{position} < {acknowledged}");
    assert!(entries.len() > 10, "the writers hardly wrote");
    println!("{} entries, {acknowledged} acknowledged", entries.len());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn fifty_writers_lose_and_reorder_nothing() {
    const WRITERS: u64 = 50;
    const EACH: u64 = 12;
    let directory = directory("fifty");
    create(&directory);
    let kind = |number| if number % 2 == 0 { "write" } else { "reopen" };
    let children: Vec<Child> = (0..WRITERS)
        .map(|number| spawn(&format!("{} {} w{number} {EACH}", kind(number), directory.display())))
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let (entries, _) = check(&directory);
    let mut seen: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for entry in &entries {
        let body: Value = serde_json::from_str(&entry.body).unwrap();
        let who = body["who"].as_str().unwrap().to_owned();
        seen.entry((who, entry.kind.clone())).or_default().push(body["number"].as_u64().unwrap());
    }
    assert_eq!(seen.len() as u64, 2 * WRITERS);
    let whole: Vec<u64> = (1..=EACH).collect();
    assert!(seen.values().all(|numbers| *numbers == whole), "{seen:?}");
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Runs `fill` on a file system of its own; `None` where this host gives none.
fn on_own_disk(name: &str, mount: &str) -> Option<String> {
    let directory = directory(name);
    std::fs::create_dir_all(&directory).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=400k,mode=700 own '{0}' || exit 77; {mount} || exit 77; exec \"$@\"",
        directory.display()
    );
    let script = script.replace("DIR", &directory.to_string_lossy());
    let exe = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
        .arg(exe)
        .args(["worker", "--exact", "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("fill {} x 0", directory.display()))
        .output();
    std::fs::remove_dir_all(&directory).unwrap();
    let output = output.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let outcome = text.lines().find_map(|line| Some(line.split_once("outcome ")?.1.to_owned()));
    if outcome.is_none() {
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "userns"), "{output:?}");
        println!("SKIP {name}: no user namespace with a tmpfs here");
    }
    outcome
}

#[test]
fn a_full_disk_is_said_and_breaks_nothing() {
    if let Some(outcome) = on_own_disk("full", ":") {
        let entries = outcome.strip_prefix("store_full Ok(Ok(").and_then(|rest| rest.strip_suffix("))"));
        assert!(entries.is_some_and(|count| count.parse::<u32>().unwrap() > 3), "{outcome}");
    }
}

#[test]
fn a_read_only_directory_is_said() {
    if let Some(outcome) = on_own_disk("read-only", "mount -o remount,bind,ro DIR") {
        assert!(outcome.starts_with("store_unavailable"), "{outcome}");
    }
}

#[test]
fn a_later_schema_is_refused_and_left_alone() {
    let directory = directory("newer");
    create(&directory);
    let raw = rusqlite::Connection::open(directory.join("sessions.db")).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = std::fs::read(directory.join("sessions.db")).unwrap();
    let error = Sqlite::open(&directory).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert_eq!(std::fs::read(directory.join("sessions.db")).unwrap(), before);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_is_no_store_is_refused() {
    let directory = directory("damaged");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("sessions.db"), "not a database, but long enough to be one ".repeat(100))
        .unwrap();
    let error = Sqlite::open(&directory).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_are_their_owners_alone_and_many_may_make_them_at_once() {
    use std::os::unix::fs::PermissionsExt;
    let directory = directory("modes");
    let begun = Instant::now();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let directory = directory.clone();
            std::thread::spawn(move || Sqlite::open(&directory).map(drop))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    let mut store = Sqlite::open(&directory).unwrap();
    let write = store.begin(Durability::Machine).unwrap();
    drop(write);
    for entry in std::fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
    }
    assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    println!("{:?}", begun.elapsed());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Whoever commits may be killed before its flush; what others do by what it wrote waits for one all the same.
#[test]
fn what_begins_after_a_commit_that_nobody_flushed_flushes_it() {
    let directory = directory("unflushed");
    create(&directory);
    let mut store = Sqlite::open(&directory).unwrap();
    let path = directory.join("sessions.marks");
    let marks = || {
        let bytes = std::fs::read(&path).unwrap();
        let (numbers, _) = bytes.as_chunks::<8>();
        (u64::from_ne_bytes(numbers[0]), u64::from_ne_bytes(numbers[1]))
    };
    command(&mut store, "one", 1).unwrap();
    let (asked, flushed) = marks();
    assert_eq!(asked, flushed);
    // As a writer leaves it that was killed between the two.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..8].copy_from_slice(&(asked + 1).to_ne_bytes());
    std::fs::write(&path, bytes).unwrap();
    let mut write = store.begin(Durability::Process).unwrap();
    let mut row = write.session(SESSION).unwrap().unwrap();
    write.append(&mut row, 1, "start", &json!({})).unwrap();
    write.commit().unwrap();
    assert_eq!(marks(), (asked + 1, asked + 1));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The kernel tells of a failed flush once; whoever comes later flushes without an error, over what was lost.
#[test]
fn after_a_flush_that_failed_nobody_goes_on_before_all_is_in_the_database() {
    let directory = directory("failed");
    create(&directory);
    let output = spawn(&format!("unflushed {} x 0", directory.display())).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let refused = r#"outcome Err("store_unflushed") Err("store_unflushed")"#;
    assert!(text.contains(refused), "{text}");
    let log = || std::fs::metadata(directory.join("sessions.db-wal")).unwrap().len();
    assert!(log() > 0);
    let mut store = Sqlite::open(&directory).unwrap();
    drop(store.begin(Durability::Process).unwrap());
    assert_eq!(log(), 0, "the log is believed");
    command(&mut store, "next", 1).unwrap();
    let entries = store.journal(SESSION, 0).unwrap();
    let head = store.session(SESSION).unwrap().unwrap().head;
    assert_eq!(verify(SESSION, &entries, &head), Ok(()));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_stopped_writer_is_named_and_not_waited_for_for_ever() {
    let directory = directory("stopped");
    create(&directory);
    let mut holder = spawn(&format!("hold {} x 0", directory.display()));
    let mut said = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("held")));
    let pid = holder.id();
    let stopped = rustix::process::kill_process(
        rustix::process::Pid::from_child(&holder),
        rustix::process::Signal::STOP,
    );
    stopped.unwrap();
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !stat().contains(") T ") {
        std::thread::yield_now();
    }
    let mut store = Sqlite::open(&directory).unwrap();
    let error = store.begin(Durability::Process).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Held { .. }), "{text}");
    assert!(text.contains(&format!("process {pid} (")) && text.contains("stopped"), "{text}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    command(&mut store, "next", 1).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_write_that_is_dropped_leaves_nothing() {
    let directory = directory("dropped");
    create(&directory);
    let mut store = Sqlite::open(&directory).unwrap();
    let mut write = store.begin(Durability::Machine).unwrap();
    let mut row = write.session(SESSION).unwrap().unwrap();
    write.append(&mut row, 1, "event", &json!({})).unwrap();
    row.state = "implementing".into();
    write.update(&row).unwrap();
    drop(write);
    let row = store.session(SESSION).unwrap().unwrap();
    assert_eq!((row.position, row.state.as_str()), (0, "planning"));
    assert!(store.journal(SESSION, 0).unwrap().is_empty());
    std::fs::remove_dir_all(&directory).unwrap();
}
