//! What holds for every machine and every sequence of events.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::workflow::{Machine, StateKind};

const STATES: [&str; 6] = ["s0", "s1", "s2", "s3", "done", "failed"];
const EVENTS: [&str; 4] = ["GO", "NEXT", "TURN_BACK", "GO_ON"];

fn tools_of(which: usize) -> Vec<&'static str> {
    vec!["Read", ["Grep", "Write", "Bash"][which]]
}

fn target() -> impl Strategy<Value = Value> {
    prop_oneof![8 => (0..STATES.len()).prop_map(|at| json!(STATES[at])), 1 => Just(json!("$return"))]
}

fn edge() -> impl Strategy<Value = Value> {
    (target(), any::<bool>(), 0..4_u8).prop_map(|(target, approval, guard)| {
        let mut edge = json!({ "target": target, "requires_approval": approval });
        if let (Value::Object(edge), 1..=2) = (&mut edge, guard) {
            edge.insert("guard".into(), json!(["", "ready", "calls"][usize::from(guard)]));
        }
        edge
    })
}

fn transition() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => target(),
        4 => edge(),
        2 => prop::collection::vec(edge(), 1..3).prop_map(Value::from),
        1 => (target(), any::<bool>(), any::<bool>()).prop_map(|(to, approval, own)| json!({
            "invoke": if own { "m" } else { "child" }, "on_complete": to, "on_fail": "failed",
            "max_depth": 2, "max_child_steps": 4, "requires_approval": approval,
        })),
        1 => (0..STATES.len(), 0..STATES.len(), target(), any::<bool>()).prop_map(|(from, to, on, approval)| json!({
            "fork": { "branches": { "x": { "initial": STATES[from], "terminal": STATES[to] } }, "on_complete": on, "on_fail": "failed" },
            "requires_approval": approval,
        })),
    ]
}

prop_compose! {
    fn state()(
        mut on in prop::collection::btree_map((0..EVENTS.len()).prop_map(|at| EVENTS[at]), transition(), 0..4),
        fails in prop::bool::weighted(0.8),
        safe in prop::option::of(0..STATES.len()),
        limit in prop::option::of((1..4_u32, 0..3_usize)),
        tools in 0..3_usize,
    ) -> Value {
        if fails {
            on.insert("FAIL", json!("failed"));
        }
        let mut state = json!({
            "on": on,
            "allowed_tools": tools_of(tools),
        });
        if let Value::Object(state) = &mut state {
            if let Some(at) = safe {
                state.insert("safe_next".into(), json!(STATES[at]));
            }
            if let Some((most, mode)) = limit {
                state.insert("max_iterations".into(), json!(most));
                state.insert("on_max".into(), json!(["checkpoint", "refuse", "fail"][mode]));
            }
        }
        state
    }
}

fn machines() -> impl Strategy<Value = Machine> {
    (prop::collection::vec(state(), 4), prop::option::of(0..4_usize)).prop_map(|(states, interrupt)| {
        let mut all = serde_json::Map::new();
        for (name, state) in STATES.iter().zip(states) {
            all.insert((*name).into(), state);
        }
        all.insert("done".into(), json!({ "type": "final" }));
        all.insert("failed".into(), json!({ "type": "final" }));
        let mut text = json!({ "id": "m", "initial": "s0", "states": all, "guards": {
            "ready": { "field": "ready", "op": "eq", "value": true },
            "calls": { "field": "observed.calls", "op": "gt", "value": 1, "source": "observed" },
        }});
        if let (Some(at), Value::Object(text)) = (interrupt, &mut text) {
            text.insert(
                "interrupts".into(),
                json!({ "i": { "trigger": { "file_pattern": "*.lock" }, "target": STATES[at] } }),
            );
        }
        machine(&text.to_string())
    })
}

