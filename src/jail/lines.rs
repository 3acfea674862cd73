//! The launcher's side of a jail that is begun: pipes, sockets, the workspace, the signals that are held back.
//!
//! Danger: a copy that the inside keeps. [`Lines::numbers`] names each that it has to close.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{DumpableBehavior, Pid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::beginning::Beginning;
use super::init::Ends;
use super::launch::Failure;
use super::output::Stream;
use super::plan::Namespaces;
use super::report::{self, SetupError, Stage, now};
use super::streams;
use super::told::explain;
use crate::diagnostic::Diagnostic;
use crate::sys::process::{Leaving, single_threaded};
use crate::sys::signal::{Set, set_default};

/// The launcher's side of a jail that is begun.
pub(super) struct Lines {
    pub(super) begun: u64,
    pub(super) reader: OwnedFd,
    pub(super) watch_inlet: Option<UnixStream>,
    pub(super) inside: Option<UnixStream>,
    pub(super) inlet: Option<UnixStream>,
    pub(super) captured: Both<OwnedFd>,
    pub(super) relays: Both<Stream>,
    /// The workspace, held.
    pub(super) workspace: OwnedFd,
    pub(super) masked: Masked,
    pub(super) dumpable: DumpableBehavior,
    pub(super) namespaces: Namespaces,
    /// Where the first process may run again when there is a plan, if it was sent elsewhere.
    pub(super) processors: Option<CpuSet>,
}

impl Lines {
    /// Opens them, with the ends for the inside. From here on all signals are blocked.
    pub(super) fn open(
        beginning: &Beginning,
        watched: bool,
        in_session: bool,
    ) -> Result<(Self, Ends), Failure> {
        if !single_threaded() {
            return Err(Failure::Fatal(Diagnostic::new(
                "not_single_threaded",
                "a jail is launched only by a process with one thread",
            )));
        }
        let begun = now();
        let namespaces = beginning.namespaces;
        let fatal = |stage: Stage, detail: &str| fatal(namespaces, stage, detail);
        let pair = |wanted: bool| match wanted {
            true => UnixStream::pair().map(|(ours, theirs)| (Some(ours), Some(theirs))),
            false => Ok((None, None)),
        };
        let (reader, pipe) = report::channel().map_err(fatal(Stage::Descriptors, "report pipe"))?;
        let (watch_inlet, calls) = pair(watched).map_err(fatal(Stage::Descriptors, "socket pair"))?;
        let (inside, outside) = pair(beginning.proxy).map_err(fatal(Stage::Descriptors, "socket pair"))?;
        let (inlet, outlet) = pair(beginning.kept).map_err(fatal(Stage::Descriptors, "socket pair"))?;
        let (captured, output) =
            capture_pipes(beginning.captured).map_err(fatal(Stage::Descriptors, "output pipes"))?;
        let (relays, output) = match (in_session, output) {
            (true, None) => streams::relays().map_err(fatal(Stage::Descriptors, "output pipes"))?,
            (_, output) => (None, output),
        };
        let workspace = open_workspace(&beginning.workspace)
            .map_err(fatal(Stage::Workspace, &beginning.workspace.display().to_string()))?;
        // Where the caller ignores it, children vanish without a status; the command gets the default anyway.
        set_default(libc::SIGCHLD);
        let masked = Masked::all().map_err(fatal(Stage::Limits, "signal mask"))?;
        let dumpable = rustix::process::dumpable_behavior()
            .map_err(|error| fatal(Stage::Parent, "dumpable")(error.into()))?;
        let lines = Self {
            begun,
            reader,
            watch_inlet,
            inside,
            inlet,
            captured,
            relays,
            workspace,
            masked,
            dumpable,
            namespaces,
            processors: None,
        };
        Ok((lines, Ends { pipe, output, outside, outlet, calls }))
    }

