//! `SandboxSpec` to kernel steps to a running, confined command.
//!
//! Danger: any failure on the way ends in [`Failure`](crate::diagnostic::Diagnostic) and exit 125, never in a weaker run.

pub mod act;
mod ahead;
mod aliases;
mod beginning;
pub mod doctor;
mod egress;
mod farewell;
mod gate;
mod git;
mod graft;
mod init;
pub mod keeper;
pub mod landlock;
mod launch;
mod limits;
mod lines;
pub mod matrix;
mod mount;
mod namespace;
pub mod observer;
mod orphans;
pub mod outcome;
mod outlet;
mod output;
mod outputs;
mod overlay;
mod places;
pub mod plan;
mod planner;
mod points;
pub mod probe;
mod program;
pub mod protection;
mod report;
mod scratch;
pub mod seccomp;
mod sockets;
mod spread;
mod streams;
mod told;
mod watch;

pub use crate::sys::streams::{closed_at_start, directory_stream, inherited, no_terminal, set_input};
pub use ahead::{Start, ahead};
pub use beginning::Beginning;
pub use farewell::Farewell;
pub use git::{ConfigChange, Planted};
pub use launch::{
    Which, beginning, launch, launch_ahead, launch_begun, launch_best, launch_in, launch_in_begun,
    launch_observed,
};
pub use observer::{Begun, Observer, Scene};
pub use outcome::{Achieved, Captured, Exit, Level, LimitHit, Outcome, end_by_interrupt};
pub use output::Capture;
pub use outputs::{Kept, Outputs};
pub use places::Places;
pub use plan::{Access, Grant, JailPlan, LandlockPlan, Step, View};
pub use planner::{best, plan};
pub use probe::{Host, probe};
pub use seccomp::{FilterSpec, Handover, Sockets, Watching};
