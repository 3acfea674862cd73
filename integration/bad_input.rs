//! Input that cannot be served: each a clear error with exit 125 or 126, no panic, nothing left behind.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod project;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use project::{Project, Ran, has, ran, with_input};

/// The answer is an error of this code, said once, with a way out, and nothing ran.
fn refused(what: &str, ran: &Ran, exit: i32, code: &str) {
    assert_eq!(ran.code, exit, "{what}: {ran:?}");
    assert!(ran.stderr.contains(code), "{what}: {ran:?}");
    assert!(ran.stderr.starts_with("swbox: "), "{what}: {ran:?}");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("internal_fault"), "{what}: {ran:?}");
}

#[test]
fn lines_that_no_shell_can_be_given() {
    let project = Project::new();
    let scripts =
        [("nul.sh", &b"echo a\0b\n"[..], "line_nul"), ("latin.sh", &b"echo \xff\n"[..], "line_not_utf8")];
    for (name, content, _) in scripts {
        fs::write(project.outside().join(name), content).unwrap();
    }
    let long = format!("echo {}\n", "x".repeat(1024 * 1024));
    fs::write(project.outside().join("long.sh"), &long).unwrap();
    let (tree, around) = (project.tree(), project.surroundings());
    for line in ["", " ", "\n\t "] {
        refused("empty", &project.line("testing", line), 125, "command_empty");
    }
    refused("no command", &project.swbox(&["exec"]), 125, "command_empty");
    refused("empty argv", &project.swbox(&["exec", "--", ""]), 125, "command_empty");
    let bytes = OsStr::from_bytes(b"cat \xff\xfe");
    for state in ["planning", "testing"] {
        let latin = ran(project.command(&["exec", "--state", state, "-c"]).arg(bytes).output().unwrap());
        refused("not UTF-8", &latin, 125, "line_not_utf8");
    }
    for line in ["if", "echo 'open", "a && && b", "$(", "case x in", "for f in"] {
        let ran = project.line("planning", line);
        refused("syntax", &ran, 126, "cannot be read for certain");
    }
    for (name, content, code) in scripts {
        let script = project.outside().join(name);
        // As a file it is opaque: bash would run the one and call the other binary.
        refused(name, &project.swbox(&["bash", script.to_str().unwrap()]), 126, "runs a script file");
        refused(name, &with_input(project.command(&["bash"]), content), 125, code);
    }
    let piped = with_input(project.command(&["bash"]), long.as_bytes());
    refused("1 MiB on stdin", &piped, 126, "cannot be read for certain");
    let script = project.outside().join("long.sh");
    let ran = project.swbox(&["bash", script.to_str().unwrap()]);
    assert_eq!(ran.code, 126, "an opaque script needs an execute tool: {ran:?}");
    let jsonl = format!(
        "{{\"id\":1,\"cmd\":{}}}\n{{\"id\":2,\"cmd\":\"a\\u0000b\"}}\n{{\"id\":3,\"cmd\":\"\"}}\n",
        serde_json::json!(long)
    );
    let answers = with_input(project.command(&["classify", "--jsonl", "-"]), jsonl.as_bytes());
    assert_eq!((answers.code, answers.stdout.lines().count()), (0, 3), "{}", answers.stderr);
    assert!(answers.stdout.lines().all(|line| line.contains("\"error\":true")), "{}", answers.stdout);
    assert_eq!((project.tree(), project.surroundings()), (tree, around));
}

