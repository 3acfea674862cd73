//! What became of the files that were changed since a person approved last: lines that came and went.
//!
//! Danger: a person judges by these numbers, so an agent must not be able to make a change look small. Files that a person
//! was asked about before are compared by lines that swbox noted then; for the others git tells, from the commit that the
//! session began at, in a jail that can only read, without the programs and replacements that a repository may name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::jail::{self, Exit};
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::service::own_files::read;
use crate::service::request::{Command, Law, Observe, Run};
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::store::{Hash, Seen};

/// Files that are looked at; more are only named.
const MOST: usize = 500;

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its path below the workspace.
    pub path: String,
    /// Lines that came; none where they cannot be counted.
    pub added: Option<u64>,
    /// Lines that went.
    pub removed: Option<u64>,
    /// `changed`, `new`, `gone`, `same` (as at the last approval), `binary`, `unknown`.
    pub how: &'static str,
}

impl Changed {
    /// A file of which nothing but its name is known.
    pub(super) fn named(path: &str) -> Self {
        Self { path: path.to_owned(), added: None, removed: None, how: "unknown" }
    }
}

/// How these files of a session's workspace differ from what a person last saw, or from the session's beginning.
pub(super) fn since(setting: &Setting, base: &str, seen: &[Seen], files: &[String]) -> Vec<Changed> {
    let workspace = &setting.place.workspace;
    let counted = &files[..files.len().min(MOST)];
    let known: BTreeMap<&str, &Seen> = seen.iter().map(|one| (one.path.as_str(), one)).collect();
    let others: Vec<&String> = counted.iter().filter(|path| !known.contains_key(path.as_str())).collect();
    let told = if base.is_empty() || others.is_empty() {
        BTreeMap::new()
    } else {
        numbers(setting, base, &others).unwrap_or_default()
    };
    let one = |path: &String| match (known.get(path.as_str()), told.get(path.as_str())) {
        (Some(before), _) => compare(path, before, lines_of(&workspace.join(path))),
        (None, Some((added, removed))) => from_git(workspace, path, *added, *removed),
        (None, None) => untold(workspace, path, !base.is_empty()),
    };
    let rest = files[counted.len()..].iter().map(|path| Changed::named(path));
    counted.iter().map(one).chain(rest).collect()
}

/// What is to be noted of these files, now that a person has seen them.
pub(super) fn note(workspace: &Path, files: impl Iterator<Item = String>) -> Vec<Seen> {
    let noted = files.take(MOST).map(|path| match lines_of(&workspace.join(&path)) {
        Content::Lines(lines) => Seen { path, there: true, lines: Some(lines) },
        Content::Gone => Seen { path, there: false, lines: None },
        Content::Binary => Seen { path, there: true, lines: None },
    });
    noted.collect()
}

/// What a file holds, as far as lines go.
enum Content {
    /// A digest of each line.
    Lines(Vec<u64>),
    Gone,
    /// No text, too large, or no regular file.
    Binary,
}

fn lines_of(path: &Path) -> Content {
    match path.symlink_metadata() {
        Err(_) => return Content::Gone,
        Ok(meta) if !meta.is_file() => return Content::Binary,
        Ok(_) => {}
    }
    match read(path) {
        Ok(bytes) if !bytes.contains(&0) => {
            let lines = bytes.split_inclusive(|byte| *byte == b'\n');
            Content::Lines(lines.map(digest).collect())
        }
        Ok(_) | Err(_) => Content::Binary,
    }
}

/// Eight bytes of a line's hash: what a file held is not kept.
fn digest(line: &[u8]) -> u64 {
    Hash::of(line).0[..8].iter().fold(0, |all, byte| (all << 8) | u64::from(*byte))
}

fn compare(path: &str, before: &Seen, now: Content) -> Changed {
    let of = |added, removed, how| Changed { path: path.to_owned(), added, removed, how };
    match (&before.lines, before.there, now) {
        (Some(before), _, Content::Lines(now)) => {
            let (mut added, mut removed) = (0, 0);
            for op in capture_diff_slices(Algorithm::Myers, before, &now) {
                match op {
                    DiffOp::Equal { .. } => {}
                    DiffOp::Delete { old_len, .. } => removed += old_len as u64,
                    DiffOp::Insert { new_len, .. } => added += new_len as u64,
                    DiffOp::Replace { old_len, new_len, .. } => {
                        removed += old_len as u64;
                        added += new_len as u64;
                    }
                }
            }
            of(Some(added), Some(removed), if added + removed == 0 { "same" } else { "changed" })
        }
        (Some(before), _, Content::Gone) => of(Some(0), Some(before.len() as u64), "gone"),
        (None, false, Content::Lines(now)) => of(Some(now.len() as u64), Some(0), "new"),
        (None, false, Content::Gone) => of(Some(0), Some(0), "same"),
        (None, true, Content::Gone) => of(None, None, "gone"),
        (Some(_), _, Content::Binary) | (None, _, Content::Binary) => of(None, None, "binary"),
        (None, true, Content::Lines(_)) => of(None, None, "changed"),
    }
}

