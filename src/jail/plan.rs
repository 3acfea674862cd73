//! `SandboxSpec` and `Host` to the exact steps of one launch, as data. Pure: no files, clock or environment.
//!
//! Danger: what is not in the plan is not done. `explain` prints this very value and the supervisor predicts with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::farewell;
use super::outcome::{Achieved, Level};
use super::seccomp::FilterSpec;
use crate::profile::{Limits, Protection};

/// What a Landlock rule allows beneath a path, in the groups that swbox grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(transparent)]
pub struct Access(u8);

impl Access {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Open files for reading.
    pub const READ_FILE: Self = Self(1);
    /// List directories.
    pub const READ_DIR: Self = Self(1 << 1);
    /// Execute files.
    pub const EXECUTE: Self = Self(1 << 2);
    /// Open files for writing, truncate.
    pub const WRITE_FILE: Self = Self(1 << 3);
    /// Create entries (never device nodes).
    pub const MAKE: Self = Self(1 << 4);
    /// Remove entries.
    pub const REMOVE: Self = Self(1 << 5);
    /// Rename and link across directories.
    pub const REFER: Self = Self(1 << 6);
    /// ioctl on device files.
    pub const IOCTL_DEV: Self = Self(1 << 7);
    /// List and read.
    pub const READ: Self = Self::READ_FILE.with(Self::READ_DIR);
    /// Everything that changes a tree.
    pub const CHANGE: Self = Self::WRITE_FILE.with(Self::MAKE).with(Self::REMOVE).with(Self::REFER);

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this but not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One Landlock rule: a path as seen inside, and what is allowed beneath it. A path that does not exist is skipped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Grant {
    /// Absolute path inside the jail.
    pub path: PathBuf,
    /// What is allowed on it and beneath it.
    pub access: Access,
    /// Whether it is for what a symbolic link of that name leads to.
    pub follow: bool,
}

/// The Landlock domain of the command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LandlockPlan {
    /// The ABI to use: the kernel's, or a lower one that a test forces.
    pub abi: u32,
    /// The rights that the domain handles: at the full level the mounts hold reads and exec, so only changes are handled.
    pub handled: Access,
    /// Whether truncate is handled as well (Landlock-only; at the full level read-only mounts hold it).
    pub handle_truncate: bool,
    /// The rules.
    pub grants: Vec<Grant>,
    /// Scope abstract unix sockets (ABI 6).
    pub scope_abstract: bool,
    /// Scope signals (ABI 6).
    pub scope_signals: bool,
    /// Forbid TCP bind and connect altogether (ABI 4); the socket filter is the first wall.
    pub no_tcp: bool,
    /// Standard streams that are regular files may be reopened by name (`> /dev/stdout`) with the mode they have.
    pub stdio: bool,
    /// Directories that others fill: a rule for what lies below is left out where a link would lead to it.
    pub straight: Vec<PathBuf>,
}

/// How the workspace is seen inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Names can be listed, contents cannot be read.
    Names,
    /// Read-only.
    ReadOnly,
    /// Writes go into a layer that vanishes; read-only where the host cannot have one.
    ThrowAway,
    /// Writable in place.
    Writable,
}

/// One step in building the root, in order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum Step {
    /// A private directory on the scratch tmpfs.
    Dir {
        /// Where.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A symbolic link on the scratch tmpfs.
    Symlink {
        /// Where.
        path: PathBuf,
        /// Its text.
        target: PathBuf,
    },
    /// A name of the workspace or of HOME that a link of the host gives it: a link on the scratch, where nothing else is.
    Alias {
        /// Where.
        path: PathBuf,
        /// The real directory.
        target: PathBuf,
    },
    /// A tree of the host at its own path; a symbolic link is made again and its target bound.
    Bind {
        /// Where, on the host and inside.
        path: PathBuf,
        /// Stays writable.
        writable: bool,
        /// Programs may be executed from it.
        exec: bool,
        /// May be absent.
        optional: bool,
    },
    /// A device node of the host.
    Device {
        /// Its path.
        path: PathBuf,
    },
    /// An own `/proc`, read-only.
    Proc,
    /// The host's `/proc`, read-only, where a fresh one is refused.
    HostProc,
    /// An own `/dev/pts` with `/dev/ptmx`.
    Pts,
    /// swbox's own binary, as ssh's way to the proxy.
    Own {
        /// Where.
        path: PathBuf,
    },
    /// The workspace, by its descriptor.
    Workspace {
        /// How it is seen.
        view: View,
    },
    /// The git directories of the workspace.
    Git {
        /// Writable but for their executable parts, or wholly read-only.
        writable: bool,
    },
    /// A name below the workspace that is read-only where it exists.
    Protect {
        /// Relative to the workspace.
        name: PathBuf,
    },
    /// A host file or directory replaced by an unreadable stub where it is visible.
    Secret {
        /// Where.
        path: PathBuf,
    },
    /// A small file made for the command.
    File {
        /// Where.
        path: PathBuf,
        /// Its bytes.
        #[serde(skip)]
        bytes: Vec<u8>,
    },
    /// The script that is run, as it was judged: a read-only mount over its path.
    Script {
        /// Where.
        path: PathBuf,
        /// Its bytes.
        #[serde(skip)]
        bytes: Vec<u8>,
        /// Its permissions.
        mode: u32,
    },
}

