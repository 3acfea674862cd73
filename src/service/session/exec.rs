//! A command in a session: judged, written down with its start in the transaction that reads the state, run, and
//! written down with its end.
//!
//! Danger: a command's rights are those of the state that its `start` was written in. Where the state has moved since
//! the judgement, it is judged again; nothing runs whose start could not be written.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use super::aside::{self, Goes, Home};
use super::carry;
use super::early::{self, Early};
use super::ended::{exit_code, output};
use super::evidence;
use super::find::{Bound, unknown};
use super::jobs;
use super::life;
use super::place::Place as Kept;
use super::question;
use super::touched::Watch;
use super::wait;
use super::write::{Desk, session_of};
use crate::diagnostic::Diagnostic;
use crate::engine::{Call, Command, Ended, Held, Refusal, Reply, Touch, What, Workflow};
use crate::jail::{self, JailPlan, Outcome, Start};
use crate::policy::{Decision, Rights, StateLaw, WorkspaceRight};
use crate::service::clock;
use crate::service::effects::{Choice, Effects};
use crate::service::own_files::state_directory;
use crate::service::report::{Judgement, Report};
use crate::service::request::{Observe, Run};
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::service::watched::{self, Launch, Wishes};
use crate::store::{Durability, Hash, Running, SessionRow, Store, secrets_of};

/// How often a command is judged anew because the session moved meanwhile.
const ROUNDS: usize = 16;

/// What a session adds to a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionShown {
    /// Its id.
    pub id: String,
    /// The state that the command was judged and run in.
    pub state: String,
    /// The state afterwards; another one where the command fired an interrupt.
    pub after: String,
    /// Why the session did not let it run.
    pub refusal: Option<Refusal>,
    /// The approval that it waits for.
    pub approval: Option<String>,
    /// Whether it ran because a person had approved it.
    pub approved: bool,
    /// How touched files were seen: `observed` (as they were touched, by whatever program), `looked` (the workspace
    /// before and after), `named` (the files that the line names, before and after), or `none`.
    pub source: &'static str,
    /// The workspace files that were touched, as far as seen.
    pub touched: Vec<String>,
    /// The job that goes on of what the command started.
    pub job: Option<String>,
    /// Why the end of the command could not be written down; it then counts as lost.
    pub unrecorded: Option<Diagnostic>,
}

/// A written start.
pub(super) struct Ticket {
    call: String,
    position: u64,
}

/// What came of writing a start.
pub(super) enum Started {
    /// It may run.
    Runs(Ticket),
    /// The session did not let it.
    Refused(Box<SessionShown>),
    /// The session has moved since the judgement.
    Moved,
}

