//! What goes from one command of a session to the next: the directory that its shell ended in, and the variables that
//! it exported.
//!
//! Danger: what comes back was written by the command. A variable that steers what programs do goes only to commands of
//! states whose commands may run anything anyway, and to none that writes to git or counts as evidence.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::classify::{Classification, environment};
use crate::jail::{Farewell, JailPlan};
use crate::profile::Aliases;
use crate::service::request::Command;
use crate::shell::{Trust, Value};
use crate::store::mask;
use crate::workflow::State;

/// Names that belong to one command or to swbox.
const OWN: &[&str] = &[
    "_",
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "HOME",
    "OLDPWD",
    "PWD",
    "SHELLOPTS",
    "SHLVL",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
];

/// Beginnings and ends of such names.
const OWN_BEGINNINGS: [&str; 3] = ["BASH_FUNC_", "SWBOX_", "LD_"];
const OWN_ENDS: [&str; 2] = ["_proxy", "_PROXY"];

/// Programs of the shell that change what is carried.
const CHANGERS: &[&str] = &[
    ".", "cd", "declare", "eval", "export", "popd", "pushd", "readonly", "set", "source", "typeset", "unset",
];

/// Most bytes of variables that are carried.
const MOST: usize = 64 * 1024;

/// What is carried, as it is kept with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Carried {
    /// The directory; none for where the caller is.
    directory: Option<String>,
    /// Where the caller was when it was left. A caller that has moved since starts where it is.
    caller: String,
    /// Variables; none for one that was taken away.
    env: BTreeMap<String, Option<String>>,
}

/// Whether a line may change what is carried. Every other line runs exactly as bash would run it.
pub(super) fn may_change(command: &Command, reading: &Classification) -> bool {
    let Command::Line { .. } = command else { return false };
    reading.trust != Trust::Trusted
        || reading.segments.iter().any(|segment| {
            // The program is empty for a bare assignment: the variable may be an exported one.
            segment.program.is_empty() || CHANGERS.contains(&segment.program.as_str())
        })
}

impl Carried {
    /// Where a command starts whose caller is at `caller`.
    pub(super) fn start(&self, workspace: &Path, caller: &Path) -> Option<std::path::PathBuf> {
        let directory = Path::new(self.directory.as_ref()?);
        let stayed = Path::new(&self.caller) == caller;
        // Resolved: a link in its place must not lead out.
        let real = std::fs::canonicalize(directory).ok()?;
        (stayed && real.starts_with(workspace) && real.is_dir()).then_some(real)
    }

    /// Gives a command its variables. `steering` ones only where its state lets commands run anything.
    pub(super) fn give(&self, plan: &mut JailPlan, state: &State, steering: bool) {
        for (name, value) in &self.env {
            let fixed = state.env_overrides.contains_key(name) || state.blocked_env.contains(name);
            if fixed || (!steering && steers(name, value.as_deref())) {
                continue;
            }
            match value {
                Some(value) => plan.env.insert(name.into(), value.into()),
                None => plan.env.remove(&OsString::from(name)),
            };
        }
        if let Some(lesser) = &mut plan.fallback {
            self.give(lesser, state, steering);
        }
    }

    /// Takes what a shell ended with; `began` is what it began with. Says what is not carried. Paths are carried by their
    /// real names: the next caller may have others.
    pub(super) fn take(
        &mut self,
        farewell: &Farewell,
        began: &BTreeMap<OsString, OsString>,
        (workspace, caller): (&Path, &Path),
        aliases: &Aliases,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        let real = std::fs::canonicalize(&farewell.directory).unwrap_or_default();
        if real.starts_with(workspace) {
            self.directory = Some(real.to_string_lossy().into_owned());
            self.caller = caller.to_string_lossy().into_owned();
        } else {
            self.directory = None;
            notices.push(format!(
                "the next command starts in the workspace again: {} is not carried over",
                farewell.directory.display()
            ));
        }
        for name in began.keys().filter(|name| !farewell.env.contains_key(*name)) {
            if let Some(name) = name.to_str().filter(|name| !is_own(name)) {
                self.env.insert(name.to_owned(), None);
            }
        }
        for (name, value) in farewell.env.iter().filter(|(name, value)| began.get(*name) != Some(*value)) {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            if is_own(name) {
                continue;
            }
            // It would lie in the store, and every later command would have it.
            if mask(&format!("{name}={value}"), &[]) != format!("{name}={value}") {
                notices.push(format!("{name} looks like a secret and is not carried over"));
                continue;
            }
            let real = aliases.value(OsStr::new(value)).and_then(|real| real.into_string().ok());
            self.env.insert(name.to_owned(), Some(real.unwrap_or_else(|| value.to_owned())));
        }
        let size = |env: &BTreeMap<String, Option<String>>| -> usize {
            env.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, String::len)).sum()
        };
        if size(&self.env) > MOST {
            self.env.clear();
            notices.push(format!("more than {MOST} bytes of variables: none is carried over"));
        }
        notices
    }
}

fn is_own(name: &str) -> bool {
    OWN.contains(&name)
        || OWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || OWN_ENDS.iter().any(|end| name.ends_with(end))
        || name.contains(['%', '('])
}

/// Whether a variable may change which programs run or what they do.
fn steers(name: &str, value: Option<&str>) -> bool {
    let value = Value::Literal(value.unwrap_or_default().to_owned());
    environment::is_dangerous(name, &value) || super::evidence::STEERING.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_changed_is_carried_and_what_is_swboxs_or_secret_is_not() {
        let workspace = std::fs::canonicalize(std::env::temp_dir()).unwrap();
        let began = env(&[("A", "1"), ("B", "2"), ("HOME", "/h"), ("http_proxy", "p")]);
        let ended = env(&[
            ("A", "1"),
            ("C", "3"),
            ("HOME", "/elsewhere"),
            ("SWBOX_STATE", "committing"),
            ("LD_PRELOAD", "x.so"),
            ("MY_TOKEN", "abcdefgh"),
            ("BASH_FUNC_ls%%", "() { x; }"),
        ]);
        let mut carried = Carried::default();
        let farewell = Farewell { directory: workspace.clone(), env: ended };
        let notices = carried.take(&farewell, &began, (&workspace, &workspace), &Aliases::default());
        let kept: Vec<(&str, Option<&str>)> =
            carried.env.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(kept, [("B", None), ("C", Some("3"))]);
        assert_eq!(notices, ["MY_TOKEN looks like a secret and is not carried over"]);
        assert_eq!(carried.start(&workspace, &workspace), Some(workspace.clone()));
        assert_eq!(carried.start(&workspace, Path::new("/")), None, "the caller has moved");
        let outside = Farewell { directory: "/".into(), env: began.clone() };
        assert_eq!(carried.take(&outside, &began, (&workspace, &workspace), &Aliases::default()).len(), 1);
        assert_eq!(carried.start(&workspace, &workspace), None);
    }

    #[test]
    fn variables_that_steer_are_known() {
        for (name, value) in [
            ("PATH", "/work/bin:/usr/bin"),
            ("PYTEST_ADDOPTS", "-x"),
            ("GIT_PAGER", "./x"),
            ("PYTHONPATH", "."),
        ] {
            assert!(steers(name, Some(value)), "{name}");
        }
        for (name, value) in [("FOO", "bar"), ("VIRTUAL_ENV", "/work/venv"), ("PATH", "/usr/bin:/bin")] {
            assert!(!steers(name, Some(value)), "{name}");
        }
    }
}
