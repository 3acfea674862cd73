//! `SandboxSpec`: what one command may see and do on this host, as data. The jail turns it into kernel steps.
//!
//! Danger: the spec is an allow-list. What it does not name does not exist inside.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::alias::Aliases;
use crate::policy::Rights;

/// A tree of the host that is visible inside at the same path.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Bind {
    /// Absolute path on the host and inside.
    pub path: PathBuf,
    /// Whether files below may be changed. Never for a system directory.
    pub writable: bool,
    /// Whether programs below may be executed.
    pub exec: bool,
    /// Whether its absence on the host is fine (skipped) or a set-up error.
    pub optional: bool,
}

/// Limits of one command. `None` is the host's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Limits {
    /// Wall clock; then TERM, a short grace, KILL of the whole tree: exit 124.
    pub timeout: Option<Duration>,
    /// Processes and threads (RLIMIT_NPROC where it can hold, else cgroup pids).
    pub processes: Option<u64>,
    /// Data segment in bytes (RLIMIT_DATA; never RLIMIT_AS, which breaks Go, Java and sanitizers).
    pub memory: Option<u64>,
    /// Largest file in bytes (RLIMIT_FSIZE).
    pub file_size: Option<u64>,
    /// CPU seconds (RLIMIT_CPU).
    pub cpu: Option<u64>,
    /// Open files (RLIMIT_NOFILE).
    pub open_files: Option<u64>,
    /// Size cap of the throw-away layer and of the private tmpfs mounts, in bytes.
    pub scratch: Option<u64>,
    /// Bytes of captured output kept per stream (`--json` only; head and tail are kept).
    pub output: Option<u64>,
}

/// How strictly a protection is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Requirement {
    /// Not asked for.
    Off,
    /// Asked for; its absence is reported as degraded.
    Degradable,
    /// Must be had; else exit 125 with reason and remedy.
    Strict,
}

/// A protection of the jail; the table in `jail::probe` says what each needs of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// Only listed trees can be read.
    Reads,
    /// Writes, create, remove, rename, truncate outside the granted trees fail.
    Writes,
    /// chmod, utimes, xattr outside the granted trees fail.
    Metadata,
    /// Git directories and run-later files cannot be changed.
    GitDirectories,
    /// Opaque commands of execute states write into a layer that vanishes.
    ThrowAway,
    /// The network right holds.
    Network,
    /// Unix sockets of the host cannot be reached.
    HostSockets,
    /// Processes outside cannot be seen, signalled or traced.
    Processes,
    /// Nothing outlives swbox, not even its SIGKILL.
    NoLeftovers,
    /// The dangerous system calls are closed.
    SystemCalls,
    /// No privilege can be gained: no_new_privs, no capabilities.
    Privileges,
    /// Secrets, environment and inherited descriptors stay out.
    Secrets,
}

/// What one command may see and do, resolved for this host and workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// The workspace, resolved, absolute.
    pub workspace: PathBuf,
    /// Where the command starts; inside the workspace or another visible tree.
    pub cwd: PathBuf,
    /// What the state grants.
    pub rights: Rights,
    /// Visible trees beside the workspace: system directories, toolchains, what the profile lists.
    pub binds: Vec<Bind>,
    /// HOME: real path, private and writable; `None` when the host has none (then `/home/swbox`-less: HOME=/tmp).
    pub home: PathBuf,
    /// Files and directories that exist on the host below visible trees or HOME and must be unreadable stubs.
    pub secrets: Vec<PathBuf>,
    /// Names below the workspace that are read-only where they exist (`.envrc`, `.vscode`, …), relative.
    pub protected: Vec<PathBuf>,
    /// Small files made for the command (sanitised `~/.gitconfig`, `/etc/passwd`-like): absolute path and bytes.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The script that is run: its absolute path, the bytes that were judged, its mode. They lie over the path, so that
    /// nobody swaps them; only at the full level.
    pub script: Option<(PathBuf, Vec<u8>, u32)>,
    /// The whole environment of the command.
    pub env: BTreeMap<OsString, OsString>,
    /// Limits.
    pub limits: Limits,
    /// What is asked of each protection.
    pub protections: BTreeMap<Protection, Requirement>,
    /// Files and directories below the workspace that are kept of a throw-away layer, relative.
    pub outputs: Vec<PathBuf>,
    /// Where swbox notes which repositories the workspace has; no command sees it.
    pub repositories: Option<PathBuf>,
    /// Names that lead to the workspace or to HOME by a link of the host.
    pub aliases: Aliases,
}
