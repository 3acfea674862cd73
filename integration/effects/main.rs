//! What is made of what was seen of a run, with the built binary: events and their form, programs that may not begin,
//! refusals with reason and remedy, reads that were missed, files in a session, and the search for gaps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../project.rs"]
mod project;

mod denials;
mod events;
mod gaps;
mod programs;
mod reads;
mod schema;
