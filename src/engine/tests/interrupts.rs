//! Interrupts: fired by what was written, returned from exactly.

use super::*;

/// `a` and `b` work; `lock` leads to `locks`, `ci` to `pipelines`; each handler returns.
fn text() -> String {
    small(
        &[
            ("a", json!({ "NEXT": "b", "END": "done" })),
            ("b", json!({ "BACK": "a" })),
            ("locks", json!({ "OK": "$return", "MORE": "locks2", "END": "done" })),
            ("locks2", json!({ "OK": "$return" })),
            ("pipelines", json!({ "OK": "$return", "GIVE_UP": "failed" })),
        ],
        json!({ "interrupts": {
            "a_lock": { "trigger": { "file_pattern": "*.lock" }, "target": "locks" },
            "b_ci": { "trigger": { "file_pattern": [".github/**", "ci/*.yml"] }, "target": "pipelines" },
        }}),
    )
}

#[test]
fn any_program_fires_and_return_restores_exactly() {
    let mut walk = Walk::new(&text());
    walk.event("NEXT");
    walk.send(What::Call(tool("r", "Read")));
    walk.write(&["src/x.rs"]);
    let before = walk.session.current.clone();
    walk.write(&["deep/down/Cargo.lock", "src/y.rs"]);
    assert_eq!(walk.state(), "locks");
    assert_eq!(walk.notices(), [NoticeCode::Interrupted]);
    assert_eq!(walk.session.current.visit.calls, 0);
    assert_eq!(walk.session.current.stack[0].files, ["deep/down/Cargo.lock"]);
    walk.send(What::Call(tool("r", "Read")));
    assert_eq!(moved(&walk.event("OK")), ("locks", "b"));
    let after = &walk.session.current;
    // Restored but for what the firing command itself did: its call and its files.
    assert_eq!(after.visit.entered, before.visit.entered);
    assert_eq!(after.visit.calls, before.visit.calls + 1);
    assert!(after.visit.files.contains("src/x.rs") && after.stack.is_empty());
    assert_eq!(walk.code("$return"), RefusalCode::NoSuchEvent);
    walk.replays();
}

#[test]
fn paths_are_matched_as_written() {
    for (path, fires) in [
        ("Cargo.lock", Some("locks")),
        ("x/y/z.lock", Some("locks")),
        ("Cargo.lock.txt", None),
        (".github/workflows/a.yml", Some("pipelines")),
        ("sub/.github/workflows/a.yml", None),
        ("ci/a.yml", Some("pipelines")),
        ("ci/deep/a.yml", None),
        ("src/a.rs", None),
    ] {
        let mut walk = Walk::new(&text());
        walk.write(&[path]);
        assert_eq!(walk.state(), fires.unwrap_or("a"), "{path}");
    }
}

