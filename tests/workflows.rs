//! The built-in workflows against the example lines beside them (`workflows/NAME.examples`), read and judged as in use.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use swbox::classify::{Environment, classify_line};
use swbox::engine::{Answer, Ended, Event, Reply, Session, Touch, Transition, What, Workflow, step};
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
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '>'])) {
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

/// A session that an example run is sent through.
struct Walk {
    workflow: Workflow,
    session: Session,
    count: u64,
    waiting: Option<String>,
}

impl Walk {
    fn send(&mut self, what: What) -> Reply {
        self.count += 1;
        let event = Event { at: self.count, id: format!("e{}", self.count), what };
        let stepped = step(&self.workflow, self.session.clone(), &event);
        self.session = stepped.session;
        if let Reply::Parked { approval } = &stepped.reply {
            self.waiting = Some(approval.clone());
        }
        stepped.reply
    }

    fn act(&mut self, act: &str) -> Reply {
        if act == "approve" {
            let approval = self.waiting.take().unwrap_or_default();
            return self.send(What::Approve(Answer {
                approval,
                channel: "terminal".into(),
                ..Answer::default()
            }));
        }
        if let Some(files) = act.strip_prefix("writes ") {
            let touched = files.split(' ').map(|path| Touch { path: path.into(), kept: true }).collect();
            return self.send(What::Ended(Ended { call: "c".into(), touched, ..Ended::default() }));
        }
        self.send(What::Transition(Transition { event: act.into(), ..Transition::default() }))
    }
}

#[test]
fn each_built_in_runs_from_its_beginning_to_its_end() {
    for builtin in BUILTINS {
        let file =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("workflows/{}.examples", builtin.name));
        let text = fs::read_to_string(&file).unwrap();
        let workflow = Workflow::new(load(builtin.source.as_bytes()).unwrap().machine);
        let session = Session::start(&workflow, "s", 0);
        let mut walk = Walk { workflow, session, count: 0, waiting: None };
        let mut approvals = 0;
        let steps: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("> ")).collect();
        assert!(steps.len() > 2, "{}: no example run", builtin.name);
        for line in steps {
            let (state, act) = line.split_once(' ').unwrap_or((line, ""));
            assert_eq!(walk.session.state(), state, "{}: {line}", builtin.name);
            let act = act.trim();
            if act.is_empty() {
                continue;
            }
            let reply = walk.act(act);
            assert!(!matches!(reply, Reply::Refused(_)), "{}: {line}: {reply:?}", builtin.name);
            approvals += usize::from(act == "approve");
        }
        assert!(walk.session.is_over(), "{}: the run does not end", builtin.name);
        let asks = builtin.source.contains("requires_approval");
        assert_eq!(asks, approvals > 0, "{}: the run shows the approval", builtin.name);
    }
}

#[test]
fn a_workflow_is_drawn() {
    let swbox = |arguments: &[&str]| swbox(arguments, &std::env::temp_dir(), "");
    let (code, mermaid, _) = swbox(&["workflow", "graph", "bugfix", "--state", "review"]);
    assert_eq!(code, Some(0));
    assert!(mermaid.starts_with("stateDiagram-v2\n") && mermaid.contains("class s3 current"), "{mermaid}");
    let (code, dot, _) = swbox(&["workflow", "graph", "ci", "--format", "dot"]);
    assert_eq!(code, Some(0));
    assert!(
        dot.starts_with("digraph \"ci\" {\n") && dot.contains("TESTS_PASS [approval]\", style=bold"),
        "{dot}"
    );
    let (code, svg, _) = swbox(&["workflow", "graph", "bugfix", "--format", "svg", "--state", "testing"]);
    assert_eq!(code, Some(0));
    assert!(svg.starts_with("<svg ") && svg.contains("class=\"state current\""), "{svg}");
    let (code, out, error) = swbox(&["workflow", "graph", "bugfix", "--state", "reviewing"]);
    assert_eq!((code, out.as_str()), (Some(125), ""));
    assert!(error.contains("review"), "{error}");
}