/// Judges a command by the session's state and runs it when it may, in what was begun for it, where it fits.
///
/// # Errors
/// Whatever keeps swbox from judging, writing the start, planning or launching.
pub(in crate::service) fn perform(
    mut setting: Setting,
    run: &Run,
    mut begun: Option<Start<'_>>,
) -> Result<Report, Diagnostic> {
    let secrets = secrets(&setting);
    let said = setting.bound.as_ref().and_then(|bound| Kept::of(&bound.row).observe);
    let run = &Run {
        // That nobody watches is a person's to say: rules and evidence go by what is seen.
        observe: match run.observe {
            Observe::Auto | Observe::Off => said.unwrap_or_default(),
            asked => asked,
        },
        ..run.clone()
    };
    setting.sees_programs = watched::sees_programs(run.observe);
    for _ in 0..ROUNDS {
        let policy = setting.policy()?;
        let judgement = setting.judge(&policy, &run.command)?;
        let mut report = plain::begin(&setting, judgement);
        let possible = report.judgement.evaluation.decision != Decision::Forbidden;
        let rights = if possible {
            Some(plain::rights(&setting, &policy, &report.judgement, !run.law.no_narrow)?)
        } else {
            None
        };
        let key = key(run, &setting.place.cwd);
        let choice = match &rights {
            Some(rights) => {
                let wishes = wishes(&setting, rights, &key);
                watched::choose(&setting, &policy, run, &report.judgement, rights, wishes)?
            }
            None => Choice::OFF,
        };
        drop(policy);
        let before = match run.dry_run {
            false => evidence::before(&setting, run, &report.judgement),
            true => None,
        };
        let before = before.as_deref();
        let due = rights.as_ref().and_then(|rights| {
            Some((rights, early::is_due(&setting, run, &report, rights, choice, begun.as_ref())?))
        });
        if let Some((rights, place)) = due
            && let Some(begun) = begun.take()
        {
            match early::begin(
                (place, begun),
                &mut setting,
                run,
                (rights, choice),
                &key,
                &mut report,
                &secrets,
            )? {
                Early::Moved => {
                    setting.follow()?;
                    continue;
                }
                Early::Refused(session) => {
                    report.session = Some(*session);
                    return Ok(report);
                }
                Early::Ran { ticket, plan, launched, left } => {
                    let work = Work { run, rights, plan: &plan, choice, key: &key, before };
                    let left = left.map(|left| Goes { left, aside: None });
                    let ran = Ran { launched: *launched, left, watch: Watch::Nothing };
                    return write_end(setting, work, report, ticket, ran, &secrets);
                }
                Early::Written { ticket, plan } => {
                    let work = Work { run, rights, plan: &plan, choice, key: &key, before };
                    return run_started(setting, work, report, ticket, None, &secrets);
                }
            }
        }
        let plan = match &rights {
            Some(rights) => {
                let how = if run.dry_run { jail::plan } else { jail::best };
                let plan = plain::ready(&mut setting, run, &report.judgement, rights, how)?;
                Some(in_session(&setting, run, &report.judgement, rights, plan))
            }
            None => None,
        };
        if run.dry_run {
            report.rights = rights;
            report.plan = plan.filter(|_| report.judgement.allowed());
            return Ok(report);
        }
        let mut call = call(&key, &report.judgement, rights.as_ref())?;
        if call.decision == Decision::Prompt {
            call.question = Some(Box::new(question::of(&setting, &report.judgement)));
        }
        let prompted = call.decision == Decision::Prompt;
        let store = state_directory(&setting.facts).to_owned();
        let Some(bound) = setting.bound.as_mut() else { return Err(unknown("")) };
        let shown = report.judgement.source.clone();
        match start(bound, call, &shown, &report, (&secrets, &store))? {
            (Started::Moved, _) => setting.follow()?,
            (Started::Refused(mut session), notices) => {
                report.notices.extend(notices);
                let waits = prompted && wait::waits(&setting);
                if let Some(begun) = begun.take_if(|_| waits) {
                    // Nothing of it lies there for as long.
                    begun.end();
                }
                if let Some(approval) = session.approval.clone()
                    && waits
                    && wait::is_approved(&setting, &approval, run.timeout, &mut session)?
                {
                    setting.follow()?;
                    continue;
                }
                report.session = Some(*session);
                return Ok(report);
            }
            (Started::Runs(ticket), notices) => {
                report.notices.extend(notices);
                let (Some(rights), Some(plan)) = (rights, plan) else { return Err(unknown("")) };
                let work = Work { run, rights: &rights, plan: &plan, choice, key: &key, before };
                return run_started(setting, work, report, ticket, begun, &secrets);
            }
        }
    }
    Err(Diagnostic::new(
        "session_moving",
        format!("the session moved {ROUNDS} times while the command was judged"),
    )
    .help("repeat it"))
}

/// The digest of exactly this command in this directory.
fn key(run: &Run, cwd: &Path) -> String {
    Hash::of(format!("{:?}\0{}", run.command, cwd.display()).as_bytes()).to_string()
}

/// What the session wants to see of a command.
fn wishes(setting: &Setting, rights: &Rights, key: &str) -> Wishes {
    let missed = setting
        .bound
        .as_ref()
        .is_some_and(|bound| Kept::of(&bound.row).missed.iter().any(|known| known == key));
    Wishes { touched: writes(rights), reads: missed }
}

/// The plan with what the session carries from command to command.
pub(super) fn in_session(
    setting: &Setting,
    run: &Run,
    judgement: &Judgement,
    rights: &Rights,
    mut plan: JailPlan,
) -> JailPlan {
    let Some(bound) = &setting.bound else { return plan };
    if carry::may_change(&run.command, &judgement.classification) {
        plan = plan.with_farewell();
    }
    let executes = bound.workflow.law(&bound.session).is_some_and(StateLaw::executes);
    if !rights.git_write && evidence::asked_for(setting, run, judgement).is_none() {
        Kept::of(&bound.row).carried.give(&mut plan, setting.state(), executes);
    }
    plan
}

/// The values in the environment that must not be written down.
pub(super) fn secrets(setting: &Setting) -> Vec<String> {
    let pairs = setting.facts.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    secrets_of(pairs)
}

