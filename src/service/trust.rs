//! Accepting a workspace's own files: what is there, what it would change, and the acceptance of exactly the bytes that
//! were shown.

use std::path::{Path, PathBuf};

use super::own_files::{KNOWN, Known, read, state_directory};
use super::person::Terminal;
use super::{clock, host, workspace};
use crate::diagnostic::Diagnostic;
use crate::policy::{Policy, RuleSet};
use crate::profile::Profile;
use crate::store::{Hash, Ledger, Trusted};
use crate::workflow::load;
use crate::workflow::model::Verdict;

/// How a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has accepted it.
    New,
    /// Another version of it was accepted.
    Changed,
    /// It is the accepted one.
    Accepted,
    /// It was accepted and is gone.
    Gone,
}

/// A file of the workspace that would change its law.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The workspace.
    pub workspace: PathBuf,
    /// Its path below it.
    pub name: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// Its text now.
    pub text: String,
    /// The text that was accepted last.
    pub before: Option<String>,
    /// What it asks for beyond narrowing, a line each.
    pub asks: Vec<String>,
    /// What is wrong with it; a file that does not load cannot be accepted.
    pub problems: Vec<Diagnostic>,
    /// What is worth knowing of it.
    pub remarks: Vec<Diagnostic>,
}

/// The files of a workspace, or the one that is named.
///
/// # Errors
/// A workspace that cannot be found, a file that is none of those that count, a file that cannot be read.
pub fn candidates(
    chosen: Option<&Path>,
    file: Option<&Path>,
    allow_home: bool,
) -> Result<Vec<Candidate>, Diagnostic> {
    let facts = host::facts()?;
    let place = workspace::find(chosen, &facts, allow_home)?;
    let named = file.map(|file| known(&place.workspace, &place.cwd, file)).transpose()?;
    let ledger = Ledger::read(state_directory(&facts), &place.workspace)?;
    let mut found = Vec::new();
    for known in KNOWN.into_iter().filter(|known| named.is_none_or(|named| named == *known)) {
        let path = place.workspace.join(known.path);
        let accepted = ledger.get(known.path).filter(|entry| entry.kind == known.kind);
        let there = path.symlink_metadata().is_ok();
        if !there && accepted.is_none() {
            if named.is_some() {
                return Err(Diagnostic::new("workspace_file_unreadable", "there is no such file").file(path));
            }
            continue;
        }
        let bytes = if there { read(&path)? } else { Vec::new() };
        let standing = match accepted {
            _ if !there => Standing::Gone,
            None => Standing::New,
            Some(accepted) if accepted.hash == Hash::of(&bytes) => Standing::Accepted,
            Some(_) => Standing::Changed,
        };
        found.push(look(&place.workspace, known, standing, bytes, accepted)?);
    }
    Ok(found)
}

/// The row of a file that was named.
fn known(workspace: &Path, cwd: &Path, file: &Path) -> Result<Known, Diagnostic> {
    let path = cwd.join(file);
    let parent = path.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    let whole = parent.zip(path.file_name()).map(|(parent, name)| parent.join(name));
    let below = whole.as_deref().and_then(|path| path.strip_prefix(workspace).ok());
    KNOWN.into_iter().find(|known| below.is_some_and(|below| below == Path::new(known.path))).ok_or_else(
        || {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.path).collect();
            Diagnostic::new("not_a_law_file", "this file changes no workspace's law").file(file).help(
                format!(
                    "those that do are, below the workspace {}: {}",
                    workspace.display(),
                    names.join(", ")
                ),
            )
        },
    )
}

fn look(
    workspace: &Path,
    known: Known,
    standing: Standing,
    bytes: Vec<u8>,
    accepted: Option<&Trusted>,
) -> Result<Candidate, Diagnostic> {
    let path = workspace.join(known.path);
    let text = String::from_utf8(bytes)
        .map_err(|_| Diagnostic::new("workspace_file_unreadable", "is not UTF-8").file(&path))?;
    let mut candidate = Candidate {
        workspace: workspace.to_owned(),
        name: known.path,
        kind: known.kind,
        standing,
        before: accepted.map(|accepted| accepted.text.clone()),
        asks: Vec::new(),
        problems: Vec::new(),
        remarks: Vec::new(),
        text,
    };
    if standing == Standing::Gone {
        return Ok(candidate);
    }
    if known.kind == "profile" {
        match Profile::from_toml(&candidate.text, &path) {
            Ok(profile) => candidate.asks = asks_of_profile(&profile),
            Err(problem) => candidate.problems.push(problem),
        }
        return Ok(candidate);
    }
    match load(candidate.text.as_bytes()) {
        Ok(loaded) => {
            candidate.problems =
                Policy::compile(&loaded.machine, RuleSet::default()).err().unwrap_or_default();
            for (name, state) in &loaded.machine.states {
                let hosts = state.jail.network.as_deref().unwrap_or_default();
                candidate
                    .asks
                    .extend(hosts.iter().map(|host| format!("state {name}: reach the host {host}")));
                let trees = &state.jail.writable;
                candidate.asks.extend(trees.iter().map(|tree| format!("state {name}: change {tree}")));
            }
            let allowed = loaded.machine.rules.iter().filter(|rule| rule.decision == Verdict::Allow);
            candidate.asks.extend(allowed.map(|rule| format!("run `{}` unasked", rule.prefix)));
            candidate.remarks = loaded.violations;
        }
        Err(problems) => candidate.problems = problems,
    }
    Ok(candidate)
}

fn asks_of_profile(profile: &Profile) -> Vec<String> {
    let hosts = profile.network.hosts.iter().map(|host| format!("reach the host {host}"));
    let binds = &profile.binds;
    let seen = binds.system.iter().chain(&binds.toolchains).chain(&binds.data);
    let seen = seen.map(|place| format!("see {place}"));
    let changed = binds.writable.iter().map(|place| format!("change {place}"));
    let credentials = profile.credentials.iter().filter(|(_, credential)| credential.grant);
    let credentials = credentials.map(|(name, _)| format!("use the credential {name}"));
    let weaker =
        profile.protections.iter().map(|(protection, asked)| format!("set {protection:?} to {asked:?}"));
    hosts.chain(seen).chain(changed).chain(credentials).chain(weaker).collect()
}

/// Accepts a file exactly as it was shown. The terminal is the proof that a person was asked.
///
/// # Errors
/// A file that does not load, a store that cannot be written.
pub fn accept_file(candidate: &Candidate, _person: &Terminal) -> Result<(), Diagnostic> {
    if let Some(problem) = candidate.problems.first() {
        return Err(problem.clone());
    }
    let facts = host::facts()?;
    let mut ledger = Ledger::read(state_directory(&facts), &candidate.workspace)?;
    Ok(ledger.accept(Trusted {
        path: candidate.name.to_owned(),
        kind: candidate.kind.to_owned(),
        hash: Hash::of(candidate.text.as_bytes()),
        at: clock::now(),
        text: candidate.text.clone(),
    })?)
}

/// Takes an acceptance back.
///
/// # Errors
/// A store that cannot be written.
pub fn forget_file(candidate: &Candidate, _person: &Terminal) -> Result<(), Diagnostic> {
    let facts = host::facts()?;
    let mut ledger = Ledger::read(state_directory(&facts), &candidate.workspace)?;
    Ok(ledger.forget(candidate.name)?)
}
