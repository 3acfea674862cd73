//! Names in the root under construction: directories, links and mount points.
//!
//! What lies on the scratch tmpfs was made here and holds no surprise: it is reached by plain paths. What lies below a
//! tree of the host is resolved with the new root as `/`, so that no link of such a tree leads a mount or a made name
//! out of it.
//!
//! Danger: a path that is taken for plain and is not would be resolved in the old root.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, move_mount};

/// So many descriptors that are dealt with are kept open.
const USED: usize = 64;

/// So many more a process must be allowed to have, or none is kept open.
const FREE: u64 = 192;

/// What a mount point has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// The names of a root.
#[derive(Debug)]
pub(super) struct Points {
    root: OwnedFd,
    /// Directories of the scratch that were made here and have nothing mounted over them.
    plain: BTreeSet<Vec<u8>>,
    /// Trees and targets that were dealt with.
    used: Vec<OwnedFd>,
}

impl Points {
    /// Of the empty directory `root`.
    pub(super) fn new(root: OwnedFd) -> Self {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let used = if allowed.is_none_or(|allowed| allowed >= FREE) { USED } else { 0 };
        Self { root, plain: BTreeSet::from([b"/".to_vec()]), used: Vec::with_capacity(used) }
    }

    /// Takes a descriptor that is dealt with. Closing a tree takes the kernel half as long as attaching it: that is done when
    /// the command runs.
    pub(super) fn put_aside(&mut self, descriptor: OwnedFd) {
        if self.used.len() < self.used.capacity().min(USED) {
            self.used.push(descriptor);
        }
    }

    /// The root.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Opens what the command would see at `path`.
    pub(super) fn visible(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.open(path, OFlags::empty(), ResolveFlags::NO_MAGICLINKS)
    }

    /// As [`Self::visible`], where no link is on the way: else `LOOP`.
    pub(super) fn straight(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.open(path, OFlags::empty(), ResolveFlags::NO_SYMLINKS)
    }

    /// Opens what is at `path` itself, which may be a link.
    pub(super) fn own(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.open(path, OFlags::NOFOLLOW, ResolveFlags::NO_MAGICLINKS)
    }

    fn open(&self, path: &Path, flags: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat2(&self.root, inside(path), flags, Mode::empty(), resolve | ResolveFlags::IN_ROOT)
    }

