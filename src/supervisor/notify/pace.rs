//! Whether calls come so fast one upon another that the next one is waited for at the listener itself.
//!
//! To ask all of the launcher's sources, and then the listener, costs as much as what is looked up of a call. But at the
//! listener nothing else is heard, and the kernel knows no bound for such a wait. So it is done in a storm only, and a timer
//! ends it.
//!
//! Danger: signals, output and the wall clock wait meanwhile: for [`PERIOD`] twice at the most.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::sys::alarm::{Alarm, Ringing};

/// How often the wait is ended: more than as many calls as are answered in turn take.
const PERIOD: Duration = Duration::from_millis(4);

/// Calls that are nearer to each other than this many nanoseconds come one upon another.
const NEAR: i64 = 150_000;

/// How many such calls are a storm.
const STORM: u32 = 16;

/// The calls of late.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last one was answered, in nanoseconds.
    last: i64,
    /// How many have come one upon another.
    near: u32,
    /// Made in the first storm.
    alarm: Option<Alarm>,
}

impl Pace {
    /// A call is there. In a storm the next ones may be waited for while what this gives lives.
    pub(super) fn comes(&mut self) -> Option<Ringing> {
        if now().saturating_sub(self.last) > NEAR {
            self.near = 0;
        }
        if self.near < STORM {
            return None;
        }
        if self.alarm.is_none() {
            self.alarm = Alarm::new().ok();
        }
        self.alarm.as_ref()?.ring(PERIOD, PERIOD).ok()
    }

    /// One was answered.
    pub(super) fn answered(&mut self) {
        self.near = self.near.saturating_add(1);
    }

    /// The other sources have their turn.
    pub(super) fn goes(&mut self) {
        self.last = now();
    }

    /// None came for long.
    pub(super) fn pauses(&mut self) {
        self.near = 0;
    }
}

fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}
