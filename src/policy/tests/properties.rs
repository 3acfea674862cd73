//! What holds for every line, state and rule.

use super::*;
use crate::workflow::model::{RuleSpec, Verdict};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const TOOLS: [&str; 14] = [
    "Read",
    "Grep",
    "Glob",
    "Write",
    "Edit",
    "Bash",
    "run_test",
    "WebFetch",
    "__GIT_WRITE__",
    "__DESTRUCTIVE__",
    "delete_file",
    "git_commit",
    "git_push",
    "stranger",
];
const TEXTS: [&str; 8] =
    ["cat f", "git commit -m x", "git push", "pytest -q", "rm f", "make", "cp a b", "swbox approve x"];

fn segments() -> impl Strategy<Value = ClassifiedSegment> {
    let flags = prop::array::uniform7(any::<bool>());
    let tool = select(vec![None, Some("git_commit"), Some("git_push"), Some("delete_file")]);
    (select(&TEXTS[..]), subsequence(OpClass::ALL.to_vec(), 0..4), flags, tool).prop_map(
        |(text, classes, flags, tool)| {
            let mut one = segment(text);
            for class in classes {
                one = one.op(class);
                if let Some(tool) = tool {
                    one = one.tool(tool);
                }
            }
            if flags[0] {
                one = one.opaque();
            }
            let mut one = one.0;
            [one.closed, one.pure, one.stdin_filter, one.effect_free] =
                [flags[1], flags[2], flags[3], flags[4]];
            if flags[5] {
                one.raw.insert(0, "sudo".into());
                one.indirect = true;
            }
            one
        },
    )
}

fn lines() -> impl Strategy<Value = Classification> {
    (prop::collection::vec(segments(), 0..4), any::<bool>()).prop_map(|(segments, trusted)| {
        let all = line(segments.into_iter().map(Segment).collect());
        if trusted { all } else { untrusted(all) }
    })
}

fn states() -> impl Strategy<Value = Machine> {
    let tools = subsequence(TOOLS.to_vec(), 0..TOOLS.len());
    let denied = subsequence(TOOLS.to_vec(), 0..3);
    let list = select(vec![
        "",
        "\"allowed_commands\": [\"pytest\", \"git commit\"],",
        "\"allowed_commands\": [\"*\"],",
    ]);
    let jail = select(vec!["", "\"jail\": {\"opaque\": \"read_only\"},"]);
    (prop::option::of(tools), denied, list, jail).prop_map(|(tools, denied, list, jail)| {
        let tools = tools.map_or(String::new(), |tools| format!("\"allowed_tools\": {tools:?},"));
        one_state(&format!(
            "{{{tools}\"disallowed_tools\": {denied:?}, {list}{jail}\"on\": {{\"X\": \"end\"}}}}"
        ))
    })
}

fn rule_sets() -> impl Strategy<Value = RuleSet> {
    let verdict = select(vec![Verdict::Allow, Verdict::Prompt, Verdict::Forbid]);
    let prefix = select(vec!["git", "git push", "pytest", "sudo", "*", "rm"]);
    let origin = select(vec![Origin::User, Origin::Workflow]);
    let base = select(vec![Base::Allow, Base::Prompt]);
    (prop::collection::vec((prefix, verdict, origin), 0..4), base).prop_map(|(rules, base)| {
        let mut set = RuleSet { base, ..RuleSet::default() };
        for (prefix, decision, origin) in rules {
            let spec = RuleSpec {
                prefix: prefix.into(),
                decision,
                justification: None,
                matches: vec![],
                not_match: vec![],
            };
            set.add(&[spec], origin).unwrap();
        }
        set
    })
}

proptest! {
    #[test]
    fn another_segment_never_lowers_the_decision(
        machine in states(), rules in rule_sets(), line in lines(), more in segments(), at in 0..4_usize,
    ) {
        let policy = Policy::compile(&machine, rules).unwrap();
        let law = policy.state("s").unwrap();
        let before = policy.evaluate(law, "x", &line).decision;
        let mut longer = line.clone();
        longer.segments.insert(at.min(line.segments.len()), more);
        longer.opaque = longer.opaque.or_else(|| longer.segments.iter().find_map(|one| one.opaque.clone()));
        prop_assert!(policy.evaluate(law, "x", &longer).decision >= before);
    }

    #[test]
    fn less_trust_never_lowers_the_decision(machine in states(), rules in rule_sets(), line in lines()) {
        let policy = Policy::compile(&machine, rules).unwrap();
        let law = policy.state("s").unwrap();
        let trusted = policy.evaluate(law, "x", &line).decision;
        prop_assert!(policy.evaluate(law, "x", &untrusted(line)).decision >= trusted);
    }

    #[test]
    fn the_same_question_has_the_same_answer(machine in states(), rules in rule_sets(), line in lines()) {
        let (one, two) = (Policy::compile(&machine, rules.clone()).unwrap(), Policy::compile(&machine, rules).unwrap());
        let (a, b) = (one.state("s").unwrap(), two.state("s").unwrap());
        prop_assert_eq!(one.evaluate(a, "x", &line), two.evaluate(b, "x", &line));
        let request = RightsRequest { hosts: &[], narrow: true };
        prop_assert_eq!(one.rights(a, &line, request), two.rights(b, &line, request));
    }

    #[test]
    fn every_decision_has_its_reason(machine in states(), rules in rule_sets(), line in lines()) {
        let policy = Policy::compile(&machine, rules).unwrap();
        let answer = policy.evaluate(policy.state("s").unwrap(), "x", &line);
        let strictest = answer.reasons.iter().map(|reason| reason.decision).max();
        prop_assert_eq!(strictest.unwrap_or(Decision::Allow), answer.decision);
        for reason in &answer.reasons {
            let row = reason::CODES.iter().find(|row| row.code == reason.code).unwrap();
            prop_assert_eq!(row.decision, reason.decision);
        }
    }

    #[test]
    fn narrowing_only_takes_away(machine in states(), line in lines()) {
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap();
        let law = policy.state("s").unwrap();
        let hosts = ["h.example".to_owned()];
        let wide = policy.rights(law, &line, RightsRequest { hosts: &hosts, narrow: false });
        let narrow = policy.rights(law, &line, RightsRequest { hosts: &hosts, narrow: true });
        prop_assert!(narrow.workspace <= wide.workspace && narrow.git_write <= wide.git_write);
        prop_assert!(narrow.network == wide.network || narrow.network == NetworkRight::None);
        prop_assert_eq!(narrow.narrowed.is_empty(), (narrow.workspace, narrow.git_write, &narrow.network) == (wide.workspace, wide.git_write, &wide.network));
    }

    #[test]
    fn rights_follow_from_tools_never_from_the_line(machine in states(), line in lines()) {
        let policy = Policy::compile(&machine, RuleSet::default()).unwrap();
        let law = policy.state("s").unwrap();
        let rights = policy.rights(law, &line, RightsRequest { hosts: &[], narrow: false });
        let may_change = need::WRITE.union(need::DELETE).union(need::DESTRUCTIVE).union(need::GIT_TREE);
        let listed = law.entries().is_some();
        prop_assert!(rights.workspace != WorkspaceRight::Write || law.has(may_change) || listed);
        prop_assert!(!rights.git_write || law.has(need::GIT) || listed);
    }
}
