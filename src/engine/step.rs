//! The one entry: an event to the function that knows its kind, and a refusal to no change at all.

use super::effect::{Effect, Fact, Notice, NoticeCode, Record, Reply, Stepped};
use super::event::{Event, What};
use super::library::Workflow;
use super::refusal::{Refusal, RefusalCode};
use super::session::{Session, Stop};
use crate::workflow::{Machine, State};

/// One step in the making.
pub(super) struct Run<'w> {
    pub(super) workflow: &'w Workflow,
    pub(super) session: Session,
    /// The event's time.
    pub(super) at: u64,
    /// The event's id.
    pub(super) id: &'w str,
    pub(super) effects: Vec<Effect>,
    pub(super) records: Vec<Record>,
}

/// The session after an event, what is to be done, the answer, and what the log says.
///
/// Total and deterministic: every session and event gives an answer, and the same ones give the same. A refused event
/// leaves the session exactly as it was (but for calls, which are counted, and for parked requests that turn out to be
/// stale, which are dropped). Applying the events of a journal in order to the session at its start gives the session
/// again ([`replay`]).
pub fn step(workflow: &Workflow, session: Session, event: &Event) -> Stepped {
    let mut run =
        Run { workflow, session, at: event.at, id: &event.id, effects: Vec::new(), records: Vec::new() };
    let reply = match &event.what {
        What::Call(call) => run.call(call),
        What::Ended(ended) => run.ended(ended),
        What::Touched { call, touched } => run.touched(call, touched),
        What::ForeignWrite { paths } => run.foreign_write(paths),
        What::Transition(asked) => run.wholly(|run| run.transition(asked)),
        What::Evidence(results) => run.results(results),
        What::JobsEnded { request, survivors } => run.jobs_ended(request, survivors),
        What::Approve(answer) => run.approve(answer),
        What::Reject(answer) => run.wholly(|run| run.reject(answer)),
        What::Branch(branch) => run.wholly(|run| run.branch_ended(branch)),
        What::Force(force) => run.wholly(|run| run.force(force)),
        What::End { reason } => run.wholly(|run| run.end(reason)),
    };
    Stepped { session: run.session, effects: run.effects, reply, records: run.records }
}

/// The session that a journal leads to.
pub fn replay<'e>(
    workflow: &Workflow,
    start: Session,
    events: impl IntoIterator<Item = &'e Event>,
) -> Session {
    events.into_iter().fold(start, |session, event| step(workflow, session, event).session)
}

impl<'w> Run<'w> {
    /// Does all of it or nothing.
    fn wholly(&mut self, act: impl FnOnce(&mut Self) -> Result<Reply, Refusal>) -> Reply {
        let before = self.session.clone();
        self.session.position += 1;
        match act(self) {
            Ok(reply) => reply,
            Err(refusal) => {
                self.session = before;
                self.effects.clear();
                self.records.clear();
                self.refused(refusal)
            }
        }
    }

    /// The answer of a refusal, in the log too.
    pub(super) fn refused(&mut self, refusal: Refusal) -> Reply {
        self.record(Fact::Refused(refusal.clone()));
        Reply::Refused(Box::new(refusal))
    }

    pub(super) fn record(&mut self, fact: Fact) {
        self.records.push(Record { position: self.session.position, at: self.at, fact });
    }

    pub(super) fn notice(&mut self, code: NoticeCode, text: impl Into<String>) {
        self.effects.push(Effect::Notice(Notice { code, text: text.into() }));
    }

    /// Refuses where the session is over.
    pub(super) fn live(&self) -> Result<(), Refusal> {
        match &self.session.stop {
            None => Ok(()),
            Some(stop) => Err(Refusal::new(
                RefusalCode::SessionOver,
                format!("the session is over ({}) in state {:?}", stop.reason, self.session.state()),
            )),
        }
    }

    /// Refuses where a person must look at the workspace first.
    pub(super) fn unalarmed(&self) -> Result<(), Refusal> {
        match &self.session.alarm {
            None => Ok(()),
            Some(alarm) => {
                let message = format!(
                    "a person must look at what makes git run programs: {}",
                    alarm.planted.join(", ")
                );
                Err(Refusal::new(RefusalCode::PlantedConfig, message).approval(&alarm.id))
            }
        }
    }

    /// Refuses where the session waits for its branches.
    pub(super) fn unforked(&self) -> Result<(), Refusal> {
        match &self.session.fork {
            None => Ok(()),
            Some(fork) => {
                let open = fork.branches.iter().filter(|(_, child)| child.end.is_none());
                let names: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
                Err(Refusal::new(
                    RefusalCode::Forked,
                    format!("the session waits for its branches: {}", names.join(", ")),
                ))
            }
        }
    }

    /// Machine and state where the session is.
    pub(super) fn here(&self) -> Result<(&'w Machine, &'w State), Refusal> {
        self.workflow.state_of(&self.session.current).ok_or_else(|| {
            Refusal::new(
                RefusalCode::StateUnknown,
                format!("the workflow has no state {:?}", self.session.state()),
            )
        })
    }

    /// Ends the session and its branches.
    pub(super) fn stop(&mut self, reason: &str) {
        let dropped: Vec<String> = std::iter::once(&mut self.session.current)
            .chain(&mut self.session.callers)
            .flat_map(|frame| frame.queue.drain(..))
            .map(|queued| queued.interrupt)
            .collect();
        for interrupt in dropped {
            self.record(Fact::Dropped { interrupt });
        }
        self.drop_pending("the session is over");
        self.session.parked.clear();
        self.session.grants.clear();
        self.end_branches(reason);
        self.session.stop = Some(Stop { reason: reason.to_owned(), at: self.at });
        self.record(Fact::Stopped { reason: reason.to_owned() });
        self.effects.push(Effect::Terminate { session: self.session.id.clone(), reason: reason.to_owned() });
    }

    fn end(&mut self, reason: &str) -> Result<Reply, Refusal> {
        self.live()?;
        self.stop(reason);
        Ok(Reply::Noted)
    }
}
