//! One run of a workflow as a pure, total function: [`step()`] takes a session and an event and gives the session after
//! it, what is to be done outside, and what the log says. Pure: time, ids and everything that was seen come in with
//! events; whoever calls performs the [`Effect`]s and feeds their results back as events.
//!
//! Duty: the semantics of the workflow format, safe where the published engine is not. Danger: what an agent sends
//! ([`What::Transition`]) must never reach a state behind an unanswered approval, a failing guard or missing evidence,
//! however the edge was found; and what moves a session must be in the journal, so that replay gives the same session.

mod approval;
mod call;
mod change;
mod claim;
pub mod effect;
pub mod event;
mod evidence;
mod fork;
mod guard;
pub mod handout;
mod interrupt;
mod library;
pub mod refusal;
mod resolve;
pub mod session;
mod step;
mod transition;

pub use call::decide;
pub use effect::{
    BranchStart, Effect, Fact, Notice, NoticeCode, Offer, ParkedShown, Record, Reply, Stepped, WaitOn,
};
pub use event::{
    Answer, ApprovalScope, Branch, BranchEnd, Call, Command, Edit, Ended, Event, Force, Held, Part, Proof,
    Question, Results, Touch, Transition, What,
};
pub use handout::{Handout, handout};
pub use library::Workflow;
pub use refusal::{Refusal, RefusalCode};
pub use session::{Cause, Destination, Frame, Pending, Running, Session, Stop, Visit, Wait};
pub use step::{replay, step};

/// Frames of an interrupt's return stack.
pub const MAX_INTERRUPTS: usize = 8;
/// Nesting of invoked workflows where the file says nothing.
pub const MAX_DEPTH: u32 = 8;
/// Nesting of invoked workflows whatever the file says.
pub const DEPTH_CAP: u32 = 64;
/// Transitions of an invoked workflow where the file says nothing.
pub const MAX_CHILD_STEPS: u32 = 100;
/// Branches of a fork.
pub const MAX_BRANCHES: usize = 8;
/// Bytes of the data of one transition, as JSON.
pub const MAX_CLAIM: usize = 64 << 10;
/// Bytes of a whole context, as JSON.
pub const MAX_CONTEXT: usize = 1 << 20;
/// Files whose names are kept, in one visit and since the last approval.
pub const MAX_FILES: usize = 4096;
/// Files whose names an interrupt carries.
pub const MAX_FIRING: usize = 1024;
/// Commands that may wait for a person at a time.
pub const MAX_PARKED: usize = 64;
/// Runs that may serve as evidence and are kept.
pub const MAX_PROOFS: usize = 64;
/// Milliseconds for which a parked request can be answered.
pub const PARKED_FOR: u64 = 24 * 60 * 60 * 1000;
/// Until when what must be looked at can be answered, in milliseconds since 1970: there is no end to it.
pub const FOREVER: u64 = 4_102_444_800_000;
/// Milliseconds for which an approved command may be repeated.
pub const APPROVED_FOR: u64 = 10 * 60 * 1000;

#[cfg(test)]
mod tests;
