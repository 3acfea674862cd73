//! The engine on small machines; `walk` is a session with a clock and ids of its own.

mod approvals;
mod calls;
mod children;
mod interrupts;
mod properties;
mod transitions;

use serde_json::{Value, json};

use super::*;
use crate::policy::{Decision, NetworkRight, WorkspaceRight};
use crate::workflow::load;

/// A session that is sent events.
#[derive(Debug, Clone)]
struct Walk {
    workflow: Workflow,
    session: Session,
    start: Session,
    events: Vec<Event>,
    last: Stepped,
    at: u64,
}

fn machine(text: &str) -> crate::workflow::Machine {
    load(text.as_bytes()).unwrap_or_else(|all| panic!("{text}\n{all:#?}")).machine
}

impl Walk {
    fn new(text: &str) -> Self {
        Self::of(Workflow::new(machine(text)))
    }

    fn of(workflow: Workflow) -> Self {
        let session = Session::start(&workflow, "s", 1000);
        let last = Stepped {
            session: session.clone(),
            effects: Vec::new(),
            reply: Reply::Noted,
            records: Vec::new(),
        };
        Self { workflow, start: session.clone(), session, events: Vec::new(), last, at: 1000 }
    }

    fn built_in(name: &str) -> Self {
        Self::new(crate::workflow::builtin::builtin(name).unwrap().source)
    }

    fn send(&mut self, what: What) -> Reply {
        self.at += 1;
        let event = Event { at: self.at, id: format!("e{}", self.events.len() + 1), what };
        self.last = step(&self.workflow, self.session.clone(), &event);
        self.session = self.last.session.clone();
        for record in &self.last.records {
            round_trip(record);
        }
        for effect in &self.last.effects {
            round_trip(effect);
        }
        round_trip(&self.last.reply);
        self.events.push(event);
        self.last.reply.clone()
    }

    fn event(&mut self, event: &str) -> Reply {
        self.with(event, Value::Null)
    }

    fn with(&mut self, event: &str, data: Value) -> Reply {
        self.send(What::Transition(Transition { event: event.into(), data, ..Transition::default() }))
    }

    /// The code of the refusal that the event gets.
    fn code(&mut self, event: &str) -> RefusalCode {
        refusal(self.event(event)).code
    }

    fn approve(&mut self, id: &str) -> Reply {
        self.send(What::Approve(Answer {
            approval: id.into(),
            channel: "terminal".into(),
            ..Answer::default()
        }))
    }

    /// A foreground command with these rights, begun.
    fn begin(&mut self, call: &str, workspace: WorkspaceRight, background: bool) -> Reply {
        let held = Held { workspace, git_write: false, network: NetworkRight::None };
        self.send(What::Call(Call { held: Some(held), background, ..tool(call, "Bash") }))
    }

    fn end(&mut self, call: &str, touched: &[&str]) -> Reply {
        let touched = touched.iter().map(|path| Touch { path: (*path).into(), kept: true }).collect();
        let ended = Ended { call: call.into(), exit_code: Some(0), touched, ..Ended::default() };
        self.send(What::Ended(ended))
    }

    /// A command that writes these files, begun and ended.
    fn write(&mut self, touched: &[&str]) {
        let call = format!("w{}", self.events.len());
        self.begin(&call, WorkspaceRight::Write, false);
        self.end(&call, touched);
    }

    fn state(&self) -> &str {
        self.session.state()
    }

    fn notices(&self) -> Vec<NoticeCode> {
        let code = |effect: &Effect| match effect {
            Effect::Notice(notice) => Some(notice.code),
            _ => None,
        };
        self.last.effects.iter().filter_map(code).collect()
    }

    /// Replay of everything that was sent gives the session that is there.
    fn replays(&self) {
        assert_eq!(replay(&self.workflow, self.start.clone(), &self.events), self.session);
        let text = serde_json::to_string(&self.events).unwrap();
        let events: Vec<Event> = serde_json::from_str(&text).unwrap();
        assert_eq!(events, self.events);
        let text = serde_json::to_string(&self.session).unwrap();
        assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), self.session);
    }
}

/// What is written is read again as the same.
fn round_trip<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
}

fn tool(call: &str, tool: &str) -> Call {
    Call {
        call: call.into(),
        tool: tool.into(),
        decision: Decision::Allow,
        counts: true,
        writes: false,
        edit: None,
        command: None,
        question: None,
        held: None,
        background: false,
    }
}

fn refusal(reply: Reply) -> Refusal {
    match reply {
        Reply::Refused(refusal) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn moved(reply: &Reply) -> (&str, &str) {
    match reply {
        Reply::Moved { from, to, .. } => (from, to),
        other => panic!("not moved: {other:?}"),
    }
}

/// A machine of states that read, write and run, each with these events; `done` and `failed` are final.
fn small(states: &[(&str, Value)], more: Value) -> String {
    let mut all = serde_json::Map::new();
    for (name, on) in states {
        all.insert((*name).into(), json!({ "allowed_tools": ["Read", "Write", "Bash"], "on": on }));
    }
    all.insert("done".into(), json!({ "type": "final" }));
    all.insert("failed".into(), json!({ "type": "final" }));
    let mut text = json!({ "id": "m", "initial": states[0].0, "states": all });
    if let (Value::Object(text), Value::Object(more)) = (&mut text, more) {
        for (key, value) in more {
            if let (Some(Value::Object(present)), Value::Object(value)) = (text.get_mut(&key), &value) {
                for (name, state) in value {
                    present.insert(name.clone(), state.clone());
                }
            } else {
                text.insert(key, value);
            }
        }
    }
    text.to_string()
}

#[test]
fn each_refusal_has_its_row() {
    for row in super::refusal::TABLE {
        assert_eq!(serde_json::to_value(row.code).unwrap(), row.name);
        assert_eq!(super::refusal::TABLE.iter().filter(|other| other.code == row.code).count(), 1);
    }
}
