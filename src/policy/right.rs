//! One right by itself: which tools give it, which state has it, and the way to such a state. The jail's refusals are
//! explained by it after the run.
//!
//! A right is what the kernel can hold, not what a class needs: who may write may remove as well.

use super::law::StateLaw;
use super::need;
use super::rights::{WorkspaceRight, unwritten};
use super::{Hint, Policy};
use crate::workflow::tool::{Meaning, ToolSet, meaning};

/// A right that the jail can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Contents of workspace files.
    Read,
    /// Create and change files of the workspace, or of a place that a profile opens.
    Write,
    /// Remove them.
    Delete,
    /// Run programs that lie there.
    Exec,
    /// Change a repository.
    GitWrite,
    /// Reach hosts.
    Network,
    /// Sockets of the command's own loopback.
    Loopback,
}

impl Right {
    /// Its name in messages and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Exec => "exec",
            Self::GitWrite => "git-write",
            Self::Network => "network",
            Self::Loopback => "loopback",
        }
    }

    /// The tools of which one gives it, as messages name them.
    pub const fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Read => &["Read"],
            Self::Write => &["Write", "Edit"],
            Self::Delete => &["delete_file", "Write", "Edit"],
            Self::GitWrite => &["git_add", "git_commit", "__GIT_WRITE__"],
            Self::Network => &["WebFetch"],
            Self::Loopback => &["Bash", "run_command", "run_test", "run_build", "Write"],
            Self::Exec => &[],
        }
    }

    const fn set(self) -> ToolSet {
        match self {
            Self::Read => need::READING.union(need::GIT).union(need::EXECUTE),
            Self::Write => need::WRITE,
            Self::Delete => need::WRITE.union(need::DELETE).union(need::DESTRUCTIVE),
            Self::GitWrite => need::GIT,
            Self::Network => need::NETWORK,
            Self::Loopback => need::EXECUTE.union(need::WRITE),
            Self::Exec => ToolSet::EMPTY,
        }
    }
}

/// Whether some command of the state can hold a right.
pub fn holds(law: &StateLaw, right: Right) -> bool {
    if law.is_final {
        return false;
    }
    match right {
        Right::Read => unwritten(law) >= WorkspaceRight::Read || law.has(need::WRITE),
        Right::Exec => true,
        right => law.has(right.set()),
    }
}

impl Policy<'_> {
    /// The shortest way to a state that has a right: one that also `runs` the command, else the nearest that has it.
    pub fn way_to(&self, law: &StateLaw, right: Right, runs: impl Fn(&StateLaw) -> bool) -> Option<Hint> {
        if law.is_final || right == Right::Exec {
            return None;
        }
        let named = |name: &str| self.state(name);
        let has = |name: &str| named(name).is_some_and(|law| holds(law, right));
        let both = |name: &str| named(name).is_some_and(|law| holds(law, right) && runs(law));
        let found = super::hint::path(self.machine, &law.name, both);
        let (path, target) = found.or_else(|| super::hint::path(self.machine, &law.name, has))?;
        let gives = |name: &&String| matches!(meaning(name), Meaning::Known(id) if right.set().contains(id));
        Some(Hint::new(path, self.state(target)?.listed().iter().filter(gives).cloned().collect()))
    }
}
