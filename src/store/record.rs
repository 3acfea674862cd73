//! What the store keeps, as data. Payloads are JSON; what is searched or compared has a column.

use std::path::PathBuf;

use super::chain::Hash;

/// A session as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id, `s-` and ten letters.
    pub id: String,
    /// The workspace, resolved.
    pub workspace: PathBuf,
    /// The workflow's id.
    pub workflow: String,
    /// Milliseconds since 1970 at its start.
    pub created: u64,
    /// Milliseconds since 1970 of the last entry.
    pub touched: u64,
    /// Whether it is over: in a final state, ended or terminated. Nothing runs in it any more.
    pub over: bool,
    /// The state it is in.
    pub state: String,
    /// The position of the last entry of its journal.
    pub position: u64,
    /// That entry's hash.
    pub head: Hash,
    /// The engine's own session, as JSON.
    pub body: String,
    /// What lies outside the engine and outlives a command: directory, environment; JSON.
    pub place: String,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From 1, without gaps.
    pub position: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What kind.
    pub kind: String,
    /// JSON.
    pub body: String,
    /// Hash of this and all before.
    pub hash: Hash,
}

/// A command that has begun and has no end yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The session.
    pub session: String,
    /// The position of its `start`.
    pub position: u64,
    /// The process that runs it and will write its end.
    pub pid: i32,
    /// When that process began, in the kernel's ticks: a number that is given anew belongs to another process.
    pub born: u64,
    /// What it holds and is, as JSON.
    pub body: String,
}

/// Bytes that a session never reads again from where they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// `workflow`, `invoked` or `profile`.
    pub kind: String,
    /// Its name among its kind.
    pub name: String,
    /// Where it came from.
    pub origin: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What waits for a person, or waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Its id, `a-` and ten letters.
    pub id: String,
    /// The session.
    pub session: String,
    /// The journal's position when it was parked.
    pub position: u64,
    /// Milliseconds since 1970.
    pub created: u64,
    /// Milliseconds since 1970 after which nobody can answer it.
    pub expires: u64,
    /// `open`, `approved`, `rejected`, `used`, `stale` or `expired`.
    pub status: String,
    /// What it is, as JSON.
    pub body: String,
}

/// A file as a person saw it when they last approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its path below the workspace.
    pub path: String,
    /// Whether it was there.
    pub there: bool,
    /// A digest of each line; none where it was no text.
    pub lines: Option<Vec<u64>>,
}

/// The right to send one command into a session, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Its id: whoever has it has the right.
    pub id: String,
    /// The session.
    pub session: String,
    /// Digest of the command that it is for.
    pub command: String,
    /// Milliseconds since 1970 after which it is void.
    pub expires: u64,
}
