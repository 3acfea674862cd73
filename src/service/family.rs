//! The workflows that a workflow invokes: found beside its file, by the manifest's name, id or file name, else among
//! those that come with swbox.
//!
//! Danger: what is found here becomes the law of a session. Where the workflow is one that the workspace itself brings,
//! a file beside it counts only as a person accepted it, and one that was accepted and is gone ends the start: else
//! whoever can write there would choose the law by making or removing a file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::own_files::{self, INVOKED, MANIFEST};
use super::workflows::{self, Chosen, Source};
use crate::diagnostic::Diagnostic;
use crate::store::Ledger;
use crate::workflow::builtin::builtin;
use crate::workflow::{Invoked, Loaded, Machine, Transition, load_with};

/// The file beside a workflow that gives other files there their names.
pub(super) const MANIFEST_FILE: &str = "manifest.json";

/// Workflows that one may invoke, those that they invoke counted.
const MOST: usize = 64;

/// A workflow that is invoked under a name.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) chosen: Chosen,
}

/// Those that a workflow invokes, and those that they invoke.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) members: Vec<Member>,
    /// Those that cannot be had, and why.
    pub(super) missing: Vec<(String, Diagnostic)>,
    /// The manifest, where there is one and anything is invoked.
    pub(super) manifest: Option<Source>,
}

/// What a person has accepted in a workspace whose own workflow this is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vouched<'a> {
    pub(super) workspace: &'a Path,
    pub(super) ledger: &'a Ledger,
}

impl Family {
    /// Looks for all that `root`, from `file`, invokes. What cannot be had is in `missing`.
    ///
    /// # Errors
    /// A manifest that is none; with `vouched`, a file that counts and is not the accepted one, or is gone.
    pub(super) fn of(
        root: &Machine,
        file: Option<&Path>,
        vouched: Option<Vouched<'_>>,
    ) -> Result<Self, Diagnostic> {
        let mut family = Self::default();
        let mut names = invoked(root);
        names.retain(|name| *name != root.id);
        if names.is_empty() {
            return Ok(family);
        }
        let beside = Beside::new(file, vouched)?;
        let mut next = 0;
        while let Some(name) = names.get(next).cloned() {
            next += 1;
            let found = if next > MOST {
                Err(Diagnostic::new("workflow_unknown", format!("more than {MOST} workflows are invoked")))
            } else {
                beside.find(&name)
            };
            let loaded = found.and_then(|source| Ok((source.load()?, source)));
            match loaded {
                Ok((chosen, source)) => {
                    beside.vouch(&source, INVOKED)?;
                    for further in invoked(&chosen.loaded.machine) {
                        if further != root.id && !names.contains(&further) {
                            names.push(further);
                        }
                    }
                    family.members.push(Member { name, source, chosen });
                }
                Err(problem) => family.missing.push((name, problem)),
            }
        }
        family.manifest = beside.manifest.map(|(source, _)| source);
        Ok(family)
    }
}

impl Family {
    /// What each is called in problems, by the name that it is invoked by: its file, or that it comes with swbox.
    fn label(member: &Member) -> String {
        let file = member.source.file.as_deref().and_then(Path::file_name);
        file.map_or_else(
            || format!("the built-in {}", member.name),
            |file| file.to_string_lossy().into_owned(),
        )
    }

    /// What was read of `root` alone, with the problems that show through all that it invokes.
    pub(super) fn violations(&self, root: &Source, alone: Loaded) -> Loaded {
        let labels: Vec<String> = self.members.iter().map(Self::label).collect();
        let had = self.members.iter().zip(&labels).map(|(member, label)| Invoked {
            name: &member.name,
            label,
            machine: Ok(&member.chosen.loaded.machine),
        });
        let missing = self.missing.iter().map(|(name, problem)| Invoked {
            name,
            label: name,
            machine: Err(problem.to_string()),
        });
        let invoked: Vec<Invoked<'_>> = had.chain(missing).collect();
        if invoked.is_empty() {
            return alone;
        }
        load_with(&root.bytes, &invoked).unwrap_or(alone)
    }
}

/// The names that a machine invokes, each once.
fn invoked(machine: &Machine) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for transition in machine.states.values().flat_map(|state| state.on.values()) {
        if let Transition::Invoke(invoke) = transition
            && !names.contains(&invoke.workflow)
        {
            names.push(invoke.workflow.clone());
        }
    }
    names
}

