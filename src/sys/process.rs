//! Processes: clone into namespaces, a child that shares memory until it executes, exec, exit.
//!
//! Danger: callers must be single-threaded. After `fork` in a threaded process only async-signal-safe code may run. Two
//! processes in one memory are two threads that the C library does not know of: at any time only one of them may use
//! it, and only one of them may ask for memory.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use rustix::thread::futex;

/// Whether this process has exactly one thread, as the kernel sees it.
pub fn single_threaded() -> bool {
    // The link count of /proc/self/task is 2 + the number of threads.
    rustix::fs::stat("/proc/self/task").is_ok_and(|stat| stat.st_nlink <= 3)
}

/// What a command needs to be executed, with every pointer laid out before: at that time nobody may ask for memory.
#[derive(Debug)]
pub struct Command {
    candidates: Vec<CString>,
    argv: Words,
    env: Words,
}

/// C strings, and the array of pointers to them that exec takes.
#[derive(Debug)]
struct Words {
    pointers: Vec<*const libc::c_char>,
    /// What they point to.
    _texts: Vec<CString>,
}

impl Words {
    fn new(texts: Vec<CString>) -> Self {
        // The bytes stay where they are when the strings move.
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { pointers, _texts: texts }
    }
}

impl Command {
    /// `candidates` are the paths to try in order, `argv` the arguments with the name, `env` the environment.
    pub fn new(candidates: Vec<CString>, argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self { candidates, argv: Words::new(argv), env: Words::new(env) }
    }

    /// Replaces this process by the first candidate that can be executed; the search rules are those of execvp(3),
    /// without its fallback to a shell.
    pub fn execute(&self) -> Result<Infallible, i32> {
        let (argv, env) = (self.argv.pointers.as_ptr(), self.env.pointers.as_ptr());
        let mut worst = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: all three are C strings or null-terminated arrays of them and live until exec succeeds.
            unsafe { libc::execve(candidate.as_ptr(), argv, env) };
            match io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => worst = libc::EACCES,
                errno => return Err(errno),
            }
        }
        Err(worst)
    }
}

/// Size of the stack that a child gets.
const STACK: usize = 256 * 1024;

/// Memory for a stack; pages of it that no child has used do not exist.
#[repr(C, align(64))]
struct Stack(UnsafeCell<[u8; STACK]>);

// SAFETY: only `clone_on` touches what is in it, for one child at a time, as its callers promise.
unsafe impl Sync for Stack {}

/// The stack of the child that [`spawn_into`] made.
static BESIDE: Stack = Stack(UnsafeCell::new([0; STACK]));

/// The stack of the child that [`spawn_beside`] made, or of the guide of [`spawn_led`].
static INSTEAD: Stack = Stack(UnsafeCell::new([0; STACK]));

/// The stack of the child that [`spawn_aside`] made.
static ASIDE: Stack = Stack(UnsafeCell::new([0; STACK]));

/// Whether this is running on the stack of a child.
pub(super) fn is_child() -> bool {
    let here = std::hint::black_box(0_u8);
    let on = |stack: &Stack| (&raw const here).addr().wrapping_sub(stack.0.get().addr()) < STACK;
    on(&BESIDE) || on(&INSTEAD) || on(&ASIDE)
}

/// What a child does; it returns its exit code.
type Body<'a> = &'a mut dyn FnMut() -> i32;

