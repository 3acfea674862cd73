//! The egress proxy: a jailed command reaches a list of hosts by name, and nothing else.
//!
//! The command runs in a network namespace that has a loopback and no route. A listener is bound inside it and handed out;
//! a process outside ([`process`]) accepts there, judges whom a client asks for ([`policy`]), resolves the name,
//! judges each address ([`address`]) and dials. Nothing of the proxy runs inside.
//!
//! Danger: a mistake here is the open network. The pure parts decide; [`dial`] is the only place that connects.

pub mod address;
mod confine;
pub mod connect;
mod dial;
pub mod environment;
mod http;
pub mod log;
pub mod policy;
pub mod process;
mod resolve;
mod serve;
mod socks;
pub mod target;
#[cfg(test)]
mod tests;

pub use log::{RefusedHost, Report};
pub use policy::{BadEntry, HostList};
pub use process::{Order, Spawned};
