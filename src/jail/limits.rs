//! Resource limits of the command.
//!
//! Danger: RLIMIT_AS is never set: Go, Java and the sanitizers reserve address space that they do not use.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::outcome::{Captured, Exit, LimitHit};
use crate::profile::Limits;

/// Sets the limits on the calling process; what it starts inherits them. A limit above the hard one that swbox itself
/// runs under is cut to that.
pub(super) fn apply(limits: &Limits) -> io::Result<()> {
    set(Resource::Core, Some(0), 0)?;
    set(Resource::Nproc, limits.processes, 0)?;
    set(Resource::Data, limits.memory, 0)?;
    set(Resource::Fsize, limits.file_size, 0)?;
    // XCPU first, so that the program can say something; KILL a second later.
    set(Resource::Cpu, limits.cpu, 1)?;
    set(Resource::Nofile, limits.open_files, 0)
}

/// The kernel keeps that many process ids to itself when it counts through them again.
const RESERVED_IDS: u64 = 300;

/// Bounds the processes of a PID namespace by the highest process id it hands out, for user 0, whom RLIMIT_NPROC does
/// not hold. `proc` is the namespace's own `/proc`. From Linux 6.14 each namespace has its own bound; before that the
/// number is the host's, and is left alone.
pub(super) fn bound_process_ids(proc: &OwnedFd, processes: u64) -> io::Result<()> {
    if !rustix::process::getuid().is_root() || !kernel_at_least(6, 14) {
        return Ok(());
    }
    let file = rustix::fs::openat(proc, "sys/kernel/pid_max", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // What the namespace has now, which it cannot exceed.
    let mut digits = [0; 24];
    let count = rustix::io::pread(&file, &mut digits, 0)?;
    let most = std::str::from_utf8(digits.get(..count).unwrap_or_default()).ok();
    let most = most.and_then(|most| most.trim().parse::<u64>().ok());
    let most = most.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let bound = processes.max(RESERVED_IDS + 1).min(most);
    rustix::io::pwrite(&file, bound.to_string().as_bytes(), 0)?;
    Ok(())
}

/// Whether the running kernel is at least this version.
fn kernel_at_least(major: u32, minor: u32) -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(second)) => (first, second) >= (major, minor),
        _ => false,
    }
}

/// Whether the file system of `scratch` is full.
pub(super) fn full(scratch: &OwnedFd) -> bool {
    rustix::fs::fstatvfs(scratch).is_ok_and(|space| space.f_blocks > 0 && space.f_bfree == 0)
}

/// What programs, run-time systems and the C library say when they meet a limit that the kernel reports to nobody but
/// them; compared without case.
const WORDS: &[(&str, LimitHit)] = &[
    ("too many open files", LimitHit::OpenFiles),
    ("emfile", LimitHit::OpenFiles),
    ("resource temporarily unavailable", LimitHit::Processes),
    ("cannot fork", LimitHit::Processes),
    ("can't fork", LimitHit::Processes),
    ("can't start new thread", LimitHit::Processes),
    ("failed to create new os thread", LimitHit::Processes),
    ("failed to spawn thread", LimitHit::Processes),
    ("unable to create native thread", LimitHit::Processes),
    ("unable to create new native thread", LimitHit::Processes),
    ("cannot allocate memory", LimitHit::Memory),
    ("memoryerror", LimitHit::Memory),
    ("outofmemoryerror", LimitHit::Memory),
    ("bad_alloc", LimitHit::Memory),
    ("out of memory", LimitHit::Memory),
    ("insufficient memory", LimitHit::Memory),
    ("memory exhausted", LimitHit::Memory),
    ("memory allocation of", LimitHit::Memory),
    ("memory allocation failed", LimitHit::Memory),
    ("buffer allocation failed", LimitHit::Memory),
    ("failed to allocate memory", LimitHit::Memory),
    ("file too large", LimitHit::FileSize),
    ("no space left on device", LimitHit::Scratch),
];

/// The limit that a failed command names in what it wrote to standard error; only one that is set.
pub(super) fn said(limits: &Limits, exit: &Exit, err: &Captured) -> Option<LimitHit> {
    if matches!(exit, Exit::Code(0) | Exit::NotStarted { .. }) {
        return None;
    }
    let text = [err.head.as_slice(), err.tail.as_slice()].concat();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let set = |limit| match limit {
        LimitHit::OpenFiles => limits.open_files.is_some(),
        LimitHit::Processes => limits.processes.is_some(),
        LimitHit::Memory => limits.memory.is_some(),
        LimitHit::FileSize => limits.file_size.is_some(),
        LimitHit::Scratch => limits.scratch.is_some(),
        LimitHit::Timeout | LimitHit::Cpu | LimitHit::Output => false,
    };
    WORDS.iter().find(|(words, limit)| set(*limit) && text.contains(words)).map(|(_, limit)| *limit)
}

fn set(resource: Resource, limit: Option<u64>, slack: u64) -> io::Result<()> {
    let Some(limit) = limit else { return Ok(()) };
    let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let new = Rlimit { current: Some(limit.min(hard)), maximum: Some(limit.saturating_add(slack).min(hard)) };
    Ok(setrlimit(resource, new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_inferred_only_where_it_is_set_and_the_command_failed() {
        let err = |text: &str| Captured { head: text.into(), tail: Vec::new(), total: text.len() as u64 };
        let limits = Limits { open_files: Some(20), processes: Some(9), ..Limits::default() };
        let fork = err("bash: fork: retry: Resource temporarily unavailable");
        assert_eq!(said(&limits, &Exit::Code(1), &fork), Some(LimitHit::Processes));
        assert_eq!(said(&limits, &Exit::Code(0), &fork), None);
        assert_eq!(said(&Limits::default(), &Exit::Code(1), &fork), None);
        // Node, Go and Java have words of their own.
        let memory = Limits { memory: Some(9), open_files: Some(20), ..Limits::default() };
        for (text, limit) in [
            ("RangeError: Array buffer allocation failed", LimitHit::Memory),
            ("java.lang.OutOfMemoryError: Java heap space", LimitHit::Memory),
            ("open x: too many open files", LimitHit::OpenFiles),
        ] {
            assert_eq!(said(&memory, &Exit::Code(1), &err(text)), Some(limit), "{text}");
        }
        assert_eq!(said(&limits, &Exit::Code(1), &err("MemoryError")), None);
        assert_eq!(
            said(&limits, &Exit::Signal(6), &err("x: Too many open files")),
            Some(LimitHit::OpenFiles)
        );
    }
}
