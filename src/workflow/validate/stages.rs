//! Stages 2 to 6: a way to fail, a quiet start, a gate, and no climb without a person.

use super::super::effective::EffectiveTools;
use super::super::exit::{Exit, ExitKind};
use super::super::finding::{Finding, Stage};
use super::super::model::{Danger, Edge, Machine, StateKind, Target, Transition};
use super::super::prefix;
use super::super::span::Path;
use super::super::tool::Family;

/// The level from which a climb needs an approval.
const GUARDED: u8 = 3;
/// A climb by so much needs one.
const CLIMB: u8 = 2;

/// The problems of stages 2 to 6.
pub(super) fn check(machine: &Machine) -> Vec<Finding> {
    let levels = machine.states.values().map(|state| {
        let tools = EffectiveTools::of(state);
        let own = tools.level(machine);
        let runs = tools.known.iter().any(|id| id.tool().family == Family::Execute);
        own.max(state.allowed_commands.as_deref().filter(|_| runs).map_or(0, commands))
    });
    let check = Check::new(machine, levels.collect());
    let mut findings = check.failure();
    if machine.meta.danger >= Danger::Moderate {
        findings.extend(check.quiet_start());
        findings.extend(check.gate());
    }
    findings.extend(check.ladder());
    findings
}

/// The level that a command list grants.
fn commands(entries: &[String]) -> u8 {
    let classes = entries.iter().flat_map(|entry| prefix::grant(&prefix::words(entry)).classes.iter());
    classes.map(prefix::class_level).max().unwrap_or(0)
}

struct Check<'m> {
    machine: &'m Machine,
    levels: Vec<u8>,
    /// The ways out of each state, with the position of the target.
    exits: Vec<Vec<(usize, Exit<'m>)>>,
}

fn state_path(name: &str) -> Path {
    Path::root().key("states").key(name)
}

impl<'m> Check<'m> {
    fn new(machine: &'m Machine, levels: Vec<u8>) -> Self {
        let exits = machine.states.keys().map(|name| {
            let exits = machine.all_exits(name).into_iter();
            exits.filter_map(|exit| Some((machine.states.get_index_of(exit.target)?, exit))).collect()
        });
        Self { machine, levels, exits: exits.collect() }
    }

