//! A workflow out of a few answers: phases in the order of work, each with what it needs and no more.
//!
//! Danger: what is written here is a law that somebody will trust unread. Whatever the answers, it passes all six
//! stages; a test says so for every combination.

use serde_json::{Map, Value, json};

/// The answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wishes {
    /// Its name.
    pub id: String,
    /// Whether files are changed.
    pub writes: bool,
    /// The commands that test or build; none where nothing is run.
    pub commands: Vec<String>,
    /// Whether the work is committed.
    pub commits: bool,
    /// Whether it is pushed.
    pub pushes: bool,
    /// Hosts that a last phase may reach; none for no network.
    pub hosts: Vec<String>,
}

const READING: [&str; 6] = ["read_file", "search_files", "grep", "git_status", "git_log", "git_diff"];

/// One phase.
struct Phase {
    name: &'static str,
    tools: Vec<&'static str>,
    instructions: &'static str,
    /// The event that leaves it for the next phase.
    done: &'static str,
    /// The question before it is entered.
    question: Option<&'static str>,
    commands: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
}

impl Phase {
    fn new(
        name: &'static str,
        tools: &[&'static str],
        done: &'static str,
        instructions: &'static str,
    ) -> Self {
        Self { name, tools: tools.to_vec(), instructions, done, question: None, commands: None, hosts: None }
    }
}

/// The workflow as the text of a file.
pub fn workflow(wishes: &Wishes) -> String {
    let phases = phases(wishes);
    let mut states = Map::new();
    let mut order = Vec::new();
    for (at, phase) in phases.iter().enumerate() {
        let mut on = Map::new();
        let edge = match phases.get(at + 1) {
            None => json!("completed"),
            Some(next) => match next.question {
                None => json!(next.name),
                Some(question) => {
                    json!({ "target": next.name, "requires_approval": true, "approval_message": question })
                }
            },
        };
        on.insert(phase.done.to_owned(), edge);
        if let Some(back) = back(&phases, at) {
            on.insert("REWORK".to_owned(), json!(back));
        }
        on.insert("FAIL".to_owned(), json!("failed"));
        let mut state = json!({ "allowed_tools": phase.tools, "instructions": phase.instructions });
        if let Some(commands) = &phase.commands {
            state["allowed_commands"] = json!(commands);
        }
        if let Some(hosts) = &phase.hosts {
            state["jail"] = json!({ "network": hosts });
        }
        state["on"] = Value::Object(on);
        states.insert(phase.name.to_owned(), state);
        order.push(phase.name);
    }
    let danger = if phases.iter().any(|phase| phase.question.is_some()) { "moderate" } else { "safe" };
    write(wishes, &states, &order, danger)
}

/// Where work goes back to from a later phase: to where it is done.
fn back(phases: &[Phase], at: usize) -> Option<&'static str> {
    let work = usize::from(phases.iter().any(|phase| phase.name == "implementing"));
    (at > work).then(|| phases[work].name)
}

