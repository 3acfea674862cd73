//! The documents that are made from tables of the program, held against them. `SWBOX_BLESS=1 cargo test --test
//! documents -- --test-threads 1` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use swbox::policy::Decision;
use swbox::policy::reason::CODES;
use swbox::workflow::builtin::BUILTINS;
use swbox::workflow::tool::{Family, TOOLS};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a document between the marks of a generated part.
fn generated(document: &str, part: &str, wanted: &str) {
    let path = root().join("docs").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let (opening, closing) = (format!("<!-- {part}: generated -->\n"), format!("<!-- {part}: end -->"));
    let start = text.find(&opening).unwrap_or_else(|| panic!("{document} lacks {opening:?}")) + opening.len();
    let end = text.find(&closing).unwrap_or_else(|| panic!("{document} lacks {closing:?}"));
    if std::env::var_os("SWBOX_BLESS").is_some() {
        fs::write(&path, format!("{}{wanted}{}", &text[..start], &text[end..])).unwrap();
        return;
    }
    let help = "run SWBOX_BLESS=1 cargo test --test documents";
    assert!(text[start..end] == *wanted, "docs/{document} differs from the table in the program: {help}");
}

fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Prompt => "prompt",
        Decision::Forbidden => "forbidden",
    }
}

#[test]
fn reasons_are_documented() {
    let mut table = String::from("| code | decision | means | way on |\n|---|---|---|---|\n");
    for row in CODES {
        let decision = decision_name(row.decision);
        writeln!(table, "| `{}` | {decision} | {} | {} |", row.code, row.meaning, row.remedy).unwrap();
    }
    generated("reasons.md", "reasons", &table);
}

#[test]
fn each_reason_names_a_test_that_exists() {
    let folder = root().join("src/policy/tests");
    let sources: String = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    for row in CODES {
        let function = format!("fn {}()", row.test);
        assert!(sources.contains(&function), "{}: there is no test {}", row.code, row.test);
    }
    for (at, row) in CODES.iter().enumerate() {
        assert!(CODES[..at].iter().all(|earlier| earlier.code != row.code), "{} twice", row.code);
    }
}

#[test]
fn tools_are_documented() {
    let mut table = String::from("| tool | other names | what it does | level |\n|---|---|---|---|\n");
    for tool in TOOLS {
        let does = match tool.family {
            Family::Read => "reads files",
            Family::Search => "searches content",
            Family::List => "lists or finds names",
            Family::Write => "creates and changes files",
            Family::Delete => "removes named files",
            Family::Destructive => "sentinel: removes or wipes anything",
            Family::Execute => "runs commands",
            Family::GitRead => "reads a repository",
            Family::GitIndex => "changes refs, index or configuration of a repository",
            Family::GitTree => "changes a repository and its worktree",
            Family::GitRemote => "changes a repository and talks to a remote",
            Family::Network => "talks to a network",
            Family::External => "acts outside in its own way",
            Family::Session => "bookkeeping of the harness: needs nothing",
        };
        let names: Vec<_> = tool.aliases.iter().map(|name| format!("`{name}`")).collect();
        writeln!(table, "| `{}` | {} | {does} | {} |", tool.name, names.join(" "), tool.family.level())
            .unwrap();
    }
    generated("workflows.md", "tools", &table);
}

#[test]
fn built_ins_are_documented() {
    let mut text = String::new();
    for builtin in BUILTINS {
        writeln!(text, "### {}\n\n{}.\n", builtin.name, capital(builtin.about)).unwrap();
        let machine = swbox::workflow::load(builtin.source.as_bytes()).unwrap().machine;
        writeln!(text, "| state | allowed_tools | on |\n|---|---|---|").unwrap();
        for (name, state) in &machine.states {
            let mark = if *name == machine.initial { " (initial)" } else { "" };
            let tools =
                state.allowed_tools.as_ref().map_or_else(|| "none: final".to_owned(), |all| all.join(", "));
            let exits = machine.exits(name);
            let exits = exits.iter().map(|exit| {
                let asks = if exit.needs_approval() { " (approval)" } else { "" };
                format!("{} → {}{asks}", exit.event, exit.target)
            });
            writeln!(text, "| {name}{mark} | {tools} | {} |", exits.collect::<Vec<_>>().join("; ")).unwrap();
        }
        text.push('\n');
    }
    generated("workflows.md", "built-ins", &text);
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[test]
fn the_schema_is_committed() {
    let path = root().join("docs/workflow.schema.json");
    let wanted = swbox::workflow::schema::text();
    if std::env::var_os("SWBOX_BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == wanted,
        "docs/workflow.schema.json differs: run SWBOX_BLESS=1 cargo test --test documents"
    );
}

#[test]
fn refusals_and_observed_fields_are_documented() {
    let mut table = String::from("| code | means | way on |\n|---|---|---|\n");
    for row in swbox::engine::refusal::TABLE {
        writeln!(table, "| `{}` | {} | {} |", row.name, row.meaning, row.remedy).unwrap();
    }
    generated("workflows.md", "refusals", &table);
    let mut table = String::from("| `observed.` | is |\n|---|---|\n");
    for (name, about) in swbox::workflow::model::OBSERVED {
        writeln!(table, "| `{name}` | {about} |").unwrap();
    }
    generated("workflows.md", "observed", &table);
}

/// The text between fences of a language.
fn fenced<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    let parts = text.split(fence.as_str()).skip(1);
    parts.map(|part| part.split("```").next().unwrap()).collect()
}

#[test]
fn the_workflows_of_the_tutorial_load() {
    let text = fs::read_to_string(root().join("docs/workflows.md")).unwrap();
    let whole: Vec<_> =
        fenced(&text, "json").into_iter().filter(|part| part.trim_start().starts_with('{')).collect();
    assert!(whole.len() >= 2);
    for part in whole {
        let loaded = swbox::workflow::load(part.as_bytes()).unwrap_or_else(|all| panic!("{part}\n{all:#?}"));
        assert_eq!(loaded.violations, vec![], "{part}");
        assert_eq!(loaded.advice, vec![], "{part}");
    }
}
