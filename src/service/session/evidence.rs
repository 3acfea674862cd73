//! Runs as evidence: what an ordinary run proves, and the runs that swbox makes itself when a transition asks.
//!
//! Danger: a status proves something only about exactly the declared program with nothing that steers it. Whatever is
//! not surely so proves nothing.

use std::ffi::OsString;

use super::reporter;
use super::tree::Tree;
use crate::diagnostic::Diagnostic;
use crate::engine::{Proof, Results};
use crate::jail::{self, Exit, JailPlan, Outcome};
use crate::policy::{Rights, WorkspaceRight};
use crate::service::report::Judgement;
use crate::service::request::{Command, Run};
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::shell::Trust;
use crate::workflow::model::{Conditions, Evidence, Transition};

/// Variables by which a tool can be told to do something else than its arguments say.
pub(super) const STEERING: &[&str] = &[
    "BASH_ENV",
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "ENV",
    "GOFLAGS",
    "GRADLE_OPTS",
    "JAVA_TOOL_OPTIONS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAVEN_OPTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "_JAVA_OPTIONS",
];

/// What the state's edges ask to be proven.
fn asked(setting: &Setting) -> Vec<&Evidence> {
    setting.state().on.values().flat_map(conditions).flat_map(|conditions| &conditions.evidence).collect()
}

fn conditions(transition: &Transition) -> Vec<&Conditions> {
    match transition {
        Transition::To(edge) => vec![&edge.conditions],
        Transition::Branches(edges) => edges.iter().map(|edge| &edge.conditions).collect(),
        Transition::Fork(fork) => vec![&fork.conditions],
        Transition::Invoke(invoke) => vec![&invoke.conditions],
    }
}

/// Whether an edge of the state asks for evidence.
pub(super) fn is_asked(setting: &Setting) -> bool {
    !asked(setting).is_empty()
}

/// The command, where it is exactly one that an edge of the state asks to see.
pub(super) fn asked_for(setting: &Setting, run: &Run, judgement: &Judgement) -> Option<Vec<String>> {
    let reading = &judgement.classification;
    let [segment] = &reading.segments[..] else { return None };
    let command = match &run.command {
        Command::Argv(argv) => {
            argv.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?
        }
        Command::Line { text, options, parameters } => {
            let words = shell_words::split(text.to_str()?).ok()?;
            // A redirect, an assignment or an expansion would be a word more or another one.
            let plain = options.is_empty() && parameters.is_empty() && words == segment.raw;
            plain.then_some(words)?
        }
        Command::Script(_) => return None,
    };
    let asked = asked(setting).iter().any(|asked| asked.command == command);
    (asked && reading.trust == Trust::Trusted && segment.raw == segment.argv).then_some(command)
}

/// What an ordinary run proves: the program's own status, where the line is one plain command, started at the
/// workspace's root, with nothing that steers it, in a jail in which it could not have changed itself.
pub(super) fn proof(
    setting: &Setting,
    run: &Run,
    judgement: &Judgement,
    rights: &Rights,
    plan: &JailPlan,
    outcome: &Outcome,
) -> Option<Proof> {
    let command = asked_for(setting, run, judgement)?;
    let sound = outcome.is_sound()
        && setting.place.cwd == setting.place.workspace
        && rights.workspace < WorkspaceRight::Write
        && !steered(plan);
    let Exit::Code(exit_code) = outcome.exit else { return None };
    let tree = sound.then(|| Tree::look(&setting.place.workspace)).flatten()?;
    Some(Proof {
        tests: reporter::tests_of(&command, outcome),
        configuration: changed_configuration(setting),
        command,
        exit_code,
        tree: Some(tree.fingerprint()),
        position: 0,
    })
}

/// Files by which test and build programs are told what to do.
const CONFIGURATION: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".mocharc.json",
    ".npmrc",
    ".nycrc",
    "Cargo.toml",
    "Makefile",
    "conftest.py",
    "go.mod",
    "jest.config.js",
    "jest.config.ts",
    "nextest.toml",
    "package.json",
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "vitest.config.js",
    "vitest.config.ts",
];

/// Those of them that were changed since a person approved last.
fn changed_configuration(setting: &Setting) -> Vec<String> {
    let changed = setting.bound.iter().flat_map(|bound| &bound.session.changed);
    let steers = |path: &&String| {
        CONFIGURATION.iter().any(|name| {
            path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        })
    };
    changed.filter(steers).cloned().collect()
}

/// Whether a variable could make the program do something else.
fn steered(plan: &JailPlan) -> bool {
    STEERING.iter().any(|name| plan.env.contains_key(&OsString::from(name)))
}

/// Takes those variables away, from what a host that refuses the plan would get as well.
fn unsteer(plan: &mut JailPlan) {
    for name in STEERING {
        plan.env.remove(&OsString::from(name));
    }
    if let Some(lesser) = &mut plan.fallback {
        unsteer(lesser);
    }
}

/// The tree now, where an edge of the state asks for evidence.
pub(super) fn fingerprint(setting: &Setting) -> Option<String> {
    is_asked(setting).then(|| Tree::look(&setting.place.workspace)).flatten().map(|tree| tree.fingerprint())
}

/// Runs what a transition requires, with the rights of the state, at the workspace's root.
///
/// # Errors
/// Whatever keeps swbox from planning or launching.
pub(super) fn gather(
    setting: &mut Setting,
    request: String,
    required: &[Evidence],
) -> Result<Results, Diagnostic> {
    setting.place.cwd.clone_from(&setting.place.workspace);
    let (mut proofs, mut planted) = (Vec::new(), Vec::new());
    for evidence in required {
        let argv = evidence.command.iter().map(OsString::from).collect();
        let run = Run {
            law: crate::service::request::Law::default(),
            command: Command::Argv(argv),
            timeout: None,
            capture: true,
            dry_run: false,
            observe: crate::service::request::Observe::Auto,
            events: None,
        };
        let policy = setting.policy()?;
        let judgement = setting.judge(&policy, &run.command)?;
        let rights = plain::rights(setting, &policy, &judgement, true)?;
        drop(policy);
        let mut plan = plain::ready(setting, &run, &judgement, &rights, jail::plan)?;
        unsteer(&mut plan);
        let outcome = jail::launch(&plan, plain::capture(&run, &plan))?;
        planted.extend(planted_by(&outcome));
        let exit_code = match outcome.exit {
            // What the run left behind is not as its status says.
            _ if !outcome.is_sound() => 125,
            Exit::Code(code) | Exit::NotStarted { code, .. } => code,
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Exit::Timeout => 124,
        };
        let tree = Tree::look(&setting.place.workspace).map(|tree| tree.fingerprint());
        proofs.push(Proof {
            command: evidence.command.clone(),
            exit_code,
            tests: reporter::tests_of(&evidence.command, &outcome),
            tree,
            configuration: changed_configuration(setting),
            position: 0,
        });
    }
    let tree = Tree::look(&setting.place.workspace).map(|tree| tree.fingerprint());
    Ok(Results { request, proofs, planted, tree })
}

/// What a run left that makes git run programs, as a session keeps it.
pub(super) fn planted_by(outcome: &Outcome) -> Vec<String> {
    let shown = outcome.planted.iter().map(|one| {
        let file = one.file.to_string_lossy();
        match &one.moved {
            Some(moved) => format!("{file} ({}), moved to {}", one.setting, moved.to_string_lossy()),
            None => format!("{file} ({})", one.setting),
        }
    });
    shown.collect()
}
