//! What is at many places of the host, asked directory by directory: most of them do not exist, and a directory that is
//! asked about often may be read once instead.
//!
//! Danger: a secret that is taken for absent is not hidden. A listing does not show what only a look-up finds (names in
//! another case, unmounted automounts), so it is for places whose absence shows less, and secrets are asked for by name.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

/// After this many questions a directory is read: as much work as answering a few of them.
const PATIENCE: usize = 4;

/// How much of a listing is read; larger directories are asked name by name.
const LISTING: usize = 16 * 1024;

/// The directories that were asked about so far.
#[derive(Debug)]
pub struct Places {
    patience: usize,
    directories: Vec<Directory>,
}

/// One of them.
#[derive(Debug)]
struct Directory {
    path: Vec<u8>,
    opened: rustix::io::Result<OwnedFd>,
    /// Whether its path holds a link, or may.
    linked: bool,
    asked: usize,
    listing: Option<BTreeMap<Vec<u8>, FileType>>,
}

impl Places {
    /// Each name is asked for.
    pub const fn by_name() -> Self {
        Self { patience: usize::MAX, directories: Vec::new() }
    }

    /// Directories may be read instead.
    pub const fn by_listing() -> Self {
        Self { patience: PATIENCE, directories: Vec::new() }
    }

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
        match name.strip_prefix(b"/").unwrap_or(name) {
            // No name of a listing.
            b"" | b"." | b".." => {
                Ok(FileType::from_raw_mode(rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
            }
            name => {
                let patience = self.patience;
                self.directory(directory).kind(name, patience)
            }
        }
    }

    /// Whether a link is among the directories above the absolute `path`, or may be.
    pub fn is_behind_links(&mut self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        self.directory(parent.as_os_str().as_bytes()).linked
    }

    fn directory(&mut self, path: &[u8]) -> &mut Directory {
        // From the end: questions about one directory come together.
        let known = self.directories.iter().rposition(|directory| directory.path == path);
        let at = known.unwrap_or(self.directories.len());
        if known.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let name = OsStr::from_bytes(path);
            let straight = rustix::fs::openat2(CWD, name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
            let linked = matches!(straight, Err(Errno::LOOP | Errno::NOSYS | Errno::PERM));
            let opened = match linked {
                true => rustix::fs::openat(CWD, name, flags, Mode::empty()),
                false => straight,
            };
            self.directories.push(Directory { path: path.to_vec(), opened, linked, asked: 0, listing: None });
        }
        &mut self.directories[at]
    }
}

impl Directory {
    fn kind(&mut self, name: &[u8], patience: usize) -> rustix::io::Result<FileType> {
        let opened = self.opened.as_ref().map_err(|error| *error)?;
        self.asked += 1;
        if self.asked == patience {
            self.listing = listing(opened);
        }
        match self.listing.as_ref().map(|listing| listing.get(name)) {
            Some(None) => Err(Errno::NOENT),
            Some(Some(kind)) if *kind != FileType::Unknown => Ok(*kind),
            Some(Some(_)) | None => {
                let stat = rustix::fs::statat(opened, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(FileType::from_raw_mode(stat.st_mode))
            }
        }
    }
}

/// All names of a directory, or nothing when it cannot be read or is too large.
fn listing(directory: &OwnedFd) -> Option<BTreeMap<Vec<u8>, FileType>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(directory, ".", flags, Mode::empty()).ok()?;
    // Not of the program's memory, of which each page costs.
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    let mut entries = RawDir::new(&readable, &mut buffer);
    let mut names = BTreeMap::new();
    let mut read = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        read += name.len() + 24;
        if read > LISTING {
            return None;
        }
        names.insert(name.to_vec(), entry.file_type());
    }
    Some(names)
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
        fs::create_dir(root.join("large")).unwrap();
        for number in 0..1000 {
            fs::write(root.join(format!("large/{number}")), "").unwrap();
        }
        for mut places in [Places::by_name(), Places::by_listing()] {
            agrees(&mut places, &root);
            let listed = places.directories.iter().filter(|directory| directory.listing.is_some()).count();
            assert_eq!(listed > 0, places.patience == PATIENCE);
        }
        fs::remove_dir_all(root).unwrap();
    }

    fn agrees(places: &mut Places, root: &Path) {
        let names =
            ["d", "d/e", "d/x", "f", "f/x", "l", "l/e", "l/x/y", "d/broken", "d/broken/x", "x/y", "x/z", "y"];
        let large = [
            "large/1",
            "large/x",
            "large/2",
            "large/y",
            "large/999",
            "large/z",
            "large/.",
            "large/..",
            "large/",
        ];
        for name in names.iter().chain(&names).chain(&large) {
            let path = root.join(name);
            let expected = rustix::fs::lstat(&path).map(|stat| FileType::from_raw_mode(stat.st_mode));
            assert_eq!(places.kind(&path), expected, "{name}");
        }
        assert_eq!(places.kind(Path::new("/")), Ok(FileType::Directory));
        assert_eq!(places.kind(Path::new("/proc")), Ok(FileType::Directory));
        assert_eq!(places.kind(Path::new("proc")), Err(Errno::INVAL));
    }
}
