//! Time to classify one command, parse included, over real agent commands: median, 99th percentile, most.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use swbox::classify::{Environment, classify, classify_line};
use swbox::shell::parse;

const ROUNDS: usize = 15;

fn main() {
    for corpus in ["agent-commands.jsonl", "human-commands.jsonl", "classify.jsonl"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(corpus);
        let commands: Vec<String> = std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|entry| entry["cmd"].as_str().unwrap().to_owned())
            .collect();
        let environment =
            Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() };
        println!("{corpus}: {} commands", commands.len());
        report("parse", &commands, |command| {
            black_box(parse(command));
        });
        report("classify, parse included", &commands, |command| {
            black_box(classify_line(command, &environment));
        });
        report("the catastrophe check in it", &commands, |command| {
            black_box(swbox::classify::catastrophe::find(command));
        });
        let scripts: Vec<_> = commands.iter().map(|command| parse(command)).collect();
        let mut index = 0;
        report("classify without parse", &commands, |command| {
            let script = &scripts[index % scripts.len()];
            index += 1;
            black_box(classify(command, script, &environment));
        });
    }
}

/// Prints the least time of several rounds for each command, as median, 99th percentile and most.
fn report(name: &str, commands: &[String], mut run: impl FnMut(&str)) {
    let mut least = vec![Duration::MAX; commands.len()];
    for _ in 0..ROUNDS {
        for (command, least) in commands.iter().zip(&mut least) {
            let start = Instant::now();
            run(command);
            *least = (*least).min(start.elapsed());
        }
    }
    least.sort_unstable();
    let at = |share: f64| least[((least.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1000.0;
    println!("  {name:<42} p50 {:>6.1} us   p99 {:>7.1} us   most {:>7.1} us", at(0.5), at(0.99), at(1.0));
}