/// The call as the engine judges it.
pub(super) fn call(key: &str, judgement: &Judgement, rights: Option<&Rights>) -> Result<Call, Diagnostic> {
    let evaluation = &judgement.evaluation;
    // What could not be read is a matter of syntax, and no decision of the agent's.
    let syntax = evaluation.decision == Decision::Forbidden
        && evaluation.reasons.iter().all(|reason| reason.code.starts_with("untrusted"));
    let segments = &judgement.classification.segments;
    let rememberable = judgement.classification.opaque.is_none()
        && segments.iter().all(|segment| !segment.indirect && segment.opaque.is_none());
    let prefix = match &segments[..] {
        [one] if rememberable && !one.prefix.is_empty() => Some(one.prefix.join(" ")),
        _ => None,
    };
    Ok(Call {
        call: clock::id("c")?,
        tool: "Bash".to_owned(),
        decision: evaluation.decision,
        counts: !syntax,
        writes: rights.is_some_and(writes),
        edit: None,
        command: Some(Command { key: key.to_owned(), prefix, shown: judgement.source.clone() }),
        question: None,
        held: rights.map(Held::from),
        background: false,
    })
}

pub(super) fn writes(rights: &Rights) -> bool {
    rights.workspace == WorkspaceRight::Write || rights.git_write
}

/// Writes the start, unless the session has moved or does not let the command run.
pub(super) fn start(
    bound: &mut Bound,
    call: Call,
    shown: &str,
    report: &Report,
    (secrets, store): (&[String], &Path),
) -> Result<(Started, Vec<String>), Diagnostic> {
    let id = clock::id("a")?;
    let name = call.call.clone();
    let prompted = call.decision == Decision::Prompt;
    // A person's yes that is used up here must not come back with the machine, and a question must not be lost with it.
    let durability = if prompted { Durability::Machine } else { Durability::Process };
    let mut desk = Desk::new(bound.store.begin(durability)?, Rc::clone(&bound.workflow), secrets);
    let mut row = desk.write.session(&bound.row.id)?.ok_or_else(|| unknown(&bound.row.id))?;
    let moved = row.body != bound.row.body && {
        let now = session_of(&row)?;
        now.current.workflow != bound.session.current.workflow || now.state() != bound.session.state()
    };
    if moved || !Kept::of(&row).same_law(&Kept::of(&bound.row)) {
        return Ok((Started::Moved, Vec::new()));
    }
    desk.bury(&mut row)?;
    let reasons: Vec<&str> = report.judgement.evaluation.reasons.iter().map(|reason| reason.code).collect();
    let extra = json!({
        "command": shown, "cwd": report.cwd.to_string_lossy(), "state": row.state,
        "decision": report.judgement.evaluation.decision, "reasons": reasons,
    });
    let applied = desk.apply(&mut row, "start", id, What::Call(call), extra)?;
    let mut session = SessionShown {
        id: row.id.clone(),
        state: bound.row.state.clone(),
        after: row.state.clone(),
        approved: prompted && applied.reply == Reply::Allowed,
        source: "none",
        ..SessionShown::default()
    };
    let runs = applied.reply == Reply::Allowed;
    if let Reply::Refused(refusal) = applied.reply {
        session.approval.clone_from(&refusal.approval);
        session.refusal = Some(*refusal);
    }
    if runs {
        let (pid, born) = life::own();
        let body = life::noted(json!({ "call": name, "shown": crate::store::mask(shown, secrets) }));
        desk.write.started(&Running { session: row.id.clone(), position: row.position, pid, born, body })?;
    }
    let mut notices = texts(&desk);
    desk.commit()?;
    let position = row.position;
    bound.session = applied.session;
    bound.row = row;
    if let Some((_, told)) = jobs::settle(bound, secrets, store, &applied.effects)? {
        notices.extend(told);
    }
    Ok(if runs {
        (Started::Runs(Ticket { call: name, position }), notices)
    } else {
        (Started::Refused(Box::new(session)), notices)
    })
}

/// What sessions told, as text.
pub(super) fn texts(desk: &Desk<'_>) -> Vec<String> {
    desk.notices.iter().map(|notice| notice.text.clone()).collect()
}

/// What is to be run.
#[derive(Clone, Copy)]
struct Work<'a> {
    run: &'a Run,
    rights: &'a Rights,
    plan: &'a JailPlan,
    choice: Choice,
    key: &'a str,
    /// What the workspace was before, where the run may prove something.
    before: Option<&'a str>,
}

