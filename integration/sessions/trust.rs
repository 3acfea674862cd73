//! What a workspace brings is law only as a person accepted it, byte for byte.

use std::fs;

use crate::kit::{has_person, person, under};
use crate::project::Project;

/// A workflow whose first state can write, unlike that of the default.
fn workflow(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "initial": "working", "states": {{
  "working": {{"allowed_tools": ["Read", "Write", "run_command"], "on": {{"DONE": "completed", "FAIL": "failed"}}}},
  "completed": {{"type": "final"}}, "failed": {{"type": "final"}}}}}}
"#
    )
}

/// Whether a line that only the workspace's own workflow allows runs, or the diagnostic.
fn outcome(project: &Project) -> Result<(), String> {
    let ran = project.swbox(&["exec", "--json", "-c", "echo x > made"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    match value["error"]["code"].as_str() {
        Some(code) => {
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(!project.path().join("made").exists());
            Err(code.to_owned())
        }
        None => {
            assert_eq!(ran.code, 0, "{ran:?}");
            fs::remove_file(project.path().join("made")).unwrap();
            Ok(())
        }
    }
}

const UNTRUSTED: &str = "untrusted_workspace_file";
const YES: &[(&str, &str)] = &[("Type \"accept\"", "accept")];

#[test]
fn a_workflow_is_law_as_it_was_accepted_and_no_other_way() {
    if !has_person("a_workflow_is_law_as_it_was_accepted_and_no_other_way") {
        return;
    }
    let project = Project::new();
    let file = project.path().join("swbox.json");
    assert_eq!(project.swbox(&["trust", "--list"]).code, 0);
    fs::write(&file, workflow("one")).unwrap();
    assert_eq!(outcome(&project), Err(UNTRUSTED.into()));
    assert_eq!(project.swbox(&["trust", "--list"]).code, 1);

    let refused = person(&project, &["trust"], &[("Type \"accept\"", "yes")]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(outcome(&project), Err(UNTRUSTED.into()));
    let accepted = person(&project, &["trust", "swbox.json"], YES);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.output.contains("\"initial\": \"working\""), "{accepted:?}");
    assert_eq!(outcome(&project), Ok(()));

    // One byte, and the difference is shown.
    fs::write(&file, workflow("two")).unwrap();
    assert_eq!(outcome(&project), Err(UNTRUSTED.into()));
    let accepted = person(&project, &["trust"], YES);
    assert!(
        accepted.output.contains("- {\"id\": \"one\"") && accepted.output.contains("+ {\"id\": \"two\""),
        "{accepted:?}"
    );
    assert_eq!(outcome(&project), Ok(()));

    // What was accepted before is no law any more.
    fs::write(&file, workflow("one")).unwrap();
    assert_eq!(outcome(&project), Err(UNTRUSTED.into()));
    fs::remove_file(&file).unwrap();
    assert_eq!(outcome(&project), Err("trusted_file_gone".into()));
    // Neither does a second file take its place, nor something that is no file.
    fs::create_dir(project.path().join(".swbox")).unwrap();
    fs::write(project.path().join(".swbox/workflow.json"), workflow("three")).unwrap();
    assert_eq!(outcome(&project), Err(UNTRUSTED.into()));
    fs::remove_dir_all(project.path().join(".swbox")).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(outcome(&project), Err("workspace_file_unreadable".into()));
    fs::remove_dir(&file).unwrap();

    let forgotten = person(&project, &["trust", "--forget", "swbox.json"], &[]);
    assert_eq!(forgotten.code, 0, "{forgotten:?}");
    // The built-in, whose first state cannot write.
    assert_eq!(project.swbox(&["exec", "-c", "echo x > made"]).code, 126);
}

#[test]
fn a_profile_counts_once_accepted_and_shows_what_it_asks_for() {
    if !has_person("a_profile_counts_once_accepted_and_shows_what_it_asks_for") {
        return;
    }
    let project = Project::new();
    fs::create_dir(project.path().join(".swbox")).unwrap();
    let file = project.path().join(".swbox/profile.toml");
    fs::write(&file, "[network]\nhosts = [\"a.example\"]\n\n[environment.set]\nFROM_PROFILE = \"yes\"\n")
        .unwrap();
    let line = ["exec", "--state", "testing", "-c", "echo \"<$FROM_PROFILE>\""];
    assert_eq!(project.swbox(&line).code, 125);
    let accepted = person(&project, &["trust"], YES);
    assert!(accepted.output.contains("asks to reach the host a.example"), "{accepted:?}");
    let ran = project.swbox(&line);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "<yes>\n"), "{ran:?}");
}

#[test]
fn only_a_person_accepts() {
    if !has_person("only_a_person_accepts") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("swbox.json"), workflow("one")).unwrap();
    let piped = project.swbox(&["trust"]);
    assert_eq!(piped.code, 126);
    assert!(piped.stderr.contains("not_a_person"), "{piped:?}");
    for harness in ["claude", "codex", "opencode"] {
        let seen = under(&project, harness, &["trust"], YES);
        assert_eq!(seen.code, 126, "{seen:?}");
        assert!(seen.output.contains("among the ancestors"), "{seen:?}");
    }
    // The twin: an ancestor of another name is none.
    assert_eq!(under(&project, "tmux", &["trust"], YES).code, 0);
    // And what cannot be loaded cannot be accepted.
    fs::write(project.path().join("swbox.json"), "{\"id\": 3}").unwrap();
    let seen = person(&project, &["trust"], YES);
    assert!(seen.code == 1 && seen.output.contains("cannot be accepted"), "{seen:?}");
    assert!(seen.output.contains("swbox.json:1:"), "the place is told: {seen:?}");
}