fn swbox(arguments: &[&str], folder: &std::path::Path, input: &str) -> (Option<i32>, String, String) {
    use std::io::Write as _;
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_swbox"))
        .args(arguments)
        .current_dir(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // A program that asks for nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("swbox-workflows-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn schema_is_printed() {
    let (code, text, _) = swbox(&["workflow", "schema"], &std::env::temp_dir(), "");
    assert_eq!((code, text), (Some(0), swbox::workflow::schema::text()));
}

#[test]
fn a_new_workflow_is_asked_for_and_valid() {
    let folder = folder("new");
    let answers = "shop\nyes\ncargo test, cargo clippy\nyes\nno\n\n.swbox/workflow.json\n";
    let (code, out, err) = swbox(&["workflow", "new"], &folder, answers);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("written: .swbox/workflow.json\n")
            && out.contains("until a person says: swbox trust\n")
            && err.contains("May it be pushed? [no]: "),
        "{err}"
    );
    let file = ".swbox/workflow.json";
    let (code, out, _) = swbox(&["workflow", "validate", file], &folder, "");
    assert_eq!((code, out.as_str()), (Some(0), ".swbox/workflow.json: sound\n"));
    // Nothing is overwritten; no answers at all are the usual ones; an odd answer writes nothing.
    let (code, _, err) = swbox(&["workflow", "new", file], &folder, answers);
    assert_eq!(code, Some(125));
    assert!(err.contains("workflow_exists"), "{err}");
    assert_eq!(swbox(&["workflow", "new", "usual.json"], &folder, "").0, Some(0));
    let (code, _, err) = swbox(&["workflow", "new", "odd.json"], &folder, "x\nperhaps\n");
    assert_eq!(code, Some(125));
    assert!(err.contains("answer_unreadable") && !folder.join("odd.json").exists(), "{err}");
    let (code, _, err) = swbox(&["workflow", "new", "bad.json"], &folder, "x\n\n\n\n\nhttp://\n");
    assert_eq!(code, Some(125), "a host that is none");
    assert!(err.contains("bad_host_entry") && !folder.join("bad.json").exists(), "{err}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_problem_is_told_at_once_in_three_forms() {
    let folder = folder("validate");
    let text = "{\n  \"id\": \"x\",\n  \"initial\": \"planing\",\n  \"states\": {\n    \"planning\": {\n      \"allowed_tools\": [\"Reed\"],\n      \"on\": { \"GO\": { \"target\": \"buidling\", \"guard\": \"g\" } }\n    },\n    \"building\": { \"type\": \"final\" }\n  }\n}\n";
    fs::write(folder.join("bad.json"), text).unwrap();
    let file = "./bad.json";
    let (code, out, _) = swbox(&["workflow", "validate", "--format", "source", file], &folder, "");
    assert_eq!(code, Some(1));
    let expected = "problem[unknown_target] there is no state \"buidling\"\n --> ./bad.json:7:23 (states.planning.on.GO.target)\n  |\n6 |       \"allowed_tools\": [\"Reed\"],\n7 |       \"on\": { \"GO\": { \"target\": \"buidling\", \"guard\": \"g\" } }\n  |                       ^^^^^^^^\n  = help: did you mean \"building\"?\n";
    assert!(out.contains(expected), "{out}");
    for code in ["unknown_initial", "unknown_target", "unknown_guard", "unknown_tool"] {
        assert!(out.contains(&format!("[{code}]")), "{code}: {out}");
    }
    assert!(out.ends_with("./bad.json: 4 problems\n"), "{out}");
    let (code, json, _) = swbox(&["workflow", "validate", "--format", "json", file], &folder, "");
    assert_eq!(code, Some(1));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &value["workflows"][0]["problems"][0];
    for key in ["code", "message", "path", "line", "column", "help"] {
        assert!(!first[key].is_null(), "{key}: {first}");
    }
    assert_eq!(swbox(&["workflow", "validate", "--json", file], &folder, "").1, json);
    let (_, plain, _) = swbox(&["workflow", "validate", file], &folder, "");
    assert!(plain.contains("7:23: states.planning.on.GO.target: there is no state"), "{plain}");
    // A file in one line is shown around the place only.
    let line = text.replace('\n', " ").replace("\"x\"", &format!("{:?}", "x".repeat(5000)));
    fs::write(folder.join("line.json"), line).unwrap();
    let (_, out, _) = swbox(&["workflow", "validate", "--format", "source", "./line.json"], &folder, "");
    assert!(out.lines().all(|line| line.chars().count() < 200), "{out}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn explain_shows_states_by_acts() {
    let (code, out, err) = swbox(&["explain", "--workflow", "bugfix"], &std::env::temp_dir(), "");
    assert_eq!(code, Some(0), "{err}");
    let row = |state: &str| -> Vec<String> {
        let line =
            out.lines().find(|line| line.starts_with(&format!("{state} ")) && !line.contains('→')).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row("state").join(" "), "state list read write remove wipe run git-read commit push network");
    assert_eq!(row("planning").join(" "), "planning yes yes · · · · yes · · ·");
    assert_eq!(row("implementing").join(" "), "implementing yes yes yes · · · yes · · ·");
    assert_eq!(row("testing").join(" "), "testing yes yes · · · yes yes · · ·");
    assert_eq!(row("committing").join(" "), "committing yes yes · · · · yes yes · ·");
    assert_eq!(row("completed").join(" "), "completed · · · · · · · · · ·");
    assert!(out.contains("TESTS_PASS → review (approval)"), "{out}");
    let (_, json, _) = swbox(&["explain", "--workflow", "ci", "--json"], &std::env::temp_dir(), "");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["states"][3]["acts"]["push"], "allow");
}
