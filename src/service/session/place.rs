//! What of a session lies outside the engine: the move that came last, and which generation of its law holds.

use serde::{Deserialize, Serialize};

use super::carry::Carried;
use crate::service::request::Observe;
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
    /// Commands (by the digest that an approval would bind to) of which a read seemed to be refused: the next run of one
    /// is watched for reads.
    pub(super) missed: Vec<String>,
    /// Whether this host was found not to let anybody watch: then the workspace is looked at instead.
    pub(super) unwatched: bool,
    /// How the session's commands are watched, where a person has said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) observe: Option<Observe>,
}

/// How many commands are remembered whose reads were missed.
const MISSED: usize = 32;

impl Place {
    /// Of a new session that begins at this commit, whose commands are watched so.
    pub(super) fn beginning(base: String, observe: Observe) -> Self {
        Self { base, observe: (observe != Observe::Auto).then_some(observe), ..Self::default() }
    }

    /// The place of a session; an empty one where it has none.
    pub(super) fn of(row: &SessionRow) -> Self {
        serde_json::from_str(&row.place).unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }

    /// Notes whether a read of a command seemed to be refused.
    pub(super) fn missed(&mut self, key: &str, missed: bool) {
        self.missed.retain(|known| known != key);
        if missed {
            self.missed.push(key.to_owned());
            let surplus = self.missed.len().saturating_sub(MISSED);
            self.missed.drain(..surplus);
        }
    }

    /// Whether the law is that of `other`.
    pub(super) fn same_law(&self, other: &Self) -> bool {
        (self.law, self.rules) == (other.law, other.rules)
    }

    /// Notes a move.
    pub(super) fn moved(&mut self, event: &str, from: &str, position: u64) {
        (self.event, self.from, self.position) = (event.to_owned(), from.to_owned(), position);
    }

    /// What others did, and what jobs came to, comes between no two calls of a message: an entry of that at `position` lets
    /// the last move stand as the last thing that happened.
    pub(super) fn overlook(&mut self, position: u64) -> bool {
        let last = !self.from.is_empty() && self.position + 1 == position;
        if last {
            self.position = position;
        }
        last
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
