//! Files that a command touched, as they were observed, and reads that are watched on the second try.

use std::fs;

use crate::kit::{json, line, person, replays, start, state, waiting};
use crate::project::Project;

fn run(project: &Project, line: &str) -> serde_json::Value {
    json(project, &["exec", "--json", "-c", line])
}

fn workflow(project: &Project) -> String {
    let file = project.outside().join("w.json");
    fs::write(
        &file,
        r#"{"id":"w","initial":"work","states":{
            "work":{"allowed_tools":["Read","Write","Bash","__DESTRUCTIVE__"],"on":{"END":"failed"}},
            "failed":{"type":"final"}}}"#,
    )
    .unwrap();
    file.to_str().unwrap().to_owned()
}

fn touched(value: &serde_json::Value) -> Vec<&str> {
    assert_eq!(value["session"]["touched"]["source"], "observed", "{value}");
    let files = value["session"]["touched"]["files"].as_array().unwrap();
    files.iter().map(|file| file.as_str().unwrap()).collect()
}

#[test]
fn files_are_those_that_were_seen_to_change() {
    if !crate::kit::has_person("files_are_those_that_were_seen_to_change") {
        return;
    }
    let project = Project::new();
    start(&project, &["--workflow", &workflow(&project)]);
    let value = run(
        &project,
        "python3 -c 'open(\"made\", \"w\").write(\"x\"); open(\"README.md\", \"a\").write(\"y\")'",
    );
    assert_eq!(touched(&value), ["README.md", "made"]);
    let value = run(&project, "echo x > passing && rm passing && cat README.md > /dev/null");
    assert_eq!(touched(&value), Vec::<&str>::new());
    let value = run(&project, "mkdir -p a/b && echo x > a/b/c && mv a z");
    assert_eq!(touched(&value), ["z/b/c"]);
    let value = run(&project, "mv z y");
    assert_eq!(touched(&value), ["y/b/c", "z/b/c"]);
    let value = run(&project, "rm -r y made");
    assert_eq!(touched(&value), ["made", "y/b/c"]);
    let value = run(&project, "sed -i s/x/y/ README.md; chmod 600 README.md");
    assert_eq!(touched(&value), ["README.md"]);
}

#[test]
fn a_read_that_was_missed_is_watched_for_the_second_time() {
    if !crate::kit::has_person("a_read_that_was_missed_is_watched_for_the_second_time") {
        return;
    }
    let project = Project::new();
    fs::write(project.home().join("notes.txt"), "mine\n").unwrap();
    let id = start(&project, &["--workflow", &workflow(&project)]);
    let line = "cat ~/notes.txt; python3 -c 'import os, sys; open(os.path.expanduser(\"~/notes.txt\"))'";
    let first = run(&project, line);
    assert_eq!(first["denials"][0]["inferred"], true, "{first}");
    let second = run(&project, line);
    assert_eq!(second["observed"]["mode"], "reads", "{second}");
    assert_eq!(second["denials"][0]["inferred"], false, "{second}");
    let other = run(&project, "python3 -c 1");
    assert_eq!(other["observed"]["mode"], "notify", "{other}");
    let log = project.swbox(&["session", "log", &id]);
    assert_eq!(log.code, 0, "{log:?}");
}

#[test]
fn a_session_says_how_its_commands_are_watched() {
    if !crate::kit::has_person("a_session_says_how_its_commands_are_watched") {
        return;
    }
    let project = Project::new();
    start(&project, &["--observe", "reads", "--workflow", &workflow(&project)]);
    assert_eq!(run(&project, "python3 -c 1")["observed"]["mode"], "reads");
}

#[test]
fn what_nobody_watched_is_not_taken_for_unchanged() {
    if !crate::kit::has_person("what_nobody_watched_is_not_taken_for_unchanged") {
        return;
    }
    let project = Project::new();
    let file = project.outside().join("asks.json");
    fs::write(
        &file,
        r#"{"id":"w","initial":"work","states":{
            "work":{"allowed_tools":["Read","Write","Bash"],"on":{"GO":{"target":"review","requires_approval":true}}},
            "review":{"allowed_tools":["Read"],"on":{"END":"failed"}},
            "failed":{"type":"final"}}}"#,
    )
    .unwrap();
    for (how, watched) in [("auto", true), ("off", false)] {
        let id = start(&project, &["--observe", how, "--workflow", file.to_str().unwrap()]);
        // It names one file and writes another.
        run(&project, "ln -sf README.md link; echo x > link");
        let asked = line(&project, "swbox transition GO");
        assert!(asked.code == 126 && asked.stdout.contains("a person must say yes"), "{how}: {asked:?}");
        let approval = waiting(&project, &id).pop().unwrap();
        let no = person(&project, &["approve", &approval], &[("Type \"review\"", "no")]);
        assert_eq!(no.output.contains("nobody watched what 1 command wrote"), !watched, "{no:?}");
        assert!(!watched || no.output.contains("README.md"), "{no:?}");
        // A line that writes nothing by its text.
        let value = run(&project, "python3 -c 1; cd .");
        assert_eq!(
            value["session"]["touched"]["source"],
            if watched { "observed" } else { "none" },
            "{value}"
        );
        let yes = person(&project, &["approve", &approval], &[("Type \"review\"", "review")]);
        assert_eq!(yes.code == 0, watched, "{yes:?}");
        assert_eq!(state(&project), if watched { "review" } else { "work" });
        replays(&project, &id);
        assert_eq!(person(&project, &["session", "end", &id], &[("Type", &id)]).code, 0);
    }
}
