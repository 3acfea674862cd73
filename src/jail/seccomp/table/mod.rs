//! The rows, by what they protect. Numbers are x86-64, then aarch64 (`NONE` where the machine lacks the call).
//!
//! Danger: `setres*id` are never closed (make changes to its own ids), clone3 and io_uring answer ENOSYS and nothing
//! else (libraries fall back from that alone), and rows of one call never overlap.

mod file;
mod kernel;
mod namespace;
mod network;
mod process;
mod watch;

use super::Descriptors;
use super::rule::{Answer, Case, Condition, Entry, Test, When};

/// All rows.
pub(super) fn entries() -> impl Iterator<Item = &'static Entry> {
    [namespace::ROWS, kernel::ROWS, process::ROWS, file::ROWS, network::ROWS].into_iter().flatten()
}

/// The rows of a watched command; they come after the others of the same call.
pub(super) fn watched(reads: bool, descriptors: Descriptors) -> impl Iterator<Item = &'static Entry> {
    let opens = if reads { watch::ALL_OPENS } else { watch::OPENS };
    let (times, others): (_, &[_]) = match descriptors {
        Descriptors::All => (watch::ALL_TIMES, watch::DESCRIPTORS),
        Descriptors::Times => (watch::ALL_TIMES, &[]),
        Descriptors::Nothing => (watch::TIMES, &[]),
    };
    [opens, times, others, watch::ROWS].into_iter().flatten()
}

/// Whether the watcher is told of this row's refusals.
pub(super) fn told(entry: &Entry) -> bool {
    watch::TOLD.contains(&entry.name)
}

/// A machine that lacks the call.
const NONE: u32 = u32::MAX;

const fn number(of: u32) -> Option<u32> {
    if of == NONE { None } else { Some(of) }
}

/// A call that always gets one answer.
const fn row(
    name: &'static str,
    numbers: (u32, u32),
    when: When,
    answer: Answer,
    reason: &'static str,
) -> Entry {
    judged(name, numbers, when, &[], answer, reason)
}

/// A call that is judged by its registers.
const fn judged(
    name: &'static str,
    numbers: (u32, u32),
    when: When,
    cases: &'static [Case],
    otherwise: Answer,
    reason: &'static str,
) -> Entry {
    let (x86_64, aarch64) = (number(numbers.0), number(numbers.1));
    Entry { name, x86_64, aarch64, when, cases, otherwise, reason }
}

const fn refuse(all: &'static [Condition]) -> Case {
    Case { all, answer: Answer::Perm }
}

const fn allow(all: &'static [Condition]) -> Case {
    Case { all, answer: Answer::Allow }
}

const fn is(argument: u8, value: u32) -> Condition {
    Condition { argument, test: Test::Is(value) }
}

const fn any(argument: u8, mask: u32) -> Condition {
    Condition { argument, test: Test::Any(mask) }
}

const fn masked(argument: u8, mask: u32, value: u32) -> Condition {
    Condition { argument, test: Test::Masked(mask, value) }
}
