//! What an agent may do with its session: ask where it is, and ask to go on.

use std::rc::Rc;

use serde_json::{Value, json};

use super::evidence::Gathered;
use super::exec::{secrets, texts};
use super::find::{named, of_workspace, redeem, unknown};
use super::life;
use super::place::Place as Kept;
use super::write::{Applied, Desk};
use super::{Bound, evidence, jobs};
use crate::diagnostic::Diagnostic;
use crate::engine::{Effect, Handout, Reply, Session, Transition, What, handout};
use crate::service::own_files::state_directory;
use crate::service::request::{Law, Run};
use crate::service::setting::Setting;
use crate::service::{clock, host, workspace};
use crate::store::{Durability, Running, Store};
use crate::workflow::model::Asking;

/// Where a session is, for its agent.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The session.
    pub session: String,
    /// The state with its instructions and ways on.
    pub handout: Handout,
    /// Why a person said no to the last question of this visit.
    pub rejected: Option<String>,
}

/// A request for a transition.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The event's text.
    pub event: String,
    /// The state that the agent believes to be in.
    pub from: Option<String>,
    /// What it claims.
    pub data: Value,
    /// Whether a subagent asks.
    pub subagent: bool,
}

/// What came of a transition.
#[derive(Debug, Clone)]
pub struct Went {
    /// The session.
    pub session: String,
    /// The answer.
    pub reply: Reply,
    /// Where the session is now.
    pub standing: Option<Handout>,
    /// Told on the way.
    pub notices: Vec<String>,
    /// What swbox ran for it, as far as it got.
    pub evidence: Vec<Gathered>,
    /// Why a person said no to the last question of this visit.
    pub rejected: Option<String>,
}

/// Where the session of this request is.
///
/// # Errors
/// `session_none`, and what keeps it from being read.
pub fn state(law: &Law) -> Result<Standing, Diagnostic> {
    let setting = Setting::new(law)?;
    let bound = setting.bound.ok_or_else(none)?;
    let handout = handout_of(&bound.workflow, &bound.session)?;
    let rejected = rejected(&bound)?;
    Ok(Standing { session: bound.row.id, handout, rejected })
}

/// Asks the session of this request to go on.
///
/// # Errors
/// `session_none`, and what keeps it from being read, written, or evidence from being gathered.
pub fn transition(law: &Law, asked: Asked) -> Result<Went, Diagnostic> {
    let mut setting = Setting::new(law)?;
    jobs::await_ended(setting.bound.as_ref().ok_or_else(none)?)?;
    let tree = evidence::fingerprint(&setting);
    let unattended = setting.approvals() == Asking::Deny;
    let event = asked.event.clone();
    let (mut applied, mut notices) = send(
        &mut setting,
        |kept, position| {
            let from = asked.from.or_else(|| kept.repeated(&asked.event, position));
            What::Transition(Transition {
                event: asked.event,
                from,
                data: asked.data,
                tree,
                subagent: asked.subagent,
                unattended,
            })
        },
        &event,
    )?;
    let mut gathered = Vec::new();
    let (hidden, store) = (secrets(&setting), state_directory(&setting.facts).to_owned());
    while let Some(effect) = applied.effects.pop() {
        let what = match effect {
            Effect::RunEvidence { request, required } => {
                let (results, seen) = evidence::gather(&mut setting, request, &required)?;
                gathered.extend(seen);
                What::Evidence(results)
            }
            effect @ Effect::KillJobs { .. } => {
                let bound = setting.bound.as_mut().ok_or_else(none)?;
                if let Some((next, told)) = jobs::settle(bound, &hidden, &store, &[effect])? {
                    notices.extend(told);
                    applied = next;
                    note_move(&mut setting, &event, &applied.reply, &hidden)?;
                }
                continue;
            }
            _ => continue,
        };
        let (next, told) = send(&mut setting, |_, _| what, &event)?;
        notices.extend(told);
        applied = next;
    }
    let bound = setting.bound.as_ref().ok_or_else(none)?;
    jobs::close(&bound.row, &store);
    let standing = handout(&bound.workflow, &bound.session);
    let rejected = rejected(bound)?;
    let session = bound.row.id.clone();
    Ok(Went { session, reply: applied.reply, standing, notices, evidence: gathered, rejected })
}

