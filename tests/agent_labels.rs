//! 300 commands of real agents, each looked at by a person: what they do and the state of work they belong to.
//!
//! `read_only` means that the text itself shows nothing but reading. Inline code (`python -c`) is not: most of it is
//! harmless to a reader, but nothing in the text proves it.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use swbox::classify::{Classification, Environment, OpClass, OpSet, classify_line};
use swbox::policy::{Decision, Policy, RuleSet};
use swbox::shell::Trust;
use swbox::workflow::builtin::builtin;
use swbox::workflow::load;

/// The states that the built-in workflow does not have, with the least tools that the work in them needs.
const OTHERS: &str = r#"{
    "id": "labels", "initial": "planning", "states": {
        "planning": {"allowed_tools": ["read_file"]},
        "implementing": {"allowed_tools": ["read_file", "write_file", "edit_file", "delete_file"]},
        "trying": {"allowed_tools": ["read_file", "write_file", "edit_file", "run_command"]},
        "cleaning": {"allowed_tools": ["read_file", "write_file", "delete_file", "__DESTRUCTIVE__", "run_command"]},
        "reverting": {"allowed_tools": ["read_file", "__GIT_WRITE__", "__DESTRUCTIVE__", "run_test"]},
        "fetching": {"allowed_tools": ["read_file", "WebFetch"]},
        "done": {"type": "final"}
    }
}"#;

struct Case {
    command: String,
    read_only: bool,
    state: String,
    classes: OpSet,
    opaque: Option<bool>,
    found: Classification,
}

fn cases() -> Vec<Case> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/agent-labels.jsonl");
    let environment =
        Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() };
    let text = std::fs::read_to_string(path).unwrap();
    let case = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let command = value["cmd"].as_str().unwrap().to_owned();
        let class = |name: &serde_json::Value| {
            let name = name.as_str().unwrap();
            OpClass::ALL
                .into_iter()
                .find(|class| class.name() == name)
                .unwrap_or_else(|| panic!("no class {name}"))
        };
        let classes: Vec<OpClass> = value["classes"].as_array().unwrap().iter().map(class).collect();
        Case {
            found: classify_line(&command, &environment),
            read_only: value["read_only"].as_bool().unwrap(),
            state: value["state"].as_str().unwrap().to_owned(),
            classes: OpSet::of(&classes),
            opaque: value["opaque"].as_bool(),
            command,
        }
    };
    text.lines().map(case).collect()
}

/// The effects: what must neither be missed nor be seen where it is not. Reading is judged by recall alone.
const EFFECTS: OpSet = OpSet::of(&[
    OpClass::FileWrite,
    OpClass::FileModify,
    OpClass::Destructive,
    OpClass::Network,
    OpClass::GitWrite,
]);

#[test]
fn the_classes_are_those_that_a_person_sees() {
    let cases = cases();
    assert_eq!(cases.len(), 300);
    let mut wrong = Vec::new();
    for case in &cases {
        let found = case.found.classes;
        let missing = case.classes.without(found);
        let unseen = found.without(found.without(EFFECTS)).without(case.classes);
        let is_opaque = case.found.opaque.is_some() || case.found.trust != Trust::Trusted;
        let opacity = case.opaque.is_some_and(|wanted| wanted != is_opaque);
        if !missing.is_empty() || !unseen.is_empty() || opacity {
            let names = |set: OpSet| set.iter().map(OpClass::name).collect::<Vec<_>>().join(" ");
            wrong.push(format!(
                "{:?}\n    missing [{}] unseen [{}] opaque {is_opaque}",
                case.command,
                names(missing),
                names(unseen)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn benign_work_is_not_refused() {
    let bugfix = load(builtin("bugfix").unwrap().source.as_bytes()).unwrap_or_else(|all| panic!("{all:?}"));
    let others = load(OTHERS.as_bytes()).unwrap_or_else(|all| panic!("{all:?}"));
    let rules = || RuleSet::default();
    let bugfix = Policy::compile(&bugfix.machine, rules()).unwrap().within("/work/project");
    let others = Policy::compile(&others.machine, rules()).unwrap().within("/work/project");
    let cases = cases();
    let allowed = |case: &Case, state: &str| {
        // `planning` and `testing` are the built-in's own.
        let policy = if matches!(state, "planning" | "testing") { &bugfix } else { &others };
        let law = policy.state(state).unwrap();
        let evaluation = policy.evaluate(law, &case.command, &case.found);
        let reasons: Vec<_> = evaluation.reasons.iter().map(|reason| reason.message.clone()).collect();
        (evaluation.decision == Decision::Allow, reasons)
    };
    let share = |name: &str, selected: Vec<&Case>, state: &dyn Fn(&Case) -> String| {
        let refused: Vec<String> = selected
            .iter()
            .filter_map(|case| match allowed(case, &state(case)) {
                (true, _) => None,
                (false, reasons) => {
                    Some(format!("{:?} in {}: {}", case.command, state(case), reasons.join("; ")))
                }
            })
            .collect();
        let passed = selected.len() - refused.len();
        println!("{name}: {passed} of {}", selected.len());
        assert!(
            passed * 100 >= selected.len() * 99,
            "{name}: {passed} of {}\n{}",
            selected.len(),
            refused.join("\n")
        );
    };
    let read_only: Vec<&Case> = cases.iter().filter(|case| case.read_only).collect();
    assert!(read_only.len() > 150);
    share("read-only in planning", read_only, &|_| "planning".to_owned());
    share("all in their fitting state", cases.iter().collect(), &|case| case.state.clone());
    // The other way round: what is not read-only does not pass `planning`.
    let slipped: Vec<&str> = cases
        .iter()
        .filter(|case| !case.read_only && allowed(case, "planning").0)
        .map(|case| case.command.as_str())
        .collect();
    assert!(slipped.is_empty(), "{slipped:?}");
}
