//! The store in SQLite: one file in write-ahead mode, a queue in front of every write, one flush behind it.
//!
//! Danger: SQLite's own wait is unfair and, for a transaction that reads before it writes, no wait at all: without the
//! queue 19 of 20 writers fail at once. SQLite flushes nothing at a commit here: what makes it last is [`super::flush`].

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde_json::Value;

use super::chain::{Hash, link};
use super::error::StoreError;
use super::flush::Flush;
use super::mend;
use super::queue::{Queue, Turn};
use super::record::{Entry, Parked, Pin, Running, Seen, SessionRow, Ticket};
use super::{Durability, Store, Transaction, flush, queue, schema};

mod read;

pub(super) use read::{SESSION, journal, rows, session_row};
use read::{bound, parked, parked_in, pin, pins, running, session, signed, unpacked, unsigned};

/// The database below the state directory.
const FILE: &str = "sessions.db";

/// SQLite's log beside it, which stays from process to process.
pub(super) const LOG: &str = "sessions.db-wal";

/// SQLite's index of the log.
const INDEX: &str = "sessions.db-shm";

/// The byte of it behind its eight locks, which begin behind two headers and the place of the checkpoint: the "dead man
/// switch" of SQLite's `os_unix.c`. A test holds that.
const MARK: u32 = 128;

/// How long SQLite itself waits: only for another process that opens or closes the file, since writers queue at the lock.
const BUSY: Duration = Duration::from_secs(20);

/// No flush at a commit; the log is flushed before its pages are written back into the database, and the database after.
/// SQLite itself never begins that: [`mend`] does.
const MODE: &str = "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0";

/// An open store.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    queue: Queue,
    flush: Flush,
    /// In the log after this connection's last commit.
    pages: Arc<AtomicU32>,
}

impl Sqlite {
    /// Opens the store below a state directory, and makes it where there is none.
    ///
    /// # Errors
    /// A directory that cannot be made or written, a file that is no store or a later version's.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        crate::sys::memory::expect_a_store();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(StoreError::unavailable(directory))?;
        let open = |name: &str| {
            let path = directory.join(name);
            // SQLite gives its other files the mode of this one.
            let options = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path);
            options.map_err(StoreError::unavailable(&path))
        };
        let queue = Queue::new(open(queue::GATE)?, open(queue::LOCK)?);
        let path = directory.join(FILE);
        if path.symlink_metadata().is_err() {
            drop(open(FILE)?);
        }
        // SQLite as it is built here leaves the directory alone, which its log's name is in for good: whoever makes the log
        // flushes the directory once, and nobody writes before that is done and noted.
        let (log, marks) = (directory.join(LOG), open(flush::MARKS)?);
        let mut connection = if log.symlink_metadata().is_err() || !Flush::is_named(&marks)? {
            let _turn = queue.wait()?;
            Flush::set_named(&marks, false)?;
            let connection = connect(&path, None)?;
            sync_names(directory)?;
            Flush::set_named(&marks, true)?;
            connection
        } else {
            connect(&path, Some(&queue))?
        };
        let pages = Arc::new(AtomicU32::new(0));
        let last = Arc::clone(&pages);
        connection.wal_hook(Some(move |_: &mut Wal, now: i32| {
            last.store(u32::try_from(now).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        }))?;
        // Open for as long as the connection, the log is the one that the connection writes: SQLite removes it only when
        // no other process has the database.
        let flush = Flush::new(File::open(&log).map_err(StoreError::unavailable(&log))?, marks);
        Ok(Self { connection, queue, flush, pages })
    }

    /// SQLite's index of its log, and the byte of it that each process locks for reading which has the store open. As long
    /// as one does nobody makes the index anew, for which the log is read through.
    pub fn mark(directory: &Path) -> (PathBuf, u32) {
        (directory.join(INDEX), MARK)
    }

    /// Opens the store if there is one.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn existing(directory: &Path) -> Result<Option<Self>, StoreError> {
        if directory.join(FILE).symlink_metadata().is_ok() {
            Self::open(directory).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Flushes the directory, and the one that its own name is in.
fn sync_names(directory: &Path) -> Result<(), StoreError> {
    for place in [Some(directory), directory.parent()].into_iter().flatten() {
        let synced = File::open(place).and_then(|place| place.sync_all());
        synced.map_err(StoreError::unavailable(place))?;
    }
    Ok(())
}

/// A connection to a file of this version; `free` is the queue to stand in where that needs a write, none where it is held.
fn connect(path: &Path, free: Option<&Queue>) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // The last process to close would write the log back, flush twice and remove it, and the next one make it anew:
    // five flushes a command. Kept, and kept short, it is read through at each opening (0.1 ms) and written back
    // about every tenth command.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch(MODE)?;
    if !schema::is_current(&connection)? {
        let _turn = free.map(Queue::wait).transpose()?;
        schema::migrate(&mut connection)?;
    }
    Ok(connection)
}

