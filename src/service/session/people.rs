//! What a person does with sessions: start and end them, answer what waits, move them by force, take over a new law.
//!
//! Danger: each of these changes what an agent may do. Whoever answers or forces is asked in a terminal; whoever starts
//! or ends must at least be no registered harness's command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Value, json};

use super::answers::{Answered, went};
use super::changes;
use super::exec::texts;
use super::find::{Bound, unknown};
use super::jobs;
use super::law::{self, Gathered};
use super::place::Place as Kept;
use super::write::{Desk, session_of};
use crate::diagnostic::Diagnostic;
use crate::engine::{Force, Session, What};
use crate::service::own_files::state_directory;
use crate::service::person::{self, CHANNEL, Terminal};
use crate::service::request::{Law, Observe};
use crate::service::rules::has_rule;
use crate::service::{clock, host, workspace};
use crate::store::{Durability, Hash, Pin, SessionRow, Sqlite, Store, mark_bound, unmark_bound};

/// A session that was started.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Its id.
    pub id: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// The workflow's id and where it came from.
    pub workflow: (String, String),
    /// The state it begins in.
    pub state: String,
    /// Validation stages that the workflow fails.
    pub warnings: Vec<Diagnostic>,
}

/// Starts a session for whoever typed it.
///
/// # Errors
/// As for [`begin`], and where an agent asks.
pub fn start(law: &Law, observe: Observe) -> Result<Begun, Diagnostic> {
    person::no_agent("`swbox session start`")?;
    create(law, None, observe)
}

/// Starts a session, and binds a harness's own id to it: for a driver that speaks for the harness itself, as its hook at
/// the beginning of a session does, never for a command of an agent.
///
/// # Errors
/// A law that cannot be gathered, a store that cannot be written.
pub fn begin(law: &Law, harness: Option<(&str, &str)>) -> Result<Begun, Diagnostic> {
    create(law, harness, Observe::Auto)
}

fn create(law: &Law, harness: Option<(&str, &str)>, observe: Observe) -> Result<Begun, Diagnostic> {
    let facts = host::facts()?;
    let place = workspace::find(law.workspace.as_deref(), &facts, law.allow_home)?;
    let gathered = law::gather(&facts, &place, law)?;
    let mut store = Sqlite::open(state_directory(&facts))?;
    // Before the session is there: a workspace that is marked and has none runs nothing.
    mark_bound(state_directory(&facts), &place.workspace)?;
    let (id, at) = (clock::id("s")?, clock::now());
    let session = Session::start(&gathered.workflow, id.clone(), at);
    let mut row = SessionRow {
        id: id.clone(),
        workspace: place.workspace.clone(),
        workflow: gathered.workflow.root_name().to_owned(),
        created: at,
        touched: at,
        over: false,
        state: session.state().to_owned(),
        position: 0,
        head: Hash::default(),
        body: serde_json::to_string(&session)
            .map_err(|_| Diagnostic::new("store_failed", "a session cannot be written as JSON"))?,
        place: Kept::beginning(changes::head(&place.workspace), observe).to_json(),
    };
    let digests: BTreeMap<String, String> = gathered
        .pins
        .iter()
        .map(|pin| (format!("{} {}", pin.kind, pin.name), Hash::of(&pin.bytes).to_string()))
        .collect();
    let mut write = store.begin(Durability::Machine)?;
    write.create(&row)?;
    for pin in &gathered.pins {
        write.pin(&id, pin)?;
    }
    let body = json!({
        "session": session, "workflow": row.workflow, "origin": gathered.origin, "pins": digests,
        "workspace": place.workspace.to_string_lossy(),
    });
    write.append(&mut row, at, "begin", &body)?;
    if let Some((harness, key)) = harness {
        write.bind(harness, key, &id)?;
        write.append(&mut row, at, "bound", &json!({ "harness": harness, "key": key }))?;
    }
    write.commit()?;
    Ok(Begun {
        id,
        workspace: place.workspace,
        workflow: (row.workflow, gathered.origin),
        state: row.state,
        warnings: gathered.warnings,
    })
}

/// Ends a session. `unbind` also lets its workspace run without one again.
///
/// # Errors
/// As for [`start`].
pub fn end(id: &str, unbind: bool) -> Result<String, Diagnostic> {
    person::no_agent("`swbox session end`")?;
    let facts = host::facts()?;
    let mut bound = open(id)?;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &[]);
    let mut row = desk.write.session(id)?.ok_or_else(|| unknown(id))?;
    if !row.over {
        desk.bury(&mut row)?;
        let what = What::End { reason: "person".to_owned() };
        desk.apply(&mut row, "event", clock::id("x")?, what, json!({ "channel": CHANNEL }))?;
    }
    desk.commit()?;
    jobs::close(&row, state_directory(&facts));
    if unbind {
        unmark_bound(state_directory(&facts), &row.workspace)?;
    }
    Ok(row.state)
}

/// Removes sessions that ended before `before` (milliseconds since 1970); gives their ids. `dry` removes nothing.
///
/// # Errors
/// As for [`start`].
pub fn prune(before: u64, dry: bool) -> Result<Vec<String>, Diagnostic> {
    person::no_agent("`swbox session prune`")?;
    let facts = host::facts()?;
    let Some(mut store) = Sqlite::existing(state_directory(&facts))? else { return Ok(Vec::new()) };
    let old = |row: &SessionRow| row.over && row.touched < before;
    let found: Vec<String> = store.sessions(None)?.into_iter().filter(old).map(|row| row.id).collect();
    if dry {
        return Ok(found);
    }
    let mut write = store.begin(Durability::Machine)?;
    for id in &found {
        write.remove(id)?;
    }
    write.commit()?;
    Ok(found)
}

