//! What git commands changed in their copies of the repository's configuration, and what of it is written to the real one.
//!
//! Inside, `config` is a link to a copy on the scratch: git locks, writes and renames there as it is used to. Afterwards
//! the differences are judged by name and value. Either all of a file's are written, or none and the run says so: git
//! has already told its user that it was done.
//!
//! Danger: the copy is the command's. Only settings that are listed here, with values that are checked here, ever reach
//! the file; none of them makes git run a program or send anything to a place that was not there before.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::config::{self, Setting};
use super::edit::{self, Change};

/// Where the copies are inside: directly below the root, which is always the jail's own.
pub(in crate::jail) const COPIES: &str = "/.swbox-git";

/// Their directory on the scratch.
pub(in crate::jail) const ON_SCRATCH: &str = "git-copies";

/// The largest configuration that is copied.
pub(super) const LIMIT: u64 = 1 << 20;

/// A configuration of which the command has a copy: the real file, and its bytes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::jail) struct Original {
    /// Where it is.
    pub(in crate::jail) path: PathBuf,
    /// What was in it.
    pub(in crate::jail) bytes: Vec<u8>,
}

/// What became of the changes to one configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The file.
    pub file: PathBuf,
    /// The settings that differ.
    pub settings: Vec<String>,
    /// Why none of them was written; absent where all were.
    pub refused: Option<String>,
}

/// Judges all copies on `scratch` and writes what may be written.
pub(in crate::jail) fn write_back(originals: &[Original], scratch: &OwnedFd) -> Vec<ConfigChange> {
    let changes = originals
        .iter()
        .enumerate()
        .filter_map(|(number, original)| one(original, copy(scratch, number).as_deref()));
    changes.collect()
}

/// The bytes of a copy; `None` where it is gone or no file that could be written.
fn copy(scratch: &OwnedFd, number: usize) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let name = format!("{ON_SCRATCH}/{number}/config");
    let file = rustix::fs::openat2(scratch, name, flags, Mode::empty(), resolve).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    let plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !plain || u64::try_from(found.st_size).ok()? > LIMIT {
        return None;
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::from(file), LIMIT), &mut bytes)
        .ok()?;
    Some(bytes)
}

fn one(original: &Original, copy: Option<&[u8]>) -> Option<ConfigChange> {
    let Some(copy) = copy else {
        let refused = Some("the command removed it or made something else of it".to_owned());
        return Some(ConfigChange { file: original.path.clone(), settings: Vec::new(), refused });
    };
    if copy == original.bytes {
        return None;
    }
    let (old, new) = (config::settings(&original.bytes), config::settings(copy));
    let changes = edit::differences(&old, &new);
    if changes.is_empty() {
        return None;
    }
    let refused =
        changes.iter().find_map(|change| Some(format!("{} {}", change.name, objection(change, &old)?)));
    let refused = refused.or_else(|| write(&original.path, &changes).err());
    let settings = changes.into_iter().map(|change| change.name).collect();
    Some(ConfigChange { file: original.path.clone(), settings, refused })
}

/// Why a change may not be written, if it may not.
fn objection(change: &Change, old: &[Setting]) -> Option<&'static str> {
    const OTHER: &str = "is not among the settings that a command may change";
    let Some((section, Some(subsection), key)) = edit::parts(&change.name) else { return Some(OTHER) };
    let all = |check: &dyn Fn(&str) -> bool| change.values.iter().all(|value| check(value));
    let remote = |value: &str| value == "." || config::last(old, &format!("remote.{value}.url")).is_some();
    let moved = || {
        // `git branch -m` takes what the old name had along.
        old.iter().any(|setting| {
            edit::parts(&setting.name).is_some_and(|(section, _, other)| section == "branch" && other == key)
                && edit::values(old, &setting.name) == change.values
        })
    };
    let (may, otherwise) = match (section, key) {
        ("branch", _) if change.values.is_empty() || moved() => (true, OTHER),
        ("branch", "remote" | "pushremote") => (all(&remote), "names no remote that was there before"),
        ("branch", "merge") => (all(&|value| value.starts_with("refs/")), "is no name of a ref"),
        ("branch", "rebase") => (
            all(&|value| matches!(value, "true" | "false" | "merges" | "interactive")),
            "has a value that is not known",
        ),
        ("branch", "description" | "vscode-merge-base" | "gh-merge-base") => (true, OTHER),
        ("remote", "fetch") => (
            config::last(old, &format!("remote.{subsection}.url")).is_some()
                && !change.values.is_empty()
                && all(&fetches_aside),
            "would fetch over branches, or is of no remote that was there before",
        ),
        ("submodule", "url") => (all(&plain_url), "is no plain URL"),
        ("submodule", "active") => {
            (all(&|value| matches!(value, "true" | "false")), "is neither true nor false")
        }
        ("submodule", "update") => (
            all(&|value| matches!(value, "checkout" | "rebase" | "merge" | "none")),
            "has a value that is not known",
        ),
        _ => (false, OTHER),
    };
    (!may).then_some(otherwise)
}

