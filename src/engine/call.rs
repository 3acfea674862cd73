//! Tool calls: the limits of a state, the commands that run, and what was seen when they ended.
//!
//! Danger: a limit that is checked after the fact must say so (`detected`); what swbox did not see end counts as a
//! write.

use super::change::Move;
use super::effect::{Fact, NoticeCode, Reply};
use super::event::{Call, Edit, Ended, Proof, Touch};
use super::library::Workflow;
use super::refusal::{Refusal, RefusalCode};
use super::session::{Cause, Destination, Running, Session, Wait};
use super::step::Run;
use super::{MAX_FILES, resolve};
use crate::policy::Decision;
use crate::workflow::model::OnMax;
use crate::workflow::tool::{Family, Meaning, meaning};
use crate::workflow::{Machine, State, StateKind};

/// The decision on a native tool by its name, with what the session itself adds: its end, its branches, its limits.
/// Shell tools are judged by their line ([`crate::policy::Policy::evaluate`]) before [`step`](super::step()) sees the
/// call.
pub fn decide(workflow: &Workflow, session: &Session, tool: &str) -> Decision {
    let Some((_, state, law)) = workflow.at(&session.current) else { return Decision::Forbidden };
    let spent = state.on_max != OnMax::Checkpoint
        && state.max_iterations.is_some_and(|most| session.current.visit.calls >= most);
    let waits = session.stop.is_some() || session.alarm.is_some() || session.fork.is_some();
    if (spent || waits) && !is_bookkeeping(tool) {
        return Decision::Forbidden;
    }
    law.decide(tool)
}

/// `max_files_per_state`, as far as files are remembered: where more could not be told apart, none more is let go.
fn most_files(state: &State) -> Option<usize> {
    state.max_files_per_state.map(|most| (most as usize).min(MAX_FILES - 1))
}

/// Whether a tool neither acts nor counts: a state query, a harness's own lists.
fn is_bookkeeping(tool: &str) -> bool {
    match meaning(tool) {
        Meaning::Own => true,
        Meaning::Known(id) => id.tool().family == Family::Session,
        Meaning::Unknown => false,
    }
}

