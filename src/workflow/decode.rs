//! A JSON tree to a [`Machine`]: one function a part of the format, one list of known keys each.

use serde_json::Value;

use super::finding::Finding;
use super::format;
use super::model::*;
use super::read::{Object, Reader};
use super::span::{Kind, Node, Path};

const TIME: [(&str, u64); 4] = [("s", 1000), ("ms", 1), ("m", 60_000), ("h", 3_600_000)];
const SIZE: [(&str, u64); 7] =
    [("M", 1 << 20), ("", 1), ("B", 1), ("K", 1 << 10), ("MiB", 1 << 20), ("G", 1 << 30), ("GiB", 1 << 30)];

/// The machine as far as it can be read; what is wrong is in `reader`.
pub(super) fn machine(reader: &mut Reader, node: &Node) -> Option<Machine> {
    let object = reader.object(node, &Path::root(), &[format::MACHINE])?;
    let id = reader.required(&object, "id");
    let initial = reader.required(&object, "initial");
    if object.get("states").is_none() {
        reader.error("missing_key", &object.path, "`states` is missing");
    }
    let states = reader.map(&object, &["states"], state);
    let guards = reader.map(&object, &["guards"], guard);
    let interrupts = reader.map(&object, &["interrupts"], interrupt);
    let meta = object.get("meta").and_then(|(node, path)| meta(reader, node, &path)).unwrap_or_default();
    let tool_levels = reader.map(&object, &["tool_levels"], level);
    let rules = match object.get("rules") {
        None => Vec::new(),
        Some((node, path)) => {
            let items = reader.items(node, &path);
            items.iter().enumerate().filter_map(|(at, item)| rule(reader, item, &path.index(at))).collect()
        }
    };
    let limits = object.get("limits").and_then(|(node, path)| run_limits(reader, node, &path));
    let upstream_servers = match object.get("upstream_servers") {
        None => Vec::new(),
        Some((node, path)) => reader.items(node, &path).iter().map(Node::to_value).collect(),
    };
    Some(Machine {
        id: id?,
        initial: initial?,
        context: object
            .get("context")
            .map_or_else(|| Value::Object(Default::default()), |(node, _)| node.to_value()),
        states,
        guards,
        meta,
        interrupts,
        rules,
        limits: limits.unwrap_or_default(),
        tool_levels,
        upstream_servers,
    })
}

fn state(reader: &mut Reader, node: &Node, path: &Path) -> Option<State> {
    let object = reader.object(node, path, &[format::STATE])?;
    let kinds =
        [("final", StateKind::Final), ("parallel", StateKind::Parallel), ("normal", StateKind::Normal)];
    let max = [("checkpoint", OnMax::Checkpoint), ("refuse", OnMax::Refuse), ("fail", OnMax::Fail)];
    let approvals = [("ask", Asking::Ask), ("park", Asking::Park), ("deny", Asking::Deny)];
    Some(State {
        kind: reader.word(&object, "type", &kinds).unwrap_or_default(),
        on: reader.map(&object, &["on"], transition),
        allowed_tools: reader.strings(&object, &["allowed_tools"]),
        disallowed_tools: reader.strings(&object, &["disallowed_tools"]).unwrap_or_default(),
        instructions: reader.string(&object, "instructions"),
        max_iterations: reader.count(&object, "max_iterations"),
        on_max: reader.word(&object, "on_max", &max).unwrap_or_default(),
        approvals: reader.word(&object, "approvals", &approvals),
        safe_next: reader.string(&object, "safe_next"),
        max_edit_lines: reader.count(&object, "max_edit_lines"),
        max_files_per_state: reader.count(&object, "max_files_per_state"),
        allowed_commands: reader.strings(&object, &["allowed_commands"]),
        allowed_commands_tool: reader.string(&object, "allowed_commands_tool"),
        blocked_env: reader.strings(&object, &["blocked_env", "deny_env"]).unwrap_or_default(),
        env_overrides: reader.map(&object, &["env_overrides", "env"], |reader, node, path| {
            match &node.kind {
                Kind::Number(number) => Some(number.to_string()),
                Kind::Bool(value) => Some(value.to_string()),
                Kind::String(_) | Kind::Null | Kind::Array(_) | Kind::Object(_) => reader.text(node, path),
            }
        }),
        context_budget_bytes: reader.count(&object, "context_budget_bytes"),
        model: reader.string(&object, "model"),
        thinking_level: reader.string(&object, "thinking_level"),
        model_ladder: match object.get("model_ladder") {
            None => Vec::new(),
            Some((node, path)) => reader.items(node, &path).iter().map(Node::to_value).collect(),
        },
        direct_execution: reader.flag(&object, "direct_execution"),
        jail: object.get("jail").and_then(|(node, path)| jail(reader, node, &path)).unwrap_or_default(),
    })
}

