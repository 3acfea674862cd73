//! A person's word, and what it binds to.

use super::*;

/// Every form of an edge from `a` to `b` that asks a person.
fn forms() -> Vec<Value> {
    vec![
        json!({ "target": "b", "requires_approval": true }),
        json!([{ "target": "b", "requires_approval": true }]),
        json!({ "invoke": "w", "on_complete": "b", "requires_approval": true }),
        json!({ "fork": { "branches": { "x": { "initial": "b", "terminal": "done" } }, "on_complete": "b" }, "requires_approval": true }),
    ]
}

fn walk(edge: Value) -> Walk {
    let text = small(
        &[
            ("a", json!({ "GO": edge, "OUT": "c" })),
            ("b", json!({ "END": "done" })),
            ("c", json!({ "BACK": "a" })),
        ],
        json!({}),
    );
    let child = machine(&small(&[("w1", json!({ "END": "done" }))], json!({ "id": "w" })));
    Walk::of(Workflow::new(machine(&text)).with("w", child))
}

#[test]
fn an_approval_stands_on_every_form() {
    for edge in forms() {
        let mut walk = walk(edge.clone());
        assert_eq!(walk.event("GO"), Reply::Parked { approval: "e1".into() }, "{edge}");
        assert_eq!((walk.state(), walk.session.callers.len()), ("a", 0), "{edge}");
        assert!(walk.session.fork.is_none());
        assert_eq!(refusal(walk.approve("e9")).code, RefusalCode::ApprovalUnknown);
        walk.approve("e1");
        let taken = walk.state() == "b" || walk.session.callers.len() == 1 || walk.session.fork.is_some();
        assert!(taken, "{edge}: {:?}", walk.last.reply);
        assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::ApprovalUnknown, "once");
        walk.replays();
    }
}

#[test]
fn safe_next_and_the_limit_ask_too() {
    let states = json!({ "a": { "allowed_tools": ["Read"], "max_iterations": 1, "on_max": "refuse", "safe_next": "b",
        "on": { "GO": { "target": "b", "requires_approval": true } } } });
    let text = small(&[("a", json!({})), ("b", json!({ "END": "done" }))], json!({ "states": states }));
    let mut walk = Walk::new(&text);
    assert!(matches!(walk.event("zzz"), Reply::Parked { .. }));
    let mut walk = Walk::new(&text);
    walk.send(What::Call(tool("1", "Read")));
    let refused = refusal(walk.send(What::Call(tool("2", "Read"))));
    assert_eq!((refused.code, refused.approval.as_deref()), (RefusalCode::IterationLimit, Some("e2")));
    assert_eq!(walk.state(), "a");
    walk.approve("e2");
    assert_eq!(walk.state(), "b");
    walk.replays();
}

#[test]
fn a_write_after_parking_makes_it_stale() {
    let mut walk = walk(forms().remove(0));
    walk.event("GO");
    walk.write(&["src/x.rs"]);
    assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::ApprovalStale);
    assert_eq!((walk.state(), walk.session.pending.is_none()), ("a", true));
    assert_eq!(walk.notices(), [NoticeCode::Stale]);
    // Asked again it is a new approval.
    assert_eq!(walk.event("GO"), Reply::Parked { approval: "e5".into() });
    // A foreign write, a lost command and another tree do the same.
    walk.send(What::ForeignWrite { paths: vec![] });
    assert_eq!(refusal(walk.approve("e5")).code, RefusalCode::ApprovalStale);
    walk.event("GO");
    walk.send(What::Ended(Ended { call: "gone".into(), lost: true, ..Ended::default() }));
    assert_eq!((walk.session.changed.len(), walk.session.unseen), (1, 1));
    assert_eq!(refusal(walk.approve("e8")).code, RefusalCode::ApprovalStale);
    let asked = |tree: &str| {
        What::Transition(Transition { event: "GO".into(), tree: Some(tree.into()), ..Transition::default() })
    };
    walk.send(asked("t1"));
    let answer = Answer {
        approval: "e11".into(),
        channel: "terminal".into(),
        tree: Some("t2".into()),
        ..Answer::default()
    };
    assert_eq!(refusal(walk.send(What::Approve(answer))).code, RefusalCode::ApprovalStale);
    // What vanishes with a throw-away layer is no write.
    walk.event("GO");
    walk.begin("c", WorkspaceRight::ThrowAway, false);
    let touched = vec![Touch { path: "x".into(), kept: false }];
    walk.send(What::Ended(Ended { call: "c".into(), touched, ..Ended::default() }));
    assert_eq!(moved(&walk.approve("e13")), ("a", "b"));
    walk.replays();
}

