//! The law that a command is under, gathered once, and the judgement by it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::effects::Places;
use super::host;
use super::own_files;
use super::profiles;
use super::reading;
use super::report::{Judgement, LawShown};
use super::request::{Command, Law};
use super::rules::UserRules;
use super::session::{self, Bound, Found};
use super::suggest;
use super::workflows;
use super::workspace::{self, Place};
use crate::classify::{Classification, UserRows};
use crate::diagnostic::Diagnostic;
use crate::policy::{Decision, Origin, Policy, RuleSet, StateLaw};
use crate::profile::HostFacts;
use crate::profile::resolve::check_workspace;
use crate::profile::value::Anchors;
use crate::workflow::model::{Asking, RuleSpec, Verdict};
use crate::workflow::{Machine, State};

/// Workflow, state, workspace and host of a request.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) facts: HostFacts,
    pub(super) place: Place,
    pub(super) workflow: workflows::Chosen,
    pub(super) state: String,
    pub(super) chosen: profiles::Chosen,
    /// The user's own rules.
    pub(super) rules: UserRules,
    /// The session that gives all of this.
    pub(super) bound: Option<Bound>,
    /// Whether programs are seen before they begin, so that what a line does not show is judged then.
    pub(super) sees_programs: bool,
}

impl Setting {
    /// Gathers it.
    ///
    /// # Errors
    /// Whatever is missing, malformed or refused, with the way out.
    pub(super) fn new(law: &Law) -> Result<Self, Diagnostic> {
        match Ground::find(law, false)? {
            Ground::Session(seat) => seat.complete(),
            Ground::Free(free) => free.complete(law),
        }
    }

    /// The law of a session, as it stands.
    fn of_session(facts: HostFacts, mut place: Place, bound: Bound) -> Result<Self, Diagnostic> {
        let (workflow, state, chosen) = bound.law()?;
        bound.start_in(&mut place);
        let rules = bound.rules()?;
        Ok(Self { facts, place, workflow, state, chosen, rules, bound: Some(bound), sees_programs: true })
    }

    /// Follows its session to where it is now.
    ///
    /// # Errors
    /// A session that is gone, a store that cannot be read.
    pub(super) fn follow(&mut self) -> Result<(), Diagnostic> {
        if let Some(bound) = &mut self.bound {
            bound.reread()?;
            (self.workflow, self.state, self.chosen) = bound.law()?;
            self.rules = bound.rules()?;
        }
        Ok(())
    }

    /// The machine.
    pub(super) fn machine(&self) -> &Machine {
        &self.workflow.loaded.machine
    }

    /// The state as written.
    pub(super) fn state(&self) -> &State {
        // `state_of` found it; the machine does not change.
        &self.machine().states[self.state.as_str()]
    }

