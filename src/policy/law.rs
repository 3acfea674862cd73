//! One state as a law: its effective tools, its command list, ready to be asked.
//!
//! Danger: `disallowed_tools` wins over everything, also over what another tool of the same class would satisfy.

use super::decision::Decision;
use super::entry::Entry;
use super::need::{self, need, satisfying};
use crate::classify::{Op, OpClass};
use crate::workflow::model::{JailSettings, OpaqueMode, State, StateKind};
use crate::workflow::tool::{Family, Meaning, ToolId, ToolSet, meaning, qualified};

/// What a state allows.
#[derive(Debug, Clone)]
pub struct StateLaw {
    /// Its name.
    pub name: String,
    /// Whether it is final: nothing is allowed.
    pub is_final: bool,
    /// The known tools it has, disallowed ones taken away.
    pub tools: ToolSet,
    /// What it says to the jail.
    pub jail: JailSettings,
    denied: ToolSet,
    foreign: Vec<String>,
    denied_foreign: Vec<String>,
    shown: Vec<String>,
    entries: Option<Vec<Entry>>,
}

impl StateLaw {
    /// The law of one state.
    pub fn new(name: &str, state: &State) -> Self {
        let is_final = state.kind == StateKind::Final;
        let (mut denied, denied_foreign) = split(&state.disallowed_tools);
        let (listed, foreign, shown) = match &state.allowed_tools {
            Some(tools) => {
                let (known, foreign) = split(tools);
                (known, foreign, tools.clone())
            }
            None => {
                // Taking Bash away from the default takes the execute tools away that only the default named.
                let family = |set: ToolSet| denied.meets(set).then_some(set);
                denied = denied.union(family(need::EXECUTE).unwrap_or_default());
                let defaults =
                    ["Read", "Grep", "Glob", "Write", "Edit", "Bash", "run_test", "run_build", "WebFetch"];
                (need::DEFAULT, Vec::new(), defaults.map(str::to_owned).to_vec())
            }
        };
        let tools = if is_final { ToolSet::EMPTY } else { listed.without(denied) };
        let shown = shown.into_iter().filter(|name| !is_final && !is_denied(name, denied, &denied_foreign));
        let foreign = if is_final { Vec::new() } else { foreign };
        Self {
            name: name.to_owned(),
            is_final,
            tools,
            jail: state.jail.clone(),
            denied,
            foreign,
            shown: shown.collect(),
            denied_foreign,
            entries: state
                .allowed_commands
                .as_ref()
                .map(|entries| entries.iter().map(|text| Entry::new(text)).collect()),
        }
    }

    /// The tools as the file spells them, for messages.
    pub fn listed(&self) -> &[String] {
        &self.shown
    }

    /// Whether it has an execute tool.
    pub fn executes(&self) -> bool {
        self.tools.meets(need::EXECUTE)
    }

    /// Whether opaque commands may run on a read-only view.
    pub fn opaque_read_only(&self) -> bool {
        !self.is_final && self.jail.opaque == Some(OpaqueMode::ReadOnly)
    }

    /// The command list, where it is in force.
    pub(super) fn entries(&self) -> Option<&[Entry]> {
        if self.executes() { self.entries.as_deref() } else { None }
    }

    /// Whether `disallowed_tools` takes away what `op` is.
    pub(super) fn denies(&self, op: &Op) -> bool {
        let exact = op.tool.and_then(ToolId::named).map_or(ToolSet::EMPTY, ToolSet::one);
        self.denied.meets(need(op.class).primary.union(exact))
    }

    /// Whether the state's tools satisfy `op`.
    pub fn satisfies(&self, op: &Op) -> bool {
        if self.denies(op) {
            return false;
        }
        self.tools.meets(need(op.class).any) || op.tool.is_some_and(|name| self.has_exactly(name))
    }

    /// Whether the state's tools satisfy `class` without an exact tool.
    pub fn satisfies_class(&self, class: OpClass) -> bool {
        let need = need(class);
        self.tools.meets(need.any) && !self.denied.meets(need.primary)
    }

    fn has_exactly(&self, name: &str) -> bool {
        match meaning(name) {
            Meaning::Known(id) => self.tools.contains(id),
            Meaning::Own => false,
            Meaning::Unknown => lists(&self.foreign, name),
        }
    }

    /// The decision on a call of a native tool, by name alone. Shell tools are judged by their line instead.
    pub fn decide(&self, name: &str) -> Decision {
        let allowed = match meaning(name) {
            Meaning::Own => true,
            Meaning::Known(id) => {
                !self.is_final
                    && !self.denied.contains(id)
                    && (self.tools.meets(satisfying(id)) || id.tool().family == Family::Session)
            }
            Meaning::Unknown => {
                !self.is_final && lists(&self.foreign, name) && !lists(&self.denied_foreign, name)
            }
        };
        if allowed { Decision::Allow } else { Decision::Forbidden }
    }

    /// Whether a call of `name` is refused because it is disallowed by name.
    pub(super) fn denies_tool(&self, name: &str) -> bool {
        is_denied(name, self.denied, &self.denied_foreign)
    }
}

fn is_denied(name: &str, denied: ToolSet, foreign: &[String]) -> bool {
    match meaning(name) {
        Meaning::Known(id) => denied.contains(id),
        Meaning::Own => false,
        Meaning::Unknown => lists(foreign, name),
    }
}

/// Known tools as a set, the others by name.
fn split(names: &[String]) -> (ToolSet, Vec<String>) {
    let mut known = ToolSet::EMPTY;
    let mut foreign = Vec::new();
    for name in names {
        match meaning(name) {
            Meaning::Known(id) => known = known.union(ToolSet::one(id)),
            Meaning::Own => {}
            Meaning::Unknown => foreign.push(name.clone()),
        }
    }
    (known, foreign)
}

/// Whether a list of unknown tools names this one: case does not count; `mcp__server` and `mcp__server__*` name all of a server.
fn lists(names: &[String], name: &str) -> bool {
    names.iter().any(|listed| {
        if listed.eq_ignore_ascii_case(name) {
            return true;
        }
        match (qualified(listed), qualified(name)) {
            (Some((server, "" | "*")), Some((of, _))) => server.eq_ignore_ascii_case(of),
            _ => false,
        }
    })
}
