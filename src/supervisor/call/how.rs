//! How `openat2` is told to open: a structure that the kernel checks before it looks at any name.
//!
//! Danger: what is refused there changes nothing, and is no refusal of the jail.

use rustix::fs::ResolveFlags;

/// What `openat2` has in memory: flags, mode, where the name must not lead.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) flags: u64,
    pub(super) mode: u64,
    pub(super) resolve: u64,
}

impl How {
    /// The bytes of the structure of which these are all.
    pub(super) const SIZE: u64 = 24;

    /// Flags as open(2) has them and the rest; nothing where the kernel says EINVAL before it looks at any name.
    pub(super) fn checked(self) -> Option<(i32, ResolveFlags)> {
        let all = libc::O_ACCMODE
            | libc::O_CREAT
            | libc::O_EXCL
            | libc::O_NOCTTY
            | libc::O_TRUNC
            | libc::O_APPEND
            | libc::O_NONBLOCK
            | libc::O_SYNC
            | libc::O_DSYNC
            | libc::O_ASYNC
            | libc::O_DIRECT
            | LARGE_FILE
            | libc::O_DIRECTORY
            | libc::O_NOFOLLOW
            | libc::O_NOATIME
            | libc::O_CLOEXEC
            | libc::O_PATH
            | libc::O_TMPFILE;
        let flags = i32::try_from(self.flags).ok().filter(|flags| flags & !all == 0)?;
        let resolve =
            ResolveFlags::from_bits(self.resolve & ALL_WAYS).filter(|_| self.resolve & !ALL_WAYS == 0)?;
        let both = ResolveFlags::BENEATH | ResolveFlags::IN_ROOT;
        let named_only = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let nameless = flags & libc::O_TMPFILE == libc::O_TMPFILE;
        let makes = nameless || flags & libc::O_CREAT != 0;
        let refused = resolve.contains(both)
            || self.mode & !0o7777 != 0
            || self.mode != 0 && !makes
            || flags & libc::O_PATH != 0 && flags & !named_only != 0
            || flags & TMPFILE != 0 && (!nameless || flags & libc::O_ACCMODE == libc::O_RDONLY)
            || flags & libc::O_CREAT != 0 && flags & libc::O_DIRECTORY != 0;
        (!refused).then_some((flags, resolve))
    }
}

/// The ways to resolve that the kernel knows: `RESOLVE_NO_XDEV` to `RESOLVE_CACHED`.
const ALL_WAYS: u64 = 0x3f;

/// `O_LARGEFILE`, which the C library has as nothing where it changes nothing.
const LARGE_FILE: i32 = if cfg!(target_arch = "x86_64") { 0o100_000 } else { 0o400_000 };

/// `O_TMPFILE` without `O_DIRECTORY`, which is in it.
const TMPFILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openat2_is_read_as_the_kernel_checks_it() {
        let (flags, mode) = (u64::try_from(libc::O_CREAT | libc::O_WRONLY).unwrap(), 0o644);
        let how = |flags, mode, resolve| How { flags, mode, resolve }.checked();
        let beneath = ResolveFlags::BENEATH.bits();
        assert_eq!(how(flags, mode, beneath), Some((libc::O_CREAT | libc::O_WRONLY, ResolveFlags::BENEATH)));
        let write = u64::try_from(libc::O_WRONLY).unwrap();
        assert!(how(write, 0, 0).is_some() && how(write, mode, 0).is_none(), "a mode without a new file");
        let directory = u64::try_from(libc::O_DIRECTORY).unwrap();
        for (flags, resolve) in [
            (flags, 0x8000),
            (flags, beneath | ResolveFlags::IN_ROOT.bits()),
            (flags | 1 << 40, 0),
            (flags | 1 << 30, 0),
            (flags | directory, 0),
            (flags | u64::try_from(libc::O_PATH).unwrap(), 0),
        ] {
            assert_eq!(how(flags, mode, resolve), None, "{flags:o} {resolve:x}");
        }
    }
}
