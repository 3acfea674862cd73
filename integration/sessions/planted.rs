//! A command that leaves something by which git would run a program parks the session until a person has looked.

use crate::kit::{good, has_person, journal, line, person, replays, start, state, waiting, workflow};
use crate::project::Project;

const WORKFLOW: &str = r#"{"id": "open", "initial": "working", "states": {
    "working": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"DONE": "completed", "FAIL": "failed"}},
    "completed": {"type": "final"}, "failed": {"type": "final"}}}"#;

/// Git by a program whose text does not show it.
fn git(commands: &[&str]) -> String {
    let runs: Vec<String> =
        commands.iter().map(|words| format!("subprocess.run('git {words}'.split(), check=True)")).collect();
    format!("python3 -c \"import subprocess; {}\"", runs.join("; "))
}

#[test]
fn planted_configuration_parks_the_session() {
    let test = "planted_configuration_parks_the_session";
    if !has_person(test) || !crate::project::has(test, "git") {
        return;
    }
    let project = Project::new();
    let id = start(&project, &["--workflow", &workflow(&project, "open.json", WORKFLOW)]);
    // The twin: a repository without anything that runs.
    good(&project, &git(&["init -q harmless"]));
    assert!(waiting(&project, &id).is_empty());
    let plant =
        |name: &str| git(&[&format!("init -q {name}"), &format!("-C {name} config core.fsmonitor ./run")]);
    let planted = line(&project, &plant("sub"));
    assert!(planted.code == 125 && planted.stderr.contains("planted-config"), "{planted:?}");
    for held in ["cat README.md", "swbox transition DONE"] {
        let refused = line(&project, held);
        assert_eq!(refused.code, 126, "{refused:?}");
        let said = refused.stdout.clone() + &refused.stderr;
        assert!(said.contains("planted_config") && said.contains("fsmonitor"), "{refused:?}");
    }
    assert_eq!(state(&project), "working");
    let approval = waiting(&project, &id).pop().unwrap();
    assert!(journal(&project, &id).iter().any(|entry| {
        let records = entry["body"]["records"].to_string();
        records.contains("parked") && records.contains("planted-config")
    }));
    // The agent is told why nothing goes on, and who can help.
    let told = good(&project, "swbox state");
    for part in ["parked   a command left", "core.fsmonitor", &format!("swbox approve {approval}")] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let alarm = crate::kit::json(&project, &["state", "--json"])["handout"]["alarm"].clone();
    assert_eq!(alarm[0], approval.as_str());
    // No agent answers it.
    assert_eq!(line(&project, &format!("swbox approve {approval}")).code, 126);
    assert_eq!(line(&project, "cat README.md").code, 126);
    let seen = person(&project, &["approve", &approval], &[("Type \"working\"", "working")]);
    assert!(seen.code == 0 && seen.output.contains("core.fsmonitor"), "{seen:?}");
    good(&project, "cat README.md");
    // A no is the end of it.
    assert_eq!(line(&project, &plant("other")).code, 125);
    let approval = waiting(&project, &id).pop().unwrap();
    let seen = person(&project, &["reject", &approval, "--reason", "not mine"], &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let over = line(&project, "cat README.md");
    assert!(over.code == 126 && over.stderr.contains("session_over"), "{over:?}");
    replays(&project, &id);
}
