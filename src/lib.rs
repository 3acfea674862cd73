//! swbox: a drop-in `bash` for AI agents and CI in which a state machine decides what phase the work is in and the
//! Linux kernel holds every command to the rights of that phase.
//!
//! The way of one command: text → [`shell`] → [`classify`] → [`policy`] → [`profile`] → [`jail`]. Everything left of
//! `jail::launch` is pure: no files, clock, environment or threads.

pub mod classify;
pub mod cli;
pub mod diagnostic;
pub mod engine;
pub mod hosts;
pub mod jail;
pub mod policy;
pub mod profile;
pub mod proxy;
pub mod service;
pub mod shell;
pub mod store;
pub mod sys;
pub mod workflow;
