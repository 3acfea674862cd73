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
use super::report::{Message, now};
use super::seccomp::Handover;
use crate::profile::Protection;
use crate::sys::alarm::Alarm;
use crate::sys::memory::unshare;
use crate::sys::process::{Beside, Leaving, Memory};
use crate::sys::signal::{self, Set};

/// How long a command may take to end after TERM, before KILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long captured output is awaited after the end of the command.
const DRAIN: Duration = Duration::from_millis(200);

/// Signals of whoever no longer wants to wait.
const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Signals that are never handed on: they are about swbox's own children, pipes and files (a limit that it was started
/// under, which the kernel tells as if swbox had sent it to itself).
const OWN: [i32; 4] = [libc::SIGCHLD, libc::SIGPIPE, libc::SIGURG, libc::SIGXFSZ];

/// What became of the child.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its last report.
    pub(super) last: Option<Message>,
    /// What it had to give up.
    pub(super) degraded: Vec<(Protection, String)>,
    /// Why nobody watched although somebody was to: an errno.
    pub(super) unwatched: Option<i32>,
    /// Its own wait status, where it has not said how the command ended.
    pub(super) status: i32,
    /// The wall clock ran out.
    pub(super) timed_out: bool,
    /// The terminal interrupted swbox too.
    pub(super) interrupted: bool,
    /// What was captured.
    pub(super) output: Option<(Captured, Captured)>,
    /// Pipes that others than the command's first process may still write to.
    pub(super) pipes: Vec<OwnedFd>,
    /// Where the calls of what a watched command left arrive.
    pub(super) listener: Option<OwnedFd>,
    /// The child, where nothing is left inside but its own exit: the kernel waits for all its processors in there.
    pub(super) leaving: Option<Leaving>,
}

impl Ended {
    /// Whether something that the command started goes on, as far as its first process can tell, to which all orphans fall.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.last, Some(Message::Exited { left: true, .. }))
    }

    /// Whether the command's end was seen by its first process, or that it never began.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.last, Some(Message::Exited { .. } | Message::NotExecuted { .. } | Message::Failed(_)))
    }
}

