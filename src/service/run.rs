//! One command from request to report: judged, planned, launched.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::effects::Choice;
use super::host;
use super::report::{Judgement, Report};
use super::request::{Command, Run, Script};
use super::session;
use super::setting::{Ground, Seat, Setting};
use super::watched::{self, Launch, Told, Wishes};
use super::workspace;
use crate::classify::{Classification, OpClass};
use crate::diagnostic::Diagnostic;
use crate::jail::{self, Beginning, Capture, JailPlan, Start, Which};
use crate::policy::{Policy, Rights, RightsRequest};
use crate::profile::builtin::Builtin;
use crate::profile::value::{Below, Place, lies_in};
use crate::profile::{Limits, SandboxSpec, StateJail, Task, builtin, resolve};
use crate::shell::Trust;
use crate::workflow::model::JailSettings;

/// Bytes kept of each stream where nothing else is said.
const OUTPUT: u64 = 1024 * 1024;

/// Judges a command and, when it may run, runs it in its jail.
///
/// # Errors
/// Whatever keeps swbox from judging, planning or launching; never a weaker run.
pub fn run(run: &Run) -> Result<Report, Diagnostic> {
    perform(run, true)
}

/// Runs a command whatever the decision says: for tests that show that the jail is the wall.
///
/// # Errors
/// As for [`run`].
#[doc(hidden)]
pub fn run_unjudged(run: &Run) -> Result<Report, Diagnostic> {
    perform(run, false)
}

fn perform(run: &Run, judged: bool) -> Result<Report, Diagnostic> {
    // Half of what a launch takes is the same whatever the law and the command are.
    let scratch = builtin::find("base").and_then(Builtin::scratch);
    match Ground::find(&run.law, !run.dry_run)? {
        Ground::Session(seat) if run.dry_run => in_session(*seat, run, None),
        Ground::Session(mut seat) => {
            let (workspace, called) = (seat.place.workspace.clone(), seat.found.called());
            jail::ahead(&workspace, scratch, run.capture, called, |start| in_session(*seat, run, Some(start)))
        }
        Ground::Free(free) if run.dry_run => judge(free.complete(&run.law)?, run, judged, None),
        Ground::Free(free) => {
            let workspace = free.place.workspace.clone();
            jail::ahead(&workspace, scratch, run.capture, None, |start| {
                judge(free.complete(&run.law)?, run, judged, Some(start))
            })
        }
    }
}

/// Judges a command of a session and, when it may run, runs it.
fn in_session(seat: Seat, run: &Run, start: Option<Start<'_>>) -> Result<Report, Diagnostic> {
    let mut setting = seat.complete()?;
    setting.sees_programs = watched::sees_programs(run.observe);
    refuse_secret(&mut setting, run)?;
    session::perform(setting, run, start)
}

/// Judges a command of no session and, when it may run, runs it.
fn judge(
    mut setting: Setting,
    run: &Run,
    judged: bool,
    start: Option<Start<'_>>,
) -> Result<Report, Diagnostic> {
    setting.sees_programs = watched::sees_programs(run.observe);
    refuse_secret(&mut setting, run)?;
    let policy = setting.policy()?;
    let judgement = setting.judge(&policy, &run.command)?;
    let mut report = begin(&setting, judgement);
    if judged && !report.judgement.allowed() {
        return Ok(report);
    }
    let rights = rights(&setting, &policy, &report.judgement, !run.law.no_narrow)?;
    let choice = watched::choose(&setting, &policy, run, &report.judgement, &rights, Wishes::default())?;
    drop(policy);
    if let Some(start) = start {
        if watched::nobody(choice, run) {
            return unwatched(setting, run, report, rights, choice, start);
        }
        if watched::can_begin(choice, run) {
            return begun(setting, run, report, rights, choice, start);
        }
    }
    let how = if run.dry_run { jail::plan } else { jail::best };
    let plan = ready(&mut setting, run, &report.judgement, &rights, how)?;
    if run.dry_run {
        report.plan = Some(plan);
    } else {
        let executes = runs_the_unseen(&report.judgement.classification);
        let whole = || self::plan(&setting, &rights, executes, &run.command, run.timeout, jail::plan);
        let (setting, judgement) = (&setting, &report.judgement);
        let launch = Launch {
            setting,
            run,
            judgement,
            rights: &rights,
            plan: &plan,
            capture: capture(run, &plan),
            choice,
        };
        let (outcome, effects) = watched::launch(launch, Some(&whole))?;
        (report.outcome, report.effects) = (Some(outcome), Some(effects));
    }
    report.rights = Some(rights);
    Ok(report)
}

