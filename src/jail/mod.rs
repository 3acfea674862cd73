//! `SandboxSpec` to kernel steps to a running, confined command.
//!
//! Danger: any failure on the way ends in [`Failure`](crate::diagnostic::Diagnostic) and exit 125, never in a weaker run.

pub mod landlock;
pub mod outcome;
pub mod plan;
pub mod probe;
pub mod seccomp;

pub use outcome::{Achieved, Captured, Exit, Level, Outcome};
pub use plan::{Access, Grant, JailPlan, LandlockPlan, Step, View};
pub use probe::{Host, probe};
pub use seccomp::{FilterSpec, Sockets};
