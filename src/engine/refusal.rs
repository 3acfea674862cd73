//! Why an event changed nothing: a table of stable codes, like those of the policy.

use serde::{Deserialize, Serialize};

use super::effect::Offer;

/// The codes of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "TABLE says what each means")]
pub enum RefusalCode {
    SessionOver,
    StateUnknown,
    NotMainAgent,
    StateMoved,
    NoSuchEvent,
    AmbiguousEvent,
    LeadsElsewhere,
    GuardFailed,
    EvidenceMissing,
    EvidenceBusy,
    ApprovalPending,
    ApprovalUnknown,
    ApprovalExpired,
    ApprovalStale,
    ApprovalsDenied,
    Busy,
    Moving,
    Forked,
    NothingToReturnTo,
    WorkflowUnpinned,
    BadClaim,
    ClaimTooLarge,
    IterationLimit,
    EditTooLarge,
    FileLimit,
    NeedsApproval,
    PlantedConfig,
    ResultUnknown,
    BadFork,
}

/// A code, what it means, and the way on.
#[derive(Debug, Clone, Copy)]
pub struct RefusalRow {
    /// The code.
    pub code: RefusalCode,
    /// As it is written.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The way on.
    pub remedy: &'static str,
}

const fn row(
    code: RefusalCode,
    name: &'static str,
    meaning: &'static str,
    remedy: &'static str,
) -> RefusalRow {
    RefusalRow { code, name, meaning, remedy }
}

/// Every code, in the order of the documents.
pub const TABLE: &[RefusalRow] = &[
    row(
        RefusalCode::SessionOver,
        "session_over",
        "The session has ended: a final state, a limit, or a person.",
        "Start a new session.",
    ),
    row(
        RefusalCode::StateUnknown,
        "state_unknown",
        "The workflow has no such state.",
        "Name one of its states.",
    ),
    row(
        RefusalCode::NotMainAgent,
        "not_main_agent",
        "A subagent asked for a transition.",
        "Report to the main agent, which may.",
    ),
    row(
        RefusalCode::StateMoved,
        "state_moved",
        "The session is not in the state that the request names.",
        "Ask for the state, then decide anew.",
    ),
    row(
        RefusalCode::NoSuchEvent,
        "no_such_event",
        "The text names no event of this state.",
        "Send one of the events that are listed.",
    ),
    row(
        RefusalCode::AmbiguousEvent,
        "ambiguous_event",
        "The text fits more than one event or state.",
        "Send the exact name of one of them.",
    ),
    row(
        RefusalCode::LeadsElsewhere,
        "leads_elsewhere",
        "The text names a state, and the event that leads there would lead to another one now.",
        "Send the event by its name, if that is wanted.",
    ),
    row(
        RefusalCode::GuardFailed,
        "guard_failed",
        "A guard of the transition does not hold.",
        "Make it true first; claims sent with the event count only afterwards.",
    ),
    row(
        RefusalCode::EvidenceMissing,
        "evidence_missing",
        "A fact that the transition requires was not observed.",
        "Make the declared command end as required.",
    ),
    row(
        RefusalCode::EvidenceBusy,
        "evidence_busy",
        "A running job can write, so nothing can be proven about the tree.",
        "End the job, then send the event again.",
    ),
    row(
        RefusalCode::ApprovalPending,
        "approval_pending",
        "Another transition waits for a person, or for a result.",
        "Wait for the answer.",
    ),
    row(
        RefusalCode::ApprovalUnknown,
        "approval_unknown",
        "Nothing waits under this id: it was answered, it is another session's, or it never was.",
        "List what waits.",
    ),
    row(
        RefusalCode::ApprovalExpired,
        "approval_expired",
        "It waited too long for its answer.",
        "The agent asks again.",
    ),
    row(
        RefusalCode::ApprovalStale,
        "approval_stale",
        "What was shown to the person no longer holds: a write, another state, a guard, other evidence.",
        "The agent asks again.",
    ),
    row(
        RefusalCode::ApprovalsDenied,
        "approvals_denied",
        "The transition needs a person, and the user's rules or the state say that nobody is asked.",
        "Go on another way, or run it where a person can be asked.",
    ),
    row(
        RefusalCode::Busy,
        "busy",
        "A running command holds a right that the target state lacks.",
        "Let it end, or end it, then send the event again.",
    ),
    row(
        RefusalCode::Moving,
        "moving",
        "A transition is under way: its jobs are being ended.",
        "Repeat the call in a moment.",
    ),
    row(
        RefusalCode::Forked,
        "forked",
        "The session waits for its branches.",
        "Work goes on in the branches' sessions.",
    ),
    row(
        RefusalCode::NothingToReturnTo,
        "nothing_to_return_to",
        "`$return` without an interrupt that was entered.",
        "Send another event.",
    ),
    row(
        RefusalCode::WorkflowUnpinned,
        "workflow_unpinned",
        "The workflow to be invoked was not there when the session began.",
        "Add it and start a new session.",
    ),
    row(
        RefusalCode::BadClaim,
        "bad_claim",
        "The data of the transition is no object, or has a reserved key (`_…`, `observed`).",
        "Send an object with other keys.",
    ),
    row(
        RefusalCode::ClaimTooLarge,
        "claim_too_large",
        "The data has more than 64 KiB, or the context would have more than 1 MiB.",
        "Write long text into a file and name it.",
    ),
    row(
        RefusalCode::IterationLimit,
        "iteration_limit",
        "The state's `max_iterations` is reached and it refuses further calls.",
        "Send an event that leads on.",
    ),
    row(
        RefusalCode::EditTooLarge,
        "edit_too_large",
        "The edit changes more lines than `max_edit_lines`.",
        "Make it in smaller steps.",
    ),
    row(
        RefusalCode::FileLimit,
        "file_limit",
        "The state's `max_files_per_state` is used up.",
        "Change files that were changed already, or send an event that leads on.",
    ),
    row(
        RefusalCode::NeedsApproval,
        "needs_approval",
        "A person must say yes to the command.",
        "Repeat the same call when it is approved.",
    ),
    row(
        RefusalCode::PlantedConfig,
        "planted_config",
        "A command left something in the workspace that makes git run programs; the session waits for a person.",
        "A person looks at the files, then approves or rejects what waits.",
    ),
    row(
        RefusalCode::ResultUnknown,
        "result_unknown",
        "A result for a request that is not waiting.",
        "Nothing to do.",
    ),
    row(
        RefusalCode::BadFork,
        "bad_fork",
        "The fork has no branch, or more than eight.",
        "Correct the workflow.",
    ),
];

impl RefusalCode {
    /// As it is written in JSON and documents.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.code == self).map_or("", |row| row.name)
    }

    /// The way on.
    pub fn remedy(self) -> &'static str {
        TABLE.iter().find(|row| row.code == self).map_or("", |row| row.remedy)
    }
}

/// Why an event changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The code.
    pub code: RefusalCode,
    /// One plain clause.
    pub message: String,
    /// The events of the state, where knowing them helps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Offer>,
    /// The approval that waits, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

impl Refusal {
    /// A refusal.
    pub(super) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), events: Vec::new(), approval: None }
    }

    /// With the events of the state.
    pub(super) fn offering(mut self, events: Vec<Offer>) -> Self {
        self.events = events;
        self
    }

    /// With the approval that waits.
    pub(super) fn approval(mut self, id: &str) -> Self {
        self.approval = Some(id.to_owned());
        self
    }
}
