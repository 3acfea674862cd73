//! A command whose jail is begun while its plan is made and its start is written.
//!
//! Danger: what is begun must not run before the start is in the journal. It is given the plan, and with it the command,
//! by the return of the closure that has written that; else it ends with its launcher's try.

use super::exec::{Launched, SessionShown, Started, Ticket, call, in_session, start, writes};
use super::find::unknown;
use super::{carry, jobs};
use crate::diagnostic::Diagnostic;
use crate::jail::{self, JailPlan, Which};
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
    /// It ran, or could not be launched.
    Ran { ticket: Ticket, plan: Box<JailPlan>, launched: Box<Launched> },
    /// The session did not let it.
    Refused(Box<SessionShown>),
    /// The session has moved since the judgement.
    Moved,
}

/// Whether the jail of a command can be begun while its plan is made and its start is written: where nobody watches it,
/// it leaves nothing, and nobody is asked. What is begun runs nothing before it is given the plan.
pub(super) fn is_due(setting: &Setting, run: &Run, report: &Report, rights: &Rights, choice: Choice) -> bool {
    !run.dry_run
        && report.judgement.evaluation.decision == Decision::Allow
        && !writes(rights)
        && watched::nobody(choice, run)
        && !carry::may_change(&run.command, &report.judgement.classification)
        && jobs::runs_alone(setting, &report.judgement)
}

/// Begins the jail, and beside it makes the plan and writes the start.
pub(super) fn begin(
    setting: &mut Setting,
    run: &Run,
    rights: &Rights,
    choice: Choice,
    key: &str,
    report: &mut Report,
    secrets: &[String],
) -> Result<Early, Diagnostic> {
    let call = call(key, &report.judgement, Some(rights))?;
    let beginning = plain::beginning(setting, run, rights);
    let (mut call, mut wrote) = (Some(call), None);
    let launched = jail::launch_begun(
        &beginning,
        |which| {
            let how = if which == Which::Best { jail::best } else { jail::plan };
            let plan = plain::ready(setting, run, &report.judgement, rights, how)?;
            let plan = in_session(setting, run, &report.judgement, rights, plan);
            if let Some(call) = call.take() {
                let store = state_directory(&setting.facts).to_owned();
                let Some(bound) = setting.bound.as_mut() else { return Err(unknown("")) };
                let source = report.judgement.source.clone();
                let (started, notices) = start(bound, call, &source, report, (secrets, &store))?;
                report.notices.extend(notices);
                let runs = matches!(started, Started::Runs(_));
                wrote = Some((started, plan.clone()));
                if !runs {
                    // Nobody sees this: what is begun ends.
                    return Err(unknown(""));
                }
            }
            Ok(plan)
        },
        |plan| plain::capture(run, plan),
        None,
    );
    let (ticket, plan) = match (wrote, launched.as_ref()) {
        (Some((Started::Moved, _)), _) => return Ok(Early::Moved),
        (Some((Started::Refused(session), _)), _) => return Ok(Early::Refused(session)),
        (Some((Started::Runs(ticket), plan)), _) => (ticket, plan),
        (None, Err(problem)) => return Err(problem.clone()),
        (None, Ok(_)) => return Err(unknown("")),
    };
    let launched = launched.and_then(|(_, outcome)| {
        let capture = plain::capture(run, &plan);
        let judgement = &report.judgement;
        let launch = Launch { setting, run, judgement, rights, plan: &plan, capture, choice };
        let effects = watched::unwatched(launch, &outcome)?;
        Ok((outcome, effects))
    });
    Ok(Early::Ran { ticket, plan: Box::new(plan), launched: Box::new(launched) })
}
