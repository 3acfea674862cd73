//! Performing a plan: fork into the jail, watch over the command, report what became of it.
//!
//! Danger: only for a single-threaded process (the child of a fork runs ordinary code). A failure before the command's
//! exec is an error, or the plan's own lesser form; never a weaker run.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::egress;
use super::farewell;
use super::gate;
use super::git::{self, Findings, Layout};
use super::init::{self, Inside, Watched};
use super::limits;
use super::namespace;
use super::observer::{Observing, Scene, protected};
use super::orphans;
use super::outcome::{Achieved, Exit, Level, LimitHit, Outcome};
use super::outlet;
use super::output::{Capture, Stream};
use super::outputs;
use super::plan::{Access, Grant, JailPlan, LandlockPlan, Step, View};
use super::report::{self, Message, SetupError, Stage, now};
use super::scratch::Scratch;
use super::seccomp::{self, Arch, Handover};
use super::sockets;
use super::spread::spread;
use super::watch::{Ended, Watch};
use crate::diagnostic::Diagnostic;
use crate::proxy::Spawned;
use crate::sys::process::{Command, Forked, fork_into, single_threaded};
use crate::sys::signal::{Set, set_default};

/// Where programs are looked for when the command's environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Why a launch did not happen.
enum Failure {
    /// The host refuses what this plan is made of; a lesser plan may do.
    Refused(SetupError),
    /// An error.
    Fatal(Diagnostic),
}

/// Runs the command of `plan` and waits until nothing of it is left.
pub fn launch(plan: &JailPlan, capture: Capture) -> Result<Outcome, Diagnostic> {
    launch_observed(plan, capture, None)
}

/// As [`launch`], with somebody who watches.
pub fn launch_observed(
    plan: &JailPlan,
    capture: Capture,
    mut observing: Observing<'_>,
) -> Result<Outcome, Diagnostic> {
    let first = attempt(plan, capture, again(&mut observing));
    descend(plan, first, capture, observing)
}

/// As [`launch_observed`], with a plan that has no lesser ones; `whole` is the same plan with them, where they are needed.
pub fn launch_best(
    plan: &JailPlan,
    whole: impl FnOnce() -> Result<JailPlan, Diagnostic>,
    capture: Capture,
    mut observing: Observing<'_>,
) -> Result<Outcome, Diagnostic> {
    match attempt(plan, capture, again(&mut observing)) {
        Err(refused @ Failure::Refused(_)) => descend(&whole()?, Err(refused), capture, observing),
        other => descend(plan, other, capture, observing),
    }
}

