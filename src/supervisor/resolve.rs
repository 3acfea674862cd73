//! What a name of a watched process leads to, looked up in that process's own root, working directory and `/proc`.
//!
//! Danger: the process may change its names while they are looked up, so an answer here reports and never grants. The
//! supervisor's own `/proc/self` must not be mistaken for the other's, and nothing that is found is ever opened for
//! more than its name and kind: a device or FIFO would act, or hang.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::call::Name;

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// `PROC_SUPER_MAGIC`.
const PROC: i128 = 0x9fa0;

/// Descriptors that only name.
const NAME: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// What becomes of a link at the end of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// It is followed, also to something that does not exist (open, chmod, connect, exec).
    Follow,
    /// It is meant itself (unlink, rename, mkdir, lchown, `O_NOFOLLOW`, `O_EXCL`).
    Keep,
}

/// Where a name leads.
#[derive(Debug)]
pub struct Place {
    /// The directory that has the name; none for what is reached past all names (`/proc/self/fd/3` of a pipe, of a file
    /// that was removed).
    pub parent: Option<OwnedFd>,
    /// The name in `parent`; empty where the name leads to `parent` itself (`.`, `..`, `/`).
    pub name: OsString,
    /// Absolute, without links and dots, as the process names it. Of an object without a name what the kernel shows
    /// (`pipe:[7]`).
    pub path: PathBuf,
    /// What is there; none where nothing is.
    pub stat: Option<Stat>,
}

impl Place {
    /// Its kind, where something is there.
    pub fn kind(&self) -> Option<FileType> {
        self.stat.map(|stat| FileType::from_raw_mode(stat.st_mode))
    }
}

/// A name that leads nowhere, since something before its end is missing, no directory or closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Why.
    pub errno: Errno,
    /// As far as it leads without links, the rest as it was written.
    pub path: PathBuf,
    /// The length of the part of `path` that exists.
    pub found: usize,
}

impl Lost {
    fn at(errno: Errno, path: &[u8]) -> Self {
        Self { errno, path: PathBuf::from(OsStr::from_bytes(path)), found: 0 }
    }
}

/// A thread whose names are looked up.
#[derive(Debug)]
pub struct Task {
    /// Its directory in the supervisor's `/proc`.
    proc: OwnedFd,
    root: OwnedFd,
}

impl Task {
    /// The thread with this number, as the supervisor counts. Fails where it is gone or may not be looked into.
    pub fn open(thread: i32) -> rustix::io::Result<Self> {
        let proc = rustix::fs::open(format!("/proc/{thread}"), NAME | OFlags::DIRECTORY, Mode::empty())?;
        let root = rustix::fs::openat(&proc, "root", NAME | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { proc, root })
    }

    /// Its directory in the supervisor's `/proc`.
    pub fn proc(&self) -> &OwnedFd {
        &self.proc
    }

    /// Its root directory.
    pub fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// What its descriptor `fd` refers to; `AT_FDCWD` is its working directory.
    pub fn descriptor(&self, fd: i32) -> Result<Place, Lost> {
        let object = self.object(fd).map_err(|errno| Lost::at(errno, b""))?;
        self.nameless(&object)
    }

    /// Where `path` leads, which is relative to the descriptor `fd` where it does not begin with a slash. `path` is not
    /// empty: that is [`Task::descriptor`]'s.
    pub fn resolve(&self, fd: i32, path: &[u8], last: Last) -> Result<Place, Lost> {
        let absolute = path.first() == Some(&b'/');
        let (start, bound) = if absolute {
            (None, ResolveFlags::IN_ROOT)
        } else {
            let start = self.object(fd).map_err(|errno| Lost::at(errno, path))?;
            (Some(start), ResolveFlags::BENEATH)
        };
        let start = start.as_ref().unwrap_or(&self.root);
        if let Some(place) = quick(start, path, last, bound) {
            return Ok(place);
        }
        let (here, top) = (duplicate(start, path)?, duplicate(&self.root, path)?);
        let mut walk = Walk { task: self, here, top, rest: VecDeque::new(), links: 0 };
        walk.go(path, last)
    }

