//! Resource limits of the command.
//!
//! Danger: RLIMIT_AS is never set: Go, Java and the sanitizers reserve address space that they do not use.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::profile::Limits;

/// Sets the limits on the calling process; what it starts inherits them. A limit above the hard one that swbox itself
/// runs under is cut to that.
pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    set(Resource::Core, Some(0), 0)?;
    set(Resource::Nproc, limits.processes, 0)?;
    set(Resource::Data, limits.memory, 0)?;
    set(Resource::Fsize, limits.file_size, 0)?;
    // XCPU first, so that the program can say something; KILL a second later.
    set(Resource::Cpu, limits.cpu, 1)?;
    set(Resource::Nofile, limits.open_files, 0)
}

fn set(resource: Resource, limit: Option<u64>, slack: u64) -> io::Result<()> {
    let Some(limit) = limit else { return Ok(()) };
    let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let new = Rlimit { current: Some(limit.min(hard)), maximum: Some(limit.saturating_add(slack).min(hard)) };
    Ok(setrlimit(resource, new)?)
}