/// The observer, lent for one try.
fn again<'a>(observing: &'a mut Observing<'_>) -> Observing<'a> {
    match observing {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}

/// Goes on from the first try of `plan`: to what came of it, or to the next lesser plan.
fn descend(
    plan: &JailPlan,
    first: Result<Outcome, Failure>,
    capture: Capture,
    mut observing: Observing<'_>,
) -> Result<Outcome, Diagnostic> {
    let mut given_up = Vec::new();
    let (mut current, mut tried) = (plan, first);
    loop {
        match tried {
            Ok(mut outcome) => {
                outcome.degraded.splice(0..0, given_up);
                return Ok(outcome);
            }
            Err(Failure::Fatal(diagnostic)) => return Err(diagnostic),
            Err(Failure::Refused(error)) => {
                let problem = explain(current, &error);
                let Some(lesser) = &current.fallback else {
                    let why = current.no_fallback.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
                    return Err(Diagnostic { message: format!("{}{why}", problem.message), ..problem });
                };
                given_up.push(format!("level: {}", problem.message));
                current = lesser;
                tried = attempt(current, capture, again(&mut observing));
            }
        }
    }
}

/// One try of one plan.
fn attempt(plan: &JailPlan, capture: Capture, mut observing: Observing<'_>) -> Result<Outcome, Failure> {
    if !single_threaded() {
        return Err(Failure::Fatal(Diagnostic::new(
            "not_single_threaded",
            "a jail is launched only by a process with one thread",
        )));
    }
    let begun = now();
    let fatal = |stage: Stage, detail: &str| {
        let detail = detail.to_owned();
        move |error: io::Error| Failure::Fatal(explain(plan, &SetupError::new(stage, &error, detail)))
    };
    let bare = plan.level == Level::LandlockOnly;
    let scratch =
        bare.then(|| Scratch::new(plan)).transpose().map_err(fatal(Stage::Directory, "private HOME"))?;
    let command = match &scratch {
        Some(scratch) => command(plan, &scratch.environment(&plan.env)),
        None => command(plan, &plan.env),
    }?;
    let filter = seccomp::compile(plan.filter, Arch::NATIVE);
    let (watch_inlet, watched) = match &observing {
        Some(observer) => UnixStream::pair().and_then(|(inlet, outlet)| {
            let watching = observer.watching(plan);
            let program = seccomp::compile_watched(plan.filter, watching, Arch::NATIVE);
            if watching.how == Handover::Tracer {
                gate::prepare(&inlet)?;
            }
            let watched = Watched { program, required: observer.required(), how: watching.how, outlet };
            Ok((Some(inlet), Some(watched)))
        }),
        None => Ok((None, None)),
    }
    .map_err(fatal(Stage::Descriptors, "socket pair"))?;
    let (reader, pipe) = report::channel().map_err(fatal(Stage::Descriptors, "report pipe"))?;
    let (inside, outside) = match plan.egress {
        Some(_) => UnixStream::pair().map(|(inside, outside)| (Some(inside), Some(outside))),
        None => Ok((None, None)),
    }
    .map_err(fatal(Stage::Descriptors, "socket pair"))?;
    let (streams, output) = capture_pipes(capture).map_err(fatal(Stage::Descriptors, "output pipes"))?;
    let before = enter_workspace(&plan.workspace)
        .map_err(fatal(Stage::Workspace, &plan.workspace.display().to_string()))?;
    let mut layout = git::survey(plan);
    layout.sockets = sockets::live(plan, layout.noted_sockets());
    let (inlet, outlet) = match layout.originals.is_empty() && plan.outputs.is_none() && !plan.farewell {
        true => Ok((None, None)),
        false => UnixStream::pair().map(|(inlet, outlet)| (Some(inlet), Some(outlet))),
    }
    .map_err(fatal(Stage::Descriptors, "socket pair"))?;
    // The working directory is the workspace now, whatever its name leads to later.
    let target = plan
        .outputs
        .as_ref()
        .map(|_| rustix::fs::openat(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()));
    let target = target.transpose().map_err(|error| fatal(Stage::Workspace, "outputs")(error.into()))?;
    let powerless = powerless(plan);
    let domain = domain(plan, &layout, scratch.as_ref());
    if let Some(observer) = &mut observing {
        observer.prepare(Scene { plan, domain: &domain, protected: &protected(&layout) });
    }
    if !plan.namespaces.pid {
        orphans::adopt().map_err(fatal(Stage::Parent, "child subreaper"))?;
    }
    // Where the caller ignores it, children vanish without a status; the command gets the default anyway.
    set_default(libc::SIGCHLD);
    let mask = Set::all().apply().map_err(fatal(Stage::Limits, "signal mask"))?;
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let forked = fork_into(namespace::clone_flags(plan.namespaces));
    if matches!(forked, Ok(Forked::Child)) {
        drop(reader);
        drop((streams, inside, inlet, watch_inlet));
        init::run(&Inside {
            plan,
            layout: &layout,
            domain: &domain,
            command: &command,
            filter: &filter,
            watched,
            pipe,
            mask,
            ids,
            output,
            outside,
            outlet,
        });
    }
    drop((pipe, output, outside, outlet, watched));
    leave_workspace(before);
    let proxy = match (&plan.egress, &inside) {
        (Some(order), Some(inside)) => egress::start(order, inside),
        _ => Ok(None),
    };
    // Without a proxy this is what keeps the command from running.
    drop(inside);
    let result = match forked {
        Ok(Forked::Parent(child)) => Watch::new(child, reader, streams, plan.limits.timeout)
            .map(|watch| watch.attended(again(&mut observing), plan, watch_inlet))
            .and_then(Watch::run)
            .map_err(fatal(Stage::Parent, "watching over the command")),
        Ok(Forked::Child) => init_returned(),
        Err(error) => Err(Failure::Refused(SetupError::new(Stage::Fork, &error, "namespaces"))),
    };
    if !plan.namespaces.pid && plan.egress.is_none() {
        // The first process has ended them, unless the command has killed it.
        orphans::end_all();
    }
    // The mask was read a moment ago, so setting it again cannot fail.
    let _ = mask.apply();
    let report = proxy.map_err(Failure::Fatal)?.map(Spawned::finish).unwrap_or_default();
    let ended = result?;
    if let Some(observer) = &mut observing {
        observer.end();
    }
    let unwatched = ended.unwatched.map(|errno| {
        format!("unobserved: the command was not watched: {}", io::Error::from_raw_os_error(errno))
    });
    let findings = git::check(plan, &layout);
    let left = inlet.as_ref().map(outlet::take).transpose();
    let left = left.map_err(fatal(Stage::Descriptors, "what the command left"))?.flatten();
    let config = match &left {
        Some(left) => git::write_back(&layout.originals, left),
        // The jail was not built: the command did not run.
        None => Vec::new(),
    };
    let mut outcome = outcome(plan, ended, findings, begun)?;
    outcome.config = config;
    outcome.farewell = left.as_ref().filter(|_| plan.farewell).and_then(farewell::read);
    let sound = outcome.is_sound() && outcome.exit == Exit::Code(0);
    if let (Some(outputs), Some(left), Some(target), true) = (&plan.outputs, &left, &target, sound) {
        outcome.outputs = Some(outputs::keep(outputs, left, target, plan.limits.scratch));
    }
    outcome.degraded.extend(scratch.as_ref().and_then(|_| narrowness(plan, &domain)));
    outcome.degraded.extend(powerless);
    outcome.degraded.extend(unwatched);
    outcome.degraded.extend(layout.unkept());
    outcome.refused_hosts = report.refused;
    outcome.degraded.extend(report.problems.into_iter().map(|problem| format!("proxy: {problem}")));
    Ok(outcome)
}

/// The plan's Landlock domain with what only the host can tell: writable git directories, the private directories of
/// the Landlock-only level, and there the way around secrets and protected names.
fn domain(plan: &JailPlan, layout: &Layout, scratch: Option<&Scratch>) -> LandlockPlan {
    let mut domain = plan.landlock.clone();
    if let Some(scratch) = scratch {
        domain.grants = spread(plan, layout);
        let access = Access::CHANGE.with(Access::READ).with(Access::EXECUTE);
        domain.grants.push(Grant { path: scratch.path().to_owned(), access, follow: false });
    } else {
        domain.grants.extend(layout.grants());
    }
    // Its mount is the host's: opened again by its name in /proc, it could be emptied although it is only for reading.
    domain.handle_truncate |= reads_from_file();
    domain
}

/// Whether a standard stream is a regular file that is open for reading.
fn reads_from_file() -> bool {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    [input.as_fd(), output.as_fd(), error.as_fd()].into_iter().any(|stream| {
        let kind = rustix::fs::fstat(stream).map(|found| FileType::from_raw_mode(found.st_mode));
        kind == Ok(FileType::RegularFile)
            && rustix::fs::fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDONLY)
    })
}