    /// Where a name of a call leads. One that leads where the call itself forbids leads nowhere.
    ///
    /// # Errors
    /// Where it leads nowhere.
    pub fn lead(&self, name: &Name) -> Result<Place, Lost> {
        if name.text.is_empty() {
            return self.descriptor(name.fd);
        }
        if name.resolve.is_empty() {
            return self.resolve(name.fd, &name.text, name.last);
        }
        let absolute = name.text.first() == Some(&b'/');
        let bounded = ResolveFlags::BENEATH | ResolveFlags::IN_ROOT;
        // A name from the root is not to find the supervisor's.
        let from_root = absolute && !name.resolve.intersects(bounded);
        let start = if from_root { duplicate(&self.root, &name.text) } else { self.start(name) }?;
        let resolve = if from_root { name.resolve | ResolveFlags::IN_ROOT } else { name.resolve };
        let flags = if name.last == Last::Keep { NAME | OFlags::NOFOLLOW } else { NAME };
        match rustix::fs::openat2(&start, name.text.as_slice(), flags, Mode::empty(), resolve) {
            Err(errno @ (Errno::XDEV | Errno::LOOP | Errno::AGAIN)) => Err(Lost::at(errno, &name.text)),
            _ if name.resolve.contains(ResolveFlags::IN_ROOT) => {
                // What would lead above it, or begins at the root, begins there.
                let mut walk = Walk {
                    task: self,
                    here: duplicate(&start, &name.text)?,
                    top: start,
                    rest: VecDeque::new(),
                    links: 0,
                };
                walk.go(&name.text, name.last)
            }
            _ => self.resolve(name.fd, &name.text, name.last),
        }
    }

    /// What a relative name begins at.
    fn start(&self, name: &Name) -> Result<OwnedFd, Lost> {
        self.object(name.fd).map_err(|errno| Lost::at(errno, &name.text))
    }

    fn object(&self, fd: i32) -> rustix::io::Result<OwnedFd> {
        if fd == libc::AT_FDCWD {
            return rustix::fs::openat(&self.proc, "cwd", NAME, Mode::empty());
        }
        rustix::fs::openat(&self.proc, format!("fd/{fd}"), NAME, Mode::empty())
    }

    /// An object by the name that the kernel has for it, where that name still leads to it.
    fn nameless(&self, object: &OwnedFd) -> Result<Place, Lost> {
        let path = name_of(object).map_err(|errno| Lost::at(errno, b""))?;
        let stat = rustix::fs::fstat(object).map_err(|errno| Lost::at(errno, path.as_os_str().as_bytes()))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let parent = duplicate(object, path.as_os_str().as_bytes())?;
            return Ok(Place { parent: Some(parent), name: OsString::new(), path, stat: Some(stat) });
        }
        let named = quick(&self.root, path.as_os_str().as_bytes(), Last::Keep, ResolveFlags::IN_ROOT);
        match named {
            Some(place) if place.stat.is_some_and(|other| same(&stat, &other)) => Ok(place),
            _ => Ok(Place { parent: None, name: OsString::new(), path, stat: Some(stat) }),
        }
    }

    /// The number of the process, or of process and thread, as the inside of the jail counts.
    fn number_inside(&self, thread: bool) -> Option<Vec<u8>> {
        let status = std::fs::read_to_string(format!("{}/status", own_name(&self.proc))).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().last().map(str::to_owned)
        };
        let process = field("NStgid:")?;
        Some(if thread { format!("{process}/task/{}", field("NSpid:")?) } else { process }.into_bytes())
    }
}

/// The usual case: no link at the end, nothing of `/proc`, nothing that leaves `start`. Everything else is walked.
fn quick(start: &OwnedFd, path: &[u8], last: Last, bound: ResolveFlags) -> Option<Place> {
    let cut = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (directory, name) = path.split_at_checked(cut)?;
    if matches!(name, b"" | b"." | b"..") {
        return None;
    }
    let directory = if directory.is_empty() { b".".as_slice() } else { directory };
    let flags = NAME | OFlags::DIRECTORY;
    let bound = bound | ResolveFlags::NO_MAGICLINKS;
    let parent = rustix::fs::openat2(start, directory, flags, Mode::empty(), bound).ok()?;
    if on_proc(&parent) {
        return None;
    }
    let stat = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(_) => return None,
    };
    let link = stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    if link && last == Last::Follow {
        return None;
    }
    let name = OsStr::from_bytes(name).to_owned();
    let path = name_of(&parent).ok()?.join(&name);
    Some(Place { parent: Some(parent), name, path, stat })
}

/// One name, component by component.
struct Walk<'a> {
    task: &'a Task,
    here: OwnedFd,
    /// Where `/` leads, and above which nothing is.
    top: OwnedFd,
    rest: VecDeque<Vec<u8>>,
    links: usize,
}

