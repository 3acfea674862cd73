//! The main job on a real project: what each state of `bugfix` runs and refuses, and how it is told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod project;

use std::fs;
use std::path::Path;

use project::{Project, has, ran};

#[test]
fn planning_reads_as_outside() {
    let project = Project::new();
    let mut lines = vec![
        "cat README.md",
        "grep -rn TODO . --include=*.rs --include=*.md | sort",
        "find . -name '*.rs' -not -path './.git/*' | sort",
        "git status",
        "git status --short",
        "git log --oneline | head -2",
        "git log --oneline | head",
        "git diff HEAD~1",
        "git show --stat HEAD",
        "git blame -s README.md",
        "ls -la src | tail -3",
        "cd src && wc -l *.rs | sort -n | tail -3",
        "head -2 greeting.py; tail -1 greeting.js",
        "test -f README.md && echo yes || echo no",
        "for f in src/*.rs; do basename \"$f\"; done",
        "cat missing.txt 2>/dev/null; echo $?",
        "grep -c nothing README.md",
        "sed -n '1,2p' README.md",
        "awk '{ print NF }' README.md",
        "echo \"$((1 + 2))\" | tr 3 4",
        "sort README.md 2>&1 | uniq -c | head -3",
        "diff src/lib.rs src/other.rs | head -3",
    ];
    if has("planning_reads_as_outside", "node") {
        lines.push("node --version");
    }
    for line in lines {
        let inside = project.line("planning", line);
        let bare = project.bare(line);
        assert_eq!(
            (inside.code, &inside.stdout, &inside.stderr),
            (bare.code, &bare.stdout, &bare.stderr),
            "{line}"
        );
    }
    for line in ["date", "ls -la", "pwd", "git --version", "which git", "uname -a"] {
        let inside = project.line("planning", line);
        assert_eq!((inside.code, inside.stderr.as_str()), (0, ""), "{line}: {inside:?}");
        assert!(!inside.stdout.is_empty(), "{line}");
    }
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

/// Line, class, a tool that it needs, the event of the way forward where there is one.
const REFUSED_IN_PLANNING: &[(&str, &str, &str, Option<&str>)] = &[
    ("cat > config.yml <<'EOF'\nowned\nEOF", "FileWrite", "Write", Some("PLAN_READY")),
    ("echo x >> README.md", "FileWrite", "Write", Some("PLAN_READY")),
    ("sed -i s/value/owned/ config.yml", "FileModify", "Edit", Some("PLAN_READY")),
    ("rm -rf build", "Destructive", "__DESTRUCTIVE__", None),
    ("git commit --allow-empty -m x", "GitWrite", "git_commit", None),
    ("curl https://example.org", "Network", "WebFetch", None),
    ("ls; rm -rf build", "Destructive", "__DESTRUCTIVE__", None),
    ("echo $(touch made)", "FileWrite", "Write", Some("PLAN_READY")),
];

#[test]
fn planning_refuses_with_class_right_and_way_forward() {
    let project = Project::new();
    let before = project.tree();
    let head = project.git(&["rev-parse", "HEAD"]);
    for (line, class, needs, event) in REFUSED_IN_PLANNING {
        let text = project.line("planning", line);
        assert_eq!((text.code, text.stdout.as_str()), (126, ""), "{line}: {text:?}");
        let err = &text.stderr;
        assert!(err.starts_with("swbox: forbidden in state \"planning\": `"), "{line}: {err}");
        assert!(err.contains(class), "{line}: {err}");
        let needs_line = err
            .lines()
            .find(|line| line.starts_with("  needs    "))
            .unwrap_or_else(|| panic!("{line}: {err}"));
        assert!(needs_line.contains(needs), "{line}: {err}");
        assert!(
            needs_line.contains("; this state has read_file, search_files, grep, git_log, git_diff"),
            "{line}: {err}"
        );

        let (code, json) = project.json("planning", line);
        assert_eq!((code, &json["decision"]), (126, &"forbidden".into()), "{line}");
        let reasons = json["reasons"].as_array().unwrap();
        let reason = reasons
            .iter()
            .find(|reason| reason["class"] == *class)
            .unwrap_or_else(|| panic!("{line}: {json}"));
        assert!(reason["needs"].as_array().unwrap().iter().any(|tool| tool == needs), "{line}: {json}");
        assert!(json["classes"].as_array().unwrap().iter().any(|known| known == class), "{line}: {json}");
        assert!(!json["segments"].as_array().unwrap().is_empty(), "{line}");
        assert_eq!(json["outcome"], serde_json::Value::Null, "{line}");
        match event {
            Some(event) => {
                assert_eq!(&json["hint"]["path"][0]["event"], event, "{line}: {json}");
                let forward = format!("  forward  {event} → \"implementing\" (has ");
                assert!(
                    err.contains(&forward) && err.contains("rerun with --state implementing"),
                    "{line}: {err}"
                );
            }
            None if line.starts_with("git commit") => {
                assert!(err.contains("then APPROVED → \"committing\" (has git_commit)"), "{line}: {err}")
            }
            None => assert!(err.contains("  forward  none: no state "), "{line}: {err}"),
        }
    }
    assert_eq!(project.tree(), before);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn the_refusal_has_the_documented_form() {
    let project = Project::new();
    let refused = project.line("planning", "cat > config.yml");
    assert_eq!(
        refused.stderr,
        "swbox: forbidden in state \"planning\": `cat > config.yml` writes a file (FileWrite: config.yml)\n\
         \x20 needs    Write or Edit in allowed_tools; this state has read_file, search_files, grep, git_log, git_diff\n\
         \x20 forward  PLAN_READY → \"implementing\" (has write_file, edit_file); rerun with --state implementing\n"
    );
    assert_eq!(project.swbox(&["exec", "--quiet", "-c", "cat > config.yml"]).stderr, "");
    let coloured = project.swbox(&["exec", "--color", "always", "-c", "cat > config.yml"]);
    assert!(coloured.stderr.contains("\x1b[1;31mforbidden\x1b[0m"), "{coloured:?}");
}

#[test]
fn the_text_of_an_agent_cannot_move_the_cursor() {
    let project = Project::new();
    let refused = project.line("planning", "echo $'a\\x1b' > \"f\u{202e}\x1b[2Jx\"");
    assert_eq!(refused.code, 126);
    assert!(!refused.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", refused.stderr);
    assert!(refused.stderr.contains("202e"), "{:?}", refused.stderr);
}

#[test]
fn implementing_writes_in_the_workspace_and_nowhere_else() {
    let project = Project::new();
    let around = project.surroundings();
    let outside = project.outside();
    for line in [
        "cat > config.yml <<'EOF'\nname: other\nEOF",
        "mkdir -p new/deep && echo x > new/deep/file",
        "sed -i s/Hello/Hi/ greeting.py",
        "cp README.md copy.md && mv copy.md moved.md",
        "touch 'a b' $'new\\nline'",
    ] {
        let ran = project.line("implementing", line);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(project.path().join("config.yml")).unwrap(), "name: other\n");
    assert_eq!(fs::read_to_string(project.path().join("new/deep/file")).unwrap(), "x\n");
    assert!(fs::read_to_string(project.path().join("greeting.py")).unwrap().contains("Hi, "));
    assert!(project.path().join("new\nline").exists() && project.path().join("moved.md").exists());

    let outside = outside.display();
    for line in [
        format!("echo x > {outside}/made"),
        format!("echo x >> {outside}/kept"),
        "echo x > ../outside/made".to_owned(),
        format!("ln -s {outside} link && echo x > link/made"),
        format!("cp README.md {outside}/"),
        format!("touch {outside}/kept"),
        "echo x > ~/.bashrc".to_owned(),
        "echo x > ~/.ssh/authorized_keys".to_owned(),
        "echo x > /etc/swbox-it".to_owned(),
        "echo x > .git/config".to_owned(),
        "echo x > .git/hooks/post-checkout".to_owned(),
    ] {
        // Some succeed in a private place; what counts is what is there afterwards.
        project.line("implementing", &line);
        assert_eq!(project.surroundings(), around, "{line}");
        assert!(!Path::new("/etc/swbox-it").exists());
    }
    assert!(!project.path().join(".git/hooks/post-checkout").exists());
    project.git(&["status"]);
}

#[test]
fn what_a_command_plants_for_others_is_told() {
    let project = Project::new();
    fs::create_dir_all(project.path().join("web/.vscode")).unwrap();
    fs::write(project.path().join("web/.vscode/tasks.json"), "{}").unwrap();
    let plant = "mkdir -p new.git/objects new.git/refs; echo 'ref: refs/heads/x' > new.git/HEAD; \
                 printf '[core]\\nfsmonitor = id\\n' > new.git/config; echo x > .envrc; \
                 mkdir -p web/.vscode; echo x >> web/.vscode/tasks.json";
    let told = project.line("implementing", plant);
    // What git would run is taken out of its sight, and that is a failure; what others run is told.
    assert_eq!(told.code, 125, "{told:?}");
    assert!(!project.path().join("new.git/config").exists());
    for part in [
        "planted-config: ",
        "new.git/config (core.fsmonitor)",
        ".envrc is new",
        "web/.vscode is new or was changed",
    ] {
        assert!(told.stderr.contains(part), "{part}: {told:?}");
    }
    let project = Project::new();
    let (_, answer) = project.json("implementing", plant);
    assert_eq!(answer["jail"]["planted"][0]["setting"], "core.fsmonitor", "{answer}");
    let appeared = |at: usize| answer["jail"]["appeared"][at].as_str().unwrap();
    assert!(appeared(0).ends_with("/.envrc") && appeared(1).ends_with("/web/.vscode"), "{answer}");
}

#[test]
fn a_search_path_that_a_builtin_or_a_loop_sets_is_no_way_to_an_own_program() {
    let project = Project::new();
    let made = project.line("implementing", "printf '#!/bin/sh\\necho own program\\n' > git; chmod +x git");
    assert_eq!(made.code, 0, "{made:?}");
    for line in [
        "printf -v PATH .; git commit -m x",
        "read PATH <<< .; git commit -m x",
        "for PATH in .; do git commit -m x; done",
        "unset PATH; git commit -m x",
    ] {
        let refused = project.line("committing", line);
        assert_eq!((refused.code, refused.stdout.as_str()), (126, ""), "{line}: {refused:?}");
    }
}

#[test]
fn testing_runs_the_tests_and_changes_nothing() {
    let project = Project::new();
    let before = project.tree();
    let mut runs = vec![("python3", "python3 -m unittest -q"), ("make", "make check")];
    runs.push(("node", "npm test"));
    runs.push(("cargo", "cargo test --offline -q"));
    for (program, line) in runs {
        if !has("testing_runs_the_tests_and_changes_nothing", program) {
            continue;
        }
        let ran = project.line("testing", line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        assert_eq!(project.tree(), before, "{line} left something in the tree");
    }
    let broken = project.line("testing", "python3 -c 'import sys; sys.exit(3)'");
    assert_eq!(broken.code, 3, "{broken:?}");
}

#[test]
fn testing_does_not_let_a_test_change_the_code() {
    if !has("testing_does_not_let_a_test_change_the_code", "python3") {
        return;
    }
    let project = Project::new();
    let before = project.tree();
    let ran = project.line(
        "testing",
        "python3 -c \"open('greeting.py','w').write('x'); import os; os.remove('README.md'); print(open('greeting.py').read())\"",
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "x\n"), "{ran:?}");
    assert_eq!(project.tree(), before);
}

#[test]
fn review_cannot_change_a_file() {
    let project = Project::new();
    let before = project.tree();
    for line in [
        "echo x > config.yml",
        "sed -i s/a/b/ config.yml",
        "rm config.yml",
        "git checkout -- .",
        "python3 -c 'open(\"x\",\"w\")'",
        "make",
    ] {
        let ran = project.line("review", line);
        assert_eq!(ran.code, 126, "{line}: {ran:?}");
    }
    assert_eq!(project.line("review", "git diff HEAD~1 && cat README.md").code, 0);
    assert_eq!(project.tree(), before);
}

#[test]
fn committing_adds_and_commits_and_does_not_push() {
    let project = Project::new();
    fs::write(project.path().join("config.yml"), "name: fixed\n").unwrap();
    fs::write(project.path().join("new file"), "x\n").unwrap();
    assert_eq!(project.line("committing", "git status --short").stdout, " M config.yml\n?? \"new file\"\n");
    let added = project.line("committing", "git add config.yml 'new file'");
    assert_eq!((added.code, added.stderr.as_str()), (0, ""), "{added:?}");
    let committed = project
        .line("committing", "git commit -q -m \"$(cat <<'EOF'\nFix the name\n\nIt was wrong.\nEOF\n)\"");
    assert_eq!((committed.code, committed.stderr.as_str()), (0, ""), "{committed:?}");
    assert_eq!(project.git(&["log", "-1", "--format=%s|%an|%ae"]), "Fix the name|Test|t@example.org\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");

    let bare = project.outside().join("remote.git");
    project.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    project.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    for line in [
        "git push origin main",
        "git push --force",
        "git reset --hard HEAD~1",
        "git branch -D main",
        "git rebase HEAD~1",
        "echo x > f",
    ] {
        let ran = project.line("committing", line);
        assert_eq!(ran.code, 126, "{line}: {ran:?}");
    }
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "Fix the name\n");
}

/// A state that may do everything in the workspace and its repository.
const WHOLE: &str = r#"{"id":"w","initial":"work","states":{
    "work":{"allowed_tools":["Read","Write","Bash","__DESTRUCTIVE__","__GIT_WRITE__"],"on":{"END":"failed"}},
    "failed":{"type":"final"}}}"#;

