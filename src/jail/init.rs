//! The first process inside: it sets up the jail around itself, starts the command, reaps, and forwards signals.
//! With a PID namespace it is pid 1, and its end is the end of everything inside.
//!
//! Danger: what it forgets to take away the command has. Every error ends it with a report, before the command runs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::git::Layout;
use super::keeper::{Entered, signal_in};
use super::mount::{Beginning, Root};
use super::plan::{JailPlan, LandlockPlan, Namespaces};
use super::report::{At, Message, SetupError, Stage, now};
use super::seccomp;
use super::{egress, gate, landlock, limits, mount, namespace, orphans, outlet};
use crate::sys::net::Made;
use crate::sys::process::{
    Command, Gate, Handover, Memory, close_but, close_copies, close_from, exit_now, fresh_session_keyring,
    set_name, spawn_aside, spawn_beside,
};
use crate::sys::signal::{self, Set};

/// The signal with which the launcher hands over others: its value is the signal, plus [`BROADCAST`].
pub(super) const FORWARD: i32 = 40;

/// Added to the value of a [`FORWARD`] that is meant for every process inside.
pub(super) const BROADCAST: i32 = 0x100;

/// Added to the value of a [`FORWARD`] that continues the command after a stop: the rest of the value counts the stops
/// that were reported so far. A shell's `fg` continues the command and swbox at once, so the command may have stopped
/// again before this arrives, and a late SIGCONT would undo that.
pub(super) const CONTINUE: i32 = 0x1000_0000;

/// What tells the first process that the launcher is gone, where its end would not end the others: a signal that
/// nobody sends to process groups.
const LAUNCHER_GONE: Signal = Signal::POWER;

/// What is laid out for a command that is watched.
pub(super) struct Watched {
    /// The program that hands calls over.
    pub(super) program: Vec<libc::sock_filter>,
    /// Whether the command must not run unwatched.
    pub(super) required: bool,
    /// To whom.
    pub(super) how: seccomp::Handover,
}

/// The ends of pipes and sockets that are for the inside alone.
pub(super) struct Ends {
    /// Where to report.
    pub(super) pipe: OwnedFd,
    /// Where the command's output goes when it is captured.
    pub(super) output: Option<(OwnedFd, OwnedFd)>,
    /// Where the listener for the proxy goes, for a command with a list of hosts.
    pub(super) outside: Option<UnixStream>,
    /// Where the scratch goes, for a command of which something on it is looked at afterwards.
    pub(super) outlet: Option<UnixStream>,
    /// Where the listener of a watched command goes.
    pub(super) calls: Option<UnixStream>,
}

impl Ends {
    /// All of them.
    pub(super) fn each(&self) -> impl Iterator<Item = RawFd> {
        let sockets =
            [&self.outside, &self.outlet, &self.calls].into_iter().flatten().map(AsRawFd::as_raw_fd);
        let output = self.output.iter().flat_map(|(out, err)| [out.as_raw_fd(), err.as_raw_fd()]);
        [self.pipe.as_raw_fd()].into_iter().chain(output).chain(sockets)
    }
}

/// What the first process begins with.
pub(super) struct First<'a> {
    /// Its namespaces.
    pub(super) namespaces: Namespaces,
    /// User and group to map.
    pub(super) ids: (u32, u32),
    /// What of the root it builds at once, with a mount namespace.
    pub(super) beginning: &'a Beginning,
    /// Its own ends.
    pub(super) ends: &'a Ends,
    /// The launcher's ends, of which it has copies.
    pub(super) launchers: &'a [RawFd],
    /// Whose memory it works in. In the launcher's own it says when it is done with that, by its first message.
    pub(super) memory: Memory,
    /// The session that the command joins; this process is in its namespaces.
    pub(super) session: Option<&'a Entered>,
    /// Where the rest comes from. Until it is there the launcher works in the same memory: no C library till then.
    pub(super) rest: &'a Handover<Inside<'a>>,
}

impl<'a> First<'a> {
    /// With what a jail begins.
    pub(super) fn new(
        beginning: &'a super::Beginning,
        ends: &'a Ends,
        launchers: &'a [RawFd],
        session: Option<&'a Entered>,
        rest: &'a Handover<Inside<'a>>,
    ) -> Self {
        Self {
            namespaces: beginning.namespaces,
            ids: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            beginning: &beginning.root,
            ends,
            launchers,
            memory: beginning.memory,
            session,
            rest,
        }
    }

