//! Telling of sessions: the list, one as it stands, its journal as a story, and the story told again by replay.

use std::path::PathBuf;

use serde_json::Value;

use super::answers::{Waiting, shown};
use super::law;
use super::people::open;
use super::write::session_of;
use crate::diagnostic::Diagnostic;
use crate::engine::{Event, Handout, Session, handout, step};
use crate::service::own_files::state_directory;
use crate::service::request::Law;
use crate::service::{host, workspace};
use crate::store::{Entry, Hash, Pin, SessionRow, Sqlite, Store, StoreError, verify};

/// A session in the list.
#[derive(Debug, Clone)]
pub struct SessionListed {
    /// Its id.
    pub id: String,
    /// Its workspace.
    pub workspace: PathBuf,
    /// Its workflow.
    pub workflow: String,
    /// Its state.
    pub state: String,
    /// Whether it is over, and why.
    pub over: Option<String>,
    /// Milliseconds since 1970.
    pub created: u64,
    /// Milliseconds since 1970 of the last entry.
    pub touched: u64,
    /// What waits for a person.
    pub waiting: Vec<String>,
}

/// The sessions of the workspace here, or all.
///
/// # Errors
/// A store that cannot be read.
pub fn list(law: &Law, all: bool) -> Result<Vec<SessionListed>, Diagnostic> {
    let facts = host::facts()?;
    let Some(store) = Sqlite::existing(state_directory(&facts))? else { return Ok(Vec::new()) };
    let rows = if all {
        store.sessions(None)?
    } else {
        let place = workspace::find(law.workspace.as_deref(), &facts, law.allow_home)?;
        store.sessions(Some(&place.workspace))?
    };
    rows.into_iter().map(|row| listed(&store, row)).collect()
}

fn listed(store: &Sqlite, row: SessionRow) -> Result<SessionListed, Diagnostic> {
    let session = session_of(&row)?;
    let parked = store.parked_in(&row.id)?;
    Ok(SessionListed {
        over: session.stop.map(|stop| stop.reason),
        waiting: parked
            .into_iter()
            .filter(|parked| parked.status == "open")
            .map(|parked| parked.id)
            .collect(),
        id: row.id,
        workspace: row.workspace,
        workflow: row.workflow,
        state: row.state,
        created: row.created,
        touched: row.touched,
    })
}

/// One session as it stands.
#[derive(Debug, Clone)]
pub struct Status {
    /// As in the list.
    pub listed: SessionListed,
    /// The state with its instructions and ways on.
    pub handout: Option<Handout>,
    /// The law's origin.
    pub origin: String,
    /// Commands that run: what, and since which entry.
    pub running: Vec<(String, u64)>,
    /// What waits for a person.
    pub waiting: Vec<Waiting>,
    /// The last entry and its hash.
    pub head: (u64, Hash),
}

/// One session as it stands.
///
/// # Errors
/// `session_unknown`, and a store that cannot be read.
pub fn status(id: &str) -> Result<Status, Diagnostic> {
    let bound = open(id)?;
    let running = bound.session.running.iter().map(|one| (one.call.clone(), one.position)).collect();
    let mut waiting = Vec::new();
    for parked in bound.store.parked_in(id)? {
        if parked.status == "open" {
            waiting.push(shown(parked, bound.row.workspace.clone())?);
        }
    }
    Ok(Status {
        handout: handout(&bound.workflow, &bound.session),
        origin: bound.origin,
        running,
        waiting,
        head: (bound.row.position, bound.row.head),
        listed: listed(&bound.store, bound.row)?,
    })
}

/// An entry of a journal, to be told.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its position.
    pub position: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// Its kind.
    pub kind: String,
    /// What is in it.
    pub body: Value,
    /// Its hash.
    pub hash: Hash,
}

/// The journal of a session, with its head, after checking its chain.
///
/// # Errors
/// `journal_broken`, `session_unknown`, and a store that cannot be read.
pub fn log(id: &str) -> Result<(Vec<Told>, Hash), Diagnostic> {
    let bound = open(id)?;
    let entries = whole(&bound.store, &bound.row)?;
    let told = entries.into_iter().map(|entry| Told {
        position: entry.position,
        at: entry.at,
        body: serde_json::from_str(&entry.body).unwrap_or_default(),
        kind: entry.kind,
        hash: entry.hash,
    });
    Ok((told.collect(), bound.row.head))
}

fn whole(store: &Sqlite, row: &SessionRow) -> Result<Vec<Entry>, Diagnostic> {
    let mut entries = store.journal(&row.id, 0)?;
    // What was written since the row was read is not of this reading.
    entries.retain(|entry| entry.position <= row.position);
    verify(&row.id, &entries, &row.head).map_err(|broken| {
        Diagnostic::new("journal_broken", format!("entry {} of {}: {}", broken.position, row.id, broken.why))
            .help("the journal was changed outside swbox; trust nothing in it from there on")
    })?;
    Ok(entries)
}

/// What a replay came to.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The events that were stepped.
    pub events: usize,
    /// The state at the end.
    pub state: String,
    /// The first entry whose answer came out otherwise, or the end where only the session differs.
    pub differs: Option<u64>,
}

/// Steps every event of a session's journal again, by the law that held at each.
///
/// # Errors
/// As for [`log`].
pub fn replay(id: &str) -> Result<Replayed, Diagnostic> {
    let bound = open(id)?;
    let entries = whole(&bound.store, &bound.row)?;
    let mut session: Option<Session> = None;
    let mut reloads = entries.iter().filter(|entry| entry.kind == "reload").count() as u64;
    let generations = reloads;
    let law = |left: u64| -> Result<crate::engine::Workflow, Diagnostic> {
        let suffix = if left == 0 { String::new() } else { format!("@{}", generations - left) };
        let pins = |kind: &str| -> Result<Vec<Pin>, StoreError> { bound.store.pins(id, kind) };
        Ok(law::workflow(&pins, &suffix)?.0)
    };
    let mut workflow = law(reloads)?;
    let mut replayed = Replayed { events: 0, state: String::new(), differs: None };
    for entry in &entries {
        let body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        if entry.kind == "begin" {
            session = serde_json::from_value(body["session"].clone()).ok();
            continue;
        }
        if entry.kind == "reload" {
            reloads -= 1;
            workflow = law(reloads)?;
            continue;
        }
        let Ok(event) = serde_json::from_value::<Event>(body["event"].clone()) else { continue };
        let before = session.take().ok_or_else(|| law::damaged("the journal has no beginning"))?;
        let stepped = step(&workflow, before, &event);
        replayed.events += 1;
        let same = serde_json::to_value(&stepped.reply).is_ok_and(|reply| reply == body["reply"]);
        if !same && replayed.differs.is_none() {
            replayed.differs = Some(entry.position);
        }
        session = Some(stepped.session);
    }
    let session = session.ok_or_else(|| law::damaged("the journal has no beginning"))?;
    session.state().clone_into(&mut replayed.state);
    if session != bound.session && replayed.differs.is_none() {
        replayed.differs = Some(bound.row.position);
    }
    Ok(replayed)
}
