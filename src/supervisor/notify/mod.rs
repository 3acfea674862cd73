//! Watching by the notifications of the seccomp filter: each call that may change something stops until it is answered.
//!
//! The answer is "go on" wherever the kernel decides by itself, which is everywhere but for programs that the sink stops
//! and for refusals of the filter's table that are given here so that they can be told.
//!
//! Danger: between the look at a call's memory and the kernel's own reading of it the command may change it. So nothing
//! is allowed here that the jail would not bear, and an argument list is looked at only when it is the kernel's own copy.

mod after;
mod caller;
mod find;
mod look;
mod pace;
mod predict;
pub(super) mod program;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

pub use self::after::Heard;
use self::find::Finder;
use self::look::Judged;
use self::pace::Pace;
use self::predict::Domain;
use super::ground::Ground;
use super::observed::{Denial, Observed};
use super::seen::Seen;
use super::touched::Ledger;
use super::{Sink, Verdict};
use crate::jail::seccomp::{self, Arch, Descriptors, Refusals};
use crate::jail::{Begun, Handover, JailPlan, Observer, Scene, Step, View, Watching};
use crate::sys::process::is_process;
use crate::sys::seccomp::{Notification, Reply, has_listener, receive, reply, take_turns, valid};

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

/// Whether nothing that this process starts can be watched by notifications: somebody outside has them already.
pub fn is_taken() -> bool {
    has_listener()
}

/// Watches one command.
pub struct Watcher<'a> {
    settings: Settings,
    sink: &'a mut dyn Sink,
    listener: Option<OwnedFd>,
    ground: Option<Ground>,
    refusals: Refusals,
    /// What changes by a descriptor are watched.
    descriptors: Descriptors,
    /// Whether of each descriptor that is open for writing the file was noted when it was opened.
    follows: bool,
    domain: Domain,
    finder: Finder,
    ledger: Ledger,
    /// The workspace, whose names are settled at the end: the host's own, or the layer over it.
    workspace: Option<OwnedFd>,
    judged: HashMap<Judged, Option<Denial>>,
    seen: Seen,
    /// The last program of each process, so that a repeated first call is not a second program.
    running: HashMap<i32, u64>,
    /// The processes of threads that are not a process's first.
    threads: HashMap<i32, i32>,
    /// The thread that has only executed so far: swbox's own code, before the command's.
    starting: Option<i32>,
    pace: Pace,
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<'a> Watcher<'a> {
    /// For one launch.
    pub fn new(settings: Settings, sink: &'a mut dyn Sink) -> Self {
        Self {
            settings,
            sink,
            listener: None,
            ground: None,
            refusals: Refusals::default(),
            descriptors: Descriptors::All,
            follows: false,
            domain: Domain::default(),
            finder: Finder::default(),
            ledger: Ledger::default(),
            workspace: None,
            judged: HashMap::new(),
            seen: Seen::default(),
            running: HashMap::new(),
            threads: HashMap::new(),
            starting: None,
            pace: Pace::default(),
        }
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
        if call.arch != Arch::NATIVE.audit() {
            return Reply::Errno(libc::ENOSYS);
        }
        if self.ground.is_none() {
            return Reply::Errno(libc::ENOSYS);
        }
        if let Some(errno) = self.refusals.of(call.call.unsigned_abs(), call.arguments) {
            self.told(call, errno);
            return Reply::Errno(errno);
        }
        if program::begins(call) {
            self.starting = None;
            self.enter(call.thread);
            return self.program(call);
        }
        if self.seen.calls == 1 {
            self.starting = Some(call.thread);
        }
        if self.starting == Some(call.thread) && executes(call) {
            return Reply::Continue;
        }
        self.starting = None;
        self.look(call);
        Reply::Continue
    }

    /// Opens what can only be reached while the command is there.
    fn enter(&mut self, thread: i32) {
        let Some(ground) = self.ground.as_ref().filter(|ground| ground.throws_away()) else { return };
        if self.workspace.is_some() {
            return;
        }
        let Some(root) = self.finder.root(thread) else { return };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
        self.workspace = rustix::fs::openat2(root, ground.workspace(), flags, Mode::empty(), resolve).ok();
    }

    /// The process of a thread.
    fn process(&mut self, thread: i32) -> i32 {
        if self.running.contains_key(&thread) || is_process(thread) {
            return thread;
        }
        if let Some(process) = self.threads.get(&thread) {
            return *process;
        }
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process = line.and_then(|number| number.trim().parse().ok()).unwrap_or(thread);
        if self.threads.len() >= THREADS {
            self.threads.clear();
        }
        self.threads.insert(thread, process);
        process
    }

    /// The name of a watched call.
    fn call_name(number: u32) -> &'static str {
        let entry = seccomp::watched(true, Descriptors::All, Arch::NATIVE)
            .find(|entry| entry.number(Arch::NATIVE) == Some(number));
        entry.map_or("socket", |entry| entry.name)
    }
}

