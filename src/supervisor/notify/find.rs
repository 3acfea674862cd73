//! Where the names of calls lead, at the price that each call may cost.
//!
//! Most names lie in few directories. A directory that was looked up is kept open, under the text that led to it and what
//! that text began at, until the command does something after which the same text may lead elsewhere.
//!
//! Danger: a stale directory only makes a report wrong: nothing is granted by what is found here.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::rc::Rc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use super::caller::{Caller, Start};
use crate::jail::Access;
use crate::supervisor::call::{Memory, Name};
use crate::supervisor::resolve::{Last, Lost, Task};
use crate::supervisor::touched::State;

/// Directories that are kept open.
const KEPT: usize = 200;

/// Descriptors that only name.
const NAME: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The longest name in a directory.
const LONGEST: usize = 255;

/// What the mode of a descriptor's link in `/proc` has if it is open for writing.
const WRITABLE: u16 = 0o200;

/// `PROC_SUPER_MAGIC`.
const PROC: i128 = 0x9fa0;

/// What of a mount decides about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) id: u64,
    pub(super) read_only: bool,
    pub(super) no_exec: bool,
}

/// A directory of the command's view.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) fd: OwnedFd,
    /// As the command names it.
    pub(super) path: PathBuf,
    pub(super) mount: Mount,
    /// What the Landlock domain gives beneath it, when it was asked.
    pub(super) given: OnceCell<Access>,
    /// Whether it was not there when the command began, when it was asked.
    pub(super) new: OnceCell<bool>,
}

/// A name in a directory.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) directory: Rc<Directory>,
    /// Empty for the directory itself.
    pub(super) name: OsString,
    /// What is there, or nothing where that makes no difference.
    pub(super) state: Option<State>,
}

impl Spot {
    /// Its whole name.
    pub(super) fn path(&self) -> PathBuf {
        match self.name.is_empty() {
            true => self.directory.path.clone(),
            false => self.directory.path.join(&self.name),
        }
    }
}

/// Where a name leads.
#[derive(Debug)]
pub(super) enum Found {
    /// To a name in a directory.
    Spot(Spot),
    /// To something without a name: a pipe, a file that was removed.
    Nameless,
    /// Nowhere.
    Lost(Lost),
    /// It cannot be told: the process may not be looked into.
    Closed,
}

/// Looks names up.
#[derive(Debug, Default)]
pub(super) struct Finder {
    root: Option<OwnedFd>,
    /// The names of what relative names began at.
    starts: HashMap<Start, PathBuf>,
    directories: HashMap<Option<Start>, HashMap<Vec<u8>, Rc<Directory>>>,
    /// How many directories there are.
    kept: usize,
    /// Whole names of programs that nothing of the jail keeps from running.
    runs: HashSet<Vec<u8>>,
    mounts: HashMap<u64, Mount>,
    caller: Caller,
    /// Threads whose change of names may be under way: they were answered, and have not come again.
    moving: Vec<i32>,
}

impl Finder {
    /// `thread` is about to change where names lead: what is known may be wrong, and what is found until it has is not
    /// kept.
    pub(super) fn changes_names(&mut self, thread: i32) {
        self.forget();
        if !self.moving.contains(&thread) {
            self.moving.push(thread);
        }
    }

    /// Whoever comes again has done what it was answered before; so has whoever is gone.
    fn comes(&mut self, thread: i32) {
        if self.moving.is_empty() {
            return;
        }
        let gone = |thread: i32| {
            let tried = Pid::from_raw(thread).map(rustix::process::test_kill_process);
            tried == Some(Err(Errno::SRCH))
        };
        self.moving.retain(|one| *one != thread && !gone(*one));
        self.forget();
    }

    /// Forgets what a change of names may have made wrong.
    pub(super) fn forget(&mut self) {
        self.starts.clear();
        self.directories.clear();
        self.kept = 0;
        self.runs.clear();
    }

    /// Whether a program of this name, which `thread` is about to run, was found to run, and nothing has happened since after
    /// which it may not.
    pub(super) fn is_run(&mut self, thread: i32, name: &Name) -> bool {
        self.comes(thread);
        self.runs.contains(&name.text)
    }

