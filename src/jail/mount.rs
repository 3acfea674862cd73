//! Building the root of the command from the plan's steps, and changing to it.
//!
//! Runs in the child, inside the new user and mount namespaces. Every target is resolved with the new root as `/`, so
//! that no link of a host tree leads a mount or a created name out of it.
//!
//! Danger: a step that fails must end the launch; a step that is skipped must be one whose absence hides, not shows.

mod beginning;
mod stubs;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use super::git::{COPIES, Hold, Layout, ON_SCRATCH};
use super::graft;
use super::limits;
use super::outputs::KEPT;
use super::overlay;
use super::places::Places;
use super::plan::{JailPlan, Step, View};
use super::points::{Kind, Points, create, write_all};
use super::report::{At, SetupError, Stage};
use crate::profile::Protection;
use crate::sys::mount::{Attributes, set_attributes};

pub(super) use beginning::Beginning;

/// What every bind of a host tree loses.
pub(super) const PLAIN: Attributes = Attributes::NO_SUID.with(Attributes::NO_DEV);

/// The root under construction.
pub(super) struct Root {
    /// The scratch tmpfs as a whole; the command never sees it but through binds of its directories.
    scratch: OwnedFd,
    /// Whether the scratch is attached at one of its places, not over the old root itself.
    aside: bool,
    /// The host's places, as they are seen while the old root is there.
    host: Places,
    /// The names in the new root, which is the directory `root` of the scratch, a mount of its own.
    points: Points,
    /// The fresh `/proc`, when it is one.
    proc: Option<OwnedFd>,
    /// Directories around secrets that were pinned.
    pinned: BTreeSet<PathBuf>,
    /// Stubs for secrets that were made: for files, for directories. See [`stubs`].
    stubs: [bool; 2],
    /// Which steps of the beginning were left for when there is a plan.
    left: Vec<usize>,
    /// How many things were made on the scratch, for their names.
    made: u32,
    /// What had to be given up, and why.
    given_up: Vec<(Protection, String)>,
}

/// Begins a root.
///
/// Nothing here uses the C library: the launcher may be at work in the same memory.
pub(super) fn begin(beginning: &Beginning) -> Result<Root, SetupError> {
    let mut root = Root::new(beginning).at(Stage::Root, &"a tmpfs for the root")?;
    let steps = beginning.steps();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Bind { path, writable, exec, optional } => {
                let shown = |real: &Path| around(steps, real);
                let bound = root.bind_plainly(path, attributes(*writable, *exec), &shown);
                if skip_absent(bound, *optional).at(Stage::Bind, path)?.is_some() {
                    root.left.push(at);
                }
            }
            Step::Secret { path } => {
                // Nor where its tree is not there yet.
                let absent = root
                    .left
                    .iter()
                    .any(|left| steps.get(*left).and_then(Step::place).is_some_and(|tree| below(path, tree)));
                if absent || root.secret_plainly(path).at(Stage::Secret, path)?.is_some() {
                    root.left.push(at);
                }
            }
            step => root.perform(step)?,
        }
    }
    Ok(root)
}

/// Builds the rest of the plan's root, for [`Root::enter`]. The working directory must be the workspace.
/// `session` is the tree of the session's directories, for a command of one.
pub(super) fn build(
    mut root: Root,
    beginning: &Beginning,
    plan: &JailPlan,
    layout: &Layout,
    session: Option<&OwnedFd>,
) -> Result<Root, SetupError> {
    for step in &plan.steps {
        match beginning.standard.and_then(|standard| standard.number(step)) {
            Some(at) if !root.left.contains(&at) => {}
            _ => root.perform_of(plan, layout, step)?,
        }
    }
    root.close_proc(plan).at(Stage::Proc, &"/proc")?;
    if let Some(tree) = session {
        root.graft(plan, tree).at(Stage::Session, &"the session's directories")?;
    }
    Ok(root)
}

