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
    // What every git of the user reads is no suggestion.
    let last = ran.stderr.trim_end().lines().last().unwrap();
    assert!(last.contains("or runs later, is changed by a person, outside"), "{ran:?}");
    assert!(!last.contains("writable"), "{ran:?}");
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

/// One state that has these tools, and the way to one that has all that matters here.
fn law(project: &Project, name: &str, tools: &str) -> String {
    let file = project.outside().join(format!("{name}.json"));
    let text = format!(
        r#"{{"id":"{name}","initial":"here","states":{{
            "here":{{"allowed_tools":[{tools}],"jail":{{"opaque":"read_only"}},"on":{{"GO":"all"}}}},
            "all":{{"allowed_tools":["Read","Write","Bash","WebFetch","__GIT_WRITE__"],"on":{{"END":"failed"}}}},
            "failed":{{"type":"final"}}}}}}"#
    );
    fs::write(&file, text).unwrap();
    file.to_string_lossy().into_owned()
}

/// What stands on the terminal after a command: the last lines of its standard error, from swbox's first.
fn trailer(project: &Project, tools: &str, line: &str) -> Vec<String> {
    let law = law(project, "law", tools);
    let ran = project.swbox(&["exec", "--workflow", &law, "-c", line]);
    let told = ran.stderr.lines().skip_while(|line| !line.starts_with("swbox: "));
    told.map(str::to_owned).collect()
}

#[test]
fn a_person_reads_what_was_refused_in_few_lines() {
    let project = Project::new();
    fs::write(
        project.path().join("run.py"),
        "import os, sys, subprocess, urllib.request as u\nexec(sys.argv[1])\n",
    )
    .unwrap();
    let many = "for i in range(40):\n  try: open(f\"/usr/share/x{i}\", \"w\")\n  except OSError: pass";
    let twice = "for i in range(2):\n  try: open(\"new\", \"w\")\n  except OSError: pass";
    for (tools, code, wanted) in [
        (
            r#""Read","Write","Bash""#,
            many,
            &[
                "swbox: 40 operations were denied by the jail in state \"here\"",
                "  create  /usr/share/x0 and 39 more in /usr/share  directories of the system are changed by no command",
            ][..],
        ),
        (
            r#""Read""#,
            twice,
            &[
                "swbox: 2 operations were denied by the jail in state \"here\"",
                "  create  new (2 times)  needs Write or Edit in allowed_tools",
                "  forward  GO → \"all\" (has Write); rerun with --state all",
            ],
        ),
        (
            r#""Read","Write","Bash""#,
            "os.chmod(\"run.py\", 0o4755)",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  change metadata  run.py  set-user-id and set-group-id bits, and flags of files, are set by no command",
            ],
        ),
        (
            r#""Read","Bash""#,
            "os.chmod(\"run.py\", 0o4755)",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  change metadata  run.py  set-user-id and set-group-id bits, and flags of files, are set by no command",
            ],
        ),
        (
            r#""Read","Write","Bash""#,
            "open(\".git/config\", \"a\")",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  open for write  .git/config  git directories are changed by git's own commands alone",
            ],
        ),
        (
            r#""Read","Write","Bash""#,
            "subprocess.run([\"git\", \"add\", \"-A\"], check=True, stderr=-3)",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  create  .git/index.lock  needs git_add or git_commit or __GIT_WRITE__ in allowed_tools",
                "  forward  GO → \"all\" (has __GIT_WRITE__); rerun with --state all",
            ],
        ),
        (
            r#""Read","Write","Bash","__GIT_WRITE__""#,
            "subprocess.run([\"git\", \"add\", \"-A\"], check=True, stderr=-3)",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  create  .git/index.lock  git changes it where nothing else in the line changes files: send the git commands as a line of their own",
            ],
        ),
        (
            r#""Read","Write","Bash""#,
            "try: u.urlopen(\"http://192.0.2.1/\")\nexcept OSError: pass",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  connect  192.0.2.1:80  needs WebFetch in allowed_tools",
                "  forward  GO → \"all\" (has WebFetch); rerun with --state all",
            ],
        ),
        (
            r#""Read""#,
            "try: u.urlopen(\"http://192.0.2.1/\")\nexcept OSError: pass",
            &[
                "swbox: 1 operation was denied by the jail in state \"here\"",
                "  connect  192.0.2.1  needs WebFetch in allowed_tools",
                "  forward  GO → \"all\" (has WebFetch); rerun with --state all",
            ],
        ),
    ] {
        let line = format!("python3 run.py '{code}'");
        assert_eq!(trailer(&project, tools, &line), wanted, "{line}");
    }
}

