//! A jail that is begun before it is known what will run, and whether anything will: beside it the law is gathered, the
//! command is judged, the plan is made.
//!
//! Danger: what is begun holds nothing of the command and is given none but with the plan, in [`launch_begun`] and its
//! like. It ends where its scope does, with the command refused or begun another way.
//!
//! [`launch_begun`]: super::launch_begun

use std::cell::OnceCell;
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;

use super::beginning::Beginning;
use super::init::{self, First, Inside};
use super::keeper::{Entering, Left};
use super::launch::{Coming, Failure, go_on, spawn};
use super::lines::{Departing, Lines, way_back};
use super::observer::Observing;
use super::outcome::Outcome;
use super::output::Capture;
use super::plan::JailPlan;
use super::report::{SetupError, Stage};
use super::told::explain;
use crate::diagnostic::Diagnostic;
use crate::sys::memory::{share, unshare};
use crate::sys::process::Handover;

/// A jail that was begun, and its first process with it.
pub(super) struct Ahead<'s> {
    // Ends before its lines close.
    spawned: io::Result<Coming<'s>>,
    lines: Lines,
    beginning: &'s Beginning,
    first: &'s First<'s>,
    place: &'s OnceCell<Inside<'s>>,
    departing: &'s OnceCell<Departing>,
}

impl std::fmt::Debug for Ahead<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ahead").field("beginning", self.beginning).finish_non_exhaustive()
    }
}

/// Where the plan of a launch is put, and the jail that was begun ahead of it.
#[derive(Debug)]
pub struct Start<'s> {
    pub(super) made: &'s OnceCell<JailPlan>,
    pub(super) ahead: Option<Ahead<'s>>,
}

impl<'s> Start<'s> {
    /// With nothing begun; `made` is empty.
    pub fn now(made: &'s OnceCell<JailPlan>) -> Self {
        Self { made, ahead: None }
    }

    /// Ends what was begun, before another process is made that lives in a copy of this memory.
    pub fn end(self) {
        drop(self);
        unshare();
    }

    /// Whether what was begun has joined a session.
    pub fn joins(&self) -> bool {
        self.ahead.as_ref().is_some_and(Ahead::joins)
    }

    /// Whether something was begun that can become a jail with this beginning.
    pub fn fits(&self, beginning: &Beginning) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.fits(beginning))
    }
}

/// Begins a jail in this workspace, of which `scratch` is what is likely for the size of its tmpfs, and gives it to
/// `work`; in the session whose keeper was asked, where one was. Where it cannot be begun ahead it is begun later.
///
/// # Errors
/// Those of `work`; a working directory that is lost meanwhile.
pub fn ahead<T>(
    workspace: &Path,
    scratch: Option<u64>,
    captured: bool,
    session: Option<Entering>,
    work: impl for<'s> FnOnce(Start<'s>) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let made = OnceCell::new();
    let beginning = Beginning::ahead(workspace, scratch, captured);
    // An error is found again by whoever begins it later, and told. The keeper is waited for while signals are for swbox.
    let Ok(session) = session.map(Entering::entered).transpose() else { return work(Start::now(&made)) };
    let back = way_back().filter(|_| share());
    let opened =
        back.map(|back| Lines::open(&beginning, true, session.is_some()).map(|opened| (opened, back)));
    let Some(Ok(((mut lines, ends), back))) = opened else {
        unshare();
        return work(Start::now(&made));
    };
    let (ends, launchers) = (ManuallyDrop::new(ends), lines.numbers());
    let (place, rest) = (OnceCell::new(), Handover::default());
    let first = First::new(&beginning, &ends, &launchers, session.as_ref(), &rest);
    let mut run = || -> i32 { init::run(&first) };
    let spawned = spawn(&lines.workspace, &first, &mut run);
    if let Ok(coming) = &spawned {
        lines.send_elsewhere(coming.id());
    }
    lines.lift();
    // The law is read after this, by paths that may be relative: never from the workspace.
    if let Err(lost) = rustix::process::fchdir(&back) {
        return Err(SetupError::new(Stage::Workspace, &lost.into(), "the way back from it"))
            .map_err(|error| explain(beginning.namespaces, &error));
    }
    // Goes before what it was made with, and after what `work` still does.
    let departing = OnceCell::new();
    let ahead =
        Ahead { spawned, lines, beginning: &beginning, first: &first, place: &place, departing: &departing };
    let done = work(Start { made: &made, ahead: Some(ahead) });
    // It may have ended unused.
    unshare();
    done
}

impl<'s> Ahead<'s> {
    /// Whether it has joined a session.
    pub(super) fn joins(&self) -> bool {
        self.first.session.is_some()
    }

    /// Whether a jail with this beginning can be made of it.
    pub(super) fn fits(&self, beginning: &Beginning) -> bool {
        self.spawned.is_ok() && self.beginning.holds(beginning)
    }

    /// Goes on when there is a plan.
    pub(super) fn go_on(
        self,
        plan: impl FnOnce() -> Result<(&'s JailPlan, Capture), Failure>,
        observing: Observing<'_>,
    ) -> Result<(Outcome, Option<Left>), Failure> {
        let (plan, capture) = self.lines.planning(plan)?;
        let Self { spawned, lines, first, place, departing, .. } = self;
        let (outcome, left, departs) = go_on(lines, first, Some(spawned), place, plan, capture, observing)?;
        if let Some(departs) = departs {
            let _ = departing.set(departs);
        }
        Ok((outcome, left))
    }
}
