//! Looking through a whole tree for what git would take for a repository, when nothing of the command is alive.
//!
//! Only after commands that may write, never on the way to a launch. Directories are opened by descriptor from their
//! parent and no link is followed, so that a tree that changes meanwhile leads nowhere else. Where the walk before noted
//! what it saw ([`super::seen`]), a directory that is as it was is not listed: what it had counts as found again, and the directories
//! in it are visited by their noted names.
//!
//! Danger: a directory that is left out here is a place where a planted repository stays unseen; what could not be
//! looked into is an answer of its own.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Statx};
use rustix::io::Errno;

use super::Moment;
use super::seen::{Before, Clock, Rules, Seen, beside, look};
use super::tree::{self, FIXED, Listing, Node};

/// Directories deeper than this are not looked into.
const DEPTH: usize = 200;

/// How many names are looked at.
const NAMES: usize = 4_000_000;

/// Why what lies there was not looked into.
const TOO_DEEP: &str = "it lies more than 200 directories deep";
const TOO_MANY: &str = "the workspace has more than 4000000 names";

/// How many sockets are noted.
const SOCKETS: usize = 1000;

/// Names that git finds in a directory that it takes for a repository.
const PARTS: [&[u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Directories with an entry `.git`.
    pub(super) places: Vec<PathBuf>,
    /// Directories that have the parts of a repository themselves.
    pub(super) bare: Vec<PathBuf>,
    /// Unix sockets.
    pub(super) sockets: Vec<PathBuf>,
    /// The first directory that was not looked into, and why.
    pub(super) unseen: Option<(PathBuf, &'static str)>,
}

/// Looks through `root` without what lies in `skip`, after a run that began at `since`.
pub(super) fn repositories(root: &Path, since: Moment, skip: &dyn Fn(&Path) -> bool) -> Found {
    walk(root, since, skip, &Before::default(), None).0
}

/// Looks through the whole workspace `root` before its first run, and notes of its directories what the next walk needs, beside
/// the `note` of its repositories.
pub(super) fn first(root: &Path, since: Moment, skip: &dyn Fn(&Path) -> bool, note: &Path) -> Found {
    noting(root, since, skip, note, |_, _| Before::default())
}

/// Looks through the workspace `root` as [`repositories`] does, listing only what is not as the walk before noted it.
pub(super) fn again(root: &Path, since: Moment, skip: &dyn Fn(&Path) -> bool, note: &Path) -> Found {
    noting(root, since, skip, note, Before::load)
}

fn noting(
    root: &Path,
    since: Moment,
    skip: &dyn Fn(&Path) -> bool,
    note: &Path,
    load: fn(&Path, &Clock) -> Before,
) -> Found {
    let Some(clock) = Clock::now() else { return repositories(root, since, skip) };
    let note = beside(note);
    let before = load(&note, &clock);
    let seen = Seen::new(Rules::OWN, clock, &before);
    let (found, seen) = walk(root, since, skip, &before, Some(seen));
    if let Some(seen) = seen {
        seen.keep(&note);
    }
    found
}

/// Looks through `root`. Nothing that was noted `before` counts unless what is `seen` is noted too.
pub(super) fn walk(
    root: &Path,
    since: Moment,
    skip: &dyn Fn(&Path) -> bool,
    before: &Before,
    seen: Option<Seen>,
) -> (Found, Option<Seen>) {
    let mut walk = Walk {
        skip,
        since,
        path: root.as_os_str().as_bytes().to_vec(),
        names: 0,
        buffer: vec![MaybeUninit::uninit(); 64 * 1024],
        found: Found::default(),
        before,
        seen,
    };
    match CString::new(root.as_os_str().as_bytes()) {
        Ok(name) => walk.enter(&Parent::open(CWD, b""), &name, before.root(&name), 0),
        Err(_) => walk.unseen("it cannot be opened"),
    }
    (walk.found, walk.seen)
}

struct Walk<'a> {
    skip: &'a dyn Fn(&Path) -> bool,
    since: Moment,
    /// Where the walk is.
    path: Vec<u8>,
    names: usize,
    buffer: Vec<MaybeUninit<u8>>,
    found: Found,
    /// What the walk before noted.
    before: &'a Before,
    /// What this one notes.
    seen: Option<Seen>,
}

impl<'a> Walk<'a> {
    fn unseen(&mut self, why: &'static str) {
        let path = &self.path;
        self.found.unseen.get_or_insert_with(|| (owned(path), why));
    }

    /// The directory `name` of `parent`, which the walk before may have noted.
    fn enter(&mut self, parent: &Parent<'_>, name: &CStr, noted: Option<Node<'a>>, depth: usize) {
        if noted.is_some_and(|noted| self.is_as_before(parent, name, &noted, depth)) {
            return;
        }
        let opened = parent.handle().map(|parent| (parent, open(parent, name)));
        match opened {
            Ok((_, Ok(directory))) => self.directory(&directory, name, noted, depth),
            Ok((parent, Err(Errno::ACCESS))) => self.closed(parent, name, noted, depth),
            Ok((_, Err(errno))) | Err(errno) => {
                if matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::ACCESS) {
                    self.unseen("it cannot be opened");
                }
                // Else it went away or became something else, by whoever is alive; or its file system does not answer
                // anybody.
                self.mention(name);
            }
        }
    }

    /// Whether a directory is as it was noted; then what is in it was found.
    fn is_as_before(&mut self, parent: &Parent<'_>, name: &CStr, noted: &Node<'a>, depth: usize) -> bool {
        let (Some(seen), Some(listing)) = (&mut self.seen, noted.listing) else { return false };
        let Some(weight) = noted.weight() else { return false };
        let mut handle = None;
        let now = if seen.has_met(self.before, &listing) && parent.suffices(noted) {
            parent.look(&self.path)
        } else {
            // Opened first, so that what is looked at is what the walk goes on from.
            let opened = parent.handle().and_then(|parent| place(parent, name));
            opened.and_then(|opened| look(handle.insert(opened).as_fd(), b""))
        };
        let handle = handle.as_ref().map(AsFd::as_fd);
        let Ok(now) = now else { return false };
        let Some(system) = seen.unchanged(self.before, &listing, &now, handle) else { return false };
        let begun = seen.as_before(noted, system, weight);
        self.count(&listing);
        let own = handle.map_or_else(|| parent.closed(name), |handle| Parent::open(handle, &self.path));
        for child in noted.children() {
            self.below(&own, child.name, Some(child), depth);
        }
        self.end(begun);
        true
    }

    /// What the names of the directory at which the walk is tell.
    fn count(&mut self, listing: &Listing<'_>) {
        self.names = self.names.saturating_add(usize::try_from(listing.names).unwrap_or(usize::MAX));
        for name in tree::sockets(listing.sockets) {
            self.socket(name);
        }
        self.shape(listing.git, listing.bare);
    }

    fn socket(&mut self, name: &[u8]) {
        if self.found.sockets.len() < SOCKETS {
            self.found.sockets.push(owned(&self.path).join(OsStr::from_bytes(name)));
        }
    }

    fn shape(&mut self, git: bool, bare: bool) {
        if git {
            self.found.places.push(owned(&self.path));
        }
        if bare {
            self.found.bare.push(owned(&self.path));
        }
    }

    fn mention(&mut self, name: &CStr) {
        if let Some(seen) = &mut self.seen {
            seen.mention(name);
        }
    }

    fn end(&mut self, begun: Option<usize>) {
        if let Some(seen) = &mut self.seen {
            seen.end(begun);
        }
    }

    /// Lists a directory and goes on into those in it.
    fn directory(&mut self, directory: &OwnedFd, name: &CStr, noted: Option<Node<'a>>, depth: usize) {
        let stamp = self.seen.as_mut().and_then(|seen| seen.stamp(directory.as_fd()));
        let mut list = List::default();
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                self.unseen("it cannot be listed");
                list.unclear = true;
                break;
            };
            let name = entry.file_name();
            list.names += 1;
            list.name(name.to_bytes());
            match entry.file_type() {
                FileType::Directory if !is_dots(name) => list.below.push(name.to_owned()),
                FileType::Socket => {
                    self.socket(name.to_bytes());
                    list.socket(name.to_bytes());
                }
                FileType::Unknown => {
                    // Who may not ask now may ask later, of the same names.
                    list.unclear = true;
                    if !is_dots(name) && is_directory(directory, name) {
                        list.below.push(name.to_owned());
                    }
                }
                _ => {}
            }
        }
        self.buffer = buffer;
        self.names += list.names;
        self.shape(list.git, list.is_bare());
        let begun = self.seen.as_mut().map(|seen| {
            let listing = stamp.filter(|_| !list.unclear).and_then(|(system, stamp)| {
                let names = u32::try_from(list.names).ok()?;
                let (git, bare) = (list.git, list.is_bare());
                Some(Listing { system, stamp, git, bare, names, sockets: &list.sockets })
            });
            let weight = list.below.iter().map(|name| FIXED + name.count_bytes()).sum();
            seen.listed(name, listing, weight)
        });
        // Nothing is noted of a directory without others in it that would be of use below.
        let noted = noted.filter(|noted| !noted.is_leaf() && !list.below.is_empty());
        let known: HashMap<&CStr, Node<'a>> =
            noted.iter().flat_map(Node::children).map(|child| (child.name, child)).collect();
        let own = Parent::open(directory.as_fd(), &self.path);
        for name in &list.below {
            self.below(&own, name, known.get(name.as_c_str()).copied(), depth);
        }
        if let Some(begun) = begun {
            self.end(begun);
        }
    }

    /// The directory `name` in that at which the walk is.
    fn below(&mut self, parent: &Parent<'_>, name: &CStr, noted: Option<Node<'a>>, depth: usize) {
        let length = self.path.len();
        if !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name.to_bytes());
        if self.names > NAMES || depth >= DEPTH {
            self.unseen(if depth >= DEPTH { TOO_DEEP } else { TOO_MANY });
            self.mention(name);
        } else if (self.skip)(Path::new(OsStr::from_bytes(&self.path))) {
            self.mention(name);
        } else {
            self.enter(parent, name, noted, depth + 1);
        }
        self.path.truncate(length);
    }

    /// A directory that must not be listed.
    fn closed(&mut self, parent: BorrowedFd<'_>, name: &CStr, noted: Option<Node<'a>>, depth: usize) {
        match unlocked(parent, name) {
            Some((directory, own, mode)) => {
                self.directory(&directory, name, noted, depth);
                // The command wanted it so; that it was looked into must not show.
                let _ = rustix::fs::chmod(own.as_str(), mode);
                return;
            }
            None if out_of_reach(parent, name, self.since) => {}
            None => self.unseen("it cannot be opened"),
        }
        self.mention(name);
    }
}

