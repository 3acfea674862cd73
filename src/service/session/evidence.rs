//! Runs as evidence: what an ordinary run proves, and the runs that swbox makes itself when a transition asks.
//!
//! Danger: a status proves something only about exactly the declared program with nothing that steers it. Whatever is
//! not surely so proves nothing.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::place::Place as Kept;
use super::reporter;
use super::tree::Tree;
use crate::diagnostic::Diagnostic;
use crate::engine::{Proof, Results};
use crate::jail::{self, Exit, JailPlan, Outcome};
use crate::policy::reason::{
    AGENT_COMMAND, CATASTROPHE, DEFAULT_PROMPT, PERSON_COMMAND, RULE_FORBID, RULE_PROMPT,
};
use crate::policy::{Evaluation, Policy, Reason, Rights, WorkspaceRight};
use crate::service::effects::{Choice, Effects};
use crate::service::report::Judgement;
use crate::service::request::{Command, Observe, Run};
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::service::watched::{self, Launch, Wishes};
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

/// What the workspace is before a command that a transition asks for; nothing for any other.
pub(super) fn before(setting: &Setting, run: &Run, judgement: &Judgement) -> Option<String> {
    asked_for(setting, run, judgement)?;
    Some(Tree::look(&setting.place.workspace)?.fingerprint())
}

/// Whether nobody saw what programs ran although that decides whether the run counts.
fn is_blind(policy: &Policy<'_>, setting: &Setting, judgement: &Judgement, effects: &Effects) -> bool {
    let law = policy.require_state(&setting.state);
    let judged = law.is_ok_and(|law| policy.judges_programs(law, &judgement.classification));
    judged && effects.choice == Choice::OFF
}

/// What an ordinary run proves: the program's own status, where the line is one plain command, started at the
/// workspace's root, with nothing that steers it, in a jail in which it could not have changed itself. `before` is what the
/// workspace was when it began.
pub(super) fn proof(
    setting: &Setting,
    (run, before): (&Run, Option<&str>),
    judgement: &Judgement,
    rights: &Rights,
    plan: &JailPlan,
    (outcome, effects): (&Outcome, &Effects),
) -> Option<Proof> {
    let command = asked_for(setting, run, judgement)?;
    let policy = setting.policy().ok()?;
    let sound = outcome.is_sound()
        && setting.place.cwd == setting.place.workspace
        && rights.workspace < WorkspaceRight::Write
        && !steered(plan);
    let Exit::Code(exit_code) = outcome.exit else { return None };
    let after = sound.then(|| Tree::look(&setting.place.workspace)).flatten()?.fingerprint();
    Some(Proof {
        tests: reporter::tests_of(&command, outcome),
        configuration: changed_configuration(setting),
        command,
        // The newest run speaks, so one that shows nothing is written down too.
        exit_code: match () {
            () if effects.stopped.is_some() => 126,
            () if is_blind(&policy, setting, judgement, effects) => 125,
            () => exit_code,
        },
        tree: ran_on(before.map(str::to_owned), Some(after)),
        position: 0,
    })
}

/// The tree that a run proves something of: none that there is, where it changed meanwhile.
fn ran_on(before: Option<String>, after: Option<String>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) if before == after => Some(after),
        (None, None) => None,
        (before, after) => Some(format!("{} to {}", before.unwrap_or_default(), after.unwrap_or_default())),
    }
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

/// What was seen of a run that a transition asked for.
#[derive(Debug, Clone)]
pub struct Gathered {
    /// The argv.
    pub command: Vec<String>,
    /// Its status, as it counts.
    pub exit_code: u8,
    /// The state whose rights it had.
    pub state: String,
    /// What the run did and was refused; none where it did not run.
    pub effects: Option<Effects>,
    /// Why it did not run.
    pub refused: Option<Reason>,
}

impl Gathered {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let mut fields = self.effects.as_ref().map(Effects::fields).unwrap_or_default();
        fields.insert("command".into(), json!(self.command));
        fields.insert("exit".into(), json!(self.exit_code));
        let refused = self.refused.as_ref();
        let refused = refused.map(|reason| json!({ "code": reason.code, "message": reason.message }));
        fields.insert("refused".into(), json!(refused));
        Value::Object(fields)
    }
}

