//! Fork and join: child sessions with rights of their own, and a parent that does nothing until they are done.

use serde_json::Value;

use super::MAX_BRANCHES;
use super::change::Move;
use super::effect::{BranchStart, Effect, Fact, NoticeCode, Reply};
use super::event::{Branch, BranchEnd};
use super::refusal::{Refusal, RefusalCode};
use super::session::{Cause, Child, Destination, Forked, Frame};
use super::step::Run;
use crate::workflow::model::{Fork, Join};
use crate::workflow::{Machine, Target, Transition};

/// The fork that an event of a state declares.
pub(super) fn declared<'m>(machine: &'m Machine, state: &str, event: &str) -> Option<&'m Fork> {
    match machine.states.get(state)?.on.get(event)? {
        Transition::Fork(fork) => Some(fork),
        Transition::To(_) | Transition::Branches(_) | Transition::Invoke(_) => None,
    }
}

/// The branches of a fork, each with the id of its session.
pub(super) fn begin(
    run: &Run<'_>,
    frame: &Frame,
    cause: &Cause,
) -> Result<(Forked, Vec<BranchStart>), Refusal> {
    let bad = || Refusal::new(RefusalCode::BadFork, format!("a fork has 1 to {MAX_BRANCHES} branches"));
    let Cause::Event { event, .. } = cause else { return Err(bad()) };
    let machine = run.workflow.machine(&frame.workflow);
    let fork = machine.and_then(|machine| declared(machine, &frame.state, event)).ok_or_else(bad)?;
    if fork.branches.is_empty() || fork.branches.len() > MAX_BRANCHES {
        return Err(bad());
    }
    let start: Vec<BranchStart> = fork
        .branches
        .keys()
        .map(|name| BranchStart { name: name.clone(), session: format!("{}.{name}", run.id) })
        .collect();
    let branches = start
        .iter()
        .map(|one| (one.name.clone(), Child { session: one.session.clone(), end: None }))
        .collect();
    let forked = Forked {
        event: event.clone(),
        branches,
        join: fork.join,
        on_complete: fork.on_complete.clone(),
        on_fail: fork.on_fail.clone(),
    };
    Ok((forked, start))
}

/// What the ends of the branches so far mean: done, failed, or not yet known.
fn outcome(forked: &Forked) -> Option<bool> {
    let mut ends = forked.branches.values().map(|child| child.end.as_ref());
    let done = |end: &BranchEnd| matches!(end, BranchEnd::Done { .. });
    match forked.join {
        Join::All => {
            if ends.clone().flatten().any(|end| !done(end)) {
                Some(false)
            } else {
                ends.all(|end| end.is_some()).then_some(true)
            }
        }
        Join::Any => {
            if ends.clone().flatten().any(done) {
                Some(true)
            } else {
                ends.all(|end| end.is_some()).then_some(false)
            }
        }
    }
}

impl Run<'_> {
    pub(super) fn branch_ended(&mut self, branch: &Branch) -> Result<Reply, Refusal> {
        self.live()?;
        let unknown =
            || Refusal::new(RefusalCode::ResultUnknown, format!("no branch {:?} is waited for", branch.name));
        let forked = self.session.fork.as_mut().ok_or_else(unknown)?;
        let child = forked.branches.get_mut(&branch.name).ok_or_else(unknown)?;
        if child.session != branch.session || child.end.is_some() {
            return Err(unknown());
        }
        child.end = Some(branch.end.clone());
        let end = match &branch.end {
            BranchEnd::Done { .. } => "done".to_owned(),
            BranchEnd::Failed { reason } => reason.clone(),
        };
        self.record(Fact::BranchEnded { name: branch.name.clone(), end });
        match self.session.fork.as_ref().and_then(outcome) {
            None => Ok(Reply::Noted),
            Some(success) => self.join(success),
        }
    }

    /// Every branch that matters has ended: the parent goes on.
    fn join(&mut self, success: bool) -> Result<Reply, Refusal> {
        let Some(forked) = self.session.fork.clone() else { return Ok(Reply::Noted) };
        self.end_branches("join");
        let mut outputs = serde_json::Map::new();
        self.session.seen.branches.clear();
        for (name, child) in &forked.branches {
            let end = match &child.end {
                Some(BranchEnd::Done { output }) => {
                    if let Some(output) = output {
                        outputs.insert(name.clone(), output.clone());
                    }
                    "done"
                }
                Some(BranchEnd::Failed { reason }) => reason,
                None => "ended",
            };
            self.session.seen.branches.insert(name.clone(), end.to_owned());
        }
        let mut data = serde_json::Map::new();
        if !outputs.is_empty() {
            data.insert("branches".to_owned(), Value::Object(outputs));
        }
        let machine = self.workflow.machine(&self.session.current.workflow);
        let failed = || machine.and_then(Machine::failure_state).map(|name| Target::State(name.to_owned()));
        let target =
            if success { Some(forked.on_complete.clone()) } else { forked.on_fail.clone().or_else(failed) };
        let to = match target {
            Some(Target::State(name)) => Destination::State(name),
            Some(Target::Return) if !self.session.current.stack.is_empty() => Destination::Return,
            Some(Target::Return) | None => {
                self.notice(NoticeCode::Failed, "the branches ended, and there is no state to go on to");
                return Ok(Reply::Noted);
            }
        };
        self.go(Move { cause: Cause::Join, to, data: Value::Object(data) })
    }

    /// Ends the branches that still run, with their jobs.
    pub(super) fn end_branches(&mut self, reason: &str) {
        let Some(forked) = self.session.fork.take() else { return };
        for child in forked.branches.into_values().filter(|child| child.end.is_none()) {
            self.effects.push(Effect::Terminate { session: child.session, reason: reason.to_owned() });
        }
    }
}
