//! Every claim of `docs/threat-model.md` names evidence that exists.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == pattern,
    }
}

#[test]
fn every_claim_names_a_probe_a_test_or_an_act_that_exists() {
    let text = fs::read_to_string(root().join("docs/threat-model.md")).unwrap();
    let mut files = Vec::new();
    for directory in ["src", "tests", "integration"] {
        sources(&root().join(directory), &mut files);
    }
    let code: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let probes: Vec<String> = fs::read_dir(root().join("integration/escapes/probes"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();

    let claims = text.split("## Claims and their tests").nth(1).unwrap();
    let claims = claims.split("\n## ").next().unwrap();
    let rows: Vec<_> =
        claims.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| claim")).collect();
    assert!(rows.len() > 15, "the table of claims was not found");
    for row in rows {
        let evidence = row.trim_end_matches('|').rsplit('|').next().unwrap();
        assert!(!evidence.trim().is_empty(), "a claim without evidence: {row}");
        for word in evidence.split_whitespace() {
            let found = match word.split_once(':') {
                Some(("probe", pattern)) => probes.iter().any(|probe| matches(pattern, probe)),
                Some(("test", name)) => code.contains(&format!("fn {name}(")),
                Some(("doctor", name)) => swbox::jail::protection::ALL
                    .into_iter()
                    .any(|protection| swbox::jail::protection::name(protection) == name),
                _ => false,
            };
            assert!(found, "{word} does not exist");
        }
    }
}
