//! An agent's request for a transition: found, guarded, proven, approved, and only then taken.

use serde_json::Value;

use super::PARKED_FOR;
use super::change::Move;
use super::effect::{Effect, Fact, NoticeCode, ParkedShown, Reply, WaitOn};
use super::event::Transition as Asked;
use super::refusal::{Refusal, RefusalCode};
use super::resolve::{self, Resolved};
use super::session::{Cause, Destination, Pending, Session, Wait};
use super::step::Run;
use super::{claim, evidence, guard};
use crate::workflow::model::Conditions;
use crate::workflow::{Machine, State, StateKind, Target, Transition};

/// The branch of an event that would be taken now.
pub(super) struct Chosen<'m> {
    pub(super) to: Destination,
    pub(super) conditions: &'m Conditions,
    pub(super) branch: Option<usize>,
}

impl Chosen<'_> {
    /// Why the session will have moved.
    fn cause(&self, event: &str) -> Cause {
        Cause::Event { event: event.to_owned(), branch: self.branch }
    }
}

fn destination(target: &Target) -> Destination {
    match target {
        Target::State(name) => Destination::State(name.clone()),
        Target::Return => Destination::Return,
    }
}

/// What an event would do now, by its guards.
pub(super) fn choose<'m>(
    machine: &Machine,
    state: &'m State,
    session: &Session,
    found: Resolved<'_>,
) -> Result<Chosen<'m>, Refusal> {
    let event = found.event;
    let passes = |conditions: &Conditions| match guard::failing(machine, session, &conditions.guards) {
        None => Ok(()),
        Some(name) => Err(Refusal::new(
            RefusalCode::GuardFailed,
            format!("the guard {name:?} of {event} does not hold"),
        )),
    };
    let unknown = || Refusal::new(RefusalCode::NoSuchEvent, "this state has no such event");
    let chosen = match state.on.get(event).ok_or_else(unknown)? {
        Transition::To(edge) => {
            passes(&edge.conditions)?;
            Chosen { to: destination(&edge.target), conditions: &edge.conditions, branch: None }
        }
        Transition::Branches(edges) => {
            let first = edges.iter().enumerate().find(|(_, edge)| passes(&edge.conditions).is_ok());
            let Some((at, edge)) = first else {
                let message = format!("no branch of {event} passes its guards");
                return Err(Refusal::new(RefusalCode::GuardFailed, message));
            };
            Chosen { to: destination(&edge.target), conditions: &edge.conditions, branch: Some(at) }
        }
        Transition::Fork(fork) => {
            passes(&fork.conditions)?;
            Chosen { to: Destination::Fork, conditions: &fork.conditions, branch: None }
        }
        Transition::Invoke(invoke) => {
            passes(&invoke.conditions)?;
            let to = Destination::Invoke(invoke.workflow.clone());
            Chosen { to, conditions: &invoke.conditions, branch: None }
        }
    };
    match found.asked {
        Some(asked) if chosen.to != Destination::State(asked.to_owned()) => Err(Refusal::new(
            RefusalCode::LeadsElsewhere,
            format!("{event} is the event that leads to {asked:?}, but now it would lead elsewhere"),
        )),
        Some(_) | None => Ok(chosen),
    }
}