impl Root {
    fn new(beginning: &Beginning) -> io::Result<Self> {
        let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), "mode", "0755")?;
        if let Some(size) = beginning.scratch {
            fsconfig_set_string(context.as_fd(), "size", size.to_string())?;
        }
        fsconfig_create(context.as_fd())?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let scratch = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        // It needs a place in the old root until that is left. One that no step reads goes with the old root at once;
        // over `/` itself it has to be let go of separately.
        let aside = beginning.attach_at.iter().any(|place| attach(&scratch, CWD, place).is_ok());
        if !aside {
            attach(&scratch, CWD, "/")?;
        }
        rustix::fs::mkdirat(&scratch, "root", Mode::from_raw_mode(0o755))?;
        let root = clone_tree(&scratch, "root", false)?;
        attach(&root, scratch.as_fd(), "root")?;
        Ok(Self {
            scratch,
            aside,
            host: Places::by_listing(),
            points: Points::new(root),
            proc: None,
            pinned: BTreeSet::new(),
            stubs: [false; 2],
            left: Vec::new(),
            made: 0,
            given_up: Vec::new(),
        })
    }

    /// What had to be given up, and why.
    pub(super) fn take_given_up(&mut self) -> Vec<(Protection, String)> {
        std::mem::take(&mut self.given_up)
    }

    /// The scratch tmpfs.
    pub(super) fn scratch(&self) -> &OwnedFd {
        &self.scratch
    }

    /// Closes what it was built with, but for the scratch, which it gives.
    pub(super) fn into_scratch(self) -> OwnedFd {
        self.scratch
    }

    /// Lays the session's directories over the private ones.
    fn graft(&mut self, plan: &JailPlan, tree: &OwnedFd) -> io::Result<()> {
        // Only what is attached can be copied.
        rustix::fs::mkdirat(&self.scratch, "session", Mode::from_raw_mode(0o700))?;
        attach(tree, self.scratch.as_fd(), "session")?;
        graft::graft(plan, tree, &mut self.points)
    }

    /// The root itself, to find what is in it: until [`Self::enter`].
    pub(super) fn directory_itself(&self) -> &OwnedFd {
        self.points.root()
    }

    /// The directory that the command would see at `path`, held: until [`Self::enter`].
    pub(super) fn hold_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let found = self.points.visible(path)?;
        match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
            FileType::Directory => Ok(found),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// Makes it `/` of this process. The old root lies over it then, and perhaps on top of that the scratch that was
    /// attached to its `/`: until [`Self::leave`] no path may be looked up, not even in the new root, since each `..` that
    /// arrives at `/` crosses to what lies over it, and so does a link with one.
    pub(super) fn enter(&self) -> io::Result<()> {
        rustix::process::fchdir(self.points.root())?;
        Ok(rustix::process::pivot_root(".", ".")?)
    }

    /// Lets go of the old root. The kernel waits here for all its processors; others may set themselves up meanwhile, as far
    /// as that takes no path, and nothing of the command may run.
    ///
    /// System calls only: this memory may be in use.
    pub(super) fn leave(&self) -> io::Result<()> {
        unmount(".", UnmountFlags::DETACH)?;
        if !self.aside {
            unmount(".", UnmountFlags::DETACH)?;
        }
        rustix::process::chdir("/")?;
        // `/..` leads to whatever lies over `/`: it has to be `/` itself.
        let (root, above) = (rustix::fs::stat("/")?, rustix::fs::stat("/..")?);
        let own = rustix::fs::fstat(self.points.root())?;
        if [root, above].iter().all(|seen| (seen.st_dev, seen.st_ino) == (own.st_dev, own.st_ino)) {
            Ok(())
        } else {
            Err(Errno::XDEV.into())
        }
    }

    /// Performs a step of the plan.
    fn perform_of(&mut self, plan: &JailPlan, layout: &Layout, step: &Step) -> Result<(), SetupError> {
        match step {
            Step::Bind { path, writable, exec, optional } => {
                let bound = self.bind(plan, path, attributes(*writable, *exec));
                skip_absent(bound, *optional).at(Stage::Bind, path)
            }
            Step::Workspace { view } => self.workspace(plan, *view).at(Stage::Workspace, &plan.workspace),
            Step::Git { .. } => {
                if !layout.originals.is_empty() {
                    self.copies(layout).at(Stage::Git, &"copies of git's configuration")?;
                }
                for (path, hold) in &layout.holds {
                    let copy = layout.originals.iter().position(|original| original.path == *path);
                    match (hold, copy) {
                        (Hold::Copy, Some(number)) if self.link_to_copy(path, number) => {}
                        _ => self.hold(plan, path, *hold).at(Stage::Git, path)?,
                    }
                }
                layout.sockets.iter().try_for_each(|path| self.cover(path).at(Stage::Secret, path))
            }
            Step::Secret { path } => self.secret(plan, path).at(Stage::Secret, path),
            // The survey has put it among what the git step holds.
            Step::Protect { .. } => Ok(()),
            step => self.perform(step),
        }
    }

    /// Performs a step that depends on nothing but itself.
    fn perform(&mut self, step: &Step) -> Result<(), SetupError> {
        match step {
            Step::Dir { path, mode } => self.directory(path, *mode).at(Stage::Directory, path),
            Step::Symlink { path, target } => self.points.link(path, target).at(Stage::Directory, path),
            Step::Alias { path, target } => self.points.alias(path, target).at(Stage::Directory, path),
            Step::Device { path } => self.device(path).at(Stage::Device, path),
            Step::Proc => self.proc().at(Stage::Proc, &"/proc"),
            Step::HostProc => self.host_proc().at(Stage::Proc, &"/proc"),
            Step::Pts => self.pts().at(Stage::Device, &"/dev/pts"),
            Step::Own { path } => self.own(path).at(Stage::Bind, path),
            Step::File { path, bytes } => self.file(path, bytes).at(Stage::File, path),
            Step::Script { path, bytes, mode } => self.sealed(path, bytes, *mode).at(Stage::File, path),
            Step::Bind { .. }
            | Step::Workspace { .. }
            | Step::Git { .. }
            | Step::Protect { .. }
            | Step::Secret { .. } => Err(Errno::INVAL).at(Stage::Root, &"a step out of turn"),
        }
    }

    fn directory(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        if self.points.directory(path, mode)? {
            return Ok(());
        }
        // Something of the host is there already: the private directory goes over it.
        let name = self.fresh_name();
        rustix::fs::mkdirat(&self.scratch, &name, Mode::from_raw_mode(mode))?;
        let tree = clone_tree(&self.scratch, &name, false)?;
        self.points.attach(&tree, path, Kind::Directory)
    }

    fn bind(&mut self, plan: &JailPlan, path: &Path, attributes: Attributes) -> io::Result<()> {
        let shown = |real: &Path| around(&plan.steps, real);
        if self.bind_plainly(path, attributes, &shown)?.is_none() {
            return Ok(());
        }
        let real = path.canonicalize()?;
        if shown(&real) || self.points.visible(path).is_ok() {
            Ok(())
        } else {
            self.bind(plan, &real, attributes)
        }
    }

    /// Binds what is at the path, where that takes system calls alone; `shown` says what is seen inside anyway. Gives a
    /// link that was made and may lead to what is not seen.
    fn bind_plainly(
        &mut self,
        path: &Path,
        attributes: Attributes,
        shown: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Option<Leads>> {
        match self.host.kind(path)? {
            FileType::Symlink => {
                let text = rustix::fs::readlinkat(CWD, path, Vec::new()).map(text_path)?;
                self.points.link(path, &text)?;
                // `/bin -> usr/bin`: as it reads, unless it climbs.
                let plain =
                    text.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
                let seen = plain && path.parent().is_some_and(|parent| shown(&parent.join(&text)));
                return Ok((!seen).then_some(Leads));
            }
            FileType::Directory => {
                let tree = clone_tree(CWD, path, true)?;
                set_attributes(tree.as_fd(), attributes, true)?;
                self.points.lay(tree, path, Kind::Directory)?;
            }
            _ => {
                let tree = clone_tree(CWD, path, false)?;
                set_attributes(tree.as_fd(), attributes, false)?;
                self.points.lay(tree, path, Kind::File)?;
            }
        }
        Ok(None)
    }

    fn device(&mut self, path: &Path) -> io::Result<()> {
        let tree = match clone_tree(CWD, path, false) {
            Err(Errno::NOENT) => return Ok(()),
            tree => tree?,
        };
        let attributes = Attributes::READ_ONLY.with(Attributes::NO_SUID).with(Attributes::NO_EXEC);
        set_attributes(tree.as_fd(), attributes, false)?;
        self.points.lay(tree, path, Kind::File)
    }

    fn proc(&mut self) -> io::Result<()> {
        let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(context.as_fd())?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        self.points.attach(&tree, Path::new("/proc"), Kind::Directory)?;
        self.name_first_process(&tree)?;
        self.proc = Some(tree);
        Ok(())
    }

    /// Makes the fresh `/proc` read-only when what is written there was.
    fn close_proc(&self, plan: &JailPlan) -> io::Result<()> {
        let Some(proc) = &self.proc else { return Ok(()) };
        if let Some(processes) = plan.limits.processes {
            limits::bound_process_ids(proc, processes)?;
        }
        set_attributes(proc.as_fd(), Attributes::READ_ONLY, false)
    }

    /// The first process works in swbox's memory, arguments included, and is no copy whose arguments could be changed: a
    /// `pgrep -f PATTERN` of the command would match the very line that swbox was called with.
    fn name_first_process(&mut self, proc: &OwnedFd) -> io::Result<()> {
        let shown = self.made("swbox-init\0".as_bytes(), 0o444)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(move_mount(&shown, "", proc, "1/cmdline", flags)?)
    }

    fn host_proc(&mut self) -> io::Result<()> {
        let tree = clone_tree(CWD, "/proc", true)?;
        set_attributes(tree.as_fd(), PLAIN.with(Attributes::READ_ONLY).with(Attributes::NO_EXEC), true)?;
        self.points.attach(&tree, Path::new("/proc"), Kind::Directory)
    }

    fn pts(&mut self) -> io::Result<()> {
        let context = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), "ptmxmode", "0666")?;
        fsconfig_set_string(context.as_fd(), "mode", "0620")?;
        fsconfig_create(context.as_fd())?;
        let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
        self.points.attach(&tree, Path::new("/dev/pts"), Kind::Directory)
    }

    /// The binary of this process, by its name: the process itself holds it through a mount of the host's namespace,
    /// which cannot be bound here. Where the name leads elsewhere by now, ssh has no way to the proxy.
    fn own(&mut self, path: &Path) -> io::Result<()> {
        const SELF: &str = "/proc/self/exe";
        let tree = match clone_tree(CWD, rustix::fs::readlink(SELF, Vec::new())?, false) {
            Err(Errno::NOENT) => return Ok(()),
            tree => tree?,
        };
        let (own, named) = (rustix::fs::stat(SELF)?, rustix::fs::fstat(&tree)?);
        if (own.st_dev, own.st_ino) != (named.st_dev, named.st_ino) {
            return Ok(());
        }
        set_attributes(tree.as_fd(), PLAIN.with(Attributes::READ_ONLY), false)?;
        self.points.attach(&tree, path, Kind::File)
    }

    fn workspace(&mut self, plan: &JailPlan, view: View) -> io::Result<()> {
        if view == View::ThrowAway {
            match overlay::over_working_directory(&self.scratch, &plan.workspace) {
                Ok(layer) => {
                    self.given_up.extend(layer.lacking.map(|reason| (Protection::ThrowAway, reason)));
                    return self.points.attach(&layer.tree, &plan.workspace, Kind::Directory);
                }
                Err(reason) if plan.strict.contains(&Protection::ThrowAway) => {
                    return Err(io::Error::other(reason));
                }
                Err(reason) => self.given_up.push((Protection::ThrowAway, reason)),
            }
        }
        // By the descriptor that the launcher opened: its working directory, which clone carried into this namespace.
        let tree = clone_tree(CWD, ".", true)?;
        let attributes = match view {
            View::Writable => PLAIN,
            View::Names | View::ReadOnly | View::ThrowAway => PLAIN.with(Attributes::READ_ONLY),
        };
        set_attributes(tree.as_fd(), attributes, true)?;
        self.points.lay(tree, &plan.workspace, Kind::Directory)?;
        match &plan.outputs {
            Some(outputs) if view == View::ThrowAway => {
                outputs.paths.iter().try_for_each(|path| self.output(&plan.workspace, path))
            }
            _ => Ok(()),
        }
    }

    /// Where there is no layer: an empty writable directory over a declared output that exists. What is written there is
    /// kept as it would be of a layer.
    fn output(&mut self, workspace: &Path, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        if rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).is_err() {
            return Ok(());
        }
        let place = Path::new(KEPT).join(path);
        let mut parents: Vec<&Path> =
            place.ancestors().filter(|parent| !parent.as_os_str().is_empty()).collect();
        parents.reverse();
        for parent in parents {
            match rustix::fs::mkdirat(&self.scratch, parent, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let tree = clone_tree(&self.scratch, &place, false)?;
        set_attributes(tree.as_fd(), PLAIN, false)?;
        self.points.attach(&tree, &workspace.join(path), Kind::Directory)
    }

    /// Holds git directories and run-later files as the survey decided. Their source is the host's tree, reached from
    /// the workspace's descriptor without following a link.
    fn hold(&mut self, plan: &JailPlan, path: &Path, hold: Hold) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let source = match path.strip_prefix(&plan.workspace) {
            Ok(below) => {
                let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
                rustix::fs::openat2(CWD, below, flags, Mode::empty(), resolve)?
            }
            Err(_) => rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?,
        };
        let directory = FileType::from_raw_mode(rustix::fs::fstat(&source)?.st_mode) == FileType::Directory;
        let tree = clone_tree(&source, "", directory)?;
        let attributes = match hold {
            Hold::Pin | Hold::Writable => PLAIN,
            Hold::Copy | Hold::ReadOnly => PLAIN.with(Attributes::READ_ONLY),
        };
        set_attributes(tree.as_fd(), attributes, directory)?;
        self.points.lay(tree, path, if directory { Kind::Directory } else { Kind::File })
    }

    /// Lays out the copies of configuration files that git commands write in.
    fn copies(&mut self, layout: &Layout) -> io::Result<()> {
        rustix::fs::mkdirat(&self.scratch, ON_SCRATCH, Mode::from_raw_mode(0o755))?;
        for (number, original) in layout.originals.iter().enumerate() {
            let directory = format!("{ON_SCRATCH}/{number}");
            rustix::fs::mkdirat(&self.scratch, &directory, Mode::from_raw_mode(0o755))?;
            let file = create(&self.scratch, OsStr::new(&format!("{directory}/config")), 0o644)?;
            write_all(&file, &original.bytes)?;
            rustix::fs::symlinkat(format!("{COPIES}/{number}/config"), &self.scratch, copy_link(number))?;
        }
        let tree = clone_tree(&self.scratch, ON_SCRATCH, false)?;
        set_attributes(tree.as_fd(), PLAIN.with(Attributes::NO_EXEC), false)?;
        self.points.attach(&tree, Path::new(COPIES), Kind::Directory)
    }

    /// Mounts the link to a copy over the real file: git follows it and does its renaming there. Whether this kernel has
    /// mounts of links; without them the file is read-only.
    fn link_to_copy(&mut self, path: &Path, number: usize) -> bool {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let tree = open_tree(&self.scratch, copy_link(number), flags);
        tree.is_ok_and(|tree| self.points.attach(&tree, path, Kind::File).is_ok())
    }

    fn file(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.points.file(path, bytes)? {
            return Ok(());
        }
        self.sealed(path, bytes, 0o644)
    }

    /// A read-only file over whatever is at the path.
    fn sealed(&mut self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let tree = self.made(bytes, mode)?;
        self.points.attach(&tree, path, Kind::File)
    }

    /// A detached read-only file with these bytes.
    fn made(&mut self, bytes: &[u8], mode: u32) -> io::Result<OwnedFd> {
        let name = self.fresh_name();
        let file = create(&self.scratch, OsStr::new(&name), mode)?;
        write_all(&file, bytes)?;
        let tree = clone_tree(&self.scratch, &name, false)?;
        set_attributes(tree.as_fd(), PLAIN.with(Attributes::READ_ONLY), false)?;
        Ok(tree)
    }

    fn fresh_name(&mut self) -> String {
        self.made += 1;
        format!("m{}", self.made)
    }
}

