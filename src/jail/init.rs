//! The first process inside: it sets up the jail around itself, starts the command, reaps, and forwards signals.
//! With a PID namespace it is pid 1, and its end is the end of everything inside.
//!
//! Danger: what it forgets to take away the command has. Every error ends it with a report, before the command runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Signal, WaitOptions};

use super::git::Layout;
use super::plan::{JailPlan, LandlockPlan};
use super::report::{At, Message, SetupError, Stage, now};
use super::seccomp::Handover;
use super::{egress, gate, landlock, limits, mount, namespace, orphans, outlet};
use crate::sys::process::{
    Command, close_but, close_from, exit_now, fresh_session_keyring, set_name, spawn_sharing,
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
    pub(super) how: Handover,
    /// Where the listener goes.
    pub(super) outlet: UnixStream,
}

/// Everything the first process inside needs, laid out by the launcher before the clone.
pub(super) struct Inside<'a> {
    /// The steps.
    pub(super) plan: &'a JailPlan,
    /// How git directories are held.
    pub(super) layout: &'a Layout,
    /// The Landlock domain with what was found out at launch.
    pub(super) domain: &'a LandlockPlan,
    /// What to execute.
    pub(super) command: &'a Command,
    /// The seccomp program.
    pub(super) filter: &'a [libc::sock_filter],
    /// The one in its place when somebody watches.
    pub(super) watched: Option<Watched>,
    /// Where to report.
    pub(super) pipe: OwnedFd,
    /// The command's signal mask.
    pub(super) mask: Set,
    /// User and group to map.
    pub(super) ids: (u32, u32),
    /// Where the command's output goes when it is captured.
    pub(super) output: Option<(OwnedFd, OwnedFd)>,
    /// Where the listener for the proxy goes, for a command with a list of hosts.
    pub(super) outside: Option<UnixStream>,
    /// Where the scratch goes, for a command of which something on it is looked at afterwards.
    pub(super) outlet: Option<UnixStream>,
}

/// Runs the command inside; never returns.
pub(super) fn run(inside: &Inside<'_>) -> ! {
    let started = prepare(inside).map_err(Message::Failed).and_then(|scratch| Ok((scratch, start(inside)?)));
    let code = match started {
        Ok((scratch, (command, started))) => reap(inside, command, started, scratch.as_ref()),
        Err(message) => {
            message.send(inside.pipe.as_fd());
            125
        }
    };
    exit_now(code)
}

/// Builds the jail around this process; gives the scratch tmpfs, if there is one.
fn prepare(inside: &Inside<'_>) -> Result<Option<OwnedFd>, SetupError> {
    let plan = inside.plan;
    follow_launcher(inside).at(Stage::Parent, &"swbox")?;
    set_name(c"swbox-init");
    crate::sys::arguments::show("swbox-init");
    fresh_session_keyring();
    let umask = rustix::process::umask(Mode::empty());
    let mut scratch = None;
    if !plan.namespaces.pid {
        orphans::adopt().at(Stage::Parent, &"child subreaper")?;
    }
    if plan.namespaces.user {
        namespace::map_ids(inside.ids.0, inside.ids.1).at(Stage::Maps, &"user and group")?;
        if plan.namespaces.net {
            crate::sys::net::loopback_up().at(Stage::Network, &"lo")?;
        }
        if let Some(outside) = &inside.outside {
            egress::hand_out(outside).at(Stage::Network, &"the proxy's listener")?;
        }
        let built = mount::build(plan, inside.layout)?;
        for (protection, reason) in built.given_up {
            Message::Degraded(protection, reason).send(inside.pipe.as_fd());
        }
        if let Some(outlet) = &inside.outlet {
            outlet::send(outlet, &built.scratch).at(Stage::Descriptors, &"the scratch")?;
        }
        scratch = Some(built.scratch);
    }
    // Memory and environment of this process are copies of swbox's: the command may not look into it.
    if !traced(inside) {
        close_memory()?;
    }
    namespace::drop_capabilities().at(Stage::Capabilities, &"capability sets")?;
    rustix::thread::set_no_new_privs(true).at(Stage::NoNewPrivs, &"no_new_privs")?;
    landlock::restrict(inside.domain).map_err(|problem| SetupError {
        stage: Stage::Landlock,
        errno: 0,
        detail: problem.to_string(),
    })?;
    rustix::process::chdir(&plan.cwd).at(Stage::Cwd, &plan.cwd)?;
    rustix::process::umask(umask);
    if let Some(outside) = &inside.outside {
        egress::await_proxy(outside).at(Stage::Network, &"the proxy")?;
    }
    Ok(scratch)
}

/// Whether the command is to be traced: the tracer comes while this memory is still open to it.
fn traced(inside: &Inside<'_>) -> bool {
    inside.watched.as_ref().is_some_and(|watched| watched.how == Handover::Tracer)
}

/// Closes this process's memory to others.
fn close_memory() -> Result<(), SetupError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Stage::Capabilities, &"dumpable")
}