/// What came of a launch.
pub(super) type Launched = Result<(Outcome, Effects), Diagnostic>;

/// What came of running a command.
struct Ran {
    launched: Launched,
    left: Option<Goes>,
    watch: Watch,
}

/// Runs a command whose start is written, and writes its end.
fn run_started(
    setting: Setting,
    work: Work<'_>,
    mut report: Report,
    ticket: Ticket,
    mut begun: Option<Start<'_>>,
    secrets: &[String],
) -> Result<Report, Diagnostic> {
    let Work { run, rights, plan, choice, .. } = work;
    let workspace = setting.place.workspace.clone();
    let blind = is_blind(&setting);
    let watch = if writes(rights) && (blind || choice == Choice::OFF) {
        let whole = setting.bound.as_ref().is_some_and(|bound| depends(&bound.workflow, bound));
        Watch::begin(&workspace, &report.judgement.classification, whole)
    } else {
        Watch::Nothing
    };
    let whole = || {
        let executes = plain::runs_the_unseen(&report.judgement.classification);
        let plan = plain::plan(&setting, rights, executes, &run.command, run.timeout, jail::plan)?;
        Ok(in_session(&setting, run, &report.judgement, rights, plan))
    };
    let capture = plain::capture(run, plan);
    let launch =
        Launch { setting: &setting, run, judgement: &report.judgement, rights, plan, capture, choice };
    let (left, mut told) = (RefCell::new(None), Vec::new());
    let session = setting.bound.as_ref().map(|bound| bound.row.id.as_str()).unwrap_or_default();
    let home = Home { store: state_directory(&setting.facts), session, workspace: &workspace };
    let mut aside = None;
    let launched = watched::launch_by(
        launch,
        &mut |observer| {
            let (outcome, leaves) = jobs::launch(launch, &whole, begun.take(), observer, &mut told)?;
            *left.borrow_mut() = leaves;
            Ok(outcome)
        },
        &mut |watcher| {
            if let Some(left) = left.borrow_mut().as_mut() {
                aside = aside::start(left, watcher, home);
            }
        },
    );
    let left = left.into_inner().map(|left| Goes { left, aside });
    report.notices.append(&mut told);
    write_end(setting, work, report, ticket, Ran { launched, left, watch }, secrets)
}

/// Writes the end of a command.
fn write_end(
    mut setting: Setting,
    work: Work<'_>,
    mut report: Report,
    ticket: Ticket,
    ran: Ran,
    secrets: &[String],
) -> Result<Report, Diagnostic> {
    let Work { run, rights, plan, choice, key, before } = work;
    let Ran { launched, left, watch } = ran;
    let workspace = setting.place.workspace.clone();
    let blind = is_blind(&setting);
    let (launched, effects) = match launched {
        Ok((outcome, effects)) => (Ok(outcome), Some(effects)),
        Err(problem) => (Err(problem), None),
    };
    let seen = effects.as_ref().and_then(|effects| effects.touched.as_ref());
    let unseen = choice != Choice::OFF && !blind && seen.is_none();
    let touched = watch.finish(&workspace, seen);
    let stopped = effects.as_ref().is_some_and(|effects| effects.stopped.is_some());
    let proof = match (&launched, &effects) {
        (Ok(outcome), Some(effects)) => {
            let judgement = &report.judgement;
            evidence::proof(&setting, (run, before), judgement, rights, plan, (outcome, effects))
        }
        _ => None,
    };
    let ended = Ended {
        call: ticket.call.clone(),
        exit_code: if stopped { Some(126) } else { launched.as_ref().ok().and_then(exit_code) },
        // A jail that failed on its way may have run something; and what was not seen may have written.
        lost: launched.is_err() || writes(rights) && (!touched.whole || unseen),
        denials: effects.as_ref().map_or(0, |effects| u32::try_from(effects.refusals()).unwrap_or(u32::MAX)),
        touched: touched
            .files
            .iter()
            .flatten()
            .map(|path| Touch { path: path.clone(), kept: true })
            .collect(),
        output: launched.as_ref().map_or(0, output),
        proof,
        planted: launched.as_ref().map(evidence::planted_by).unwrap_or_default(),
    };
    let mut session = SessionShown {
        id: String::new(),
        state: report.judgement.law.state.clone(),
        approved: report.judgement.evaluation.decision == Decision::Prompt,
        source: touched.source,
        touched: touched.files.unwrap_or_default(),
        ..SessionShown::default()
    };
    let farewell = launched.as_ref().ok().and_then(|outcome| outcome.farewell.as_ref());
    let (caller, aliases) = (setting.place.caller.clone(), setting.place.aliases.clone());
    let carry = |kept: &mut Kept| {
        if let Some(effects) = &effects {
            kept.missed(key, effects.misses_reads());
            kept.unwatched = choice != Choice::OFF && effects.choice == Choice::OFF;
        }
        match farewell {
            Some(farewell) => kept.carried.take(farewell, &plan.env, (&workspace, &caller), &aliases),
            None => Vec::new(),
        }
    };
    let store = state_directory(&setting.facts).to_owned();
    let written = match setting.bound.as_mut() {
        Some(bound) => end(bound, &ticket, (ended, left), rights, &report, (secrets, &store), carry),
        None => Err(unknown("")),
    };
    match written {
        Ok((row, notices, job)) => {
            session.job = job;
            session.id = row.id;
            session.after = row.state;
            report.notices.extend(notices);
        }
        Err(problem) => session.unrecorded = Some(problem),
    }
    report.session = Some(session);
    report.rights = Some(rights.clone());
    report.effects = effects;
    report.outcome = Some(launched?);
    Ok(report)
}