impl Step {
    /// Where it puts something in the root; what the host has decides for the rest.
    pub(super) fn place(&self) -> Option<&Path> {
        match self {
            Self::Dir { path, .. }
            | Self::Symlink { path, .. }
            | Self::Alias { path, .. }
            | Self::Bind { path, .. }
            | Self::Device { path }
            | Self::Own { path }
            | Self::File { path, .. }
            | Self::Script { path, .. } => Some(path),
            Self::Proc | Self::HostProc => Some(Path::new("/proc")),
            Self::Pts => Some(Path::new("/dev/pts")),
            Self::Workspace { .. } | Self::Git { .. } | Self::Protect { .. } | Self::Secret { .. } => None,
        }
    }
}

/// The namespaces of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Namespaces {
    /// User, mount and IPC: the full level.
    pub user: bool,
    /// PID.
    pub pid: bool,
    /// Network, with its loopback up.
    pub net: bool,
}

/// One launch as data.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct JailPlan {
    /// The level that these steps give.
    pub level: Level,
    /// The command; never empty.
    #[serde(serialize_with = "words")]
    pub argv: Vec<OsString>,
    /// Its whole environment.
    #[serde(serialize_with = "variables")]
    pub env: BTreeMap<OsString, OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// The workspace on the host.
    pub workspace: PathBuf,
    /// Namespaces to make.
    pub namespaces: Namespaces,
    /// How the root is built; without a mount namespace only what Landlock rules and the launcher do in its place.
    pub steps: Vec<Step>,
    /// The Landlock domain.
    pub landlock: LandlockPlan,
    /// The seccomp filter.
    pub filter: FilterSpec,
    /// Limits.
    pub limits: Limits,
    /// The proxy that leads to a list of hosts; nothing else leads out of the network namespace.
    pub egress: Option<crate::proxy::Order>,
    /// What is kept of the throw-away layer when the command ends with 0.
    pub outputs: Option<super::outputs::Outputs>,
    /// Where it is noted which repositories the workspace has, so that the next launch holds them without a walk.
    pub repositories: Option<PathBuf>,
    /// Whether the command is a bash that is asked for the directory and environment that it ends with.
    pub farewell: bool,
    /// The private directories that are the session's, for a command that joins one.
    pub shared: Vec<PathBuf>,
    /// Whether the command gets a process group of its own, which no signal to swbox's group reaches.
    pub detached: bool,
    /// Each protection and how it will be achieved.
    pub protections: Vec<(Protection, Achieved)>,
    /// The protections that must be had; the rest is given up where the host cannot give it.
    pub strict: Vec<Protection>,
    /// What was asked for and cannot be had at this level.
    pub degraded: Vec<String>,
    /// What to do where the host refuses the namespaces of this plan: a lesser plan, or nothing (then it is an error).
    pub fallback: Option<Box<JailPlan>>,
    /// Why there is no lesser plan.
    pub no_fallback: Option<String>,
}

impl JailPlan {
    /// For a command in the state of this name, which refusals of hosts then name.
    #[must_use]
    pub fn for_state(mut self, state: &str) -> Self {
        if let Some(order) = &mut self.egress {
            state.clone_into(&mut order.state);
        }
        self.fallback = self.fallback.map(|lesser| Box::new(lesser.for_state(state)));
        self
    }

    /// Whether the command can join a session's namespaces: it must have all of them.
    pub fn can_join(&self) -> bool {
        self.namespaces.user && self.namespaces.pid
    }

    /// For a command that joins a session: of its private directories those are the session's that `shares` says.
    /// Signals reach the session's processes, whatever state they were started in, and none outside: either the
    /// command's process group is its own, or signals to the group are closed.
    #[must_use]
    pub fn joining(mut self, shares: impl Fn(&Path) -> bool, detached: bool) -> Self {
        let private = self.steps.iter().filter_map(|step| match step {
            Step::Dir { path, .. } if path != farewell::DIRECTORY && shares(path) => Some(path.clone()),
            _ => None,
        });
        self.shared = private.collect();
        self.shared.sort();
        self.landlock.straight.clone_from(&self.shared);
        self.landlock.scope_signals = false;
        self.filter.shared_group = !detached;
        self.detached = detached;
        self.fallback = None;
        self
    }
}

/// Words as text; what is not UTF-8 is replaced.
fn words<S: serde::Serializer>(words: &[OsString], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(words.iter().map(|word| word.to_string_lossy()))
}

/// Variables as text; what is not UTF-8 is replaced.
fn variables<S: serde::Serializer>(env: &BTreeMap<OsString, OsString>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(env.iter().map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy())))
}
