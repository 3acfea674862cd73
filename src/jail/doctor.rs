//! What this host can enforce, proven: each protection by acts that work outside and must fail in a real jail.
//!
//! Danger: a version number proves nothing (a filter, an LSM or a container may take away what the kernel has), and an
//! act that fails outside as well proves nothing either. So each trial has its twin, and a check says `proven` only
//! when at least one twin worked outside and none of the acts did inside.

mod scene;
mod trial;

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::act;
use super::outcome::{Achieved, Level};
use super::protection;
use crate::diagnostic::Diagnostic;
use crate::profile::{Protection, Requirement};

/// How sure a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// The acts worked outside and failed inside; of a degraded protection: an act was not held.
    Proven,
    /// An act worked inside that must not.
    Refuted,
    /// No act works outside on this host, or no jail could be launched: nothing was shown.
    Unproven,
}

/// One act, outside and inside.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Trial {
    /// What was tried, in words.
    pub act: &'static str,
    /// Whether it worked outside, and what it said.
    pub outside: Attempted,
    /// Whether it worked inside, and what it said.
    pub inside: Attempted,
    /// Whether the jail did what it should with this act.
    pub held: bool,
}

/// What became of one act.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Attempted {
    /// It worked.
    pub worked: bool,
    /// Its own words, or why it could not be tried.
    pub said: String,
}

/// One protection on this host.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Check {
    /// Which.
    pub protection: Protection,
    /// How strictly the profile asks for it.
    pub requirement: Requirement,
    /// What was achieved; [`Achieved::Degraded`] also when a trial refutes what the jail claims.
    pub achieved: Achieved,
    /// How sure that is.
    pub proof: Proof,
    /// The level of the jails it was tried in.
    pub level: Option<Level>,
    /// Why that is not the full level.
    pub lesser: Option<String>,
    /// The acts.
    pub trials: Vec<Trial>,
    /// In one sentence, what holds or what does not.
    pub detail: String,
    /// What would make it hold, where it does not.
    pub remedy: Option<String>,
}

impl Check {
    /// Whether the profile asks strictly for something that this host does not give.
    pub fn failed(&self) -> bool {
        let had =
            matches!(self.achieved, Achieved::Prevented | Achieved::Detected) && self.proof != Proof::Refuted;
        self.requirement == Requirement::Strict && !had
    }
}

/// Tries every protection on this host. `requirements` are the profile's; a protection it does not name is strict.
///
/// # Errors
/// Where not even a place for the trials can be made (`doctor_scene`).
pub fn doctor(requirements: &BTreeMap<Protection, Requirement>) -> Result<Vec<Check>, Diagnostic> {
    let mut checks = Vec::with_capacity(protection::ALL.len());
    for protection in protection::ALL {
        let requirement = requirements.get(&protection).copied().unwrap_or(Requirement::Strict);
        checks.push(check(protection, requirement)?);
    }
    Ok(checks)
}

/// The acts of a protection, in words.
pub fn acts(protection: Protection) -> impl Iterator<Item = &'static str> {
    trial::ROWS.iter().filter(move |row| row.protection == protection).map(|row| row.act)
}

/// The hidden subcommand [`act::SUBCOMMAND`]: an act, or the process that a trial of [`Protection::NoLeftovers`] kills.
pub fn main(words: &[OsString]) -> u8 {
    match words {
        [name, root] if name == trial::VICTIM => trial::victim(root.as_ref()),
        _ => act::main(words),
    }
}

fn check(protection: Protection, requirement: Requirement) -> Result<Check, Diagnostic> {
    if requirement == Requirement::Off {
        return Ok(Check {
            protection,
            requirement,
            achieved: Achieved::Off,
            proof: Proof::Unproven,
            level: None,
            lesser: None,
            trials: Vec::new(),
            detail: "the profile does not ask for it".to_owned(),
            remedy: None,
        });
    }
    let mut trials = Vec::new();
    let mut claims = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    let (mut level, mut lesser) = (None, None);
    for row in trial::ROWS.iter().filter(|row| row.protection == protection) {
        let tried = trial::run(row)?;
        level = level.or(tried.level);
        lesser = lesser.or(tried.lesser);
        claims.extend(tried.claim);
        for reason in tried.reasons {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        trials.push(tried.trial);
    }
    let launched = level.is_some();
    let escaped: Vec<_> = trials.iter().filter(|trial| !trial.held).map(|trial| trial.act).collect();
    let claimed = weakest(&claims);
    let (achieved, proof) = match claimed {
        _ if !launched => (Achieved::Degraded, Proof::Unproven),
        Achieved::Prevented | Achieved::Detected if !escaped.is_empty() => {
            (Achieved::Degraded, Proof::Refuted)
        }
        Achieved::Degraded if !escaped.is_empty() => (Achieved::Degraded, Proof::Proven),
        Achieved::Degraded => (Achieved::Degraded, Proof::Unproven),
        claimed if trials.iter().any(|trial| trial.outside.worked && trial.held) => (claimed, Proof::Proven),
        claimed => (claimed, Proof::Unproven),
    };
    let detail = match (achieved, proof) {
        _ if !launched => trials.first().map_or_else(String::new, |trial| trial.inside.said.clone()),
        (_, Proof::Refuted) => format!("the jail claims it, but this did not hold: {}", escaped.join("; ")),
        (Achieved::Degraded, _) if escaped.is_empty() => reasons.join("; "),
        (Achieved::Degraded, _) => format!("{}; not held: {}", reasons.join("; "), escaped.join("; ")),
        (_, Proof::Unproven) => "no act of the control works outside either, so nothing was shown".to_owned(),
        _ => "what works outside failed inside".to_owned(),
    };
    let remedy = match proof {
        _ if achieved != Achieved::Degraded => None,
        Proof::Refuted => Some(FAULT),
        _ if !launched => Some(NO_JAIL),
        _ => Some(remedy(protection)),
    };
    let remedy = remedy.map(str::to_owned);
    Ok(Check { protection, requirement, achieved, proof, level, lesser, trials, detail, remedy })
}

/// The least of several claims about one protection.
fn weakest(claims: &[Achieved]) -> Achieved {
    let rank = |achieved: &Achieved| match achieved {
        Achieved::Degraded => 0,
        Achieved::Off => 1,
        Achieved::Detected => 2,
        Achieved::Prevented => 3,
    };
    claims.iter().min_by_key(|achieved| rank(achieved)).copied().unwrap_or(Achieved::Off)
}

const FAULT: &str = "this must hold wherever it is claimed: report it as a fault of swbox, with this output";
const NO_JAIL: &str = "a kernel of 5.13 or newer with Landlock and seccomp filters is needed, and user namespaces for the full level";

/// What a person can do about a protection that this host cannot give.
const fn remedy(protection: Protection) -> &'static str {
    match protection {
        Protection::HostSockets => {
            "Linux 7.1 (Landlock ABI 9) holds path sockets everywhere; until then keep sockets of daemons out of the workspace"
        }
        Protection::Reads | Protection::Writes | Protection::SystemCalls | Protection::Privileges => FAULT,
        Protection::Metadata
        | Protection::GitDirectories
        | Protection::ThrowAway
        | Protection::Network
        | Protection::Processes
        | Protection::NoLeftovers
        | Protection::Secrets => {
            "allow user namespaces (kernel.unprivileged_userns_clone=1, user.max_user_namespaces>0, \
             kernel.apparmor_restrict_unprivileged_userns=0, or a container profile that permits unshare and mount)"
        }
    }
}
