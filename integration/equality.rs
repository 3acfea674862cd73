//! Commands that agents really ran, executed bare and jailed in a workspace that has something for them: the same exit
//! code and the same output. What may differ is in `comparable` and in the filter of what runs anywhere; all else is a fault.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod project;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use project::{Project, Ran};
use serde_json::Value;

const CORPUS: &str = include_str!("../tests/corpus/agent-commands.jsonl");

/// Programs that are on any host, and whose answer depends on the workspace alone.
const ANYWHERE: &[&str] = &[
    "awk", "basename", "bash", "cat", "cd", "cp", "cut", "diff", "dirname", "echo", "false", "find", "git",
    "grep", "head", "ls", "mkdir", "mv", "nl", "printf", "pwd", "python", "python3", "rm", "rmdir", "sed",
    "sort", "tail", "tee", "test", "touch", "tr", "true", "uniq", "wc", "which", "xargs",
];

/// One state that has every right an agent's ordinary command asks for, for what `planning` refuses.
const OPEN: &str = r#"{ "id": "open", "initial": "open", "states": {
    "open": { "allowed_tools": ["Read", "Write", "Edit", "delete_file", "Bash", "__DESTRUCTIVE__", "git_status",
        "git_log", "git_diff", "git_add", "git_commit", "__GIT_WRITE__"], "on": { "DONE": "done" } },
    "done": { "type": "final" } } }"#;

/// The commands that can run anywhere, spread evenly over the corpus.
fn commands(most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let fit: Vec<String> = CORPUS
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["cmd"].as_str().map(str::to_owned))
        .filter(|command| runs_anywhere(command) && seen.insert(command.clone()))
        .collect();
    let take = most.min(fit.len());
    (0..take).map(|index| fit[index * fit.len() / take].clone()).collect()
}

fn runs_anywhere(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    // A place of somebody else's machine says nothing here, and the clock is never the same twice.
    ANYWHERE.contains(&first)
        && ![
            "/testbed", "/home/", "/root", "/usr/", "/proc", "/tmp", "cd /", "find /", "ls /", "time.",
            "date", "random",
        ]
        .iter()
        .any(|elsewhere| command.contains(elsewhere))
        && ![
            "curl",
            "wget",
            "pip ",
            "ssh",
            "sudo",
            "apt",
            "./",
            "ps aux",
            "id(",
            "getpid",
            "pytest",
            "object at",
        ]
        .iter()
        .any(|other| command.contains(other))
}

/// Words of a command that look like files of the workspace.
fn files(command: &str) -> impl Iterator<Item = &str> {
    command.split(|sign: char| sign.is_whitespace() || "'\"`;|&()<>,=:".contains(sign)).filter(|word| {
        let path = Path::new(word);
        word.len() < 120
            && path.is_relative()
            && !word.starts_with('-')
            && path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
            && path.extension().is_some_and(|ending| {
                ending.len() < 6 && ending.as_encoded_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            })
    })
}

/// The files that the commands name, each long enough for `sed -n 300,320p` and with the commands' words in it.
fn furnish(project: &Project, commands: &[String]) {
    for command in commands {
        for file in files(command) {
            let path = project.path().join(file);
            if path.exists() || path.parent().is_none_or(|parent| fs::create_dir_all(parent).is_err()) {
                continue;
            }
            // Single words and whole quoted patterns, so that a `grep` finds something.
            let words: Vec<&str> = command
                .split(['"', '\''])
                .chain(command.split(['"', '\'', '|', ' ']))
                .filter(|word| !word.trim().is_empty())
                .collect();
            let mut text = String::from("print('ran')\n");
            for line in 1..=2200 {
                text += &format!("# {line} {}\n", words[line % words.len()].replace('\n', " "));
            }
            // `a/` may be a directory already made for `a/b.py`.
            if fs::write(&path, text).is_err() {
                assert!(file.ends_with('/'), "{file}");
            }
        }
    }
    project.git(&["add", "-A", "-f"]);
    project.git(&["commit", "-q", "-m", "Files that the commands name"]);
}

/// The workspace as it was.
fn restore(project: &Project) {
    if !project.git(&["status", "--porcelain", "--ignored"]).is_empty() {
        project.git(&["reset", "-q", "--hard", "furnished"]);
        project.git(&["clean", "-q", "-fdx"]);
    }
}

/// The lines, without those that name the directory above, which is another one inside, and of `ls -l` the time.
fn comparable(ran: &Ran) -> (i32, Vec<String>) {
    let lines = ran.stdout.lines().filter(|line| !line.ends_with(" ..")).map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listing = fields.len() >= 9 && fields[0].len() >= 10 && "d-l".contains(&fields[0][..1]);
        if listing { format!("{} {:?}", fields[0], &fields[8..]) } else { line.to_owned() }
    });
    (ran.code, lines.collect())
}

fn equal(most: usize) {
    let commands = commands(most);
    assert_eq!(commands.len(), most, "the corpus has fewer that run anywhere");
    let project = Project::new();
    furnish(&project, &commands);
    project.git(&["tag", "furnished"]);
    let workflow = project.outside().join("open.json");
    fs::write(&workflow, OPEN).unwrap();
    let (mut speaking, mut planning, mut open, mut refused) = (0, 0, 0, 0);
    let mut differ = Vec::new();
    for command in &commands {
        let bare = project.bare(command);
        restore(&project);
        let mut inside = project.line("planning", command);
        if inside.code == 126 && inside.stderr.contains("swbox: ") {
            inside = project.swbox(&["exec", "--workflow", workflow.to_str().unwrap(), "-c", command]);
            open += 1;
        } else {
            planning += 1;
        }
        restore(&project);
        speaking += usize::from(!bare.stdout.is_empty());
        if comparable(&bare) == comparable(&inside) && bare.stderr.is_empty() == inside.stderr.is_empty() {
            continue;
        }
        if inside.stderr.contains("swbox: forbidden") {
            // A line that is meant to be refused everywhere has no output to compare.
            println!("refused: {command}: {}", inside.stderr);
            refused += 1;
        } else {
            differ.push(format!("{command}\n  bare   {bare:?}\n  inside {inside:?}\n"));
        }
    }
    println!(
        "{} commands, {speaking} with output: {planning} in planning, {open} in the open state; {refused} refused, {} differ",
        commands.len(),
        differ.len()
    );
    assert!(differ.is_empty(), "{}", differ.concat());
    // Edits, removals and searches without a hit say nothing, bare either.
    assert!(speaking * 3 > commands.len(), "only {speaking} say anything");
    assert!(refused * 50 <= commands.len(), "{refused} refused");
}

#[test]
fn a_hundred_commands_of_agents_say_the_same_inside() {
    equal(100);
}

#[test]
#[ignore = "minutes: cargo test --test equality -- --ignored"]
fn five_hundred_commands_of_agents_say_the_same_inside() {
    equal(500);
}
