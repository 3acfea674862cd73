//! Judging one git directory that the command may have made or changed: what in it makes git run a program, and moving
//! that out of git's sight.
//!
//! What was there before the run is told apart by the time of its last change (ctime), which no command can set. What
//! is moved stays beside where it was, under a name that git does not read, so that nothing is lost.
//!
//! Danger: the command chose every name and byte here. Nothing is written through a link, and a reading that fails
//! counts as planted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::config;
use super::survey::{Kind, is_git_directory, kind, link_target, normal, read, read_line};
use super::walk::descriptor;
use super::{Findings, Layout, Moment, Planted};

/// The largest configuration that is read; a bigger one counts as planted.
const CONFIG_LIMIT: u64 = 1 << 20;

/// What is added to a name that is taken out of git's sight.
const MOVED: &str = ".swbox-quarantined";

/// What is known while the git directories of one run are judged.
pub(super) struct Judge<'a> {
    workspace: &'a Path,
    layout: &'a Layout,
    seen: BTreeSet<PathBuf>,
    findings: &'a mut Findings,
}

impl<'a> Judge<'a> {
    pub(super) fn new(workspace: &'a Path, layout: &'a Layout, findings: &'a mut Findings) -> Self {
        Self { workspace, layout, seen: BTreeSet::new(), findings }
    }

    /// The entry `.git` of the directory `place`; whether it is one that git uses and that is as it should be.
    pub(super) fn place(&mut self, place: &Path) -> bool {
        let entry = place.join(".git");
        if self.layout.known.contains(&entry) {
            return true;
        }
        let changed = self.changed(&entry);
        match kind(&entry) {
            Kind::Missing => true,
            // A directory that is made or renamed changes, and the one around it with it; a commit changes only one.
            Kind::Directory => self.directory(&entry, place, changed && self.changed(place)),
            Kind::File => match link_target(&entry) {
                Some(target) => self.redirection(&entry, &target, place, changed),
                // Not what git takes for a link: it says so and stops.
                None => true,
            },
            Kind::Link => match entry.canonicalize() {
                Ok(target) => self.redirection(&entry, &target, place, changed),
                Err(_) => true,
            },
        }
    }

    /// A directory that is a repository by its parts.
    pub(super) fn bare(&mut self, directory: &Path) -> bool {
        if self.layout.known.iter().any(|known| known == directory) || !is_git_directory(directory) {
            return true;
        }
        self.directory(directory, directory, self.changed(directory))
    }

    /// `entry` sends git to `target`.
    fn redirection(&mut self, entry: &Path, target: &Path, place: &Path, fresh: bool) -> bool {
        let known = self.layout.known.iter().any(|known| known == target);
        if known || !fresh && !target.starts_with(self.workspace) {
            return true;
        }
        if target.starts_with(self.workspace) || self.layout.reaches(target) {
            return self.directory(target, place, fresh);
        }
        self.plant(entry, "leads out of the workspace");
        false
    }

    /// Judges `directory`, which is the repository of `place`. Where it is `fresh`, all that is in it counts as the
    /// command's.
    fn directory(&mut self, directory: &Path, place: &Path, fresh: bool) -> bool {
        if self.layout.known.iter().any(|known| known == directory) || !self.seen.insert(directory.to_owned())
        {
            return true;
        }
        let before = self.findings.planted.len();
        for part in ["config", "config.worktree"] {
            let file = directory.join(part);
            match std::fs::symlink_metadata(&file) {
                Ok(found) if found.is_file() && found.len() <= CONFIG_LIMIT => {
                    let changed = fresh || self.layout.since.is_before(&found);
                    self.settings(&file, directory, place, changed);
                }
                Ok(found) if fresh || self.layout.since.is_before(&found) => {
                    self.plant(&file, "not a plain file");
                }
                Ok(_) | Err(_) => {}
            }
        }
        let common = directory.join("commondir");
        if kind(&common) != Kind::Missing {
            let changed = fresh || self.changed(&common);
            let target = read_line(&common).and_then(|line| directory.join(line).canonicalize().ok());
            match target {
                Some(target) if self.layout.known.contains(&target) => {}
                Some(target) if target.starts_with(self.workspace) && target != directory => {
                    self.directory(&target, place, changed);
                }
                _ if changed => self.plant(&common, "redirects git"),
                _ => {}
            }
        }
        self.hooks(&directory.join("hooks"), fresh);
        self.findings.planted.len() == before
    }

