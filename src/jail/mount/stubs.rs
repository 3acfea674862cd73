//! What lies over secrets: stubs, empty and closed.
//!
//! Danger: a secret that is taken for hidden and is not. What could only be looked at before all trees are there is left for when
//! they are.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, move_mount};

use super::{PLAIN, Root, attach, clone_tree};
use crate::jail::points::{attach_over, create};
use crate::sys::mount::{Attributes, set_attributes};

/// A secret that has to be looked for again, when all trees are in place.
pub(super) struct Later;

impl Root {
    /// Hides what the command would see at `path`.
    pub(super) fn secret(&mut self, path: &Path) -> io::Result<()> {
        match self.points.visible(path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(()),
            target => self.hide(target?),
        }
    }

    /// As [`Self::secret`], while trees are missing: where a link is on the way, it may lead to one of them.
    pub(super) fn secret_plainly(&mut self, path: &Path) -> io::Result<Option<Later>> {
        // A file that the kernel made, in a directory where nobody has put a link: no need to look.
        let below = path.strip_prefix("/proc").ok().filter(|below| below.components().count() == 1);
        if let Some(name) = below.filter(|_| self.proc.is_some()) {
            return self.secret_of_proc(name).map(|()| None);
        }
        match self.points.straight(path) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Ok(target) => self.hide(target).map(|()| None),
            Err(_) => Ok(Some(Later)),
        }
    }

    /// Hides a file of the fresh `/proc`.
    pub(super) fn secret_of_proc(&mut self, name: &Path) -> io::Result<()> {
        let stub = self.stub(false)?;
        let proc = self.proc.as_ref().ok_or(Errno::BADF)?;
        match move_mount(&stub, "", proc, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH) {
            Err(Errno::NOENT) => Ok(()),
            hidden => {
                self.points.put_aside(stub);
                Ok(hidden?)
            }
        }
    }

    fn hide(&mut self, target: OwnedFd) -> io::Result<()> {
        let directory = FileType::from_raw_mode(rustix::fs::fstat(&target)?.st_mode) == FileType::Directory;
        let stub = self.stub(directory)?;
        attach_over(&stub, &target)?;
        self.points.put_aside(stub);
        self.points.put_aside(target);
        Ok(())
    }

    /// A stub to lay over a secret.
    fn stub(&mut self, directory: bool) -> io::Result<OwnedFd> {
        let name = if directory { "stub-directory" } else { "stub-file" };
        let made = self.stubs.get_mut(usize::from(directory)).ok_or(Errno::INVAL)?;
        if !std::mem::replace(made, true) {
            if directory {
                rustix::fs::mkdirat(&self.scratch, name, Mode::empty())?;
            } else {
                drop(create(&self.scratch, OsStr::new(name), 0)?);
            }
            // A mount of itself, so that each copy has its attributes.
            let tree = clone_tree(&self.scratch, name, false)?;
            set_attributes(tree.as_fd(), PLAIN.with(Attributes::READ_ONLY).with(Attributes::NO_EXEC), false)?;
            attach(&tree, self.scratch.as_fd(), name)?;
        }
        Ok(clone_tree(&self.scratch, name, false)?)
    }
}