    /// The policy of the machine.
    ///
    /// # Errors
    /// A rule that cannot be used.
    pub(super) fn policy(&self) -> Result<Policy<'_>, Diagnostic> {
        self.policy_with(self.rules.within(&self.place.workspace, &self.state)?)
    }

    fn policy_with(&self, rules: RuleSet) -> Result<Policy<'_>, Diagnostic> {
        let rules = rules.judging_argv(self.sees_programs);
        let policy = Policy::compile(self.machine(), rules);
        let policy = policy.map(|policy| policy.within(self.place.workspace.to_string_lossy()));
        policy.map_err(|problems| {
            problems
                .into_iter()
                .next()
                .unwrap_or_else(|| Diagnostic::new("rule_prefix", "a rule cannot be used"))
        })
    }

    /// Whether one more allow rule of the user would let the command run unasked.
    pub(super) fn would_allow(&self, prefix: &str, judgement: &Judgement) -> bool {
        let Ok(mut rules) = self.rules.within(&self.place.workspace, &self.state) else { return false };
        let rule = RuleSpec {
            prefix: prefix.to_owned(),
            decision: Verdict::Allow,
            justification: None,
            matches: Vec::new(),
            not_match: Vec::new(),
        };
        if rules.add(&[rule], Origin::User).is_err() {
            return false;
        }
        let Ok(policy) = self.policy_with(rules) else { return false };
        policy.state(&self.state).is_some_and(|law| {
            let evaluation = policy.evaluate(law, &judgement.source, &judgement.classification);
            evaluation.decision == Decision::Allow
        })
    }

    /// What becomes of a question here: the stricter of what the user and the state say.
    pub(super) fn approvals(&self) -> Asking {
        self.rules.approvals.max(self.state().approvals.unwrap_or(Asking::Ask))
    }

    /// The law as a person reads it.
    pub(super) fn shown(&self, law: &StateLaw) -> LawShown {
        LawShown {
            workflow: self.machine().id.clone(),
            origin: self.workflow.origin.clone(),
            state: self.state.clone(),
            tools: self.state().allowed_tools.as_ref().map(|_| law.listed().to_vec()),
            is_final: law.is_final,
            session: self.bound.as_ref().map(|bound| bound.row.id.clone()),
        }
    }

    /// Reads and judges a command.
    ///
    /// # Errors
    /// A command that cannot be read at all.
    pub(super) fn judge(&self, policy: &Policy<'_>, command: &Command) -> Result<Judgement, Diagnostic> {
        let begun = Instant::now();
        let reading = reading::read(command)?;
        let rows = &self.chosen.profile.commands;
        let classification = reading::classify(&reading, &self.place.cwd, &self.facts, rows);
        let source = reading.source;
        let law = policy.require_state(&self.state)?;
        let mut evaluation = policy.evaluate(law, &source, &classification);
        if evaluation.decision == Decision::Prompt && self.approvals() == Asking::Deny {
            evaluation.deny();
        }
        let places = Places { profile: &self.chosen.profile, anchors: self.anchors(), facts: &self.facts };
        let mut closed = places.closed(self.machine(), &evaluation.reasons);
        if !closed.is_empty() {
            // Where the hint leads, the jail refuses the same.
            evaluation.hint = None;
        }
        for place in &mut closed {
            place.subject = self.near(&place.subject);
        }
        for reason in &mut evaluation.reasons {
            if let Some(subject) = &mut reason.subject {
                // `config.yml` says it better than its whole path; the operations keep that.
                let short = self.near(subject);
                reason.message = reason.message.replace(&format!(": {subject})"), &format!(": {short})"));
                *subject = short;
            }
        }
        let (law, took) = (self.shown(law), begun.elapsed());
        Ok(Judgement { law, source, classification, evaluation, closed, took })
    }

    /// What places are counted from.
    pub(super) fn anchors(&self) -> Anchors<'_> {
        Anchors { home: &self.facts.home, workspace: &self.place.workspace, env: &self.facts.env }
    }

    /// A path as seen from where the command starts; anything else as it is.
    fn near(&self, subject: &str) -> String {
        if subject.starts_with('/') {
            shorten(Path::new(subject), &self.place.cwd, &self.facts.home)
        } else {
            subject.to_owned()
        }
    }

    /// Gathers what only a command that will run needs: the secrets that exist, the name of the cache.
    ///
    /// # Errors
    /// A workspace inside a place of secrets.
    pub(super) fn complete(&mut self, law: &Law) -> Result<(), Diagnostic> {
        host::complete(&mut self.facts, &self.chosen.profile, &self.place.workspace);
        // Again: only now is known where secrets are.
        check_workspace(&self.place.workspace, &self.facts, law.allow_home)
    }
}

/// What is known of a setting first.
pub(super) enum Ground {
    /// Host, workspace and the session, which says the rest.
    Session(Box<Seat>),
    /// The workspace.
    Free(Box<Free>),
}

/// Host and workspace of a request that is of no session.
pub(super) struct Free {
    facts: HostFacts,
    pub(super) place: Place,
}

/// Host, workspace and session of a request that is of one.
pub(super) struct Seat {
    facts: HostFacts,
    pub(super) place: Place,
    pub(super) found: Found,
}

impl Seat {
    /// Reads the session's law.
    ///
    /// # Errors
    /// What a session's law cannot be read for.
    pub(super) fn complete(self) -> Result<Setting, Diagnostic> {
        Setting::of_session(self.facts, self.place, self.found.read()?)
    }
}

impl Ground {
    /// Finds it; `joins` says whether a command is to join its session.
    ///
    /// # Errors
    /// As for [`Setting::new`].
    pub(super) fn find(law: &Law, joins: bool) -> Result<Self, Diagnostic> {
        let mut facts = host::facts()?;
        if let Some(found) = session::named(&facts, law, joins)? {
            let place = place_of(&found, &facts, law)?;
            place.tell(&mut facts);
            return Ok(Self::Session(Box::new(Seat { facts, place, found })));
        }
        let place = workspace::find(law.workspace.as_deref(), &facts, law.allow_home)?;
        place.tell(&mut facts);
        if let Some(found) = session::of_workspace(&facts, &place.workspace, law, joins)? {
            return Ok(Self::Session(Box::new(Seat { facts, place, found })));
        }
        Ok(Self::Free(Box::new(Free { facts, place })))
    }
}

