//! Interrupts fire on what was really written, by whatever program, once a command, and not in their own handler.

use std::fs;

use crate::kit::{good, has_person, journal, line, replays, start, state, workflow};
use crate::project::Project;

const WORKFLOW: &str = r#"{"id": "watched", "initial": "working",
  "interrupts": {"RUST": {"trigger": {"file_pattern": "many/*.rs"}, "target": "handling"},
                 "NESTED": {"trigger": {"file_pattern": "notes/**"}, "target": "deeper"}},
  "states": {
    "working": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "completed", "FAIL": "failed"}},
    "handling": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"HANDLED": "$return", "FAIL": "failed"}},
    "deeper": {"allowed_tools": ["Read", "Write"], "on": {"OUT": "$return", "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

fn fired(project: &Project, id: &str) -> usize {
    let moves = journal(project, id);
    let records =
        moves.iter().flat_map(|entry| entry["body"]["records"].as_array().cloned().unwrap_or_default());
    records.filter(|record| record["fact"] == "moved" && record["cause"] == "interrupt").count()
}

#[test]
fn three_hundred_files_fire_one_interrupt_and_the_handler_none() {
    if !has_person("three_hundred_files_fire_one_interrupt_and_the_handler_none") {
        return;
    }
    let project = Project::new();
    fs::create_dir(project.path().join("many")).unwrap();
    for number in 0..300 {
        fs::write(project.path().join(format!("many/f{number}.rs")), "fn f() {}\n").unwrap();
    }
    let id = start(&project, &["--workflow", &workflow(&project, "w.json", WORKFLOW)]);
    good(&project, "echo x > other.txt");
    assert_eq!(state(&project), "working");
    // As a formatter does: every file anew, by a program whose text shows nothing.
    let ran = line(
        &project,
        "python3 -c \"import pathlib; [p.write_text('fn f(){}') for p in pathlib.Path('many').glob('*.rs')]\"",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((state(&project).as_str(), fired(&project, &id)), ("handling", 1));
    good(&project, "echo 'fn g() {}' >> many/f1.rs");
    assert_eq!((state(&project).as_str(), fired(&project, &id)), ("handling", 1), "its own handler");
    // Nested, and back the same way.
    good(&project, "mkdir notes && echo x > notes/a");
    assert_eq!(state(&project), "deeper");
    good(&project, "swbox transition OUT");
    assert_eq!(state(&project), "handling");
    good(&project, "swbox transition HANDLED");
    assert_eq!((state(&project).as_str(), fired(&project, &id)), ("working", 2));
    // Reading and failing to write fire nothing.
    good(&project, "cat many/*.rs > /dev/null");
    assert_ne!(line(&project, "false && echo x > many/f1.rs").code, 0);
    assert_eq!(state(&project), "working");
    replays(&project, &id);
}

#[test]
fn files_of_the_throw_away_layer_do_not_count() {
    if !has_person("files_of_the_throw_away_layer_do_not_count") {
        return;
    }
    let project = Project::new();
    let text = WORKFLOW.replace(
        "[\"Read\", \"Write\", \"Bash\"], \"on\": {\"DONE\"",
        "[\"Read\", \"run_test\"], \"on\": {\"DONE\"",
    );
    let id = start(&project, &["--workflow", &workflow(&project, "w.json", &text)]);
    good(&project, "python3 -c \"import os; os.mkdir('many'); open('many/f.rs', 'w').write('x')\"");
    assert_eq!(state(&project), "working");
    assert!(!project.path().join("many").exists());
    assert_eq!(fired(&project, &id), 0);
}

#[test]
fn a_formatter_over_three_hundred_files_fires_one_interrupt() {
    let test = "a_formatter_over_three_hundred_files_fires_one_interrupt";
    if !has_person(test) || !crate::project::has(test, "cargo") || !crate::project::has(test, "rustfmt") {
        return;
    }
    let project = Project::new();
    let many = project.path().join("src/many");
    fs::create_dir_all(&many).unwrap();
    let mut modules = String::new();
    for number in 0..300 {
        fs::write(many.join(format!("f{number}.rs")), "pub fn f( ) {  }\n").unwrap();
        modules.push_str(&format!("pub mod f{number};\n"));
    }
    fs::write(many.join("mod.rs"), modules).unwrap();
    let library = project.path().join("src/lib.rs");
    let text = fs::read_to_string(&library).unwrap();
    fs::write(&library, format!("{text}\npub mod many;\n")).unwrap();
    let id = start(
        &project,
        &["--workflow", &workflow(&project, "w.json", &WORKFLOW.replace("many/*.rs", "src/many/*.rs"))],
    );
    let ran = line(&project, "cargo fmt");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(many.join("f299.rs")).unwrap(), "pub fn f() {}\n");
    assert_eq!((state(&project).as_str(), fired(&project, &id)), ("handling", 1));
    let told: Vec<_> = journal(&project, &id)
        .into_iter()
        .filter(|entry| entry["body"].to_string().contains("f299.rs"))
        .collect();
    assert_eq!(told.len(), 1, "all of them in one entry");
    // Again there is nothing to format, and nothing fires.
    assert_eq!(line(&project, "cargo fmt").code, 0);
    good(&project, "swbox transition HANDLED");
    assert_eq!((state(&project).as_str(), fired(&project, &id)), ("working", 1));
    replays(&project, &id);
}
