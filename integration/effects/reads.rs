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
fn an_operand_that_lies_outside_is_told_as_that_and_no_more() {
    let project = Project::new();
    let outside = project.outside();
    std::os::unix::fs::symlink("/mnt/data", project.path().join("data")).unwrap();
    std::os::unix::fs::symlink("../outside", project.path().join("beside")).unwrap();
    fs::create_dir_all(project.home().join("pkg")).unwrap();
    fs::write(project.home().join("pkg/index.js"), "x\n").unwrap();
    fs::create_dir_all(project.path().join("node_modules")).unwrap();
    std::os::unix::fs::symlink(project.home().join("pkg"), project.path().join("node_modules/pkg")).unwrap();
    let beside = outside.join("kept").to_string_lossy().into_owned();
    let lies = "swbox: a name lies outside of what the jail shows in state \"planning\": whether it exists is not said\n";
    for (line, path) in [
        ("cat ../outside/kept", beside.as_str()),
        ("cat beside/kept", &beside),
        ("cat /mnt/data/x", "/mnt/data/x"),
        ("cat data/x", "/mnt/data/x"),
        ("head -3 < /srv/x", "/srv/x"),
        ("cat /srv/team/*.txt", "/srv/team"),
    ] {
        let ran = project.line("planning", line);
        assert_ne!(ran.code, 0, "{line}: {ran:?}");
        assert!(ran.stderr.contains(lies), "{line}: {ran:?}");
        assert!(
            ran.stderr.contains(&format!("  read  {path}  a profile may open it: [binds] data = [{path:?}]"))
        );
        let (_, value) = project.json("planning", line);
        assert_eq!(denied(&value), [path], "{line}: {value}");
        assert_eq!(value["denials"][0]["unknown"], true, "{line}: {value}");
    }
    // What a link leads to in HOME is told as what lies there.
    let (_, value) = project.json("planning", "cat node_modules/pkg/index.js");
    assert_eq!(denied(&value), [project.home().join("pkg/index.js").to_str().unwrap()], "{value}");
    assert!(value["denials"][0].get("unknown").is_none(), "{value}");
    let (_, value) = project.json("testing", "python3 ../outside/run.py");
    assert_eq!(denied(&value), [outside.join("run.py").to_str().unwrap()], "{value}");
    // Whether it is there changes nothing of what is said.
    let said =
        |name: &str| project.line("planning", &format!("cat ../outside/{name}")).stderr.replace(name, "NAME");
    assert_eq!(said("kept"), said("none"));
    // Beside others each line says it.
    fs::write(project.home().join("notes.txt"), "mine\n").unwrap();
    let ran = project.line("planning", "cat ~/notes.txt /srv/x");
    assert!(ran.stderr.contains("1 operation was probably denied"), "{ran:?}");
    assert!(
        ran.stderr.contains("  /srv/x  outside of what the jail shows (whether it exists is not said): ")
    );
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
        ("planning", "cat /tmp/none"),
        ("planning", "cat /usr/share/none"),
        ("planning", "ls / >&-; false"),
        ("planning", "cat ../outside/kept || true"),
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
