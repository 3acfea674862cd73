//! Stages 2 to 6: a way to fail, a quiet start, a gate, and no climb without a person.

use super::super::effective::EffectiveTools;
use super::super::exit::Exit;
use super::super::finding::{Finding, Stage};
use super::super::model::{Danger, Machine, StateKind};
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
    let check = Check { machine, levels: levels.collect() };
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
}

fn state_path(name: &str) -> Path {
    Path::root().key("states").key(name)
}

impl Check<'_> {
    fn level(&self, state: &str) -> u8 {
        self.machine.states.get_index_of(state).map_or(0, |at| self.levels[at])
    }

    fn failure(&self) -> Vec<Finding> {
        let machine = self.machine;
        let ends = |name: &str| {
            machine.is_failure(name)
                && machine.states.get(name).is_some_and(|state| state.kind == StateKind::Final)
        };
        if !machine.states.keys().any(|name| ends(name)) {
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
        let stuck = machine.states.iter().filter(|(name, state)| {
            state.kind != StateKind::Final
                && !self.reach(name, |_| true).iter().any(|(reached, _)| ends(reached))
        });
        let finding = |name: &String| {
            let message = format!("the state {name:?} has no way to a failure state");
            Finding::violation(Stage::FailurePath, "no_way_to_failure", state_path(name), message)
                .help("add an event such as `\"FAIL\": \"failed\"`")
        };
        stuck.map(|(name, _)| finding(name)).collect()
    }

    fn quiet_start(&self) -> Option<Finding> {
        let level = self.level(&self.machine.initial);
        let path = state_path(&self.machine.initial).key("allowed_tools");
        let message = format!("the initial state {:?} can {}", self.machine.initial, verb(level));
        (level > 0).then(|| {
            Finding::violation(Stage::QuietStart, "loud_start", path, message)
                .help("begin with reading tools only; list them in `allowed_tools`")
        })
    }

    fn gate(&self) -> Option<Finding> {
        let machine = self.machine;
        let gated = machine.states.keys().any(|name| machine.exits(name).iter().any(Exit::needs_approval));
        let message = "no transition asks a person, and the work is moderate or dangerous";
        (!gated).then(|| {
            Finding::violation(Stage::Gate, "no_approval_gate", Path::root().key("states"), message)
                .help("give one transition `\"requires_approval\": true`")
        })
    }

    fn ladder(&self) -> Vec<Finding> {
        let machine = self.machine;
        let mut findings = Vec::new();
        let from = machine
            .states
            .keys()
            .filter(|name| **name == machine.initial || (1..GUARDED).contains(&self.level(name)));
        for source in from {
            let low = self.level(source);
            for (target, way) in self.reach(source, |exit| !exit.needs_approval()) {
                let high = self.level(target);
                let climbs = high >= GUARDED && high >= low + CLIMB;
                let known = findings.iter().any(|finding: &Finding| finding.path == state_path(target));
                if climbs && !known {
                    let message = format!(
                        "{target:?} can {} (level {high}) and is reached from {source:?} (level {low}) without a person: {}",
                        verb(high),
                        way.join(" "),
                    );
                    findings.push(
                        Finding::violation(Stage::Ladder, "unasked_climb", state_path(target), message)
                            .help("give a transition on that way `\"requires_approval\": true`"),
                    );
                }
            }
        }
        findings
    }

    /// Every state that can be reached by the edges that `follow` takes, with the way there.
    fn reach(&self, from: &str, follow: impl Fn(&Exit<'_>) -> bool) -> Vec<(&str, Vec<String>)> {
        let mut reached: Vec<(&str, Vec<String>)> = Vec::new();
        let mut queue = vec![(from.to_owned(), vec![from.to_owned()])];
        while let Some((state, way)) = queue.pop() {
            for exit in self.machine.all_exits(&state).into_iter().filter(|exit| follow(exit)) {
                let Some((name, _)) = self.machine.states.get_key_value(exit.target) else { continue };
                if name == from || reached.iter().any(|(known, _)| *known == name) {
                    continue;
                }
                let mut longer = way.clone();
                longer.push(format!("—{}→ {name}", exit.event));
                reached.push((name, longer.clone()));
                queue.insert(0, (name.clone(), longer));
            }
        }
        reached
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
