//! Prefix rules: who may lift what, and what no allow rule covers.

use super::*;
use crate::workflow::model::{RuleSpec, Verdict};

fn spec(prefix: &str, decision: Verdict) -> RuleSpec {
    RuleSpec { prefix: prefix.into(), decision, justification: None, matches: vec![], not_match: vec![] }
}

/// A rule set with one rule of the user.
pub(super) fn user(prefix: &str, decision: Verdict) -> RuleSet {
    set(&[(prefix, decision, Origin::User)])
}

fn set(rules: &[(&str, Verdict, Origin)]) -> RuleSet {
    let mut set = RuleSet::default();
    for (prefix, decision, origin) in rules {
        set.add(&[spec(prefix, *decision)], *origin).unwrap();
    }
    set
}

fn under(rules: RuleSet, line: &Classification) -> (Decision, Vec<&'static str>) {
    let state =
        one_state("{\"allowed_tools\": [\"Bash\", \"Read\", \"__GIT_WRITE__\"], \"on\": {\"X\": \"end\"}}");
    let policy = Policy::compile(&state, rules).unwrap();
    let answer = policy.evaluate(policy.state("s").unwrap(), "the line", line);
    (answer.decision, codes(&answer))
}

fn push(text: &str) -> Segment {
    segment(text).prefix("git push").op(OpClass::GitWrite)
}

#[test]
fn forbid_sees_the_command_as_written_and_unwrapped() {
    let rules = || user("git push", Verdict::Forbid);
    for one in [
        push("git push"),
        push("git -C dir push --force"),
        push("/opt/odd/git push"),
        push("git push").wrapped("timeout 5 git push"),
    ] {
        assert_eq!(under(rules(), &line(vec![one])).0, Decision::Forbidden);
    }
    assert_eq!(under(rules(), &line(vec![segment("git status").op(OpClass::GitRead)])).0, Decision::Allow);
    // Another subcommand with a word of that name, and one that cannot be told from the option before it.
    let stash = segment("git stash push").prefix("git stash push").op(OpClass::GitWrite);
    assert_eq!(under(rules(), &line(vec![stash])).0, Decision::Allow);
    let odd = segment("git --odd stash push").prefix("git stash push").op(OpClass::GitWrite);
    assert_eq!(under(rules(), &line(vec![odd])).0, Decision::Forbidden);
    let sudo = segment("ls").op(OpClass::FileSearch).wrapped("sudo ls");
    assert_eq!(
        under(user("sudo", Verdict::Forbid), &line(vec![sudo])),
        (Decision::Forbidden, vec!["rule_forbid"])
    );
    // Words beyond the canonical prefix may stand anywhere behind it.
    let run = segment("docker run --rm -it alpine").opaque();
    assert_eq!(under(user("docker run alpine", Verdict::Forbid), &line(vec![run])).0, Decision::Forbidden);
    let forced = user("git push --force", Verdict::Forbid);
    assert_eq!(under(forced.clone(), &line(vec![push("git push")])).0, Decision::Allow);
    assert_eq!(under(forced, &line(vec![push("git push origin --force")])).0, Decision::Forbidden);
}

#[test]
fn no_allow_lifts_a_forbid_or_a_missing_tool() {
    let both = set(&[
        ("git push", Verdict::Forbid, Origin::Workflow),
        ("git push origin", Verdict::Allow, Origin::User),
    ]);
    assert_eq!(under(both, &line(vec![push("git push origin")])).0, Decision::Forbidden);
    let write = line(vec![segment("cp a b").op(OpClass::FileWrite)]);
    assert_eq!(under(user("cp", Verdict::Allow), &write), (Decision::Forbidden, vec!["missing_tool"]));
}

#[test]
fn a_more_specific_allow_of_the_user_lifts_a_prompt() {
    let rules = |allow: &str, origin| {
        set(&[("git push", Verdict::Prompt, Origin::Workflow), (allow, Verdict::Allow, origin)])
    };
    let line = line(vec![push("git push origin")]);
    assert_eq!(under(user("git push", Verdict::Prompt), &line), (Decision::Prompt, vec!["rule_prompt"]));
    assert_eq!(under(rules("git push origin", Origin::User), &line), (Decision::Allow, vec!["rule_allow"]));
    assert_eq!(under(rules("git push", Origin::User), &line).0, Decision::Prompt, "not more specific");
    assert_eq!(under(rules("git", Origin::User), &line).0, Decision::Prompt, "less specific");
    assert_eq!(
        under(rules("git push origin", Origin::Workflow), &line).0,
        Decision::Prompt,
        "not the user's"
    );
}