    /// A program of this name runs: `spot` is where that leads. That holds on where the command changes nothing.
    pub(super) fn runs(&mut self, name: &Name, spot: &Spot) {
        let fixed = name.text.first() == Some(&b'/') && spot.state.is_some() && self.mount_of(spot).read_only;
        if fixed && self.moving.is_empty() && self.runs.len() < KEPT {
            self.runs.insert(name.text.clone());
        }
    }

    /// `thread` calls: its memory.
    pub(super) fn calls(&mut self, thread: i32) -> Memory<'_> {
        self.caller.calls(thread)
    }

    /// Some thread executes another program, or just has.
    pub(super) fn executes(&mut self) {
        self.caller.executes();
    }

    /// The command's root directory; every process has the same, since none can change it.
    pub(super) fn root(&mut self, thread: i32) -> Option<&OwnedFd> {
        if self.root.is_none() {
            let flags = NAME | OFlags::DIRECTORY;
            self.root = rustix::fs::open(format!("/proc/{thread}/root"), flags, Mode::empty()).ok();
        }
        self.root.as_ref()
    }

    /// Where `name` leads for `thread`. What has a name that is meant itself, in a directory of which `any` holds, is not
    /// looked at.
    pub(super) fn find(&mut self, thread: i32, name: &Name, any: impl FnOnce(&Directory) -> bool) -> Found {
        self.comes(thread);
        if name.text.is_empty() {
            return self.descriptor(thread, name.fd);
        }
        // A name that counts from another root is walked.
        let usual = !name.resolve.contains(ResolveFlags::IN_ROOT);
        match usual.then(|| self.quick(thread, name, any)).flatten() {
            Some(spot) => Found::Spot(spot),
            None => self.slow(thread, name),
        }
    }

    /// The name of what a descriptor refers to, where it has one.
    pub(super) fn name_of_descriptor(&mut self, thread: i32, fd: i32) -> Option<PathBuf> {
        let link = |at: BorrowedFd<'_>, name: &CStr| rustix::fs::readlinkat(at, name, Vec::new());
        let text = self.caller.ask(thread, fd, link).ok()?;
        Some(PathBuf::from(OsString::from_vec(text.into_bytes()))).filter(|path| path.is_absolute())
    }

    /// Whether a descriptor, by its number, is open for writing; the mode of its link says it.
    pub(super) fn is_for_writing(&mut self, thread: i32, fd: i32) -> bool {
        let mode = |at: BorrowedFd<'_>, name: &CStr| {
            rustix::fs::statx(at, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MODE)
        };
        fd >= 0 && self.caller.ask(thread, fd, mode).is_ok_and(|found| found.stx_mode & WRITABLE != 0)
    }

    /// The usual case: a name in a directory that can be looked up without a link of `/proc`, and not a link itself that
    /// is to be followed.
    fn quick(&mut self, thread: i32, name: &Name, any: impl FnOnce(&Directory) -> bool) -> Option<Spot> {
        let cut = name.text.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, last) = name.text.split_at_checked(cut)?;
        if matches!(last, b"" | b"." | b"..") {
            return None;
        }
        let start = match name.text.first() {
            Some(b'/') => None,
            _ => Some(self.caller.start(thread, name.fd).ok()?),
        };
        let known = self.directories.get(&start).and_then(|below| below.get(above));
        let directory = match known {
            Some(directory) => Rc::clone(directory),
            None => {
                let directory = Rc::new(self.look(thread, name.fd, start, above)?);
                if self.kept >= KEPT {
                    self.directories.clear();
                    self.kept = 0;
                }
                self.kept += 1;
                self.directories.entry(start).or_default().insert(above.to_vec(), Rc::clone(&directory));
                directory
            }
        };
        let last = OsStr::from_bytes(last);
        if name.last == Last::Keep && last.len() <= LONGEST && any(&directory) {
            return Some(Spot { directory, name: last.to_owned(), state: None });
        }
        let state = State::at(&directory.fd, last).ok()?;
        let link = state.is_some_and(|state| state.kind() == FileType::Symlink);
        if link && name.last == Last::Follow {
            return None;
        }
        Some(Spot { directory, name: last.to_owned(), state })
    }

    /// Opens the directory that `above` leads to.
    fn look(&mut self, thread: i32, fd: i32, start: Option<Start>, above: &[u8]) -> Option<Directory> {
        let mut text = Vec::new();
        if let Some(start) = start {
            if !self.starts.contains_key(&start) {
                let path = self.name_of_descriptor(thread, fd)?;
                if self.starts.len() >= KEPT {
                    self.starts.clear();
                }
                self.starts.insert(start, path);
            }
            text.extend(self.starts.get(&start)?.as_os_str().as_bytes());
            text.push(b'/');
        }
        text.extend(above);
        let root = self.root(thread)?;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let opened =
            rustix::fs::openat2(root, text, NAME | OFlags::DIRECTORY, Mode::empty(), resolve).ok()?;
        if rustix::fs::fstatfs(&opened).is_ok_and(|found| i128::from(found.f_type) == PROC) {
            return None;
        }
        self.directory(opened)
    }

    /// What is known of an open directory.
    fn directory(&mut self, fd: OwnedFd) -> Option<Directory> {
        use std::os::fd::AsRawFd;
        let text = rustix::fs::readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new()).ok()?;
        let state = State::at(&fd, OsStr::new("")).ok()??;
        let mount = self.mount(state.mount, &fd)?;
        Some(Directory {
            path: PathBuf::from(OsString::from_vec(text.into_bytes())),
            fd,
            mount,
            given: OnceCell::new(),
            new: OnceCell::new(),
        })
    }

    /// The mount `id`, on which `fd` lies.
    fn mount(&mut self, id: u64, fd: &OwnedFd) -> Option<Mount> {
        if let Some(mount) = self.mounts.get(&id) {
            return Some(*mount);
        }
        let flags = rustix::fs::fstatvfs(fd).ok()?.f_flag;
        let mount = Mount {
            id,
            read_only: flags.contains(StatVfsMountFlags::RDONLY),
            no_exec: flags.contains(StatVfsMountFlags::NOEXEC),
        };
        // A command makes no mounts: there are as many as its jail has.
        self.mounts.insert(id, mount);
        Some(mount)
    }

    /// The mount through which what is at `spot` is seen; where nothing is, the directory's.
    pub(super) fn mount_of(&mut self, spot: &Spot) -> Mount {
        let id = match &spot.state {
            Some(state) if state.mount != spot.directory.mount.id => state.mount,
            _ => return spot.directory.mount,
        };
        if let Some(mount) = self.mounts.get(&id) {
            return *mount;
        }
        let opened =
            rustix::fs::openat(&spot.directory.fd, &spot.name, NAME | OFlags::NOFOLLOW, Mode::empty());
        opened.ok().and_then(|fd| self.mount(id, &fd)).unwrap_or(spot.directory.mount)
    }

    /// Every other case.
    fn slow(&mut self, thread: i32, name: &Name) -> Found {
        let Ok(task) = Task::open(thread) else { return Found::Closed };
        match task.lead(name) {
            Ok(place) => {
                let Some(parent) = place.parent else { return Found::Nameless };
                match self.directory(parent).map(Rc::new) {
                    Some(directory) => match State::at(&directory.fd, &place.name) {
                        Ok(state) => Found::Spot(Spot { directory, name: place.name, state }),
                        Err(_) => Found::Closed,
                    },
                    None => Found::Closed,
                }
            }
            Err(lost) => Found::Lost(lost),
        }
    }

    /// What a descriptor refers to.
    fn descriptor(&mut self, thread: i32, fd: i32) -> Found {
        let Ok(task) = Task::open(thread) else { return Found::Closed };
        match task.descriptor(fd) {
            Ok(place) => {
                let Some(parent) = place.parent else { return Found::Nameless };
                let Some(directory) = self.directory(parent).map(Rc::new) else { return Found::Closed };
                match State::at(&directory.fd, &place.name) {
                    Ok(state) => Found::Spot(Spot { directory, name: place.name, state }),
                    Err(_) => Found::Closed,
                }
            }
            Err(lost) => Found::Lost(lost),
        }
    }
}