impl Walk<'_> {
    fn go(&mut self, path: &[u8], last: Last) -> Result<Place, Lost> {
        let must_be_directory = path.last() == Some(&b'/');
        self.put(path);
        while let Some(part) = self.rest.pop_front() {
            let end = self.rest.is_empty();
            match part.as_slice() {
                b"." => {}
                b".." if self.is_at_top() => {}
                b".." => {
                    let above = rustix::fs::openat(&self.here, "..", NAME, Mode::empty());
                    self.here = above.map_err(|errno| self.lost(errno, &part))?;
                }
                _ => {
                    let keep = end && last == Last::Keep && !must_be_directory;
                    if let Some(place) = self.step(&part, end, keep)? {
                        return Ok(place);
                    }
                }
            }
        }
        let path = name_of(&self.here).map_err(|errno| Lost::at(errno, path))?;
        let stat = rustix::fs::fstat(&self.here).ok();
        let parent = duplicate(&self.here, path.as_os_str().as_bytes())?;
        Ok(Place { parent: Some(parent), name: OsString::new(), path, stat })
    }

    fn is_at_top(&self) -> bool {
        let (here, top) = (rustix::fs::fstat(&self.here), rustix::fs::fstat(&self.top));
        here.is_ok_and(|here| top.is_ok_and(|top| same(&here, &top)))
    }

    /// Puts the components of `path` before what is left.
    fn put(&mut self, path: &[u8]) {
        for part in path.split(|byte| *byte == b'/').rev().filter(|part| !part.is_empty()) {
            self.rest.push_front(part.to_vec());
        }
    }

    /// One component; the place, if it was the last one.
    fn step(&mut self, part: &[u8], end: bool, keep: bool) -> Result<Option<Place>, Lost> {
        let found = match rustix::fs::openat(&self.here, part, NAME | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::NOENT) if end => return self.place(part, None).map(Some),
            Err(errno) => return Err(self.lost(errno, part)),
        };
        let stat = rustix::fs::fstat(&found).map_err(|errno| self.lost(errno, part))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if keep => return self.place(part, Some(stat)).map(Some),
            FileType::Symlink => return self.follow(part, &found, end),
            FileType::Directory => self.here = found,
            _ if end => return self.place(part, Some(stat)).map(Some),
            _ => return Err(self.lost(Errno::NOTDIR, part)),
        }
        if end { self.entered(part, stat).map(Some) } else { Ok(None) }
    }

    fn follow(&mut self, part: &[u8], link: &OwnedFd, end: bool) -> Result<Option<Place>, Lost> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.lost(Errno::LOOP, part));
        }
        let proc = on_proc(&self.here);
        let inside = match part {
            b"self" if proc => self.task.number_inside(false),
            b"thread-self" if proc => self.task.number_inside(true),
            _ => None,
        };
        let text = match inside {
            Some(text) => text,
            None => rustix::fs::readlinkat(link, "", Vec::new())
                .map_err(|errno| self.lost(errno, part))?
                .into_bytes(),
        };
        let plain = [b"self".as_slice(), b"thread-self", b"mounts", b"net"];
        if proc && !plain.contains(&part) {
            let object = rustix::fs::openat(&self.here, part, NAME, Mode::empty());
            let object = object.map_err(|errno| self.lost(errno, part))?;
            if end {
                return self.task.nameless(&object).map(Some);
            }
            self.here = object;
            return Ok(None);
        }
        if text.first() == Some(&b'/') {
            self.here = duplicate(&self.top, &text)?;
        }
        self.put(&text);
        Ok(None)
    }

    /// The place of a name in the present directory.
    fn place(&self, part: &[u8], stat: Option<Stat>) -> Result<Place, Lost> {
        let name = OsStr::from_bytes(part).to_owned();
        let path = name_of(&self.here).map_err(|errno| self.lost(errno, part))?.join(&name);
        let parent = duplicate(&self.here, part)?;
        Ok(Place { parent: Some(parent), name, path, stat })
    }

    /// The place of a directory that was just entered: its name in the one above.
    fn entered(&self, part: &[u8], stat: Stat) -> Result<Place, Lost> {
        let path = name_of(&self.here).map_err(|errno| self.lost(errno, part))?;
        let above = rustix::fs::openat(&self.here, "..", NAME, Mode::empty());
        let above = above.map_err(|errno| self.lost(errno, part))?;
        let name = path.file_name().map(OsStr::to_owned).unwrap_or_default();
        Ok(Place { parent: Some(above), name, path, stat: Some(stat) })
    }

    fn lost(&self, errno: Errno, part: &[u8]) -> Lost {
        let mut path = name_of(&self.here).unwrap_or_default();
        let found = path.as_os_str().len();
        path.push(OsStr::from_bytes(part));
        path.extend(self.rest.iter().map(|part| OsStr::from_bytes(part)));
        Lost { errno, path, found }
    }
}

/// A second descriptor of the same object; `path` is for the error.
fn duplicate(of: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Lost> {
    rustix::io::fcntl_dupfd_cloexec(of, 0).map_err(|errno| Lost::at(errno, path))
}

/// The name that the kernel has for what a descriptor of the supervisor refers to.
fn name_of(object: &OwnedFd) -> rustix::io::Result<PathBuf> {
    let text = rustix::fs::readlinkat(CWD, own_name(object), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(text.into_bytes())))
}

/// A descriptor of the supervisor as a path.
fn own_name(object: &OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", object.as_fd().as_raw_fd())
}

fn on_proc(object: &OwnedFd) -> bool {
    rustix::fs::fstatfs(object).is_ok_and(|found| i128::from(found.f_type) == PROC)
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether `path` is the name of an object that has none in a directory.
pub fn is_nameless(path: &Path) -> bool {
    !path.is_absolute()
}

#[cfg(test)]
mod tests;