/// The state of watching.
pub(super) struct Watch<'a> {
    child: Beside<'a>,
    memory: Memory,
    reports: Option<OwnedFd>,
    signals: OwnedFd,
    streams: Option<(Stream, Stream)>,
    /// Whether what the command has left may go on; its pipes are then not read to their end.
    leaves: bool,
    /// Whether the terminal's signals do not reach the command by themselves.
    detached: bool,
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
            leaves: false,
            detached: false,
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

    /// For a command of a session, which may leave something running, and may be out of the terminal's reach.
    pub(super) fn in_session(mut self, leaves: bool, detached: bool) -> Self {
        (self.leaves, self.detached) = (leaves, detached);
        self
    }

    /// With somebody who watches the command's calls; the listener comes out of `inlet`.
    pub(super) fn attended(
        mut self,
        observing: Observing<'a>,
        how: Option<Handover>,
        inlet: Option<UnixStream>,
    ) -> Self {
        let keeps = self.leaves;
        self.attending =
            observing.zip(how).map(|(observer, how)| Attending { observer, how, inlet, keeps, kept: None });
        self
    }

    /// Until the child is gone, or nothing is left of it but its exit.
    pub(super) fn run(mut self) -> io::Result<Ended> {
        if self.memory == Memory::Shared {
            self.stand_back()?;
            unshare();
        }
        let mut buffer = if self.streams.is_some() { vec![0; 64 * 1024] } else { Vec::new() };
        while self.reports.is_some() && !self.is_over() {
            // With an error the child is dropped, and so ended: nobody answers the command any more, so it must not
            // wait, and it must not go on.
            self.step(&mut buffer)?;
        }
        let alone =
            self.memory == Memory::Shared && matches!(self.last, Some(Message::Exited { left: false, .. }));
        if alone && self.is_over() {
            return Ok(Ended {
                last: self.last,
                degraded: self.degraded,
                unwatched: self.unwatched,
                status: 0,
                timed_out: self.timed_out,
                interrupted: self.interrupted,
                output: None,
                pipes: Vec::new(),
                listener: None,
                leaving: Some(self.child.leaves()),
            });
        }
        let mut listener = None;
        if let Some(mut attending) = self.attending.take() {
            attending.observer.leaving();
            listener = attending.kept.take();
        }
        // The pipe closes when the first process ends; the kernel has then killed all others inside.
        let status = self.child.wait()?;
        if self.leaves {
            self.drain(&mut buffer)?;
        } else {
            self.deadline = Some(after(DRAIN));
            while self.open_streams() && self.deadline.is_some_and(|deadline| now() < deadline) {
                self.step(&mut buffer)?;
            }
        }
        let pipes = self.streams.iter_mut().flat_map(|(out, err)| [out.take_pipe(), err.take_pipe()]);
        let pipes = if self.leaves { pipes.flatten().collect() } else { Vec::new() };
        let kept = self.streams.filter(|(out, _)| out.is_kept());
        Ok(Ended {
            last: self.last,
            degraded: self.degraded,
            unwatched: self.unwatched,
            status,
            timed_out: self.timed_out,
            interrupted: self.interrupted,
            output: kept.map(|(out, err)| (out.finish(), err.finish())),
            pipes,
            listener,
            leaving: None,
        })
    }

    /// Whether nothing is left but the end of the first process, and of all others inside with it: nobody reads what they
    /// write, nobody answers them.
    fn is_over(&self) -> bool {
        let ended = matches!(self.last, Some(Message::Exited { .. }));
        let leaves = self.leaves && !matches!(self.last, Some(Message::Exited { left: false, .. }));
        ended && !leaves && self.streams.is_none() && self.attending.is_none()
    }

    /// Until the child has reported or ended: so long it works in this memory, and here are system calls only.
    ///
    /// But for the calls of a watched command, the first of which is its exec: from when its listener is here, its process
    /// does nothing but that and waits for the answer, and the first process waits for that process and then reports.
    /// Neither asks the C library for anything but the exec, nor for memory.
    fn stand_back(&mut self) -> io::Result<()> {
        let Some(reports) = self.reports.take() else { return Ok(()) };
        let stops = self.leaves.then(|| signal::descriptor(&Set::of(&[libc::SIGCHLD]))).transpose()?;
        // Nothing was told of a stop before all signals were blocked.
        self.end_stopped()?;
        let answer = self.stand_back_from(&reports, stops.as_ref());
        self.reports = Some(reports);
        answer
    }

    fn stand_back_from(&mut self, reports: &OwnedFd, stops: Option<&OwnedFd>) -> io::Result<()> {
        loop {
            // However many calls there are, and whether the command has begun: its first process hears of this when it has.
            if self.is_late() {
                self.expire()?;
            }
            let timeout = self.deadline.map(|deadline| timespec(deadline.saturating_sub(now())));
            let calls = self.attending.as_ref().and_then(Attending::source);
            // What is not there looks for nothing.
            let mut sources = [
                PollFd::new(reports, PollFlags::IN),
                calls.as_ref().map_or(PollFd::new(reports, PollFlags::empty()), |calls| {
                    PollFd::new(calls, PollFlags::IN)
                }),
                stops.map_or(PollFd::new(reports, PollFlags::empty()), |stops| {
                    PollFd::new(stops, PollFlags::IN)
                }),
            ];
            match poll(&mut sources, timeout.as_ref()) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [reported, called, stopped] = sources.map(|source| source.revents());
            if !reported.is_empty() {
                return Ok(());
            }
            if calls.is_some() && !called.is_empty() {
                self.called(called)?;
            }
            if let Some(stops) = stops.filter(|_| !stopped.is_empty()) {
                let _ = signal::take(stops.as_fd())?;
                self.end_stopped()?;
            }
        }
    }

    /// Something came from where the calls arrive.
    fn called(&mut self, events: PollFlags) -> io::Result<()> {
        if !events.contains(PollFlags::IN) {
            // The last process that the filter held is gone.
            self.attending = None;
        } else if let Some(attending) = &mut self.attending {
            attending.ready()?;
        }
        Ok(())
    }

    /// Reads what the command has written, which is in the pipes by now, and hands it on; what others write to them
    /// beside it must not hold this up. Whoever signals does not want to wait for a reader.
    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.deadline = None;
        for stream in self.streams.iter_mut().flat_map(|(out, err)| [out, err]) {
            stream.end_with_what_is_there();
        }
        while self.streams.as_ref().is_some_and(|(out, err)| out.is_busy() || err.is_busy()) {
            let [signalled, _, _, moves @ ..] = self.poll()?;
            self.carry(moves, buffer)?;
            while !signalled.is_empty()
                && let Some(received) = signal::take(self.signals.as_fd())?
            {
                self.interrupted |= received.signal == libc::SIGINT && !received.by_process;
                if ENDING.contains(&received.signal) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Moves what can be moved of the streams: out and err to be read, and to be handed on.
    fn carry(&mut self, moves: [PollFlags; 4], buffer: &mut [u8]) -> io::Result<()> {
        let Some((stdout, stderr)) = &mut self.streams else { return Ok(()) };
        let [out, err, out_on, err_on] = moves.map(|events| !events.is_empty());
        for (stream, reads, writes) in [(stdout, out, out_on), (stderr, err, err_on)] {
            if reads {
                stream.read(buffer)?;
            }
            if writes {
                stream.hand_on();
            }
        }
        Ok(())
    }

    fn open_streams(&self) -> bool {
        self.streams.as_ref().is_some_and(|(out, err)| out.pipe().is_some() || err.pipe().is_some())
    }

    /// Waits for the next event and handles all that are there.
    fn step(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let [signalled, reported, called, moves @ ..] = self.poll()?;
        if !called.is_empty() {
            self.called(called)?;
        }
        let [signalled, reported] = [signalled, reported].map(|events| !events.is_empty());
        if signalled {
            self.forward_but(0)?;
            self.end_stopped()?;
        }
        if reported {
            self.report()?;
        }
        self.carry(moves, buffer)?;
        if self.reports.is_some() && self.is_late() {
            self.expire()?;
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| now() >= deadline)
    }

    /// Waits; says what there is of signals, reports, watched calls, stdout, stderr, and where both are handed on.
    fn poll(&self) -> io::Result<[PollFlags; 7]> {
        let (out, err) =
            (self.streams.as_ref().map(|both| &both.0), self.streams.as_ref().map(|both| &both.1));
        let (reads, writes) = (PollFlags::IN, PollFlags::OUT);
        let sources = [
            (Some(self.signals.as_fd()), reads),
            (self.reports.as_ref().map(AsFd::as_fd), reads),
            (self.attending.as_ref().and_then(Attending::source), reads),
            (out.and_then(Stream::pipe), reads),
            (err.and_then(Stream::pipe), reads),
            (out.and_then(Stream::onward), writes),
            (err.and_then(Stream::onward), writes),
        ];
        let there = sources.iter().filter_map(|(source, flags)| Some(((*source)?, *flags)));
        let mut polled: Vec<_> =
            there.map(|(source, flags)| PollFd::from_borrowed_fd(source, flags)).collect();
        let timeout = self.deadline.map(|deadline| timespec(deadline.saturating_sub(now())));
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = polled.iter().map(PollFd::revents);
        Ok(sources.map(|(source, _)| source.and_then(|_| events.next()).unwrap_or(PollFlags::empty())))
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

    /// Another command of the session may stop the first process of this one, which would wait for ever: it is ended. What is
    /// lost then is told as such.
    fn end_stopped(&self) -> io::Result<()> {
        if self.leaves && self.child.is_stopped() {
            signal::send(self.child.id(), libc::SIGKILL)?;
        }
        Ok(())
    }

    /// Hands on what processes sent to swbox, all but `ignored`. What the terminal sent went to the whole process group,
    /// the command included.
    fn forward_but(&mut self, ignored: i32) -> io::Result<()> {
        while let Some(received) = signal::take(self.signals.as_fd())? {
            self.interrupted |= received.signal == libc::SIGINT && !received.by_process;
            if (received.by_process || self.detached)
                && received.signal != ignored
                && !OWN.contains(&received.signal)
            {
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
        // Whoever is to continue swbox may never do so; the wall clock runs on.
        let left = self.deadline.map(|deadline| Duration::from_nanos(deadline.saturating_sub(now())));
        let alarm = left.map(Alarm::continuing).transpose()?;
        let mask = Set::of(&[signal]).unblock()?;
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        signal::send(own, signal)?;
        mask.apply()?;
        drop(alarm);
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