fn child() -> Machine {
    machine(&small(
        &[("c1", json!({ "GO": "done", "NEXT": "c1", "GO_ON": "failed" }))],
        json!({ "id": "child" }),
    ))
}

/// What an agent, its commands and the service can cause; no person.
fn happenings() -> impl Strategy<Value = What> {
    let texts = prop_oneof![
        6 => (0..EVENTS.len()).prop_map(|at| EVENTS[at].to_owned()),
        2 => (0..STATES.len()).prop_map(|at| STATES[at].to_uppercase()),
        1 => "[A-Z_]{0,4}",
        1 => Just("$return".to_owned()),
    ];
    let data = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|ready| json!({ "ready": ready })),
        Just(json!({ "observed": { "calls": 9 }, "_interrupt_return": "done" })),
    ];
    let asked = (texts, data)
        .prop_map(|(event, data)| What::Transition(Transition { event, data, ..Transition::default() }));
    let call = (0..3_u8, 0..3_usize, any::<bool>()).prop_map(|(call, right, background)| {
        let workspace = [WorkspaceRight::Read, WorkspaceRight::ThrowAway, WorkspaceRight::Write][right];
        let held = Held { workspace, git_write: false, network: NetworkRight::None };
        What::Call(Call { held: Some(held), background, writes: true, ..tool(&format!("c{call}"), "Bash") })
    });
    let ended = (0..3_u8, 0..4_usize, any::<bool>()).prop_map(|(call, file, lost)| {
        let touched =
            ["a.rs", "x.lock", "b.lock"].get(file).map(|path| Touch { path: (*path).into(), kept: true });
        What::Ended(Ended {
            call: format!("c{call}"),
            lost,
            touched: touched.into_iter().collect(),
            ..Ended::default()
        })
    });
    let results = (1..40_u8).prop_flat_map(|id| {
        prop_oneof![
            Just(What::Evidence(Results {
                request: format!("e{id}"),
                proofs: vec![],
                planted: vec![],
                denials: 0,
                tree: None
            })),
            Just(What::JobsEnded { request: format!("e{id}"), survivors: vec![] }),
            Just(What::Branch(Branch {
                name: "x".into(),
                session: format!("e{id}.x"),
                end: BranchEnd::Done { output: None },
            })),
        ]
    });
    prop_oneof![6 => asked, 2 => call, 3 => ended, 2 => results]
}

/// The states that edges without approval lead to, in the most generous reading.
fn unasked(machine: &Machine) -> BTreeSet<String> {
    let mut seen = BTreeSet::from([machine.initial.clone()]);
    // The engine itself goes to the failure state.
    seen.insert("failed".to_owned());
    loop {
        let more: BTreeSet<String> = seen
            .iter()
            .flat_map(|name| machine.all_exits(name))
            .filter(|exit| !exit.needs_approval())
            .map(|exit| exit.target.to_owned())
            .collect();
        let before = seen.len();
        seen.extend(more);
        if seen.len() == before {
            return seen;
        }
    }
}