/// What changes by a descriptor are watched. Where files are written, the file was noted when it was opened; that its times
/// were set must be known where the time of its last change moves though nobody has changed it: an overlay copies a file
/// when it is opened for writing.
fn watched_descriptors(plan: &JailPlan) -> Descriptors {
    let view = plan.steps.iter().find_map(|step| match step {
        Step::Workspace { view } => Some(*view),
        _ => None,
    });
    match view {
        Some(View::ThrowAway) => Descriptors::Times,
        Some(View::Writable) if is_overlay(&plan.workspace) => Descriptors::Times,
        Some(View::Writable) => Descriptors::Nothing,
        _ => Descriptors::All,
    }
}

/// Whether the host has a directory on an overlay itself, as containers do.
fn is_overlay(directory: &Path) -> bool {
    const OVERLAYFS: i128 = 0x794c_7630;
    rustix::fs::statfs(directory).is_ok_and(|found| i128::from(found.f_type) == OVERLAYFS)
}

/// Whether the call gives its process another program.
fn executes(call: &Notification) -> bool {
    matches!(i64::from(call.call), libc::SYS_execve | libc::SYS_execveat)
}

/// How many calls are answered before the launcher's other sources have their turn. Where caller and answerer take turns on
/// one CPU the next call is mostly there when the answer has been given.
const TURNS: usize = 128;

/// Whether something is there to be received.
fn is_readable(listener: &OwnedFd) -> io::Result<bool> {
    let mut listener = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut listener, Some(&Timespec::default())) {
        Ok(_) => Ok(listener.iter().any(|listener| listener.revents().contains(PollFlags::IN))),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How many threads' processes are remembered.
const THREADS: usize = 4096;

impl Observer for Watcher<'_> {
    fn watching(&self, plan: &JailPlan) -> Watching {
        Watching {
            reads: self.settings.reads,
            descriptors: watched_descriptors(plan),
            how: Handover::Listener,
        }
    }

    fn required(&self) -> bool {
        self.settings.required
    }

    fn prepare(&mut self, scene: Scene<'_>) {
        self.sink.lacks(&scene.plan.degraded);
        self.ground = Some(Ground::new(scene, &self.settings.narrowed));
        self.refusals = Refusals::new(scene.plan.filter, Arch::NATIVE);
        self.domain = Domain::new(scene.domain);
        self.ledger = Ledger::new(&scene.plan.workspace);
        self.descriptors = watched_descriptors(scene.plan);
        if self.descriptors == Descriptors::Nothing {
            self.ledger.times_set();
        }
        // What was given as a file of the workspace was not seen to be opened.
        let given = predict::named_streams().any(|name| self.ledger.is_of(&name));
        self.follows = self.descriptors != Descriptors::All && !given;
        if self.ground.as_ref().is_some_and(|ground| !ground.throws_away()) {
            // The launcher's working directory is the workspace at this moment.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.workspace = rustix::fs::openat(CWD, ".", flags, Mode::empty()).ok();
        }
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
        let mut waiting = self.pace.comes();
        for _ in 0..TURNS {
            let Some(listener) = &self.listener else { return Ok(()) };
            let Some(call) = receive(listener.as_fd())? else {
                self.pace.pauses();
                return Ok(());
            };
            // A program that begins makes no call for long.
            let last = executes(&call) || program::begins(&call);
            if last {
                // What is told of it may wait, and must not be interrupted.
                waiting = None;
            }
            let answer = self.answer(&call);
            // A program that was stopped: whoever ends the rest does that before the next call is answered.
            let stopped = matches!(answer, Reply::Errno(libc::EPERM));
            let Some(listener) = &self.listener else { return Ok(()) };
            reply(listener.as_fd(), call.id, answer)?;
            self.pace.answered();
            if stopped || last || waiting.is_none() && !is_readable(listener)? {
                break;
            }
        }
        self.pace.goes();
        Ok(())
    }

    fn end(&mut self) {
        self.listener = None;
        if let Some(workspace) = self.workspace.take() {
            for (process, touch) in self.ledger.settle(&workspace) {
                self.tell(process, &Observed::Touch(touch));
            }
        }
        self.seen.dropped += self.ledger.take_dropped();
        // Nothing of the jail is held any longer.
        self.finder = Finder::default();
    }
}
