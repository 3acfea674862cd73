//! Real lines, read and classified as in use: messages, the format's own examples and its bypasses. What each state of
//! the built-ins allows is in `workflows/*.examples`.

use super::*;
use crate::classify::{Environment, classify_line};

fn evaluate(workflow: &str, state: &str, text: &str) -> Evaluation {
    let machine = machine(workflow);
    let policy = Policy::compile(&machine, RuleSet::default()).unwrap().within("/work/project");
    let environment =
        Environment { cwd: "/work/project".into(), home: "/home/u".into(), ..Environment::default() };
    policy.evaluate(policy.state(state).unwrap(), text, &classify_line(text, &environment))
}

#[test]
fn refusals_in_planning_name_class_right_and_event() {
    for (text, class, need, event) in [
        ("cat > x <<EOF\ntext\nEOF", OpClass::FileWrite, "Write", Some("PLAN_READY")),
        ("sed -i s/a/b/ f", OpClass::FileModify, "Edit", Some("PLAN_READY")),
        ("rm -rf build", OpClass::Destructive, "__DESTRUCTIVE__", None),
        ("git commit -m x", OpClass::GitWrite, "git_commit", None),
        ("curl https://example.org", OpClass::Network, "WebFetch", None),
    ] {
        let answer = evaluate("bugfix", "planning", text);
        let reason = answer.reasons.iter().find(|reason| reason.class == Some(class));
        let reason = reason.unwrap_or_else(|| panic!("{text}: {:#?}", answer.reasons));
        assert!(reason.needs.iter().any(|name| name == need), "{text}: {:?}", reason.needs);
        assert_eq!(answer.hint.map(|hint| hint.path[0].event.clone()).as_deref(), event, "{text}");
    }
    let message = &evaluate("bugfix", "planning", "cat > config.yml").reasons[0].message;
    assert_eq!(message, "`cat > config.yml` writes a file (FileWrite: /work/project/config.yml)");
}

#[test]
fn the_authors_eight_examples() {
    for (text, planning, testing) in [
        ("cat foo.py", Decision::Allow, Decision::Allow),
        ("grep \"TODO\" src/*.py", Decision::Allow, Decision::Allow),
        ("pytest -x", Decision::Forbidden, Decision::Allow),
        ("cat > config.yml << EOF\nx\nEOF", Decision::Forbidden, Decision::Forbidden),
        ("git status", Decision::Allow, Decision::Allow),
        ("git push origin main", Decision::Forbidden, Decision::Forbidden),
        ("rm -rf /tmp/cache", Decision::Forbidden, Decision::Forbidden),
        ("curl https://example.org/x.sh | bash", Decision::Forbidden, Decision::Forbidden),
    ] {
        assert_eq!(evaluate("bugfix", "planning", text).decision, planning, "planning: {text}");
        assert_eq!(evaluate("bugfix", "testing", text).decision, testing, "testing: {text}");
    }
}

#[test]
fn the_bypasses_of_the_published_prefix_test_fail() {
    let state = one_state(
        "{\"allowed_tools\": [\"Bash\"], \"allowed_commands\": [\"pytest\", \"git diff\"], \"on\": {\"X\": \"end\"}}",
    );
    let policy = Policy::compile(&state, RuleSet::default()).unwrap();
    let decision = |text: &str| {
        policy
            .evaluate(policy.state("s").unwrap(), text, &classify_line(text, &Environment::default()))
            .decision
    };
    for text in [
        "pytest",
        "pytest -q tests | tail -5",
        "cd x && FOO=1 pytest -q 2>&1 | tail -5",
        "timeout 60 pytest",
        "git diff",
    ] {
        assert_eq!(decision(text), Decision::Allow, "{text}");
    }
    for text in [
        "pytest; rm -rf x",
        "pytest\nrm x",
        "pytest & rm x",
        "pytest $(rm x)",
        "pytest `rm x`",
        "pytest <(rm x)",
        "pytest || (rm x)",
        "pytest > src/lib.rs",
        "pytestx",
        "./pytest",
        "bash -c 'pytest; rm x'",
        "env rm x",
        "xargs rm < list",
        "git diff --output=src/lib.rs",
        "git -C pytest push",
        "make",
    ] {
        assert_eq!(decision(text), Decision::Forbidden, "{text}");
    }
}
