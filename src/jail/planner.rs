//! Deriving a [`JailPlan`] from a [`SandboxSpec`] and a [`Host`]. Pure.
//!
//! Danger: this is where an allow-list becomes mounts and rules; a path that slips in here is visible to the command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::aliases;
use super::outcome::Level;
use super::outputs::Outputs;
use super::plan::{Access, Grant, JailPlan, LandlockPlan, Namespaces, Step, View};
use super::probe::Host;
use super::protection;
use super::seccomp::{FilterSpec, Sockets};
use crate::diagnostic::Diagnostic;
use crate::hosts::{BadEntry, HostList};
use crate::policy::{NetworkRight, WorkspaceRight};
use crate::profile::{Bind, SandboxSpec, builtin};
use crate::proxy::Order;
use crate::proxy::environment::{CONNECT_PROGRAM, variables};

/// Device nodes that every command gets. `/dev/tty` is not among them, also where a stream is a terminal: it reaches the
/// user's terminal past every redirection, to show a false prompt or to read what is typed at a real one, and it is what
/// `ipc-ctty-steal` of the escape battery tries. bash, git, less and ssh fall back to their standard streams.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Links in `/dev` that every command gets.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
];

/// Files of `/proc` that tell of the host, not of the command: the names of the user's keys.
const PROC_HIDDEN: [&str; 2] = ["/proc/key-users", "/proc/keys"];

/// Files of `/proc` that only their owner, uid 0, may read: root inside is that owner whatever the map says. Of the
/// others that are not for everybody the kernel asks a capability (`kmsg`, `kcore`).
const PROC_HIDDEN_FROM_ROOT: [&str; 7] = [
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/pagetypeinfo",
    "/proc/slabinfo",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];

/// Private directories that every command gets, with their modes.
const PRIVATE: [(&str, u32); 3] = [("/dev/shm", 0o1777), ("/tmp", 0o1777), ("/var/tmp", 0o1777)];

/// The namespaces of a plan; the chain of fallbacks goes down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All namespaces.
    Full,
    /// Without a PID namespace, for hosts whose masked `/proc` forbids a fresh one.
    FullHostProc,
    /// Landlock and seccomp only.
    LandlockOnly,
}

/// Derives the plan that is tried first, without the lesser ones: they are rarely needed and cost as much each.
pub fn best(spec: &SandboxSpec, host: &Host, argv: &[OsString]) -> Result<JailPlan, Diagnostic> {
    check(spec, host, argv)?;
    let mut best = shapes(host).iter().rev().map(|shape| shaped(spec, host, argv, *shape));
    match best.find(Result::is_ok) {
        Some(plan) => plan,
        None => plan(spec, host, argv),
    }
}

/// Derives the plan of one launch, with the lesser plans that follow when the host refuses its namespaces.
pub fn plan(spec: &SandboxSpec, host: &Host, argv: &[OsString]) -> Result<JailPlan, Diagnostic> {
    check(spec, host, argv)?;
    let mut lesser: Option<Result<JailPlan, Diagnostic>> = None;
    for shape in shapes(host) {
        lesser = Some(match (shaped(spec, host, argv, *shape), lesser) {
            (Ok(plan), Some(Ok(fallback))) => Ok(JailPlan { fallback: Some(Box::new(fallback)), ..plan }),
            (Ok(plan), Some(Err(problem))) => Ok(JailPlan { no_fallback: Some(problem.message), ..plan }),
            (Ok(plan), None) => Ok(plan),
            (Err(_), Some(Ok(plan))) => Ok(plan),
            (Err(problem), Some(Err(_)) | None) => Err(problem),
        });
    }
    lesser.unwrap_or_else(|| Err(Diagnostic::new("no_level", "no level of the jail fits this host")))
}

/// The shapes that the host's level allows, the least first.
fn shapes(host: &Host) -> &'static [Shape] {
    match host.level {
        Level::Full => &[Shape::LandlockOnly, Shape::FullHostProc, Shape::Full],
        Level::LandlockOnly => &[Shape::LandlockOnly],
    }
}

