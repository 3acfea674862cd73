//! Some 600 commands that people and agents type to look at things, and a few that change something, in a state that
//! may only read: what reads passes, and what does not is refused for the right reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use swbox::classify::{Environment, classify_line};
use swbox::policy::{Decision, Policy, RuleSet};
use swbox::workflow::builtin::builtin;
use swbox::workflow::load;

const LINES: &str = include_str!("corpus/everyday.txt");

#[test]
fn what_reads_passes_where_one_may_only_read() {
    let machine = load(builtin("bugfix").unwrap().source.as_bytes()).unwrap().machine;
    let policy = Policy::compile(&machine, RuleSet::default()).unwrap().within("/work/project");
    let planning = policy.state("planning").unwrap();
    let environment =
        Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() };
    let (mut allowed, mut wrong) = (0, Vec::new());
    for line in LINES.lines().filter(|line| !line.starts_with('#')) {
        let (verdict, command) = line.split_once('\t').unwrap_or_else(|| panic!("{line}"));
        let answer = policy.evaluate(planning, command, &classify_line(command, &environment));
        let reason = answer.reasons.first().map_or("", |reason| {
            if reason.code == "opaque" {
                "opaque"
            } else {
                reason.class.map_or(reason.code, |class| class.name())
            }
        });
        let found = if answer.decision == Decision::Allow { "allow" } else { reason };
        if found == verdict {
            allowed += usize::from(found == "allow");
        } else {
            wrong.push(format!("{command}: {found}, not {verdict}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(allowed >= 600, "{allowed}");
}
