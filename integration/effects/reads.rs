//! Reads that the jail refused, without a watch on opens: concluded from how the command ended.

use std::fs;

use serde_json::Value;

use crate::project::Project;

fn denied(value: &Value) -> Vec<String> {
    let denials = value["denials"].as_array().unwrap();
    denials.iter().filter_map(|denial| denial["path"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_hidden_name_is_told_as_probably_refused() {
    let project = Project::new();
    fs::write(project.home().join("notes.txt"), "mine\n").unwrap();
    let ran = project.line("planning", "cat ~/notes.txt");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("1 operation was probably denied by the jail in state \"planning\""),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("[binds] data = [\"~/notes.txt\"]"), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let quiet = project.swbox(&["exec", "--quiet", "--state", "planning", "-c", "cat ~/notes.txt"]);
    assert!(!quiet.stderr.contains("swbox:"), "{quiet:?}");
    // What the text does not show the captured output does.
    let (_, value) =
        project.json("testing", "python3 -c 'import os; open(os.path.expanduser(\"~/notes.txt\"))'");
    assert_eq!(denied(&value), [project.home().join("notes.txt").to_str().unwrap()], "{value}");
    assert_eq!(value["denials"][0]["inferred"], true);
    assert_eq!(value["denials"][0]["right"], "read");
}

#[test]
fn a_secret_is_told_as_one() {
    let project = Project::new();
    let (code, value) = project.json("planning", "cat ~/.ssh/id_ed25519");
    assert_ne!(code, 0);
    assert_eq!(value["denials"][0]["cause"], "secret", "{value}");
    assert_eq!(value["denials"][0]["grant"]["kind"], "nothing", "{value}");
}

#[test]
fn ordinary_failures_are_not_the_jails() {
    let project = Project::new();
    fs::write(project.path().join("closed"), "x").unwrap();
    for (state, line) in [
        ("planning", "cat no-such-file"),
        ("planning", "cat ~/no-such-file"),
        ("planning", "cat /no/such/file"),
        ("planning", "cat ~/.inputrc"),
        ("planning", "false"),
        ("planning", "grep zzz README.md"),
        ("testing", "python3 -c 'open(\"/etc/no-such\")'"),
        ("testing", "python3 -c 'open(\"no-such/file\", \"w\")'"),
        ("testing", "ls ~"),
        ("testing", "cat /etc/shadow-no-such; exit 1"),
        ("testing", "sh -c 'exit 7'"),
        ("testing", "echo 'see ~/none: not found' >&2; exit 1"),
    ] {
        let ran = project.line(state, line);
        assert!(!ran.stderr.contains("swbox:"), "{line}: {ran:?}");
    }
    fs::write(project.home().join("there.txt"), "x").unwrap();
    let ran = project.line("testing", "echo \"$HOME/there.txt is fine\"");
    assert!(!ran.stderr.contains("swbox:"), "a command that ended well complains of nothing: {ran:?}");
}