/// What keeps a command from running although the workflow asks for it: the user's own rules, and what nothing overrides.
/// Tools that the state lacks do not, since the jail has the state's rights.
fn forbidden(evaluation: &Evaluation) -> Option<Reason> {
    let codes = [CATASTROPHE, RULE_FORBID, RULE_PROMPT, DEFAULT_PROMPT, PERSON_COMMAND, AGENT_COMMAND]
        .map(|one| one.code);
    evaluation.reasons.iter().find(|reason| codes.contains(&reason.code)).cloned()
}

/// Runs what a transition requires, with the rights of the state, at the workspace's root, watched as the session's
/// commands are. Nothing that it writes to the workspace stays: what changes what it proves proves nothing.
///
/// # Errors
/// Whatever keeps swbox from planning or launching.
pub(super) fn gather(
    setting: &mut Setting,
    request: String,
    required: &[Evidence],
) -> Result<(Results, Vec<Gathered>), Diagnostic> {
    setting.place.cwd.clone_from(&setting.place.workspace);
    let said = setting.bound.as_ref().and_then(|bound| Kept::of(&bound.row).observe);
    // What a rule forbids inside is no evidence: somebody has to look.
    let observe = said.filter(|said| *said != Observe::Off).unwrap_or_default();
    let look = |setting: &Setting| Tree::look(&setting.place.workspace).map(|tree| tree.fingerprint());
    let before = look(setting);
    setting.sees_programs = watched::sees_programs(observe);
    let (mut proofs, mut planted, mut seen, mut denials) = (Vec::new(), Vec::new(), Vec::new(), 0_u64);
    for evidence in required {
        let run = Run {
            law: crate::service::request::Law::default(),
            command: Command::Argv(evidence.command.iter().map(OsString::from).collect()),
            timeout: None,
            capture: true,
            dry_run: false,
            observe,
            events: None,
        };
        let mut one = Gathered {
            command: evidence.command.clone(),
            exit_code: 126,
            state: setting.state.clone(),
            effects: None,
            refused: None,
        };
        let mut tests = None;
        let policy = setting.policy()?;
        let judgement = setting.judge(&policy, &run.command)?;
        one.refused = forbidden(&judgement.evaluation);
        if one.refused.is_none() {
            let mut rights = plain::rights(setting, &policy, &judgement, true)?;
            rights.workspace = rights.workspace.min(WorkspaceRight::ThrowAway);
            rights.git_write = false;
            let wishes = Wishes::default();
            let choice = watched::choose(setting, &policy, &run, &judgement, &rights, wishes)?;
            drop(policy);
            let mut plan = plain::ready(setting, &run, &judgement, &rights, jail::plan)?;
            unsteer(&mut plan);
            let (rights, plan) = (&rights, &plan);
            let capture = plain::capture(&run, plan);
            let launch = Launch { setting, run: &run, judgement: &judgement, rights, plan, capture, choice };
            let (outcome, effects) = watched::launch(launch, None)?;
            planted.extend(planted_by(&outcome));
            one.exit_code = match outcome.exit {
                // What the run left behind is not as its status says.
                _ if !outcome.is_sound() => 125,
                _ if effects.stopped.is_some() => 126,
                _ if is_blind(&setting.policy()?, setting, &judgement, &effects) => 125,
                Exit::Code(code) | Exit::NotStarted { code, .. } => code,
                Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
                Exit::Timeout => 124,
            };
            tests = reporter::tests_of(&evidence.command, &outcome);
            denials = denials.saturating_add(effects.refusals());
            one.effects = Some(effects);
        }
        proofs.push(Proof {
            command: evidence.command.clone(),
            exit_code: one.exit_code,
            tests,
            tree: ran_on(before.clone(), look(setting)),
            configuration: changed_configuration(setting),
            position: 0,
        });
        seen.push(one);
    }
    let tree = look(setting);
    let denials = u32::try_from(denials).unwrap_or(u32::MAX);
    Ok((Results { request, proofs, planted, denials, tree }, seen))
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
