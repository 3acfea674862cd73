//! State, rules and operations to a decision and to rights. Pure.
//!
//! Danger: an `Allow` here starts a process. Absent evidence is never `Allow` by class; decisions combine by `max`.

pub mod decision;
pub mod rights;

pub use decision::{Decision, Evaluation, Hint, Reason, Step};
pub use rights::{NetworkRight, Rights, WorkspaceRight};
