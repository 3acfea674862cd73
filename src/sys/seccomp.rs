//! Installing seccomp programs.
//!
//! Danger: after [`install`] the thread and all it starts are held by the program for ever.
#![allow(unsafe_code)]

use std::io;

/// Installs `program` on the calling thread. `no_new_privs` must be set already (or CAP_SYS_ADMIN held).
pub fn install(program: &[libc::sock_filter]) -> io::Result<()> {
    let len =
        libc::c_ushort::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let fprog = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: `fprog` points to `len` instructions that live until the call returns; the kernel only reads them.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const fprog) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether the kernel knows seccomp filters with the given action (`SECCOMP_RET_USER_NOTIF` …).
pub fn action_available(action: u32) -> bool {
    // SAFETY: the kernel reads one `u32` through the pointer, which lives until the call returns.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}