    fn name(&self, at: usize) -> &'m str {
        self.machine.states.get_index(at).map_or("", |(name, _)| name)
    }

    fn is_final(&self, at: usize) -> bool {
        self.machine.states.get_index(at).is_some_and(|(_, state)| state.kind == StateKind::Final)
    }

    /// Whether an event of the state goes back to where an interrupt came from.
    fn returns(&self, at: usize) -> bool {
        let state = self.machine.states.get_index(at).map(|(_, state)| state);
        let back = |edge: &Edge| edge.target == Target::Return;
        state.is_some_and(|state| {
            state.on.values().any(|transition| match transition {
                Transition::To(edge) => back(edge),
                Transition::Branches(edges) => edges.iter().any(back),
                Transition::Fork(_) | Transition::Invoke(_) => false,
            })
        })
    }

    fn failure(&self) -> Vec<Finding> {
        let count = self.levels.len();
        let ends: Vec<bool> =
            (0..count).map(|at| self.is_final(at) && self.machine.is_failure(self.name(at))).collect();
        if !ends.contains(&true) {
            let path = Path::root().key("states");
            return vec![
                Finding::violation(
                    Stage::FailureState,
                    "no_failure_state",
                    path,
                    "no final state stands for failure",
                )
                .help("add `\"failed\": {\"type\": \"final\"}`, or name one under `meta.failure_states`"),
            ];
        }
        // An interrupt is nothing that an agent can send. Its handler goes back with `$return`, to a state that must
        // have a way of its own; where only events led, there is nothing to return to.
        let sent = |exit: &Exit<'_>| exit.kind != ExitKind::Interrupt;
        let initial = self.machine.states.get_index_of(&self.machine.initial).unwrap_or(0);
        let by_events = self.reach(initial, sent);
        let handles = |at: usize| at != initial && by_events.by[at].is_none() && self.returns(at);
        let fails = |at: usize| {
            let reach = self.reach(at, sent);
            std::iter::once(at).chain(reach.reached()).any(|reached| ends[reached] || handles(reached))
        };
        let stuck = (0..count).filter(|at| !self.is_final(*at) && !fails(*at));
        let finding = |at: usize| {
            let name = self.name(at);
            let message = format!("the state {name:?} has no way to a failure state");
            Finding::violation(Stage::FailurePath, "no_way_to_failure", state_path(name), message)
                .help("add an event such as `\"FAIL\": \"failed\"`")
        };
        stuck.map(finding).collect()
    }

    fn quiet_start(&self) -> Option<Finding> {
        let initial = &self.machine.initial;
        let level = self.machine.states.get_index_of(initial).map_or(0, |at| self.levels[at]);
        let path = state_path(initial).key("allowed_tools");
        let message = format!("the initial state {initial:?} can {}", verb(level));
        (level > 0).then(|| {
            Finding::violation(Stage::QuietStart, "loud_start", path, message)
                .help("begin with reading tools only; list them in `allowed_tools`")
        })
    }

    fn gate(&self) -> Option<Finding> {
        let gated = self.exits.iter().flatten().any(|(_, exit)| exit.needs_approval());
        let message = "no transition asks a person, and the work is moderate or dangerous";
        (!gated).then(|| {
            Finding::violation(Stage::Gate, "no_approval_gate", Path::root().key("states"), message)
                .help("give one transition `\"requires_approval\": true`")
        })
    }

    fn ladder(&self) -> Vec<Finding> {
        let initial = self.machine.states.get_index_of(&self.machine.initial);
        let mut caught = vec![false; self.levels.len()];
        let mut findings = Vec::new();
        let sources = (0..self.levels.len())
            .filter(|at| Some(*at) == initial || (1..GUARDED).contains(&self.levels[*at]));
        for source in sources {
            let low = self.levels[source];
            let reach = self.reach(source, |exit| !exit.needs_approval());
            for target in reach.reached() {
                let high = self.levels[target];
                if high < GUARDED || high < low + CLIMB || caught[target] {
                    continue;
                }
                caught[target] = true;
                let (from, to) = (self.name(source), self.name(target));
                let message = format!(
                    "{to:?} can {} (level {high}) and is reached from {from:?} (level {low}) without a person: {from}{}",
                    verb(high),
                    reach.way(self, target),
                );
                findings.push(
                    Finding::violation(Stage::Ladder, "unasked_climb", state_path(to), message)
                        .help("give a transition on that way `\"requires_approval\": true`"),
                );
            }
        }
        findings
    }

    /// What can be reached from a state by the edges that `follow` takes.
    fn reach(&self, from: usize, follow: impl Fn(&Exit<'_>) -> bool) -> Reach {
        let mut reach = Reach { from, by: vec![None; self.levels.len()], order: Vec::new() };
        let mut next = 0;
        let mut state = from;
        loop {
            for (edge, (target, exit)) in self.exits[state].iter().enumerate() {
                if *target != from && reach.by[*target].is_none() && follow(exit) {
                    reach.by[*target] = Some((state, edge));
                    reach.order.push(*target);
                }
            }
            let Some(following) = reach.order.get(next) else { return reach };
            state = *following;
            next += 1;
        }
    }
}

/// A breadth-first search: for each state that was reached, the state and the edge that led there first.
struct Reach {
    from: usize,
    by: Vec<Option<(usize, usize)>>,
    order: Vec<usize>,
}

impl Reach {
    fn reached(&self) -> impl Iterator<Item = usize> {
        self.order.iter().copied()
    }

    /// The shortest way to `target`, as text.
    fn way(&self, check: &Check<'_>, target: usize) -> String {
        let mut steps = Vec::new();
        let mut at = target;
        while at != self.from {
            let Some((previous, edge)) = self.by[at] else { break };
            let event = check.exits[previous].get(edge).map_or("", |(_, exit)| exit.event);
            steps.push(format!(" —{event}→ {}", check.name(at)));
            at = previous;
        }
        steps.reverse();
        steps.concat()
    }
}

fn verb(level: u8) -> &'static str {
    match level {
        0 => "read",
        1 => "write files",
        2 => "run commands",
        3 => "change a repository",
        _ => "act outside",
    }
}
