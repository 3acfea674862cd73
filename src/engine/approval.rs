//! A person's answer to a parked transition or command.
//!
//! Danger: the answer is to what was shown. A write, another state, a guard that fell, other evidence: the answer is
//! then to something else, and nothing moves.

use super::change::Move;
use super::effect::{Effect, Fact, NoticeCode, ParkedShown, Reply};
use super::event::{Answer, ApprovalScope, Call, Command};
use super::refusal::{Refusal, RefusalCode};
use super::session::{Alarm, Grant, ParkedCommand, Pending, Wait};
use super::step::Run;
use super::{APPROVED_FOR, FOREVER, MAX_FIRING, MAX_PARKED, PARKED_FOR, evidence};

impl Run<'_> {
    pub(super) fn approve(&mut self, answer: &Answer) -> Reply {
        if let Err(refusal) = self.live() {
            return self.refused(refusal);
        }
        if self.session.alarm.as_ref().is_some_and(|alarm| alarm.id == answer.approval) {
            self.session.position += 1;
            self.session.alarm = None;
            self.record(Fact::Approved {
                approval: answer.approval.clone(),
                channel: answer.channel.clone(),
            });
            return Reply::Noted;
        }
        if let Err(refusal) = self.unalarmed() {
            return self.refused(refusal);
        }
        match self.waiting_for(&answer.approval) {
            Some(pending) => self.approve_transition(pending, answer),
            None => match self.session.parked.iter().position(|one| one.id == answer.approval) {
                Some(at) => self.approve_command(at, answer),
                None => self.refused(unknown(&answer.approval)),
            },
        }
    }

    fn waiting_for(&self, approval: &str) -> Option<Pending> {
        let pending = self.session.pending.as_ref()?;
        let waits = pending.id == approval && matches!(pending.wait, Wait::Approval { .. });
        waits.then(|| pending.clone())
    }

    fn approve_transition(&mut self, pending: Pending, answer: &Answer) -> Reply {
        self.session.position += 1;
        if let Some(reason) = self.void(&pending, answer.tree.as_deref()) {
            let expired = matches!(pending.wait, Wait::Approval { until, .. } if until < self.at);
            let code = if expired { RefusalCode::ApprovalExpired } else { RefusalCode::ApprovalStale };
            self.drop_pending(reason);
            return self.refused(Refusal::new(code, format!("the approval no longer counts: {reason}")));
        }
        let conditions = match self.renewed(&pending) {
            Ok(chosen) => chosen.conditions.clone(),
            Err(refusal) => {
                self.drop_pending("its guards no longer hold");
                let message = format!("the approval no longer counts: {}", refusal.message);
                return self.refused(Refusal::new(RefusalCode::ApprovalStale, message));
            }
        };
        let tree = answer.tree.as_deref().or(pending.tree.as_deref());
        if !evidence::unmet(&self.session, &conditions.evidence, tree).is_empty() {
            self.drop_pending("its evidence no longer holds");
            let message = "the approval no longer counts: its evidence no longer holds";
            return self.refused(Refusal::new(RefusalCode::ApprovalStale, message));
        }
        self.session.pending = None;
        self.record(Fact::Approved { approval: pending.id.clone(), channel: answer.channel.clone() });
        let wanted =
            Move { cause: pending.cause.clone(), to: pending.to.clone(), data: pending.data.clone() };
        match self.go(wanted) {
            Ok(reply) => {
                self.session.seen.approvals += 1;
                self.session.changed.clear();
                self.session.unseen = 0;
                reply
            }
            Err(refusal) => {
                // A command that runs yet is a reason to ask the person again later, not the agent.
                self.records.pop();
                self.session.pending = Some(pending);
                if refusal.code != RefusalCode::Busy {
                    self.drop_pending("it cannot be taken");
                }
                self.refused(refusal)
            }
        }
    }

    fn approve_command(&mut self, at: usize, answer: &Answer) -> Reply {
        self.session.position += 1;
        let parked = self.session.parked.remove(at);
        if parked.until < self.at {
            return self.refused(Refusal::new(RefusalCode::ApprovalExpired, "the command waited too long"));
        }
        self.record(Fact::Approved { approval: parked.id, channel: answer.channel.clone() });
        let until = match answer.scope {
            ApprovalScope::Once | ApprovalScope::Always => self.at.saturating_add(APPROVED_FOR),
            ApprovalScope::Session => u64::MAX,
        };
        self.session.grants.push(Grant {
            command: parked.command,
            state: parked.state,
            scope: answer.scope,
            until,
        });
        Reply::Noted
    }

    pub(super) fn reject(&mut self, answer: &Answer) -> Result<Reply, Refusal> {
        self.live()?;
        let alarmed = self.session.alarm.as_ref().is_some_and(|alarm| alarm.id == answer.approval);
        if alarmed {
            self.session.alarm = None;
        } else if self.waiting_for(&answer.approval).is_some() {
            self.session.pending = None;
        } else {
            let at = self.session.parked.iter().position(|one| one.id == answer.approval);
            let at = at.ok_or_else(|| unknown(&answer.approval))?;
            self.session.parked.remove(at);
        }
        self.record(Fact::Rejected {
            approval: answer.approval.clone(),
            channel: answer.channel.clone(),
            reason: answer.reason.clone(),
        });
        if alarmed {
            self.stop("planted_config");
        }
        Ok(Reply::Noted)
    }

    /// Parks the whole session until a person has looked at what was found; more of it joins what waits.
    pub(super) fn alarm(&mut self, planted: &[String]) {
        if planted.is_empty() || self.session.is_over() {
            return;
        }
        let mut all = Vec::new();
        if let Some(before) = self.session.alarm.take() {
            self.record(Fact::Stale { approval: before.id, reason: "more was found".to_owned() });
            all = before.planted;
        }
        for one in planted.iter().take(MAX_FIRING) {
            if all.len() < MAX_FIRING && !all.contains(one) {
                all.push(one.clone());
            }
        }
        let shown = all.join(", ");
        self.effects.push(Effect::Park(Box::new(ParkedShown {
            approval: self.id.to_owned(),
            from: self.session.current.state.clone(),
            to: None,
            what: format!("go on after planted-config: {shown}"),
            message: Some(
                "Look at these files first: each makes git run a program or read elsewhere.".to_owned(),
            ),
            reviewer: None,
            until: FOREVER,
            claimed: serde_json::Value::Null,
            mismatches: Vec::new(),
            evidence: Vec::new(),
            files: self.session.changed.iter().cloned().collect(),
            unseen: self.session.unseen,
            command: None,
            planted: all.clone(),
        })));
        self.record(Fact::Parked { approval: self.id.to_owned(), what: format!("planted-config: {shown}") });
        self.notice(
            NoticeCode::PlantedConfig,
            format!("planted-config: the session waits for a person: swbox approve {}", self.id),
        );
        self.session.alarm = Some(Alarm { id: self.id.to_owned(), planted: all });
    }

    /// Whether a person has approved the command; a single approval is used up by it.
    pub(super) fn use_grant(&mut self, command: &Command) -> bool {
        let (at, state) = (self.at, &self.session.current.state);
        self.session.grants.retain(|grant| grant.until >= at);
        let covers = |grant: &Grant| {
            grant.state == *state
                && match grant.scope {
                    ApprovalScope::Once | ApprovalScope::Always => grant.command.key == command.key,
                    // Where no prefix may be remembered, the yes is to these bytes.
                    ApprovalScope::Session => match &grant.command.prefix {
                        Some(prefix) => command.prefix.as_ref() == Some(prefix),
                        None => grant.command.key == command.key,
                    },
                }
        };
        let Some(found) = self.session.grants.iter().position(covers) else { return false };
        if self.session.grants[found].scope != ApprovalScope::Session {
            self.session.grants.remove(found);
        }
        true
    }

    /// Asks a person about a command; the same one asked again is the same request.
    pub(super) fn park_command(&mut self, call: &Call, command: &Command) -> Refusal {
        let refusal = Refusal::new(RefusalCode::NeedsApproval, "a person must say yes to this command");
        let (at, state) = (self.at, self.session.current.state.clone());
        self.session.parked.retain(|one| one.until >= at);
        let same = |one: &&ParkedCommand| one.command.key == command.key && one.state == state;
        if let Some(present) = self.session.parked.iter().find(same) {
            return refusal.approval(&present.id);
        }
        if self.session.parked.len() >= MAX_PARKED {
            let message = format!("{MAX_PARKED} commands wait for a person already");
            return Refusal::new(RefusalCode::NeedsApproval, message);
        }
        let until = at.saturating_add(PARKED_FOR);
        self.effects.push(Effect::Park(Box::new(ParkedShown {
            approval: self.id.to_owned(),
            from: state.clone(),
            to: None,
            what: command.shown.clone(),
            message: None,
            reviewer: None,
            until,
            claimed: serde_json::Value::Null,
            mismatches: Vec::new(),
            evidence: Vec::new(),
            files: self.session.changed.iter().cloned().collect(),
            unseen: self.session.unseen,
            command: call.question.clone(),
            planted: Vec::new(),
        })));
        self.record(Fact::Parked {
            approval: self.id.to_owned(),
            what: format!("{}: {}", call.tool, command.shown),
        });
        self.session.parked.push(ParkedCommand {
            id: self.id.to_owned(),
            command: command.clone(),
            state,
            until,
        });
        refusal.approval(self.id)
    }
}

fn unknown(approval: &str) -> Refusal {
    Refusal::new(RefusalCode::ApprovalUnknown, format!("nothing waits under {approval:?}"))
}
