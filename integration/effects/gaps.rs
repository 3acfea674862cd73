//! `audit --run`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::project::{Project, ran};

#[test]
fn a_history_is_run_in_a_workspace_of_its_own() {
    let project = Project::new();
    let history = project.outside().join("history");
    fs::write(&history, "cat src/main.py | head -2\ntouch made\nls\npython3 x.py\nrm README.md\ngit log\n")
        .unwrap();
    let before = project.tree();
    let ran = project.swbox(&["audit", "--run", "--json", "--state", "testing", history.to_str().unwrap()]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(value["total"], 6, "{value}");
    assert_eq!(value["ran"], 5, "{value}");
    assert_eq!(value["undeclaring"], 1, "{value}");
    assert_eq!(value["gaps"], serde_json::json!([]), "{value}");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.tree(), before, "the workspace of the caller is not touched");
    let text = project.swbox(&["audit", "--run", "--state", "testing", history.to_str().unwrap()]);
    assert!(text.stdout.contains("none did more than its text declares"), "{text:?}");
}

/// A program that says it reads and writes as well, and a profile that has a row for it.
fn liar(project: &Project) -> String {
    let tool = project.home().join(".local/bin/liar");
    fs::create_dir_all(tool.parent().unwrap()).unwrap();
    fs::write(&tool, "#!/bin/sh\necho x > sneaky\ncat \"$1\"\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let profile = project.outside().join("liar.toml");
    let row = "extends = [\"base\"]\n[[commands]]\nname = \"liar\"\nclasses = [\"FileRead\"]\nclosed = true\nlenient = true\n\
               examples = [{ command = \"liar x\", classes = [\"FileRead\"] }]\n";
    fs::write(&profile, row).unwrap();
    profile.to_str().unwrap().to_owned()
}

fn path(project: &Project) -> String {
    format!("{}:{}", project.home().join(".local/bin").display(), std::env::var("PATH").unwrap())
}

#[test]
fn what_a_program_does_beyond_its_row_is_a_gap() {
    let project = Project::new();
    let profile = liar(&project);
    let history = project.outside().join("history");
    fs::write(&history, "liar README.md\nliar src/main.py\ncat README.md\n").unwrap();
    let args =
        ["audit", "--run", "--json", "--state", "testing", "--profile", &profile, history.to_str().unwrap()];
    let ran = ran(project.command(&args).env("PATH", path(&project)).output().unwrap());
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(ran.code, 1, "{ran:?}");
    let gaps = value["gaps"].as_array().unwrap();
    assert_eq!(
        (&gaps[0]["class"], &gaps[0]["program"], &gaps[0]["count"]),
        (&"FileWrite".into(), &"liar".into(), &2.into()),
        "{value}"
    );
    assert_eq!(gaps[0]["targets"], serde_json::json!(["sneaky"]));
}

#[test]
fn a_refusal_by_narrowing_says_so_and_is_undeclared() {
    let project = Project::new();
    let profile = liar(&project);
    let workflow = project.outside().join("w.json");
    let text = r#"{"id":"w","initial":"s","states":{"s":{"allowed_tools":["Read","Write"],"on":{"E":"failed"}},"failed":{"type":"final"}}}"#;
    fs::write(&workflow, text).unwrap();
    let run = |more: &[&str]| {
        let mut args =
            vec!["exec", "--json", "--workflow", workflow.to_str().unwrap(), "--profile", &profile];
        args.extend(more);
        args.extend(["-c", "liar README.md"]);
        let ran = ran(project.command(&args).env("PATH", path(&project)).output().unwrap());
        serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    };
    let value = run(&[]);
    let denial = &value["denials"][0];
    assert_eq!(
        (&denial["cause"], &denial["grant"]["name"]),
        (&"narrowed".into(), &"--no-narrow".into()),
        "{value}"
    );
    assert_eq!(denial["path"], project.path().join("sneaky").to_str().unwrap());
    assert_eq!(
        (&value["undeclared"][0]["class"], &value["undeclared"][0]["refused"]),
        (&"FileWrite".into(), &true.into())
    );
    assert!(!project.path().join("sneaky").exists());
    let value = run(&["--no-narrow"]);
    assert_eq!(value["denials"], serde_json::json!([]), "{value}");
    assert_eq!(value["undeclared"][0]["refused"], false, "{value}");
    assert!(project.path().join("sneaky").exists());
}

#[test]
fn tools_ask_nobody_for_their_newest_version() {
    let test = "tools_ask_nobody_for_their_newest_version";
    let project = Project::new();
    let history = project.outside().join("history");
    let lines = ["npm ls", "npm cache clean --force", "pip list"];
    let here = lines.iter().filter(|line| crate::project::has(test, line.split(' ').next().unwrap()));
    fs::write(&history, here.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let ran = project.swbox(&["audit", "--run", "--json", history.to_str().unwrap()]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(value["gaps"], serde_json::json!([]), "{value}");
}
