//! The ways out of a state, in every form the format has, flattened for search: hints, reachability, diagrams.

use super::model::{Conditions, Machine, StateKind, Target, Transition};

/// How a way out is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitKind {
    /// An event with one target or one of its branches.
    Event,
    /// A fork's continuation.
    Fork,
    /// An invoked workflow's continuation.
    Invoke,
    /// Where a fork or an invoked workflow goes when it fails.
    Failure,
    /// A branch of a fork: a child session starts there.
    Branch,
    /// `safe_next`.
    Safe,
    /// An interrupt: any state may be left that way.
    Interrupt,
}

/// One way out of a state into another.
#[derive(Debug, Clone, Copy)]
pub struct Exit<'m> {
    /// The event, or the interrupt's name.
    pub event: &'m str,
    /// The target state.
    pub target: &'m str,
    /// How it is written.
    pub kind: ExitKind,
    /// What it asks for, where the form can ask.
    pub conditions: Option<&'m Conditions>,
}

impl Exit<'_> {
    /// Whether a person must say yes.
    pub fn needs_approval(&self) -> bool {
        self.conditions.is_some_and(|conditions| conditions.approval.is_some())
    }
}

impl Machine {
    /// Every way out of `state` by its events, in source order; `$return` leads nowhere fixed and is left out.
    pub fn exits<'m>(&'m self, state: &str) -> Vec<Exit<'m>> {
        let mut exits = Vec::new();
        let Some(state) = self.states.get(state).filter(|state| state.kind != StateKind::Final) else {
            return exits;
        };
        for (event, transition) in &state.on {
            let mut add = |kind, target: &'m Target, conditions| {
                if let Target::State(target) = target {
                    exits.push(Exit { event, target, kind, conditions: Some(conditions) });
                }
            };
            match transition {
                Transition::To(edge) => add(ExitKind::Event, &edge.target, &edge.conditions),
                Transition::Branches(edges) => {
                    for edge in edges {
                        add(ExitKind::Event, &edge.target, &edge.conditions);
                    }
                }
                Transition::Fork(fork) => {
                    add(ExitKind::Fork, &fork.on_complete, &fork.conditions);
                    if let Some(target) = &fork.on_fail {
                        add(ExitKind::Failure, target, &fork.conditions);
                    }
                    for branch in fork.branches.values() {
                        let conditions = Some(&fork.conditions);
                        exits.push(Exit {
                            event,
                            target: &branch.initial,
                            kind: ExitKind::Branch,
                            conditions,
                        });
                    }
                }
                Transition::Invoke(invoke) => {
                    add(ExitKind::Invoke, &invoke.on_complete, &invoke.conditions);
                    if let Some(target) = &invoke.on_fail {
                        add(ExitKind::Failure, target, &invoke.conditions);
                    }
                }
            }
        }
        exits
    }

    /// Every way out of `state`: its events, `safe_next`, and the interrupts (which fire in any state that is not final).
    pub fn all_exits<'m>(&'m self, state: &str) -> Vec<Exit<'m>> {
        let mut exits = self.exits(state);
        let Some(found) = self.states.get(state).filter(|state| state.kind != StateKind::Final) else {
            return exits;
        };
        if let Some(target) = &found.safe_next {
            // It rides on a plain edge to that state and keeps its conditions, the strictest; without one it is never
            // taken. A fork or an invocation leads to its continuation only after its work.
            let rides = exits.iter().filter(|exit| exit.target == target && exit.kind == ExitKind::Event);
            if let Some(ridden) = rides.max_by_key(|exit| exit.needs_approval()) {
                let conditions = ridden.conditions;
                exits.push(Exit { event: "safe_next", target, kind: ExitKind::Safe, conditions });
            }
        }
        for (name, interrupt) in &self.interrupts {
            let target = &interrupt.target;
            exits.push(Exit { event: name, target, kind: ExitKind::Interrupt, conditions: None });
        }
        exits
    }
}
