//! A workflow as one table: its states, and what each may do. Not read off the file but asked of the policy, with one
//! plain command for each kind of act.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::report::JSON_VERSION;
use super::workflows;
use crate::classify::{Environment, classify_line};
use crate::diagnostic::Diagnostic;
use crate::policy::{Decision, Policy, RuleSet};

/// The acts, and the command that stands for each.
const ACTS: [(&str, &str); 10] = [
    ("list", "ls"),
    ("read", "cat f"),
    ("write", "echo x > f"),
    ("remove", "rm f"),
    ("wipe", "rm -rf d"),
    ("run", "./program"),
    ("git-read", "git log"),
    ("commit", "git commit -m x"),
    ("push", "git push"),
    ("network", "curl https://example.org"),
];

/// One state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateActs {
    /// Its name.
    pub state: String,
    /// Whether it is final.
    pub is_final: bool,
    /// The decision on each act, in the order of [`Overview::acts`].
    pub decisions: Vec<Decision>,
    /// How commands may begin, where that is listed.
    pub commands: Option<Vec<String>>,
    /// The edges: event, target, what it asks for.
    pub edges: Vec<(String, String, Vec<String>)>,
}

/// A workflow's states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The workflow's name.
    pub workflow: String,
    /// `builtin`, or the file.
    pub origin: String,
    /// The state where a session starts.
    pub initial: String,
    /// The names of the acts.
    pub acts: Vec<&'static str>,
    /// The states in source order.
    pub states: Vec<StateActs>,
}

/// Where the commands that stand for the acts would run; no such place need exist.
const WORKSPACE: &str = "/work/project";

/// What each state of a workflow may do, anywhere.
///
/// # Errors
/// One that cannot be found, loaded or compiled.
pub fn overview(workflow: &OsStr) -> Result<Overview, Diagnostic> {
    let chosen = workflows::choose(Some(workflow), None)?;
    let machine = &chosen.loaded.machine;
    let compiled = Policy::compile(machine, RuleSet::default()).map(|policy| policy.within(WORKSPACE));
    let policy = compiled.map_err(|problems| {
        let first = problems.into_iter().next();
        first.unwrap_or_else(|| Diagnostic::new("rule_prefix", "a rule cannot be used"))
    })?;
    let environment =
        Environment { cwd: WORKSPACE.to_owned(), home: "/home/user".to_owned(), ..Environment::default() };
    let mut states = Vec::new();
    for (name, state) in &machine.states {
        let of_state = policy.require_state(name)?;
        let decide = |(_, line): &(&str, &str)| {
            policy.evaluate(of_state, line, &classify_line(line, &environment)).decision
        };
        let edge = |exit: &crate::workflow::exit::Exit<'_>| {
            let asks = exit.conditions.iter().flat_map(|conditions| conditions.names());
            (exit.event.to_owned(), exit.target.to_owned(), asks.map(str::to_owned).collect())
        };
        states.push(StateActs {
            state: name.clone(),
            is_final: of_state.is_final,
            decisions: ACTS.iter().map(decide).collect(),
            commands: state.allowed_commands.clone().filter(|_| of_state.executes()),
            edges: machine.exits(name).iter().map(edge).collect(),
        });
    }
    Ok(Overview {
        workflow: machine.id.clone(),
        origin: chosen.origin.clone(),
        initial: machine.initial.clone(),
        acts: ACTS.iter().map(|(name, _)| *name).collect(),
        states,
    })
}

impl Overview {
    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        let states: Vec<Value> = self
            .states
            .iter()
            .map(|state| {
                let acts: serde_json::Map<String, Value> = self
                    .acts
                    .iter()
                    .zip(&state.decisions)
                    .map(|(act, decision)| ((*act).to_owned(), json!(decision)))
                    .collect();
                let edges: Vec<Value> = state
                    .edges
                    .iter()
                    .map(
                        |(event, target, asks)| json!({ "event": event, "target": target, "requires": asks }),
                    )
                    .collect();
                json!({
                    "state": state.state, "final": state.is_final, "acts": acts,
                    "allowed_commands": state.commands, "events": edges,
                })
            })
            .collect();
        json!({
            "version": JSON_VERSION, "workflow": self.workflow, "origin": self.origin,
            "initial": self.initial, "states": states,
        })
    }
}
