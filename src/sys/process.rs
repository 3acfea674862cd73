//! Processes: clone into namespaces, a child that shares memory until it executes, exec, exit.
//!
//! Danger: callers must be single-threaded. After `fork` in a threaded process only async-signal-safe code may run.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Which side of a [`fork_into`] this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The new process.
    Child,
    /// The old one, with the child's process id.
    Parent(i32),
}

/// Whether this process has exactly one thread, as the kernel sees it.
pub fn single_threaded() -> bool {
    // The link count of /proc/self/task is 2 + the number of threads.
    rustix::fs::stat("/proc/self/task").is_ok_and(|stat| stat.st_nlink <= 3)
}

/// Forks into the new namespaces that `namespaces` names (`CLONE_NEW*` bits; 0 is a plain fork).
pub fn fork_into(namespaces: i32) -> io::Result<Forked> {
    let flags = libc::c_long::from(namespaces) | libc::c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork(2): the child runs on a copy of this memory.
    // The callers are single-threaded, so no lock is held by a thread that does not exist in the child.
    let answer = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(answer) {
        Ok(0) => Ok(Forked::Child),
        Ok(pid) if pid > 0 => Ok(Forked::Parent(pid)),
        Ok(_) | Err(_) => Err(io::Error::last_os_error()),
    }
}

/// What a command needs to be executed, with every pointer laid out before.
#[derive(Debug)]
pub struct Command {
    candidates: Vec<CString>,
    argv: Vec<CString>,
    env: Vec<CString>,
}

impl Command {
    /// `candidates` are the paths to try in order, `argv` the arguments with the name, `env` the environment.
    pub fn new(candidates: Vec<CString>, argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self { candidates, argv, env }
    }

    /// Replaces this process by the first candidate that can be executed; the search rules are those of execvp(3),
    /// without its fallback to a shell.
    pub fn execute(&self) -> Result<Infallible, i32> {
        let argv: Vec<_> = self.argv.iter().map(|arg| arg.as_ptr()).chain([std::ptr::null()]).collect();
        let env: Vec<_> = self.env.iter().map(|entry| entry.as_ptr()).chain([std::ptr::null()]).collect();
        let mut worst = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: all three are C strings or null-terminated arrays of them and live until exec succeeds.
            unsafe { libc::execve(candidate.as_ptr(), argv.as_ptr(), env.as_ptr()) };
            match io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => worst = libc::EACCES,
                errno => return Err(errno),
            }
        }
        Err(worst)
    }
}

/// Size of the stack of a child that shares memory.
const CHILD_STACK: usize = 256 * 1024;

/// Runs `body` in a child that shares this memory, while this process waits until the child has executed a program or
/// ended. Saves the copy of the page tables. `body` must end in exec or return the exit code; what it stores outside
/// itself is seen here.
pub fn spawn_sharing(body: &mut dyn FnMut() -> i32) -> io::Result<i32> {
    extern "C" fn enter(argument: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `argument` is the pointer that `spawn_sharing` passed; its frame waits until this child is done.
        let body = unsafe { &mut *argument.cast::<&mut dyn FnMut() -> i32>() };
        body()
    }
    let mut stack = vec![0_u8; CHILD_STACK];
    let top = stack.as_mut_ptr_range().end;
    let top = top.wrapping_sub(top.addr() % 16);
    let mut argument: &mut dyn FnMut() -> i32 = body;
    // SAFETY: `top` is the aligned end of a stack that outlives the child's use of it (CLONE_VFORK), `enter` gets a
    // pointer to `argument`, which lives in this waiting frame.
    let pid = unsafe {
        libc::clone(
            enter,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut argument).cast(),
        )
    };
    drop(stack);
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Ends this process at once: no destructors, no buffers, no handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from `first` up.
pub fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: plain numbers. The caller executes or exits next and uses no descriptor from `first` up.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// As [`close_from`], but for `kept`.
pub fn close_but(first: RawFd, kept: &impl AsRawFd) -> io::Result<()> {
    let kept = kept.as_raw_fd();
    if kept < first {
        return close_from(first);
    }
    if kept > first {
        // SAFETY: plain numbers, as for `close_from`.
        let answer = unsafe { libc::syscall(libc::SYS_close_range, first, kept - 1, 0) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    close_from(kept + 1)
}

/// Holds the process `pid`: its number may be given to another one, this descriptor stays its own. A thread's number is
/// held where the kernel can (Linux 6.9).
pub fn open_process(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let raw = RawFd::try_from(answer).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Whether `thread` is the first thread of its process, whose number is the process's.
pub fn is_process(thread: i32) -> bool {
    open_process(thread).is_ok()
}

/// Kills the process that is held.
pub fn kill_held(process: &OwnedFd) -> io::Result<()> {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null pointer asks for what kill(2) sends.
    let answer =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), libc::SIGKILL, nothing, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Leaves the session keyring that was inherited for a fresh one; kernels without keyrings have nothing to leave.
pub fn fresh_session_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for an anonymous keyring; no memory is touched.
    let _ = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0) };
}

/// Sets the name that `ps` shows for this process.
pub fn set_name(name: &CStr) {
    let _ = rustix::thread::set_name(name);
}
