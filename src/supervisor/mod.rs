//! What a jailed process tree really did, seen from outside: the files it touched, the programs it ran, the hosts it
//! called and what the kernel refused it.
//!
//! A [`notify::Watcher`] is the launcher's [`Observer`](crate::jail::Observer): it gets the calls that change something
//! before the kernel performs them, predicts what becomes of them, tells a [`Sink`] and lets the kernel decide.
//!
//! Danger: the processes that are watched are hostile. Nothing that is read of them is stable unless the kernel holds
//! it still, and an error here is never a reason to let more happen.

pub mod aside;
pub mod call;
pub mod ground;
pub mod notify;
pub mod observed;
pub mod resolve;
pub mod seen;
pub mod touched;
pub mod trace;

pub use observed::{Act, Cause, Denial, Observed, Program, Target, Touch};
pub use seen::{Counted, Seen};

/// How a command is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Not at all.
    Off,
    /// By the filter's notifications: what the kernel will answer is predicted.
    Notify,
    /// By ptrace: what the kernel answered is read.
    Trace,
}

/// What becomes of a program that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Go,
    /// It is killed before its first instruction. Only a [`Program`] can be stopped: for all else the kernel decides.
    Stop,
}

/// Whoever is told what is seen, as it happens. Each thing comes once, however often it is done; touches come at the end,
/// when it is known what became of them.
pub trait Sink {
    /// `what` was seen of the process `pid` (as swbox's PID namespace numbers it; 0 where it has no number there).
    fn observed(&mut self, pid: i32, what: &Observed) -> Verdict;

    /// The command is about to run, in a jail that gives less than was asked for these reasons (`jail.degraded`). What only
    /// the launch itself finds out comes with its outcome.
    fn lacks(&mut self, degraded: &[String]) {
        let _ = degraded;
    }

    /// The command has ended, in a process that watches what it left: nothing of its launcher may be used any more.
    fn goes_on(&mut self) {}
}