fn target(text: String) -> Target {
    if text == "$return" { Target::Return } else { Target::State(text) }
}

fn transition(reader: &mut Reader, node: &Node, path: &Path) -> Option<Transition> {
    match &node.kind {
        Kind::String(text) => {
            Some(Transition::To(Edge { target: target(text.clone()), conditions: Conditions::default() }))
        }
        Kind::Array(items) => {
            if items.is_empty() {
                reader.error("empty_branches", path, "a list of branches needs at least one branch");
            }
            let each = |(at, item): (usize, &Node)| edge(reader, item, &path.index(at));
            Some(Transition::Branches(items.iter().enumerate().filter_map(each).collect()))
        }
        Kind::Object(_) if node.get("fork").is_some() => fork(reader, node, path).map(Transition::Fork),
        Kind::Object(_) if node.get("invoke").is_some() => invoke(reader, node, path).map(Transition::Invoke),
        Kind::Object(_) => edge(reader, node, path).map(Transition::To),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {
            reader.wrong_type(node, path, "a target, an object, or an array of branches");
            None
        }
    }
}

fn edge(reader: &mut Reader, node: &Node, path: &Path) -> Option<Edge> {
    if let Kind::String(text) = &node.kind {
        return Some(Edge { target: target(text.clone()), conditions: Conditions::default() });
    }
    let object = reader.object(node, path, &[format::EDGE, format::CONDITIONS])?;
    let conditions = conditions(reader, &object);
    let text = reader.required(&object, "target")?;
    Some(Edge { target: target(text), conditions })
}

