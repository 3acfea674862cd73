//! The tracing thread: it attaches, waits, lets each stopped thread go on, and keeps what calls are under way.
//!
//! Danger: the threads that are traced stop until this one has answered. Signals and stops must reach them as if nobody
//! watched, and none may go on untraced: the filter answers ENOSYS then, and the end of this thread kills them all.

use std::collections::HashMap;
use std::io;

use crate::supervisor::Verdict;
use crate::sys::ptrace::{self, Change, Entry, Event, Resume};

/// What the tracing thread asks of whoever makes something of the calls. `C` is what is remembered of a call until its
/// end.
pub(super) trait Reader {
    /// What is kept of a call.
    type Call;

    /// `thread` begins a call that the filter handed over.
    fn begins(&mut self, thread: i32, entry: &Entry) -> Begins<Self::Call>;

    /// The call of `thread` has ended.
    fn ended(&mut self, thread: i32, call: Self::Call, answer: Result<i64, i32>);

    /// A new program is in place in the process `process`; nothing of it has run.
    fn program(&mut self, process: i32) -> Verdict;

    /// `thread` is gone, perhaps in the middle of a call; its number may be another's next.
    fn gone(&mut self, thread: i32, call: Option<Self::Call>);

    /// A call could not be read.
    fn unread(&mut self, thread: i32, error: &io::Error);
}

/// What becomes of a call.
pub(super) enum Begins<C> {
    /// It is of no interest.
    Pass,
    /// Its answer is wanted.
    Follow(C),
    /// It is not made, and answers this errno.
    Refuse(C, i32),
}

/// Errnos of the kernel's own: the call is made again, or is cut by a signal whose handler decides that.
const RESTARTS: std::ops::RangeInclusive<i32> = 512..=516;

/// Follows everything that the calling thread traces, until nothing is left of it.
pub(super) fn follow<R: Reader>(reader: &mut R) -> io::Result<()> {
    let mut calls: HashMap<i32, R::Call> = HashMap::new();
    while let Some((thread, change)) = ptrace::wait()? {
        match change {
            Change::Gone => {
                let call = calls.remove(&thread);
                reader.gone(thread, call);
            }
            Change::Call => {
                end_of_call(reader, &mut calls, thread);
                ptrace::resume(thread, Resume::On(0))?;
            }
            Change::Signal(signal) => ptrace::resume(thread, on(&calls, thread, signal))?,
            Change::Event(Event::Group(_)) => ptrace::resume(thread, Resume::Listen)?,
            Change::Event(Event::Seccomp) => {
                let how = beginning(reader, &mut calls, thread)?;
                ptrace::resume(thread, how)?;
            }
            Change::Event(Event::Exec) => {
                // The thread that executed has the number of its process from now on.
                let former = ptrace::message(thread).ok().and_then(|number| i32::try_from(number).ok());
                let call = former.and_then(|former| calls.remove(&former));
                // What its first thread was about has ended with that thread.
                calls.remove(&thread);
                calls.extend(call.map(|call| (thread, call)));
                if reader.program(thread) == Verdict::Stop {
                    kill(thread);
                }
                ptrace::resume(thread, on(&calls, thread, 0))?;
            }
            Change::Event(Event::Born | Event::Trap | Event::Other) => {
                ptrace::resume(thread, on(&calls, thread, 0))?;
            }
        }
    }
    Ok(())
}

/// On, to the end of the call that is followed if there is one.
fn on<C>(calls: &HashMap<i32, C>, thread: i32, signal: i32) -> Resume {
    if calls.contains_key(&thread) { Resume::ToCallEnd(signal) } else { Resume::On(signal) }
}

/// A call was handed over: what becomes of it.
fn beginning<R: Reader>(
    reader: &mut R,
    calls: &mut HashMap<i32, R::Call>,
    thread: i32,
) -> io::Result<Resume> {
    let begins = match ptrace::entry(thread) {
        Ok(entry) => reader.begins(thread, &entry),
        // It was killed in the call, which is not made then.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(Resume::On(0)),
        Err(error) => {
            reader.unread(thread, &error);
            // It may be one that the filter's table refuses.
            kill(thread);
            return Ok(Resume::On(0));
        }
    };
    match begins {
        Begins::Pass => {
            calls.remove(&thread);
            Ok(Resume::On(0))
        }
        Begins::Follow(call) => {
            calls.insert(thread, call);
            Ok(Resume::ToCallEnd(0))
        }
        Begins::Refuse(call, errno) => {
            calls.remove(&thread);
            if ptrace::refuse(thread, errno).is_err() {
                kill(thread);
            }
            reader.ended(thread, call, Err(errno));
            Ok(Resume::On(0))
        }
    }
}

fn end_of_call<R: Reader>(reader: &mut R, calls: &mut HashMap<i32, R::Call>, thread: i32) {
    let Some(call) = calls.remove(&thread) else { return };
    match ptrace::answer(thread) {
        Ok(Some(Err(errno))) if RESTARTS.contains(&errno) => {}
        Ok(Some(answer)) => reader.ended(thread, call, answer),
        Ok(None) => {}
        // It was killed in the middle.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
        Err(error) => reader.unread(thread, &error),
    }
}

/// Ends the process of a stopped thread; one that is gone is gone.
fn kill(thread: i32) {
    let _ = crate::sys::signal::send(thread, libc::SIGKILL);
}
