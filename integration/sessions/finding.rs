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

#[test]
fn a_ticket_is_good_once_and_for_its_command() {
    if !has_person("a_ticket_is_good_once_and_for_its_command") {
        return;
    }
    let project = Project::new();
    let first = start(&project, &[]);
    let second = start(&project, &[]);
    let ticket = |id: &str, text: &str| {
        let seen = person(&project, &["session", "ticket", id, "-c", text], &[]);
        assert_eq!(seen.code, 0, "{seen:?}");
        seen.output.trim().to_owned()
    };
    let send = |ticket: &str, text: &str| project.swbox(&["exec", "--json", "--ticket", ticket, "-c", text]);
    let session = |ran: crate::project::Ran| {
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        (
            value["session"]["id"].as_str().map(str::to_owned),
            value["error"]["code"].as_str().map(str::to_owned),
        )
    };
    // Two go on, and the ticket says which.
    let (one, two) = (ticket(&first, "ls"), ticket(&second, "ls"));
    assert_eq!(session(send(&two, "ls")), (Some(second.clone()), None));
    assert_eq!(session(send(&one, "ls")), (Some(first.clone()), None));
    let void = (None, Some("ticket_void".to_owned()));
    assert_eq!(session(send(&one, "ls")), void, "once");
    let other = ticket(&first, "ls");
    assert_eq!(session(send(&other, "ls -a")), void, "another command");
    assert_eq!(session(send(&other, "ls")), void, "and it is gone with that");
    assert_eq!(session(send("t-0000000000", "ls")), void);
    // An agent's own word goes by it as well, and only into that session.
    let going = ticket(&second, "swbox transition PLAN_READY");
    assert_eq!(project.swbox(&["exec", "--ticket", &going, "-c", "swbox transition PLAN_READY"]).code, 0);
    let of = |id: &str| json(&project, &["session", "status", id, "--json"])["state"].clone();
    assert_eq!((of(&first), of(&second)), ("planning".into(), "implementing".into()));
    // No command gives itself one.
    assert_eq!(project.swbox(&["bash", "-c", &format!("swbox session ticket {first} -c ls")]).code, 126);
    let mut command = project.command(&["session", "ticket", &first, "-c", "ls"]);
    command.env("CLAUDECODE", "1");
    assert_eq!(ran(command.output().unwrap()).code, 126);
}

#[test]
fn a_harness_is_found_by_its_process_and_goes_on_where_it_began() {
    if !has_person("a_harness_is_found_by_its_process_and_goes_on_where_it_began") {
        return;
    }
    let project = Project::new();
    let first = start(&project, &[]);
    // One process, whose commands come one after the other: it is bound at its first, and stays when another session begins.
    let script = "\"$0\" exec --json -c ls; touch began; while [ ! -e go ]; do sleep 0.05; done; \"$0\" exec --json -c ls; true";
    let mut command =
        project.command_as(std::path::Path::new("bash"), &["-c", "exec -a opencode bash -c \"$0\" \"$1\""]);
    command.args([script, env!("CARGO_BIN_EXE_swbox")]).current_dir(project.path());
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !project.path().join("began").exists() {
        assert!(std::time::Instant::now() < until, "waited in vain");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let second = start(&project, &[]);
    assert_eq!(line(&project, "ls").code, 126, "without a harness there are two");
    std::fs::write(project.path().join("go"), "").unwrap();
    let told = ran(child.wait_with_output().unwrap());
    let sessions: Vec<String> = told
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["session"]["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(sessions, [first.clone(), first.clone()], "{told:?}");
    // A harness whose session is over takes the next that nobody has, and none that somebody has.
    let as_harness = |key: &str| {
        let mut command = project.command(&["exec", "--json", "-c", "ls"]);
        command.env("CLAUDE_CODE_SESSION_ID", key);
        let told = ran(command.output().unwrap());
        let value: serde_json::Value = serde_json::from_str(&told.stdout).unwrap_or_default();
        match value["session"]["id"].as_str() {
            Some(id) if told.code == 0 => Ok(id.to_owned()),
            _ => Err(told.code),
        }
    };
    assert_eq!(person(&project, &["session", "end", &first], &[]).code, 0);
    assert_eq!(as_harness("one"), Ok(second.clone()));
    assert_eq!(person(&project, &["session", "end", &second], &[]).code, 0);
    assert_eq!(as_harness("one"), Err(126));
    let third = start(&project, &[]);
    assert_eq!(as_harness("one"), Ok(third.clone()));
    let fourth = start(&project, &[]);
    assert_eq!(person(&project, &["session", "end", &third], &[]).code, 0);
    assert_eq!(as_harness("two"), Ok(fourth));
    assert_eq!(as_harness("one"), Err(126), "somebody is in that one");
}