/// Why a person said no to the last question of this visit, so that who asks again knows what was missing.
fn rejected(bound: &Bound) -> Result<Option<String>, Diagnostic> {
    let mut last = None;
    for entry in bound.store.journal(&bound.row.id, bound.session.current.visit.entered)? {
        let body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        for record in body["records"].as_array().into_iter().flatten() {
            match record["fact"].as_str() {
                Some("rejected") => last = record["reason"].as_str().map(str::to_owned),
                Some("approved" | "moved") => last = None,
                _ => {}
            }
        }
    }
    Ok(last)
}

/// Notes a move that was taken after jobs were ended, so that its event, repeated, is known for that.
fn note_move(
    setting: &mut Setting,
    event: &str,
    reply: &Reply,
    secrets: &[String],
) -> Result<(), Diagnostic> {
    let Reply::Moved { from, .. } = reply else { return Ok(()) };
    let bound = setting.bound.as_mut().ok_or_else(none)?;
    let id = &bound.row.id;
    let mut desk = Desk::new(bound.store.begin(Durability::Process)?, Rc::clone(&bound.workflow), secrets);
    let mut row = desk.write.session(id)?.ok_or_else(|| unknown(id))?;
    let mut kept = Kept::of(&row);
    kept.moved(event, from, row.position);
    row.place = kept.to_json();
    desk.write.update(&row)?;
    desk.write.commit()?;
    bound.row = row;
    Ok(())
}

/// Writes one event of a transition, made from what is kept of the session and the journal's position.
fn send(
    setting: &mut Setting,
    what: impl FnOnce(&Kept, u64) -> What,
    event: &str,
) -> Result<(Applied, Vec<String>), Diagnostic> {
    let secrets = secrets(setting);
    let bound = setting.bound.as_mut().ok_or_else(none)?;
    let id = &bound.row.id;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &secrets);
    let mut row = desk.write.session(id)?.ok_or_else(|| unknown(id))?;
    let (pid, born) = life::own();
    for running in desk.write.running(id)? {
        // What this process gathers evidence for: it has it now.
        if (running.pid, running.born) == (pid, born) {
            desk.write.ended(id, running.position)?;
        }
    }
    desk.bury(&mut row)?;
    let mut kept = Kept::of(&row);
    let what = what(&kept, row.position);
    let applied = desk.apply(&mut row, "event", clock::id("a")?, what, Value::Null)?;
    for effect in &applied.effects {
        if let Effect::RunEvidence { request, .. } = effect {
            // Where this process ends before it has an answer, whoever comes next gives the answer that there is none.
            let body = life::noted(json!({ "evidence": request }));
            desk.write.started(&Running {
                session: row.id.clone(),
                position: row.position,
                pid,
                born,
                body,
            })?;
        }
    }
    if let Reply::Moved { from, .. } = &applied.reply {
        kept.moved(event, from, row.position);
        row.place = kept.to_json();
        desk.write.update(&row)?;
    }
    let notices = texts(&desk);
    desk.write.commit()?;
    (bound.row, bound.session) = (row, applied.session.clone());
    Ok((applied, notices))
}

/// The id of the session of this request.
///
/// # Errors
/// As for [`state`].
pub fn here(law: &Law) -> Result<String, Diagnostic> {
    let facts = host::facts()?;
    if let Some(found) = named(&facts, law, false)? {
        return Ok(found.row.id);
    }
    let place = workspace::find(law.workspace.as_deref(), &facts, law.allow_home)?;
    of_workspace(&facts, &place.workspace, law, false)?.map(|found| found.row.id).ok_or_else(none)
}

/// The run with the session that its ticket is for.
///
/// # Errors
/// `ticket_void`, and a store that cannot be read or written.
pub fn admitted(run: &Run) -> Result<Run, Diagnostic> {
    let mut admitted = run.clone();
    if let Some(ticket) = admitted.law.ticket.take() {
        admitted.law.session = Some(redeem(&ticket, &run.command)?);
    }
    Ok(admitted)
}

/// Whether a session applies to this request.
///
/// # Errors
/// As for [`state`], but for the absence of a session.
pub fn applies(law: &Law) -> Result<bool, Diagnostic> {
    match here(law) {
        Ok(_) => Ok(true),
        Err(problem) if problem.code == "session_none" => Ok(false),
        Err(problem) => Err(problem),
    }
}

fn handout_of(workflow: &crate::engine::Workflow, session: &Session) -> Result<Handout, Diagnostic> {
    handout(workflow, session)
        .ok_or_else(|| super::law::damaged("the session is in a state that its workflow lacks"))
}

pub(super) fn none() -> Diagnostic {
    Diagnostic::new("session_none", "no session applies here")
        .help("a person starts one: swbox session start; or name one with --session")
}
