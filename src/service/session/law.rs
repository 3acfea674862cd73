//! The law of a session: gathered once at its start, kept as bytes, and never read again from where it came.
//!
//! Danger: a workflow, profile or invoked workflow that is looked up later could be another law by then.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::engine::Workflow;
use crate::profile::{HostFacts, Profile};
use crate::service::family::{Family, Vouched};
use crate::service::own_files::{self, state_directory};
use crate::service::profiles::{self, Names, Shelf, Text};
use crate::service::request::Law;
use crate::service::rules::UserRules;
use crate::service::workflows::{self, Chosen, Source};
use crate::service::workspace::Place;
use crate::store::{Ledger, Pin, StoreError};
use crate::workflow::builtin::BUILTINS;

/// The kinds of pins.
pub(super) const WORKFLOW: &str = "workflow";
const INVOKED: &str = "invoked";
const PROFILE: &str = "profile";
const OWN_PROFILE: &str = "own-profile";
const FRONT: &str = "profile-front";
const NAMED: &str = "profile-named";
pub(super) const RULES: &str = "user-rules";

/// Every kind.
pub(super) fn kinds() -> [&'static str; 7] {
    [WORKFLOW, INVOKED, PROFILE, OWN_PROFILE, FRONT, NAMED, RULES]
}

/// What a session starts with.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) workflow: Workflow,
    pub(super) origin: String,
    pub(super) pins: Vec<Pin>,
    /// Validation stages that the workflow fails.
    pub(super) warnings: Vec<Diagnostic>,
}

/// Reads everything that a session in this place will be held to.
///
/// # Errors
/// A workflow or profile that is missing, malformed or not accepted.
pub(super) fn gather(facts: &HostFacts, place: &Place, law: &Law) -> Result<Gathered, Diagnostic> {
    let own = own_files::accepted(facts, &place.workspace, law)?;
    let source = match own.workflow {
        Some(own) if law.workflow.is_none() => own,
        _ => workflows::find(law.workflow.as_deref())?,
    };
    let root = source.load()?;
    let mut pins = vec![pin_of(WORKFLOW, &root.loaded.machine.id, &source)];
    let ledger = Ledger::read(state_directory(facts), &place.workspace)?;
    let own_law = own_files::is_own(&place.workspace, source.file.as_deref());
    let vouched = own_law.then_some(Vouched { workspace: &place.workspace, ledger: &ledger });
    let family = Family::of(&root.loaded.machine, source.file.as_deref(), vouched)?;
    let loaded = family.violations(&source, root.loaded);
    let mut workflow = Workflow::new(loaded.machine);
    if let Some((name, mut problem)) = family.missing.into_iter().next() {
        problem.message = format!("the workflow invokes `{name}`: {}", problem.message);
        return Err(problem);
    }
    for member in family.members {
        pins.push(pin_of(INVOKED, &member.name, &member.source));
        workflow = workflow.with(member.name, member.chosen.loaded.machine);
    }
    pins.extend(profile_pins(facts, place, law, &workflow)?);
    if let (Some((path, _)), Some(text)) = (own.profile, own.profile_text) {
        let path = path.to_string_lossy().into_owned();
        pins.push(Pin {
            kind: OWN_PROFILE.to_owned(),
            name: path.clone(),
            origin: path,
            bytes: text.into_bytes(),
        });
    }
    pins.extend(rules_pin(&UserRules::read(facts)?));
    Ok(Gathered { workflow, origin: source.origin(), pins, warnings: loaded.violations })
}

/// The user's rules as a session keeps them; none where there are none.
pub(super) fn rules_pin(rules: &UserRules) -> Option<Pin> {
    let path = rules.file.to_string_lossy().into_owned();
    (!rules.text.is_empty()).then(|| Pin {
        kind: RULES.to_owned(),
        name: "rules".to_owned(),
        origin: path,
        bytes: rules.text.clone().into_bytes(),
    })
}

/// The user's rules that a session keeps.
///
/// # Errors
/// `rules_malformed`, where this version of swbox cannot read them.
pub(super) fn rules(pins: Reader<'_>) -> Result<UserRules, Diagnostic> {
    match pins(RULES)?.into_iter().next() {
        None => Ok(UserRules::default()),
        Some(pin) => {
            UserRules::parse(String::from_utf8_lossy(&pin.bytes).into_owned(), PathBuf::from(pin.origin))
        }
    }
}

fn pin_of(kind: &str, name: &str, source: &Source) -> Pin {
    Pin { kind: kind.to_owned(), name: name.to_owned(), origin: source.origin(), bytes: source.bytes.clone() }
}

