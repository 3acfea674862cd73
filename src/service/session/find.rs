//! Which session a request belongs to.
//!
//! Danger: "the latest one" would be somebody else's. Where the request does not say it and the workspace has more than
//! one, nothing is guessed; where the workspace was ever bound, nothing runs without one.

use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use super::jobs;
use super::law;
use super::life;
use super::place::Place as Kept;
use super::write::session_of;
use crate::diagnostic::Diagnostic;
use crate::engine::{Session, Workflow};
use crate::jail::keeper::Entering;
use crate::profile::HostFacts;
use crate::service::host::variable;
use crate::service::own_files::state_directory;
use crate::service::request::{Command, Law};
use crate::service::rules::UserRules;
use crate::service::workspace::Place;
use crate::service::{ancestry, clock, harnesses, host, person, profiles, workflows};
use crate::store::{Durability, Hash, Pin, SessionRow, Sqlite, Store, Ticket, was_bound};

/// The variable that names a session.
pub(super) const VARIABLE: &str = "SWBOX_SESSION";

/// A session with its law, and the store it is in.
#[derive(Debug)]
pub(in crate::service) struct Bound {
    pub(in crate::service) store: Sqlite,
    pub(in crate::service) row: SessionRow,
    pub(in crate::service) session: Session,
    pub(in crate::service) workflow: Rc<Workflow>,
    pub(in crate::service) origin: String,
    /// All that it holds of its law.
    pins: Vec<Pin>,
}

impl Bound {
    /// Reads the law of a session.
    pub(super) fn new(store: Sqlite, row: SessionRow) -> Result<Self, Diagnostic> {
        let pins = store.all_pins(&row.id)?;
        let (workflow, origin) = law::workflow(&|kind| Ok(law::of_kind(&pins, kind)), "")?;
        let session = session_of(&row)?;
        Ok(Self { store, row, session, workflow: Rc::new(workflow), origin, pins })
    }

    /// Workflow, state and profiles as it stands.
    pub(in crate::service) fn law(
        &self,
    ) -> Result<(workflows::Chosen, String, profiles::Chosen), Diagnostic> {
        let workflow = law::chosen(&self.workflow, &self.session.current.workflow, &self.origin)?;
        let state = self.session.state().to_owned();
        let own = workflow.loaded.machine.states.get(state.as_str());
        let own = own.ok_or_else(|| law::damaged("the session is in a state that its workflow lacks"))?;
        let held = |kind: &str| Ok(law::of_kind(&self.pins, kind));
        let chosen = law::profiles(&held, own.jail.profile.as_deref())?;
        Ok((workflow, state, chosen))
    }

    /// The user's rules as it keeps them.
    pub(in crate::service) fn rules(&self) -> Result<UserRules, Diagnostic> {
        law::rules(&|kind| Ok(law::of_kind(&self.pins, kind)))
    }

    /// Where a command starts: where the last one ended, unless the caller has moved since.
    pub(in crate::service) fn start_in(&self, place: &mut Place) {
        if let Some(directory) = Kept::of(&self.row).carried.start(&self.row.workspace, &place.cwd) {
            place.cwd = directory;
        }
    }

    /// The session as it stands now.
    pub(in crate::service) fn reread(&mut self) -> Result<(), Diagnostic> {
        let row = self.store.session(&self.row.id)?.ok_or_else(|| unknown(&self.row.id))?;
        if !Kept::of(&row).same_law(&Kept::of(&self.row)) {
            self.pins = self.store.all_pins(&row.id)?;
            let (workflow, origin) = law::workflow(&|kind| Ok(law::of_kind(&self.pins, kind)), "")?;
            (self.workflow, self.origin) = (Rc::new(workflow), origin);
        }
        self.session = session_of(&row)?;
        self.row = row;
        Ok(())
    }
}

/// A session that was found, of whose law nothing is read yet.
#[derive(Debug)]
pub(in crate::service) struct Found {
    store: Sqlite,
    pub(in crate::service) row: SessionRow,
    /// Its keeper, where there is one, which was asked to let a command join.
    called: Option<Entering>,
}

impl Found {
    /// Its keeper, that answers meanwhile.
    pub(in crate::service) fn called(&mut self) -> Option<Entering> {
        self.called.take()
    }

    /// Reads its law.
    pub(in crate::service) fn read(self) -> Result<Bound, Diagnostic> {
        Bound::new(self.store, self.row)
    }
}

/// The store, and the session that the request names by flag or variable.
/// `joins` says whether a command is to join it.
pub(in crate::service) fn named(
    facts: &HostFacts,
    law: &Law,
    joins: bool,
) -> Result<Option<Found>, Diagnostic> {
    let of_variable = || variable(&facts.env, VARIABLE).filter(|value| !value.is_empty());
    let stateless = law.state.is_some() || law.workflow.is_some();
    let id = match &law.session {
        Some(id) => id.clone(),
        None if stateless => return Ok(None),
        None => match of_variable() {
            Some(id) => id.to_string_lossy().into_owned(),
            None => return Ok(None),
        },
    };
    // It answers while the store is opened. Where that does not have the session, all that comes of it ends with this.
    let called = if joins { jobs::call(facts, &id) } else { None };
    let store = Sqlite::existing(state_directory(facts))?.ok_or_else(|| unknown(&id))?;
    let row = store.session(&id)?.ok_or_else(|| unknown(&id))?;
    Ok(Some(Found { store, row, called }))
}

