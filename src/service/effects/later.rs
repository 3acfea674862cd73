//! Run-later files below the top of the workspace (`packages/web/.vscode`, `sub/.envrc`): what a command made or changed
//! of them. At the top they are read-only where they exist; below it they are not looked for before a run, and told after it.
//!
//! Danger: told is not held. What nobody watched is not told either.

use std::path::{Path, PathBuf};

use super::Touched;
use crate::profile::value::Below;

/// How many are named.
const MOST: usize = 20;

/// Those of the touched files that are there and that others run, or the directory of that name that they lie in.
pub(in crate::service) fn later(touched: &Touched, names: &[Below], workspace: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for file in &touched.files {
        let above = file.ancestors().filter(|path| {
            // Names of several parts (`.github/workflows`) count at the top alone, and there the jail holds them.
            let below = path.parent().is_some_and(|parent| !parent.as_os_str().is_empty());
            below && names.iter().any(|name| path.file_name() == Some(name.0.as_os_str()))
        });
        let Some(path) = above.last().map(|path| workspace.join(path)) else { continue };
        if found.len() < MOST && !found.contains(&path) && path.symlink_metadata().is_ok() {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_run_below_the_top_is_named_once() {
        let workspace = std::env::temp_dir().join(format!("swbox-later-{}", std::process::id()));
        for directory in ["a/.vscode/x", "b", ".github/workflows", "c/.github/workflows"] {
            std::fs::create_dir_all(workspace.join(directory)).unwrap();
        }
        std::fs::write(workspace.join("b/.envrc"), "x").unwrap();
        let files = [
            "a/.vscode/x/tasks.json",
            "a/.vscode/settings.json",
            "b/.envrc",
            "b/gone/.envrc",
            ".envrc",
            "c/.github/workflows/x.yml",
            "b/envrc",
        ];
        let touched = Touched { files: files.iter().map(PathBuf::from).collect(), whole: true };
        let names = [".envrc", ".vscode", ".github/workflows"].map(|name| Below(name.into()));
        let found = later(&touched, &names, &workspace);
        assert_eq!(found, [workspace.join("a/.vscode"), workspace.join("b/.envrc")]);
        std::fs::remove_dir_all(&workspace).unwrap();
    }
}