/// What user 0 cannot do in somebody else's writable workspace: without capabilities it is an ordinary user there. The
/// working directory must be the workspace.
fn powerless(plan: &JailPlan) -> Option<String> {
    let writable = plan.steps.iter().any(|step| matches!(step, Step::Workspace { view: View::Writable }));
    let owner = rustix::fs::stat(".").ok()?.st_uid;
    (writable && owner != 0 && rustix::process::geteuid().is_root()).then(|| {
        format!("foreign-workspace: it belongs to user {owner}, and user 0 without capabilities changes only what everybody may; run swbox as user {owner}")
    })
}

/// What a writable workspace cannot do when Landlock alone goes around its protected names.
fn narrowness(plan: &JailPlan, domain: &LandlockPlan) -> Option<String> {
    let whole = |grant: &Grant| grant.path == plan.workspace && grant.access.contains(Access::MAKE);
    let writable = plan.landlock.grants.iter().any(whole);
    (writable && !domain.grants.iter().any(whole)).then(|| {
        "no-new-names: without namespaces no name can be made or removed directly beside a git directory or protected file"
            .to_owned()
    })
}

/// `init::run` does not return; the child never gets here.
fn init_returned() -> ! {
    crate::sys::process::exit_now(125)
}

/// From what was seen of the child to the outcome or the failure.
fn outcome(plan: &JailPlan, ended: Ended, findings: Findings, begun: u64) -> Result<Outcome, Failure> {
    let mut outcome = Outcome {
        exit: Exit::Code(0),
        duration: Duration::ZERO,
        setup: Duration::from_nanos(now().saturating_sub(begun)),
        level: plan.level,
        protections: plan.protections.clone(),
        degraded: plan.degraded.clone(),
        output: ended.output,
        refused_hosts: Vec::new(),
        quarantined: findings.quarantined,
        appeared: findings.appeared,
        planted: findings.planted,
        config: Vec::new(),
        outputs: None,
        farewell: None,
        limit: None,
        limit_inferred: false,
        interrupted: ended.interrupted,
    };
    for (protection, reason) in ended.degraded {
        for (_, achieved) in outcome.protections.iter_mut().filter(|(other, _)| *other == protection) {
            *achieved = Achieved::Degraded;
        }
        outcome.degraded.push(reason);
    }
    match ended.last {
        Some(Message::Failed(error)) if refused(plan, &error) => return Err(Failure::Refused(error)),
        Some(Message::Failed(error)) => return Err(Failure::Fatal(explain(plan, &error))),
        Some(Message::NotExecuted { errno }) => {
            let code = if errno == libc::ENOENT { 127 } else { 126 };
            outcome.exit = Exit::NotStarted { code, errno };
        }
        Some(Message::Exited { status, started, ended: end, full }) => {
            outcome.exit = if ended.timed_out { Exit::Timeout } else { exit(status) };
            outcome.limit = limit(&outcome.exit, full);
            outcome.duration = Duration::from_nanos(end.saturating_sub(started));
            outcome.setup = Duration::from_nanos(started.saturating_sub(begun));
        }
        Some(Message::Stopped(_) | Message::Degraded(..) | Message::Unwatched(_)) | None
            if ended.timed_out =>
        {
            outcome.exit = Exit::Timeout;
            outcome.limit = Some(LimitHit::Timeout);
        }
        Some(Message::Stopped(_) | Message::Degraded(..) | Message::Unwatched(_)) | None => {
            return Err(Failure::Fatal(Diagnostic::new(
                "init_died",
                format!("the jail's first process ended without a report (wait status {:#x})", ended.status),
            )));
        }
    }
    if outcome.limit.is_none()
        && let Some((out, err)) = &outcome.output
    {
        let said = limits::said(&plan.limits, &outcome.exit, err);
        outcome.limit_inferred = said.is_some();
        let cut = out.dropped() > 0 || err.dropped() > 0;
        outcome.limit = said.or(cut.then_some(LimitHit::Output));
    }
    Ok(outcome)
}