    /// The numbers of those that the first process has copies of.
    pub(super) fn numbers(&self) -> Vec<RawFd> {
        let sockets = [&self.inside, &self.inlet, &self.watch_inlet].into_iter().flatten();
        let sockets = sockets.map(AsRawFd::as_raw_fd);
        let pipes = self.captured.iter().flat_map(|(out, err)| [out.as_raw_fd(), err.as_raw_fd()]);
        let relayed = self.relays.iter().flat_map(|(out, err)| [out.pipe(), err.pipe()]).flatten();
        let relayed = relayed.map(|pipe| pipe.as_raw_fd());
        sockets.chain(pipes).chain(relayed).chain([self.reader.as_raw_fd()]).collect()
    }

    /// Sends the process `child` to the other processors until there is a plan. Where the kernel is busy with what other
    /// processes left it would wait for this one otherwise, which goes on.
    pub(super) fn send_elsewhere(&mut self, child: i32) {
        let Ok(all) = sched_getaffinity(None) else { return };
        let mut others = all;
        others.unset(sched_getcpu());
        let sent = others.count() > 0 && sched_setaffinity(Pid::from_raw(child), &others).is_ok();
        self.processors = sent.then_some(all);
    }

    /// Puts the mask before in force, while something else is done before [`Self::planning`].
    pub(super) fn lift(&self) {
        self.masked.lift();
    }

    /// Does what may wait for others: meanwhile a signal is for swbox, as before there was a jail. Its end is the first
    /// process's too.
    pub(super) fn planning<T>(&self, plan: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.masked.lift();
        let planned = plan();
        self.masked.again().map_err(fatal(self.namespaces, Stage::Limits, "signal mask"))?;
        planned
    }
}

/// What becomes of an error of a system call at `stage`.
pub(super) fn fatal(
    namespaces: Namespaces,
    stage: Stage,
    detail: &str,
) -> impl FnOnce(io::Error) -> Failure + use<> {
    let detail = detail.to_owned();
    move |error| Failure::Fatal(explain(namespaces, &SetupError::new(stage, &error, detail)))
}

/// Standard output and error, where they are captured.
pub(super) type Both<T> = Option<(T, T)>;

/// The pipes of captured output: what is read here, and what the command writes to.
fn capture_pipes(wanted: bool) -> io::Result<(Both<OwnedFd>, Both<OwnedFd>)> {
    if !wanted {
        return Ok((None, None));
    }
    let (out_reader, out) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (err_reader, err) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Some((out_reader, err_reader)), Some((out, err))))
}

/// Holds the workspace, whatever its name leads to later.
fn open_workspace(workspace: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat(CWD, workspace, flags, Mode::empty())?)
}

/// The working directory, held, where it can be made that again: one that may not be searched cannot.
pub(super) fn way_back() -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let here = rustix::fs::openat(CWD, ".", flags, Mode::empty()).ok()?;
    rustix::process::fchdir(&here).is_ok().then_some(here)
}

/// The first process of a jail in which nothing else is left, on its way out. When this is dropped it is gone.
pub(super) struct Departing {
    leaving: Option<Leaving>,
    dumpable: Option<DumpableBehavior>,
}

impl Departing {
    /// With what this memory was to others before that process was in it, and is afterwards. Without a process that is now.
    pub(super) fn new(leaving: Option<Leaving>, dumpable: Option<DumpableBehavior>) -> Option<Self> {
        let departing = Self { leaving, dumpable };
        departing.leaving.is_some().then_some(departing)
    }
}

impl Drop for Departing {
    fn drop(&mut self) {
        drop(self.leaving.take());
        if let Some(dumpable) = self.dumpable {
            let _ = rustix::process::set_dumpable_behavior(dumpable);
        }
    }
}

/// All signals blocked, until this is dropped.
pub(super) struct Masked(Set);

impl Masked {
    fn all() -> io::Result<Self> {
        Set::all().apply().map(Self)
    }

    /// The mask before.
    pub(super) fn former(&self) -> Set {
        self.0
    }

    /// Puts the mask before in force, until [`Self::again`].
    fn lift(&self) {
        // It was in force before, so setting it again cannot fail.
        let _ = self.0.apply();
    }

    fn again(&self) -> io::Result<()> {
        Set::all().apply().map(drop)
    }
}

impl Drop for Masked {
    fn drop(&mut self) {
        // It was in force before, so setting it again cannot fail.
        let _ = self.0.apply();
    }
}