fn conditions(reader: &mut Reader, object: &Object<'_>) -> Conditions {
    let mut guards = reader.one_or_many(object, "guard").unwrap_or_default();
    guards.extend(reader.one_or_many(object, "guards").unwrap_or_default());
    let asks = reader.flag(object, "requires_approval").unwrap_or(false);
    let message = reader.string(object, "approval_message");
    let reviewer = reader.string(object, "approval_reviewer");
    if !asks && (message.is_some() || reviewer.is_some()) {
        let text = "there is a question to a person, but no `requires_approval`: nobody is asked";
        let finding = Finding::advice("approval_not_required", object.path.clone(), text);
        reader.findings.push(finding.help("add `\"requires_approval\": true`, or remove the question"));
    }
    let approval = asks.then_some(Approval { message, reviewer });
    let evidence = match object.get("evidence") {
        None => Vec::new(),
        Some((node, path)) => match &node.kind {
            Kind::Array(items) => {
                let each = |(at, item): (usize, &Node)| evidence(reader, item, &path.index(at));
                items.iter().enumerate().filter_map(each).collect()
            }
            Kind::Object(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {
                evidence(reader, node, &path).into_iter().collect()
            }
        },
    };
    Conditions { guards, approval, evidence }
}

fn evidence(reader: &mut Reader, node: &Node, path: &Path) -> Option<Evidence> {
    let object = reader.object(node, path, &[format::EVIDENCE])?;
    let since = [
        ("last_write", Since::LastWrite),
        ("state_entry", Since::StateEntry),
        ("session_start", Since::SessionStart),
    ];
    let (command, at) = match object.get("command") {
        Some(found) => found,
        None => {
            reader.error("missing_key", path, "`command` is missing");
            return None;
        }
    };
    let argv = match &command.kind {
        Kind::String(text) => shell_words::split(text).unwrap_or_default(),
        Kind::Array(_) => reader.strings(&object, &["command"]).unwrap_or_default(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Object(_) => {
            reader.wrong_type(command, &at, "a command as a string or an array of words");
            return None;
        }
    };
    let operator = |word: &String| matches!(word.as_str(), "&&" | "||" | "|" | ";" | "&" | ">" | ">>" | "<");
    if argv.is_empty() || matches!(command.kind, Kind::String(_)) && argv.iter().any(operator) {
        reader.error("bad_command", &at, "not one plain command: evidence is the exit status of one program");
    }
    Some(Evidence {
        command: argv,
        exit_code: reader.count(&object, "exit_code").unwrap_or(0),
        since: reader.word(&object, "since", &since).unwrap_or_default(),
        min_tests: reader.count(&object, "min_tests"),
    })
}

fn fork(reader: &mut Reader, node: &Node, path: &Path) -> Option<Fork> {
    let outer = reader.object(node, path, &[format::FORKING, format::CONDITIONS])?;
    let Some((inner, inner_path)) = outer.get("fork") else {
        reader.error("missing_key", path, "`fork` is missing");
        return None;
    };
    let object = reader.object(inner, &inner_path, &[format::FORK])?;
    if object.get("branches").is_none() {
        reader.error("missing_key", &object.path, "`branches` is missing");
    }
    let branches = reader.map(&object, &["branches"], |reader, node, path| {
        let object = reader.object(node, path, &[format::BRANCH])?;
        let (initial, terminal) = (reader.required(&object, "initial"), reader.required(&object, "terminal"));
        Some(Branch { initial: initial?, terminal: terminal? })
    });
    let join = reader.word(&object, "join", &[("all", Join::All), ("any", Join::Any)]).unwrap_or_default();
    let on_fail = reader.string(&object, "on_fail").map(target);
    let conditions = conditions(reader, &outer);
    let on_complete = target(reader.required(&object, "on_complete")?);
    Some(Fork { branches, join, on_complete, on_fail, conditions })
}

fn invoke(reader: &mut Reader, node: &Node, path: &Path) -> Option<Invoke> {
    let object = reader.object(node, path, &[format::INVOKE, format::CONDITIONS])?;
    let on_fail = reader.string(&object, "on_fail").map(target);
    let max_depth = reader.count(&object, "max_depth");
    let max_child_steps = reader.count(&object, "max_child_steps");
    let conditions = conditions(reader, &object);
    let (workflow, on_complete) =
        (reader.required(&object, "invoke"), reader.required(&object, "on_complete").map(target));
    Some(Invoke {
        workflow: workflow?,
        on_complete: on_complete?,
        on_fail,
        input: object.get("input").map(|(node, _)| node.to_value()),
        max_depth,
        max_child_steps,
        conditions,
    })
}

fn guard(reader: &mut Reader, node: &Node, path: &Path) -> Option<Guard> {
    let object = reader.object(node, path, &[format::GUARD])?;
    let ops = [
        ("eq", GuardOp::Eq),
        ("neq", GuardOp::Neq),
        ("gt", GuardOp::Gt),
        ("gte", GuardOp::Gte),
        ("lt", GuardOp::Lt),
        ("lte", GuardOp::Lte),
        ("exists", GuardOp::Exists),
        ("not_exists", GuardOp::NotExists),
        ("in", GuardOp::In),
        ("contains", GuardOp::Contains),
    ];
    let sources = [("claimed", GuardSource::Claimed), ("observed", GuardSource::Observed)];
    let field = reader.required(&object, "field");
    if object.get("op").is_none() {
        reader.error("missing_key", path, "`op` is missing");
    }
    let op = reader.word(&object, "op", &ops)?;
    let value = object.get("value").map(|(node, _)| node.to_value());
    // `"value": null` is a comparison with null; only an absent key is a fault.
    let absent = object.members.iter().all(|member| member.key != "value");
    if absent && !matches!(op, GuardOp::Exists | GuardOp::NotExists) {
        reader.error("missing_key", path, "`value` is missing");
    }
    let source = reader.word(&object, "source", &sources).unwrap_or_default();
    Some(Guard { field: field?, op, value, source })
}

fn interrupt(reader: &mut Reader, node: &Node, path: &Path) -> Option<Interrupt> {
    let object = reader.object(node, path, &[format::INTERRUPT])?;
    let goal = reader.required(&object, "target");
    let Some((trigger, at)) = object.get("trigger") else {
        reader.error("missing_key", path, "`trigger` is missing");
        return None;
    };
    let trigger = reader.object(trigger, &at, &[format::TRIGGER])?;
    if trigger.get("file_pattern").is_none() {
        reader.error("missing_key", &at, "`file_pattern` is missing");
    }
    Some(Interrupt { file_patterns: reader.one_or_many(&trigger, "file_pattern")?, target: goal? })
}

fn meta(reader: &mut Reader, node: &Node, path: &Path) -> Option<Meta> {
    let object = reader.open_object(node, path)?;
    let dangers = [("safe", Danger::Safe), ("moderate", Danger::Moderate), ("dangerous", Danger::Dangerous)];
    let known = |key: &str| format::META.iter().any(|one| one.name == key);
    let extra = object.members.iter().filter(|member| !known(&member.key));
    Some(Meta {
        task_type: reader.string(&object, "task_type"),
        danger: reader.word(&object, "danger_level", &dangers).unwrap_or_default(),
        failure_states: reader.strings(&object, &["failure_states"]).unwrap_or_default(),
        extra: extra.map(|member| (member.key.clone(), member.value.to_value())).collect(),
    })
}

fn level(reader: &mut Reader, node: &Node, path: &Path) -> Option<u8> {
    match &node.kind {
        Kind::Number(number) => {
            let level =
                number.as_u64().and_then(|level| u8::try_from(level).ok()).filter(|level| *level <= 4);
            if level.is_none() {
                reader.error("out_of_range", path, "a level is 0 (read) to 4 (external)");
            }
            level
        }
        Kind::Null | Kind::Bool(_) | Kind::String(_) | Kind::Array(_) | Kind::Object(_) => {
            reader.wrong_type(node, path, "a level from 0 to 4");
            None
        }
    }
}

fn jail(reader: &mut Reader, node: &Node, path: &Path) -> Option<JailSettings> {
    let object = reader.object(node, path, &[format::JAIL])?;
    let network = match object.get("network") {
        Some((node, at)) if matches!(node.kind, Kind::Object(_)) => {
            reader.object(node, &at, &[format::NETWORK]).and_then(|inner| reader.one_or_many(&inner, "hosts"))
        }
        Some(_) => reader.one_or_many(&object, "network"),
        None => None,
    };
    for bad in network.iter().flatten().filter_map(|entry| crate::hosts::check(entry).err()) {
        reader.error("bad_host_entry", &path.key("network"), bad.to_string());
    }
    let observe = reader.one_or_many(&object, "observe").unwrap_or_default();
    let at = path.key("observe");
    let watched = [("reads", Observe::Reads), ("trace", Observe::Trace)];
    Some(JailSettings {
        profile: reader.string(&object, "profile"),
        network,
        writable: reader.strings(&object, &["writable"]).unwrap_or_default(),
        outputs: reader.strings(&object, &["outputs"]).unwrap_or_default(),
        protect: reader.strings(&object, &["protect"]).unwrap_or_default(),
        limits: match object.get("limits") {
            None => JailLimits::default(),
            Some((node, at)) => jail_limits(reader, node, &at).unwrap_or_default(),
        },
        observe: observe.iter().filter_map(|word| reader.choose(word, &at, &watched)).collect(),
        opaque: reader.word(&object, "opaque", &[("read_only", OpaqueMode::ReadOnly)]),
    })
}

fn jail_limits(reader: &mut Reader, node: &Node, path: &Path) -> Option<JailLimits> {
    let object = reader.object(node, path, &[format::JAIL_LIMITS])?;
    Some(JailLimits {
        timeout_ms: reader.quantity(&object, "timeout", &TIME, 1000),
        processes: reader.count(&object, "processes"),
        memory: reader.quantity(&object, "memory", &SIZE, 1),
        file_size: reader.quantity(&object, "file_size", &SIZE, 1),
        cpu: reader.quantity(&object, "cpu", &TIME, 1000).map(|millis| millis.div_ceil(1000)),
        open_files: reader.count(&object, "open_files"),
        scratch: reader.quantity(&object, "scratch", &SIZE, 1),
        output: reader.quantity(&object, "output", &SIZE, 1),
    })
}

fn run_limits(reader: &mut Reader, node: &Node, path: &Path) -> Option<RunLimits> {
    let object = reader.object(node, path, &[format::LIMITS])?;
    let repeat = object.get("repeat").and_then(|(node, at)| reader.object(node, &at, &[format::REPEAT]));
    Some(RunLimits {
        max_turns: reader.count(&object, "max_turns"),
        run_timeout_ms: reader.quantity(&object, "run_timeout", &TIME, 1000),
        token_budget: reader.count(&object, "token_budget"),
        repeat_remind: repeat.as_ref().and_then(|repeat| reader.count(repeat, "remind")),
        repeat_stop: repeat.as_ref().and_then(|repeat| reader.count(repeat, "stop")),
        stall_window: reader.count(&object, "stall_window"),
        stall_text: reader.string(&object, "stall_text"),
        memory_interval: reader.count(&object, "memory_interval"),
        memory_text: reader.string(&object, "memory_text"),
    })
}

fn rule(reader: &mut Reader, node: &Node, path: &Path) -> Option<RuleSpec> {
    let object = reader.object(node, path, &[format::RULE])?;
    let verdicts = [
        ("allow", Verdict::Allow),
        ("prompt", Verdict::Prompt),
        ("forbid", Verdict::Forbid),
        ("forbidden", Verdict::Forbid),
    ];
    let prefix = reader.required(&object, "prefix");
    if object.get("decision").is_none() {
        reader.error("missing_key", path, "`decision` is missing");
    }
    let decision = reader.word(&object, "decision", &verdicts);
    Some(RuleSpec {
        justification: reader.string(&object, "justification"),
        matches: reader.strings(&object, &["match"]).unwrap_or_default(),
        not_match: reader.strings(&object, &["not_match"]).unwrap_or_default(),
        prefix: prefix?,
        decision: decision?,
    })
}
