//! A timer whose signal does nothing but end a wait: for calls of the kernel that wait and cannot be told for how long. And one
//! that continues this process where it is stopped.
//!
//! Danger: a signal that comes just before the wait begins ends nothing. So it comes again and again.
#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

use super::signal::Set;

/// The signal: of those that nobody hands on, and that would do nothing by itself.
const SIGNAL: i32 = libc::SIGURG;

/// A timer of the calling thread.
#[derive(Debug)]
pub struct Alarm {
    timer: libc::c_int,
}

/// While this lives the thread's waits are ended. The handler stays afterwards: the signal may be pending for another thread.
#[derive(Debug)]
pub struct Ringing {
    timer: libc::c_int,
    mask: Set,
}

extern "C" fn nothing(_: libc::c_int) {}

impl Alarm {
    /// A timer that does not run yet. Asks the C library for no memory.
    ///
    /// # Errors
    /// Where the kernel gives no timer.
    pub fn new() -> io::Result<Self> {
        // SAFETY: all zero is a valid action: no flags, an empty mask. Without `SA_RESTART` a wait that it comes into ends.
        let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler does nothing; the action lives until the call returns.
        if unsafe { libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        create(SIGNAL).map(|timer| Self { timer })
    }

    /// A timer that continues this process after `delay`, wherever it is stopped then. The signal is one that it must have
    /// blocked; what was sent is pending then.
    ///
    /// # Errors
    /// Where the kernel gives no timer.
    pub fn continuing(delay: Duration) -> io::Result<Self> {
        let alarm = Self { timer: create(libc::SIGCONT)? };
        set(alarm.timer, delay.max(Duration::from_nanos(1)), Duration::ZERO)?;
        Ok(alarm)
    }

    /// Lets it ring after `first`, and then every `period`.
    ///
    /// # Errors
    /// Where the timer cannot be set: of another process, as after a fork.
    pub fn ring(&self, first: Duration, period: Duration) -> io::Result<Ringing> {
        let ringing = Ringing { timer: self.timer, mask: Set::of(&[SIGNAL]).unblock()? };
        // Zero would stop it.
        set(self.timer, first.max(Duration::from_nanos(1)), period)?;
        Ok(ringing)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: a plain number; one that is no timer of this process answers an error.
        let _ = unsafe { libc::syscall(libc::SYS_timer_delete, self.timer) };
    }
}

impl Drop for Ringing {
    fn drop(&mut self) {
        // A signal that is pending then has gone to the handler when the call returns.
        let _ = set(self.timer, Duration::ZERO, Duration::ZERO);
        let _ = self.mask.apply();
    }
}

/// A timer of the calling thread that does not run yet, with this signal.
fn create(signal: i32) -> io::Result<libc::c_int> {
    // SAFETY: all zero is a valid event.
    let mut event = unsafe { std::mem::zeroed::<libc::sigevent>() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_pid();
    let mut timer = 0;
    // Not the C library's function, which may ask for memory.
    // SAFETY: the kernel reads the event and writes the number, which both live until the call returns.
    let answer = unsafe {
        libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw const event, &raw mut timer)
    };
    if answer == 0 { Ok(timer) } else { Err(io::Error::last_os_error()) }
}

/// Lets a timer ring after `first`, which stops it where it is zero, and then every `period`.
fn set(timer: libc::c_int, first: Duration, period: Duration) -> io::Result<()> {
    let time = |duration: Duration| libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    };
    let times = libc::itimerspec { it_interval: time(period), it_value: time(first) };
    let former = std::ptr::null_mut::<libc::itimerspec>();
    // SAFETY: the kernel reads the times, which live until the call returns.
    let answer = unsafe { libc::syscall(libc::SYS_timer_settime, timer, 0, &raw const times, former) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_and_does_not_end_without_it() {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mask = Set::all().apply().unwrap();
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let alarm = Alarm::new().unwrap();
        let ringing = alarm.ring(Duration::from_millis(1), Duration::from_millis(1)).unwrap();
        // Twice: it goes on.
        for _ in 0..2 {
            let waited = poll(&mut [PollFd::new(&reader, PollFlags::IN)], None);
            assert_eq!(waited, Err(rustix::io::Errno::INTR));
        }
        drop(ringing);
        let short = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        assert_eq!(poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&short)), Ok(0));
        mask.apply().unwrap();
    }
}
