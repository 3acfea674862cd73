//! Git directories and run-later files: found before the launch, held by mounts while the command runs, checked when
//! its process tree is dead.
//!
//! A mount pins its own name only, so the directories between the workspace and what is protected are pinned too. What
//! does not exist cannot be mounted over: it is looked for afterwards.
//!
//! Danger: whoever can write `.git/config`, a hook, or one of the files that redirect git to them runs code outside the
//! jail at the person's next `git status`.

mod check;
mod config;
mod edit;
mod index;
mod judge;
mod record;
mod seen;
mod survey;
mod tree;
mod walk;
mod writeback;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(super) use check::check;
pub(super) use survey::survey;
pub use writeback::ConfigChange;
pub(super) use writeback::{COPIES, ON_SCRATCH, write_back};

use super::plan::{Access, Grant, JailPlan, Step, View};
use writeback::Original;

/// What is done with a path that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// A mount of its own, so that it cannot be renamed; writable as the workspace is.
    Pin,
    /// Writable also where the workspace is not.
    Writable,
    /// A link to a copy of the file, whose changes are looked at afterwards.
    Copy,
    /// Read-only.
    ReadOnly,
}

/// What to do for one launch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Existing paths and how they are held; parents come before what is below them.
    pub(super) holds: BTreeMap<PathBuf, Hold>,
    /// The files that are held as [`Hold::Copy`], in the order of their copies.
    pub(super) originals: Vec<Original>,
    /// Live sockets of the host that are masked.
    pub(super) sockets: Vec<PathBuf>,
    /// Names that git would obey and that do not exist: none may appear.
    forbidden: Vec<PathBuf>,
    /// Run-later files that do not exist: they are reported when they appear.
    reported: Vec<PathBuf>,
    /// Symbolic links that are protected and their text: a link cannot be mounted over.
    links: Vec<(PathBuf, PathBuf)>,
    /// Git directories known before the launch; others are new.
    known: Vec<PathBuf>,
    /// Where things that appeared are moved.
    quarantine: Option<PathBuf>,
    /// When the command did not run yet.
    since: Moment,
    /// What former runs noted, or the look before the first one.
    noted: record::Note,
}

/// A moment of the clock that the times of files are taken from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Moment {
    seconds: i64,
    nanoseconds: i64,
}

impl Moment {
    fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        Self { seconds: now.tv_sec, nanoseconds: now.tv_nsec }
    }
}

/// Something in a new or changed repository that makes git run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Where it was.
    pub file: PathBuf,
    /// The setting, or what else it is.
    pub setting: String,
    /// Where it is now, out of git's sight; absent where it could not be moved.
    pub moved: Option<PathBuf>,
}

/// What the setting begins with where nothing was found since nobody looked; why follows.
const UNSEEN: &str = "not looked into: ";

impl Planted {
    /// Why nobody looked there.
    pub fn unseen(&self) -> Option<&str> {
        self.setting.strip_prefix(UNSEEN)
    }
}

/// What was found when the process tree was dead.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Findings {
    /// Forbidden names, where they were moved to.
    pub(super) quarantined: Vec<PathBuf>,
    /// Run-later files that are new.
    pub(super) appeared: Vec<PathBuf>,
    /// What makes git run something in repositories that are new or were changed.
    pub(super) planted: Vec<Planted>,
}

impl Layout {
    /// The Landlock rules for what is writable beside the plan's own.
    pub(super) fn grants(&self) -> Vec<Grant> {
        let writable = self.holds.iter().filter(|(_, hold)| **hold == Hold::Writable).map(|(path, _)| path);
        let copies = PathBuf::from(COPIES);
        writable
            .chain((!self.originals.is_empty()).then_some(&copies))
            .map(|path| Grant {
                path: path.clone(),
                access: Access::CHANGE.with(Access::READ),
                follow: false,
            })
            .collect()
    }

    /// Where former runs saw sockets, below the workspace.
    pub(super) fn noted_sockets(&self) -> &[PathBuf] {
        &self.noted.sockets
    }

    /// What is weaker where nothing could be noted of the workspace.
    pub(super) fn unkept(&self) -> Option<String> {
        self.noted.unkept.then(|| {
            "unnoted-run: swbox's state directory cannot be written, so if swbox is killed during a command nobody looks \
             for repositories that the command planted"
                .to_owned()
        })
    }

    /// What is held with all that is in it, and need not be walked into.
    fn whole(&self) -> HashSet<&OsStr> {
        let whole = self.holds.iter().filter(|(_, hold)| **hold != Hold::Pin);
        whole.map(|(path, _)| path.as_os_str()).collect()
    }

    /// Whether `path` lies in a git directory that was known before.
    fn reaches(&self, path: &Path) -> bool {
        self.known.iter().any(|known| path.starts_with(known))
    }

    fn hold(&mut self, path: &Path, hold: Hold) {
        let entry = self.holds.entry(path.to_owned()).or_insert(hold);
        *entry = hold.max(*entry);
    }

    /// Pins every directory between `workspace` and `path`.
    fn pin_ancestors(&mut self, workspace: &Path, path: &Path) {
        for ancestor in path.ancestors().skip(1).take_while(|ancestor| *ancestor != workspace) {
            if !ancestor.starts_with(workspace) {
                return;
            }
            if survey::kind(ancestor) == survey::Kind::Directory {
                self.hold(ancestor, Hold::Pin);
            }
        }
    }
}

/// How git directories are to be held by this plan, if it has to do with them at all.
fn git_step(plan: &JailPlan) -> Option<bool> {
    plan.steps.iter().find_map(|step| match step {
        Step::Git { writable } => Some(*writable),
        _ => None,
    })
}

/// How the workspace is seen.
fn view(plan: &JailPlan) -> Option<View> {
    plan.steps.iter().find_map(|step| match step {
        Step::Workspace { view } => Some(*view),
        _ => None,
    })
}
