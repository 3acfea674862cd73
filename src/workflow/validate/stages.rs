//! Stages 2 to 6: a way to fail, a quiet start, a gate, and no climb without a person.

use super::super::effective::EffectiveTools;
use super::super::exit::{Exit, ExitKind};
use super::super::finding::{Finding, Stage};
use super::super::model::{Danger, Edge, Machine, Target, Transition};
use super::super::prefix;
use super::super::span::Path;
use super::super::tool::Family;
use super::Invoked;
use super::graph::{Graph, Spot, Walk};

/// The level from which a climb needs an approval.
const GUARDED: u8 = 3;
/// A climb by so much needs one.
const CLIMB: u8 = 2;

/// The problems of stages 2 to 6, with the invoked workflows as far as they are at hand.
pub(super) fn check(machine: &Machine, invoked: &[Invoked<'_>]) -> Vec<Finding> {
    let check = Check { graph: Graph::new(machine, invoked, levels), machine };
    let mut findings = check.failure();
    if machine.meta.danger >= Danger::Moderate {
        findings.extend(check.quiet_start());
        findings.extend(check.gate());
    }
    findings.extend(check.ladder());
    findings
}

/// The level of each state of a machine.
fn levels(machine: &Machine) -> Vec<u8> {
    let levels = machine.states.values().map(|state| {
        let tools = EffectiveTools::of(state);
        let own = tools.level(machine);
        let runs = tools.known.iter().any(|id| id.tool().family == Family::Execute);
        own.max(state.allowed_commands.as_deref().filter(|_| runs).map_or(0, commands))
    });
    levels.collect()
}

/// The level that a command list grants.
fn commands(entries: &[String]) -> u8 {
    let classes = entries.iter().flat_map(|entry| prefix::grant(&prefix::words(entry)).classes.iter());
    classes.map(prefix::class_level).max().unwrap_or(0)
}

struct Check<'m> {
    machine: &'m Machine,
    graph: Graph<'m>,
}

fn state_path(name: &str) -> Path {
    Path::root().key("states").key(name)
}

impl Check<'_> {
    /// Whether an event of the state goes back to where an interrupt came from.
    fn returns(&self, spot: Spot) -> bool {
        let state = self.graph.parts[spot.part].machine.states.get_index(spot.state).map(|(_, state)| state);
        let back = |edge: &Edge| edge.target == Target::Return;
        state.is_some_and(|state| {
            state.on.values().any(|transition| match transition {
                Transition::To(edge) => back(edge),
                Transition::Branches(edges) => edges.iter().any(back),
                Transition::Fork(_) | Transition::Invoke(_) => false,
            })
        })
    }

    /// A state as a problem names it: with its workflow, where there are several.
    fn shown(&self, spot: Spot) -> String {
        let name = self.graph.name(spot);
        match &self.graph.parts[..] {
            [_] => format!("{name:?}"),
            parts => format!("{name:?} of {}", parts[spot.part].label),
        }
    }

    /// Where a problem of a state stands: in the file that is checked, at the state, or at the invocation that leads to
    /// its workflow.
    fn place(&self, spot: Spot, walk: Option<&Walk<'_>>) -> Path {
        if spot.part == 0 {
            return state_path(self.graph.name(spot));
        }
        let way = walk.map(|walk| walk.way(&self.graph, spot)).unwrap_or_default();
        let into = way.iter().rev().find(|(from, _, to)| from.part == 0 && to.part != 0);
        let into = into.map(|(from, event, _)| (self.graph.name(*from), *event));
        match into.or_else(|| self.graph.entrance(spot.part)) {
            Some((state, event)) => state_path(state).key("on").key(event),
            None => Path::root().key("states"),
        }
    }

    fn failure(&self) -> Vec<Finding> {
        let graph = &self.graph;
        if !graph.spots().any(|spot| spot.part == 0 && graph.is_failure(spot)) {
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
        let sent = graph.by(|exit| exit.kind != ExitKind::Interrupt, false);
        let mut by_events = vec![Vec::new(); graph.parts.len()];
        for (part, reached) in by_events.iter_mut().enumerate() {
            let initial = graph.initial(part);
            let walk = sent.walk(initial, false);
            let own = walk.reached().filter(|spot| spot.part == part && !spot.below);
            *reached = own.map(|spot| spot.state).chain([initial.state]).collect();
        }
        let handles = |spot: Spot| !by_events[spot.part].contains(&spot.state) && self.returns(spot);
        let fails = |from: Spot| {
            let walk = sent.walk(from, true);
            let mut own = std::iter::once(from).chain(walk.reached()).filter(|spot| !spot.below);
            own.any(|spot| graph.is_failure(spot) || handles(spot))
        };
        let stuck = graph.spots().filter(|spot| !graph.is_final(*spot) && !fails(*spot));
        let finding = |spot: Spot| {
            let message = format!("the state {} has no way to a failure state", self.shown(spot));
            Finding::violation(Stage::FailurePath, "no_way_to_failure", self.place(spot, None), message)
                .help("add an event such as `\"FAIL\": \"failed\"`")
        };
        stuck.map(finding).collect()
    }

    fn quiet_start(&self) -> Option<Finding> {
        let initial = &self.machine.initial;
        let level = self.graph.level(self.graph.initial(0));
        let path = state_path(initial).key("allowed_tools");
        let message = format!("the initial state {initial:?} can {}", verb(level));
        (level > 0).then(|| {
            Finding::violation(Stage::QuietStart, "loud_start", path, message)
                .help("begin with reading tools only; list them in `allowed_tools`")
        })
    }

    fn gate(&self) -> Option<Finding> {
        let parts = self.graph.parts.iter();
        let mut exits =
            parts.flat_map(|part| part.machine.states.keys().flat_map(|name| part.machine.exits(name)));
        let message = "no transition asks a person, and the work is moderate or dangerous";
        (!exits.any(|exit| exit.needs_approval())).then(|| {
            Finding::violation(Stage::Gate, "no_approval_gate", Path::root().key("states"), message)
                .help("give one transition `\"requires_approval\": true`")
        })
    }

    fn ladder(&self) -> Vec<Finding> {
        let graph = &self.graph;
        let unasked = graph.by(|exit: &Exit<'_>| !exit.needs_approval(), true);
        let initial = graph.initial(0);
        let mut caught: Vec<(usize, usize)> = Vec::new();
        let mut findings = Vec::new();
        let sources =
            graph.spots().filter(|spot| *spot == initial || (1..GUARDED).contains(&graph.level(*spot)));
        for source in sources {
            let low = graph.level(source);
            let walk = unasked.walk(source, true);
            for target in walk.reached() {
                let high = graph.level(target);
                if high < GUARDED || high < low + CLIMB || caught.contains(&(target.part, target.state)) {
                    continue;
                }
                caught.push((target.part, target.state));
                let steps = walk.way(graph, target).into_iter().map(|(_, event, to)| {
                    let of = graph.parts[to.part].label;
                    let name = graph.name(to);
                    if to.part == 0 {
                        format!(" —{event}→ {name}")
                    } else {
                        format!(" —{event}→ {of}: {name}")
                    }
                });
                let message = format!(
                    "{} can {} (level {high}) and is reached from {} (level {low}) without a person: {}{}",
                    self.shown(target),
                    verb(high),
                    self.shown(source),
                    graph.name(source),
                    steps.collect::<String>(),
                );
                findings.push(
                    Finding::violation(
                        Stage::Ladder,
                        "unasked_climb",
                        self.place(target, Some(&walk)),
                        message,
                    )
                    .help("give a transition on that way `\"requires_approval\": true`"),
                );
            }
        }
        findings
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