    /// Whether the end of this process is the end of all others inside: it is pid 1 of a namespace.
    fn alone(&self) -> bool {
        self.namespaces.pid && self.session.is_none()
    }
}

/// Everything else that the first process needs.
pub(super) struct Inside<'a> {
    /// The steps.
    pub(super) plan: &'a JailPlan,
    /// How git directories are held.
    pub(super) layout: Layout,
    /// The Landlock domain with what was found out at launch.
    pub(super) domain: LandlockPlan,
    /// What to execute.
    pub(super) command: Command,
    /// The seccomp program.
    pub(super) filter: Vec<libc::sock_filter>,
    /// The one in its place when somebody watches.
    pub(super) watched: Option<Watched>,
    /// The command's signal mask.
    pub(super) mask: Set,
    /// Something on the scratch may be looked at afterwards.
    pub(super) kept: bool,
    /// The processors that the command may run on, where this process was sent to some of them.
    pub(super) processors: Option<CpuSet>,
}

/// Closes this process's copies of what is the launcher's: before it looks whether that one is there. The way into a session
/// begins with it.
pub(super) fn close_launchers(first: &First<'_>) {
    close_copies(first.launchers.iter().copied());
}

/// Runs the command inside; never returns.
pub(super) fn run(first: &First<'_>) -> ! {
    if first.session.is_none() {
        close_launchers(first);
    }
    let pipe = first.ends.pipe.as_fd();
    let prepared = begin(first).and_then(|begun| prepare(first, first.rest.take(), begun));
    let (mut prepared, inside) = match prepared {
        Ok(prepared) => (prepared, first.rest.take()),
        Err(error) => {
            Message::Failed(error).send(pipe);
            exit_now(125)
        }
    };
    let begun = start(first, inside, &prepared);
    prepared.held = None;
    let scratch = prepared.root.take().map(Root::into_scratch);
    // From the first message on the memory is the launcher's.
    prepared.told.iter().for_each(|message| message.send(pipe));
    match begun {
        Ok(begun) => {
            begun.unwatched.iter().for_each(|message| message.send(pipe));
            Message::Started.send(pipe);
            exit_now(reap(first, &begun, &prepared, scratch.as_ref()))
        }
        Err(message) => {
            message.send(pipe);
            exit_now(125)
        }
    }
}

/// What needs no plan: the namespaces made usable, a root begun.
struct Begun {
    /// The root, with a mount namespace.
    root: Option<Root>,
    /// The mount namespace's number, in a session.
    space: Option<u64>,
    /// What files are made without, for the command.
    umask: Mode,
}

/// Begins, while the launcher may still be at work in the same memory.
fn begin(first: &First<'_>) -> Result<Begun, SetupError> {
    follow_launcher(first).at(Stage::Parent, &"swbox")?;
    set_name(c"swbox-init");
    let umask = rustix::process::umask(Mode::empty());
    if !first.namespaces.user {
        return Ok(Begun { root: None, space: None, umask });
    }
    let space = match first.session {
        Some(session) => Some(session.begin().at(Stage::Session, &"its keeper")?),
        None => {
            namespace::map_ids(first.ids.0, first.ids.1).at(Stage::Maps, &"user and group")?;
            None
        }
    };
    if first.namespaces.net && (first.session.is_none() || first.ends.outside.is_some()) {
        crate::sys::net::loopback_up().at(Stage::Network, &"lo")?;
    }
    Ok(Begun { root: Some(mount::begin(first.beginning)?), space, umask })
}

/// What is there when the jail has been built.
struct Prepared {
    /// The root, if there is one of its own.
    root: Option<Root>,
    /// The places of the command's Landlock rules and its working directory in there.
    held: Option<(landlock::Held, OwnedFd)>,
    /// The number of the mount namespace, in a session.
    space: Option<u64>,
    /// What files are made without, for the command.
    umask: Mode,
    /// Where signals for this process arrive.
    signals: OwnedFd,
    /// What had to be given up.
    told: Vec<Message>,
}

