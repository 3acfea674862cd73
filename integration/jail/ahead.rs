//! What is begun before the law and the command are known, and what sets itself up beside something else.

use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "ahead: no path leads to the old root while it is let go of",
        needs: "userns",
        run: old_root,
    },
    Case {
        name: "ahead: a law is read where swbox was called, whatever that place lets be searched",
        needs: "userns",
        run: law,
    },
    Case { name: "ahead: a large law is read beside what is begun", needs: "userns", run: large },
    Case {
        name: "ahead: the command has the processors of whoever called it",
        needs: "userns",
        run: processors,
    },
    Case { name: "ahead: few descriptors are enough", needs: "userns", run: descriptors },
];

/// The program, as a person calls it.
fn swbox(place: &Place, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swbox"));
    command.args(words);
    as_person(&mut command, place);
    command
}

fn as_person(command: &mut Command, place: &Place) {
    command.env_clear().env("HOME", place.path("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
}

fn said(output: &Output) -> String {
    format!(
        "{:?} {}{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The working directory is a link up to the root by the time it is entered. Whether it is while the old root is there is a race:
/// of as many tries some were lost.
fn old_root() -> Verdict {
    let place = Place::new();
    let secret = place.write("secret", "of the host");
    let up = "../".repeat(secret.components().count() + 4);
    symlink(&up, place.path("w/sub")).unwrap();
    let below = secret.strip_prefix("/").unwrap();
    check!(std::fs::read(place.path("w/sub").join(below)).is_ok(), "twin: the link leads to the host's root");
    let script = format!("pwd; cat ./{0}; cat ../{0}; echo x > ./{0}; ls -a", below.display());
    for turn in 0..150 {
        let jail =
            if turn % 2 == 0 { Jail::read(&place.workspace()) } else { Jail::write(&place.workspace()) };
        let jail = jail.with(|spec| spec.cwd = place.path("w/sub"));
        match jail.launch(&["sh", "-c", &script]) {
            Ok(done) => check!(!done.out.contains("of the host"), "{}", done.all()),
            // It may be no directory any more.
            Err(problem) => check!(problem.code == "setup_cwd", "{problem}"),
        }
    }
    check!(std::fs::read(&secret).unwrap() == b"of the host", "the host's file was written");
    Verdict::Passed
}

const LAW: &str = r#"{"id": "planted", "initial": "only", "states": {
    "only": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "done"}}, "done": {"type": "final"}}}"#;

/// A relative file is the caller's, not the workspace's, also where the caller cannot go back to where it is.
fn law() -> Verdict {
    let place = Place::new();
    place.write("w/law.json", LAW);
    place.write("here/none", "");
    for closed in [false, true] {
        let close = if closed { "chmod 000 .; " } else { "" };
        let line = format!("cd \"$1\" && {close}shift && exec \"$@\"");
        let workspace = place.workspace();
        let words =
            ["exec", "--workspace", workspace.to_str().unwrap(), "--workflow", "./law.json", "--", "true"];
        let called = swbox(&place, &words);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &line, "sh"])
            .arg(place.path("here"))
            .arg(called.get_program())
            .args(called.get_args());
        as_person(&mut shell, &place);
        let output = shell.output().unwrap();
        check!(output.status.code() == Some(125), "closed {closed}: {}", said(&output));
        check!(said(&output).contains("workflow"), "closed {closed}: {}", said(&output));
    }
    let output = swbox(&place, &["exec", "--workflow", "./law.json", "--", "true"])
        .current_dir(place.workspace())
        .output()
        .unwrap();
    check!(output.status.code() == Some(0), "twin: {}", said(&output));
    Verdict::Passed
}

fn large() -> Verdict {
    let place = Place::new();
    for (commands, scratch) in [(20_000, ""), (20_000, r#", "jail": {"limits": {"scratch": "64MiB"}}"#)] {
        let commands: Vec<String> = (0..commands).map(|number| format!("\"tool{number}:*\"")).collect();
        let law = format!(
            r#"{{"id": "large", "initial": "only", "states": {{"only": {{"allowed_tools": ["Read", "Bash"],
            "allowed_commands": ["echo:*", {}]{scratch}, "on": {{"DONE": "done"}}}}, "done": {{"type": "final"}}}}}}"#,
            commands.join(", ")
        );
        let law = place.write("large.json", &law);
        for _ in 0..3 {
            let output = swbox(&place, &["exec", "--workflow", law.to_str().unwrap(), "--", "echo", "ran"])
                .current_dir(place.workspace())
                .output()
                .unwrap();
            check!(output.status.code() == Some(0) && output.stdout == b"ran\n", "{}", said(&output));
        }
    }
    Verdict::Passed
}

/// What is begun ahead is sent to the other processors; the command is not.
fn processors() -> Verdict {
    let place = Place::new();
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|number| own.is_set(*number)).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    one.set(first);
    for (allowed, count) in [(own, own.count()), (one, 1)] {
        rustix::thread::sched_setaffinity(None, &allowed).unwrap();
        for words in [["exec", "--", "nproc"], ["exec", "-c", "nproc"]] {
            let output = swbox(&place, &words).current_dir(place.workspace()).output().unwrap();
            let found = String::from_utf8_lossy(&output.stdout).trim().parse::<u32>();
            check!(found == Ok(count), "of {count}: {}", said(&output));
        }
    }
    rustix::thread::sched_setaffinity(None, &own).unwrap();
    Verdict::Passed
}

/// What is kept open for a while is not kept where a process may have few.
fn descriptors() -> Verdict {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_swbox");
    for allowed in [48, 64, 128, 256] {
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("ulimit -n {allowed}; exec {program} exec --state planning -- echo ran")]);
        as_person(&mut command, &place);
        let output = command.current_dir(place.workspace()).output().unwrap();
        check!(output.status.code() == Some(0) && output.stdout == b"ran\n", "{allowed}: {}", said(&output));
    }
    Verdict::Passed
}
