//! Signals with their origin: masks, signalfd, queued signals with a value.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

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

/// Waits for one of `set`, which must be blocked.
pub fn wait(set: &Set) -> io::Result<Received> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel reads the set and fills `info`; both live until the call returns.
    let signal = unsafe { libc::sigwaitinfo(&raw const set.0, info.as_mut_ptr()) };
    if signal < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed and then filled by the successful call.
    let info = unsafe { info.assume_init() };
    let queued = info.si_code == libc::SI_QUEUE;
    // SAFETY: for SI_QUEUE the value member of the union is the one that was set. `sival_ptr` shares its bytes with
    // the integer; the low half is the integer on the little-endian architectures that swbox supports.
    let value = queued.then(|| unsafe { info.si_value() }.sival_ptr.addr());
    let value = value.and_then(|value| u32::try_from(value & 0xffff_ffff).ok()).map(u32::cast_signed);
    Ok(Received { signal, by_process: info.si_code <= 0, value })
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
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes at most `size` bytes into `info`.
    let count = unsafe { libc::read(descriptor.as_raw_fd(), info.as_mut_ptr().cast(), size) };
    if usize::try_from(count) != Ok(size) {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
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
