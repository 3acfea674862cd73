//! What an agent says with a transition: checked for size and reserved keys, compared with the facts, never believed.

use serde_json::Value;

use super::effect::Mismatch;
use super::guard;
use super::refusal::{Refusal, RefusalCode};
use super::session::Session;
use super::{MAX_CLAIM, MAX_CONTEXT};

/// The beginning of a claim about a fact: `expected_exit_code` is compared with `observed.exit_code`.
const EXPECTED: &str = "expected_";

/// Whether the data can be taken over.
pub(super) fn check(session: &Session, data: &Value) -> Result<(), Refusal> {
    let Value::Object(members) = data else {
        if data.is_null() {
            return Ok(());
        }
        return Err(Refusal::new(RefusalCode::BadClaim, "the data of a transition is an object"));
    };
    if let Some(key) = members.keys().find(|key| key.starts_with('_') || key.as_str() == "observed") {
        return Err(Refusal::new(RefusalCode::BadClaim, format!("the key {key:?} is reserved")));
    }
    let size = size(data);
    if size > MAX_CLAIM {
        return Err(Refusal::new(RefusalCode::ClaimTooLarge, format!("the data has {size} bytes of JSON")));
    }
    if !members.is_empty() && self::size(&session.current.context) + size > MAX_CONTEXT {
        return Err(Refusal::new(RefusalCode::ClaimTooLarge, "the context has no room for the data"));
    }
    Ok(())
}

/// Bytes as JSON, without writing them.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            members.iter().map(|(key, value)| key.len() + size(value) + 4).sum::<usize>() + 2
        }
    }
}

/// The claims that the facts contradict. A claim about what is not observed at all is none.
pub(super) fn mismatches(session: &Session, data: &Value) -> Vec<Mismatch> {
    let Value::Object(members) = data else { return Vec::new() };
    if members.keys().all(|key| !key.starts_with(EXPECTED)) {
        return Vec::new();
    }
    let observed = guard::observed(&session.seen, &session.current);
    let contradicted = |(key, claimed): (&String, &Value)| {
        let seen = observed.get(key.strip_prefix(EXPECTED)?)?;
        (!agree(claimed, seen)).then(|| Mismatch {
            field: key.clone(),
            claimed: claimed.clone(),
            observed: seen.clone(),
        })
    };
    members.iter().filter_map(contradicted).collect()
}

/// Whether a claim fits a fact; lists are compared without order.
fn agree(claimed: &Value, seen: &Value) -> bool {
    match (claimed, seen) {
        (Value::Array(claimed), Value::Array(seen)) => {
            claimed.len() == seen.len() && claimed.iter().all(|one| seen.contains(one))
        }
        (Value::Number(claimed), Value::Number(seen)) => claimed == seen || claimed.as_f64() == seen.as_f64(),
        _ => claimed == seen,
    }
}
