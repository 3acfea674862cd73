//! Taking a move: where it lands is worked out on a copy, held against the commands that run, and then taken wholly.
//!
//! Danger: a jail's domain cannot be tightened later. A command that runs with rights that the landing state lacks
//! would carry them into it.

use serde_json::Value;

use super::effect::{Effect, Fact, Notice, NoticeCode, Reply, WaitOn};
use super::event::{Force, Held};
use super::refusal::{Refusal, RefusalCode};
use super::session::{CallSite, Cause, Destination, Forked, Frame, Queued, Return, Running, Wait};
use super::step::Run;
use super::{DEPTH_CAP, MAX_CHILD_STEPS, MAX_DEPTH, fork};
use crate::policy::{StateLaw, rights};
use crate::workflow::model::{Conditions, Invoke};
use crate::workflow::{Machine, StateKind, Target, Transition};

/// A move that may be taken.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) cause: Cause,
    pub(super) to: Destination,
    pub(super) data: Value,
}

/// Where a move lands.
struct Landing<'r, 'w> {
    run: &'r Run<'w>,
    cause: &'r Cause,
    current: Frame,
    callers: Vec<Frame>,
    fork: Option<Forked>,
    invoked: Option<String>,
    facts: Vec<Fact>,
    effects: Vec<Effect>,
}

/// A landing without its borrow of the run.
struct Landed {
    current: Frame,
    callers: Vec<Frame>,
    fork: Option<Forked>,
    invoked: Option<String>,
    facts: Vec<Fact>,
    effects: Vec<Effect>,
}

/// Whether a running command holds a right that no command may have in the state.
fn exceeds(held: &Held, law: Option<&StateLaw>) -> bool {
    law.is_none_or(|law| !rights::within(law, held.workspace, held.git_write, &held.network))
}

impl Run<'_> {
    /// Takes a move, or begins to end the jobs that it cannot take along.
    ///
    /// # Errors
    /// Where the target does not exist, or a command of the foreground holds a right that the target lacks.
    pub(super) fn go(&mut self, wanted: Move) -> Result<Reply, Refusal> {
        let landed = self.land(&wanted)?;
        let law = self.workflow.law_of(&landed.current);
        let waits = landed.fork.is_some() && self.session.fork.is_none();
        let stays = |one: &&Running| !one.background && waits || exceeds(&one.held, law);
        let exceeding: Vec<&Running> = self.session.running.iter().filter(stays).collect();
        if let Some(busy) = exceeding.iter().find(|one| !one.background) {
            let message = format!(
                "the command {:?} ({}) runs with rights that {:?} does not give",
                busy.call, busy.tool, landed.current.state
            );
            return Err(Refusal::new(RefusalCode::Busy, message));
        }
        if !exceeding.is_empty() {
            let jobs: Vec<String> = exceeding.iter().map(|one| one.call.clone()).collect();
            let request = self.id.to_owned();
            self.record(Fact::EndingJobs { jobs: jobs.clone() });
            self.effects.push(Effect::KillJobs { request: request.clone(), jobs: jobs.clone() });
            self.wait(wanted, None, Wait::Jobs { jobs });
            return Ok(Reply::Waiting { request, on: WaitOn::Jobs });
        }
        Ok(self.commit(landed, wanted))
    }

    fn land(&self, wanted: &Move) -> Result<Landed, Refusal> {
        let mut landing = Landing {
            run: self,
            cause: &wanted.cause,
            current: self.session.current.clone(),
            callers: self.session.callers.clone(),
            fork: None,
            invoked: None,
            facts: Vec::new(),
            effects: Vec::new(),
        };
        landing.take(wanted)?;
        let Landing { current, callers, fork, invoked, facts, effects, .. } = landing;
        Ok(Landed { current, callers, fork, invoked, facts, effects })
    }

    fn commit(&mut self, landed: Landed, wanted: Move) -> Reply {
        let from = self.session.current.state.clone();
        self.drop_pending("the session moved");
        self.session.current = landed.current;
        self.session.callers = landed.callers;
        self.session.fork = landed.fork;
        if landed.invoked.is_some() {
            self.session.seen.invoked = landed.invoked;
        }
        for fact in landed.facts {
            self.record(fact);
        }
        self.effects.extend(landed.effects);
        let to = self.session.current.state.clone();
        if self.has_ended() {
            self.stop("natural");
        } else {
            self.drain();
        }
        Reply::Moved { from, to, cause: wanted.cause }
    }

    /// Whether the session stands where it ends: in a final state of the root, or where its branch ends.
    fn has_ended(&self) -> bool {
        if !self.session.callers.is_empty() {
            return false;
        }
        let state = self.session.state();
        self.session.branch.as_ref().is_some_and(|of| of.terminal == state)
            || self.here().is_ok_and(|(_, state)| state.kind == StateKind::Final)
    }

    /// The jobs of a move were ended, or would not.
    pub(super) fn jobs_ended(&mut self, request: &str, survivors: &[String]) -> Reply {
        let waits =
            |pending: &super::Pending| pending.id == request && matches!(pending.wait, Wait::Jobs { .. });
        let Some(pending) = self.session.pending.clone().filter(waits) else {
            return self.refused(Refusal::new(
                RefusalCode::ResultUnknown,
                format!("no jobs were to be ended under {request:?}"),
            ));
        };
        self.session.position += 1;
        self.session.pending = None;
        if let Wait::Jobs { jobs } = &pending.wait {
            self.session.running.retain(|one| !jobs.contains(&one.call) || survivors.contains(&one.call));
        }
        let again = match &pending.cause {
            Cause::Interrupt { interrupt, files } => Some(Queued {
                interrupt: interrupt.clone(),
                files: files.clone(),
                height: self.session.current.stack.len(),
            }),
            Cause::Event { .. } | Cause::Limit | Cause::Join | Cause::Force { .. } => None,
        };
        let refusal = match survivors.first() {
            Some(job) => {
                Refusal::new(RefusalCode::Busy, format!("the job {job:?} would not end; nothing moved"))
            }
            None if self.overtaken(&pending) => Refusal::new(
                RefusalCode::ApprovalStale,
                "files were changed while the jobs were being ended; send the event again",
            ),
            None => {
                let wanted = Move { cause: pending.cause, to: pending.to, data: pending.data };
                match self.go(wanted) {
                    Ok(reply) => return reply,
                    Err(refusal) => refusal,
                }
            }
        };
        if let Some(again) = again {
            self.session.current.queue.insert(0, again);
        }
        self.notice(NoticeCode::NotMoved, refusal.message.clone());
        self.refused(refusal)
    }

    /// Whether a job wrote until its end, after a person or evidence had spoken about the tree.
    fn overtaken(&self, pending: &super::Pending) -> bool {
        let spoke =
            |conditions: &Conditions| conditions.approval.is_some() || !conditions.evidence.is_empty();
        self.session.last_write > pending.position
            && matches!(pending.cause, Cause::Event { .. })
            && self.renewed(pending).map_or(true, |chosen| spoke(chosen.conditions))
    }

    /// A person's move.
    pub(super) fn force(&mut self, force: &Force) -> Result<Reply, Refusal> {
        self.live()?;
        let (machine, _) = (self.workflow.machine(&self.session.current.workflow), ());
        if machine.is_none_or(|machine| !machine.states.contains_key(&force.to)) {
            let message = format!("the workflow has no state {:?}", force.to);
            return Err(Refusal::new(RefusalCode::StateUnknown, message));
        }
        self.end_branches("force");
        self.session.current.stack.clear();
        self.session.current.queue.clear();
        let cause = Cause::Force { channel: force.channel.clone(), reason: force.reason.clone() };
        self.go(Move { cause, to: Destination::State(force.to.clone()), data: Value::Null })
    }
}

