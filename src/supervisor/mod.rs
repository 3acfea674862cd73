//! What a jailed process tree really did, seen from outside: the files it touched, the programs it ran, the hosts it
//! called and what the kernel refused it.
//!
//! Danger: the processes that are watched are hostile. Nothing that is read of them is stable unless the kernel holds
//! it still, and an error here is never a reason to let more happen.

pub mod call;
pub mod observed;
pub mod resolve;

pub use observed::{Act, Cause, Denial, Observed, Program, Target, Touch};
