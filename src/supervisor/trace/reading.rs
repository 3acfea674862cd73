//! What the traced calls come to: names at their beginning, the kernel's answer at their end.
//!
//! Danger: this runs while the command's thread is stopped. It must not wait for anything that the command can hold up.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::changes::{self, Change};
use super::judge::{Led, refused};
use super::run::{Begins, Reader};
use super::{Line, Said};
use crate::jail::seccomp::{self, Arch, Descriptors};
use crate::supervisor::Verdict;
use crate::supervisor::call::{self, Memory, Wish};
use crate::supervisor::ground::Ground;
use crate::supervisor::notify::program;
use crate::supervisor::observed::{Observed, Program};
use crate::supervisor::resolve::Task;
use crate::supervisor::seen::Seen;
use crate::supervisor::touched::Ledger;
use crate::sys::ptrace::{self, Entry};

/// How often a question is looked after that nobody answers.
const PATIENCE: Duration = Duration::from_millis(50);

/// A call that is under way.
pub(super) struct Call {
    wish: Wish,
    task: Task,
    led: Vec<Led>,
    by_filter: bool,
    changes: Vec<Change>,
}

/// What is made of the calls.
pub(super) struct Reading {
    ground: Ground,
    line: Line,
    seen: Seen,
    /// Whether the command's first program runs.
    running: bool,
    ledger: Ledger,
    /// The workspace as the command sees it, from its first call on.
    workspace: Option<OwnedFd>,
    /// The processes of the threads that live.
    processes: HashMap<i32, i32>,
    /// The watched calls' names by number.
    names: Vec<(i64, &'static str)>,
}

impl Reading {
    pub(super) fn new(ground: Ground, reads: bool, line: Line) -> Self {
        let named = seccomp::watched(reads, Descriptors::All, Arch::NATIVE)
            .filter_map(|entry| Some((i64::from(entry.number(Arch::NATIVE)?), entry.name)));
        let mut names: Vec<_> = named.collect();
        names.push((libc::SYS_socket, "socket"));
        let ledger = Ledger::new(ground.workspace());
        Self {
            ground,
            line,
            seen: Seen::default(),
            running: false,
            ledger,
            workspace: None,
            processes: HashMap::new(),
            names,
        }
    }

    /// Everything that was seen. No process is left.
    pub(super) fn finish(mut self) -> Seen {
        let workspace = self.workspace.take();
        let touches = workspace.map(|workspace| self.ledger.settle(&workspace)).unwrap_or_default();
        for (process, touch) in touches {
            self.tell(process, Observed::Touch(touch));
        }
        self.seen.dropped += self.ledger.take_dropped();
        self.seen
    }

    /// Notes what was seen; tells of it if it is new.
    fn tell(&mut self, pid: i32, what: Observed) {
        if !self.seen.note(&what) {
            return;
        }
        // Whoever is told of a refusal asks who the process is, which it must still be then.
        if matches!(what, Observed::Denial(_)) {
            self.ask(pid, what);
        } else {
            self.say(Said::Seen(pid, what));
        }
    }

    /// Tells of what a process did that is stopped, and waits for what becomes of it.
    fn ask(&self, pid: i32, what: Observed) -> Verdict {
        let (answer, answered) = channel();
        self.say(Said::Asked(pid, what, answer));
        loop {
            match answered.recv_timeout(PATIENCE) {
                Ok(verdict) => return verdict,
                Err(RecvTimeoutError::Timeout) if !self.line.closed.load(Ordering::SeqCst) => {}
                // The command is being killed: nothing new begins.
                Err(_) => return Verdict::Stop,
            }
        }
    }

    fn say(&self, said: Said) {
        // Without a listener everything is in `seen` still.
        let _ = self.line.said.send(said);
        let _ = rustix::io::write(&*self.line.bell, &1_u64.to_ne_bytes());
    }

    fn name(&self, number: i64) -> &'static str {
        self.names.iter().find(|(other, _)| *other == number).map_or("?", |(_, name)| name)
    }

    /// The process of a thread.
    fn process(&mut self, thread: i32) -> i32 {
        *self.processes.entry(thread).or_insert_with(|| process_of(thread).unwrap_or(thread))
    }

