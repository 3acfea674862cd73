//! Opening a regular file and nothing else.
//!
//! Danger: an agent may have put a pipe in a file's place, which waits for a writer, or a link to a device, of which the
//! opening alone does something.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};

/// The file at `path`, through links; `None` where it is no regular one, which is then not opened.
///
/// # Errors
/// What is in the way.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    File::open(format!("/proc/self/fd/{}", handle.as_raw_fd())).map(Some)
}
