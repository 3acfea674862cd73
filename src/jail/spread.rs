//! The Landlock-only form of what mounts hide and hold: a rule only adds rights below a path, so a tree with an
//! exception in it is granted entry by entry, around the exception.
//!
//! What it costs: in a directory that was spread no new name can be made, and a name that appears later is not granted.
//!
//! Danger: an entry that is a symbolic link is never granted: its rule would be one for what it points to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::git::{Hold, Layout};
use super::plan::{Access, Grant, JailPlan, Step};

/// What must not be granted as its surroundings are.
struct Exceptions {
    /// No right at all.
    hidden: BTreeSet<PathBuf>,
    /// No right to change.
    held: BTreeSet<PathBuf>,
}

/// The plan's rules, spread around secrets, git directories and run-later files.
pub(super) fn spread(plan: &JailPlan, layout: &Layout) -> Vec<Grant> {
    let held = layout.holds.iter().filter(|(_, hold)| matches!(**hold, Hold::Copy | Hold::ReadOnly));
    let hidden = plan.steps.iter().filter_map(|step| match step {
        Step::Secret { path } => Some(path.canonicalize().unwrap_or_else(|_| path.clone())),
        _ => None,
    });
    let exceptions =
        Exceptions { hidden: hidden.collect(), held: held.map(|(path, _)| path.clone()).collect() };
    let mut grants = Vec::with_capacity(plan.landlock.grants.len());
    for grant in &plan.landlock.grants {
        // Rules hold on what a path leads to.
        match grant.path.canonicalize() {
            Ok(real) if exceptions.touch(&real, grant.access) => {
                exceptions.around(&real, grant.access, &mut grants)
            }
            Ok(_) | Err(_) => grants.push(grant.clone()),
        }
    }
    grants
}

impl Exceptions {
    /// Whether a rule for `path` would grant what it must not.
    fn touch(&self, path: &Path, access: Access) -> bool {
        let changes = !access.and(Access::CHANGE).is_empty();
        below(&self.hidden, path) || (changes && below(&self.held, path))
    }

    /// Grants `access` on `path` and what is in it, but for the exceptions.
    fn around(&self, path: &Path, access: Access, grants: &mut Vec<Grant>) {
        if self.hidden.contains(path) {
            return;
        }
        let access = if self.held.contains(path) { access.without(Access::CHANGE) } else { access };
        if !self.touch(path, access) {
            grants.push(Grant { path: path.to_owned(), access, follow: false });
            return;
        }
        // Names stay visible; contents are granted one by one.
        grants.push(Grant { path: path.to_owned(), access: access.and(Access::READ_DIR), follow: false });
        let Ok(entries) = std::fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.around(&entry.path(), access, grants);
            }
        }
    }
}

/// Whether `path` or something below it is in `set`.
fn below(set: &BTreeSet<PathBuf>, path: &Path) -> bool {
    set.range(path.to_owned()..).next().is_some_and(|first| first.starts_with(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_granted_around_its_exceptions() {
        let root = std::env::temp_dir().join(format!("swbox-spread-{}", std::process::id()));
        for directory in ["a/deep", "b", ".git"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["a/deep/secret", "a/deep/plain", "a/file", "b/file"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join("b-link")).unwrap();
        let root = root.canonicalize().unwrap();
        let exceptions = Exceptions {
            hidden: BTreeSet::from([root.join("a/deep/secret")]),
            held: BTreeSet::from([root.join(".git")]),
        };
        let everything = Access::CHANGE.with(Access::READ);
        let mut grants = Vec::new();
        exceptions.around(&root, everything, &mut grants);
        std::fs::remove_dir_all(&root).unwrap();
        let mut seen: Vec<_> = grants
            .iter()
            .map(|grant| (grant.path.strip_prefix(&root).unwrap().to_str().unwrap(), grant.access))
            .collect();
        seen.sort_unstable_by_key(|(path, _)| *path);
        assert_eq!(
            seen,
            [
                ("", Access::READ_DIR),
                (".git", Access::READ),
                ("a", Access::READ_DIR),
                ("a/deep", Access::READ_DIR),
                ("a/deep/plain", everything),
                ("a/file", everything),
                ("b", everything),
            ]
        );
    }
}
