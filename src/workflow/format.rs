//! The keys of the file format, as one table: what the reader takes for known, and what the JSON Schema says.
//!
//! Danger: a key that is only in one of the two would be flagged by an editor and read, or the other way round; there
//! is no second list.

/// One key of an object of the format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// As it is written.
    pub(super) name: &'static str,
    /// What stands there.
    pub(super) shape: Shape,
    /// Whether it must be there.
    pub(super) required: bool,
    /// What it means, in a sentence.
    pub(super) about: &'static str,
}

/// What may stand at a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any JSON.
    Any,
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to this.
    Whole(u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Seconds, or a text with a unit of time.
    Time,
    /// Bytes, or a text with a unit of size.
    Size,
    /// A variable's value.
    Value,
    /// One of the objects in [`OBJECTS`], or of the other definitions.
    Ref(&'static str),
    /// A list.
    List(&'static Shape),
    /// One, or a list.
    OneOrMany(&'static Shape),
    /// An object with any keys.
    Map(&'static Shape),
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: false, about }
}

const fn must(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: true, about }
}

const U32: Shape = Shape::Whole(u32::MAX as u64);
const U64: Shape = Shape::Whole(u64::MAX);
const TEXTS: Shape = Shape::List(&Shape::Text);
const TEXT_OR_TEXTS: Shape = Shape::OneOrMany(&Shape::Text);

/// The machine.
pub(super) const MACHINE: &[Key] = &[
    must("id", Shape::Text, "The workflow's name."),
    must("initial", Shape::Text, "The state where a session starts."),
    must("states", Shape::Map(&Shape::Ref("state")), "The states by name."),
    key("context", Shape::Any, "The first context: what guards look at, any JSON."),
    key("guards", Shape::Map(&Shape::Ref("guard")), "Named tests on the context, or on what swbox saw."),
    key("meta", Shape::Ref("meta"), "What the file says about itself."),
    key("interrupts", Shape::Map(&Shape::Ref("interrupt")), "Jumps that a written file triggers."),
    key("rules", Shape::List(&Shape::Ref("rule")), "Prefix rules for commands, in force in every state."),
    key("limits", Shape::Ref("limits"), "Bounds of a whole run."),
    key(
        "tool_levels",
        Shape::Map(&Shape::Whole(4)),
        "Levels for tools that swbox does not know: 0 read, 1 write, 2 execute, 3 change a repository, 4 act outside.",
    ),
    key("upstream_servers", Shape::List(&Shape::Any), "MCP servers that a gateway starts."),
];

/// A state.
pub(super) const STATE: &[Key] = &[
    key("type", Shape::Word(&["final", "parallel", "normal"]), "`final`: the end, where nothing is allowed."),
    key("on", Shape::Map(&Shape::Ref("transition")), "Transitions by event."),
    key("allowed_tools", TEXTS, "The tools it allows; absent means the default ones."),
    key("disallowed_tools", TEXTS, "Tools taken away, whatever else allows them."),
    key("instructions", Shape::Text, "Text for the agent."),
    key("max_iterations", U32, "Decided tool calls in one visit before `on_max` applies."),
    key(
        "on_max",
        Shape::Word(&["checkpoint", "refuse", "fail"]),
        "What happens then: a notice (the default), a refusal, or the failure state.",
    ),
    key(
        "approvals",
        Shape::Word(&["ask", "park", "deny"]),
        "What becomes of a command that a person must say yes to: waited for, refused with an id, or refused. The stricter of this and the user's word holds.",
    ),
    key("safe_next", Shape::Text, "The state for an event that nothing matches, over an existing edge."),
    key("max_edit_lines", U32, "Lines that one edit may change."),
    key("max_files_per_state", U32, "Files that may be changed in one visit."),
    key("allowed_commands", TEXTS, "How the commands may begin, word by word; `*` matches inside a word."),
    key("allowed_commands_tool", Shape::Text, "Read for the sake of the format."),
    key("blocked_env", TEXTS, "Variables that a command does not get; `NAME*` for a beginning."),
    key("deny_env", TEXTS, "The same as `blocked_env`."),
    key("env_overrides", Shape::Map(&Shape::Value), "Variables that a command gets."),
    key("env", Shape::Map(&Shape::Value), "The same as `env_overrides`."),
    key("context_budget_bytes", U64, "Bytes of output in one visit; a warning at nine tenths."),
    key("model", Shape::Text, "Advice to the host: the model."),
    key("thinking_level", Shape::Text, "Advice to the host: the thinking level."),
    key("model_ladder", Shape::List(&Shape::Any), "Advice to the host: models by difficulty."),
    key("direct_execution", Shape::Flag, "Advice to the host: whether its own model acts."),
    key("jail", Shape::Ref("jail"), "What the jail is told."),
];

/// What every form of a transition may ask for.
pub(super) const CONDITIONS: &[Key] = &[
    key("guard", TEXT_OR_TEXTS, "A guard that must hold."),
    key("guards", TEXT_OR_TEXTS, "Guards that must all hold."),
    key("requires_approval", Shape::Flag, "Whether a person must say yes."),
    key("approval_message", Shape::Text, "The question to the person."),
    key("approval_reviewer", Shape::Text, "Who should be asked."),
    key("evidence", Shape::OneOrMany(&Shape::Ref("evidence")), "Facts that swbox itself must have observed."),
];

/// A transition to one target.
pub(super) const EDGE: &[Key] =
    &[must("target", Shape::Text, "The state it leads to, or `$return`: to where an interrupt came from.")];

/// A transition into another workflow.
pub(super) const INVOKE: &[Key] = &[
    must("invoke", Shape::Text, "The workflow that is run as one step."),
    must("on_complete", Shape::Text, "The state it leads to when that ended well."),
    key("on_fail", Shape::Text, "The state it leads to otherwise."),
    key("input", Shape::Any, "What the invoked workflow's context starts with."),
    key("max_depth", U32, "How deep invocations may nest; 8 by default."),
    key("max_child_steps", U32, "Transitions that the invoked workflow may take; 100 by default."),
];

/// A transition into branches.
pub(super) const FORKING: &[Key] = &[must("fork", Shape::Ref("fork"), "Child sessions and their join.")];

/// Branches and their join.
pub(super) const FORK: &[Key] = &[
    must("branches", Shape::Map(&Shape::Ref("branch")), "One to eight branches by name."),
    key("join", Shape::Word(&["all", "any"]), "How many must end well."),
    must("on_complete", Shape::Text, "The state it goes on in."),
    key("on_fail", Shape::Text, "The state it goes to otherwise."),
];

/// A branch.
pub(super) const BRANCH: &[Key] = &[
    must("initial", Shape::Text, "The state where it starts."),
    must("terminal", Shape::Text, "The state that ends it."),
];

/// Evidence.
pub(super) const EVIDENCE: &[Key] = &[
    must("command", TEXT_OR_TEXTS, "One plain command, as a text or as a list of its words."),
    key("exit_code", Shape::Whole(u8::MAX as u64), "The program's own exit status; 0 by default."),
    key(
        "since",
        Shape::Word(&["last_write", "state_entry", "session_start"]),
        "How fresh it must be; `last_write` by default.",
    ),
    key("min_tests", U32, "The least number of tests, where the reporter is known."),
];

/// A guard.
pub(super) const GUARD: &[Key] = &[
    must("field", Shape::Text, "A dotted path."),
    must(
        "op",
        Shape::Word(&["eq", "neq", "gt", "gte", "lt", "lte", "exists", "not_exists", "in", "contains"]),
        "The comparison; a missing field fails all but `not_exists`.",
    ),
    key("value", Shape::Any, "What it is compared with; needed by all but `exists` and `not_exists`."),
    key(
        "source",
        Shape::Word(&["claimed", "observed"]),
        "Whose word counts: the context, which the agent writes, or what swbox saw.",
    ),
];

/// An interrupt.
pub(super) const INTERRUPT: &[Key] = &[
    must("trigger", Shape::Ref("trigger"), "What fires it."),
    must("target", Shape::Text, "The state it leads to."),
];

/// What fires an interrupt.
pub(super) const TRIGGER: &[Key] = &[must(
    "file_pattern",
    TEXT_OR_TEXTS,
    "Globs of workspace paths; one without `/` is about names in any directory.",
)];

/// What the file says about itself; other keys are free.
pub(super) const META: &[Key] = &[
    key("task_type", Shape::Text, "What kind of task it is."),
    key(
        "danger_level",
        Shape::Word(&["safe", "moderate", "dangerous"]),
        "How dangerous it is; more checks apply to `moderate` and `dangerous`.",
    ),
    key("failure_states", TEXTS, "Final states that stand for failure, beside `failed`."),
];

/// What the jail is told.
pub(super) const JAIL: &[Key] = &[
    key("profile", Shape::Text, "The profile to use."),
    key("network", Shape::Ref("network"), "Hosts that may be reached with a network tool; `*` for all."),
    key("writable", TEXTS, "More trees that may be written."),
    key("outputs", TEXTS, "What is copied out of the throw-away layer."),
    key("protect", TEXTS, "More names that are read-only."),
    key("limits", Shape::Ref("jail_limits"), "Limits of one command."),
    key("observe", Shape::OneOrMany(&Shape::Word(&["reads", "trace"])), "What is watched more closely."),
    key("opaque", Shape::Word(&["read_only"]), "How opaque commands run where no execute tool is."),
];

/// Hosts, in the longer form.
pub(super) const NETWORK: &[Key] = &[key("hosts", TEXT_OR_TEXTS, "The hosts.")];

/// Limits of one command.
pub(super) const JAIL_LIMITS: &[Key] = &[
    key("timeout", Shape::Time, "Wall clock."),
    key("processes", U64, "Processes and threads."),
    key("memory", Shape::Size, "Data segment."),
    key("file_size", Shape::Size, "The largest file."),
    key("cpu", Shape::Time, "CPU time."),
    key("open_files", U64, "Open files."),
    key("scratch", Shape::Size, "The throw-away layer."),
    key("output", Shape::Size, "Captured output."),
];

/// Bounds of a whole run; 0 is off.
pub(super) const LIMITS: &[Key] = &[
    key("max_turns", U32, "Turns of the model."),
    key("run_timeout", Shape::Time, "Wall clock."),
    key("token_budget", U64, "Tokens."),
    key("repeat", Shape::Ref("repeat"), "Equal calls."),
    key("stall_window", U32, "Turns without progress before a reminder."),
    key("stall_text", Shape::Text, "Its text."),
    key("memory_interval", U32, "Turns between two memory reminders."),
    key("memory_text", Shape::Text, "Its text."),
];

/// Equal calls.
pub(super) const REPEAT: &[Key] = &[
    key("remind", U32, "Equal calls before a reminder."),
    key("stop", U32, "Further equal calls before the end."),
];

/// A prefix rule.
pub(super) const RULE: &[Key] = &[
    must("prefix", Shape::Text, "The beginning of a command: `git push`, `npm run *`."),
    must("decision", Shape::Word(&["allow", "prompt", "forbid", "forbidden"]), "What it says."),
    key("justification", Shape::Text, "Why; shown with a refusal."),
    key("match", TEXTS, "Lines that it must match."),
    key("not_match", TEXTS, "Lines that it must not match."),
];

/// An object of the format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Its name among the schema's definitions.
    pub(super) name: &'static str,
    /// Its keys.
    pub(super) keys: &'static [&'static [Key]],
    /// Whether other keys are free.
    pub(super) open: bool,
}

const fn object(name: &'static str, keys: &'static [&'static [Key]]) -> Object {
    Object { name, keys, open: false }
}

/// Every object of the format.
pub(super) const OBJECTS: &[Object] = &[
    object("machine", &[MACHINE]),
    object("state", &[STATE]),
    object("edge", &[EDGE, CONDITIONS]),
    object("invoke", &[INVOKE, CONDITIONS]),
    object("forking", &[FORKING, CONDITIONS]),
    object("fork", &[FORK]),
    object("branch", &[BRANCH]),
    object("evidence", &[EVIDENCE]),
    object("guard", &[GUARD]),
    object("interrupt", &[INTERRUPT]),
    object("trigger", &[TRIGGER]),
    Object { name: "meta", keys: &[META], open: true },
    object("jail", &[JAIL]),
    object("hosts", &[NETWORK]),
    object("jail_limits", &[JAIL_LIMITS]),
    object("limits", &[LIMITS]),
    object("repeat", &[REPEAT]),
    object("rule", &[RULE]),
];
