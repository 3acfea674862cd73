//! What lasts: sessions with their journals, what runs in them, what waits for a person, and what a person has accepted.
//!
//! Duty: every write is one transaction behind one lock, so that nothing is lost, doubled or reordered however many
//! processes write. Danger: what is acknowledged here is law for the next command. A store that cannot be written ends
//! the command before it runs.

mod chain;
mod error;
mod flush;
mod log;
mod marker;
mod mask;
mod mend;
mod queue;
mod record;
mod schema;
mod sqlite;
mod trust;

use std::path::Path;

use serde_json::Value;

pub use chain::{Broken, Hash, verify};
pub use error::StoreError;
pub use marker::{mark_bound, unmark_bound, was_bound};
pub use mask::{MASK, mask, mask_json, secrets_of};
pub use record::{Entry, Parked, Pin, Running, Seen, SessionRow, Ticket};
pub use sqlite::Sqlite;
pub use trust::{Ledger, Trusted};

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing of its own: it survives the end of every process, not that of the machine. For what is begun: a `start`
    /// that is lost with its machine belonged to a command that ended with it. What it was judged by survives the
    /// machine: a commit waits for the flush of those before it that asked for one.
    Process,
    /// One flush to the disk: it survives the machine. For what is acknowledged.
    Machine,
}

/// Reading and writing sessions.
pub trait Store {
    /// Begins a write; all others wait until it is committed or dropped.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>, StoreError>;

    /// A session by its id.
    ///
    /// # Errors
    /// When the store cannot be read; so for all that follow.
    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The sessions of a workspace, or all; the last touched first.
    ///
    /// # Errors
    /// As above.
    fn sessions(&self, workspace: Option<&Path>) -> Result<Vec<SessionRow>, StoreError>;

    /// The journal of a session after a position.
    ///
    /// # Errors
    /// As above.
    fn journal(&self, session: &str, after: u64) -> Result<Vec<Entry>, StoreError>;

    /// What a session holds of a kind.
    ///
    /// # Errors
    /// As above.
    fn pins(&self, session: &str, kind: &str) -> Result<Vec<Pin>, StoreError>;

    /// All that a session holds.
    ///
    /// # Errors
    /// As above.
    fn all_pins(&self, session: &str) -> Result<Vec<Pin>, StoreError>;

    /// Commands and jobs of a session that have begun and not ended.
    ///
    /// # Errors
    /// As above.
    fn running(&self, session: &str) -> Result<Vec<Running>, StoreError>;

    /// The session that a harness's own id is bound to.
    ///
    /// # Errors
    /// As above.
    fn bound(&self, harness: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// Whether any harness's own id is bound to a session.
    ///
    /// # Errors
    /// As above.
    fn is_bound(&self, session: &str) -> Result<bool, StoreError>;

    /// What is parked, by its id.
    ///
    /// # Errors
    /// As above.
    fn parked(&self, id: &str) -> Result<Option<Parked>, StoreError>;

    /// What is parked in a session, the oldest first.
    ///
    /// # Errors
    /// As above.
    fn parked_in(&self, session: &str) -> Result<Vec<Parked>, StoreError>;

    /// The files of a session as a person saw them.
    ///
    /// # Errors
    /// As above.
    fn seen(&self, session: &str) -> Result<Vec<Seen>, StoreError>;
}

/// One write: what it reads is what it changes, nobody comes between.
pub trait Transaction {
    /// A session as it stands now.
    ///
    /// # Errors
    /// When the store cannot be read or written; so for all that follow. The transaction is then to be dropped.
    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError>;

    /// The sessions of a workspace that are not over.
    ///
    /// # Errors
    /// As above.
    fn live(&self, workspace: &Path) -> Result<Vec<SessionRow>, StoreError>;

    /// Commands that have begun and not ended, in one session or in all of a workspace.
    ///
    /// # Errors
    /// As above.
    fn running(&self, session: &str) -> Result<Vec<Running>, StoreError>;

    /// Adds a session. Its journal is empty: `position` and `head` must be zero.
    ///
    /// # Errors
    /// As above, and when the id is taken.
    fn create(&mut self, row: &SessionRow) -> Result<(), StoreError>;

    /// Writes back state, body, place and end of a session; its journal's head is left to [`Self::append`].
    ///
    /// # Errors
    /// As above.
    fn update(&mut self, row: &SessionRow) -> Result<(), StoreError>;

    /// Appends to a session's journal, moves `row` to the new head, and writes back what [`Self::update`] does.
    ///
    /// # Errors
    /// As above.
    fn append(&mut self, row: &mut SessionRow, at: u64, kind: &str, body: &Value) -> Result<(), StoreError>;

    /// Notes that a command runs.
    ///
    /// # Errors
    /// As above.
    fn started(&mut self, running: &Running) -> Result<(), StoreError>;

    /// Notes that it does not run any more; whether it did.
    ///
    /// # Errors
    /// As above.
    fn ended(&mut self, session: &str, position: u64) -> Result<bool, StoreError>;

    /// What a session holds of a kind.
    ///
    /// # Errors
    /// As above.
    fn pins(&self, session: &str, kind: &str) -> Result<Vec<Pin>, StoreError>;

    /// Adds a pin.
    ///
    /// # Errors
    /// As above.
    fn pin(&mut self, session: &str, pin: &Pin) -> Result<(), StoreError>;

    /// Removes the pins of a kind.
    ///
    /// # Errors
    /// As above.
    fn unpin(&mut self, session: &str, kind: &str) -> Result<(), StoreError>;

    /// The session that a harness's own id is bound to.
    ///
    /// # Errors
    /// As above.
    fn bound(&self, harness: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// Binds a harness's own id to a session, in place of the one it had.
    ///
    /// # Errors
    /// As above.
    fn bind(&mut self, harness: &str, key: &str, session: &str) -> Result<(), StoreError>;

    /// What is parked, by its id.
    ///
    /// # Errors
    /// As above.
    fn parked(&self, id: &str) -> Result<Option<Parked>, StoreError>;

    /// What is parked in a session, the oldest first.
    ///
    /// # Errors
    /// As above.
    fn parked_in(&self, session: &str) -> Result<Vec<Parked>, StoreError>;

    /// Parks something.
    ///
    /// # Errors
    /// As above.
    fn park(&mut self, parked: &Parked) -> Result<(), StoreError>;

    /// Changes the status of what is parked.
    ///
    /// # Errors
    /// As above.
    fn settle(&mut self, id: &str, status: &str) -> Result<(), StoreError>;

    /// Notes a file as a person saw it, in place of what was noted of it.
    ///
    /// # Errors
    /// As above.
    fn see(&mut self, session: &str, seen: &Seen) -> Result<(), StoreError>;

    /// Gives a ticket out, and forgets those that were void before `now`.
    ///
    /// # Errors
    /// As above.
    fn give(&mut self, ticket: &Ticket, now: u64) -> Result<(), StoreError>;

    /// Takes a ticket in: it is there once.
    ///
    /// # Errors
    /// As above.
    fn take(&mut self, id: &str) -> Result<Option<Ticket>, StoreError>;

    /// Removes a session with all that is its.
    ///
    /// # Errors
    /// As above.
    fn remove(&mut self, session: &str) -> Result<(), StoreError>;

    /// Makes all of it so.
    ///
    /// # Errors
    /// As above; then nothing of it is so.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}
