//! Which session a command belongs to, and that a workspace that was bound runs nothing without one.

use crate::kit::{has_person, json, line, person, start, state};
use crate::project::{Project, ran};

#[test]
fn a_workspace_without_a_session_opens_no_store() {
    let project = Project::new();
    assert_eq!(line(&project, "ls").code, 0);
    assert_eq!(project.line("testing", "ls").code, 0);
    assert_eq!(project.swbox(&["session", "list"]).code, 0);
    assert!(!project.home().join(".local/state/swbox/sessions.db").exists());
    assert_eq!(project.swbox(&["state"]).code, 126);
}

#[test]
fn one_is_found_two_are_named_and_none_is_guessed() {
    if !has_person("one_is_found_two_are_named_and_none_is_guessed") {
        return;
    }
    let project = Project::new();
    let first = start(&project, &[]);
    let of = |ran: crate::project::Ran| {
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        value["session"]["id"].as_str().map(str::to_owned)
    };
    assert_eq!(of(project.swbox(&["exec", "--json", "-c", "ls"])), Some(first.clone()));
    // A state that is named is no session's.
    assert_eq!(of(project.swbox(&["exec", "--json", "--state", "planning", "-c", "ls"])), None);

    let second = start(&project, &[]);
    let refused = line(&project, "ls");
    assert_eq!(refused.code, 126, "{refused:?}");
    assert!(refused.stderr.contains(&first) && refused.stderr.contains(&second), "{refused:?}");
    assert_eq!(
        of(project.swbox(&["exec", "--json", "--session", &second, "-c", "ls"])),
        Some(second.clone())
    );
    let mut command = project.command(&["exec", "--json", "-c", "ls"]);
    command.env("SWBOX_SESSION", &first);
    assert_eq!(of(ran(command.output().unwrap())), Some(first.clone()));
    assert_eq!(project.swbox(&["exec", "--session", "s-none", "-c", "ls"]).code, 125);

    // A harness's own id is bound at its first use, and stays bound when another session begins.
    assert_eq!(person(&project, &["session", "end", &second], &[]).code, 0);
    let as_harness = |key: &str| {
        let mut command = project.command(&["exec", "--json", "-c", "ls"]);
        command.env("CLAUDE_CODE_SESSION_ID", key);
        ran(command.output().unwrap())
    };
    assert_eq!(of(as_harness("one")), Some(first.clone()));
    let third = start(&project, &[]);
    assert_eq!(of(as_harness("one")), Some(first.clone()));
    assert_eq!(as_harness("two").code, 126);

    // When all are over the workspace runs nothing, until a person lets it.
    for id in [&first, &third] {
        assert_eq!(person(&project, &["session", "end", id], &[]).code, 0);
    }
    let over = line(&project, "ls");
    assert!(over.code == 126 && over.stderr.contains("session_over"), "{over:?}");
    assert_eq!(as_harness("one").code, 126);
    assert!(over.stderr.contains("`swbox session list` names those that are over"), "{over:?}");
    let free = person(&project, &["session", "end", &third, "--unbind"], &[]);
    assert!(free.code == 0 && free.output.contains("runs without a session again"), "{free:?}");
    assert_eq!(line(&project, "ls").code, 0);
}

#[test]
fn sessions_that_are_over_can_be_removed() {
    if !has_person("sessions_that_are_over_can_be_removed") {
        return;
    }
    let project = Project::new();
    let gone = start(&project, &[]);
    let kept = start(&project, &[]);
    assert_eq!(person(&project, &["session", "end", &gone], &[]).code, 0);
    assert_eq!(person(&project, &["session", "prune"], &[]).output, "");
    let dry = person(&project, &["session", "prune", "--older", "1ms", "--dry-run"], &[]);
    assert!(dry.output.contains(&gone) && !dry.output.contains(&kept), "{dry:?}");
    assert_eq!(person(&project, &["session", "prune", "--older", "1ms"], &[]).code, 0);
    let left = json(&project, &["session", "list", "--json"]);
    assert_eq!(left["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(left["sessions"][0]["session"], kept.as_str());
    assert_eq!(state(&project), "planning");
    // Without an id it is the workspace's.
    let told = project.swbox(&["session", "log"]);
    assert!(told.code == 0 && told.stdout.contains("begins in \"planning\""), "{told:?}");
    assert!(project.swbox(&["session", "replay"]).stdout.contains("the same session"));
    assert_eq!(project.swbox(&["approve"]).stdout, "nothing waits\n");
}

#[test]
fn who_types_a_script_is_told_that_there_is_no_prompt() {
    if !has_person("who_types_a_script_is_told_that_there_is_no_prompt") {
        return;
    }
    let project = Project::new();
    let typed = [("there is no prompt", "echo ty''ped"), ("echo ty", "\u{4}")];
    let seen = person(&project, &["bash"], &typed);
    assert!(seen.code == 0 && seen.output.contains("\ntyped\n"), "{seen:?}");
}
