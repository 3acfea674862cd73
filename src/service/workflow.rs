//! Looking at workflows: the list, one as a table or a picture, the checks.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::family::Family;
use super::{setting, workflows};
use crate::diagnostic::Diagnostic;
use crate::policy::{Policy, RuleSet};
use crate::workflow::builtin::BUILTINS;
use crate::workflow::new::{self, Wishes};
use crate::workflow::{StateKind, diagram, load, schema, svg};

/// A workflow with a name.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its states.
    pub states: Vec<String>,
}

/// One state of a shown workflow.
#[derive(Debug, Clone)]
pub struct StateRow {
    /// Its name.
    pub name: String,
    /// Whether it is final.
    pub is_final: bool,
    /// Its tools; `None` for the default set.
    pub tools: Option<Vec<String>>,
    /// The commands it lists.
    pub commands: Option<Vec<String>>,
    /// Its edges: event, target, what it asks for.
    pub edges: Vec<(String, String, Vec<String>)>,
}

/// A workflow as a table.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its id.
    pub id: String,
    /// `builtin`, or the file.
    pub origin: String,
    /// The initial state.
    pub initial: String,
    /// The states in source order.
    pub states: Vec<StateRow>,
    /// The file itself.
    pub text: String,
    /// Worth knowing.
    pub remarks: Vec<Diagnostic>,
}

/// What validation found.
#[derive(Debug, Clone)]
pub struct Validated {
    /// The name or file as given.
    pub name: String,
    /// Problems: it does not load, or a stage fails.
    pub problems: Vec<Diagnostic>,
    /// Worth knowing.
    pub advice: Vec<Diagnostic>,
    /// The file, to be shown around the problems.
    pub text: String,
}

/// The workflows that have a name.
pub fn list_workflows() -> Vec<Listed> {
    BUILTINS
        .iter()
        .map(|builtin| Listed {
            name: builtin.name,
            about: builtin.about,
            states: load(builtin.source.as_bytes())
                .map(|loaded| loaded.machine.states.keys().cloned().collect())
                .unwrap_or_default(),
        })
        .collect()
}

/// One workflow as a table.
///
/// # Errors
/// One that cannot be found or loaded.
pub fn show_workflow(name: &OsStr) -> Result<Shown, Diagnostic> {
    let source = workflows::find(Some(name))?;
    let chosen = workflows::choose(Some(name), None)?;
    let machine = &chosen.loaded.machine;
    let states = machine.states.iter().map(|(name, state)| StateRow {
        name: name.clone(),
        is_final: state.kind == StateKind::Final,
        tools: state.allowed_tools.clone(),
        commands: state.allowed_commands.clone(),
        edges: machine
            .exits(name)
            .iter()
            .map(|exit| {
                let asks = exit.conditions.iter().flat_map(|conditions| conditions.names());
                (exit.event.to_owned(), exit.target.to_owned(), asks.map(str::to_owned).collect())
            })
            .collect(),
    });
    Ok(Shown {
        id: machine.id.clone(),
        origin: chosen.origin.clone(),
        initial: machine.initial.clone(),
        states: states.collect(),
        text: String::from_utf8_lossy(&source.bytes).into_owned(),
        remarks: chosen.loaded.violations.iter().chain(&chosen.loaded.advice).cloned().collect(),
    })
}

/// How a workflow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// A Mermaid state diagram.
    Mermaid,
    /// A Graphviz digraph.
    Dot,
    /// An SVG document.
    Svg,
}

/// One workflow as a picture, with a state marked.
///
/// # Errors
/// One that cannot be found or loaded; a state that it does not have.
pub fn draw_workflow(name: &OsStr, state: Option<&str>, picture: Picture) -> Result<String, Diagnostic> {
    let chosen = workflows::choose(Some(name), None)?;
    let machine = &chosen.loaded.machine;
    if let Some(state) = state {
        setting::state_of(machine, Some(state))?;
    }
    Ok(match picture {
        Picture::Mermaid => diagram::mermaid(machine, state),
        Picture::Dot => diagram::dot(machine, state),
        Picture::Svg => svg::svg(machine, state),
    })
}

/// The format as a JSON Schema.
pub fn workflow_schema() -> String {
    schema::text()
}

/// Writes a new workflow into a file that is not there yet, after all checks.
///
/// # Errors
/// `workflow_exists`, `workflow_unwritable`, and answers that make no workflow (a host or a name that is none).
pub fn new_workflow(wishes: &Wishes, file: &Path) -> Result<(), Diagnostic> {
    let text = new::workflow(wishes);
    let found = load(text.as_bytes()).map(|loaded| [loaded.violations, loaded.advice].concat());
    if let Some(problem) = found.unwrap_or_else(|problems| problems).into_iter().next() {
        return Err(problem);
    }
    let unwritable = |error: std::io::Error| {
        let problem = if error.kind() == std::io::ErrorKind::AlreadyExists {
            Diagnostic::new("workflow_exists", "there is such a file already")
        } else {
            Diagnostic::new("workflow_unwritable", format!("the workflow cannot be written: {error}"))
        };
        problem.file(file).help("name another file, or remove this one")
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let mut out = fs::OpenOptions::new().write(true).create_new(true).open(file).map_err(unwritable)?;
    out.write_all(text.as_bytes()).map_err(unwritable)
}

/// Runs every check on a workflow.
///
/// # Errors
/// One that cannot be found or read.
pub fn validate_workflow(name: &OsStr) -> Result<Validated, Diagnostic> {
    let source = workflows::find(Some(name))?;
    let place = |mut problem: Diagnostic| {
        problem.file = source.file.clone();
        problem
    };
    let name = name.to_string_lossy().into_owned();
    let (problems, advice) = match load(&source.bytes) {
        Err(problems) => (problems, Vec::new()),
        Ok(alone) => {
            let family = Family::of(&alone.machine, source.file.as_deref(), None)?;
            let loaded = family.violations(&source, alone);
            let mut problems = loaded.violations;
            problems.extend(Policy::compile(&loaded.machine, RuleSet::default()).err().unwrap_or_default());
            (problems, loaded.advice)
        }
    };
    Ok(Validated {
        name,
        problems: problems.into_iter().map(place).collect(),
        advice: advice.into_iter().map(place).collect(),
        text: String::from_utf8_lossy(&source.bytes).into_owned(),
    })
}
