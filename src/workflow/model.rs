//! The machine as data: the published workflow format and swbox's additions, with nothing decided yet.

use indexmap::IndexMap;
use serde_json::Value;

/// A workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Its name.
    pub id: String,
    /// The state a session starts in.
    pub initial: String,
    /// The first context; any JSON.
    pub context: Value,
    /// The states in source order.
    pub states: IndexMap<String, State>,
    /// The guards by name.
    pub guards: IndexMap<String, Guard>,
    /// What the file says about itself.
    pub meta: Meta,
    /// Jumps that a written file triggers.
    pub interrupts: IndexMap<String, Interrupt>,
    /// Prefix rules for commands, in force in every state.
    pub rules: Vec<RuleSpec>,
    /// Bounds of a whole run.
    pub limits: RunLimits,
    /// Levels for tools that swbox does not know, or knows otherwise.
    pub tool_levels: IndexMap<String, u8>,
    /// Servers that a gateway starts, as the wrapped form lists them; not interpreted here.
    pub upstream_servers: Vec<Value>,
}

/// What kind of state it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StateKind {
    /// Work happens here.
    #[default]
    Normal,
    /// The end: nothing is allowed.
    Final,
    /// Known to the format; means what `Normal` means.
    Parallel,
}

/// What reaching `max_iterations` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnMax {
    /// A notice on each further call.
    #[default]
    Checkpoint,
    /// Further calls are refused.
    Refuse,
    /// The session goes to its failure state.
    Fail,
}

/// What becomes of a command that a person must say yes to, the laxest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Asking {
    /// It waits for the answer while somebody may be there to give it.
    Ask,
    /// It is refused with the id of the question, and runs when it is repeated after a yes.
    #[default]
    Park,
    /// It is refused; nobody is asked.
    Deny,
}

/// A phase of the work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Its kind (`type` in the file).
    pub kind: StateKind,
    /// Transitions by event, in source order.
    pub on: IndexMap<String, Transition>,
    /// The tools it allows; absent means the default set.
    pub allowed_tools: Option<Vec<String>>,
    /// The tools it takes away; wins over `allowed_tools`.
    pub disallowed_tools: Vec<String>,
    /// Text for the agent.
    pub instructions: Option<String>,
    /// Decided tool calls after which `on_max` applies.
    pub max_iterations: Option<u32>,
    /// What then happens.
    pub on_max: OnMax,
    /// Last resort of event resolution and of the iteration limit.
    pub safe_next: Option<String>,
    /// Lines that one edit may change.
    pub max_edit_lines: Option<u32>,
    /// Files that may be changed in this state.
    pub max_files_per_state: Option<u32>,
    /// Token prefixes of the commands that may run.
    pub allowed_commands: Option<Vec<String>>,
    /// The tool that the list is for.
    pub allowed_commands_tool: Option<String>,
    /// Variables that a command does not get.
    pub blocked_env: Vec<String>,
    /// Variables that a command gets.
    pub env_overrides: IndexMap<String, String>,
    /// Bytes of output after which a warning is given.
    pub context_budget_bytes: Option<u64>,
    /// Advice to the host: the model.
    pub model: Option<String>,
    /// Advice to the host: the thinking level.
    pub thinking_level: Option<String>,
    /// Advice to the host: models by difficulty.
    pub model_ladder: Vec<Value>,
    /// Advice to the host: whether its own model acts.
    pub direct_execution: Option<bool>,
    /// What becomes of a question; the stricter of this and the user's holds.
    pub approvals: Option<Asking>,
    /// What the jail is told.
    pub jail: JailSettings,
}

/// One event's way out of a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Transition {
    /// To one target, written as a string or an object.
    To(Edge),
    /// The first branch whose guards pass.
    Branches(Vec<Edge>),
    /// Child sessions, one a branch.
    Fork(Fork),
    /// A whole workflow as one step.
    Invoke(Invoke),
}

/// Where an edge leads.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// To this state.
    State(String),
    /// `$return`: to where the last interrupt came from.
    Return,
}

