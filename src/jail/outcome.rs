//! What a jailed command did, as seen from outside.

use std::time::Duration;

/// How much of the namespaces this host gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Landlock and seccomp without namespaces.
    LandlockOnly,
    /// User, mount, PID and IPC namespaces, Landlock and seccomp.
    Full,
}

/// How a protection was achieved; each word is a different promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Achieved {
    /// The kernel refuses the act.
    Prevented,
    /// The act is found after the run and undone or reported.
    Detected,
    /// Not had on this host.
    Degraded,
    /// Not asked for.
    Off,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(u8),
    /// A signal ended it.
    Signal(i32),
    /// The wall clock ran out and the tree was killed.
    Timeout,
    /// The program was not found (127) or could not be executed (126).
    NotStarted {
        /// 127 or 126.
        code: u8,
        /// The errno of execve.
        errno: i32,
    },
}

/// A limit that a command ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHit {
    /// The wall clock (`timeout`).
    Timeout,
    /// CPU seconds (`cpu`): SIGXCPU.
    Cpu,
    /// The largest file (`file_size`): SIGXFSZ.
    FileSize,
    /// Open files of one process (`open_files`).
    OpenFiles,
    /// The data of one process (`memory`).
    Memory,
    /// Processes and threads (`processes`).
    Processes,
    /// The kept bytes of a stream (`output`): the middle was cut.
    Output,
    /// The size of the throw-away layer and the private directories (`scratch`): it was full at the end.
    Scratch,
}

impl LimitHit {
    /// Its name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Cpu => "cpu",
            Self::FileSize => "file_size",
            Self::OpenFiles => "open_files",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Output => "output",
            Self::Scratch => "scratch",
        }
    }
}

/// A captured stream: all of it, or head and tail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, when some in between were dropped.
    pub tail: Vec<u8>,
    /// How many bytes the command wrote in all.
    pub total: u64,
}

impl Captured {
    /// How many bytes are not kept.
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub(self.head.len() as u64).saturating_sub(self.tail.len() as u64)
    }
}

/// What the jail was and what the command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From the start of the command to the death of its tree.
    pub duration: Duration,
    /// Time swbox needed before the command's exec.
    pub setup: Duration,
    /// The level in force.
    pub level: Level,
    /// Each protection and how it was achieved.
    pub protections: Vec<(crate::profile::Protection, Achieved)>,
    /// What was asked for and not had, with the reason (`no-throwaway: …`).
    pub degraded: Vec<String>,
    /// Captured output, when asked for.
    pub output: Option<(Captured, Captured)>,
    /// Hosts that the command asked its proxy for and did not get.
    pub refused_hosts: Vec<crate::proxy::RefusedHost>,
    /// Protected names that appeared and were moved away (then the run is 125).
    pub quarantined: Vec<std::path::PathBuf>,
    /// Run-later files (`.envrc`, `.vscode` …) that are new; below the top of the workspace also those that were changed.
    pub appeared: Vec<std::path::PathBuf>,
    /// What makes git run something in repositories that are new or were changed (then the run is 125).
    pub planted: Vec<super::git::Planted>,
    /// What git commands changed in configuration files, and whether it was written (if not, the run is 125).
    pub config: Vec<super::git::ConfigChange>,
    /// What was kept of the throw-away layer; absent where nothing is declared or the command did not end with 0.
    pub outputs: Option<super::outputs::Kept>,
    /// What the shell ended with, where it was asked and said it.
    pub farewell: Option<super::farewell::Farewell>,
    /// The limit that the command ran into, where that can be known.
    pub limit: Option<LimitHit>,
    /// Whether the limit is inferred from what the command said, since the kernel tells nobody else.
    pub limit_inferred: bool,
    /// The terminal interrupted swbox together with the command (Ctrl-C).
    pub interrupted: bool,
}

impl Outcome {
    /// Whether the workspace is as the command's end says: nothing had to be moved away, what git said it changed was
    /// written, declared outputs are there. If not, the run is 125 however the command ended.
    pub fn is_sound(&self) -> bool {
        let written = self.config.iter().all(|change| change.refused.is_none());
        let kept = self.outputs.as_ref().is_none_or(|kept| kept.problem.is_none());
        written && kept && self.quarantined.is_empty() && self.planted.is_empty()
    }

    /// Whether Ctrl-C ended the command. swbox then has to end by the signal and not with 130: a shell goes on with its
    /// loop after a child that ends with a code, for such a one has dealt with the key.
    pub fn ended_by_interrupt(&self) -> bool {
        self.interrupted && self.exit == Exit::Signal(libc::SIGINT)
    }
}

/// Ends this process as Ctrl-C ends one.
pub fn end_by_interrupt() -> std::io::Result<()> {
    crate::sys::signal::set_default(libc::SIGINT);
    // It stays unblocked: nothing follows.
    let _ = crate::sys::signal::Set::of(&[libc::SIGINT]).unblock()?;
    crate::sys::signal::send(i32::try_from(std::process::id()).unwrap_or_default(), libc::SIGINT)
}
