//! swbox: a drop-in `bash` for AI agents and CI in which a state machine decides what phase the work is in and the
//! Linux kernel holds every command to the rights of that phase.
//!
//! The way of one command: text → [`shell`] → [`classify`] → [`policy`] → `profile` → `jail`. Everything left of
//! `jail::launch` is pure: no files, clock, environment or threads. What a session is and where its events lead says
//! [`engine`], pure as well.
//!
//! With `default-features = false, features = ["core"]` only the pure core is built, for embedding: `shell`, `classify`,
//! `workflow`, `policy`, `engine`, `hosts`, `diagnostic`.

pub mod classify;
#[cfg(feature = "full")]
pub mod cli;
pub mod diagnostic;
pub mod engine;
pub mod hosts;
#[cfg(feature = "full")]
pub mod jail;
pub mod policy;
#[cfg(feature = "full")]
pub mod profile;
#[cfg(feature = "full")]
pub mod proxy;
#[cfg(feature = "full")]
pub mod service;
pub mod shell;
#[cfg(feature = "full")]
pub mod store;
#[cfg(feature = "full")]
pub mod supervisor;
#[cfg(feature = "full")]
pub mod sys;
pub mod workflow;