/// Runs a command that nobody watches: nothing has to know the plan before the jail is begun.
fn unwatched(
    mut setting: Setting,
    run: &Run,
    mut report: Report,
    rights: Rights,
    choice: Choice,
    start: Start<'_>,
) -> Result<Report, Diagnostic> {
    let beginning = beginning(&setting, run, &rights);
    let plan = |which| {
        let how = if which == Which::Best { jail::best } else { jail::plan };
        ready(&mut setting, run, &report.judgement, &rights, how)
    };
    let (plan, outcome) = jail::launch_begun(start, &beginning, plan, |plan| capture(run, plan), None)?;
    let launch = Launch {
        setting: &setting,
        run,
        judgement: &report.judgement,
        rights: &rights,
        plan,
        capture: capture(run, plan),
        choice,
    };
    let effects = watched::unwatched(launch, &outcome)?;
    (report.outcome, report.effects, report.rights) = (Some(outcome), Some(effects), Some(rights));
    Ok(report)
}

/// Runs a command that somebody watches who does not have to know the plan before the jail is begun.
fn begun(
    mut setting: Setting,
    run: &Run,
    mut report: Report,
    rights: Rights,
    choice: Choice,
    start: Start<'_>,
) -> Result<Report, Diagnostic> {
    let beginning = beginning(&setting, run, &rights);
    let weaker = complete(&mut setting, run, &report.judgement, &rights)?;
    let executes = runs_the_unseen(&report.judgement.classification);
    let (told_setting, told_rights) = (&setting, &rights);
    let plan = |which| {
        let how = if which == Which::Best { jail::best } else { jail::plan };
        let plan = self::plan(told_setting, told_rights, executes, &run.command, run.timeout, how)?;
        Ok(with(plan, weaker.as_ref()))
    };
    let told = Told { setting: told_setting, run, judgement: &report.judgement, rights: told_rights, choice };
    let (outcome, effects) = watched::launch_begun(told, start, &beginning, plan, |plan| capture(run, plan))?;
    (report.outcome, report.effects, report.rights) = (Some(outcome), Some(effects), Some(rights));
    Ok(report)
}

/// What is known of the launch before there is a plan.
pub(super) fn beginning(setting: &Setting, run: &Run, rights: &Rights) -> Beginning {
    let scratch = setting.state().jail.limits.scratch.or(setting.chosen.profile.limits.limits().scratch);
    Beginning::usual(&setting.place.workspace, rights, scratch, run.capture)
}

/// A script that lies among secrets is not even judged: a refusal would show its text.
fn refuse_secret(setting: &mut Setting, run: &Run) -> Result<(), Diagnostic> {
    let Command::Script(Script { file: Some(file), .. }) = &run.command else { return Ok(()) };
    setting.complete(&run.law)?;
    if !setting.facts.secrets.iter().any(|secret| lies_in(&file.path, secret)) {
        return Ok(());
    }
    Err(Diagnostic::new("script_unreadable", "the script is a secret that no command may read")
        .file(&file.path)
        .help("copy what is to be run to another place"))
}

