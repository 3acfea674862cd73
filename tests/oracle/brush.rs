//! Oracle: brush-parser reads the same commands, wherever it reads a script at all.
//!
//! brush runs in a process of its own with a time limit, built apart because it brings 75 crates:
//!
//! ```text
//! cargo build --manifest-path tests/oracles/brush/Cargo.toml --target-dir target/brush
//! SWBOX_BRUSH=$PWD/target/brush/x86_64-unknown-linux-gnu/debug/swbox-brush-oracle cargo test --test oracle -- brush --nocapture
//! ```
//!
//! The path has the triple of the host in it, as `.cargo/config.toml` wants. brush is not always right: the
//! order of authority is bash executed, `bash -n`, brush, tree-sitter.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use swbox::shell::{Script, Trust, parse};

use super::{Budget, corpus};

/// Texts on which brush is known to be wrong, each verified by running bash.
const KNOWN: &[(&str, &str)] = &[
    ("{fd}", "brush keeps the descriptor variable as an argument"),
    ("\\\nEOF", "brush does not join the lines of a heredoc before it looks for the end"),
    ("${x:-'`", "brush hides a substitution in single quotes inside a quoted parameter"),
    ("<(", "brush splits a word at a process substitution"),
    ("=(", "brush ends a word after an array"),
];

/// brush's commands; none where it refuses the script, takes too long or dies.
fn brush(reader: &str, source: &str) -> Option<Vec<Vec<String>>> {
    let mut child = Command::new(reader)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).ok();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(2) {
            child.kill().ok();
            child.wait().ok();
            return None;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).ok()?;
    child.wait().ok()?.success().then(|| serde_json::from_str(&text).unwrap())
}

/// What two readers must agree on: the words without quoting, layout and the text of substitutions.
fn canonical(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| {
            if word.contains(['$', '`', '<', '>']) {
                return "?".to_owned();
            }
            word.chars().filter(|character| !matches!(character, '\\' | ' ' | '\n' | '\t')).collect()
        })
        .collect();
    words.join(" ")
}

fn ours(source: &str, script: &Script) -> Vec<String> {
    let mut segments: Vec<_> = script.segments.iter().filter(|segment| !segment.argv.is_empty()).collect();
    // a command of a loop is there once for each known value of its variable, at the same place
    segments.dedup_by_key(|segment| segment.span);
    let mut commands: Vec<String> = segments
        .into_iter()
        .map(|segment| {
            let mut spans: Vec<_> = segment.argv.iter().map(|arg| arg.span).collect();
            // the alternatives of a brace expression share their word
            spans.dedup();
            canonical(spans.into_iter().map(|span| span.of(source).to_owned()))
        })
        .collect();
    commands.sort();
    commands
}

#[test]
fn brush_reads_the_same_commands() {
    let Ok(reader) = std::env::var("SWBOX_BRUSH") else {
        let required = std::env::var("SWBOX_REQUIRE").is_ok_and(|list| list.contains("brush"));
        assert!(!required, "SWBOX_BRUSH must name the reader");
        println!("SKIP brush_reads_the_same_commands: SWBOX_BRUSH does not name the reader");
        return;
    };
    let budget = Budget::rounds(100_000);
    let (mut both, mut refused, mut differ) = (0, 0, Vec::new());
    for (round, source) in corpus().iter().enumerate() {
        if !budget.allows(round) {
            break;
        }
        let script = parse(source);
        // what stands in backticks has another spelling there
        if script.trust != Trust::Trusted || source.contains('\\') && source.contains('`') {
            continue;
        }
        let Some(commands) = brush(&reader, source) else {
            refused += 1;
            continue;
        };
        both += 1;
        let mut theirs: Vec<String> = commands.into_iter().map(canonical).collect();
        theirs.sort();
        let ours = ours(source, &script);
        if ours != theirs && !KNOWN.iter().any(|(text, _)| source.contains(text)) {
            differ.push((source.clone(), ours, theirs));
        }
    }
    println!("read by both {both}, refused by brush {refused}, differ {}", differ.len());
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(both > refused * 10);
}
