//! Stages 2 to 6 on small machines, each fault alone.

use crate::workflow::builtin::BUILTINS;
use crate::workflow::load;

/// The codes and paths of the failed stages.
fn violations(text: &str) -> Vec<(&'static str, String)> {
    let loaded = load(text.as_bytes()).unwrap_or_else(|all| panic!("{text}\n{all:#?}"));
    loaded.violations.iter().map(|one| (one.code, one.path.clone().unwrap_or_default())).collect()
}

fn machine(danger: &str, states: &str, more: &str) -> String {
    format!(
        "{{\"id\": \"m\", \"initial\": \"a\", \"meta\": {{\"danger_level\": \"{danger}\"}}, {more} \"states\": {{{states}, \
         \"failed\": {{\"type\": \"final\"}}}}}}"
    )
}

/// A state with tools and ways out; `FAIL` is added.
fn state(name: &str, tools: &str, on: &str) -> String {
    format!("\"{name}\": {{\"allowed_tools\": [{tools}], \"on\": {{{on}, \"FAIL\": \"failed\"}}}}")
}

fn states(all: &[String]) -> String {
    all.join(",")
}

#[test]
fn built_ins_pass_all_stages() {
    for builtin in BUILTINS {
        assert_eq!(violations(builtin.source), vec![], "{}", builtin.name);
    }
}

#[test]
fn a_final_failure_state_is_needed() {
    let none = r#"{"id": "m", "initial": "a", "states": {"a": {"allowed_tools": [], "on": {"X": "done"}}, "done": {"type": "final"}}}"#;
    assert_eq!(violations(none), [("no_failure_state", "states".to_owned())]);
    let named = r#"{"id": "m", "initial": "a", "meta": {"failure_states": ["gave_up"]}, "states": {
        "a": {"allowed_tools": [], "on": {"X": "gave_up"}}, "gave_up": {"type": "final"}}}"#;
    assert_eq!(violations(named), []);
    let not_final = r#"{"id": "m", "initial": "a", "states": {"a": {"allowed_tools": [], "on": {"X": "failed"}},
        "failed": {"allowed_tools": [], "on": {"X": "done"}}, "done": {"type": "final"}}}"#;
    assert_eq!(violations(not_final), [("no_failure_state", "states".to_owned())]);
}

#[test]
fn each_state_needs_a_way_to_fail() {
    let text = machine(
        "safe",
        "\"a\": {\"allowed_tools\": [], \"on\": {\"X\": \"b\", \"FAIL\": \"failed\"}}, \"b\": {\"allowed_tools\": [], \"on\": {\"X\": \"done\"}}, \"done\": {\"type\": \"final\"}",
        "",
    );
    assert_eq!(violations(&text), [("no_way_to_failure", "states.b".to_owned())]);
    // Over another state is a way, also over `safe_next`, a failing invocation and an interrupt.
    for way in [
        "\"on\": {\"X\": \"a\"}",
        "\"on\": {\"X\": \"done\", \"Y\": {\"invoke\": \"w\", \"on_complete\": \"done\", \"on_fail\": \"failed\"}}",
    ] {
        let text = machine(
            "safe",
            &format!(
                "\"a\": {{\"allowed_tools\": [], \"on\": {{\"X\": \"b\", \"FAIL\": \"failed\"}}}}, \"b\": {{\"allowed_tools\": [], {way}}}, \"done\": {{\"type\": \"final\"}}"
            ),
            "",
        );
        assert_eq!(violations(&text), [], "{way}");
    }
}

#[test]
fn a_moderate_machine_starts_quietly_and_has_a_gate() {
    for (tools, loud) in [
        ("\"Read\", \"Grep\", \"git_log\", \"TodoWrite\"", false),
        ("\"Read\", \"Write\"", true),
        ("\"Bash\"", true),
        ("\"delete_file\"", true),
        ("\"git_commit\"", true),
    ] {
        let gate = "\"GO\": {\"target\": \"done\", \"requires_approval\": true}";
        let all = states(&[state("a", tools, gate), "\"done\": {\"type\": \"final\"}".into()]);
        let expected = if loud { vec![("loud_start", "states.a.allowed_tools".to_owned())] } else { vec![] };
        assert_eq!(violations(&machine("moderate", &all, "")), expected, "{tools}");
        assert_eq!(violations(&machine("safe", &all, "")), [], "{tools}");
    }
    let open =
        states(&[state("a", "\"Read\"", "\"GO\": \"done\""), "\"done\": {\"type\": \"final\"}".into()]);
    assert_eq!(violations(&machine("dangerous", &open, "")), [("no_approval_gate", "states".to_owned())]);
    // Without a list the state has the default tools, which write and run.
    let unlisted = "\"a\": {\"on\": {\"GO\": {\"target\": \"failed\", \"requires_approval\": true}}}";
    assert_eq!(violations(&machine("moderate", unlisted, ""))[0].0, "loud_start");
}

