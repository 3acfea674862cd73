//! Nobody approves but a person: not the agent, not a harness, not with an id that no longer counts.

use std::fs;

use crate::kit::{
    beyond, good, has_person, json, line, person, replays, start, state, under, waiting, workflow,
};
use crate::project::Project;

/// Waits for a person at `TESTS_PASS`.
fn parked(project: &Project) -> (String, String) {
    let id = start(project, &[]);
    good(project, "swbox transition PLAN_READY");
    good(project, "swbox transition DONE");
    assert_eq!(line(project, "swbox transition TESTS_PASS").code, 126);
    let approval = waiting(project, &id).pop().unwrap();
    (id, approval)
}

/// As the kernel tells it: through its session, or through who holds its terminal, when nobody is its parent any more.
#[test]
fn whoever_let_go_of_its_harness_is_still_its() {
    if !has_person("whoever_let_go_of_its_harness_is_still_its") {
        return;
    }
    let project = Project::new();
    let (id, approval) = parked(&project);
    let forced = ["session", "force", id.as_str(), "completed", "--reason", "x"];
    let ended = ["session", "end", id.as_str()];
    for (way, why) in [("--lets-go", "began this terminal's session"), ("--holds", "holds the other side")] {
        for words in
            [&["approve", approval.as_str()][..], &["reject", &approval, "--reason", "x"], &forced, &ended]
        {
            let seen = beyond(&project, "claude", way, words, YES);
            assert!(seen.code == 126 && seen.output.contains(why), "{way} {words:?}: {seen:?}");
        }
    }
    // What an ancestor was started with says whose it is, though it was taken out of the environment since.
    let script =
        ["-c", "env -u CLAUDECODE \"$0\" approve \"$1\"; exit $?", env!("CARGO_BIN_EXE_swbox"), &approval];
    let mut command = project.command_as(std::path::Path::new("bash"), &script);
    command.env("CLAUDECODE", "1");
    let ran = crate::project::ran(command.output().unwrap());
    assert!(ran.code == 126 && ran.stderr.contains("left its variables to process"), "{ran:?}");
    assert_eq!(state(&project), "testing");
    // The twins: the same ways from a process that is no harness.
    for way in ["--lets-go", "--holds"] {
        let seen = beyond(&project, "tmux", way, &["approve", &approval], &[("Type \"review\"", "no")]);
        assert!(seen.code == 126 && seen.output.contains("waits on"), "{way}: {seen:?}");
    }
    assert_eq!(beyond(&project, "tmux", "--lets-go", &["approve", &approval], YES).code, 0);
    assert_eq!(state(&project), "review");
}

const YES: &[(&str, &str)] = &[("Type \"review\"", "review")];

#[test]
fn an_agent_cannot_approve_itself() {
    if !has_person("an_agent_cannot_approve_itself") {
        return;
    }
    let project = Project::new();
    let (id, approval) = parked(&project);
    // The program itself, where a command can run it, on a terminal of the command's own.
    fs::copy(env!("CARGO_BIN_EXE_swbox"), project.path().join("tool")).unwrap();
    let typed = format!(
        "import pty, os; pid, fd = pty.fork()\n\
         if pid == 0: os.execv('./tool', ['swbox', 'approve', '{approval}'])\n\
         os.write(fd, b'review\\n'); out = b''\n\
         try:\n  while True:\n    part = os.read(fd, 4096)\n    out += part\n    if not part: break\n\
         except OSError: pass\n\
         print(out.decode())"
    );
    fs::write(project.path().join("typed.py"), typed).unwrap();
    let told = good(&project, "python3 typed.py");
    assert!(told.contains("is for a person: this process is inside a jail"), "{told}");
    assert_eq!(state(&project), "testing");
    // In a line, in every dress.
    for text in [
        format!("swbox approve {approval}"),
        format!("swbox session force {id} review --reason x"),
        format!("echo review | swbox approve {approval}"),
        format!("env swbox approve {approval}"),
        format!("./tool approve {approval}"),
        format!(
            "python3 -c \"import subprocess, sys; sys.exit(subprocess.call(['./tool', 'approve', '{approval}']))\""
        ),
        "swbox trust".to_owned(),
    ] {
        let ran = line(&project, &text);
        assert_ne!(ran.code, 0, "{text}: {ran:?}");
        assert_eq!(state(&project), "testing", "{text}");
    }
    // Without a terminal, under a harness, in a harness's environment, with a wrong word.
    assert_eq!(project.swbox(&["approve", &approval]).code, 126);
    let seen = under(&project, "claude", &["approve", &approval], YES);
    assert_eq!(seen.code, 126, "{seen:?}");
    let mut command = project.command(&["session", "end", &id]);
    command.env("CODEX_THREAD_ID", "t");
    assert_eq!(crate::project::ran(command.output().unwrap()).code, 126);
    for word in ["", "yes", "testing"] {
        let seen = person(&project, &["approve", &approval], &[("Type \"review\"", word)]);
        assert_eq!(seen.code, 126, "{seen:?}");
    }
    assert_eq!(state(&project), "testing");
    // The twin: a person can.
    assert_eq!(person(&project, &["approve", &approval], YES).code, 0);
    assert_eq!(state(&project), "review");
    replays(&project, &id);
}

