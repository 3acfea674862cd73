//! The six stages of validation over a machine that could be read. All problems at once, none of them placed yet.
//!
//! Danger: a stage that follows fewer edges than the engine takes would pass a machine that climbs unasked; edges come
//! from [`Machine::all_exits`](super::Machine::all_exits) only.

mod stages;
mod structure;

use super::finding::{Finding, Weight};
use super::model::Machine;

/// Every problem of `machine`, by stage. The later stages need the references of the first.
pub fn validate(machine: &Machine) -> Vec<Finding> {
    let mut findings = structure::check(machine);
    if findings.iter().all(|finding| finding.weight != Weight::Error) {
        findings.extend(stages::check(machine));
    }
    findings
}

#[cfg(test)]
mod tests;
