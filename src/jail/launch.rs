//! Performing a plan: fork into the jail, watch over the command, report what became of it.
//!
//! Danger: only for a single-threaded process (the child of a fork runs ordinary code). A failure before the command's
//! exec is an error, or the plan's own lesser form; never a weaker run.

use std::cell::OnceCell;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::ahead::Start;
use super::beginning::{Beginning, keeps};
use super::egress;
use super::farewell;
use super::gate;
use super::git::{self, Layout};
use super::init::{self, First, Inside, Watched};
use super::keeper::{Entered, Left};
use super::lines::{Departing, Lines, fatal};
use super::namespace;
use super::observer::{Observing, Scene, protected};
use super::orphans;
use super::outcome::{Exit, Level, Outcome};
use super::outlet;
use super::output::{Capture, Stream};
use super::outputs;
use super::plan::{Access, Grant, JailPlan, LandlockPlan, Namespaces, Step, View};
use super::program;
use super::report::{SetupError, Stage};
use super::scratch::Scratch;
use super::seccomp::{self, Arch};
use super::sockets;
use super::spread::spread;
use super::told::{explain, outcome};
use super::watch::Watch;
use crate::diagnostic::Diagnostic;
use crate::proxy::Spawned;
use crate::sys::memory::{share, unshare};
use crate::sys::process::{Beside, Handover, Led, Memory, close_copies, spawn_into, spawn_led};

/// Why a launch did not happen.
pub(super) enum Failure {
    /// The host refuses what this plan is made of; a lesser plan may do.
    Refused(SetupError),
    /// The plan is not what the launch has begun with.
    Otherwise,
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
    observing: Observing<'_>,
) -> Result<Outcome, Diagnostic> {
    launch_ahead(Start::now(&OnceCell::new()), plan, whole, capture, observing)
}

/// As [`launch_best`], where the jail may have been begun ahead of the plan, in no session.
pub fn launch_ahead(
    start: Start<'_>,
    plan: &JailPlan,
    whole: impl FnOnce() -> Result<JailPlan, Diagnostic>,
    capture: Capture,
    mut observing: Observing<'_>,
) -> Result<Outcome, Diagnostic> {
    let beginning = beginning(plan, capture, &observing);
    let Start { made, ahead } = start;
    // What does not fit ends here.
    let first = match ahead.filter(|ahead| !ahead.joins() && ahead.fits(&beginning)) {
        Some(ahead) => {
            let plan = made.get_or_init(|| plan.clone());
            ahead.go_on(|| Ok((plan, capture)), again(&mut observing)).map(|(outcome, _)| outcome)
        }
        None => attempt(plan, capture, again(&mut observing)),
    };
    match first {
        Err(refused @ Failure::Refused(_)) => descend(&whole()?, Err(refused), capture, observing),
        other => descend(plan, other, capture, observing),
    }
}

/// What a launch of a plan that is there begins with.
pub fn beginning(plan: &JailPlan, capture: Capture, observing: &Observing<'_>) -> Beginning {
    Beginning::of(plan, capture, observing.as_ref().map(|observer| observer.watching(plan).how))
}

/// Runs the command of `plan`, which must be made for that, in the session that it has entered. Gives also what the
/// command has left running there; with that dropped it is ended.
///
/// # Errors
/// As for [`launch`]; `setup_session` where the session cannot be joined, and then the command has not run.
pub fn launch_in(
    plan: &JailPlan,
    session: Entered,
    capture: Capture,
    observing: Observing<'_>,
) -> Result<(Outcome, Option<Left>), Diagnostic> {
    let beginning = beginning(plan, capture, &observing);
    begin(&beginning, || Ok((plan, capture)), observing, Some(session))
        .map_err(|failure| not_joined(plan.namespaces, failure))
}

/// As [`launch_in`], where the jail was begun ahead in the session, and the plan may be made beside it. `start` must
/// [fit](Start::fits) the beginning.
///
/// # Errors
/// As for [`launch_in`], and those of `plan`.
pub fn launch_in_begun<'p>(
    start: Start<'p>,
    beginning: &Beginning,
    plan: impl FnOnce() -> Result<JailPlan, Diagnostic>,
    capture: impl Fn(&JailPlan) -> Capture,
    observing: Observing<'_>,
) -> Result<(Outcome, Option<Left>), Diagnostic> {
    let Start { made, ahead } = start;
    let Some(ahead) = ahead.filter(|ahead| ahead.joins() && ahead.fits(beginning)) else {
        return Err(not_joined(beginning.namespaces, Failure::Otherwise));
    };
    let watched = observing.is_some().then_some(seccomp::Handover::Listener);
    let made_now = || {
        let plan: &'p JailPlan = {
            let plan = plan().map_err(Failure::Fatal)?;
            made.get_or_init(|| plan)
        };
        let capture = capture(plan);
        let same = Beginning::of(plan, capture, watched) == *beginning;
        if same { Ok((plan, capture)) } else { Err(Failure::Otherwise) }
    };
    ahead.go_on(made_now, observing).map_err(|failure| not_joined(beginning.namespaces, failure))
}

