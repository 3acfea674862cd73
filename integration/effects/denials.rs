//! What the jail refused, as it is told after the command and in JSON.

use std::fs;

use serde_json::{Value, json};

use crate::project::Project;

fn json_of(project: &Project, args: &[&str]) -> Value {
    let all: Vec<&str> = ["exec", "--json"].into_iter().chain(args.iter().copied()).collect();
    let ran = project.swbox(&all);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {ran:?}"))
}

/// The refusals of a path.
fn of<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
    let denials = value["denials"].as_array().unwrap();
    denials.iter().filter(|denial| denial["path"] == path || denial["host"] == path).collect()
}

#[test]
fn a_write_outside_is_told_once_with_its_right_and_its_count() {
    let project = Project::new();
    let kept = project.outside().join("kept");
    let there = project.home().join(".config/git");
    fs::create_dir_all(&there).unwrap();
    fs::write(there.join("ignore"), "x\n").unwrap();
    let shown = there.join("ignore");
    let line = format!("for i in 1 2 3; do echo x >> {}; done", shown.display());
    let ran = project.line("implementing", &line);
    assert_eq!(ran.stdout, "");
    let said = "swbox: 3 operations were denied by the jail in state \"implementing\"\n";
    assert!(ran.stderr.contains(said), "{ran:?}");
    assert!(ran.stderr.contains("open for write  ~/.config/git/ignore (3 times)"), "{ran:?}");
    assert!(ran.stderr.trim_end().lines().last().unwrap().contains("[binds] writable"), "{ran:?}");
    let value = json_of(&project, &["--state", "implementing", "-c", &line]);
    let denials = of(&value, shown.to_str().unwrap());
    assert_eq!(denials.len(), 1, "{value}");
    assert_eq!(denials[0]["count"], 3, "{value}");
    assert_eq!((&denials[0]["act"], &denials[0]["right"]), (&json!("write"), &json!("write")));
    assert_eq!(denials[0]["cause"], "outside");
    assert_eq!(fs::read_to_string(kept).unwrap(), "outside\n");
}

#[test]
fn a_missing_right_names_the_event() {
    let project = Project::new();
    let workflow = project.outside().join("w.json");
    fs::write(
        &workflow,
        r#"{"id":"w","initial":"look","states":{
            "look":{"allowed_tools":["Read"],"jail":{"opaque":"read_only"},"on":{"GO":"write"}},
            "write":{"allowed_tools":["Read","Write","Bash"],"on":{"END":"failed"}},
            "failed":{"type":"final"}}}"#,
    )
    .unwrap();
    let workflow = workflow.to_str().unwrap();
    let script = "python3 -c 'import os\nfor act in (lambda: open(\"new\", \"w\"), lambda: os.remove(\"README.md\")):\n  try: act()\n  except OSError: pass'";
    let ran = project.swbox(&["exec", "--workflow", workflow, "-c", script]);
    assert!(ran.stderr.contains("forward  GO → \"write\""), "{ran:?}");
    let value = json_of(&project, &["--workflow", workflow, "-c", script]);
    let new = of(&value, project.path().join("new").to_str().unwrap());
    assert_eq!((new.len(), &new[0]["right"]), (1, &json!("write")), "{value}");
    assert_eq!(new[0]["grant"], json!({ "kind": "tools", "any": ["Write", "Edit"] }));
    assert_eq!(new[0]["forward"]["state"], "write");
    let gone = of(&value, project.path().join("README.md").to_str().unwrap());
    assert_eq!((gone.len(), &gone[0]["right"]), (1, &json!("delete")), "{value}");
    let (_, git) = project.json("implementing", "echo x >> .git/config");
    let git = of(&git, project.path().join(".git/config").to_str().unwrap());
    assert_eq!(
        (git.len(), &git[0]["right"], &git[0]["cause"]),
        (1, &json!("git-write"), &json!("protected"))
    );
}

#[test]
fn a_connection_names_its_host() {
    let project = Project::new();
    let script = "python3 -c 'import socket\ntry: socket.create_connection((\"192.0.2.7\", 443), 2)\nexcept OSError: pass'";
    let (_, value) = project.json("testing", script);
    let denied = of(&value, "192.0.2.7:443");
    assert_eq!((denied.len(), &denied[0]["right"]), (1, &json!("network")), "{value}");
    assert_eq!(denied[0]["cause"], "network");
}

#[test]
fn ordinary_failures_and_ordinary_successes_are_silent() {
    let project = Project::new();
    fs::write(project.path().join("closed"), "x").unwrap();
    for (state, line) in [
        ("implementing", "mkdir no/such/place"),
        ("implementing", "mkdir src"),
        ("implementing", "cp nothing there"),
        ("implementing", "touch src/new && mv src/new src/other"),
        ("testing", "python3 -c 'open(\"/no/such/place\", \"w\")'"),
        ("testing", "python3 -c 'import os; os.rmdir(\"src\")'"),
        ("testing", "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'"),
        ("testing", "sh -c ./README.md"),
        ("testing", "no-such-program"),
        ("testing", "echo x > /tmp/x; echo y > ~/y; echo z > /dev/shm/z"),
        ("testing", "git status -s"),
        ("planning", "git log --oneline | head -2"),
        ("planning", "ls -la"),
    ] {
        let ran = project.line(state, line);
        assert!(!ran.stderr.contains("denied by the jail"), "{state}: {line}: {ran:?}");
    }
}

#[test]
fn nothing_is_told_where_nobody_looks() {
    let project = Project::new();
    let line = "python3 -c 'try: open(\"/etc/hosts\", \"a\")\nexcept OSError: pass'";
    let value = json_of(&project, &["--observe", "off", "--state", "testing", "-c", line]);
    assert_eq!(value["observed"]["mode"], "off");
    assert_eq!(value["denials"], json!([]));
    let value = json_of(&project, &["--observe", "trace", "--state", "testing", "-c", line]);
    assert_eq!(value["observed"]["mode"], "trace", "{value}");
    assert_eq!(of(&value, "/etc/hosts").len(), 1, "{value}");
    let value = json_of(&project, &["--state", "planning", "-c", "cat README.md"]);
    assert_eq!(value["observed"]["mode"], "off", "a line that can only look: {value}");
}

#[test]
fn reads_are_exact_where_they_are_asked_for() {
    let project = Project::new();
    fs::write(project.home().join("notes.txt"), "mine\n").unwrap();
    let line = "python3 -c 'import os\ntry: open(os.path.expanduser(\"~/notes.txt\"))\nexcept OSError: pass'";
    let value = json_of(&project, &["--state", "testing", "-c", line]);
    assert_eq!(
        of(&value, project.home().join("notes.txt").to_str().unwrap()).len(),
        0,
        "it ended well: {value}"
    );
    let value = json_of(&project, &["--observe", "reads", "--state", "testing", "-c", line]);
    let denied = of(&value, project.home().join("notes.txt").to_str().unwrap());
    assert_eq!((denied.len(), &denied[0]["inferred"]), (1, &json!(false)), "{value}");
}

#[test]
fn what_a_line_does_beyond_its_text_is_undeclared() {
    let project = Project::new();
    let (_, value) = project.json("implementing", "touch made && sed -i s/x/y/ made");
    assert_eq!(value["undeclared"], json!([]), "{value}");
    let (_, value) = project.json("testing", "python3 -c 'open(\"made\", \"w\")'");
    assert_eq!(value["undeclared"], json!([]), "an opaque line declares nothing: {value}");
}
