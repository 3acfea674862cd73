//! What a launch can begin with before there is a plan.
//!
//! Danger: what is begun has to be what the plan then says; the launcher compares both, and begins anew where they differ.

use std::path::{Path, PathBuf};

use super::mount;
use super::output::Capture;
use super::plan::{JailPlan, Namespaces, Step, View};
use super::seccomp::Handover;
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::sys::memory::has_room;
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
            memory: memory(!proxy),
        }
    }

    /// Of a command of which nothing is known but where it will run: with all that may be needed, but for a network of
    /// its own, which can be made later, and a proxy.
    pub(super) fn ahead(workspace: &Path, scratch: Option<u64>, captured: bool) -> Self {
        Self {
            workspace: workspace.to_owned(),
            namespaces: Namespaces { user: true, pid: true, net: false },
            root: mount::Beginning::usual(scratch, rustix::process::geteuid().as_raw()),
            captured,
            kept: true,
            proxy: false,
            memory: Memory::Shared,
        }
    }

    /// Whether a jail that was begun with this can become one with `other`.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let namespaces = Namespaces { net: self.namespaces.net, ..other.namespaces };
        *self == Self { namespaces, kept: self.kept, ..other.clone() } && (self.kept || !other.kept)
    }

    /// Of this plan, with who watches it.
    pub(super) fn of(plan: &JailPlan, capture: Capture, watched: Option<Handover>) -> Self {
        // Where the launcher has something to do before the command runs, the first process has a memory of its own;
        // without a PID namespace it also has later. That calls are answered needs none: see `Watch`.
        let alone = plan.namespaces.pid && plan.egress.is_none() && watched != Some(Handover::Tracer);
        Self {
            workspace: plan.workspace.clone(),
            namespaces: plan.namespaces,
            root: mount::Beginning::of(plan, rustix::process::geteuid().as_raw()),
            captured: matches!(capture, Capture::Keep(_)),
            kept: keeps(plan),
            proxy: plan.egress.is_some(),
            memory: memory(alone),
        }
    }
}

/// Whose memory the first process works in, where it may be the launcher's. The system's allocator cannot be two processes':
/// where the block is used up each has a memory of its own.
fn memory(alone: bool) -> Memory {
    if alone && has_room() { Memory::Shared } else { Memory::Copied }
}

