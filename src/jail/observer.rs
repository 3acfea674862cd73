//! Watching a command from outside: what the launcher offers to whoever watches, and what it needs of them.
//!
//! The jail knows no supervisor. It builds the filter that hands calls over, brings the listener out and calls the
//! observer from its own loop; what is made of the calls is the observer's.
//!
//! Danger: a watched command's calls wait for an answer. An observer that blocks stops the command, and one that holds
//! the listener when the launcher dies lets nothing through: the calls then fail with ENOSYS.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::gate;
use super::git::{Hold, Layout};
use super::plan::{JailPlan, LandlockPlan};
use super::seccomp::{Handover, Watching};

/// What an observer is told when the filter is in force and the command's exec is the next call.
#[derive(Debug)]
pub struct Begun {
    /// Where calls arrive; with [`Handover::Tracer`] there is none.
    pub listener: Option<OwnedFd>,
    /// The command's only thread, to be traced; with a listener there is none. It waits until [`Observer::begin`] has
    /// returned.
    pub thread: Option<i32>,
}

/// What the jail of this launch is, for an observer that predicts what it refuses.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The plan that is performed: of several tries the one that is running.
    pub plan: &'a JailPlan,
    /// The Landlock domain as it is entered, with what was found at launch.
    pub domain: &'a LandlockPlan,
    /// The places that are read-only whatever the state grants: git directories and their executable parts, run-later
    /// files.
    pub protected: &'a [PathBuf],
}

/// Somebody who watches one command. Called from the launcher's one thread.
pub trait Observer {
    /// What to watch of a command of this plan.
    fn watching(&self, plan: &JailPlan) -> Watching;

    /// Whether the command must not run unwatched.
    fn required(&self) -> bool;

    /// A launch is tried: once for each plan, the command is not there yet.
    fn prepare(&mut self, scene: Scene<'_>);

    /// The command is about to be executed.
    ///
    /// # Errors
    /// Ends the launch; with a tracer that is not [required](Observer::required) the command runs unwatched.
    fn begin(&mut self, begun: Begun) -> io::Result<()>;

    /// What to poll for reading.
    fn source(&self) -> Option<BorrowedFd<'_>>;

    /// The source is readable, or hung up.
    ///
    /// # Errors
    /// Ends the command: what cannot be watched does not go on.
    fn ready(&mut self) -> io::Result<()>;

    /// The first process inside has ended or is about to; the kernel kills what is left.
    fn leaving(&mut self) {}

    /// No process of the command is left; nothing of the workspace has been looked at or moved yet.
    fn end(&mut self);
}

/// An observer in the launcher's hands.
pub(super) type Observing<'a> = Option<&'a mut dyn Observer>;

/// The launcher's side of a watched launch.
pub(super) struct Attending<'a> {
    /// Who watches.
    pub(super) observer: &'a mut dyn Observer,
    /// How calls are handed over.
    pub(super) how: Handover,
    /// Where the listener comes out, until it has.
    pub(super) inlet: Option<UnixStream>,
    /// Whether something of the command may outlive the observer; its calls then need another to answer them.
    pub(super) keeps: bool,
    /// A copy of the listener for that.
    pub(super) kept: Option<OwnedFd>,
}

impl Attending<'_> {
    /// What to poll.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        match &self.inlet {
            Some(inlet) => Some(inlet.as_fd()),
            None => self.observer.source(),
        }
    }

    /// The source is readable.
    pub(super) fn ready(&mut self) -> io::Result<()> {
        let Some(inlet) = self.inlet.take() else { return self.observer.ready() };
        if self.how == Handover::Tracer {
            return self.attach(&inlet);
        }
        match super::outlet::take(&inlet)? {
            Some(listener) => {
                if self.keeps {
                    self.kept = Some(listener.try_clone()?);
                }
                self.observer.begin(Begun { listener: Some(listener), thread: None })
            }
            // The inside has ended, or goes on unwatched; it says which.
            None => Ok(()),
        }
    }

    /// The command's thread waits to be traced.
    fn attach(&mut self, inlet: &UnixStream) -> io::Result<()> {
        let Some(thread) = gate::take(inlet)? else { return Ok(()) };
        match self.observer.begin(Begun { listener: None, thread: Some(thread) }) {
            Ok(()) => gate::open(inlet, 0),
            Err(error) => {
                gate::open(inlet, error.raw_os_error().unwrap_or(libc::EIO))?;
                if self.observer.required() { Err(error) } else { Ok(()) }
            }
        }
    }
}

/// The places that a layout keeps read-only.
pub(super) fn protected(layout: &Layout) -> Vec<PathBuf> {
    let held = layout.holds.iter().filter(|(_, hold)| **hold == Hold::ReadOnly);
    held.map(|(path, _)| path.clone()).collect()
}
