//! A session as data: everything that a decision depends on, serialisable, without clock or files.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MAX_PROOFS;
use super::event::{ApprovalScope, BranchEnd, Command, Held, Proof};
use super::library::Workflow;
use crate::workflow::model::{Evidence, Join};
use crate::workflow::{Machine, Target};

/// One run of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// How many events have changed it; what approvals and evidence bind to.
    pub position: u64,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// The workflow that runs now: the root, or the innermost invoked one.
    pub current: Frame,
    /// The workflows that wait for it, the root first.
    pub callers: Vec<Frame>,
    /// Commands that run.
    pub running: Vec<Running>,
    /// Position of the last event that may have changed the workspace; 0 where none did.
    pub last_write: u64,
    /// Runs that may serve as evidence, the newest last.
    pub proofs: Vec<Proof>,
    /// Files changed since the last approval, at most [`MAX_FILES`](super::MAX_FILES) of them.
    pub changed: BTreeSet<String>,
    /// Commands since then of which nobody saw all that they changed.
    #[serde(default, skip_serializing_if = "super::event::is_zero")]
    pub unseen: u32,
    /// What swbox saw.
    pub seen: Seen,
    /// A transition that waits for something.
    pub pending: Option<Pending>,
    /// Commands that wait for a person.
    pub parked: Vec<ParkedCommand>,
    /// Commands that a person approved.
    pub grants: Vec<Grant>,
    /// What a person must look at before anything goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<Alarm>,
    /// Branches that it waits for.
    pub fork: Option<Forked>,
    /// Where it is itself a branch.
    pub branch: Option<BranchOf>,
    /// Set when it is over.
    pub stop: Option<Stop>,
}

/// One workflow of the invocation stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name in the [`Workflow`].
    pub workflow: String,
    /// The state it is in.
    pub state: String,
    /// This visit of the state.
    pub visit: Visit,
    /// How often each state was entered.
    pub visits: BTreeMap<String, u32>,
    /// The context: what the file began with, and what agents claimed since.
    pub context: Value,
    /// The top-level keys of `context` that an agent wrote.
    pub claimed: BTreeSet<String>,
    /// Where interrupts came from, the innermost last.
    pub stack: Vec<Return>,
    /// Interrupts that wait for their turn.
    pub queue: Vec<Queued>,
    /// How it was invoked; none for the root.
    pub call: Option<CallSite>,
}

/// One visit of a state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Visit {
    /// Position of the event that entered it.
    pub entered: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Decided calls.
    pub calls: u32,
    /// Files changed, at most [`MAX_FILES`](super::MAX_FILES) of them.
    pub files: BTreeSet<String>,
    /// Operations that the jail denied.
    pub denials: u32,
    /// Bytes of output that went to the agent.
    pub output: u64,
}

/// Where `$return` goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Return {
    /// The interrupt.
    pub interrupt: String,
    /// The files that fired it.
    pub files: Vec<String>,
    /// The state that it left.
    pub state: String,
    /// The visit that it left.
    pub visit: Visit,
}

/// An interrupt that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Its name.
    pub interrupt: String,
    /// The files.
    pub files: Vec<String>,
    /// The height of the return stack when it came.
    pub height: usize,
}

/// What an invoked workflow goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// Where the caller goes on.
    pub on_complete: Target,
    /// Where it goes when the child failed.
    pub on_fail: Option<Target>,
    /// Transitions taken, in it and in what it invoked.
    pub steps: u32,
    /// Transitions that may be taken.
    pub max_steps: u32,
}

/// A command that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Its rights.
    pub held: Held,
    /// Whether it runs on when its call returns.
    pub background: bool,
    /// Position of its start.
    pub position: u64,
}

/// What swbox saw, over the whole session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Status of the command that ended last.
    pub exit_code: Option<i32>,
    /// Commands that ended.
    pub commands: u64,
    /// Tests of the last run whose reporter is known.
    pub tests: Option<u32>,
    /// Transitions that a person approved.
    pub approvals: u64,
    /// The state in which the last invoked workflow ended.
    pub invoked: Option<String>,
    /// How each branch of the last fork ended: `done`, or the reason.
    pub branches: BTreeMap<String, String>,
}

/// A transition that waits for evidence, a person or the end of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Id of the request or approval.
    pub id: String,
    /// Position at which it began to wait.
    pub position: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The state that it leaves.
    pub from: String,
    /// Where it leads.
    pub to: Destination,
    /// Why.
    pub cause: Cause,
    /// What the agent claims.
    pub data: Value,
    /// Fingerprint of the tree when it began to wait.
    pub tree: Option<String>,
    /// What for.
    pub wait: Wait,
}

/// What a pending transition waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum Wait {
    /// Commands that swbox runs.
    Evidence {
        /// What is asked for.
        required: Vec<Evidence>,
    },
    /// A person.
    Approval {
        /// The question.
        message: Option<String>,
        /// Who should be asked.
        reviewer: Option<String>,
        /// Until when it can be answered, in milliseconds since 1970.
        until: u64,
    },
    /// The end of jobs that would exceed the target's rights.
    Jobs {
        /// Their calls.
        jobs: Vec<String>,
    },
}

/// Where a move leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "way", content = "to")]
pub enum Destination {
    /// To a state of the same workflow.
    State(String),
    /// Back to where the last interrupt came from.
    Return,
    /// Into the branches of the event's fork.
    Fork,
    /// Into this workflow.
    Invoke(String),
}

/// Why a session moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum Cause {
    /// An agent's event.
    Event {
        /// The event's name in the file.
        event: String,
        /// Which branch, where it has several.
        branch: Option<usize>,
    },
    /// An interrupt.
    Interrupt {
        /// Its name.
        interrupt: String,
        /// The files that fired it.
        files: Vec<String>,
    },
    /// The iteration limit.
    Limit,
    /// The branches of a fork ended.
    Join,
    /// A person.
    Force {
        /// The channel.
        channel: String,
        /// Why.
        reason: String,
    },
}

