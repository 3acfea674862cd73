//! Signals with their origin: masks, signalfd, queued signals with a value.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Set(libc::sigset_t);

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries((1..=64).filter(|signal| self.contains(*signal))).finish()
    }
}

impl Set {
    /// The given signals; numbers that are none are ignored.
    pub fn of(signals: &[i32]) -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set; sigaddset refuses numbers out of range.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            for signal in signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            Self(set)
        }
    }

    /// Every signal.
    pub fn all() -> Self {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset initialises the set.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Self(set.assume_init())
        }
    }

    /// Whether `signal` is in it.
    pub fn contains(&self, signal: i32) -> bool {
        // SAFETY: the set is initialised; a number out of range answers -1.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    /// Makes this the thread's mask and returns the former one.
    pub fn apply(&self) -> io::Result<Self> {
        self.change(libc::SIG_SETMASK)
    }

    /// Takes these signals out of the thread's mask and returns the former one.
    pub fn unblock(&self) -> io::Result<Self> {
        self.change(libc::SIG_UNBLOCK)
    }

    fn change(&self, how: i32) -> io::Result<Self> {
        let mut old = MaybeUninit::uninit();
        // SAFETY: both sets live until the call returns, which fills `old` when it succeeds.
        let answer = unsafe { libc::pthread_sigmask(how, &raw const self.0, old.as_mut_ptr()) };
        if answer != 0 {
            return Err(io::Error::from_raw_os_error(answer));
        }
        // SAFETY: filled by the successful call.
        Ok(Self(unsafe { old.assume_init() }))
    }
}

/// Gives `signal` its default action.
pub fn set_default(signal: i32) {
    // SAFETY: SIG_DFL installs no handler. Signals whose action cannot be changed answer an error and stay as they are.
    let _ = unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// One signal with what is known of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Which.
    pub signal: i32,
    /// Sent by a process (kill, sigqueue), not by the kernel (terminal, fault, child).
    pub by_process: bool,
    /// The value, for a queued signal.
    pub value: Option<i32>,
}

/// A descriptor that becomes readable when one of the (blocked) signals of `set` is pending.
pub fn descriptor(set: &Set) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the set; -1 asks for a new descriptor.
    let raw = unsafe { libc::signalfd(-1, &raw const set.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Takes one pending signal from a [`descriptor`]; `None` when there is none.
pub fn take(descriptor: BorrowedFd<'_>) -> io::Result<Option<Received>> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    // SAFETY: `info` is zeroed, so all of its bytes may be read and written as such.
    let bytes = unsafe { std::slice::from_raw_parts_mut(info.as_mut_ptr().cast::<u8>(), size_of_val(&info)) };
    // Without the C library, whose error number two processes in one memory would share.
    match rustix::io::read(descriptor, &mut *bytes) {
        Ok(count) if count == bytes.len() => {}
        Ok(_) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        Err(rustix::io::Errno::AGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    // SAFETY: zeroed and filled; any bit pattern is a valid value.
    let info = unsafe { info.assume_init() };
    let value = (info.ssi_code == libc::SI_QUEUE).then_some(info.ssi_int);
    Ok(Some(Received { signal: info.ssi_signo.cast_signed(), by_process: info.ssi_code <= 0, value }))
}

/// Sends `signal` with a value to the process `pid`.
pub fn queue(pid: i32, signal: i32, value: i32) -> io::Result<()> {
    let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(value as u32 as usize) };
    // SAFETY: no memory is passed but the value itself.
    let answer = unsafe { libc::sigqueue(pid, signal, value) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends `signal` to `pid` as kill(2) does: 0 and negative numbers address groups.
pub fn send(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    let answer = unsafe { libc::kill(pid, signal) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