impl Run<'_> {
    /// Whether a move is under way that no call may start beside.
    pub(super) fn moves(&self) -> bool {
        self.session.pending.as_ref().is_some_and(|pending| matches!(pending.wait, Wait::Jobs { .. }))
    }

    pub(super) fn call(&mut self, call: &Call) -> Reply {
        let open =
            self.live().and_then(|()| self.unalarmed()).and_then(|()| self.unforked()).and_then(|()| {
                if self.moves() {
                    return Err(Refusal::new(
                        RefusalCode::Moving,
                        "jobs are being ended before the state changes",
                    ));
                }
                self.here().map(|(_, state)| state)
            });
        let state = match open {
            Ok(state) => state,
            Err(refusal) => return self.refused(refusal),
        };
        self.session.position += 1;
        if call.counts
            && let Some(refusal) = self.count(state)
        {
            return self.refused(refusal);
        }
        if call.decision == Decision::Forbidden {
            return Reply::Forbidden;
        }
        if let Some(refusal) = self.limits(state, call) {
            return self.refused(refusal);
        }
        if call.decision == Decision::Prompt {
            let Some(command) = &call.command else {
                let message = "a person must say yes, and the call names nothing to say yes to";
                return self.refused(Refusal::new(RefusalCode::NeedsApproval, message));
            };
            if !self.use_grant(command) {
                let refusal = self.park_command(call, command);
                return self.refused(refusal);
            }
        }
        if let Some(held) = &call.held {
            self.session.running.push(Running {
                call: call.call.clone(),
                tool: call.tool.clone(),
                held: held.clone(),
                background: call.background,
                position: self.session.position,
            });
        }
        self.record(Fact::Called { call: call.call.clone(), tool: call.tool.clone() });
        Reply::Allowed
    }

    /// Counts a decided call; a refusal where the limit says so.
    fn count(&mut self, state: &State) -> Option<Refusal> {
        let visit = &mut self.session.current.visit;
        let before = visit.calls;
        visit.calls = visit.calls.saturating_add(1);
        let most = state.max_iterations?;
        let next = |run: &Self| match run.offered(state) {
            Some(event) => format!("; go on with {event}"),
            None => String::new(),
        };
        if state.on_max == OnMax::Checkpoint || before < most {
            let now = before.saturating_add(1);
            if state.on_max == OnMax::Checkpoint && now >= most {
                let text = format!("call {now} of {most} in this state: check where you are{}", next(self));
                self.notice(NoticeCode::Checkpoint, text);
            } else if u64::from(now) * 5 >= u64::from(most) * 4 && u64::from(before) * 5 < u64::from(most) * 4
            {
                let text = format!("call {now} of {most} in this state{}", next(self));
                self.notice(NoticeCode::IterationsNear, text);
            }
            return None;
        }
        let limit = format!("the {most} calls of this state are used up");
        let refusal =
            |text: String| Refusal::new(RefusalCode::IterationLimit, text).offering(resolve::offers(state));
        if state.on_max == OnMax::Refuse {
            return Some(match self.take_safe_next() {
                Some(Reply::Moved { to, .. }) => refusal(format!("{limit}; the session went on to {to:?}")),
                Some(Reply::Parked { approval }) => {
                    refusal(format!("{limit}; a person is asked to let the session go on"))
                        .approval(&approval)
                }
                Some(_) => refusal(format!("{limit}; the session goes on as soon as it can")),
                None => refusal(format!("{limit}{}", next(self))),
            });
        }
        let failed = self
            .workflow
            .machine(&self.session.current.workflow)
            .and_then(Machine::failure_state)
            .filter(|name| *name != self.session.state());
        let Some(failed) = failed else {
            self.stop("max_iterations");
            return Some(refusal(limit));
        };
        let to = Destination::State(failed.to_owned());
        let moved = self.go(Move { cause: Cause::Limit, to, data: serde_json::Value::Null });
        Some(match moved {
            Ok(_) => refusal(format!("{limit}; the session goes to {failed:?}")),
            Err(busy) => refusal(format!("{limit}; {}", busy.message)),
        })
    }

    /// The event that a message about a limit names: on in the work, and to the end only where nothing else leads on.
    fn offered<'s>(&self, state: &'s State) -> Option<&'s str> {
        let machine = self.workflow.machine(&self.session.current.workflow)?;
        let goes_on = |name: &str| machine.states.get(name).is_some_and(|one| one.kind != StateKind::Final);
        let safe = state.safe_next.as_deref().filter(|next| goes_on(next));
        let safe = safe.and_then(|next| resolve::strictest(state, next));
        let on = state.on.iter().find(|(_, transition)| {
            resolve::edges(transition).iter().any(|edge| edge.target.state().is_none_or(goes_on))
        });
        safe.or(on.map(|(event, _)| event.as_str())).or_else(|| state.on.keys().next().map(String::as_str))
    }

    /// `max_edit_lines` and `max_files_per_state`.
    fn limits(&self, state: &State, call: &Call) -> Option<Refusal> {
        let files = &self.session.current.visit.files;
        if let Some(Edit { path, lines }) = &call.edit {
            if let Some(most) = state.max_edit_lines.filter(|most| lines > most) {
                let message = format!("the edit changes {lines} lines; this state allows {most}");
                return Some(Refusal::new(RefusalCode::EditTooLarge, message));
            }
            if let Some(most) = most_files(state)
                && files.len() >= most
                && !files.contains(path)
            {
                let message = format!("{} of {most} files are changed in this state", files.len());
                return Some(Refusal::new(RefusalCode::FileLimit, message));
            }
            return None;
        }
        let most = most_files(state).filter(|most| files.len() > *most && call.writes)?;
        let message = format!("{} files are changed in this state, which allows {most}", files.len());
        Some(Refusal::new(RefusalCode::FileLimit, message))
    }

    pub(super) fn ended(&mut self, ended: &Ended) -> Reply {
        let at = self.session.running.iter().position(|one| one.call == ended.call);
        let started = at.map(|at| self.session.running.remove(at).position);
        self.session.position += 1;
        if self.session.is_over() {
            return Reply::Noted;
        }
        if let Some(code) = ended.exit_code {
            self.session.seen.exit_code = Some(code);
        }
        self.session.seen.commands += 1;
        let paths = self.wrote(Some(&ended.call), &ended.touched, ended.lost);
        self.alarm(&ended.planted);
        // A run proves something only where its beginning is known, and its own end was seen.
        if let (Some(proof), Some(position), false) = (&ended.proof, started, ended.lost) {
            let proof = Proof { position, ..proof.clone() };
            self.record(Fact::Proven { proof: proof.clone() });
            if proof.tests.is_some() {
                self.session.seen.tests = proof.tests;
            }
            self.session.keep_proof(proof);
        }
        let visit = &mut self.session.current.visit;
        visit.denials = visit.denials.saturating_add(ended.denials);
        self.output(ended.output);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.fire(&paths);
        // What waited for this command to end may move now.
        self.drain();
        Reply::Noted
    }

    fn output(&mut self, bytes: u64) {
        let visit = &mut self.session.current.visit;
        let before = visit.output;
        visit.output = before.saturating_add(bytes);
        let now = visit.output;
        let Ok((_, state)) = self.here() else { return };
        let Some(budget) = state.context_budget_bytes else { return };
        let near = budget - budget / 10;
        if before < near && now >= near {
            let text = format!("{now} of {budget} bytes of output are used in this state");
            self.notice(NoticeCode::ContextBudget, text);
        }
    }

    pub(super) fn touched(&mut self, call: &str, touched: &[Touch]) -> Reply {
        self.session.position += 1;
        if self.session.is_over() {
            return Reply::Noted;
        }
        let paths = self.wrote(Some(call), touched, false);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        self.fire(&paths);
        Reply::Noted
    }

    pub(super) fn foreign_write(&mut self, paths: &[String]) -> Reply {
        self.session.position += 1;
        self.session.last_write = self.session.position;
        self.record(Fact::Wrote { call: None, files: paths.iter().take(MAX_FILES).cloned().collect() });
        Reply::Noted
    }

    /// Takes over the files that a call really changed; the kept ones.
    fn wrote(&mut self, call: Option<&str>, touched: &[Touch], lost: bool) -> Vec<String> {
        let kept: Vec<String> = touched.iter().filter(|one| one.kept).map(|one| one.path.clone()).collect();
        if kept.is_empty() && !lost {
            return kept;
        }
        self.session.last_write = self.session.position;
        self.session.unseen = self.session.unseen.saturating_add(u32::from(lost));
        let before = self.session.current.visit.files.len();
        for path in &kept {
            if self.session.changed.len() < MAX_FILES {
                self.session.changed.insert(path.clone());
            }
            let files = &mut self.session.current.visit.files;
            if files.len() < MAX_FILES {
                files.insert(path.clone());
            }
        }
        let files = kept.iter().take(MAX_FILES).cloned().collect();
        self.record(Fact::Wrote { call: call.map(str::to_owned), files });
        if let Ok((_, state)) = self.here()
            && let Some(most) = most_files(state)
        {
            let now = self.session.current.visit.files.len();
            if before <= most && now > most {
                let text = format!(
                    "detected: {now} files are changed in this state, which allows {most}; further writes are refused"
                );
                self.notice(NoticeCode::FilesExceeded, text);
            }
        }
        kept
    }
}