/// Whether the session's last command could not be watched.
fn is_blind(setting: &Setting) -> bool {
    setting.bound.as_ref().is_none_or(|bound| Kept::of(&bound.row).unwatched)
}

/// Whether anything in the session depends on which files a command touches.
fn depends(workflow: &Workflow, bound: &Bound) -> bool {
    let limited = workflow
        .machine(&bound.session.current.workflow)
        .and_then(|machine| machine.states.get(bound.session.state()))
        .is_some_and(|state| state.max_files_per_state.is_some());
    limited || workflow.machines().any(|machine| !machine.interrupts.is_empty())
}

/// Writes the end, and tells the other sessions of the workspace that it was written to.
fn end(
    bound: &mut Bound,
    ticket: &Ticket,
    (ended, left): (Ended, Option<Goes>),
    rights: &Rights,
    report: &Report,
    (secrets, store): (&[String], &Path),
    carry: impl FnOnce(&mut Kept) -> Vec<String>,
) -> Result<(SessionRow, Vec<String>, Option<String>), Diagnostic> {
    let id = clock::id("x")?;
    let mut refused = None;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), secrets);
    let mut row = desk.write.session(&bound.row.id)?.ok_or_else(|| unknown(&bound.row.id))?;
    desk.write.ended(&row.id, ticket.position)?;
    let paths: Vec<String> = ended.touched.iter().map(|touch| touch.path.clone()).collect();
    let source = &report.judgement.source;
    let mut job = None;
    if let Some(goes) = left {
        // Before the end: nothing that it sets off may overlook what goes on.
        let named = (source.as_str(), report.judgement.law.state.as_str(), store);
        match jobs::write_down(&mut desk, &mut row, &goes, rights, named)? {
            Ok(id) => job = Some((id, goes)),
            Err(why) => {
                // A keeper that is gone took it along.
                let _ = goes.left.end();
                refused = Some(format!("what the command left running was ended: {why}"));
            }
        }
    }
    let extra = json!({ "command": source, "start": ticket.position });
    let mut kept = Kept::of(&row);
    let before = kept.clone();
    let carried = carry(&mut kept);
    if kept != before {
        row.place = kept.to_json();
    }
    let applied = desk.apply(&mut row, "end", id, What::Ended(ended), extra)?;
    if writes(rights) {
        desk.tell_others(&row, &paths)?;
    }
    let mut notices = texts(&desk);
    notices.extend(carried);
    notices.extend(refused);
    desk.commit()?;
    (bound.row, bound.session) = (row, applied.session);
    let mut kept = None;
    if let Some((id, goes)) = job {
        // Otherwise the keeper is gone, or somebody has ended the job already: what is written down of it will say so.
        if goes.left.keep().is_ok() {
            // Where its watcher is gone none of its watched calls is answered any more, and its end counts as a write.
            let _ = goes.aside.map(|aside| aside.go(&id));
            notices.push(format!(
                "{id} goes on in the background: swbox jobs, swbox output {id}, swbox kill {id}"
            ));
            kept = Some(id);
        }
    }
    if let Some((_, told)) = jobs::settle(bound, secrets, store, &applied.effects)? {
        notices.extend(told);
    }
    jobs::close(&bound.row, store);
    Ok((bound.row.clone(), notices, kept))
}
