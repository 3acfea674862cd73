//! What loading says of files: sound ones in every published form, and every fault with its place.

use super::*;
use crate::workflow::model::*;

/// A machine around the members of its state `a` (and what else the caller gives).
fn around(state: &str, more: &str) -> String {
    format!(
        "{{\"id\": \"m\", \"initial\": \"a\", {more}\n\"states\": {{\"a\": {state},\n\"done\": {{\"type\": \"final\"}}, \"failed\": {{\"type\": \"final\"}}}}}}"
    )
}

fn sound(text: &str) -> Loaded {
    load(text.as_bytes()).unwrap_or_else(|all| panic!("{text}\n{all:#?}"))
}

/// Code, path and help of the first problem.
fn first(text: &str) -> (&'static str, String, String) {
    let all = load(text.as_bytes()).map(|_| ()).unwrap_err();
    let one = all.into_iter().next().unwrap();
    assert!(one.line.is_some() && one.column.is_some(), "{one:?}");
    (one.code, one.path.unwrap_or_default(), one.help.unwrap_or_default())
}

fn advice(text: &str) -> Vec<&'static str> {
    sound(text).advice.iter().map(|one| one.code).collect()
}

#[test]
fn malformed_json_names_line_and_column() {
    for (text, line, column) in [
        ("{\n  \"id\": \"x\",\n  \"initial\" \"a\"\n}", 3, 13),
        ("{\"id\": \"é\", }", 1, 13),
        ("", 0, 0),
        ("   \n", 0, 0),
        ("{\"id\": \"x\"}}", 1, 12),
        ("[1, 2", 1, 6),
        ("{'id': 1}", 1, 2),
    ] {
        let all = load(text.as_bytes()).unwrap_err();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].code, "malformed_json", "{text:?}");
        assert_eq!((all[0].line.unwrap_or(0), all[0].column.unwrap_or(0)), (line, column), "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let code = |bytes: &[u8]| load(bytes).unwrap_err()[0].code;
    assert_eq!(code(b"\xff\xfe{\0}\0"), "workflow_not_utf8");
    assert_eq!(code(b"{\"id\": \"\xff\"}"), "workflow_not_utf8");
    assert_eq!(code(&vec![b' '; MAX_BYTES + 1]), "workflow_too_large");
    assert_eq!(code("[".repeat(200).as_bytes()), "workflow_too_deep");
    assert_eq!(code(b"\0"), "malformed_json");
    let place = load(b"{\n\"id\": \"\xff\"}").unwrap_err();
    assert_eq!((place[0].line, place[0].column), (Some(2), Some(8)));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let text = format!("\u{feff}{}", around("{\"on\": {\"GO\": \"done\"}}", ""));
    assert_eq!(sound(&text).machine.id, "m");
}

#[test]
fn every_form_of_transition_is_read() {
    let state = r#"{"allowed_tools": ["Read"], "on": {
        "STRING": "done",
        "OBJECT": {"target": "done", "guard": "g", "requires_approval": true, "approval_message": "ok?"},
        "GUARDS": {"target": "done", "guards": ["g", "h"]},
        "ARRAY": [{"target": "done", "guard": "g", "requires_approval": true}, {"target": "failed"}],
        "FORK": {"fork": {"branches": {"x": {"initial": "a", "terminal": "done"}}, "join": "any",
                 "on_complete": "done", "on_fail": "failed"}},
        "INVOKE": {"invoke": "other", "on_complete": "done", "on_fail": "failed", "input": {"k": 1}, "requires_approval": true},
        "RETURN": "$return",
        "EVIDENCE": {"target": "done", "evidence": {"command": "cargo test --all", "exit_code": 0, "since": "last_write"}}
    }}"#;
    let more = r#""guards": {"g": {"field": "n", "op": "gt", "value": 3, "source": "observed"},
                             "h": {"field": "a.b", "op": "not_exists", "source": "observed"}},
                  "interrupts": {"lock": {"trigger": {"file_pattern": "*.lock"}, "target": "a"}},"#;
    let loaded = sound(&around(state, more));
    assert_eq!(loaded.advice, vec![]);
    let on = &loaded.machine.states["a"].on;
    let Transition::To(object) = &on["OBJECT"] else { panic!() };
    assert_eq!(object.conditions.names(), ["approval", "guard"]);
    let Transition::Branches(branches) = &on["ARRAY"] else { panic!() };
    assert!(branches.len() == 2 && branches[0].conditions.approval.is_some());
    let Transition::Fork(fork) = &on["FORK"] else { panic!() };
    assert_eq!((fork.join, fork.branches["x"].initial.as_str()), (Join::Any, "a"));
    let Transition::Invoke(invoke) = &on["INVOKE"] else { panic!() };
    assert!(invoke.workflow == "other" && invoke.conditions.approval.is_some());
    let Transition::To(back) = &on["RETURN"] else { panic!() };
    assert_eq!(back.target, Target::Return);
    let Transition::To(proof) = &on["EVIDENCE"] else { panic!() };
    assert_eq!(proof.conditions.evidence[0].command, ["cargo", "test", "--all"]);
    assert_eq!(loaded.machine.guards["h"].op, GuardOp::NotExists);
}

