//! `mount_setattr(2)`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Attributes of a mount; the values are the kernel's `MOUNT_ATTR_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(u64);

impl Attributes {
    /// Read-only.
    pub const READ_ONLY: Self = Self(0x1);
    /// Set-user-id bits have no effect.
    pub const NO_SUID: Self = Self(0x2);
    /// Device nodes cannot be opened.
    pub const NO_DEV: Self = Self(0x4);
    /// Files cannot be executed.
    pub const NO_EXEC: Self = Self(0x8);

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Sets `attributes` on the mount that `tree` refers to and cuts it off from mount events of the host; with
/// `recursive` on all mounts below it too.
pub fn set_attributes(tree: BorrowedFd<'_>, attributes: Attributes, recursive: bool) -> io::Result<()> {
    let attr = MountAttr { set: attributes.0, clear: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string and `attr` a `struct mount_attr` of the size given; both outlive the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