/// Milliseconds since 1970, now less a span.
pub fn before(span: std::time::Duration) -> u64 {
    clock::now().saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// Moves a session past every condition.
///
/// # Errors
/// As for [`answer`](super::answer).
pub fn force(id: &str, to: &str, reason: &str, _person: &Terminal) -> Result<Answered, Diagnostic> {
    let mut bound = open(id)?;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &[]);
    let mut row = desk.write.session(id)?.ok_or_else(|| unknown(id))?;
    desk.bury(&mut row)?;
    let what =
        What::Force(Force { to: to.to_owned(), channel: CHANNEL.to_owned(), reason: reason.to_owned() });
    let applied = desk.apply(&mut row, "force", clock::id("x")?, what, Value::Null)?;
    let notices = texts(&desk);
    desk.commit()?;
    went(&mut bound, row, applied, notices, &[])
}

/// What a reload would change.
#[derive(Debug)]
pub struct Reload {
    /// The state that the session is in.
    pub state: String,
    /// The workflow's text now and then.
    pub texts: (String, String),
    /// The user's rules' text now and then.
    pub rules: (String, String),
    session: String,
    gathered: Gathered,
}

/// Reads the law of a session anew from where it came, for a person to see.
///
/// # Errors
/// A law that cannot be gathered, and one that lacks the state that the session is in.
pub fn reload(id: &str) -> Result<Reload, Diagnostic> {
    let facts = host::facts()?;
    let bound = open(id)?;
    let place = workspace::find(Some(&bound.row.workspace), &facts, true)?;
    let from = Path::new(&bound.origin);
    let own = crate::service::own_files::is_own(&place.workspace, Some(from));
    let law = Law {
        workflow: (!own)
            .then(|| if bound.origin == "builtin" { bound.row.workflow.clone().into() } else { from.into() }),
        ..Law::default()
    };
    let gathered = law::gather(&facts, &place, &law)?;
    let session = session_of(&bound.row)?;
    for frame in std::iter::once(&session.current).chain(&session.callers) {
        let known = gathered.workflow.machine(&frame.workflow);
        if !known.is_some_and(|machine| machine.states.contains_key(&frame.state)) {
            return Err(Diagnostic::new(
                "reload_impossible",
                format!(
                    "the new law has no state \"{}\" in \"{}\", where the session is",
                    frame.state, frame.workflow
                ),
            )
            .help("end the session and start a new one"));
        }
    }
    let text = |pin: Option<&Pin>| {
        pin.map(|pin| String::from_utf8_lossy(&pin.bytes).into_owned()).unwrap_or_default()
    };
    let before = bound.store.pins(id, law::WORKFLOW)?;
    let texts = (text(before.first()), text(gathered.pins.first()));
    let rules_before = bound.store.pins(id, law::RULES)?;
    let rules = gathered.pins.iter().find(|pin| pin.kind == law::RULES);
    let rules = (text(rules_before.first()), text(rules));
    Ok(Reload { state: bound.row.state, texts, rules, session: id.to_owned(), gathered })
}

/// Makes what was shown the law of the session. The law that held before stays for `replay`.
///
/// # Errors
/// As for [`answer`](super::answer).
pub fn take_over(reload: &Reload, _person: &Terminal) -> Result<(), Diagnostic> {
    let id = &reload.session;
    let mut bound = open(id)?;
    let mut write = bound.store.begin(Durability::Machine)?;
    let mut row = write.session(id)?.ok_or_else(|| unknown(id))?;
    if row.over || row.state != reload.state {
        return Err(Diagnostic::new("session_moving", "the session has moved since the law was shown")
            .help("repeat it"));
    }
    let mut kept = Kept::of(&row);
    let aside = format!("@{}", kept.law);
    for kind in law::kinds() {
        for pin in write.pins(id, kind)? {
            write.pin(id, &Pin { kind: format!("{kind}{aside}"), ..pin })?;
        }
        write.unpin(id, kind)?;
    }
    for pin in &reload.gathered.pins {
        write.pin(id, pin)?;
    }
    kept.law += 1;
    row.place = kept.to_json();
    row.workflow = reload.gathered.workflow.root_name().to_owned();
    let body = json!({ "origin": reload.gathered.origin, "channel": CHANNEL, "law": kept.law });
    write.append(&mut row, clock::now(), "reload", &body)?;
    Ok(write.commit()?)
}

/// The sessions that are not over and keep a rule of the user's, which may be gone from the file.
///
/// # Errors
/// A store that cannot be read.
pub fn keeping_rule(id: &str) -> Result<Vec<String>, Diagnostic> {
    let Some(store) = Sqlite::existing(state_directory(&host::facts()?))? else { return Ok(Vec::new()) };
    let mut keeping = Vec::new();
    for row in store.sessions(None)?.into_iter().filter(|row| !row.over) {
        if store.pins(&row.id, law::RULES)?.iter().any(|pin| has_rule(&pin.bytes, id)) {
            keeping.push(row.id);
        }
    }
    Ok(keeping)
}

/// A session by its id.
pub(super) fn open(id: &str) -> Result<Bound, Diagnostic> {
    let facts = host::facts()?;
    let store = Sqlite::existing(state_directory(&facts))?.ok_or_else(|| unknown(id))?;
    let row = store.session(id)?.ok_or_else(|| unknown(id))?;
    Bound::new(store, row)
}