/// Names and texts of every profile that the session can come to use.
fn profile_pins(
    facts: &HostFacts,
    place: &Place,
    law: &Law,
    workflow: &Workflow,
) -> Result<Vec<Pin>, Diagnostic> {
    let names = profiles::names(&law.profiles, &place.workspace, facts);
    let mut shelf = Shelf::of_user(facts);
    let mut of_states: Vec<Option<&str>> = vec![None];
    for state in workflow.machines().flat_map(|machine| machine.states.values()) {
        let named = state.jail.profile.as_deref();
        if !of_states.contains(&named) {
            of_states.push(named);
        }
    }
    for of_state in of_states {
        profiles::merge(&names, of_state, &mut shelf)?;
    }
    let mut pins = Vec::new();
    for (kind, list) in [(FRONT, &names.front), (NAMED, &names.named)] {
        for (at, name) in list.iter().enumerate() {
            pins.push(Pin {
                kind: kind.to_owned(),
                name: format!("{at:04}"),
                origin: String::new(),
                bytes: name.as_bytes().to_vec(),
            });
        }
    }
    let mut texts: Vec<Text> = Vec::new();
    for text in shelf.into_taken() {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    pins.extend(texts.into_iter().map(|text| Pin {
        kind: PROFILE.to_owned(),
        name: text.name,
        origin: text.path.to_string_lossy().into_owned(),
        bytes: text.text.into_bytes(),
    }));
    Ok(pins)
}

/// Those of a kind.
pub(super) fn of_kind(pins: &[Pin], kind: &str) -> Vec<Pin> {
    pins.iter().filter(|pin| pin.kind == kind).cloned().collect()
}

/// Reads pins of a kind.
type Reader<'a> = &'a dyn Fn(&str) -> Result<Vec<Pin>, StoreError>;

/// The workflow that a session was started with, and where it came from. `kind` is [`WORKFLOW`], or what a reload has
/// put aside.
///
/// # Errors
/// `store_damaged`, where the pins cannot be what was gathered.
pub(super) fn workflow(pins: Reader<'_>, suffix: &str) -> Result<(Workflow, String), Diagnostic> {
    let root = pins(&format!("{WORKFLOW}{suffix}"))?;
    let root = root.first().ok_or_else(|| damaged("the session has no workflow"))?;
    let mut workflow = Workflow::new(machine(root)?);
    for pin in pins(&format!("{INVOKED}{suffix}"))? {
        workflow = workflow.with(pin.name.clone(), machine(&pin)?);
    }
    Ok((workflow, root.origin.clone()))
}

fn machine(pin: &Pin) -> Result<crate::workflow::Machine, Diagnostic> {
    // One of swbox's own needs no checks: a test has made them.
    if let Some(own) = BUILTINS.iter().find(|own| own.source.as_bytes() == pin.bytes) {
        return Ok(own.load().map_err(|_| damaged("a built-in workflow does not load"))?.machine);
    }
    match crate::workflow::load(&pin.bytes) {
        Ok(loaded) => Ok(loaded.machine),
        Err(_) => Err(damaged("the session's workflow does not load with this version of swbox")),
    }
}

/// The profiles that a session was started with, for a state.
///
/// # Errors
/// A pinned profile that this version of swbox cannot read.
pub(super) fn profiles(pins: Reader<'_>, of_state: Option<&str>) -> Result<profiles::Chosen, Diagnostic> {
    let list = |kind: &str| -> Result<Vec<OsString>, Diagnostic> {
        Ok(pins(kind)?.into_iter().map(|pin| OsString::from_vec(pin.bytes)).collect())
    };
    let names = Names { front: list(FRONT)?, named: list(NAMED)? };
    let text = |pin: Pin| Text {
        name: pin.name,
        path: PathBuf::from(pin.origin),
        text: String::from_utf8_lossy(&pin.bytes).into_owned(),
    };
    let texts = pins(PROFILE)?.into_iter().map(text).collect();
    let chosen = profiles::merge(&names, of_state, &mut Shelf::pinned(texts))?;
    let own = pins(OWN_PROFILE)?.into_iter().next().map(text);
    let own = own.map(|own| Profile::from_toml(&own.text, &own.path).map(|profile| (own.path, profile)));
    chosen.and(own.transpose()?)
}

/// The machine of a session's current frame, as a request without a session would have chosen it.
///
/// # Errors
/// `store_damaged`.
pub(super) fn chosen(workflow: &Workflow, name: &str, origin: &str) -> Result<Chosen, Diagnostic> {
    let machine =
        workflow.machine(name).ok_or_else(|| damaged("the session runs a workflow that it does not have"))?;
    Ok(Chosen {
        loaded: crate::workflow::Loaded {
            machine: machine.clone(),
            advice: Vec::new(),
            violations: Vec::new(),
        },
        origin: origin.to_owned(),
    })
}

pub(super) fn damaged(why: &str) -> Diagnostic {
    Diagnostic::from(StoreError::Damaged(why.to_owned()))
}
