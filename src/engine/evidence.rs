//! Evidence: facts that a transition requires, out of runs that swbox itself saw.
//!
//! Danger: a run proves something about the tree only while nothing has written since it *began*.

use super::change::Move;
use super::effect::{Fact, Reply};
use super::event::{Proof, Results};
use super::refusal::{Refusal, RefusalCode};
use super::session::{Session, Wait};
use super::step::Run;
use crate::policy::WorkspaceRight;
use crate::workflow::model::{Evidence, Since};

/// The first running command that can change files that stay.
pub(super) fn writer(session: &Session) -> Option<&str> {
    let writes = session.running.iter().find(|one| one.held.workspace == WorkspaceRight::Write);
    writes.map(|one| one.call.as_str())
}

/// Whether a run shows what is required: the argv, the status, the number of tests.
fn shows(proof: &Proof, required: &Evidence) -> bool {
    proof.command == required.command
        && proof.exit_code == required.exit_code
        && required.min_tests.is_none_or(|least| proof.tests.is_some_and(|tests| tests >= least))
}

fn fresh(session: &Session, proof: &Proof, since: Since, tree: Option<&str>) -> bool {
    match since {
        Since::SessionStart => true,
        Since::StateEntry => proof.position >= session.current.visit.entered,
        Since::LastWrite => {
            let same_tree = match (proof.tree.as_deref(), tree) {
                (Some(then), Some(now)) => then == now,
                // A run that names its tree cannot be held against one that nobody looked at.
                (Some(_), None) => false,
                (None, _) => true,
            };
            proof.position >= session.last_write && writer(session).is_none() && same_tree
        }
    }
}

/// What is required and not shown by any run.
pub(super) fn unmet(session: &Session, required: &[Evidence], tree: Option<&str>) -> Vec<Evidence> {
    let met = |one: &&Evidence| {
        let newest = session.proofs.iter().rev().find(|proof| proof.command == one.command);
        // The newest run speaks: an older success does not outlive a later failure.
        !newest.is_some_and(|proof| shows(proof, one) && fresh(session, proof, one.since, tree))
    };
    required.iter().filter(met).cloned().collect()
}

/// The newest run for each requirement, to be shown.
pub(super) fn proofs(session: &Session, required: &[Evidence]) -> Vec<Proof> {
    let newest = |one: &Evidence| session.proofs.iter().rev().find(|proof| proof.command == one.command);
    required.iter().filter_map(newest).cloned().collect()
}

impl Run<'_> {
    /// The results of asked evidence: the transition goes on, or ends here.
    pub(super) fn results(&mut self, results: &Results) -> Reply {
        let waits = |pending: &super::Pending| {
            pending.id == results.request && matches!(pending.wait, Wait::Evidence { .. })
        };
        let Some(pending) = self.session.pending.clone().filter(waits) else {
            return self.refused(Refusal::new(
                RefusalCode::ResultUnknown,
                format!("no evidence was asked for under {:?}", results.request),
            ));
        };
        self.session.position += 1;
        self.session.pending = None;
        for proof in &results.proofs {
            let proof = Proof { position: pending.position, ..proof.clone() };
            self.record(Fact::Proven { proof: proof.clone() });
            if proof.tests.is_some() {
                self.session.seen.tests = proof.tests;
            }
            self.session.keep_proof(proof);
        }
        let visit = &mut self.session.current.visit;
        visit.denials = visit.denials.saturating_add(results.denials);
        self.alarm(&results.planted);
        if let Err(refusal) = self.unalarmed() {
            return self.refused(refusal);
        }
        if let Some(reason) = self.void(&pending, None) {
            let message = format!("the evidence no longer counts: {reason}");
            return self.refused(Refusal::new(RefusalCode::EvidenceMissing, message));
        }
        let conditions = match self.renewed(&pending) {
            Ok(chosen) => chosen.conditions.clone(),
            Err(refusal) => return self.refused(refusal),
        };
        let tree = results.tree.as_deref();
        if let Some(missing) = unmet(&self.session, &conditions.evidence, tree).first() {
            let refusal = self.not_shown(missing);
            return self.refused(refusal);
        }
        let wanted = Move { cause: pending.cause, to: pending.to, data: pending.data };
        match self.demand(wanted, &conditions, tree) {
            Ok(reply) => reply,
            Err(refusal) => self.refused(refusal),
        }
    }

    /// What was required and what was seen instead.
    fn not_shown(&self, required: &Evidence) -> Refusal {
        let command = required.command.join(" ");
        let newest = self.session.proofs.iter().rev().find(|proof| proof.command == required.command);
        let seen = match newest {
            None => "it was not run".to_owned(),
            Some(proof) if proof.exit_code != required.exit_code => {
                format!("it ended with {}", proof.exit_code)
            }
            Some(proof) if !shows(proof, required) => match proof.tests {
                Some(tests) => format!("it ran {tests} tests"),
                None => "how many tests ran is not known".to_owned(),
            },
            Some(_) => "the tree has changed since".to_owned(),
        };
        let least = required.min_tests.map_or_else(String::new, |least| format!(" and run {least} tests"));
        Refusal::new(
            RefusalCode::EvidenceMissing,
            format!("`{command}` must end with {}{least}; {seen}", required.exit_code),
        )
    }
}