/// The limit behind the end of a command.
fn limit(exit: &Exit, full: bool) -> Option<LimitHit> {
    match exit {
        Exit::Timeout => Some(LimitHit::Timeout),
        Exit::Signal(libc::SIGXCPU) => Some(LimitHit::Cpu),
        Exit::Signal(libc::SIGXFSZ) => Some(LimitHit::FileSize),
        // Shells hand on the signal of their last command as 128 and more.
        Exit::Code(code) if i32::from(*code) == 128 + libc::SIGXCPU => Some(LimitHit::Cpu),
        Exit::Code(code) if i32::from(*code) == 128 + libc::SIGXFSZ => Some(LimitHit::FileSize),
        _ if full => Some(LimitHit::Scratch),
        _ => None,
    }
}

fn exit(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(u8::try_from(libc::WEXITSTATUS(status) & 0xff).unwrap_or(u8::MAX))
    }
}

/// Whether the failure says that the host does not give this plan's namespaces.
fn refused(plan: &JailPlan, error: &SetupError) -> bool {
    let denied =
        matches!(error.errno, libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EINVAL | libc::ENOSPC);
    plan.namespaces.user
        && denied
        && match error.stage {
            Stage::Maps | Stage::Root | Stage::Network => true,
            Stage::Proc => plan.namespaces.pid,
            _ => false,
        }
}

