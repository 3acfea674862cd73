//! Declared outputs: what a successful command left of them in its throw-away layer is copied into the workspace, when
//! nothing of the command is alive.
//!
//! Regular files and directories only. Both sides are opened below a descriptor and through no link, a file is made
//! under no name and then put in place whole, so that neither a link in the layer nor one in the workspace leads
//! anywhere. What the command removed stays.
//!
//! Danger: the command chose every name, mode and byte. Nothing that git or an editor would obey may come out.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

/// Where on the scratch outputs may be: the upper half of the layer, and what stands in for it where there is no layer.
pub(super) const SOURCES: [&str; 2] = ["upper", KEPT];

/// The directory of the scratch that stands in for the upper half.
pub(super) const KEPT: &str = "kept";

/// How many files and directories are copied at most.
const ITEMS: usize = 100_000;

/// How many bytes are copied at most, where the layer itself has no limit.
const BYTES: u64 = 4 << 30;

/// Directories deeper than this are left out.
const DEPTH: usize = 100;

/// How many of those that were left out are named.
const NAMED: usize = 20;

/// Names that make a directory a repository.
const PARTS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// What is to be kept of a throw-away layer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Outputs {
    /// Files and directories, relative to the workspace.
    pub paths: Vec<PathBuf>,
    /// Names that never come out, wherever they are: run-later files and what else is protected.
    pub never: Vec<PathBuf>,
}

/// What became of the outputs.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// How many files were copied.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The declared outputs that they are of.
    pub paths: Vec<PathBuf>,
    /// What was left out, and why: the first of them.
    pub left: Vec<(PathBuf, &'static str)>,
    /// How many more were.
    pub more_left: u64,
    /// Why not all was copied that should have been (then the run is 125).
    pub problem: Option<String>,
}

/// Copies the outputs from `scratch` to `workspace`; `limit` is that of the layer.
pub(super) fn keep(outputs: &Outputs, scratch: &OwnedFd, workspace: &OwnedFd, limit: Option<u64>) -> Kept {
    let mut keeper = Keeper {
        outputs,
        workspace,
        limit: limit.unwrap_or(BYTES),
        items: BTreeMap::new(),
        total: 0,
        kept: Kept::default(),
    };
    for source in SOURCES {
        let Ok(source) = beneath(scratch, Path::new(source), OFlags::PATH | OFlags::DIRECTORY) else {
            continue;
        };
        keeper.items.clear();
        let collected = outputs.paths.iter().try_for_each(|path| keeper.collect(&source, path));
        let copied = collected.and_then(|()| keeper.copy(&source));
        if let Err(problem) = copied {
            keeper.kept.problem = Some(problem);
            break;
        }
    }
    keeper.kept
}

/// Something to copy.
#[derive(Debug, Clone, Copy)]
enum Item {
    Directory { mode: Mode },
    File,
}

struct Keeper<'a> {
    outputs: &'a Outputs,
    workspace: &'a OwnedFd,
    limit: u64,
    /// By path, so that directories come before what is in them.
    items: BTreeMap<PathBuf, Item>,
    total: u64,
    kept: Kept,
}

