//! The law of a session does not loosen: its bytes are kept, and what a person takes over is seen first.

use std::fs;

use crate::kit::{good, has_person, line, person, replays, start, state, workflow};
use crate::project::Project;

fn text(tools: &str) -> String {
    format!(
        r#"{{"id": "own", "initial": "working", "states": {{
            "working": {{"allowed_tools": [{tools}], "on": {{"DONE": "completed", "FAIL": "failed"}}}},
            "completed": {{"type": "final"}}, "failed": {{"type": "final"}}}}}}"#
    )
}

#[test]
fn a_running_session_keeps_its_bytes() {
    if !has_person("a_running_session_keeps_its_bytes") {
        return;
    }
    let project = Project::new();
    let file = project.path().join("swbox.json");
    fs::write(&file, text("\"Read\"")).unwrap();
    assert_eq!(person(&project, &["trust"], &[("Type \"accept\"", "accept")]).code, 0);
    let id = start(&project, &[]);
    good(&project, "cat README.md");
    assert_eq!(line(&project, "echo x > made").code, 126);
    // Changed, deleted, replaced: the session goes on under what it began with.
    for change in [Some(text("\"Read\", \"Write\"")), None] {
        match change {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        good(&project, "cat README.md");
        assert_eq!(line(&project, "echo x > made").code, 126);
        // A new start is refused, never laxer.
        let refused = person(&project, &["session", "start"], &[]);
        assert_eq!(refused.code, 125, "{refused:?}");
    }
    assert_eq!(project.swbox(&["session", "list"]).stdout.lines().count(), 1);
    assert_eq!(state(&project), "working");
    replays(&project, &id);
}

#[test]
fn a_person_takes_over_a_new_law_after_seeing_it() {
    if !has_person("a_person_takes_over_a_new_law_after_seeing_it") {
        return;
    }
    let project = Project::new();
    let file = workflow(&project, "own.json", &text("\"Read\""));
    let id = start(&project, &["--workflow", &file]);
    assert_eq!(line(&project, "echo x > made").code, 126);
    fs::write(&file, text("\"Read\", \"Write\"")).unwrap();
    assert_eq!(project.swbox(&["session", "reload", &id]).code, 126);
    let refused = person(&project, &["session", "reload", &id], &[("Type the session's state", "no")]);
    assert_eq!(refused.code, 126, "{refused:?}");
    assert_eq!(line(&project, "echo x > made").code, 126);
    let seen = person(&project, &["session", "reload", &id], &[("Type the session's state", "working")]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.output.contains("+") && seen.output.contains("\"Write\""), "{seen:?}");
    good(&project, "echo x > made");
    replays(&project, &id);
    // A law that lacks the session's state cannot be taken over.
    fs::write(&file, text("\"Read\"").replace("working", "other")).unwrap();
    let impossible =
        person(&project, &["session", "reload", &id], &[("Type the session's state", "working")]);
    assert!(impossible.code == 125 && impossible.output.contains("reload_impossible"), "{impossible:?}");
}

#[test]
fn a_person_forces_with_a_reason() {
    if !has_person("a_person_forces_with_a_reason") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &[]);
    let words = ["session", "force", id.as_str(), "committing", "--reason", "reviewed by hand"];
    assert_eq!(person(&project, &words, &[("Type \"committing\"", "no")]).code, 126);
    assert_eq!(state(&project), "planning");
    assert_eq!(person(&project, &words, &[("Type \"committing\"", "committing")]).code, 0);
    assert_eq!(state(&project), "committing");
    let story = project.swbox(&["session", "log", &id]).stdout;
    assert!(story.contains("by force (terminal): reviewed by hand"), "{story}");
    replays(&project, &id);
}

#[test]
fn an_older_version_that_was_trusted_is_no_way_back() {
    let test = "an_older_version_that_was_trusted_is_no_way_back";
    if !has_person(test) || !crate::project::has(test, "git") {
        return;
    }
    let project = Project::new();
    let file = project.path().join("swbox.json");
    let accept = |text: String| {
        fs::write(&file, text).unwrap();
        assert_eq!(person(&project, &["trust"], &[("Type \"accept\"", "accept")]).code, 0);
    };
    accept(text("\"Read\", \"Write\""));
    project.git(&["add", "swbox.json"]);
    project.git(&["commit", "-qm", "a lax law"]);
    accept(text("\"Read\""));
    let id = start(&project, &[]);
    assert_eq!(line(&project, "echo x > made").code, 126);
    // Checked out again, byte for byte as it was once accepted.
    project.git(&["checkout", "-q", "--", "swbox.json"]);
    assert!(fs::read_to_string(&file).unwrap().contains("Write"));
    assert_eq!(line(&project, "echo x > made").code, 126);
    good(&project, "cat README.md");
    let reload = person(&project, &["session", "reload", &id], &[("Type the session's state", "working")]);
    assert!(reload.code == 125 && reload.output.contains("untrusted_workspace_file"), "{reload:?}");
    let begun = person(&project, &["session", "start"], &[]);
    assert!(begun.code == 125 && begun.output.contains("untrusted_workspace_file"), "{begun:?}");
    assert!(!project.path().join("made").exists());
    replays(&project, &id);
}
