//! What a refusal is measured against: what the plan holds, what the host itself would say, and what ordinary
//! permissions say.
//!
//! Danger: a refusal that is put on the jail wrongly makes people open it; one that is missed makes them switch it off.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat, StatVfsMountFlags, StatxAttributes, StatxFlags};

use super::observed::{Act, Cause};
use super::resolve::Task;
use crate::jail::{Access, FilterSpec, Scene, Step, View};

/// Execute, write and read bits of a mode, as access(2) counts.
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;

/// Whose permissions count.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ids {
    user: u32,
    group: u32,
    groups: Vec<u32>,
}

impl Ids {
    /// This process's: the command runs as the same user.
    fn own() -> Self {
        let groups = rustix::process::getgroups().unwrap_or_default();
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
            groups: groups.iter().map(|group| group.as_raw()).collect(),
        }
    }

    /// Whether all the bits `wanted` are given on a file, without any capability.
    fn may(&self, stat: &Stat, wanted: u32) -> bool {
        let mode = stat.st_mode;
        let bits = if stat.st_uid == self.user {
            mode >> 6
        } else if stat.st_gid == self.group || self.groups.contains(&stat.st_gid) {
            mode >> 3
        } else {
            mode
        };
        bits & wanted == wanted
    }
}

/// The jail of one command, as far as refusals depend on it.
#[derive(Debug, Clone)]
pub struct Ground {
    workspace: PathBuf,
    throw_away: bool,
    protected: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    /// The filter.
    pub filter: FilterSpec,
    /// Whether the network is the command's own, with a loopback only.
    pub own_network: bool,
    /// Whether Landlock holds TCP.
    pub no_tcp: bool,
    narrowed: Vec<&'static str>,
    /// The Landlock rules: where, as the command names it, and what.
    grants: Vec<(PathBuf, Access)>,
    handled: Access,
    ids: Ids,
}

impl Ground {
    /// Of a launch; `narrowed` names the rights that narrowing took away.
    pub fn new(scene: Scene<'_>, narrowed: &[&'static str]) -> Self {
        let plan = scene.plan;
        let view = plan.steps.iter().find_map(|step| match step {
            Step::Workspace { view } => Some(*view),
            _ => None,
        });
        let secrets = plan.steps.iter().filter_map(|step| match step {
            Step::Secret { path } => Some(path.clone()),
            _ => None,
        });
        Self {
            workspace: plan.workspace.clone(),
            throw_away: view == Some(View::ThrowAway),
            protected: scene.protected.to_vec(),
            secrets: secrets.collect(),
            filter: plan.filter,
            own_network: plan.namespaces.net,
            no_tcp: scene.domain.no_tcp,
            narrowed: narrowed.to_vec(),
            grants: scene.domain.grants.iter().map(|grant| (grant.path.clone(), grant.access)).collect(),
            handled: scene.domain.handled,
            ids: Ids::own(),
        }
    }

    /// The workspace.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether `path` is in the workspace.
    pub fn in_workspace(&self, path: &Path) -> bool {
        path.starts_with(&self.workspace)
    }

    /// Whether what is written in the workspace vanishes.
    pub fn throws_away(&self) -> bool {
        self.throw_away
    }

    /// Whether the Landlock domain lets names be made, removed and moved where `path` is.
    pub fn changes_names(&self, path: &Path) -> bool {
        let around = self.grants.iter().filter(|(above, _)| path.starts_with(above));
        let given = around.fold(Access::NONE, |all, (_, access)| all.with(*access));
        given.contains(Access::MAKE.with(Access::REMOVE).with(Access::REFER).and(self.handled))
    }

    /// Whether `path` is a secret's stub, or below one.
    pub fn is_secret(&self, path: &Path) -> bool {
        self.secrets.iter().any(|secret| path.starts_with(secret))
    }

    /// Whether `path` is a git directory of the workspace, or in one.
    fn is_git(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.workspace).unwrap_or(Path::new(""));
        below.components().any(|part| part.as_os_str() == ".git")
    }

    /// Why the jail refuses `act` on the file `path`.
    pub fn cause(&self, act: Act, path: &Path) -> Cause {
        let narrowed = |right: &str| self.narrowed.contains(&right);
        if act == Act::Connect {
            // The command's own sockets are not refused to it: this is one of the host.
            Cause::Outside
        } else if self.is_secret(path) {
            Cause::Secret
        } else if self.is_git(path) && act != Act::Read && act != Act::Exec {
            if narrowed("git-write") { Cause::Narrowed } else { Cause::Protected }
        } else if self.protected.iter().any(|held| path.starts_with(held)) {
            Cause::Protected
        } else if !self.in_workspace(path) {
            // Where the command may write, and names are not the matter, its filter refuses.
            let filtered = act == Act::Metadata && self.changes_names(path);
            if filtered { Cause::Rights } else { Cause::Outside }
        } else if narrowed("write") && act != Act::Exec {
            Cause::Narrowed
        } else {
            Cause::Rights
        }
    }

    /// Why the jail refuses the network.
    pub fn network_cause(&self) -> Cause {
        if self.narrowed.contains(&"network") { Cause::Narrowed } else { Cause::Network }
    }

    /// Whether ordinary permissions alone let the command do `act` on `path` as the process sees it. `path` has no links
    /// before its end.
    pub fn permitted(&self, task: &Task, act: Act, path: &Path, exists: bool) -> bool {
        let seen = |path: &Path| {
            let inside = path.strip_prefix("/").unwrap_or(path);
            let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
            rustix::fs::statat(task.root(), inside, AtFlags::SYMLINK_NOFOLLOW).ok()
        };
        let Some(parent) = path.parent() else { return true };
        let searched = parent.ancestors().all(|above| {
            seen(above).is_none_or(|stat| {
                FileType::from_raw_mode(stat.st_mode) != FileType::Directory || self.ids.may(&stat, EXECUTE)
            })
        });
        let on = |path: &Path, bits| seen(path).is_none_or(|stat| self.ids.may(&stat, bits));
        searched
            && match act {
                Act::Read => on(path, READ),
                Act::Write if exists => on(path, WRITE),
                Act::Exec => on(path, EXECUTE),
                Act::Connect if exists => on(path, WRITE),
                Act::Write | Act::Create | Act::Remove | Act::Rename | Act::Bind => {
                    on(parent, WRITE | EXECUTE)
                }
                Act::Metadata => {
                    seen(path).is_none_or(|stat| stat.st_uid == self.ids.user || self.ids.may(&stat, WRITE))
                }
                Act::Connect => true,
            }
    }
}

/// Whether the host has something at `path`, which this process can see.
pub fn host_has(path: &Path) -> bool {
    rustix::fs::lstat(path).is_ok()
}

/// Whether `stat` is of what the host has at `path`.
pub fn is_host(path: &Path, stat: &Stat) -> bool {
    rustix::fs::lstat(path).is_ok_and(|host| (host.st_dev, host.st_ino) == (stat.st_dev, stat.st_ino))
}

/// Whether the host has a socket at `path`.
pub fn host_has_socket(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
}

/// Whether the host's own mount refuses as well: read-only, or without programs.
pub fn host_mount(path: &Path, flag: StatVfsMountFlags) -> bool {
    path.ancestors()
        .find_map(|above| rustix::fs::statvfs(above).ok())
        .is_some_and(|found| found.f_flag.contains(flag))
}

/// Whether `path` is a mount point of the host itself.
pub fn host_mount_point(path: &Path) -> bool {
    let found = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
