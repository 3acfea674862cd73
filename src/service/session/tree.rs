//! What the workspace looks like, by names and times: a fingerprint for evidence, and what changed between two looks.
//!
//! Danger: a file that is written and then restored with its times, or written and removed between the looks, is not
//! seen. The look is what there is until writes are observed as they happen; the result says which it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::Hash;

/// Names that are looked at in one workspace; a larger one is not.
const MOST: usize = 200_000;

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Look {
    fn of(meta: &fs::Metadata) -> Self {
        Self {
            inode: meta.ino(),
            mode: meta.mode(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A look at a whole workspace but for its git directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    files: BTreeMap<PathBuf, Look>,
    git: Vec<Vec<u8>>,
}

impl Tree {
    /// Looks; none where the workspace is too large or a directory cannot be listed.
    pub(super) fn look(workspace: &Path) -> Option<Self> {
        let mut files = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in fs::read_dir(workspace.join(&below)).ok()? {
                let entry = entry.ok()?;
                if entry.file_name() == ".git" {
                    continue;
                }
                let path = below.join(entry.file_name());
                // Gone since it was listed.
                let Ok(meta) = entry.metadata() else { continue };
                if meta.is_dir() {
                    open.push(path);
                    continue;
                }
                if files.len() >= MOST {
                    return None;
                }
                files.insert(path, Look::of(&meta));
            }
        }
        let git =
            ["HEAD", "index"].map(|name| fs::read(workspace.join(".git").join(name)).unwrap_or_default());
        Some(Self { files, git: git.to_vec() })
    }

    /// Looks at these files alone.
    pub(super) fn look_at(workspace: &Path, paths: &[PathBuf]) -> Self {
        let mut files = BTreeMap::new();
        for path in paths {
            if let Ok(meta) = workspace.join(path).symlink_metadata() {
                files.insert(path.clone(), Look::of(&meta));
            }
        }
        Self { files, git: Vec::new() }
    }

    /// The paths that were made, changed or removed since.
    pub(super) fn changed_until(&self, later: &Self) -> Vec<String> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let gone = self.files.keys().filter(|path| !later.files.contains_key(*path));
        let new = later.files.iter().filter(|(path, look)| self.files.get(*path) != Some(look));
        let mut paths: Vec<String> = gone.chain(new.map(|(path, _)| path)).map(text).collect();
        paths.sort();
        paths
    }

    /// A digest of all of it.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = Vec::new();
        for part in &self.git {
            text.extend(Hash::of(part).0);
        }
        for (path, look) in &self.files {
            text.extend(path.as_os_str().as_bytes());
            text.push(0);
            text.extend(format!("{look:?}\n").into_bytes());
        }
        Hash::of(&text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_changed_and_removed_is_seen() {
        let place = std::env::temp_dir().join(format!("swbox-tree-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("a/b")).unwrap();
        fs::create_dir_all(place.join(".git")).unwrap();
        for name in ["kept", "a/changed", "a/b/gone", ".git/x"] {
            fs::write(place.join(name), "one").unwrap();
        }
        let before = Tree::look(&place).unwrap();
        assert_eq!(before.changed_until(&Tree::look(&place).unwrap()), Vec::<String>::new());
        assert_eq!(before.fingerprint(), Tree::look(&place).unwrap().fingerprint());
        fs::write(place.join("a/changed"), "other").unwrap();
        fs::remove_file(place.join("a/b/gone")).unwrap();
        fs::write(place.join("a/new"), "").unwrap();
        fs::write(place.join(".git/x"), "two").unwrap();
        let after = Tree::look(&place).unwrap();
        assert_eq!(before.changed_until(&after), ["a/b/gone", "a/changed", "a/new"]);
        assert_ne!(before.fingerprint(), after.fingerprint());
        fs::remove_dir_all(&place).unwrap();
    }
}