/// Why a command has not joined its session.
fn not_joined(namespaces: Namespaces, failure: Failure) -> Diagnostic {
    match failure {
        Failure::Refused(error) => explain(namespaces, &SetupError { stage: Stage::Session, ..error }),
        Failure::Otherwise => Diagnostic::new("setup_session", "the plan is not what was begun"),
        Failure::Fatal(diagnostic) => diagnostic,
    }
}

/// Which plan is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one that is tried first, without the lesser ones.
    Best,
    /// The same with the lesser ones, where they are needed.
    Whole,
}

/// As [`launch_best`], with a plan that is made while the jail is begun; gives it too. With `start` it may have been begun
/// even before what `beginning` says was known.
pub fn launch_begun<'p>(
    start: Start<'p>,
    beginning: &Beginning,
    mut plan: impl FnMut(Which) -> Result<JailPlan, Diagnostic>,
    capture: impl Fn(&JailPlan) -> Capture,
    mut observing: Observing<'_>,
) -> Result<(&'p JailPlan, Outcome), Diagnostic> {
    let Start { made, ahead } = start;
    let watched = observing.is_some().then_some(seccomp::Handover::Listener);
    // What does not fit ends here, and with it what was begun.
    let ahead = ahead.filter(|ahead| !ahead.joins() && ahead.fits(beginning));
    let planned = || {
        let best = plan(Which::Best).map_err(Failure::Fatal)?;
        let best: &'p JailPlan = made.get_or_init(|| best);
        let capture = capture(best);
        let same = Beginning::of(best, capture, watched) == *beginning;
        if same { Ok((best, capture)) } else { Err(Failure::Otherwise) }
    };
    let first = match ahead {
        Some(ahead) => ahead.go_on(planned, again(&mut observing)).map(|(outcome, _)| outcome),
        None => begin(beginning, planned, again(&mut observing), None).map(|(outcome, _)| outcome),
    };
    let best = match (made.get(), first) {
        (Some(best), Err(Failure::Refused(error))) => {
            let refused = Err(Failure::Refused(error));
            let outcome = descend(&plan(Which::Whole)?, refused, capture(best), observing)?;
            return Ok((best, outcome));
        }
        (Some(best), Err(Failure::Otherwise)) => best,
        (Some(best), first) => {
            let outcome = descend(best, first, capture(best), observing)?;
            return Ok((best, outcome));
        }
        (None, Err(Failure::Fatal(problem))) => return Err(problem),
        // Not even begun: nothing was planned yet.
        (None, _) => {
            let best = plan(Which::Best)?;
            made.get_or_init(|| best)
        }
    };
    let outcome = launch_best(best, || plan(Which::Whole), capture(best), observing)?;
    Ok((best, outcome))
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
            // Only of a plan that was not there yet.
            Err(Failure::Otherwise) => tried = attempt(current, capture, again(&mut observing)),
            Err(Failure::Refused(error)) => {
                let problem = explain(current.namespaces, &error);
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
fn attempt(plan: &JailPlan, capture: Capture, observing: Observing<'_>) -> Result<Outcome, Failure> {
    let beginning = beginning(plan, capture, &observing);
    begin(&beginning, || Ok((plan, capture)), observing, None).map(|(outcome, _)| outcome)
}

/// One try of a plan that is made when the jail has been begun.
fn begin<'p>(
    beginning: &Beginning,
    plan: impl FnOnce() -> Result<(&'p JailPlan, Capture), Failure>,
    observing: Observing<'_>,
    session: Option<Entered>,
) -> Result<(Outcome, Option<Left>), Failure> {
    let (mut lines, ends) = Lines::open(beginning, observing.is_some(), session.is_some())?;
    // Both processes close the ends that are the other's; the values are there for both.
    let (ends, launchers) = (ManuallyDrop::new(ends), lines.numbers());
    // Declared before the first process is made, so that it goes when that has ended.
    let place = OnceCell::new();
    let rest = Handover::default();
    let first = First::new(beginning, &ends, &launchers, session.as_ref(), &rest);
    let mut run = || -> i32 { init::run(&first) };
    // What was begun ahead has ended.
    unshare();
    // From here on the first process is at work beside this one, with system calls alone until it is given the rest.
    let beside = beginning.memory == Memory::Shared;
    if beside && !share() {
        return Err(Failure::Otherwise);
    }
    let spawned = beside.then(|| spawn(&lines.workspace, &first, &mut run));
    if let Some(Ok(coming)) = &spawned {
        lines.send_elsewhere(coming.id());
    }
    let (plan, capture) = lines.planning(plan)?;
    let (outcome, going_on, departing) = go_on(lines, &first, spawned, &place, plan, capture, observing)?;
    drop(departing);
    Ok((outcome, going_on))
}

/// Goes on with a jail that was begun, or is begun now, with the plan: until the command has ended. Gives what the command has
/// left running in a session, and a first process that is not gone yet: before what that one was made with goes, it has to.
pub(super) fn go_on<'p>(
    lines: Lines,
    first: &First<'p>,
    spawned: Option<io::Result<Coming<'_>>>,
    place: &'p OnceCell<Inside<'p>>,
    plan: &'p JailPlan,
    capture: Capture,
    mut observing: Observing<'_>,
) -> Result<(Outcome, Option<Left>, Option<Departing>), Failure> {
    let begun_before = spawned.is_some();
    let Lines { begun, reader, watch_inlet, inside, inlet, captured, relays, workspace, masked, .. } = lines;
    let (memory, dumpable, session) = (first.memory, lines.dumpable, first.session);
    let fatal = |stage: Stage, detail: &str| fatal(lines.namespaces, stage, detail);
    let mut run = || -> i32 { init::run(first) };
    let bare = plan.level == Level::LandlockOnly;
    let scratch =
        bare.then(|| Scratch::new(plan)).transpose().map_err(fatal(Stage::Directory, "private HOME"))?;
    let command = match &scratch {
        Some(scratch) => program::lay_out(plan, &scratch.environment(&plan.env)),
        None => program::lay_out(plan, &plan.env),
    }
    .map_err(Failure::Fatal)?;
    let watched = observing.as_ref().map(|observer| {
        let watching = observer.watching(plan);
        let program = seccomp::compile_watched(plan.filter, watching, Arch::NATIVE);
        Watched { program, required: observer.required(), how: watching.how }
    });
    // Asked before the first process is given the system's allocator, which nobody else may use then.
    let how = watched.as_ref().map(|watched| watched.how);
    if let (Some(inlet), Some(seccomp::Handover::Tracer)) = (&watch_inlet, how) {
        gate::prepare(inlet).map_err(fatal(Stage::Descriptors, "socket pair"))?;
    }
    let before = enter(&workspace).map_err(fatal(Stage::Workspace, "the workspace"))?;
    let mut layout = git::survey(plan);
    let (hidden, unlisted) = sockets::live(plan, layout.noted_sockets());
    layout.sockets = hidden;
    let powerless = powerless(plan);
    let domain = domain(plan, &layout, scratch.as_ref());
    if let Some(observer) = &mut observing {
        observer.prepare(Scene { plan, domain: &domain, protected: &protected(&layout) });
    }
    leave(before);
    if !plan.namespaces.pid {
        orphans::adopt().map_err(fatal(Stage::Parent, "child subreaper"))?;
    }
    let streams = captured.map(|(out, err)| {
        let keep = capture.kept();
        (Stream::new(out, keep), Stream::new(err, keep))
    });
    let streams = streams.or(relays);
    let given = place.get_or_init(|| Inside {
        plan,
        layout,
        domain,
        command,
        filter: seccomp::compile(plan.filter, Arch::NATIVE),
        watched,
        mask: masked.former(),
        kept: keeps(plan),
        processors: lines.processors,
    });
    // Nobody else may be at work when it goes on.
    let spawned = spawned.map(|coming| coming.and_then(Coming::arrive));
    first.rest.give(given);
    let spawned = spawned.unwrap_or_else(|| spawn(&workspace, first, &mut run).and_then(Coming::arrive));
    let proxy = match (&plan.egress, &inside) {
        (Some(order), Some(inside)) => egress::start(order, inside),
        _ => Ok(None),
    };
    // Without a proxy this is what keeps the command from running.
    drop(inside);
    let mut result = match spawned {
        Ok(child) => Watch::new(child, memory, reader, streams, plan.limits.timeout)
            .map(|watch| watch.in_session(session.is_some(), plan.detached))
            .map(|watch| watch.attended(again(&mut observing), how, watch_inlet))
            .and_then(Watch::run)
            .map_err(fatal(Stage::Parent, "watching over the command")),
        Err(error) => Err(Failure::Refused(SetupError::new(Stage::Fork, &error, "namespaces"))),
    };
    if !plan.namespaces.pid && plan.egress.is_none() {
        // The first process has ended them, unless the command has killed it.
        orphans::end_all();
    }
    // What follows may take long, and may be interrupted.
    drop(masked);
    let leaving = result.as_mut().ok().and_then(|ended| ended.leaving.take()).filter(|_| begun_before);
    let departing = Departing::new(leaving, (memory == Memory::Shared).then_some(dumpable));
    let report = proxy.map_err(Failure::Fatal)?.map(Spawned::finish).unwrap_or_default();
    let mut ended = result?;
    // What was cut off, what could go on changing what is looked at now, and what must be watched does not go on.
    let ends = ended.timed_out
        || !ended.is_whole()
        || !given.layout.originals.is_empty()
        || observing.as_ref().is_some_and(|observer| {
            observer.required() || observer.watching(plan).how == seccomp::Handover::Tracer
        });
    let (pipes, listener) = (std::mem::take(&mut ended.pipes), ended.listener.take());
    let going_on = match &session {
        Some(session) if ends => session.end().map(|()| None),
        Some(session) if ended.has_left() => session.left(pipes, listener),
        Some(_) | None => Ok(None),
    };
    // A keeper that is gone took everything with it.
    let going_on = going_on.unwrap_or_default();
    if let Some(observer) = &mut observing {
        observer.end();
    }
    let unwatched = ended.unwatched.map(|errno| {
        format!("unobserved: the command was not watched: {}", io::Error::from_raw_os_error(errno))
    });
    let (layout, domain) = (&given.layout, &given.domain);
    let findings = git::check(plan, layout);
    let left = inlet.filter(|_| given.kept).as_ref().map(outlet::take).transpose();
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
    match (&plan.outputs, &left) {
        (Some(_), _) if sound && going_on.is_some() => {
            outcome.degraded.push("outputs-not-kept: something that the command started goes on".to_owned());
        }
        (Some(outputs), Some(left)) if sound => {
            outcome.outputs = Some(outputs::keep(outputs, left, &workspace, plan.limits.scratch));
        }
        _ => {}
    }
    outcome.degraded.extend(scratch.as_ref().and_then(|_| narrowness(plan, domain)));
    outcome.degraded.extend(powerless);
    outcome.degraded.extend(unlisted);
    outcome.degraded.extend(unwatched);
    outcome.degraded.extend(layout.unkept());
    outcome.refused_hosts = report.refused;
    outcome.degraded.extend(report.problems.into_iter().map(|problem| format!("proxy: {problem}")));
    Ok((outcome, going_on, departing))
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

/// A first process that is made.
pub(super) enum Coming<'a> {
    Here(Beside<'a>),
    Led(Led<'a>),
}

impl<'a> Coming<'a> {
    /// The process that is at work: itself, or the guide whose child it will be.
    pub(super) fn id(&self) -> i32 {
        match self {
            Self::Here(child) => child.id(),
            Self::Led(child) => child.guide(),
        }
    }

    fn arrive(self) -> io::Result<Beside<'a>> {
        match self {
            Self::Here(child) => Ok(child),
            Self::Led(child) => child.arrive(),
        }
    }
}

/// Makes the first process, in the workspace, so that it holds it in its own mount namespace.
pub(super) fn spawn<'a>(
    workspace: &OwnedFd,
    first: &'a First<'_>,
    run: &'a mut dyn FnMut() -> i32,
) -> io::Result<Coming<'a>> {
    let before = enter(workspace)?;
    let (namespaces, proxy) = (first.namespaces, first.ends.outside.is_some());
    let spawned = match first.session {
        None => spawn_into(namespace::clone_flags(namespaces), first.memory, run).map(Coming::Here),
        Some(session) => {
            let join = move || {
                init::close_launchers(first);
                namespace::join(namespaces, proxy, &session.spaces)
            };
            let own = namespace::own_in_session(namespaces, proxy);
            spawn_led(join, own, first.memory, run).map(Coming::Led)
        }
    };
    close_copies(first.ends.each());
    leave(before);
    spawned
}

/// Makes the workspace the working directory. Gives the former one back.
fn enter(workspace: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let before = rustix::fs::openat(CWD, ".", flags, Mode::empty()).ok();
    rustix::process::fchdir(workspace)?;
    Ok(before)
}

fn leave(before: Option<OwnedFd>) {
    if let Some(before) = before {
        // One that may not be searched is not gone back to. Nothing is looked up from there any more; see `ahead`.
        let _ = rustix::process::fchdir(before.as_fd());
    }
}
