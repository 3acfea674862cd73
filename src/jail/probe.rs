//! What this host can give, as far as a few cheap system calls tell. What only trying can tell (user namespaces,
//! a fresh `/proc`, overlay) is tried by `launch`, which falls back along the plan's chain.
//!
//! Danger: a host that is read as stronger than it is would make a plan that fails; never one that runs weaker.

use super::outcome::Level;

/// What the host can give.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Host {
    /// Landlock ABI, 0 for none.
    pub landlock_abi: u32,
    /// Whether seccomp filters can be installed.
    pub seccomp: bool,
    /// The highest level to try.
    pub level: Level,
    /// Effective user id of swbox.
    pub uid: u32,
    /// Effective group id of swbox.
    pub gid: u32,
}

/// Asks the kernel.
pub fn probe() -> Host {
    Host {
        landlock_abi: crate::sys::landlock::abi(),
        seccomp: crate::sys::seccomp::action_available(libc::SECCOMP_RET_ERRNO),
        level: Level::Full,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
    }
}
