//! What the kernel will answer to a call because of the jail: its mounts and its Landlock domain, in the order in which
//! the kernel asks.
//!
//! Only what the jail is to blame for is predicted. Where ordinary permissions decide nothing is said here: whoever makes
//! a denial of the errno looks at them first, and a file that was not changed after all was not touched.
//!
//! Danger: nothing depends on a prediction but what is told.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};

use super::find::{Directory, Finder, Spot};
use crate::jail::{Access, LandlockPlan};
use crate::supervisor::call::{Opening, Removal, Renaming};

/// The Landlock domain of the command.
#[derive(Debug, Default)]
pub(super) struct Domain {
    handled: Access,
    /// As the plan names them.
    grants: Vec<(PathBuf, Access)>,
    /// Whether links in them were followed.
    followed: bool,
    /// The inodes of standard streams, which may be opened again.
    streams: Vec<(u64, u64)>,
}

impl Domain {
    pub(super) fn new(plan: &LandlockPlan) -> Self {
        let grants = plan.grants.iter().map(|grant| (grant.path.clone(), grant.access)).collect();
        let numbers = |stat: Stat| (stat.st_dev, stat.st_ino);
        let streams = if plan.stdio { streams().map(numbers).collect() } else { Vec::new() };
        Self { handled: plan.handled, grants, followed: false, streams }
    }

    /// Whether some of `needs` is refused beneath `path`. `root` is the command's.
    pub(super) fn lacks(&mut self, root: Option<&OwnedFd>, path: &Path, needs: Access) -> bool {
        let needs = needs.and(self.handled);
        if needs.is_empty() || self.given(path).contains(needs) {
            return false;
        }
        if !std::mem::replace(&mut self.followed, true)
            && let Some(root) = root
        {
            for (named, _) in &mut self.grants {
                if let Some(real) = real(root, named) {
                    *named = real;
                }
            }
        }
        !self.given(path).contains(needs)
    }

    fn given(&self, path: &Path) -> Access {
        let around = self.grants.iter().filter(|(above, _)| path.starts_with(above));
        around.fold(Access::NONE, |all, (_, access)| all.with(*access))
    }

    /// Whether `directory` alone gives `needs`; what is below it then has them too.
    pub(super) fn gives(&self, directory: &Directory, needs: Access) -> bool {
        let given = directory.given.get_or_init(|| self.given(&directory.path));
        given.contains(needs.and(self.handled))
    }

    fn is_stream(&self, spot: &Spot) -> bool {
        let Some(state) = spot.state else { return false };
        let device = rustix::fs::makedev(state.inode.0, state.inode.1);
        self.streams.contains(&(device, state.inode.2))
    }
}

/// What the standard streams of this process are, which are the command's.
pub(super) fn streams() -> impl Iterator<Item = Stat> {
    use std::os::fd::AsFd;
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    [input.as_fd(), output.as_fd(), error.as_fd()].map(rustix::fs::fstat).into_iter().flatten()
}

/// The names of the standard streams that are files.
pub(super) fn named_streams() -> impl Iterator<Item = PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let names = [c"/proc/self/fd/0", c"/proc/self/fd/1", c"/proc/self/fd/2"];
    let files = names.into_iter().filter(|name| {
        let kind = rustix::fs::stat(*name).map(|stat| FileType::from_raw_mode(stat.st_mode));
        kind == Ok(FileType::RegularFile)
    });
    let names = files.flat_map(|name| rustix::fs::readlink(name, Vec::new()));
    names.map(|name| PathBuf::from(std::ffi::OsString::from_vec(name.into_bytes())))
}

/// Where the name of a grant leads in the command's root.
fn real(root: &OwnedFd, path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()?;
    let text = rustix::fs::readlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), Vec::new()).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes())))
}

/// What predictions are made with.
pub(super) struct Predictor<'a> {
    pub(super) finder: &'a mut Finder,
    pub(super) domain: &'a mut Domain,
    pub(super) thread: i32,
}

