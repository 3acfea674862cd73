//! The files of the workspace that a command may have changed, and, when it has ended, which it did.
//!
//! A call that may change a file notes the file's name with what it was before. At the end each name is looked at again:
//! what is the same was not touched, whatever was tried. So a prediction that the kernel did not follow costs nothing, and
//! no tree is walked but one that is moved.
//!
//! Danger: names are the command's. They are looked up beneath the workspace without following any link.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::observed::{Act, Touch};

/// How many names are kept of one command.
const KEPT: usize = 100_000;

/// What a look at a file costs no more for.
pub const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(MOUNT_ID);

/// `STATX_MNT_ID`.
const MOUNT_ID: StatxFlags = StatxFlags::from_bits_retain(0x1000);

/// What a file was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Device and inode.
    pub inode: (u32, u32, u64),
    /// Kind and mode.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Bytes.
    pub size: u64,
    /// When its content changed.
    pub modified: (i64, u32),
    /// When anything of it changed.
    pub changed: (i64, u32),
    /// The mount it was seen through.
    pub mount: u64,
    /// Whether it is where that mount begins.
    pub mount_root: bool,
}

impl State {
    /// Of what the kernel said.
    pub fn of(found: &Statx) -> Self {
        Self {
            inode: (found.stx_dev_major, found.stx_dev_minor, found.stx_ino),
            mode: u32::from(found.stx_mode),
            owner: (found.stx_uid, found.stx_gid),
            size: found.stx_size,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
            mount: found.stx_mnt_id,
            mount_root: found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        }
    }

