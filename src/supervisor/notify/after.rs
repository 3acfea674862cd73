//! Watching what a command left running: the same watcher, with nothing seen yet.
//!
//! Danger: nobody waits for the end of a job to hear what it did, and it may never come. So names are settled again and
//! again, each time against what they were the last time.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};

use super::Watcher;
use super::pace::Pace;
use crate::jail::Observer;
use crate::supervisor::observed::{Observed, Program};
use crate::supervisor::seen::Seen;

/// What came of waiting for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Calls were answered.
    Calls,
    /// There was none.
    Nothing,
    /// No process is left that could make one, or none can be answered.
    End,
}

impl Watcher<'_> {
    /// Goes on after the command's end with what arrives at its listener. Of what was held before
    /// [`end`](crate::jail::Observer::end) nothing is used but the names as they were then: in another process the numbers
    /// may be others'. Who has one of them open may have written to it meanwhile.
    pub fn go_on(&mut self, listener: OwnedFd) {
        self.sink.goes_on();
        self.listener = Some(listener);
        self.pace = Pace::default();
        self.seen = Seen::default();
        let Some(ground) = self.ground.as_ref().filter(|ground| !ground.throws_away()) else { return };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        self.workspace = rustix::fs::openat(CWD, ground.workspace(), flags, Mode::empty()).ok();
    }

    /// Whether files are known that may be written to without another call that is seen.
    pub fn holds_names(&self) -> bool {
        self.workspace.is_some() && !self.ledger.is_empty()
    }

    /// Answers the calls that come within `patience`; without one it waits for the first.
    pub fn hear(&mut self, patience: Option<Duration>) -> Heard {
        let Some(listener) = &self.listener else { return Heard::End };
        let patience = patience.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut source = [PollFd::new(listener, PollFlags::IN)];
        let waited = rustix::io::retry_on_intr(|| poll(&mut source, patience.as_ref()));
        let [source] = source;
        let found = source.revents();
        match waited {
            Ok(0) => Heard::Nothing,
            Ok(_) if found.contains(PollFlags::IN) => match self.ready() {
                Ok(()) => Heard::Calls,
                Err(_) => Heard::End,
            },
            Ok(_) | Err(_) => Heard::End,
        }
    }

    /// What was seen since this was last asked.
    pub fn seen_since(&mut self) -> Seen {
        if let Some(workspace) = &self.workspace {
            for (process, touch) in self.ledger.settle(workspace) {
                let what = Observed::Touch(touch);
                self.seen.note(&what);
                self.sink.observed(process, &what);
            }
            // What a directory was then is no longer asked for.
            self.finder.forget();
        }
        self.seen.dropped += self.ledger.take_dropped();
        std::mem::take(&mut self.seen)
    }

    /// The program that was stopped since.
    pub fn stopped(&self) -> Option<&Program> {
        self.seen.programs.iter().map(|counted| &counted.what).find(|program| program.stopped)
    }
}
