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

/// `STATX_MNT_ID`.
const MOUNT_ID: u32 = 0x1000;

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

    /// Whether a directory of the workspace is held where it is, because of something protected in it.
    fn holds_protected(&self, path: &Path) -> bool {
        path != self.workspace && self.protected.iter().any(|held| held.starts_with(path))
    }

    /// Whether the directory of `path` is a mount of its own in the workspace, because of something protected in it.
    pub fn holds_apart(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.in_workspace(parent) && self.holds_protected(parent))
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
        } else if self.protected.iter().any(|held| path.starts_with(held))
            || matches!(act, Act::Remove | Act::Rename) && self.holds_protected(path)
        {
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
                // Of a link everybody may write, which says nothing.
                Act::Metadata => seen(path).is_none_or(|stat| {
                    let link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
                    stat.st_uid == self.ids.user || !link && self.ids.may(&stat, WRITE)
                }),
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

/// Whether the host has a program at `path`, or a script.
pub fn host_has_program(path: &Path) -> bool {
    let programs = |stat: Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_mode & 0o111 != 0
    };
    rustix::fs::stat(path).is_ok_and(programs)
}

/// Whether somebody outside has a socket of the abstract name space by this name.
pub fn host_has_abstract(name: &[u8]) -> bool {
    std::fs::read("/proc/self/net/unix").is_ok_and(|table| lists_abstract(&table, name))
}

/// Whether a table of sockets, as the kernel shows it, has this name of the abstract name space. NUL is shown as `@` there.
pub fn lists_abstract(table: &[u8], name: &[u8]) -> bool {
    let shown = |byte: &u8| if *byte == 0 { b'@' } else { *byte };
    let wanted: Vec<u8> = std::iter::once(b'@').chain(name.iter().map(shown)).collect();
    // A name may hold anything, a line's end too, so it is not looked for by lines; what follows ends it.
    let mut at = table;
    while let Some(found) = at.windows(wanted.len()).position(|part| part == wanted) {
        let (before, rest) = at.split_at(found);
        let rest = rest.get(wanted.len()..).unwrap_or_default();
        if before.last() == Some(&b' ') && rest.first() == Some(&b'\n') {
            return true;
        }
        at = rest;
    }
    false
}

/// Whether the host has an address, so that a server could have it.
pub fn host_address(address: std::net::IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// Whether the host has both directories on one mount.
pub fn host_same_mount(one: &Path, other: &Path) -> bool {
    let mount = |path: &Path| {
        let flags = StatxFlags::from_bits_retain(MOUNT_ID);
        rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, flags).ok().map(|found| found.stx_mnt_id)
    };
    mount(one).is_some_and(|mount_of_one| mount(other) == Some(mount_of_one))
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

#[cfg(test)]
mod tests {
    use super::lists_abstract;

    #[test]
    fn names_of_the_abstract_name_space_are_found_as_the_kernel_shows_them() {
        let table = b"Num RefCount Protocol Flags Type St Inode Path\n\
            0000: 00000002 00000000 00010000 0001 01 11 @one\n\
            0000: 00000002 00000000 00010000 0001 01 12 /run/@file\n\
            0000: 00000002 00000000 00010000 0001 01 13 @a b\nc@d\n\
            0000: 00000003 00000000 00000000 0001 03 14\n";
        for there in [b"one".as_slice(), b"a b\nc\0d"] {
            assert!(lists_abstract(table, there), "{there:?}");
        }
        for missing in [b"on".as_slice(), b"ne", b"file", b"", b"14"] {
            assert!(!lists_abstract(table, missing), "{missing:?}");
        }
    }
}