    /// What `name` in `directory` is; nothing where there is nothing. A link is looked at itself.
    ///
    /// # Errors
    /// What the kernel says but for ENOENT.
    pub fn at(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<Option<Self>> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
        match rustix::fs::statx(directory, name, flags, WANTED) {
            Ok(found) => Ok(Some(Self::of(&found))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Its kind.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

/// What calls did to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ways {
    /// Its content could be changed.
    pub written: bool,
    /// Its mode, owner or times.
    pub metadata: bool,
    /// Its attributes, which only the time of the last change tells of.
    pub attributes: bool,
    /// What had this name got another one.
    pub moved: bool,
}

impl Ways {
    /// Both.
    #[must_use]
    fn with(self, other: Self) -> Self {
        Self {
            written: self.written || other.written,
            metadata: self.metadata || other.metadata,
            attributes: self.attributes || other.attributes,
            moved: self.moved || other.moved,
        }
    }
}

/// One name.
#[derive(Debug, Clone)]
struct Entry {
    order: usize,
    process: i32,
    before: Option<State>,
    ways: Ways,
    /// When anything of it had changed last, as it was opened for writing first.
    opened: Option<(i64, u32)>,
}

impl Entry {
    /// It is called for in these ways too, and is `now`.
    fn add(&mut self, ways: Ways, now: Option<State>) {
        if ways.written && !self.ways.written {
            self.opened = now.map(|now| now.changed);
        }
        self.ways = self.ways.with(ways);
    }
}

/// The names of one command.
#[derive(Debug, Default)]
pub struct Ledger {
    workspace: PathBuf,
    /// By the name below the workspace.
    names: HashMap<OsString, Entry>,
    /// Times of some file may have been set: a file that was written may look as if it had not been.
    times_set: bool,
    dropped: u64,
}

impl Ledger {
    /// For a command in `workspace`.
    pub fn new(workspace: &Path) -> Self {
        Self { workspace: workspace.to_owned(), ..Self::default() }
    }

    /// Notes that times of some file were set or may be, nobody looks of which.
    pub fn times_set(&mut self) {
        self.times_set = true;
    }

    /// Whether no name is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name below the workspace of what is called `path`, which has no links and dots; empty for the workspace itself.
    fn below<'a>(&self, path: &'a Path) -> Option<&'a OsStr> {
        let workspace = self.workspace.as_os_str().as_bytes();
        let workspace = workspace.strip_suffix(b"/").unwrap_or(workspace);
        match path.as_os_str().as_bytes().strip_prefix(workspace)? {
            [] => Some(OsStr::new("")),
            [b'/', below @ ..] => Some(OsStr::from_bytes(below)),
            _ => None,
        }
    }

    /// Whether `path` is a name of the workspace.
    pub fn is_of(&self, path: &Path) -> bool {
        self.below(path).is_some_and(|below| !below.is_empty())
    }

    /// Whether nothing had the name `path` when the command began, because a directory above it was not there: it is one
    /// of those that were noted.
    pub fn is_new(&self, path: &Path) -> bool {
        let Some(below) = self.below(path) else { return false };
        let bytes = below.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([bytes.len()]).any(|end| {
            let above = OsStr::from_bytes(bytes.get(..end).unwrap_or_default());
            self.names.get(above).is_some_and(|entry| entry.before.is_none())
        })
    }

    /// How many names were too many since this was last asked.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Whether `path` is of the workspace and was noted before: then nothing new need be looked up. These ways are added;
    /// where it may be written it is `now`.
    pub fn knows(&mut self, path: &Path, ways: Ways, now: Option<State>) -> bool {
        let Some(below) = self.below(path) else { return false };
        let Some(entry) = self.names.get_mut(below) else { return false };
        entry.add(ways, now);
        true
    }

    /// Whether what is called `path`, and is `now`, was opened for writing and nothing of it has changed since.
    pub fn is_unwritten(&self, path: &Path, now: &State) -> bool {
        let entry = self.below(path).and_then(|below| self.names.get(below));
        entry.is_some_and(|entry| entry.ways.written && entry.opened == Some(now.changed))
    }

    /// Notes that it was not written by those who opened it, and that they have closed it.
    pub fn not_written(&mut self, path: &Path) {
        let below = self.below(path).map(OsStr::to_owned);
        if let Some(entry) = below.and_then(|below| self.names.get_mut(&below)) {
            entry.ways.written = false;
        }
    }

    /// Notes that a call of `process` may change what is called `path`, which is `before` now.
    pub fn note(&mut self, path: &Path, process: i32, before: Option<State>, ways: Ways) {
        let Some(below) = self.below(path).filter(|below| !below.is_empty()) else { return };
        let order = self.names.len();
        if let Some(entry) = self.names.get_mut(below) {
            entry.add(ways, before);
        } else if order < KEPT {
            let mut entry = Entry { order, process, before, ways: Ways::default(), opened: None };
            entry.add(ways, before);
            self.names.insert(below.to_owned(), entry);
        } else {
            self.dropped += 1;
        }
    }

    /// Notes that `process` may move the directory `directory`, now called `from`, to `to`, which is `replaced` now: each
    /// name below goes with it.
    pub fn note_tree(
        &mut self,
        directory: impl AsFd,
        (from, to): (&Path, &Path),
        replaced: Option<&OwnedFd>,
        process: i32,
    ) {
        if self.below(from).is_none() && self.below(to).is_none() {
            return;
        }
        let moved = Ways { moved: true, ..Ways::default() };
        let mut rest = vec![PathBuf::new()];
        while let Some(below) = rest.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            let name = if below.as_os_str().is_empty() { Path::new(".") } else { &below };
            let opened = rustix::fs::openat2(&directory, name, flags, Mode::empty(), resolve);
            let Ok(entries) = opened.and_then(Dir::new) else {
                self.dropped += 1;
                continue;
            };
            for entry in entries.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                if self.names.len() >= KEPT {
                    self.dropped += 1;
                    return;
                }
                let below = below.join(name);
                let before = look(&directory, &below);
                if before.is_some_and(|state| state.kind() == FileType::Directory) {
                    rest.push(below.clone());
                }
                self.note(&from.join(&below), process, before, moved);
                let there = replaced.and_then(|replaced| look(replaced, &below));
                self.note(&to.join(&below), process, there, Ways::default());
            }
        }
    }

    /// What the names came to since the command began or this was last called, in the order of their first sight, with the
    /// process that was first. `workspace` is the directory as the command saw it. Each name is looked at once: from that
    /// look on counts what differs from it, since who has a file open may write to it without another call that is seen.
    pub fn settle(&mut self, workspace: impl AsFd) -> Vec<(i32, Touch)> {
        let mut entries: Vec<_> = self.names.iter().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.order);
        let now =
            look_at_all(&workspace, &entries.iter().map(|(below, _)| below.as_os_str()).collect::<Vec<_>>());
        // Where a file is now whose name went to another one.
        let mut arrived: HashMap<(u32, u32, u64), Vec<usize>> = HashMap::new();
        for (at, ((_, entry), now)) in entries.iter().zip(&now).enumerate() {
            if let (None, Some(now)) = (entry.before, now) {
                arrived.entry(now.inode).or_default().push(at);
            }
        }
        let mut taken = vec![false; entries.len()];
        let now_at = |at: usize| now.get(at).copied().flatten();
        let mut renamed: HashMap<usize, usize> = HashMap::new();
        for (at, ((_, entry), now)) in entries.iter().zip(&now).enumerate() {
            let (Some(before), None, true) = (entry.before, now, entry.ways.moved) else { continue };
            // A number of a file that was removed may be another's next: of one kind they are taken for one.
            let same = |to: usize| {
                let kind = now_at(to).map(|state: State| state.kind());
                taken.get(to) == Some(&false) && kind == Some(before.kind())
            };
            let free = arrived.get(&before.inode).into_iter().flatten().find(|to| same(**to));
            if let Some(to) = free.copied() {
                renamed.insert(at, to);
                if let Some(taken) = taken.get_mut(to) {
                    *taken = true;
                }
            }
        }
        let mut touches = Vec::new();
        for (at, ((below, entry), now)) in entries.iter().zip(&now).enumerate() {
            if taken.get(at) == Some(&true) {
                continue;
            }
            let to = renamed.get(&at).and_then(|to| entries.get(*to)).map(|(to, _)| self.workspace.join(to));
            let act = match (entry.before, now) {
                (None, None) => continue,
                (None, Some(_)) => Act::Create,
                (Some(_), None) if to.is_some() => Act::Rename,
                (Some(_), None) => Act::Remove,
                (Some(before), Some(now)) => {
                    let opened = entry.opened.unwrap_or(before.changed);
                    let times = (entry.ways.metadata || self.times_set) && now.changed != opened;
                    match difference(&before, now, entry.ways, times) {
                        Some(act) => act,
                        None => continue,
                    }
                }
            };
            touches.push((entry.process, Touch { act, path: self.workspace.join(below), to }));
        }
        let orders: Vec<_> = entries.iter().map(|(_, entry)| entry.order).collect();
        let now: HashMap<_, _> = orders.into_iter().zip(now).collect();
        for entry in self.names.values_mut() {
            entry.before = now.get(&entry.order).copied().flatten();
            entry.opened = entry.before.map(|before| before.changed);
        }
        touches
    }
}