/// What no shape could do anything about.
fn check(spec: &SandboxSpec, host: &Host, argv: &[OsString]) -> Result<(), Diagnostic> {
    if argv.first().is_none_or(|name| name.is_empty()) {
        return Err(Diagnostic::new("empty_command", "there is no command to run"));
    }
    if let NetworkRight::Hosts(hosts) = &spec.rights.network {
        HostList::parse(hosts).map_err(|bad| bad_hosts(&bad))?;
    }
    if !host.seccomp {
        return Err(Diagnostic::new(
            "seccomp_missing",
            "this kernel has no seccomp filters, or they are refused here",
        )
        .help("a kernel with CONFIG_SECCOMP_FILTER is needed; see `swbox doctor`"));
    }
    Ok(())
}

/// Entries that would not hold as they read.
fn bad_hosts(bad: &[BadEntry]) -> Diagnostic {
    let problems: Vec<String> = bad.iter().map(ToString::to_string).collect();
    Diagnostic::new("bad_host_entry", problems.join("; "))
        .help("entries are `host`, `host:port`, `*.example.org`, `10.0.0.0/8`, each with ports 80 and 443 unless one is named")
}

/// The plan for one shape.
fn shaped(spec: &SandboxSpec, host: &Host, argv: &[OsString], shape: Shape) -> Result<JailPlan, Diagnostic> {
    let floor = if shape == Shape::LandlockOnly { 3 } else { 1 };
    if host.landlock_abi < floor {
        return Err(Diagnostic::new(
            "landlock_too_old",
            format!("Landlock ABI {} is below the {floor} that this level needs", host.landlock_abi),
        )
        .help(if floor == 1 {
            "boot with Landlock enabled (lsm=landlock,…) on Linux 5.13 or newer; see `swbox doctor`"
        } else {
            "allow unprivileged user namespaces, or use Linux 6.2 or newer; see `swbox doctor`"
        }));
    }
    let judgement = protection::judge(spec, shape, host.landlock_abi)?;
    let mounts = shape != Shape::LandlockOnly;
    let view = match spec.rights.workspace {
        WorkspaceRight::List => View::Names,
        WorkspaceRight::Read => View::ReadOnly,
        // What git records must stay, and what it writes beside it must not vanish: it fails instead.
        WorkspaceRight::ThrowAway if mounts && !spec.rights.git_write => View::ThrowAway,
        WorkspaceRight::ThrowAway => View::ReadOnly,
        WorkspaceRight::Write => View::Writable,
    };
    let egress = match &spec.rights.network {
        NetworkRight::Hosts(hosts) if mounts => Some(Order { hosts: hosts.clone(), state: String::new() }),
        _ => None,
    };
    let loopback = egress.is_some() || matches!(spec.rights.network, NetworkRight::Loopback);
    let sockets = match spec.rights.network {
        NetworkRight::None => Sockets::None,
        NetworkRight::Loopback | NetworkRight::Hosts(_) if mounts => Sockets::Ip,
        // Without namespaces a path socket of the host is within reach of every AF_UNIX socket below ABI 9.
        NetworkRight::Loopback | NetworkRight::Hosts(_) if host.landlock_abi >= 9 => Sockets::Unix,
        NetworkRight::Loopback | NetworkRight::Hosts(_) => Sockets::None,
        NetworkRight::Open => Sockets::Ip,
    };
    Ok(JailPlan {
        level: if mounts { Level::Full } else { Level::LandlockOnly },
        argv: argv.to_vec(),
        env: environment(spec, egress.is_some()),
        cwd: spec.cwd.clone(),
        workspace: spec.workspace.clone(),
        namespaces: Namespaces { user: mounts, pid: shape == Shape::Full, net: mounts && loopback },
        steps: steps(spec, host, shape, view, egress.is_some()),
        landlock: landlock(spec, host.landlock_abi, view, mounts),
        filter: FilterSpec {
            sockets,
            deny_metadata: !mounts && !matches!(view, View::Writable | View::ThrowAway),
            shared_processes: shape != Shape::Full,
            shared_group: host.landlock_abi < 6,
            shared_ipc: !mounts,
            debug: shape == Shape::Full && matches!(view, View::Writable | View::ThrowAway),
        },
        limits: spec.limits.clone(),
        egress,
        outputs: (view == View::ThrowAway && !spec.outputs.is_empty())
            .then(|| Outputs { paths: spec.outputs.clone(), never: spec.protected.clone() }),
        repositories: spec.repositories.clone().filter(|_| view == View::Writable),
        farewell: false,
        shared: Vec::new(),
        detached: false,
        protections: judgement.achievements,
        strict: protection::strict(spec),
        degraded: judgement.degraded,
        fallback: None,
        no_fallback: None,
    })
}

