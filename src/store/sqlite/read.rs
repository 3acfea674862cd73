//! Rows of the database, read.
//!
//! Danger: a column read as another one; each statement stands beside what reads it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::store::chain::Hash;
use crate::store::error::StoreError;
use crate::store::record::{Entry, Parked, Pin, Running, SessionRow};

pub(in crate::store) const SESSION: &str =
    "id, workspace, workflow, created, touched, over, state, position, head, body, place";

/// The journal of a session after a position.
pub(in crate::store) fn journal(
    connection: &Connection,
    session: &str,
    after: u64,
) -> Result<Vec<Entry>, StoreError> {
    rows(
        connection,
        "SELECT position, at, kind, body, hash FROM journal WHERE session = ?1 AND position > ?2 ORDER BY position",
        params![session, signed(after)],
        |row| {
            Ok(Entry {
                position: unsigned(row.get(0)?),
                at: unsigned(row.get(1)?),
                kind: row.get(2)?,
                body: row.get(3)?,
                hash: Hash(row.get(4)?),
            })
        },
    )
}

pub(super) fn session(connection: &Connection, id: &str) -> Result<Option<SessionRow>, StoreError> {
    let mut found = connection.prepare_cached(&format!("SELECT {SESSION} FROM sessions WHERE id = ?1"))?;
    Ok(found.query_row(params![id], session_row).optional()?)
}

pub(in crate::store) fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        workspace: PathBuf::from(OsStr::from_bytes(&row.get::<_, Vec<u8>>(1)?)),
        workflow: row.get(2)?,
        created: unsigned(row.get(3)?),
        touched: unsigned(row.get(4)?),
        over: row.get(5)?,
        state: row.get(6)?,
        position: unsigned(row.get(7)?),
        head: Hash(row.get(8)?),
        body: row.get(9)?,
        place: row.get(10)?,
    })
}

pub(super) fn running(connection: &Connection, session: &str) -> Result<Vec<Running>, StoreError> {
    let sql = "SELECT session, position, pid, born, body FROM running WHERE session = ?1 ORDER BY position";
    rows(connection, sql, params![session], |row| {
        let (position, born) = (unsigned(row.get(1)?), unsigned(row.get(3)?));
        Ok(Running { session: row.get(0)?, position, pid: row.get(2)?, born, body: row.get(4)? })
    })
}

pub(super) fn pins(connection: &Connection, session: &str, kind: &str) -> Result<Vec<Pin>, StoreError> {
    rows(
        connection,
        "SELECT kind, name, origin, bytes FROM pins WHERE session = ?1 AND kind = ?2 ORDER BY rowid",
        params![session, kind],
        pin,
    )
}

pub(super) fn pin(row: &Row<'_>) -> rusqlite::Result<Pin> {
    Ok(Pin { kind: row.get(0)?, name: row.get(1)?, origin: row.get(2)?, bytes: row.get(3)? })
}

pub(super) fn bound(connection: &Connection, harness: &str, key: &str) -> Result<Option<String>, StoreError> {
    let mut found =
        connection.prepare_cached("SELECT session FROM bindings WHERE harness = ?1 AND key = ?2")?;
    Ok(found.query_row(params![harness, key], |row| row.get(0)).optional()?)
}

const PARKED: &str = "id, session, position, created, expires, status, body";

pub(super) fn parked(connection: &Connection, id: &str) -> Result<Option<Parked>, StoreError> {
    let mut found = connection.prepare_cached(&format!("SELECT {PARKED} FROM parked WHERE id = ?1"))?;
    Ok(found.query_row(params![id], parked_row).optional()?)
}

pub(super) fn parked_in(connection: &Connection, session: &str) -> Result<Vec<Parked>, StoreError> {
    rows(
        connection,
        &format!("SELECT {PARKED} FROM parked WHERE session = ?1 ORDER BY created, id"),
        params![session],
        parked_row,
    )
}

pub(super) fn parked_row(row: &Row<'_>) -> rusqlite::Result<Parked> {
    Ok(Parked {
        id: row.get(0)?,
        session: row.get(1)?,
        position: unsigned(row.get(2)?),
        created: unsigned(row.get(3)?),
        expires: unsigned(row.get(4)?),
        status: row.get(5)?,
        body: row.get(6)?,
    })
}

pub(in crate::store) fn rows<T>(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(values, read)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Digests as they are kept, eight bytes each.
pub(super) fn unpacked(bytes: &[u8]) -> Vec<u64> {
    let (digests, _) = bytes.as_chunks::<8>();
    digests.iter().map(|digest| u64::from_be_bytes(*digest)).collect()
}

/// SQLite's integers are signed; times and positions stay far below the sign.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}