#[test]
fn names_that_lead_nowhere() {
    let project = Project::new();
    for (args, code, meant) in [
        (&["exec", "--workflow", "bugfx", "-c", "ls"][..], "workflow_unknown", "`bugfix`"),
        (&["exec", "--state", "plannin", "-c", "ls"], "unknown_state", "`planning`"),
        (&["exec", "--profile", "rusty", "-c", "ls"], "profile_unknown", "`rust`"),
        (&["exec", "--workflow", "./none.json", "-c", "ls"], "workflow_unreadable", ""),
        (&["exec", "--profile", "./none.toml", "-c", "ls"], "profile_unreadable", ""),
        (&["exec", "--workflow", "/etc", "-c", "ls"], "workflow_unreadable", ""),
        (&["exec", "--workspace", "/nonexistent/x", "-c", "ls"], "workspace_missing", ""),
        (&["exec", "--workspace", "README.md", "-c", "ls"], "workspace_not_directory", ""),
        (&["check", "--state", "x", "-c", "ls"], "unknown_state", ""),
        (&["explain", "--state", "x"], "unknown_state", ""),
        (&["audit", "/nonexistent"], "input_unreadable", ""),
        (&["classify", "--jsonl", "/nonexistent"], "input_unreadable", ""),
        (&["workflow", "show", "nothing"], "workflow_unknown", ""),
    ] {
        let ran = project.swbox(args);
        refused(&format!("{args:?}"), &ran, 125, code);
        assert!(ran.stderr.contains(meant), "{args:?}: {ran:?}");
    }
    let json = project.swbox(&["exec", "--json", "--state", "plannin", "-c", "ls"]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &value["error"]["code"]), (125, &"unknown_state".into()), "{json:?}");
}

#[test]
fn malformed_files_are_placed() {
    let project = Project::new();
    let workflow = project.outside().join("w.json");
    for (text, place) in [
        ("{\n  \"id\": \"x\",\n  \"initial\" \"y\"\n}", ":3:13"),
        (
            "{\n  \"id\": \"x\",\n  \"initial\": \"gone\",\n  \"states\": {\"a\": {\"type\": \"final\"}}\n}",
            ":3:",
        ),
        ("", ""),
        ("[]", ":1:1"),
    ] {
        fs::write(&workflow, text).unwrap();
        let ran = project.swbox(&["exec", "--workflow", workflow.to_str().unwrap(), "-c", "ls"]);
        refused(text, &ran, 125, &format!("{}{place}", workflow.display()));
    }
    let profile = project.outside().join("p.toml");
    for (text, place) in [
        ("[binds]\nsystem = [\"/usr\"\n[x]\n", ":3:"),
        ("[binds]\nsytem = [\"/usr\"]\n", ":2:1"),
        ("[limits]\nmemory = \"2 parsecs\"\n", ":2:10"),
        ("description = 5\n", ":1:15"),
    ] {
        fs::write(&profile, text).unwrap();
        let ran = project.swbox(&["exec", "--profile", profile.to_str().unwrap(), "-c", "ls"]);
        refused(text, &ran, 125, &format!("{}{place}", profile.display()));
        assert!(ran.stderr.contains("profile_syntax"), "{ran:?}");
    }
    fs::write(&profile, b"description = \"\xff\"\n").unwrap();
    let ran = project.swbox(&["exec", "--profile", profile.to_str().unwrap(), "-c", "ls"]);
    refused("latin profile", &ran, 125, "profile_unreadable");
    let jsonl =
        with_input(project.command(&["classify", "--jsonl", "-"]), b"{\"id\":1,\"cmd\":\"ls\"}\n{nonsense\n");
    refused("jsonl", &jsonl, 125, "malformed_jsonl");
    assert!(jsonl.stderr.contains("-:2:"), "{jsonl:?}");
}

#[test]
fn streams_that_are_closed_or_full() {
    let project = Project::new();
    let swbox = env!("CARGO_BIN_EXE_swbox");
    for (redirect, stream) in [("<&-", "standard input"), (">&-", "standard output")] {
        let ran = project.bare(&format!("{swbox} exec -c 'cat README.md' {redirect}"));
        refused(redirect, &ran, 125, stream);
        assert_eq!(ran.stdout, "", "{redirect}");
    }
    assert_eq!(project.bare(&format!("{swbox} exec -c 'cat README.md' 2>&-")).code, 125);
    for args in [
        "exec --json -c 'cat README.md'",
        "explain --json",
        "explain",
        "classify ls",
        "check --json -c ls",
        "workflow list",
    ] {
        let ran = project.bare(&format!("{swbox} {args} > /dev/full"));
        refused(args, &ran, 125, "output_failed");
    }
    let own = project.bare(&format!("{swbox} exec -c 'cat README.md' > /dev/full"));
    assert_eq!(own.code, 1, "what cat itself says of a full disk: {own:?}");
    assert!(own.stderr.contains("No space left"), "{own:?}");
}