fn same_step(workflow: &Workflow, session: &Session, event: &Event) -> Stepped {
    let once = step(workflow, session.clone(), event);
    assert_eq!(once, step(workflow, session.clone(), event));
    once
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_global_rejects: 8192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_behind_an_unanswered_approval_is_reached(
        machine in machines(), events in prop::collection::vec(happenings(), 1..40),
    ) {
        let allowed = unasked(&machine);
        let workflow = Workflow::new(machine).with("child", child());
        let mut session = Session::start(&workflow, "s", 0);
        for (at, what) in events.into_iter().enumerate() {
            let event = Event { at: at as u64, id: format!("e{}", at + 1), what };
            session = step(&workflow, session, &event).session;
            let frames = session.callers.iter().chain(std::iter::once(&session.current));
            for frame in frames.filter(|frame| frame.workflow == "m") {
                prop_assert!(allowed.contains(&frame.state), "{:?} by {event:?}", frame.state);
            }
        }
    }

    #[test]
    fn steps_are_deterministic_and_replay_gives_the_same(
        machine in machines(), events in prop::collection::vec(happenings(), 1..30),
    ) {
        let workflow = Workflow::new(machine).with("child", child());
        let start = Session::start(&workflow, "s", 0);
        let mut session = start.clone();
        let mut journal = Vec::new();
        for (at, what) in events.into_iter().enumerate() {
            let event = Event { at: at as u64, id: format!("e{}", at + 1), what };
            session = same_step(&workflow, &session, &event).session;
            // What is stored and read again goes on in the same way.
            let text = serde_json::to_string(&session).unwrap();
            session = serde_json::from_str(&text).unwrap();
            journal.push(event);
        }
        prop_assert_eq!(replay(&workflow, start, &journal), session);
    }

    #[test]
    fn unknown_events_change_nothing(machine in machines(), text in "[!-~]{0,12}") {
        let workflow = Workflow::new(machine);
        let session = Session::start(&workflow, "s", 0);
        let state = &workflow.root().states["s0"];
        let near = |name: &str| name.to_lowercase().contains(&text.to_lowercase());
        prop_assume!(state.safe_next.is_none() && !EVENTS.iter().chain(&STATES).any(|name| near(name)));
        let event = Event { at: 1, id: "e1".into(), what: What::Transition(Transition { event: text, ..Transition::default() }) };
        let stepped = step(&workflow, session.clone(), &event);
        prop_assert!(matches!(stepped.reply, Reply::Refused(_)), "{:?}", stepped.reply);
        prop_assert_eq!(stepped.session, session);
        prop_assert!(stepped.effects.is_empty());
    }

    #[test]
    fn return_restores_exactly(
        depth in 1..8_usize, reads in prop::collection::vec(0..4_usize, 8), files in prop::collection::vec("[a-c]{1,2}", 8),
    ) {
        let names: Vec<String> = (0..8).map(|at| format!("h{at}")).collect();
        let mut states: Vec<(&str, Value)> = vec![("a", json!({ "END": "done" }))];
        states.extend(names.iter().map(|name| (name.as_str(), json!({ "OK": "$return", "FAIL": "failed" }))));
        let interrupts: serde_json::Map<String, Value> = (0..8)
            .map(|at| (format!("i{at}"), json!({ "trigger": { "file_pattern": format!("{at}.lock") }, "target": format!("h{at}") })))
            .collect();
        let mut walk = Walk::new(&small(&states, json!({ "interrupts": interrupts })));
        let mut left = Vec::new();
        for at in 0..depth {
            for _ in 0..reads[at] {
                walk.send(What::Call(tool("r", "Read")));
            }
            walk.write(&[&files[at]]);
            // What is left is the visit as the firing command leaves it.
            let mut visit = walk.session.current.visit.clone();
            visit.files.insert(format!("{at}.lock"));
            left.push((walk.state().to_owned(), visit));
            let ended = Ended {
                call: "x".into(),
                touched: vec![Touch { path: format!("{at}.lock"), kept: true }],
                ..Ended::default()
            };
            walk.send(What::Ended(ended));
            prop_assert_eq!(walk.state(), format!("h{at}"));
        }
        while let Some((state, visit)) = left.pop() {
            walk.send(What::Call(tool("r", "Read")));
            walk.event("OK");
            prop_assert_eq!(walk.state(), state);
            prop_assert_eq!(&walk.session.current.visit, &visit);
        }
        walk.replays();
    }

    #[test]
    fn in_a_validated_machine_there_is_always_a_way_or_a_person(
        machine in machines(), events in prop::collection::vec(happenings(), 1..40),
    ) {
        let findings = crate::workflow::validate::validate(&machine);
        prop_assume!(findings.iter().all(|one| one.weight == crate::workflow::finding::Weight::Advice));
        let workflow = Workflow::new(machine).with("child", child());
        let mut session = Session::start(&workflow, "s", 0);
        for (at, what) in events.into_iter().enumerate() {
            let event = Event { at: at as u64, id: format!("e{}", at + 1), what };
            session = step(&workflow, session, &event).session;
            let machine = workflow.machine(&session.current.workflow).unwrap();
            let state = &machine.states[session.state()];
            let waits = session.pending.is_some() || session.fork.is_some();
            let goes_on = state.kind != StateKind::Final && !state.on.is_empty();
            prop_assert!(session.is_over() || waits || goes_on, "stuck in {:?}", session.state());
        }
    }
}