fn from_git(workspace: &Path, path: &str, added: Option<u64>, removed: Option<u64>) -> Changed {
    let there = workspace.join(path).symlink_metadata().is_ok();
    let how = match (added, removed, there) {
        (None, ..) | (_, None, _) => "binary",
        (Some(_), Some(_), false) => "gone",
        (Some(_), Some(_), true) => "changed",
    };
    Changed { path: path.to_owned(), added, removed, how }
}

/// A file that git does not tell of: new, or as it was when the session began.
fn untold(workspace: &Path, path: &str, has_git: bool) -> Changed {
    match lines_of(&workspace.join(path)) {
        Content::Lines(lines) if has_git => {
            Changed { path: path.to_owned(), added: Some(lines.len() as u64), removed: Some(0), how: "new" }
        }
        Content::Gone => Changed { how: "gone", ..Changed::named(path) },
        Content::Binary => Changed { how: "binary", ..Changed::named(path) },
        Content::Lines(_) => Changed::named(path),
    }
}

/// Lines that came and went by git's word; none of either where it calls a file binary.
type Numbers = BTreeMap<String, (Option<u64>, Option<u64>)>;

/// What git says of files against a commit. None where it cannot be asked.
fn numbers(setting: &Setting, base: &str, files: &[&String]) -> Option<Numbers> {
    let words = ["git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "diff"];
    let options =
        ["--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", base, "--"];
    let argv = words.iter().chain(&options).map(OsString::from);
    let run = Run {
        law: Law::default(),
        command: Command::Argv(argv.chain(files.iter().map(OsString::from)).collect()),
        timeout: Some(std::time::Duration::from_secs(20)),
        capture: true,
        dry_run: false,
        observe: Observe::Off,
        events: None,
    };
    let rights = Rights {
        workspace: WorkspaceRight::Read,
        git_write: false,
        network: NetworkRight::None,
        narrowed: Vec::new(),
    };
    let mut plan = plain::plan(setting, &rights, false, &run.command, run.timeout, jail::plan).ok()?;
    plan.cwd.clone_from(&setting.place.workspace);
    for (name, value) in [("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_OPTIONAL_LOCKS", "0")] {
        plan.env.insert(name.into(), value.into());
    }
    let outcome = jail::launch(&plan, plain::capture(&run, &plan)).ok()?;
    let (out, _) = outcome.output.as_ref()?;
    if outcome.exit != Exit::Code(0) || out.dropped() > 0 {
        return None;
    }
    let text = String::from_utf8(out.head.clone()).ok()?;
    let mut numbers = Numbers::new();
    for record in text.split('\0').filter(|record| !record.is_empty()) {
        let mut fields = record.splitn(3, '\t');
        let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
        numbers.insert(path.to_owned(), (added.parse().ok(), removed.parse().ok()));
    }
    // Asked for, tracked, and not named: as it was.
    Some(numbers)
}

/// The commit that a workspace's repository is at; empty where there is none.
pub(super) fn head(workspace: &Path) -> String {
    let text = |path: PathBuf| read(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let dot_git = workspace.join(".git");
    let directory = match text(dot_git.clone()) {
        // A linked worktree.
        Some(link) => match link.strip_prefix("gitdir: ") {
            Some(place) => workspace.join(place.trim_end()),
            None => return String::new(),
        },
        None => dot_git,
    };
    let Some(head) = text(directory.join("HEAD")) else { return String::new() };
    let common = text(directory.join("commondir"))
        .map_or(directory.clone(), |common| directory.join(common.trim_end()));
    let commit = match head.trim_end().strip_prefix("ref: ") {
        None => Some(head.trim_end().to_owned()),
        Some(name) => text(common.join(name)).map(|commit| commit.trim_end().to_owned()).or_else(|| {
            let packed = text(common.join("packed-refs"))?;
            let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
            line.split(' ').next().map(str::to_owned)
        }),
    };
    let is_commit =
        |commit: &String| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    commit.filter(is_commit).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_with_what_a_person_saw() {
        let place = std::env::temp_dir().join(format!("swbox-changes-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let write = |name: &str, text: &str| std::fs::write(place.join(name), text).unwrap();
        for name in ["kept", "edited", "removed", "dark"] {
            write(name, "one\ntwo\nthree\n");
        }
        let names = ["kept", "edited", "removed", "dark", "made"].map(str::to_owned);
        let seen = note(&place, names.iter().cloned());
        write("edited", "one\n2\nthree\nfour\n");
        write("made", "x\n");
        write("dark", "\0");
        std::fs::remove_file(place.join("removed")).unwrap();
        let told: Vec<_> = seen
            .iter()
            .map(|before| compare(&before.path, before, lines_of(&place.join(&before.path))))
            .map(|change| (change.how, change.added, change.removed))
            .collect();
        assert_eq!(
            told,
            [
                ("same", Some(0), Some(0)),
                ("changed", Some(2), Some(1)),
                ("gone", Some(0), Some(3)),
                ("binary", None, None),
                ("new", Some(1), Some(0)),
            ]
        );
        std::fs::remove_dir_all(&place).unwrap();
    }
}
