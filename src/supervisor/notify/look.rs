//! From a call to what is told of it: where its names lead, what the jail will say, what may change.
//!
//! Danger: everything here is read of processes that may lie. The kernel decides by what it reads itself.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};

use super::Watcher;
use super::find::{Directory, Found, Spot};
use super::predict::Predictor;
use crate::jail::Access;
use crate::jail::seccomp::Descriptors;
use crate::supervisor::call::{self, Address, Memory, Name, Opening, Renaming, Unreadable, Wish};
use crate::supervisor::ground::lists_abstract;
use crate::supervisor::observed::{Denial, Observed};
use crate::supervisor::resolve::{Last, Task};
use crate::supervisor::touched::Ways;
use crate::supervisor::trace::judge::refused;
use crate::sys::lease::nobody_writes;
use crate::sys::seccomp::Notification;

/// How many refusals are remembered with what was made of them.
const JUDGED: usize = 4096;

/// A refusal that was judged: call, names, errno.
pub(super) type Judged = (i32, PathBuf, Option<PathBuf>, i32);

impl Watcher<'_> {
    /// Looks at a call that the kernel will decide. What may change is noted with what it is now.
    pub(super) fn look(&mut self, call: &Notification) {
        let thread = call.thread;
        let memory = self.finder.calls(thread);
        let wish = match call::read(i64::from(call.call), call.arguments, memory) {
            Ok(Some(wish)) => wish,
            // The kernel will not find it either.
            Ok(None) | Err(Unreadable::Nothing | Unreadable::Long) => return,
            Err(why @ Unreadable::Closed) => return self.unseen(call, why.word()),
        };
        match &wish {
            Wish::Open(name, how) => self.open(call, &wish, name, how),
            // Of which file is not looked up: tar does it for each one that it has just written.
            Wish::Metadata(name)
                if name.text.is_empty()
                    && self.descriptors != Descriptors::All
                    && i64::from(call.call) == libc::SYS_utimensat =>
            {
                self.ledger.times_set();
            }
            Wish::Metadata(name) if name.text.is_empty() => self.descriptor(call, &wish, name),
            Wish::Rename(from, to, how) => self.rename(call, &wish, [from, to], *how),
            Wish::Link(from, to) => {
                let (from, to) = (self.spot(call, &wish, from), self.spot(call, &wish, to));
                let Some(to) = to else { return };
                // A file without a name (`O_TMPFILE`) gets its first one.
                let errno = match &from {
                    Some(from) => self.predictor(thread).link(from, &to),
                    None => self.predictor(thread).make(&to),
                };
                match (errno, from) {
                    (Some(errno), Some(from)) => {
                        self.denied(call, &wish, &from.path(), Some(&to.path()), errno);
                    }
                    (Some(errno), None) => self.denied(call, &wish, &to.path(), None, errno),
                    (None, from) => {
                        if let Some(from) = from {
                            self.settles(&from);
                            // What is written by its new name is written by the old one.
                            self.changes(call, &from, Ways::default());
                        }
                        self.changes(call, &to, Ways::default());
                    }
                }
            }
            Wish::Truncate(name) => {
                self.one(call, &wish, name, WRITTEN, |kernel, spot| kernel.truncate(spot))
            }
            Wish::Make(name) => {
                self.one(call, &wish, name, Ways::default(), |kernel, spot| kernel.make(spot))
            }
            Wish::Remove(name, how) => {
                let Some(spot) = self.spot(call, &wish, name) else { return };
                if let Some(errno) = self.predictor(thread).remove(&spot, *how) {
                    return self.denied(call, &wish, &spot.path(), None, errno);
                }
                self.changes(call, &spot, Ways::default());
                if leads(&spot) {
                    self.finder.changes_names(thread);
                }
            }
            Wish::Metadata(name) => {
                let ways = Ways {
                    metadata: true,
                    attributes: call::sets_attributes(i64::from(call.call)),
                    ..Ways::default()
                };
                self.one(call, &wish, name, ways, |kernel, spot| kernel.metadata(spot));
            }
            Wish::Execute(name) => {
                self.executes(call);
                if self.finder.is_run(thread, name) {
                    return;
                }
                let Some(spot) = self.spot(call, &wish, name) else { return };
                match self.predictor(thread).execute(&spot) {
                    Some(errno) => self.denied(call, &wish, &spot.path(), None, errno),
                    None => self.finder.runs(name, &spot),
                }
            }
            Wish::Connect(address) => self.connects(call, &wish, address),
            Wish::Bind(Address::Path(path)) => {
                let name = Name::here(path, Last::Keep);
                self.one(call, &wish, &name, Ways::default(), |kernel, spot| kernel.make(spot));
            }
            Wish::Bind(Address::Ip(address)) => {
                let ip = address.ip();
                if self.ground.as_ref().is_some_and(|ground| ground.own_network)
                    && !ip.is_loopback()
                    && !ip.is_unspecified()
                {
                    self.denied(call, &wish, Path::new(""), None, libc::EADDRNOTAVAIL);
                }
            }
            Wish::Bind(Address::Abstract(_) | Address::Other) | Wish::Socket(_) => {}
        }
    }

    /// Tells of a call that the filter's own table refuses.
    pub(super) fn told(&mut self, call: &Notification, errno: i32) {
        let Ok(Some(wish)) = call::read(i64::from(call.call), call.arguments, Memory::of(call.thread)) else {
            return;
        };
        let path = match wish.names().first() {
            Some(name) => PathBuf::from(OsStr::from_bytes(&name.text)),
            None => PathBuf::new(),
        };
        self.judge(call, &wish, (&path, None), errno, true);
    }

    fn predictor(&mut self, thread: i32) -> Predictor<'_> {
        Predictor { finder: &mut self.finder, domain: &mut self.domain, thread }
    }

    /// Where a name of the call leads, if that is to a name; otherwise it is dealt with here.
    fn spot(&mut self, call: &Notification, wish: &Wish, name: &Name) -> Option<Spot> {
        // A call that only makes what is not there: where it may, and nothing was there when the command began, it is all
        // the same whether something is there now.
        let makes = match wish {
            Wish::Open(_, how) => how.create && how.exclusive,
            Wish::Make(_) => true,
            _ => false,
        };
        let any = |directory: &Directory| {
            makes
                && !directory.mount.read_only
                && self.domain.gives(directory, Access::MAKE)
                && *directory.new.get_or_init(|| self.ledger.is_new(&directory.path))
        };
        match self.finder.find(call.thread, name, any) {
            Found::Spot(spot) => Some(spot),
            Found::Nameless => None,
            Found::Lost(lost) => {
                if lost.errno == rustix::io::Errno::NOENT {
                    self.denied(call, wish, &lost.path, None, libc::ENOENT);
                }
                None
            }
            Found::Closed => {
                self.unseen(call, "process");
                None
            }
        }
    }

    /// A call about one name.
    fn one(
        &mut self,
        call: &Notification,
        wish: &Wish,
        name: &Name,
        ways: Ways,
        predict: impl FnOnce(&mut Predictor<'_>, &Spot) -> Option<i32>,
    ) {
        let Some(spot) = self.spot(call, wish, name) else { return };
        match predict(&mut self.predictor(call.thread), &spot) {
            Some(errno) => self.denied(call, wish, &spot.path(), None, errno),
            None => self.changes(call, &spot, ways),
        }
    }

    fn open(&mut self, call: &Notification, wish: &Wish, name: &Name, how: &Opening) {
        let Some(spot) = self.spot(call, wish, name) else { return };
        match self.predictor(call.thread).open(how, &spot) {
            Some(errno) => self.denied(call, wish, &spot.path(), None, errno),
            None if how.nameless => {}
            None if how.write || how.create && spot.state.is_none() => self.changes(call, &spot, WRITTEN),
            None if self.ground.as_ref().is_some_and(|ground| ground.is_secret(&spot.path())) => {
                self.denied(call, wish, &spot.path(), None, libc::EACCES);
            }
            None => {}
        }
    }

    /// A change of metadata by a descriptor: mostly of a file that was just written.
    fn descriptor(&mut self, call: &Notification, wish: &Wish, name: &Name) {
        if self.follows && self.finder.is_for_writing(call.thread, name.fd) {
            return;
        }
        let Some(path) = self.finder.name_of_descriptor(call.thread, name.fd) else { return };
        let ways = Ways {
            metadata: true,
            attributes: call::sets_attributes(i64::from(call.call)),
            ..Ways::default()
        };
        if self.ledger.knows(&path, ways, None) {
            return;
        }
        self.one(call, wish, name, ways, |kernel, spot| kernel.metadata(spot));
    }

    fn rename(&mut self, call: &Notification, wish: &Wish, names: [&Name; 2], how: Renaming) {
        let (Some(from), Some(to)) = (self.spot(call, wish, names[0]), self.spot(call, wish, names[1]))
        else {
            return;
        };
        let (old, new) = (from.path(), to.path());
        if let Some(errno) = self.predictor(call.thread).rename(&from, &to, how) {
            return self.denied(call, wish, &old, Some(&new), errno);
        }
        let moved = Ways { moved: true, ..Ways::default() };
        self.settles(&from);
        self.changes(call, &from, moved);
        let exchange = how == Renaming::Exchange;
        self.changes(call, &to, if exchange { moved } else { Ways::default() });
        let process = self.process(call.thread);
        let (one, other) = (open_directory(&from), open_directory(&to).filter(|_| exchange));
        if let Some(one) = &one {
            self.ledger.note_tree(one, (&old, &new), other.as_ref(), process);
        }
        if let Some(other) = &other {
            self.ledger.note_tree(other, (&new, &old), one.as_ref(), process);
        }
        if leads(&from) || leads(&to) {
            self.finder.changes_names(call.thread);
        }
    }

    /// A file gets another name, and so another time of its last change. If it was opened for writing and not written, and
    /// nobody has it open any longer, that is not taken for writing later.
    fn settles(&mut self, spot: &Spot) {
        let path = spot.path();
        if spot.state.is_some_and(|state| self.ledger.is_unwritten(&path, &state))
            && open_to_read(spot).is_some_and(nobody_writes)
        {
            self.ledger.not_written(&path);
        }
    }

    fn connects(&mut self, call: &Notification, wish: &Wish, address: &Address) {
        match address {
            Address::Ip(to) => {
                let ip = to.ip().to_canonical();
                let nowhere = self.ground.as_ref().is_some_and(|ground| ground.own_network)
                    && !ip.is_loopback()
                    && !ip.is_unspecified();
                if nowhere {
                    self.denied(call, wish, Path::new(""), None, libc::ENETUNREACH);
                }
            }
            Address::Path(path) => {
                let name = Name::here(path, Last::Follow);
                let Some(spot) = self.spot(call, wish, &name) else { return };
                let path = spot.path();
                let socket = spot.state.is_some_and(|state| state.kind() == FileType::Socket);
                let lower = self
                    .ground
                    .as_ref()
                    .is_some_and(|ground| ground.throws_away() && ground.in_workspace(&path));
                if spot.state.is_none() {
                    self.denied(call, wish, &path, None, libc::ENOENT);
                } else if !socket || lower {
                    // What a host's socket is masked with is closed to everybody.
                    let closed = spot.state.is_some_and(|state| state.mode & 0o777 == 0);
                    let errno = if closed { libc::EACCES } else { libc::ECONNREFUSED };
                    self.denied(call, wish, &path, None, errno);
                }
            }
            Address::Abstract(name) => self.connects_abstract(call, wish, name),
            Address::Other => {}
        }
    }

    /// In a network of the command's own the host's names are not there. In the host's Landlock's scope lets only those of
    /// the command's own processes be reached; who made one is not seen, so nothing is told.
    fn connects_abstract(&mut self, call: &Notification, wish: &Wish, name: &[u8]) {
        let own = self.ground.as_ref().is_some_and(|ground| ground.own_network);
        let there = || {
            let table = std::fs::read(format!("/proc/{}/net/unix", call.thread));
            table.map(|table| lists_abstract(&table, name))
        };
        if own && there().is_ok_and(|there| !there) {
            self.denied(call, wish, Path::new(""), None, libc::ECONNREFUSED);
        }
    }

    /// Notes a name that may change.
    fn changes(&mut self, call: &Notification, spot: &Spot, ways: Ways) {
        let path = spot.path();
        if !self.ledger.is_of(&path) || self.ledger.knows(&path, ways, spot.state) {
            return;
        }
        let process = self.process(call.thread);
        self.ledger.note(&path, process, spot.state, ways);
    }

    /// The kernel will answer `errno` because of the jail, unless ordinary permissions give the same.
    fn denied(&mut self, call: &Notification, wish: &Wish, path: &Path, to: Option<&Path>, errno: i32) {
        let own = |path: &Path| self.ground.as_ref().is_some_and(|ground| ground.in_workspace(path));
        if errno == libc::ENOENT && own(path) {
            return;
        }
        self.judge(call, wish, (path, to), errno, false);
    }

    fn judge(
        &mut self,
        call: &Notification,
        wish: &Wish,
        names: (&Path, Option<&Path>),
        errno: i32,
        by_filter: bool,
    ) {
        let key: Judged = match wish {
            Wish::Connect(address) | Wish::Bind(address) => {
                (call.call, PathBuf::from(format!("{address:?}")), None, errno)
            }
            Wish::Socket(family) => (call.call, PathBuf::from(family.to_string()), None, errno),
            _ => (call.call, names.0.to_owned(), names.1.map(Path::to_owned), errno),
        };
        if let Some(denial) = self.judged.get(&key) {
            if let Some(denial) = denial.clone() {
                self.tell_of(call, denial);
            }
            return;
        }
        let denial = self.refusal(call, wish, errno, by_filter);
        if self.judged.len() >= JUDGED {
            self.judged.clear();
        }
        self.judged.insert(key, denial.clone());
        if let Some(denial) = denial {
            self.tell_of(call, denial);
        }
    }

    fn refusal(&mut self, call: &Notification, wish: &Wish, errno: i32, by_filter: bool) -> Option<Denial> {
        let task = Task::open(call.thread).ok()?;
        if !self.waits(call) {
            return None;
        }
        let led: Vec<_> = wish.names().iter().map(|name| task.lead(name)).collect();
        refused(self.ground.as_ref()?, &task, wish, &led, errno, by_filter)
    }

    fn tell_of(&mut self, call: &Notification, denial: Denial) {
        let process = self.process(call.thread);
        self.tell(process, &Observed::Denial(denial));
    }

    fn unseen(&mut self, call: &Notification, why: &'static str) {
        // What can no longer be looked into was killed in the call, which is not made then.
        if !self.waits(call) {
            return;
        }
        let number = call.call.unsigned_abs();
        let process = self.process(call.thread);
        let name = Self::call_name(number);
        self.tell(process, &Observed::Unseen { call: name, why });
    }
}

const WRITTEN: Ways = Ways { written: true, metadata: false, attributes: false, moved: false };

/// What is at a spot, if it is a directory.
fn open_directory(spot: &Spot) -> Option<OwnedFd> {
    if spot.state?.kind() != FileType::Directory {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(&spot.directory.fd, &spot.name, flags, Mode::empty()).ok()
}

/// What is at a spot, if it is a regular file, open for reading.
fn open_to_read(spot: &Spot) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let named = rustix::fs::openat(&spot.directory.fd, &spot.name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&named).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let name = format!("/proc/self/fd/{}", named.as_raw_fd());
    rustix::fs::open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Whether other names lead through what is at a spot.
fn leads(spot: &Spot) -> bool {
    spot.state.is_some_and(|state| matches!(state.kind(), FileType::Directory | FileType::Symlink))
}
