//! The schema against the reader: what one takes the other takes.

use proptest::prelude::*;

use super::*;
use crate::workflow::builtin::BUILTINS;
use crate::workflow::load;

/// The problems that a value has under a schema: as much of JSON Schema as the schema uses.
fn problems(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Value::Object(rules) = schema else {
        return if *schema == Value::Bool(false) { vec![format!("{path}: not allowed")] } else { found };
    };
    for (rule, asked) in rules {
        match (rule.as_str(), value) {
            ("$schema" | "$id" | "$defs" | "title" | "description" | "patternProperties", _) => {}
            ("then" | "else", _) => {}
            ("if", _) => {
                let way = if problems(root, asked, value, path).is_empty() { "then" } else { "else" };
                found.extend(problems(root, &rules[way], value, path));
            }
            ("not", _) => {
                if problems(root, asked, value, path).is_empty() {
                    found.push(format!("{path}: what must not be"));
                }
            }
            ("$ref", _) => {
                let name = asked.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                let target = &root["$defs"][name];
                assert!(target.is_object(), "no definition {name}");
                found.extend(problems(root, target, value, path));
            }
            ("anyOf", _) => {
                let ways: Vec<_> =
                    asked.as_array().unwrap().iter().map(|way| problems(root, way, value, path)).collect();
                if ways.iter().all(|way| !way.is_empty()) {
                    found.push(format!("{path}: none of {}", ways.len()));
                }
            }
            ("type", _) => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{other}"),
                };
                if !asked.as_array().map_or_else(|| is(asked), |all| all.iter().any(is)) {
                    found.push(format!("{path}: not {asked}"));
                }
            }
            ("enum", _) if !asked.as_array().unwrap().contains(value) => {
                found.push(format!("{path}: {value}"));
            }
            ("minimum", Value::Number(number)) if number.as_f64() < asked.as_f64() => {
                found.push(format!("{path}: too small"));
            }
            ("maximum", Value::Number(number)) if number.as_f64() > asked.as_f64() => {
                found.push(format!("{path}: too large"));
            }
            ("minItems", Value::Array(items)) if (items.len() as u64) < asked.as_u64().unwrap() => {
                found.push(format!("{path}: too short"));
            }
            ("items", Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    found.extend(problems(root, asked, item, &format!("{path}[{at}]")));
                }
            }
            ("required", Value::Object(members)) => {
                let missing = asked.as_array().unwrap().iter().filter_map(Value::as_str);
                found.extend(
                    missing
                        .filter(|key| !members.contains_key(*key))
                        .map(|key| format!("{path}.{key}: missing")),
                );
            }
            ("properties", Value::Object(members)) => {
                for (key, value) in members {
                    if let Some(of) = asked.get(key) {
                        found.extend(problems(root, of, value, &format!("{path}.{key}")));
                    }
                }
            }
            ("additionalProperties", Value::Object(members)) => {
                let listed = |key: &str| rules.get("properties").is_some_and(|all| all.get(key).is_some());
                let free = rules.contains_key("patternProperties");
                for (key, value) in members {
                    if !listed(key) && !(free && (key.starts_with('_') || key.starts_with("x-"))) {
                        found.extend(problems(root, asked, value, &format!("{path}.{key}")));
                    }
                }
            }
            ("pattern", Value::String(text)) => {
                let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
                let units = asked.as_str().unwrap();
                let unit = digits.trim_start();
                let known = unit.is_empty() && units.contains('?')
                    || units.split(['(', ')', '|']).any(|one| one == unit && !unit.is_empty());
                if digits.len() == text.len() || !known {
                    found.push(format!("{path}: {text}"));
                }
            }
            ("enum" | "minimum" | "maximum" | "minItems" | "items" | "required" | "properties", _) => {}
            ("additionalProperties" | "pattern", _) => {}
            (other, _) => panic!("the schema uses {other}, which this test does not know"),
        }
    }
    found
}

fn schema_takes(value: &Value) -> Vec<String> {
    static ROOT: std::sync::LazyLock<Value> = std::sync::LazyLock::new(schema);
    problems(&ROOT, &ROOT, value, "")
}

/// Whether the reader takes it, unknown keys counting as problems as in an editor. References are not its business.
fn reader_takes(value: &Value) -> Result<(), String> {
    let codes = [
        "wrong_type",
        "missing_key",
        "unknown_value",
        "out_of_range",
        "bad_quantity",
        "misspelt_key",
        "unknown_key",
        "empty_branches",
    ];
    let found = match load(value.to_string().as_bytes()) {
        Ok(loaded) => loaded.advice,
        Err(problems) => problems,
    };
    match found.iter().find(|one| codes.contains(&one.code)) {
        None => Ok(()),
        Some(problem) => Err(problem.to_string()),
    }
}

#[test]
fn built_ins_and_examples_are_valid() {
    for builtin in BUILTINS {
        let value: Value = serde_json::from_str(builtin.source).unwrap();
        assert_eq!(schema_takes(&value), Vec::<String>::new(), "{}", builtin.name);
        assert_eq!(schema_takes(&json!({ "definition": value, "extra": 1 })), Vec::<String>::new());
    }
}