/// A failed step as something to tell a person.
fn explain(plan: &JailPlan, error: &SetupError) -> Diagnostic {
    let why = if error.errno == 0 {
        String::new()
    } else {
        format!(": {}", io::Error::from_raw_os_error(error.errno))
    };
    let diagnostic =
        Diagnostic::new(error.stage.code(), format!("cannot set up the jail ({}){why}", error.detail));
    match error.stage {
        Stage::Fork | Stage::Maps | Stage::Root if plan.namespaces.user => diagnostic.help(
            "this host refuses user namespaces to this user; `swbox doctor` says what remains possible",
        ),
        Stage::Cwd => {
            diagnostic.help("the working directory must be visible in the jail: inside the workspace")
        }
        Stage::Bind => diagnostic.help("mark the bind as optional in the profile, or install what it names"),
        _ => diagnostic,
    }
}

/// Standard output and error, where they are captured.
type Both<T> = Option<(T, T)>;

/// The pipes of captured output: what is read here, and what the command writes to.
fn capture_pipes(capture: Capture) -> io::Result<(Both<Stream>, Both<OwnedFd>)> {
    let Capture::Keep(limit) = capture else { return Ok((None, None)) };
    let (out_reader, out) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (err_reader, err) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Some((Stream::new(out_reader, limit), Stream::new(err_reader, limit))), Some((out, err))))
}

/// Makes the workspace the working directory, by a descriptor, so that the child holds it in its own mount namespace.
/// Gives the former one back.
fn enter_workspace(workspace: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let before = rustix::fs::openat(CWD, ".", flags, Mode::empty()).ok();
    let directory = rustix::fs::openat(CWD, workspace, flags | OFlags::NOFOLLOW, Mode::empty())?;
    rustix::process::fchdir(directory)?;
    Ok(before)
}

fn leave_workspace(before: Option<OwnedFd>) {
    if let Some(before) = before {
        // A working directory that was left cannot become unreachable by its descriptor.
        let _ = rustix::process::fchdir(before.as_fd());
    }
}

/// Lays out the command for exec.
fn command(plan: &JailPlan, env: &BTreeMap<OsString, OsString>) -> Result<Command, Failure> {
    let text = |bytes: Vec<u8>, what: &str| {
        CString::new(bytes).map_err(|_| {
            Failure::Fatal(Diagnostic::new("nul_in_argument", format!("{what} contains a NUL byte")))
        })
    };
    let argv =
        plan.argv.iter().map(|arg| text(arg.as_bytes().to_vec(), "an argument")).collect::<Result<_, _>>()?;
    let path = env.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let env = env
        .iter()
        .map(|(name, value)| {
            let mut entry = name.as_bytes().to_vec();
            entry.push(b'=');
            entry.extend(value.as_bytes());
            text(entry, "the environment")
        })
        .collect::<Result<_, _>>()?;
    let name = plan.argv.first().map(OsString::as_os_str).unwrap_or_default();
    let candidates = candidates(name, path)
        .into_iter()
        .map(|candidate| text(candidate.into_vec(), "the program's name"))
        .collect::<Result<_, _>>()?;
    Ok(Command::new(candidates, argv, env))
}

/// The paths under which `name` is tried, by the rules of execvp(3).
fn candidates(name: &OsStr, path: &OsStr) -> Vec<OsString> {
    if name.as_bytes().contains(&b'/') {
        return vec![name.to_owned()];
    }
    let directories = path.as_bytes().split(|byte| *byte == b':');
    directories
        .map(|directory| {
            let directory = if directory.is_empty() { b"." } else { directory };
            let mut candidate = directory.to_vec();
            candidate.push(b'/');
            candidate.extend(name.as_bytes());
            OsString::from_vec(candidate)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_tried_in_each_directory_of_path() {
        assert_eq!(candidates(OsStr::new("ls"), OsStr::new("/a:/b")), ["/a/ls", "/b/ls"]);
        assert_eq!(candidates(OsStr::new("ls"), OsStr::new("/a::")), ["/a/ls", "./ls", "./ls"]);
        assert_eq!(candidates(OsStr::new("./ls"), OsStr::new("/a")), ["./ls"]);
    }

    #[test]
    fn wait_statuses_are_read() {
        assert_eq!(exit(0x300), Exit::Code(3));
        assert_eq!(exit(9), Exit::Signal(9));
        assert_eq!(exit(0x80 | 11), Exit::Signal(11));
    }
}
