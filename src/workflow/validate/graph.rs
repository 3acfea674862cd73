//! The ways through a workflow, and through those that it invokes, for search.
//!
//! Danger: a way that the engine takes and that is missing here lets a machine climb unasked. Where an invoked workflow
//! is at hand, the ways lead through its states; where it is not, over it, to where the caller goes on.

use super::super::exit::{Exit, ExitKind};
use super::super::model::{Invoke, Machine, OnMax, State, StateKind, Target, Transition};
use super::Invoked;

/// A workflow of the graph; the first is the one that is checked.
pub(super) struct Part<'m> {
    pub(super) machine: &'m Machine,
    /// How it is told from the others.
    pub(super) label: &'m str,
    /// The level of each state.
    pub(super) levels: Vec<u8>,
    /// The ways out of each state into others of the same machine.
    ways: Vec<Vec<(usize, Exit<'m>)>>,
    /// The ways that nobody sends: to the failure state by a limit, or by a child's failure without `on_fail`.
    falls: Vec<Vec<(usize, Exit<'m>)>>,
    /// The workflows that each state invokes, as far as they are at hand.
    calls: Vec<Vec<Call<'m>>>,
    /// The index of its first state among all.
    first: usize,
}

/// An invocation of a workflow that is at hand.
struct Call<'m> {
    event: &'m str,
    invoke: &'m Invoke,
    child: usize,
    on_complete: Option<usize>,
    on_fail: Option<usize>,
}

/// A state during a search. What was entered by an invocation on the way goes back only to there (`below`); what the
/// search began in goes back to whoever may have invoked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) part: usize,
    pub(super) state: usize,
    pub(super) below: bool,
}

/// All workflows at hand.
pub(super) struct Graph<'m> {
    pub(super) parts: Vec<Part<'m>>,
}

