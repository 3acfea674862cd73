//! Watching by the notifications of the seccomp filter: each call that may change something stops until it is answered.
//!
//! The answer is "go on" wherever the kernel decides by itself, which is everywhere but for programs that the sink stops
//! and for refusals of the filter's table that are given here so that they can be told.
//!
//! Danger: between the look at a call's memory and the kernel's own reading of it the command may change it. So nothing
//! is allowed here that the jail would not bear, and an argument list is looked at only when it is the kernel's own copy.

pub(super) mod program;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::observed::Observed;
use super::seen::Seen;
use super::{Sink, Verdict};
use crate::jail::seccomp::{self, Arch};
use crate::jail::{Begun, FilterSpec, Handover, Observer, Scene, Watching};
use crate::sys::seccomp::{Notification, Reply, receive, reply, take_turns, valid};

/// How a [`Watcher`] watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Opens for reading too.
    pub reads: bool,
    /// The command must not run unwatched.
    pub required: bool,
    /// The rights that narrowing took away, as [`Rights::narrowed`](crate::policy::Rights::narrowed) names them.
    pub narrowed: Vec<&'static str>,
}

/// Watches one command.
pub struct Watcher<'a> {
    settings: Settings,
    sink: &'a mut dyn Sink,
    listener: Option<OwnedFd>,
    filter: Option<FilterSpec>,
    seen: Seen,
    /// The last program of each process, so that a repeated first call is not a second program.
    running: HashMap<i32, u64>,
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<'a> Watcher<'a> {
    /// For one launch.
    pub fn new(settings: Settings, sink: &'a mut dyn Sink) -> Self {
        Self { settings, sink, listener: None, filter: None, seen: Seen::default(), running: HashMap::new() }
    }

    /// Everything that was seen; complete when the launch has returned.
    pub fn into_seen(self) -> Seen {
        self.seen
    }

    /// Notes what was seen and tells the sink if it is new.
    fn tell(&mut self, pid: i32, what: &Observed) -> Verdict {
        if self.seen.note(what) { self.sink.observed(pid, what) } else { Verdict::Go }
    }

    /// Whether the call still waits, so that what was read of its process is its own.
    fn waits(&self, call: &Notification) -> bool {
        self.listener.as_ref().is_some_and(|listener| valid(listener.as_fd(), call.id))
    }

    /// What becomes of a call.
    fn answer(&mut self, call: &Notification) -> Reply {
        self.seen.calls += 1;
        let number = call.call.unsigned_abs();
        if call.arch != Arch::NATIVE.audit() {
            return Reply::Errno(libc::ENOSYS);
        }
        let Some(filter) = self.filter else { return Reply::Errno(libc::ENOSYS) };
        if let Some(errno) = seccomp::refusal(filter, Arch::NATIVE, number, call.arguments) {
            return Reply::Errno(errno);
        }
        if program::begins(call) {
            return self.program(call);
        }
        if matches!(i64::from(call.call), libc::SYS_execve | libc::SYS_execveat) {
            self.executes(call);
        }
        Reply::Continue
    }
}

impl Observer for Watcher<'_> {
    fn watching(&self) -> Watching {
        Watching { reads: self.settings.reads, how: Handover::Listener }
    }

    fn required(&self) -> bool {
        self.settings.required
    }

    fn prepare(&mut self, scene: Scene<'_>) {
        self.filter = Some(scene.plan.filter);
    }

    fn begin(&mut self, begun: Begun) -> io::Result<()> {
        if let Some(listener) = &begun.listener {
            // A kernel without it is only slower.
            let _ = take_turns(listener.as_fd());
        }
        self.listener = begun.listener;
        Ok(())
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    fn ready(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let Some(call) = receive(listener.as_fd())? else { return Ok(()) };
        let answer = self.answer(&call);
        match &self.listener {
            Some(listener) => reply(listener.as_fd(), call.id, answer),
            None => Ok(()),
        }
    }

    fn end(&mut self) {
        self.listener = None;
    }
}
