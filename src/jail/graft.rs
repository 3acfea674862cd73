//! The directories of a session in the root of one of its commands.
//!
//! The root is first built as for any command, with private directories, so that nobody else can reach into it while the
//! mounts that protect something find their places. Then each directory that the session shares is laid over the
//! private one, and what the command's own view has below it (the workspace with all that lies over it, toolchains) is
//! laid into it.
//!
//! Danger: other commands of the session fill these directories, also now. No link in them is followed; what is in the
//! way of a mount goes, and what cannot go ends the launch. A mount that is led astray is one that the command lacks.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::mount::{PLAIN, below, clone_tree};
use super::plan::{JailPlan, Step};
use super::points::{Kind, Points, attach_over, create, write_all};
use crate::sys::mount::set_attributes;

/// How often something that comes into the way again is taken out of it.
const TRIES: usize = 8;

/// Longest name in a directory that is made here.
const NAME: usize = 200;

/// A shared directory and what the command has below it.
struct Graft<'a> {
    path: &'a Path,
    tree: OwnedFd,
    carried: Vec<(&'a Path, Carried<'a>)>,
}

/// Something of the command's own view below a shared directory.
enum Carried<'a> {
    /// A tree to be mounted.
    Tree(OwnedFd, Kind),
    /// A link to be made where nothing is.
    Link(PathBuf),
    /// A link to be made where nothing is, nor anything in its way.
    Alias(&'a Path),
    /// A file to be made where nothing is.
    File(&'a [u8]),
}

/// Lays the session's directories, which `tree` has, over the private ones. `tree` must be attached.
pub(super) fn graft(plan: &JailPlan, tree: &OwnedFd, points: &mut Points) -> io::Result<()> {
    let mut grafts = Vec::new();
    for path in &plan.shared {
        let mode = plan.steps.iter().find_map(|step| match step {
            Step::Dir { path: made, mode } if made == path => Some(*mode),
            _ => None,
        });
        let Some(mode) = mode else { continue };
        let tree = shared(tree, path, mode)?;
        set_attributes(tree.as_fd(), PLAIN, false)?;
        grafts.push(Graft { path, tree, carried: carried(plan, path, points)? });
    }
    let mut laid: Vec<(&Path, &OwnedFd)> = Vec::new();
    for graft in &grafts {
        let around = laid.iter().rev().find(|(path, _)| below(graft.path, path));
        match around {
            Some((path, tree)) => {
                attach_over(&graft.tree, &point(tree, relative(graft.path, path), Kind::Directory)?)?;
            }
            None => points.attach(&graft.tree, graft.path, Kind::Directory)?,
        }
        for (path, carried) in &graft.carried {
            lay(&graft.tree, relative(path, graft.path), carried)?;
        }
        laid.push((graft.path, &graft.tree));
    }
    Ok(())
}

/// The session's directory for `path`: a mount of it.
fn shared(tree: &OwnedFd, path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let name: Vec<u8> =
        path.as_os_str().as_bytes().iter().map(|byte| if *byte == b'/' { b'+' } else { *byte }).collect();
    // Nothing but these directories is there, and no command sees them by these names.
    let mut at = rustix::fs::openat(tree, ".", flags, Mode::empty())?;
    for part in name.chunks(NAME) {
        let part = [b"p", part].concat();
        made(rustix::fs::mkdirat(&at, OsStr::from_bytes(&part), Mode::from_raw_mode(0o755)))?;
        at = rustix::fs::openat(&at, OsStr::from_bytes(&part), flags, Mode::empty())?;
    }
    // A name that no part has.
    let own = "directory";
    made(rustix::fs::mkdirat(&at, own, Mode::from_raw_mode(mode)))?;
    Ok(clone_tree(&at, own, false)?)
}

fn made(made: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// What the command's view has below a shared directory, but for what another shared directory takes.
fn carried<'a>(
    plan: &'a JailPlan,
    around: &Path,
    points: &Points,
) -> io::Result<Vec<(&'a Path, Carried<'a>)>> {
    let mut found: Vec<(&Path, Carried<'_>)> = Vec::new();
    for step in &plan.steps {
        let path = match step {
            Step::Dir { path, .. }
            | Step::Symlink { path, .. }
            | Step::Alias { path, .. }
            | Step::Bind { path, .. }
            | Step::Device { path }
            | Step::Own { path }
            | Step::Script { path, .. }
            | Step::File { path, .. } => path,
            Step::Workspace { .. } => &plan.workspace,
            Step::Proc
            | Step::HostProc
            | Step::Pts
            | Step::Git { .. }
            | Step::Protect { .. }
            | Step::Secret { .. } => continue,
        };
        let others = || {
            plan.shared.iter().any(|shared| below(shared, around) && (shared == path || below(path, shared)))
        };
        let taken = || {
            found.iter().any(|(taken, carried)| {
                matches!(carried, Carried::Tree(..)) && (*taken == path || below(path, taken))
            })
        };
        if !below(path, around) || others() || taken() {
            continue;
        }
        match step {
            Step::File { bytes, .. } => {
                found.push((path, Carried::File(bytes)));
                continue;
            }
            Step::Alias { target, .. } => {
                found.push((path, Carried::Alias(target)));
                continue;
            }
            _ => {}
        }
        let place = match points.own(path) {
            Err(Errno::NOENT) => continue,
            place => place?,
        };
        let carried = match FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode) {
            FileType::Symlink => {
                let text = rustix::fs::readlinkat(&place, "", Vec::new())?;
                Carried::Link(PathBuf::from(OsStr::from_bytes(text.as_bytes())))
            }
            FileType::Directory => Carried::Tree(clone_tree(&place, "", true)?, Kind::Directory),
            _ => Carried::Tree(clone_tree(&place, "", false)?, Kind::File),
        };
        found.push((path, carried));
    }
    Ok(found)
}

/// Lays one thing into a shared directory.
fn lay(tree: &OwnedFd, path: &Path, carried: &Carried<'_>) -> io::Result<()> {
    let (parent, name) = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => (parent, name),
        _ => return Err(Errno::INVAL.into()),
    };
    match carried {
        Carried::Tree(mounted, kind) => attach_over(mounted, &point(tree, path, *kind)?),
        Carried::Link(text) => {
            let parent = point(tree, parent, Kind::Directory)?;
            Ok(made(rustix::fs::symlinkat(text.as_path(), &parent, name))?)
        }
        Carried::Alias(target) => {
            let _ = offer(tree, (parent, name), target);
            Ok(())
        }
        Carried::File(bytes) => {
            let parent = point(tree, parent, Kind::Directory)?;
            match create(&parent, name, 0o644) {
                Ok(file) => write_all(&file, bytes),
                // The session has it already, as its commands left it.
                Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// A link in a shared directory. It is a convenience: what the session's commands have put in its way stays, and no mount
/// is crossed, so that nothing is made on the host.
fn offer(tree: &OwnedFd, (parent, name): (&Path, &OsStr), target: &Path) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH | ResolveFlags::NO_XDEV;
    let mut at = rustix::fs::openat2(tree, ".", flags, Mode::empty(), resolve)?;
    for part in parent {
        made(rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o755)))?;
        at = rustix::fs::openat2(&at, part, flags, Mode::empty(), resolve)?;
    }
    rustix::fs::symlinkat(target, &at, name)
}

/// The mount point `path` in a shared directory, made where it does not exist.
fn point(tree: &OwnedFd, path: &Path, kind: Kind) -> io::Result<OwnedFd> {
    let mut at = open(tree, OsStr::new("."), Kind::Directory)?;
    let mut parts = path.iter().peekable();
    while let Some(part) = parts.next() {
        let kind = if parts.peek().is_some() { Kind::Directory } else { kind };
        at = step_into(&at, part, kind)?;
    }
    Ok(at)
}

/// One step of the way, past whatever was put there.
fn step_into(at: &OwnedFd, name: &OsStr, kind: Kind) -> io::Result<OwnedFd> {
    for _ in 0..TRIES {
        match open(at, name, kind) {
            Err(Errno::NOENT) => made(match kind {
                Kind::Directory => rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o755)),
                Kind::File => create(at, name, 0o444).map(drop),
            })?,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::ISDIR) => {
                let directory = if kind == Kind::File { AtFlags::REMOVEDIR } else { AtFlags::empty() };
                match rustix::fs::unlinkat(at, name, AtFlags::empty())
                    .or_else(|_| rustix::fs::unlinkat(at, name, directory))
                {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            opened => return Ok(opened?),
        }
    }
    Err(Errno::BUSY.into())
}

/// What has this name, if it is of the kind. Mounts are crossed, links are not.
fn open(at: &OwnedFd, name: &OsStr, kind: Kind) -> rustix::io::Result<OwnedFd> {
    let mut flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    if kind == Kind::Directory {
        flags |= OFlags::DIRECTORY;
    }
    let found = rustix::fs::openat2(
        at,
        name,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
    )?;
    if kind == Kind::File {
        match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => {}
        }
    }
    Ok(found)
}

/// `path` from `around` on, below which it lies.
fn relative<'a>(path: &'a Path, around: &Path) -> &'a Path {
    path.strip_prefix(around).unwrap_or(path)
}