#[test]
fn an_approval_counts_on_every_form_of_edge() {
    for edge in [
        "{\"target\": \"done\", \"requires_approval\": true}",
        "[{\"target\": \"failed\"}, {\"target\": \"done\", \"requires_approval\": true}]",
        "{\"invoke\": \"w\", \"on_complete\": \"done\", \"requires_approval\": true}",
        "{\"fork\": {\"branches\": {\"x\": {\"initial\": \"a\", \"terminal\": \"done\"}}, \"on_complete\": \"done\"}, \"requires_approval\": true}",
    ] {
        let all = states(&[
            state("a", "\"Read\"", &format!("\"GO\": {edge}")),
            "\"done\": {\"type\": \"final\"}".into(),
        ]);
        assert_eq!(violations(&machine("moderate", &all, "")), [], "{edge}");
    }
}

/// `a` reaches the powerful state `p` by one edge (and what else is given).
fn climb(from: &str, to: &str, edge: &str, more: &str) -> Vec<(&'static str, String)> {
    let all = states(&[state("a", from, edge), state("p", to, "\"BACK\": \"a\"")]);
    violations(&machine("safe", &all, more))
}

#[test]
fn privilege_does_not_climb_unasked() {
    let plain = "\"GO\": \"p\"";
    let caught = vec![("unasked_climb", "states.p".to_owned())];
    for (from, to, climbs) in [
        ("\"Read\"", "\"Write\"", false),
        ("\"Read\"", "\"Bash\"", false),
        ("\"Read\"", "\"git_commit\"", true),
        ("\"Read\"", "\"deploy\"", true),
        ("\"Write\"", "\"git_commit\"", true),
        ("\"Bash\"", "\"git_commit\"", false),
        ("\"Bash\"", "\"deploy\"", true),
        ("\"git_commit\"", "\"deploy\"", false),
        ("\"Read\"", "\"unheard_of\"", true),
        ("\"Read\"", "\"mcp__github__merge\"", true),
        ("\"Read\"", "\"__GIT_WRITE__\"", true),
    ] {
        assert_eq!(climb(from, to, plain, ""), if climbs { caught.clone() } else { vec![] }, "{from} → {to}");
    }
    assert_eq!(climb("\"Read\"", "\"unheard_of\"", plain, "\"tool_levels\": {\"unheard_of\": 1},"), []);
    assert_eq!(climb("\"Read\"", "\"read_file\"", plain, "\"tool_levels\": {\"read_file\": 4},"), []);
    assert_eq!(
        climb("\"Read\"", "\"grep\"", plain, "\"tool_levels\": {\"grep\": 4},"),
        caught,
        "raised, never lowered"
    );
    assert_eq!(climb("\"Read\"", "\"deploy\"", plain, "\"tool_levels\": {\"deploy\": 0},"), caught);
}

#[test]
fn every_kind_of_edge_is_climbed() {
    let caught = vec![("unasked_climb", "states.p".to_owned())];
    for (edge, more) in [
        ("\"GO\": \"p\"", ""),
        ("\"GO\": {\"target\": \"p\"}", ""),
        ("\"GO\": [{\"target\": \"failed\"}, {\"target\": \"p\"}]", ""),
        ("\"GO\": {\"invoke\": \"w\", \"on_complete\": \"p\"}", ""),
        ("\"GO\": {\"invoke\": \"w\", \"on_complete\": \"failed\", \"on_fail\": \"p\"}", ""),
        (
            "\"GO\": {\"fork\": {\"branches\": {\"x\": {\"initial\": \"p\", \"terminal\": \"failed\"}}, \"on_complete\": \"failed\"}}",
            "",
        ),
        (
            "\"GO\": {\"fork\": {\"branches\": {\"x\": {\"initial\": \"a\", \"terminal\": \"failed\"}}, \"on_complete\": \"p\"}}",
            "",
        ),
        (
            "\"GO\": \"failed\"",
            "\"interrupts\": {\"i\": {\"trigger\": {\"file_pattern\": \"*\"}, \"target\": \"p\"}},",
        ),
    ] {
        assert_eq!(climb("\"Read\"", "\"deploy\"", edge, more), caught, "{edge} {more}");
    }
    let guarded = [
        "\"GO\": {\"target\": \"p\", \"requires_approval\": true}",
        "\"GO\": {\"invoke\": \"w\", \"on_complete\": \"p\", \"requires_approval\": true}",
    ];
    for edge in guarded {
        assert_eq!(climb("\"Read\"", "\"deploy\"", edge, ""), [], "{edge}");
    }
}

