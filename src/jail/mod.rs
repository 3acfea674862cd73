//! `SandboxSpec` to kernel steps to a running, confined command.
//!
//! Danger: any failure on the way ends in [`Failure`](crate::diagnostic::Diagnostic) and exit 125, never in a weaker run.

pub mod outcome;
pub mod plan;
pub mod probe;

pub use outcome::{Achieved, Captured, Exit, Level, Outcome};
pub use plan::{Access, FilterSpec, Grant, JailPlan, LandlockPlan, Sockets, Step, View};
pub use probe::{Host, probe};
