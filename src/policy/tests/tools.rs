//! Calls of native tools by name, as harnesses make them.

use super::*;

fn tool(machine: &Machine, state: &str, name: &str) -> Evaluation {
    let policy = Policy::compile(machine, RuleSet::default()).unwrap();
    policy.decide_tool(policy.state(state).unwrap(), name)
}

#[test]
fn the_demonstration_of_the_format() {
    let bugfix = machine("bugfix");
    assert_eq!(tool(&bugfix, "planning", "read_file").decision, Decision::Allow);
    let write = tool(&bugfix, "planning", "write_file");
    assert_eq!((write.decision, codes(&write)), (Decision::Forbidden, vec!["missing_tool"]));
    let hint = write.hint.unwrap();
    assert_eq!(
        (hint.path[0].event.as_str(), hint.grants.as_slice()),
        ("PLAN_READY", &["write_file".to_owned(), "edit_file".to_owned()][..])
    );
    let deploy = tool(&bugfix, "planning", "deploy");
    assert_eq!((deploy.decision, deploy.hint), (Decision::Forbidden, None));
    let deploy = tool(&bugfix, "implementing", "deploy");
    assert_eq!((deploy.decision, deploy.hint), (Decision::Forbidden, None));
    for name in ["read_file", "Bash", "TodoWrite", "anything"] {
        let ended = tool(&bugfix, "completed", name);
        assert_eq!((ended.decision, codes(&ended)), (Decision::Forbidden, vec!["final_state"]), "{name}");
    }
    assert_eq!(tool(&bugfix, "completed", "mcp__swbox__state").decision, Decision::Allow);
}

#[test]
fn a_native_call_is_judged_as_its_class_would_be() {
    let bugfix = machine("bugfix");
    for (state, name, decision) in [
        ("planning", "Read", Decision::Allow),
        ("planning", "Grep", Decision::Allow),
        ("planning", "LS", Decision::Allow),
        ("planning", "Write", Decision::Forbidden),
        ("planning", "MultiEdit", Decision::Forbidden),
        ("planning", "NotebookEdit", Decision::Forbidden),
        ("planning", "apply_patch", Decision::Forbidden),
        ("planning", "WebFetch", Decision::Forbidden),
        ("planning", "TodoWrite", Decision::Allow),
        ("planning", "Agent", Decision::Allow),
        ("planning", "exec_command", Decision::Forbidden),
        ("planning", "mcp__swbox__transition", Decision::Allow),
        ("planning", "mcp__other__read_file", Decision::Forbidden),
        ("implementing", "Write", Decision::Allow),
        ("implementing", "apply_patch", Decision::Allow),
        ("implementing", "Glob", Decision::Allow),
        ("implementing", "Delete", Decision::Forbidden),
        ("testing", "run_test", Decision::Allow),
        ("testing", "Bash", Decision::Allow),
        ("testing", "Write", Decision::Forbidden),
        ("review", "Edit", Decision::Forbidden),
        ("committing", "git_commit", Decision::Allow),
        ("committing", "git_push", Decision::Forbidden),
    ] {
        assert_eq!(tool(&bugfix, state, name).decision, decision, "{state}: {name}");
    }
}

#[test]
fn strangers_mean_themselves() {
    let state = one_state(
        "{\"allowed_tools\": [\"mcp__github\", \"mcp__db__query\", \"lint\"], \"disallowed_tools\": [\"mcp__github__merge\"], \"on\": {\"X\": \"end\"}}",
    );
    for (name, decision) in [
        ("mcp__github__create_issue", Decision::Allow),
        ("mcp__github__merge", Decision::Forbidden),
        ("mcp__githubx__create_issue", Decision::Forbidden),
        ("mcp__db__query", Decision::Allow),
        ("mcp__db__drop", Decision::Forbidden),
        ("lint", Decision::Allow),
        ("Lint", Decision::Allow),
        ("lint_all", Decision::Forbidden),
        ("read_file", Decision::Forbidden),
    ] {
        assert_eq!(tool(&state, "s", name).decision, decision, "{name}");
    }
    assert_eq!(codes(&tool(&state, "s", "mcp__github__merge")), ["tool_disallowed"]);
    let default = one_state("{\"on\": {\"X\": \"end\"}}");
    assert_eq!(tool(&default, "s", "mcp__github__create_issue").decision, Decision::Forbidden);
}

#[test]
fn an_unknown_state_is_an_error_that_lists_the_states() {
    let bugfix = machine("bugfix");
    let policy = Policy::compile(&bugfix, RuleSet::default()).unwrap();
    let problem = policy.require_state("plan").map(|_| ()).unwrap_err();
    assert!(problem.help.unwrap().contains("planning, implementing"));
}