    /// The settings of a configuration file.
    fn settings(&mut self, file: &Path, directory: &Path, place: &Path, changed: bool) {
        let parsed = config::parse(&String::from_utf8_lossy(&read(file, CONFIG_LIMIT)));
        if changed && parsed.unclear {
            return self.plant(file, "a line that git may read in another way");
        }
        let settings = parsed.settings;
        for setting in settings.iter().filter(|setting| config::is_executable(setting)) {
            if setting.name == "core.worktree" && self.stays_inside(directory, &setting.value) {
                continue;
            }
            if changed {
                return self.plant(file, &setting.name);
            }
            // An older setting that names something of the workspace, which the command may have changed.
            for named in config::named_paths(setting, directory, place) {
                let below = named.starts_with(self.workspace) && named != self.workspace;
                if below && (self.changed(&named) || self.changed_inside(&named)) {
                    self.plant(&named, &setting.name);
                }
            }
        }
    }

    /// Whether a work tree of that name lies in the workspace, as that of a submodule does.
    fn stays_inside(&self, directory: &Path, value: &str) -> bool {
        let tree = normal(&directory.join(value));
        tree.and_then(|tree| tree.canonicalize().ok()).is_some_and(|tree| tree.starts_with(self.workspace))
    }

    fn hooks(&mut self, hooks: &Path, fresh: bool) {
        let fresh = fresh || self.changed(hooks) && kind(hooks) == Kind::Link;
        let Ok(entries) = std::fs::read_dir(hooks) else { return };
        let live = |name: &OsString| !name.to_string_lossy().ends_with(".sample");
        let names = entries.flatten().map(|entry| entry.file_name()).filter(live);
        let hook = names.map(|name| hooks.join(name)).find(|hook| fresh || self.changed(hook));
        if hook.is_some() {
            self.plant(hooks, "a hook");
        }
    }

    /// Whether a file in the directory `path` is new or changed.
    fn changed_inside(&self, path: &Path) -> bool {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.take(1000).any(|entry| self.changed(&entry.path()))
    }

    fn changed(&self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|found| self.layout.since.is_before(&found))
    }

    /// Moves `path` out of git's sight and notes it.
    fn plant(&mut self, path: &Path, what: &str) {
        self.findings.planted.push(Planted {
            file: path.to_owned(),
            setting: what.to_owned(),
            moved: out_of_sight(path),
        });
    }
}

/// Gives `path` a name beside it that nobody reads.
fn out_of_sight(path: &Path) -> Option<PathBuf> {
    let (parent, name) = (path.parent()?, path.file_name()?);
    // Other commands of the workspace may be alive: what has become a link meanwhile would lead to a person's files.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    for attempt in 0..100 {
        let mut other = name.to_owned();
        other.push(MOVED);
        if attempt > 0 {
            other.push(format!("-{attempt}"));
        }
        let rename =
            || rustix::fs::renameat_with(&directory, name, &directory, &other, RenameFlags::NOREPLACE);
        let mut moved = rename();
        if moved == Err(Errno::ACCESS) {
            unlock(&directory);
            moved = rename();
        }
        let free =
            || rustix::fs::statat(&directory, &other, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT);
        match moved {
            Ok(()) => return Some(path.with_file_name(other)),
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS) if free() => {
                let moved = rustix::fs::renameat(&directory, name, &directory, &other);
                return moved.ok().map(|()| path.with_file_name(other));
            }
            Err(_) => return None,
        }
    }
    None
}

/// A directory without its write right keeps what is in it where it is: the owner takes the right back.
fn unlock(directory: &OwnedFd) {
    if let Ok(found) = rustix::fs::fstat(directory) {
        let mode = Mode::from_raw_mode(found.st_mode & 0o7777) | Mode::RWXU;
        // Where it fails, so does the move, and that is reported.
        let _ = rustix::fs::chmod(descriptor(directory).as_str(), mode);
    }
}

impl Moment {
    /// Whether what `found` tells of was changed at this moment or later.
    pub(super) fn is_before(self, found: &std::fs::Metadata) -> bool {
        self.is_at_most(found.ctime(), found.ctime_nsec())
    }

    /// Whether a time of change is this moment or later.
    pub(super) fn is_at_most(self, seconds: i64, nanoseconds: i64) -> bool {
        // File systems that keep whole seconds cut the rest off.
        let since = if nanoseconds == 0 { (self.seconds, 0) } else { (self.seconds, self.nanoseconds) };
        (seconds, nanoseconds) >= since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_moved_through_a_link() {
        let root = std::env::temp_dir().join(format!("swbox-judge-{}", std::process::id()));
        std::fs::create_dir_all(root.join("person/.git")).unwrap();
        let root = root.canonicalize().unwrap();
        let config = root.join("person/.git/config");
        std::fs::write(&config, "").unwrap();
        // As a command that is still alive may do it while another one's end is checked.
        std::os::unix::fs::symlink("person", root.join("place")).unwrap();
        let through = out_of_sight(&root.join("place/.git/config"));
        let stays = config.exists();
        // The twin: by its own name it is moved.
        let plain = out_of_sight(&config);
        let gone = !config.exists();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!((through, stays), (None, true));
        assert_eq!((plain, gone), (Some(root.join("person/.git/config.swbox-quarantined")), true));
    }
}
