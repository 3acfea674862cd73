//! The tools that a state really has: its list or the default, without what it takes away.
//!
//! Danger: `disallowed_tools` wins over everything, and sentinels are never part of a default.

use super::model::{Machine, State, StateKind};
use super::tool::{Family, Meaning, ToolSet, meaning, qualified};

/// What a state without `allowed_tools` has, as messages spell it.
const DEFAULT_NAMES: [&str; 9] =
    ["Read", "Grep", "Glob", "Write", "Edit", "Bash", "run_test", "run_build", "WebFetch"];

const EXECUTE: ToolSet = ToolSet::of(&[Family::Execute]);

/// A state's tools.
#[derive(Debug, Clone, Default)]
pub struct EffectiveTools {
    /// Tools of the table that it has.
    pub known: ToolSet,
    /// Tools of the table that it takes away.
    pub denied: ToolSet,
    /// Whether the list is the default.
    pub is_default: bool,
    foreign: Vec<String>,
    denied_foreign: Vec<String>,
    shown: Vec<String>,
}

/// What a state has that lists nothing: reading, writing, running, and fetching within the profile's hosts.
pub fn default_tools() -> ToolSet {
    ToolSet::of(&[
        Family::Read,
        Family::Search,
        Family::List,
        Family::Write,
        Family::Execute,
        Family::GitRead,
    ])
    .union(ToolSet::named(&["web_fetch"]))
}

impl EffectiveTools {
    /// The tools of a state; a final one has none.
    pub fn of(state: &State) -> Self {
        let (mut denied, denied_foreign) = split(&state.disallowed_tools);
        if state.kind == StateKind::Final {
            return Self { denied, denied_foreign, ..Self::default() };
        }
        let is_default = state.allowed_tools.is_none();
        let (listed, foreign, names) = match &state.allowed_tools {
            Some(tools) => {
                let (known, foreign) = split(tools);
                (known, foreign, tools.clone())
            }
            None => {
                // Taking one execute tool from the default takes those too that only the default named.
                if denied.meets(EXECUTE) {
                    denied = denied.union(EXECUTE);
                }
                (default_tools(), Vec::new(), DEFAULT_NAMES.map(str::to_owned).to_vec())
            }
        };
        let mut tools = Self {
            known: listed.without(denied),
            denied,
            is_default,
            foreign,
            denied_foreign,
            shown: Vec::new(),
        };
        tools.shown = names.into_iter().filter(|name| !tools.denies(name)).collect();
        tools
    }

    /// The tools as the file spells them.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Whether the tool of that name is taken away.
    pub fn denies(&self, name: &str) -> bool {
        match meaning(name) {
            Meaning::Known(id) => self.denied.contains(id),
            Meaning::Own => false,
            Meaning::Unknown => lists(&self.denied_foreign, name),
        }
    }

    /// Whether the state lists a tool that is not in the table, and does not take it away.
    pub fn has_foreign(&self, name: &str) -> bool {
        lists(&self.foreign, name) && !lists(&self.denied_foreign, name)
    }

    /// The highest level of its tools; what the default adds without being asked (WebFetch, within the profile's
    /// hosts) does not count.
    pub fn level(&self, machine: &Machine) -> u8 {
        let given = |name: &str| {
            machine
                .tool_levels
                .iter()
                .find(|(listed, _)| listed.eq_ignore_ascii_case(name))
                .map(|(_, level)| *level)
        };
        let counted =
            if self.is_default { self.known.without(ToolSet::named(&["web_fetch"])) } else { self.known };
        let known = counted.iter().map(|id| given(id.tool().name).unwrap_or(0).max(id.level()));
        let foreign = self.foreign.iter().filter(|name| !lists(&self.denied_foreign, name));
        let foreign = foreign.map(|name| given(name).unwrap_or(4));
        known.chain(foreign).max().unwrap_or(0)
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

/// Whether a list of unknown tools names this one: case does not count, and `mcp__server` or `mcp__server__*` name all
/// of a server.
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
