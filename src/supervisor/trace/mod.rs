//! Watching by ptrace: calls that may change something stop at their beginning and at their end, where the kernel's own
//! answer is read. Slower than [`notify`](super::notify), and exact: what that predicts is tested against this.
//!
//! A thread of its own traces, since what a thread traces it must also wait for, and the launcher waits for its children.
//! What the thread sees it sends to the launcher's thread, which tells the sink.
//!
//! Danger: a traced command cannot be debugged by others, nor run where swbox itself is traced with all it starts. The end
//! of the tracing thread is the end of the command.

mod changes;
pub(super) mod judge;
mod reading;
mod run;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use self::reading::Reading;
use super::ground::Ground;
use super::notify::Settings;
use super::observed::Observed;
use super::seen::Seen;
use super::{Sink, Verdict};
use crate::jail::seccomp::Descriptors;
use crate::jail::{Begun, Handover, JailPlan, Observer, Scene, Watching};
use crate::sys::process::single_threaded;
use crate::sys::ptrace;

/// What the tracing thread says.
enum Said {
    /// Something new.
    Seen(i32, Observed),
    /// Something new of a process that waits for what becomes of it: a program that began, a refusal.
    Asked(i32, Observed, Sender<Verdict>),
}

/// How the tracing thread speaks to the launcher's.
struct Line {
    said: Sender<Said>,
    /// Readable when something was said.
    bell: Arc<OwnedFd>,
    /// Nobody answers any more.
    closed: Arc<AtomicBool>,
}

/// Traces one command.
pub struct Tracer<'a> {
    settings: Settings,
    sink: &'a mut dyn Sink,
    ground: Option<Ground>,
    bell: Option<Arc<OwnedFd>>,
    said: Option<Receiver<Said>>,
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Seen>>>,
    seen: Seen,
}

impl std::fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<'a> Tracer<'a> {
    /// For one launch.
    pub fn new(settings: Settings, sink: &'a mut dyn Sink) -> Self {
        Self {
            settings,
            sink,
            ground: None,
            bell: None,
            said: None,
            closed: Arc::default(),
            thread: None,
            seen: Seen::default(),
        }
    }

    /// Everything that was seen; complete when the launch has returned.
    pub fn into_seen(self) -> Seen {
        self.seen
    }

    /// Tells the sink what was said so far.
    fn hand_on(&mut self) {
        let Some(said) = &self.said else { return };
        while let Ok(said) = said.try_recv() {
            match said {
                Said::Seen(pid, what) => {
                    self.sink.observed(pid, &what);
                }
                Said::Asked(pid, what, answer) => {
                    // One that is gone needs no answer.
                    let _ = answer.send(self.sink.observed(pid, &what));
                }
            }
        }
    }
}

impl Observer for Tracer<'_> {
    fn watching(&self, _: &JailPlan) -> Watching {
        Watching { reads: self.settings.reads, descriptors: Descriptors::All, how: Handover::Tracer }
    }

    fn required(&self) -> bool {
        self.settings.required
    }

    fn prepare(&mut self, scene: Scene<'_>) {
        self.sink.lacks(&scene.plan.degraded);
        self.ground = Some(Ground::new(scene, &self.settings.narrowed));
    }

    fn begin(&mut self, begun: Begun) -> io::Result<()> {
        let (Some(command), Some(ground)) = (begun.thread, self.ground.clone()) else {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        };
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let ((said, hears), (ready, attached)) = (channel(), channel());
        let line = Line { said, bell: Arc::clone(&bell), closed: Arc::clone(&self.closed) };
        let reads = self.settings.reads;
        let thread = std::thread::Builder::new().name("swbox-trace".to_owned()).spawn(move || {
            let seized = ptrace::seize(command);
            let failed = seized.is_err();
            // The launcher waits for this.
            let _ = ready.send(seized);
            let mut reading = Reading::new(ground, reads, line);
            if !failed {
                run::follow(&mut reading)?;
            }
            Ok(reading.finish())
        })?;
        let seized = attached.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        self.thread = Some(thread);
        (self.bell, self.said) = (Some(bell), Some(hears));
        seized
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(|bell| bell.as_fd())
    }

    fn ready(&mut self) -> io::Result<()> {
        if let Some(bell) = &self.bell {
            let mut count = [0; 8];
            // Empty where it was read already.
            let _ = rustix::io::read(bell, &mut count);
        }
        self.hand_on();
        match &self.thread {
            // It ends by itself only when nothing is left, or with an error, which `end` has no way to tell.
            Some(thread) if thread.is_finished() => self.collect(),
            _ => Ok(()),
        }
    }

    fn leaving(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.hand_on();
    }

    fn end(&mut self) {
        // The processes are gone: what went wrong in the thread changes nothing for them.
        let _ = self.collect();
        self.hand_on();
        (self.bell, self.said) = (None, None);
    }
}

impl Tracer<'_> {
    /// Waits for the end of the thread and takes what it has seen.
    fn collect(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let seen = thread.join().map_err(|_| io::Error::other("the tracing thread has failed"))?;
        // The kernel counts a thread a moment longer than those who wait for it, and the next launch wants to be alone.
        while !single_threaded() {
            std::thread::yield_now();
        }
        self.seen = seen?;
        Ok(())
    }
}