/// Builds the jail around this process.
fn prepare(first: &First<'_>, inside: &Inside<'_>, begun: Begun) -> Result<Prepared, SetupError> {
    let plan = inside.plan;
    if first.memory == Memory::Copied {
        crate::sys::arguments::show("swbox-init");
    }
    if let Some(all) = &inside.processors {
        sched_setaffinity(None, all).at(Stage::Limits, &"processors")?;
    }
    let awaited = Set::of(&[libc::SIGCHLD, FORWARD, LAUNCHER_GONE.as_raw()]);
    let signals = signal::descriptor(&awaited).at(Stage::Parent, &"signals")?;
    let (mut built, mut held, mut told) = (None, None, Vec::new());
    if !first.alone() {
        orphans::adopt().at(Stage::Parent, &"child subreaper")?;
    }
    let inherited = plan.namespaces.net && !first.namespaces.net;
    let network = Made::default();
    let mut make = || network.make();
    let making = match first.session.filter(|_| inherited) {
        Some(session) => {
            namespace::join_network(&session.spaces).at(Stage::Network, &"the session's network")?;
            None
        }
        None => inherited
            .then(|| spawn_aside(&mut make))
            .transpose()
            .at(Stage::Network, &"a network namespace's maker")?,
    };
    if let Some(root) = begun.root {
        if let Some(outside) = &first.ends.outside {
            egress::hand_out(outside).at(Stage::Network, &"the proxy's listener")?;
        }
        let root = built.insert(mount::build(
            root,
            first.beginning,
            plan,
            &inside.layout,
            first.session.map(|session| &session.tree),
        )?);
        let given_up = root.take_given_up().into_iter();
        told.extend(given_up.map(|(protection, reason)| Message::Degraded(protection, reason)));
        if let Some(outlet) = first.ends.outlet.as_ref().filter(|_| inside.kept) {
            outlet::send(outlet, root.scratch()).at(Stage::Descriptors, &"the scratch")?;
        }
        // Whatever the command's process needs a path for is found before the old root lies over the new one.
        let rules = landlock::find(&inside.domain, Some(root.directory_itself().as_fd()));
        let rules = rules.map_err(|problem| of_landlock(&problem))?;
        let cwd = root.hold_directory(&plan.cwd).at(Stage::Cwd, &plan.cwd)?;
        held = Some((rules, cwd));
        root.enter().at(Stage::Pivot, &"the new root")?;
    }
    if let Some(mut making) = making {
        making.wait().and_then(|_| network.enter()).at(Stage::Network, &"a network namespace of its own")?;
    }
    rustix::thread::set_no_new_privs(true).at(Stage::NoNewPrivs, &"no_new_privs")?;
    if let Some(outside) = &first.ends.outside {
        egress::await_proxy(outside).at(Stage::Network, &"the proxy")?;
    }
    Ok(Prepared { root: built, held, space: begun.space, umask: begun.umask, signals, told })
}

/// Gives up what the jail was built with: the old root, the memory's openness, the capabilities. System calls only.
fn settle(inside: &Inside<'_>, prepared: &Prepared) -> Result<(), SetupError> {
    if let Some(root) = &prepared.root {
        root.leave().at(Stage::Pivot, &"the old root")?;
    }
    // Memory and environment of this process are swbox's, or copies: the command may not look into it.
    if !traced(inside) {
        close_memory()?;
    }
    namespace::drop_capabilities().at(Stage::Capabilities, &"capability sets")
}

/// Empties what an exec could give.
fn limit_capabilities(first: &First<'_>) -> Result<(), SetupError> {
    namespace::limit_capabilities(first.namespaces.user).at(Stage::Capabilities, &"bounding set")
}

/// Whether the command is to be traced: the tracer comes while this memory is still open to it.
fn traced(inside: &Inside<'_>) -> bool {
    inside.watched.as_ref().is_some_and(|watched| watched.how == seccomp::Handover::Tracer)
}

/// Closes this process's memory to others.
fn close_memory() -> Result<(), SetupError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Stage::Capabilities, &"dumpable")
}

