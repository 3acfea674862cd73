//! Limits of a state, and commands that run while it changes.

use super::*;

fn with(state: Value) -> Walk {
    let mut a = json!({ "allowed_tools": ["Read", "Write", "Bash"], "on": { "GO": "b" } });
    if let (Value::Object(a), Value::Object(state)) = (&mut a, state) {
        a.extend(state);
    }
    let quiet = json!({ "allowed_tools": ["Read"], "on": { "END": "done", "BACK": "a" } });
    Walk::new(&small(&[("a", json!({}))], json!({ "states": { "a": a, "b": quiet } })))
}

fn read(walk: &mut Walk) -> Reply {
    walk.send(What::Call(tool("r", "Read")))
}

#[test]
fn a_checkpoint_is_a_notice() {
    let mut walk = with(json!({ "max_iterations": 5 }));
    let codes: Vec<Vec<NoticeCode>> = (0..7)
        .map(|_| {
            assert_eq!(read(&mut walk), Reply::Allowed);
            walk.notices()
        })
        .collect();
    use NoticeCode::{Checkpoint, IterationsNear};
    assert_eq!(
        codes,
        [vec![], vec![], vec![], vec![IterationsNear], vec![Checkpoint], vec![Checkpoint], vec![Checkpoint]]
    );
}

#[test]
fn a_checkpoint_does_not_lure_to_the_end() {
    let on = json!({ "END": "done", "GO": "b", "FAIL": "failed" });
    for safe in [json!(null), json!("done"), json!("b")] {
        let mut walk = with(json!({ "max_iterations": 1, "safe_next": safe, "on": on }));
        read(&mut walk);
        let [Effect::Notice(notice)] = walk.last.effects.as_slice() else { panic!("{:?}", walk.last) };
        assert!(notice.text.ends_with("go on with GO"), "{notice:?}");
    }
}

#[test]
fn refuse_and_fail() {
    let mut walk = with(json!({ "max_iterations": 2, "on_max": "refuse" }));
    read(&mut walk);
    read(&mut walk);
    assert_eq!(decide(&walk.workflow, &walk.session, "Read"), Decision::Forbidden);
    assert_eq!(decide(&walk.workflow, &walk.session, "TodoWrite"), Decision::Allow);
    let refused = refusal(read(&mut walk));
    assert_eq!((refused.code, refused.events[0].event.as_str()), (RefusalCode::IterationLimit, "GO"));
    // What does not count goes on; leaving and coming back begins anew.
    let query = Call { counts: false, ..tool("q", "TodoWrite") };
    assert_eq!(walk.send(What::Call(query)), Reply::Allowed);
    walk.event("GO");
    walk.event("BACK");
    assert_eq!(read(&mut walk), Reply::Allowed);
    let mut walk = with(json!({ "max_iterations": 1, "on_max": "fail" }));
    read(&mut walk);
    assert_eq!(refusal(read(&mut walk)).code, RefusalCode::IterationLimit);
    assert_eq!((walk.state(), walk.session.is_over()), ("failed", true));
    walk.replays();
}

#[test]
fn at_a_refusing_limit_safe_next_leads_on() {
    let mut walk = with(json!({ "max_iterations": 1, "on_max": "refuse", "safe_next": "b" }));
    read(&mut walk);
    assert_eq!(refusal(read(&mut walk)).code, RefusalCode::IterationLimit);
    assert_eq!(walk.state(), "b");
    // Not to the end.
    let ends =
        json!({ "max_iterations": 1, "on_max": "refuse", "safe_next": "done", "on": { "GO": "done" } });
    let mut walk = with(ends);
    read(&mut walk);
    read(&mut walk);
    assert_eq!(walk.state(), "a");
}

#[test]
fn forbidden_calls_count_and_have_no_effect() {
    let mut walk = with(json!({}));
    let call = Call {
        decision: Decision::Forbidden,
        held: Some(Held { workspace: WorkspaceRight::Write, git_write: false, network: NetworkRight::None }),
        ..tool("f", "Bash")
    };
    assert_eq!(walk.send(What::Call(call)), Reply::Forbidden);
    assert_eq!((walk.session.current.visit.calls, walk.session.running.len()), (1, 0));
}

#[test]
fn edits_and_files_are_bounded() {
    let edit = |path: &str, lines| {
        What::Call(Call { edit: Some(Edit { path: path.into(), lines }), writes: true, ..tool("e", "Edit") })
    };
    let mut walk = with(json!({ "max_edit_lines": 10, "max_files_per_state": 2 }));
    assert_eq!(refusal(walk.send(edit("a", 11))).code, RefusalCode::EditTooLarge);
    assert_eq!(walk.send(edit("a", 10)), Reply::Allowed);
    walk.end("e", &["a"]);
    walk.send(edit("b", 1));
    walk.end("e", &["b"]);
    assert_eq!(refusal(walk.send(edit("c", 1))).code, RefusalCode::FileLimit);
    assert_eq!(walk.send(edit("a", 1)), Reply::Allowed);
    // The shell's files are counted afterwards.
    let shell = || What::Call(Call { writes: true, ..tool("s", "Bash") });
    assert_eq!(walk.send(shell()), Reply::Allowed);
    walk.end("s", &["c", "d"]);
    assert_eq!(walk.notices(), [NoticeCode::FilesExceeded]);
    assert_eq!(refusal(walk.send(shell())).code, RefusalCode::FileLimit);
    assert_eq!(read(&mut walk), Reply::Allowed);
    walk.replays();
}

