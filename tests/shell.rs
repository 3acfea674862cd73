//! The front end against corpora: hostile lines whose command must be seen, and real commands that must be trusted.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use swbox::shell::{Script, Trust, parse};

fn corpus(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn commands(name: &str) -> Vec<String> {
    corpus(name)
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| entry["cmd"].as_str().unwrap().to_owned())
        .collect()
}

fn trusted(script: &Script) -> bool {
    script.trust == Trust::Trusted
}

/// Whether bash can parse it; nothing is run.
fn bash_accepts(source: &str) -> bool {
    let mut child = Command::new("bash")
        .args(["--norc", "-n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).ok();
    child.wait().unwrap().success()
}

/// Each line of `hidden.txt` makes bash run `rm zz` (line 8: `rm`) in a way that some parser does not show.
#[test]
fn no_hidden_command_is_missed() {
    let mut untrusted = Vec::new();
    let lines = corpus("hidden.txt");
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (id, text) = line.split_once('\t').unwrap();
        let source = text.replace('⏎', "\n").replace('→', "\t");
        let script = parse(&source);
        let seen = script.segments.iter().any(|segment| {
            let words: Vec<_> = segment.argv.iter().map(|arg| arg.value.literal()).collect();
            words.first() == Some(&Some("rm")) && (id == "8" || words[1..].contains(&Some("zz")))
        });
        if !trusted(&script) {
            untrusted.push(id);
        }
        assert!(seen || !trusted(&script), "{id}: {source:?} is trusted and not seen: {script:#?}");
    }
    assert_eq!(untrusted, ["C", "V17", "V48"], "C, V17 and V48 are refused by bash -n too");
}

/// Of what bash accepts nearly all is trusted; of what it refuses nothing is.
#[test]
fn real_commands_are_trusted_and_invalid_ones_are_not() {
    for name in ["agent-commands.jsonl", "human-commands.jsonl", "classify.jsonl"] {
        let (mut accepted, mut refused, mut distrusted) = (0, 0, Vec::new());
        for source in commands(name) {
            let script = parse(&source);
            if bash_accepts(&source) {
                accepted += 1;
                if let Trust::Untrusted { code, .. } = script.trust
                    && code != "odd_character"
                {
                    distrusted.push((code, source));
                }
            } else {
                refused += 1;
                assert!(!trusted(&script), "{name}: bash refuses {source:?}");
            }
        }
        println!(
            "{name}: accepted {accepted}, refused {refused}, of the accepted not trusted {}",
            distrusted.len()
        );
        assert!(distrusted.len() * 200 <= accepted, "{name}: {distrusted:#?}");
    }
}