/// Clones this process by `flags` of clone(2) into a child that runs `body` on `stack`; gives its process id. With
/// `CLONE_CHILD_CLEARTID` the kernel stores 0 in `cleared` when the child has left this memory.
///
/// # Safety
/// Until a child with `CLONE_VM` has executed a program or ended, `stack`, `body` and what it borrows stay where they are
/// and belong to that child.
unsafe fn clone_on(
    stack: &'static Stack,
    flags: i32,
    body: Body<'_>,
    cleared: Option<&AtomicU32>,
) -> io::Result<i32> {
    extern "C" fn enter(argument: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `clone_on` has put it there, for this child alone.
        let body = unsafe { &mut *argument.cast::<Body<'_>>() };
        body()
    }
    // Above the stack's first frame, not in a frame of this function, which may return before the child has read it.
    let top = stack.0.get().cast::<u8>().wrapping_add(STACK - 64);
    // SAFETY: the last 64 bytes of an aligned array, which is the child's by the caller's promise, and so is `body`.
    let pid = unsafe {
        top.cast::<Body<'_>>().write(body);
        let nothing = std::ptr::null_mut::<libc::c_void>();
        let cleared = cleared.map_or(std::ptr::null_mut(), AtomicU32::as_ptr);
        libc::clone(enter, top.cast(), flags | libc::SIGCHLD, top.cast(), nothing, nothing, cleared)
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// A child of [`spawn_into`]. It is ended where nobody has waited for it.
#[derive(Debug)]
pub struct Beside<'a> {
    pid: i32,
    ended: bool,
    borrows: PhantomData<&'a mut ()>,
}

impl Beside<'_> {
    /// Its process id.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Waits until it has ended; gives its wait status, 0 where somebody else was given it.
    pub fn wait(&mut self) -> io::Result<i32> {
        let options = rustix::process::WaitOptions::empty();
        let waited = rustix::io::retry_on_intr(|| {
            rustix::process::waitpid(rustix::process::Pid::from_raw(self.pid), options)
        });
        self.ended = true;
        Ok(waited?.map_or(0, |(_, status)| status.as_raw()))
    }

    /// Lets it go, which has said that it is about to end.
    pub fn leaves(mut self) -> Leaving {
        self.ended = true;
        Leaving { _child: Beside { pid: self.pid, ended: false, borrows: PhantomData } }
    }

    /// Whether it is stopped, which it does not do by itself.
    pub fn is_stopped(&self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Pid::from_raw(self.pid)
            .is_some_and(|pid| waitid(WaitId::Pid(pid), stopped).is_ok_and(|found| found.is_some()))
    }
}

/// A child of [`spawn_into`] that is on its way out: all that is left for it to do is its exit. When this is dropped it is ended
/// and waited for; until then what it borrowed stays where it is.
#[derive(Debug)]
pub struct Leaving {
    _child: Beside<'static>,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // SAFETY: plain numbers; the child was not waited for, so the number is its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            let _ = self.wait();
        }
    }
}

/// Whose memory a child works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// A copy, as after fork(2).
    Copied,
    /// The parent's own: the copy of the page tables, of each page that one of them writes to, and the child's clearing
    /// up are a tenth of what a launch costs. While the child uses the C library the parent has to wait, with nothing
    /// but system calls.
    Shared,
}

/// What one process gives another one that works in its memory, or in a later copy of it.
#[derive(Debug)]
pub struct Handover<T> {
    place: AtomicPtr<T>,
    given: AtomicU32,
}

impl<T> Default for Handover<T> {
    /// Nothing yet.
    fn default() -> Self {
        Self { place: AtomicPtr::new(std::ptr::null_mut()), given: AtomicU32::new(0) }
    }
}

impl<T> Handover<T> {
    /// Gives `value`, once, and with it the system's allocator. It has to stay where it is, unchanged, until the other
    /// process has ended.
    pub fn give(&self, value: &T) {
        super::memory::give_system();
        self.place.store(std::ptr::from_ref(value).cast_mut(), Ordering::Release);
        self.given.store(1, Ordering::Release);
        let _ = futex::wake(&self.given, futex::Flags::PRIVATE, 1);
    }

    /// Waits until something was given.
    pub fn take(&self) -> &T {
        while self.given.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(&self.given, futex::Flags::PRIVATE, 0, None);
        }
        // SAFETY: `give` has stored a reference there, whose value stays as long as this process, by its contract.
        unsafe { &*self.place.load(Ordering::Acquire) }
    }
}

/// Runs `body` in a child in the new namespaces that `namespaces` names (`CLONE_NEW*` bits; 0 is a plain child). One at
/// a time: the child has to have ended before the next is made.
pub fn spawn_into<'a>(namespaces: i32, memory: Memory, body: Body<'a>) -> io::Result<Beside<'a>> {
    let sharing = if memory == Memory::Shared { libc::CLONE_VM } else { 0 };
    // SAFETY: the stack is used by one child at a time, by this function's contract, and `body` outlives the value that
    // ends the child when it is dropped.
    let pid = unsafe { clone_on(&BESIDE, namespaces | sharing, body, None) }?;
    Ok(Beside { pid, ended: false, borrows: PhantomData })
}

/// Runs `body` in a child that works in this memory and with these very descriptors, beside this process: with system calls
/// only, and no memory is asked for. One at a time, as in [`spawn_into`].
pub fn spawn_aside(body: Body<'_>) -> io::Result<Beside<'_>> {
    // SAFETY: as in `spawn_into`.
    let pid = unsafe { clone_on(&ASIDE, libc::CLONE_VM | libc::CLONE_FILES, body, None) }?;
    Ok(Beside { pid, ended: false, borrows: PhantomData })
}

/// A child that is being made by a guide, which goes where only a process can that is about to end, and leaves it behind
/// as the child of this one.
#[derive(Debug)]
pub struct Led<'a> {
    guide: Beside<'a>,
    /// The child's process id, or the negated errno of why there is none.
    made: &'a AtomicI32,
    arrived: bool,
}