#[test]
fn every_field_of_a_state_is_read() {
    let state = r#"{"allowed_tools": ["Read", "Bash"], "disallowed_tools": ["Grep"], "instructions": "do",
        "max_iterations": 3, "on_max": "refuse", "safe_next": "done", "max_edit_lines": 10, "max_files_per_state": 2,
        "allowed_commands": ["cargo test"], "allowed_commands_tool": "Bash", "deny_env": ["TOKEN"],
        "env": {"A": "1", "N": 2, "B": true}, "context_budget_bytes": 5000, "model": "m", "thinking_level": "high",
        "model_ladder": ["a", {"b": 1}], "direct_execution": false,
        "jail": {"profile": "rust", "network": {"hosts": ["example.org"]}, "writable": ["x"], "outputs": ["dist"],
                 "protect": [".env"], "limits": {"timeout": "90s", "memory": "2GiB", "cpu": 30, "processes": 64},
                 "observe": ["reads"], "opaque": "read_only"},
        "on": {"GO": "done"}}"#;
    let state = &sound(&around(state, "")).machine.states["a"];
    assert_eq!(
        (state.max_iterations, state.on_max, state.max_edit_lines),
        (Some(3), OnMax::Refuse, Some(10))
    );
    assert_eq!(state.blocked_env, ["TOKEN"]);
    let env: Vec<_> = state.env_overrides.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=1", "N=2", "B=true"]);
    assert_eq!(state.model_ladder.len(), 2);
    assert_eq!(state.jail.network, Some(vec!["example.org".to_owned()]));
    let limits = state.jail.limits;
    assert_eq!((limits.timeout_ms, limits.memory, limits.cpu), (Some(90_000), Some(2 << 30), Some(30)));
    assert_eq!(
        (state.jail.opaque, state.jail.observe.as_slice()),
        (Some(OpaqueMode::ReadOnly), &[Observe::Reads][..])
    );
}

#[test]
fn the_wrapped_form_is_read_and_keeps_its_places() {
    let machine = around("{\"on\": {\"GO\": \"done\"}}", "");
    let loaded = sound(&format!(
        "{{\"upstream_servers\": [{{\"name\": \"x\"}}], \"visibility\": 1, \"definition\": {machine}}}"
    ));
    assert_eq!(loaded.machine.upstream_servers.len(), 1);
    let faulty = around("{\"on\": {\"GO\": \"dome\"}}", "");
    let (code, path, help) = first(&format!("{{\"definition\": {faulty}}}"));
    assert_eq!((code, path.as_str()), ("unknown_target", "definition.states.a.on.GO"));
    assert!(help.contains("\"done\""), "{help}");
}

#[test]
fn free_keys_of_meta_and_context_are_kept() {
    let more = r#""meta": {"task_type": "t", "danger_level": "dangerous", "failure_states": ["failed"], "estimated_steps": 6,
        "workspace": {"mode": "git_worktree"}, "anything": [1, 2]}, "context": {"deep": {"er": null}}, "$schema": "x",
        "description": "free", "x-team": 1, "_note": 2,"#;
    let loaded = sound(&around("{\"on\": {\"GO\": \"done\"}}", more));
    assert_eq!(loaded.advice, vec![]);
    assert_eq!(loaded.machine.meta.danger, Danger::Dangerous);
    assert_eq!(loaded.machine.meta.extra["estimated_steps"], 6);
    assert!(loaded.machine.meta.extra.contains_key("anything"));
    assert_eq!(loaded.machine.context["deep"]["er"], serde_json::Value::Null);
}