/// A report of a judged command of which nothing else is known.
pub(super) fn begin(setting: &Setting, judgement: Judgement) -> Report {
    Report {
        workspace: setting.place.workspace.clone(),
        cwd: setting.place.cwd.clone(),
        profiles: setting.chosen.names.clone(),
        rights: None,
        plan: None,
        outcome: None,
        notices: setting.place.notice.iter().cloned().collect(),
        warnings: setting.workflow.loaded.violations.clone(),
        session: None,
        effects: None,
        judgement,
    }
}

/// Gathers what only a command that will run needs, and plans it.
///
/// # Errors
/// As for [`plan`]; a workspace inside a place of secrets.
pub(super) fn ready(
    setting: &mut Setting,
    run: &Run,
    judgement: &Judgement,
    rights: &Rights,
    how: Planner,
) -> Result<JailPlan, Diagnostic> {
    let weaker = complete(setting, run, judgement, rights)?;
    let executes = runs_the_unseen(&judgement.classification);
    Ok(with(plan(setting, rights, executes, &run.command, run.timeout, how)?, weaker.as_ref()))
}

/// The plan, and those that would stand in for it, with one more thing that is weaker.
fn with(mut plan: JailPlan, weaker: Option<&String>) -> JailPlan {
    let mut each = Some(&mut plan);
    while let Some(plan) = each {
        plan.degraded.extend(weaker.cloned());
        each = plan.fallback.as_deref_mut();
    }
    plan
}

/// Gathers what only a command that will run needs; says what is weaker for it.
fn complete(
    setting: &mut Setting,
    run: &Run,
    judgement: &Judgement,
    rights: &Rights,
) -> Result<Option<String>, Diagnostic> {
    if rights.git_write && judgement.classification.classes.contains(OpClass::GitWrite) {
        workspace::check_git(&setting.place.workspace)?;
    }
    setting.complete(&run.law)?;
    let executes = runs_the_unseen(&judgement.classification);
    if executes && !run.dry_run && !setting.chosen.profile.caches.is_empty() {
        return Ok(host::make_cache(&mut setting.facts, &setting.place.workspace));
    }
    Ok(None)
}

/// What becomes of the command's output.
pub(super) fn capture(run: &Run, plan: &JailPlan) -> Capture {
    let keep = usize::try_from(plan.limits.output.unwrap_or(OUTPUT)).unwrap_or(usize::MAX);
    if run.capture { Capture::Keep(keep) } else { Capture::Inherit }
}

/// Whether programs run whose effect the text cannot show.
pub(super) fn runs_the_unseen(classification: &Classification) -> bool {
    classification.opaque.is_some() || classification.trust != Trust::Trusted
}

/// What the state grants this command.
pub(super) fn rights(
    setting: &Setting,
    policy: &Policy<'_>,
    judgement: &Judgement,
    narrow: bool,
) -> Result<Rights, Diagnostic> {
    let law = policy.require_state(&setting.state)?;
    let request = RightsRequest { hosts: &setting.chosen.profile.network.hosts, narrow };
    Ok(policy.rights(law, &judgement.classification, request))
}

/// A spec to a plan: the one that is tried first, or with all lesser ones.
pub(super) type Planner = fn(&SandboxSpec, &jail::Host, &[OsString]) -> Result<JailPlan, Diagnostic>;

/// The steps of a launch.
///
/// # Errors
/// A strict protection that this host cannot have, a command without a shell to run it.
pub(super) fn plan(
    setting: &Setting,
    rights: &Rights,
    executes: bool,
    command: &Command,
    timeout: Option<Duration>,
    how: Planner,
) -> Result<JailPlan, Diagnostic> {
    let state = setting.state();
    let overrides: Vec<(String, String)> =
        state.env_overrides.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let of_state = of_state(&state.jail)?;
    let task = Task {
        workspace: &setting.place.workspace,
        cwd: &setting.place.cwd,
        pwd: &setting.place.pwd(),
        rights,
        executes,
        blocked_env: &state.blocked_env,
        env_overrides: &overrides,
        state: &of_state,
        timeout,
    };
    let mut spec = resolve(&setting.chosen.profile, &setting.facts, &task);
    if let Command::Script(script) = command
        && let Some(file) = &script.file
    {
        spec.script = Some((file.path.clone(), script.text.as_bytes().to_vec(), file.mode));
    }
    let mut plan = how(&spec, &jail::probe(), &argv(command, true)?)?;
    if spec.script.is_some() {
        let mut lesser = Some(&mut plan);
        while let Some(plan) = lesser {
            if plan.level != jail::Level::Full {
                plan.argv = argv(command, false)?;
            }
            lesser = plan.fallback.as_deref_mut();
        }
    }
    Ok(plan.for_state(&setting.state))
}

