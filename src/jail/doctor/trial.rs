//! The acts of each protection as data, and how one is tried outside and inside.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use super::scene::{Scene, VARIABLE};
use super::{Attempted, Trial};
use crate::diagnostic::Diagnostic;
use crate::jail::outcome::{Achieved, Exit, Level, Outcome};
use crate::jail::output::Capture;
use crate::jail::{act, launch, plan, probe};
use crate::policy::{NetworkRight, WorkspaceRight};
use crate::profile::{Protection, SandboxSpec};

/// The act that is killed from outside together with swbox; see [`victim`].
pub(super) const VICTIM: &str = "victim";

/// In which state an act is tried inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Read-only, no sockets.
    Reading,
    /// Opaque commands of an execute state, own loopback.
    Testing,
    /// The workspace is writable, own loopback.
    Writing,
}

impl State {
    fn spec(self, scene: &Scene) -> SandboxSpec {
        match self {
            Self::Reading => scene.own_spec(WorkspaceRight::Read, NetworkRight::None),
            Self::Testing => scene.own_spec(WorkspaceRight::ThrowAway, NetworkRight::Loopback),
            Self::Writing => scene.own_spec(WorkspaceRight::Write, NetworkRight::Loopback),
        }
    }
}

/// What holding means for an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// It fails inside.
    Fails,
    /// It works inside and the named file of the host stays as it was.
    Vanishes(&'static str),
    /// Nothing holds the lock when the jail has ended.
    Released,
    /// Nothing holds the lock when swbox was killed.
    ReleasedByKill,
}

/// One act of a protection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) protection: Protection,
    pub(super) act: &'static str,
    words: &'static [&'static str],
    state: State,
    holds: Holds,
}

const fn fails(
    protection: Protection,
    state: State,
    act: &'static str,
    words: &'static [&'static str],
) -> Row {
    Row { protection, act, words, state, holds: Holds::Fails }
}

use Protection::{
    GitDirectories, HostSockets, Metadata, Network, NoLeftovers, Privileges, Processes, Reads, Secrets,
    SystemCalls, ThrowAway, Writes,
};
use State::{Reading, Testing, Writing};

