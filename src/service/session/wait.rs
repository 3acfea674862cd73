//! A command that waits, while its call is open, for a person's answer given elsewhere.
//!
//! Danger: the wait grants nothing. The answer is read from the store, and the command is judged again after it.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::exec::SessionShown;
use super::find::unknown;
use crate::diagnostic::Diagnostic;
use crate::service::harnesses;
use crate::service::host::variable;
use crate::service::setting::Setting;
use crate::store::Store;
use crate::workflow::model::Asking;

/// The longest wait where the call has no limit of its own.
const LONGEST: Duration = Duration::from_secs(600);

/// Between two looks; one costs some microseconds.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether commands wait for their answer here.
pub(super) fn waits(setting: &Setting) -> bool {
    let value = |name: &str| Some(variable(&setting.facts.env, name)?.to_string_lossy().into_owned());
    setting.approvals() == Asking::Ask && harnesses::is_attended(value)
}

/// Waits for the answer; whether it is yes. After a no, `shown` says why.
///
/// # Errors
/// A store that cannot be read.
pub(super) fn is_approved(
    setting: &Setting,
    approval: &str,
    timeout: Option<Duration>,
    shown: &mut SessionShown,
) -> Result<bool, Diagnostic> {
    let bound = setting.bound.as_ref().ok_or_else(|| unknown(""))?;
    let until = Instant::now() + timeout.unwrap_or(LONGEST).min(LONGEST);
    loop {
        let status = bound.store.parked(approval)?.map(|parked| parked.status);
        match status.as_deref() {
            Some("open") if Instant::now() < until => std::thread::sleep(PAUSE),
            Some("approved") => return Ok(true),
            Some("rejected") => {
                if let Some(refusal) = &mut shown.refusal {
                    let why = why(setting, approval)?;
                    refusal.message = format!("a person said no to this command: {why}");
                    refusal.approval = None;
                }
                shown.approval = None;
                return Ok(false);
            }
            _ => return Ok(false),
        }
    }
}

/// The reason of a rejection, from the journal.
fn why(setting: &Setting, approval: &str) -> Result<String, Diagnostic> {
    let bound = setting.bound.as_ref().ok_or_else(|| unknown(""))?;
    for entry in bound.store.journal(&bound.row.id, bound.row.position)? {
        let body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
        for record in body["records"].as_array().into_iter().flatten() {
            if record["fact"] == "rejected" && record["approval"] == approval {
                return Ok(record["reason"].as_str().unwrap_or("no reason was given").to_owned());
            }
        }
    }
    Ok("no reason was given".to_owned())
}