fn phases(wishes: &Wishes) -> Vec<Phase> {
    let mut phases = vec![Phase::new(
        "planning",
        &READING,
        "PLAN_READY",
        "Read what is there and write down what is to be done. Nothing can be written or run in this state. Send PLAN_READY when the plan stands, FAIL when there is nothing to do.",
    )];
    if wishes.writes {
        phases.push(Phase::new(
            "implementing",
            &["read_file", "grep", "write_file", "edit_file"],
            "DONE",
            "Make the change in small steps. Files of the workspace can be created and changed; nothing is run here. Send DONE when it is written.",
        ));
    }
    if !wishes.commands.is_empty() {
        let mut testing = Phase::new(
            "testing",
            &["read_file", "grep", "run_command"],
            "TESTS_PASS",
            "Run the listed commands. What they write into the tree is thrown away afterwards. Send TESTS_PASS when everything is green, REWORK with what is red otherwise.",
        );
        testing.commands = Some(wishes.commands.clone());
        phases.push(testing);
    }
    if wishes.commits || wishes.pushes {
        let mut review = Phase::new(
            "review",
            &READING,
            "APPROVED",
            "Read the whole diff as somebody else would. Send APPROVED when it may be committed, REWORK with the reasons otherwise.",
        );
        review.question = Some("The work is reported done. May it go to review and be committed?");
        phases.push(review);
        let mut tools = vec!["read_file", "git_status", "git_log", "git_diff", "git_add", "git_commit"];
        if wishes.pushes {
            tools.extend(["git_push"]);
        }
        phases.push(Phase::new(
            "committing",
            &tools,
            "COMMITTED",
            "Commit exactly what was reviewed; the message says what and why. Send COMMITTED when the commit stands.",
        ));
    }
    if !wishes.hosts.is_empty() {
        let mut publishing = Phase::new(
            "publishing",
            &["read_file", "run_command", "http_request"],
            "PUBLISHED",
            "Publish what was built and tested, and nothing else. Only the listed hosts can be reached. Send PUBLISHED when it is there.",
        );
        publishing.hosts = Some(wishes.hosts.clone());
        publishing.question = Some("Everything is through. May it be published?");
        phases.push(publishing);
    }
    phases
}

/// The file: keys in the order in which a person reads them.
fn write(wishes: &Wishes, states: &Map<String, Value>, order: &[&str], danger: &str) -> String {
    let text = |value: &Value, indent: usize| {
        let pretty = format!("{value:#}");
        pretty.replace('\n', &format!("\n{}", " ".repeat(indent)))
    };
    let mut out = format!(
        "{{\n  \"id\": {},\n  \"initial\": {},\n  \"states\": {{\n",
        json!(wishes.id),
        json!(order[0])
    );
    for name in order {
        let state = states.get(*name).unwrap_or(&Value::Null);
        out.push_str(&format!("    {}: {{\n", json!(name)));
        let keys = ["allowed_tools", "allowed_commands", "instructions", "jail", "on"];
        let members: Vec<String> = keys
            .iter()
            .filter_map(|key| state.get(*key).map(|value| (key, value)))
            .map(|(key, value)| {
                let short = if key.starts_with("allowed") {
                    let items: Vec<String> =
                        value.as_array().into_iter().flatten().map(Value::to_string).collect();
                    format!("[{}]", items.join(", "))
                } else {
                    text(value, 6)
                };
                format!("      \"{key}\": {short}")
            })
            .collect();
        out.push_str(&members.join(",\n"));
        out.push_str("\n    },\n");
    }
    out.push_str(
        "    \"completed\": { \"type\": \"final\" },\n    \"failed\": { \"type\": \"final\" }\n  },\n",
    );
    out.push_str(&format!("  \"meta\": {{ \"danger_level\": \"{danger}\" }}\n}}\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load;

    #[test]
    fn whatever_the_answers_all_stages_pass() {
        for bits in 0..32_u8 {
            let set = |bit: u8| bits & (1 << bit) != 0;
            let wishes = Wishes {
                id: "a \"quoted\" name".to_owned(),
                writes: set(0),
                commands: if set(1) { vec!["cargo test".to_owned(), "npm run *".to_owned()] } else { vec![] },
                commits: set(2),
                pushes: set(3),
                hosts: if set(4) { vec!["example.org".to_owned()] } else { vec![] },
            };
            let text = workflow(&wishes);
            let loaded = load(text.as_bytes()).unwrap_or_else(|all| panic!("{text}\n{all:#?}"));
            assert_eq!((loaded.advice, loaded.violations), (vec![], vec![]), "{wishes:?}\n{text}");
            assert_eq!(loaded.machine.id, wishes.id);
            // What was not wished for is not there.
            let has = |tool: &str| text.contains(&format!("\"{tool}\""));
            assert_eq!(has("write_file"), wishes.writes);
            assert_eq!(has("git_push"), wishes.pushes);
            assert_eq!(has("http_request"), set(4));
        }
    }
}
