//! Finding an event, its guards, its claims.

use super::*;

fn on(events: Value) -> String {
    small(
        &[("a", events), ("b", json!({ "BACK": "a", "END": "done" })), ("review", json!({ "BACK": "a" }))],
        json!({ "guards": {
            "yes": { "field": "ready", "op": "eq", "value": true },
            "no": { "field": "never", "op": "exists" },
        }}),
    )
}

#[test]
fn bugfix_runs_from_planning_to_completed() {
    let mut walk = Walk::built_in("bugfix");
    assert_eq!(moved(&walk.event("PLAN_READY")), ("planning", "implementing"));
    walk.write(&["src/lib.rs", "tests/it.rs"]);
    assert_eq!(moved(&walk.event("DONE")), ("implementing", "testing"));
    let parked = walk.with("TESTS_PASS", json!({ "expected_exit_code": 1 }));
    assert_eq!(parked, Reply::Parked { approval: "e5".into() });
    assert_eq!(walk.state(), "testing");
    let [Effect::Park(shown)] = walk.last.effects.as_slice() else { panic!("{:?}", walk.last.effects) };
    assert_eq!(shown.files, ["src/lib.rs", "tests/it.rs"]);
    assert_eq!(shown.mismatches.len(), 1, "{shown:?}");
    // What waits goes on waiting, whatever the agent sends.
    assert_eq!(walk.event("TESTS_PASS"), Reply::Parked { approval: "e5".into() });
    assert_eq!(walk.code("TESTS_FAIL"), RefusalCode::ApprovalPending);
    assert_eq!(walk.event("review"), Reply::Parked { approval: "e5".into() });
    assert_eq!(moved(&walk.approve("e5")), ("testing", "review"));
    assert_eq!(moved(&walk.event("APPROVED")), ("review", "committing"));
    assert_eq!(moved(&walk.event("COMMITTED")), ("committing", "completed"));
    assert_eq!(walk.session.stop.as_ref().unwrap().reason, "natural");
    assert!(matches!(walk.last.effects.last(), Some(Effect::Terminate { .. })));
    assert_eq!(walk.code("PLAN_READY"), RefusalCode::SessionOver);
    assert_eq!(decide(&walk.workflow, &walk.session, "Read"), Decision::Forbidden);
    walk.replays();
}

#[test]
fn an_event_is_found_as_the_table_says() {
    let text = on(json!({ "PLAN_READY": "b", "TO_REVIEW": "review", "X": "b" }));
    for (event, to) in [
        ("PLAN_READY", "b"),
        ("review", "review"),
        ("REVIEW", "review"),
        ("plan", "b"),
        ("_ready", "b"),
        ("Plan_Ready", "b"),
    ] {
        let mut walk = Walk::new(&text);
        assert_eq!(moved(&walk.event(event)).1, to, "{event}");
    }
    let mut walk = Walk::new(&text);
    for event in ["PLAN_READY now", "x", "not DONE yet", "", "pl", "nonsense", "$return", "done", "failed"] {
        let before = walk.session.clone();
        let refusal = refusal(walk.event(event));
        assert_eq!(refusal.code, RefusalCode::NoSuchEvent, "{event}");
        assert_eq!(refusal.events.len(), 3, "{event}");
        assert_eq!(walk.session, before, "{event}");
    }
}

#[test]
fn what_fits_twice_is_an_error_that_lists_the_events() {
    let mut walk = Walk::new(&on(json!({ "TESTS_PASS": "b", "TESTS_FAIL": "review" })));
    let refusal = refusal(walk.event("tests"));
    assert_eq!(refusal.code, RefusalCode::AmbiguousEvent);
    assert!(refusal.message.contains("TESTS_PASS") && refusal.message.contains("TESTS_FAIL"), "{refusal:?}");
    let twins = small(
        &[("a", json!({ "ONE": "Build", "TWO": "build" })), ("Build", json!({})), ("build", json!({}))],
        json!({}),
    );
    assert_eq!(Walk::new(&twins).code("BUILD"), RefusalCode::AmbiguousEvent);
}

