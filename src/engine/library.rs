//! The workflows of a session, pinned and compiled: the root and everything it may invoke.
//!
//! Danger: a workflow that is looked up later than at the session's start could be another law by then.

use super::session::{Frame, Session};
use crate::policy::StateLaw;
use crate::workflow::{Machine, State, Transition};

/// A workflow with those that it may invoke.
#[derive(Debug, Clone)]
pub struct Workflow {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    name: String,
    machine: Machine,
    laws: Vec<StateLaw>,
}

impl Entry {
    fn new(name: String, machine: Machine) -> Self {
        let laws = machine.states.iter().map(|(name, state)| StateLaw::new(name, state)).collect();
        Self { name, machine, laws }
    }
}

impl Workflow {
    /// A workflow alone.
    pub fn new(root: Machine) -> Self {
        Self { entries: vec![Entry::new(root.id.clone(), root)] }
    }

    /// With one that it may invoke by this name. A name that is there already keeps its first meaning.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, machine: Machine) -> Self {
        let name = name.into();
        if self.entry(&name).is_none() {
            self.entries.push(Entry::new(name, machine));
        }
        self
    }

    /// The root.
    pub fn root(&self) -> &Machine {
        &self.entries[0].machine
    }

    /// The root's name.
    pub fn root_name(&self) -> &str {
        &self.entries[0].name
    }

    /// All of them, the root first.
    pub fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.entries.iter().map(|entry| &entry.machine)
    }

    /// The machine of that name.
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        self.entry(name).map(|entry| &entry.machine)
    }

    /// The names that are invoked somewhere and that none of the workflows bears: what the caller must look for before
    /// the session starts.
    pub fn missing(&self) -> Vec<&str> {
        let mut missing: Vec<&str> = Vec::new();
        let states = self.entries.iter().flat_map(|entry| entry.machine.states.values());
        for transition in states.flat_map(|state| state.on.values()) {
            if let Transition::Invoke(invoke) = transition
                && self.entry(&invoke.workflow).is_none()
                && !missing.contains(&invoke.workflow.as_str())
            {
                missing.push(&invoke.workflow);
            }
        }
        missing
    }

    /// The law of the state that a session is in; none where the workflow has no such state.
    pub fn law(&self, session: &Session) -> Option<&StateLaw> {
        self.law_of(&session.current)
    }

    /// The law of a frame's state.
    pub(super) fn law_of(&self, frame: &Frame) -> Option<&StateLaw> {
        self.at(frame).map(|(_, _, law)| law)
    }

    /// Machine and state of a frame.
    pub(super) fn state_of(&self, frame: &Frame) -> Option<(&Machine, &State)> {
        self.at(frame).map(|(machine, state, _)| (machine, state))
    }

    /// Machine, state and law of a frame.
    pub(super) fn at(&self, frame: &Frame) -> Option<(&Machine, &State, &StateLaw)> {
        let entry = self.entry(&frame.workflow)?;
        let (at, _, state) = entry.machine.states.get_full(frame.state.as_str())?;
        Some((&entry.machine, state, entry.laws.get(at)?))
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name).or_else(|| {
            // By id where no name fits: a file is known by both.
            self.entries.iter().find(|entry| entry.machine.id == name)
        })
    }
}