impl Target {
    /// The state's name, unless it is the return.
    pub fn state(&self) -> Option<&str> {
        match self {
            Self::State(name) => Some(name),
            Self::Return => None,
        }
    }
}

/// What an edge asks for before it is taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// Guards by name; all must pass.
    pub guards: Vec<String>,
    /// A person's yes.
    pub approval: Option<Approval>,
    /// Facts that swbox observed.
    pub evidence: Vec<Evidence>,
}

impl Conditions {
    /// What they ask for, by name: `approval`, `guard`, `evidence`.
    pub fn names(&self) -> Vec<&'static str> {
        let asked = [
            ("approval", self.approval.is_some()),
            ("guard", !self.guards.is_empty()),
            ("evidence", !self.evidence.is_empty()),
        ];
        asked.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }
}

/// A target with its conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub target: Target,
    /// What it asks for.
    pub conditions: Conditions,
}

/// A person must say yes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approval {
    /// The question.
    pub message: Option<String>,
    /// Who should be asked.
    pub reviewer: Option<String>,
}

/// A fact that swbox must have observed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Evidence {
    /// The exact argv.
    pub command: Vec<String>,
    /// The exit status of the program itself.
    pub exit_code: u8,
    /// Since when it must hold.
    pub since: Since,
    /// The least number of tests, where the reporter is known.
    pub min_tests: Option<u32>,
}

/// How fresh evidence must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// No write since.
    #[default]
    LastWrite,
    /// In this visit of the state.
    StateEntry,
    /// In this session.
    SessionStart,
}

/// Child sessions and their join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The branches by name.
    pub branches: IndexMap<String, Branch>,
    /// When the fork is done.
    pub join: Join,
    /// Where it goes on.
    pub on_complete: Target,
    /// Where it goes when it failed.
    pub on_fail: Option<Target>,
    /// What it asks for.
    pub conditions: Conditions,
}

/// One branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Where the child starts.
    pub initial: String,
    /// The state that ends it.
    pub terminal: String,
}

/// How many branches must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Each.
    #[default]
    All,
    /// One; the others are ended.
    Any,
}

/// Another workflow as one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Invoke {
    /// Its registry name, id or file stem.
    pub workflow: String,
    /// Where it goes on.
    pub on_complete: Target,
    /// Where it goes when the child failed.
    pub on_fail: Option<Target>,
    /// What the child's context starts with.
    pub input: Option<Value>,
    /// Nesting bound.
    pub max_depth: Option<u32>,
    /// Steps that the child may take.
    pub max_child_steps: Option<u32>,
    /// What it asks for.
    pub conditions: Conditions,
}

/// A test on the context.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// A dotted path.
    pub field: String,
    /// The comparison.
    pub op: GuardOp,
    /// What it is compared with.
    pub value: Option<Value>,
    /// Whose word counts.
    pub source: GuardSource,
}

/// The comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardOp {
    /// Equal.
    Eq,
    /// Not equal (false where the field is missing).
    Neq,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Present and not null.
    Exists,
    /// Absent or null.
    NotExists,
    /// One of the values.
    In,
    /// A string that contains the value.
    Contains,
}

/// The fields under `observed`, with what each is: all that a guard can ask swbox for.
pub const OBSERVED: &[(&str, &str)] = &[
    ("exit_code", "status of the command that ended last"),
    ("commands", "commands that ended in this session"),
    ("tests", "tests of the last run whose reporter is known"),
    ("approvals", "transitions of this session that a person approved"),
    ("calls", "decided calls in this visit of the state"),
    ("files", "workspace files changed in this visit"),
    ("files_changed", "how many"),
    ("denials", "operations that the jail denied in this visit"),
    ("visits", "how often this state was entered"),
    ("interrupt", "name and files of the interrupt that is being handled"),
    ("invoked", "the state in which the last invoked workflow ended"),
    ("branches", "how each branch of the last fork ended"),
];

/// Whose word a guard takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuardSource {
    /// The context, which the agent writes.
    #[default]
    Claimed,
    /// Only what swbox observed.
    Observed,
}

