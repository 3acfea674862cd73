//! The command line: exit codes, streams, JSON, the drop-in bash, workspaces, profiles, and the commands that only
//! answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod project;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use project::{Project, ran, with_input};

/// Nobody continues it here; the wall clock runs on all the same.
#[test]
fn a_command_that_stops_itself_ends_when_its_time_is_up() {
    let project = Project::new();
    let line = "python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGSTOP)'; kill -STOP $$";
    let ran = project.swbox(&["exec", "--state", "testing", "--timeout", "1s", "-c", line]);
    assert_eq!(ran.code, 124, "{ran:?}");
}

#[test]
fn check_says_it_by_exit_code() {
    let project = Project::new();
    let workflow = project.outside().join("asks.json");
    fs::write(
        &workflow,
        r#"{"id":"asks","initial":"work","states":{"work":{"allowed_tools":["Read","Bash"],"on":{"END":"failed"}},"failed":{"type":"final"}},
            "rules":[{"prefix":"make publish","decision":"prompt","justification":"it goes out"}]}"#,
    )
    .unwrap();
    let workflow = workflow.to_str().unwrap();
    let check = |line: &str| project.swbox(&["check", "--workflow", workflow, "-c", line]);
    assert_eq!(check("cat README.md").code, 0);
    let asked = check("make publish");
    assert_eq!(asked.code, 10, "{asked:?}");
    assert!(asked.stdout.contains("it goes out"), "{asked:?}");
    assert_eq!(check("echo x > f").code, 20);
    let run = project.swbox(&["exec", "--workflow", workflow, "-c", "make publish"]);
    assert_eq!(run.code, 126, "{run:?}");
    let quiet = project.swbox(&["check", "--quiet", "-c", "rm -rf /"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (20, "", ""));
    let json = project.swbox(&["check", "--json", "-c", "cat f"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json.stdout).unwrap()["decision"], "allow");
}