    /// Makes `path` with its parents on the scratch; whether it is a plain directory there.
    fn plain(&mut self, path: &Path, mode: Mode) -> rustix::io::Result<bool> {
        if self.plain.contains(bytes(path)) {
            return Ok(true);
        }
        let Some(parent) = above(path) else { return Ok(false) };
        if !self.plain(parent, Mode::from_raw_mode(0o755))? {
            return Ok(false);
        }
        match rustix::fs::mkdirat(&self.root, inside(path), mode) {
            Ok(()) => {
                self.plain.insert(bytes(path).to_vec());
                Ok(true)
            }
            // A link or a mount point that was put there.
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a private directory; `false` where something of the host is there already.
    pub(super) fn directory(&mut self, path: &Path, mode: u32) -> io::Result<bool> {
        let known = self.plain.contains(bytes(path));
        if !self.plain(path, Mode::from_raw_mode(mode))? {
            return Ok(false);
        }
        if known {
            // It was made as a parent before.
            rustix::fs::chmodat(
                &self.root,
                inside(path),
                Mode::from_raw_mode(mode),
                rustix::fs::AtFlags::empty(),
            )?;
        }
        Ok(true)
    }

    /// Makes a symbolic link; the host's own, seen through a tree, is left.
    pub(super) fn link(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (above(path), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let made = if self.plain(parent, Mode::from_raw_mode(0o755))? {
            rustix::fs::symlinkat(target, &self.root, inside(path))
        } else {
            rustix::fs::symlinkat(target, &self.parent(parent)?, name)
        };
        match made {
            Ok(()) | Err(Errno::EXIST | Errno::ROFS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a symbolic link where nothing is, on the scratch alone: never in a tree of the host.
    pub(super) fn alias(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let parent = above(path).ok_or(Errno::INVAL)?;
        if !self.plain(parent, Mode::from_raw_mode(0o755))? {
            return Ok(());
        }
        match rustix::fs::symlinkat(target, &self.root, inside(path)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file with these bytes; `false` where something is there already.
    pub(super) fn file(&mut self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let (Some(parent), Some(name)) = (above(path), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let file = if self.plain(parent, Mode::from_raw_mode(0o755))? {
            create(&self.root, inside(path).as_os_str(), 0o644)
        } else {
            match self.visible(path) {
                Err(Errno::NOENT) => create(&self.parent(parent)?, name, 0o644),
                Ok(_) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        };
        match file {
            Ok(file) => write_all(&file, bytes).map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Self::attach`], of a tree that is for nothing else.
    pub(super) fn lay(&mut self, tree: OwnedFd, path: &Path, kind: Kind) -> io::Result<()> {
        self.attach(&tree, path, kind)?;
        self.put_aside(tree);
        Ok(())
    }

    /// Attaches a detached tree at `path`, which is made with its parents where it does not exist.
    pub(super) fn attach(&mut self, tree: &OwnedFd, path: &Path, kind: Kind) -> io::Result<()> {
        let parent = above(path).ok_or(Errno::INVAL)?;
        if self.plain(parent, Mode::from_raw_mode(0o755))? {
            let fresh = match kind {
                Kind::Directory => rustix::fs::mkdirat(&self.root, inside(path), Mode::from_raw_mode(0o755)),
                Kind::File => rustix::fs::mknodat(
                    &self.root,
                    inside(path),
                    FileType::RegularFile,
                    Mode::from_raw_mode(0o444),
                    0,
                ),
            };
            match fresh {
                Err(Errno::EXIST) if !self.plain.contains(bytes(path)) => {}
                Ok(()) | Err(Errno::EXIST) => {
                    self.forget(path);
                    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
                    return Ok(move_mount(tree, "", &self.root, inside(path), flags)?);
                }
                Err(error) => return Err(error.into()),
            }
        }
        attach_over(tree, &self.point(path, kind)?)
    }

    /// Something lies over `path` from now on.
    fn forget(&mut self, path: &Path) {
        let path = bytes(path);
        self.plain.retain(|made| {
            made.strip_prefix(path).is_none_or(|rest| !(rest.is_empty() || rest.starts_with(b"/")))
        });
    }

    /// The directory `path`, made with its parents where it does not exist.
    fn parent(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.point(path, Kind::Directory)
    }

    /// The mount point `path` below a tree of the host, made with its parents where it does not exist.
    fn point(&self, path: &Path, kind: Kind) -> rustix::io::Result<OwnedFd> {
        match self.visible(path) {
            Err(Errno::NOENT) => {}
            found => return found,
        }
        let (Some(parent), Some(name)) = (above(path), path.file_name()) else { return Err(Errno::INVAL) };
        let parent = self.parent(parent)?;
        match kind {
            Kind::Directory => rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?,
            Kind::File => drop(create(&parent, name, 0o444)?),
        }
        rustix::fs::openat(&parent, name, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
    }
}

/// The parent of a path, by its bytes where it is plain: what the library does for every other path was a twentieth of
/// what the first process computes.
fn above(path: &Path) -> Option<&Path> {
    let all = bytes(path);
    if all.ends_with(b"/") || all.windows(2).any(|two| matches!(two, b"//" | b"/.")) {
        return path.parent();
    }
    match all.iter().rposition(|byte| *byte == b'/')? {
        0 => Some(Path::new("/")),
        slash => all.get(..slash).map(|above| Path::new(OsStr::from_bytes(above))),
    }
}

/// Paths are compared as bytes: component by component costs more than the system calls.
fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// `path` relative to the root descriptor.
fn inside(path: &Path) -> &Path {
    match bytes(path).strip_prefix(b"/") {
        Some([]) | None => Path::new("."),
        Some(relative) => Path::new(OsStr::from_bytes(relative)),
    }
}

/// Attaches `tree` over what `target` refers to.
pub(super) fn attach_over(tree: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", target, "", flags)?)
}

/// Creates a file that does not exist yet.
pub(super) fn create(parent: &OwnedFd, name: &OsStr, mode: u32) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(mode))
}

/// Writes all of `bytes`.
pub(super) fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))?;
        bytes = bytes.get(count..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_the_librarys() {
        for path in [
            "/", "/a", "/a/b", "/a/b/c.d", "//a", "/a/", "/a//b", "/a/./b", "/a/.b", "/.a", "/a/..", "a",
            "a/b", "",
        ] {
            let expected = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
            assert_eq!(above(Path::new(path)), expected, "{path}");
        }
    }
}