#[test]
fn an_approval_expires_and_can_be_denied() {
    let mut walk = walk(forms().remove(0));
    walk.event("GO");
    walk.at += PARKED_FOR + 1;
    assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::ApprovalExpired);
    walk.event("GO");
    let no = Answer {
        approval: "e3".into(),
        channel: "terminal".into(),
        reason: Some("not yet".into()),
        ..Answer::default()
    };
    assert_eq!(walk.send(What::Reject(no)), Reply::Noted);
    assert_eq!(refusal(walk.approve("e3")).code, RefusalCode::ApprovalUnknown);
    assert_eq!(walk.state(), "a");
    assert_eq!(moved(&walk.event("OUT")).1, "c");
    walk.replays();
}

#[test]
fn guards_are_asked_again_when_the_person_answers() {
    let text = small(
        &[
            ("a", json!({ "GO": { "target": "b", "guard": "quiet", "requires_approval": true } })),
            ("b", json!({ "X": "done" })),
        ],
        json!({ "guards": { "quiet": { "field": "observed.calls", "op": "lt", "value": 2, "source": "observed" } } }),
    );
    let mut walk = Walk::new(&text);
    walk.event("GO");
    walk.send(What::Call(tool("1", "Read")));
    walk.send(What::Call(tool("2", "Read")));
    assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::ApprovalStale);
    assert_eq!(walk.state(), "a");
}

fn proof(exit_code: u8, tree: Option<&str>) -> Proof {
    Proof {
        command: vec!["cargo".into(), "test".into()],
        exit_code,
        tests: Some(12),
        tree: tree.map(str::to_owned),
        configuration: vec![],
        position: 0,
    }
}

fn proven(evidence: Value, approval: bool) -> Walk {
    let edge = json!({ "target": "b", "evidence": evidence, "requires_approval": approval });
    Walk::new(&small(
        &[
            ("a", json!({ "GO": edge, "OUT": "c" })),
            ("b", json!({ "X": "done" })),
            ("c", json!({ "BACK": "a" })),
        ],
        json!({}),
    ))
}

fn run(walk: &mut Walk, proof: Proof) {
    walk.begin("t", WorkspaceRight::ThrowAway, false);
    walk.send(What::Ended(Ended {
        call: "t".into(),
        exit_code: Some(0),
        proof: Some(proof),
        ..Ended::default()
    }));
}

#[test]
fn evidence_is_a_run_that_swbox_saw() {
    let mut walk = proven(json!({ "command": "cargo test" }), false);
    // Words are no evidence.
    let reply = walk.with("GO", json!({ "tests_pass": true, "exit_code": 0 }));
    assert_eq!(reply, Reply::Waiting { request: "e1".into(), on: WaitOn::Evidence });
    assert!(matches!(walk.last.effects.as_slice(), [Effect::RunEvidence { .. }]));
    let failed = Results {
        request: "e1".into(),
        proofs: vec![proof(101, None)],
        planted: vec![],
        denials: 0,
        tree: None,
    };
    let refused = refusal(walk.send(What::Evidence(failed.clone())));
    assert_eq!(refused.code, RefusalCode::EvidenceMissing);
    assert!(refused.message.contains("ended with 101"), "{refused:?}");
    assert_eq!(refusal(walk.send(What::Evidence(failed))).code, RefusalCode::ResultUnknown);
    walk.event("GO");
    walk.send(What::Evidence(Results {
        request: "e4".into(),
        proofs: vec![proof(0, None)],
        planted: vec![],
        denials: 0,
        tree: None,
    }));
    assert_eq!(walk.state(), "b");
    walk.replays();
}

