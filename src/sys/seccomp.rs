//! Installing seccomp programs, and the listener of a program that hands calls to a supervisor.
//!
//! Danger: after [`install`] the thread and all it starts are held by the program for ever. An answer to a
//! [`Notification`] that says "go on" lets the kernel read the call's memory again, which the caller may have changed
//! meanwhile; and a number is only the process that was meant while [`valid`] says so.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::process::{exit_now, single_threaded, spawn_beside};

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: the answerer and the caller take turns on one CPU (Linux 6.6).
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// What `PR_GET_SECCOMP` says of a process that a filter holds.
const SECCOMP_MODE_FILTER: libc::c_int = 2;

/// `BPF_RET | BPF_K`.
const RETURN: u16 = 6;

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification {
    /// The call's own number, never given twice by a listener.
    pub id: u64,
    /// The calling thread, as this process's PID namespace numbers it; 0 where it has no number there.
    pub thread: i32,
    /// The system call's number.
    pub call: i32,
    /// `AUDIT_ARCH_*`.
    pub arch: u32,
    /// The registers.
    pub arguments: [u64; 6],
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The kernel performs it, and reads its memory now.
    Continue,
    /// It fails with this errno.
    Errno(i32),
    /// It returns this value.
    Value(i64),
}

/// Installs `program` on the calling thread. `no_new_privs` must be set already (or CAP_SYS_ADMIN held).
pub fn install(program: &[libc::sock_filter]) -> io::Result<()> {
    set_filter(program, 0).map(drop)
}

/// Installs `program` and gives its listener, which closes on exec. A caller that waits for an answer can only be
/// interrupted by a fatal signal where the kernel knows that (Linux 5.19).
///
/// # Errors
/// EBUSY when a program with a listener holds the thread already, EINVAL where the kernel has no listeners.
pub fn install_listening(program: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let answer = match set_filter(program, listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, listener),
        answer => answer,
    }?;
    let raw = RawFd::try_from(answer).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Whether the filters of this process have a listener already, beside which the kernel gives no second one. It is tried, by
/// a child that ends at once, and only where there is a filter.
pub fn has_listener() -> bool {
    // SAFETY: plain numbers; asks for one.
    if unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) } != SECCOMP_MODE_FILTER {
        return false;
    }
    let mut attempt = || {
        let allow = [libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
        let held = rustix::thread::set_no_new_privs(true).map_err(io::Error::from);
        let tried = held.and_then(|()| set_filter(&allow, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER));
        i32::from(tried.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)))
    };
    let child = if single_threaded() {
        // Containers have a filter: this is then part of each start, and a copy of the page tables most of it.
        spawn_beside(&mut attempt, &mut || {}).unwrap_or(0)
    } else {
        // SAFETY: the child makes system calls alone, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            exit_now(attempt());
        }
        child
    };
    let options = rustix::process::WaitOptions::empty();
    let Some(child) = rustix::process::Pid::from_raw(child.max(0)) else { return false };
    let waited = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), options));
    waited.is_ok_and(|ended| ended.is_some_and(|(_, status)| status.exit_status() == Some(1)))
}

fn set_filter(program: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let len =
        libc::c_ushort::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let fprog = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: `fprog` points to `len` instructions that live until the call returns; the kernel only reads them.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const fprog) };
    if answer >= 0 { Ok(answer) } else { Err(io::Error::last_os_error()) }
}

/// Whether the kernel knows seccomp filters with the given action (`SECCOMP_RET_USER_NOTIF` …).
pub fn action_available(action: u32) -> bool {
    // SAFETY: the kernel reads one `u32` through the pointer, which lives until the call returns.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    answer == 0
}

/// Makes caller and answerer take turns on one CPU, where the kernel can: a third of the cost of a notification.
pub fn take_turns(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the argument is a number, no pointer.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes the next call; waits for one, so poll first. `None` when the one that was there is gone already.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Option<Notification>> {
    let mut raw = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the kernel wants a zeroed structure of this size and fills it; kernels that know a longer one fill no more.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, raw.as_mut_ptr()) };
    if answer != 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    // SAFETY: zeroed, then filled by the successful call; any bit pattern is a valid value.
    let raw = unsafe { raw.assume_init() };
    Ok(Some(Notification {
        id: raw.id,
        thread: raw.pid.cast_signed(),
        call: raw.data.nr,
        arch: raw.data.arch,
        arguments: raw.data.args,
    }))
}

/// Answers a call. A caller that is gone needs no answer.
pub fn reply(listener: BorrowedFd<'_>, id: u64, reply: Reply) -> io::Result<()> {
    let (val, error, flags) = match reply {
        Reply::Continue => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE),
        Reply::Errno(errno) => (0, -errno.abs().max(1), 0),
        Reply::Value(value) => (value, 0, 0),
    };
    let flags = u32::try_from(flags).unwrap_or_default();
    let response = libc::seccomp_notif_resp { id, val, error, flags };
    // SAFETY: the kernel reads one structure through the pointer, which lives until the call returns.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ENOENT) { Ok(()) } else { Err(error) }
}

/// Whether the call still waits: then its process is the one whose number was given, and what was read of it is its own.
pub fn valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads one u64 through the pointer, which lives until the call returns.
    let answer =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) };
    answer == 0
}
