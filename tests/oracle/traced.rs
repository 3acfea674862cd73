//! Oracle: every simple command in a `set -x` trace of real command lines is among the segments.
//!
//! The lines redirect to real paths, so bash runs only where the file system is read-only: in `SWBOX_ORACLE_WRAPPER`, else
//! in bubblewrap where it is installed.

use swbox::shell::{Script, Trust, parse};

use super::{Budget, corpus, matcher, runner};

const BUBBLEWRAP: &str = "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --unshare-all \
    --die-with-parent --chdir /tmp --clearenv --setenv PATH /nonexistent \
    --setenv HOME /home/someone --";

const PRELUDE: &str = "ulimit -t 2 -u 400; PS4='@@X '; exec 2>&1 </dev/null; set -x\n";

/// Lines that would not end, or in which text is run that no parser sees.
const SKIPPED: &[&str] = &[
    "kill",
    "fork",
    ":()",
    "while true",
    "while :",
    "yes",
    "eval",
    "source",
    ". ",
    "alias",
    "trap",
    "set +",
    "set -",
    "exec",
    "PS4",
];

fn wrapper() -> Option<String> {
    runner::wrapper().or_else(|| runner::installed("bwrap").map(|_| BUBBLEWRAP.to_owned()))
}

#[test]
fn traced() {
    let Some(wrapper) = wrapper() else {
        let required = std::env::var("SWBOX_REQUIRE").is_ok_and(|list| list.contains("bwrap"));
        assert!(!required, "bubblewrap is required and not installed");
        println!("SKIP traced: neither SWBOX_ORACLE_WRAPPER nor bubblewrap");
        return;
    };
    let place = runner::Place::new("traced");
    let lines = corpus();
    let budget = Budget::rounds(250);
    let (mut scripts, mut commands, mut unexplained) = (0, 0, Vec::new());
    let step = if budget.is_timed() { 1 } else { lines.len() / 250 };
    for (round, source) in lines.iter().step_by(step).enumerate() {
        if !budget.allows(round) {
            break;
        }
        let script = parse(source);
        if script.trust != Trust::Trusted
            || script.opaque.is_some()
            || SKIPPED.iter().any(|text| source.contains(text))
        {
            continue;
        }
        let Some(output) = runner::output(&place, &wrapper, PRELUDE, source) else { continue };
        scripts += 1;
        for argv in trace(&String::from_utf8_lossy(&output)) {
            commands += 1;
            if !explained(&script, &argv) {
                unexplained.push((source.clone(), argv));
            }
        }
    }
    println!("scripts {scripts}, traced commands {commands}, unexplained {}", unexplained.len());
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert!(commands > scripts / 2, "the trace is empty");
}

fn explained(script: &Script, argv: &[String]) -> bool {
    script.segments.iter().any(|segment| matcher::matches(segment, argv))
}

/// The simple commands of a trace.
fn trace(output: &str) -> Vec<Vec<String>> {
    records(output)
        .iter()
        .filter_map(|record| record.trim_start_matches('@').strip_prefix("X "))
        .filter(|text| !is_compound(text) && !is_assignment(text))
        .map(runner::unquote)
        .filter(|argv| argv.first().is_some_and(|verb| !verb.is_empty()))
        .collect()
}

/// A record goes on over lines while a quote is open.
fn records(output: &str) -> Vec<String> {
    let mut records: Vec<String> = Vec::new();
    let mut open = false;
    for line in output.lines() {
        match records.last_mut() {
            Some(last) if open => {
                last.push('\n');
                last.push_str(line);
            }
            _ if line.starts_with("@@") => records.push(line.to_owned()),
            _ => continue,
        }
        open = records.last().is_some_and(|record| has_open_quote(record));
    }
    records
}

fn has_open_quote(record: &str) -> bool {
    let mut quote = None;
    let mut bytes = record.bytes();
    let mut before = 0;
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b'\\') | (Some(b'$'), b'\\') => {
                bytes.next();
            }
            (None, b'\'') => quote = Some(if before == b'$' { b'$' } else { b'\'' }),
            (Some(_), b'\'') => quote = None,
            _ => {}
        }
        before = byte;
    }
    quote.is_some()
}

fn is_compound(text: &str) -> bool {
    // bash prints what it assigns, not the words
    const PRINTED: &[&str] = &[
        "[[",
        "((",
        "for ",
        "case ",
        "select ",
        "let ",
        "declare ",
        "typeset ",
        "local ",
        "export ",
        "readonly ",
    ];
    PRINTED.iter().any(|start| text.starts_with(start))
}

fn is_assignment(text: &str) -> bool {
    let name = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let rest = &text[name..];
    name > 0
        && (rest.starts_with('=') || rest.starts_with("+=") || rest.starts_with('[') && rest.contains("]="))
}
