//! The processes of a session, told apart by their mount namespace.
//!
//! Danger: what is missed goes on. A process that does not show its namespace counts as everybody's.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RawDir};

use crate::sys::signal;

/// How long processes that are killed may go on making new ones before the whole session is ended.
const SWEEP: Duration = Duration::from_secs(2);

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    /// The number of its mount namespace; none where it does not show it.
    space: Option<u64>,
}

/// Whose processes are meant: those of one mount namespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    /// The mount namespace's number. What shows no namespace is meant too. First processes of commands show none, nor do
    /// their children until they have executed; those are never meant: their parents are outside, and they end with them.
    pub(super) space: u64,
}

impl Whose {
    fn among(self, all: &[Process]) -> impl Iterator<Item = &Process> {
        all.iter().filter(move |process| match process.space {
            Some(space) => space == self.space,
            None => {
                let is_first = |id: i32| all.iter().any(|one| one.id == id && one.parent == 0);
                process.parent != 0 && !is_first(process.parent)
            }
        })
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.among(&all()).count()
    }

    /// Signals each; how many there were.
    pub(super) fn signal(self, number: i32) -> usize {
        let mut count = 0;
        for process in self.among(&all()) {
            count += 1;
            if number != 0 {
                // It may be gone by now; its number is given anew only after all others were.
                let _ = signal::send(process.id, number);
            }
        }
        count
    }

    /// Kills them until there is none; false where they outran it.
    pub(super) fn sweep(self) -> bool {
        let until = Instant::now() + SWEEP;
        while self.signal(libc::SIGKILL) > 0 {
            if Instant::now() >= until {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

/// Signals every other process that shows the mount namespace `space`. No memory is asked for: whoever calls this may work
/// in somebody else's.
pub(in crate::jail) fn signal_in(space: u64, signal: i32) {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = rustix::fs::open("/proc", flags, Mode::empty()) else { return };
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&proc, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        let Some(id) = decimal(name).and_then(|id| i32::try_from(id).ok()).filter(|id| *id != own) else {
            continue;
        };
        let mut path = [0_u8; 32];
        path.iter_mut().zip(name.iter().chain(b"/ns/mnt")).for_each(|(place, byte)| *place = *byte);
        let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
        let mut text = [0_u8; 64];
        let read = rustix::fs::readlinkat_raw(&proc, path, &mut text).ok();
        if read.and_then(|length| number(text.get(..length)?)) == Some(space) {
            // It may be gone by now; its number is given anew only after all others were.
            let _ = signal::send(id, signal);
        }
    }
}

/// A number without a sign.
fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// All processes that `/proc` shows, but this one and those that have ended.
fn all() -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|id| *id != own).filter_map(read).collect()
}

fn read(id: i32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(after + 1..)?).ok()?.split_ascii_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    match rustix::fs::readlink(format!("/proc/{id}/ns/mnt"), Vec::new()) {
        Ok(text) => Some(Process { id, parent, space: number(text.to_bytes()) }),
        // It is on its way out and has left its namespaces.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::SRCH) => None,
        Err(_) => Some(Process { id, parent, space: None }),
    }
}

/// The number in `mnt:[4026531841]`.
fn number(text: &[u8]) -> Option<u64> {
    decimal(text.strip_prefix(b"mnt:[")?.strip_suffix(b"]")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_shows_nothing_is_everybodys_but_for_beginnings() {
        let process = |id, parent, space| Process { id, parent, space };
        let all = [
            process(2, 0, None),
            process(3, 2, None),
            process(4, 2, Some(7)),
            process(5, 3, None),
            process(6, 1, None),
            process(7, 1, Some(8)),
        ];
        let ids: Vec<i32> = Whose { space: 7 }.among(&all).map(|process| process.id).collect();
        assert_eq!(ids, [4, 5, 6]);
    }

    #[test]
    fn the_number_is_read() {
        assert_eq!(number(b"mnt:[4026531841]"), Some(4_026_531_841));
        assert_eq!(number(b"net:[1]"), None);
    }
}