impl<'w> Landing<'_, 'w> {
    fn machine(&self) -> Option<&'w Machine> {
        self.run.workflow.machine(&self.current.workflow)
    }

    fn take(&mut self, wanted: &Move) -> Result<(), Refusal> {
        self.current.merge(&wanted.data);
        if matches!(wanted.cause, Cause::Event { .. }) && self.spends_too_much() {
            self.settle();
            return Ok(());
        }
        let from = self.current.state.clone();
        match &wanted.to {
            Destination::State(name) => {
                if self.machine().is_none_or(|machine| !machine.states.contains_key(name)) {
                    let message = format!("the workflow has no state {name:?}");
                    return Err(Refusal::new(RefusalCode::StateUnknown, message));
                }
                if let Cause::Interrupt { interrupt, files } = &wanted.cause {
                    self.current.stack.push(Return {
                        interrupt: interrupt.clone(),
                        files: files.clone(),
                        state: from.clone(),
                        visit: self.current.visit.clone(),
                    });
                }
                self.enter(name, wanted.data.clone());
            }
            Destination::Return => {
                if !self.current.pop() {
                    let message = "there is no interrupt to return from";
                    return Err(Refusal::new(RefusalCode::NothingToReturnTo, message));
                }
                self.moved(from, wanted.data.clone());
            }
            Destination::Invoke(workflow) => self.invoke(workflow, wanted)?,
            Destination::Fork => {
                let (forked, start) = fork::begin(self.run, &self.current, &wanted.cause)?;
                self.facts.push(Fact::Forked { branches: forked.branches.keys().cloned().collect() });
                self.effects.push(Effect::Fork { branches: start });
                self.fork = Some(forked);
            }
        }
        self.settle();
        Ok(())
    }

    fn moved(&mut self, from: String, claimed: Value) {
        self.facts.push(Fact::Moved {
            workflow: self.current.workflow.clone(),
            from,
            to: self.current.state.clone(),
            cause: self.cause.clone(),
            claimed,
        });
    }

    fn enter(&mut self, state: &str, claimed: Value) {
        let from = self.current.state.clone();
        self.current.enter(state, self.run.session.position, self.run.at);
        self.moved(from, claimed);
    }

    /// Counts a transition in each invoked workflow; ends the outermost that has none left.
    fn spends_too_much(&mut self) -> bool {
        let frames = self.callers.iter_mut().chain(std::iter::once(&mut self.current));
        let mut spent = None;
        for (at, frame) in frames.enumerate() {
            if let Some(call) = &mut frame.call {
                call.steps = call.steps.saturating_add(1);
                if call.steps > call.max_steps && spent.is_none() {
                    spent = Some(at);
                }
            }
        }
        let Some(at) = spent else { return false };
        while self.callers.len() > at {
            if let Some(outer) = self.callers.pop() {
                self.current = outer;
            }
        }
        self.leave("max_child_steps", false);
        true
    }

    fn invoke(&mut self, workflow: &str, wanted: &Move) -> Result<(), Refusal> {
        let lost = || {
            Refusal::new(
                RefusalCode::WorkflowUnpinned,
                format!("the workflow {workflow:?} was not there when the session began"),
            )
        };
        let Cause::Event { event, .. } = &wanted.cause else { return Err(lost()) };
        let state = self.machine().and_then(|machine| machine.states.get(&self.current.state));
        let Some(Transition::Invoke(invoke)) = state.and_then(|state| state.on.get(event)) else {
            return Err(lost());
        };
        let machine = self.run.workflow.machine(workflow).ok_or_else(lost)?;
        let depth = invoke.max_depth.unwrap_or(MAX_DEPTH).min(DEPTH_CAP) as usize;
        if self.callers.len() >= depth {
            self.facts.push(Fact::Returned {
                workflow: workflow.to_owned(),
                end: "max_depth".to_owned(),
                success: false,
            });
            self.go_on(invoke.on_fail.clone(), false);
            return Ok(());
        }
        let child = child(workflow, machine, invoke);
        self.callers.push(std::mem::replace(&mut self.current, child));
        self.effects.push(Effect::Invoke { workflow: workflow.to_owned(), state: machine.initial.clone() });
        self.enter(&machine.initial, wanted.data.clone());
        Ok(())
    }

    /// Goes back to the callers for as long as an invoked workflow is at its end.
    fn settle(&mut self) {
        while !self.callers.is_empty() {
            let Some((machine, state)) = self.run.workflow.state_of(&self.current) else { return };
            if state.kind != StateKind::Final {
                return;
            }
            let end = self.current.state.clone();
            let success = !machine.is_failure(&end);
            self.leave(&end, success);
        }
    }

    /// Ends the innermost invoked workflow; its caller goes on.
    fn leave(&mut self, end: &str, success: bool) {
        let Some(caller) = self.callers.pop() else { return };
        let child = std::mem::replace(&mut self.current, caller);
        self.facts.push(Fact::Returned { workflow: child.workflow, end: end.to_owned(), success });
        self.invoked = Some(end.to_owned());
        if let Some(output) = child.context.get("output") {
            let mut back = serde_json::Map::new();
            back.insert("output".to_owned(), output.clone());
            self.current.merge(&Value::Object(back));
        }
        let Some(call) = child.call else { return };
        self.go_on(if success { Some(call.on_complete) } else { call.on_fail }, success);
    }

    /// Goes on after a child: to the target, else to the failure state, else it stays and says so.
    fn go_on(&mut self, target: Option<Target>, success: bool) {
        let Some(machine) = self.machine() else { return };
        let failed = || machine.failure_state().map(|name| Target::State(name.to_owned()));
        match target.or_else(|| if success { None } else { failed() }) {
            Some(Target::State(name)) if machine.states.contains_key(&name) => self.enter(&name, Value::Null),
            Some(Target::Return) if !self.current.stack.is_empty() => {
                let from = self.current.state.clone();
                self.current.pop();
                self.moved(from, Value::Null);
            }
            Some(_) | None => self.effects.push(Effect::Notice(Notice {
                code: NoticeCode::Failed,
                text: format!(
                    "the work under {:?} failed, and the workflow names no state for that",
                    self.current.state
                ),
            })),
        }
    }
}

fn child(name: &str, machine: &Machine, invoke: &Invoke) -> Frame {
    let site = CallSite {
        on_complete: invoke.on_complete.clone(),
        on_fail: invoke.on_fail.clone(),
        steps: 0,
        max_steps: invoke.max_child_steps.unwrap_or(MAX_CHILD_STEPS),
    };
    let mut frame = Frame::new(name, machine, Some(site));
    match &invoke.input {
        None => {}
        Some(Value::Object(input)) => {
            if !frame.context.is_object() {
                frame.context = Value::Object(serde_json::Map::new());
            }
            if let Value::Object(context) = &mut frame.context {
                context.extend(input.clone());
            }
        }
        Some(other) => {
            if let Value::Object(context) = &mut frame.context {
                context.insert("input".to_owned(), other.clone());
            }
        }
    }
    frame
}