/// What the names of one directory tell.
#[derive(Default)]
struct List {
    below: Vec<CString>,
    names: usize,
    git: bool,
    parts: [bool; PARTS.len()],
    /// As [`Listing::sockets`] has them.
    sockets: Vec<u8>,
    /// It was not learnt whole.
    unclear: bool,
}

impl List {
    fn name(&mut self, name: &[u8]) {
        // Also `.GIT`: there are file systems for which it is the same name.
        self.git |= name.len() == 4 && name.eq_ignore_ascii_case(b".git");
        if let Some(part) = PARTS.iter().position(|part| name.eq_ignore_ascii_case(part)) {
            self.parts[part] = true;
        }
    }

    fn socket(&mut self, name: &[u8]) {
        match u8::try_from(name.len()) {
            Ok(length) => {
                self.sockets.push(length);
                self.sockets.extend(name);
            }
            Err(_) => self.unclear = true,
        }
    }

    fn is_bare(&self) -> bool {
        let [head, objects, refs, common] = self.parts;
        head && ((objects && refs) || common)
    }
}

fn owned(path: &[u8]) -> PathBuf {
    OsStr::from_bytes(path).into()
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// A directory, by which those in it are reached.
struct Parent<'p> {
    /// The directory, or the one around it.
    at: BorrowedFd<'p>,
    /// How much of the walk's path leads to that.
    from: usize,
    /// Its name in that; absent where it is that. What lies in it can be asked for by two names without opening it, and where somebody who
    /// is alive puts a link there meanwhile, the answer is about another directory and tells nothing but what is true of that one.
    name: Option<&'p CStr>,
    /// It, when it had to be opened.
    own: OnceCell<rustix::io::Result<OwnedFd>>,
}

