//! A file lock that is waited for no longer than until a deadline, and one that whoever has the descriptor shares.
//!
//! Danger: the kernel ends such a wait only by a signal. One that arrives between the look at the clock and the wait is
//! lost, so the timer goes on firing until it is taken away.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::alarm::Alarm;

/// How often the signal comes after the deadline.
const AGAIN: Duration = Duration::from_millis(50);

/// Waits in the kernel's queue for an exclusive `flock`; whether it was had before the deadline.
///
/// # Errors
/// A file system without locks, a kernel without timers.
pub fn lock_until(file: &File, deadline: Instant) -> io::Result<bool> {
    match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {}
        answer => return answer.map(|()| true).map_err(io::Error::from),
    }
    let alarm = Alarm::new()?;
    let _ringing = alarm.ring(deadline.saturating_duration_since(Instant::now()), AGAIN)?;
    loop {
        match flock(file.as_fd(), FlockOperation::LockExclusive) {
            Err(Errno::INTR) if Instant::now() < deadline => {}
            Err(Errno::INTR) => return Ok(false),
            answer => return answer.map(|()| true).map_err(io::Error::from),
        }
    }
}

/// Locks a byte of a file for reading, as long as a descriptor of this opening is open anywhere; whether nobody has it for
/// writing.
///
/// # Errors
/// A file system without locks, a file that is not open for reading.
pub fn hold_byte(file: BorrowedFd<'_>, byte: u32) -> io::Result<bool> {
    // SAFETY: all fields are plain; zero is valid for each.
    let mut lock: libc::flock = unsafe { zeroed() };
    lock.l_type = libc::c_short::try_from(libc::F_RDLCK).map_err(io::Error::other)?;
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).map_err(io::Error::other)?;
    (lock.l_start, lock.l_len) = (byte.into(), 1);
    // SAFETY: the kernel reads the lock, which lives until the call returns.
    match check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        answer => answer.map(|()| true),
    }
}

fn check(answer: i32) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