/// An edge over the border, in one of the forms, that asks a person.
fn crossing(form: usize, to: &str) -> Value {
    let asks = json!({ "target": to, "requires_approval": true });
    match form {
        0 => asks,
        1 => json!([asks]),
        2 => json!([{ "target": "s0", "guard": "never" }, asks]),
        3 => json!({ "invoke": "child", "on_complete": to, "requires_approval": true }),
        4 => json!({ "invoke": "child", "on_complete": "s0", "on_fail": to, "requires_approval": true }),
        5 => {
            json!({ "fork": { "branches": { "x": { "initial": "s0", "terminal": "s1" } }, "on_complete": to },
            "requires_approval": true })
        }
        _ => {
            json!({ "fork": { "branches": { "x": { "initial": to, "terminal": "s1" } }, "on_complete": "s0" },
            "requires_approval": true })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Below the border `s0` and `s1`, above it `s2` and `s3`; every edge over it asks. Nobody answers.
    #[test]
    fn no_form_of_edge_crosses_without_the_person(
        forms in prop::collection::vec((0..7_usize, 2..4_usize), 4),
        safe in prop::collection::vec(prop::option::of(2..4_usize), 2),
        limit in prop::option::of((1..4_u32, 0..3_usize)),
        acts in prop::collection::vec((0..11_usize, 0..3_u8), 1..24),
    ) {
        let names = ["CROSS", "LEAP", "PASS_ON", "JUMP"];
        let mut states = serde_json::Map::new();
        for (at, name) in ["s0", "s1"].into_iter().enumerate() {
            let mut on = json!({ "SIDE": STATES[1 - at] });
            for (event, (form, to)) in names.iter().zip(&forms).skip(2 * at).take(2) {
                on[*event] = crossing(*form, STATES[*to]);
            }
            let mut state = json!({ "allowed_tools": ["Read"], "on": on });
            if let Some(to) = safe[at] {
                state["safe_next"] = json!(STATES[to]);
            }
            if let Some((most, mode)) = limit {
                state["max_iterations"] = json!(most);
                let modes = ["checkpoint", "refuse", "fail"];
                state["on_max"] = json!(modes[mode]);
            }
            states.insert(name.into(), state);
        }
        for name in ["s2", "s3"] {
            states.insert(name.into(), json!({ "allowed_tools": ["Bash"], "on": { "END": "failed" } }));
        }
        states.insert("failed".into(), json!({ "type": "final" }));
        let guards = json!({ "never": { "field": "never", "op": "exists" } });
        let text = json!({ "id": "m", "initial": "s0", "states": states, "guards": guards }).to_string();
        let mut walk = Walk::of(Workflow::new(machine(&text)).with("child", child()));
        for (which, kind) in acts {
            match (kind, ["CROSS", "LEAP", "PASS_ON", "JUMP", "SIDE", "s2", "S3", "cros", "anything", "GO", "failed"][which]) {
                (0, _) => drop(walk.send(What::Call(tool("r", "Read")))),
                (_, text) => drop(walk.event(text)),
            }
            prop_assert!(["s0", "s1", "failed"].contains(&walk.state()), "in {:?}", walk.state());
            prop_assert!(walk.session.fork.is_none() && walk.session.callers.is_empty(), "{:?}", walk.last.reply);
        }
    }
}