#[test]
fn a_fresh_run_suffices_and_a_write_voids_it() {
    let mut walk = proven(json!({ "command": "cargo test", "min_tests": 10 }), false);
    run(&mut walk, proof(0, None));
    let mut fresh = walk.clone();
    assert_eq!(moved(&fresh.event("GO")).1, "b");
    let mut written = walk.clone();
    written.write(&["src/lib.rs"]);
    assert!(matches!(written.event("GO"), Reply::Waiting { .. }));
    let mut later = walk.clone();
    run(&mut later, proof(1, None));
    assert!(
        matches!(later.event("GO"), Reply::Waiting { .. }),
        "an older success does not outlive a failure"
    );
    let mut few = proven(json!({ "command": "cargo test", "min_tests": 13 }), false);
    run(&mut few, proof(0, None));
    assert!(matches!(few.event("GO"), Reply::Waiting { .. }));
    // A write that overlaps the run counts, whenever it is seen.
    let mut overlap = proven(json!({ "command": "cargo test" }), false);
    overlap.begin("w", WorkspaceRight::Write, false);
    overlap.begin("t", WorkspaceRight::ThrowAway, false);
    overlap.end("w", &["x"]);
    overlap.send(What::Ended(Ended { call: "t".into(), proof: Some(proof(0, None)), ..Ended::default() }));
    assert!(matches!(overlap.event("GO"), Reply::Waiting { .. }));
}

#[test]
fn a_live_writer_or_another_tree_proves_nothing() {
    let mut walk = proven(json!({ "command": "cargo test" }), false);
    walk.begin("job", WorkspaceRight::Write, true);
    run(&mut walk, proof(0, None));
    assert_eq!(walk.code("GO"), RefusalCode::EvidenceBusy);
    let mut walk = proven(json!({ "command": "cargo test" }), false);
    run(&mut walk, proof(0, Some("t1")));
    assert!(matches!(walk.event("GO"), Reply::Waiting { .. }), "nobody looked at the tree");
    let mut walk = proven(json!({ "command": "cargo test" }), false);
    run(&mut walk, proof(0, Some("t1")));
    let asked = Transition { event: "GO".into(), tree: Some("t1".into()), ..Transition::default() };
    assert_eq!(moved(&walk.send(What::Transition(asked))).1, "b");
}

#[test]
fn since_bounds_how_old_a_run_may_be() {
    for (since, write, leave, enough) in [
        ("session_start", true, true, true),
        ("state_entry", true, false, true),
        ("state_entry", false, true, false),
        ("last_write", false, true, true),
        ("last_write", true, false, false),
    ] {
        let mut walk = proven(json!({ "command": ["cargo", "test"], "since": since }), false);
        run(&mut walk, proof(0, None));
        if write {
            walk.write(&["x"]);
        }
        if leave {
            walk.event("OUT");
            walk.event("BACK");
        }
        assert_eq!(matches!(walk.event("GO"), Reply::Moved { .. }), enough, "{since} {write} {leave}");
    }
}

#[test]
fn evidence_comes_before_the_person_and_is_asked_again() {
    let mut walk = proven(json!({ "command": "cargo test" }), true);
    walk.event("GO");
    let results = Results {
        request: "e1".into(),
        proofs: vec![proof(0, Some("t1"))],
        planted: vec![],
        denials: 0,
        tree: Some("t1".into()),
    };
    assert_eq!(walk.send(What::Evidence(results)), Reply::Parked { approval: "e2".into() });
    let Some(Effect::Park(shown)) = walk.last.effects.last() else { panic!() };
    assert_eq!(shown.evidence[0].tests, Some(12));
    let mut other = walk.clone();
    let answer = |tree: &str| Answer {
        approval: "e2".into(),
        channel: "page".into(),
        tree: Some(tree.into()),
        ..Answer::default()
    };
    assert_eq!(refusal(other.send(What::Approve(answer("t2")))).code, RefusalCode::ApprovalStale);
    // A run that failed meanwhile.
    let mut later = walk.clone();
    run(&mut later, proof(1, Some("t1")));
    assert_eq!(refusal(later.send(What::Approve(answer("t1")))).code, RefusalCode::ApprovalStale);
    assert_eq!(moved(&walk.send(What::Approve(answer("t1")))), ("a", "b"));
    walk.replays();
}

