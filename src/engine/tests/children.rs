//! Invoked workflows and branches.

use super::*;

fn parent(edge: Value, more: Value) -> crate::workflow::Machine {
    machine(&small(
        &[("a", json!({ "GO": edge, "LOOP": "a" })), ("b", json!({ "END": "done", "BACK": "a" }))],
        more,
    ))
}

fn child() -> crate::workflow::Machine {
    machine(&small(
        &[("c1", json!({ "NEXT": "c2", "FAIL": "failed" })), ("c2", json!({ "END": "done", "BACK": "c1" }))],
        json!({ "id": "child", "context": { "own": 1 } }),
    ))
}

fn invoking(edge: Value) -> Walk {
    Walk::of(Workflow::new(parent(edge, json!({ "context": { "mine": 1 } }))).with("child", child()))
}

#[test]
fn an_invoked_workflow_has_its_own_context_and_gives_its_output() {
    let mut walk = invoking(
        json!({ "invoke": "child", "on_complete": "b", "on_fail": "failed", "input": { "task": "x" } }),
    );
    assert_eq!(moved(&walk.event("GO")), ("a", "c1"));
    assert!(matches!(&walk.last.effects[0], Effect::Invoke { workflow, .. } if workflow == "child"));
    assert_eq!(walk.session.current.context, json!({ "own": 1, "task": "x" }));
    walk.event("NEXT");
    assert_eq!(walk.code("LOOP"), RefusalCode::NoSuchEvent, "the parent's events are not the child's");
    walk.with("END", json!({ "output": 42, "secret": true }));
    assert_eq!((walk.state(), walk.session.callers.len()), ("b", 0));
    assert_eq!(walk.session.current.context, json!({ "mine": 1, "output": 42 }));
    assert_eq!(walk.session.seen.invoked.as_deref(), Some("done"));
    walk.replays();
}

#[test]
fn a_failing_child_leads_to_on_fail_or_the_failure_state() {
    let mut walk = invoking(json!({ "invoke": "child", "on_complete": "b", "on_fail": "a" }));
    walk.event("GO");
    walk.event("FAIL");
    assert_eq!(walk.state(), "a");
    let mut walk = invoking(json!({ "invoke": "child", "on_complete": "b" }));
    walk.event("GO");
    walk.event("FAIL");
    assert_eq!((walk.state(), walk.session.is_over()), ("failed", true));
    walk.replays();
}

#[test]
fn steps_and_depth_are_bounded() {
    let mut walk =
        invoking(json!({ "invoke": "child", "on_complete": "b", "on_fail": "a", "max_child_steps": 3 }));
    walk.event("GO");
    for event in ["NEXT", "BACK", "NEXT"] {
        walk.event(event);
    }
    assert_eq!(walk.session.callers.len(), 1);
    walk.event("BACK");
    assert_eq!((walk.state(), walk.session.callers.len()), ("a", 0));
    // By default a hundred.
    let mut walk = invoking(json!({ "invoke": "child", "on_complete": "b", "on_fail": "a" }));
    walk.event("GO");
    let mut steps = 0;
    while !walk.session.callers.is_empty() {
        walk.event(if walk.state() == "c1" { "NEXT" } else { "BACK" });
        steps += 1;
    }
    assert_eq!(steps, 101);
    // A workflow that invokes itself ends at the depth, which is 8 by default.
    for (given, depth) in [(None, 8), (Some(2), 2), (Some(1_000_000), 64)] {
        let mut edge = json!({ "invoke": "m", "on_complete": "b", "on_fail": "b" });
        if let (Some(given), Value::Object(edge)) = (given, &mut edge) {
            edge.insert("max_depth".into(), json!(given));
        }
        let mut walk = Walk::of(Workflow::new(parent(edge, json!({}))));
        while walk.session.callers.len() < depth {
            assert_eq!(moved(&walk.event("GO")).1, "a");
        }
        assert_eq!(moved(&walk.event("GO")), ("a", "b"));
        assert_eq!(walk.session.callers.len(), depth);
        walk.replays();
    }
}

#[test]
fn a_workflow_that_was_not_pinned_is_refused() {
    let workflow = Workflow::new(parent(json!({ "invoke": "nobody", "on_complete": "b" }), json!({})));
    assert_eq!(workflow.missing(), ["nobody"]);
    assert_eq!(Walk::of(workflow).code("GO"), RefusalCode::WorkflowUnpinned);
}

