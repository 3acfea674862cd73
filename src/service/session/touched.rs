//! Which workspace files a command touched: as they were seen to be touched, by whatever program. Where nobody watches
//! there are two other sources, both by looking before and after: the whole workspace where the workflow depends on it,
//! else the files that the line names.
//!
//! Danger: a source that misses a file is a hook that does not fire. Each result says which source it is from, and none
//! is claimed where none could be had.

use std::path::{Path, PathBuf};

use super::tree::Tree;
use crate::classify::{Classification, OpClass, Subject};
use crate::service::effects;
use crate::shell::Trust;

/// The look before a command.
#[derive(Debug)]
pub(super) enum Watch {
    /// Nothing is looked at.
    Nothing,
    /// The whole workspace.
    Whole(Box<Tree>),
    /// The files that the line names.
    Named(Vec<PathBuf>, Box<Tree>),
}

/// What was touched, and how that is known: `observed`, `looked`, `named`, or `none`.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) source: &'static str,
    pub(super) files: Option<Vec<String>>,
    /// Whether what was seen can be all. The files that a line names are not: a link leads to another one, and a program
    /// may do more than is known of it.
    pub(super) whole: bool,
}

impl Watch {
    /// Looks as far as is needed: `whole` where the workflow depends on which files are touched.
    pub(super) fn begin(workspace: &Path, reading: &Classification, whole: bool) -> Self {
        if whole {
            return Tree::look(workspace).map_or(Self::Nothing, |tree| Self::Whole(Box::new(tree)));
        }
        match named(workspace, reading) {
            Some(paths) if !paths.is_empty() => {
                let tree = Box::new(Tree::look_at(workspace, &paths));
                Self::Named(paths, tree)
            }
            Some(_) | None => Self::Nothing,
        }
    }

    /// What was seen, or else what another look shows.
    pub(super) fn finish(self, workspace: &Path, seen: Option<&effects::Touched>) -> Touched {
        if let Some(seen) = seen {
            let files = seen.files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            return Touched { source: "observed", files: Some(files), whole: seen.whole };
        }
        let (source, files) = match self {
            Self::Nothing => ("none", None),
            Self::Whole(before) => match Tree::look(workspace) {
                Some(after) => ("looked", Some(before.changed_until(&after))),
                None => ("none", None),
            },
            Self::Named(paths, before) => {
                ("named", Some(before.changed_until(&Tree::look_at(workspace, &paths))))
            }
        };
        Touched { source, files, whole: source == "looked" }
    }
}

/// The files below the workspace that a line writes, where its text shows all of them.
fn named(workspace: &Path, reading: &Classification) -> Option<Vec<PathBuf>> {
    if reading.trust != Trust::Trusted || reading.opaque.is_some() {
        return None;
    }
    let mut paths = Vec::new();
    for op in reading.segments.iter().flat_map(|segment| &segment.ops) {
        if !matches!(op.class, OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive) {
            continue;
        }
        let Subject::Path(path) = &op.subject else { return None };
        if let Ok(below) = Path::new(path).strip_prefix(workspace) {
            // What lies below a directory is not named.
            if workspace.join(below).is_dir() {
                return None;
            }
            paths.push(below.to_owned());
        }
    }
    Some(paths)
}
