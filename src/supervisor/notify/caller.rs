//! The descriptors of the thread that calls, as `/proc` has them.
//!
//! A name in `/proc` is looked up part by part, which is much of what such a look costs. So the directory of the thread
//! that called last is kept open when it calls again.
//!
//! Danger: a number is given again. The directory that is kept stays that of one process, and is empty when that is gone;
//! then the number is looked up.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::path::DecInt;

/// The thread that called last.
#[derive(Debug, Default)]
pub(super) struct Caller {
    thread: i32,
    /// Its directory of descriptors, when it has called twice in turn.
    descriptors: Option<OwnedFd>,
}

impl Caller {
    /// Asks for what `fd` of `thread` is, `AT_FDCWD` for its working directory: `ask` gets the name of a link to it.
    pub(super) fn ask<T>(
        &mut self,
        thread: i32,
        fd: i32,
        ask: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T>,
    ) -> Result<T> {
        let again = std::mem::replace(&mut self.thread, thread) == thread;
        if !again {
            self.descriptors = None;
        } else if self.descriptors.is_none() {
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