#[test]
fn a_temporary_directory_of_the_caller_is_no_concern() {
    if !has("a_temporary_directory_of_the_caller_is_no_concern", "python3") {
        return;
    }
    let project = Project::new();
    for place in ["/nonexistent", "/proc", "/dev/null", ""] {
        let mut command =
            project.command(&["exec", "--state", "testing", "-c", "python3 -c 'import tempfile; f = tempfile.NamedTemporaryFile(\"w+\"); f.write(\"x\"); f.seek(0); print(f.read())'"]);
        let ran = ran(command.env("TMPDIR", place).output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "x\n"), "{place}: {ran:?}");
    }
}

#[test]
fn a_missing_home_is_no_obstacle() {
    let project = Project::new();
    let mut command = project.command(&["exec", "-c", "cat README.md | head -1"]);
    let gone = ran(command.env("HOME", "/nonexistent/home").output().unwrap());
    assert_eq!((gone.code, gone.stdout.as_str()), (0, "# The project\n"), "{gone:?}");
    let mut command = project.command(&["exec", "-c", "cat README.md | head -1"]);
    let unset = ran(command.env_remove("HOME").output().unwrap());
    assert_eq!(unset.code, 0, "{unset:?}");
    let mut command = project.command(&["exec", "--state", "testing", "-c", "sh -c 'echo x'"]);
    let read_only = ran(command.env("HOME", "/proc").output().unwrap());
    assert!(matches!(read_only.code, 0 | 125), "{read_only:?}");
}

#[test]
fn wrong_flags_are_told_apart_from_the_commands_own_codes() {
    let project = Project::new();
    for args in [
        &["exec", "--nonsense", "-c", "ls"][..],
        &["exec", "-c"],
        &["exec", "ls"],
        &["exec", "--timeout", "soon", "-c", "ls"],
    ] {
        let ran = project.swbox(args);
        assert_eq!(ran.code, 125, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("Usage") || ran.stderr.contains("error:"), "{args:?}: {ran:?}");
        assert!(args != ["exec", "ls"] || ran.stderr.contains("swbox exec -- ls -la"), "{ran:?}");
    }
    for args in [&["check", "--nonsense"][..], &["nonsense"], &["workflow"]] {
        assert_eq!(project.swbox(args).code, 2, "{args:?}");
    }
    assert_eq!(project.swbox(&["bash", "-z", "-c", "ls"]).code, 125);
    assert_eq!(project.swbox(&["--help"]).code, 0);
    assert_eq!(project.swbox(&["exec", "--help"]).code, 0);
    assert!(project.swbox(&["bash", "--help"]).stdout.contains("SWBOX_STATE"));
    assert!(project.swbox(&["--version"]).stdout.starts_with("swbox "));
}

/// Root's HOME that `setpriv` or `docker run --user` leave to another user: rules may lie there, so it is not passed over.
#[test]
fn a_home_that_is_closed_to_this_user_is_named() {
    const NAME: &str = "a_home_that_is_closed_to_this_user_is_named";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("SKIP {NAME}: only root can become another user");
        return;
    }
    let project = Project::new();
    let program = project.outside().join("swbox");
    fs::copy(env!("CARGO_BIN_EXE_swbox"), &program).unwrap();
    let (closed, open) = (project.home(), project.outside());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let run = |home: &Path| {
        let mut command = project.command_as(&program, &["check", "--state", "planning", "-c", "ls"]);
        ran(command.env("HOME", home).uid(65534).gid(65534).output().unwrap())
    };
    let told = run(&closed);
    refused("a closed HOME", &told, 125, "[no_home]");
    assert!(
        told.stderr.contains("another user's directory") && told.stderr.contains("set HOME to"),
        "{told:?}"
    );
    assert_eq!(run(&open).code, 0);
    assert_eq!(run(Path::new("/nonexistent")).code, 0);
}

#[test]
fn nothing_is_left_behind() {
    let project = Project::new();
    let temporary = project.outside().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let around = project.surroundings();
    for (state, line) in [
        ("planning", "cat README.md"),
        ("planning", "cat > x"),
        ("implementing", "ls"),
        ("testing", "sh -c 'echo x > y'"),
        ("planning", "if"),
    ] {
        let mut command = project.command(&["exec", "--state", state, "-c", line]);
        ran(command.env("TMPDIR", &temporary).output().unwrap());
    }
    assert_eq!(project.surroundings(), around);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("swbox"), "{mounts}");
    assert!(Path::new("/proc").exists());
}
