//! The egress proxy: a jailed command reaches a list of hosts by name, and nothing else.
//!
//! The command runs in a network namespace that has a loopback and no route. A listener is bound inside it and handed out;
//! a process outside ([`process`]) accepts there, judges whom a client asks for ([`crate::hosts`]), resolves the name,
//! judges each address and dials. Nothing of the proxy runs inside.
//!
//! Danger: a mistake here is the open network. The pure part decides; `dial` is the only place that connects.

mod confine;
pub mod connect;
mod dial;
pub mod environment;
mod http;
pub mod log;
pub mod process;
mod resolve;
mod serve;
mod socks;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::Write;

use crate::diagnostic::Diagnostic;

pub use log::{RefusedHost, Report};
pub use process::{Order, Spawned};

/// Runs the subcommand that swbox starts of itself, if the arguments name one: the proxy process, or ssh's way to it.
/// To be asked before anything else reads the arguments.
pub fn hidden(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    let name = arguments.nth(1)?;
    let result = match name.to_str()? {
        process::SUBCOMMAND => process::run(),
        environment::CONNECT => {
            let mut text = || arguments.next().and_then(|argument| argument.into_string().ok());
            match (text(), text()) {
                (Some(host), Some(port)) => connect::run(&host, &port),
                _ => Err(Diagnostic::new("usage", "a host and a port are needed")),
            }
        }
        _ => return None,
    };
    Some(result.map_or_else(failed, |()| 0))
}

fn failed(problem: Diagnostic) -> u8 {
    // swbox takes what the proxy says into its report, ssh shows what its ProxyCommand says.
    let _ = writeln!(std::io::stderr(), "swbox: {}", problem.message);
    1
}