#[test]
fn published_style_files_load() {
    // Bash with a command list as the whole policy, no `failed` state, globs, small limits, `safe_next` to the end.
    let text = r#"{"definition": {"id": "p", "initial": "work", "context": {"goal": "x"}, "states": {
        "work": {"allowed_tools": ["Bash"], "allowed_commands": ["npm run *", "git diff*", "ls"], "max_iterations": 2,
                 "safe_next": "done", "on": {"DONE": "done"}},
        "done": {"type": "final"}}}, "upstream_servers": []}"#;
    let loaded = sound(text);
    assert_eq!(loaded.advice, vec![]);
    assert_eq!(loaded.machine.states["work"].on_max, OnMax::Checkpoint);
}

#[test]
fn faults_of_structure_have_code_path_and_help() {
    let go = "{\"on\": {\"GO\": \"done\"}}";
    for (text, code, path) in [
        ("[]".to_owned(), "wrong_type", ""),
        ("{}".to_owned(), "missing_key", ""),
        (around("[]", ""), "wrong_type", "states.a"),
        (around("{\"on\": {\"GO\": 5}}", ""), "wrong_type", "states.a.on.GO"),
        (around("{\"on\": {\"GO\": []}}", ""), "empty_branches", "states.a.on.GO"),
        (around("{\"on\": {\"GO\": {\"targt\": \"done\"}}}", ""), "missing_key", "states.a.on.GO"),
        (around("{\"on\": {\"GO\": \"nowhere\"}}", ""), "unknown_target", "states.a.on.GO"),
        (
            around("{\"on\": {\"GO\": [{\"target\": \"nowhere\"}]}}", ""),
            "unknown_target",
            "states.a.on.GO[0].target",
        ),
        (
            around("{\"on\": {\"GO\": [{\"target\": \"done\", \"guard\": \"g\"}]}}", ""),
            "unknown_guard",
            "states.a.on.GO[0].guard",
        ),
        (
            around("{\"on\": {\"GO\": {\"target\": \"done\", \"guards\": [\"g\"]}}}", ""),
            "unknown_guard",
            "states.a.on.GO",
        ),
        (
            around(
                "{\"on\": {\"GO\": {\"invoke\": \"w\", \"on_complete\": \"done\", \"guard\": \"g\"}}}",
                "",
            ),
            "unknown_guard",
            "states.a.on.GO.guard",
        ),
        (
            around("{\"on\": {\"GO\": {\"invoke\": \"w\", \"on_complete\": \"no\"}}}", ""),
            "unknown_target",
            "states.a.on.GO.on_complete",
        ),
        (
            around(
                "{\"on\": {\"GO\": {\"fork\": {\"branches\": {\"x\": {\"initial\": \"no\", \"terminal\": \"done\"}}, \"on_complete\": \"done\"}}}}",
                "",
            ),
            "unknown_fork_state",
            "states.a.on.GO.fork.branches.x.initial",
        ),
        (
            around("{\"on\": {\"GO\": {\"fork\": {\"branches\": {}, \"on_complete\": \"done\"}}}}", ""),
            "fork_branches",
            "states.a.on.GO.fork.branches",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"safe_next\": \"no\"}", ""),
            "unknown_safe_next",
            "states.a.safe_next",
        ),
        (around("{\"on\": {\"GO\": \"done\"}, \"type\": \"finale\"}", ""), "unknown_value", "states.a.type"),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"max_iterations\": -1}", ""),
            "out_of_range",
            "states.a.max_iterations",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"max_iterations\": 1.5}", ""),
            "out_of_range",
            "states.a.max_iterations",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"max_iterations\": \"3\"}", ""),
            "wrong_type",
            "states.a.max_iterations",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": \"Read\"}", ""),
            "wrong_type",
            "states.a.allowed_tools",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"Read\", 3]}", ""),
            "wrong_type",
            "states.a.allowed_tools[1]",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"alowed_tools\": []}", ""),
            "misspelt_key",
            "states.a.alowed_tools",
        ),
        (
            around("{\"on\": {\"GO\": {\"target\": \"done\", \"require_approval\": true}}}", ""),
            "misspelt_key",
            "states.a.on.GO.require_approval",
        ),
        (around("{\"on\": {\"GO\": \"done\", \"GO\": \"failed\"}}", ""), "duplicate_key", "states.a.on.GO"),
        (around(go, "\"id\": \"again\","), "duplicate_key", "id"),
        (around("{\"on\": {\"G\\u001b[2J\": \"done\"}}", ""), "odd_name", "states.a.on[\"G\\u{1b}[2J\"]"),
        (around("{\"on\": {\"\": \"done\"}}", ""), "odd_name", "states.a.on[\"\"]"),
        (
            around(
                go,
                "\"interrupts\": {\"i\": {\"trigger\": {\"file_pattern\": \"*\"}, \"target\": \"no\"}},",
            ),
            "unknown_interrupt_target",
            "interrupts.i.target",
        ),
        (around(go, "\"interrupts\": {\"i\": {\"target\": \"a\"}},"), "missing_key", "interrupts.i"),
        (
            around(go, "\"guards\": {\"g\": {\"field\": \"x\", \"op\": \"like\", \"value\": 1}},"),
            "unknown_value",
            "guards.g.op",
        ),
        (around(go, "\"guards\": {\"g\": {\"field\": \"x\", \"op\": \"eq\"}},"), "missing_key", "guards.g"),
        (around(go, "\"meta\": {\"danger_level\": \"low\"},"), "unknown_value", "meta.danger_level"),
        (
            around(go, "\"meta\": {\"failure_states\": [\"no\"]},"),
            "unknown_failure_state",
            "meta.failure_states[0]",
        ),
        (
            around(go, "\"rules\": [{\"prefix\": \" \", \"decision\": \"forbid\"}],"),
            "odd_name",
            "rules[0].prefix",
        ),
        (around(go, "\"rules\": [{\"prefix\": \"git push\"}],"), "missing_key", "rules[0]"),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"\"]}", ""),
            "odd_name",
            "states.a.allowed_tools[0]",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"x\\u0007\"]}", ""),
            "odd_name",
            "states.a.allowed_tools[0]",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"allowed_commands\": [\"x\\u202e\"]}", ""),
            "odd_name",
            "states.a.allowed_commands[0]",
        ),
        (around(go, "\"tool_levels\": {\"x\": 5},"), "out_of_range", "tool_levels.x"),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"jail\": {\"limits\": {\"timeout\": \"soon\"}}}", ""),
            "bad_quantity",
            "states.a.jail.limits.timeout",
        ),
        (
            around("{\"on\": {\"GO\": \"done\"}, \"jail\": {\"opaque\": \"yes\"}}", ""),
            "unknown_value",
            "states.a.jail.opaque",
        ),
        (
            around("{\"on\": {\"GO\": {\"target\": \"done\", \"evidence\": {\"exit_code\": 0}}}}", ""),
            "missing_key",
            "states.a.on.GO.evidence",
        ),
        (
            around("{\"on\": {\"GO\": {\"target\": \"done\", \"evidence\": {\"command\": \"a && b\"}}}}", ""),
            "bad_command",
            "states.a.on.GO.evidence.command",
        ),
        (
            "{\"id\": \"m\", \"initial\": \"b\", \"states\": {\"a\": {\"type\": \"final\"}}}".to_owned(),
            "unknown_initial",
            "initial",
        ),
        (
            "{\"id\": \"m\", \"initial\": \"a\", \"states\": {\"a\": {\"on\": {\"X\": \"a\"}}}}".to_owned(),
            "no_final_state",
            "states",
        ),
        ("{\"id\": \"m\", \"initial\": \"a\", \"states\": {}}".to_owned(), "no_states", "states"),
    ] {
        let (found, place, _) = first(&text);
        assert_eq!((found, place.as_str()), (code, path), "{text}");
    }
}

