//! What happens to a session, as data. Agents cause [`What::Transition`] and [`What::Call`]; persons cause
//! [`What::Approve`], [`What::Reject`], [`What::Force`] and [`What::End`]; everything else is what swbox itself saw.
//! Who is who is settled before an event is made: the engine believes the kind of an event.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::{Decision, NetworkRight, Rights, WorkspaceRight};

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Milliseconds since 1970, from the caller's clock.
    pub at: u64,
    /// A fresh id, unique in the journal. What the event creates (an approval, a request, a child session) is named
    /// by it.
    pub id: String,
    /// What happened.
    pub what: What,
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum What {
    /// An agent asks for a transition.
    Transition(Transition),
    /// A tool call was decided by the policy and is about to start.
    Call(Call),
    /// A tool call ended.
    Ended(Ended),
    /// A running job touched files; [`What::Ended`] need not name them again.
    Touched {
        /// The job.
        call: String,
        /// The files.
        touched: Vec<Touch>,
    },
    /// Somebody else changed the workspace: another session, an editor.
    ForeignWrite {
        /// Workspace paths, as far as known.
        paths: Vec<String>,
    },
    /// The commands of [`Effect::RunEvidence`](super::Effect::RunEvidence) were run.
    Evidence(Results),
    /// [`Effect::KillJobs`](super::Effect::KillJobs) was done.
    JobsEnded {
        /// The request's id.
        request: String,
        /// Jobs that would not end.
        survivors: Vec<String>,
    },
    /// A person said yes.
    Approve(Answer),
    /// A person said no.
    Reject(Answer),
    /// A branch of a fork ended.
    Branch(Branch),
    /// A person moves the session, past every condition.
    Force(Force),
    /// The session is over: a person's word, a limit, a harness that is gone.
    End {
        /// A stable word: `person`, `max_turns`, `run_timeout`, `harness_gone` ….
        reason: String,
    },
}

/// A request for a transition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Transition {
    /// The event's text as the agent gave it.
    pub event: String,
    /// The state that the agent believes to be in; another one is refused.
    #[serde(default)]
    pub from: Option<String>,
    /// What the agent claims: an object, or null.
    #[serde(default)]
    pub data: Value,
    /// Fingerprint of the workspace tree now, where it was taken.
    #[serde(default)]
    pub tree: Option<String>,
    /// Whether a subagent asks, who may not.
    #[serde(default)]
    pub subagent: bool,
    /// Whether nobody is there to be asked: an edge that needs a person is then refused at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

/// What a running command may do; from its [`Rights`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Workspace files.
    pub workspace: WorkspaceRight,
    /// Git directories.
    pub git_write: bool,
    /// Network.
    pub network: NetworkRight,
}

impl From<&Rights> for Held {
    fn from(rights: &Rights) -> Self {
        Self { workspace: rights.workspace, git_write: rights.git_write, network: rights.network.clone() }
    }
}

/// An edit by a native tool, known before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Workspace path of the file.
    pub path: String,
    /// The greater of lines removed and lines written.
    pub lines: u32,
}

/// What an approval of a command binds to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Digest of the exact bytes and the directory.
    pub key: String,
    /// The canonical prefix that may be remembered for the session; none for opaque lines, wrappers, interpreters.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The command as it is shown.
    pub shown: String,
}

/// What a person must see of a command that asks, beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Question {
    /// What runs, in order.
    pub parts: Vec<Part>,
    /// Why it asks, a sentence each.
    pub reasons: Vec<String>,
    /// What cannot be seen from its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
    /// Where it would start.
    pub cwd: String,
    /// The beginning that a rule of the user could allow for good; none where none may or would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

/// One simple command of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// Its words.
    pub words: String,
    /// What it does: class and subject, each once.
    pub does: Vec<String>,
}