#[test]
fn the_parents_interrupts_wait_for_the_child() {
    let more = json!({
        "states": { "locks": { "allowed_tools": ["Read"], "on": { "OK": "$return" } } },
        "interrupts": { "lock": { "trigger": { "file_pattern": "*.lock" }, "target": "locks" } },
    });
    let parent = parent(json!({ "invoke": "child", "on_complete": "b" }), more);
    let mut walk = Walk::of(Workflow::new(parent).with("child", child()));
    walk.event("GO");
    walk.write(&["Cargo.lock"]);
    assert_eq!(walk.state(), "c1");
    walk.event("NEXT");
    walk.event("END");
    assert_eq!((walk.state(), walk.session.current.stack[0].state.as_str()), ("locks", "b"));
    walk.event("OK");
    assert_eq!(walk.state(), "b");
    walk.replays();
}

fn fork(join: &str, on_fail: Option<&str>) -> Value {
    let branch = |to: &str| json!({ "initial": "w", "terminal": to });
    let mut fork =
        json!({ "branches": { "x": branch("end"), "y": branch("end") }, "join": join, "on_complete": "b" });
    if let (Some(target), Value::Object(fork)) = (on_fail, &mut fork) {
        fork.insert("on_fail".into(), json!(target));
    }
    json!({ "fork": fork })
}

fn forking(join: &str, on_fail: Option<&str>) -> Walk {
    let text = small(
        &[
            ("a", json!({ "GO": fork(join, on_fail) })),
            ("b", json!({ "END": "done" })),
            ("w", json!({ "DONE": "end", "FAIL": "failed" })),
            ("end", json!({ "X": "done" })),
        ],
        json!({}),
    );
    Walk::new(&text)
}

/// Walks a branch by its events and reports to the parent.
fn branch(walk: &mut Walk, name: &str, event: &str, data: Value) -> Reply {
    let session = Session::branch(&walk.workflow, &walk.session, name, walk.at).unwrap();
    let mut child = Walk { session: session.clone(), start: session, events: Vec::new(), ..walk.clone() };
    assert_eq!(child.state(), "w");
    child.with(event, data);
    assert!(child.session.is_over());
    child.replays();
    let end = child.session.branch_end().unwrap();
    walk.send(What::Branch(Branch { name: name.into(), session: child.session.id, end }))
}

#[test]
fn a_fork_waits_for_its_branches() {
    let mut walk = forking("all", None);
    walk.event("GO");
    let [Effect::Fork { branches }] = walk.last.effects.as_slice() else { panic!("{:?}", walk.last) };
    assert_eq!(branches.iter().map(|one| one.session.as_str()).collect::<Vec<_>>(), ["e1.x", "e1.y"]);
    assert_eq!(walk.code("GO"), RefusalCode::Forked);
    assert_eq!(refusal(walk.send(What::Call(tool("1", "Read")))).code, RefusalCode::Forked);
    assert_eq!(decide(&walk.workflow, &walk.session, "Read"), Decision::Forbidden);
    assert_eq!(decide(&walk.workflow, &walk.session, "TodoWrite"), Decision::Allow);
    assert_eq!(branch(&mut walk, "x", "DONE", json!({ "output": "left" })), Reply::Noted);
    let again = Branch { name: "x".into(), session: "e1.x".into(), end: BranchEnd::Done { output: None } };
    assert_eq!(refusal(walk.send(What::Branch(again))).code, RefusalCode::ResultUnknown);
    let foreign = Branch { name: "y".into(), session: "e7.y".into(), end: BranchEnd::Done { output: None } };
    assert_eq!(refusal(walk.send(What::Branch(foreign))).code, RefusalCode::ResultUnknown);
    assert_eq!(moved(&branch(&mut walk, "y", "DONE", json!({ "output": "right" }))), ("a", "b"));
    assert_eq!(walk.session.current.context["branches"], json!({ "x": "left", "y": "right" }));
    walk.replays();
}

#[test]
fn joins_end_what_no_longer_matters() {
    let terminated = |walk: &Walk| {
        let ends = walk
            .last
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Terminate { session, .. } if session == "e1.y"));
        ends.count()
    };
    let mut walk = forking("any", None);
    walk.event("GO");
    assert_eq!(moved(&branch(&mut walk, "x", "DONE", Value::Null)), ("a", "b"));
    assert_eq!(terminated(&walk), 1);
    let mut walk = forking("all", Some("b"));
    walk.event("GO");
    assert_eq!(moved(&branch(&mut walk, "x", "FAIL", Value::Null)), ("a", "b"));
    assert_eq!(terminated(&walk), 1);
    assert_eq!(walk.session.seen.branches["x"], "failed");
    let mut walk = forking("any", None);
    walk.event("GO");
    assert_eq!(branch(&mut walk, "x", "FAIL", Value::Null), Reply::Noted);
    assert_eq!(moved(&branch(&mut walk, "y", "FAIL", Value::Null)), ("a", "failed"));
    walk.replays();
}

#[test]
fn a_fork_needs_the_foreground_to_be_still() {
    let mut walk = forking("all", None);
    walk.begin("c", WorkspaceRight::Read, false);
    assert_eq!(walk.code("GO"), RefusalCode::Busy);
}
