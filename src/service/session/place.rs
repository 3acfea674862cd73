//! What of a session lies outside the engine: the move that came last, and which generation of its law holds.

use serde::{Deserialize, Serialize};

use super::carry::Carried;
use crate::store::SessionRow;

/// As it is kept with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Place {
    /// The event that moved last.
    event: String,
    /// The state that it left.
    from: String,
    /// The journal's position after it.
    position: u64,
    /// How often a person has reloaded the law.
    pub(super) law: u64,
    /// How often a person has given it other rules of the user.
    pub(super) rules: u64,
    /// The commit that the repository was at when the session began; empty where there was none.
    pub(super) base: String,
    /// What goes from one command to the next.
    pub(super) carried: Carried,
}

impl Place {
    /// That of a session that begins at this commit.
    pub(super) fn beginning(base: String) -> Self {
        Self { base, ..Self::default() }
    }

    /// The place of a session; an empty one where it has none.
    pub(super) fn of(row: &SessionRow) -> Self {
        serde_json::from_str(&row.place).unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// Whether the law is that of `other`.
    pub(super) fn same_law(&self, other: &Self) -> bool {
        (self.law, self.rules) == (other.law, other.rules)
    }

    /// Notes a move.
    pub(super) fn moved(&mut self, event: &str, from: &str, position: u64) {
        (self.event, self.from, self.position) = (event.to_owned(), from.to_owned(), position);
    }

    /// The state that an event was meant for when it repeats the last move and nothing has happened since: the second
    /// of two equal calls in one message must not walk a second edge.
    pub(super) fn repeated(&self, event: &str, position: u64) -> Option<String> {
        let same = self.event.trim().eq_ignore_ascii_case(event.trim());
        (same && self.position == position && !self.from.is_empty()).then(|| self.from.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_event_is_meant_for_the_state_that_the_first_one_left() {
        let mut place = Place::default();
        assert_eq!(place.repeated("DONE", 0), None);
        place.moved("DONE", "implementing", 7);
        assert_eq!(place.repeated("done ", 7).as_deref(), Some("implementing"));
        assert_eq!(place.repeated("DONE", 8), None, "something happened since");
        assert_eq!(place.repeated("FAIL", 7), None);
    }
}
