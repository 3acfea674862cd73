//! A workspace, or HOME, that the caller reaches through a symbolic link: its names work inside as outside, and lead nowhere
//! else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod project;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use project::{Project, Ran, has, ran};

/// States of `bugfix` in which commands run.
const STATES: [&str; 4] = ["planning", "implementing", "testing", "committing"];

/// A link beside the project to the directory that holds it, and the project by that name.
fn linked(project: &Project) -> (PathBuf, PathBuf) {
    let link = project.outside().join("lnk");
    symlink(project.path().parent().unwrap(), &link).unwrap();
    let by_link = link.join(project.path().file_name().unwrap());
    (link, by_link)
}

/// A call as a shell makes it that has gone to `pwd`.
fn from(project: &Project, pwd: &Path, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.current_dir(pwd).env("PWD", pwd);
    command
}

fn line(project: &Project, pwd: &Path, state: &str, text: &str) -> Ran {
    ran(from(project, pwd, &["exec", "--state", state, "-c", text]).output().unwrap())
}

#[test]
fn a_workspace_behind_a_link_has_that_name_inside_in_each_state() {
    let project = Project::new();
    let real = project.path().canonicalize().unwrap();
    let (link, by_link) = linked(&project);
    let config = "name: value\n";
    for state in STATES {
        let text = format!("cat {}/config.yml; pwd; pwd -P; cd {0}/src; pwd", by_link.display());
        let expected = format!("{config}{0}\n{1}\n{0}/src\n", by_link.display(), real.display());
        let done = line(&project, &by_link, state, &text);
        assert_eq!((done.code, done.stdout.as_str()), (0, expected.as_str()), "{state}: {done:?}");
        // A directory below, where the shell has the name of that.
        let below = line(&project, &by_link.join("src"), state, "pwd; cat ../config.yml");
        assert_eq!(below.stdout, format!("{}/src\n{config}", by_link.display()), "{state}: {below:?}");
        // Nothing else is there.
        let beside = line(&project, &by_link, state, &format!("ls {0}; ls {0}/../kept", link.display()));
        let name = real.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(beside.stdout, format!("{name}\n"), "{state}: {beside:?}");
    }
    // What is written by the link's name is written to the workspace, and is the workspace's in what is said of it.
    let (made, text) = (by_link.join("made"), format!("echo x > {}/made", by_link.display()));
    let done = line(&project, &by_link, "implementing", &text);
    assert_eq!((done.code, fs::read_to_string(&made).unwrap().as_str()), (0, "x\n"), "{done:?}");
    let refused = line(&project, &by_link, "planning", &format!("tee {} < /dev/null", made.display()));
    assert_ne!(refused.code, 0);
    assert!(!refused.stderr.contains("[binds]"), "{refused:?}");
    let removed = line(&project, &by_link, "implementing", &format!("rm {}", made.display()));
    let as_real = line(&project, &real, "implementing", &format!("rm {}", real.join("made").display()));
    assert_eq!(removed.code, as_real.code, "{removed:?} {as_real:?}");
    assert_eq!(removed.stderr.replace(by_link.to_str().unwrap(), real.to_str().unwrap()), as_real.stderr);
}

#[test]
fn a_chosen_workspace_and_one_that_a_harness_names_have_their_names_too() {
    let project = Project::new();
    let (_, by_link) = linked(&project);
    let text = format!("pwd; cat {}/config.yml", by_link.display());
    let workspace = by_link.to_str().unwrap();
    // Started elsewhere, the command starts where its caller said.
    let words = ["exec", "--state", "testing", "--workspace", workspace, "-c", &text];
    let done = ran(from(&project, Path::new("/"), &words).output().unwrap());
    assert_eq!(done.stdout, format!("{workspace}\nname: value\n"), "{done:?}");
    // By a relative name, from a directory that has its own name by a link.
    let relative = by_link.file_name().unwrap().to_str().unwrap();
    let words = ["exec", "--state", "testing", "--workspace", relative, "-c", &text];
    let done = ran(from(&project, by_link.parent().unwrap(), &words).output().unwrap());
    assert_eq!(done.stdout, format!("{workspace}\nname: value\n"), "{done:?}");
    // A harness that is in the real directory and hands its own name on: the shell's directory is the real one.
    let real = project.path().canonicalize().unwrap();
    for name in ["PWD", "CLAUDE_PROJECT_DIR"] {
        let mut command = from(&project, &real.join("src"), &["exec", "--state", "testing", "-c", &text]);
        let done = ran(command.env(name, &by_link).output().unwrap());
        assert_eq!(done.stdout, format!("{}/src\nname: value\n", real.display()), "{name}: {done:?}");
    }
    // A name that leads elsewhere by now is none.
    let mut command = from(&project, &real, &["exec", "--state", "testing", "-c", "pwd"]);
    let done = ran(command.env("PWD", project.outside()).output().unwrap());
    assert_eq!(done.stdout, format!("{}\n", real.display()), "{done:?}");
}

