//! Programs with the arguments that they really got.
//!
//! Danger: at `execve` the arguments are the caller's memory, which another thread can change until the kernel has copied
//! it. So they are read at the new program's first own call, in the kernel's copy: the former threads are dead and nothing
//! of the program has run. A program of the command's own making need not make that call, and one that is traced or
//! preloaded can do another's work: this is a guard rail, not a wall.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};

use super::Watcher;
use crate::jail::seccomp::Arch;
use crate::supervisor::Verdict;
use crate::supervisor::observed::{Observed, Program};
use crate::sys::process::{kill_held, open_process};
use crate::sys::seccomp::{Notification, Reply};

/// Bytes of arguments that are read: the kernel gives a program no more than 6 MiB, environment and all. Who judges must
/// see every word, since the one that matters may stand behind any number of others.
const LIMIT: usize = 8 * 1024 * 1024;

/// Bytes that are read at once, at least.
const PART: usize = 4096;

/// How many processes' last programs are remembered.
const REMEMBERED: usize = 4096;

/// Whether this is the first call of a new program's C library.
pub(super) fn begins(call: &Notification) -> bool {
    let number = match Arch::NATIVE {
        Arch::X86_64 => 158,
        Arch::Aarch64 => 96,
    };
    call.call == number
}

impl Watcher<'_> {
    /// A program begins: whether it may.
    pub(super) fn program(&mut self, call: &Notification) -> Reply {
        let pid = call.thread;
        self.finder.executes();
        let read = read(pid);
        if !self.waits(call) {
            // Gone, and the number may be somebody else's.
            return Reply::Errno(libc::ESRCH);
        }
        let program = match read {
            Ok(program) => program,
            Err(why) => {
                self.tell(pid, &Observed::Unseen { call: "execve", why });
                if self.settings.required {
                    return self.stop(call);
                }
                return Reply::Continue;
            }
        };
        let mut hasher = DefaultHasher::new();
        (&program.file, &program.argv).hash(&mut hasher);
        let hash = hasher.finish();
        if self.running.get(&pid) == Some(&hash) {
            return Reply::Continue;
        }
        // Asked each time: what is stopped once is stopped always, and what is told once may be stopped later.
        let mut what = Observed::Program(program);
        let verdict = self.sink.observed(pid, &what);
        if verdict == Verdict::Stop
            && let Observed::Program(program) = &mut what
        {
            program.stopped = true;
        }
        if let Observed::Program(program) = what {
            self.seen.note(&Observed::Program(program.short()));
        }
        if verdict == Verdict::Stop {
            return self.stop(call);
        }
        if self.running.len() >= REMEMBERED {
            self.running.clear();
        }
        self.running.insert(pid, hash);
        Reply::Continue
    }

    /// Kills the process that calls, which waits still. Its call fails, whatever comes of that: it never runs with what was
    /// judged.
    fn stop(&self, call: &Notification) -> Reply {
        let held = open_process(call.thread);
        // Who waits still was who has that number when it was opened.
        if self.waits(call) {
            let killed = held.and_then(|held| kill_held(&held));
            if killed.is_err() && call.thread > 0 {
                let _ = crate::sys::signal::send(call.thread, libc::SIGKILL);
            }
        }
        Reply::Errno(libc::EPERM)
    }

    /// A call of this process is about to give it another program.
    pub(super) fn executes(&mut self, call: &Notification) {
        self.running.remove(&call.thread);
        self.finder.executes();
    }
}

/// What runs in `pid`.
pub(in crate::supervisor) fn read(pid: i32) -> Result<Program, &'static str> {
    let file = rustix::fs::readlink(format!("/proc/{pid}/exe"), Vec::new());
    let file = file.map(|file| PathBuf::from(OsString::from_vec(file.into_bytes()))).unwrap_or_default();
    let (mut bytes, cut) = read_arguments(pid).map_err(|_| "memory")?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    let argv = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    Ok(Program { file, argv, cut, stopped: false })
}

/// The arguments of `pid` as the kernel shows them, and whether there are more.
fn read_arguments(pid: i32) -> rustix::io::Result<(Vec<u8>, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/{pid}/cmdline"), flags, Mode::empty())?;
    let mut bytes = Vec::new();
    while bytes.len() <= LIMIT {
        bytes.reserve(PART);
        let room = bytes.capacity() - bytes.len();
        let count = rustix::io::read(&file, spare_capacity(&mut bytes))?;
        // Each argument ends with a NUL: most are read at once.
        if count == 0 || count < room && bytes.last() == Some(&0) {
            break;
        }
    }
    let cut = bytes.len() > LIMIT;
    bytes.truncate(LIMIT);
    Ok((bytes, cut))
}