/// The directory of a workflow's file.
struct Beside<'a> {
    vouched: Option<Vouched<'a>>,
    manifest: Option<(Source, Vec<(String, String)>)>,
    files: Vec<Source>,
}

impl<'a> Beside<'a> {
    fn new(file: Option<&Path>, vouched: Option<Vouched<'a>>) -> Result<Self, Diagnostic> {
        let mut beside = Self { vouched, manifest: None, files: Vec::new() };
        let Some(file) = file else { return Ok(beside) };
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        if let Some(vouched) = vouched {
            vouched.all_there()?;
        }
        let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        for path in paths {
            let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST_FILE);
            // What cannot be read is no workflow; a manifest that cannot be read may say anything.
            let bytes = match own_files::read(&path) {
                Ok(bytes) => bytes,
                Err(problem) if is_manifest => return Err(problem),
                Err(_) => continue,
            };
            let source = Source { bytes, file: Some(path) };
            if is_manifest {
                if let Some(names) = manifest(&source)? {
                    beside.vouch(&source, MANIFEST)?;
                    beside.manifest = Some((source, names));
                }
            } else {
                beside.files.push(source);
            }
        }
        Ok(beside)
    }

    /// By the manifest, then by id, then by file name; else one that comes with swbox.
    fn find(&self, name: &str) -> Result<Source, Diagnostic> {
        let named = |wanted: &str, whole: bool| {
            self.files.iter().find(|source| {
                let file = source.file.as_deref();
                let own = file.and_then(|file| if whole { file.file_name() } else { file.file_stem() });
                own.is_some_and(|own| own == wanted)
            })
        };
        if let Some((manifest, names)) = &self.manifest
            && let Some((_, file)) = names.iter().find(|(known, _)| known == name)
        {
            return named(file, true).cloned().ok_or_else(|| {
                let missing = format!("there is no file {file:?} beside the manifest that names it");
                let problem = Diagnostic::new("workflow_unknown", missing);
                manifest.file.iter().fold(problem, |problem, file| problem.file(file))
            });
        }
        let has_id = |source: &&Source| {
            crate::workflow::load(&source.bytes).is_ok_and(|loaded| loaded.machine.id == name)
        };
        if let Some(found) = self.files.iter().find(has_id).or_else(|| named(name, false)) {
            return Ok(found.clone());
        }
        if builtin(name).is_some() {
            return workflows::find(Some(name.as_ref()));
        }
        Err(Diagnostic::new("workflow_unknown", "no workflow beside it has this name, id or file name")
            .help(format!("put it beside the file that invokes it, or name it in {MANIFEST_FILE} there")))
    }

    fn vouch(&self, source: &Source, kind: &'static str) -> Result<(), Diagnostic> {
        match (self.vouched, &source.file) {
            (Some(vouched), Some(file)) => vouched.accepts(file, &source.bytes, kind),
            (None, _) | (_, None) => Ok(()),
        }
    }
}

impl Vouched<'_> {
    fn accepts(self, file: &Path, bytes: &[u8], kind: &'static str) -> Result<(), Diagnostic> {
        own_files::vouch(self.ledger, self.workspace, file, bytes, kind)
    }

    fn all_there(self) -> Result<(), Diagnostic> {
        own_files::all_there(self.ledger, self.workspace, &[INVOKED, MANIFEST])
    }
}

/// The names of a manifest; none where the file is somebody else's (it has no `workflows`).
///
/// # Errors
/// `manifest_malformed`.
pub(super) fn manifest(source: &Source) -> Result<Option<Vec<(String, String)>>, Diagnostic> {
    let wrong = |why: &str| {
        let problem = Diagnostic::new("manifest_malformed", format!("the manifest {why}"))
            .help(r#"it says {"workflows": {"NAME": "FILE.json"}}, each file in the same directory"#);
        source.file.iter().fold(problem, |problem, file| problem.file(file))
    };
    let value: Value = serde_json::from_slice(&source.bytes).map_err(|_| wrong("is no JSON"))?;
    let Some(workflows) = value.get("workflows") else { return Ok(None) };
    let workflows = workflows.as_object().ok_or_else(|| wrong("has `workflows` that are no object"))?;
    let mut names = Vec::new();
    for (name, file) in workflows {
        let file = file.as_str().ok_or_else(|| wrong("names something that is no file"))?;
        if file.contains('/') || !file.ends_with(".json") || file == MANIFEST_FILE {
            return Err(wrong("names a file that is no workflow beside it"));
        }
        names.push((name.clone(), file.to_owned()));
    }
    Ok(Some(names))
}
