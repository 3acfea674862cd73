//! The way forward: the shortest path to a state that would allow the whole line.
//!
//! A hint is text for the agent, never a step taken: the published engine takes it by itself, past approvals.

use super::decision::{Hint, Step};
use crate::workflow::{ExitKind, Machine};

/// Edges that a hint may have: from planning to committing it is four.
const LONGEST: usize = 4;

/// The shortest path from `from` to a state that `allows`; among equally long ones the one that asks for least.
pub(super) fn path<'m>(
    machine: &'m Machine,
    from: &str,
    mut allows: impl FnMut(&str) -> bool,
) -> Option<(Vec<Step>, &'m str)> {
    let mut seen = vec![from.to_owned()];
    let mut level: Vec<(Vec<Step>, &str)> = vec![(Vec::new(), from)];
    for _ in 0..LONGEST {
        let mut next: Vec<(Vec<Step>, &str)> = Vec::new();
        for (steps, state) in &level {
            for exit in machine.exits(state) {
                let known = seen.iter().any(|name| name == exit.target);
                if known || matches!(exit.kind, ExitKind::Branch | ExitKind::Failure) {
                    continue;
                }
                let mut requires: Vec<String> = exit
                    .conditions
                    .map(|conditions| conditions.names().into_iter().map(str::to_owned).collect())
                    .unwrap_or_default();
                match exit.kind {
                    ExitKind::Fork => requires.push("fork".into()),
                    ExitKind::Invoke => requires.push("invoke".into()),
                    _ => {}
                }
                let mut path = steps.clone();
                path.push(Step { event: exit.event.to_owned(), target: exit.target.to_owned(), requires });
                next.push((path, exit.target));
            }
        }
        next.sort_by_key(|(path, _)| path.iter().map(|step| step.requires.len()).sum::<usize>());
        let mut fresh: Vec<(Vec<Step>, &str)> = Vec::new();
        for (path, state) in next {
            if seen.iter().all(|name| name != state) {
                seen.push(state.to_owned());
                let state = machine.states.get_key_value(state).map(|(name, _)| name.as_str());
                fresh.extend(state.map(|state| (path, state)));
            }
        }
        if let Some(found) = fresh.iter().find(|(_, state)| allows(state)) {
            let (path, state) = found.clone();
            let state = machine.states.get_key_value(state)?.0;
            return Some((path, state));
        }
        level = fresh;
    }
    None
}

impl Hint {
    /// A hint along `path` to a state that lists `grants`.
    pub(super) fn new(path: Vec<Step>, grants: Vec<String>) -> Self {
        Self { path, grants }
    }
}
