//! The thread that calls, as `/proc` has it: its descriptors and its memory.
//!
//! A name in `/proc` is looked up part by part, which is much of what such a look costs. So the directory of the thread
//! that called last, and the file of its memory, are kept open when it calls again.
//!
//! What a descriptor refers to is asked at each call, since it may be another's by then. A text in `/proc` that says the
//! same as before costs half of looking that up.
//!
//! Danger: a number is given again. The directory that is kept stays that of one process, and is empty when that is gone;
//! then the number is looked up. The file stays that of one program's memory, which another process may go on with when
//! this one executes another program: whoever sees that has to say so.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::path::DecInt;

use crate::supervisor::call::Memory;
use crate::supervisor::touched::WANTED;

/// What a relative name begins at: device, inode, mount.
pub(super) type Start = (u32, u32, u64, u64);

/// How often a descriptor is asked for in turn until its text is read instead.
const OFTEN: u32 = 4;

/// Bytes of such a text. Longer ones tell of locks.
const TEXT: usize = 192;

/// The file systems, by their magic number (ext, XFS, tmpfs), on which mount and inode, which are in the text, name one
/// file. Those with subvolumes or layers have the same number for several.
const NUMBERED: [i128; 3] = [0xef53, 0x5846_5342, 0x0102_1994];

/// The thread that called last.
#[derive(Debug, Default)]
pub(super) struct Caller {
    thread: i32,
    /// How many calls of it came in turn.
    calls: u32,
    /// Its directory of descriptors, when it has called twice in turn.
    descriptors: Option<OwnedFd>,
    /// Its memory, when it has called thrice in turn since it began its program.
    memory: Option<OwnedFd>,
    /// The descriptor that was asked for last, and how often in turn.
    asked: (i32, u32),
    /// What that is.
    known: Option<Known>,
}

/// A descriptor that is asked for again and again.
#[derive(Debug)]
struct Known {
    /// Its text in `/proc`.
    file: OwnedFd,
    text: Vec<u8>,
    start: Start,
}

impl Known {
    /// What `fd` of `thread` is, if `start`, which it was just now, gives that beyond doubt.
    fn new(caller: &mut Caller, thread: i32, fd: i32, start: Start) -> Option<Self> {
        let system = rustix::fs::statfs(format!("/proc/{thread}/fd/{fd}")).ok()?;
        if !NUMBERED.contains(&i128::from(system.f_type)) {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(format!("/proc/{thread}/fdinfo/{fd}"), flags, Mode::empty()).ok()?;
        let mut buffer = [0; TEXT];
        let text = text_of(&file, &mut buffer)?.to_vec();
        // Linux 5.14 and later.
        if !text.windows(5).any(|part| part == b"\nino:") {
            return None;
        }
        let known = Self { file, text, start };
        (caller.look(thread, fd) == Ok(start) && known.is_same()).then_some(known)
    }

    /// Whether its text is what it was.
    fn is_same(&self) -> bool {
        text_of(&self.file, &mut [0; TEXT]).is_some_and(|text| *text == *self.text)
    }
}

/// The whole text of a descriptor; nothing of one that is closed, or where there is more.
fn text_of<'a>(file: &OwnedFd, buffer: &'a mut [u8; TEXT]) -> Option<&'a [u8]> {
    let count = rustix::io::pread(file, buffer.as_mut_slice(), 0).ok()?;
    buffer.get(..count).filter(|text| text.len() < TEXT)
}

impl Caller {
    /// `thread` calls: its memory.
    pub(super) fn calls(&mut self, thread: i32) -> Memory<'_> {
        if self.thread != thread {
            *self = Self { thread, ..Self::default() };
        }
        self.calls = self.calls.saturating_add(1);
        if self.calls == 3 {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            self.memory = rustix::fs::open(format!("/proc/{thread}/mem"), flags, Mode::empty()).ok();
        }
        Memory::open(thread, self.memory.as_ref().map(AsFd::as_fd))
    }

    /// It may have another memory from now on.
    pub(super) fn executes(&mut self) {
        self.memory = None;
        self.calls = 0;
    }

    /// What relative names of `thread` begin at that are given with `fd`.
    pub(super) fn start(&mut self, thread: i32, fd: i32) -> Result<Start> {
        if self.thread == thread
            && self.asked.0 == fd
            && let Some(known) = self.known.take()
            && known.is_same()
        {
            return Ok(self.known.insert(known).start);
        }
        let start = self.look(thread, fd)?;
        self.asked = if self.asked.0 == fd { (fd, self.asked.1 + 1) } else { (fd, 1) };
        self.known = None;
        if fd >= 0 && self.asked.1 >= OFTEN {
            self.known = Known::new(self, thread, fd, start);
            self.asked.1 = 0;
        }
        Ok(start)
    }

    fn look(&mut self, thread: i32, fd: i32) -> Result<Start> {
        let found = self.ask(thread, fd, |at, name| rustix::fs::statx(at, name, AtFlags::empty(), WANTED))?;
        Ok((found.stx_dev_major, found.stx_dev_minor, found.stx_ino, found.stx_mnt_id))
    }

    /// Asks for what `fd` of `thread` is, `AT_FDCWD` for its working directory: `ask` gets the name of a link to it.
    pub(super) fn ask<T>(
        &mut self,
        thread: i32,
        fd: i32,
        ask: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T>,
    ) -> Result<T> {
        if self.thread != thread {
            *self = Self { thread, ..Self::default() };
        } else if self.calls >= 2 && self.descriptors.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.descriptors = rustix::fs::open(format!("/proc/{thread}/fd"), flags, Mode::empty()).ok();
        }
        if let Some(descriptors) = &self.descriptors {
            let answer = match fd {
                libc::AT_FDCWD => ask(descriptors.as_fd(), c"../cwd"),
                _ => ask(descriptors.as_fd(), DecInt::new(fd).as_c_str()),
            };
            if answer.is_ok() {
                return answer;
            }
            self.descriptors = None;
        }
        let name = match fd {
            libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
            _ => format!("/proc/{thread}/fd/{fd}"),
        };
        ask(CWD, &CString::new(name).map_err(|_| Errno::INVAL)?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_number_that_is_given_again_is_another_directory() {
        let mine = rustix::process::getpid().as_raw_pid();
        // A file system of which the text is taken, where there is one.
        let shared = std::path::Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let place = base.join(format!("swbox-caller-{mine}"));
        let open = |name: &str| {
            std::fs::create_dir_all(place.join(name)).unwrap();
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(place.join(name), flags, Mode::empty()).unwrap()
        };
        let (mut held, one, two) = (open("one"), open("one"), open("two"));
        let mut caller = Caller::default();
        let mut start = |fd: &OwnedFd| {
            caller.calls(mine);
            let found = caller.start(mine, fd.as_raw_fd()).unwrap();
            (found, caller.known.is_some())
        };
        let (first, _) = start(&held);
        for _ in 0..OFTEN {
            assert_eq!(start(&held).0, first);
        }
        assert_eq!(start(&held).1, shared.is_dir());
        let (second, known) = start(&two);
        assert!(first != second && !known);
        // The same number, of another directory each time, after many calls or few.
        for (times, other, what) in [(1, &two, second), (3 * OFTEN, &one, first), (2 * OFTEN, &two, second)] {
            rustix::io::dup2(other, &mut held).unwrap();
            for _ in 0..times {
                assert_eq!(start(&held).0, what);
            }
        }
        drop(held);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
