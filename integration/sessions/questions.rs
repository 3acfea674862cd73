//! What a person is shown of what waits, and how far an answer reaches.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::kit::{good, has_person, json, line, person, replays, start, state, waiting, workflow};
use crate::project::{Project, ran};

const ASKING: &str = r#"{"id": "asking", "initial": "working",
  "rules": [{"prefix": "wc", "decision": "prompt", "justification": "counting is expensive"}], "states": {
    "working": {"allowed_tools": ["Read", "Write"], "on": {"DONE": {"target": "checked", "requires_approval": true}, "FAIL": "failed"}},
    "checked": {"allowed_tools": ["Read", "Write"], "on": {"DONE": {"target": "completed", "requires_approval": true}, "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

fn asking(project: &Project) -> String {
    start(project, &["--workflow", &workflow(project, "asking.json", ASKING)])
}

/// The only question, as JSON.
fn question(project: &Project) -> serde_json::Value {
    let all = json(project, &["approve", "--json"]);
    assert_eq!(all["waiting"].as_array().unwrap().len(), 1, "{all}");
    all["waiting"][0].clone()
}

/// How many writes have asked for a flush.
fn flushes(project: &Project) -> u64 {
    let marks = fs::read(project.home().join(".local/state/swbox/sessions.marks")).unwrap();
    u64::from_ne_bytes(marks[..8].try_into().unwrap())
}

/// The yes counts once also where the machine falls while the command runs: its start is flushed like its end.
#[test]
fn a_yes_that_is_used_up_does_not_come_back_with_the_machine() {
    if !has_person("a_yes_that_is_used_up_does_not_come_back_with_the_machine") {
        return;
    }
    let project = Project::new();
    let id = asking(&project);
    let before = flushes(&project);
    good(&project, "cat README.md");
    assert_eq!(flushes(&project) - before, 1, "the end alone");
    assert_eq!(line(&project, "wc README.md").code, 126);
    let approval = question(&project)["id"].as_str().unwrap().to_owned();
    let seen = person(&project, &["approve", &approval], &[("Type \"working\"", "working")]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let before = flushes(&project);
    good(&project, "wc README.md");
    assert_eq!(flushes(&project) - before, 2, "the start, and the end");
    // So does a ticket, which is a yes of the harness's.
    let ticket = project.swbox(&["session", "ticket", &id, "-c", "cat README.md"]);
    assert_eq!(ticket.code, 0, "{ticket:?}");
    let before = flushes(&project);
    let ran = project.swbox(&["exec", "--ticket", ticket.stdout.trim(), "-c", "cat README.md"]);
    assert_eq!((ran.code, flushes(&project) - before), (0, 2), "{ran:?}");
}

#[test]
fn no_question_outlives_its_session() {
    if !has_person("no_question_outlives_its_session") {
        return;
    }
    let project = Project::new();
    let id = asking(&project);
    assert_eq!(line(&project, "wc README.md").code, 126);
    assert_eq!(line(&project, "swbox transition DONE").code, 126);
    let all = waiting(&project, &id);
    assert_eq!(all.len(), 2);
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);
    assert_eq!(
        (project.swbox(&["approve"]).stdout.as_str(), waiting(&project, &id).len()),
        ("nothing waits\n", 0)
    );
    for approval in all {
        let seen = person(&project, &["approve", &approval], &[("Type", "working")]);
        assert!(seen.code == 126 && seen.output.contains("cannot be answered"), "{seen:?}");
    }
    replays(&project, &id);
}

#[test]
fn a_question_shows_what_would_run_and_hides_nothing() {
    if !has_person("a_question_shows_what_would_run_and_hides_nothing") {
        return;
    }
    let project = Project::new();
    let id = asking(&project);
    let text = "cd src && cat ../README.md | wc -l > 'counted'";
    assert_eq!(line(&project, text).code, 126);
    let value = question(&project);
    let command = &value["shown"]["command"];
    assert_eq!(command["cwd"], ".");
    let parts: Vec<String> =
        command["parts"].as_array().unwrap().iter().map(|part| part.to_string()).collect();
    assert!(parts.iter().any(|part| part.contains("FileRead README.md")), "{parts:?}");
    assert!(parts.iter().any(|part| part.contains("FileWrite src/")), "{parts:?}");
    assert!(command["reasons"][0].as_str().unwrap().contains("wc"), "{command}");
    assert_eq!(command["always"], serde_json::Value::Null, "a list of commands can be no rule");
    let approval = value["id"].as_str().unwrap();
    assert_eq!((value["session"].as_str(), value["status"].as_str()), (Some(id.as_str()), Some("open")));
    // Text carries what JSON carries, and no character of the agent's acts on the terminal.
    let listed = project.swbox(&["approve"]).stdout;
    for shown in [approval, "FileRead README.md", "FileWrite src/", "because"] {
        assert!(listed.contains(shown), "{shown}\n{listed}");
    }
    let seen = person(&project, &["approve", approval, "--always"], &[]);
    assert!(seen.code == 126 && seen.output.contains("cannot be approved with --always"), "{seen:?}");
    // With JSON the question goes to the terminal and the result alone to standard output.
    let seen = person(&project, &["reject", approval, "--reason", "no need", "--json"], &[]);
    assert!(seen.code == 0 && seen.output.contains("\"answer\":{\"reply\":\"noted\"}"), "{seen:?}");
    assert_eq!(project.swbox(&["approve"]).stdout, "nothing waits\n");
    let claim =
        "swbox transition DONE --data '{\"n\": \"\\u001b[2J\\u202edone\", \"expected_exit_code\": 7}'";
    good(&project, "cat README.md");
    assert_eq!(line(&project, claim).code, 126);
    let listed = project.swbox(&["approve"]).stdout;
    assert!(listed.contains("[2J") && listed.contains("\\u{202e}done"), "{listed}");
    assert!(!listed.contains('\u{1b}') && !listed.contains('\u{202e}'), "{listed}");
    // What it claims of facts is held against them, here and in the story; it blocks nothing by itself.
    assert!(listed.contains("differs  expected_exit_code claimed 7, seen 0"), "{listed}");
    let story = project.swbox(&["session", "log", &id]).stdout;
    assert!(story.contains("claim and fact differ: expected_exit_code claimed 7, seen 0"), "{story}");
    replays(&project, &id);
}

#[test]
fn a_question_counts_the_lines_since_the_last_answer() {
    let test = "a_question_counts_the_lines_since_the_last_answer";
    if !has_person(test) || !crate::project::has(test, "git") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("told"), "a\nb\nc\n").unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "three lines"]);
    let id = asking(&project);
    good(&project, "printf 'a\\nB\\nc\\nd\\n' > told");
    good(&project, "printf '1\\n2\\n' > made");
    // What a repository says of a file must not hide it from the person.
    assert_eq!(line(&project, "swbox transition DONE").code, 126);
    let changes = |value: &serde_json::Value| -> Vec<(String, Option<u64>, Option<u64>, String)> {
        let one = |change: &serde_json::Value| {
            let text = |name: &str| change[name].as_str().unwrap().to_owned();
            (text("path"), change["added"].as_u64(), change["removed"].as_u64(), text("how"))
        };
        value["changes"].as_array().unwrap().iter().map(one).collect()
    };
    let first = question(&project);
    assert_eq!(
        changes(&first),
        [
            ("made".to_owned(), Some(2), Some(0), "new".to_owned()),
            ("told".to_owned(), Some(2), Some(1), "changed".to_owned())
        ]
    );
    let listed = project.swbox(&["approve"]).stdout;
    assert!(listed.contains("told  +2 -1"), "{listed}");
    assert!(listed.contains("2 files since the last approval: +4 -1 lines"), "{listed}");
    let approval = first["id"].as_str().unwrap();
    assert_eq!(person(&project, &["approve", approval], &[("Type \"checked\"", "checked")]).code, 0);
    assert_eq!(state(&project), "checked");
    // From here on the person knows these lines: only what is new is counted.
    good(&project, "echo e >> told");
    assert_eq!(line(&project, "swbox transition DONE").code, 126);
    let second = question(&project);
    assert_eq!(changes(&second), [("told".to_owned(), Some(1), Some(0), "changed".to_owned())]);
    replays(&project, &id);
}

