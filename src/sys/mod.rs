//! All `unsafe` of swbox: thin, typed wrappers of system calls that rustix and nix do not have.
//!
//! Danger: each wrapper does one thing and returns its errno; policy and fallbacks live with the callers.

pub mod alarm;
pub mod arguments;
pub mod attempt;
pub mod landlock;
pub mod lease;
pub mod lock;
pub mod memory;
pub mod mount;
pub mod net;
pub mod peer;
pub mod process;
pub mod ptrace;
pub mod seccomp;
pub mod signal;
pub mod start;
pub mod streams;