/// The name of a link to a copy on the scratch.
fn copy_link(number: usize) -> String {
    format!("git-link-{number}")
}

fn attributes(writable: bool, exec: bool) -> Attributes {
    let attributes = if writable { PLAIN } else { PLAIN.with(Attributes::READ_ONLY) };
    if exec { attributes } else { attributes.with(Attributes::NO_EXEC) }
}

/// Whether one of the steps binds a tree around `real`.
fn around(steps: &[Step], real: &Path) -> bool {
    steps.iter().any(|step| matches!(step, Step::Bind { path, .. } if below(real, path)))
}

/// A link that may lead to what is not seen inside.
struct Leads;

/// A place that the host does not have is nothing, where it is optional; nor is one that this user has no way to: a
/// variable of another user names it (`su -m`, `sudo -E`).
fn skip_absent<T: Default>(bound: io::Result<T>, optional: bool) -> io::Result<T> {
    const ABSENT: [i32; 4] = [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::ELOOP];
    match bound {
        Err(error) if optional && error.raw_os_error().is_some_and(|code| ABSENT.contains(&code)) => {
            Ok(T::default())
        }
        bound => bound,
    }
}

/// Whether `inner` lies below `outer`; both are absolute and plain, so their bytes say it.
pub(super) fn below(inner: &Path, outer: &Path) -> bool {
    let rest = inner.as_os_str().as_bytes().strip_prefix(outer.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"/"))
}

fn text_path(text: std::ffi::CString) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.as_bytes()))
}

/// A detached copy of the mount tree at `path`.
pub(super) fn clone_tree(
    from: impl AsFd,
    path: impl rustix::path::Arg,
    recursive: bool,
) -> rustix::io::Result<OwnedFd> {
    let mut flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    open_tree(from, path, flags)
}

fn attach(tree: &OwnedFd, at: impl AsFd, path: &str) -> rustix::io::Result<()> {
    move_mount(tree, "", at, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}