#[test]
fn one_firing_a_command_and_none_in_its_own_handler() {
    let mut walk = Walk::new(&text());
    let many: Vec<String> = (0..300).map(|at| format!("m{at}/x.lock")).collect();
    walk.write(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((walk.state(), walk.session.current.stack.len()), ("locks", 1));
    assert_eq!(walk.session.current.stack[0].files.len(), 300);
    // The handler writes such files itself, also further on.
    walk.write(&["Cargo.lock"]);
    walk.event("MORE");
    walk.write(&["Cargo.lock"]);
    assert_eq!((walk.state(), walk.session.current.stack.len()), ("locks2", 1));
    walk.event("OK");
    assert_eq!((walk.state(), walk.session.current.queue.len()), ("a", 0));
    walk.replays();
}

#[test]
fn a_handler_can_be_interrupted_and_returns_in_order() {
    let mut walk = Walk::new(&text());
    walk.event("NEXT");
    walk.write(&["Cargo.lock"]);
    walk.write(&["ci/x.yml"]);
    assert_eq!((walk.state(), walk.session.current.stack.len()), ("pipelines", 2));
    assert_eq!(moved(&walk.event("OK")), ("pipelines", "locks"));
    assert_eq!(moved(&walk.event("OK")), ("locks", "b"));
    walk.replays();
}

#[test]
fn two_at_once_come_one_after_the_other() {
    let mut walk = Walk::new(&text());
    walk.write(&["ci/x.yml", "Cargo.lock"]);
    assert_eq!((walk.state(), walk.session.current.queue.len()), ("locks", 1));
    assert_eq!(moved(&walk.event("OK")), ("locks", "a"));
    assert_eq!((walk.state(), walk.session.current.queue.len()), ("pipelines", 0));
    walk.event("OK");
    assert_eq!(walk.state(), "a");
    walk.replays();
}

#[test]
fn none_is_lost_at_the_end() {
    let mut walk = Walk::new(&text());
    walk.write(&["ci/x.yml", "Cargo.lock"]);
    // The handler goes straight to the end; the other interrupt is handled first.
    assert_eq!(moved(&walk.event("END")).1, "pipelines");
    walk.event("OK");
    assert_eq!(moved(&walk.event("END")).1, "done");
    assert!(walk.session.is_over());
    // Failing needs no handling.
    let mut walk = Walk::new(&text());
    walk.write(&["ci/x.yml"]);
    walk.event("GIVE_UP");
    assert_eq!(walk.state(), "failed");
}

#[test]
fn what_vanishes_fires_nothing() {
    let mut walk = Walk::new(&text());
    walk.begin("c", WorkspaceRight::ThrowAway, false);
    let touched = vec![Touch { path: "Cargo.lock".into(), kept: false }];
    walk.send(What::Ended(Ended { call: "c".into(), touched, ..Ended::default() }));
    assert_eq!(walk.state(), "a");
    // A native edit and a job fire like a command.
    walk.send(What::Ended(Ended {
        call: "edit".into(),
        touched: vec![Touch { path: "Cargo.lock".into(), kept: true }],
        ..Ended::default()
    }));
    assert_eq!(walk.state(), "locks");
}

#[test]
fn an_interrupt_waits_for_a_command_that_holds_more() {
    let states = json!({ "locks": { "allowed_tools": ["Read"], "on": { "OK": "$return" } } });
    let text = small(
        &[("a", json!({ "NEXT": "done" }))],
        json!({ "states": states, "interrupts": { "lock": { "trigger": { "file_pattern": "*.lock" }, "target": "locks" } } }),
    );
    let mut walk = Walk::new(&text);
    walk.begin("long", WorkspaceRight::Write, false);
    walk.write(&["Cargo.lock"]);
    assert_eq!((walk.state(), walk.session.current.queue.len()), ("a", 1));
    walk.end("long", &[]);
    assert_eq!(walk.state(), "locks");
    // A job is ended instead; it writes until then.
    let mut walk = Walk::new(&text);
    walk.begin("job", WorkspaceRight::Write, true);
    walk.write(&["Cargo.lock"]);
    assert!(walk.last.effects.iter().any(|effect| matches!(effect, Effect::KillJobs { .. })));
    let request = walk.session.pending.as_ref().unwrap().id.clone();
    assert_eq!(refusal(walk.send(What::Call(tool("x", "Read")))).code, RefusalCode::Moving);
    let mut stubborn = walk.clone();
    let survives = What::JobsEnded { request: request.clone(), survivors: vec!["job".into()] };
    assert_eq!(refusal(stubborn.send(survives)).code, RefusalCode::Busy);
    assert_eq!((stubborn.state(), stubborn.session.current.queue.len()), ("a", 1));
    walk.send(What::JobsEnded { request, survivors: vec![] });
    assert_eq!((walk.state(), walk.session.running.len()), ("locks", 0));
    walk.replays();
    stubborn.replays();
}

#[test]
fn an_interrupt_overtakes_an_approval() {
    let text = small(
        &[
            ("a", json!({ "GO": { "target": "b", "requires_approval": true } })),
            ("b", json!({ "X": "done" })),
            ("locks", json!({ "OK": "$return" })),
        ],
        json!({ "interrupts": { "lock": { "trigger": { "file_pattern": "*.lock" }, "target": "locks" } } }),
    );
    let mut walk = Walk::new(&text);
    walk.event("GO");
    walk.write(&["Cargo.lock"]);
    assert_eq!((walk.state(), walk.session.pending.is_none()), ("locks", true));
    assert_eq!(refusal(walk.approve("e1")).code, RefusalCode::ApprovalUnknown);
}

#[test]
fn the_stack_has_a_bottom() {
    let names: Vec<String> = (0..10).map(|at| format!("h{at}")).collect();
    let mut states: Vec<(&str, Value)> = vec![("a", json!({ "END": "done" }))];
    states.extend(names.iter().map(|name| (name.as_str(), json!({ "OK": "$return" }))));
    let interrupts: serde_json::Map<String, Value> = (0..10)
        .map(|at| {
            (
                format!("i{at}"),
                json!({ "trigger": { "file_pattern": format!("f{at}") }, "target": format!("h{at}") }),
            )
        })
        .collect();
    let mut walk = Walk::new(&small(&states, json!({ "interrupts": interrupts })));
    for at in 0..10 {
        walk.write(&[&format!("f{at}")]);
    }
    assert_eq!((walk.session.current.stack.len(), walk.session.current.queue.len()), (MAX_INTERRUPTS, 2));
    let mut seen = vec![walk.state().to_owned()];
    while walk.state() != "a" {
        walk.event("OK");
        seen.push(walk.state().to_owned());
    }
    for name in &names {
        assert!(seen.contains(name), "{name} was lost: {seen:?}");
    }
    walk.replays();
}