impl Store for Sqlite {
    fn begin(&mut self, durability: Durability) -> Result<Box<dyn Transaction + '_>, StoreError> {
        // Made before the wait: what is done in the turn all others wait for.
        let mut begin = self.connection.prepare_cached("BEGIN IMMEDIATE")?;
        let turn = self.queue.wait()?;
        if self.flush.is_broken()? {
            mend::mend(&self.connection, &self.flush)?;
        }
        begin.execute([])?;
        Ok(Box::new(Write {
            connection: &self.connection,
            queue: &self.queue,
            flush: &self.flush,
            pages: &self.pages,
            durability,
            turn: Some(turn),
        }))
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        session(&self.connection, id)
    }

    fn sessions(&self, workspace: Option<&Path>) -> Result<Vec<SessionRow>, StoreError> {
        match workspace {
            Some(workspace) => rows(
                &self.connection,
                &format!("SELECT {SESSION} FROM sessions WHERE workspace = ?1 ORDER BY touched DESC, id"),
                params![workspace.as_os_str().as_bytes()],
                session_row,
            ),
            None => rows(
                &self.connection,
                &format!("SELECT {SESSION} FROM sessions ORDER BY touched DESC, id"),
                [],
                session_row,
            ),
        }
    }

    fn journal(&self, session: &str, after: u64) -> Result<Vec<Entry>, StoreError> {
        journal(&self.connection, session, after)
    }

    fn pins(&self, session: &str, kind: &str) -> Result<Vec<Pin>, StoreError> {
        pins(&self.connection, session, kind)
    }

    fn all_pins(&self, session: &str) -> Result<Vec<Pin>, StoreError> {
        rows(
            &self.connection,
            "SELECT kind, name, origin, bytes FROM pins WHERE session = ?1 ORDER BY rowid",
            params![session],
            pin,
        )
    }

    fn running(&self, session: &str) -> Result<Vec<Running>, StoreError> {
        running(&self.connection, session)
    }

    fn bound(&self, harness: &str, key: &str) -> Result<Option<String>, StoreError> {
        bound(&self.connection, harness, key)
    }

    fn is_bound(&self, session: &str) -> Result<bool, StoreError> {
        let mut found = self.connection.prepare_cached("SELECT 1 FROM bindings WHERE session = ?1")?;
        Ok(found.exists(params![session])?)
    }

    fn parked(&self, id: &str) -> Result<Option<Parked>, StoreError> {
        parked(&self.connection, id)
    }

    fn parked_in(&self, session: &str) -> Result<Vec<Parked>, StoreError> {
        parked_in(&self.connection, session)
    }

    fn seen(&self, session: &str) -> Result<Vec<Seen>, StoreError> {
        rows(
            &self.connection,
            "SELECT path, there, lines FROM seen WHERE session = ?1 ORDER BY path",
            params![session],
            |row| {
                let lines: Option<Vec<u8>> = row.get(2)?;
                Ok(Seen { path: row.get(0)?, there: row.get(1)?, lines: lines.as_deref().map(unpacked) })
            },
        )
    }
}