#[test]
fn an_answer_counts_once_and_for_what_was_shown() {
    if !has_person("an_answer_counts_once_and_for_what_was_shown") {
        return;
    }
    let project = Project::new();
    let (id, approval) = parked(&project);
    // A foreign id, and one that never was.
    assert_eq!(person(&project, &["approve", "a-0000000000"], YES).code, 125);
    // Rejected, with the reason in the journal; then it does not count any more.
    let seen = person(&project, &["reject", &approval, "--reason", "no test fails without it"], &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let story = project.swbox(&["session", "log", &id]).stdout;
    assert!(story.contains("rejected (terminal): no test fails without it"), "{story}");
    let seen = person(&project, &["approve", &approval], YES);
    assert!(seen.code == 126 && seen.output.contains("is rejected"), "{seen:?}");
    // The agent learns why, where it looks and where it asks again; in the next visit it is over.
    let why = "rejected a person said: no test fails without it";
    assert!(good(&project, "swbox state").contains(why));
    assert_eq!(json(&project, &["state", "--json"])["rejected"], "no test fails without it");
    let asked = line(&project, "swbox transition TESTS_PASS");
    assert!(asked.code == 126 && asked.stdout.contains(why), "{asked:?}");
    // Asked again, and stale when the session has moved on.
    let second = waiting(&project, &id).pop().unwrap();
    assert_ne!(second, approval);
    assert_eq!(line(&project, "swbox transition TESTS_FAIL").code, 126, "one question at a time");
    let forced = ["session", "force", id.as_str(), "implementing", "--reason", "not yet"];
    assert_eq!(person(&project, &forced, &[("Type \"implementing\"", "implementing")]).code, 0);
    let seen = person(&project, &["approve", &second], YES);
    assert_eq!(seen.code, 126, "{seen:?}");
    assert_eq!(state(&project), "implementing");
    assert!(!good(&project, "swbox state").contains("a person said"));
    replays(&project, &id);
}

#[test]
fn a_transition_is_the_agents_own_word_alone() {
    if !has_person("a_transition_is_the_agents_own_word_alone") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", "feature"]);
    let begun = state(&project);
    fs::write(project.path().join("go.sh"), "swbox transition PLAN_READY\n").unwrap();
    let before = json(&project, &["session", "status", &id, "--json"])["handout"]["state"].clone();
    for text in [
        "swbox transition PLAN_READY; true",
        "true && swbox transition PLAN_READY",
        "swbox transition PLAN_READY | cat",
        "echo $(swbox transition PLAN_READY)",
        "bash go.sh",
        "bash -c 'swbox transition PLAN_READY'",
        "python3 -c \"import os; os.system('swbox transition PLAN_READY')\"",
        "X=1 swbox transition PLAN_READY",
        "swbox transition PLAN_READY --session s-0000000000",
    ] {
        let ran = line(&project, text);
        assert_ne!(ran.code, 0, "{text}: {ran:?}");
        assert_eq!(state(&project), begun, "{text}");
    }
    let told = line(&project, "swbox transition PLAN_READY; true");
    assert!(told.stderr.contains("send it as its own command"), "{told:?}");
    // A script file is judged as a line, and is none.
    assert_ne!(project.swbox(&["bash", "go.sh"]).code, 0);
    assert_eq!(before, begun.as_str());
    replays(&project, &id);
}

#[test]
fn a_command_that_asks_runs_once_when_a_person_has_said_yes() {
    if !has_person("a_command_that_asks_runs_once_when_a_person_has_said_yes") {
        return;
    }
    let project = Project::new();
    let file = workflow(
        &project,
        "asking.json",
        r#"{"id": "asking", "initial": "working", "rules": [{"prefix": "wc", "decision": "prompt"}], "states": {
            "working": {"allowed_tools": ["Read", "Write"], "on": {"DONE": "completed", "FAIL": "failed"}},
            "completed": {"type": "final"}, "failed": {"type": "final"}}}"#,
    );
    let id = start(&project, &["--workflow", &file]);
    let held = line(&project, "wc -l README.md");
    assert_eq!(held.code, 126, "{held:?}");
    assert!(held.stderr.contains("needs_approval") && held.stderr.contains("swbox approve a-"), "{held:?}");
    let approval = waiting(&project, &id).pop().unwrap();
    assert_eq!(line(&project, "wc -l README.md").code, 126, "asked again it is the same request");
    assert_eq!(waiting(&project, &id), std::slice::from_ref(&approval));
    let seen = person(&project, &["approve", &approval], &[("Type \"working\"", "working")]);
    assert_eq!(seen.code, 0, "{seen:?}");
    // Other bytes are another command.
    assert_eq!(line(&project, "wc -c README.md").code, 126);
    assert!(good(&project, "wc -l README.md").contains("README.md"));
    assert_eq!(line(&project, "wc -l README.md").code, 126, "once");
    replays(&project, &id);
}

