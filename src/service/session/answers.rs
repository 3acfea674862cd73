//! What waits for a person, and the person's answer.
//!
//! Danger: an answer changes what an agent may do. Whoever answers was asked in a terminal, and the answer is to what was
//! shown there.

use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};

use super::changes::{self, Changed};
use super::evidence;
use super::exec::{secrets, texts};
use super::find::{Bound, unknown};
use super::jobs;
use super::law;
use super::place::Place as Kept;
use super::write::{Applied, Desk};
use crate::diagnostic::Diagnostic;
use crate::engine::{Answer, ApprovalScope, ParkedShown, Reply, What};
use crate::service::own_files::state_directory;
use crate::service::person::{CHANNEL, Terminal};
use crate::service::request::Law;
use crate::service::rules::{UserRule, UserRules};
use crate::service::setting::Setting;
use crate::service::{clock, host};
use crate::store::{Durability, Hash, Parked, SessionRow, Sqlite, Store};
use crate::workflow::model::Verdict as RuleWord;

/// Something that waits for a person.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// How it stands.
    pub status: String,
    /// What a person is shown.
    pub shown: ParkedShown,
    /// What became of the files that were changed since the last approval.
    pub changes: Vec<Changed>,
}

/// What waits under an id.
///
/// # Errors
/// `approval_unknown`, and a store that cannot be read.
pub fn waiting(id: &str) -> Result<Waiting, Diagnostic> {
    let facts = host::facts()?;
    let store = Sqlite::existing(state_directory(&facts))?.ok_or_else(|| unknown_approval(id))?;
    let parked = store.parked(id)?.ok_or_else(|| unknown_approval(id))?;
    let row = store.session(&parked.session)?.ok_or_else(|| unknown_approval(id))?;
    let base = Kept::of(&row).base;
    let mut waiting = shown(parked, row.workspace)?;
    let law = Law { session: Some(waiting.session.clone()), ..Law::default() };
    // A workspace that is gone has nothing to count, and the question can still be answered.
    if !waiting.shown.files.is_empty()
        && let Ok(setting) = Setting::new(&law)
    {
        let seen = store.seen(&waiting.session)?;
        waiting.changes = changes::since(&setting, &base, &seen, &waiting.shown.files);
    }
    Ok(waiting)
}

pub(super) fn shown(parked: Parked, workspace: PathBuf) -> Result<Waiting, Diagnostic> {
    let shown: ParkedShown =
        serde_json::from_str(&parked.body).map_err(|_| law::damaged("what is parked cannot be read"))?;
    let late = parked.status == "open" && parked.expires < clock::now();
    let status = if late { "expired".to_owned() } else { parked.status };
    let changes = shown.files.iter().map(|path| Changed::named(path)).collect();
    Ok(Waiting { id: parked.id, session: parked.session, workspace, status, shown, changes })
}

fn unknown_approval(id: &str) -> Diagnostic {
    Diagnostic::new("approval_unknown", format!("nothing waits under `{id}`"))
        .help("`swbox session status` lists what waits")
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes; for a command, how far.
    Yes(ApprovalScope),
    /// No, and why.
    No(String),
}

/// What came of an answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The answer of the session.
    pub reply: Reply,
    /// The state it is in now.
    pub state: String,
    /// Told on the way.
    pub notices: Vec<String>,
    /// The rule that was written, and into which file.
    pub rule: Option<(UserRule, PathBuf)>,
}