/// Whether something on the plan's scratch may be looked at afterwards.
pub(super) fn keeps(plan: &JailPlan) -> bool {
    let kept = |step: &Step| {
        matches!(step, Step::Git { writable: true } | Step::Workspace { view: View::ThrowAway })
    };
    plan.farewell || plan.steps.iter().any(kept)
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::jail::{self, Host};
    use crate::profile::{Bind, HostFacts, Profile, SandboxSpec, StateJail, Task, builtin, resolve};

    /// The plan of the base profile, changed by `change`.
    pub(in crate::jail) fn plan(
        rights: &Rights,
        uid: u32,
        change: impl FnOnce(&mut SandboxSpec),
    ) -> JailPlan {
        let profile: Profile = builtin::find("base").unwrap().profile().unwrap();
        let secrets = builtin::find("base").unwrap().hidden.iter().map(PathBuf::from).collect();
        let facts = HostFacts { home: "/home/u".into(), secrets, ..HostFacts::default() };
        let task = Task {
            workspace: Path::new("/home/u/w"),
            cwd: Path::new("/home/u/w"),
            pwd: Path::new("/home/u/w"),
            rights,
            executes: rights.workspace == WorkspaceRight::ThrowAway,
            blocked_env: &[],
            env_overrides: &[],
            state: &StateJail::default(),
            timeout: None,
        };
        let mut spec = resolve(&profile, &facts, &task);
        change(&mut spec);
        let host = Host { level: jail::Level::Full, landlock_abi: 7, seccomp: true, uid, gid: uid };
        jail::best(&spec, &host, &["true".into()]).unwrap()
    }

    fn rights(workspace: WorkspaceRight, network: NetworkRight) -> Rights {
        Rights { workspace, git_write: false, network, narrowed: Vec::new() }
    }

    fn root(plan: &JailPlan) -> mount::Beginning {
        mount::Beginning::of(plan, 0)
    }

    fn usual() -> mount::Beginning {
        mount::Beginning::usual(builtin::find("base").unwrap().scratch(), 0)
    }

    #[test]
    fn what_is_begun_ahead_is_what_plans_of_the_base_profile_begin_with() {
        for network in [NetworkRight::None, NetworkRight::Loopback, NetworkRight::Open] {
            for workspace in
                [WorkspaceRight::List, WorkspaceRight::Read, WorkspaceRight::ThrowAway, WorkspaceRight::Write]
            {
                let plan = plan(&rights(workspace, network.clone()), 0, |_| {});
                assert_eq!(root(&plan), usual(), "{workspace:?} {network:?}");
                let scratch = builtin::find("base").unwrap().scratch();
                let beginning = Beginning::of(&plan, Capture::Inherit, None);
                let root = mount::Beginning::usual(scratch, 0);
                let ahead = Beginning { root, ..Beginning::ahead(Path::new("/home/u/w"), scratch, false) };
                // Not the program's allocator: no other process may come into this memory.
                assert_eq!(beginning.memory, Memory::Copied);
                let (root, memory) = (mount::Beginning::of(&plan, 0), Memory::Shared);
                let beginning = Beginning { root, memory, ..beginning };
                assert!(ahead.holds(&beginning), "{workspace:?} {network:?}");
                assert!(!ahead.holds(&Beginning { proxy: true, ..beginning.clone() }));
                assert!(!ahead.holds(&Beginning { captured: true, ..beginning.clone() }));
                assert!(!ahead.holds(&Beginning { workspace: "/home/u".into(), ..beginning.clone() }));
                let namespaces = Namespaces { pid: false, ..beginning.namespaces };
                assert!(!ahead.holds(&Beginning { namespaces, ..beginning }));
            }
        }
    }

    #[test]
    fn nothing_is_begun_ahead_that_the_plan_does_not_have_as_it_is() {
        let read = rights(WorkspaceRight::Read, NetworkRight::None);
        let bind =
            |path: &str, exec| Bind { path: PathBuf::from(path), writable: false, exec, optional: true };
        type Change<'a> = &'a dyn Fn(&mut SandboxSpec);
        let changes: [(&str, Change<'_>); 11] = [
            ("without /opt", &|spec| spec.binds.retain(|bind| bind.path != Path::new("/opt"))),
            ("without /opt, but with a secret twice", &|spec| {
                spec.binds.retain(|bind| bind.path != Path::new("/opt"));
                spec.secrets.push("/proc/keys".into());
            }),
            ("programs of /etc run", &|spec| {
                spec.binds
                    .iter_mut()
                    .filter(|bind| bind.path == Path::new("/etc"))
                    .for_each(|bind| bind.exec = true);
            }),
            ("/usr is writable", &|spec| {
                spec.binds
                    .iter_mut()
                    .filter(|bind| bind.path == Path::new("/usr"))
                    .for_each(|bind| bind.writable = true);
            }),
            ("something around", &|spec| spec.binds.push(bind("/sys", false))),
            ("something in /dev", &|spec| spec.binds.push(bind("/dev/dri", false))),
            ("HOME around", &|spec| spec.home = "/var/lib".into()),
            ("a granted secret", &|spec| spec.secrets.retain(|path| path != Path::new("/etc/krb5.keytab"))),
            ("a tree of a secret", &|spec| spec.binds.push(bind("/etc/docker/certs.d", true))),
            ("a secret as a tree", &|spec| spec.binds.push(bind("/etc/docker", true))),
            ("HOME in a private directory's place", &|spec| spec.home = "/var/tmp".into()),
        ];
        for (what, change) in changes {
            let beginning = root(&plan(&read, 0, change));
            assert_ne!(beginning, usual(), "{what}");
        }
        let link = std::env::temp_dir().join(format!("swbox-around-{}", std::process::id()));
        std::os::unix::fs::symlink("/sys/devices", &link).unwrap();
        let around = plan(&read, 0, |spec| spec.binds.push(bind(link.to_str().unwrap(), false)));
        assert_ne!(root(&around), usual(), "a link to what is around");
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let beside = plan(&read, 0, |spec| spec.binds.push(bind(link.to_str().unwrap(), false)));
        assert_eq!(root(&beside), usual(), "a link to what is no secret");
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("/etc/ssl", &link).unwrap();
        let around = plan(&read, 0, |spec| spec.binds.push(bind(link.to_str().unwrap(), false)));
        assert_ne!(root(&around), usual(), "a link to what is around a secret");
        std::fs::remove_file(&link).unwrap();
        // What lies below is built after it.
        let below = plan(&read, 0, |spec| spec.binds.push(bind("/sys/devices/system/cpu/x", true)));
        assert_eq!(root(&below), usual());
        let variables = plan(&read, 0, |spec| {
            for name in ["TMPDIR", "XDG_RUNTIME_DIR"] {
                spec.env.insert(name.into(), "/tmp".into());
            }
        });
        assert_eq!(root(&variables), usual(), "a variable that names a private directory");
        let smaller = plan(&read, 0, |spec| spec.limits.scratch = Some(1 << 20));
        assert_ne!(root(&smaller), usual());
    }
}
