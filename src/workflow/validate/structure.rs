//! Stage 1: every name that is used exists, and what is written can mean something.

use super::super::exit::{Exit, ExitKind};
use super::super::finding::Finding;
use super::super::glob;
use super::super::model::{Conditions, Fork, GuardSource, Machine, State, StateKind, Target, Transition};
use super::super::read::{distance, is_unshowable};
use super::super::span::Path;
use super::super::tool::{Family, Meaning, TOOLS, meaning};

/// Branches that a fork may have.
const MAX_BRANCHES: usize = 8;

struct Check<'m> {
    machine: &'m Machine,
    findings: Vec<Finding>,
}

/// The problems of stage 1.
pub(super) fn check(machine: &Machine) -> Vec<Finding> {
    let mut check = Check { machine, findings: Vec::new() };
    check.whole();
    for (name, state) in &machine.states {
        check.state(name, state);
    }
    check.reachability();
    check.findings
}

impl Check<'_> {
    fn error(&mut self, code: &'static str, path: Path, message: String, help: Option<String>) {
        let mut finding = Finding::error(code, path, message);
        finding.help = help;
        self.findings.push(finding);
    }

    fn advice(&mut self, code: &'static str, path: Path, message: String, help: &str) {
        self.findings.push(Finding::advice(code, path, message).help(help));
    }

    fn whole(&mut self) {
        let machine = self.machine;
        let root = Path::root();
        self.showable(&root.key("id"), &machine.id);
        if machine.states.is_empty() {
            self.error("no_states", root.key("states"), "there is no state".into(), None);
            return;
        }
        self.state_exists("unknown_initial", &root.key("initial"), &machine.initial);
        if machine.states.values().all(|state| state.kind != StateKind::Final) {
            let help = Some("give one state `\"type\": \"final\"`".into());
            self.error("no_final_state", root.key("states"), "no state is final".into(), help);
        }
        for (name, interrupt) in &machine.interrupts {
            let path = root.key("interrupts").key(name);
            self.state_exists("unknown_interrupt_target", &path.key("target"), &interrupt.target);
            if interrupt.file_patterns.is_empty() {
                let path = path.key("trigger").key("file_pattern");
                self.error("empty_trigger", path, "no pattern: it would never fire".into(), None);
            }
            for pattern in &interrupt.file_patterns {
                if let Some(problem) = glob::problem(pattern) {
                    let path = path.key("trigger").key("file_pattern");
                    let message = format!("the pattern {pattern:?} would never fire: {problem}");
                    self.error("bad_pattern", path, message, None);
                }
            }
        }
        for (at, name) in machine.meta.failure_states.iter().enumerate() {
            let path = root.key("meta").key("failure_states").index(at);
            self.state_exists("unknown_failure_state", &path, name);
        }
        for (name, guard) in &machine.guards {
            if guard.source == GuardSource::Claimed {
                self.advice(
                    "claimed_guard",
                    root.key("guards").key(name),
                    format!("the guard {name:?} believes what the agent says of {:?}", guard.field),
                    "use `\"source\": \"observed\"` with an `observed.*` field, or `evidence` on the edge",
                );
            }
        }
        for (at, rule) in machine.rules.iter().enumerate() {
            self.showable(&root.key("rules").index(at).key("prefix"), &rule.prefix);
        }
    }

    fn showable(&mut self, path: &Path, name: &str) {
        if name.trim().is_empty() || is_unshowable(name) {
            let message = "a name must not be empty nor hold control or bidi characters";
            self.error("odd_name", path.clone(), message.into(), None);
        }
    }

    fn state_exists(&mut self, code: &'static str, path: &Path, name: &str) {
        if self.machine.states.contains_key(name) {
            return;
        }
        let near = nearest(name, self.machine.states.keys().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean {near:?}?"),
            None => {
                let names: Vec<_> = self.machine.states.keys().map(String::as_str).collect();
                format!("the states are {}", names.join(", "))
            }
        };
        self.error(code, path.clone(), format!("there is no state {name:?}"), Some(help));
    }

    fn target(&mut self, path: &Path, target: &Target) {
        match target {
            Target::State(name) => self.state_exists("unknown_target", path, name),
            Target::Return if self.machine.interrupts.is_empty() => self.advice(
                "return_without_interrupt",
                path.clone(),
                "`$return` goes back to where an interrupt came from, and there is no interrupt".into(),
                "name the state instead",
            ),
            Target::Return => {}
        }
    }

    fn state(&mut self, name: &str, state: &State) {
        let path = Path::root().key("states").key(name);
        for (event, transition) in &state.on {
            self.transition(&path.key("on").key(event), transition);
        }
        if let Some(next) = &state.safe_next {
            let at = path.key("safe_next");
            self.state_exists("unknown_safe_next", &at, next);
            let rides = |exit: &Exit<'_>| exit.target == next && exit.kind == ExitKind::Event;
            if !self.machine.exits(name).iter().any(rides) {
                self.advice(
                    "safe_next_without_edge",
                    at,
                    format!("no event of {name:?} leads to {next:?}, so `safe_next` is never taken"),
                    "add an event to that state under `on`",
                );
            }
        }
        if state.kind == StateKind::Final && !state.on.is_empty() {
            self.advice(
                "final_with_events",
                path.key("on"),
                format!("the state {name:?} is final; its events never happen"),
                "remove `on`, or the type",
            );
        }
        if state.kind != StateKind::Final && state.on.is_empty() && state.safe_next.is_none() {
            self.advice(
                "dead_end",
                path.clone(),
                format!("the state {name:?} has no way out and is not final"),
                "add an event under `on`, or make it final",
            );
        }
        for (key, tools) in [
            ("allowed_tools", state.allowed_tools.as_deref().unwrap_or_default()),
            ("disallowed_tools", &state.disallowed_tools),
        ] {
            for (at, tool) in tools.iter().enumerate() {
                self.tool(&path.key(key).index(at), tool);
            }
        }
        self.commands(&path, state);
    }

    fn transition(&mut self, path: &Path, transition: &Transition) {
        match transition {
            Transition::To(edge) => {
                // A bare string has no inner key; the place then is the event itself.
                self.target(&path.key("target"), &edge.target);
                self.conditions(path, &edge.conditions);
            }
            Transition::Branches(edges) => {
                for (at, edge) in edges.iter().enumerate() {
                    self.target(&path.index(at).key("target"), &edge.target);
                    self.conditions(&path.index(at), &edge.conditions);
                }
            }
            Transition::Fork(fork) => self.fork(path, fork),
            Transition::Invoke(invoke) => {
                self.target(&path.key("on_complete"), &invoke.on_complete);
                if let Some(target) = &invoke.on_fail {
                    self.target(&path.key("on_fail"), target);
                }
                self.conditions(path, &invoke.conditions);
                if invoke.workflow == self.machine.id {
                    let message = format!("{:?} invokes itself", invoke.workflow);
                    self.advice("self_invoke", path.key("invoke"), message, "it ends at `max_depth` only");
                }
            }
        }
    }

    fn fork(&mut self, path: &Path, fork: &Fork) {
        self.conditions(path, &fork.conditions);
        let path = path.key("fork");
        self.target(&path.key("on_complete"), &fork.on_complete);
        if let Some(target) = &fork.on_fail {
            self.target(&path.key("on_fail"), target);
        }
        if fork.branches.is_empty() || fork.branches.len() > MAX_BRANCHES {
            let message = format!("a fork has 1 to {MAX_BRANCHES} branches, not {}", fork.branches.len());
            self.error("fork_branches", path.key("branches"), message, None);
        }
        for (name, branch) in &fork.branches {
            let at = path.key("branches").key(name);
            self.state_exists("unknown_fork_state", &at.key("initial"), &branch.initial);
            self.state_exists("unknown_fork_state", &at.key("terminal"), &branch.terminal);
        }
    }

    fn conditions(&mut self, path: &Path, conditions: &Conditions) {
        for name in conditions.guards.iter().filter(|name| !self.machine.guards.contains_key(*name)) {
            let near = nearest(name, self.machine.guards.keys().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None => "define it under `guards`; an unknown guard would let everything pass".into(),
            };
            // Where the key is spelt the other way, the place is that of the transition.
            let key = if conditions.guards.len() == 1 { "guard" } else { "guards" };
            let finding =
                Finding::error("unknown_guard", path.key(key), format!("there is no guard {name:?}"));
            self.findings.push(finding.help(help));
        }
    }

    fn tool(&mut self, path: &Path, name: &str) {
        self.showable(path, name);
        let qualified = super::super::tool::qualified(name).is_some();
        if meaning(name) != Meaning::Unknown || qualified || self.machine.tool_levels.contains_key(name) {
            return;
        }
        let folded: String =
            name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let near = nearest(&folded, TOOLS.iter().flat_map(|tool| tool.aliases.iter().copied()))
            .or_else(|| nearest(&name.to_lowercase(), TOOLS.iter().map(|tool| tool.name)));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "it allows the tool of exactly that name; give its level under `tool_levels`".into(),
        };
        let message = format!("swbox does not know the tool {name:?}; it counts as level 4 (external)");
        self.advice("unknown_tool", path.clone(), message, &help);
    }

    fn commands(&mut self, path: &Path, state: &State) {
        let Some(entries) = &state.allowed_commands else { return };
        let at = path.key("allowed_commands");
        let executes = |name: &String| match meaning(name) {
            Meaning::Known(id) => id.tool().family == Family::Execute,
            Meaning::Own | Meaning::Unknown => false,
        };
        if !state.allowed_tools.as_ref().is_none_or(|tools| tools.iter().any(executes)) {
            self.advice(
                "commands_without_execute_tool",
                at.clone(),
                "the list has no effect: this state has no execute tool".into(),
                "add Bash or run_command to `allowed_tools`",
            );
        }
        if let Some(tool) = state.allowed_commands_tool.as_ref().filter(|tool| !executes(tool)) {
            self.advice(
                "commands_tool_not_execute",
                path.key("allowed_commands_tool"),
                format!("{tool:?} runs no commands"),
                "name an execute tool such as Bash",
            );
        }
        for (index, entry) in entries.iter().enumerate() {
            if is_unshowable(entry) {
                self.showable(&at.index(index), entry);
            }
            let words = shell_words::split(entry);
            let odd =
                words.as_ref().map_or(true, Vec::is_empty) || entry.contains(['|', ';', '&', '\n', '`']);
            if odd {
                self.advice(
                    "entry_not_a_prefix",
                    at.index(index),
                    format!("{entry:?} is not the beginning of one command, so it matches nothing"),
                    "write one entry a command; each command of a line must match one",
                );
            }
        }
    }

    fn reachability(&mut self) {
        let machine = self.machine;
        let mut seen = vec![machine.initial.as_str()];
        let mut next = 0;
        while let Some(name) = seen.get(next).copied() {
            next += 1;
            for exit in machine.all_exits(name) {
                if !seen.contains(&exit.target) {
                    seen.push(exit.target);
                }
            }
        }
        if !machine.states.contains_key(&machine.initial) {
            return;
        }
        // The engine itself goes to failure states (limits, `on_max: fail`, invoked workflows).
        let apart = |name: &&String| !seen.contains(&name.as_str()) && !machine.is_failure(name);
        for name in machine.states.keys().filter(apart) {
            self.advice(
                "unreachable_state",
                Path::root().key("states").key(name),
                format!("no way leads from {:?} to {name:?}", machine.initial),
                "add an event that leads there, or remove it",
            );
        }
    }
}

fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.map(|other| (distance(name, other), other)).filter(|(far, _)| *far <= 2);
    near.min_by_key(|(far, _)| *far).map(|(_, other)| other)
}
