//! Whether somebody has a file open for writing, which the kernel says by giving a lease on it or not.
//!
//! Danger: who opens the file for writing while there is a lease waits for its end, or is refused with EWOULDBLOCK where
//! it asks not to wait. It is given back at once; the kernel tells of writers in no other way.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

/// `F_SETSIG`, which the C library's list lacks.
const SET_SIGNAL: libc::c_int = 10;

/// Whether nobody has `file`, a regular file that is open for reading, open for writing, nor mapped so. `false` too where
/// the file system has no leases, or gives this process none.
pub fn nobody_writes(file: impl AsFd) -> bool {
    let raw = file.as_fd().as_raw_fd();
    // SAFETY: plain numbers for a descriptor that is open until this returns. That somebody waits for the lease is told by
    // a signal that does nothing to a process that has not asked for it.
    unsafe {
        libc::fcntl(raw, SET_SIGNAL, libc::SIGURG) == 0
            && libc::fcntl(raw, libc::F_SETLEASE, libc::F_RDLCK) == 0
            && libc::fcntl(raw, libc::F_SETLEASE, libc::F_UNLCK) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_seen_until_its_last_descriptor_is_gone() {
        let path = std::env::temp_dir().join(format!("swbox-lease-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        let read = std::fs::File::open(&path).unwrap();
        let there = nobody_writes(&read);
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        let (open, copy) = (nobody_writes(&read), writer.try_clone().unwrap());
        drop(writer);
        let copied = nobody_writes(&read);
        drop(copy);
        std::fs::remove_file(&path).unwrap();
        // Not every file system has leases; then there is always somebody.
        assert_eq!((open, copied, nobody_writes(&read)), (false, false, there));
    }
}
