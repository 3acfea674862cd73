//! Workflows that another one invokes: found by the manifest, id or file name, and in a workspace only as accepted.

use std::fs;
use std::path::Path;

use crate::kit::{good, has_person, line, person, replays, start, state, workflow};
use crate::project::Project;

fn parent(invoked: &str) -> String {
    format!(
        r#"{{"id": "parent", "initial": "first", "states": {{
            "first": {{"allowed_tools": ["Read"], "on": {{
                "GO": {{"invoke": "{invoked}", "on_complete": "last", "on_fail": "failed"}}, "FAIL": "failed"}}}},
            "last": {{"allowed_tools": ["Read"], "on": {{"DONE": "completed", "FAIL": "failed"}}}},
            "completed": {{"type": "final"}}, "failed": {{"type": "final"}}}}}}"#
    )
}

fn child(id: &str, state: &str, tools: &str) -> String {
    format!(
        r#"{{"id": "{id}", "initial": "{state}", "states": {{
            "{state}": {{"allowed_tools": [{tools}], "on": {{"OUT": "completed", "FAIL": "failed"}}}},
            "completed": {{"type": "final"}}, "failed": {{"type": "final"}}}}}}"#
    )
}

/// The state that the session is in once the invocation was taken.
fn entered(project: &Project, file: &str) -> String {
    let id = start(project, &["--workflow", file]);
    good(project, "swbox transition GO");
    let entered = state(project);
    replays(project, &id);
    assert_eq!(person(project, &["session", "end", &id], &[]).code, 0);
    entered
}

