//! Programs by the arguments that they got.

use super::*;
use crate::classify::{self, Environment};
use crate::policy::rule::{Origin, RuleSet};
use crate::policy::{Right, Started, right};
use crate::shell;
use crate::workflow::model::{RuleSpec, Verdict};

fn read(words: &str) -> Classification {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    classify::classify("", &shell::from_argv(&words), &Environment::default())
}

/// What is said of a program that this line starts, `by_line` or deeper.
fn said(
    state: &str,
    rule: Option<(&str, Verdict)>,
    line: &str,
    program: &str,
    by_line: bool,
) -> Option<&'static str> {
    let machine = one_state(state);
    let mut rules = RuleSet::default().judging_argv(true);
    if let Some((prefix, decision)) = rule {
        let spec = RuleSpec {
            prefix: prefix.into(),
            decision,
            justification: None,
            matches: vec![],
            not_match: vec![],
        };
        rules.add(&[spec], Origin::Workflow).unwrap();
    }
    let policy = Policy::compile(&machine, rules).unwrap();
    let law = policy.state("s").unwrap();
    let line = classify::classify_line(line, &Environment::default());
    let readings: Vec<Classification> = program.split(" / ").map(read).collect();
    let reason = policy.judge_program(law, &line, Started { readings: &readings, by_line })?;
    assert!(policy.judges_programs(law, &line), "nobody would have looked");
    Some(reason.code)
}

const RUNS: &str = "{\"allowed_tools\": [\"Bash\", \"Read\"], \"on\": {\"X\": \"end\"}}";

#[test]
fn a_rule_holds_for_every_program_of_the_tree() {
    let push = Some(("git push", Verdict::Forbid));
    for program in
        ["git push", "git -C x push -f", "env git push", "x push / /usr/bin/git push", "git push / deploy"]
    {
        for by_line in [true, false] {
            assert_eq!(said(RUNS, push, "make", program, by_line), Some("rule_forbid"), "{program}");
        }
    }
    for program in ["git status", "git stash push", "echo git push", "bash -c true"] {
        assert_eq!(said(RUNS, push, "make", program, true), None, "{program}");
    }
    assert_eq!(
        said(RUNS, Some(("git push", Verdict::Prompt)), "make", "git push", false),
        Some("rule_prompt")
    );
    assert_eq!(said(RUNS, Some(("git push", Verdict::Allow)), "make", "git push", false), None);
}

#[test]
fn what_was_decided_on_the_line_is_not_judged_again() {
    let push = Some(("git push", Verdict::Prompt));
    assert_eq!(said(RUNS, push, "git push origin main && ls", "git push origin main", true), None);
    assert_eq!(said(RUNS, push, "timeout 5 git push", "timeout 5 git push", true), None);
    assert_eq!(said(RUNS, push, "git push origin main", "git push -f", true), Some("rule_prompt"));
}

#[test]
fn a_list_is_held_against_what_an_unread_line_starts_itself() {
    let listed =
        "{\"allowed_tools\": [\"Bash\"], \"allowed_commands\": [\"pytest\"], \"on\": {\"X\": \"end\"}}";
    let unread = "x=$((1 #c\n+1)); pytest";
    assert_eq!(said(listed, None, unread, "git push", true), Some("missing_tool"));
    assert_eq!(said(listed, None, unread, "make all", true), Some("command_not_listed"));
    assert_eq!(said(listed, None, unread, "pytest -q", true), None);
    assert_eq!(said(listed, None, unread, "python3 /usr/bin/pytest -q / /usr/bin/pytest -q", true), None);
    assert_eq!(said(listed, None, unread, "git push", false), None, "pytest may start git and cc");
    assert_eq!(said(listed, None, "pytest", "git push", true), None, "a line that was read was judged whole");
}

#[test]
fn only_a_denied_tool_that_leaves_the_host_stops_a_program() {
    let denies = |tool: &str| {
        format!(
            "{{\"allowed_tools\": [\"Bash\", \"Read\"], \"disallowed_tools\": [\"{tool}\"], \"on\": {{\"X\": \"end\"}}}}"
        )
    };
    assert_eq!(said(&denies("git_push"), None, "make", "git push", false), Some("tool_disallowed"));
    assert_eq!(said(&denies("git_push"), None, "make", "git commit -m x", false), None);
    assert_eq!(
        said(&denies("git_commit"), None, "make", "git commit -m x", false),
        None,
        "a test may, in its /tmp"
    );
    assert_eq!(said(&denies("write_file"), None, "make", "touch x", false), None, "rights hold it");
}

#[test]
fn a_right_is_had_by_the_states_whose_tools_give_it() {
    let machine = machine("bugfix");
    let policy = Policy::compile(&machine, RuleSet::default()).unwrap();
    for (right, states) in [
        (Right::Write, &["implementing"][..]),
        (Right::GitWrite, &["committing"]),
        (Right::Loopback, &["implementing", "testing"]),
        (Right::Network, &[]),
    ] {
        let having: Vec<&str> = machine
            .states
            .keys()
            .map(String::as_str)
            .filter(|name| right::holds(policy.state(name).unwrap(), right))
            .collect();
        assert_eq!(having, states, "{right:?}");
        let way = policy.way_to(policy.state("planning").unwrap(), right, |_| true);
        assert_eq!(
            way.map(|way| way.path.last().unwrap().target.clone()).as_deref(),
            states.first().copied()
        );
    }
}