impl<'m> Graph<'m> {
    /// The graph of `root` and of those among `invoked` that could be had.
    pub(super) fn new(
        root: &'m Machine,
        invoked: &'m [Invoked<'m>],
        level: impl Fn(&Machine) -> Vec<u8>,
    ) -> Self {
        let members =
            invoked.iter().filter_map(|one| Some((one.name, one.label, one.machine.as_ref().ok()?)));
        let all: Vec<(&str, &str, &Machine)> = std::iter::once((root.id.as_str(), root.id.as_str(), root))
            .chain(members.map(|(name, label, machine)| (name, label, *machine)))
            .collect();
        // As the engine looks: by name, then by id.
        let find = |name: &str| {
            let named = all.iter().position(|(known, _, _)| *known == name);
            named.or_else(|| all.iter().position(|(_, _, machine)| machine.id == name))
        };
        let mut parts: Vec<Part<'m>> = Vec::new();
        for (_, label, machine) in &all {
            let first = parts.last().map_or(0, |last| last.first + last.levels.len());
            let at = |target: &Target| machine.states.get_index_of(target.state()?);
            let calls: Vec<Vec<Call<'m>>> = machine
                .states
                .values()
                .map(|state| {
                    let on = state.on.iter().filter(|_| state.kind != StateKind::Final);
                    on.filter_map(|(event, transition)| {
                        let Transition::Invoke(invoke) = transition else { return None };
                        Some(Call {
                            event,
                            invoke,
                            child: find(&invoke.workflow)?,
                            on_complete: at(&invoke.on_complete),
                            on_fail: invoke.on_fail.as_ref().and_then(at),
                        })
                    })
                    .collect()
                })
                .collect();
            let ways = machine.states.keys().zip(&calls).map(|(name, calls)| {
                let through = |exit: &Exit<'_>| {
                    exit.kind == ExitKind::Invoke && calls.iter().any(|call| call.event == exit.event)
                };
                let exits = machine.all_exits(name).into_iter().filter(|exit| !through(exit));
                exits.filter_map(|exit| Some((machine.states.get_index_of(exit.target)?, exit))).collect()
            });
            let ways = ways.collect();
            let falls = machine.states.values().map(|state| falls(machine, state)).collect();
            parts.push(Part { machine, label, levels: level(machine), ways, falls, calls, first });
        }
        Self { parts }
    }

    /// Every state, part by part.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        self.parts
            .iter()
            .enumerate()
            .flat_map(|(part, of)| (0..of.levels.len()).map(move |state| Spot { part, state, below: false }))
    }

    pub(super) fn name(&self, spot: Spot) -> &'m str {
        self.parts[spot.part].machine.states.get_index(spot.state).map_or("", |(name, _)| name)
    }

    pub(super) fn level(&self, spot: Spot) -> u8 {
        self.parts[spot.part].levels[spot.state]
    }

    pub(super) fn is_final(&self, spot: Spot) -> bool {
        let states = &self.parts[spot.part].machine.states;
        states.get_index(spot.state).is_some_and(|(_, state)| state.kind == StateKind::Final)
    }

    /// Whether it is a final state that stands for failure.
    pub(super) fn is_failure(&self, spot: Spot) -> bool {
        self.is_final(spot) && self.parts[spot.part].machine.is_failure(self.name(spot))
    }

    pub(super) fn initial(&self, part: usize) -> Spot {
        let machine = self.parts[part].machine;
        Spot { part, state: machine.states.get_index_of(&machine.initial).unwrap_or(0), below: false }
    }

    /// The first invocation in the root by which a part is reached: state and event.
    pub(super) fn entrance(&self, part: usize) -> Option<(&'m str, &'m str)> {
        let root = self.parts.first()?;
        root.calls.iter().enumerate().find_map(|(state, calls)| {
            let call = calls.iter().find(|call| self.reaches(call.child, part, &mut Vec::new()))?;
            Some((self.name(Spot { part: 0, state, below: false }), call.event))
        })
    }

    fn reaches(&self, from: usize, part: usize, seen: &mut Vec<usize>) -> bool {
        if from == part {
            return true;
        }
        if seen.contains(&from) {
            return false;
        }
        seen.push(from);
        self.parts[from].calls.iter().flatten().any(|call| self.reaches(call.child, part, seen))
    }

    /// The graph with those edges only that `follow` takes. `limits`: also what nobody sends; an invoked workflow may
    /// then end in any state, by its limit of steps.
    pub(super) fn by<F: Fn(&Exit<'_>) -> bool>(&self, follow: F, limits: bool) -> View<'_, 'm, F> {
        let mut view = View { graph: self, follow, limits, succeeds: vec![false; self.parts.len()] };
        if self.parts.iter().all(|part| part.calls.iter().all(Vec::is_empty)) {
            return view;
        }
        // Which of them can end well, each by those that are known to: until no more follow.
        let mut changed = true;
        while changed {
            changed = false;
            for part in 0..self.parts.len() {
                if view.succeeds[part] {
                    continue;
                }
                let start = self.initial(part);
                let walk = view.walk(start, false);
                let well = |spot: Spot| {
                    spot.part == part && !spot.below && self.is_final(spot) && !self.is_failure(spot)
                };
                view.succeeds[part] = std::iter::once(start).chain(walk.reached()).any(well);
                changed |= view.succeeds[part];
            }
        }
        view
    }

    fn count(&self) -> usize {
        self.parts.last().map_or(0, |last| last.first + last.levels.len())
    }

    fn index(&self, spot: Spot) -> usize {
        (self.parts[spot.part].first + spot.state) * 2 + usize::from(spot.below)
    }
}

/// The ways of a state to the failure state that no edge says.
fn falls<'m>(machine: &'m Machine, state: &'m State) -> Vec<(usize, Exit<'m>)> {
    let Some(target) = machine.failure_state().filter(|_| state.kind != StateKind::Final) else {
        return Vec::new();
    };
    let Some(at) = machine.states.get_index_of(target) else { return Vec::new() };
    let fails = state.on.iter().filter_map(|(event, transition)| match transition {
        Transition::Invoke(invoke) if invoke.on_fail.is_none() => Some((event.as_str(), &invoke.conditions)),
        Transition::Fork(fork) if fork.on_fail.is_none() => Some((event.as_str(), &fork.conditions)),
        Transition::To(_) | Transition::Branches(_) | Transition::Fork(_) | Transition::Invoke(_) => None,
    });
    let fall = |event, conditions| (at, Exit { event, target, kind: ExitKind::Failure, conditions });
    let limited = state.on_max == OnMax::Fail && state.max_iterations.is_some();
    let limit = limited.then(|| fall("(its limit)", None));
    fails.map(|(event, conditions)| fall(event, Some(conditions))).chain(limit).collect()
}

