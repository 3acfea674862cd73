//! Processes as the kernel tells them: who started whom, in which terminal session, and who holds a terminal's other side.
//!
//! Danger: the kernel forgets. The parent of a process whose parent ended is another one, and nothing says which it was. What
//! is found here is enough to refuse; that nothing is found proves nothing, and docs/threat-model.md says so.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::harnesses::{self, Harness};

/// How far up a chain is followed: it is finite, but numbers may be given anew while it is read.
const FARTHEST: usize = 1024;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: u32,
    /// When it began, in the kernel's ticks since the machine did.
    pub(super) born: u64,
    /// The kernel's name for it.
    name: Vec<u8>,
    parent: u32,
    /// The leaders of its job, of its terminal's session, and of the job that has the terminal.
    leaders: [u32; 3],
}

impl Process {
    /// Reads it; none where it is gone.
    fn read(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(pid: u32, stat: &[u8]) -> Option<Self> {
        // The name, in parentheses, may hold anything.
        let (open, close) =
            (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
        let fields: Vec<&str> =
            std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace().collect();
        // The state is field 3.
        let field = |number: usize| fields.get(number - 3);
        let leader = |number: usize| field(number).and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(Self {
            pid,
            born: field(22)?.parse().ok()?,
            name: stat[open + 1..close].to_vec(),
            parent: field(4)?.parse().ok()?,
            leaders: [leader(5), leader(6), leader(8)],
        })
    }

    /// The registered harness that it is.
    pub(super) fn harness(&self) -> Option<&'static Harness> {
        let arguments = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let arguments: Vec<&[u8]> = arguments.split(|byte| *byte == 0).collect();
        harnesses::of_process(&self.name, &arguments)
    }

    /// The registered harness whose variables it was started with.
    fn marked(&self) -> Option<&'static Harness> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        let names: Vec<&[u8]> = environment
            .split(|byte| *byte == 0)
            .filter_map(|pair| pair.split(|byte| *byte == b'=').next())
            .collect();
        harnesses::of_variable(|name| names.contains(&name.as_bytes()))
    }
}

/// A process and those that it descends from, the nearest first.
fn chain(pid: u32) -> impl Iterator<Item = Process> {
    std::iter::successors(Process::read(pid), |process| Process::read(process.parent)).take(FARTHEST)
}

/// The nearest ancestor of this process that is a registered harness.
pub(super) fn harness_above() -> Option<(&'static Harness, Process)> {
    chain(std::os::unix::process::parent_id())
        .find_map(|process| process.harness().map(|harness| (harness, process)))
}

/// A harness that this process has to do with, and how.
pub(super) fn harness_behind() -> Option<(&'static Harness, String)> {
    if let Some((harness, process)) = harness_above() {
        return Some((harness, format!("(process {}) is among the ancestors", process.pid)));
    }
    let own = Process::read(std::process::id())?;
    // Whoever let go of its parent still belongs to a job, and to a terminal's session, that somebody began.
    for leader in own.leaders {
        for process in chain(leader) {
            if let Some(harness) = process.harness() {
                return Some((harness, format!("(process {}) began this terminal's session", process.pid)));
            }
        }
    }
    for process in chain(own.parent) {
        if let Some(harness) = process.marked() {
            let how = format!("left its variables to process {}, which is among the ancestors", process.pid);
            return Some((harness, how));
        }
    }
    let index = terminal_index()?;
    let mut holders = processes().filter(|pid| holds(*pid, index)).flat_map(chain);
    holders.find_map(|process| {
        let how = format!("(process {}) holds the other side of this terminal", process.pid);
        Some((process.harness()?, how))
    })
}

/// The number of the pseudo-terminal on standard input.
fn terminal_index() -> Option<u32> {
    let name = fs::read_link("/proc/self/fd/0").ok()?;
    name.strip_prefix("/dev/pts").ok()?.to_str()?.parse().ok()
}

/// The processes in this process's view of the file system: elsewhere the same number is another terminal.
fn processes() -> impl Iterator<Item = u32> {
    let view = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/mnt")).ok().map(|meta| meta.ino());
    let own = view("self");
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |pid: &u32| own.is_some() && view(&pid.to_string()) == own)
}

/// Whether a process holds the other side of a pseudo-terminal, as far as its descriptors can be seen.
fn holds(pid: u32, index: u32) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    descriptors.flatten().any(|entry| {
        let is_master = fs::read_link(entry.path()).is_ok_and(|name| is_multiplexer(&name));
        is_master && {
            let told = Path::new("/proc").join(pid.to_string()).join("fdinfo").join(entry.file_name());
            let told = fs::read_to_string(told).unwrap_or_default();
            let number = told.lines().find_map(|line| line.strip_prefix("tty-index:"));
            number.and_then(|number| number.trim().parse().ok()) == Some(index)
        }
    })
}

fn is_multiplexer(name: &Path) -> bool {
    [&b"/dev/ptmx"[..], b"/dev/pts/ptmx"].contains(&name.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let stat = b"7 (a) 1 ) b) S 3 4 5 6 9 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0";
        let process = Process::parse(7, stat).unwrap();
        assert_eq!((process.name.as_slice(), process.parent), (&b"a) 1 ) b"[..], 3));
        assert_eq!((process.leaders, process.born), ([4, 5, 9], 77));
        assert_eq!(Process::parse(7, b"7 (x) S"), None);
    }

    #[test]
    fn the_chain_of_this_process_ends_at_the_first() {
        let all: Vec<Process> = chain(std::process::id()).collect();
        assert_eq!(all[0].pid, std::process::id());
        assert!(all.len() > 1 && all.windows(2).all(|pair| pair[0].parent == pair[1].pid));
        assert!(all.windows(2).all(|pair| pair[1].born <= pair[0].born || pair[1].pid <= 2));
    }
}
