//! Looking through a whole tree for what git would take for a repository, when nothing of the command is alive.
//!
//! Only after commands that may write, never on the way to a launch. Directories are opened by descriptor from their
//! parent and no link is followed, so that a tree that changes meanwhile leads nowhere else.
//!
//! Danger: a directory that is left out here is a place where a planted repository stays unseen; what could not be
//! looked into is an answer of its own.

use std::ffi::{CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::Moment;

/// Directories deeper than this are not looked into.
const DEPTH: usize = 200;

/// How many names are looked at.
const NAMES: usize = 4_000_000;

/// Why what lies there was not looked into.
const TOO_DEEP: &str = "it lies more than 200 directories deep";
const TOO_MANY: &str = "the workspace has more than 4000000 names";

/// How many sockets are noted.
const SOCKETS: usize = 1000;

/// Names that git finds in a directory that it takes for a repository.
const PARTS: [&[u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Directories with an entry `.git`.
    pub(super) places: Vec<PathBuf>,
    /// Directories that have the parts of a repository themselves.
    pub(super) bare: Vec<PathBuf>,
    /// Unix sockets.
    pub(super) sockets: Vec<PathBuf>,
    /// The first directory that was not looked into, and why.
    pub(super) unseen: Option<(PathBuf, &'static str)>,
}

/// Looks through `root` without what lies in `skip`, after a run that began at `since`.
pub(super) fn repositories(root: &Path, since: Moment, skip: &dyn Fn(&Path) -> bool) -> Found {
    let mut walk = Walk {
        skip,
        since,
        path: root.to_owned(),
        names: 0,
        buffer: vec![MaybeUninit::uninit(); 64 * 1024],
        found: Found::default(),
    };
    match open(CWD, root.as_os_str()) {
        Ok(directory) => walk.directory(&directory, 0),
        Err(Errno::ACCESS) => match CString::new(root.as_os_str().as_bytes()) {
            Ok(name) => walk.closed(CWD, &name, 0),
            Err(_) => walk.unseen("it cannot be opened"),
        },
        Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => walk.unseen("it cannot be opened"),
        Err(_) => {}
    }
    walk.found
}

struct Walk<'a> {
    skip: &'a dyn Fn(&Path) -> bool,
    since: Moment,
    /// Where the walk is.
    path: PathBuf,
    names: usize,
    buffer: Vec<MaybeUninit<u8>>,
    found: Found,
}

impl Walk<'_> {
    fn unseen(&mut self, why: &'static str) {
        let path = &self.path;
        self.found.unseen.get_or_insert_with(|| (path.clone(), why));
    }

    fn directory(&mut self, directory: &OwnedFd, depth: usize) {
        let mut below: Vec<CString> = Vec::new();
        let mut git = false;
        let mut parts = [false; PARTS.len()];
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                self.unseen("it cannot be listed");
                break;
            };
            let name = entry.file_name();
            let bytes = name.to_bytes();
            self.names += 1;
            // Also `.GIT`: there are file systems for which it is the same name.
            git |= bytes.len() == 4 && bytes.eq_ignore_ascii_case(b".git");
            if let Some(part) = PARTS.iter().position(|part| bytes.eq_ignore_ascii_case(part)) {
                parts[part] = true;
            }
            match entry.file_type() {
                FileType::Directory if bytes != b"." && bytes != b".." => below.push(name.to_owned()),
                FileType::Socket if self.found.sockets.len() < SOCKETS => {
                    self.found.sockets.push(self.path.join(OsStr::from_bytes(bytes)));
                }
                FileType::Unknown if is_directory(directory, name) => below.push(name.to_owned()),
                _ => {}
            }
        }
        self.buffer = buffer;
        if git {
            self.found.places.push(self.path.clone());
        }
        let [head, objects, refs, common] = parts;
        if head && ((objects && refs) || common) {
            self.found.bare.push(self.path.clone());
        }
        for name in below {
            self.path.push(OsStr::from_bytes(name.to_bytes()));
            if self.names > NAMES || depth >= DEPTH {
                self.unseen(if depth >= DEPTH { TOO_DEEP } else { TOO_MANY });
            } else if !(self.skip)(&self.path) {
                self.enter(directory, &name, depth);
            }
            self.path.pop();
        }
    }

    fn enter(&mut self, parent: &OwnedFd, name: &CString, depth: usize) {
        match open(parent, name.as_c_str()) {
            Ok(directory) => self.directory(&directory, depth + 1),
            Err(Errno::ACCESS) => self.closed(parent, name, depth + 1),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => self.unseen("it cannot be opened"),
            // It went away or became something else, by whoever is alive; or its file system does not answer anybody.
            Err(_) => {}
        }
    }

    /// A directory that must not be listed.
    fn closed(&mut self, parent: impl AsFd, name: &CString, depth: usize) {
        match unlocked(&parent, name) {
            Some((directory, own, mode)) => {
                self.directory(&directory, depth);
                // The command wanted it so; that it was looked into must not show.
                let _ = rustix::fs::chmod(own.as_str(), mode);
            }
            None if out_of_reach(&parent, name, self.since) => {}
            None => self.unseen("it cannot be opened"),
        }
    }
}