#[test]
fn all_problems_come_at_once_errors_first() {
    let state = "{\"on\": {\"A\": \"x1\", \"B\": \"x2\"}, \"type\": \"odd\", \"colour\": 1}";
    let all = load(around(state, "").as_bytes()).unwrap_err();
    let codes: Vec<_> = all.iter().map(|one| one.code).collect();
    assert_eq!(&codes[..3], ["unknown_value", "unknown_target", "unknown_target"]);
    assert!(codes.contains(&"unknown_key"));
    assert_eq!(all[1].line, Some(2), "places are lines of the file");
}

#[test]
fn advice_is_given_and_loading_goes_on() {
    for (state, code) in [
        ("{\"on\": {\"GO\": \"done\"}, \"colour\": 1}", "unknown_key"),
        ("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"Reed\"]}", "unknown_tool"),
        ("{\"on\": {\"GO\": \"$return\"}}", "return_without_interrupt"),
        ("{\"on\": {\"GO\": \"done\"}, \"safe_next\": \"failed\"}", "safe_next_without_edge"),
        ("{}", "dead_end"),
        (
            "{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"Read\"], \"allowed_commands\": [\"ls\"]}",
            "commands_without_execute_tool",
        ),
        ("{\"on\": {\"GO\": \"done\"}, \"allowed_commands\": [\"ls; rm\"]}", "entry_not_a_prefix"),
        (
            "{\"on\": {\"GO\": \"done\"}, \"allowed_commands\": [\"ls\"], \"allowed_commands_tool\": \"Read\"}",
            "commands_tool_not_execute",
        ),
    ] {
        assert!(advice(&around(state, "")).contains(&code), "{state}: {:?}", advice(&around(state, "")));
    }
    let claimed = around(
        "{\"on\": {\"GO\": \"done\"}}",
        "\"guards\": {\"g\": {\"field\": \"x\", \"op\": \"exists\"}},",
    );
    assert!(advice(&claimed).contains(&"claimed_guard"));
    let island = "{\"id\": \"m\", \"initial\": \"a\", \"states\": {\"a\": {\"on\": {\"X\": \"z\"}}, \"b\": {\"on\": {\"X\": \"z\"}}, \"z\": {\"type\": \"final\", \"on\": {\"X\": \"a\"}}}}";
    assert_eq!(advice(island), ["final_with_events", "unreachable_state"]);
    let reed = around("{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"Reed\"]}", "");
    assert_eq!(sound(&reed).advice[0].help.as_deref(), Some("did you mean `read`?"));
    let known = around(
        "{\"on\": {\"GO\": \"done\"}, \"allowed_tools\": [\"lint\"]}",
        "\"tool_levels\": {\"lint\": 2},",
    );
    assert_eq!(advice(&known), Vec::<&str>::new());
}

