//! A fault is fixed from planning to completed, by an agent that has nothing but its shell and a person in a second
//! terminal.

use std::fs;

use crate::kit::{good, has_person, journal, line, person, replays, start, state, waiting, workflow};
use crate::project::Project;

/// The built-in `bugfix`, with an interrupt when a test file is edited and tests that must have been seen.
fn bugfix() -> String {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/workflows/bugfix.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["interrupts"] = serde_json::json!({ "TESTS_TOUCHED": { "trigger": { "file_pattern": "test_*.py" }, "target": "explaining" } });
    value["states"]["explaining"] = serde_json::json!({
        "allowed_tools": ["read_file"], "instructions": "Say why a test had to change.",
        "on": { "EXPLAINED": "$return", "FAIL": "failed" }
    });
    let edge = &mut value["states"]["testing"]["on"]["TESTS_PASS"];
    edge["evidence"] =
        serde_json::json!({ "command": "python3 -m unittest", "exit_code": 0, "since": "last_write" });
    value.to_string()
}

#[test]
fn a_bug_is_fixed_from_planning_to_completed() {
    let test = "a_bug_is_fixed_from_planning_to_completed";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    // The fault: a greeting without its comma.
    fs::write(project.path().join("greeting.py"), "def greet(name):\n    return f\"Hello {name}\"\n")
        .unwrap();
    project.git(&["commit", "-qam", "Say it shorter"]);
    let file = workflow(&project, "bugfix.json", &bugfix());
    let id = start(&project, &["--workflow", &file]);

    // Planning: look, and be refused what the phase does not have.
    assert!(good(&project, "grep -n Hello *.py").contains("greeting.py:2"));
    let refused = line(&project, "sed -i 's/Hello /Hello, /' greeting.py");
    assert_eq!(refused.code, 126, "{refused:?}");
    assert!(refused.stderr.contains("do: swbox transition PLAN_READY"), "{refused:?}");
    assert!(good(&project, "swbox state").contains("event    PLAN_READY → \"implementing\""));
    assert!(good(&project, "swbox transition PLAN_READY").contains("\"planning\" → \"implementing\""));

    // Implementing: the fix, and an edit of a test file that fires the interrupt.
    good(&project, "sed -i 's/Hello /Hello, /' greeting.py");
    assert_eq!(state(&project), "implementing");
    let edited = line(&project, "echo '# another line' >> test_greeting.py");
    assert_eq!(edited.code, 0, "{edited:?}");
    assert!(edited.stderr.contains("the session is in \"explaining\" now"), "{edited:?}");
    assert_eq!(line(&project, "echo x > more").code, 126);
    assert!(good(&project, "swbox transition EXPLAINED").contains("\"explaining\" → \"implementing\""));

    // Testing: the tests that a transition needs are run by swbox itself where the agent has not.
    good(&project, "swbox transition DONE");
    let parked = line(&project, "swbox transition TESTS_PASS --data '{\"summary\": \"comma back\"}'");
    assert_eq!(parked.code, 126, "{parked:?}");
    assert!(parked.stdout.contains("a person must say yes"), "{parked:?}");
    assert_eq!(state(&project), "testing");
    let approval = waiting(&project, &id).pop().unwrap();
    let seen = person(&project, &["approve", &approval], &[("Type \"review\"", "review")]);
    assert_eq!(seen.code, 0, "{seen:?}");
    for shown in ["`python3 -m unittest` ended with 0", "comma back", "greeting.py", "test_greeting.py"] {
        assert!(seen.output.contains(shown), "{shown}: {seen:?}");
    }
    assert_eq!(state(&project), "review");

    // Review and commit.
    assert!(good(&project, "git diff --stat").contains("greeting.py"));
    assert_eq!(line(&project, "git commit -am x").code, 126);
    good(&project, "swbox transition APPROVED");
    good(&project, "git add -A");
    good(&project, "git commit -m 'Greet with a comma again'");
    assert!(good(&project, "swbox transition COMMITTED").contains("which is the end"));
    assert!(project.git(&["log", "--oneline", "-1"]).contains("Greet with a comma again"));

    // Over: nothing runs, and the way on is named.
    let over = line(&project, "ls");
    assert_eq!(over.code, 126, "{over:?}");
    assert!(over.stderr.contains("session start"), "{over:?}");

    // The story, and the story told again.
    let story = project.swbox(&["session", "log", &id]).stdout;
    for part in [
        "\"planning\" → \"implementing\" by PLAN_READY",
        "forbidden (missing_tool)",
        "by the interrupt TESTS_TOUCHED on test_greeting.py",
        "asked to be shown: python3 -m unittest",
        "approved (terminal)",
        "\"testing\" → \"review\" by TESTS_PASS",
        "the session is over: natural",
    ] {
        assert!(story.contains(part), "{part}\n{story}");
    }
    replays(&project, &id);
    assert_eq!(journal(&project, &id)[0]["kind"], "begin");
}

#[test]
fn evidence_of_a_red_test_moves_nothing() {
    if !has_person("evidence_of_a_red_test_moves_nothing") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("greeting.py"), "def greet(name):\n    return name\n").unwrap();
    let file = workflow(&project, "bugfix.json", &bugfix());
    let id = start(&project, &["--workflow", &file]);
    good(&project, "swbox transition PLAN_READY");
    good(&project, "swbox transition DONE");
    let refused = line(&project, "swbox transition TESTS_PASS");
    assert_eq!(refused.code, 126, "{refused:?}");
    assert!(
        refused.stdout.contains("evidence_missing") && refused.stdout.contains("it ended with 1"),
        "{refused:?}"
    );
    assert_eq!(state(&project), "testing");
    // A claim is no evidence, and neither is another command with the same exit code.
    good(&project, "true; python3 -c 'pass'");
    assert_eq!(line(&project, "swbox transition TESTS_PASS --data '{\"tests\": \"green\"}'").code, 126);
    replays(&project, &id);
}

#[test]
fn tests_are_counted_and_none_are_none() {
    if !has_person("tests_are_counted_and_none_are_none") {
        return;
    }
    let project = Project::new();
    let id = start(
        &project,
        &[
            "--workflow",
            &workflow(
                &project,
                "counted.json",
                r#"{"id": "counted", "initial": "testing", "states": {
            "testing": {"allowed_tools": ["Read", "run_test"], "on": {
                "FEW": {"target": "completed", "evidence": {"command": "python3 -m unittest -v", "min_tests": 1}},
                "MANY": {"target": "completed", "evidence": {"command": "python3 -m unittest -v", "min_tests": 1000}},
                "WRAPPED": {"target": "completed", "evidence": {"command": "sh -c 'python3 -m unittest -v'", "min_tests": 1}},
                "FAIL": "failed"}},
            "completed": {"type": "final"}, "failed": {"type": "final"}}}"#,
            ),
        ],
    );
    let refused = line(&project, "swbox transition MANY");
    assert!(refused.code == 126 && refused.stdout.contains("and run 1000 tests; it ran "), "{refused:?}");
    // It ends with 0, and says a number; but whether that is a test program's is not known.
    let refused = line(&project, "swbox transition WRAPPED");
    assert!(refused.code == 126 && refused.stdout.contains("how many tests ran is not known"), "{refused:?}");
    assert!(good(&project, "swbox transition FEW").contains("which is the end"));
    replays(&project, &id);
}
