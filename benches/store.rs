//! Latencies of the store: `cargo bench --bench store`; `-- 8` for eight writers alone. Each writer is a process: this program again. A command is a
//! `start` and an `end`, as `swbox exec --session` writes them; the whole of it is timed, and each commit.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use swbox::store::{Durability, Hash, SessionRow, Sqlite, Store};

const ORDER: &str = "SWBOX_STORE_BENCH";
const SECONDS: u64 = 5;

fn main() {
    if let Ok(order) = std::env::var(ORDER) {
        return worker(&order);
    }
    let directory = std::env::temp_dir().join(format!("swbox-bench-store-{}", std::process::id()));
    println!("{:<44} {:>8} {:>8} {:>8} {:>8}", "one command in ms", "count", "p50", "p99", "max");
    let asked: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    if asked.is_empty() {
        one_at_a_time(&directory, false);
        one_at_a_time(&directory, true);
    }
    for writers in if asked.is_empty() { vec![1, 4, 8, 50] } else { asked } {
        run(&directory, writers);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

fn create(directory: &Path) {
    let mut store = Sqlite::open(directory).unwrap();
    let mut write = store.begin(Durability::Machine).unwrap();
    write
        .create(&SessionRow {
            id: "s".into(),
            workspace: "/work".into(),
            workflow: "w".into(),
            created: 1,
            touched: 1,
            over: false,
            state: "planning".into(),
            position: 0,
            head: Hash::default(),
            body: "x".repeat(2000),
            place: "{}".into(),
        })
        .unwrap();
    write.commit().unwrap();
}

fn command(store: &mut Sqlite, number: u64) {
    for durability in [Durability::Process, Durability::Machine] {
        let mut write = store.begin(durability).unwrap();
        let mut row = write.session("s").unwrap().unwrap();
        write.append(&mut row, number, "event", &json!({ "text": "cargo test 2>&1 | tail -5" })).unwrap();
        if durability == Durability::Machine {
            write.update(&row).unwrap();
        }
        write.commit().unwrap();
    }
}

/// Open, one command, close: what a short process pays; with another process that holds the file open, or without.
fn one_at_a_time(directory: &Path, held: bool) {
    let _ = std::fs::remove_dir_all(directory);
    create(directory);
    let other = held.then(|| Sqlite::open(directory).unwrap());
    let times = (0..500).map(|number| {
        let begun = Instant::now();
        command(&mut Sqlite::open(directory).unwrap(), number);
        begun.elapsed()
    });
    let name = if held { "open, command, close; another holds it" } else { "open, command, close; alone" };
    show(name, times.collect());
    drop(other);
}

fn run(directory: &Path, writers: u32) {
    let _ = std::fs::remove_dir_all(directory);
    create(directory);
    let children: Vec<_> = (0..writers)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .env(ORDER, directory)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut times = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        times.extend(text.lines().map(|line| Duration::from_nanos(line.parse().unwrap())));
    }
    show(&format!("{writers} processes without a pause, {SECONDS} s"), times);
}

fn worker(directory: &str) {
    let mut store = Sqlite::open(&PathBuf::from(directory)).unwrap();
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let mut times = Vec::new();
    while Instant::now() < until {
        let begun = Instant::now();
        command(&mut store, 1);
        times.push(begun.elapsed());
    }
    for time in times {
        println!("{}", time.as_nanos());
    }
}

fn show(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1000.0;
    println!("{name:<44} {:>8} {:>8.2} {:>8.2} {:>8.2}", times.len(), at(50), at(99), at(100));
}