#[test]
fn always_is_a_rule_of_the_user_and_can_be_taken_back() {
    if !has_person("always_is_a_rule_of_the_user_and_can_be_taken_back") {
        return;
    }
    let project = Project::new();
    let id = asking(&project);
    assert_eq!(line(&project, "wc -l README.md").code, 126);
    let value = question(&project);
    // The workflow asks about `wc`: only more words than that say what the person meant.
    let prefix = value["shown"]["command"]["always"].as_str().unwrap().to_owned();
    assert!(prefix.starts_with("wc ") && prefix.len() > 3, "{prefix}");
    let approval = value["id"].as_str().unwrap();
    // An agent cannot, with any word.
    assert_eq!(line(&project, &format!("swbox approve {approval} --always")).code, 126);
    assert_eq!(line(&project, "swbox rules").code, 126);
    let yes: &[(&str, &str)] = &[("Type \"working\"", "working")];
    let seen = person(&project, &["approve", approval, "--always"], yes);
    assert!(seen.code == 0 && seen.output.contains(&format!("allows `{prefix}`")), "{seen:?}");
    for _ in 0..3 {
        good(&project, "wc -l README.md");
    }
    assert_eq!(line(&project, "wc -c CHANGES").code, 126, "another beginning");
    // In another workspace and in a session that begins later it holds as it says.
    let rules = json(&project, &["rules", "--json"]);
    let rule = &rules["rules"][0];
    assert_eq!((rule["prefix"].as_str(), rule["decision"].as_str()), (Some(prefix.as_str()), Some("allow")));
    assert_eq!(rule["workspace"], project.path().canonicalize().unwrap().to_str().unwrap());
    assert!(project.swbox(&["rules"]).stdout.contains(&prefix));
    replays(&project, &id);
    assert!(project.swbox(&["session", "log", &id]).stdout.contains("a person allowed"));
    // No command sees the file, and none can write it.
    let file = rules["file"].as_str().unwrap();
    assert!(file.starts_with(project.home().to_str().unwrap()), "{file}");
    assert_ne!(line(&project, &format!("cat {file}")).code, 0);
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);
    let second = asking(&project);
    good(&project, "wc -l README.md");
    // Taken back, sessions that begin from then on ask again.
    assert_eq!(project.swbox(&["rules", "--forget", rule["id"].as_str().unwrap()]).code, 126);
    let seen = person(&project, &["rules", "--forget", rule["id"].as_str().unwrap()], &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    // The one that runs keeps it, and that is said.
    assert!(seen.output.contains(&format!("swbox session reload {second}")), "{seen:?}");
    assert!(!seen.output.contains(&id), "{seen:?}");
    good(&project, "wc -l README.md");
    let reloaded = person(&project, &["session", "reload", &second], &[("Type", "working")]);
    assert_eq!(reloaded.code, 0, "{reloaded:?}");
    assert_eq!(line(&project, "wc -l README.md").code, 126);
    let again = person(&project, &["rules", "--forget", rule["id"].as_str().unwrap()], &[]);
    assert!(again.code == 1 && !again.output.contains("reload"), "{again:?}");
    assert_eq!(person(&project, &["session", "end", &second], &[]).code, 0);
    asking(&project);
    assert_eq!(line(&project, "wc -l README.md").code, 126);
}