/// Ends with the launcher, also when it is gone already.
fn follow_launcher(first: &First<'_>) -> io::Result<()> {
    let signal = if first.namespaces.pid { Signal::KILL } else { LAUNCHER_GONE };
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    if launcher_gone(first)? { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
}

/// The launcher holds the only read end of the pipe: without it the write end is in error.
fn launcher_gone(first: &First<'_>) -> io::Result<bool> {
    let mut end = [PollFd::new(&first.ends.pipe, PollFlags::empty())];
    poll(&mut end, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    let [end] = end;
    Ok(end.revents().contains(PollFlags::ERR))
}

/// A command that has been executed.
struct Started {
    /// Its first process.
    command: i32,
    /// When.
    at: u64,
    /// That nobody watches it, where somebody was to.
    unwatched: Option<Message>,
}

/// Starts the command, or gives what to report.
///
/// The command's process sets itself up while this one gives up what the command must not have, and executes nothing
/// before that is done: each of both takes a tenth of a launch. Without the C library's turn for this process.
fn start(first: &First<'_>, inside: &Inside<'_>, prepared: &Prepared) -> Result<Started, Message> {
    let (mut failure, mut unwatched, mut unsettled) = (None, None, None);
    let gate = Gate::default();
    if !first.alone() {
        // The end of this process would leave the command's waiting. What is gone with that, the bounding set cannot be
        // shrunk any more.
        limit_capabilities(first).map_err(Message::Failed)?;
        settle(inside, prepared).map_err(Message::Failed)?;
        gate.open(true);
    }
    let spawned = spawn_beside(
        &mut || {
            failure = match confine(first, inside, prepared) {
                Err(error) => Some(Message::Failed(error)),
                // This process's parent says why.
                Ok(_) if !gate.wait() => None,
                Ok(refused) => {
                    unwatched = refused;
                    match inside.command.execute() {
                        Err(errno) => Some(Message::NotExecuted { errno }),
                        Ok(never) => match never {},
                    }
                }
            };
            125
        },
        &mut || {
            if first.alone() {
                unsettled = settle(inside, prepared).err();
                gate.open(unsettled.is_none());
            }
        },
    );
    let at = now();
    match (spawned, unsettled, failure) {
        (Err(error), ..) => {
            Err(Message::Failed(SetupError::new(Stage::Fork, &error, "the command's process")))
        }
        (Ok(_), Some(error), _) => Err(Message::Failed(error)),
        (Ok(_), None, Some(message)) => Err(message),
        (Ok(command), None, None) => {
            Ok(Started { command, at, unwatched: unwatched.map(Message::Unwatched) })
        }
    }
}

/// The last steps, in the command's own process: keys, capabilities, Landlock, streams, limits, signals, descriptors, seccomp.
/// Gives the errno with which a listener was refused, where the command may run without one.
///
/// The first process stays out of the domain: nothing that is in it may trace a process that is not.
/// The old root may still lie over the new one: no path is looked up here, where there is one.
fn confine(first: &First<'_>, inside: &Inside<'_>, prepared: &Prepared) -> Result<Option<i32>, SetupError> {
    let ends = first.ends;
    fresh_session_keyring();
    if first.alone() {
        limit_capabilities(first)?;
    }
    namespace::drop_capabilities().at(Stage::Capabilities, &"capability sets")?;
    rustix::process::umask(prepared.umask);
    let cwd = &inside.plan.cwd;
    match &prepared.held {
        Some((rules, directory)) => {
            rustix::process::fchdir(directory).at(Stage::Cwd, cwd)?;
            landlock::restrict(&inside.domain, rules)
        }
        None => {
            rustix::process::chdir(cwd).at(Stage::Cwd, cwd)?;
            landlock::find(&inside.domain, None).and_then(|rules| landlock::restrict(&inside.domain, &rules))
        }
    }
    .map_err(|problem| of_landlock(&problem))?;
    if let Some((out, err)) = &ends.output {
        rustix::stdio::dup2_stdout(out).at(Stage::Descriptors, &"stdout")?;
        rustix::stdio::dup2_stderr(err).at(Stage::Descriptors, &"stderr")?;
    }
    limits::apply(&inside.plan.limits).at(Stage::Limits, &"resource limits")?;
    if first.session.is_some() {
        // Where this process's parent is killed, the keeper sees that before this one has executed anything.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .at(Stage::Parent, &"the command's end")?;
        if rustix::process::getppid().is_none_or(Pid::is_init) {
            return Err(SetupError::new(
                Stage::Parent,
                &io::Error::from_raw_os_error(libc::ESRCH),
                "the first process",
            ));
        }
    }
    if inside.plan.detached {
        rustix::process::setsid().at(Stage::Parent, &"a session of its own")?;
    }
    for signal in [libc::SIGPIPE, libc::SIGCHLD] {
        signal::set_default(signal);
    }
    inside.mask.apply().at(Stage::Limits, &"signal mask")?;
    let (Some(watched), Some(calls)) = (&inside.watched, &ends.calls) else {
        close_from(3).at(Stage::Descriptors, &"inherited descriptors")?;
        crate::sys::seccomp::install(&inside.filter).at(Stage::Seccomp, &"seccomp filter")?;
        return Ok(None);
    };
    // The way out for the listener stays until the exec, which closes both.
    close_but(3, calls).at(Stage::Descriptors, &"inherited descriptors")?;
    if watched.how == seccomp::Handover::Tracer {
        let untraced = gate::pass(calls).at(Stage::Seccomp, &"the tracer")?;
        // The first process shares this memory.
        close_memory()?;
        let filter = if untraced.is_none() { &watched.program } else { &inside.filter };
        crate::sys::seccomp::install(filter).at(Stage::Seccomp, &"seccomp filter")?;
        return Ok(untraced);
    }
    match crate::sys::seccomp::install_listening(&watched.program) {
        Ok(listener) => {
            outlet::send(calls, &listener).at(Stage::Seccomp, &"the listener")?;
            Ok(None)
        }
        Err(error) if watched.required => Err(error).at(Stage::Seccomp, &"seccomp listener"),
        Err(error) => {
            crate::sys::seccomp::install(&inside.filter).at(Stage::Seccomp, &"seccomp filter")?;
            Ok(Some(error.raw_os_error().unwrap_or(libc::EIO)))
        }
    }
}

fn of_landlock(problem: &landlock::Error) -> SetupError {
    SetupError { stage: Stage::Landlock, errno: 0, detail: problem.to_string() }
}

/// Reaps everything, forwards signals, and ends with the command's first process.
///
/// With [`Memory::Shared`] the launcher goes on beside this: here are system calls only, and no memory is asked for.
fn reap(first: &First<'_>, begun: &Started, prepared: &Prepared, scratch: Option<&OwnedFd>) -> i32 {
    let (command, pipe) = (begun.command, first.ends.pipe.as_fd());
    let alone = first.alone();
    let (mut stops, mut stopped, mut resume) = (0, false, None);
    let changes = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    loop {
        while let Ok(Some((pid, status))) = rustix::process::wait(changes) {
            if pid.as_raw_nonzero().get() != command {
                continue;
            }
            if status.continued() {
                stopped = false;
                continue;
            }
            if let Some(signal) = status.stopping_signal() {
                (stops, stopped) = ((stops + 1) % CONTINUE, true);
                Message::Stopped(signal).send(pipe);
                continue;
            }
            let status = status.as_raw();
            let full = scratch.is_some_and(limits::full);
            // Alone, what is left ends with this process; otherwise, without a session, it is ended below.
            let left = (alone || first.session.is_some()) && orphans::are_left();
            Message::Exited { status, started: begun.at, ended: now(), full, left }.send(pipe);
            if !alone && first.session.is_none() {
                orphans::end_all();
            }
            return 0;
        }
        if resume.take() == Some(stops) && stopped {
            drop(signal::send(command, libc::SIGCONT));
        }
        let mut arriving = [PollFd::new(&prepared.signals, PollFlags::IN)];
        let _ = poll(&mut arriving, None);
        match signal::take(prepared.signals.as_fd()) {
            // Judged after what changed meanwhile was seen: only the stop that is meant is undone.
            Ok(Some(signal::Received { signal: FORWARD, value: Some(value), .. }))
                if value & CONTINUE != 0 =>
            {
                resume = Some(value & !CONTINUE);
            }
            Ok(Some(signal::Received { signal: FORWARD, value: Some(value), .. })) => match value & BROADCAST
            {
                0 => drop(signal::send(command, value)),
                // Everything but this process, which is all that its PID namespace has.
                _ if alone => drop(signal::send(-1, value & !BROADCAST)),
                _ => match prepared.space {
                    Some(space) => signal_in(space, value & !BROADCAST),
                    None => orphans::signal_all(value & !BROADCAST),
                },
            },
            Ok(Some(received)) if received.signal == LAUNCHER_GONE.as_raw() => {
                if launcher_gone(first).unwrap_or(true) {
                    orphans::end_all();
                    return 125;
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}
