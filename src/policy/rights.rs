//! Rights: what the jail may grant, derived from the state's tools and narrowed to what the command declares.
//!
//! Danger: rights never come from trust in the parse. Narrowing may only take away.

use super::law::StateLaw;
use super::need;
use super::scratch::is_scratch_line;
use crate::classify::{Classification, ClassifiedSegment, OpClass, OpSet};
use crate::shell::Trust;
use crate::workflow::tool::ToolId;

/// How much of the workspace a command may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceRight {
    /// Names, not contents.
    List,
    /// Contents.
    Read,
    /// Writes succeed and vanish: a throw-away layer over the tree.
    ThrowAway,
    /// Create, change, rename and remove.
    Write,
}

/// What a command may reach on the network.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkRight {
    /// No IP socket at all.
    None,
    /// Its own loopback only.
    Loopback,
    /// Its own loopback and these hosts by name, through swbox's proxy.
    Hosts(Vec<String>),
    /// The host's network.
    Open,
}

/// What a command may do, as derived from the state.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Rights {
    /// Workspace files.
    pub workspace: WorkspaceRight,
    /// Git directories writable (no program of the line but git changes files, and the state has a git tool).
    pub git_write: bool,
    /// Network.
    pub network: NetworkRight,
    /// The rights that narrowing took away, by name (`write`, `git-write`, `network`); a denial says `cause: narrowed`.
    pub narrowed: Vec<&'static str>,
}

/// What rights depend on beside state and line.
#[derive(Debug, Clone, Copy)]
pub struct RightsRequest<'a> {
    /// The hosts that the profile names; a state's own list replaces it.
    pub hosts: &'a [String],
    /// Whether rights are narrowed to what a transparent line declares.
    pub narrow: bool,
}

/// The rights of one line in a state.
pub(super) fn rights(
    law: &StateLaw,
    line: &Classification,
    root: Option<&str>,
    request: RightsRequest<'_>,
) -> Rights {
    let shape = Shape::of(law, root, line);
    let workspace = workspace(law, &shape);
    let git_write =
        shape.git_only && !shape.scratch && (law.has(need::GIT) || shape.granted.contains(OpClass::GitWrite));
    let network = network(law, &shape, request.hosts);
    let mut rights = Rights { workspace, git_write, network, narrowed: Vec::new() };
    if request.narrow && shape.transparent {
        narrow(&mut rights, line.classes, &shape);
    }
    rights
}

/// Whether some command of the state could hold these rights: what a command that runs on may keep when the work enters
/// it. Hosts that only a profile names are the same in each state without a list of its own.
pub fn within(law: &StateLaw, workspace: WorkspaceRight, git_write: bool, network: &NetworkRight) -> bool {
    if law.is_final {
        return false;
    }
    let entries = law.entries().unwrap_or_default();
    let granted = |class: OpClass| entries.iter().any(|entry| entry.grant().classes.contains(class));
    let writes = law.has(need::WRITE.union(need::DELETE).union(need::DESTRUCTIVE).union(need::GIT_TREE))
        || [OpClass::FileWrite, OpClass::FileModify, OpClass::Destructive].into_iter().any(granted);
    let most = if writes { WorkspaceRight::Write } else { unwritten(law) };
    let reaches = law.has(need::NETWORK) || granted(OpClass::Network);
    let listed = law.jail.network.as_deref();
    let open = listed.is_some_and(|hosts| hosts.iter().any(|host| host == "*"));
    let reachable = match network {
        NetworkRight::None => true,
        NetworkRight::Loopback => reaches || law.has(need::EXECUTE.union(need::WRITE)),
        NetworkRight::Hosts(hosts) => {
            reaches && listed.is_none_or(|listed| open || hosts.iter().all(|host| listed.contains(host)))
        }
        NetworkRight::Open => reaches && open,
    };
    workspace <= most && (!git_write || law.has(need::GIT) || granted(OpClass::GitWrite)) && reachable
}

/// What can be said of a line as a whole.
struct Shape {
    /// Trusted, nothing opaque, and each program does what its classes say and no more.
    transparent: bool,
    /// At least one git, and otherwise only what changes no file, not by a redirection of git's own output either: where a
    /// git directory is writable it is so for the whole line, by whatever name or link.
    git_only: bool,
    /// Whether git changes files of the worktree.
    git_tree: bool,
    /// It writes to private directories, without a tool that would let it write to the workspace.
    scratch: bool,
    /// Classes that entries of the command list grant to every command that could use them.
    granted: OpSet,
}

