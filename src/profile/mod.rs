//! Profiles: data that says where toolchains, caches, secrets and outputs are, and the spec derived from them. Pure.

pub mod alias;
pub mod builtin;
mod environment;
pub mod gitconfig;
pub mod model;
pub mod resolve;
pub mod spec;
pub mod value;

pub use alias::{Alias, Aliases};
pub use model::Profile;
pub use resolve::{HostFacts, StateJail, Task, resolve};
pub use spec::{Bind, Limits, Protection, Requirement, SandboxSpec};