/// Its list of steps may have programs run: who brings the list has no right to write what git writes.
#[test]
fn a_rebase_with_an_editor_of_the_commands_own_changes_no_repository() {
    let project = Project::new();
    project.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let file = project.outside().join("rebase.json");
    fs::write(&file, WHOLE).unwrap();
    let before = project.git(&["rev-parse", "HEAD"]);
    let editor = "printf 'exec touch .git/refs/x made\\n' >";
    for line in [
        format!("GIT_SEQUENCE_EDITOR=\"{editor}\" git rebase -i --root"),
        format!("git -c sequence.editor=\"{editor}\" rebase -i --root"),
        format!("EDITOR=\"{editor}\" git rebase -i --root"),
        "git rebase -x 'touch .git/refs/x made' --root".to_owned(),
    ] {
        let ran = project.swbox(&["exec", "--workflow", file.to_str().unwrap(), "-c", &line]);
        assert!(ran.code != 0 && ran.stderr.contains("Read-only file system"), "{line}: {ran:?}");
        assert_eq!(project.git(&["rev-parse", "HEAD"]), before, "{line}");
        let made =
            [".git/refs/x", ".git/rebase-merge", "made"].map(|path| project.path().join(path).exists());
        assert_eq!(made, [false; 3], "{line}");
    }
    // The twin: git alone. Signed, so that the commits are others also within the same second.
    let line = "git rebase -q --root --signoff";
    let ran = project.swbox(&["exec", "--workflow", file.to_str().unwrap(), "-c", line]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_ne!(project.git(&["rev-parse", "HEAD"]), before);
}

/// A git directory that is writable is so for the whole line: for the hand of another program too, by whatever name.
#[test]
fn what_changes_files_beside_git_changes_no_git_directory() {
    let project = Project::new();
    let file = project.outside().join("mixed.json");
    fs::write(&file, WHOLE).unwrap();
    fs::write(project.path().join("new"), "x").unwrap();
    std::os::unix::fs::symlink(".git", project.path().join("link")).unwrap();
    let run = |line: &str| project.swbox(&["exec", "--workflow", file.to_str().unwrap(), "-c", line]);
    let state = || {
        (
            project.git(&["rev-parse", "HEAD"]),
            project.git(&["fsck", "--full"]),
            project.git(&["diff", "--cached"]),
        )
    };
    let before = state();
    for line in [
        "rm -rf .git; git add new",
        "git add new; find .git/objects -type f -delete",
        "cp new link/HEAD; git add new",
        "git add new > link/HEAD",
        "{ git add new; } > link/HEAD",
        "sed -i s/refs/other/ .git/HEAD && git add new",
        "f=.git/HEAD; echo x > $f; git add new",
    ] {
        let ran = run(line);
        assert!(ran.stderr.contains("Read-only file system"), "{line}: {ran:?}");
        assert_eq!(state(), before, "{line}");
    }
    let ran = run("touch other && git add new");
    assert!(ran.stderr.contains("send the git commands as a line of their own"), "{ran:?}");
    // The twin: git, and beside it what only reads.
    let ran = run(
        "cat new | head -1 && git add new 2>/dev/null && git commit -qm new && git log --oneline | head -1",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_ne!(state(), before);
}

#[test]
fn a_git_link_out_of_the_workspace_is_named() {
    let project = Project::new();
    let moved = project.outside().join("moved.git");
    fs::rename(project.path().join(".git"), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, project.path().join(".git")).unwrap();
    fs::write(project.path().join("new"), "x").unwrap();
    let before = project.surroundings();
    let ran = project.line("committing", "git add new");
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("git_outside") && ran.stderr.contains("moved.git"), "{ran:?}");
    assert_eq!(project.surroundings(), before);
}

#[test]
fn a_final_state_runs_nothing() {
    let project = Project::new();
    for line in ["true", "ls", "cat README.md", "echo x", "python3 -c 1"] {
        let ran = project.line("completed", line);
        assert_eq!(ran.code, 126, "{line}");
        assert!(ran.stderr.contains("final"), "{ran:?}");
    }
}

#[test]
fn secrets_environment_and_git_helpers_stay_outside() {
    let project = Project::new();
    let mut command = project.command(&[
        "exec",
        "--state",
        "testing",
        "-c",
        "cat ~/.ssh/id_ed25519 ~/.npmrc; env; git config user.name; git config credential.helper; git config alias.pwn; true",
    ]);
    command
        .env("AWS_SECRET_ACCESS_KEY", "LEAK1")
        .env("MY_TOKEN", "LEAK2")
        .env("LC_TIME", "C")
        .env("LD_PRELOAD", "/x.so");
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    for leak in ["SECRET", "LEAK1", "LEAK2", "LD_PRELOAD", "store", "pwned"] {
        assert!(!ran.stdout.contains(leak), "{leak}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("LC_TIME=C\n") && ran.stdout.contains("\nTest\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("HOME={}\n", project.home().display())), "{}", ran.stdout);
}

#[test]
fn a_state_sets_and_blocks_variables() {
    let project = Project::new();
    let workflow = project.outside().join("env.json");
    fs::write(
        &workflow,
        r#"{"id":"env","initial":"work","states":{"work":{"allowed_tools":["Bash"],"env_overrides":{"STAGE":"a b"},"blocked_env":["TZ","LC_*"],"on":{"END":"failed"}},"failed":{"type":"final"}}}"#,
    )
    .unwrap();
    let mut command = project.command(&[
        "exec",
        "--workflow",
        workflow.to_str().unwrap(),
        "-c",
        "echo \"$STAGE|$TZ|$LC_TIME|$LANG\"",
    ]);
    command.env("TZ", "UTC").env("LC_TIME", "C").env("LANG", "C.UTF-8");
    assert_eq!(ran(command.output().unwrap()).stdout, "a b|||C.UTF-8\n");
}

#[test]
fn testing_writes_below_its_private_tmp_and_a_link_there_leads_to_no_write() {
    let project = Project::new();
    let before = project.tree();
    for line in [
        "echo hello > /tmp/swbox-log && cat /tmp/swbox-log && rm /tmp/swbox-log",
        "sort README.md | tee /tmp/swbox-sorted | head -1 && test -s /tmp/swbox-sorted",
        "mktemp && mktemp -d && mktemp -p /dev/shm",
        "mkdir -p /tmp/a && cp README.md /tmp/a/ && chmod 600 /tmp/a/README.md && cmp README.md /tmp/a/README.md",
    ] {
        let ran = project.line("testing", line);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
        assert_eq!(project.line("planning", line).code, 126, "{line}");
    }
    assert!(!Path::new("/tmp/swbox-sorted").exists());
    let here = project.path();
    let link = format!("ln -s {}/src /tmp/s && echo owned > /tmp/s/lib.rs && cat src/lib.rs", here.display());
    let ran = project.line("testing", &link);
    // The layer takes the write and goes away with it.
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "owned\n"), "{ran:?}");
    assert_eq!(project.tree(), before);
    let workflow = project.outside().join("deleting.json");
    fs::write(
        &workflow,
        r#"{ "id": "deleting", "initial": "s", "states": { "end": { "type": "final" },
            "s": { "allowed_tools": ["Read", "Bash", "delete_file"], "on": { "DONE": "end" } } } }"#,
    )
    .unwrap();
    let run = |line: &str| project.swbox(&["exec", "--workflow", workflow.to_str().unwrap(), "-c", line]);
    assert_eq!(run(&link).code, 0);
    assert_eq!(project.tree(), before, "the right to delete became one to write");
    assert_eq!(run("rm CHANGES").code, 0);
    assert!(!here.join("CHANGES").exists());
}