#[test]
fn an_approval_anywhere_on_the_way_is_enough_and_a_detour_is_found() {
    let asked = "\"GO\": {\"target\": \"b\", \"requires_approval\": true}";
    let straight = states(&[
        state("a", "\"Read\"", asked),
        state("b", "\"Read\"", "\"GO\": \"p\""),
        state("p", "\"deploy\"", "\"X\": \"a\""),
    ]);
    assert_eq!(violations(&machine("safe", &straight, "")), []);
    let detour = states(&[
        state("a", "\"Read\"", &format!("{asked}, \"ROUND\": \"c\"")),
        state("b", "\"Read\"", "\"GO\": \"p\""),
        state("c", "\"Read\"", "\"GO\": \"b\""),
        state("p", "\"deploy\"", "\"X\": \"a\""),
    ]);
    let loaded = load(machine("safe", &detour, "").as_bytes()).unwrap();
    assert_eq!(loaded.violations.len(), 1);
    assert!(
        loaded.violations[0].message.ends_with("a —ROUND→ c —GO→ b —GO→ p"),
        "{}",
        loaded.violations[0].message
    );
    // `safe_next` rides on its edge: one with an approval keeps it.
    let riding = "\"a\": {\"allowed_tools\": [], \"safe_next\": \"p\", \"on\": {\"GO\": {\"target\": \"p\", \"requires_approval\": true}, \"FAIL\": \"failed\"}}";
    let riding = states(&[riding.into(), state("p", "\"deploy\"", "\"X\": \"a\"")]);
    assert_eq!(violations(&machine("safe", &riding, "")), []);
}

#[test]
fn command_lists_count_for_the_level() {
    let caught = vec![("unasked_climb", "states.p".to_owned())];
    for (entries, climbs) in [
        ("\"ls\", \"cat\"", false),
        ("\"git status\"", false),
        ("\"git commit\"", true),
        ("\"git push\"", true),
        ("\"git commit*\"", true),
        ("\"*\"", false),
    ] {
        let p = format!(
            "\"p\": {{\"allowed_tools\": [\"Bash\"], \"allowed_commands\": [{entries}], \"on\": {{\"FAIL\": \"failed\"}}}}"
        );
        let all = states(&[state("a", "\"Read\"", "\"GO\": \"p\""), p]);
        assert_eq!(
            violations(&machine("safe", &all, "")),
            if climbs { caught.clone() } else { vec![] },
            "{entries}"
        );
    }
    // Without an execute tool the list is not in force.
    let p = "\"p\": {\"allowed_tools\": [\"Read\"], \"allowed_commands\": [\"git push\"], \"on\": {\"FAIL\": \"failed\"}}";
    let all = states(&[state("a", "\"Read\"", "\"GO\": \"p\""), p.into()]);
    assert_eq!(violations(&machine("safe", &all, "")), []);
}

#[test]
fn a_handler_goes_back_to_a_state_that_can_fail() {
    let lock =
        "\"interrupts\": {\"lock\": {\"trigger\": {\"file_pattern\": \"*.lock\"}, \"target\": \"h\"}},";
    let handler = "\"h\": {\"allowed_tools\": [], \"on\": {\"OK\": \"$return\"}}";
    let all = |a: &str| format!("\"a\": {{\"allowed_tools\": [], \"on\": {{{a}}}}}, {handler}");
    assert_eq!(violations(&machine("safe", &all("\"FAIL\": \"failed\""), lock)), []);
    // Where an event leads there too, nothing may be there to return to.
    let both = violations(&machine("safe", &all("\"FAIL\": \"failed\", \"GO\": \"h\""), lock));
    assert_eq!(both, [("no_way_to_failure", "states.h".to_owned())]);
    // An interrupt is no way out: nobody can send it.
    let none = violations(&machine("safe", &all(""), lock));
    assert_eq!(none, [("no_way_to_failure", "states.a".to_owned())]);
}