#[test]
fn a_command_is_approved_for_its_bytes_its_state_and_once() {
    let mut walk = walk(json!("b"));
    let call = |key: &str, prefix: Option<&str>| {
        let command =
            Command { key: key.into(), prefix: prefix.map(str::to_owned), shown: "git push".into() };
        What::Call(Call { decision: Decision::Prompt, command: Some(command), ..tool("c", "Bash") })
    };
    let refused = refusal(walk.send(call("k", None)));
    assert_eq!((refused.code, refused.approval.as_deref()), (RefusalCode::NeedsApproval, Some("e1")));
    let again = refusal(walk.send(call("k", None)));
    assert_eq!(again.approval.as_deref(), Some("e1"), "the same call is the same request");
    walk.approve("e1");
    assert_eq!(refusal(walk.send(call("other", None))).code, RefusalCode::NeedsApproval);
    let mut late = walk.clone();
    late.at += APPROVED_FOR + 1;
    assert_eq!(refusal(late.send(call("k", None))).code, RefusalCode::NeedsApproval);
    let mut elsewhere = walk.clone();
    elsewhere.event("OUT");
    assert_eq!(refusal(elsewhere.send(call("k", None))).code, RefusalCode::NeedsApproval);
    assert_eq!(walk.send(call("k", None)), Reply::Allowed);
    assert_eq!(refusal(walk.send(call("k", None))).code, RefusalCode::NeedsApproval, "once");
    // For the session: the prefix, where there is one.
    let id = refusal(walk.send(call("p1", Some("git push")))).approval.unwrap();
    let answer = Answer {
        approval: id,
        channel: "terminal".into(),
        scope: ApprovalScope::Session,
        ..Answer::default()
    };
    walk.send(What::Approve(answer));
    assert_eq!(walk.send(call("p2", Some("git push"))), Reply::Allowed);
    assert_eq!(walk.send(call("p3", Some("git push"))), Reply::Allowed);
    assert_eq!(refusal(walk.send(call("p4", None))).code, RefusalCode::NeedsApproval);
    walk.replays();
}

#[test]
fn planted_configuration_holds_everything_until_a_person_has_looked() {
    let begun = || {
        let mut walk = walk(json!("b"));
        walk.begin("1", WorkspaceRight::Write, false);
        walk.send(What::Ended(Ended {
            call: "1".into(),
            exit_code: Some(125),
            planted: vec!["x/.git/config (core.fsmonitor)".into()],
            ..Ended::default()
        }));
        walk
    };
    let mut walk = begun();
    let id = walk.session.alarm.as_ref().unwrap().id.clone();
    assert!(
        matches!(&walk.last.effects[..], [Effect::Park(shown), Effect::Notice(_)] if shown.planted.len() == 1)
    );
    let call = || What::Call(tool("2", "Read"));
    for held in [call(), What::Transition(Transition { event: "GO".into(), ..Transition::default() })] {
        let refused = refusal(walk.send(held));
        assert_eq!((refused.code, refused.approval.as_ref()), (RefusalCode::PlantedConfig, Some(&id)));
        assert!(refused.message.contains("core.fsmonitor"), "{refused:?}");
    }
    assert_eq!(decide(&walk.workflow, &walk.session, "Read"), Decision::Forbidden);
    // More of it takes the place of what waits, with all that was found.
    walk.send(What::Ended(Ended { call: "0".into(), planted: vec!["y".into()], ..Ended::default() }));
    assert_eq!(refusal(walk.approve(&id)).code, RefusalCode::PlantedConfig);
    let alarm = walk.session.alarm.clone().unwrap();
    assert_eq!(alarm.planted.len(), 2);
    assert_eq!(walk.approve(&alarm.id), Reply::Noted);
    assert_eq!(walk.send(call()), Reply::Allowed);
    walk.event("GO");
    assert_eq!(walk.state(), "b");
    walk.replays();
    // A no ends the session.
    let mut walk = begun();
    walk.send(What::Reject(Answer { approval: id, reason: Some("not mine".into()), ..Answer::default() }));
    assert_eq!(walk.session.stop.as_ref().unwrap().reason, "planted_config");
    assert_eq!(refusal(walk.send(call())).code, RefusalCode::SessionOver);
    walk.replays();
}

#[test]
fn what_evidence_plants_holds_the_transition() {
    let mut walk = walk(json!({ "target": "b", "evidence": { "command": "true" } }));
    assert!(matches!(walk.event("GO"), Reply::Waiting { .. }));
    let seen =
        Results { request: "e1".into(), proofs: vec![], planted: vec!["x".into()], denials: 0, tree: None };
    assert_eq!(refusal(walk.send(What::Evidence(seen))).code, RefusalCode::PlantedConfig);
    assert_eq!(walk.state(), "a");
    walk.replays();
}
