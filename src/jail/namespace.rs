//! The user namespace's maps and the dropping of what it grants.
//!
//! Danger: capabilities that survive here are those of the whole namespace: mounts, network, ptrace of pid 1.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::plan::Namespaces;

/// Bits of `clone(2)` for a plan.
pub(super) fn clone_flags(namespaces: Namespaces) -> i32 {
    let mut flags = 0;
    if namespaces.user {
        flags |= libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    }
    if namespaces.pid {
        flags |= libc::CLONE_NEWPID;
    }
    if namespaces.net {
        flags |= libc::CLONE_NEWNET;
    }
    flags
}

/// The namespaces that a command of a session has of its own: a network namespace where it has a list of hosts, else it
/// joins the session's, where its plan has one at all.
pub(super) fn own_in_session(namespaces: Namespaces, proxy: bool) -> i32 {
    let net = namespaces.net && proxy;
    libc::CLONE_NEWNS | if net { libc::CLONE_NEWNET } else { 0 }
}

/// Joins the session's namespaces; that of process ids with the next child.
pub(super) fn join(namespaces: Namespaces, proxy: bool, spaces: &[OwnedFd; 4]) -> io::Result<()> {
    let [user, _, ipc, pid] = spaces;
    rustix::thread::move_into_link_name_space(user.as_fd(), None)?;
    if namespaces.net && !proxy {
        join_network(spaces)?;
    }
    rustix::thread::move_into_link_name_space(ipc.as_fd(), None)?;
    Ok(rustix::thread::move_into_link_name_space(pid.as_fd(), None)?)
}

/// Joins the session's network.
pub(super) fn join_network([_, net, ..]: &[OwnedFd; 4]) -> io::Result<()> {
    Ok(rustix::thread::move_into_link_name_space(net.as_fd(), None)?)
}

/// Maps the caller's user and group to themselves, and nobody else. Supplementary groups cannot be changed any more.
pub(super) fn map_ids(uid: u32, gid: u32) -> io::Result<()> {
    write_once("/proc/self/setgroups", "deny")?;
    write_once("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    write_once("/proc/self/gid_map", &format!("{gid} {gid} 1"))
}

fn write_once(path: &str, text: &str) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let count = rustix::io::write(&file, text.as_bytes())?;
    if count == text.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero)) }
}

/// Empties what an exec could give: the ambient set and the bounding set. What this process may do now stays, and is needed
/// for it. `owned` says that it is in a user namespace of swbox's.
pub(super) fn limit_capabilities(owned: bool) -> io::Result<()> {
    match rustix::thread::clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // Past the last capability of this kernel.
            Err(Errno::INVAL) => break,
            // Without namespaces an ordinary user may not shrink the set; no_new_privs makes it worthless.
            Err(Errno::PERM) if !owned => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Empties the sets that are in force: effective, permitted, inheritable, and with them the ambient one.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}
