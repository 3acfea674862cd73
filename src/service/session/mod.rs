//! Sessions: one run of a workflow that lasts, in the store.
//!
//! Duty: find the session of a request, write every event down before it counts, run commands between a written start
//! and a written end, and answer agents and persons. Danger: who asks is settled here. What reaches the engine as an
//! approval or a force came through a person's terminal; what reaches it as a transition is an agent's word.

mod agent;
mod answers;
mod aside;
mod carry;
mod changes;
mod early;
mod ended;
mod evidence;
mod exec;
mod find;
mod inline;
mod jobs;
mod law;
mod life;
mod master;
mod people;
mod place;
mod question;
mod reporter;
mod tell;
mod touched;
mod tree;
mod wait;
mod write;

pub(super) use exec::perform;
pub(super) use find::{Bound, Found, named, of_workspace};

pub use crate::engine::session::Cause;
pub use crate::engine::{
    ApprovalScope, Destination, Fact, Handout, Offer, ParkedShown, Record, Refusal, Reply,
};
pub use agent::{Asked, Standing, Went, admitted, applies, here, state, transition};
pub use answers::{Answered, Verdict, Waiting, answer, waiting};
pub use aside::job_seen;
pub use changes::Changed;
pub use evidence::Gathered;
pub use exec::SessionShown;
pub use find::ticket;
pub use inline::agent_command;
pub use jobs::{JobShown, Written, jobs, kill, output};
pub use people::{Begun, Reload, before, begin, end, force, keeping_rule, prune, reload, start, take_over};
pub use tell::{Replayed, SessionListed, Status, Told, list, log, replay, status};
