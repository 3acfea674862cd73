//! Holds the directions of dependency, the purity of the pure modules, the place of `unsafe` and the size of files.
//!
//! It reads the sources as text: comments, strings and test modules are blanked, then every path that begins with
//! `crate`, `super` or `std` is expanded, groups included.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and those it may use beside itself. A module that is missing here fails the test.
const MAY_USE: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("shell", &["diagnostic"]),
    ("classify", &["diagnostic", "shell"]),
    ("hosts", &["diagnostic"]),
    ("workflow", &["diagnostic", "shell", "classify", "hosts"]),
    ("policy", &["diagnostic", "shell", "classify", "workflow"]),
    ("engine", &["diagnostic", "shell", "classify", "workflow", "policy"]),
    ("profile", &["diagnostic", "shell", "classify", "workflow", "policy", "engine", "hosts"]),
    ("sys", &["diagnostic"]),
    ("proxy", &["diagnostic", "sys", "hosts"]),
    ("jail", &["diagnostic", "sys", "profile", "policy", "proxy", "hosts"]),
    ("supervisor", &["diagnostic", "sys", "jail", "profile", "policy", "classify", "shell"]),
    ("transaction", &["diagnostic", "sys", "jail", "profile", "policy"]),
    ("store", &["diagnostic", "engine", "workflow", "policy", "profile", "sys"]),
    (
        "service",
        &[
            "diagnostic",
            "shell",
            "classify",
            "workflow",
            "policy",
            "engine",
            "profile",
            "hosts",
            "jail",
            "proxy",
            "supervisor",
            "transaction",
            "store",
        ],
    ),
    ("report", &["diagnostic", "service"]),
    ("cli", &["diagnostic", "service", "report", "agent", "harness", "http", "mcp", "tui"]),
    ("agent", &["diagnostic", "service"]),
    ("harness", &["diagnostic", "service"]),
    ("http", &["diagnostic", "service", "report"]),
    ("mcp", &["diagnostic", "service"]),
    ("tui", &["diagnostic", "service"]),
];

/// Modules without files, clock, environment, processes, network or threads.
const PURE: &[&str] =
    &["diagnostic", "hosts", "shell", "classify", "workflow", "policy", "engine", "profile"];

/// What a pure module must not name.
const IMPURE_PATHS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::thread",
    "std::process",
    "std::net",
    "std::os::unix::net",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Methods of paths that ask the file system.
const IMPURE_METHODS: &[&str] = &[
    ".exists(",
    ".try_exists(",
    ".is_file(",
    ".is_dir(",
    ".is_symlink(",
    ".canonicalize(",
    ".metadata(",
    ".symlink_metadata(",
    ".read_dir(",
    ".read_link(",
];

/// What the jail may take from policy: rights as data, no decision.
const RIGHTS: &[&str] = &["rights", "Rights", "NetworkRight", "WorkspaceRight"];

const MAX_LINES: usize = 600;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(below) else { return files };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module path of a source file: `src/policy/mod.rs` is `[policy]`, `src/policy/law.rs` is `[policy, law]`.
fn module_path(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(root().join("src")).unwrap();
    let mut parts: Vec<String> =
        relative.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn is_test_file(file: &Path) -> bool {
    module_path(file).iter().any(|part| part == "tests" || part.ends_with("_tests"))
}

/// The source with comments, strings, characters and `#[cfg(test)]` items blanked, lines kept.
fn code_of(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest).or_else(|| string(rest)).or_else(|| character(rest)) {
            length
        } else {
            let c = rest.chars().next().unwrap();
            out.push(c);
            at += c.len_utf8();
            continue;
        };
        out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        at += length;
    }
    blank_tests(&out)
}

fn raw_string(rest: &str) -> Option<usize> {
    let prefix = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = prefix.len() - prefix.trim_start_matches('#').len();
    let body = prefix[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let opening = rest.len() - body.len();
    Some(opening + body.find(&close).map_or(body.len(), |end| end + close.len()))
}

fn string(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 2),
            _ => {}
        }
    }
    Some(rest.len())
}

/// A character literal, not a lifetime.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    if let Some(escape) = body.strip_prefix('\\') {
        return escape.get(1..)?.find('\'').map(|end| end + 4);
    }
    let c = body.chars().next()?;
    body[c.len_utf8()..].starts_with('\'').then(|| c.len_utf8() + 2)
}

/// Blanks each item behind `#[cfg(test)]`: up to the first `;`, or its braces.
fn blank_tests(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(found) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..found]);
        let item = &rest[found..];
        let brace = item.find('{').unwrap_or(item.len());
        let semicolon = item.find(';').unwrap_or(item.len());
        let end = if semicolon < brace { semicolon + 1 } else { brace + braces(&item[brace..]) };
        out.extend(item[..end].chars().filter(|c| *c == '\n'));
        rest = &item[end..];
    }
    out + rest
}

/// The length of a balanced `{…}` at the start.
fn braces(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every path that begins with one of `starts`, groups expanded, as lists of names.
fn paths(code: &str, starts: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in starts {
        let pattern = format!("{start}::");
        for (at, _) in code.match_indices(&pattern) {
            let before = code[..at].trim_end();
            if code[..at].chars().next_back().is_some_and(is_word) || before.ends_with("::") {
                continue;
            }
            expand(&code[at..], &mut vec![], &mut found);
        }
    }
    found
}

/// Reads one path tree and returns how much of the text it took.
fn expand(text: &str, prefix: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let depth = prefix.len();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if text[at..].starts_with('{') {
            at += 1;
            while at < text.len() && !text[at..].starts_with('}') {
                at += expand(&text[at..], prefix, found);
                at += text[at..].find([',', '}']).unwrap_or(text.len() - at);
                at += usize::from(text[at..].starts_with(','));
                at += text[at..].len() - text[at..].trim_start().len();
            }
            at += 1;
            break;
        }
        let name: String = text[at..].chars().take_while(|c| is_word(*c)).collect();
        at += name.len();
        if !name.is_empty() {
            prefix.push(name);
        }
        if !text[at..].starts_with("::") {
            found.push(prefix.clone());
            break;
        }
        at += 2;
    }
    prefix.truncate(depth);
    at.min(text.len())
}

