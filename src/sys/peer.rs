//! Who is at the other end of a unix socket, and which descriptors a process keeps.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// The process that connected, or that listens, when it did: its id as this process's PID namespace counts, 0 where it
/// has none there.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<i32> {
    let mut found = MaybeUninit::<libc::ucred>::zeroed();
    let mut size = libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `size` bytes into `found`; both live until the call returns.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            found.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed and filled; any bit pattern is a valid value.
    Ok(unsafe { found.assume_init() }.pid)
}

/// Closes every descriptor from 3 up but `kept`. For a process that never returns to the owners of the others.
pub fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().filter_map(|one| u32::try_from(*one).ok()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for next in kept.into_iter().filter(|next| *next >= 3).chain([u32::MAX]) {
        if next > first {
            // SAFETY: plain numbers; nobody in this process uses the descriptors of the gap any more.
            let answer = unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
            if answer != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        first = next.saturating_add(1);
    }
    Ok(())
}
