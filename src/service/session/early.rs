//! A command whose jail is begun while its plan is made and its start is written.
//!
//! Danger: what is begun must not run before the start is in the journal. It is given the plan, and with it the command,
//! by the return of the closure that has written that; else it ends with its launcher's try.

use super::exec::{Launched, SessionShown, Started, Ticket, call, in_session, start, writes};
use super::find::unknown;
use super::{carry, evidence, jobs};
use crate::diagnostic::Diagnostic;
use crate::jail::keeper::Left;
use crate::jail::{self, JailPlan, Start, Which};
use crate::policy::{Decision, Rights};
use crate::service::effects::Choice;
use crate::service::own_files::state_directory;
use crate::service::report::Report;
use crate::service::request::Run;
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::service::watched::{self, Launch};

/// What came of a command whose jail was begun before its start was written.
pub(super) enum Early {
    /// It ran, or could not be launched; what it left running.
    Ran { ticket: Ticket, plan: Box<JailPlan>, launched: Box<Launched>, left: Option<Left> },
    /// Its session could not be joined.
    Written { ticket: Ticket, plan: Box<JailPlan> },
    /// The session did not let it.
    Refused(Box<SessionShown>),
    /// The session has moved since the judgement.
    Moved,
}

/// Where a command runs.
pub(super) enum Where {
    /// In namespaces of its own.
    Alone,
    /// In its session's, where it was begun.
    Joined,
}

/// Where a command runs whose jail can be begun while its plan is made and its start is written: nobody watches it, it
/// carries nothing on, and nobody is asked. What is begun runs nothing before it is given the plan. `begun` is what was begun
/// before it was judged.
pub(super) fn is_due(
    setting: &Setting,
    run: &Run,
    report: &Report,
    rights: &Rights,
    choice: Choice,
    begun: Option<&Start<'_>>,
) -> Option<Where> {
    let due = !run.dry_run
        && report.judgement.evaluation.decision == Decision::Allow
        && !writes(rights)
        && watched::nobody(choice, run)
        && !carry::may_change(&run.command, &report.judgement.classification);
    let begun = begun.filter(|_| due)?;
    if begun.joins() {
        let fits = begun.fits(&plain::beginning(setting, run, rights))
            && evidence::asked_for(setting, run, &report.judgement).is_none();
        return fits.then_some(Where::Joined);
    }
    jobs::runs_alone(setting, &report.judgement).then_some(Where::Alone)
}

/// Goes on with the jail that was begun, and beside it makes the plan and writes the start.
pub(super) fn begin(
    (place, begun): (Where, Start<'_>),
    setting: &mut Setting,
    run: &Run,
    (rights, choice): (&Rights, Choice),
    key: &str,
    report: &mut Report,
    secrets: &[String],
) -> Result<Early, Diagnostic> {
    let call = call(key, &report.judgement, Some(rights))?;
    let beginning = plain::beginning(setting, run, rights);
    let (mut call, mut wrote) = (Some(call), None);
    let joins = matches!(place, Where::Joined);
    let plan = |which| {
        let how = if which == Which::Best { jail::best } else { jail::plan };
        let plan = plain::ready(setting, run, &report.judgement, rights, how)?;
        let plan = in_session(setting, run, &report.judgement, rights, plan);
        let Some(call) = call.take() else { return Ok(plan) };
        let store = state_directory(&setting.facts).to_owned();
        let Some(bound) = setting.bound.as_mut() else { return Err(unknown("")) };
        let given = if joins { jobs::joining(bound, rights, plan.clone()) } else { plan.clone() };
        let source = report.judgement.source.clone();
        let (started, notices) = start(bound, call, &source, report, (secrets, &store))?;
        report.notices.extend(notices);
        let runs = matches!(started, Started::Runs(_));
        wrote = Some((started, plan));
        // Nobody sees the problem: what is begun ends.
        if runs { Ok(given) } else { Err(unknown("")) }
    };
    let capture = |plan: &JailPlan| plain::capture(run, plan);
    let launched = match place {
        Where::Alone => {
            jail::launch_begun(begun, &beginning, plan, capture, None).map(|(_, outcome)| (outcome, None))
        }
        Where::Joined => {
            let mut plan = plan;
            jail::launch_in_begun(begun, &beginning, || plan(Which::Best), capture, None)
        }
    };
    let (ticket, plan) = match (wrote, launched.as_ref()) {
        (Some((Started::Moved, _)), _) => return Ok(Early::Moved),
        (Some((Started::Refused(session), _)), _) => return Ok(Early::Refused(session)),
        (Some((Started::Runs(ticket), plan)), _) => (ticket, Box::new(plan)),
        (None, Err(problem)) => return Err(problem.clone()),
        (None, Ok(_)) => return Err(unknown("")),
    };
    if joins && launched.as_ref().is_err_and(|problem| problem.code == "setup_session") {
        return Ok(Early::Written { ticket, plan });
    }
    let mut goes_on = None;
    let launched = launched.and_then(|(outcome, left)| {
        goes_on = left;
        let capture = plain::capture(run, &plan);
        let judgement = &report.judgement;
        let launch = Launch { setting, run, judgement, rights, plan: &plan, capture, choice };
        let effects = watched::unwatched(launch, &outcome)?;
        Ok((outcome, effects))
    });
    Ok(Early::Ran { ticket, plan, launched: Box::new(launched), left: goes_on })
}