mod hostile {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = load(&bytes);
        }

        #[test]
        fn no_mutation_of_a_workflow_makes_it_panic(at in 0..4000_usize, with in any::<char>(), cut in 0..40_usize) {
            let source = crate::workflow::builtin::builtin("bugfix").unwrap().source;
            let mut text: Vec<char> = source.chars().collect();
            let at = at % text.len();
            let end = (at + cut).min(text.len());
            text.splice(at..end, [with]);
            let _ = load(text.into_iter().collect::<String>().as_bytes());
        }
    }
}

#[test]
fn a_host_that_cannot_be_held_is_an_error_at_its_place() {
    for network in ["[\"a.example\", \"https://b.example\"]", "{\"hosts\": [\"*.b.*\"]}", "\"127.1\""] {
        let state = format!("{{\"jail\": {{\"network\": {network}}}, \"on\": {{\"GO\": \"done\"}}}}");
        let (code, path, _) = first(&around(&state, ""));
        assert_eq!((code, path.as_str()), ("bad_host_entry", "states.a.jail.network"), "{network}");
    }
    let state = "{\"jail\": {\"network\": [\"a.example\", \"*.b.example:8443\", \"10.0.0.0/8\", \"*\"]}, \"on\": {\"GO\": \"done\"}}";
    sound(&around(state, ""));
}
