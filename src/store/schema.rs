//! The tables, and the way from one version of them to the next.
//!
//! Danger: a program that writes into a schema it does not know destroys what a later one relies on. Versions only
//! grow; a newer one is refused.

use rusqlite::Connection;

use super::error::StoreError;

/// Each step takes the file from the version of its index to the next.
const STEPS: &[&str] = &[
    "CREATE TABLE sessions (
       id TEXT PRIMARY KEY, workspace BLOB NOT NULL, workflow TEXT NOT NULL, created INTEGER NOT NULL,
       touched INTEGER NOT NULL, over INTEGER NOT NULL, state TEXT NOT NULL, position INTEGER NOT NULL,
       head BLOB NOT NULL, body TEXT NOT NULL, place TEXT NOT NULL
     ) STRICT;
     CREATE INDEX sessions_workspace ON sessions (workspace);
     CREATE TABLE journal (
       session TEXT NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
       hash BLOB NOT NULL, PRIMARY KEY (session, position)
     ) STRICT, WITHOUT ROWID;
     CREATE TRIGGER journal_is_append_only BEFORE UPDATE ON journal
       BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
     CREATE TABLE running (
       session TEXT NOT NULL, position INTEGER NOT NULL, pid INTEGER NOT NULL, born INTEGER NOT NULL,
       body TEXT NOT NULL, PRIMARY KEY (session, position)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE pins (
       session TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, origin TEXT NOT NULL, bytes BLOB NOT NULL,
       PRIMARY KEY (session, kind, name)
     ) STRICT;
     CREATE TABLE bindings (
       harness TEXT NOT NULL, key TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (harness, key)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE parked (
       id TEXT PRIMARY KEY, session TEXT NOT NULL, position INTEGER NOT NULL, created INTEGER NOT NULL,
       expires INTEGER NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL
     ) STRICT;
     CREATE INDEX parked_session ON parked (session);",
    "CREATE TABLE seen (
       session TEXT NOT NULL, path TEXT NOT NULL, there INTEGER NOT NULL, lines BLOB, PRIMARY KEY (session, path)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE tickets (
       id TEXT PRIMARY KEY, session TEXT NOT NULL, command TEXT NOT NULL, expires INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;",
];

/// The version that this program reads and writes.
pub(super) fn current() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// The version of a file; 0 for a new one.
pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Whether the file is of this program's version.
///
/// # Errors
/// `Newer`.
pub(super) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    let found = version(connection)?;
    if found > current() {
        return Err(StoreError::Newer { found, known: current() });
    }
    Ok(found == current())
}

/// Brings a file up to date, in one transaction. The caller holds the lock.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    // Persistent in the file; it cannot be changed inside a transaction.
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !is_current(&transaction)? {
        let from = usize::try_from(version(&transaction)?).unwrap_or_default();
        for step in STEPS.iter().skip(from) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", current())?;
    }
    Ok(transaction.commit()?)
}