#[test]
fn output_is_budgeted() {
    let mut walk = with(json!({ "context_budget_bytes": 100 }));
    for (bytes, told) in [(89, false), (1, true), (50, false)] {
        walk.send(What::Ended(Ended { call: "c".into(), output: bytes, ..Ended::default() }));
        assert_eq!(walk.notices() == [NoticeCode::ContextBudget], told, "{bytes}");
    }
}

#[test]
fn a_transition_does_not_tighten_what_runs() {
    let mut walk = with(json!({}));
    walk.begin("w", WorkspaceRight::Write, false);
    let refused = refusal(walk.event("GO"));
    assert_eq!(refused.code, RefusalCode::Busy);
    assert!(refused.message.contains("\"w\""), "{refused:?}");
    walk.end("w", &[]);
    // What the target allows anyhow may run on.
    walk.begin("r", WorkspaceRight::Read, false);
    assert_eq!(moved(&walk.event("GO")).1, "b");
}

#[test]
fn jobs_that_hold_more_are_ended_first() {
    let mut walk = with(json!({}));
    walk.begin("reader", WorkspaceRight::Read, true);
    walk.begin("writer", WorkspaceRight::Write, true);
    let reply = walk.event("GO");
    assert_eq!(reply, Reply::Waiting { request: "e3".into(), on: WaitOn::Jobs });
    assert_eq!(walk.state(), "a");
    assert!(
        walk.last
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::KillJobs { jobs, .. } if jobs.as_slice() == ["writer"]))
    );
    assert_eq!(refusal(walk.begin("late", WorkspaceRight::Write, false)).code, RefusalCode::Moving);
    assert_eq!(walk.event("GO"), Reply::Waiting { request: "e3".into(), on: WaitOn::Jobs });
    let mut stubborn = walk.clone();
    stubborn.send(What::JobsEnded { request: "e3".into(), survivors: vec!["writer".into()] });
    assert_eq!((stubborn.state(), stubborn.session.running.len()), ("a", 2));
    assert_eq!(stubborn.notices(), [NoticeCode::NotMoved]);
    let reply = walk.send(What::JobsEnded { request: "e3".into(), survivors: vec![] });
    assert_eq!(moved(&reply), ("a", "b"));
    assert_eq!(walk.session.running.len(), 1);
    walk.replays();
}

#[test]
fn an_approved_transition_waits_for_what_runs() {
    let mut walk = with(json!({ "on": { "GO": { "target": "b", "requires_approval": true } } }));
    walk.event("GO");
    walk.begin("w", WorkspaceRight::Write, false);
    assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::Busy);
    assert!(walk.session.pending.is_some(), "the person may answer again");
    walk.end("w", &[]);
    assert_eq!(moved(&walk.approve("e1")).1, "b");
    walk.replays();
}

#[test]
fn the_end_ends_everything() {
    let mut walk = with(json!({}));
    walk.begin("job", WorkspaceRight::Read, true);
    walk.send(What::End { reason: "harness_gone".into() });
    assert_eq!(walk.session.stop.as_ref().unwrap().reason, "harness_gone");
    assert_eq!(walk.code("GO"), RefusalCode::SessionOver);
    assert_eq!(refusal(read(&mut walk)).code, RefusalCode::SessionOver);
    walk.end("job", &["late"]);
    assert!(walk.session.running.is_empty());
    walk.replays();
}

#[test]
fn hand_out() {
    let mut walk = with(json!({
        "instructions": "Do it.", "model": "m", "thinking_level": "high", "model_ladder": ["x", { "y": 1 }],
        "direct_execution": false, "blocked_env": ["TOKEN"], "env_overrides": { "CI": 1 },
        "on": { "GO": [{ "target": "b", "requires_approval": true }, { "target": "a" }] },
    }));
    let given = handout(&walk.workflow, &walk.session).unwrap();
    assert_eq!((given.model.as_deref(), given.thinking_level.as_deref()), (Some("m"), Some("high")));
    assert_eq!(given.env_overrides, [("CI".to_owned(), "1".to_owned())]);
    assert_eq!(given.events[0].targets, ["b", "a"]);
    assert_eq!(given.events[0].requires, ["approval"]);
    walk.event("GO");
    assert_eq!(handout(&walk.workflow, &walk.session).unwrap().approvals, ["e1"]);
}

#[test]
fn what_a_job_writes_while_it_is_ended_is_not_what_was_approved() {
    let mut walk = with(json!({ "on": { "GO": { "target": "b", "requires_approval": true }, "OUT": "b" } }));
    walk.begin("job", WorkspaceRight::Write, true);
    walk.event("GO");
    assert_eq!(walk.approve("e2"), Reply::Waiting { request: "e3".into(), on: WaitOn::Jobs });
    let mut quiet = walk.clone();
    quiet.end("job", &[]);
    assert_eq!(moved(&quiet.send(What::JobsEnded { request: "e3".into(), survivors: vec![] })).1, "b");
    walk.end("job", &["src/late.rs"]);
    let reply = walk.send(What::JobsEnded { request: "e3".into(), survivors: vec![] });
    assert_eq!(refusal(reply).code, RefusalCode::ApprovalStale);
    assert_eq!(walk.state(), "a");
    assert!(matches!(walk.event("GO"), Reply::Parked { .. }));
    // Where nobody spoke about the tree, a last write matters to nobody.
    let mut walk = with(json!({ "on": { "OUT": "b" } }));
    walk.begin("job", WorkspaceRight::Write, true);
    walk.event("OUT");
    walk.end("job", &["src/late.rs"]);
    assert_eq!(moved(&walk.send(What::JobsEnded { request: "e2".into(), survivors: vec![] })).1, "b");
    walk.replays();
}
