//! Sessions, trust and approvals from end to end, with the built program, a real terminal and a real repository.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../project.rs"]
mod project;

mod approvals;
mod beside;
mod carried;
mod evidence;
mod finding;
mod interrupts;
mod invoked;
mod jobs;
mod kit;
mod law;
mod planted;
mod questions;
mod seen;
mod store;
mod trust;
mod walk;