/// The acts. `/x` is below the scene, `{x}` is filled in.
pub(super) const ROWS: &[Row] = &[
    fails(Reads, Reading, "read a file that nothing lists", &["read", "/hidden/file"]),
    fails(Reads, Writing, "list a directory that nothing lists", &["list", "/hidden"]),
    fails(Writes, Writing, "write to a file of a visible tree", &["write", "/visible/file"]),
    fails(Writes, Writing, "create a file in a visible tree", &["create", "/visible/new"]),
    fails(
        Writes,
        Writing,
        "move a file out of a visible tree",
        &["rename", "/visible/file", "/workspace/taken"],
    ),
    fails(Writes, Reading, "create a file in a read-only workspace", &["create", "/workspace/new"]),
    fails(Writes, Reading, "write to a file of a read-only workspace", &["write", "/workspace/file"]),
    fails(Metadata, Writing, "change the mode of a file of a visible tree", &["chmod", "/visible/file"]),
    fails(
        Metadata,
        Reading,
        "change the mode of a file of a read-only workspace",
        &["chmod", "/workspace/file"],
    ),
    fails(GitDirectories, Writing, "write to .git/config", &["write", "/workspace/.git/config"]),
    fails(GitDirectories, Writing, "create .git/commondir", &["create", "/workspace/.git/commondir"]),
    fails(GitDirectories, Writing, "move .git away", &["rename", "/workspace/.git", "/workspace/gone"]),
    Row {
        protection: ThrowAway,
        act: "write to a file of the workspace, which then vanishes",
        words: &["write", "/workspace/file"],
        state: Testing,
        holds: Holds::Vanishes("workspace/file"),
    },
    fails(Network, Reading, "connect to a server of the host (TCP)", &["connect-tcp", "{tcp}"]),
    fails(Network, Reading, "send to a server of the host (UDP)", &["send-udp", "{udp}"]),
    fails(
        Network,
        Testing,
        "connect to a server of the host, with an own loopback",
        &["connect-tcp", "{tcp}"],
    ),
    fails(HostSockets, Testing, "connect to a unix socket of the host", &["connect-unix", "/hidden/socket"]),
    fails(
        HostSockets,
        Testing,
        "connect to an abstract unix socket of the host",
        &["connect-abstract", "{abstract}"],
    ),
    fails(
        HostSockets,
        Writing,
        "connect to a unix socket of the host in the workspace",
        &["connect-unix", "/workspace/deep/socket"],
    ),
    fails(Processes, Testing, "signal a process of the host", &["signal", "{pid}"]),
    fails(Processes, Reading, "see a process of the host", &["see", "{pid}", "{own}"]),
    Row {
        protection: NoLeftovers,
        act: "leave a process behind",
        words: &["hold", "/workspace/file"],
        state: Writing,
        holds: Holds::Released,
    },
    Row {
        protection: NoLeftovers,
        act: "live on when swbox is killed (SIGKILL)",
        words: &["hold", "/workspace/file"],
        state: Writing,
        holds: Holds::ReleasedByKill,
    },
    fails(SystemCalls, Testing, "make a user namespace", &["call", "user-namespace"]),
    fails(SystemCalls, Testing, "set up an io_uring", &["call", "ring"]),
    fails(SystemCalls, Testing, "use the session keyring", &["call", "keyring"]),
    fails(SystemCalls, Testing, "catch page faults (userfaultfd)", &["call", "user-fault"]),
    fails(SystemCalls, Reading, "be traced", &["call", "trace"]),
    fails(SystemCalls, Testing, "open a packet socket", &["call", "packet-socket"]),
    fails(SystemCalls, Testing, "weaken memory protection (personality)", &["call", "personality"]),
    fails(Privileges, Testing, "hold or gain a privilege", &["privileges"]),
    fails(Secrets, Testing, "see a variable of the caller", &["environment", "{variable}"]),
    fails(Secrets, Testing, "use a descriptor of the caller", &["descriptor", "{descriptor}"]),
    fails(Secrets, Testing, "read a secret file in a visible tree", &["read", "/visible/secret"]),
];

/// A trial and what the jail said of itself.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) level: Option<Level>,
    pub(super) lesser: Option<String>,
    pub(super) claim: Option<Achieved>,
    pub(super) reasons: Vec<String>,
}

/// Tries one act, inside first: outside it may change the scene.
pub(super) fn run(row: &Row) -> Result<Tried, Diagnostic> {
    let scene = Scene::new()?;
    let (inside, outcome, held) = match row.holds {
        Holds::ReleasedByKill => killed(&scene),
        Holds::Fails | Holds::Vanishes(_) | Holds::Released => jailed(row, &scene),
    };
    let outside = outside(row, &scene);
    let claim = outcome.as_ref().and_then(|outcome| {
        outcome.protections.iter().find(|(protection, _)| *protection == row.protection).map(|(_, had)| *had)
    });
    let concerns = |reason: &String| reason.starts_with(code(row.protection));
    let level = outcome.as_ref().map(|outcome| outcome.level);
    let lesser = outcome.as_ref().and_then(|outcome| {
        outcome.degraded.iter().find_map(|reason| reason.strip_prefix("level: ")).map(str::to_owned)
    });
    let reasons =
        outcome.map(|outcome| outcome.degraded.into_iter().filter(concerns).collect()).unwrap_or_default();
    Ok(Tried { trial: Trial { act: row.act, outside, inside, held }, level, lesser, claim, reasons })
}

/// How a reason begins that says why a protection was not had (`jail.degraded`).
const fn code(protection: Protection) -> &'static str {
    match protection {
        Reads => "reads:",
        Writes => "writes:",
        Metadata => "no-metadata:",
        GitDirectories => "no-git-guard:",
        ThrowAway => "no-throwaway:",
        Network => "no-loopback:",
        HostSockets => "host-sockets:",
        Processes => "processes:",
        NoLeftovers => "no-leftovers:",
        SystemCalls => "system-calls:",
        Privileges => "privileges:",
        Secrets => "secrets:",
    }
}