/// A write that has begun; it has the turn until it is committed or dropped.
struct Write<'a> {
    connection: &'a Connection,
    queue: &'a Queue,
    flush: &'a Flush,
    pages: &'a AtomicU32,
    durability: Durability,
    turn: Option<Turn<'a>>,
}

impl Write<'_> {
    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
        Ok(self.connection.prepare_cached(sql)?.execute(values)?)
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if self.turn.is_some() {
            // What cannot be rolled back now is rolled back when the file is closed.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Transaction for Write<'_> {
    fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        session(self.connection, id)
    }

    fn live(&self, workspace: &Path) -> Result<Vec<SessionRow>, StoreError> {
        rows(
            self.connection,
            &format!(
                "SELECT {SESSION} FROM sessions WHERE workspace = ?1 AND over = 0 ORDER BY touched DESC, id"
            ),
            params![workspace.as_os_str().as_bytes()],
            session_row,
        )
    }

    fn running(&self, session: &str) -> Result<Vec<Running>, StoreError> {
        running(self.connection, session)
    }

    fn create(&mut self, row: &SessionRow) -> Result<(), StoreError> {
        self.run(
            &format!("INSERT INTO sessions ({SESSION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10)"),
            params![
                row.id,
                row.workspace.as_os_str().as_bytes(),
                row.workflow,
                signed(row.created),
                signed(row.touched),
                row.over,
                row.state,
                Hash::default().0,
                row.body,
                row.place
            ],
        )?;
        Ok(())
    }

    fn update(&mut self, row: &SessionRow) -> Result<(), StoreError> {
        self.run(
            "UPDATE sessions SET workflow = ?2, over = ?3, state = ?4, body = ?5, place = ?6 WHERE id = ?1",
            params![row.id, row.workflow, row.over, row.state, row.body, row.place],
        )?;
        Ok(())
    }

    fn append(&mut self, row: &mut SessionRow, at: u64, kind: &str, body: &Value) -> Result<(), StoreError> {
        let (position, body) = (row.position + 1, body.to_string());
        let hash = link(&row.head, &row.id, position, at, kind, &body);
        self.run(
            "INSERT INTO journal (session, position, at, kind, body, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![row.id, signed(position), signed(at), kind, body, hash.0],
        )?;
        self.run(
            "UPDATE sessions SET position = ?2, head = ?3, touched = ?4, workflow = ?5, over = ?6, state = ?7, body = ?8,
             place = ?9 WHERE id = ?1",
            params![
                row.id,
                signed(position),
                hash.0,
                signed(at),
                row.workflow,
                row.over,
                row.state,
                row.body,
                row.place
            ],
        )?;
        (row.position, row.head, row.touched) = (position, hash, at);
        Ok(())
    }

    fn started(&mut self, running: &Running) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO running (session, position, pid, born, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                running.session,
                signed(running.position),
                running.pid,
                signed(running.born),
                running.body
            ],
        )?;
        Ok(())
    }

    fn ended(&mut self, session: &str, position: u64) -> Result<bool, StoreError> {
        let gone = self.run(
            "DELETE FROM running WHERE session = ?1 AND position = ?2",
            params![session, signed(position)],
        )?;
        Ok(gone > 0)
    }

    fn pins(&self, session: &str, kind: &str) -> Result<Vec<Pin>, StoreError> {
        pins(self.connection, session, kind)
    }

    fn pin(&mut self, session: &str, pin: &Pin) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO pins (session, kind, name, origin, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![session, pin.kind, pin.name, pin.origin, pin.bytes],
        )?;
        Ok(())
    }

    fn unpin(&mut self, session: &str, kind: &str) -> Result<(), StoreError> {
        self.run("DELETE FROM pins WHERE session = ?1 AND kind = ?2", params![session, kind])?;
        Ok(())
    }

    fn bound(&self, harness: &str, key: &str) -> Result<Option<String>, StoreError> {
        bound(self.connection, harness, key)
    }

    fn bind(&mut self, harness: &str, key: &str, session: &str) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO bindings (harness, key, session) VALUES (?1, ?2, ?3)
             ON CONFLICT (harness, key) DO UPDATE SET session = excluded.session",
            params![harness, key, session],
        )?;
        Ok(())
    }

    fn parked(&self, id: &str) -> Result<Option<Parked>, StoreError> {
        parked(self.connection, id)
    }

    fn parked_in(&self, session: &str) -> Result<Vec<Parked>, StoreError> {
        parked_in(self.connection, session)
    }

    fn park(&mut self, parked: &Parked) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO parked (id, session, position, created, expires, status, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                parked.id,
                parked.session,
                signed(parked.position),
                signed(parked.created),
                signed(parked.expires),
                parked.status,
                parked.body
            ],
        )?;
        Ok(())
    }

    fn settle(&mut self, id: &str, status: &str) -> Result<(), StoreError> {
        self.run("UPDATE parked SET status = ?2 WHERE id = ?1", params![id, status])?;
        Ok(())
    }

    fn see(&mut self, session: &str, seen: &Seen) -> Result<(), StoreError> {
        let lines = seen.lines.as_ref();
        let lines = lines.map(|lines| lines.iter().flat_map(|line| line.to_be_bytes()).collect::<Vec<u8>>());
        self.run(
            "INSERT OR REPLACE INTO seen (session, path, there, lines) VALUES (?1, ?2, ?3, ?4)",
            params![session, seen.path, seen.there, lines],
        )?;
        Ok(())
    }

    fn give(&mut self, ticket: &Ticket, now: u64) -> Result<(), StoreError> {
        self.run("DELETE FROM tickets WHERE expires < ?1", params![signed(now)])?;
        self.run(
            "INSERT INTO tickets (id, session, command, expires) VALUES (?1, ?2, ?3, ?4)",
            params![ticket.id, ticket.session, ticket.command, signed(ticket.expires)],
        )?;
        Ok(())
    }

    fn take(&mut self, id: &str) -> Result<Option<Ticket>, StoreError> {
        let sql = "DELETE FROM tickets WHERE id = ?1 RETURNING id, session, command, expires";
        let mut found = self.connection.prepare_cached(sql)?;
        let taken = found.query_row(params![id], |row| {
            Ok(Ticket {
                id: row.get(0)?,
                session: row.get(1)?,
                command: row.get(2)?,
                expires: unsigned(row.get(3)?),
            })
        });
        Ok(taken.optional()?)
    }

    fn remove(&mut self, session: &str) -> Result<(), StoreError> {
        for table in ["journal", "running", "pins", "bindings", "parked", "seen", "tickets"] {
            self.run(&format!("DELETE FROM {table} WHERE session = ?1"), params![session])?;
        }
        self.run("DELETE FROM sessions WHERE id = ?1", params![session])?;
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        let mut commit = self.connection.prepare_cached("COMMIT")?;
        let due = self.flush.due(self.durability)?;
        commit.execute([])?;
        // The next writer goes on while this one's bytes are flushed.
        self.turn = None;
        let long = self.pages.load(Ordering::Relaxed) >= mend::LONG;
        let Some(due) = due else {
            // Above all here: the log begins anew only with a write of this same connection, the `end` that follows a `start`.
            // Whoever opens the store next does not know that it was written back.
            return if long { mend::write_back(self.connection, self.flush) } else { Ok(()) };
        };
        if self.flush.all(due).is_err() {
            // What a later flush reports as done may lie behind a hole now. So all of it goes into the database, which
            // takes the log out of use; else it stays an error, for everybody.
            let _turn = self.queue.wait()?;
            // Somebody else may have done that meanwhile.
            if !self.flush.is_done(due)? {
                mend::mend(self.connection, self.flush)?;
            }
        } else if long {
            mend::write_back(self.connection, self.flush)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