/// Paths into the crate as seen from its root: `crate::x::y`, and `super::…` where it climbs out of the module.
fn crate_paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for path in paths(code, &["crate", "super"]) {
        if path[0] == "crate" {
            all.push(path[1..].to_vec());
            continue;
        }
        let climbs = path.iter().take_while(|name| *name == "super").count();
        // `super` inside an inline module climbs less; such modules are tests, which are blanked.
        let base = &module[..module.len().saturating_sub(climbs)];
        all.push(base.iter().chain(&path[climbs..]).cloned().collect());
    }
    all
}

fn faults(module: &[String], source: &str) -> Vec<String> {
    let code = code_of(source);
    let mut faults = Vec::new();
    let Some(own) = module.first() else { return faults };
    let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| name == own) else {
        return vec![format!("the module {own} has no row in MAY_USE")];
    };
    for path in crate_paths(&code, module) {
        let Some(used) = path.first().filter(|used| *used != own) else { continue };
        if !MAY_USE.iter().any(|(name, _)| name == used) {
            continue;
        }
        if !may_use.contains(&used.as_str()) {
            faults.push(format!("{own} must not use {used}"));
        }
        let what = path.get(1).map_or("", String::as_str);
        if own == "jail" && used == "policy" && !RIGHTS.contains(&what) {
            faults.push(format!("the jail takes rights from policy, not {what}"));
        }
    }
    if PURE.contains(&own.as_str()) {
        for path in paths(&code, &["std", "core"]) {
            let path = path.join("::");
            let impure = |banned: &&&str| path == **banned || path.starts_with(&format!("{banned}::"));
            faults.extend(
                IMPURE_PATHS.iter().find(impure).map(|_| format!("the pure module {own} names {path}")),
            );
        }
        let called = IMPURE_METHODS.iter().filter(|method| code.contains(**method));
        faults.extend(called.map(|method| format!("the pure module {own} calls {method})")));
    }
    let unsafe_word = code.match_indices("unsafe").any(|(at, word)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    if own != "sys" && unsafe_word {
        faults.push(format!("{own} has unsafe code; it belongs in sys"));
    }
    faults
}

#[test]
fn modules_depend_downward_and_pure_ones_are_pure() {
    let mut all = BTreeSet::new();
    for file in rust_files(&root().join("src")) {
        if is_test_file(&file) {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        for fault in faults(&module_path(&file), &source) {
            all.insert(format!("{}: {fault}", file.strip_prefix(root()).unwrap().display()));
        }
    }
    assert!(all.is_empty(), "{}", all.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn files_stay_readable() {
    let mut long = Vec::new();
    for folder in ["src", "tests", "integration", "benches", "bench"] {
        for file in rust_files(&root().join(folder)) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            if lines > MAX_LINES {
                long.push(format!("{}: {lines} lines", file.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(long.is_empty(), "more than {MAX_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn the_reader_sees_what_it_must() {
    let at = |module: &[&str]| module.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let caught = |module: &[&str], source: &str| faults(&at(module), source);
    for (module, source) in [
        (&["shell"][..], "use crate::policy::Decision;"),
        (&["shell"], "use crate::{diagnostic::Diagnostic, classify};"),
        (&["shell"], "use crate::{\n    diagnostic::{self, Diagnostic},\n    policy::{\n Decision },\n};"),
        (&["classify", "spec"], "use super::super::workflow::Machine;"),
        (&["policy"], "fn f() { let x = crate::engine::step(); }"),
        (&["cli"], "use crate::jail::launch;"),
        (&["jail", "plan"], "use crate::policy::Decision;"),
        (&["policy"], "use std::{fmt, fs::File};"),
        (&["policy"], "fn f() { std::env::var(\"X\"); }"),
        (&["policy"], "use std::time::{Duration, Instant};"),
        (&["profile"], "fn f(p: &std::path::Path) -> bool { p.exists() }"),
        (&["jail"], "fn f() { unsafe { g() } }"),
        (&["unheard_of"], ""),
    ] {
        assert!(!caught(module, source).is_empty(), "not caught in {module:?}: {source}");
    }
    for (module, source) in [
        (&["shell"][..], "// use crate::policy\n/// crate::policy::Decision\nuse super::word::Span;"),
        (
            &["policy"],
            "const A: &str = \"std::fs crate::cli\"; const B: char = '\"'; const C: &str = r#\"std::fs\"#;",
        ),
        (
            &["policy"],
            "#[cfg(test)]\nmod tests { use std::fs; use crate::cli::x; }\nuse crate::workflow::Machine;",
        ),
        (&["policy"], "#[cfg(test)]\nmod tests;\nuse std::time::Duration;"),
        (&["jail"], "#![deny(unsafe_code)]\nuse crate::policy::{NetworkRight, Rights, WorkspaceRight};"),
        (&["sys", "clone"], "fn f<'a>(x: &'a str) { unsafe { g() } }"),
    ] {
        assert_eq!(caught(module, source), Vec::<String>::new(), "{module:?}: {source}");
    }
}
