//! Lists of hosts: which names, addresses and ports a command may reach. Pure.
//!
//! Danger: this is the whole wall between a jailed command and the network; [`crate::proxy`] does what is decided here.

pub mod address;
pub mod list;
pub mod target;

pub use address::{AddressClass, AddressRange};
pub use list::{BadEntry, Grant, HostList, Refused, check, may_be_suggested};
pub use target::{BadHost, Host, Target};
