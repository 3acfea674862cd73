//! The format as a JSON Schema (draft 2020-12), for editors: completion, hover texts, and what is wrong while typing.
//!
//! It is made from the table that the reader itself uses. What a schema cannot say (that a named state exists) is left
//! to `swbox workflow validate`.

use serde_json::{Map, Value, json};

use super::format::{Key, OBJECTS, Object, Shape};
use super::read::FREE;

/// The address that the schema calls itself by; nothing is fetched from there.
const ID: &str = "urn:swbox:workflow";

/// The schema.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for object in OBJECTS {
        definitions.insert(object.name.to_owned(), definition(object));
    }
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    definitions.insert(
        "transition".to_owned(),
        json!({
            "description": "A target, an object with conditions, branches of which the first whose guards pass is taken, another workflow, or a fork.",
            "anyOf": [
                { "type": "string" },
                reference("edge"),
                { "type": "array", "minItems": 1, "items": { "anyOf": [{ "type": "string" }, reference("edge")] } },
                reference("invoke"),
                reference("forking"),
            ],
        }),
    );
    definitions.insert(
        "network".to_owned(),
        json!({ "anyOf": [of(Shape::OneOrMany(&Shape::Text)), reference("hosts")] }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "swbox workflow",
        "description": "A state machine that says what each phase of the work may do.",
        // Not `anyOf`: a problem is then told at its own place.
        "if": { "required": ["definition"], "not": { "required": ["states"] } },
        "then": {
            "type": "object",
            "properties": {
                "definition": reference("machine"),
                "upstream_servers": { "type": "array" },
            },
        },
        "else": reference("machine"),
        "$defs": definitions,
    })
}

/// The schema as the text that is committed and printed.
pub fn text() -> String {
    format!("{:#}\n", schema())
}

fn definition(object: &Object) -> Value {
    let keys = || object.keys.iter().flat_map(|keys| keys.iter());
    let mut properties: Map<String, Value> =
        FREE.iter().map(|name| ((*name).to_owned(), Value::Bool(true))).collect();
    properties.extend(keys().map(|key| (key.name.to_owned(), property(key))));
    let required: Vec<&str> = keys().filter(|key| key.required).map(|key| key.name).collect();
    let mut out = json!({ "type": "object", "properties": properties });
    if let Value::Object(out) = &mut out {
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        if !object.open {
            out.insert("patternProperties".to_owned(), json!({ "^(_|x-)": true }));
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    }
    out
}

fn property(key: &Key) -> Value {
    let mut out = of(key.shape);
    // The reader takes null for an absent key, but for those that must be there.
    if !key.required && !matches!(key.shape, Shape::Any) {
        let plain = out.get("enum").is_none() && out.get("type").is_some_and(Value::is_string);
        if plain {
            out["type"] = json!([out["type"], "null"]);
        } else {
            out = json!({ "anyOf": [out, { "type": "null" }] });
        }
    }
    out["description"] = json!(key.about);
    out
}

fn of(shape: Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Text => json!({ "type": "string" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Time => quantity(u64::MAX / 1000, "^[0-9]+ ?(ms|s|m|h)$"),
        Shape::Size => quantity(u64::MAX, "^[0-9]+ ?(B|K|M|MiB|G|GiB)?$"),
        Shape::Value => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Ref(name) => json!({ "$ref": format!("#/$defs/{name}") }),
        Shape::List(item) => json!({ "type": "array", "items": of(*item) }),
        Shape::OneOrMany(item) => {
            json!({ "anyOf": [of(*item), { "type": "array", "items": of(*item) }] })
        }
        Shape::Map(value) => json!({ "type": "object", "additionalProperties": of(*value) }),
    }
}

fn quantity(most: u64, pattern: &str) -> Value {
    json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": most }, { "type": "string", "pattern": pattern }] })
}

#[cfg(test)]
mod tests;
