//! What became of a launch: from the reports of the first process to the outcome, or to why there is none.
//!
//! Danger: a status that is read wrongly is told as the command's own.

use std::io;
use std::time::Duration;

use super::git::Findings;
use super::launch::Failure;
use super::limits;
use super::outcome::{Achieved, Exit, LimitHit, Outcome};
use super::plan::{JailPlan, Namespaces};
use super::report::{Message, SetupError, Stage, now};
use super::watch::Ended;
use crate::diagnostic::Diagnostic;

/// From what was seen of the child to the outcome or the failure.
pub(super) fn outcome(
    plan: &JailPlan,
    ended: Ended,
    findings: Findings,
    begun: u64,
) -> Result<Outcome, Failure> {
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
        Some(Message::Failed(error)) => return Err(Failure::Fatal(explain(plan.namespaces, &error))),
        Some(Message::NotExecuted { errno }) => {
            let code = if errno == libc::ENOENT { 127 } else { 126 };
            outcome.exit = Exit::NotStarted { code, errno };
        }
        Some(Message::Exited { status, started, ended: end, full, .. }) => {
            outcome.exit = if ended.timed_out { Exit::Timeout } else { exit(status) };
            outcome.limit = limit(&outcome.exit, full);
            outcome.duration = Duration::from_nanos(end.saturating_sub(started));
            outcome.setup = Duration::from_nanos(started.saturating_sub(begun));
        }
        None if ended.timed_out => {
            outcome.exit = Exit::Timeout;
            outcome.limit = Some(LimitHit::Timeout);
        }
        Some(Message::Started | Message::Stopped(_) | Message::Degraded(..) | Message::Unwatched(_))
        | None => {
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
pub(super) fn explain(namespaces: Namespaces, error: &SetupError) -> Diagnostic {
    let why = if error.errno == 0 {
        String::new()
    } else {
        format!(": {}", io::Error::from_raw_os_error(error.errno))
    };
    let diagnostic =
        Diagnostic::new(error.stage.code(), format!("cannot set up the jail ({}){why}", error.detail));
    if let Some(limit) = callers_limit(error) {
        return diagnostic.help(limit);
    }
    match error.stage {
        Stage::Fork | Stage::Maps | Stage::Root if namespaces.user => diagnostic.help(
            "this host refuses user namespaces to this user; `swbox doctor` says what remains possible",
        ),
        Stage::Cwd => {
            diagnostic.help("the working directory must be visible in the jail: inside the workspace")
        }
        Stage::Bind => diagnostic.help("mark the bind as optional in the profile, or install what it names"),
        _ => diagnostic,
    }
}

/// Which limit that swbox itself was started under stopped the step, and what to do.
const fn callers_limit(error: &SetupError) -> Option<&'static str> {
    match error.errno {
        libc::EMFILE => Some("swbox itself may open too few files: `ulimit -n 64` is enough for it"),
        libc::ENFILE => Some("the whole machine has no open file left: end something, or raise fs.file-max"),
        libc::EFBIG => Some("swbox itself may write no file, however small: raise `ulimit -f`"),
        libc::EAGAIN => Some("this user may start no more processes: end some, or raise `ulimit -u`"),
        libc::ENOMEM => Some("there is no memory left for it: raise `ulimit -v`, or end something"),
        libc::ENOSPC if matches!(error.stage, Stage::Fork) => {
            Some("no more namespaces are given to this user: see /proc/sys/user/max_*_namespaces")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_the_caller_is_named_with_a_way_on() {
        let told = |stage, errno| {
            let error = SetupError { stage, errno, detail: "x".into() };
            let namespaces = Namespaces { user: true, pid: true, net: false };
            explain(namespaces, &error).help.unwrap_or_default()
        };
        assert!(told(Stage::Secret, libc::EMFILE).contains("ulimit -n"));
        assert!(told(Stage::Proc, libc::EFBIG).contains("ulimit -f"));
        assert!(told(Stage::Fork, libc::EAGAIN).contains("ulimit -u"));
        assert!(told(Stage::Fork, libc::ENOSPC).contains("max_*_namespaces"));
        assert!(told(Stage::Fork, libc::EPERM).contains("swbox doctor"));
    }

    #[test]
    fn wait_statuses_are_read() {
        assert_eq!(exit(0x300), Exit::Code(3));
        assert_eq!(exit(9), Exit::Signal(9));
        assert_eq!(exit(0x80 | 11), Exit::Signal(11));
    }
}
