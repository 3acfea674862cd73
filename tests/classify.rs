//! Classification against labelled commands, and every table row against its own lines.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use swbox::classify::{Classification, Environment, OpClass, OpSet, classify_line, entry_classes, registry};
use swbox::shell::Trust;

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn environment() -> Environment {
    Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() }
}

fn class(name: &str) -> OpClass {
    OpClass::ALL.into_iter().find(|class| class.name() == name).unwrap_or_else(|| panic!("no class {name}"))
}

fn classes(value: &serde_json::Value) -> OpSet {
    let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
    OpSet::of(&names.iter().map(|name| class(name.as_str().unwrap())).collect::<Vec<_>>())
}

fn names(set: OpSet) -> String {
    set.iter().map(OpClass::name).collect::<Vec<_>>().join(" ")
}

/// What a labelled case asks for and does not get; the same rules as the published scorer of the cases.
fn faults(case: &serde_json::Value, found: &Classification) -> Vec<String> {
    let mut faults = Vec::new();
    let flag = |key: &str| case.get(key).and_then(serde_json::Value::as_bool);
    let opaque = found.opaque.is_some();
    let refused = found.trust != Trust::Trusted;
    let missing = classes(&case["classes"]).without(found.classes);
    let is_excused = flag("or_opaque") == Some(true) && opaque;
    if !missing.is_empty() && !is_excused {
        faults.push(format!("missing {}", names(missing)));
    }
    let forbidden = classes(&case["not"]);
    let wrong = found.classes.without(found.classes.without(forbidden));
    if !wrong.is_empty() {
        faults.push(format!("false {}", names(wrong)));
    }
    if let Some(wanted) = flag("opaque")
        && wanted != opaque
    {
        let reason = found.opaque.as_ref().map_or("", |opacity| &opacity.reason);
        faults.push(format!("opaque should be {wanted} {reason}"));
    }
    if flag("invalid") == Some(true) && !refused && !opaque {
        faults.push("accepted invalid".to_owned());
    }
    if let Some(wanted) = flag("catastrophic")
        && wanted != found.catastrophe.is_some()
    {
        faults.push(format!("catastrophic should be {wanted}"));
    }
    faults
}

#[test]
fn labelled_commands() {
    let text = fs::read_to_string(directory("corpus").join("classify.jsonl")).unwrap();
    let environment = environment();
    let mut misses = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let command = case["cmd"].as_str().unwrap();
        let found = classify_line(command, &environment);
        let faults = faults(&case, &found);
        if !faults.is_empty() {
            misses.push(format!(
                "{} {command:?}: {} | got {}",
                case["id"],
                faults.join("; "),
                names(found.classes)
            ));
        }
    }
    assert!(misses.is_empty(), "{} misses\n{}", misses.len(), misses.join("\n"));
}

/// `tests/classify/<family>.txt`: `command => classes flags`, `⏎` for a newline.
#[test]
fn every_row_has_lines_and_they_hold() {
    let environment = environment();
    let mut misses = Vec::new();
    let mut programs = BTreeSet::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory("classify")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{}:{}", file.file_name().unwrap().display(), number + 1);
            let Some((command, wanted)) = line.rsplit_once(" => ") else {
                misses.push(format!("{place}: no ` => `"));
                continue;
            };
            let command = command.replace('⏎', "\n");
            let found = classify_line(&command, &environment);
            programs.extend(found.segments.iter().map(|segment| segment.program.clone()));
            programs.extend(found.segments.iter().filter_map(|segment| {
                segment.raw.first().map(|name| name.rsplit('/').next().unwrap().to_owned())
            }));
            if let Err(fault) = holds(&found, wanted) {
                misses.push(format!("{place}: {command:?}: {fault}"));
            }
        }
    }
    for row in registry::rows() {
        if !row.names.iter().any(|name| programs.contains(*name)) {
            misses.push(format!("no line for the row of {}", row.names.join(", ")));
        }
    }
    assert!(misses.is_empty(), "{} misses\n{}", misses.len(), misses.join("\n"));
}

fn holds(found: &Classification, wanted: &str) -> Result<(), String> {
    let mut classes = OpSet::EMPTY;
    let mut opaque = false;
    for word in wanted.split_whitespace() {
        let all = |holds: fn(&swbox::classify::ClassifiedSegment) -> bool| found.segments.iter().all(holds);
        let is_held = match word.split_once('=') {
            Some(("tool", "")) => all(|segment| segment.ops.iter().all(|op| op.tool.is_none())),
            Some(("tool", tool)) => {
                found.segments.iter().any(|segment| segment.ops.iter().any(|op| op.tool == Some(tool)))
            }
            Some(("opaque", code)) => {
                opaque = true;
                found.opaque.as_ref().is_some_and(|opacity| opacity.code == code)
            }
            _ => match word {
                "opaque" => {
                    opaque = true;
                    true
                }
                "closed" => all(|segment| segment.closed),
                "pure" => all(|segment| segment.pure),
                "open" => !all(|segment| segment.closed || segment.pure),
                "filter" => all(|segment| segment.stdin_filter),
                "free" => all(|segment| segment.effect_free),
                name => {
                    classes = classes.with(class(name));
                    true
                }
            },
        };
        if !is_held {
            return Err(format!("is not {word}"));
        }
    }
    if classes != found.classes {
        return Err(format!("gives {}", names(found.classes)));
    }
    if opaque != found.opaque.is_some() {
        let reason = found.opaque.as_ref().map_or("", |opacity| &opacity.reason);
        return Err(format!("opaque should be {opaque} {reason}"));
    }
    Ok(())
}

#[test]
fn a_bare_prefix_gives_what_the_program_is_for() {
    let of = |line: &str| {
        let tokens: Vec<String> = line.split(' ').map(str::to_owned).collect();
        names(entry_classes(&tokens))
    };
    for (line, wanted) in [
        ("git commit", "GitWrite"),
        ("git push", "Network GitWrite"),
        ("find", "FileSearch"),
        ("cat", "FileRead Passthrough"),
        ("sed", "FileRead Passthrough"),
        ("uniq", "FileRead Passthrough"),
        ("grep", "FileRead ContentSearch"),
        ("rm", "Destructive"),
        ("cargo test", "Passthrough"),
        ("pytest", "Passthrough"),
        ("no-such-program", "Passthrough"),
    ] {
        assert_eq!(of(line), wanted, "{line}");
    }
}

/// Lines whose inner text could be multiplied end soon and say that they could not be read.
#[test]
fn multiplied_text_ends() {
    let alias = format!("alias x='{}'\n{}", "ls;".repeat(8000), "x\n".repeat(3000));
    let finds = format!("find . {}", "-exec a \\; ".repeat(1200));
    let texts = format!("bash -c '{}'", "ls;".repeat(3000));
    let mut nested = "ls".to_owned();
    for _ in 0..20 {
        nested = format!("eval {nested}");
    }
    for line in [alias, finds, texts, nested] {
        let start = std::time::Instant::now();
        let found = classify_line(&line, &environment());
        let words: usize =
            found.segments.iter().map(|segment| segment.raw.iter().map(String::len).sum::<usize>()).sum();
        assert!(start.elapsed().as_secs() < 120, "{} bytes take {:?}", line.len(), start.elapsed());
        assert!(words < 4_000_000, "{words} bytes of words");
        assert!(
            found.opaque.is_some()
                || found.trust != Trust::Trusted
                || found.classes.contains(OpClass::FileSearch)
        );
    }
}
