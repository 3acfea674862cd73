//! Oracle: every simple command in a `set -x` trace of real command lines is among the segments.
//!
//! The lines redirect to real paths, so bash runs only where the file system is read-only: in `SWBOX_ORACLE_WRAPPER`, else
//! in bubblewrap where it is installed.

use swbox::shell::{Script, Trust, parse};

use super::{Budget, corpus, matcher, runner};

const BUBBLEWRAP: &str = "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --unshare-all \
    --die-with-parent --chdir /tmp --clearenv --setenv PATH /nonexistent --";

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
    let traced = output.lines().filter(|line| line.starts_with("@@"));
    traced
        .filter_map(|line| line.trim_start_matches('@').strip_prefix("X "))
        .filter(|text| {
            let compound =
                ["[[", "((", "for ", "case ", "select ", "let "].iter().any(|start| text.starts_with(start));
            let assigned = text.split(['=', '[', '+']).next().unwrap_or("");
            let name = !assigned.is_empty()
                && assigned.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            !compound
                && !(name
                    && text.contains('=')
                    && assigned.len() < text.split(' ').next().unwrap_or("").len())
        })
        .map(runner::unquote)
        .filter(|argv| argv.first().is_some_and(|verb| !verb.is_empty()))
        .collect()
}