#[test]
fn safe_next_without_an_edge_is_no_way() {
    let all = "\"a\": {\"allowed_tools\": [], \"safe_next\": \"failed\", \"on\": {\"X\": \"a\"}}";
    assert_eq!(violations(&machine("safe", all, "")), [("no_way_to_failure", "states.a".to_owned())]);
}

/// The codes, paths and messages of the failed stages, with invoked workflows by name; `None` for one that is missing.
fn with(text: &str, invoked: &[(&str, Option<&str>)]) -> Vec<(&'static str, String, String)> {
    use crate::workflow::{Invoked, load_with};
    let machines: Vec<_> = invoked
        .iter()
        .map(|(name, text)| {
            (*name, format!("{name}.json"), text.map(|text| load(text.as_bytes()).unwrap().machine))
        })
        .collect();
    let invoked: Vec<Invoked<'_>> = machines
        .iter()
        .map(|(name, label, machine)| Invoked {
            name,
            label,
            machine: machine.as_ref().ok_or_else(|| "there is no such file".to_owned()),
        })
        .collect();
    let loaded = load_with(text.as_bytes(), &invoked).unwrap_or_else(|all| panic!("{text}\n{all:#?}"));
    loaded
        .violations
        .into_iter()
        .map(|one| {
            assert!(one.line.is_some(), "{one:?}");
            (one.code, one.path.unwrap_or_default(), one.message)
        })
        .collect()
}

/// A workflow that invokes `child` from its first state and goes on in `b`.
fn invoking(more: &str, tools_of_b: &str) -> String {
    machine(
        "safe",
        &states(&[
            state(
                "a",
                "\"Read\"",
                &format!(
                    "\"GO\": {{\"invoke\": \"child\", \"on_complete\": \"b\", \"on_fail\": \"failed\"{more}}}"
                ),
            ),
            state("b", tools_of_b, "\"OK\": \"done\""),
            "\"done\": {\"type\": \"final\"}".to_owned(),
        ]),
        "",
    )
}

fn child(first: &str, on: &str, second: &str) -> String {
    format!(
        "{{\"id\": \"child\", \"initial\": \"c\", \"states\": {{{}, {}, \"done\": {{\"type\": \"final\"}}, \"failed\": {{\"type\": \"final\"}}}}}}",
        state("c", first, on),
        state("d", second, "\"OK\": \"done\"")
    )
}

