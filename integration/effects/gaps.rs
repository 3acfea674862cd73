//! `audit --run`.

use std::fs;

use serde_json::Value;

use crate::project::Project;

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