    /// A call has changed its files.
    fn happened(&mut self, thread: i32, call: &Call) {
        let process = self.process(thread);
        for change in &call.changes {
            change.happened(&mut self.ledger, process);
        }
    }

    /// Reads a call; `None` where there is nothing to follow.
    fn read(&mut self, thread: i32, entry: &Entry) -> Option<Call> {
        let number = i64::try_from(entry.number).unwrap_or(-1);
        let unseen = |why| Observed::Unseen { call: self.name(number), why };
        let wish = match call::read(number, entry.arguments, Memory::of(thread)) {
            Ok(wish) => wish?,
            // The kernel will not find it either.
            Err(call::Unreadable::Nothing | call::Unreadable::Long) => return None,
            // Killed in the call, which is not made then.
            Err(call::Unreadable::Closed) if ptrace::entry(thread).is_err() => return None,
            Err(why @ call::Unreadable::Closed) => {
                let what = unseen(why.word());
                self.tell(thread, what);
                return None;
            }
        };
        let Ok(task) = Task::open(thread) else {
            if ptrace::entry(thread).is_err() {
                return None;
            }
            let what = unseen("process");
            self.tell(thread, what);
            return None;
        };
        if self.workspace.is_none() {
            self.workspace = open_workspace(&task, self.ground.workspace());
        }
        let led: Vec<_> = wish.names().iter().map(|name| task.lead(name)).collect();
        Some(Call { wish, task, led, by_filter: false, changes: Vec::new() })
    }
}

impl Reader for Reading {
    type Call = Option<Call>;

    fn begins(&mut self, thread: i32, entry: &Entry) -> Begins<Self::Call> {
        self.seen.calls += 1;
        let number = u32::try_from(entry.number).unwrap_or(u32::MAX);
        let refusal = if entry.audit == Arch::NATIVE.audit() {
            seccomp::refusal(self.ground.filter, Arch::NATIVE, number, entry.arguments)
        } else {
            Some(libc::ENOSYS)
        };
        // Until the command is there, what it is started by looks for it.
        let call = if self.running { self.read(thread, entry) } else { None };
        match (refusal, call) {
            (Some(errno), call) => Begins::Refuse(call.map(|call| Call { by_filter: true, ..call }), errno),
            (None, Some(call)) => {
                let process = self.process(thread);
                let attributes = call::sets_attributes(i64::from(number));
                let changes = changes::read(&mut self.ledger, process, &call.wish, &call.led, attributes);
                Begins::Follow(Some(Call { changes, ..call }))
            }
            (None, None) => Begins::Pass,
        }
    }

    fn ended(&mut self, thread: i32, call: Self::Call, answer: Result<i64, i32>) {
        let Some(call) = call else { return };
        let Err(errno) = answer else { return self.happened(thread, &call) };
        let denial = refused(&self.ground, &call.task, &call.wish, &call.led, errno, call.by_filter);
        if let Some(denial) = denial {
            let process = self.process(thread);
            self.tell(process, Observed::Denial(denial));
        }
    }

    fn program(&mut self, process: i32) -> Verdict {
        self.running = true;
        let program = match program::read(process) {
            Ok(program) => program,
            Err(why) => {
                self.tell(process, Observed::Unseen { call: "execve", why });
                return Verdict::Go;
            }
        };
        let what = Observed::Program(program);
        let verdict = self.ask(process, what.clone());
        if let Observed::Program(program) = what {
            let program = Program { stopped: verdict == Verdict::Stop, ..program.short() };
            self.seen.note(&Observed::Program(program));
        }
        verdict
    }

    fn gone(&mut self, thread: i32, call: Option<Self::Call>) {
        // Killed in the middle of it.
        if let Some(call) = call.flatten() {
            self.happened(thread, &call);
        }
        self.processes.remove(&thread);
    }

    fn unread(&mut self, thread: i32, _: &io::Error) {
        self.tell(thread, Observed::Unseen { call: "?", why: "trace" });
    }
}

/// The process of a thread, as swbox counts.
fn process_of(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The workspace in the root of a process.
fn open_workspace(task: &Task, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(task.root(), path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()
}
