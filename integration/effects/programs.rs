//! Programs by the arguments that they really got.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::{Project, Ran};

/// A workflow with one state and these rules.
fn workflow(project: &Project, state: &str, rules: &str) -> PathBuf {
    let file = project.outside().join("law.json");
    let text = format!(
        r#"{{"id":"law","initial":"work","states":{{"work":{{{state},"on":{{"END":"failed"}}}},"failed":{{"type":"final"}}}},"rules":[{rules}]}}"#
    );
    fs::write(&file, text).unwrap();
    file
}

const FORBID: &str = r#"{"prefix":"git push","decision":"forbid","justification":"nothing leaves"}"#;

const RUNS: &str = r#""allowed_tools":["Read","Bash"]"#;

fn under(project: &Project, law: &Path, line: &str) -> Ran {
    project.swbox(&["exec", "--workflow", law.to_str().unwrap(), "-c", line])
}

#[test]
fn a_forbidden_program_is_stopped_wherever_it_is_started() {
    let project = Project::new();
    let law = workflow(&project, RUNS, FORBID);
    fs::write(project.path().join("go.sh"), "git push origin main\n").unwrap();
    for line in [
        "bash ./go.sh",
        "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])'",
        "python3 -c 'import subprocess; subprocess.run([\"git\", \"-C\", \".\", \"push\"])'",
        "python3 -c 'import os; os.execvp(\"git\", [\"harmless\", \"push\"])'",
        "env sh -c \"$(printf 'git pu%s' sh)\"",
        "/lib64/ld-linux-x86-64.so.2 $(printf /usr/bin/env) git push",
    ] {
        if line.contains("ld-linux") && !PathBuf::from("/lib64/ld-linux-x86-64.so.2").exists() {
            continue;
        }
        let ran = under(&project, &law, line);
        assert_eq!(ran.code, 126, "{line}: {ran:?}");
        assert!(ran.stderr.contains("[rule_forbid]"), "{line}: {ran:?}");
        assert!(ran.stderr.contains("nothing leaves"), "{line}: {ran:?}");
    }
}

/// The word that matters may stand behind any number of others.
#[test]
fn a_forbidden_program_is_stopped_however_long_its_arguments_are() {
    let project = Project::new();
    let law = workflow(&project, RUNS, FORBID);
    for words in ["['-c', 'a.b=' + 'x' * 100000]", "['-c', 'a.b=c'] * 20000"] {
        let line = format!("python3 -c \"import os; os.execvp('git', ['git'] + {words} + ['push'])\"");
        for way in ["notify", "trace"] {
            let ran =
                project.swbox(&["exec", "--observe", way, "--workflow", law.to_str().unwrap(), "-c", &line]);
            assert_eq!(ran.code, 126, "{way} {words}: {ran:?}");
            assert!(ran.stderr.contains("[rule_forbid]"), "{way} {words}: {ran:?}");
        }
    }
    // The twin: as long, and not forbidden.
    let line = "python3 -c \"import os; os.execvp('true', ['true'] + ['push'] * 40000)\"";
    let ran = under(&project, &law, line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn every_forbidden_program_is_stopped_not_the_first_alone() {
    let project = Project::new();
    let law = workflow(&project, RUNS, FORBID);
    let script = "git push one; echo $?\ngit push two; echo $?\nsh -c 'exec git push three'; echo $?\n";
    fs::write(project.path().join("go.sh"), script).unwrap();
    for way in ["notify", "trace"] {
        let words = ["exec", "--observe", way, "--workflow", law.to_str().unwrap(), "-c", "bash ./go.sh"];
        let ran = project.swbox(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (126, "137\n137\n137\n"), "{way}: {ran:?}");
        assert!(
            ran.stderr.contains("git push one") && ran.stderr.contains("[rule_forbid]"),
            "{way}: {ran:?}"
        );
    }
}

#[test]
fn what_the_rule_does_not_mean_runs() {
    let project = Project::new();
    let law = workflow(&project, RUNS, FORBID);
    for line in ["bash -c 'git status -s'", "python3 -c 'print(\"git push\")'", "sh -c 'git stash list'"] {
        let ran = under(&project, &law, line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        assert!(!ran.stderr.contains("swbox:"), "{line}: {ran:?}");
    }
}

#[test]
fn a_rule_that_asks_holds_in_scripts_too() {
    let project = Project::new();
    let law = workflow(&project, RUNS, r#"{"prefix":"git push","decision":"prompt"}"#);
    let ran = under(&project, &law, "sh -c \"$(printf 'git pu%s' sh)\"");
    assert_eq!(ran.code, 126, "{ran:?}");
    assert!(ran.stderr.contains("[rule_prompt]"), "{ran:?}");
}

#[test]
fn a_tool_that_leaves_the_host_and_is_taken_away_is_stopped() {
    let project = Project::new();
    let law = workflow(&project, r#""allowed_tools":["Read","Bash"],"disallowed_tools":["git_push"]"#, "");
    let ran = under(&project, &law, "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])'");
    assert_eq!(ran.code, 126, "{ran:?}");
    assert!(ran.stderr.contains("[tool_disallowed]"), "{ran:?}");
    let ran =
        under(&project, &law, "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"status\", \"-s\"])'");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_line_that_cannot_be_read_is_judged_by_what_it_starts() {
    let project = Project::new();
    let law = workflow(&project, r#""allowed_tools":["Read","Bash"],"allowed_commands":["git status"]"#, "");
    let unread = "x=$((1 #c\n+1)); git status -s";
    let check = project.swbox(&["classify", "--json", unread]);
    let reading: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(reading["trusted"], false, "another line must be found for this test: {reading}");
    let ran = under(&project, &law, unread);
    assert!(ran.code != 126 && !ran.stderr.contains("swbox:"), "{ran:?}");
    let off = project.swbox(&["exec", "--workflow", law.to_str().unwrap(), "--observe", "off", "-c", unread]);
    assert_eq!(off.code, 126, "nobody would see what it starts: {off:?}");
    assert!(off.stderr.contains("cannot be read"), "{off:?}");
}

#[test]
fn nothing_is_said_twice_and_json_has_the_reason() {
    let project = Project::new();
    let law = workflow(&project, RUNS, FORBID);
    let refused = under(&project, &law, "git push");
    assert_eq!(refused.code, 126, "{refused:?}");
    assert!(!refused.stderr.contains("first instruction"), "the line said it already: {refused:?}");
    let ran = project.swbox(&[
        "exec",
        "--json",
        "--workflow",
        law.to_str().unwrap(),
        "-c",
        "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\", \"-f\"])'",
    ]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, 126, "{ran:?}");
    assert_eq!(value["stopped"]["code"], "rule_forbid");
    assert_eq!(value["stopped"]["argv"], serde_json::json!(["git", "push", "-f"]));
}