/// Ends with the launcher, also when it is gone already.
fn follow_launcher(inside: &Inside<'_>) -> io::Result<()> {
    let signal = if inside.plan.namespaces.pid { Signal::KILL } else { LAUNCHER_GONE };
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    if launcher_gone(inside)? { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
}

/// The launcher holds the only read end of the pipe: without it the write end is in error.
fn launcher_gone(inside: &Inside<'_>) -> io::Result<bool> {
    let mut end = [PollFd::new(&inside.pipe, PollFlags::empty())];
    poll(&mut end, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    let [end] = end;
    Ok(end.revents().contains(PollFlags::ERR))
}

/// Starts the command; gives its process id and the time of its exec, or what to report.
fn start(inside: &Inside<'_>) -> Result<(i32, u64), Message> {
    let (mut failure, mut unwatched) = (None, None);
    let spawned = spawn_sharing(&mut || {
        failure = Some(match confine(inside) {
            Err(error) => Message::Failed(error),
            Ok(refused) => {
                unwatched = refused;
                match inside.command.execute() {
                    Err(errno) => Message::NotExecuted { errno },
                    Ok(never) => match never {},
                }
            }
        });
        125
    });
    let started = now();
    if let Some(errno) = unwatched {
        Message::Unwatched(errno).send(inside.pipe.as_fd());
    }
    match (spawned, failure) {
        (Err(error), _) => {
            Err(Message::Failed(SetupError::new(Stage::Fork, &error, "the command's process")))
        }
        (Ok(_), Some(message)) => Err(message),
        (Ok(pid), None) => Ok((pid, started)),
    }
}

/// The last steps, in the command's own process: streams, limits, signals, descriptors, seccomp. Gives the errno with which
/// a listener was refused, where the command may run without one.
fn confine(inside: &Inside<'_>) -> Result<Option<i32>, SetupError> {
    if let Some((out, err)) = &inside.output {
        rustix::stdio::dup2_stdout(out).at(Stage::Descriptors, &"stdout")?;
        rustix::stdio::dup2_stderr(err).at(Stage::Descriptors, &"stderr")?;
    }
    limits::apply(&inside.plan.limits).at(Stage::Limits, &"resource limits")?;
    for signal in [libc::SIGPIPE, libc::SIGCHLD] {
        signal::set_default(signal);
    }
    inside.mask.apply().at(Stage::Limits, &"signal mask")?;
    let Some(watched) = &inside.watched else {
        close_from(3).at(Stage::Descriptors, &"inherited descriptors")?;
        crate::sys::seccomp::install(inside.filter).at(Stage::Seccomp, &"seccomp filter")?;
        return Ok(None);
    };
    // The way out for the listener stays until the exec, which closes both.
    close_but(3, &watched.outlet).at(Stage::Descriptors, &"inherited descriptors")?;
    if watched.how == Handover::Tracer {
        let untraced = gate::pass(&watched.outlet).at(Stage::Seccomp, &"the tracer")?;
        // The first process shares this memory.
        close_memory()?;
        let filter = if untraced.is_none() { &watched.program } else { inside.filter };
        crate::sys::seccomp::install(filter).at(Stage::Seccomp, &"seccomp filter")?;
        return Ok(untraced);
    }
    match crate::sys::seccomp::install_listening(&watched.program) {
        Ok(listener) => {
            outlet::send(&watched.outlet, &listener).at(Stage::Seccomp, &"the listener")?;
            Ok(None)
        }
        Err(error) if watched.required => Err(error).at(Stage::Seccomp, &"seccomp listener"),
        Err(error) => {
            crate::sys::seccomp::install(inside.filter).at(Stage::Seccomp, &"seccomp filter")?;
            Ok(Some(error.raw_os_error().unwrap_or(libc::EIO)))
        }
    }
}

/// Reaps everything, forwards signals, and ends with the command's first process.
fn reap(inside: &Inside<'_>, command: i32, started: u64, scratch: Option<&OwnedFd>) -> i32 {
    let awaited = Set::of(&[libc::SIGCHLD, FORWARD, LAUNCHER_GONE.as_raw()]);
    let alone = inside.plan.namespaces.pid;
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
                Message::Stopped(signal).send(inside.pipe.as_fd());
                continue;
            }
            let status = status.as_raw();
            let full = scratch.is_some_and(limits::full);
            Message::Exited { status, started, ended: now(), full }.send(inside.pipe.as_fd());
            if !alone {
                orphans::end_all();
            }
            return 0;
        }
        if resume.take() == Some(stops) && stopped {
            drop(signal::send(command, libc::SIGCONT));
        }
        match signal::wait(&awaited) {
            // Judged after what changed meanwhile was seen: only the stop that is meant is undone.
            Ok(signal::Received { signal: FORWARD, value: Some(value), .. }) if value & CONTINUE != 0 => {
                resume = Some(value & !CONTINUE);
            }
            Ok(signal::Received { signal: FORWARD, value: Some(value), .. }) => match value & BROADCAST {
                0 => drop(signal::send(command, value)),
                // Everything but this process, which is all that its PID namespace has.
                _ if alone => drop(signal::send(-1, value & !BROADCAST)),
                _ => orphans::signal_all(value & !BROADCAST),
            },
            Ok(received) if received.signal == LAUNCHER_GONE.as_raw() => {
                if launcher_gone(inside).unwrap_or(true) {
                    orphans::end_all();
                    return 125;
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}
