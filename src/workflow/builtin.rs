//! The workflows that come with swbox.

use super::load::{Loaded, load_known};
use crate::diagnostic::Diagnostic;

/// A workflow file inside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Its bytes.
    pub source: &'static str,
}

impl Builtin {
    /// The machine, without the checks that it is known to pass: this is on the way of every command.
    ///
    /// # Errors
    /// Never for a released program: a test loads each in full.
    pub fn load(&self) -> Result<Loaded, Vec<Diagnostic>> {
        load_known(self.source.as_bytes())
    }
}

/// Each of them, the default first.
pub const BUILTINS: &[Builtin] = &[
    Builtin {
        name: "bugfix",
        about: "find, fix and test a fault; a person approves before review; commit, never push",
        source: include_str!("../../workflows/bugfix.json"),
    },
    Builtin {
        name: "feature",
        about: "plan (approved by a person), build with tests at hand, review, commit",
        source: include_str!("../../workflows/feature.json"),
    },
    Builtin {
        name: "research",
        about: "read and search only; inline scripts run read-only and without network",
        source: include_str!("../../workflows/research.json"),
    },
    Builtin {
        name: "refactor",
        about: "survey, prove the baseline, reshape in small proven steps; a person approves the commit",
        source: include_str!("../../workflows/refactor.json"),
    },
    Builtin {
        name: "review",
        about: "read a change, try what is in doubt, report; nothing can be altered",
        source: include_str!("../../workflows/review.json"),
    },
    Builtin {
        name: "ci",
        about: "install, build, test; a person approves before publish",
        source: include_str!("../../workflows/ci.json"),
    },
];

/// The built-in workflow of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load;

    #[test]
    fn each_loads_without_any_remark() {
        for builtin in BUILTINS {
            let loaded =
                load(builtin.source.as_bytes()).unwrap_or_else(|all| panic!("{}: {all:?}", builtin.name));
            assert_eq!(loaded.machine.id, builtin.name);
            assert_eq!((loaded.advice, loaded.violations), (vec![], vec![]), "{}", builtin.name);
            assert!(loaded.machine.states.values().all(|state| {
                state.kind == crate::workflow::StateKind::Final || state.instructions.is_some()
            }));
        }
    }

    #[test]
    fn bugfix_is_the_standard_example() {
        let machine = load(builtin("bugfix").unwrap().source.as_bytes()).unwrap().machine;
        let names: Vec<_> = machine.states.keys().map(String::as_str).collect();
        let expected = ["planning", "implementing", "testing", "review", "committing", "completed", "failed"];
        assert_eq!(names, expected);
        let edges = |state: &str| -> Vec<(String, String, bool)> {
            let exits = machine.exits(state);
            exits.iter().map(|exit| (exit.event.into(), exit.target.into(), exit.needs_approval())).collect()
        };
        let edge = |event: &str, target: &str, approval| (event.to_owned(), target.to_owned(), approval);
        assert_eq!(
            edges("planning"),
            [edge("PLAN_READY", "implementing", false), edge("FAIL", "failed", false)]
        );
        assert_eq!(edges("implementing"), [edge("DONE", "testing", false), edge("FAIL", "failed", false)]);
        assert_eq!(
            edges("testing"),
            [
                edge("TESTS_PASS", "review", true),
                edge("TESTS_FAIL", "implementing", false),
                edge("FAIL", "failed", false)
            ]
        );
        assert_eq!(
            edges("review"),
            [edge("APPROVED", "committing", false), edge("REJECTED", "implementing", false)]
        );
        assert_eq!(
            edges("committing"),
            [edge("COMMITTED", "completed", false), edge("FAIL", "failed", false)]
        );
    }
}
