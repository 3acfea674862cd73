//! Watching over a running command from outside: reports, signals, job control, the wall clock, captured output.
//!
//! Danger: swbox must be as transparent as the command itself: a signal that gets lost here is a command that cannot be
//! stopped, and one that is sent twice is a command that dies.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::init::{BROADCAST, CONTINUE, FORWARD};
use super::observer::{Attending, Observing};
use super::outcome::Captured;
use super::output::Stream;
use super::plan::JailPlan;
use super::report::{Message, now};
use crate::profile::Protection;
use crate::sys::process::{Beside, Memory};
use crate::sys::signal::{self, Set};

/// How long a command may take to end after TERM, before KILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long captured output is awaited after the end of the command.
const DRAIN: Duration = Duration::from_millis(200);

/// Signals that are never handed on: they are about swbox's own children and pipes.
const OWN: [i32; 3] = [libc::SIGCHLD, libc::SIGPIPE, libc::SIGURG];

/// What became of the child.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its last report.
    pub(super) last: Option<Message>,
    /// What it had to give up.
    pub(super) degraded: Vec<(Protection, String)>,
    /// Why nobody watched although somebody was to: an errno.
    pub(super) unwatched: Option<i32>,
    /// Its own wait status.
    pub(super) status: i32,
    /// The wall clock ran out.
    pub(super) timed_out: bool,
    /// The terminal interrupted swbox too.
    pub(super) interrupted: bool,
    /// What was captured.
    pub(super) output: Option<(Captured, Captured)>,
}

/// The state of watching.
pub(super) struct Watch<'a> {
    child: Beside<'a>,
    memory: Memory,
    reports: Option<OwnedFd>,
    signals: OwnedFd,
    streams: Option<(Stream, Stream)>,
    deadline: Option<u64>,
    timed_out: bool,
    stops: i32,
    interrupted: bool,
    last: Option<Message>,
    degraded: Vec<(Protection, String)>,
    unwatched: Option<i32>,
    attending: Option<Attending<'a>>,
}

impl<'a> Watch<'a> {
    /// Watches over `child`, which works in `memory` and whose reports come through `reports`. All signals must be
    /// blocked.
    pub(super) fn new(
        child: Beside<'a>,
        memory: Memory,
        reports: OwnedFd,
        streams: Option<(Stream, Stream)>,
        timeout: Option<Duration>,
    ) -> io::Result<Self> {
        Ok(Self {
            child,
            memory,
            reports: Some(reports),
            signals: signal::descriptor(&Set::all())?,
            streams,
            deadline: timeout.map(after),
            timed_out: false,
            stops: 0,
            interrupted: false,
            last: None,
            degraded: Vec::new(),
            unwatched: None,
            attending: None,
        })
    }

    /// With somebody who watches the command's calls; the listener comes out of `inlet`.
    pub(super) fn attended(
        mut self,
        observing: Observing<'a>,
        plan: &JailPlan,
        inlet: Option<UnixStream>,
    ) -> Self {
        self.attending = observing.map(|observer| {
            let how = observer.watching(plan).how;
            Attending { observer, how, inlet }
        });
        self
    }

    /// Until the child is gone.
    pub(super) fn run(mut self) -> io::Result<Ended> {
        if self.memory == Memory::Shared {
            self.stand_back()?;
        }
        let mut buffer = if self.streams.is_some() { vec![0; 64 * 1024] } else { Vec::new() };
        while self.reports.is_some() {
            // With an error the child is dropped, and so ended: nobody answers the command any more, so it must not
            // wait, and it must not go on.
            self.step(&mut buffer)?;
        }
        if let Some(attending) = self.attending.take() {
            attending.observer.leaving();
        }
        // The pipe closes when the first process ends; the kernel has then killed all others inside.
        let status = self.child.wait()?;
        self.deadline = Some(after(DRAIN));
        while self.open_streams() && self.deadline.is_some_and(|deadline| now() < deadline) {
            self.step(&mut buffer)?;
        }
        Ok(Ended {
            last: self.last,
            degraded: self.degraded,
            unwatched: self.unwatched,
            status,
            timed_out: self.timed_out,
            interrupted: self.interrupted,
            output: self.streams.map(|(out, err)| (out.finish(), err.finish())),
        })
    }

