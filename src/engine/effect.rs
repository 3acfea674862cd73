//! What a step gives beside the session: effects for the service to perform, an answer for who asked, and records for
//! the log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Proof, Question};
use super::refusal::Refusal;
use super::session::{Cause, Destination, Session};
use crate::workflow::model::Evidence;

/// Everything that a step gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Stepped {
    /// The session afterwards; the same as before where the event was refused.
    pub session: Session,
    /// What is to be done, in order.
    pub effects: Vec<Effect>,
    /// The answer to whoever caused the event.
    pub reply: Reply,
    /// What the log says. They follow from the event: replay gives the same.
    pub records: Vec<Record>,
}

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
pub enum Effect {
    /// Run these commands under the rules of evidence and send [`What::Evidence`](super::What::Evidence).
    RunEvidence {
        /// To be named in the answer.
        request: String,
        /// The commands.
        required: Vec<Evidence>,
    },
    /// Show this to a person; the answer is [`What::Approve`](super::What::Approve) or
    /// [`What::Reject`](super::What::Reject).
    Park(Box<ParkedShown>),
    /// Ask these jobs to end, kill them after two seconds, send [`What::Ended`](super::What::Ended) for each with what
    /// it touched until then, and at last [`What::JobsEnded`](super::What::JobsEnded).
    KillJobs {
        /// To be named in the answer.
        request: String,
        /// Their calls.
        jobs: Vec<String>,
    },
    /// An invoked workflow begins.
    Invoke {
        /// Its name.
        workflow: String,
        /// Its state.
        state: String,
    },
    /// Start child sessions with [`Session::branch`].
    Fork {
        /// The branches.
        branches: Vec<BranchStart>,
    },
    /// Tell the agent, beside the output of what it asked for.
    Notice(Notice),
    /// A session is over: this one, or a branch's.
    Terminate {
        /// The session.
        session: String,
        /// `natural`, or why.
        reason: String,
    },
}

/// A branch to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStart {
    /// Its name.
    pub name: String,
    /// The id of its session.
    pub session: String,
}

/// What a person is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParkedShown {
    /// The approval's id.
    pub approval: String,
    /// The state that is left, or that the command would run in.
    pub from: String,
    /// Where it leads; none for a command.
    pub to: Option<Destination>,
    /// The event, or the command.
    pub what: String,
    /// The workflow's question.
    pub message: Option<String>,
    /// Who should be asked.
    pub reviewer: Option<String>,
    /// Until when it can be answered, in milliseconds since 1970.
    pub until: u64,
    /// What the agent claims.
    pub claimed: Value,
    /// What of it the facts contradict.
    pub mismatches: Vec<Mismatch>,
    /// What was proven.
    pub evidence: Vec<Proof>,
    /// Files changed since the last approval, as far as was seen.
    pub files: Vec<String>,
    /// Commands since then of which nobody saw all that they changed.
    #[serde(default, skip_serializing_if = "super::event::is_zero")]
    pub unseen: u32,
    /// What a command is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Box<Question>>,
    /// What was found that makes git run programs: then the whole session waits, and a yes lets it go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
}

/// A claim that the facts contradict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The key of the claim: `expected_exit_code`.
    pub field: String,
    /// What was claimed.
    pub claimed: Value,
    /// What was seen.
    pub observed: Value,
}

/// Something for the agent to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What kind.
    pub code: NoticeCode,
    /// One or two sentences.
    pub text: String,
}

/// The kinds of notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// `max_iterations` is near.
    IterationsNear,
    /// `max_iterations` is reached and the calls go on.
    Checkpoint,
    /// More files were changed than `max_files_per_state`.
    FilesExceeded,
    /// `context_budget_bytes` is nearly used.
    ContextBudget,
    /// An interrupt moved the session.
    Interrupted,
    /// A parked transition is no longer valid.
    Stale,
    /// An invoked workflow or a fork failed, and no failure state is there.
    Failed,
    /// A transition could not be completed.
    NotMoved,
    /// Something that makes git run programs was found: the session waits for a person.
    PlantedConfig,
}

/// A way on, as it is offered to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The event.
    pub event: String,
    /// Where it leads; `$return`, and several for branches.
    pub targets: Vec<String>,
    /// What it asks for: `approval`, `guard`, `evidence`, `fork`, `invoke`.
    pub requires: Vec<String>,
}

/// The answer to an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// It is in the journal; there is nothing to say.
    Noted,
    /// The session moved.
    Moved {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// Why.
        #[serde(flatten)]
        cause: Cause,
    },
    /// A person is asked.
    Parked {
        /// The approval's id.
        approval: String,
    },
    /// Something is being done; the answer follows on its result.
    Waiting {
        /// The request's id.
        request: String,
        /// What for.
        on: WaitOn,
    },
    /// The call may start.
    Allowed,
    /// Nothing changed, and why. A call that the policy itself forbade has no reason here.
    Refused(Box<Refusal>),
    /// The policy forbade the call; it is counted.
    Forbidden,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitOn {
    /// Evidence is being gathered.
    Evidence,
    /// Jobs are being ended.
    Jobs,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The session's position.
    pub position: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What the log tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fact")]
pub enum Fact {
    /// The session moved.
    Moved {
        /// The workflow it moved in.
        workflow: String,
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// Why.
        #[serde(flatten)]
        cause: Cause,
        /// What the agent claimed.
        claimed: Value,
    },
    /// An invoked workflow ended.
    Returned {
        /// The workflow.
        workflow: String,
        /// Its last state, or why it was ended.
        end: String,
        /// Whether that is a success.
        success: bool,
    },
    /// Branches began.
    Forked {
        /// Their names.
        branches: Vec<String>,
    },
    /// A branch ended.
    BranchEnded {
        /// Its name.
        name: String,
        /// `done`, or the reason.
        end: String,
    },
    /// A transition or a command waits for a person.
    Parked {
        /// The approval's id.
        approval: String,
        /// The event, or the command.
        what: String,
    },
    /// A person said yes.
    Approved {
        /// The approval's id.
        approval: String,
        /// The channel.
        channel: String,
    },
    /// A person said no.
    Rejected {
        /// The approval's id.
        approval: String,
        /// The channel.
        channel: String,
        /// Why.
        reason: Option<String>,
    },
    /// A parked transition is no longer valid.
    Stale {
        /// The approval's id.
        approval: String,
        /// Why.
        reason: String,
    },
    /// A claim that the facts contradict.
    ClaimMismatch(Mismatch),
    /// Evidence was asked for.
    EvidenceAsked {
        /// The request's id.
        request: String,
        /// The commands.
        commands: Vec<Vec<String>>,
    },
    /// What a run showed.
    Proven {
        /// The run.
        proof: Proof,
    },
    /// An interrupt waits for its turn.
    Queued {
        /// Its name.
        interrupt: String,
        /// The files.
        files: Vec<String>,
    },
    /// A waiting interrupt was given up, because the session ends or is where it leads.
    Dropped {
        /// Its name.
        interrupt: String,
    },
    /// A call was counted and let go.
    Called {
        /// Its id.
        call: String,
        /// The tool.
        tool: String,
    },
    /// Workspace files changed.
    Wrote {
        /// The call; none for somebody else.
        call: Option<String>,
        /// The files.
        files: Vec<String>,
    },
    /// A request was refused; nothing else changed.
    Refused(Refusal),
    /// Jobs are being ended.
    EndingJobs {
        /// Their calls.
        jobs: Vec<String>,
    },
    /// The session is over.
    Stopped {
        /// `natural`, or why.
        reason: String,
    },
}