/// A decided tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its id; [`Ended`] names it.
    pub call: String,
    /// The tool, as the harness names it.
    pub tool: String,
    /// What the policy said.
    pub decision: Decision,
    /// Whether it counts for `max_iterations`: not session tools, state queries and syntax refusals.
    pub counts: bool,
    /// Whether it could change workspace files that stay.
    pub writes: bool,
    /// A native edit.
    #[serde(default)]
    pub edit: Option<Edit>,
    /// What an approval would bind to, where the decision is prompt.
    #[serde(default)]
    pub command: Option<Command>,
    /// What a person is shown of it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<Question>>,
    /// Its rights, where it runs in the jail: it is then a running command until [`Ended`].
    #[serde(default)]
    pub held: Option<Held>,
    /// Whether it runs on when its call returns.
    #[serde(default)]
    pub background: bool,
}

/// A file that was created, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// Path relative to the workspace, with `/`.
    pub path: String,
    /// Whether the change stays; in a throw-away layer it does not.
    pub kept: bool,
}

/// A program's own exit status, seen under the rules of evidence: exactly this argv as its own line, in the workspace
/// root, without tool-steering variables, the program from a read-only directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The argv.
    pub command: Vec<String>,
    /// The program's own status.
    pub exit_code: u8,
    /// How many tests ran, where the reporter is known.
    #[serde(default)]
    pub tests: Option<u32>,
    /// Fingerprint of the tree that was tested.
    #[serde(default)]
    pub tree: Option<String>,
    /// Tool configuration that this session changed (`.cargo/config.toml`, `conftest.py` …).
    #[serde(default)]
    pub configuration: Vec<String>,
    /// Journal position of its start; the engine sets it.
    #[serde(default)]
    pub position: u64,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ended {
    /// The call.
    pub call: String,
    /// Its exit status; none for a native tool, or where it is unknown.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// Whether its end was not seen: it counts as a write and voids evidence.
    #[serde(default)]
    pub lost: bool,
    /// The files it touched.
    #[serde(default)]
    pub touched: Vec<Touch>,
    /// Operations that the jail denied.
    #[serde(default)]
    pub denials: u32,
    /// Bytes of output that went to the agent.
    #[serde(default)]
    pub output: u64,
    /// What it proves.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// What it left in the workspace that makes git run programs: file and setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
}

/// Answer to a request for evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The request's id.
    pub request: String,
    /// What was seen.
    pub proofs: Vec<Proof>,
    /// What the runs left in the workspace that makes git run programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
    /// Operations that the jail denied them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denials: u32,
    /// Fingerprint of the tree afterwards.
    #[serde(default)]
    pub tree: Option<String>,
}

/// Journals from before a count was kept are read and written as they are.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(super) const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How far a person's yes to a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// Once, within [`APPROVED_FOR`](super::APPROVED_FOR).
    #[default]
    Once,
    /// Every command with the same canonical prefix, in this state and session.
    Session,
    /// Once, and by a rule of the user from then on.
    Always,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The approval's id.
    pub approval: String,
    /// The channel it came through; the journal names it.
    pub channel: String,
    /// Why; asked for with a rejection.
    #[serde(default)]
    pub reason: Option<String>,
    /// How far it reaches, for a command.
    #[serde(default)]
    pub scope: ApprovalScope,
    /// Fingerprint of the workspace tree now, where it was taken.
    #[serde(default)]
    pub tree: Option<String>,
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum BranchEnd {
    /// It reached its terminal state.
    Done {
        /// The child's `context.output`.
        output: Option<Value>,
    },
    /// It ended otherwise.
    Failed {
        /// How: a state, or a reason.
        reason: String,
    },
}

/// A branch's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Its session.
    pub session: String,
    /// How it ended.
    #[serde(flatten)]
    pub end: BranchEnd,
}

/// A person's move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Force {
    /// The state to go to.
    pub to: String,
    /// The channel it came through.
    pub channel: String,
    /// Why.
    pub reason: String,
}