impl Keeper<'_> {
    fn leave(&mut self, path: &Path, why: &'static str) {
        if self.kept.left.len() < NAMED {
            self.kept.left.push((path.to_owned(), why));
        } else {
            self.kept.more_left += 1;
        }
    }

    /// Whether `path` has a name that may not come out.
    fn forbidden(&self, path: &Path) -> Option<&'static str> {
        if path.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(b".git")) {
            return Some("a git directory");
        }
        let names: Vec<&OsStr> = path.iter().collect();
        let never = self.outputs.never.iter().map(|never| never.iter().collect::<Vec<_>>());
        let meets =
            |never: Vec<&OsStr>| !never.is_empty() && names.windows(never.len()).any(|part| part == never);
        never.into_iter().any(meets).then_some("a file that other programs would run or obey")
    }

    /// Finds what there is of one declared output.
    fn collect(&mut self, source: &OwnedFd, path: &Path) -> Result<(), String> {
        if let Some(why) = self.forbidden(path) {
            self.leave(path, why);
            return Ok(());
        }
        match beneath(source, path, OFlags::PATH) {
            // Nothing was written there.
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(Errno::LOOP | Errno::XDEV) => {
                self.leave(path, "a link");
                Ok(())
            }
            Err(error) => Err(self.failed(path, error)),
            Ok(found) => {
                let stat = rustix::fs::fstat(&found).map_err(|error| self.failed(path, error))?;
                let before = self.items.len();
                self.add(source, path, &stat, 0)?;
                if self.items.len() > before {
                    let parents: Vec<&Path> =
                        path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).collect();
                    for parent in parents {
                        let mode = Mode::from_raw_mode(0o755);
                        self.items.entry(parent.to_owned()).or_insert(Item::Directory { mode });
                    }
                    self.kept.paths.push(path.to_owned());
                }
                Ok(())
            }
        }
    }

    fn add(&mut self, source: &OwnedFd, path: &Path, stat: &Stat, depth: usize) -> Result<(), String> {
        if let Some(why) = self.forbidden(path) {
            self.leave(path, why);
            return Ok(());
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                // Counted as it would be in the workspace: a hole of a sparse file costs nothing in the layer.
                self.total = self.total.saturating_add(u64::try_from(stat.st_size).unwrap_or(u64::MAX));
                self.items.insert(path.to_owned(), Item::File);
            }
            FileType::Directory if depth >= DEPTH => self.leave(path, "it lies too deep"),
            FileType::Directory => {
                let mode = Mode::from_raw_mode(stat.st_mode & 0o777 | 0o700);
                self.directory(source, path, mode, depth)?;
            }
            // The layer's note that something of this name was removed.
            FileType::CharacterDevice if stat.st_rdev == 0 => {}
            FileType::Symlink => self.leave(path, "a link"),
            _ => self.leave(path, "neither a file nor a directory"),
        }
        if self.items.len() > ITEMS {
            return Err(format!("the outputs are more than {ITEMS} files"));
        }
        if self.total > self.limit {
            return Err(format!("the outputs are larger than {} bytes, the limit `scratch`", self.limit));
        }
        Ok(())
    }

    fn directory(&mut self, source: &OwnedFd, path: &Path, mode: Mode, depth: usize) -> Result<(), String> {
        let opened = match beneath(source, path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::ACCESS) => {
                self.leave(path, "it cannot be read");
                return Ok(());
            }
            opened => opened.map_err(|error| self.failed(path, error))?,
        };
        let mut names: Vec<OsString> = Vec::new();
        for entry in Dir::read_from(&opened).map_err(|error| self.failed(path, error))? {
            let entry = entry.map_err(|error| self.failed(path, error))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        if self.becomes_repository(path, &names) {
            self.leave(path, "a git directory");
            return Ok(());
        }
        self.items.insert(path.to_owned(), Item::Directory { mode });
        for name in names {
            let below = path.join(&name);
            match rustix::fs::statat(&opened, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => self.add(source, &below, &stat, depth + 1)?,
                Err(error) => return Err(self.failed(&below, error)),
            }
        }
        Ok(())
    }

    /// Whether the directory would be a repository with these names beside those that are in the workspace.
    fn becomes_repository(&self, path: &Path, names: &[OsString]) -> bool {
        let [head, objects, refs, common] = PARTS.map(|part| {
            names.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(part.as_bytes()))
                || beneath(self.workspace, &path.join(part), OFlags::PATH).is_ok()
        });
        head && (objects && refs || common)
    }

    /// Copies what was collected.
    fn copy(&mut self, source: &OwnedFd) -> Result<(), String> {
        for (path, item) in std::mem::take(&mut self.items) {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let parent = match beneath(self.workspace, parent, OFlags::PATH | OFlags::DIRECTORY) {
                Ok(parent) => parent,
                Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NOENT) => {
                    self.leave(&path, "a link or something else is in its way");
                    continue;
                }
                Err(error) => return Err(self.failed(&path, error)),
            };
            let there = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
            let there = there.ok().map(|stat| FileType::from_raw_mode(stat.st_mode));
            let done = match (item, there) {
                (Item::Directory { mode }, None) => rustix::fs::mkdirat(&parent, name, mode),
                (Item::Directory { .. }, Some(FileType::Directory)) => Ok(()),
                (Item::File, None | Some(FileType::RegularFile)) => self.file(source, &path, &parent, name),
                _ => {
                    self.leave(&path, "something else is in its place");
                    continue;
                }
            };
            done.map_err(|error| self.failed(&path, error))?;
        }
        Ok(())
    }

    /// Copies one file: made without a name, then given its name in one step.
    fn file(
        &mut self,
        source: &OwnedFd,
        path: &Path,
        parent: &OwnedFd,
        name: &OsStr,
    ) -> rustix::io::Result<()> {
        let original = match beneath(source, path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(Errno::ACCESS) => {
                self.leave(path, "it cannot be read");
                return Ok(());
            }
            original => original?,
        };
        let found = rustix::fs::fstat(&original)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        let own = Mode::RUSR | Mode::WUSR;
        let fresh = format!(".swbox-output-{}", std::process::id());
        let made = rustix::fs::openat(parent, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, own);
        let (copy, nameless) = match made {
            Ok(copy) => (copy, true),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                (rustix::fs::openat(parent, &fresh, flags, own)?, false)
            }
            Err(error) => return Err(error),
        };
        let done = self.fill(original, &found, copy, |copy| {
            if nameless {
                let from = format!("/proc/self/fd/{}", copy.as_raw_fd());
                rustix::fs::linkat(rustix::fs::CWD, from, parent, &fresh, AtFlags::SYMLINK_FOLLOW)?;
            }
            rustix::fs::renameat(parent, &fresh, parent, name)
        });
        if done.is_err() {
            // Nobody else has a file of that name.
            let _ = rustix::fs::unlinkat(parent, &fresh, AtFlags::empty());
        }
        done
    }

    fn fill(
        &mut self,
        original: OwnedFd,
        found: &Stat,
        copy: OwnedFd,
        place: impl FnOnce(&File) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<()> {
        let size = u64::try_from(found.st_size).unwrap_or_default();
        let mut copy = File::from(copy);
        let copied = std::io::copy(&mut File::from(original).take(size), &mut copy)
            .map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))?;
        // Without the bits that give rights to whoever runs it.
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(found.st_mode & 0o777))?;
        let time = |seconds: i64, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let changed = time(found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or_default());
        rustix::fs::futimens(&copy, &Timestamps { last_access: changed, last_modification: changed })?;
        place(&copy)?;
        self.kept.files += 1;
        self.kept.bytes += copied;
        Ok(())
    }

    fn failed(&self, path: &Path, error: Errno) -> String {
        format!("{}: {}", path.display(), std::io::Error::from(error))
    }
}

/// Opens `path` below `directory`, through no link and no mount.
fn beneath(directory: &OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let opened = rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve)?;
    if flags.contains(OFlags::PATH) {
        // A link as the last name opens as itself.
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        if kind == FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(opened)
}