/// What `below` is, looked up beneath `directory` without a link.
fn look(directory: impl AsFd, below: &Path) -> Option<State> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let found: OwnedFd = rustix::fs::openat2(directory, below, flags, Mode::empty(), resolve).ok()?;
    State::at(&found, OsStr::new("")).ok()?
}

/// What each of `names` is, in their order, looked up as [`look`] does; each directory once.
fn look_at_all(workspace: impl AsFd, names: &[&OsStr]) -> Vec<Option<State>> {
    let mut parts: Vec<_> = names.iter().map(|name| parts(name)).enumerate().collect();
    parts.sort_unstable_by_key(|(_, (above, _))| *above);
    let mut found = vec![None; names.len()];
    for group in parts.chunk_by(|(_, (one, _)), (_, (other, _))| one == other) {
        let above = group.first().map_or(OsStr::new("."), |(_, (above, _))| above);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let Ok(directory) = rustix::fs::openat2(&workspace, above, flags, Mode::empty(), resolve) else {
            continue;
        };
        for (at, (_, name)) in group {
            if let Some(found) = found.get_mut(*at) {
                *found = State::at(&directory, name).ok().flatten();
            }
        }
    }
    found
}

/// The directory of a relative name, and its name there.
fn parts(name: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = name.as_bytes();
    let cut = bytes.iter().rposition(|byte| *byte == b'/');
    match cut.and_then(|cut| bytes.split_at_checked(cut)) {
        Some((above, [_, last @ ..])) => (OsStr::from_bytes(above), OsStr::from_bytes(last)),
        _ => (OsStr::new("."), name),
    }
}

/// How a file differs from what it was; `times` says that something of it changed since it was first opened for writing and
/// that its times may have been set.
fn difference(before: &State, now: &State, ways: Ways, times: bool) -> Option<Act> {
    if before.kind() != now.kind() {
        return Some(Act::Write);
    }
    let owner = before.mode != now.mode || before.owner != now.owner;
    if now.kind() == FileType::Directory {
        // Its times change with every name in it. Another one was moved away or removed.
        let other = before.inode != now.inode;
        return if other { Some(Act::Create) } else { owner.then_some(Act::Metadata) };
    }
    let content = before.inode != now.inode || before.size != now.size;
    let changed = before.changed != now.changed;
    let modified = before.modified != now.modified;
    // A write moves the time of the content, which only a call that sets times puts back; another link of the file moves
    // the other time alone.
    if content || (modified && !ways.metadata) || (ways.written && times) {
        Some(Act::Write)
    } else if owner || modified || (changed && ways.attributes) {
        Some(Act::Metadata)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