#[test]
fn a_host_is_named_by_whoever_asks_for_it() {
    let project = Project::new();
    // A name that no hosts file answers: the question itself is refused.
    let host = "registry.no-such.example";
    let programs = [
        ("curl", format!("curl -sS https://{host}/x")),
        ("git", format!("git ls-remote https://{host}/x.git")),
        ("wget", format!("wget -q -t 1 https://{host}/x")),
        ("python3", format!("python3 -c 'import urllib.request as u; u.urlopen(\"https://{host}/x\")'")),
        ("ssh", format!("ssh -o BatchMode=yes {host} true")),
    ];
    for (program, line) in programs {
        if !crate::project::has("a_host_is_named_by_whoever_asks_for_it", program) {
            continue;
        }
        // In a script, so that nothing but what really runs names it.
        fs::write(project.path().join("go.sh"), format!("{line}\n")).unwrap();
        let told = trailer(&project, r#""Read","Write","Bash""#, "bash go.sh").join("\n");
        assert!(told.contains(&format!("  connect  {host}")), "{program}: {told}");
        assert!(told.contains("needs WebFetch in allowed_tools"), "{program}: {told}");
        assert!(told.contains("forward  GO → \"all\""), "{program}: {told}");
    }
}

#[test]
fn no_way_is_named_to_where_no_state_may_write() {
    let project = Project::new();
    let profile = project.outside().join("opened.toml");
    let opened = project.outside().join("opened");
    fs::write(&profile, format!("extends = [\"base\"]\n[binds]\nwritable = [{opened:?}]\n")).unwrap();
    let system = "directories of the system are changed by no command";
    let git = "git directories are changed by git's own commands alone";
    for state in ["planning", "testing"] {
        for (line, why) in [
            ("touch /usr/local/bin/x", system),
            ("echo x > /etc/hosts", system),
            ("sed -i s/a/b/ /etc/hosts", system),
            ("mkdir -p /usr/share/doc/q", system),
            ("touch README.md /usr/share/q", system),
            ("tar czf /opt/x.tgz .", system),
            ("touch /opt/x/bin/cargo", system),
            ("touch /run/docker.sock", system),
            ("touch /srv/x/.envrc", "what is others', or runs later, is changed by a person, outside"),
            ("tar czf /srv/x/x.tgz .", "a profile may open it: [binds] writable = [\"/srv/x\"]"),
            ("echo x >> .git/config", git),
        ] {
            let ran = project.line(state, line);
            assert_eq!(ran.code, 126, "{line}: {ran:?}");
            assert!(ran.stderr.contains("  forward  none: "), "{line}: {ran:?}");
            assert!(ran.stderr.contains(why), "{line}: {ran:?}");
            assert!(!ran.stderr.contains("rerun with"), "{line}: {ran:?}");
            let value = json_of(&project, &["--state", state, "-c", line]);
            assert_eq!(
                (&value["hint"], value["closed"].as_array().unwrap().len()),
                (&json!(null), 1),
                "{value}"
            );
        }
        // The twin: a state has the workspace, HOME, private directories, and what a profile opens.
        let there = format!("touch {}/x", opened.display());
        let home = format!("touch {}/x", project.home().display());
        for line in ["touch README.md", "touch ~/x", "touch /var/tmp/x", &there, &home] {
            let profile = profile.to_str().unwrap();
            let value = json_of(&project, &["--profile", profile, "--state", state, "-c", line]);
            assert_eq!(value["hint"]["state"], "implementing", "{line}: {value}");
            assert!(value.get("closed").is_none(), "{line}: {value}");
        }
    }
}

#[test]
fn the_same_is_not_said_twice() {
    let project = Project::new();
    let ran = project.line("implementing", "bash -c 'git add -A; git commit -m x'");
    assert_eq!(ran.code, 126, "{ran:?}");
    assert_eq!(ran.stderr.matches("changes the repository").count(), 1, "{ran:?}");
}