/// A command that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedCommand {
    /// The approval's id.
    pub id: String,
    /// What it binds to.
    pub command: Command,
    /// The state it was asked in.
    pub state: String,
    /// Until when it can be answered, in milliseconds since 1970.
    pub until: u64,
}

/// Something that makes git run programs was left in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    /// The approval's id.
    pub id: String,
    /// What was found: file and setting.
    pub planted: Vec<String>,
}

/// A command that a person approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What was approved.
    pub command: Command,
    /// The state it holds in.
    pub state: String,
    /// How far it reaches.
    pub scope: ApprovalScope,
    /// Until when it holds, in milliseconds since 1970.
    pub until: u64,
}

/// Branches that a session waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The event that forked.
    pub event: String,
    /// The branches by name: the child's session, and how it ended.
    pub branches: BTreeMap<String, Child>,
    /// How many must end well.
    pub join: Join,
    /// Where it goes on.
    pub on_complete: Target,
    /// Where it goes when it failed.
    pub on_fail: Option<Target>,
}

/// A child session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Child {
    /// Its id.
    pub session: String,
    /// How it ended.
    pub end: Option<BranchEnd>,
}

/// Whose branch a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchOf {
    /// The parent's session.
    pub parent: String,
    /// The branch's name.
    pub name: String,
    /// The state that ends it.
    pub terminal: String,
}

/// Why a session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// `natural` for a final state, else the reason of the event or limit.
    pub reason: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl Session {
    /// A session at the beginning of `workflow`.
    pub fn start(workflow: &Workflow, id: impl Into<String>, at: u64) -> Self {
        let mut current = Frame::new(workflow.root_name(), workflow.root(), None);
        current.enter(&workflow.root().initial, 0, at);
        Self {
            id: id.into(),
            position: 0,
            started: at,
            current,
            callers: Vec::new(),
            running: Vec::new(),
            last_write: 0,
            proofs: Vec::new(),
            changed: BTreeSet::new(),
            unseen: 0,
            seen: Seen::default(),
            pending: None,
            parked: Vec::new(),
            grants: Vec::new(),
            alarm: None,
            fork: None,
            branch: None,
            stop: None,
        }
    }

    /// The session of one branch of the fork that `parent` waits for: its own visits, files and rights, a copy of the
    /// parent's context. None where the parent has no such branch.
    pub fn branch(workflow: &Workflow, parent: &Self, name: &str, at: u64) -> Option<Self> {
        let forked = parent.fork.as_ref()?;
        let child = forked.branches.get(name)?;
        let machine = workflow.machine(&parent.current.workflow)?;
        let branch =
            super::fork::declared(machine, &parent.current.state, &forked.event)?.branches.get(name)?;
        let mut session = Self::start(workflow, child.session.clone(), at);
        session.current = Frame::new(&parent.current.workflow, machine, None);
        session.current.context = parent.current.context.clone();
        session.current.claimed = parent.current.claimed.clone();
        session.current.enter(&branch.initial, 0, at);
        session.branch = Some(BranchOf {
            parent: parent.id.clone(),
            name: name.to_owned(),
            terminal: branch.terminal.clone(),
        });
        Some(session)
    }

    /// The state it is in.
    pub fn state(&self) -> &str {
        &self.current.state
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    /// What a branch's session reports to its parent once it is over.
    pub fn branch_end(&self) -> Option<BranchEnd> {
        let (of, stop) = (self.branch.as_ref()?, self.stop.as_ref()?);
        Some(if self.callers.is_empty() && self.current.state == of.terminal {
            BranchEnd::Done { output: self.current.context.get("output").cloned() }
        } else if stop.reason == "natural" {
            BranchEnd::Failed { reason: self.current.state.clone() }
        } else {
            BranchEnd::Failed { reason: stop.reason.clone() }
        })
    }

    /// Keeps a run as possible evidence.
    pub(super) fn keep_proof(&mut self, proof: Proof) {
        if self.proofs.len() >= MAX_PROOFS {
            self.proofs.remove(0);
        }
        self.proofs.push(proof);
    }
}

impl Frame {
    /// A workflow that has not begun.
    pub(super) fn new(name: &str, machine: &Machine, call: Option<CallSite>) -> Self {
        Self {
            workflow: name.to_owned(),
            state: String::new(),
            visit: Visit::default(),
            visits: BTreeMap::new(),
            context: machine.context.clone(),
            claimed: BTreeSet::new(),
            stack: Vec::new(),
            queue: Vec::new(),
            call,
        }
    }

    /// Begins a visit.
    pub(super) fn enter(&mut self, state: &str, position: u64, at: u64) {
        state.clone_into(&mut self.state);
        self.visit = Visit { entered: position, at, ..Visit::default() };
        let visits = self.visits.entry(state.to_owned()).or_default();
        *visits = visits.saturating_add(1);
    }

    /// Goes back to where the last interrupt came from; false where none did.
    pub(super) fn pop(&mut self) -> bool {
        let Some(back) = self.stack.pop() else { return false };
        self.state = back.state;
        self.visit = back.visit;
        true
    }

    /// Takes over what an agent claims.
    pub(super) fn merge(&mut self, data: &Value) {
        let Value::Object(data) = data else { return };
        if data.is_empty() {
            return;
        }
        if !self.context.is_object() {
            self.context = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(context) = &mut self.context {
            for (key, value) in data {
                self.claimed.insert(key.clone());
                context.insert(key.clone(), value.clone());
            }
        }
    }
}
