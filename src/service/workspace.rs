//! Finding the workspace, and by which names the caller speaks of it.
//!
//! Danger: `$PWD`, `--workspace` and links are whoever's who calls. They give names; the workspace is where the real path
//! leads, and what is checked and held is that.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::host::{call, variable};
use crate::diagnostic::Diagnostic;
use crate::profile::HostFacts;
use crate::profile::alias::{self, Aliases};
use crate::profile::resolve::check_workspace;
use crate::profile::value::lies_in;

/// Variables that may name the workspace, the shell's first: harnesses hand the others on to what they start.
const NAMING: [&str; 3] = [SHELLS, "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];
const SHELLS: &str = "PWD";

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
    /// Names that lead to the workspace or to HOME by a link.
    pub(super) aliases: Aliases,
    /// What the caller calls directories: its name, and the real one. What lies in that is named alike.
    called: Vec<(PathBuf, PathBuf)>,
}

impl Place {
    fn new(workspace: PathBuf, cwd: PathBuf, notice: Option<String>, facts: &HostFacts) -> Self {
        let (caller, aliases) = (cwd.clone(), facts.aliases.clone());
        Self { workspace, cwd, caller, notice, aliases, called: Vec::new() }
    }

    /// The directory where the command starts, as the caller's shell would name it.
    pub(super) fn pwd(&self) -> PathBuf {
        let mut named = self.called.iter().filter_map(|(name, real)| alias::moved(&self.cwd, real, name));
        named.next().unwrap_or_else(|| self.cwd.clone())
    }

    /// Hands the names on to all that is worked out from the host.
    pub(super) fn tell(&self, facts: &mut HostFacts) {
        if facts.aliases != self.aliases {
            facts.aliases = self.aliases.clone();
            call(&mut facts.env, &self.aliases);
        }
    }

    /// Takes in what the caller calls the workspace. `here` is where it is, `chosen` what it has chosen. Where all names are
    /// the real ones nothing is asked of the system.
    fn name(&mut self, chosen: Option<&Path>, here: Option<&Path>, facts: &HostFacts) {
        let starts_there = here.is_some_and(|here| lies_in(here, &self.workspace));
        let mut spoken = here.map(Path::to_owned);
        for naming in NAMING {
            let named = variable(&facts.env, naming).map(Path::new);
            let other = named.filter(|named| here.is_none_or(|here| here.as_os_str() != named.as_os_str()));
            let Some(name) = other.and_then(alias::plain) else { continue };
            let is_shells = naming == SHELLS && here.is_some_and(|here| is_same(&name, here));
            if is_shells {
                if starts_there {
                    self.called.push((name.clone(), self.cwd.clone()));
                }
                spoken = Some(name.clone());
            }
            self.add(&name, is_shells);
        }
        if let Some(chosen) = chosen.filter(|chosen| chosen.as_os_str() != self.workspace.as_os_str()) {
            let name = spoken.map_or_else(|| chosen.to_owned(), |spoken| spoken.join(chosen));
            // A command that does not start where its caller is starts where that said.
            self.add(&without_dots(&name), !starts_there);
        }
    }

    /// Takes in an absolute name that may lead into the workspace, by its shortest part that does; `calls` says whether the
    /// command's shell is to use it.
    fn add(&mut self, name: &Path, calls: bool) {
        let inside = |real: &Path| lies_in(real, &self.workspace);
        let known = inside(&self.aliases.real(name));
        if !known && !fs::canonicalize(name).is_ok_and(|real| inside(&real)) {
            return;
        }
        let mut parts: Vec<&Path> = name.ancestors().collect();
        parts.reverse();
        let led = parts.into_iter().find_map(|part| {
            let real =
                if known { self.aliases.real(part).into_owned() } else { fs::canonicalize(part).ok()? };
            inside(&real).then_some((part, real))
        });
        if let Some((part, real)) = led {
            self.aliases.add(part, &real);
            if calls {
                self.called.push((part.to_owned(), real));
            }
        }
    }
}

/// Whether `name` leads to the directory `here`.
fn is_same(name: &Path, here: &Path) -> bool {
    let of = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    of(here).is_some_and(|here| of(name) == Some(here))
}

/// What an absolute path says by its text, as `cd` reads it.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
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
        let mut place = Place::new(workspace, here.clone(), None, facts);
        place.name(None, Some(&here), facts);
        return Ok(place);
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
    let (cwd, notice) = match &here {
        Ok(here) if here.starts_with(&workspace) => (here.clone(), None),
        Ok(_) => (workspace.clone(), None),
        Err(error) => {
            let shown = workspace.display();
            let gone = format!("the current directory is gone ({error}); the command starts in {shown}");
            (workspace.clone(), Some(gone))
        }
    };
    let mut place = Place::new(workspace, cwd, notice, facts);
    place.name(Some(chosen), here.as_deref().ok(), facts);
    Ok(place)
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
