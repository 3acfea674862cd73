//! The files of a workspace that would change its law, against what a person has accepted of them.
//!
//! Danger: falling back to the built-in law would be a laxer law chosen by whoever can change or delete a file. What is
//! there and not accepted, or accepted and not there, ends the command.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::plain;
use super::request::Law;
use super::workflows::Source;
use crate::diagnostic::Diagnostic;
use crate::profile::{HostFacts, Profile};
use crate::store::{Hash, Ledger};

/// A file that a workspace may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Its path below the workspace.
    pub(super) path: &'static str,
    /// What it is.
    pub(super) kind: &'static str,
    /// The flag that names such a file.
    pub(super) flag: &'static str,
}

/// All of them; of two workflows the first holds.
pub(super) const KNOWN: [Known; 3] = [
    Known { path: ".swbox/workflow.json", kind: "workflow", flag: "--workflow" },
    Known { path: "swbox.json", kind: "workflow", flag: "--workflow" },
    Known { path: ".swbox/profile.toml", kind: "profile", flag: "--profile" },
];

/// The kind of a workflow that the workspace's own one invokes.
pub(super) const INVOKED: &str = "invoked workflow";
/// The kind of the file that names them.
pub(super) const MANIFEST: &str = "workflow manifest";

/// Largest such file.
const LIMIT: u64 = crate::workflow::load::MAX_BYTES as u64;

/// What the workspace brings and a person has accepted.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    pub(super) workflow: Option<Source>,
    pub(super) profile: Option<(PathBuf, Profile)>,
    /// The text of the profile.
    pub(super) profile_text: Option<String>,
}

/// Whether a file is one that the workspace itself brings as its law.
pub(super) fn is_own(workspace: &Path, file: Option<&Path>) -> bool {
    file.is_some_and(|file| KNOWN.iter().any(|known| workspace.join(known.path) == file))
}

/// swbox's state directory.
pub(super) fn state_directory(facts: &HostFacts) -> &Path {
    // `host::facts` names configuration, state and cache, in this order.
    facts.own.get(1).map_or(Path::new("/nonexistent"), PathBuf::as_path)
}

/// Reads the workspace's own files, as far as no flag stands in their place.
///
/// # Errors
/// `untrusted_workspace_file`, `trusted_file_gone`, and what is wrong with an accepted file.
pub(super) fn accepted(facts: &HostFacts, workspace: &Path, law: &Law) -> Result<OwnFiles, Diagnostic> {
    let mut found = OwnFiles::default();
    let ledger = Ledger::read(state_directory(facts), workspace)?;
    for known in KNOWN {
        let chosen = if known.kind == "workflow" { law.workflow.is_some() } else { !law.profiles.is_empty() };
        if chosen {
            continue;
        }
        let path = workspace.join(known.path);
        let accepted = ledger.get(known.path).filter(|entry| entry.kind == known.kind);
        if path.symlink_metadata().is_err() {
            if accepted.is_some() {
                return Err(gone(known.kind, known.path, &path));
            }
            continue;
        }
        let Some(accepted) = accepted else { return Err(unseen(known.kind, Some(known.flag), &path)) };
        let bytes = read(&path)?;
        if Hash::of(&bytes) != accepted.hash {
            return Err(changed(known.kind, Some(known.flag), &path));
        }
        match known.kind {
            "workflow" if found.workflow.is_none() => {
                found.workflow = Some(Source { bytes, file: Some(path) })
            }
            "profile" => {
                let profile = Profile::from_toml(&accepted.text, &path)?;
                found.profile = Some((path, profile));
                found.profile_text = Some(accepted.text.clone());
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether a file that the workspace's own workflow needs is the one that was accepted.
///
/// # Errors
/// `untrusted_workspace_file`.
pub(super) fn vouch(
    ledger: &Ledger,
    workspace: &Path,
    file: &Path,
    bytes: &[u8],
    kind: &str,
) -> Result<(), Diagnostic> {
    let below = file.strip_prefix(workspace).ok().and_then(Path::to_str);
    match below.and_then(|below| ledger.get(below)).filter(|entry| entry.kind == kind) {
        None => Err(unseen(kind, None, file)),
        Some(entry) if entry.hash != Hash::of(bytes) => Err(changed(kind, None, file)),
        Some(_) => Ok(()),
    }
}

/// Whether nothing that was accepted of these kinds is gone.
///
/// # Errors
/// `trusted_file_gone`.
pub(super) fn all_there(ledger: &Ledger, workspace: &Path, kinds: &[&str]) -> Result<(), Diagnostic> {
    for entry in ledger.entries().iter().filter(|entry| kinds.contains(&entry.kind.as_str())) {
        let path = workspace.join(&entry.path);
        if path.symlink_metadata().is_err() {
            return Err(gone(&entry.kind, &entry.path, &path));
        }
    }
    Ok(())
}

fn unseen(kind: &str, flag: Option<&str>, path: &Path) -> Diagnostic {
    Diagnostic::new(
        "untrusted_workspace_file",
        format!("this workspace brings a {kind} of its own that nobody has accepted"),
    )
    .file(path)
    .help(way_out(flag, path))
}

fn changed(kind: &str, flag: Option<&str>, path: &Path) -> Diagnostic {
    Diagnostic::new(
        "untrusted_workspace_file",
        format!("this {kind} is not the one that was accepted for this workspace"),
    )
    .file(path)
    .help(way_out(flag, path))
}

fn gone(kind: &str, name: &str, path: &Path) -> Diagnostic {
    Diagnostic::new("trusted_file_gone", format!("the {kind} that was accepted for this workspace is gone"))
        .file(path)
        .help(format!(
            "bring it back, or take the acceptance back in a terminal: swbox trust --forget {}",
            shell_words::quote(name)
        ))
}

fn way_out(flag: Option<&str>, path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = shell_words::quote(&path);
    let accept = format!("read it, then accept it in a terminal: swbox trust {path}");
    flag.map_or(accept.clone(), |flag| format!("{accept}; or name it yourself: {flag} {path}"))
}

/// The bytes of a workspace file: a regular file of bearable size.
///
/// # Errors
/// `workspace_file_unreadable`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let wrong = |why: String| Diagnostic::new("workspace_file_unreadable", why).file(path);
    let file = plain::open(path).map_err(|error| wrong(format!("cannot be opened: {error}")))?;
    let file = file.ok_or_else(|| wrong("is no regular file".to_owned()))?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LIMIT {
        return Err(wrong(format!("is larger than {LIMIT} bytes")));
    }
    Ok(bytes)
}