impl<'a> Led<'a> {
    /// The guide's process id.
    pub fn guide(&self) -> i32 {
        self.guide.id()
    }

    /// Waits until the child is made.
    pub fn arrive(mut self) -> io::Result<Beside<'a>> {
        self.end_of_way()
    }

    fn end_of_way(&mut self) -> io::Result<Beside<'a>> {
        self.arrived = true;
        self.guide.wait()?;
        match self.made.load(Ordering::Acquire) {
            0 => Err(io::Error::other("the way was lost")),
            errno @ ..0 => Err(io::Error::from_raw_os_error(-errno)),
            pid => Ok(Beside { pid, ended: false, borrows: PhantomData }),
        }
    }
}

impl Drop for Led<'_> {
    fn drop(&mut self) {
        if !self.arrived {
            drop(self.end_of_way());
        }
    }
}

/// As [`spawn_into`], but the child is made where `join` has led, by a guide that shares this memory: with nothing but
/// system calls, beside this process. Both do what is said of a child with [`Memory::Shared`].
pub fn spawn_led<'a>(
    join: impl Fn() -> io::Result<()> + 'a,
    namespaces: i32,
    memory: Memory,
    body: Body<'a>,
) -> io::Result<Led<'a>> {
    // Both stay for good: a process makes few children, and who uses them cannot say when it is done with the last byte.
    let made: &'a AtomicI32 = Box::leak(Box::new(AtomicI32::new(0)));
    let sharing = if memory == Memory::Shared { libc::CLONE_VM } else { 0 };
    let mut body = Some(body);
    let way = Box::leak(Box::new(move || {
        let led = join().and_then(|()| {
            let body = body.take().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
            // SAFETY: as in `spawn_into`; who drops `Led` has waited for this guide and ends the child.
            unsafe { clone_on(&BESIDE, namespaces | sharing | libc::CLONE_PARENT, body, None) }
        });
        let number = led.unwrap_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO));
        made.store(number, Ordering::Release);
        0
    }));
    // SAFETY: the way is there for good, and the stack is used again only after this guide has ended: `Led` waits for it.
    let pid = unsafe { clone_on(&INSTEAD, libc::CLONE_VM, way, None) }?;
    Ok(Led { guide: Beside { pid, ended: false, borrows: PhantomData }, made, arrived: false })
}

/// A gate before which a process waits for another one in its memory.
#[derive(Debug, Default)]
pub struct Gate(AtomicU32);

impl Gate {
    /// Opens it, for good or to be told that the way ends here.
    pub fn open(&self, through: bool) {
        self.0.store(if through { 1 } else { 2 }, Ordering::Release);
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
    }

    /// Waits until it is open; whether the way goes on.
    pub fn wait(&self) -> bool {
        loop {
            match self.0.load(Ordering::Acquire) {
                0 => drop(futex::wait(&self.0, futex::Flags::PRIVATE, 0, None)),
                opened => return opened == 1,
            }
        }
    }
}

/// Runs `body` in a child that shares this memory, and `meanwhile` here, with system calls only: the C library is the
/// child's. Then this process waits until the child has executed a program or ended. Saves the copy of the page tables.
/// `body` must end in exec or return the exit code; what it stores outside itself is seen here.
pub fn spawn_beside(body: Body<'_>, meanwhile: &mut dyn FnMut()) -> io::Result<i32> {
    // The kernel clears it when the child leaves this memory, and wakes whoever waits there.
    let inside = AtomicU32::new(1);
    // SAFETY: this process stays here until the child is done with the stack, `body` and `inside`.
    let pid =
        unsafe { clone_on(&INSTEAD, libc::CLONE_VM | libc::CLONE_CHILD_CLEARTID, body, Some(&inside)) }?;
    meanwhile();
    while inside.load(Ordering::Acquire) != 0 {
        let _ = futex::wait(&inside, futex::Flags::empty(), 1, None);
    }
    Ok(pid)
}

/// Closes this process's own copies of descriptors whose values belong to another process in the same memory, or will be
/// forgotten.
pub fn close_copies(descriptors: impl IntoIterator<Item = RawFd>) {
    for descriptor in descriptors {
        // SAFETY: the number is this process's copy, which nothing in it uses any more, by this function's contract.
        unsafe { libc::close(descriptor) };
    }
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
