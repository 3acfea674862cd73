//! Choosing and reading a workflow: a built-in by name, or a file that the caller named.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::suggest;
use crate::diagnostic::Diagnostic;
use crate::workflow::builtin::{BUILTINS, builtin};
use crate::workflow::{Loaded, load};

/// The workflow of a workspace that never had one.
pub(super) const DEFAULT: &str = "bugfix";

/// The origin of a workflow that is no file.
const BUILTIN: &str = "builtin";

/// Largest workflow file, with one byte to see that there is more.
const LIMIT: u64 = crate::workflow::load::MAX_BYTES as u64 + 1;

/// A workflow's bytes and where they are from.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) bytes: Vec<u8>,
    pub(super) file: Option<PathBuf>,
}

impl Source {
    /// `builtin`, or the file.
    pub(super) fn origin(&self) -> String {
        self.file.as_ref().map_or_else(|| BUILTIN.to_owned(), |file| file.to_string_lossy().into_owned())
    }

    /// Loads it.
    pub(super) fn load(&self) -> Result<Chosen, Diagnostic> {
        let loaded = load(&self.bytes).map_err(|problems| first(problems, self.file.as_deref()))?;
        Ok(Chosen { loaded, origin: self.origin() })
    }
}

/// A loaded workflow.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) loaded: Loaded,
    pub(super) origin: String,
}

/// Finds a workflow by name or file; without one, the default.
///
/// # Errors
/// `workflow_unknown`, `workflow_unreadable`.
pub(super) fn find(named: Option<&OsStr>) -> Result<Source, Diagnostic> {
    let name = named.unwrap_or(OsStr::new(DEFAULT));
    let text = name.to_string_lossy();
    if text.contains('/') || text.ends_with(".json") {
        let file = PathBuf::from(name);
        return Ok(Source { bytes: bytes(&file)?, file: Some(file) });
    }
    if let Some(builtin) = builtin(&text) {
        return Ok(Source { bytes: builtin.source.as_bytes().to_vec(), file: None });
    }
    let known: Vec<String> = BUILTINS.iter().map(|builtin| builtin.name.to_owned()).collect();
    let here = Path::new(name).is_file().then(|| format!("; for the file in this directory write ./{text}"));
    Err(Diagnostic::new("workflow_unknown", format!("there is no workflow `{text}`")).help(format!(
        "{}{}",
        suggest::among(&text, &known),
        here.unwrap_or_default()
    )))
}

/// Finds and loads a workflow: the named one, else the workspace's own, else the default.
///
/// # Errors
/// As for [`find`], and everything that prevents loading; the first problem, with the number of the others.
pub(super) fn choose(named: Option<&OsStr>, own: Option<Source>) -> Result<Chosen, Diagnostic> {
    if let Some(own) = own.filter(|_| named.is_none()) {
        return own.load();
    }
    if let Some(known) = named.unwrap_or(OsStr::new(DEFAULT)).to_str().and_then(builtin) {
        let loaded = known.load().map_err(|problems| first(problems, None))?;
        return Ok(Chosen { loaded, origin: BUILTIN.to_owned() });
    }
    find(named)?.load()
}

/// One diagnostic for several.
fn first(problems: Vec<Diagnostic>, file: Option<&Path>) -> Diagnostic {
    let more = problems.len().saturating_sub(1);
    let mut problem = problems
        .into_iter()
        .next()
        .unwrap_or_else(|| Diagnostic::new("workflow_unreadable", "the workflow cannot be loaded"));
    problem.file = file.map(Path::to_owned);
    if more > 0 {
        let shown = file.map_or_else(String::new, |file| file.to_string_lossy().into_owned());
        let all = format!("{more} more; `swbox workflow validate {}` lists all", shell_words::quote(&shown));
        problem.help = Some(problem.help.map_or(all.clone(), |help| format!("{help}; {all}")));
    }
    problem
}

fn bytes(file: &Path) -> Result<Vec<u8>, Diagnostic> {
    let unreadable = |what: &str, error: std::io::Error| {
        Diagnostic::new("workflow_unreadable", format!("the workflow cannot be {what}: {error}")).file(file)
    };
    let mut bytes = Vec::new();
    let open = fs::File::open(file).map_err(|error| unreadable("opened", error))?;
    open.take(LIMIT).read_to_end(&mut bytes).map_err(|error| unreadable("read", error))?;
    Ok(bytes)
}