#[test]
fn exit_codes_are_the_commands_own() {
    let project = Project::new();
    assert_eq!(project.line("testing", "exit 3").code, 3);
    assert_eq!(project.line("testing", "kill -9 $$").code, 137);
    assert_eq!(project.line("testing", "kill -TERM $$").code, 143);
    assert_eq!(project.line("planning", "false").code, 1);
    assert_eq!(project.swbox(&["exec", "--state", "testing", "--", "no-such-program"]).code, 127);
    assert_eq!(project.swbox(&["exec", "--state", "testing", "--", "./README.md"]).code, 126);
    let blanks = project.swbox(&["exec", "--state", "testing", "--", "ls -la"]);
    assert_eq!(blanks.code, 127, "{blanks:?}");
    assert!(blanks.stderr.contains("swbox exec -c 'ls -la'"), "{blanks:?}");
    // In a state that refuses what it does not know, the hint is the same.
    for state in ["planning", "implementing", "committing"] {
        let refused = project.swbox(&["exec", "--state", state, "--", "ls -la"]);
        assert_eq!(refused.code, 126, "{state}: {refused:?}");
        assert!(refused.stderr.ends_with("swbox exec -c 'ls -la'\n"), "{state}: {refused:?}");
    }
    let checked = project.swbox(&["check", "--state", "planning", "--", "ls -la"]);
    assert!(checked.stdout.ends_with("swbox exec -c 'ls -la'\n"), "{checked:?}");
    assert!(!project.swbox(&["exec", "--state", "planning", "--", "frobnicate"]).stderr.contains(" -c "));

    let begun = Instant::now();
    let late = project.swbox(&[
        "exec",
        "--state",
        "testing",
        "--timeout",
        "300ms",
        "-c",
        "sleep 30 & setsid sleep 31 & sleep 32",
    ]);
    assert_eq!(late.code, 124, "{late:?}");
    assert!(late.stderr.contains("the time ran out after 0.3 s"), "{late:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_argv_is_no_line() {
    let project = Project::new();
    let ran = project.swbox(&["exec", "--", "echo", "$(rm -rf build)", "; rm -rf build", "*", "> x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "$(rm -rf build) ; rm -rf build * > x\n"), "{ran:?}");
    assert!(project.path().join("build/artefact").exists());
    assert_eq!(project.swbox(&["exec", "--", "rm", "-rf", "build"]).code, 126);
}

#[test]
fn json_tells_the_whole_run() {
    let project = Project::new();
    let (code, json) = project.json("testing", "echo out; echo err >&2; exit 4");
    assert_eq!(code, 4);
    assert_eq!(json["decision"], "allow");
    assert_eq!(json["exit"]["code"], 4);
    assert_eq!(json["output"]["stdout"]["text"], "out\n");
    assert_eq!(json["output"]["stderr"]["text"], "err\n");
    assert_eq!(json["output"]["stdout"]["truncated_bytes"], 0);
    assert!(
        json["jail"]["level"].is_string() && json["jail"]["protections"]["writes"] == "prevented",
        "{json}"
    );
    assert!(json["timing"]["setup_us"].as_u64().unwrap() > 0);
    assert_eq!(json["law"]["state"], "testing");

    let (_, json) = project.json("testing", "kill -9 $$");
    assert_eq!((&json["exit"]["signal"], &json["exit"]["signal_name"]), (&9.into(), &"SIGKILL".into()));
    let (code, json) = project.json("testing", "head -c 3000000 /dev/zero | tr '\\0' x; printf 'end\\xff'");
    assert_eq!(code, 0);
    let stdout = &json["output"]["stdout"];
    assert_eq!(stdout["bytes"], 3_000_004);
    assert!(stdout["truncated_bytes"].as_u64().unwrap() > 1_000_000, "{stdout}");
    assert_eq!(stdout["invalid_sequences"], 1);
    assert!(stdout["text"].as_str().unwrap().contains("bytes cut here"), "the cut is said");
    assert!(stdout["text"].as_str().unwrap().contains("end"), "the end is kept");
}

#[test]
fn a_doubtful_workflow_runs_and_says_so() {
    let project = Project::new();
    let workflow = project.outside().join("doubtful.json");
    let text = r#"{"id":"d","initial":"a","states":{"a":{"allowed_tools":["Bash"],"on":{"END":"b"}},"b":{"type":"final"}}}"#;
    fs::write(&workflow, text).unwrap();
    let name = workflow.to_str().unwrap();
    let ran = project.swbox(&["exec", "--workflow", name, "--json", "-c", "echo x"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &json["warnings"][0]["code"]), (0, &"no_failure_state".into()), "{json}");
    assert_eq!(
        project.swbox(&["exec", "--workflow", name, "-c", "echo x"]).stderr,
        "",
        "an agent is not nagged"
    );
    let validated = project.swbox(&["workflow", "validate", name]);
    assert!(validated.code == 1 && validated.stdout.contains("no_failure_state"), "{validated:?}");
}

#[test]
fn a_dry_run_runs_nothing() {
    let project = Project::new();
    let ran = project.swbox(&["exec", "--state", "implementing", "--dry-run", "-c", "echo x > made"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("nothing was run"), "{ran:?}");
    assert!(!project.path().join("made").exists());
    let json =
        project.swbox(&["exec", "--state", "implementing", "--dry-run", "--json", "-c", "echo x > made"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(json["plan"]["steps"].is_array() && json["exit"].is_null(), "{json}");
    assert_eq!(project.swbox(&["exec", "--dry-run", "-c", "echo x > made"]).code, 126);
}

#[test]
fn odd_names_work() {
    for name in ["a b", "com,ma", "co:lon", "new\nline", "quote'\"", "ümläut", "back\\slash", "-dash", "$(x)"]
    {
        let project = Project::named(name);
        fs::write(project.path().join("f,:\n g"), "content\n").unwrap();
        let read = project.line("planning", "cat f*g; git status --short | wc -l");
        assert_eq!((read.code, read.stdout.as_str()), (0, "content\n1\n"), "{name:?}: {read:?}");
        let written = project.line("implementing", "echo y > made");
        assert_eq!(written.code, 0, "{name:?}: {written:?}");
        assert!(project.path().join("made").exists(), "{name:?}");
        let tested = project.line(
            "testing",
            "python3 -c 'open(\"vanishes\", \"w\").write(\"z\"); print(open(\"vanishes\").read())'",
        );
        assert_eq!((tested.code, tested.stdout.as_str()), (0, "z\n"), "{name:?}: {tested:?}");
        assert!(!project.path().join("vanishes").exists(), "{name:?}");
    }
    let project = Project::new();
    let odd = project.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    fs::write(&odd, "odd\n").unwrap();
    let read =
        ran(project.command(&["exec", "--", "cat"]).arg(b"\xff\xfe".as_slice().to_os()).output().unwrap());
    assert_eq!((read.code, read.stdout.as_str()), (0, "odd\n"), "{read:?}");
    let below = project.path().join(std::ffi::OsStr::from_bytes(b"dir\xff"));
    fs::create_dir(&below).unwrap();
    let inside = ran(project
        .command(&["exec", "--state", "implementing", "-c", "echo x > f"])
        .current_dir(&below)
        .output()
        .unwrap());
    assert_eq!(inside.code, 0, "{inside:?}");
    assert!(below.join("f").exists());
}

trait ToOs {
    fn to_os(&self) -> &std::ffi::OsStr;
}

impl ToOs for [u8] {
    fn to_os(&self) -> &std::ffi::OsStr {
        std::ffi::OsStr::from_bytes(self)
    }
}

#[test]
fn standard_input_is_the_commands() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let line = format!("{swbox} exec --state planning -c 'read x; echo \"got $x\"'; cat");
    let ran = with_input(project.command_as(Path::new("/bin/bash"), &["-c", &line]), b"one\ntwo\n");
    assert_eq!(ran.stdout, "got one\ntwo\n", "{ran:?}");
    let filter = with_input(project.command(&["exec", "--", "sort", "-r"]), b"a\nb\n");
    assert_eq!(filter.stdout, "b\na\n", "{filter:?}");
    let pipe = project.line("testing", "set -o pipefail; yes | head -1");
    assert_eq!(
        (pipe.code, pipe.stdout.as_str()),
        (141, "y\n"),
        "SIGPIPE has its ordinary effect inside: {pipe:?}"
    );
}

#[test]
fn it_is_a_bash() {
    let project = Project::new();
    let bin = project.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["bash", "sh"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_swbox"), bin.join(name)).unwrap();
    }
    let bash = bin.join("bash");
    let shell = |args: &[&str]| {
        let mut command = project.command_as(&bash, args);
        command.env("SWBOX_STATE", "testing");
        command
    };
    for (args, expected) in [
        (&["-c", "echo $0-$1-$#", "name", "one", "two"][..], "name-one-2\n"),
        (&["-lc", "echo $0"], "bash\n"),
        (&["-euo", "pipefail", "-c", "false | true; echo no"], ""),
        (&["--noprofile", "--norc", "-c", "shopt -q login_shell || echo plain"], "plain\n"),
        (&["-c", ""], ""),
        (&["-c", "printf '%s\\n' 'a  b' \"$(printf x)\" <<< y"], "a  b\nx\n"),
    ] {
        let inside = ran(shell(args).output().unwrap());
        let bare = ran(project.command_as(Path::new("/bin/bash"), args).output().unwrap());
        assert_eq!(inside.code, bare.code, "{args:?}: {inside:?}");
        assert_eq!(inside.stdout, expected, "{args:?}: {inside:?}");
    }
    fs::write(project.path().join("script.sh"), "#!/bin/bash\necho \"$0 $1 $#\"\nexit 5\n").unwrap();
    let script = ran(shell(&["script.sh", "a b", "c"]).output().unwrap());
    assert_eq!((script.code, script.stdout.as_str()), (5, "script.sh a b 2\n"), "{script:?}");
    let piped = with_input(shell(&["-s", "arg"]), b"echo $1\nexit 6\n");
    assert_eq!((piped.code, piped.stdout.as_str()), (6, "arg\n"), "{piped:?}");
    let sh = ran(project.command_as(&bin.join("sh"), &["-c", "echo x > f"]).output().unwrap());
    assert_eq!(sh.code, 126, "without a state the workflow's initial one holds: {sh:?}");
    let flags = project.swbox(&["bash", "--state", "implementing", "-c", "echo x > f && cat f"]);
    assert_eq!((flags.code, flags.stdout.as_str()), (0, "x\n"), "{flags:?}");
    let nested = project.line("testing", "bash -c 'bash -c \"echo deep\"'");
    assert_eq!(nested.stdout, "deep\n", "{nested:?}");
}

#[test]
fn a_workspace_file_counts_only_when_named() {
    let project = Project::new();
    let lax =
        r#"{"id":"lax","initial":"all","states":{"all":{"on":{"END":"failed"}},"failed":{"type":"final"}}}"#;
    for name in [".swbox/workflow.json", "swbox.json"] {
        let file = project.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, lax).unwrap();
        let refused = project.line("planning", "ls");
        assert_eq!(refused.code, 125, "{refused:?}");
        assert!(
            refused.stderr.contains("untrusted_workspace_file") && refused.stderr.contains("--workflow"),
            "{refused:?}"
        );
        let named = project.swbox(&["exec", "--workflow", file.to_str().unwrap(), "-c", "echo x > made"]);
        assert_eq!(named.code, 0, "{named:?}");
        fs::remove_file(&file).unwrap();
    }
    fs::write(project.path().join(".swbox/profile.toml"), "[network]\nhosts = [\"x.example\"]\n").unwrap();
    let refused = project.line("planning", "ls");
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("--profile"), "{refused:?}");
}

#[test]
fn dangerous_workspaces_are_refused() {
    let project = Project::new();
    let home = project.home();
    let root = project.outside();
    let root = root.parent().unwrap();
    let own = home.join(".config/swbox");
    fs::create_dir_all(&own).unwrap();
    for place in [
        Path::new("/"),
        Path::new("/etc"),
        Path::new("/usr/bin"),
        Path::new("/tmp"),
        root,
        &home,
        &home.join(".config"),
        &own,
        &home.join(".ssh"),
    ] {
        let ran = project.swbox(&["exec", "--workspace", place.to_str().unwrap(), "-c", "ls"]);
        assert_eq!(ran.code, 125, "{place:?}: {ran:?}");
        assert!(
            ran.stderr.contains("workspace_refused") && ran.stderr.contains("  help     "),
            "{place:?}: {ran:?}"
        );
    }
    let allowed = project.swbox(&[
        "exec",
        "--workspace",
        home.to_str().unwrap(),
        "--allow-home",
        "-c",
        "cat .ssh/id_ed25519; ls",
    ]);
    assert!(!allowed.stdout.contains("TOP SECRET"), "{allowed:?}");
    assert_ne!(allowed.code, 125, "{allowed:?}");
}

#[test]
fn profiles_of_the_user_count() {
    let project = Project::new();
    let profiles = project.home().join(".config/swbox/profiles");
    fs::create_dir_all(&profiles).unwrap();
    let data = project.outside();
    fs::write(
        profiles.join("mine.toml"),
        format!(
            "extends = [\"python\"]\n[binds]\ndata = [{:?}]\n[environment]\nkeep = [\"MY_SETTING\"]\n",
            data.to_str().unwrap()
        ),
    )
    .unwrap();
    let line = "cat ../outside/kept; echo \"$MY_SETTING\"";
    let without = ran(project.command(&["exec", "-c", line]).env("MY_SETTING", "here").output().unwrap());
    assert!(!without.stdout.contains("outside") && !without.stdout.contains("here"), "{without:?}");
    let with = ran(project
        .command(&["exec", "--profile", "mine", "-c", line])
        .env("MY_SETTING", "here")
        .output()
        .unwrap());
    assert_eq!(with.stdout, "outside\nhere\n", "{with:?}");
    let json = project.swbox(&["explain", "--profile", "mine", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["profiles"], serde_json::json!(["base", "mine", "python"]), "{}", json["profiles"]);
}

#[test]
fn a_profile_teaches_commands() {
    let project = Project::new();
    let profile = project.outside().join("mine.toml");
    let row = "[[commands]]\nname = \"fmtx\"\noperands = \"modify\"\nclosed = true\n";
    let example = "examples = [{ command = \"fmtx a.x\", classes = [\"FileModify\"] }]\n";
    fs::write(&profile, format!("{row}{example}")).unwrap();
    let name = profile.to_str().unwrap();
    let check = |args: &[&str]| project.swbox(&[&["check"], args, &["-c", "fmtx greeting.py"]].concat());
    assert!(check(&["--state", "implementing"]).stdout.contains("forbidden"));
    assert_eq!(check(&["--state", "implementing", "--profile", name]).code, 0);
    let refused = check(&["--profile", name]);
    assert!(refused.stdout.contains("changes a file (FileModify: greeting.py)"), "{refused:?}");
    fs::write(&profile, format!("{row}{}", example.replace("FileModify", "FileRead"))).unwrap();
    let wrong = check(&["--profile", name]);
    assert!(wrong.code == 125 && wrong.stderr.contains("command_row_example"), "{wrong:?}");
}

#[test]
fn explain_classify_audit_and_workflow_answer() {
    let project = Project::new();
    let explained = project.swbox(&["explain", "--state", "testing"]);
    assert_eq!(explained.code, 0, "{explained:?}");
    for word in ["workspace", "writes succeed and vanish", "loopback", "CARGO_TARGET_DIR", "/usr", "level"] {
        assert!(explained.stdout.contains(word), "{word}: {}", explained.stdout);
    }
    let of_line = project.swbox(&["explain", "-c", "cat README.md"]);
    assert!(of_line.stdout.contains("allowed `cat README.md`"), "{of_line:?}");
    assert!(project.swbox(&["explain", "--state", "completed"]).stdout.contains("nothing runs"));

    let table = project.swbox(&["classify", "cd src && cat a | tee b"]);
    assert_eq!(table.code, 0, "{table:?}");
    assert!(
        table.stdout.contains("~~~~~~")
            && table.stdout.contains("FileWrite: ")
            && table.stdout.contains("FileRead: "),
        "{table:?}"
    );
    let json = project.swbox(&["classify", "--json", "rm -rf /"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["catastrophe"]["shape"], "remove_root", "{json}");

    let cases = b"{\"id\": 7, \"cmd\": \"cat f | sort\"}\n\n{\"id\": \"x\", \"cmd\": \"python3 -c 'x'\"}\n{\"id\": 3, \"cmd\": \"if\"}\n";
    let lines = with_input(project.command(&["classify", "--jsonl", "-"]), cases);
    let answers: Vec<serde_json::Value> =
        lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 3, "{lines:?}");
    assert_eq!(answers[0]["id"], 7);
    let classes = answers[0]["classes"].as_array().unwrap();
    assert!(classes.contains(&"FileRead".into()) && !classes.contains(&"FileWrite".into()), "{classes:?}");
    assert_eq!((&answers[1]["id"], &answers[1]["opaque"]), (&"x".into(), &true.into()));
    assert_eq!(answers[2]["error"], true);
    assert!(
        answers[0]["us"].is_number()
            && answers[0]["catastrophic"] == false
            && answers[0]["segments"].is_array()
    );

    let history = project.outside().join("history");
    fs::write(
        &history,
        "ls\n#1700000000\ncat README.md\nrm -rf build\nrm -rf src\ngit push\n{\"cmd\":\"sed -i s/a/b/ x\"}\n",
    )
    .unwrap();
    let audit = project.swbox(&["audit", "--state", "planning", history.to_str().unwrap()]);
    assert_eq!(audit.code, 1, "{audit:?}");
    assert!(audit.stdout.starts_with("6 commands against state \"planning\""), "{audit:?}");
    assert!(audit.stdout.contains("forbidden 2: missing_sentinel Destructive"), "{audit:?}");
    let audit = project.swbox(&["audit", "--json", history.to_str().unwrap()]);
    let audit: serde_json::Value = serde_json::from_str(&audit.stdout).unwrap();
    assert_eq!((&audit["allow"], &audit["forbidden"]), (&2.into(), &4.into()), "{audit}");

    let list = project.swbox(&["workflow", "list"]);
    for name in ["bugfix", "feature", "research", "ci"] {
        assert!(list.stdout.contains(name), "{list:?}");
        assert_eq!(project.swbox(&["workflow", "validate", name]).code, 0);
    }
    let shown = project.swbox(&["workflow", "show", "bugfix"]);
    assert!(shown.stdout.contains("TESTS_PASS → review (approval)"), "{shown:?}");
    // A state with a list: what is not on it is told by the list, and the table does not say that nothing runs.
    let listed = project.outside().join("listed.json");
    let text = r#"{"id": "l", "initial": "a", "states": {"a": {"allowed_tools": ["Read", "Bash"],
        "allowed_commands": ["make test"], "on": {"X": "completed", "FAIL": "failed"}},
        "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;
    fs::write(&listed, text).unwrap();
    let refused = project.swbox(&["check", "--workflow", listed.to_str().unwrap(), "-c", "make install"]);
    assert_eq!(refused.code, 20, "{refused:?}");
    assert!(
        refused.stdout.contains("  needs    to begin with make test (allowed_commands)\n"),
        "{refused:?}"
    );
    assert!(!refused.stdout.contains("in allowed_tools"), "{refused:?}");
    let table = project.swbox(&["explain", "--workflow", listed.to_str().unwrap()]).stdout;
    let row = table.lines().find(|line| line.starts_with("a ")).unwrap_or_default();
    assert!(row.contains("few") && table.contains("runs only make test"), "{table}");
    let raw = project.swbox(&["workflow", "show", "--json", "bugfix"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&raw.stdout).unwrap()["id"], "bugfix");
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let line = format!(
        "set -o pipefail; {swbox} workflow show bugfix --json | head -c 1 >/dev/null; {swbox} explain --json | true"
    );
    let ran = ran(project.command_as(Path::new("/bin/bash"), &["-c", &line]).output().unwrap());
    assert_eq!(ran.stderr, "");
}

/// Through `/proc/self/fd/0/…` a command would read all that is below it.
#[test]
fn a_directory_as_standard_stream_is_refused() {
    let project = Project::new();
    let mut command = project.command(&["exec", "-c", "ls /proc/self/fd/0/"]);
    let answer = ran(command.stdin(std::fs::File::open("/").unwrap()).output().unwrap());
    assert_eq!((answer.code, answer.stdout.as_str()), (125, ""), "{answer:?}");
    assert!(answer.stderr.contains("stream_directory"), "{answer:?}");
}

#[test]
fn the_cwd_is_kept_and_a_lost_one_is_told() {
    let project = Project::new();
    let ran_in = |directory: &Path, line: &str| {
        ran(project.command(&["exec", "-c", line]).current_dir(directory).output().unwrap())
    };
    let below = ran_in(&project.path().join("src"), "pwd; ls ../README.md");
    assert_eq!(below.stdout, format!("{}\n../README.md\n", project.path().join("src").display()));
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let workspace = project.path();
    let gone = format!(
        "mkdir {0}/gone && cd {0}/gone && rmdir {0}/gone && {swbox} exec --workspace {0} -c pwd; {swbox} exec -c pwd",
        workspace.display()
    );
    let gone = project.bare(&gone);
    assert_eq!(gone.stdout, format!("{}\n", workspace.display()), "{gone:?}");
    assert!(
        gone.stderr.contains("the current directory is gone") && gone.stderr.contains("cwd_missing"),
        "{gone:?}"
    );
    assert_eq!(gone.code, 125);
}