#[test]
fn an_answer_that_comes_too_late_counts_for_nothing() {
    if !has_person("an_answer_that_comes_too_late_counts_for_nothing") {
        return;
    }
    let project = Project::new();
    let (id, approval) = parked(&project);
    // A day later, as far as the store can tell.
    let raw = rusqlite::Connection::open(project.home().join(".local/state/swbox/sessions.db")).unwrap();
    raw.execute("UPDATE parked SET expires = 1 WHERE id = ?1", [&approval]).unwrap();
    drop(raw);
    assert!(project.swbox(&["approve"]).stdout.contains("(expired)"));
    let seen = person(&project, &["approve", &approval], YES);
    assert!(seen.code == 126 && seen.output.contains("is expired and cannot be answered"), "{seen:?}");
    assert_eq!(state(&project), "testing");
    replays(&project, &id);
}

/// What runs in a state that may run anything has the program itself, and no session to move with it.
#[test]
fn nothing_that_a_command_runs_moves_the_state() {
    if !has_person("nothing_that_a_command_runs_moves_the_state") {
        return;
    }
    let project = Project::new();
    let file = workflow(
        &project,
        "open.json",
        r#"{"id": "open", "initial": "working", "states": {
            "working": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "completed", "FAIL": "failed"}},
            "completed": {"type": "final"}, "failed": {"type": "final"}}}"#,
    );
    let id = start(&project, &["--workflow", &file]);
    fs::copy(env!("CARGO_BIN_EXE_swbox"), project.path().join("tool")).unwrap();
    fs::write(project.path().join("go.sh"), "./tool transition DONE\n./tool session end \"$1\"\n").unwrap();
    let package =
        r#"{"name": "x", "version": "1.0.0", "scripts": {"postinstall": "./tool transition DONE"}}"#;
    fs::write(project.path().join("package.json"), package).unwrap();
    let mut ways = vec![
        "./tool transition DONE".to_owned(),
        format!("bash go.sh {id}"),
        format!("./tool state --session {id} || ./tool transition DONE --session {id}"),
        format!("SWBOX_SESSION={id} ./tool transition DONE"),
        "echo $(./tool transition DONE) | cat".to_owned(),
        "python3 -c \"import os, sys; sys.exit(os.system('./tool transition DONE'))\"".to_owned(),
        format!("XDG_STATE_HOME={} ./tool transition DONE", project.home().join(".local/state").display()),
    ];
    if crate::project::has("nothing_that_a_command_runs_moves_the_state", "npm") {
        ways.push("npm install --offline --no-audit --no-fund --ignore-scripts=false".to_owned());
    }
    for text in ways {
        let ran = line(&project, &text);
        assert_eq!(state(&project), "working", "{text}: {ran:?}");
    }
    assert!(waiting(&project, &id).is_empty());
    // The twin: the agent's own word.
    assert!(good(&project, "swbox transition DONE").contains("which is the end"));
    replays(&project, &id);
}