    /// Until the child has reported or ended: so long it works in this memory, and here are system calls only.
    fn stand_back(&mut self) -> io::Result<()> {
        let Some(reports) = &self.reports else { return Ok(()) };
        loop {
            let timeout = self.deadline.map(|deadline| timespec(deadline.saturating_sub(now())));
            let mut first = [PollFd::new(reports, PollFlags::IN)];
            match poll(&mut first, timeout.as_ref()) {
                Ok(0) => {
                    // Before there is a command nobody has to be asked.
                    (self.timed_out, self.deadline) = (true, None);
                    signal::send(self.child.id(), libc::SIGKILL)?;
                }
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn open_streams(&self) -> bool {
        self.streams.as_ref().is_some_and(|(out, err)| out.pipe().is_some() || err.pipe().is_some())
    }

    /// Waits for the next event and handles all that are there.
    fn step(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let [signalled, reported, out, err, called] = self.poll()?;
        if called.contains(PollFlags::IN) {
            if let Some(attending) = &mut self.attending {
                attending.ready()?;
            }
        } else if !called.is_empty() {
            // The last process that the filter held is gone.
            self.attending = None;
        }
        let [signalled, reported, out, err] =
            [signalled, reported, out, err].map(|events| !events.is_empty());
        if signalled {
            self.forward_but(0)?;
        }
        if reported {
            self.report()?;
        }
        if let Some((stdout, stderr)) = &mut self.streams {
            if out {
                stdout.read(buffer)?;
            }
            if err {
                stderr.read(buffer)?;
            }
        }
        if self.reports.is_some() && self.deadline.is_some_and(|deadline| now() >= deadline) {
            self.expire()?;
        }
        Ok(())
    }

    /// Waits; says what there is of signals, reports, stdout, stderr, watched calls.
    fn poll(&self) -> io::Result<[PollFlags; 5]> {
        let out = self.streams.as_ref().and_then(|(out, _)| out.pipe());
        let err = self.streams.as_ref().and_then(|(_, err)| err.pipe());
        let calls = self.attending.as_ref().and_then(Attending::source);
        let sources = [Some(self.signals.as_fd()), self.reports.as_ref().map(AsFd::as_fd), out, err, calls];
        let mut polled: Vec<_> =
            sources.iter().flatten().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN)).collect();
        let timeout = self.deadline.map(|deadline| timespec(deadline.saturating_sub(now())));
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = polled.iter().map(PollFd::revents);
        Ok(sources.map(|source| source.and_then(|_| events.next()).unwrap_or(PollFlags::empty())))
    }

    /// The wall clock ran out: ask, then kill.
    fn expire(&mut self) -> io::Result<()> {
        if self.timed_out {
            // The end of the first process is the end of all.
            self.deadline = None;
            return signal::send(self.child.id(), libc::SIGKILL);
        }
        self.timed_out = true;
        self.deadline = Some(after(GRACE));
        self.hand_on(libc::SIGTERM | BROADCAST)
    }

    fn hand_on(&self, value: i32) -> io::Result<()> {
        match signal::queue(self.child.id(), FORWARD, value) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            result => result,
        }
    }

    /// Hands on what processes sent to swbox, all but `ignored`. What the terminal sent went to the whole process group,
    /// the command included.
    fn forward_but(&mut self, ignored: i32) -> io::Result<()> {
        while let Some(received) = signal::take(self.signals.as_fd())? {
            self.interrupted |= received.signal == libc::SIGINT && !received.by_process;
            if received.by_process && received.signal != ignored && !OWN.contains(&received.signal) {
                self.hand_on(received.signal)?;
            }
        }
        Ok(())
    }

    fn report(&mut self) -> io::Result<()> {
        let Some(reports) = &self.reports else { return Ok(()) };
        match Message::receive(reports.as_fd())? {
            None => self.reports = None,
            Some(Message::Started) => {}
            Some(Message::Unwatched(errno)) => self.unwatched = Some(errno),
            Some(Message::Degraded(protection, reason)) => self.degraded.push((protection, reason)),
            Some(Message::Stopped(signal)) => self.stop_with(signal)?,
            Some(message) => self.last = Some(message),
        }
        Ok(())
    }

    /// The command was stopped: swbox stops by the same signal, so that the shell that waits for it sees what it would
    /// see of the command; when it is continued, so is the command.
    fn stop_with(&mut self, signal: i32) -> io::Result<()> {
        self.stops = (self.stops + 1) % CONTINUE;
        // The terminal's copy of the signal is pending here too; it must not stop swbox a second time.
        self.forward_but(signal)?;
        let mask = Set::of(&[signal]).unblock()?;
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        signal::send(own, signal)?;
        mask.apply()?;
        // What continued swbox is pending here still: handed on as it is, it would undo a stop that came after it.
        self.forward_but(libc::SIGCONT)?;
        self.hand_on(CONTINUE | self.stops)
    }
}

/// The moment `delay` from now.
fn after(delay: Duration) -> u64 {
    now().saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX))
}

fn timespec(nanoseconds: u64) -> Timespec {
    let duration = Duration::from_nanos(nanoseconds);
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
