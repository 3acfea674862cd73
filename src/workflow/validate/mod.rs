//! The six stages of validation over a machine that could be read. All problems at once, none of them placed yet.
//!
//! Danger: a stage that follows fewer edges than the engine takes would pass a machine that climbs unasked; edges come
//! from [`Machine::all_exits`](super::Machine::all_exits) only.

mod structure;

use super::finding::Finding;
use super::model::Machine;

/// Every problem of `machine`, by stage.
pub fn validate(machine: &Machine) -> Vec<Finding> {
    structure::check(machine)
}
