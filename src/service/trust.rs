//! Accepting a workspace's own files: what is there, what it would change, and the acceptance of exactly the bytes that
//! were shown.

use std::path::{Path, PathBuf};

use super::family::{Family, manifest};
use super::own_files::{INVOKED, KNOWN, MANIFEST, read, state_directory};
use super::person::Terminal;
use super::workflows::Source;
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
    pub name: String,
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
    let named = file.map(|file| below(&place.workspace, &place.cwd, file));
    let ledger = Ledger::read(state_directory(&facts), &place.workspace)?;
    let rows = rows(&place.workspace, &ledger);
    if let (Some(file), Some(named)) = (file, &named)
        && !rows.iter().any(|(name, _)| Some(name) == named.as_ref())
    {
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Diagnostic::new("not_a_law_file", "this file changes no workspace's law")
            .file(file)
            .help(format!(
                "those that do are, below the workspace {}: {}",
                place.workspace.display(),
                names.join(", ")
            )));
    }
    let mut found = Vec::new();
    for (name, kind) in rows {
        if named.as_ref().is_some_and(|named| named.as_ref() != Some(&name)) {
            continue;
        }
        let path = place.workspace.join(&name);
        let accepted = ledger.get(&name).filter(|entry| entry.kind == kind);
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
        found.push(look(&place.workspace, name, kind, standing, bytes, accepted)?);
    }
    Ok(found)
}

/// The files that count in a workspace: those with a fixed place, those that its own workflow invokes, and those that
/// were accepted as such.
fn rows(workspace: &Path, ledger: &Ledger) -> Vec<(String, &'static str)> {
    let mut rows: Vec<(String, &'static str)> =
        KNOWN.iter().map(|known| (known.path.to_owned(), known.kind)).collect();
    let own = KNOWN.iter().filter(|known| known.kind == "workflow").map(|known| workspace.join(known.path));
    let own = own.into_iter().find(|path| path.symlink_metadata().is_ok());
    let mut add = |path: &Path, kind: &'static str| {
        let name = path.strip_prefix(workspace).ok().and_then(Path::to_str).map(str::to_owned);
        if let Some(name) = name.filter(|name| !rows.iter().any(|(known, _)| known == name)) {
            rows.push((name, kind));
        }
    };
    // What cannot be read or loaded invokes nothing; the file itself is shown with what is wrong.
    if let Some(own) = own
        && let Some(loaded) = read(&own).ok().and_then(|bytes| load(&bytes).ok())
    {
        let family = Family::of(&loaded.machine, Some(&own), None).unwrap_or_else(|problem| Family {
            manifest: problem.file.map(|file| Source { bytes: Vec::new(), file: Some(file) }),
            ..Family::default()
        });
        let manifest = family.manifest.iter().filter_map(|source| source.file.as_deref());
        manifest.for_each(|file| add(file, MANIFEST));
        let members = family.members.iter().filter_map(|member| member.source.file.as_deref());
        members.for_each(|file| add(file, INVOKED));
    }
    for kind in [MANIFEST, INVOKED] {
        for entry in ledger.entries().iter().filter(|entry| entry.kind == kind) {
            add(&workspace.join(&entry.path), kind);
        }
    }
    rows
}

/// The path of a file below the workspace; none where it is elsewhere.
fn below(workspace: &Path, cwd: &Path, file: &Path) -> Option<String> {
    let path = cwd.join(file);
    let parent = path.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
    let whole = parent.zip(path.file_name()).map(|(parent, name)| parent.join(name))?;
    Some(whole.strip_prefix(workspace).ok()?.to_str()?.to_owned())
}

fn look(
    workspace: &Path,
    name: String,
    kind: &'static str,
    standing: Standing,
    bytes: Vec<u8>,
    accepted: Option<&Trusted>,
) -> Result<Candidate, Diagnostic> {
    let path = workspace.join(&name);
    let text = String::from_utf8(bytes)
        .map_err(|_| Diagnostic::new("workspace_file_unreadable", "is not UTF-8").file(&path))?;
    let mut candidate = Candidate {
        workspace: workspace.to_owned(),
        name,
        kind,
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
    if kind == MANIFEST {
        let source = Source { bytes: candidate.text.clone().into_bytes(), file: Some(path) };
        candidate.problems.extend(manifest(&source).err());
        return Ok(candidate);
    }
    if kind == "profile" {
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
    for problem in candidate.problems.iter_mut().chain(&mut candidate.remarks) {
        problem.file.get_or_insert_with(|| path.clone());
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
        path: candidate.name.clone(),
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
    Ok(ledger.forget(&candidate.name)?)
}
