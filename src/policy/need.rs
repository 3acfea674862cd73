//! What an operation or a tool call needs in a state's tools: the class table of the design as sets.

use crate::classify::OpClass;
use crate::workflow::tool::{Family, TOOLS, ToolId, ToolSet};

/// What a class needs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// One of these satisfies it.
    pub any: ToolSet,
    /// The tools of which the first names the act: taking it away takes the class away.
    pub primary: ToolSet,
    /// How they are called in messages.
    pub names: &'static [&'static str],
    /// What the class does, as a clause: `writes a file`.
    pub clause: &'static str,
}

const fn position(name: &str) -> usize {
    let mut at = 0;
    while at < TOOLS.len() {
        if same(TOOLS[at].name, name) {
            return at;
        }
        at += 1;
    }
    usize::MAX
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn set(names: &[&str]) -> ToolSet {
    let (mut set, mut at) = (ToolSet::EMPTY, 0);
    while at < names.len() {
        // A name that is not in the table is an index out of bounds, that is a compile error.
        set = set.union(ToolSet::one(ToolId::at(position(names[at]))));
        at += 1;
    }
    set
}

/// The tools that the sentinels and their kin guard: never part of a default.
pub(super) const GIT_SENTINEL: ToolSet = set(&["__GIT_WRITE__"]);
/// Deletes anything.
pub(super) const DESTRUCTIVE: ToolSet = set(&["__DESTRUCTIVE__"]);
/// Deletes named files.
pub(super) const DELETE: ToolSet = set(&["delete_file"]);
/// Reads content.
pub(super) const READ: ToolSet = set(&["read_file"]);
/// Reads or searches content or a repository.
pub(super) const READING: ToolSet = ToolSet::of(&[Family::Read, Family::Search, Family::GitRead]);
/// Creates and changes files.
pub(super) const WRITE: ToolSet = ToolSet::of(&[Family::Write]);
/// Runs commands.
pub(super) const EXECUTE: ToolSet = ToolSet::of(&[Family::Execute]);
/// Changes a repository.
pub(super) const GIT: ToolSet = ToolSet::of(&[Family::GitIndex, Family::GitTree, Family::GitRemote]);
/// Changes files of the worktree through git.
pub(super) const GIT_TREE: ToolSet = ToolSet::of(&[Family::GitTree]).union(set(&["git_pull", "git_clone"]));
/// Talks to a network.
pub(super) const NETWORK: ToolSet = ToolSet::of(&[Family::Network, Family::External, Family::GitRemote]);
const SEARCH: ToolSet = set(&["read_file", "grep"]);
const LIST: ToolSet = ToolSet::of(&[Family::Read, Family::Search, Family::List]);
const FETCH: ToolSet = set(&["web_fetch", "http_request", "deploy"]);

/// What a class needs.
pub const fn need(class: OpClass) -> Need {
    match class {
        OpClass::FileWrite => Need {
            any: WRITE,
            primary: set(&["write_file"]),
            names: &["Write", "Edit"],
            clause: "writes a file",
        },
        OpClass::FileModify => Need {
            any: WRITE,
            primary: set(&["edit_file"]),
            names: &["Edit", "Write"],
            clause: "changes a file",
        },
        OpClass::FileRead => Need { any: READ, primary: READ, names: &["Read"], clause: "reads a file" },
        OpClass::ContentSearch => Need {
            any: SEARCH,
            primary: set(&["grep"]),
            names: &["Read", "Grep"],
            clause: "searches content",
        },
        OpClass::FileSearch => Need {
            any: LIST,
            primary: set(&["glob"]),
            names: &["Read", "Grep", "Glob"],
            clause: "lists names",
        },
        OpClass::Destructive => Need {
            any: DESTRUCTIVE,
            primary: DESTRUCTIVE,
            names: &["__DESTRUCTIVE__"],
            clause: "deletes or wipes",
        },
        OpClass::Network => Need {
            any: FETCH,
            primary: set(&["web_fetch"]),
            names: &["WebFetch"],
            clause: "talks to a network",
        },
        OpClass::GitWrite => Need {
            any: GIT_SENTINEL,
            primary: GIT_SENTINEL,
            names: &["__GIT_WRITE__"],
            clause: "changes the repository",
        },
        OpClass::GitRead => {
            Need { any: READ, primary: ToolSet::EMPTY, names: &["Read"], clause: "reads the repository" }
        }
        OpClass::Passthrough => Need {
            any: EXECUTE,
            primary: ToolSet::EMPTY,
            names: &["Bash", "run_command", "run_test", "run_build"],
            clause: "runs a program",
        },
    }
}

const SATISFYING: [ToolSet; 64] = {
    let mut table = [ToolSet::EMPTY; 64];
    let mut at = 0;
    while at < TOOLS.len() {
        let own = ToolSet::one(ToolId::at(at));
        table[at] = own.union(match TOOLS[at].family {
            Family::Read => READ,
            Family::Search => SEARCH,
            Family::List if same(TOOLS[at].name, "search_files") => SEARCH,
            Family::List => LIST,
            Family::Write => WRITE,
            Family::Delete => DESTRUCTIVE,
            Family::Execute => EXECUTE,
            Family::GitRead => READ,
            Family::GitIndex | Family::GitTree | Family::GitRemote => GIT_SENTINEL,
            Family::Network => FETCH,
            Family::Destructive | Family::External | Family::Session => ToolSet::EMPTY,
        });
        at += 1;
    }
    table
};

/// The tools of which one satisfies a call of `tool`: itself, and what satisfies its class.
pub fn satisfying(tool: ToolId) -> ToolSet {
    SATISFYING[tool.index()]
}
