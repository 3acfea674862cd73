//! What opens a place outside the workspace, and which places no state opens: for refusals of the jail, and before the
//! run for the way forward of a refused line, which must not lead to where the jail refuses the same. By names alone.
//!
//! Danger: a suggestion is followed. Nothing is suggested for a tree that decides what runs next.

use std::path::{Path, PathBuf};

use super::attribute::{Grant, is_git, nothing, profile};
use crate::classify::OpClass;
use crate::policy::{Decision, Reason};
use crate::profile::Profile;
use crate::profile::value::{Anchors, Place, lies_in};
use crate::workflow::Machine;

/// Trees that no profile opens for writing.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/etc",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/boot",
    "/proc",
    "/sys",
    "/dev",
    "/nix/store",
    "/gnu/store",
];

/// Directories that are the command's own, whatever the state; HOME and what these variables name are as well.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const PRIVATE_BY: [&str; 2] = ["TMPDIR", "XDG_RUNTIME_DIR"];

/// A place that a refused line would change, and that no state opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The place, as the reason names it.
    pub subject: String,
    /// What would open it.
    pub grant: Grant,
}

/// Where places lie.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Places<'a> {
    pub(in crate::service) profile: &'a Profile,
    pub(in crate::service) anchors: Anchors<'a>,
}

impl Places<'_> {
    /// Whether a path lies in a tree of tools: who may write there decides what runs next.
    pub(super) fn is_tool(&self, path: &Path) -> bool {
        let trees = self.profile.binds.toolchains.iter();
        trees.filter_map(|place| place.resolve(&self.anchors)).any(|tree| lies_in(path, &tree))
    }

    /// What lets a command change `path`, outside the workspace: `itself`, or a name in its directory.
    pub(super) fn opened_for_change(&self, path: &Path, itself: bool) -> Grant {
        if self.is_tool(path) {
            return nothing("toolchains and their caches are changed by no command");
        }
        if SYSTEM.iter().any(|system| lies_in(path, Path::new(system))) || path.parent().is_none() {
            return nothing("directories of the system are changed by no command");
        }
        self.line("writable", if itself { path } else { path.parent().unwrap_or(path) })
    }

    /// The line of a list of `[binds]` that opens `place`.
    pub(super) fn line(&self, list: &str, place: &Path) -> Grant {
        if place.parent().is_none() || place == self.anchors.home {
            return nothing("it lies in a directory that no profile may open");
        }
        let shown = match place.strip_prefix(self.anchors.home) {
            Ok(below) => Path::new("~").join(below),
            Err(_) => place.to_owned(),
        };
        profile("binds", format!("{list} = [{shown:?}]"))
    }

    /// The places that the refused operations would change and that no state of the machine opens.
    pub(in crate::service) fn closed(&self, machine: &Machine, reasons: &[Reason]) -> Vec<Closed> {
        let mut closed: Vec<Closed> = Vec::new();
        for reason in reasons {
            let changes =
                matches!(reason.class, Some(OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive));
            let Some(subject) = reason.subject.as_ref().filter(|_| changes) else { continue };
            if reason.decision != Decision::Forbidden || closed.iter().any(|known| known.subject == *subject)
            {
                continue;
            }
            let path = match subject.strip_prefix("~/") {
                Some(below) => self.anchors.home.join(below),
                None => PathBuf::from(subject),
            };
            if let Some(grant) = path.is_absolute().then(|| self.shuts(machine, &path)).flatten() {
                closed.push(Closed { subject: subject.clone(), grant });
            }
        }
        closed
    }

    /// What would open `path` to a change, where no state does.
    fn shuts(&self, machine: &Machine, path: &Path) -> Option<Grant> {
        if lies_in(path, self.anchors.workspace) {
            return is_git(path).then(|| nothing("git directories are changed by git's own commands alone"));
        }
        let private = PRIVATE.into_iter().map(Path::new);
        let by_name = PRIVATE_BY.into_iter().filter_map(|name| self.anchors.variable(name)).map(Path::new);
        let mut private = private.chain(by_name).chain([self.anchors.home]);
        if private.any(|place| lies_in(path, place)) && !self.is_tool(path) || self.is_opened(machine, path) {
            return None;
        }
        // By another name it may be the workspace's.
        let real = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
        if real.is_some_and(|real| lies_in(&real, self.anchors.workspace)) {
            return None;
        }
        Some(self.opened_for_change(path, false))
    }

    /// Whether the profile or a state opens `path` for writing.
    fn is_opened(&self, machine: &Machine, path: &Path) -> bool {
        let of_states = machine.states.values().flat_map(|state| &state.jail.writable);
        // One that cannot be read is told when a command of that state is planned.
        let of_states = of_states.filter_map(|text| Place::parse(text).ok());
        let of_profile = self.profile.binds.writable.iter().cloned();
        of_profile
            .chain(of_states)
            .filter_map(|place| place.resolve(&self.anchors))
            .any(|place| lies_in(path, &place))
    }
}
