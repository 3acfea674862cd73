//! The table of protections: what each shape of the jail achieves, by Landlock ABI and rights. `doctor` proves the
//! rows by trying, the threat model prints them.
//!
//! Danger: a row that claims more than the kernel holds is a lie in every report.

use super::outcome::Achieved;
use super::planner::Shape;
use crate::diagnostic::Diagnostic;
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::profile::{Protection, Requirement, SandboxSpec};

/// All protections, in the order of reports.
pub const ALL: [Protection; 12] = [
    Protection::Reads,
    Protection::Writes,
    Protection::Metadata,
    Protection::GitDirectories,
    Protection::ThrowAway,
    Protection::Network,
    Protection::HostSockets,
    Protection::Processes,
    Protection::NoLeftovers,
    Protection::SystemCalls,
    Protection::Privileges,
    Protection::Secrets,
];

/// The name of a protection in files and messages.
pub const fn name(protection: Protection) -> &'static str {
    match protection {
        Protection::Reads => "reads",
        Protection::Writes => "writes",
        Protection::Metadata => "metadata",
        Protection::GitDirectories => "git-directories",
        Protection::ThrowAway => "throw-away",
        Protection::Network => "network",
        Protection::HostSockets => "host-sockets",
        Protection::Processes => "processes",
        Protection::NoLeftovers => "no-leftovers",
        Protection::SystemCalls => "system-calls",
        Protection::Privileges => "privileges",
        Protection::Secrets => "secrets",
    }
}

/// What `shape` achieves for `protection`, and the reason where that is less than asked.
pub(super) fn achieved(
    protection: Protection,
    shape: Shape,
    abi: u32,
    rights: &Rights,
) -> (Achieved, Option<&'static str>) {
    use Achieved::{Degraded, Detected, Off, Prevented};
    let mounts = shape != Shape::LandlockOnly;
    let changes = matches!(rights.workspace, WorkspaceRight::Write | WorkspaceRight::ThrowAway);
    match protection {
        Protection::Reads | Protection::Writes | Protection::SystemCalls | Protection::Privileges => {
            (Prevented, None)
        }
        Protection::Metadata if mounts || !changes => (Prevented, None),
        Protection::Metadata => (
            Degraded,
            Some(
                "no-metadata: mode, owner, times and xattrs outside the workspace are not held without namespaces",
            ),
        ),
        Protection::GitDirectories if rights.git_write && mounts => (Detected, None),
        // More is held than was asked for.
        Protection::GitDirectories
            if rights.git_write && !mounts && rights.workspace != WorkspaceRight::Write =>
        {
            (Prevented, Some("no-git-write: without namespaces git directories are changed by no command"))
        }
        Protection::GitDirectories if rights.git_write && !mounts => (
            Degraded,
            Some(
                "no-git-write: without namespaces git directories are changed by no command, and those below the top level are not held",
            ),
        ),
        Protection::GitDirectories if mounts || rights.workspace != WorkspaceRight::Write => {
            (Prevented, None)
        }
        Protection::GitDirectories => (
            Degraded,
            Some("no-git-guard: git directories below the top level are not held without namespaces"),
        ),
        Protection::ThrowAway if rights.workspace != WorkspaceRight::ThrowAway => (Off, None),
        Protection::ThrowAway if mounts => (Prevented, None),
        Protection::ThrowAway => {
            (Degraded, Some("no-throwaway: the workspace is read-only, the layer needs a mount namespace"))
        }
        Protection::Network => match rights.network {
            NetworkRight::Open => (Off, None),
            NetworkRight::None => (Prevented, None),
            NetworkRight::Loopback | NetworkRight::Hosts(_) if mounts => (Prevented, None),
            // More is held than was asked for; what is missing is the loopback.
            NetworkRight::Loopback => {
                (Prevented, Some("no-loopback: without namespaces the command has no network at all"))
            }
            NetworkRight::Hosts(_) => {
                (Degraded, Some("no-hosts: without namespaces the command has no network at all"))
            }
        },
        Protection::HostSockets if rights.network == NetworkRight::None || abi >= 9 => (Prevented, None),
        // A socket of the lower layer refuses connections.
        Protection::HostSockets if mounts && rights.workspace == WorkspaceRight::ThrowAway => {
            (Prevented, None)
        }
        Protection::HostSockets if !mounts && rights.network != NetworkRight::Open => (Prevented, None),
        Protection::HostSockets if mounts => (
            Degraded,
            Some(
                "host-sockets: unix sockets that others make inside the workspace while the command runs, or by a relative name, can be connected to (Landlock ABI 9 holds them)",
            ),
        ),
        Protection::HostSockets => {
            (Degraded, Some("host-sockets: path sockets in visible directories need Landlock ABI 9"))
        }
        Protection::Processes if shape == Shape::Full => (Prevented, None),
        Protection::Processes if abi >= 6 => (
            Degraded,
            Some("processes: those outside can be seen (not signalled or traced) without a PID namespace"),
        ),
        Protection::Processes => {
            (Degraded, Some("processes: those outside can be seen and signalled below Landlock ABI 6"))
        }
        Protection::NoLeftovers if shape == Shape::Full => (Prevented, None),
        Protection::NoLeftovers => {
            (Degraded, Some("no-leftovers: a SIGKILL of swbox can leave processes without a PID namespace"))
        }
        Protection::Secrets => (Prevented, None),
    }
}

/// What a shape gives of what a spec asks.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Each protection and how it is achieved.
    pub(super) achievements: Vec<(Protection, Achieved)>,
    /// The reasons for less than was asked.
    pub(super) degraded: Vec<String>,
}

/// Holds the table against what the spec asks: what is achieved and the reasons for less, or the strict protection that
/// cannot be had.
pub(super) fn judge(spec: &SandboxSpec, shape: Shape, abi: u32) -> Result<Judgement, Diagnostic> {
    let mut judgement = Judgement::default();
    for protection in ALL {
        let requirement = spec.protections.get(&protection).copied().unwrap_or(Requirement::Strict);
        let (had, reason) = achieved(protection, shape, abi, &spec.rights);
        match (requirement, had) {
            (Requirement::Off, _) => judgement.achievements.push((protection, Achieved::Off)),
            (Requirement::Strict, Achieved::Degraded) => {
                return Err(unavailable(protection, reason.unwrap_or("")));
            }
            (Requirement::Strict | Requirement::Degradable, had) => {
                judgement.achievements.push((protection, had));
                judgement.degraded.extend(reason.map(str::to_owned));
            }
        }
    }
    Ok(judgement)
}

/// The protections that `spec` asks for strictly; one that it does not name is.
pub(super) fn strict(spec: &SandboxSpec) -> Vec<Protection> {
    ALL.into_iter()
        .filter(|protection| {
            spec.protections.get(protection).is_none_or(|requirement| *requirement == Requirement::Strict)
        })
        .collect()
}

/// A strict protection cannot be had.
pub(super) fn unavailable(protection: Protection, reason: &str) -> Diagnostic {
    Diagnostic::new(
        "protection_unavailable",
        format!("the strict protection \"{}\" cannot be had on this host: {reason}", name(protection)),
    )
    .help(format!(
        "run `swbox doctor` to see what this host can enforce, or set `{} = \"degradable\"` in the profile's [protections]",
        name(protection)
    ))
}
