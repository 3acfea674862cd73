//! The life of a keeper: it answers, reaps, reads what jobs write, and ends with whoever the session works for.
//!
//! Danger: it serves one request after the other and waits for none, so that nobody holds up the end of another.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketFlags;
use rustix::process::WaitOptions;

use super::processes::Whose;
use super::protocol::{Answer, Ask, Seen, receive, send};
use super::start::Held;
use crate::jail::output::Stream;
use crate::sys::peer::peer;
use crate::sys::{seccomp, signal};

/// How long the session's processes outlive whoever it works for. It has to be over within a minute.
const ORPHANED: Duration = Duration::from_secs(45);

/// How long a keeper without jobs waits for the next command.
const IDLE: Duration = Duration::from_secs(8 * 60 * 60);

/// How many jobs that have ended are remembered, for what they wrote.
const REMEMBERED: usize = 16;

/// Bytes kept of what a job writes: with its escapes it fits into a packet.
const OUTPUT: usize = 24 * 1024;

/// Most for whom the session works at a time.
const MASTERS: usize = 16;

/// A connection: somebody who asks, and the command that joined through it.
struct Caller {
    number: u64,
    socket: OwnedFd,
    /// Where the command's processes are.
    command: Option<Space>,
}

/// A mount namespace, held so that its number stays its own.
struct Space {
    number: u64,
    _held: OwnedFd,
}

/// What a command left and somebody wants to go on.
struct Job {
    id: String,
    shown: String,
    space: Space,
    pipes: Vec<OwnedFd>,
    /// The connection that it ends with, until it is kept.
    holder: Option<u64>,
    /// Where its watched calls arrive.
    listener: Option<OwnedFd>,
    output: Stream,
    /// Whether it was seen to have ended.
    over: bool,
}

/// For whom the session works: process id outside and beginning, and its pidfd, which can be read when it is gone.
type Master = ((i32, u64), OwnedFd);

/// The keeper's state.
pub(super) struct Keeper {
    held: Held,
    callers: Vec<Caller>,
    jobs: Vec<Job>,
    /// How many have called.
    calls: u64,
    masters: Vec<Master>,
    /// When all that the session works for were gone.
    orphaned: Option<Instant>,
    used: Instant,
}

/// What woke the keeper.
enum Woken {
    Listener,
    Signals,
    Caller(usize),
    Pipe(usize, usize),
    Call(usize),
    /// No process is left whose calls could arrive.
    Unwatched(usize),
    Master(usize),
}

impl Keeper {
    pub(super) fn new(held: Held) -> Self {
        let used = Instant::now();
        Self {
            held,
            callers: Vec::new(),
            jobs: Vec::new(),
            calls: 0,
            masters: Vec::new(),
            orphaned: None,
            used,
        }
    }

    /// Until the end of the session's processes; the caller then ends this one, and the kernel the others.
    pub(super) fn live(&mut self) -> io::Result<()> {
        loop {
            // From the back: what is taken out moves nothing that is still to be looked at.
            for woken in self.wait()?.into_iter().rev() {
                match woken {
                    Woken::Listener => self.accept(),
                    Woken::Signals => self.reap()?,
                    Woken::Caller(at) => {
                        if self.serve(at) {
                            return Ok(());
                        }
                    }
                    Woken::Pipe(job, pipe) => self.read(job, pipe),
                    Woken::Call(job) => self.let_through(job),
                    Woken::Unwatched(job) => {
                        if let Some(job) = self.jobs.get_mut(job) {
                            job.listener = None;
                        }
                    }
                    Woken::Master(at) => drop(self.masters.remove(at)),
                }
            }
            if self.is_over() {
                return Ok(());
            }
        }
    }

