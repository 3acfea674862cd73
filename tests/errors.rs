//! `docs/errors.md` against the program: every diagnostic code and every exit code, no more and no less.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use swbox::cli::exit::TABLE;

/// Calls whose first text is the code of a diagnostic.
const MAKERS: &[&str] = &["Diagnostic::new(", "Finding::error(", "Finding::advice("];

/// The same where the receiver is known, in the workflow's reader and checks.
const WORKFLOW_MAKERS: &[&str] = &["error(", "advice(", "violation(", "state_exists(", "at("];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_name().is_some_and(|name| name == "tests" || name == "tests.rs");
        if path.is_dir() && !is_test {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
            into.push(path);
        }
    }
}

fn is_code(text: &str) -> bool {
    text.contains('_')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
}

/// The first text among the arguments of each call of `maker`.
fn codes_of(source: &str, maker: &str, found: &mut BTreeSet<String>) {
    for (at, _) in source.match_indices(maker) {
        let arguments: String = source[at + maker.len()..].chars().take(160).collect();
        let text = arguments.split('"').nth(1).unwrap_or_default();
        if is_code(text) {
            found.insert(text.to_owned());
        }
    }
}

fn in_program() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    files.push(root().join("src/main.rs"));
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for maker in MAKERS {
            codes_of(text, maker, &mut found);
        }
        if file.starts_with(root().join("src/workflow")) {
            for maker in WORKFLOW_MAKERS {
                codes_of(text, maker, &mut found);
            }
        }
        if file.ends_with("classify/user.rs") {
            codes_of(text, "problem(", &mut found);
        }
        if file.ends_with("jail/report.rs") {
            let steps = text.split('"').filter(|text| text.starts_with("setup_") && is_code(text));
            found.extend(steps.map(str::to_owned));
        }
    }
    // Chosen by a condition, or written by hand.
    found.extend(["internal_fault", "workflow_too_deep"].map(str::to_owned));
    found
}

fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    text.split('`').skip(1).step_by(2).filter(|text| is_code(text)).map(str::to_owned).collect()
}

/// Words of the page that look like codes and are none.
const NO_CODES: &[&str] = &[
    "safe_next",
    "allowed_tools",
    "allowed_commands",
    "allowed_commands_tool",
    "tool_levels",
    "failure_states",
    "requires_approval",
    "approval_message",
    "approval_reviewer",
];

#[test]
fn every_diagnostic_is_documented() {
    let (program, mut page) = (in_program(), documented());
    page.retain(|code| !NO_CODES.contains(&code.as_str()));
    let missing: Vec<_> = program.difference(&page).collect();
    let stale: Vec<_> = page.difference(&program).collect();
    assert!(missing.is_empty(), "docs/errors.md lacks {missing:?}");
    assert!(stale.is_empty(), "docs/errors.md has codes that the program does not: {stale:?}");
}

#[test]
fn exit_codes_are_documented() {
    let mut table = String::from("| code | commands | means |\n|---|---|---|\n");
    for (code, commands, meaning) in TABLE {
        writeln!(table, "| {code} | {commands} | {meaning} |").unwrap();
    }
    let text = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let start =
        text.find("<!-- exit codes: generated -->\n").unwrap() + "<!-- exit codes: generated -->\n".len();
    let end = text.find("<!-- exit codes: end -->").unwrap();
    assert_eq!(text[start..end], table, "docs/errors.md and cli::exit::TABLE differ");
}