impl Run<'_> {
    pub(super) fn transition(&mut self, asked: &Asked) -> Result<Reply, Refusal> {
        self.live()?;
        self.unalarmed()?;
        if asked.subagent {
            return Err(Refusal::new(RefusalCode::NotMainAgent, "only the main agent may change the state"));
        }
        self.unforked()?;
        let (machine, state) = self.here()?;
        if let Some(from) = asked.from.as_deref().filter(|from| *from != self.session.state()) {
            let message = format!("the session is in {:?}, not in {from:?}", self.session.state());
            return Err(Refusal::new(RefusalCode::StateMoved, message).offering(resolve::offers(state)));
        }
        claim::check(&self.session, &asked.data)?;
        let found = resolve::resolve(machine, state, &asked.event)?;
        if let Some(reply) = self.already_waiting(found.event, asked.tree.as_deref())? {
            return Ok(reply);
        }
        let chosen = choose(machine, state, &self.session, found)?;
        if asked.unattended && chosen.conditions.approval.is_some() {
            let message = format!("{} needs a person, and approvals are denied here", found.event);
            return Err(Refusal::new(RefusalCode::ApprovalsDenied, message));
        }
        if self.would_end(machine, &chosen.to) && self.fire_before_the_end() {
            return Ok(self.moved_by_interrupt());
        }
        let cause = chosen.cause(found.event);
        let to = chosen.to;
        self.demand(Move { cause, to, data: asked.data.clone() }, chosen.conditions, asked.tree.as_deref())
    }

    /// Whether the way ends the current workflow well.
    fn would_end(&self, machine: &Machine, to: &Destination) -> bool {
        let Destination::State(name) = to else { return false };
        let is_final = machine.states.get(name).is_some_and(|state| state.kind == StateKind::Final);
        is_final && !machine.is_failure(name)
    }

    /// Takes the move, or begins to wait for what it asks for.
    pub(super) fn demand(
        &mut self,
        wanted: Move,
        conditions: &Conditions,
        tree: Option<&str>,
    ) -> Result<Reply, Refusal> {
        let unmet = evidence::unmet(&self.session, &conditions.evidence, tree);
        if !unmet.is_empty() {
            if let Some(writer) = evidence::writer(&self.session) {
                return Err(Refusal::new(
                    RefusalCode::EvidenceBusy,
                    format!("the job {writer:?} can write while evidence is gathered"),
                ));
            }
            let commands = unmet.iter().map(|one| one.command.clone()).collect();
            let request = self.id.to_owned();
            self.record(Fact::EvidenceAsked { request: request.clone(), commands });
            self.effects.push(Effect::RunEvidence { request: request.clone(), required: unmet.clone() });
            self.wait(wanted, tree, Wait::Evidence { required: unmet });
            return Ok(Reply::Waiting { request, on: WaitOn::Evidence });
        }
        if let Some(approval) = &conditions.approval {
            let until = self.at.saturating_add(PARKED_FOR);
            let (message, reviewer) = (approval.message.clone(), approval.reviewer.clone());
            return Ok(self.park(wanted, tree, Wait::Approval { message, reviewer, until }, conditions));
        }
        self.go(wanted)
    }

    /// Sets the session to wait.
    pub(super) fn wait(&mut self, wanted: Move, tree: Option<&str>, wait: Wait) {
        self.drop_pending("another move overtook it");
        self.session.pending = Some(Pending {
            id: self.id.to_owned(),
            position: self.session.position,
            at: self.at,
            from: self.session.current.state.clone(),
            to: wanted.to,
            cause: wanted.cause,
            data: wanted.data,
            tree: tree.map(str::to_owned),
            wait,
        });
    }

    fn park(&mut self, wanted: Move, tree: Option<&str>, wait: Wait, conditions: &Conditions) -> Reply {
        let mismatches = claim::mismatches(&self.session, &wanted.data);
        for mismatch in &mismatches {
            self.record(Fact::ClaimMismatch(mismatch.clone()));
        }
        let approval = self.id.to_owned();
        let what = match &wanted.cause {
            Cause::Event { event, .. } => event.clone(),
            Cause::Interrupt { interrupt, .. } => interrupt.clone(),
            Cause::Limit | Cause::Join | Cause::Force { .. } => String::new(),
        };
        let (message, reviewer, until) = match &wait {
            Wait::Approval { message, reviewer, until } => (message.clone(), reviewer.clone(), *until),
            Wait::Evidence { .. } | Wait::Jobs { .. } => (None, None, self.at),
        };
        self.effects.push(Effect::Park(Box::new(ParkedShown {
            approval: approval.clone(),
            from: self.session.current.state.clone(),
            to: Some(wanted.to.clone()),
            what: what.clone(),
            message,
            reviewer,
            until,
            claimed: wanted.data.clone(),
            mismatches,
            evidence: evidence::proofs(&self.session, &conditions.evidence),
            files: self.session.changed.iter().cloned().collect(),
            unseen: self.session.unseen,
            command: None,
            planted: Vec::new(),
        })));
        self.record(Fact::Parked { approval: approval.clone(), what });
        self.wait(wanted, tree, wait);
        Reply::Parked { approval }
    }

    /// The answer where this event waits already; a refusal where another one does. What is stale no longer waits.
    fn already_waiting(&mut self, event: &str, tree: Option<&str>) -> Result<Option<Reply>, Refusal> {
        let Some(pending) = &self.session.pending else { return Ok(None) };
        if let Some(reason) = self.void(pending, tree) {
            self.drop_pending(reason);
            return Ok(None);
        }
        let same = matches!(&pending.cause, Cause::Event { event: waiting, .. } if waiting == event);
        let id = pending.id.clone();
        let reply = match pending.wait {
            Wait::Approval { .. } => Reply::Parked { approval: id.clone() },
            Wait::Evidence { .. } => Reply::Waiting { request: id.clone(), on: WaitOn::Evidence },
            Wait::Jobs { .. } => Reply::Waiting { request: id.clone(), on: WaitOn::Jobs },
        };
        if same {
            return Ok(Some(reply));
        }
        let refusal = match pending.wait {
            Wait::Approval { .. } => {
                let message = "another transition waits for a person".to_owned();
                Refusal::new(RefusalCode::ApprovalPending, message).approval(&id)
            }
            Wait::Evidence { .. } | Wait::Jobs { .. } => {
                Refusal::new(RefusalCode::ApprovalPending, "another transition waits for a result")
            }
        };
        Err(refusal)
    }

    /// Why something that waits can no longer be answered.
    pub(super) fn void(&self, pending: &Pending, tree: Option<&str>) -> Option<&'static str> {
        if let Wait::Jobs { .. } = pending.wait {
            return None;
        }
        if pending.from != self.session.current.state {
            return Some("the session is in another state");
        }
        if self.session.last_write > pending.position {
            return Some("files were changed since");
        }
        if let (Some(then), Some(now)) = (pending.tree.as_deref(), tree)
            && then != now
        {
            return Some("the workspace was changed since");
        }
        match pending.wait {
            Wait::Approval { until, .. } if until < self.at => Some("it waited too long"),
            Wait::Approval { .. } | Wait::Evidence { .. } | Wait::Jobs { .. } => None,
        }
    }

    /// Gives up what waits.
    pub(super) fn drop_pending(&mut self, reason: &str) {
        let Some(pending) = self.session.pending.take() else { return };
        self.record(Fact::Stale { approval: pending.id.clone(), reason: reason.to_owned() });
        if let Wait::Approval { .. } = pending.wait {
            self.notice(
                NoticeCode::Stale,
                format!("the approval {} no longer counts: {reason}; ask again", pending.id),
            );
        }
    }

    /// What a pending move is now, or why it can no longer be taken: its event is chosen anew.
    pub(super) fn renewed(&self, pending: &Pending) -> Result<Chosen<'_>, Refusal> {
        let Cause::Event { event, branch } = &pending.cause else {
            return Err(Refusal::new(RefusalCode::ResultUnknown, "no event waits"));
        };
        let (machine, state) = self.here()?;
        let chosen = choose(machine, state, &self.session, Resolved { event, asked: None })?;
        if chosen.branch != *branch || chosen.to != pending.to {
            let message = format!("{event} would lead elsewhere now");
            return Err(Refusal::new(RefusalCode::ApprovalStale, message));
        }
        Ok(chosen)
    }

    /// Moves over `safe_next`, asked for by nobody: at the iteration limit.
    pub(super) fn take_safe_next(&mut self) -> Option<Reply> {
        let (machine, state) = self.here().ok()?;
        let next = state.safe_next.as_deref()?;
        let open = machine.states.get(next).is_some_and(|state| state.kind != StateKind::Final);
        if self.session.pending.is_some() || !open && !machine.is_failure(next) {
            return None;
        }
        let event = resolve::strictest(state, next)?;
        let found = Resolved { event, asked: Some(next) };
        let chosen = choose(machine, state, &self.session, found).ok()?;
        let wanted = Move { cause: chosen.cause(event), to: chosen.to, data: Value::Null };
        self.demand(wanted, chosen.conditions, None).ok()
    }
}