/// The session of a workspace that the request does not name: the one that the harness's own id is bound to, else the
/// only live one. None where the workspace never had one. `joins` as for [`named`].
pub(in crate::service) fn of_workspace(
    facts: &HostFacts,
    workspace: &Path,
    law: &Law,
    joins: bool,
) -> Result<Option<Found>, Diagnostic> {
    let found = |store: Sqlite, row: SessionRow| {
        let called = if joins { jobs::call(facts, &row.id) } else { None };
        Ok(Some(Found { store, row, called }))
    };
    if law.state.is_some() || law.workflow.is_some() || !was_bound(state_directory(facts), workspace) {
        return Ok(None);
    }
    let Some(mut store) = Sqlite::existing(state_directory(facts))? else {
        return Err(none_left(workspace));
    };
    let value = |name: &str| {
        let value = variable(&facts.env, name).filter(|value| !value.is_empty())?;
        Some(value.to_string_lossy().into_owned())
    };
    let own = law.harness.clone().or_else(|| harnesses::own_session(value)).or_else(process);
    let mut over = None;
    if let Some((harness, key)) = &own
        && let Some(id) = store.bound(harness, key)?
        && let Some(row) = store.session(&id)?
        && row.workspace == workspace
    {
        if !row.over {
            return found(store, row);
        }
        over = Some(row);
    }
    let mut live: Vec<SessionRow> =
        store.sessions(Some(workspace))?.into_iter().filter(|row| !row.over).collect();
    if live.len() > 1 {
        // Branches are their parent's; whoever works in one names it.
        live.retain(|row| session_of(row).is_ok_and(|session| session.branch.is_none()));
    }
    if let Some(over) = over {
        // Its session is over. The one that a person began since is its next, unless somebody else is in that already.
        let [next] = &live[..] else { return found(store, over) };
        if store.is_bound(&next.id)? {
            return found(store, over);
        }
    }
    let row = match live.len() {
        0 => return Err(none_left(workspace)),
        1 => live.remove(0),
        _ => return Err(ambiguous(&live)),
    };
    let row = match own {
        None => row,
        Some((harness, key)) => bind(&mut store, &harness, &key, &row.id)?,
    };
    found(store, row)
}

/// A registered harness among the ancestors, by its process: two of one kind in a workspace are two.
fn process() -> Option<(String, String)> {
    let (harness, process) = ancestry::harness_above()?;
    Some((harness.name.to_owned(), life::name(process.pid, process.born)))
}

/// Takes a ticket in: the session that it is for, where it is for exactly this command.
///
/// # Errors
/// `ticket_void`, and a store that cannot be read or written.
pub(in crate::service) fn redeem(ticket: &str, command: &Command) -> Result<String, Diagnostic> {
    let facts = host::facts()?;
    let mut store = Sqlite::existing(state_directory(&facts))?.ok_or_else(|| void("it was never given"))?;
    // A fall of the machine must not give it back.
    let mut write = store.begin(Durability::Machine)?;
    let taken = write.take(ticket)?;
    write.commit()?;
    let taken = taken.ok_or_else(|| void("it was used, or never given"))?;
    if taken.expires < clock::now() {
        return Err(void("its time is over"));
    }
    if taken.command != digest(command) {
        return Err(void("it is for another command"));
    }
    Ok(taken.session)
}

/// How long a ticket waits for its command.
const TICKET: u64 = 10 * 60 * 1000;

/// Gives the right to send exactly this command into a session, once: for a driver whose harness starts the command itself
/// and tells it nothing else.
///
/// # Errors
/// `session_unknown`, and a store that cannot be written.
pub fn ticket(session: &str, command: &Command) -> Result<String, Diagnostic> {
    person::no_agent("`swbox session ticket`")?;
    let facts = host::facts()?;
    let mut store = Sqlite::existing(state_directory(&facts))?.ok_or_else(|| unknown(session))?;
    let now = clock::now();
    let ticket = Ticket {
        id: clock::id("t")?,
        session: session.to_owned(),
        command: digest(command),
        expires: now.saturating_add(TICKET),
    };
    let mut write = store.begin(Durability::Process)?;
    write.session(session)?.filter(|row| !row.over).ok_or_else(|| unknown(session))?;
    write.give(&ticket, now)?;
    write.commit()?;
    Ok(ticket.id)
}

fn digest(command: &Command) -> String {
    Hash::of(format!("{command:?}").as_bytes()).to_string()
}

fn void(why: &str) -> Diagnostic {
    Diagnostic::new("ticket_void", format!("the ticket counts for nothing: {why}"))
        .help("a ticket is good once, for one command, for ten minutes; the harness's hook gives a new one with each call")
}

/// The first use binds a harness's own id.
fn bind(store: &mut Sqlite, harness: &str, key: &str, id: &str) -> Result<SessionRow, Diagnostic> {
    let mut write = store.begin(Durability::Machine)?;
    let mut row = write.session(id)?.ok_or_else(|| unknown(id))?;
    write.bind(harness, key, id)?;
    write.append(&mut row, clock::now(), "bound", &json!({ "harness": harness, "key": key }))?;
    write.commit()?;
    Ok(row)
}

pub(super) fn unknown(id: &str) -> Diagnostic {
    Diagnostic::new("session_unknown", format!("there is no session `{id}`"))
        .help("`swbox session list` names those that there are")
}

fn none_left(workspace: &Path) -> Diagnostic {
    Diagnostic::new(
        "session_over",
        format!("the workspace {} has no session that goes on", workspace.display()),
    )
    .help("a person starts one: swbox session start; `swbox session list` names those that are over")
}

fn ambiguous(live: &[SessionRow]) -> Diagnostic {
    let list: Vec<String> =
        live.iter().map(|row| format!("{} ({} in \"{}\")", row.id, row.workflow, row.state)).collect();
    Diagnostic::new("session_ambiguous", format!("the workspace has {} sessions that go on", live.len()))
        .help(format!("name one with --session or {VARIABLE}: {}", list.join(", ")))
}
