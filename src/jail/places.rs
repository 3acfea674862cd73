//! What is at many places of the host, asked directory by directory: most of them do not exist, and walking to each from
//! the root is the larger part of finding that out.
//!
//! Danger: a place that is taken for absent is not hidden. Only what the kernel says counts; a directory that cannot be
//! opened has nothing that could be named below it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The directories that were asked about so far.
#[derive(Debug, Default)]
pub struct Places {
    opened: Vec<(Vec<u8>, rustix::io::Result<OwnedFd>)>,
}

impl Places {
    /// What the name at the absolute `path` is; a link is a link.
    ///
    /// # Errors
    /// What `lstat` would say.
    pub fn kind(&mut self, path: &Path) -> rustix::io::Result<FileType> {
        let bytes = path.as_os_str().as_bytes();
        let (directory, name) = match bytes.iter().rposition(|byte| *byte == b'/') {
            Some(0) => (&b"/"[..], bytes.get(1..).unwrap_or_default()),
            Some(slash) => bytes.split_at_checked(slash).ok_or(Errno::INVAL)?,
            None => return Err(Errno::INVAL),
        };
        let name = match name.strip_prefix(b"/").unwrap_or(name) {
            b"" => &b"."[..],
            name => name,
        };
        let stat = rustix::fs::statat(
            self.directory(directory)?,
            OsStr::from_bytes(name),
            AtFlags::SYMLINK_NOFOLLOW,
        )?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    fn directory(&mut self, directory: &[u8]) -> rustix::io::Result<&OwnedFd> {
        let known = self.opened.iter().position(|(path, _)| path == directory);
        let at = known.unwrap_or_else(|| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(CWD, OsStr::from_bytes(directory), flags, Mode::empty());
            self.opened.push((directory.to_vec(), opened));
            self.opened.len() - 1
        });
        match self.opened.get(at) {
            Some((_, Ok(opened))) => Ok(opened),
            Some((_, Err(error))) => Err(*error),
            None => Err(Errno::INVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_says_what_lstat_says() {
        let root = std::env::temp_dir().join(format!("swbox-places-{}", std::process::id()));
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(root.join("f"), "").unwrap();
        std::os::unix::fs::symlink("d", root.join("l")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("d/broken")).unwrap();
        let mut places = Places::default();
        for name in
            ["d", "d/e", "d/x", "f", "f/x", "l", "l/e", "l/x/y", "d/broken", "d/broken/x", "x/y", "x/z"]
        {
            let path = root.join(name);
            let expected = rustix::fs::lstat(&path).map(|stat| FileType::from_raw_mode(stat.st_mode));
            assert_eq!(places.kind(&path), expected, "{name}");
        }
        assert_eq!(places.kind(Path::new("/")), Ok(FileType::Directory));
        assert_eq!(places.kind(Path::new("/proc")), Ok(FileType::Directory));
        assert_eq!(places.kind(Path::new("proc")), Err(Errno::INVAL));
        fs::remove_dir_all(root).unwrap();
    }
}