/// Whether a refspec writes remote-tracking branches only.
fn fetches_aside(refspec: &str) -> bool {
    let refspec = refspec.strip_prefix('+').unwrap_or(refspec);
    match refspec.split_once(':') {
        Some((source, destination)) => {
            source.starts_with("refs/") && destination.starts_with("refs/remotes/")
        }
        None => refspec.starts_with("^refs/"),
    }
}

/// Whether a URL starts no program of its own choice.
fn plain_url(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let known = scheme.is_none_or(|scheme| ["file", "git", "http", "https", "ssh"].contains(&scheme));
    known
        && !url.is_empty()
        && !url.starts_with('-')
        && !url.contains("::")
        && !url.contains(char::is_control)
}

/// Writes the changes into the file as it is now, under git's own lock.
fn write(path: &Path, changes: &[Change]) -> Result<(), String> {
    let failed = |error: rustix::io::Errno| {
        if error == rustix::io::Errno::EXIST {
            "config.lock exists: another git writes it".to_owned()
        } else {
            std::io::Error::from(error).to_string()
        }
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err("it has no directory".to_owned());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        rustix::fs::openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map_err(failed)?;
    let mut lock = name.to_owned();
    lock.push(".lock");
    let found =
        rustix::fs::statat(&directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(&directory, &lock, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
    let done = replace(&directory, name, &file, changes).and_then(|()| {
        let mode = Mode::from_raw_mode(found.st_mode & 0o777);
        rustix::fs::fchmod(&file, mode)?;
        rustix::fs::renameat(&directory, &lock, &directory, name)
    });
    done.map_err(|error| {
        // The lock is this process's own.
        let _ = rustix::fs::unlinkat(&directory, &lock, rustix::fs::AtFlags::empty());
        failed(error)
    })
}

fn replace(
    directory: impl AsFd,
    name: &std::ffi::OsStr,
    file: &OwnedFd,
    changes: &[Change],
) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let current = rustix::fs::openat(directory, name.as_bytes(), flags, Mode::empty())?;
    let mut text = String::new();
    let mut current = std::io::Read::take(std::fs::File::from(current), LIMIT);
    std::io::Read::read_to_string(&mut current, &mut text).map_err(|_| rustix::io::Errno::ILSEQ)?;
    let changed = edit::apply(&text, changes).ok_or(rustix::io::Errno::ILSEQ)?;
    crate::jail::points::write_all(file, changed.as_bytes()).map_err(|_| rustix::io::Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /r\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                       [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tmergeOptions = --no-ff\n";

    fn refused(more: &str) -> Option<String> {
        let old = config::settings(OLD.as_bytes());
        let new = config::settings(format!("{OLD}{more}").as_bytes());
        let changes = edit::differences(&old, &new);
        assert!(!changes.is_empty(), "{more}");
        changes.iter().find_map(|change| Some(format!("{} {}", change.name, objection(change, &old)?)))
    }

    #[test]
    fn what_git_itself_writes_is_written_back() {
        for more in [
            "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n",
            "[branch \"x\"]\n\tremote = .\n\tmerge = refs/heads/main\n\trebase = true\n",
            "[branch \"x\"]\n\tmergeOptions = --no-ff\n",
            "[branch \"x\"]\n\tdescription = any text at all\n",
            "[remote \"origin\"]\n\tfetch = +refs/heads/x:refs/remotes/origin/x\n",
            "[submodule \"lib\"]\n\tactive = true\n\turl = https://example.org/lib\n",
            "[submodule \"lib\"]\n\turl = ../lib.git\n\tupdate = rebase\n",
            "[submodule \"lib\"]\n\turl = git@example.org:a/lib.git\n",
        ] {
            assert_eq!(refused(more), None, "{more}");
        }
    }

    #[test]
    fn what_runs_redirects_or_overwrites_is_not() {
        for more in [
            "[core]\n\tfsmonitor = x\n",
            "[core]\n\tbare = true\n",
            "[user]\n\temail = x@y\n",
            "[branch \"x\"]\n\tmergeOptions = -s evil\n",
            "[branch \"x\"]\n\tremote = https://example.org/x\n",
            "[branch \"x\"]\n\tpushRemote = ext::sh -c x\n",
            "[branch \"x\"]\n\tmerge = -x\n",
            "[branch \"x\"]\n\tunknown = y\n",
            "[branch]\n\tautoSetupMerge = always\n",
            "[remote \"origin\"]\n\turl = https://example.org/x\n",
            "[remote \"origin\"]\n\tpushurl = https://example.org/x\n",
            "[remote \"origin\"]\n\tuploadpack = x\n",
            "[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/heads/*\n",
            "[remote \"new\"]\n\tfetch = +refs/heads/*:refs/remotes/new/*\n",
            "[remote \"new\"]\n\turl = /x\n",
            "[submodule \"lib\"]\n\tupdate = !x\n",
            "[submodule \"lib\"]\n\turl = ext::sh -c x\n",
            "[submodule \"lib\"]\n\turl = -x\n",
            "[submodule \"lib\"]\n\turl = rad://x\n",
            "[include]\n\tpath = x\n",
            "[extensions]\n\tworktreeConfig = true\n",
        ] {
            assert!(refused(more).is_some(), "{more}");
        }
    }
}