impl Shape {
    fn of(law: &StateLaw, root: Option<&str>, line: &Classification) -> Self {
        let sound = line.trust == Trust::Trusted && line.opaque.is_none();
        let segments = &line.segments;
        let contained = |segment: &ClassifiedSegment| {
            segment.closed || segment.pure || segment.effect_free || segment.stdin_filter
        };
        let clear = |segment: &ClassifiedSegment| segment.opaque.is_none() && contained(segment);
        let git = |segment: &ClassifiedSegment| segment.git && segment.opaque.is_none();
        let beside_git =
            |segment: &ClassifiedSegment| (git(segment) || clear(segment)) && !writes_itself(segment);
        let git_tree = segments.iter().flat_map(|segment| &segment.ops).any(|op| {
            op.class == OpClass::GitWrite
                && op.tool.and_then(ToolId::named).is_none_or(|id| need::GIT_TREE.contains(id))
        });
        let mut granted = OpSet::EMPTY;
        for class in [
            OpClass::FileWrite,
            OpClass::FileModify,
            OpClass::Destructive,
            OpClass::GitWrite,
            OpClass::Network,
        ] {
            // A right that an entry grants is the line's, so each command that the text does not bind must have it.
            let mut used = false;
            let all = segments.iter().all(|segment| {
                let by_entry = law
                    .entries()
                    .unwrap_or_default()
                    .iter()
                    .any(|entry| entry.matches(segment) && entry.grant().classes.contains(class));
                used |= by_entry;
                by_entry || clear(segment)
            });
            if used && all && line.trust == Trust::Trusted {
                granted = granted.with(class);
            }
        }
        Self {
            transparent: sound && segments.iter().all(clear),
            git_only: sound && segments.iter().any(git) && segments.iter().all(beside_git),
            git_tree,
            scratch: !law.has(need::WRITE) && is_scratch_line(law, root, line),
            granted,
        }
    }

    fn grants_any(&self, classes: &[OpClass]) -> bool {
        classes.iter().any(|class| self.granted.contains(*class))
    }
}

/// Whether a command changes files by another hand than git's: it is another program, or its output is led into a file.
fn writes_itself(segment: &ClassifiedSegment) -> bool {
    segment.ops.iter().any(|op| match op.class {
        OpClass::FileWrite | OpClass::FileModify => !segment.git || op.tool.is_none(),
        OpClass::Destructive => !segment.git,
        _ => false,
    })
}

fn workspace(law: &StateLaw, shape: &Shape) -> WorkspaceRight {
    const WRITING: [OpClass; 3] = [OpClass::FileWrite, OpClass::FileModify, OpClass::Destructive];
    // Removing alone needs the same right as writing in the jail, so it is given only to a line whose text binds it.
    let removes = law.has(need::DELETE.union(need::DESTRUCTIVE)) && shape.transparent;
    let through_git = shape.git_only && shape.git_tree && law.has(need::GIT_TREE);
    // A name below `/tmp` may be a link into the workspace: what was allowed for its name alone must not write there.
    let bound = !shape.scratch && (removes || through_git || shape.grants_any(&WRITING));
    if law.has(need::WRITE) || bound { WorkspaceRight::Write } else { unwritten(law) }
}

/// The workspace right of a state for a line that may not write there.
pub(super) fn unwritten(law: &StateLaw) -> WorkspaceRight {
    if law.executes() {
        WorkspaceRight::ThrowAway
    } else if law.has(need::READING.union(need::GIT)) || law.opaque_read_only() {
        WorkspaceRight::Read
    } else {
        WorkspaceRight::List
    }
}

fn network(law: &StateLaw, shape: &Shape, profile: &[String]) -> NetworkRight {
    let loopback = law.has(need::EXECUTE.union(need::WRITE));
    if law.has(need::NETWORK) || shape.granted.contains(OpClass::Network) {
        let hosts = law.jail.network.as_deref().unwrap_or(profile);
        if hosts.iter().any(|host| host == "*") {
            return NetworkRight::Open;
        }
        if !hosts.is_empty() {
            return NetworkRight::Hosts(hosts.to_vec());
        }
    }
    if loopback { NetworkRight::Loopback } else { NetworkRight::None }
}

/// Takes away what the classes of a transparent line do not need.
fn narrow(rights: &mut Rights, classes: OpSet, shape: &Shape) {
    let writes = [OpClass::FileWrite, OpClass::FileModify, OpClass::Destructive];
    let needs_write = writes.iter().any(|class| classes.contains(*class))
        || shape.git_tree && classes.contains(OpClass::GitWrite);
    if rights.workspace > WorkspaceRight::Read && !needs_write {
        rights.workspace = WorkspaceRight::Read;
        rights.narrowed.push("write");
    }
    if rights.git_write && !classes.contains(OpClass::GitWrite) {
        rights.git_write = false;
        rights.narrowed.push("git-write");
    }
    if rights.network != NetworkRight::None && !classes.contains(OpClass::Network) {
        rights.network = NetworkRight::None;
        rights.narrowed.push("network");
    }
}
