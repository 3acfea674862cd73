//! Directory and variables go from one command to the next, and nothing that steers goes where it must not.

use std::fs;

use crate::kit::{good, has_person, line, person, replays, start, workflow};
use crate::project::{Project, ran};

#[test]
fn directory_and_variables_carry_over() {
    if !has_person("directory_and_variables_carry_over") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", "ci"]);
    let workspace = project.path().canonicalize().unwrap();
    good(&project, "cd src && export FOO='a b' EMPTY=; BAR=not-exported");
    assert_eq!(good(&project, "pwd"), format!("{}\n", workspace.join("src").display()));
    assert_eq!(good(&project, "echo \"<$FOO><${EMPTY-unset}><$BAR>\""), "<a b><><>\n");
    // The status, the output and the trap of the line are the line's own.
    assert_eq!(line(&project, "cd ..; exit 7").code, 7);
    assert_eq!(good(&project, "pwd"), format!("{}\n", workspace.display()));
    let traced = line(&project, "set -x; cd src");
    assert_eq!(traced.stderr, "+ cd src\n", "{traced:?}");
    assert_eq!(good(&project, "cd /; trap 'echo bye' EXIT"), "bye\n");
    assert_eq!(good(&project, "unset FOO; trap -p; echo \"${BASH_ENV-none}\"").lines().last(), Some("none"));
    assert_eq!(good(&project, "echo \"${FOO-unset}\""), "unset\n");
    // A caller that moved starts where it is; a directory that is gone or outside is not carried.
    let mut command = project.command(&["bash", "-c", "pwd"]);
    command.current_dir(project.path().join("build"));
    assert_eq!(ran(command.output().unwrap()).stdout, format!("{}\n", workspace.join("build").display()));
    let outside = line(&project, "cd /usr");
    assert!(outside.stderr.contains("is not carried over"), "{outside:?}");
    assert_eq!(good(&project, "pwd"), format!("{}\n", workspace.display()));
    // A secret is neither carried nor written down.
    let secret = line(&project, "export MY_TOKEN=abcdefgh12345678");
    assert!(secret.stderr.contains("MY_TOKEN looks like a secret"), "{secret:?}");
    assert_eq!(good(&project, "echo \"<$MY_TOKEN>\""), "<>\n");
    replays(&project, &id);
}

const WORKFLOW: &str = r#"{"id": "steps", "initial": "building", "states": {
    "building": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"LOOK": "looking", "FAIL": "failed"},
        "env_overrides": {"FIXED": "by the workflow"}, "blocked_env": ["BLOCKED"]},
    "looking": {"allowed_tools": ["Read", "git_commit", "git_add", "git_status"], "on": {"DONE": "completed", "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

#[test]
fn what_steers_stays_where_anything_may_run() {
    if !has_person("what_steers_stays_where_anything_may_run") {
        return;
    }
    let project = Project::new();
    let file = workflow(&project, "steps.json", WORKFLOW);
    let id = start(&project, &["--workflow", &file]);
    // A virtual environment, as its script makes it.
    fs::create_dir_all(project.path().join("venv/bin")).unwrap();
    fs::write(
        project.path().join("venv/bin/activate"),
        "export VIRTUAL_ENV=\"$PWD/venv\"\nexport PATH=\"$VIRTUAL_ENV/bin:$PATH\"\n",
    )
    .unwrap();
    for name in ["tool", "cat", "git"] {
        let path = project.path().join("venv/bin").join(name);
        fs::write(&path, "#!/bin/sh\necho from the environment\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    good(&project, "source venv/bin/activate");
    assert_eq!(good(&project, "tool"), "from the environment\n");
    good(&project, "export FIXED=mine BLOCKED=mine");
    assert_eq!(good(&project, "echo \"$FIXED $BLOCKED\""), "by the workflow \n");
    // Where commands are known by name, the names mean what they meant.
    good(&project, "swbox transition LOOK");
    assert!(good(&project, "cat README.md").starts_with("# The project"));
    assert!(!good(&project, "git status --short").contains("environment"));
    assert!(good(&project, "echo $VIRTUAL_ENV").ends_with("venv\n"));
    assert_eq!(person(&project, &["session", "end", &id], &[]).code, 0);
    replays(&project, &id);
}
