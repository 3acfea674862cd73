//! Rights: what the jail may grant, derived from the state's tools and narrowed to what the command declares.
//!
//! Danger: rights never come from trust in the parse. Narrowing may only take away.

/// How much of the workspace a command may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
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
    /// Git directories writable (all programs of the line are git and the state has a git tool).
    pub git_write: bool,
    /// Network.
    pub network: NetworkRight,
    /// The rights that narrowing took away, by name (`write`, `git-write`, `network`); a denial says `cause: narrowed`.
    pub narrowed: Vec<&'static str>,
}