#[test]
fn of_two_edges_to_a_state_the_stricter_is_taken() {
    let strict = json!({ "target": "review", "requires_approval": true });
    for events in [
        json!({ "EASY": "review", "STRICT": strict }),
        json!({ "STRICT": strict, "EASY": "review" }),
        json!({ "EASY": { "target": "review", "guard": "yes" }, "STRICT": strict }),
    ] {
        let mut walk = Walk::new(&on(events));
        assert!(matches!(walk.event("review"), Reply::Parked { .. }));
        assert_eq!(walk.state(), "a");
    }
}

#[test]
fn guards_look_before_the_data_is_taken_over() {
    let mut walk = Walk::new(&on(json!({ "GO": { "target": "b", "guard": "yes" }, "SAY": "review" })));
    let refused = refusal(walk.with("GO", json!({ "ready": true })));
    assert_eq!(refused.code, RefusalCode::GuardFailed);
    assert_eq!(walk.code("b"), RefusalCode::GuardFailed, "found by its target, the guard holds");
    walk.with("SAY", json!({ "ready": true }));
    walk.event("BACK");
    assert_eq!(moved(&walk.event("GO")).1, "b");
    assert!(walk.session.current.claimed.contains("ready"));
    walk.replays();
}

#[test]
fn the_first_branch_whose_guards_pass() {
    let branches = json!([
        { "target": "review", "guard": "no" },
        { "target": "b", "guards": ["yes"] },
        { "target": "done", "requires_approval": true },
    ]);
    let mut walk = Walk::new(&on(json!({ "GO": branches, "SAY": "review" })));
    assert!(matches!(walk.event("GO"), Reply::Parked { .. }), "the last branch has no guard");
    let mut walk = Walk::new(&on(json!({ "GO": branches, "SAY": "review" })));
    walk.with("SAY", json!({ "ready": true }));
    walk.event("BACK");
    // A state that a branch leads to does not pick the branch.
    assert_eq!(walk.code("done"), RefusalCode::LeadsElsewhere);
    assert_eq!(moved(&walk.event("GO")).1, "b");
    let mut walk = Walk::new(&on(json!({ "GO": [{ "target": "b", "guard": "no" }] })));
    assert_eq!(walk.code("GO"), RefusalCode::GuardFailed);
}

#[test]
fn safe_next_needs_an_edge_and_is_no_way_to_the_end() {
    let with_safe = |events: Value, next: &str| {
        let states = json!({ "a": { "allowed_tools": ["Read"], "on": events, "safe_next": next } });
        Walk::new(&small(&[("a", json!({})), ("b", json!({ "BACK": "a" }))], json!({ "states": states })))
    };
    assert_eq!(moved(&with_safe(json!({ "GO": "b" }), "b").event("whatever")).1, "b");
    let asks = json!({ "GO": "b", "ASK": { "target": "b", "requires_approval": true } });
    assert!(matches!(with_safe(asks, "b").event("whatever"), Reply::Parked { .. }));
    assert_eq!(with_safe(json!({ "GO": "done" }), "b").code("whatever"), RefusalCode::NoSuchEvent);
    assert_eq!(with_safe(json!({ "GO": "done" }), "done").code("whatever"), RefusalCode::NoSuchEvent);
    let invoked = json!({ "GO": { "invoke": "w", "on_complete": "b" } });
    assert_eq!(with_safe(invoked, "b").code("whatever"), RefusalCode::NoSuchEvent);
}

#[test]
fn from_names_the_state_that_the_agent_believes_in() {
    let mut walk = Walk::built_in("bugfix");
    walk.event("PLAN_READY");
    walk.event("DONE");
    let late =
        Transition { event: "DONE".into(), from: Some("implementing".into()), ..Transition::default() };
    let refused = refusal(walk.send(What::Transition(late)));
    assert_eq!(refused.code, RefusalCode::StateMoved);
    assert!(refused.message.contains("\"testing\""), "{refused:?}");
}

