//! From the text of an event to an event of the state.
//!
//! Danger: the published engine is generous here and takes an edge that was not meant, past its conditions. Here an
//! edge found in any way is taken as a whole, with its guards, evidence and approval; what fits twice is an error.

use super::effect::Offer;
use super::refusal::{Refusal, RefusalCode};
use crate::workflow::model::{Conditions, Edge};
use crate::workflow::{Machine, State, StateKind, Target, Transition};

/// The least length of a text that is looked for inside the names of events.
const LEAST_PART: usize = 3;

/// An event of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolved<'m> {
    /// Its name in the file.
    pub(super) event: &'m str,
    /// The state that was asked for, where the text named one: the event must lead there.
    pub(super) asked: Option<&'m str>,
}

/// Finds the event that a text means: exact, else by a target state, else as part of one event's name, else
/// `safe_next`.
pub(super) fn resolve<'m>(
    machine: &'m Machine,
    state: &'m State,
    text: &str,
) -> Result<Resolved<'m>, Refusal> {
    if let Some((event, _)) = state.on.get_key_value(text) {
        return Ok(Resolved { event, asked: None });
    }
    if let Some(found) = by_target(state, text)? {
        return Ok(found);
    }
    if let Some(found) = by_part(state, text)? {
        return Ok(found);
    }
    if let Some(next) = state.safe_next.as_deref().filter(|next| is_open(machine, next))
        && let Some(event) = strictest(state, next)
    {
        return Ok(Resolved { event, asked: Some(next) });
    }
    Err(Refusal::new(RefusalCode::NoSuchEvent, "this state has no such event").offering(offers(state)))
}

/// Whether `name` is a state that is not final.
fn is_open(machine: &Machine, name: &str) -> bool {
    machine.states.get(name).is_some_and(|state| state.kind != StateKind::Final)
}

/// The unique target state that the text names, case aside, and the strictest event that leads there.
fn by_target<'m>(state: &'m State, text: &str) -> Result<Option<Resolved<'m>>, Refusal> {
    let mut named: Vec<&str> = Vec::new();
    for target in state.on.values().flat_map(edges).filter_map(|edge| edge.target.state()) {
        if same_text(target, text) && !named.contains(&target) {
            named.push(target);
        }
    }
    match named.as_slice() {
        [] => Ok(None),
        [target] => Ok(strictest(state, target).map(|event| Resolved { event, asked: Some(target) })),
        _ => Err(ambiguous(state, "the text fits more than one target state", |event| {
            state.on.get(event).is_some_and(|transition| {
                edges(transition)
                    .iter()
                    .any(|edge| edge.target.state().is_some_and(|one| named.contains(&one)))
            })
        })),
    }
}

fn by_part<'m>(state: &'m State, text: &str) -> Result<Option<Resolved<'m>>, Refusal> {
    if text.chars().count() < LEAST_PART {
        return Ok(None);
    }
    let part = text.to_lowercase();
    let fits = |event: &str| event.to_lowercase().contains(&part);
    let mut found = state.on.keys().filter(|event| fits(event));
    let Some(event) = found.next() else { return Ok(None) };
    if found.next().is_some() {
        return Err(ambiguous(state, "the text fits more than one event", fits));
    }
    Ok(Some(Resolved { event, asked: None }))
}

fn same_text(left: &str, right: &str) -> bool {
    left == right || left.to_lowercase() == right.to_lowercase()
}

fn ambiguous(state: &State, message: &str, fits: impl Fn(&str) -> bool) -> Refusal {
    let fitting: Vec<Offer> = offers(state).into_iter().filter(|offer| fits(&offer.event)).collect();
    let names: Vec<&str> = fitting.iter().map(|offer| offer.event.as_str()).collect();
    Refusal::new(RefusalCode::AmbiguousEvent, format!("{message}: {}", names.join(", "))).offering(fitting)
}

/// The plain edges of a transition. A fork or an invocation leads to its continuation only after its work, so neither
/// is an edge to it.
pub(super) fn edges(transition: &Transition) -> &[Edge] {
    match transition {
        Transition::To(edge) => std::slice::from_ref(edge),
        Transition::Branches(edges) => edges,
        Transition::Fork(_) | Transition::Invoke(_) => &[],
    }
}

/// Of the events with an edge to `target`, the one whose edge asks for most.
pub(super) fn strictest<'m>(state: &'m State, target: &str) -> Option<&'m str> {
    let mut best: Option<((bool, usize, usize), &str)> = None;
    for (event, transition) in &state.on {
        for edge in edges(transition).iter().filter(|edge| edge.target.state() == Some(target)) {
            let rank = rank(&edge.conditions);
            if best.is_none_or(|(present, _)| present < rank) {
                best = Some((rank, event));
            }
        }
    }
    best.map(|(_, event)| event)
}

fn rank(conditions: &Conditions) -> (bool, usize, usize) {
    (conditions.approval.is_some(), conditions.evidence.len(), conditions.guards.len())
}

/// The events of a state, as they are offered.
pub(super) fn offers(state: &State) -> Vec<Offer> {
    let name = |target: &Target| target.state().unwrap_or("$return").to_owned();
    let offer = |(event, transition): (&String, &Transition)| {
        let (mut targets, mut requires): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut ask = |conditions: &Conditions| {
            for asked in conditions.names() {
                if requires.iter().all(|present| present != asked) {
                    requires.push(asked.to_owned());
                }
            }
        };
        match transition {
            Transition::To(_) | Transition::Branches(_) => {
                for edge in edges(transition) {
                    ask(&edge.conditions);
                    let target = name(&edge.target);
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
            }
            Transition::Fork(fork) => {
                ask(&fork.conditions);
                requires.push("fork".to_owned());
                targets.push(name(&fork.on_complete));
            }
            Transition::Invoke(invoke) => {
                ask(&invoke.conditions);
                requires.push("invoke".to_owned());
                targets.push(name(&invoke.on_complete));
            }
        }
        Offer { event: event.clone(), targets, requires }
    };
    state.on.iter().map(offer).collect()
}