    fn wait(&self) -> io::Result<Vec<Woken>> {
        let mut who = vec![Woken::Listener, Woken::Signals];
        let mut sources = vec![self.held.listener.as_fd(), self.held.signals.as_fd()];
        for (at, caller) in self.callers.iter().enumerate() {
            who.push(Woken::Caller(at));
            sources.push(caller.socket.as_fd());
        }
        for (at, job) in self.jobs.iter().enumerate() {
            if let Some(listener) = &job.listener {
                who.push(Woken::Call(at));
                sources.push(listener.as_fd());
            }
            for (pipe, source) in job.pipes.iter().enumerate() {
                who.push(Woken::Pipe(at, pipe));
                sources.push(source.as_fd());
            }
        }
        for (at, master) in self.masters.iter().enumerate() {
            who.push(Woken::Master(at));
            sources.push(master.1.as_fd());
        }
        let mut polled: Vec<_> =
            sources.into_iter().map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)).collect();
        let left = match self.orphaned {
            Some(since) => ORPHANED.saturating_sub(since.elapsed()),
            None => IDLE.saturating_sub(self.used.elapsed()),
        };
        // A moment longer, so that it is over then.
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX).saturating_add(1);
        match poll(&mut polled, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let events = polled.iter().map(PollFd::revents);
        let woken = who.into_iter().zip(events).filter(|(_, events)| !events.is_empty());
        Ok(woken
            .map(|(who, events)| match who {
                Woken::Call(job) if !events.contains(PollFlags::IN) => Woken::Unwatched(job),
                who => who,
            })
            .collect())
    }

    fn is_over(&mut self) -> bool {
        if !self.held.masters_known || !self.masters.is_empty() {
            self.orphaned = None;
        } else if self.orphaned.is_none() {
            self.orphaned = Some(Instant::now());
        }
        if self.orphaned.is_some_and(|since| since.elapsed() >= ORPHANED) {
            return true;
        }
        if self.used.elapsed() < IDLE {
            return false;
        }
        let busy = self.callers.iter().any(|caller| caller.command.is_some())
            || (0..self.jobs.len()).any(|at| self.count(at) > 0);
        if busy {
            self.used = Instant::now();
        }
        !busy
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = rustix::net::accept_with(&self.held.listener, flags) else { return };
        // Whoever has a number here is a process of the session.
        if peer(socket.as_fd()).is_ok_and(|id| id == 0) {
            self.calls += 1;
            self.callers.push(Caller { number: self.calls, socket, command: None });
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        while signal::take(self.held.signals.as_fd())?.is_some() {}
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        Ok(())
    }

    fn read(&mut self, job: usize, pipe: usize) {
        let Some(job) = self.jobs.get_mut(job) else { return };
        let Some(source) = job.pipes.get(pipe) else { return };
        let mut buffer = [0; 4096];
        match rustix::io::read(source, &mut buffer) {
            Ok(0) => drop(job.pipes.remove(pipe)),
            Ok(count) => job.output.keep(buffer.get(..count).unwrap_or_default()),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => drop(job.pipes.remove(pipe)),
        }
    }

    /// Lets a watched call of a job through to the kernel, which decides on it; nobody watches it any more.
    fn let_through(&mut self, job: usize) {
        let Some(job) = self.jobs.get_mut(job) else { return };
        let Some(listener) = &job.listener else { return };
        let answered = match seccomp::receive(listener.as_fd()) {
            Ok(Some(call)) => seccomp::reply(listener.as_fd(), call.id, seccomp::Reply::Continue),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if answered.is_err() {
            // The last process that the filter held is gone; or its calls fail from now on.
            job.listener = None;
        }
    }

    /// Serves one caller; whether it asked for the end of everything.
    fn serve(&mut self, at: usize) -> bool {
        let Some(caller) = self.callers.get(at) else { return false };
        let (ask, mut beside) = match receive::<Ask>(caller.socket.as_fd()) {
            Ok(Some(asked)) => asked,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Ok(None) | Err(_) => return self.gone(at),
        };
        self.used = Instant::now();
        let answer = match ask {
            Ask::Enter { master } => return !self.enter(at, master.zip(beside.pop())),
            Ask::Begin => {
                return match beside.pop().and_then(|held| Space::of(held).ok()) {
                    Some(space) => {
                        if let Some(caller) = self.callers.get_mut(at) {
                            caller.command = Some(space);
                        }
                        false
                    }
                    // It could not be told what is its own: it must not begin.
                    None => self.gone(at),
                };
            }
            Ask::Left => self.count_of(at),
            Ask::End => {
                if !self.end(at) {
                    return true;
                }
                Answer::Processes { count: 0 }
            }
            Ask::Name { job, shown, watched } => {
                let listener = if watched { beside.pop() } else { None };
                self.name(at, job, shown, (beside, listener))
            }
            Ask::Keep => self.keep(at),
            Ask::List => self.list(),
            Ask::Output { job } => match self.jobs.iter().find(|one| one.id == job) {
                Some(one) => {
                    let (text, dropped) = one.output.shown();
                    Answer::Output { text, dropped }
                }
                None => Answer::Unknown,
            },
            Ask::Signal { job, signal } => self.signal(&job, signal),
            Ask::Quit => return true,
        };
        self.answer(at, &answer);
        false
    }

    fn answer(&mut self, at: usize, answer: &Answer) {
        let Some(caller) = self.callers.get(at) else { return };
        // Who does not take it is gone, or will hear that it is.
        let _ = send(caller.socket.as_fd(), answer, &[]);
    }

    /// Somebody is gone. A command of theirs that nobody has kept is ended. Whether that failed.
    fn gone(&mut self, at: usize) -> bool {
        let failed = !self.end(at);
        self.callers.remove(at);
        failed
    }

    /// False where the session cannot be kept up.
    fn enter(&mut self, at: usize, master: Option<Master>) -> bool {
        self.held.masters_known |= master.is_some();
        if let Some(master) = master
            && self.masters.iter().all(|(known, _)| *known != master.0)
        {
            self.masters.push(master);
        }
        let surplus = self.masters.len().saturating_sub(MASTERS);
        self.masters.drain(..surplus);
        self.orphaned = None;
        let Some(caller) = self.callers.get(at) else { return true };
        let answered = self.held.tree().and_then(|tree| {
            let mut beside: Vec<_> = self.held.spaces.iter().map(AsFd::as_fd).collect();
            beside.push(tree.as_fd());
            send(caller.socket.as_fd(), &Answer::Spaces, &beside)
        });
        if answered.is_err() {
            return !self.gone(at);
        }
        true
    }

    fn count_of(&self, at: usize) -> Answer {
        let Some(command) = self.callers.get(at).and_then(|caller| caller.command.as_ref()) else {
            return Answer::Processes { count: 0 };
        };
        Answer::Processes { count: command.processes().count() }
    }

    /// Ends what is left of the command of a connection; false where it outran that.
    fn end(&mut self, at: usize) -> bool {
        let command = self.callers.get_mut(at).and_then(|caller| caller.command.take());
        let named = self.held_by(at).map(|job| self.jobs.remove(job));
        let mut spaces = command.iter().chain(named.iter().map(|job| &job.space));
        spaces.all(|space| space.processes().sweep())
    }

    fn keep(&mut self, at: usize) -> Answer {
        let held = self.held_by(at);
        let Some(job) = held.and_then(|job| self.jobs.get_mut(job)) else { return Answer::Unknown };
        job.holder = None;
        Answer::Processes { count: held.map_or(0, |job| self.count(job)) }
    }

    /// The job that ends with a connection.
    fn held_by(&self, at: usize) -> Option<usize> {
        let number = self.callers.get(at)?.number;
        self.jobs.iter().position(|job| job.holder == Some(number))
    }

    fn name(
        &mut self,
        at: usize,
        id: String,
        shown: String,
        (pipes, listener): (Vec<OwnedFd>, Option<OwnedFd>),
    ) -> Answer {
        let Some(caller) = self.callers.get_mut(at) else { return Answer::Unknown };
        let holder = Some(caller.number);
        let Some(command) = caller.command.take() else { return Answer::Unknown };
        self.jobs.push(Job {
            id,
            shown,
            space: command,
            pipes,
            holder,
            listener,
            output: Stream::sink(OUTPUT),
            over: false,
        });
        Answer::Processes { count: self.count(self.jobs.len() - 1) }
    }

    /// How many processes a job has.
    fn count(&mut self, at: usize) -> usize {
        let Some(job) = self.jobs.get_mut(at).filter(|job| !job.over) else { return 0 };
        let count = job.space.processes().count();
        job.over = count == 0;
        count
    }

    fn list(&mut self) -> Answer {
        let mut jobs = Vec::new();
        for at in 0..self.jobs.len() {
            let processes = self.count(at);
            if let Some(job) = self.jobs.get(at) {
                jobs.push(Seen { job: job.id.clone(), shown: job.shown.clone(), processes });
            }
        }
        let mut surplus = self
            .jobs
            .iter()
            .filter(|job| job.over && job.pipes.is_empty())
            .count()
            .saturating_sub(REMEMBERED);
        self.jobs.retain(|job| {
            let goes = surplus > 0 && job.over && job.pipes.is_empty();
            surplus -= usize::from(goes);
            !goes
        });
        Answer::Jobs { jobs }
    }

    fn signal(&mut self, id: &str, number: i32) -> Answer {
        let Some(at) = self.jobs.iter().position(|job| job.id == id) else { return Answer::Unknown };
        if let Some(job) = self.jobs.get(at).filter(|job| !job.over) {
            if number == libc::SIGKILL {
                job.space.processes().sweep();
            } else {
                job.space.processes().signal(number);
            }
        }
        Answer::Processes { count: self.count(at) }
    }
}

impl Space {
    fn of(held: OwnedFd) -> io::Result<Self> {
        Ok(Self { number: rustix::fs::fstat(&held)?.st_ino, _held: held })
    }

    fn processes(&self) -> Whose {
        Whose { space: self.number }
    }
}
