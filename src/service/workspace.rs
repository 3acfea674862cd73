//! Finding the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::profile::HostFacts;
use crate::profile::resolve::check_workspace;

/// Where a command works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The workspace, resolved.
    pub(super) workspace: PathBuf,
    /// Where the command starts.
    pub(super) cwd: PathBuf,
    /// Where the caller is, as far as that lies in the workspace.
    pub(super) caller: PathBuf,
    /// What a person should know of the choice.
    pub(super) notice: Option<String>,
}

/// The workspace and the directory in it.
///
/// # Errors
/// `workspace_missing`, `workspace_not_directory`, `workspace_refused`, `cwd_missing`.
pub(super) fn find(chosen: Option<&Path>, facts: &HostFacts, allow_home: bool) -> Result<Place, Diagnostic> {
    let here = std::env::current_dir().and_then(fs::canonicalize);
    let Some(chosen) = chosen else {
        let here = here.map_err(|error| {
            Diagnostic::new("cwd_missing", format!("the current directory cannot be entered: {error}"))
                .help("change to a directory that exists, or name one with --workspace DIR")
        })?;
        let workspace = around(&here, facts);
        check_workspace(&workspace, facts, allow_home)?;
        return Ok(Place { workspace, caller: here.clone(), cwd: here, notice: None });
    };
    let workspace = fs::canonicalize(chosen).map_err(|error| {
        Diagnostic::new(
            "workspace_missing",
            format!("the workspace {} cannot be entered: {error}", chosen.display()),
        )
        .help("name an existing directory with --workspace DIR")
    })?;
    if !workspace.is_dir() {
        return Err(Diagnostic::new(
            "workspace_not_directory",
            format!("the workspace {} is not a directory", chosen.display()),
        )
        .help("name the directory that holds it"));
    }
    check_workspace(&workspace, facts, allow_home)?;
    Ok(match here {
        Ok(cwd) if cwd.starts_with(&workspace) => Place { workspace, caller: cwd.clone(), cwd, notice: None },
        Ok(_) => Place { cwd: workspace.clone(), caller: workspace.clone(), workspace, notice: None },
        Err(error) => Place {
            notice: Some(format!(
                "the current directory is gone ({error}); the command starts in {}",
                workspace.display()
            )),
            cwd: workspace.clone(),
            caller: workspace.clone(),
            workspace,
        },
    })
}

/// The repository around `here`, as far as it may be a workspace, else `here`.
fn around(here: &Path, facts: &HostFacts) -> PathBuf {
    for directory in here.ancestors() {
        let marked = [".git", ".swbox", "swbox.json"]
            .iter()
            .any(|name| directory.join(name).symlink_metadata().is_ok());
        if marked {
            // A home directory under git (dotfiles) does not make every directory below it one project.
            return if check_workspace(directory, facts, false).is_ok() {
                directory.to_owned()
            } else {
                here.to_owned()
            };
        }
    }
    here.to_owned()
}
/// A `.git` that is a link out of the workspace is never written through: whoever may write in the workspace could have
/// made it, and it may lead to any repository. Git alone would say "Read-only file system".
///
/// # Errors
/// `git_outside`.
pub(super) fn check_git(workspace: &Path) -> Result<(), Diagnostic> {
    let git = workspace.join(".git");
    let is_link = fs::symlink_metadata(&git).is_ok_and(|meta| meta.is_symlink());
    let target = if is_link { fs::canonicalize(&git).ok() } else { None };
    match target {
        Some(target) if !target.starts_with(workspace) => Err(Diagnostic::new(
            "git_outside",
            format!(
                "`.git` is a link to {}, outside the workspace: git may not write there",
                target.display()
            ),
        )
        .help(
            "work in the directory that holds the repository, or let git lead there itself: git worktree add",
        )),
        _ => Ok(()),
    }
}
