//! The built-in workflows against the example lines beside them (`workflows/NAME.examples`), read and judged as in use.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use swbox::classify::{Environment, classify_line};
use swbox::policy::{Decision, Policy, RuleSet};
use swbox::workflow::builtin::BUILTINS;
use swbox::workflow::load;

const WORKSPACE: &str = "/work/project";

fn decision_of(word: &str) -> Decision {
    match word {
        "allow" => Decision::Allow,
        "prompt" => Decision::Prompt,
        "forbidden" => Decision::Forbidden,
        other => panic!("{other:?} is no decision"),
    }
}

#[test]
fn each_built_in_keeps_its_examples() {
    let environment = Environment { cwd: WORKSPACE.into(), home: "/home/u".into(), ..Environment::default() };
    let mut wrong = Vec::new();
    for builtin in BUILTINS {
        let file =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("workflows/{}.examples", builtin.name));
        let text = fs::read_to_string(&file).unwrap_or_else(|_| panic!("{} is missing", file.display()));
        let machine = load(builtin.source.as_bytes()).unwrap().machine;
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap().within(WORKSPACE);
        let mut shown = BTreeSet::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (state, rest) = line.split_once(' ').unwrap();
            let (decision, command) = rest.trim_start().split_once(' ').unwrap();
            let command = command.trim_start().replace('␤', "\n");
            let law = policy.state(state).unwrap_or_else(|| panic!("{}: no state {state:?}", builtin.name));
            let answer = policy.evaluate(law, &command, &classify_line(&command, &environment));
            shown.insert(state.to_owned());
            if answer.decision != decision_of(decision) {
                let reasons: Vec<_> =
                    answer.reasons.iter().map(|one| format!("{}: {}", one.code, one.message)).collect();
                wrong.push(format!(
                    "{}/{line}\n    is {:?}: {}",
                    builtin.name,
                    answer.decision,
                    reasons.join("; ")
                ));
            }
        }
        for state in machine.states.keys().filter(|name| !shown.contains(*name)) {
            wrong.push(format!("{}: no example for the state {state:?}", builtin.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_workflow_is_drawn() {
    let swbox = |arguments: &[&str]| {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_swbox")).args(arguments).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, mermaid, _) = swbox(&["workflow", "graph", "bugfix", "--state", "review"]);
    assert_eq!(code, Some(0));
    assert!(mermaid.starts_with("stateDiagram-v2\n") && mermaid.contains("class s3 current"), "{mermaid}");
    let (code, dot, _) = swbox(&["workflow", "graph", "ci", "--format", "dot"]);
    assert_eq!(code, Some(0));
    assert!(
        dot.starts_with("digraph \"ci\" {\n") && dot.contains("TESTS_PASS [approval]\", style=bold"),
        "{dot}"
    );
    let (code, out, error) = swbox(&["workflow", "graph", "bugfix", "--state", "reviewing"]);
    assert_eq!((code, out.as_str()), (Some(125), ""));
    assert!(error.contains("review"), "{error}");
}