/// The graph by some of its edges.
pub(super) struct View<'g, 'm, F> {
    graph: &'g Graph<'m>,
    follow: F,
    limits: bool,
    /// Whether each part can end well from its beginning.
    succeeds: Vec<bool>,
}

impl<'m, F: Fn(&Exit<'_>) -> bool> View<'_, 'm, F> {
    /// What can be reached from a state; with `up` also after its workflow has ended, in whatever may have invoked it.
    pub(super) fn walk(&self, from: Spot, up: bool) -> Walk<'m> {
        let mut walk = Walk { from, by: vec![None; self.graph.count() * 2], order: Vec::new() };
        let mut next = 0;
        let mut spot = from;
        loop {
            self.next(spot, up, |to, event| {
                let entry = &mut walk.by[self.graph.index(to)];
                if to != from && entry.is_none() {
                    *entry = Some((spot, event));
                    walk.order.push(to);
                }
            });
            let Some(following) = walk.order.get(next) else { return walk };
            spot = *following;
            next += 1;
        }
    }

    fn next(&self, spot: Spot, up: bool, mut add: impl FnMut(Spot, &'m str)) {
        let part = &self.graph.parts[spot.part];
        for (target, exit) in &part.ways[spot.state] {
            if (self.follow)(exit) {
                add(Spot { state: *target, ..spot }, exit.event);
            }
        }
        let falls = part.falls[spot.state].iter().filter(|(_, exit)| self.limits && (self.follow)(exit));
        falls.for_each(|(target, exit)| add(Spot { state: *target, ..spot }, exit.event));
        for call in &part.calls[spot.state] {
            let conditions = Some(&call.invoke.conditions);
            let child = self.graph.parts[call.child].machine;
            let exit = Exit { event: call.event, target: &child.initial, kind: ExitKind::Invoke, conditions };
            if !(self.follow)(&exit) {
                continue;
            }
            add(Spot { below: true, ..self.graph.initial(call.child) }, call.event);
            if let Some(state) = call.on_complete.filter(|_| self.succeeds[call.child]) {
                add(Spot { state, ..spot }, call.event);
            }
        }
        if !up || spot.below {
            return;
        }
        let is_final = self.graph.is_final(spot);
        if !is_final && !self.limits {
            return;
        }
        let well = is_final && !self.graph.is_failure(spot);
        for (caller, of) in self.graph.parts.iter().enumerate() {
            for call in of.calls.iter().flatten().filter(|call| call.child == spot.part) {
                let fallen =
                    || of.machine.failure_state().and_then(|name| of.machine.states.get_index_of(name));
                let unsaid = call.invoke.on_fail.is_none().then(fallen).flatten();
                let target = if well { call.on_complete } else { call.on_fail.or(unsaid) };
                if let Some(state) = target {
                    add(Spot { part: caller, state, below: false }, "(its end)");
                }
            }
        }
    }
}

/// A breadth-first search: for each state that was reached, the state and the event that led there first.
pub(super) struct Walk<'m> {
    from: Spot,
    by: Vec<Option<(Spot, &'m str)>>,
    order: Vec<Spot>,
}

impl<'m> Walk<'m> {
    pub(super) fn reached(&self) -> impl Iterator<Item = Spot> + '_ {
        self.order.iter().copied()
    }

    /// The shortest way to `target`: each step's beginning, its event, and its end.
    pub(super) fn way(&self, graph: &Graph<'m>, target: Spot) -> Vec<(Spot, &'m str, Spot)> {
        let mut steps = Vec::new();
        let mut at = target;
        while at != self.from {
            let Some((previous, event)) = self.by[graph.index(at)] else { break };
            steps.push((previous, event, at));
            at = previous;
        }
        steps.reverse();
        steps
    }
}
