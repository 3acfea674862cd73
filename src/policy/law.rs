//! One state as a law: its effective tools, its command list, ready to be asked.
//!
//! Danger: `disallowed_tools` wins over everything, also over what another tool of the same class would satisfy.

use super::decision::Decision;
use super::entry::Entry;
use super::need::{self, need, satisfying};
use crate::classify::Op;
use crate::workflow::EffectiveTools;
use crate::workflow::model::{JailSettings, OpaqueMode, State, StateKind};
use crate::workflow::tool::{Family, Meaning, ToolId, ToolSet, meaning};

/// What a state allows.
#[derive(Debug, Clone)]
pub struct StateLaw {
    /// Its name.
    pub name: String,
    /// Whether it is final: nothing is allowed.
    pub is_final: bool,
    /// Its tools, disallowed ones taken away.
    pub tools: EffectiveTools,
    /// What it says to the jail.
    pub jail: JailSettings,
    entries: Option<Vec<Entry>>,
}

impl StateLaw {
    /// The law of one state.
    pub fn new(name: &str, state: &State) -> Self {
        let entries = state.allowed_commands.as_ref();
        Self {
            name: name.to_owned(),
            is_final: state.kind == StateKind::Final,
            tools: EffectiveTools::of(state),
            jail: state.jail.clone(),
            entries: entries.map(|entries| entries.iter().map(|text| Entry::new(text)).collect()),
        }
    }

    /// The tools as the file spells them, for messages.
    pub fn listed(&self) -> &[String] {
        self.tools.shown()
    }

    /// Whether it has one of the tools.
    pub fn has(&self, tools: ToolSet) -> bool {
        self.tools.known.meets(tools)
    }

    /// Whether it has an execute tool.
    pub fn executes(&self) -> bool {
        self.has(need::EXECUTE)
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
        self.tools.denied.meets(need(op.class).primary.union(exact))
    }

    /// Whether the state's tools satisfy `op`.
    pub fn satisfies(&self, op: &Op) -> bool {
        !self.denies(op)
            && (self.has(need(op.class).any) || op.tool.is_some_and(|name| self.has_exactly(name)))
    }

    fn has_exactly(&self, name: &str) -> bool {
        match meaning(name) {
            // Which of them it is does not matter: each runs commands.
            Meaning::Known(id) if id.tool().family == Family::Execute => self.executes(),
            Meaning::Known(id) => self.tools.known.contains(id),
            Meaning::Own => false,
            Meaning::Unknown => self.tools.has_foreign(name),
        }
    }

    /// The decision on a call of a native tool, by name alone. Shell tools are judged by their line instead.
    pub fn decide(&self, name: &str) -> Decision {
        let allowed = match meaning(name) {
            Meaning::Own => true,
            Meaning::Known(id) => {
                !self.is_final
                    && !self.tools.denied.contains(id)
                    && (self.has(satisfying(id)) || id.tool().family == Family::Session)
            }
            Meaning::Unknown => self.tools.has_foreign(name),
        };
        if allowed { Decision::Allow } else { Decision::Forbidden }
    }
}
