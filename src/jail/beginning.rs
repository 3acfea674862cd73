//! What a launch can begin with before there is a plan.
//!
//! Danger: what is begun has to be what the plan then says; the launcher compares both, and begins anew where they differ.

use std::path::{Path, PathBuf};

use super::mount;
use super::output::Capture;
use super::plan::{JailPlan, Namespaces, Step, View};
use super::seccomp::Handover;
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::sys::process::Memory;

/// What is known of a launch before there is a plan: with that the jail is begun while the launcher still plans. Half of
/// it is the same for every command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The workspace on the host.
    pub(super) workspace: PathBuf,
    /// Namespaces to make.
    pub(super) namespaces: Namespaces,
    /// What of the root is built at once.
    pub(super) root: mount::Beginning,
    /// Output is captured.
    pub(super) captured: bool,
    /// Something on the scratch may be looked at afterwards.
    pub(super) kept: bool,
    /// There is a proxy.
    pub(super) proxy: bool,
    /// Whose memory the first process works in.
    pub(super) memory: Memory,
}

impl Beginning {
    /// Of a command with these rights in this workspace, at the full level. A plan that turns out otherwise costs the
    /// time, nothing else.
    pub fn usual(workspace: &Path, rights: &Rights, scratch: Option<u64>, captured: bool) -> Self {
        let net = matches!(rights.network, NetworkRight::Loopback | NetworkRight::Hosts(_));
        let proxy = matches!(rights.network, NetworkRight::Hosts(_));
        Self {
            workspace: workspace.to_owned(),
            namespaces: Namespaces { user: true, pid: true, net },
            root: mount::Beginning::usual(scratch, rustix::process::geteuid().as_raw()),
            captured,
            kept: rights.git_write || rights.workspace == WorkspaceRight::ThrowAway,
            proxy,
            memory: if proxy { Memory::Copied } else { Memory::Shared },
        }
    }

    /// Of this plan, with who watches it.
    pub(super) fn of(plan: &JailPlan, capture: Capture, watched: Option<Handover>) -> Self {
        let kept = |step: &Step| {
            matches!(step, Step::Git { writable: true } | Step::Workspace { view: View::ThrowAway })
        };
        // Where the launcher has something to do before the command runs, the first process has a memory of its own;
        // without a PID namespace it also has later. That calls are answered needs none: see `Watch`.
        let alone = plan.namespaces.pid && plan.egress.is_none() && watched != Some(Handover::Tracer);
        Self {
            workspace: plan.workspace.clone(),
            namespaces: plan.namespaces,
            root: mount::Beginning::of(plan, rustix::process::geteuid().as_raw()),
            captured: matches!(capture, Capture::Keep(_)),
            kept: plan.farewell || plan.steps.iter().any(kept),
            proxy: plan.egress.is_some(),
            memory: if alone { Memory::Shared } else { Memory::Copied },
        }
    }
}
