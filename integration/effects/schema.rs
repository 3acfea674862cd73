//! As much of JSON Schema as `docs/events.schema.json` uses.

use serde_json::Value;

/// What is wrong with a value, or nothing.
pub fn fault(schema: &Value, value: &Value) -> Option<String> {
    let known = [
        "$schema",
        "title",
        "description",
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "oneOf",
    ];
    for key in schema.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "the test does not know `{key}`");
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is(name, value)) {
        return Some(format!("{value} is no {types:?}"));
    }
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return Some(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return Some(format!("{value} is none of {}", schema["enum"]));
    }
    if let Some(all) = schema["oneOf"].as_array() {
        let faults: Vec<String> = all.iter().filter_map(|one| fault(one, value)).collect();
        if faults.len() + 1 != all.len() {
            return Some(format!(
                "{} of {} forms fit {value}: {faults:#?}",
                all.len() - faults.len(),
                all.len()
            ));
        }
    }
    if let Some(fields) = value.as_object() {
        let properties = schema["properties"].as_object();
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Some(format!("{value} lacks `{name}`"));
            }
        }
        for (name, field) in fields {
            match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => {
                    if let Some(fault) = fault(schema, field) {
                        return Some(format!("{name}: {fault}"));
                    }
                }
                None if schema["additionalProperties"] == false => {
                    return Some(format!("`{name}` is not in the form"));
                }
                None => {}
            }
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        return items.iter().find_map(|item| fault(schema, item));
    }
    None
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the test does not know the type {other}"),
    }
}

#[test]
fn the_reader_of_the_form_refuses_what_does_not_fit() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "enum": ["x"] }, "b": { "type": ["integer", "null"] } },
    });
    for good in [serde_json::json!({"a": "x"}), serde_json::json!({"a": "x", "b": null})] {
        assert_eq!(fault(&schema, &good), None);
    }
    for bad in [
        serde_json::json!({}),
        serde_json::json!({"a": "y"}),
        serde_json::json!({"a": "x", "b": "1"}),
        serde_json::json!({"a": "x", "c": 1}),
        serde_json::json!([]),
    ] {
        assert!(fault(&schema, &bad).is_some(), "{bad}");
    }
}