impl Predictor<'_> {
    /// Whether some of `needs` is refused for what is at `spot`.
    fn lacks(&mut self, spot: &Spot, needs: Access) -> bool {
        if self.domain.gives(&spot.directory, needs) {
            return false;
        }
        let root = self.finder.root(self.thread);
        self.domain.lacks(root, &spot.path(), needs)
    }

    /// Whether some of `needs` is refused for the directory that `spot` is in.
    fn lacks_around(&mut self, spot: &Spot, needs: Access) -> bool {
        if self.domain.gives(&spot.directory, needs) {
            return false;
        }
        let root = self.finder.root(self.thread);
        self.domain.lacks(root, &spot.directory.path, needs)
    }

    fn kind(spot: &Spot) -> Option<FileType> {
        spot.state.map(|state| state.kind())
    }

    /// open(2) and its like.
    pub(super) fn open(&mut self, how: &Opening, spot: &Spot) -> Option<i32> {
        let Some(kind) = Self::kind(spot) else {
            if !how.create {
                return Some(libc::ENOENT);
            }
            return self.make(spot);
        };
        if how.directory && kind != FileType::Directory {
            return None;
        }
        if how.nameless {
            if self.finder.mount_of(spot).read_only {
                return Some(libc::EROFS);
            }
            return self.lacks(spot, Access::WRITE_FILE).then_some(libc::EACCES);
        }
        if how.create && how.exclusive || kind == FileType::Symlink {
            return None;
        }
        let mut needs = Access::NONE;
        if how.write {
            match kind {
                FileType::Directory => return None,
                FileType::RegularFile if self.finder.mount_of(spot).read_only => return Some(libc::EROFS),
                _ => needs = needs.with(Access::WRITE_FILE),
            }
        }
        if how.read {
            needs = needs.with(match kind {
                FileType::Directory => Access::READ_DIR,
                _ => Access::READ_FILE,
            });
        }
        (self.lacks(spot, needs) && !self.domain.is_stream(spot)).then_some(libc::EACCES)
    }

    /// truncate(2).
    pub(super) fn truncate(&mut self, spot: &Spot) -> Option<i32> {
        match Self::kind(spot) {
            None => Some(libc::ENOENT),
            Some(FileType::RegularFile) if self.finder.mount_of(spot).read_only => Some(libc::EROFS),
            Some(FileType::RegularFile) => self.lacks(spot, Access::WRITE_FILE).then_some(libc::EACCES),
            Some(_) => None,
        }
    }

    /// A new name.
    pub(super) fn make(&mut self, spot: &Spot) -> Option<i32> {
        if spot.state.is_some() || spot.name.is_empty() {
            return None;
        }
        if spot.directory.mount.read_only {
            return Some(libc::EROFS);
        }
        self.lacks_around(spot, Access::MAKE).then_some(libc::EACCES)
    }

    /// unlink(2) and rmdir(2).
    pub(super) fn remove(&mut self, spot: &Spot, how: Removal) -> Option<i32> {
        if spot.name.is_empty() {
            return None;
        }
        if spot.directory.mount.read_only {
            return Some(libc::EROFS);
        }
        let Some(state) = spot.state else { return Some(libc::ENOENT) };
        if self.lacks_around(spot, Access::REMOVE) {
            return Some(libc::EACCES);
        }
        let fits = (state.kind() == FileType::Directory) == (how == Removal::Directory);
        (state.mount_root && fits).then_some(libc::EBUSY)
    }

    /// rename(2).
    pub(super) fn rename(&mut self, from: &Spot, to: &Spot, how: Renaming) -> Option<i32> {
        if from.directory.mount.id != to.directory.mount.id {
            return Some(libc::EXDEV);
        }
        if from.name.is_empty() || to.name.is_empty() {
            return None;
        }
        if from.directory.mount.read_only {
            return Some(libc::EROFS);
        }
        let state = match (from.state, to.state, how) {
            (None, _, _) | (_, None, Renaming::Exchange) => return Some(libc::ENOENT),
            (_, Some(_), Renaming::New) => return None,
            (Some(state), _, _) => state,
        };
        let exchange = how == Renaming::Exchange;
        let mut at_old = Access::REMOVE;
        let mut at_new = Access::MAKE;
        if from.directory.path != to.directory.path {
            at_old = at_old.with(Access::REFER);
            at_new = at_new.with(Access::REFER);
        }
        if exchange {
            at_old = at_old.with(Access::MAKE);
        }
        if to.state.is_some() {
            at_new = at_new.with(Access::REMOVE);
        }
        if self.lacks_around(from, at_old) || self.lacks_around(to, at_new) {
            return Some(libc::EACCES);
        }
        let pinned = state.mount_root || to.state.is_some_and(|state| state.mount_root);
        pinned.then_some(libc::EBUSY)
    }

    /// link(2).
    pub(super) fn link(&mut self, from: &Spot, to: &Spot) -> Option<i32> {
        if from.state.is_none() {
            return Some(libc::ENOENT);
        }
        if to.state.is_some() {
            return None;
        }
        if to.directory.mount.read_only {
            return Some(libc::EROFS);
        }
        if self.finder.mount_of(from).id != to.directory.mount.id {
            return Some(libc::EXDEV);
        }
        let mut needs = Access::MAKE;
        if from.directory.path != to.directory.path {
            needs = needs.with(Access::REFER);
            if self.lacks_around(from, Access::REFER) {
                return Some(libc::EACCES);
            }
        }
        self.lacks_around(to, needs).then_some(libc::EACCES)
    }

    /// chmod(2), chown(2), utimensat(2), setxattr(2) and their like.
    pub(super) fn metadata(&mut self, spot: &Spot) -> Option<i32> {
        if spot.state.is_none() {
            return Some(libc::ENOENT);
        }
        self.finder.mount_of(spot).read_only.then_some(libc::EROFS)
    }

    /// execve(2).
    pub(super) fn execute(&mut self, spot: &Spot) -> Option<i32> {
        if Self::kind(spot) != Some(FileType::RegularFile) {
            return None;
        }
        let refused = self.finder.mount_of(spot).no_exec || self.lacks(spot, Access::EXECUTE);
        refused.then_some(libc::EACCES)
    }
}