/// The command's environment; with a host list also what leads programs to the proxy.
fn environment(spec: &SandboxSpec, egress: bool) -> BTreeMap<OsString, OsString> {
    let mut env = spec.env.clone();
    if egress {
        let own =
            |name: &str| spec.env.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
        env.extend(variables(own).into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    env
}

/// A private directory of the command beside [`PRIVATE`]: its HOME, its TMPDIR, its XDG_RUNTIME_DIR.
fn private_directories(spec: &SandboxSpec) -> Vec<(PathBuf, u32)> {
    let named = |variable: &str| spec.env.get(OsStr::new(variable)).map(PathBuf::from);
    let mut directories: Vec<_> = PRIVATE.iter().map(|(path, mode)| (PathBuf::from(path), *mode)).collect();
    directories.push((spec.home.clone(), 0o700));
    // One that is there already stays what it is.
    let further = ["XDG_RUNTIME_DIR", "TMPDIR"].into_iter().filter_map(named);
    directories.extend(
        further
            .filter(|path| !PRIVATE.iter().any(|(private, _)| path == Path::new(private)))
            .map(|path| (path, 0o700)),
    );
    directories.retain(|(path, _)| {
        path.is_absolute() && path.parent().is_some() && !path.starts_with(&spec.workspace)
    });
    directories
}

/// The steps that build the root, parents before what lies below them.
fn steps(spec: &SandboxSpec, host: &Host, shape: Shape, view: View, egress: bool) -> Vec<Step> {
    if shape == Shape::LandlockOnly {
        let mut steps = vec![Step::Workspace { view }];
        finish(spec, view, &mut steps);
        return steps;
    }
    let mut tree = Tree::default();
    for (path, mode) in private_directories(spec) {
        tree.put(&path.clone(), Step::Dir { path, mode });
    }
    for bind in &spec.binds {
        let Bind { path, writable, exec, optional } = bind.clone();
        tree.put(&bind.path, Step::Bind { path, writable, exec, optional });
    }
    for step in devices() {
        if let Some(path) = step.place().map(Path::to_owned) {
            tree.put(&path, step);
        }
    }
    let proc = if shape == Shape::Full { Step::Proc } else { Step::HostProc };
    tree.put(Path::new("/proc"), proc);
    if egress {
        tree.put(Path::new(CONNECT_PROGRAM), Step::Own { path: CONNECT_PROGRAM.into() });
    }
    tree.put(&spec.workspace, Step::Workspace { view });
    let mut steps = tree.steps();
    steps.extend(aliases::steps(spec, &steps));
    steps.extend(hidden_of_proc(host.uid));
    finish(spec, view, &mut steps);
    steps
}

/// What every root has in `/dev`, but for its private directory.
fn devices() -> impl Iterator<Item = Step> {
    let nodes = DEVICES.into_iter().map(|path| Step::Device { path: path.into() });
    let links = DEVICE_LINKS.into_iter();
    let links = links.map(|(path, target)| Step::Symlink { path: path.into(), target: target.into() });
    nodes.chain(links).chain([Step::Pts])
}

fn hidden_of_proc(uid: u32) -> impl Iterator<Item = Step> {
    let hidden = PROC_HIDDEN.iter().chain(PROC_HIDDEN_FROM_ROOT.iter().filter(move |_| uid == 0));
    hidden.map(|path| Step::Secret { path: path.into() })
}

/// What the full level has whatever the command is, in an order in which it can be built first: devices, `/proc`, the
/// host's trees that the base profile binds wherever HOME and the workspace are, its secrets in them, and private
/// directories. It is looked at for each step of a plan,
/// twice, and by three that compare what they have of it: so it is made once.
#[derive(Debug)]
pub(super) struct Standard {
    steps: Vec<Step>,
    /// The numbers of the steps, by their paths' bytes.
    by_path: Vec<usize>,
}

impl PartialEq for Standard {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Standard {}

impl Standard {
    /// The one of this user.
    pub(super) fn of(uid: u32) -> &'static Self {
        static OF_ROOT: OnceLock<Standard> = OnceLock::new();
        static OF_OTHERS: OnceLock<Standard> = OnceLock::new();
        if uid == 0 { &OF_ROOT } else { &OF_OTHERS }.get_or_init(|| Self::new(uid))
    }

    fn new(uid: u32) -> Self {
        let base = builtin::find("base");
        let fixed = base.map(|base| base.fixed).unwrap_or_default().iter();
        let fixed = fixed.map(|(path, exec)| Step::Bind {
            path: path.into(),
            writable: false,
            exec: *exec,
            optional: true,
        });
        let hidden = base.map(|base| base.hidden).unwrap_or_default().iter();
        let hidden = hidden.map(|path| Step::Secret { path: path.into() });
        let private = PRIVATE.iter().map(|(path, mode)| Step::Dir { path: path.into(), mode: *mode });
        let steps: Vec<Step> = devices()
            .chain([Step::Proc])
            .chain(hidden_of_proc(uid))
            .chain(fixed)
            .chain(hidden)
            .chain(private)
            .collect();
        let mut by_path: Vec<usize> = (0..steps.len()).collect();
        by_path.sort_unstable_by_key(|at| key(&steps[*at]));
        Self { steps, by_path }
    }

    /// The steps.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Where the first path is that is not before `path`.
    fn place(&self, path: &[u8]) -> usize {
        self.by_path.partition_point(|at| key(&self.steps[*at]) < path)
    }

    /// Which of them `step` is. Paths are compared as bytes: part by part, this was a sixth of all that a launch computes.
    pub(super) fn number(&self, step: &Step) -> Option<usize> {
        let at = *self.by_path.get(self.place(key(step)))?;
        (self.steps[at] == *step).then_some(at)
    }

    /// Whether one of them lies below `path`.
    pub(super) fn is_below(&self, path: &[u8]) -> bool {
        let inside = [path, b"/"].concat();
        self.by_path.get(self.place(&inside)).is_some_and(|at| key(&self.steps[*at]).starts_with(&inside))
    }

    /// Whether `path` is one of the secrets, or lies in one.
    pub(super) fn is_secret(&self, path: &[u8]) -> bool {
        let around = |secret: &[u8]| {
            path.strip_prefix(secret).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.steps.iter().any(|step| matches!(step, Step::Secret { .. }) && around(key(step)))
    }

    /// Whether all of them are in the plan and can be built before the rest: nothing else lies there or around it.
    pub(super) fn begins(&self, plan: &JailPlan) -> bool {
        let mut found = vec![false; self.steps.len()];
        for step in &plan.steps {
            if let Some(at) = self.number(step) {
                found[at] = true;
                continue;
            }
            let in_the_way = |path: &[u8]| match path {
                b"/" | b"/dev" => true,
                path if path.starts_with(b"/proc") => true,
                path if path.starts_with(b"/dev/") => matches!(step, Step::Bind { .. }),
                path => self.is_below(path) || self.is_secret(path),
            };
            if step.place().is_some_and(|path| in_the_way(path.as_os_str().as_bytes())) {
                return false;
            }
        }
        found.into_iter().all(|found| found)
    }
}

/// The path of a step, as bytes; none for one that has none.
fn key(step: &Step) -> &[u8] {
    let path = match step {
        Step::Secret { path } => Some(path.as_path()),
        step => step.place(),
    };
    path.map(|path| path.as_os_str().as_bytes()).unwrap_or_default()
}

/// Steps by path. Paths are compared as bytes: a parent is a prefix of what lies below it and so comes first.
#[derive(Default)]
struct Tree(BTreeMap<Vec<u8>, Step>);

impl Tree {
    /// The last step for a path is the one that counts.
    fn put(&mut self, path: &Path, step: Step) {
        self.0.insert(path.as_os_str().as_bytes().to_vec(), step);
    }

    /// All steps in order, without the binds that show what the nearest one around them shows in the same way.
    fn steps(self) -> Vec<Step> {
        let superfluous: Vec<_> = self
            .0
            .iter()
            .filter(|(path, step)| self.shown(path, step))
            .map(|(path, _)| path.clone())
            .collect();
        let mut steps = self.0;
        for path in superfluous {
            steps.remove(&path);
        }
        steps.into_values().collect()
    }

    fn shown(&self, path: &[u8], step: &Step) -> bool {
        let Step::Bind { writable, exec, .. } = step else { return false };
        let mut ancestor = path;
        while let Some(slash) = ancestor.iter().rposition(|byte| *byte == b'/') {
            ancestor = ancestor.get(..slash).unwrap_or_default();
            if let Some(around) = self.0.get(ancestor) {
                return matches!(around, Step::Bind { writable: w, exec: x, .. } if w == writable && x == exec);
            }
        }
        false
    }
}

/// The steps that come when all trees are in place.
fn finish(spec: &SandboxSpec, view: View, steps: &mut Vec<Step>) {
    steps.push(Step::Git { writable: spec.rights.git_write });
    if view == View::Writable {
        steps.extend(spec.protected.iter().map(|name| Step::Protect { name: name.clone() }));
    }
    steps.extend(spec.secrets.iter().map(|path| Step::Secret { path: path.clone() }));
    steps.extend(
        spec.files.iter().map(|(path, bytes)| Step::File { path: path.clone(), bytes: bytes.clone() }),
    );
    steps.extend(spec.script.iter().map(|(path, bytes, mode)| Step::Script {
        path: path.clone(),
        bytes: bytes.clone(),
        mode: *mode,
    }));
}

/// The Landlock domain. At the full level mounts hold reads, exec and truncate, so that reading costs nothing.
fn landlock(spec: &SandboxSpec, abi: u32, view: View, mounts: bool) -> LandlockPlan {
    let names = view == View::Names;
    let mut handled = Access::CHANGE.with(Access::IOCTL_DEV);
    if !mounts {
        handled = handled.with(Access::READ).with(Access::EXECUTE);
    } else if names {
        handled = handled.with(Access::READ_FILE);
    }
    let mut grants = Vec::new();
    let mut grant = |path: &Path, access: Access| {
        let access = access.and(handled);
        if !access.is_empty() {
            grants.push(Grant { path: path.to_owned(), access, follow: true });
        }
    };
    let everything = Access::CHANGE.with(Access::READ).with(Access::EXECUTE);
    for (path, _) in private_directories(spec) {
        // A rule holds beneath mounts too: a readable HOME would make the contents of a workspace below it readable.
        if mounts && !(names && spec.workspace.starts_with(&path)) {
            grant(&path, everything);
        }
    }
    for bind in &spec.binds {
        let mut access = Access::READ;
        if bind.writable {
            access = access.with(Access::CHANGE);
        }
        if bind.exec {
            access = access.with(Access::EXECUTE);
        }
        grant(&bind.path, access);
    }
    let device = Access::READ_FILE.with(Access::WRITE_FILE).with(Access::IOCTL_DEV);
    if mounts {
        // The devices are all that is there, beside private directories: a mount of a host tree has none.
        grant(Path::new("/dev"), device.with(Access::READ_DIR));
    } else {
        DEVICES.map(Path::new).into_iter().for_each(|path| grant(path, device));
    }
    grant(Path::new("/proc"), Access::READ);
    grant(
        &spec.workspace,
        match view {
            View::Names => Access::READ_DIR,
            View::ReadOnly => Access::READ.with(Access::EXECUTE),
            View::ThrowAway | View::Writable => everything,
        },
    );
    LandlockPlan {
        abi,
        handled,
        handle_truncate: !mounts,
        grants,
        scope_abstract: true,
        scope_signals: true,
        no_tcp: !matches!(spec.rights.network, NetworkRight::Open)
            && (!mounts || spec.rights.network == NetworkRight::None),
        stdio: true,
        straight: Vec::new(),
    }
}
