//! A file lock that is waited for no longer than until a deadline, and one that whoever has the descriptor shares.
//!
//! Danger: the kernel ends such a wait only by a signal. One that arrives between the look at the clock and the wait is
//! lost, so the timer goes on firing until it is taken away.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::signal::Set;

/// How often the signal comes after the deadline.
const AGAIN: libc::c_long = 50_000_000;

/// Waits in the kernel's queue for an exclusive `flock`; whether it was had before the deadline.
///
/// # Errors
/// A file system without locks, a kernel without timers.
pub fn lock_until(file: &File, deadline: Instant) -> io::Result<bool> {
    match flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {}
        answer => return answer.map(|()| true).map_err(io::Error::from),
    }
    let _alarm = Alarm::at(deadline.saturating_duration_since(Instant::now()))?;
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

/// A timer that interrupts this thread alone. Its signal, which nobody else uses, keeps the handler: taken away it would
/// end a process in which another thread waits.
struct Alarm {
    timer: libc::timer_t,
    mask: Set,
}

extern "C" fn nothing(_: i32) {}

impl Alarm {
    fn at(delay: Duration) -> io::Result<Self> {
        let signal = libc::SIGRTMAX();
        // SAFETY: all fields are plain; zero is the empty mask and no flags, so that calls are not begun again.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        // SAFETY: the handler touches nothing; the former action is not asked.
        check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
        // SAFETY: plain fields, zero is valid for all of them; the thread is this one.
        let mut event: libc::sigevent = unsafe { zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer = MaybeUninit::uninit();
        // SAFETY: `timer` is filled where the call succeeds.
        let timer = unsafe {
            check(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, timer.as_mut_ptr()))?;
            timer.assume_init()
        };
        let alarm = Self { timer, mask: Set::of(&[signal]).unblock()? };
        // Zero would disarm it.
        let first = delay.max(Duration::from_nanos(1));
        let times = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: AGAIN },
            it_value: libc::timespec {
                tv_sec: first.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: first.subsec_nanos().into(),
            },
        };
        // SAFETY: the timer is this process's; the former value is not asked.
        check(unsafe { libc::timer_settime(alarm.timer, 0, &raw const times, std::ptr::null_mut()) })?;
        Ok(alarm)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer is this one's. A signal that is still pending has gone to the handler when the call returns.
        unsafe { libc::timer_delete(self.timer) };
        let _ = self.mask.apply();
    }
}

fn check(answer: i32) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