#[test]
fn the_users_rules_hold_whatever_the_workflow() {
    if !has_person("the_users_rules_hold_whatever_the_workflow") {
        return;
    }
    let project = Project::new();
    let rules = project.home().join(".config/swbox/rules.toml");
    fs::create_dir_all(rules.parent().unwrap()).unwrap();
    let check = |text: &str| {
        fs::write(&rules, text).unwrap();
        project.swbox(&["check", "--state", "implementing", "-c", "touch made"]).code
    };
    assert_eq!(check(""), 0);
    assert_eq!(check("default = \"prompt\"\n"), 10);
    assert_eq!(check("default = \"prompt\"\napprovals = \"deny\"\n"), 20);
    let rule = |decision: &str, further: &str| {
        format!("default = \"prompt\"\n[[rule]]\nprefix = \"touch\"\ndecision = \"{decision}\"\n{further}")
    };
    assert_eq!(check(&rule("allow", "")), 0);
    assert_eq!(check(&rule("allow", "state = \"testing\"\n")), 10);
    assert_eq!(check(&rule("allow", "workspace = \"/elsewhere\"\n")), 10);
    assert_eq!(check(&rule("forbid", "")), 20);
    // What cannot be read forbids everything.
    assert_eq!(check("defualt = \"prompt\"\n"), 125);
    // A session keeps the rules that it began with, until a person reloads them.
    fs::write(&rules, rule("forbid", "")).unwrap();
    let id = start(&project, &[]);
    good(&project, "swbox transition PLAN_READY");
    assert_eq!(line(&project, "touch made").code, 126);
    fs::remove_file(&rules).unwrap();
    assert_eq!(line(&project, "touch made").code, 126);
    let seen = person(
        &project,
        &["session", "reload", &id, "--json"],
        &[("Type the session's state", "implementing")],
    );
    assert!(seen.code == 0 && seen.output.contains("\"taken\":true"), "{seen:?}");
    assert!(seen.output.contains("- decision = \"forbid\""), "{seen:?}");
    good(&project, "touch made");
    replays(&project, &id);
}