#[test]
fn the_manifest_comes_first_then_the_id_then_the_file_name() {
    if !has_person("the_manifest_comes_first_then_the_id_then_the_file_name") {
        return;
    }
    let project = Project::new();
    let file = workflow(&project, "parent.json", &parent("step"));
    let refused = person(&project, &["session", "start", "--workflow", &file], &[]);
    assert!(refused.code == 125 && refused.output.contains("workflow_unknown"), "{refused:?}");
    workflow(&project, "step.json", &child("other", "by_name", "\"Read\""));
    assert_eq!(entered(&project, &file), "by_name");
    workflow(&project, "z.json", &child("step", "by_id", "\"Read\""));
    assert_eq!(entered(&project, &file), "by_id");
    workflow(&project, "mapped.json", &child("mapped", "by_manifest", "\"Read\""));
    // Somebody else's manifest says nothing.
    workflow(&project, "manifest.json", r#"{"name": "a web page", "icons": []}"#);
    assert_eq!(entered(&project, &file), "by_id");
    workflow(&project, "manifest.json", r#"{"workflows": {"step": "mapped.json"}}"#);
    assert_eq!(entered(&project, &file), "by_manifest");
    // One that leads elsewhere, or to nothing, or that cannot be read, is never passed over.
    for (text, code) in [
        (r#"{"workflows": {"step": "../parent.json"}}"#, "manifest_malformed"),
        (r#"{"workflows": {"step": "none.json"}}"#, "workflow_unknown"),
        (r#"{"workflows": ["step"]}"#, "manifest_malformed"),
        ("{", "manifest_malformed"),
    ] {
        workflow(&project, "manifest.json", text);
        let refused = person(&project, &["session", "start", "--workflow", &file], &[]);
        assert!(refused.code == 125 && refused.output.contains(code), "{text}: {refused:?}");
    }
}

#[test]
fn validation_goes_through_what_is_beside_the_file() {
    let project = Project::new();
    let file = workflow(&project, "parent.json", &parent("step"));
    let missing = project.swbox(&["workflow", "validate", &file, "--format", "text"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(
        missing.stdout.contains("states.first.on.GO.invoke") && missing.stdout.contains("\"step\""),
        "{missing:?}"
    );
    workflow(&project, "step.json", &child("step", "inside", "\"Read\""));
    let sound = project.swbox(&["workflow", "validate", &file, "--format", "text"]);
    assert_eq!(sound.code, 0, "{sound:?}");
    workflow(&project, "step.json", &child("step", "inside", "\"Read\", \"deploy\""));
    let climb = project.swbox(&["workflow", "validate", &file, "--format", "json"]);
    assert_eq!(climb.code, 1, "{climb:?}");
    let value: serde_json::Value = serde_json::from_str(&climb.stdout).unwrap();
    let problem = &value["workflows"][0]["problems"][0];
    assert_eq!(
        (problem["code"].as_str(), problem["path"].as_str()),
        (Some("unasked_climb"), Some("states.first.on.GO"))
    );
    let message = problem["message"].as_str().unwrap();
    assert!(
        message.contains("step.json") && problem["file"].as_str().unwrap().contains("parent.json"),
        "{problem}"
    );
    assert!(problem["line"].is_number(), "{problem}");
}

const YES: (&str, &str) = ("Type \"accept\"", "accept");

/// Starting a session: 0, or the code of the problem and the file that it names.
fn starting(project: &Project) -> Result<String, (String, String)> {
    let begun = person(project, &["session", "start", "--json"], &[]);
    if begun.code == 0 {
        let value: serde_json::Value = serde_json::from_str(begun.output.trim()).unwrap();
        return Ok(value["session"].as_str().unwrap().to_owned());
    }
    assert_eq!(begun.code, 125, "{begun:?}");
    let has = |word: &&str| begun.output.contains(*word);
    let code = ["untrusted_workspace_file", "trusted_file_gone", "workflow_unknown"].into_iter().find(has);
    let file = ["workflow.json", "step.json", "manifest.json", "bugfix.json"].into_iter().find(has);
    Err((code.unwrap_or(&begun.output).to_owned(), file.unwrap_or_default().to_owned()))
}

fn refused(code: &str, file: &str) -> Result<String, (String, String)> {
    Err((code.to_owned(), file.to_owned()))
}

#[test]
fn a_workspace_invokes_its_own_files_only_as_accepted() {
    if !has_person("a_workspace_invokes_its_own_files_only_as_accepted") {
        return;
    }
    let project = Project::new();
    let own = project.path().join(".swbox");
    fs::create_dir(&own).unwrap();
    let write = |name: &str, text: &str| fs::write(own.join(name), text).unwrap();
    write("workflow.json", &parent("step"));
    write("step.json", &child("step", "inside", "\"Read\""));
    // The law alone is not enough.
    assert_eq!(person(&project, &["trust", ".swbox/workflow.json"], &[YES]).code, 0);
    assert_eq!(starting(&project), refused("untrusted_workspace_file", "step.json"));
    let listed = project.swbox(&["trust", "--list"]);
    assert!(listed.code == 1 && listed.stdout.contains(".swbox/step.json"), "{listed:?}");
    let seen = person(&project, &["trust"], &[YES]);
    assert!(seen.code == 0 && seen.output.contains("\"inside\""), "{seen:?}");
    assert_eq!(project.swbox(&["trust", "--list"]).code, 0);
    let id = starting(&project).unwrap();
    good(&project, "swbox transition GO");
    assert_eq!(state(&project), "inside");
    // The running session keeps its bytes; a new start is refused, never laxer.
    write("step.json", &child("step", "inside", "\"Read\", \"Write\""));
    assert_eq!(line(&project, "echo x > made").code, 126);
    assert_eq!(starting(&project), refused("untrusted_workspace_file", "step.json"));
    fs::remove_file(own.join("step.json")).unwrap();
    assert_eq!(starting(&project), refused("trusted_file_gone", "step.json"));
    write("step.json", &child("step", "inside", "\"Read\""));
    // A manifest would choose another file, and one that takes a built-in's name would take its place.
    write("manifest.json", r#"{"workflows": {"step": "workflow.json"}}"#);
    assert_eq!(starting(&project), refused("untrusted_workspace_file", "manifest.json"));
    fs::remove_file(own.join("manifest.json")).unwrap();
    write("workflow.json", &parent("bugfix"));
    assert_eq!(person(&project, &["trust", ".swbox/workflow.json"], &[YES]).code, 0);
    let built_in = starting(&project).unwrap();
    write("bugfix.json", &child("bugfix", "planning", "\"Read\", \"Write\""));
    assert_eq!(starting(&project), refused("untrusted_workspace_file", "bugfix.json"));
    for id in [id, built_in] {
        replays(&project, &id);
    }
    assert!(Path::new(&own).exists() && !project.path().join("made").exists());
}

#[test]
fn an_accepted_manifest_counts_and_its_loss_is_said() {
    if !has_person("an_accepted_manifest_counts_and_its_loss_is_said") {
        return;
    }
    let project = Project::new();
    let own = project.path().join(".swbox");
    fs::create_dir(&own).unwrap();
    let write = |name: &str, text: &str| fs::write(own.join(name), text).unwrap();
    write("workflow.json", &parent("release"));
    write("step.json", &child("step", "inside", "\"Read\""));
    write("manifest.json", r#"{"workflows": {"release": "step.json"}}"#);
    let seen = person(&project, &["trust"], &[YES, YES, YES]);
    assert_eq!(seen.code, 0, "{seen:?}");
    starting(&project).unwrap();
    good(&project, "swbox transition GO");
    assert_eq!(state(&project), "inside");
    fs::remove_file(own.join("manifest.json")).unwrap();
    assert_eq!(starting(&project), refused("trusted_file_gone", "manifest.json"));
    assert_eq!(person(&project, &["trust", "--forget", ".swbox/manifest.json"], &[]).code, 0);
    assert_eq!(starting(&project).unwrap_err().0, "workflow_unknown");
}
