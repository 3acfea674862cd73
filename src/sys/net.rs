//! Bringing up the loopback of a fresh network namespace.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The part of `struct ifreq` that the flag requests use, padded to its full size.
#[repr(C)]
struct InterfaceFlags {
    name: [u8; 16],
    flags: libc::c_short,
    padding: [u8; 22],
}

/// Sets the interface `lo` up.
pub fn loopback_up() -> io::Result<()> {
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
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
