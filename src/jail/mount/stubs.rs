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

use super::{PLAIN, Root, attach, below, clone_tree};
use crate::jail::plan::{JailPlan, Step, View};
use crate::jail::points::{attach_over, create};
use crate::sys::mount::{Attributes, set_attributes};

/// A secret that has to be looked for again, when all trees are in place.
pub(super) struct Later;

impl Root {
    /// Hides what the command would see at `path`, and what the host has there, where a link on the way leads to it by places that
    /// are not seen inside. In a tree that the command may change the directories around it keep their names: one that got another
    /// would show it in the next run.
    pub(super) fn secret(&mut self, plan: &JailPlan, path: &Path) -> io::Result<()> {
        let straight = self.points.straight(path).map(drop);
        let linked = !matches!(straight, Ok(()) | Err(Errno::NOENT | Errno::NOTDIR));
        let real = linked.then(|| path.canonicalize().ok()).flatten();
        for path in [Some(path), real.as_deref()].into_iter().flatten() {
            if self.points.visible(path).is_ok() {
                self.pin_around(plan, path)?;
            }
            self.cover(path)?;
        }
        Ok(())
    }

    /// Hides what the command would see at `path`.
    pub(super) fn cover(&mut self, path: &Path) -> io::Result<()> {
        match self.points.visible(path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(()),
            target => self.hide(target?),
        }
    }

    /// Pins the directories between `path` and the writable tree that it lies in: each is a mount of itself, with all that lies
    /// over what is in it.
    fn pin_around(&mut self, plan: &JailPlan, path: &Path) -> io::Result<()> {
        let writable = |step: &Step| match step {
            Step::Workspace { view: View::Writable } => Some(plan.workspace.clone()),
            Step::Bind { path, writable: true, .. } => Some(path.clone()),
            _ => None,
        };
        let trees = plan.steps.iter().filter_map(writable).filter(|tree| below(path, tree));
        let Some(tree) = trees.max_by_key(|tree| tree.as_os_str().len()) else { return Ok(()) };
        let mut between: Vec<&Path> =
            path.ancestors().skip(1).take_while(|around| below(around, &tree)).collect();
        between.reverse();
        for around in between {
            if !self.pinned.insert(around.to_owned()) {
                continue;
            }
            let target = match self.points.straight(around) {
                // The directories of its real name are pinned.
                Err(Errno::LOOP) => return Ok(()),
                target => target?,
            };
            let tree = clone_tree(&target, "", true)?;
            attach_over(&tree, &target)?;
            self.points.put_aside(tree);
            self.points.put_aside(target);
        }
        Ok(())
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
    fn secret_of_proc(&mut self, name: &Path) -> io::Result<()> {
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
