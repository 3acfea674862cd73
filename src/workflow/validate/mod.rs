//! The six stages of validation over a machine that could be read. All problems at once, none of them placed yet.
//!
//! Danger: a stage that follows fewer edges than the engine takes would pass a machine that climbs unasked; edges come
//! from [`Machine::all_exits`](super::Machine::all_exits) only.

mod graph;
mod stages;
mod structure;

use super::finding::{Finding, Stage, Weight};
use super::model::{Machine, Transition};
use super::span::Path;

/// A workflow that another one invokes, as far as it could be found.
#[derive(Debug)]
pub struct Invoked<'m> {
    /// The name that it is invoked by.
    pub name: &'m str,
    /// What problems call it: its file.
    pub label: &'m str,
    /// The machine, or why there is none.
    pub machine: Result<&'m Machine, String>,
}

/// Every problem of `machine`, by stage. The later stages need the references of the first. What it invokes is looked
/// at from outside only: its ways lead to where the caller goes on.
pub fn validate(machine: &Machine) -> Vec<Finding> {
    validate_with(machine, &[])
}

/// The same through the workflows that it invokes, and those that they invoke.
pub fn validate_with(machine: &Machine, invoked: &[Invoked<'_>]) -> Vec<Finding> {
    let mut findings = structure::check(machine);
    if findings.iter().all(|finding| finding.weight != Weight::Error) {
        findings.extend(missing(machine, invoked));
        findings.extend(stages::check(machine, invoked));
    }
    findings
}

/// The invoked workflows that cannot be had, at the event that leads to them.
fn missing<'m>(machine: &'m Machine, invoked: &'m [Invoked<'m>]) -> impl Iterator<Item = Finding> + 'm {
    let lost = invoked.iter().filter_map(|one| Some((one, one.machine.as_ref().err()?)));
    lost.map(move |(one, why)| {
        // By the file that is checked, or by one that it invokes.
        let calls = |machine: &'m Machine| {
            machine.states.iter().flat_map(|(state, of)| of.on.iter().map(move |on| (state, on))).filter_map(
                |(state, (event, transition))| match transition {
                    Transition::Invoke(invoke) => Some((state, event, invoke.workflow.as_str())),
                    Transition::To(_) | Transition::Branches(_) | Transition::Fork(_) => None,
                },
            )
        };
        let own = calls(machine).find(|(_, _, name)| *name == one.name);
        let path = match own {
            Some((state, event, _)) => {
                Path::root().key("states").key(state).key("on").key(event).key("invoke")
            }
            None => Path::root().key("states"),
        };
        let by = invoked.iter().find(|other| {
            own.is_none()
                && other
                    .machine
                    .as_ref()
                    .is_ok_and(|machine| calls(machine).any(|(_, _, name)| name == one.name))
        });
        let by = by.map_or_else(String::new, |by| format!(", which {} invokes,", by.label));
        let message = format!("the workflow {:?}{by} cannot be had: {why}", one.name);
        Finding::violation(Stage::Structure, "invoked_missing", path, message)
            .help("put it beside this file, by its id or file name, or name it in `manifest.json` there")
    })
}

#[cfg(test)]
mod tests;