fn open(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn is_directory(parent: &OwnedFd, name: &std::ffi::CStr) -> bool {
    !matches!(name.to_bytes(), b"." | b"..")
        && rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// A directory without its read right hides what is in it from a walk and not from git: opens it with the right added;
/// gives also a name that leads to nothing else, and the mode it had.
fn unlocked(parent: impl AsFd, name: &CString) -> Option<(OwnedFd, String, Mode)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(parent, name.as_c_str(), flags, Mode::empty()).ok()?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle).ok()?.st_mode & 0o7777);
    rustix::fs::chmod(descriptor(&handle).as_str(), mode | Mode::RWXU).ok()?;
    let directory = open(&handle, c".");
    let Ok(directory) = directory else {
        let _ = rustix::fs::chmod(descriptor(&handle).as_str(), mode);
        return None;
    };
    let own = descriptor(&directory);
    Some((directory, own, mode))
}

/// Whether a directory that cannot be opened was as closed to the command: it belongs to somebody else, or is closed since
/// before the run.
fn out_of_reach(parent: impl AsFd, name: &CString, since: Moment) -> bool {
    rustix::fs::statat(parent, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        let changed = i64::try_from(found.st_ctime_nsec).unwrap_or_default();
        found.st_uid != rustix::process::geteuid().as_raw() || !since.is_at_most(found.st_ctime, changed)
    })
}

/// A path to what a descriptor refers to, for calls that take no descriptor of that kind.
pub(super) fn descriptor(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("swbox-walk-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&root).unwrap();
            Self(root)
        }

        fn with(self, directories: &[&str], files: &[&str]) -> Self {
            for directory in directories {
                std::fs::create_dir_all(self.0.join(directory)).unwrap();
            }
            for file in files {
                std::fs::write(self.0.join(file), "").unwrap();
            }
            self
        }

        fn found(&self, paths: &[PathBuf]) -> Vec<String> {
            let mut names: Vec<_> =
                paths.iter().map(|path| path.strip_prefix(&self.0).unwrap().display().to_string()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn repositories_are_found_at_any_depth_and_in_every_shape() {
        let tree = Tree::new("shapes").with(
            &["a/b/c/.git", "bare/objects", "bare/refs", "half/objects", "k/held/.git", "up/.GIT", "plain"],
            &["file", "bare/HEAD", "half/HEAD", "plain/.git"],
        );
        let tree = tree.with(&["redirected"], &["redirected/HEAD", "redirected/commondir"]);
        std::os::unix::fs::symlink("/", tree.0.join("link")).unwrap();
        let held = tree.0.join("k/held");
        let found = repositories(&tree.0, Moment::default(), &|path| path == held);
        assert_eq!(tree.found(&found.places), ["a/b/c", "plain", "up"]);
        assert_eq!(tree.found(&found.bare), ["bare", "redirected"]);
        assert_eq!(found.unseen, None);
    }

    #[test]
    fn a_directory_without_its_read_right_is_looked_into_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let tree = Tree::new("locked").with(&["closed/r/.git"], &[]);
        let closed = tree.0.join("closed");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o311)).unwrap();
        let found = repositories(&tree.0, Moment::default(), &|_| false);
        let mode = std::fs::metadata(&closed).unwrap().permissions().mode() & 0o7777;
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(tree.found(&found.places), ["closed/r"]);
        assert_eq!(mode, 0o311);
    }

    #[test]
    fn what_lies_too_deep_is_said() {
        let tree = Tree::new("deep");
        std::fs::create_dir_all(tree.0.join("d/".repeat(DEPTH + 2))).unwrap();
        let found = repositories(&tree.0, Moment::default(), &|_| false);
        assert!(matches!(found.unseen, Some((_, TOO_DEEP))), "{:?}", found.unseen);
    }

    #[test]
    fn a_root_that_is_absent_has_nothing() {
        assert_eq!(
            repositories(Path::new("/nonexistent/swbox"), Moment::default(), &|_| false),
            Found::default()
        );
    }
}