/// A jump that a written file triggers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupt {
    /// Globs of workspace paths.
    pub file_patterns: Vec<String>,
    /// Where it leads.
    pub target: String,
}

/// What the file says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// What kind of task.
    pub task_type: Option<String>,
    /// How dangerous the author holds it to be.
    pub danger: Danger,
    /// States that stand for failure, beside `failed`.
    pub failure_states: Vec<String>,
    /// Everything else, as it stands.
    pub extra: serde_json::Map<String, Value>,
}

/// The author's own estimate; it switches validation stages on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Danger {
    /// Nothing to fear.
    #[default]
    Safe,
    /// The ordinary case.
    Moderate,
    /// With care.
    Dangerous,
}

/// What a state tells the jail.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JailSettings {
    /// The profile to use.
    pub profile: Option<String>,
    /// Hosts that may be reached with a network tool; `*` is every host.
    pub network: Option<Vec<String>>,
    /// More trees that may be written.
    pub writable: Vec<String>,
    /// What is copied out of the throw-away layer.
    pub outputs: Vec<String>,
    /// More names that are read-only.
    pub protect: Vec<String>,
    /// Limits of one command.
    pub limits: JailLimits,
    /// What is watched beside the ordinary.
    pub observe: Vec<Observe>,
    /// How opaque commands run in a state without an execute tool.
    pub opaque: Option<OpaqueMode>,
}

/// Limits of one command, as the file gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JailLimits {
    /// Milliseconds of wall clock.
    pub timeout_ms: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Bytes of data segment.
    pub memory: Option<u64>,
    /// Bytes of the largest file.
    pub file_size: Option<u64>,
    /// CPU seconds.
    pub cpu: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
    /// Bytes of the throw-away layer.
    pub scratch: Option<u64>,
    /// Bytes of captured output.
    pub output: Option<u64>,
}

/// What may be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observe {
    /// Denied reads, exactly.
    Reads,
    /// Every system call's true result.
    Trace,
}

/// How an opaque command runs where no execute tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpaqueMode {
    /// With a read-only view and no network.
    ReadOnly,
}

/// Bounds of a whole run; zero or absent is off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunLimits {
    /// Turns of the model.
    pub max_turns: Option<u32>,
    /// Milliseconds of the run.
    pub run_timeout_ms: Option<u64>,
    /// Tokens.
    pub token_budget: Option<u64>,
    /// Equal calls before a reminder.
    pub repeat_remind: Option<u32>,
    /// Further equal calls before the stop.
    pub repeat_stop: Option<u32>,
    /// Turns without progress before a reminder.
    pub stall_window: Option<u32>,
    /// Its text.
    pub stall_text: Option<String>,
    /// Turns between two memory reminders.
    pub memory_interval: Option<u32>,
    /// Its text.
    pub memory_text: Option<String>,
}

/// What a prefix rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Fine.
    Allow,
    /// A person decides.
    Prompt,
    /// Never.
    Forbid,
}

/// A prefix rule as written, with the examples that loading checks.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// The canonical prefix, `*` matching inside a token: `git push`, `npm run *`.
    pub prefix: String,
    /// What it says.
    pub decision: Verdict,
    /// Why; shown in a refusal.
    #[serde(default)]
    pub justification: Option<String>,
    /// Lines that it must match.
    #[serde(default, rename = "match")]
    pub matches: Vec<String>,
    /// Lines that it must not match.
    #[serde(default)]
    pub not_match: Vec<String>,
}

impl Machine {
    /// Whether `name` stands for failure: `failed`, or listed in `meta.failure_states`.
    pub fn is_failure(&self, name: &str) -> bool {
        name == "failed" || self.meta.failure_states.iter().any(|state| state == name)
    }

    /// The state that is gone to where work fails and the file says no more: `failed`, else the first of
    /// `meta.failure_states`. It need not be final.
    pub fn failure_state(&self) -> Option<&str> {
        let listed = self.meta.failure_states.iter().map(String::as_str);
        std::iter::once("failed").chain(listed).find(|name| self.states.contains_key(*name))
    }
}
