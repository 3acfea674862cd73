//! A network namespace of one's own, and its loopback.
//!
//! Danger: what is here may run beside another process in the same memory, whose errno is the same. Only a call that fails
//! writes it, and that is the end of the launch.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Gives a descriptor of a socket's network namespace (`linux/sockios.h`, since Linux 4.10).
const SIOCGSKNS: libc::Ioctl = 0x894C;

/// The part of `struct ifreq` that the flag requests use, padded to its full size.
#[repr(C)]
struct InterfaceFlags {
    name: [u8; 16],
    flags: libc::c_short,
    padding: [u8; 22],
}

/// A network namespace that is made beside what its owner does: as a descriptor, or why there is none.
#[derive(Debug, Default)]
pub struct Made(AtomicI32);

impl Made {
    /// Makes one, with its loopback up, in a process of its own that shares descriptors with the owner: the kernel takes half
    /// as long for it as for a whole root. Gives that process's exit code.
    pub fn make(&self) -> i32 {
        let made = leave().and_then(|()| lo_up()).and_then(|socket| {
            // SAFETY: the call takes no argument; what it gives is checked.
            match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) } {
                ..0 => Err(io::Error::last_os_error()),
                descriptor => Ok(descriptor),
            }
        });
        self.0.store(
            made.unwrap_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO)),
            Ordering::Release,
        );
        0
    }

    /// Enters it, when that process has ended.
    pub fn enter(&self) -> io::Result<()> {
        match self.0.swap(0, Ordering::Acquire) {
            0 => Err(io::Error::other("who made it is gone")),
            errno @ ..0 => Err(io::Error::from_raw_os_error(-errno)),
            descriptor => {
                // SAFETY: `make` has opened it, and gave it to nobody else.
                let namespace = unsafe { OwnedFd::from_raw_fd(descriptor) };
                let network = rustix::thread::LinkNameSpaceType::Network;
                Ok(rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(network))?)
            }
        }
    }
}

/// Leaves the network namespace for a new one.
fn leave() -> io::Result<()> {
    // SAFETY: a plain number; descriptors and memory stay shared as they are.
    let answer = unsafe { libc::syscall(libc::SYS_unshare, libc::CLONE_NEWNET) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the interface `lo` up.
pub fn loopback_up() -> io::Result<()> {
    lo_up().map(drop)
}

/// Sets the interface `lo` up, through a socket of this namespace.
fn lo_up() -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the result is checked below.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `raw` is a fresh descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut request = InterfaceFlags { name: [0; 16], flags: 0, padding: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    // IFF_UP and IFF_RUNNING fit into the field's sixteen bits.
    request.flags = 0x1 | 0x40;
    // SAFETY: `request` has the size of `struct ifreq` (40 bytes) and outlives the call, which only reads it.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if answer == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}
