//! The user namespace's maps and the dropping of what it grants.
//!
//! Danger: capabilities that survive here are those of the whole namespace: mounts, network, ptrace of pid 1.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::plan::JailPlan;
use crate::sys::process::{Beside, spawn_led};

/// Bits of `clone(2)` for a plan.
pub(super) fn clone_flags(namespaces: super::plan::Namespaces) -> i32 {
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

/// Makes the first process of a session's command: in the session's namespaces, with a mount namespace of its own. The
/// network namespace is the session's where the plan has one that leads nowhere, else as the plan says.
pub(super) fn spawn_in_session<'a>(
    plan: &JailPlan,
    spaces: &[OwnedFd; 4],
    run: &'a mut dyn FnMut() -> i32,
) -> io::Result<Beside<'a>> {
    let mut new = libc::CLONE_NEWNS;
    if plan.namespaces.net && plan.egress.is_some() {
        new |= libc::CLONE_NEWNET;
    }
    spawn_led(&mut || join(plan, spaces), new, run)
}

fn join(plan: &JailPlan, [user, net, ipc, pid]: &[OwnedFd; 4]) -> io::Result<()> {
    rustix::thread::move_into_link_name_space(user.as_fd(), None)?;
    if plan.namespaces.net && plan.egress.is_none() {
        rustix::thread::move_into_link_name_space(net.as_fd(), None)?;
    }
    rustix::thread::move_into_link_name_space(ipc.as_fd(), None)?;
    Ok(rustix::thread::move_into_link_name_space(pid.as_fd(), None)?)
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

/// Empties every capability set: ambient, bounding, effective, permitted, inheritable.
pub(super) fn drop_capabilities() -> io::Result<()> {
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
            Err(Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}
