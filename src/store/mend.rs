//! Writing the log back into the database: as a matter of course when it is long, and whole after a write that failed.
//!
//! Danger: SQLite's own checkpoint behind a commit says nothing of an error. Here one is noted in the marks, and nobody
//! begins a write before everything is in the database, on the disk, and read through.

use std::path::Path;

use rusqlite::{Connection, params};

use super::chain::verify;
use super::error::StoreError;
use super::flush::Flush;
use super::log;
use super::record::SessionRow;
use super::sqlite;

/// Pages in the log from which on it is written back: read through at each opening, it is to stay short.
pub(super) const LONG: u32 = 64;

/// Writes back what no reader still needs where it is. Nobody waits for this: writers append to the log meanwhile.
pub(super) fn write_back(connection: &Connection, flush: &Flush) -> Result<(), StoreError> {
    match checkpoint(connection, "PASSIVE") {
        // Somebody else is at it, or the log cannot be emptied yet: the next commit tries again.
        Ok(_) => Ok(()),
        // No room: the log grows until it has none either, which is said then.
        Err(StoreError::Full) => Ok(()),
        Err(error) => flush.set_broken(&error),
    }
}

/// After a write that failed: everything into the database and on the disk, the log out of use. The caller has the turn.
///
/// # Errors
/// What the disk says. Bytes of the log that were committed and are not there any more, a database or a journal that is
/// not whole. The store stays marked, and the next to write tries again.
pub(super) fn mend(connection: &Connection, flush: &Flush) -> Result<(), StoreError> {
    let failed = |error| match error {
        StoreError::Failed(text) => StoreError::Unflushed(text),
        other => other,
    };
    let committed = checkpoint(connection, "NOOP").map_err(failed)?.frames;
    let there = log::frames(flush.log()).map_err(StoreError::unavailable(Path::new(sqlite::LOG)))?;
    if there < committed {
        return Err(StoreError::Unflushed(format!("{there} of {committed} parts of the log are there")));
    }
    whole(connection).map_err(failed)?;
    // What is not yet told of earlier failures.
    let _ = flush.sync();
    if checkpoint(connection, "TRUNCATE").map_err(failed)?.busy {
        return Err(StoreError::Unflushed("another process reads the record".to_owned()));
    }
    // After a fall of the machine an old part of the log would come back over newer pages.
    flush.sync()?;
    flush.mended()
}

/// What a checkpoint came to.
struct Checkpoint {
    busy: bool,
    /// In the log.
    frames: u64,
}

fn checkpoint(connection: &Connection, mode: &str) -> Result<Checkpoint, StoreError> {
    let answer = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        let frames: i64 = row.get(1)?;
        Ok(Checkpoint { busy: row.get(0)?, frames: u64::try_from(frames).unwrap_or_default() })
    });
    Ok(answer?)
}

/// That the pages fit each other, and the journals of the sessions that are not over their heads.
fn whole(connection: &Connection) -> Result<(), StoreError> {
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Err(StoreError::Damaged(said));
    }
    let sql = format!("SELECT {} FROM sessions WHERE over = 0", sqlite::SESSION);
    let live: Vec<SessionRow> = sqlite::rows(connection, &sql, params![], sqlite::session_row)?;
    for row in live {
        let entries = sqlite::journal(connection, &row.id, 0)?;
        verify(&row.id, &entries, &row.head).map_err(|broken| {
            StoreError::Damaged(format!("entry {} of {}: {}", broken.position, row.id, broken.why))
        })?;
    }
    Ok(())
}