#[test]
fn wrappers_interpreters_and_opaque_commands_are_never_allowed_by_rule() {
    let base = |allow: &str| {
        let mut rules = user(allow, Verdict::Allow);
        rules.base = Base::Prompt;
        rules
    };
    let plain = || segment("cargo tree").op(OpClass::Passthrough);
    assert_eq!(under(base("cargo tree"), &line(vec![plain()])).0, Decision::Allow);
    let wrapped = plain().wrapped("sudo cargo tree");
    assert_eq!(under(base("cargo tree"), &line(vec![wrapped])).0, Decision::Prompt);
    let wrapper = plain().wrapped("sudo cargo tree");
    assert_eq!(under(base("sudo"), &line(vec![wrapper])).0, Decision::Prompt);
    assert_eq!(under(base("python"), &line(vec![segment("python x.py").opaque()])).0, Decision::Prompt);
    assert_eq!(under(base("*"), &line(vec![segment("make").opaque()])).0, Decision::Prompt);
}

#[test]
fn a_prompting_base_does_not_ask_about_harmless_commands() {
    let base = || RuleSet { base: Base::Prompt, ..RuleSet::default() };
    let harmless = line(vec![
        segment("cd x").effect_free(),
        segment("cat f").op(OpClass::FileRead).closed(),
        segment("head").filter(),
        segment("git status").op(OpClass::GitRead).closed(),
    ]);
    assert_eq!(under(base(), &harmless), (Decision::Allow, vec![]));
    assert_eq!(under(base(), &line(vec![segment("make").opaque()])).0, Decision::Prompt);
    assert_eq!(under(base(), &line(vec![push("git push")])).0, Decision::Prompt);
    // Each command must be covered, not one of them.
    let mut rules = user("git push", Verdict::Allow);
    rules.base = Base::Prompt;
    let mixed = line(vec![push("git push"), segment("cargo tree").op(OpClass::Passthrough)]);
    assert_eq!(under(rules, &mixed).0, Decision::Prompt);
}

#[test]
fn rules_of_the_workflow_are_in_force() {
    let text = r#"{"id": "r", "initial": "s", "rules": [{"prefix": "npm publish", "decision": "forbid", "justification": "CI does it"}],
        "states": {"s": {"allowed_tools": ["Bash"], "on": {"X": "end"}}, "end": {"type": "final"}}}"#;
    let answer = ask(&machine(text), "s", "npm publish", &line(vec![segment("npm publish").opaque()]));
    assert_eq!(answer.decision, Decision::Forbidden);
    assert_eq!(answer.reasons[0].message, "`npm publish` is forbidden by the rule `npm publish`: CI does it");
}

#[test]
fn a_rule_without_a_command_is_refused() {
    let problems = RuleSet::default().add(&[spec("  ", Verdict::Allow)], Origin::User).unwrap_err();
    assert_eq!(problems[0].code, "rule_prefix");
}

#[test]
fn examples_are_checked_when_a_rule_is_added() {
    let rule = |decision, prefix: &str, matches: &[&str], not: &[&str]| {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let spec = RuleSpec { matches: own(matches), not_match: own(not), ..spec(prefix, decision) };
        let problems = RuleSet::default().add(&[spec], Origin::User).err().unwrap_or_default();
        problems.into_iter().map(|problem| (problem.code, problem.message)).collect::<Vec<_>>()
    };
    let kept = rule(
        Verdict::Forbid,
        "git push",
        &["git push -f", "git -C x push", "cd x && git push", "timeout 5 git push"],
        &["git status", "echo git push", "git commit -m 'git push'"],
    );
    assert_eq!(kept, vec![]);
    assert_eq!(
        rule(Verdict::Allow, "git status", &["git status -s"], &["sudo git status", "git stash"]),
        vec![]
    );
    let missed = rule(Verdict::Forbid, "git push", &["git pull"], &["git push origin"]);
    assert_eq!(missed.len(), 2);
    assert_eq!(
        missed[0],
        ("rule_example", "the rule `git push` does not match its example \"git pull\"".into())
    );
    let wrapped = rule(Verdict::Allow, "git status", &["sudo git status"], &[]);
    assert_eq!(wrapped.len(), 1, "no allow rule covers a wrapper");
}

#[test]
fn where_approvals_are_denied_a_question_is_a_refusal() {
    let asked = line(vec![push("git push origin")]);
    let rules = user("git push", Verdict::Prompt);
    let (decision, codes) = under(rules, &asked);
    assert_eq!((decision, &codes[..]), (Decision::Prompt, &["rule_prompt"][..]));
    let reason = |decision, code| crate::policy::Reason {
        decision,
        code,
        message: String::new(),
        class: None,
        subject: None,
        needs: Vec::new(),
        span: None,
    };
    for (before, after) in [
        (Decision::Prompt, Decision::Forbidden),
        (Decision::Allow, Decision::Allow),
        (Decision::Forbidden, Decision::Forbidden),
    ] {
        let mut evaluation = crate::policy::Evaluation {
            decision: before,
            reasons: vec![reason(before, "rule_prompt")],
            hint: None,
        };
        evaluation.deny();
        assert_eq!(evaluation.decision, after);
        let denied = evaluation.reasons[0].code == "approvals_denied";
        assert_eq!(
            denied,
            before == Decision::Prompt,
            "the reason is said first, and only for what it refused"
        );
    }
}