#[test]
fn home_behind_a_link_has_that_name_inside() {
    let project = Project::new();
    let (home, link) = (project.home().canonicalize().unwrap(), project.outside().join("hl"));
    symlink(&home, &link).unwrap();
    fs::create_dir_all(home.join("w/src")).unwrap();
    fs::write(home.join("w/file"), "content\n").unwrap();
    // A toolchain of the caller's, named by the link in PATH and in a variable.
    let tools = home.join(".cargo/bin");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("linked-tool"), "#!/bin/sh\necho tool\n").unwrap();
    fs::set_permissions(tools.join("linked-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    for state in STATES {
        let text = format!(
            "pwd; cat ~/w/file {0}/w/file; cat {0}/.npmrc {0}/.ssh/id_ed25519; command -v linked-tool",
            link.display()
        );
        let mut command =
            from(&project, &link.join("w"), &["exec", "--state", state, "--profile", "rust", "-c", &text]);
        let path = format!("{}/.cargo/bin:/usr/local/bin:/usr/bin:/bin", link.display());
        let done = ran(command
            .env("HOME", &link)
            .env("CARGO_HOME", link.join(".cargo"))
            .env("PATH", path)
            .output()
            .unwrap());
        let expected = format!("{}/w\ncontent\ncontent\n{}/linked-tool\n", link.display(), tools.display());
        assert_eq!(done.stdout, expected, "{state}: {done:?}");
    }
}

