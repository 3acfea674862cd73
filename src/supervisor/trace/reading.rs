//! What the traced calls come to: names at their beginning, the kernel's answer at their end.
//!
//! Danger: this runs while the command's thread is stopped. It must not wait for anything that the command can hold up.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::judge::{Led, refused};
use super::run::{Begins, Reader};
use super::{Line, Said};
use crate::jail::seccomp::{self, Arch};
use crate::supervisor::Verdict;
use crate::supervisor::call::{self, Address, Memory, Name, Wish};
use crate::supervisor::ground::Ground;
use crate::supervisor::notify::program;
use crate::supervisor::observed::Observed;
use crate::supervisor::resolve::{Last, Task};
use crate::supervisor::seen::Seen;
use crate::sys::ptrace::Entry;

/// How often a question is looked after that nobody answers.
const PATIENCE: Duration = Duration::from_millis(50);

/// A call that is under way.
pub(super) struct Call {
    wish: Wish,
    task: Task,
    led: Vec<Led>,
    by_filter: bool,
}

/// What is made of the calls.
pub(super) struct Reading {
    ground: Ground,
    line: Line,
    seen: Seen,
    /// The watched calls' names by number.
    names: Vec<(i64, &'static str)>,
}

impl Reading {
    pub(super) fn new(ground: Ground, reads: bool, line: Line) -> Self {
        let named = seccomp::watched(reads, Arch::NATIVE)
            .filter_map(|entry| Some((i64::from(entry.number(Arch::NATIVE)?), entry.name)));
        let mut names: Vec<_> = named.collect();
        names.push((libc::SYS_socket, "socket"));
        Self { ground, line, seen: Seen::default(), names }
    }

    /// Everything that was seen.
    pub(super) fn finish(self) -> Seen {
        self.seen
    }

    /// Notes what was seen; tells of it if it is new.
    fn tell(&mut self, pid: i32, what: Observed) {
        if self.seen.note(&what) {
            self.say(Said::Seen(pid, what));
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

    /// Reads a call; `None` where there is nothing to follow.
    fn read(&mut self, thread: i32, entry: &Entry) -> Option<Call> {
        let number = i64::try_from(entry.number).unwrap_or(-1);
        let unseen = |why| Observed::Unseen { call: self.name(number), why };
        let wish = match call::read(number, entry.arguments, Memory(thread)) {
            Ok(wish) => wish?,
            // The kernel will not find it either.
            Err(call::Unreadable::Nothing | call::Unreadable::Long) => return None,
            Err(why @ call::Unreadable::Closed) => {
                let what = unseen(why.word());
                self.tell(thread, what);
                return None;
            }
        };
        let Ok(task) = Task::open(thread) else {
            let what = unseen("process");
            self.tell(thread, what);
            return None;
        };
        let led = names(&wish).into_iter().map(|name| lead(&task, &name)).collect();
        Some(Call { wish, task, led, by_filter: false })
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
        let call = self.read(thread, entry);
        match (refusal, call) {
            (Some(errno), call) => Begins::Refuse(call.map(|call| Call { by_filter: true, ..call }), errno),
            (None, Some(call)) => Begins::Follow(Some(call)),
            (None, None) => Begins::Pass,
        }
    }

    fn ended(&mut self, thread: i32, call: Self::Call, answer: Result<i64, i32>) {
        let (Some(call), Err(errno)) = (call, answer) else { return };
        let denial = refused(&self.ground, &call.task, &call.wish, &call.led, errno, call.by_filter);
        if let Some(denial) = denial {
            self.tell(thread, Observed::Denial(denial));
        }
    }

    fn program(&mut self, process: i32) -> Verdict {
        let program = match program::read(process) {
            Ok(program) => program,
            Err(why) => {
                self.tell(process, Observed::Unseen { call: "execve", why });
                return Verdict::Go;
            }
        };
        let mut what = Observed::Program(program);
        let (answer, answered) = channel();
        self.say(Said::Asked(process, what.clone(), answer));
        let verdict = loop {
            match answered.recv_timeout(PATIENCE) {
                Ok(verdict) => break verdict,
                Err(RecvTimeoutError::Timeout) if !self.line.closed.load(Ordering::SeqCst) => {}
                // The command is being killed: nothing new begins.
                Err(_) => break Verdict::Stop,
            }
        };
        if let Observed::Program(program) = &mut what {
            program.stopped = verdict == Verdict::Stop;
        }
        self.seen.note(&what);
        verdict
    }

    fn unread(&mut self, thread: i32, _: &io::Error) {
        self.tell(thread, Observed::Unseen { call: "?", why: "trace" });
    }
}

/// The files that a call names, in its order.
fn names(wish: &Wish) -> Vec<Name> {
    match wish {
        Wish::Open(name, _)
        | Wish::Truncate(name)
        | Wish::Make(name)
        | Wish::Remove(name, _)
        | Wish::Metadata(name)
        | Wish::Execute(name) => vec![name.clone()],
        Wish::Rename(from, to, _) | Wish::Link(from, to) => vec![from.clone(), to.clone()],
        Wish::Connect(Address::Path(path)) => vec![here(path, Last::Follow)],
        Wish::Bind(Address::Path(path)) => vec![here(path, Last::Keep)],
        Wish::Connect(_) | Wish::Bind(_) | Wish::Socket(_) => Vec::new(),
    }
}

fn here(path: &[u8], last: Last) -> Name {
    Name { fd: libc::AT_FDCWD, text: path.to_vec(), last }
}

fn lead(task: &Task, name: &Name) -> Led {
    if name.text.is_empty() { task.descriptor(name.fd) } else { task.resolve(name.fd, &name.text, name.last) }
}
