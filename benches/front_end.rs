//! Time per command, over real agent commands: the front end alone, all of classification (parse and catastrophe check
//! included), and the catastrophe check alone: `cargo bench --bench front_end`.
//!
//! The best of several rounds is taken for each command, so that other load on the machine counts little.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use swbox::classify::{Environment, catastrophe, classify_line};
use swbox::shell::parse;

const ROUNDS: usize = 15;

fn main() {
    for name in ["agent-commands.jsonl", "human-commands.jsonl", "classify.jsonl"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("front_end: {} is missing", path.display());
            std::process::exit(1);
        };
        let commands: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|entry| entry["cmd"].as_str().map(str::to_owned))
            .collect();
        let environment =
            Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() };
        report("front_end", name, &commands, |source| {
            black_box(parse(source));
        });
        report("classify", name, &commands, |source| {
            black_box(classify_line(source, &environment));
        });
        report("catastrophe", name, &commands, |source| {
            black_box(catastrophe::find(source));
        });
    }
}

fn report(what: &str, name: &str, commands: &[String], run: impl Fn(&str)) {
    let mut best = vec![f64::MAX; commands.len()];
    for _ in 0..ROUNDS {
        for (time, source) in best.iter_mut().zip(commands) {
            let start = Instant::now();
            run(black_box(source));
            *time = time.min(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    best.sort_by(f64::total_cmp);
    let at = |percent: usize| best[(best.len() - 1) * percent / 100];
    println!(
        "{what} {name}: {} commands, p50 {:.1} us, p99 {:.1} us, max {:.1} us",
        best.len(),
        at(50),
        at(99),
        at(100)
    );
}
