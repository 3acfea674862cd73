//! One event into one session: stepped, written to its journal and carried out as far as that is the store's business,
//! in one transaction.
//!
//! Danger: what is not in the journal cannot be told again. Whatever moves a session goes through [`Desk::apply`].

use std::rc::Rc;

use serde_json::{Value, json};

use super::jobs::{Fate, Lives};
use super::law;
use super::place::Place as Kept;
use crate::diagnostic::Diagnostic;
use crate::engine::{
    Branch, Effect, Ended, Event, Fact, Notice, Reply, Results, Session, Stepped, What, Workflow, step,
};
use crate::service::clock;
use crate::store::{Parked, Running, SessionRow, StoreError, Transaction, mask_json};

/// How deep one event may reach into other sessions (a branch's end into its parent, a parent's into its branches).
const REACH: u32 = 16;

/// An open transaction with what every write needs.
pub(super) struct Desk<'a> {
    pub(super) write: Box<dyn Transaction + 'a>,
    workflow: Rc<Workflow>,
    /// Values that must not be written down.
    pub(super) secrets: &'a [String],
    /// Told by sessions on the way.
    pub(super) notices: Vec<Notice>,
    reach: u32,
}

/// What a step left to be done outside the transaction.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) reply: Reply,
    pub(super) effects: Vec<Effect>,
    /// The session after it.
    pub(super) session: Session,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        write: Box<dyn Transaction + 'a>,
        workflow: Rc<Workflow>,
        secrets: &'a [String],
    ) -> Self {
        Self { write, workflow, secrets, notices: Vec::new(), reach: 0 }
    }

    /// Makes all of it so.
    pub(super) fn commit(self) -> Result<(), StoreError> {
        self.write.commit()
    }

    /// Sends `what` to a session. `extra` goes into the journal beside it and decides nothing.
    pub(super) fn apply(
        &mut self,
        row: &mut SessionRow,
        kind: &str,
        id: String,
        what: What,
        extra: Value,
    ) -> Result<Applied, Diagnostic> {
        let event = masked(Event { at: clock::now().max(row.touched), id, what }, self.secrets)?;
        let before = session_of(row)?;
        let stepped = step(&self.workflow, before.clone(), &event);
        if stepped.session != before {
            row.body = serde_json::to_string(&stepped.session).map_err(|_| unwritable())?;
            stepped.session.state().clone_into(&mut row.state);
            row.over = stepped.session.is_over();
        }
        let by_others = matches!(event.what, What::Touched { .. } | What::ForeignWrite { .. });
        if by_others || matches!(kind, "job_end" | "lost") {
            let mut kept = Kept::of(row);
            if kept.overlook(row.position + 1) {
                row.place = kept.to_json();
            }
        }
        self.journal(row, kind, &event, &stepped, extra)?;
        self.settle(&stepped)?;
        if row.over && before.stop.is_none() {
            self.close_questions(&row.id)?;
        }
        let Stepped { session, effects, reply, .. } = stepped;
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Park(shown) => {
                    let body = serde_json::to_string(&shown).map_err(|_| unwritable())?;
                    self.write.park(&Parked {
                        id: shown.approval.clone(),
                        session: row.id.clone(),
                        position: row.position,
                        created: event.at,
                        expires: shown.until,
                        status: "open".to_owned(),
                        body,
                    })?;
                }
                Effect::Fork { branches } => {
                    for branch in branches {
                        self.begin_branch(row, &session, &branch.name)?;
                    }
                }
                Effect::Terminate { session: other, reason } if other != row.id => {
                    self.end(&other, reason)?
                }
                Effect::Terminate { .. } | Effect::Invoke { .. } => {}
                Effect::Notice(notice) => self.notices.push(notice),
                Effect::KillJobs { request, jobs } => {
                    // Where this process ends before they have, whoever comes next says that they were not ended.
                    let (pid, born) = super::life::own();
                    let body = super::life::noted(json!({ "ending": request, "jobs": jobs }));
                    let position = row.position;
                    self.write.started(&Running { session: row.id.clone(), position, pid, born, body })?;
                    left.push(Effect::KillJobs { request, jobs });
                }
                effect @ Effect::RunEvidence { .. } => left.push(effect),
            }
        }
        if let (Some(end), None, Some(of)) =
            (session.branch_end(), before.stop.as_ref(), session.branch.as_ref())
        {
            let what = What::Branch(Branch { name: of.name.clone(), session: row.id.clone(), end });
            let id = clock::id("b")?;
            self.elsewhere(&of.parent, |desk, parent| {
                desk.apply(parent, "event", id, what, Value::Null).map(drop)
            })?;
        }
        Ok(Applied { reply, effects: left, session })
    }

    fn journal(
        &mut self,
        row: &mut SessionRow,
        kind: &str,
        event: &Event,
        stepped: &Stepped,
        extra: Value,
    ) -> Result<(), Diagnostic> {
        let mut extra = extra;
        mask_json(&mut extra, self.secrets);
        let mut body = json!({ "event": event, "reply": stepped.reply, "records": stepped.records });
        if !extra.is_null() {
            body["extra"] = extra;
        }
        Ok(self.write.append(row, event.at, kind, &body)?)
    }

    /// What became of parked requests.
    fn settle(&mut self, stepped: &Stepped) -> Result<(), StoreError> {
        for record in &stepped.records {
            match &record.fact {
                Fact::Approved { approval, .. } => self.write.settle(approval, "approved")?,
                Fact::Rejected { approval, .. } => self.write.settle(approval, "rejected")?,
                Fact::Stale { approval, .. } => self.write.settle(approval, "stale")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Nobody's answer counts once a session is over.
    fn close_questions(&mut self, session: &str) -> Result<(), StoreError> {
        for parked in self.write.parked_in(session)? {
            if parked.status == "open" {
                self.write.settle(&parked.id, "expired")?;
            }
        }
        Ok(())
    }

    /// Starts the session of a branch: the parent's law, its own journal.
    fn begin_branch(&mut self, parent: &SessionRow, session: &Session, name: &str) -> Result<(), Diagnostic> {
        let at = parent.touched;
        let child = Session::branch(&self.workflow, session, name, at)
            .ok_or_else(|| law::damaged("a fork names a branch that its workflow does not have"))?;
        let mut row = SessionRow {
            id: child.id.clone(),
            created: at,
            touched: at,
            over: false,
            state: child.state().to_owned(),
            position: 0,
            head: crate::store::Hash::default(),
            body: serde_json::to_string(&child).map_err(|_| unwritable())?,
            place: "{}".to_owned(),
            ..parent.clone()
        };
        self.write.create(&row)?;
        for kind in law::kinds() {
            for pin in self.write.pins(&parent.id, kind)? {
                self.write.pin(&row.id, &pin)?;
            }
        }
        let body = json!({ "session": child, "branch_of": parent.id });
        Ok(self.write.append(&mut row, at, "begin", &body)?)
    }

    /// Ends another session.
    fn end(&mut self, other: &str, reason: String) -> Result<(), Diagnostic> {
        let id = clock::id("x")?;
        self.elsewhere(other, |desk, row| {
            if row.over {
                return Ok(());
            }
            desk.apply(row, "event", id, What::End { reason }, Value::Null).map(drop)
        })
    }

    /// Tells the other sessions of the workspace that `row` wrote there.
    pub(super) fn tell_others(&mut self, row: &SessionRow, paths: &[String]) -> Result<(), Diagnostic> {
        for mut other in self.write.live(&row.workspace)? {
            if other.id == row.id {
                continue;
            }
            let (theirs, _) = law::workflow(&|kind| self.write.pins(&other.id, kind), "")?;
            let own = std::mem::replace(&mut self.workflow, Rc::new(theirs));
            let what = What::ForeignWrite { paths: paths.to_vec() };
            let told = clock::id("x")
                .and_then(|id| self.apply(&mut other, "event", id, what, json!({ "by": row.id })));
            self.workflow = own;
            told?;
        }
        Ok(())
    }

    fn elsewhere(
        &mut self,
        other: &str,
        act: impl FnOnce(&mut Self, &mut SessionRow) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        if self.reach >= REACH {
            return Err(law::damaged("sessions end each other without end"));
        }
        // A session that was pruned needs no word.
        let Some(mut row) = self.write.session(other)? else { return Ok(()) };
        self.reach += 1;
        let done = act(self, &mut row);
        self.reach -= 1;
        done
    }

    /// Closes commands whose process ended without writing an end: they count as a write.
    pub(super) fn bury(&mut self, row: &mut SessionRow) -> Result<(), Diagnostic> {
        let mut lives = Lives::default();
        for running in self.write.running(&row.id)? {
            let job = match lives.fate(&running) {
                Fate::Lives => continue,
                Fate::Ended(job) => job,
            };
            self.write.ended(&row.id, running.position)?;
            let body: Value = serde_json::from_str(&running.body).unwrap_or_default();
            let text = |name: &str| body[name].as_str().map(str::to_owned);
            let what = match text("evidence") {
                Some(request) => What::Evidence(Results {
                    request,
                    proofs: Vec::new(),
                    planted: Vec::new(),
                    denials: 0,
                    tree: None,
                }),
                None => match text("ending") {
                    Some(request) => {
                        let jobs = body["jobs"].as_array().into_iter().flatten();
                        let survivors = jobs.filter_map(|job| job.as_str().map(str::to_owned)).collect();
                        What::JobsEnded { request, survivors }
                    }
                    None => {
                        let call = text("call").unwrap_or_default();
                        // What a job wrote after its command nobody saw.
                        let lost = job.as_ref().is_none_or(|job| job.writes);
                        What::Ended(Ended { call, lost, ..Ended::default() })
                    }
                },
            };
            let id = clock::id("x")?;
            let kind = if job.is_some() { "job_end" } else { "lost" };
            self.apply(row, kind, id, what, json!({ "command": body["shown"] }))?;
        }
        Ok(())
    }
}

/// The event without secrets: what is judged is what is written down.
fn masked(event: Event, secrets: &[String]) -> Result<Event, Diagnostic> {
    let mut value = serde_json::to_value(&event).map_err(|_| unwritable())?;
    let before = value.clone();
    mask_json(&mut value, secrets);
    if value == before {
        return Ok(event);
    }
    serde_json::from_value(value).map_err(|_| unwritable())
}

/// The engine's session of a row.
///
/// # Errors
/// `store_damaged`.
pub(super) fn session_of(row: &SessionRow) -> Result<Session, Diagnostic> {
    serde_json::from_str(&row.body)
        .map_err(|error| law::damaged(&format!("the session {} cannot be read: {error}", row.id)))
}

fn unwritable() -> Diagnostic {
    Diagnostic::new("store_failed", "a session cannot be written as JSON")
}