fn arguments(row: &Row, scene: &Scene) -> Vec<OsString> {
    let words = row.words.iter().map(|word| scene.word(word));
    std::iter::once(OsString::from(act::SUBCOMMAND)).chain(words).collect()
}

fn outside(row: &Row, scene: &Scene) -> Attempted {
    let output = Command::new(scene.program())
        .args(arguments(row, scene))
        .env(VARIABLE, "outside")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) => Attempted {
            worked: output.status.code() == Some(i32::from(act::DONE)),
            said: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        },
        Err(error) => Attempted { worked: false, said: error.to_string() },
    }
}

fn jailed(row: &Row, scene: &Scene) -> (Attempted, Option<Outcome>, bool) {
    let argv: Vec<OsString> =
        std::iter::once(scene.program().as_os_str().to_owned()).chain(arguments(row, scene)).collect();
    let outcome = match launched(&row.state.spec(scene), &argv, Capture::Keep(4096)) {
        Ok(outcome) => outcome,
        Err(problem) => {
            let said = problem.to_string();
            return (Attempted { worked: false, said }, None, false);
        }
    };
    let worked = outcome.exit == Exit::Code(act::DONE);
    let said = match &outcome.exit {
        Exit::Signal(signal) => format!("killed by signal {signal}"),
        Exit::Timeout => "no answer".to_owned(),
        Exit::NotStarted { code, errno } => format!("the act did not start ({code}, errno {errno})"),
        Exit::Code(_) => {
            let text = outcome.output.as_ref().map(|(out, _)| [out.head.as_slice(), &out.tail].concat());
            String::from_utf8_lossy(&text.unwrap_or_default()).trim().to_owned()
        }
    };
    let tried = matches!(outcome.exit, Exit::Code(act::DONE | act::REFUSED) | Exit::Signal(_));
    let held = tried
        && match row.holds {
            Holds::Fails | Holds::ReleasedByKill => !worked,
            Holds::Vanishes(file) => {
                worked && std::fs::read(scene.path(file)).is_ok_and(|bytes| bytes == b"original\n")
            }
            Holds::Released => worked && !is_held(&scene.path("workspace/file")),
        };
    (Attempted { worked, said }, Some(outcome), held)
}

fn launched(spec: &SandboxSpec, argv: &[OsString], capture: Capture) -> Result<Outcome, Diagnostic> {
    launch(&plan(spec, &probe(), argv)?, capture)
}

/// Whether a process holds the lock on `file`.
fn is_held(file: &Path) -> bool {
    let Ok(file) = File::options().read(true).write(true).open(file) else { return false };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
}

/// Polls until `done` or ten seconds have passed.
fn waits_for(mut done: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Starts another swbox whose jail holds the lock, kills that swbox, and looks at the lock.
fn killed(scene: &Scene) -> (Attempted, Option<Outcome>, bool) {
    let lock = scene.path("workspace/file");
    let child = Command::new(scene.program())
        .args([OsStr::new(act::SUBCOMMAND), OsStr::new(VICTIM), scene.root().as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return (Attempted { worked: false, said: error.to_string() }, None, false),
    };
    let began = waits_for(|| is_held(&lock));
    let _ = child.kill();
    let _ = child.wait();
    if !began {
        return (Attempted { worked: false, said: "the jail did not start".to_owned() }, None, false);
    }
    let released = waits_for(|| !is_held(&lock));
    let said = if released { "gone with swbox" } else { "lived on" };
    (Attempted { worked: !released, said: said.to_owned() }, None, released)
}

/// The other swbox of [`killed`]: a jail whose command holds the lock and waits. Never returns by itself.
pub(super) fn victim(root: &Path) -> u8 {
    let Ok(program) = std::env::current_exe() else { return act::USAGE };
    let spec = Scene::spec(root, &program, WorkspaceRight::Write, NetworkRight::Loopback);
    let lock = root.join("workspace/file");
    let argv = [program.as_os_str(), OsStr::new(act::SUBCOMMAND), OsStr::new("holder"), lock.as_os_str()]
        .map(OsStr::to_owned);
    match launched(&spec, &argv, Capture::Inherit) {
        Ok(_) => act::DONE,
        Err(_) => act::REFUSED,
    }
}