#[test]
fn a_question_is_denied_or_waited_for_as_the_law_says() {
    if !has_person("a_question_is_denied_or_waited_for_as_the_law_says") {
        return;
    }
    let project = Project::new();
    let text = ASKING.replacen("\"working\": {", "\"working\": {\"approvals\": \"deny\", ", 1);
    let id = start(&project, &["--workflow", &workflow(&project, "deny.json", &text)]);
    let denied = line(&project, "wc -l README.md");
    assert!(denied.code == 126 && denied.stderr.contains("approvals are denied here"), "{denied:?}");
    let denied = line(&project, "swbox transition DONE");
    assert!(denied.code == 126 && denied.stdout.contains("approvals_denied"), "{denied:?}");
    assert!(waiting(&project, &id).is_empty());
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);

    let rules = project.home().join(".config/swbox/rules.toml");
    fs::create_dir_all(rules.parent().unwrap()).unwrap();
    fs::write(&rules, "approvals = \"ask\"\n").unwrap();
    let id = asking(&project);
    let asked = |attended: bool| {
        let mut command = project.command(&["bash", "-c", "wc -l README.md"]);
        if !attended {
            command.env("CLAUDE_CODE_SESSION_ATTENDED", "0");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let parked = || {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(approval) = waiting(&project, &id).pop() {
                return approval;
            }
            assert!(Instant::now() < until, "nothing waits");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // A no reaches the call that waits, with its reason.
    let child = asked(true);
    let seen = person(&project, &["reject", &parked(), "--reason", "not that"], &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let told = ran(child.wait_with_output().unwrap());
    assert!(
        told.code == 126 && told.stderr.contains("a person said no to this command: not that"),
        "{told:?}"
    );
    // A yes lets it run.
    let child = asked(true);
    let seen = person(&project, &["approve", &parked()], &[("Type \"working\"", "working")]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let told = ran(child.wait_with_output().unwrap());
    assert!(told.code == 0 && told.stdout.contains("README.md"), "{told:?}");
    // Where nobody is there the call does not wait.
    assert_eq!(ran(asked(false).wait_with_output().unwrap()).code, 126);
    replays(&project, &id);
}

#[test]
fn every_answer_to_a_person_has_its_json() {
    if !has_person("every_answer_to_a_person_has_its_json") {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("swbox.json"), ASKING).unwrap();
    let files = json(&project, &["trust", "--list", "--json"]);
    assert_eq!(
        (files["files"][0]["path"].as_str(), files["files"][0]["standing"].as_str()),
        (Some("swbox.json"), Some("new"))
    );
    let seen = person(&project, &["trust", "--json"], &[("Type \"accept\"", "accept")]);
    assert!(seen.code == 0 && seen.output.contains("\"standing\":\"accepted\""), "{seen:?}");
    let id = start(&project, &[]);
    assert_eq!(json(&project, &["session", "replay", &id, "--json"])["same"], true);
    let seen = person(&project, &["session", "ticket", &id, "-c", "ls", "--json"], &[]);
    assert!(seen.code == 0 && seen.output.contains("\"ticket\":\"t-"), "{seen:?}");
    let forced = ["session", "force", id.as_str(), "checked", "--reason", "seen", "--json"];
    let seen = person(&project, &forced, &[("Type \"checked\"", "checked")]);
    assert!(seen.code == 0 && seen.output.contains("\"state\":\"checked\""), "{seen:?}");
    let seen = person(&project, &["session", "end", &id, "--unbind", "--json"], &[]);
    assert!(seen.code == 0 && seen.output.contains("\"unbound\":true"), "{seen:?}");
    let seen = person(&project, &["session", "prune", "--older", "1ms", "--json"], &[]);
    assert!(
        seen.code == 0 && seen.output.contains("\"removed\":true") && seen.output.contains(&id),
        "{seen:?}"
    );
}