impl<'p> Parent<'p> {
    /// One that is open, at `path`.
    fn open(at: BorrowedFd<'p>, path: &[u8]) -> Self {
        let from = if path.is_empty() || path.ends_with(b"/") { path.len() } else { path.len() + 1 };
        Self { at, from, name: None, own: OnceCell::new() }
    }

    /// The directory `name` in this one.
    fn closed(&self, name: &'p CStr) -> Self {
        Self { at: self.at, from: self.from, name: Some(name), own: OnceCell::new() }
    }

    /// Whether a directory in this one, and those in that, can be asked for by it: for no more than these a descriptor costs more
    /// than it brings.
    fn suffices(&self, noted: &Node<'_>) -> bool {
        noted.is_leaf() || self.name.is_none() && noted.children().all(|child| child.is_leaf())
    }

    /// What is at `path`, which leads through this one.
    fn look(&self, path: &[u8]) -> rustix::io::Result<Statx> {
        look(self.at, path.get(self.from..).ok_or(Errno::NOENT)?)
    }

    fn handle(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        let Some(name) = self.name else { return Ok(self.at) };
        self.own.get_or_init(|| place(self.at, name)).as_ref().map(AsFd::as_fd).map_err(|errno| *errno)
    }
}

/// A directory as a place, without the right to list it.
fn place(parent: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn open(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn is_directory(parent: &OwnedFd, name: &CStr) -> bool {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// A directory without its read right hides what is in it from a walk and not from git: opens it with the right added;
/// gives also a name that leads to nothing else, and the mode it had.
fn unlocked(parent: BorrowedFd<'_>, name: &CStr) -> Option<(OwnedFd, String, Mode)> {
    let handle = place(parent, name).ok()?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle).ok()?.st_mode & 0o7777);
    rustix::fs::chmod(descriptor(&handle).as_str(), mode | Mode::RWXU).ok()?;
    let directory = open(&handle, c".");
    let Ok(directory) = directory else {
        let _ = rustix::fs::chmod(descriptor(&handle).as_str(), mode);
        return None;
    };
    let own = descriptor(&directory);
    Some((directory, own, mode))
}

/// Whether a directory that cannot be opened was as closed to the command: it belongs to somebody else, or is closed since
/// before the run.
fn out_of_reach(parent: BorrowedFd<'_>, name: &CStr, since: Moment) -> bool {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        let changed = i64::try_from(found.st_ctime_nsec).unwrap_or_default();
        found.st_uid != rustix::process::geteuid().as_raw() || !since.is_at_most(found.st_ctime, changed)
    })
}