impl Free {
    /// Gathers the rest.
    ///
    /// # Errors
    /// As for [`Setting::new`].
    pub(super) fn complete(self, law: &Law) -> Result<Setting, Diagnostic> {
        let Self { facts, place } = self;
        let own = own_files::accepted(&facts, &place.workspace, law)?;
        let workflow = workflows::choose(law.workflow.as_deref(), own.workflow)?;
        let state = state_of(&workflow.loaded.machine, law.state.as_deref())?;
        let of_state = workflow
            .loaded
            .machine
            .states
            .get(state.as_str())
            .and_then(|state| state.jail.profile.as_deref());
        let chosen = profiles::choose(&law.profiles, of_state, &place.workspace, &facts)?.and(own.profile)?;
        let rules = UserRules::read(&facts)?;
        Ok(Setting { facts, place, workflow, state, chosen, rules, bound: None, sees_programs: true })
    }
}

/// Where a command of a session works: in the session's workspace, where the request does not say otherwise.
fn place_of(found: &Found, facts: &HostFacts, law: &Law) -> Result<Place, Diagnostic> {
    let workspace = &found.row.workspace;
    let place = workspace::find(Some(law.workspace.as_deref().unwrap_or(workspace)), facts, true)?;
    if place.workspace != *workspace {
        return Err(Diagnostic::new(
            "session_elsewhere",
            format!("the session {} is one of the workspace {}", found.row.id, workspace.display()),
        )
        .help("leave --workspace out, or name a session of this workspace"));
    }
    Ok(place)
}

/// The named state, or the initial one.
pub(super) fn state_of(machine: &Machine, named: Option<&str>) -> Result<String, Diagnostic> {
    let Some(named) = named else { return Ok(machine.initial.clone()) };
    if machine.states.contains_key(named) {
        return Ok(named.to_owned());
    }
    let known: Vec<String> = machine.states.keys().cloned().collect();
    Err(Diagnostic::new("unknown_state", format!("the workflow \"{}\" has no state \"{named}\"", machine.id))
        .help(suggest::among(named, &known)))
}

/// The decision on a command, without running it.
///
/// # Errors
/// Whatever prevents a decision.
pub fn check(law: &Law, command: &Command) -> Result<Judgement, Diagnostic> {
    let setting = Setting::new(law)?;
    let policy = setting.policy()?;
    setting.judge(&policy, command)
}

/// Reads lines on their own, without a law.
#[derive(Debug)]
pub struct Reader {
    facts: HostFacts,
    cwd: PathBuf,
    rows: UserRows,
}

impl Reader {
    /// A reader for this host and directory, with the command rows of these profiles.
    ///
    /// # Errors
    /// `no_home`, and a profile that cannot be read.
    pub fn new(profiles: &[OsString]) -> Result<Self, Diagnostic> {
        let facts = host::facts()?;
        let cwd = std::env::current_dir().unwrap_or_else(|_| facts.home.clone());
        let chosen = profiles::choose(profiles, None, &cwd, &facts)?;
        Ok(Self { facts, cwd, rows: chosen.profile.commands })
    }

    /// How a line is read.
    ///
    /// # Errors
    /// A line that bash could not be given.
    pub fn read(&self, line: &OsStr) -> Result<(String, Classification), Diagnostic> {
        let reading = reading::read(&Command::line(line))?;
        let classification = reading::classify(&reading, &self.cwd, &self.facts, &self.rows);
        Ok((reading.source, classification))
    }
}

/// A path as a person would write it, seen from `here`.
pub(super) fn shorten(path: &Path, here: &Path, home: &Path) -> String {
    if let Ok(below) = path.strip_prefix(here) {
        return if below.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            below.to_string_lossy().into_owned()
        };
    }
    match path.strip_prefix(home) {
        Ok(below) if !below.as_os_str().is_empty() => format!("~/{}", below.to_string_lossy()),
        Ok(_) => "~".to_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}
