//! `swbox bash` as the bash that it stands in for: scripts of every kind, run by both, give the same output, errors and
//! exit code, given as a line, as a file and on standard input.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod project;

use std::fs;
use std::path::Path;

use project::{Project, Ran, with_input};

const SCRIPTS: &str = include_str!("drop_in/scripts.txt");

/// A state that has every right a script may ask for.
const OPEN: &str = r#"{ "id": "open", "initial": "open", "states": {
    "open": { "allowed_tools": ["Read", "Write", "Edit", "delete_file", "Bash", "__DESTRUCTIVE__"], "on": { "DONE": "done" } },
    "done": { "type": "final" } } }"#;

fn scripts() -> Vec<&'static str> {
    let all: Vec<&str> = SCRIPTS.split("---\n").skip(1).filter(|script| !script.is_empty()).collect();
    assert!(all.len() >= 150, "{}", all.len());
    all
}

/// What both must agree on; a signal is the code that a shell gives it.
fn seen(ran: &Ran) -> (i32, &str, &str) {
    (if ran.code > 1000 { ran.code - 872 } else { ran.code }, &ran.stdout, &ran.stderr)
}

/// How the script is given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    Line,
    File,
    Input,
}

/// The arguments of bash, and its standard input.
fn arguments(given: Given, script: &str) -> (Vec<String>, Vec<u8>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match given {
        Given::Line => (words(&["-c", script]), b"first line\nsecond line\n".to_vec()),
        Given::File => (words(&["script.sh", "one", "two words"]), b"first line\nsecond line\n".to_vec()),
        Given::Input => (words(&["-s", "one", "two words"]), script.as_bytes().to_vec()),
    }
}

fn agree(given: Given, every: usize) {
    use std::os::unix::process::CommandExt;
    let project = Project::new();
    let workflow = project.outside().join("open.json");
    fs::write(&workflow, OPEN).unwrap();
    let scratch = project.path().join("scratch");
    let fresh = |script: &str| {
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir(&scratch).unwrap();
        fs::write(project.path().join("script.sh"), script).unwrap();
    };
    let mut wrong = Vec::new();
    for script in scripts().into_iter().step_by(every) {
        // Both write at the same place, which is the test's own.
        let script = script.replace("/tmp", scratch.to_str().unwrap());
        let (args, input) = arguments(given, &script);
        fresh(&script);
        let mut bare = project.command_as(Path::new("/bin/bash"), &args);
        if given == Given::Line {
            bare.arg0("bash");
        }
        let expected = with_input(bare, &input);
        fresh(&script);
        let own = ["bash", "--workflow", workflow.to_str().unwrap()].map(str::to_owned);
        let found = with_input(project.command(&[&own[..], &args].concat()), &input);
        if seen(&expected) != seen(&found) {
            wrong.push(format!("{script}  bash   {expected:?}\n  swbox  {found:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} differ as {given:?}:\n{}", wrong.len(), wrong.concat());
}

#[test]
fn lines_do_as_in_bash() {
    agree(Given::Line, 1);
}

#[test]
fn script_files_do_as_in_bash() {
    agree(Given::File, 1);
}

#[test]
fn scripts_on_standard_input_do_as_in_bash() {
    agree(Given::Input, 1);
}

fn bash(project: &Project, state: &str, args: &[&str]) -> Ran {
    project.swbox(&[&["bash", "--state", state], args].concat())
}

#[test]
fn what_was_judged_is_what_runs() {
    let project = Project::new();
    let file = project.path().join("script.sh");
    // Its path holds a sealed copy: it neither changes itself, nor does what another writes there run.
    let text = "echo \"$0 $BASH_SOURCE $LINENO\"\nprintf 'echo owned\\n' >> script.sh\nrm -f script.sh\nsleep 0.2\necho end\n";
    fs::write(&file, text).unwrap();
    let workflow = project.outside().join("open.json");
    fs::write(&workflow, OPEN).unwrap();
    let ran = project.swbox(&["bash", "--workflow", workflow.to_str().unwrap(), "./script.sh"]);
    assert_eq!(ran.stdout, "./script.sh ./script.sh 1\nend\n", "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    // It may call itself, if the host's may be executed.
    use std::os::unix::fs::PermissionsExt;
    let again = "echo \"$# $1\"\n[ $# = 0 ] && ./script.sh again\nexit 4\n";
    fs::write(&file, again).unwrap();
    assert!(bash(&project, "testing", &["script.sh"]).stderr.contains("Permission denied"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = bash(&project, "testing", &["script.sh"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "0 \n1 again\n"), "{ran:?}");

    // Judged by its text: reading passes in planning, writing does not, and the words are bash's.
    fs::write(&file, "cat README.md | head -1\n").unwrap();
    assert_eq!(bash(&project, "planning", &["script.sh"]).stdout, "# The project\n");
    fs::write(&file, "echo x > README.md\n").unwrap();
    let refused = bash(&project, "planning", &["script.sh"]);
    assert_eq!(refused.code, 126);
    assert!(refused.stderr.contains("FileWrite: README.md"), "{refused:?}");
}

#[test]
fn scripts_from_elsewhere_and_odd_ones() {
    let project = Project::new();
    let outside = project.outside().join("tool.sh");
    fs::write(&outside, "echo \"$0\"; exit 3\n").unwrap();
    let ran = bash(&project, "planning", &[outside.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout), (3, format!("{}\n", outside.display())), "{}", ran.stderr);

    let missing = bash(&project, "testing", &["nothing.sh"]);
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (127, "bash: nothing.sh: No such file or directory\n")
    );
    let directory = bash(&project, "testing", &["src"]);
    assert_eq!((directory.code, directory.stderr.as_str()), (126, "bash: src: Is a directory\n"));

    // A secret is no script, whatever it would print of itself.
    for state in ["planning", "testing"] {
        let secret = bash(&project, state, &[project.home().join(".ssh/id_ed25519").to_str().unwrap()]);
        assert_eq!(secret.code, 125, "{secret:?}");
        assert!(!secret.stderr.contains("TOP SECRET") && secret.stdout.is_empty(), "{secret:?}");
    }

    // Long scripts, and those that are no UTF-8, are opaque: not for planning, and as bash runs them in testing.
    let file = project.path().join("odd.sh");
    let long =
        format!("{}echo long\n", "# a comment that is rather long and says nothing at all\n".repeat(1500));
    for (text, output) in [(long.as_bytes(), "long\n"), (b"# caf\xe9\necho latin\n", "latin\n")] {
        fs::write(&file, text).unwrap();
        let ran = bash(&project, "testing", &["odd.sh"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, output), "{ran:?}");
        assert_eq!(bash(&project, "planning", &["odd.sh"]).code, 126);
    }
    fs::write(&file, "\n\n").unwrap();
    assert_eq!(bash(&project, "planning", &["odd.sh"]).code, 0);

    // A long script on standard input, with what a command of it reads behind.
    let long = format!("{long}read line\ndata\necho \"$line\"\n");
    let ran = with_input(project.command(&["bash", "--state", "testing"]), long.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "long\ndata\n"), "{ran:?}");
}
