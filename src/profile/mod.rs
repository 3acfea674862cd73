//! Profiles: data that says where toolchains, caches, secrets and outputs are, and the spec derived from them. Pure.

pub mod spec;

pub use spec::{Bind, Limits, Protection, Requirement, SandboxSpec};
