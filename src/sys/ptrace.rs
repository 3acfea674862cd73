//! Tracing: attaching, resuming, what a stopped thread's call is, and taking a call away.
//!
//! Danger: a traced thread that is stopped and forgotten hangs for ever, and each request is only valid for a thread that
//! the calling *thread* traces and that is stopped.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Why a traced thread stopped, beside signals and calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It has a new child or thread.
    Born,
    /// It runs a new program; nothing of that has run.
    Exec,
    /// The filter handed a call over.
    Seccomp,
    /// It was attached, or continued after a stop.
    Trap,
    /// The whole process is stopped by this signal.
    Group(i32),
    /// One that was not asked for.
    Other,
}

/// What became of a traced thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is gone.
    Gone,
    /// It stopped for an event.
    Event(Event),
    /// It enters or leaves a call.
    Call,
    /// It is about to get this signal.
    Signal(i32),
}

/// How a stopped thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// To the next event or signal, which it gets if it is not 0.
    On(i32),
    /// As before, and to the end of the call that it is in.
    ToCallEnd(i32),
    /// It stays stopped with its process and tells when that is continued.
    Listen,
}

/// A call as it begins: its number and registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// `AUDIT_ARCH_*`.
    pub audit: u32,
    /// The number.
    pub number: u64,
    /// The registers.
    pub arguments: [u64; 6],
}

/// Attaches to the thread `thread` without stopping it. All that it starts will be traced too, calls that its filter
/// hands over are told, and everything traced is killed when the calling thread ends.
///
/// # Errors
/// EPERM where it may not be looked into or is traced already, ESRCH where it is gone.
pub fn seize(thread: i32) -> io::Result<()> {
    const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_EXITKILL;
    let options = libc::c_ulong::from(OPTIONS.cast_unsigned());
    // SAFETY: plain numbers.
    check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, thread, 0, options) })
}

/// Lets a stopped thread go on. One that was killed meanwhile is no error.
///
/// # Errors
/// As of ptrace(2), without ESRCH.
pub fn resume(thread: i32, how: Resume) -> io::Result<()> {
    let (request, signal) = match how {
        Resume::On(signal) => (libc::PTRACE_CONT, signal),
        Resume::ToCallEnd(signal) => (libc::PTRACE_SYSCALL, signal),
        Resume::Listen => (libc::PTRACE_LISTEN, 0),
    };
    let signal = libc::c_ulong::from(signal.cast_unsigned());
    // SAFETY: plain numbers.
    match check(unsafe { libc::ptrace(request, thread, 0, signal) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        result => result,
    }
}

/// Waits for the next change of a thread that the calling thread traces. `None` when there is none left.
///
/// # Errors
/// As of waitpid(2).
pub fn wait() -> io::Result<Option<(i32, Change)>> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one number through the pointer, which lives until the call returns.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if thread > 0 {
            return Ok(Some((thread, change(status))));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

fn change(status: i32) -> Change {
    if !libc::WIFSTOPPED(status) {
        return Change::Gone;
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => Change::Call,
        0 => Change::Signal(signal),
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Change::Event(Event::Born)
        }
        libc::PTRACE_EVENT_EXEC => Change::Event(Event::Exec),
        libc::PTRACE_EVENT_SECCOMP => Change::Event(Event::Seccomp),
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Change::Event(Event::Trap),
        libc::PTRACE_EVENT_STOP => Change::Event(Event::Group(signal)),
        _ => Change::Event(Event::Other),
    }
}

/// The number that comes with an event: the new thread, or the one that a process had before its exec.
///
/// # Errors
/// As of ptrace(2).
pub fn message(thread: i32) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one number through the pointer, which lives until the call returns.
    check(unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, 0, &raw mut message) })?;
    Ok(message)
}

/// The call that a thread is stopped at the beginning of.
///
/// # Errors
/// As of ptrace(2); EIO before Linux 5.3, EINVAL where it is not at a beginning.
pub fn entry(thread: i32) -> io::Result<Entry> {
    let info = info(thread)?;
    let (number, arguments) = match info.op {
        // SAFETY: the kernel has filled this variant, as `op` says.
        libc::PTRACE_SYSCALL_INFO_ENTRY => unsafe { (info.u.entry.nr, info.u.entry.args) },
        // SAFETY: as above.
        libc::PTRACE_SYSCALL_INFO_SECCOMP => unsafe { (info.u.seccomp.nr, info.u.seccomp.args) },
        _ => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
    };
    Ok(Entry { audit: info.arch, number, arguments })
}

/// What the call that a thread is stopped at the end of has answered: a value, or an errno. `None` where the stop is not
/// the end of a call.
///
/// # Errors
/// As of ptrace(2).
pub fn answer(thread: i32) -> io::Result<Option<Result<i64, i32>>> {
    let info = info(thread)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_EXIT {
        return Ok(None);
    }
    // SAFETY: the kernel has filled this variant, as `op` says.
    let exit = unsafe { info.u.exit };
    Ok(Some(if exit.is_error == 0 {
        Ok(exit.sval)
    } else {
        Err(i32::try_from(-exit.sval).unwrap_or(libc::EIO))
    }))
}

fn info(thread: i32) -> io::Result<libc::ptrace_syscall_info> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes through the pointer, which lives until the call returns.
    check(unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, size, info.as_mut_ptr()) })?;
    // SAFETY: all bytes were zeroes before, and the type is made of numbers.
    Ok(unsafe { info.assume_init() })
}

/// The call that a thread is stopped at the beginning of is not made; it answers `errno`.
///
/// # Errors
/// As of ptrace(2).
pub fn refuse(thread: i32, errno: i32) -> io::Result<()> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    exchange(libc::PTRACE_GETREGSET, thread, libc::NT_PRSTATUS, registers.as_mut_ptr())?;
    // SAFETY: all bytes were zeroes before the kernel wrote them, and the type is made of numbers.
    let mut registers = unsafe { registers.assume_init() };
    let answer = i64::from(-errno).cast_unsigned();
    #[cfg(target_arch = "x86_64")]
    {
        registers.orig_rax = u64::MAX;
        registers.rax = answer;
    }
    #[cfg(target_arch = "aarch64")]
    {
        /// `NT_ARM_SYSTEM_CALL`: the number of the call that is made.
        const SYSTEM_CALL: libc::c_int = 0x404;
        let mut none: libc::c_int = -1;
        exchange(libc::PTRACE_SETREGSET, thread, SYSTEM_CALL, &raw mut none)?;
        registers.regs[0] = answer;
    }
    exchange(libc::PTRACE_SETREGSET, thread, libc::NT_PRSTATUS, &raw mut registers)
}

/// Reads or writes a set of registers.
fn exchange<T>(request: libc::c_uint, thread: i32, set: libc::c_int, registers: *mut T) -> io::Result<()> {
    let mut block = libc::iovec { iov_base: registers.cast(), iov_len: size_of::<T>() };
    // SAFETY: the block has the address and size of a `T`, which the callers keep until the call returns.
    check(unsafe { libc::ptrace(request, thread, libc::c_long::from(set), &raw mut block) })
}

fn check(answer: libc::c_long) -> io::Result<()> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A word of nothing, for [`seize`]'s stop: asks a running thread to stop with [`Event::Trap`].
///
/// # Errors
/// As of ptrace(2).
pub fn interrupt(thread: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0, ptr::null_mut::<libc::c_void>()) })
}