#[test]
fn programs_and_variables_below_the_link_are_the_workspaces() {
    let project = Project::new();
    let (_, by_link) = linked(&project);
    let real = project.path().canonicalize().unwrap();
    let bin = real.join(".venv/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(real.join("pyproject.toml"), "").unwrap();
    fs::write(bin.join("python"), "#!/bin/sh\necho the venv\n").unwrap();
    fs::set_permissions(bin.join("python"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = |pwd: &Path| {
        let text = "command -v python; python; echo $VIRTUAL_ENV";
        let mut command = from(&project, pwd, &["exec", "--state", "testing", "-c", text]);
        let path = format!("{}/.venv/bin:/usr/local/bin:/usr/bin:/bin", pwd.display());
        ran(command.env("PATH", path).env("VIRTUAL_ENV", pwd.join(".venv")).output().unwrap())
    };
    let (by_link, by_real) = (run(&by_link), run(&real));
    assert_eq!(
        by_link.stdout,
        format!("{}/python\nthe venv\n{}\n", bin.display(), real.join(".venv").display())
    );
    assert_eq!(by_link.stdout, by_real.stdout, "{by_link:?} {by_real:?}");
}

#[test]
fn a_link_of_the_workspace_is_the_shells_name_and_no_more() {
    let project = Project::new();
    let real = project.path().canonicalize().unwrap();
    symlink("src", real.join("inner")).unwrap();
    let done = line(&project, &real.join("inner"), "testing", "pwd; ls lib.rs");
    assert_eq!(done.stdout, format!("{}/inner\nlib.rs\n", real.display()), "{done:?}");
    // A short way from HOME into the middle of the workspace.
    let short = project.home().join("short");
    symlink(real.join("src"), &short).unwrap();
    let done =
        line(&project, &short, "testing", "pwd; cat ~/short/lib.rs | head -n 1; ls ../config.yml; ls -A ~");
    let expected = format!("{}\n//! Greets.\n../config.yml\n.gitconfig\nshort\n", short.display());
    assert_eq!(done.stdout.replace(".config\n", ""), expected, "{done:?}");
}

/// The name lies where the root has something of its own: the launch works, and what is there stays as it is.
#[test]
fn a_name_that_collides_is_left_out_and_hides_nothing() {
    let project = Project::new();
    let real = project.path().canonicalize().unwrap();
    // By the kernel's own links, which lead to the workspace without one of the host's.
    for name in ["/proc/self/cwd", "/dev/fd/../../proc/self/cwd"] {
        let mut command = from(
            &project,
            &real,
            &["exec", "--state", "testing", "-c", "pwd -P; ls /proc/self/fd | head -n 1"],
        );
        let done = ran(command.env("PWD", name).output().unwrap());
        assert_eq!(done.stdout, format!("{}\n0\n", real.display()), "{name}: {done:?}");
    }
    // HOME behind the same link as the workspace: one name around another.
    let (link, by_link) = linked(&project);
    let home = link.join("home");
    let text = format!("cat {}/config.yml; touch ~/x {}/y; ls ~", by_link.display(), home.display());
    let mut command = from(&project, &by_link, &["exec", "--state", "implementing", "-c", &text]);
    let done = ran(command.env("HOME", &home).output().unwrap());
    assert_eq!(done.stdout, "name: value\nx\ny\n", "{done:?}");
    // A place that a profile shows, behind the link and beside the workspace.
    let shown = project.outside().join("p.toml");
    fs::write(&shown, format!("[binds]\ndata = [{:?}]\n", link.join("outside/kept"))).unwrap();
    let words = ["exec", "--state", "testing", "--profile", shown.to_str().unwrap(), "-c"];
    let text = format!("cat {}/outside/kept {}/config.yml", link.display(), by_link.display());
    let done = ran(from(&project, &by_link, &[&words[..], &[&text]].concat()).output().unwrap());
    assert_eq!(done.stdout, "outside\nname: value\n", "{done:?}");
}

/// An agent can make links in the workspace and where else it may write: they lead no caller out of the rules.
#[test]
fn a_link_that_is_swapped_leads_nothing_out_of_the_rules() {
    let project = Project::new();
    let real = project.path().canonicalize().unwrap();
    let outside = project.outside().canonicalize().unwrap();
    let by_link = outside.join("way");
    symlink(&real, &by_link).unwrap();
    let call = |state: &str, text: &str, pwd: &Path| {
        let mut command = from(&project, &real, &["exec", "--state", state, "-c", text]);
        ran(command.env("PWD", pwd).output().unwrap())
    };
    let before = project.surroundings();
    // The caller is in the workspace, and its name for that leads elsewhere by now.
    fs::remove_file(&by_link).unwrap();
    symlink(&outside, &by_link).unwrap();
    let text = format!("cat {0}/kept; echo bad > {0}/kept; pwd", by_link.display());
    let done = call("implementing", &text, &by_link);
    assert_eq!(done.stdout, format!("{}\n", real.display()), "{done:?}");
    // It is in the workspace, and leads out or in again.
    symlink(&outside, real.join("out")).unwrap();
    symlink(&real, outside.join("back")).unwrap();
    for pwd in
        [real.join("out"), real.join("out/back"), outside.join("back/out/back"), outside.join("back/out")]
    {
        let text = format!("cat {0}/kept; echo bad > {0}/kept; cat {0}/../outside/kept", pwd.display());
        let done = call("implementing", &text, &pwd);
        assert_eq!(done.stdout, "", "{}: {done:?}", pwd.display());
    }
    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "outside\n");
    for made in [by_link, outside.join("back")] {
        fs::remove_file(made).unwrap();
    }
    let after = project.surroundings();
    let kept = |list: &[(PathBuf, String)]| {
        list.iter().filter(|(path, _)| path.starts_with(project.outside())).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        kept(&after),
        kept(&before).into_iter().filter(|(path, _)| !path.ends_with("way")).collect::<Vec<_>>()
    );
    // Chosen by a link, a directory that is no workspace is refused as by its own name.
    let etc = outside.join("etc");
    symlink("/etc", &etc).unwrap();
    let words = ["exec", "--state", "planning", "--workspace", etc.to_str().unwrap(), "-c", "ls"];
    let refused = project.swbox(&words);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.stderr.contains("system directory"), "{refused:?}");
}

/// The same session by each name, and its commands find each other's directories.
#[test]
fn a_session_is_the_same_by_each_name() {
    const TEST: &str = "a_session_is_the_same_by_each_name";
    if !has(TEST, "python3") {
        return;
    }
    let project = Project::new();
    let real = project.path().canonicalize().unwrap();
    let by_link = project.home().join("short");
    symlink(&real, &by_link).unwrap();
    let started = person(&project, &by_link, &["session", "start", "--quiet", "--workflow", "ci"]);
    assert_eq!(started.0, 0, "{started:?}");
    let agent = |pwd: &Path, text: &str| {
        let done = ran(from(&project, pwd, &["bash", "-c", text]).output().unwrap());
        assert_eq!(done.code, 0, "{text}: {done:?}");
        done.stdout
    };
    assert_eq!(agent(&by_link, "pwd; cd src"), format!("{}\n", by_link.display()));
    assert_eq!(agent(&by_link, "pwd"), format!("{}/src\n", by_link.display()));
    assert_eq!(agent(&real, "pwd"), format!("{}/src\n", real.display()));
    // What is exported by one name is found by the other.
    agent(&by_link, &format!("cd ..; export VIRTUAL_ENV={}/venv", by_link.display()));
    assert_eq!(agent(&real, "echo $VIRTUAL_ENV"), format!("{}/venv\n", real.display()));
    // What the session's commands put in the name's place stays theirs, and hinders no command.
    agent(&real, "mkdir ~/short; echo own > ~/short/file; sleep 600 > /dev/null 2>&1 &");
    let text = format!("cat config.yml {}/file; pwd; pwd -P", by_link.display());
    let expected = format!("name: value\nown\n{0}\n{0}\n", real.display());
    assert_eq!(agent(&by_link, &text), expected);
    let sessions = project.swbox(&["session", "list", "--json"]);
    assert_eq!(sessions.stdout.matches("\"workspace\"").count(), 1, "{sessions:?}");
    let id = started.1.trim().to_owned();
    assert_eq!(project.swbox(&["session", "end", &id]).code, 0);
}

/// A person at a terminal who is in this directory.
fn person(project: &Project, pwd: &Path, args: &[&str]) -> (i64, String) {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/sessions/person.py");
    let mut command = project.command_as(Path::new("python3"), &[driver]);
    command.args(["[]", env!("CARGO_BIN_EXE_swbox")]).args(args);
    command.current_dir(pwd).env("PWD", pwd).env("TERM", "dumb");
    let ran = ran(command.output().unwrap());
    let value: serde_json::Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (value["code"].as_i64().unwrap(), value["output"].as_str().unwrap().to_owned())
}