/// A machine with one value at one key of one kind of object.
fn at(object: &str, value: Value) -> Value {
    let mut states = json!({ "a": { "on": { "GO": "a" } } });
    let mut machine = json!({ "id": "m", "initial": "a" });
    let put = |states: &mut Value, key: &str, value: Value| states["a"][key] = value;
    match object {
        "machine" => {
            if let (Value::Object(machine), Value::Object(value)) = (&mut machine, value) {
                machine.extend(value);
            }
        }
        "state" => states["a"] = value,
        "edge" | "invoke" | "forking" => states["a"]["on"]["GO"] = value,
        "fork" => states["a"]["on"]["GO"] = json!({ "fork": value }),
        "branch" => {
            states["a"]["on"]["GO"] = json!({ "fork": { "branches": { "x": value }, "on_complete": "a" } })
        }
        "evidence" => states["a"]["on"]["GO"] = json!({ "target": "a", "evidence": value }),
        "guard" => machine["guards"] = json!({ "g": value }),
        "interrupt" => machine["interrupts"] = json!({ "i": value }),
        "trigger" => machine["interrupts"] = json!({ "i": { "trigger": value, "target": "a" } }),
        "meta" => machine["meta"] = value,
        "jail" => put(&mut states, "jail", value),
        "hosts" => put(&mut states, "jail", json!({ "network": value })),
        "jail_limits" => put(&mut states, "jail", json!({ "limits": value })),
        "limits" => machine["limits"] = value,
        "repeat" => machine["limits"] = json!({ "repeat": value }),
        "rule" => machine["rules"] = json!([value]),
        other => panic!("{other} has no place in this test"),
    }
    if machine.get("states").is_none() {
        machine["states"] = states;
    }
    machine
}

/// A value of a shape.
fn sample(shape: Shape) -> Value {
    match shape {
        Shape::Any => json!({ "any": [1, null] }),
        Shape::Text => json!("a"),
        Shape::Flag => json!(true),
        Shape::Whole(most) => json!(most.min(3)),
        Shape::Word(words) => json!(words[0]),
        Shape::Time => json!("90s"),
        Shape::Size => json!("512M"),
        Shape::Value => json!("x"),
        Shape::List(item) => json!([sample(*item)]),
        Shape::OneOrMany(item) => sample(*item),
        Shape::Map(value) => json!({ "k": sample(*value) }),
        Shape::Ref("transition") => json!("a"),
        Shape::Ref("network") => json!(["example.org"]),
        Shape::Ref(name) => least(name),
    }
}

/// The least object of a definition: its required keys.
fn least(name: &str) -> Value {
    let object = OBJECTS.iter().find(|object| object.name == name).unwrap();
    let required = object.keys.iter().flat_map(|keys| keys.iter()).filter(|key| key.required);
    let mut out: Map<String, Value> = required.map(|key| (key.name.to_owned(), sample(key.shape))).collect();
    if name == "guard" {
        out.insert("value".to_owned(), json!(1));
    }
    Value::Object(out)
}

/// Where the two differ about a machine.
fn difference(machine: &Value, what: &str) -> Option<String> {
    let (schema, reader) = (schema_takes(machine), reader_takes(machine));
    (schema.is_empty() != reader.is_ok())
        .then(|| format!("{what}: {machine}\n  schema: {schema:?}\n  reader: {reader:?}"))
}

#[test]
fn schema_and_reader_agree_on_each_key() {
    let mut found = Vec::new();
    let mut agree = |machine: &Value, what: &str| found.extend(difference(machine, what));
    for object in OBJECTS {
        for key in object.keys.iter().flat_map(|keys| keys.iter()) {
            let what = format!("{}.{}", object.name, key.name);
            let mut values = vec![
                json!(1),
                json!(-1),
                json!(1.5),
                json!("x y"),
                json!(true),
                json!([]),
                json!([1]),
                json!({}),
                Value::Null,
            ];
            values.push(sample(key.shape));
            if let Shape::Word(words) = key.shape {
                values.extend(words.iter().map(|word| json!(word)));
            }
            values.extend([json!("10ms"), json!("10 GiB"), json!(u64::MAX), json!(5), json!(["a", "b"])]);
            for value in values {
                let mut given = least(object.name);
                given[key.name] = value.clone();
                let machine = at(object.name, given);
                // An op without a value is more than a schema of keys can say.
                if object.name != "guard" || key.name != "value" {
                    agree(&machine, &what);
                }
            }
            if key.required {
                let mut given = least(object.name);
                given.as_object_mut().unwrap().remove(key.name);
                agree(&at(object.name, given), &format!("{what} left out"));
            }
        }
        let mut odd = least(object.name);
        odd["zzzzzzzzzzzz"] = json!(1);
        agree(&at(object.name, odd), object.name);
        let mut free = least(object.name);
        free["x-mine"] = json!(1);
        free["_mine"] = json!(1);
        free["description"] = json!("d");
        agree(&at(object.name, free), object.name);
    }
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_definition_is_referred_to() {
    let text = text();
    let root = schema();
    for name in root["$defs"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("\"#/$defs/{name}\"")), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schema_and_reader_agree_on_transitions(
        value in prop_oneof![
            Just(json!("a")), Just(json!([])), Just(json!(["a", { "target": "a" }])), Just(json!([{ "guard": "g" }])),
            Just(json!({ "target": "a", "guards": ["g"], "evidence": [{ "command": ["x"] }] })),
            Just(json!({ "invoke": "w", "on_complete": "a", "requires_approval": true })), Just(json!({ "invoke": "w" })),
            Just(json!({ "fork": { "branches": {}, "on_complete": "a" } })), Just(json!(7)), Just(json!({})),
        ],
    ) {
        prop_assert_eq!(difference(&at("edge", value), "transition"), None);
    }
}