/// A path to what a descriptor refers to, for calls that take no descriptor of that kind.
pub(super) fn descriptor(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("swbox-walk-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&root).unwrap();
            Self(root)
        }

        fn with(self, directories: &[&str], files: &[&str]) -> Self {
            for directory in directories {
                std::fs::create_dir_all(self.0.join(directory)).unwrap();
            }
            for file in files {
                std::fs::write(self.0.join(file), "").unwrap();
            }
            self
        }

        fn found(&self, paths: &[PathBuf]) -> Vec<String> {
            let mut names: Vec<_> =
                paths.iter().map(|path| path.strip_prefix(&self.0).unwrap().display().to_string()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn repositories_are_found_at_any_depth_and_in_every_shape() {
        let tree = Tree::new("shapes").with(
            &["a/b/c/.git", "bare/objects", "bare/refs", "half/objects", "k/held/.git", "up/.GIT", "plain"],
            &["file", "bare/HEAD", "half/HEAD", "plain/.git"],
        );
        let tree = tree.with(&["redirected"], &["redirected/HEAD", "redirected/commondir"]);
        std::os::unix::fs::symlink("/", tree.0.join("link")).unwrap();
        let held = tree.0.join("k/held");
        let found = repositories(&tree.0, Moment::default(), &|path| path == held);
        assert_eq!(tree.found(&found.places), ["a/b/c", "plain", "up"]);
        assert_eq!(tree.found(&found.bare), ["bare", "redirected"]);
        assert_eq!(found.unseen, None);
    }

    #[test]
    fn a_directory_without_its_read_right_is_looked_into_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let tree = Tree::new("locked").with(&["closed/r/.git"], &[]);
        let closed = tree.0.join("closed");
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o311)).unwrap();
        let found = repositories(&tree.0, Moment::default(), &|_| false);
        let mode = std::fs::metadata(&closed).unwrap().permissions().mode() & 0o7777;
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(tree.found(&found.places), ["closed/r"]);
        assert_eq!(mode, 0o311);
    }

    #[test]
    fn what_lies_too_deep_is_said() {
        let tree = Tree::new("deep");
        std::fs::create_dir_all(tree.0.join("d/".repeat(DEPTH + 2))).unwrap();
        let found = repositories(&tree.0, Moment::default(), &|_| false);
        assert!(matches!(found.unseen, Some((_, TOO_DEEP))), "{:?}", found.unseen);
    }

    #[test]
    fn a_root_that_is_absent_has_nothing() {
        assert_eq!(
            repositories(Path::new("/nonexistent/swbox"), Moment::default(), &|_| false),
            Found::default()
        );
    }
}
