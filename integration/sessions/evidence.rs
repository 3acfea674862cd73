//! What swbox runs itself for a transition: watched like every command, judged by the same rules, and unable to change
//! what it proves.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit::{good, has_person, journal, json, line, replays, start, state, workflow};
use crate::project::Project;

/// A session in a state that may write and run, which is left when `command` ends well.
fn asking(project: &Project, command: &str, rules: &str) -> String {
    let text = format!(
        r#"{{"id": "shown", "initial": "work", "rules": [{rules}], "states": {{
        "work": {{"allowed_tools": ["Read", "Write", "Bash"], "on": {{
            "PASS": {{"target": "next", "evidence": {{"command": "{command}", "exit_code": 0}}}}, "FAIL": "failed"}}}},
        "next": {{"allowed_tools": ["Read"], "on": {{"DONE": "completed", "FAIL": "failed"}}}},
        "completed": {{"type": "final"}}, "failed": {{"type": "final"}}}}}}"#
    );
    start(project, &["--workflow", &workflow(project, "shown.json", &text)])
}

/// What was seen of the one run of a transition that ended as `moved` says.
fn seen(project: &Project, moved: bool) -> Value {
    let ran = project.swbox(&["transition", "PASS", "--json"]);
    let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!(ran.code == 0, moved, "{value}");
    value["evidence"][0].clone()
}

const FORBID: &str = r#"{"prefix": "git push", "decision": "forbid", "justification": "nothing leaves"}"#;

#[test]
fn what_evidence_is_refused_is_told_and_counted() {
    let test = "what_evidence_is_refused_is_told_and_counted";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    let outside = project.outside().join("new");
    let text = format!("echo x > {}\necho > /dev/tcp/192.0.2.1/443\nexit 0\n", outside.display());
    fs::write(project.path().join("check.sh"), text).unwrap();
    let id = asking(&project, "bash check.sh", "");
    let told = line(&project, "swbox transition PASS").stdout;
    for part in [
        "2 operations of `bash check.sh` were denied by the jail in state \"work\"",
        "/outside/new",
        "192.0.2.1:443",
        "\"work\" → \"next\"",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let counted = |entry: &Value| {
        entry["body"]["event"]["what"]["request"].is_string()
            && entry["body"]["event"]["what"]["denials"] == 2
    };
    assert!(journal(&project, &id).iter().any(counted), "{:?}", journal(&project, &id));
    replays(&project, &id);
}

#[test]
fn evidence_changes_nothing_that_it_proves() {
    let test = "evidence_changes_nothing_that_it_proves";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    // A test that mends what it tests, and one that leaves something for later.
    fs::write(
        project.path().join("check.sh"),
        "echo mended > src/other.rs; touch left; grep -q mended src/other.rs\n",
    )
    .unwrap();
    let before = project.tree();
    let id = asking(&project, "bash check.sh", "");
    // The same line as the agent's own command does what it says: the state may write.
    good(&project, "bash check.sh");
    assert_ne!(project.tree(), before);
    project.git(&["checkout", "-q", "--", "src/other.rs"]);
    fs::remove_file(project.path().join("left")).unwrap();
    let _ = project.swbox(&["transition", "PASS"]);
    assert_eq!(project.tree(), before, "in {}", state(&project));
    replays(&project, &id);
}

#[test]
fn a_forbidden_program_is_no_evidence() {
    let test = "a_forbidden_program_is_no_evidence";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    fs::write(project.path().join("check.sh"), "git push --dry-run . HEAD:refs/heads/x; true\n").unwrap();
    // Without the rule it proves what it says.
    let id = asking(&project, "bash check.sh", "");
    assert_eq!(seen(&project, true)["stopped"], Value::Null);
    replays(&project, &id);

    let project = Project::new();
    fs::write(project.path().join("check.sh"), "git push --dry-run . HEAD:refs/heads/x; true\n").unwrap();
    asking(&project, "bash check.sh", FORBID);
    let run = seen(&project, false);
    assert_eq!((&run["stopped"]["code"], &run["exit"]), (&"rule_forbid".into(), &126.into()), "{run}");
    assert_eq!(state(&project), "work");
    let told = line(&project, "swbox transition PASS").stdout;
    assert!(told.contains("a program was stopped") && told.contains("nothing leaves"), "{told}");
    // Nor is the agent's own run, also where it asks that nobody watches.
    for words in [&["exec", "--"][..], &["exec", "--observe", "off", "--"]] {
        let words: Vec<&str> = words.iter().copied().chain(["bash", "check.sh"]).collect();
        assert_eq!(project.swbox(&words).code, 126, "{words:?}");
        seen(&project, false);
        assert_eq!(state(&project), "work", "{words:?}");
    }

    // The declared command itself.
    let project = Project::new();
    let id = asking(&project, "git push --dry-run . HEAD:refs/heads/x", FORBID);
    let run = seen(&project, false);
    assert_eq!((&run["refused"]["code"], &run["observed"]), (&"rule_forbid".into(), &Value::Null), "{run}");
    let told = line(&project, "swbox transition PASS").stdout;
    assert!(told.contains("was not run for this") && told.contains("[rule_forbid]"), "{told}");
    assert_eq!(json(&project, &["session", "status", &id, "--json"])["state"], "work");
    replays(&project, &id);
}

#[test]
fn what_ran_on_another_tree_is_no_evidence() {
    let test = "what_ran_on_another_tree_is_no_evidence";
    if !has_person(test) {
        return;
    }
    for own in [false, true] {
        let project = Project::new();
        let script = format!("check-{}-{own}.sh", std::process::id());
        fs::write(project.path().join("val"), "good\n").unwrap();
        // It has read what is good when somebody outside the jail changes it.
        let text = "v=$(cat val); for i in $(seq 600); do grep -q good val || break; sleep 0.1; done; test $v = good\n";
        fs::write(project.path().join(&script), text).unwrap();
        let id = asking(&project, &format!("bash {script}"), "");
        let path = project.path().join("val");
        let began = script.clone();
        let editor = std::thread::spawn(move || {
            let limit = Instant::now() + Duration::from_secs(60);
            while !runs(&began) && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(500));
            fs::write(path, "bad\n").unwrap();
        });
        if own {
            let ran = project.swbox(&["exec", "--", "bash", &script]);
            assert_eq!(ran.code, 0, "{ran:?}");
        } else {
            let ran = project.swbox(&["transition", "PASS"]);
            assert_ne!(ran.code, 0, "{ran:?}");
        }
        editor.join().unwrap();
        // What runs now sees that it is bad.
        let _ = project.swbox(&["transition", "PASS"]);
        assert_eq!(state(&project), "work", "own: {own}");
        replays(&project, &id);
    }
}

/// Whether a process has this word among its arguments as a whole, and is not swbox.
fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.split('\0').take(2).eq(["bash", word]))
}

#[test]
fn what_the_users_rules_ask_about_is_not_run_unasked() {
    let test = "what_the_users_rules_ask_about_is_not_run_unasked";
    if !has_person(test) {
        return;
    }
    let project = Project::new();
    let rules = project.home().join(".config/swbox/rules.toml");
    fs::create_dir_all(rules.parent().unwrap()).unwrap();
    fs::write(&rules, "default = \"prompt\"\n").unwrap();
    fs::write(project.path().join("check.sh"), "exit 0\n").unwrap();
    asking(&project, "bash check.sh", "");
    assert_eq!(seen(&project, false)["refused"]["code"], "default_prompt");
    assert_eq!(state(&project), "work");
}