/// The state's own settings, read.
fn of_state(settings: &JailSettings) -> Result<StateJail, Diagnostic> {
    let wrong = |problem: String| {
        Diagnostic::new("state_jail", problem).help("correct the state's `jail` in the workflow")
    };
    let place = |text: &String| {
        let anchored = text.starts_with(['/', '~', '$']) || text.starts_with("./");
        Place::parse(&if anchored { text.clone() } else { format!("./{text}") })
    };
    let limits = settings.limits;
    Ok(StateJail {
        writable: settings.writable.iter().map(place).collect::<Result<_, _>>().map_err(wrong)?,
        protect: settings
            .protect
            .iter()
            .map(|text| Below::parse(text))
            .collect::<Result<_, _>>()
            .map_err(wrong)?,
        outputs: settings
            .outputs
            .iter()
            .map(|text| Below::parse(text))
            .collect::<Result<_, _>>()
            .map_err(wrong)?,
        limits: Limits {
            timeout: limits.timeout_ms.map(Duration::from_millis),
            processes: limits.processes,
            memory: limits.memory,
            file_size: limits.file_size,
            cpu: limits.cpu,
            open_files: limits.open_files,
            scratch: limits.scratch,
            output: limits.output,
        },
    })
}

/// What is executed inside.
fn argv(command: &Command, sealed: bool) -> Result<Vec<OsString>, Diagnostic> {
    match command {
        Command::Argv(argv) => Ok(argv.clone()),
        Command::Script(script) => {
            let mut argv = vec![bash()?];
            argv.extend(script.options.iter().cloned());
            match &script.file {
                // Below the full level nothing can lie over a path: the text goes as an argument.
                Some(file) if !sealed => {
                    argv.extend(["-c".into(), script.text.clone(), file.name.clone()]);
                }
                Some(file) => argv.extend(["--".into(), file.name.clone()]),
                None => argv.push("-s".into()),
            }
            if script.file.is_none() {
                argv.push("--".into());
            }
            argv.extend(script.parameters.iter().cloned());
            Ok(argv)
        }
        Command::Line { text, options, parameters } => {
            let mut argv = vec![bash()?];
            argv.extend(options.iter().cloned());
            argv.push("-c".into());
            argv.push(text.clone());
            // `$0` is what bash puts in front of its messages.
            if parameters.is_empty() {
                argv.push("bash".into());
            }
            argv.extend(parameters.iter().cloned());
            Ok(argv)
        }
    }
}

/// The real bash: never swbox under that name.
fn bash() -> Result<OsString, Diagnostic> {
    let own = std::fs::metadata("/proc/self/exe").ok().map(|meta| (meta.dev(), meta.ino()));
    let mut is_own = false;
    for path in ["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash", "/usr/local/bin/bash"] {
        let Ok(meta) = std::fs::metadata(path) else { continue };
        if Some((meta.dev(), meta.ino())) == own {
            is_own = true;
            continue;
        }
        return Ok(path.into());
    }
    let why = if is_own { "the only bash of this host is swbox itself" } else { "this host has no bash" };
    Err(Diagnostic::new("no_bash", why)
        .help("install bash at /bin/bash or /usr/bin/bash, and swbox elsewhere"))
}
