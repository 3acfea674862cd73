//! Guards: tests on what was claimed, or on what swbox saw.
//!
//! Danger: what cannot be looked up must fail. A guard that nobody defined, a missing field and a wrong type are all
//! false; only `not_exists` is true of what is not there.

use serde_json::{Value, json};

use super::session::{Frame, Seen, Session};
use crate::workflow::Machine;
use crate::workflow::model::{Guard, GuardOp, GuardSource};

/// What swbox saw, as guards see it.
pub(super) fn observed(seen: &Seen, frame: &Frame) -> Value {
    let mut all = serde_json::Map::new();
    let mut set = |name: &str, value: Value| all.insert(name.to_owned(), value);
    if let Some(code) = seen.exit_code {
        set("exit_code", json!(code));
    }
    set("commands", json!(seen.commands));
    if let Some(tests) = seen.tests {
        set("tests", json!(tests));
    }
    set("approvals", json!(seen.approvals));
    set("calls", json!(frame.visit.calls));
    set("files", json!(frame.visit.files));
    set("files_changed", json!(frame.visit.files.len()));
    set("denials", json!(frame.visit.denials));
    set("visits", json!(frame.visits.get(&frame.state).copied().unwrap_or(0)));
    if let Some(back) = frame.stack.last() {
        set("interrupt", json!({ "name": back.interrupt, "files": back.files }));
    }
    if let Some(end) = &seen.invoked {
        set("invoked", json!(end));
    }
    if !seen.branches.is_empty() {
        set("branches", json!(seen.branches));
    }
    Value::Object(all)
}

/// The first of the guards that does not hold.
pub(super) fn failing<'n>(machine: &Machine, session: &Session, names: &'n [String]) -> Option<&'n str> {
    if names.is_empty() {
        return None;
    }
    let observed = observed(&session.seen, &session.current);
    let holds = |name: &&String| {
        machine.guards.get(*name).is_some_and(|guard| holds(guard, &session.current.context, &observed))
    };
    names.iter().find(|name| !holds(name)).map(String::as_str)
}

/// Whether one guard holds.
pub(super) fn holds(guard: &Guard, context: &Value, observed: &Value) -> bool {
    let own = guard.field.strip_prefix("observed.");
    let found = match guard.source {
        GuardSource::Observed => look_up(observed, own.unwrap_or(&guard.field)),
        // `observed` cannot be claimed, so its fields are swbox's own whatever the source says.
        GuardSource::Claimed => {
            own.map_or_else(|| look_up(context, &guard.field), |field| look_up(observed, field))
        }
    };
    let Some(found) = found else { return guard.op == GuardOp::NotExists };
    let value = guard.value.as_ref().unwrap_or(&Value::Null);
    match guard.op {
        GuardOp::Exists => !found.is_null(),
        GuardOp::NotExists => found.is_null(),
        GuardOp::Eq => same(found, value),
        GuardOp::Neq => !same(found, value),
        GuardOp::Gt => order(found, value).is_some_and(std::cmp::Ordering::is_gt),
        GuardOp::Gte => order(found, value).is_some_and(std::cmp::Ordering::is_ge),
        GuardOp::Lt => order(found, value).is_some_and(std::cmp::Ordering::is_lt),
        GuardOp::Lte => order(found, value).is_some_and(std::cmp::Ordering::is_le),
        GuardOp::In => value.as_array().is_some_and(|all| all.iter().any(|one| same(found, one))),
        GuardOp::Contains => match (found, value) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            _ => false,
        },
    }
}

/// The value at a dotted path. A key that has the dots in its own name comes first.
fn look_up<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// Equality; numbers by value, so that 1 is 1.0.
fn same(left: &Value, right: &Value) -> bool {
    left == right || order(left, right).is_some_and(std::cmp::Ordering::is_eq)
}

/// The order of two numbers; whole ones exactly.
fn order(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    let (Value::Number(left), Value::Number(right)) = (left, right) else { return None };
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return Some(left.cmp(&right));
    }
    if let (Some(left), Some(right)) = (left.as_u64(), right.as_u64()) {
        return Some(left.cmp(&right));
    }
    left.as_f64()?.partial_cmp(&right.as_f64()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(field: &str, op: GuardOp, value: Value, source: GuardSource) -> Guard {
        Guard { field: field.to_owned(), op, value: Some(value), source }
    }

    #[test]
    fn operations() {
        let context =
            json!({ "n": 3, "f": 1.0, "t": "alpha", "nothing": null, "tests": { "passed": 7 }, "a.b": 1 });
        let claimed = |field: &str, op, value| {
            holds(&guard(field, op, value, GuardSource::Claimed), &context, &json!({ "calls": 2 }))
        };
        for (field, op, value, expected) in [
            ("n", GuardOp::Eq, json!(3), true),
            ("n", GuardOp::Eq, json!(3.0), true),
            ("f", GuardOp::Eq, json!(1), true),
            ("n", GuardOp::Neq, json!(4), true),
            ("gone", GuardOp::Neq, json!(4), false),
            ("gone", GuardOp::NotExists, json!(null), true),
            ("gone", GuardOp::Lt, json!(4), false),
            ("nothing", GuardOp::Exists, json!(null), false),
            ("nothing", GuardOp::NotExists, json!(null), true),
            ("n", GuardOp::Gt, json!(2), true),
            ("n", GuardOp::Gte, json!(3), true),
            ("n", GuardOp::Lt, json!("4"), false),
            ("t", GuardOp::Gt, json!("a"), false),
            ("n", GuardOp::In, json!([1, 3]), true),
            ("n", GuardOp::In, json!(3), false),
            ("t", GuardOp::Contains, json!("lph"), true),
            ("n", GuardOp::Contains, json!(3), false),
            ("tests.passed", GuardOp::Gte, json!(7), true),
            ("tests.failed", GuardOp::Lte, json!(7), false),
            ("a.b", GuardOp::Eq, json!(1), true),
            ("observed.calls", GuardOp::Eq, json!(2), true),
        ] {
            assert_eq!(claimed(field, op, value.clone()), expected, "{field} {op:?} {value}");
        }
    }

    #[test]
    fn only_the_engine_speaks_for_what_was_observed() {
        let context = json!({ "calls": 9, "observed": { "calls": 9 } });
        let seen = json!({ "calls": 2 });
        for field in ["calls", "observed.calls"] {
            let asked = guard(field, GuardOp::Eq, json!(2), GuardSource::Observed);
            assert!(holds(&asked, &context, &seen), "{field}");
        }
        let claimed = guard("observed.calls", GuardOp::Eq, json!(9), GuardSource::Claimed);
        assert!(!holds(&claimed, &context, &seen));
        assert!(holds(&guard("calls", GuardOp::Eq, json!(9), GuardSource::Claimed), &context, &seen));
    }
}
