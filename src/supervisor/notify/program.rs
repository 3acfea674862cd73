//! Programs with the arguments that they really got.
//!
//! Danger: at `execve` the arguments are the caller's memory, which another thread can change until the kernel has copied
//! it. So they are read at the new program's first own call, in the kernel's copy: the former threads are dead and nothing
//! of the program has run. A program of the command's own making need not make that call, and one that is traced or
//! preloaded can do another's work: this is a guard rail, not a wall.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;

use super::Watcher;
use crate::jail::seccomp::Arch;
use crate::supervisor::Verdict;
use crate::supervisor::observed::{Observed, Program};
use crate::sys::process::{kill_held, open_process};
use crate::sys::seccomp::{Notification, Reply};

/// Bytes of arguments that are read.
const LIMIT: u64 = 64 * 1024;

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
        let held = open_process(pid);
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
                    return stop(pid, held);
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
        if self.running.len() >= REMEMBERED {
            self.running.clear();
        }
        self.running.insert(pid, hash);
        // Asked each time: what is stopped once is stopped always, and what is told once may be stopped later.
        let mut what = Observed::Program(program);
        let verdict = self.sink.observed(pid, &what);
        if verdict == Verdict::Stop
            && let Observed::Program(program) = &mut what
        {
            program.stopped = true;
        }
        self.seen.note(&what);
        match verdict {
            Verdict::Go => Reply::Continue,
            Verdict::Stop => stop(pid, held),
        }
    }

    /// A call of this process is about to give it another program.
    pub(super) fn executes(&mut self, call: &Notification) {
        self.running.remove(&call.thread);
    }
}

/// Kills the process, which waits still. Its call fails, whatever comes of that: it never runs with what was judged.
fn stop(pid: i32, held: std::io::Result<std::os::fd::OwnedFd>) -> Reply {
    let killed = held.and_then(|held| kill_held(&held));
    if killed.is_err() && pid > 0 {
        let _ = crate::sys::signal::send(pid, libc::SIGKILL);
    }
    Reply::Errno(libc::EPERM)
}

/// What runs in `pid`.
pub(in crate::supervisor) fn read(pid: i32) -> Result<Program, &'static str> {
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_else(|_| PathBuf::new());
    let mut bytes = Vec::new();
    std::fs::File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|_| "memory")?;
    let cut = bytes.len() as u64 > LIMIT;
    if cut {
        bytes.truncate(usize::try_from(LIMIT).unwrap_or(usize::MAX));
    }
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    let argv = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    Ok(Program { file, argv, cut, stopped: false })
}
