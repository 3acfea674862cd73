//! An inventory of a tree, taken without any part of the supervisor: kind, mode, owner, size, time, inode, content.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    /// Of everything but directories, whose size and time change with each name in them.
    size: u64,
    modified: (i64, i64),
    content: u64,
    /// The attribute that the scripts set.
    attribute: Option<Vec<u8>>,
}

fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut value = [0; 64];
    let length = rustix::fs::lgetxattr(path, "user.x", &mut value).ok()?;
    Some(value[..length].to_vec())
}

/// Every name below `root`.
pub(crate) fn take(root: &Path) -> BTreeMap<PathBuf, Item> {
    let mut found = BTreeMap::new();
    let mut rest = vec![root.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let stat = std::fs::symlink_metadata(&path).unwrap();
            let mut content = DefaultHasher::new();
            let is_directory = stat.is_dir();
            if is_directory {
                rest.push(path.clone());
            } else if stat.is_symlink() {
                std::fs::read_link(&path).unwrap().hash(&mut content);
            } else if stat.is_file() {
                // One that may not be read is told by the rest.
                std::fs::read(&path).ok().hash(&mut content);
            }
            let item = Item {
                mode: stat.mode(),
                owner: (stat.uid(), stat.gid()),
                inode: stat.ino(),
                size: if is_directory { 0 } else { stat.size() },
                modified: if is_directory { (0, 0) } else { (stat.mtime(), stat.mtime_nsec()) },
                content: content.finish(),
                attribute: attribute(&path),
            };
            found.insert(path, item);
        }
    }
    found
}

/// The names that are not what they were.
pub(crate) fn changed(
    before: &BTreeMap<PathBuf, Item>,
    after: &BTreeMap<PathBuf, Item>,
) -> BTreeSet<PathBuf> {
    let names = before.keys().chain(after.keys());
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}