#[test]
fn a_climb_into_an_invoked_workflow_is_found_and_both_files_are_named() {
    let climbs = child("\"Read\"", "\"NEXT\": \"d\"", "\"Read\", \"deploy\"");
    let parent = invoking("", "\"Read\"");
    assert_eq!(violations(&parent), []);
    let found = with(&parent, &[("child", Some(&climbs))]);
    let [(code, path, message)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((*code, path.as_str()), ("unasked_climb", "states.a.on.GO"));
    for part in ["\"d\" of child.json", "\"a\" of m", "a —GO→ child.json: c —NEXT→ child.json: d"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // A person on the way, before the invocation or in it, is one.
    let asked = invoking(", \"requires_approval\": true", "\"Read\"");
    let of_child = violations(&climbs).len();
    assert_eq!((with(&asked, &[("child", Some(&climbs))]), of_child), (vec![], 1));
    let gated = child(
        "\"Read\"",
        "\"NEXT\": {\"target\": \"d\", \"requires_approval\": true}",
        "\"Read\", \"deploy\"",
    );
    assert_eq!(with(&parent, &[("child", Some(&gated))]), []);
}

#[test]
fn what_nobody_sends_is_a_way_too() {
    // `failed` is no end here, and can do much: the engine goes there by a limit and by a failing child.
    let machine = |first: &str| {
        format!(
            "{{\"id\": \"m\", \"initial\": \"a\", \"meta\": {{\"failure_states\": [\"end\"]}}, \"states\": {{\"a\": {{\"allowed_tools\": [\"Read\"], {first}}}, \
             \"failed\": {{\"allowed_tools\": [\"Read\", \"deploy\"], \"on\": {{\"X\": \"end\"}}}}, \"end\": {{\"type\": \"final\"}}}}}}"
        )
    };
    let on = "\"on\": {\"FAIL\": \"end\", \"GO\": ";
    assert_eq!(violations(&machine(&format!("{on}\"a\"}}"))), []);
    for first in [
        format!("\"max_iterations\": 3, \"on_max\": \"fail\", {on}\"a\"}}"),
        format!("{on}{{\"invoke\": \"child\", \"on_complete\": \"a\"}}}}"),
        format!(
            "{on}{{\"fork\": {{\"branches\": {{\"x\": {{\"initial\": \"a\", \"terminal\": \"a\"}}}}, \"on_complete\": \"a\"}}}}}}"
        ),
    ] {
        assert_eq!(violations(&machine(&first)), [("unasked_climb", "states.failed".to_owned())], "{first}");
    }
    // The twins: a limit that only tells, a child whose failure leads elsewhere.
    for first in [
        format!("\"max_iterations\": 3, {on}\"a\"}}"),
        format!("{on}{{\"invoke\": \"child\", \"on_complete\": \"a\", \"on_fail\": \"end\"}}}}"),
    ] {
        assert_eq!(violations(&machine(&first)), [], "{first}");
    }
}

#[test]
fn a_climb_out_of_an_invoked_workflow_is_found() {
    // The file alone: a level 2 in `b`, reached from a reader. The child writes first and goes on unasked into level 3.
    let parent = invoking(", \"requires_approval\": true", "\"Read\", \"git_push\"");
    assert_eq!(violations(&parent), []);
    let writes = child("\"Read\", \"Write\"", "\"NEXT\": \"d\"", "\"Read\"");
    let found = with(&parent, &[("child", Some(&writes))]);
    let [(code, path, message)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((*code, path.as_str()), ("unasked_climb", "states.b"));
    assert!(message.contains("\"b\" of m") && message.contains("\"c\" of child.json"), "{message}");
    // The twin: a child that asks before it ends.
    let asks = child(
        "\"Read\", \"Write\"",
        "\"NEXT\": {\"target\": \"d\", \"requires_approval\": true}",
        "\"Read\"",
    );
    assert_eq!(with(&parent, &[("child", Some(&asks))]), []);
}

#[test]
fn a_way_over_an_invoked_workflow_holds_only_where_it_can_end_well() {
    // The child asks in between, so that what follows it is not reached unasked.
    let parent = invoking("", "\"Read\", \"git_push\"");
    assert_eq!(violations(&parent), [("unasked_climb", "states.b".to_owned())]);
    let gated = child("\"Read\"", "\"NEXT\": {\"target\": \"d\", \"requires_approval\": true}", "\"Read\"");
    assert_eq!(with(&parent, &[("child", Some(&gated))]), []);
    let open = child("\"Read\"", "\"NEXT\": \"d\"", "\"Read\"");
    assert_eq!(with(&parent, &[("child", Some(&open))]).len(), 1);
}

#[test]
fn an_invoked_workflow_that_cannot_be_had_is_said() {
    let parent = invoking("", "\"Read\"");
    let found = with(&parent, &[("child", None)]);
    let [(code, path, message)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((*code, path.as_str()), ("invoked_missing", "states.a.on.GO.invoke"));
    assert!(message.contains("there is no such file"), "{message}");
    // One that another one invokes: it says which.
    let nested = child("\"Read\"", "\"NEXT\": {\"invoke\": \"deep\", \"on_complete\": \"d\"}", "\"Read\"");
    let found = with(&parent, &[("child", Some(&nested)), ("deep", None)]);
    assert!(
        found.iter().any(|(code, _, message)| *code == "invoked_missing" && message.contains("child.json")),
        "{found:?}"
    );
}

#[test]
fn workflows_that_invoke_each_other_are_searched_to_an_end() {
    let nested = child(
        "\"Read\"",
        "\"NEXT\": {\"invoke\": \"m\", \"on_complete\": \"d\", \"on_fail\": \"failed\"}",
        "\"Read\"",
    );
    assert_eq!(with(&invoking("", "\"Read\""), &[("child", Some(&nested))]), []);
    // A state that leads only into a workflow that never ends has no way to fail.
    let endless = "{\"id\": \"child\", \"initial\": \"c\", \"states\": {\"c\": {\"allowed_tools\": [], \"on\": {\"X\": \"c\"}}, \"failed\": {\"type\": \"final\"}}}";
    let parent = machine(
        "safe",
        "\"a\": {\"allowed_tools\": [], \"on\": {\"GO\": {\"invoke\": \"child\", \"on_complete\": \"b\"}}}, \
         \"b\": {\"allowed_tools\": [], \"on\": {\"FAIL\": \"failed\"}}",
        "",
    );
    assert_eq!(violations(&parent), []);
    let found = with(&parent, &[("child", Some(endless))]);
    let codes: Vec<(&str, &str)> = found.iter().map(|(code, path, _)| (*code, path.as_str())).collect();
    assert_eq!(codes, [("no_way_to_failure", "states.a"), ("no_way_to_failure", "states.a.on.GO")]);
}