#[test]
fn only_the_main_agent_moves() {
    let mut walk = Walk::built_in("bugfix");
    let asked = Transition { event: "PLAN_READY".into(), subagent: true, ..Transition::default() };
    assert_eq!(refusal(walk.send(What::Transition(asked))).code, RefusalCode::NotMainAgent);
}

#[test]
fn claims_are_bounded_and_reserved_keys_refused() {
    let mut walk = Walk::built_in("bugfix");
    for (data, code) in [
        (json!({ "_interrupt_return": "committing" }), RefusalCode::BadClaim),
        (json!({ "_fork": {} }), RefusalCode::BadClaim),
        (json!({ "observed": { "exit_code": 0 } }), RefusalCode::BadClaim),
        (json!([1]), RefusalCode::BadClaim),
        (json!("text"), RefusalCode::BadClaim),
        (json!({ "long": "x".repeat(64 << 10) }), RefusalCode::ClaimTooLarge),
    ] {
        assert_eq!(refusal(walk.with("PLAN_READY", data)).code, code);
    }
    assert_eq!(walk.session, walk.start);
    walk.with("PLAN_READY", json!({ "long": "x".repeat(60 << 10) }));
    assert_eq!(walk.state(), "implementing");
    // The context as a whole is bounded too.
    let mut walk = Walk::new(&on(json!({ "GO": "b" })));
    let full = (0..40).find_map(|at| {
        walk.event("BACK");
        match walk.with("GO", json!({ format!("k{at}"): "x".repeat(60 << 10) })) {
            Reply::Refused(refusal) => Some(refusal.code),
            _ => None,
        }
    });
    assert_eq!(full, Some(RefusalCode::ClaimTooLarge));
}

#[test]
fn a_guard_on_what_was_observed_cannot_be_claimed() {
    let text = small(
        &[
            ("a", json!({ "GO": { "target": "b", "guard": "green" }, "SAY": "c" })),
            ("b", json!({ "X": "done" })),
            ("c", json!({ "BACK": "a" })),
        ],
        json!({ "guards": { "green": { "field": "observed.exit_code", "op": "eq", "value": 0, "source": "observed" } } }),
    );
    let mut walk = Walk::new(&text);
    walk.with("SAY", json!({ "exit_code": 0 }));
    walk.event("BACK");
    assert_eq!(walk.code("GO"), RefusalCode::GuardFailed);
    walk.begin("c1", WorkspaceRight::Read, false);
    walk.end("c1", &[]);
    assert_eq!(moved(&walk.event("GO")).1, "b");
}

#[test]
fn observed_fields_are_those_of_the_list() {
    let mut walk = Walk::built_in("bugfix");
    walk.begin("c1", WorkspaceRight::Read, false);
    walk.end("c1", &["a"]);
    walk.session.seen.tests = Some(1);
    walk.session.seen.invoked = Some("x".into());
    walk.session.seen.branches.insert("b".into(), "done".into());
    walk.session.current.stack.push(super::super::session::Return {
        interrupt: "i".into(),
        files: vec![],
        state: "planning".into(),
        visit: Visit::default(),
    });
    let seen = super::super::guard::observed(&walk.session.seen, &walk.session.current);
    let mut names: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
    let mut listed: Vec<&str> = crate::workflow::model::OBSERVED.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed);
}

#[test]
fn a_persons_force_passes_conditions_and_clears_what_waits() {
    let mut walk = Walk::built_in("bugfix");
    walk.event("PLAN_READY");
    walk.event("DONE");
    walk.event("TESTS_PASS");
    let force = Force { to: "nowhere".into(), channel: "terminal".into(), reason: "r".into() };
    assert_eq!(refusal(walk.send(What::Force(force.clone()))).code, RefusalCode::StateUnknown);
    walk.send(What::Force(Force { to: "planning".into(), ..force }));
    assert_eq!((walk.state(), walk.session.pending.is_none()), ("planning", true));
    assert_eq!(refusal(walk.approve("e3")).code, RefusalCode::ApprovalUnknown);
    walk.replays();
}