/// Answers what waits. The terminal is the proof that a person was asked.
///
/// # Errors
/// A store that cannot be read or written.
pub fn answer(waiting: &Waiting, verdict: Verdict, _person: &Terminal) -> Result<Answered, Diagnostic> {
    let law = Law { session: Some(waiting.session.clone()), ..Law::default() };
    let mut setting = Setting::new(&law)?;
    let lasting = match verdict {
        Verdict::Yes(ApprovalScope::Always) => Some(lasting_rule(waiting)?),
        Verdict::Yes(ApprovalScope::Once | ApprovalScope::Session) | Verdict::No(_) => None,
    };
    let facts = setting.facts.clone();
    let secrets = secrets(&setting);
    let tree = evidence::fingerprint(&setting);
    let bound = setting.bound.as_mut().ok_or_else(|| unknown(&waiting.session))?;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &secrets);
    let mut row = desk.write.session(&waiting.session)?.ok_or_else(|| unknown(&waiting.session))?;
    desk.bury(&mut row)?;
    let mut answer = Answer {
        approval: waiting.id.clone(),
        channel: CHANNEL.to_owned(),
        reason: None,
        scope: ApprovalScope::Once,
        tree,
    };
    let what = match verdict {
        Verdict::Yes(scope) => {
            answer.scope = scope;
            What::Approve(answer)
        }
        Verdict::No(reason) => {
            answer.reason = Some(reason);
            What::Reject(answer)
        }
    };
    let applied = desk.apply(&mut row, "answer", clock::id("x")?, what, Value::Null)?;
    // From here on the person knows them.
    if matches!(applied.reply, Reply::Moved { .. }) {
        for seen in changes::note(&row.workspace, waiting.shown.files.iter().cloned()) {
            desk.write.see(&row.id, &seen)?;
        }
    }
    let notices = texts(&desk);
    let mut rule = None;
    if let (Some(lasting), Reply::Noted) = (lasting, &applied.reply) {
        // Before the answer is acknowledged: where the rule cannot be written, nothing was answered.
        let rules = UserRules::read(&facts)?.append(&lasting)?;
        take_over_rules(&mut desk, &mut row, &rules, &lasting)?;
        rule = Some((lasting, rules.file));
    }
    desk.commit()?;
    Ok(Answered { rule, ..went(bound, row, applied, notices, &secrets)? })
}

/// What came of a person's event, when the jobs that it wants ended are.
pub(super) fn went(
    bound: &mut Bound,
    row: SessionRow,
    applied: Applied,
    mut notices: Vec<String>,
    secrets: &[String],
) -> Result<Answered, Diagnostic> {
    let store = jobs::store()?;
    (bound.row, bound.session) = (row, applied.session);
    let mut reply = applied.reply;
    if let Some((last, told)) = jobs::settle(bound, secrets, &store, &applied.effects)? {
        reply = last.reply;
        notices.extend(told);
    }
    jobs::close(&bound.row, &store);
    Ok(Answered { reply, state: bound.row.state.clone(), notices, rule: None })
}

/// The rule that allows the command for good, in this workspace.
fn lasting_rule(waiting: &Waiting) -> Result<UserRule, Diagnostic> {
    let impossible = |why: &str| {
        Diagnostic::new("always_impossible", why).help(
            "a rule allows one plain command by how it begins; approve it once, or with --session for this state",
        )
    };
    let prefix = waiting.shown.command.as_ref().and_then(|command| command.always.clone());
    let workspace = waiting.workspace.to_str().map(PathBuf::from);
    Ok(UserRule {
        id: Some(clock::id("r")?),
        prefix: prefix.ok_or_else(|| impossible("no rule of the user may or could allow this for good"))?,
        decision: RuleWord::Allow,
        justification: Some(format!("approved as {}", waiting.id)),
        matches: Vec::new(),
        not_match: Vec::new(),
        workspace: Some(workspace.ok_or_else(|| impossible("the workspace's name is no text"))?),
        state: None,
    })
}

/// The session's own copy of the user's rules becomes what the file says now.
fn take_over_rules(
    desk: &mut Desk<'_>,
    row: &mut SessionRow,
    rules: &UserRules,
    rule: &UserRule,
) -> Result<(), Diagnostic> {
    desk.write.unpin(&row.id, law::RULES)?;
    if let Some(pin) = law::rules_pin(rules) {
        desk.write.pin(&row.id, &pin)?;
    }
    let mut kept = Kept::of(row);
    kept.rules += 1;
    row.place = kept.to_json();
    let hash = Hash::of(rules.text.as_bytes()).to_string();
    let body = json!({ "channel": CHANNEL, "rule": rule.id, "prefix": rule.prefix, "rules": hash });
    Ok(desk.write.append(row, clock::now(), "rules", &body)?)
}
