//! A launch with somebody who watches: how it is watched, who hears of it, and what is made of what was seen.
//!
//! Danger: what decides by the arguments of programs must see them. Where it cannot, the command does not run.

use std::borrow::Borrow;
use std::path::Path;

use super::effects::{self, Choice, Effects, Events, Eyes, Ground, Needs, Signs, Watching};
use super::reading;
use super::report::Judgement;
use super::request::{Command, Observe, Run};
use super::setting::Setting;
use crate::diagnostic::Diagnostic;
use crate::jail::{self, Beginning, Capture, JailPlan, Observer, Outcome, Start, Which};
use crate::policy::{Policy, Rights, WorkspaceRight};
use crate::shell::Trust;
use crate::store::secrets_of;
use crate::supervisor::notify::{self, Settings, Watcher};
use crate::supervisor::trace::Tracer;
use crate::supervisor::{Act, Cause, Denial, Mode, Target};

/// One command that is to be launched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch<'a> {
    pub(super) setting: &'a Setting,
    pub(super) run: &'a Run,
    pub(super) judgement: &'a Judgement,
    pub(super) rights: &'a Rights,
    pub(super) plan: &'a JailPlan,
    pub(super) capture: Capture,
    pub(super) choice: Choice,
}

impl<'a> Launch<'a> {
    /// The same without its plan.
    fn told(self) -> Told<'a> {
        let Launch { setting, run, judgement, rights, choice, .. } = self;
        Told { setting, run, judgement, rights, choice }
    }
}

/// A command of which there need be no plan yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) setting: &'a Setting,
    pub(super) run: &'a Run,
    pub(super) judgement: &'a Judgement,
    pub(super) rights: &'a Rights,
    pub(super) choice: Choice,
}

/// What the session wants to know of a run beside what the run itself asks for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wishes {
    /// Which files are touched.
    pub(super) touched: bool,
    /// Which reads are refused.
    pub(super) reads: bool,
}

/// How the run is watched.
///
/// # Errors
/// A state that the workflow lacks; `listener_taken`.
pub(super) fn choose(
    setting: &Setting,
    policy: &Policy<'_>,
    run: &Run,
    judgement: &Judgement,
    rights: &Rights,
    wishes: Wishes,
) -> Result<Choice, Diagnostic> {
    let law = policy.require_state(&setting.state)?;
    let line = &judgement.classification;
    let needs = Needs {
        programs: policy.judges_programs(law, line),
        touched: wishes.touched,
        events: run.events.is_some(),
        reads: wishes.reads,
        acts: effects::acts(line, rights),
    };
    let choice = effects::choose(run.observe, &law.jail.observe, &setting.chosen.profile.observe, needs);
    let possible = possible(choice);
    if possible != choice && run.observe == Observe::Notify {
        return Err(Diagnostic::new(
            "listener_taken",
            "whoever started swbox takes its system calls already, and the kernel hands them to nobody else",
        )
        .help("`--observe trace` sees the same; `auto` takes it here by itself"));
    }
    Ok(possible)
}

/// The way in which a command can be watched here: where somebody outside takes the calls already, by tracing.
pub(super) fn possible(choice: Choice) -> Choice {
    match choice.mode {
        Mode::Notify if notify::is_taken() => Choice { mode: Mode::Trace, ..choice },
        _ => choice,
    }
}

/// Whether programs will be seen before they begin, so that a line that cannot be read may run under command rules.
pub(super) fn sees_programs(observe: Observe) -> bool {
    observe != Observe::Off
}

/// Whether nobody watches the run, or is told of it as it goes.
pub(super) fn nobody(choice: Choice, run: &Run) -> bool {
    choice.mode == Mode::Off && run.events.is_none()
}

/// Launches, watches and explains. `whole` is the plan with the lesser ones, where `plan` has none.
///
/// # Errors
/// Whatever keeps the command from running; `events_unwritable`, `events_inside`.
pub(super) fn launch(
    launch: Launch<'_>,
    whole: Option<&dyn Fn() -> Result<JailPlan, Diagnostic>>,
) -> Result<(Outcome, Effects), Diagnostic> {
    launch_by(launch, &mut |observer| perform(launch, whole, observer), &mut |_| {})
}

/// Runs the command, with whoever watches it.
pub(super) type Launcher<'a> = dyn FnMut(Option<&mut dyn Observer>) -> Result<Outcome, Diagnostic> + 'a;

/// As [`launch`], with another way to run the command. `after` has the watcher when the command has ended and somebody may
/// go on watching what it left.
///
/// # Errors
/// As for [`launch`].
pub(super) fn launch_by(
    launch: Launch<'_>,
    perform: &mut Launcher<'_>,
    after: &mut dyn FnMut(&mut Watcher<'_>),
) -> Result<(Outcome, Effects), Diagnostic> {
    let events = match &launch.run.events {
        Some(to) => Some(Events::open(to, &effects::open_to_commands(launch.plan))?),
        None => None,
    };
    let (_, outcome, effects) =
        observe(launch.told(), events, |observer| Ok((launch.plan, perform(observer)?)), after)?;
    Ok((outcome, effects))
}

/// Whether the jail can be begun before the plan is there: nobody has to be told what the plan is, and a tracer does not
/// work in the same memory.
pub(super) fn can_begin(choice: Choice, run: &Run) -> bool {
    run.events.is_none() && choice.mode == Mode::Notify
}

/// As [`launch`], with a plan that is made while the jail is begun, where that [can](can_begin) be.
///
/// # Errors
/// As for [`launch`], and those of `plan`.
pub(super) fn launch_begun(
    told: Told<'_>,
    start: Start<'_>,
    beginning: &Beginning,
    plan: impl FnMut(Which) -> Result<JailPlan, Diagnostic>,
    capture: impl Fn(&JailPlan) -> Capture,
) -> Result<(Outcome, Effects), Diagnostic> {
    let perform =
        |observer: Option<&mut dyn Observer>| jail::launch_begun(start, beginning, plan, capture, observer);
    observe(told, None, perform, &mut |_| {}).map(|(_, outcome, effects)| (outcome, effects))
}

/// Has somebody watch what `perform` runs, and makes something of what was seen.
fn observe<P: Borrow<JailPlan>>(
    told: Told<'_>,
    events: Option<Events>,
    perform: impl FnOnce(Option<&mut dyn Observer>) -> Result<(P, Outcome), Diagnostic>,
    after: &mut dyn FnMut(&mut Watcher<'_>),
) -> Result<(P, Outcome, Effects), Diagnostic> {
    let Told { setting, judgement, rights, choice, .. } = told;
    let policy = setting.policy()?;
    let law = policy.require_state(&setting.state)?;
    let line = &judgement.classification;
    let secrets = if events.is_some() { session_secrets(setting) } else { Vec::new() };
    let mut eyes = eyes(told, &policy, &secrets, events)?;
    eyes.start(setting, judgement);
    // Without a watch nothing would stop what an unreadable line begins.
    let required = policy.judges_programs(law, line) && line.trust != Trust::Trusted;
    // Traced, reads have their true results like everything else.
    let reads = choice.reads || choice.mode == Mode::Trace;
    let settings = Settings { reads, required, narrowed: rights.narrowed.clone() };
    let (launched, seen) = match choice.mode {
        Mode::Off => (perform(None), None),
        Mode::Notify => {
            let mut watcher = Watcher::new(settings, &mut eyes);
            let launched = perform(Some(&mut watcher));
            after(&mut watcher);
            (launched, Some(watcher.into_seen()))
        }
        Mode::Trace => {
            let mut tracer = Tracer::new(settings, &mut eyes);
            (perform(Some(&mut tracer)), Some(tracer.into_seen()))
        }
    };
    let (plan, mut outcome) = match launched {
        Ok(launched) => launched,
        Err(problem) => {
            eyes.failed(&problem);
            return Err(problem);
        }
    };
    let seen = seen.filter(|_| !is_unwatched(&outcome));
    further(&mut eyes, told, plan.borrow(), &outcome, seen.is_some());
    let effects = eyes.finish(seen.as_ref(), Some(&outcome));
    if let Some(touched) = &effects.touched {
        let names = &setting.chosen.profile.workspace.protected;
        outcome.appeared.extend(effects::later(touched, names, &setting.place.workspace));
    }
    Ok((plan, outcome, effects))
}

/// What is made of a command that nobody was to watch.
///
/// # Errors
/// A rule that cannot be used.
pub(super) fn unwatched(launch: Launch<'_>, outcome: &Outcome) -> Result<Effects, Diagnostic> {
    let policy = launch.setting.policy()?;
    let mut eyes = eyes(launch.told(), &policy, &[], None)?;
    further(&mut eyes, launch.told(), launch.plan, outcome, false);
    Ok(eyes.finish(None, Some(outcome)))
}

/// Who is told what happens in a run.
fn eyes<'a>(
    told: Told<'a>,
    policy: &'a Policy<'a>,
    secrets: &'a [String],
    events: Option<Events>,
) -> Result<Eyes<'a>, Diagnostic> {
    let Told { setting, run, judgement, rights, choice } = told;
    let ground = Ground {
        policy,
        law: policy.require_state(&setting.state)?,
        source: &judgement.source,
        line: &judgement.classification,
        rights,
        profile: &setting.chosen.profile,
        anchors: setting.anchors(),
        facts: &setting.facts,
        cwd: &setting.place.cwd,
        shortfall: &[],
    };
    let watching = Watching {
        choice,
        of_line: !matches!(run.command, Command::Argv(_)),
        keeps: rights.workspace == WorkspaceRight::Write,
        secrets,
        events,
        world: reading::known(&setting.facts, &setting.chosen.profile.commands),
    };
    Ok(Eyes::new(ground, watching))
}

fn perform(
    launch: Launch<'_>,
    whole: Option<&dyn Fn() -> Result<JailPlan, Diagnostic>>,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Diagnostic> {
    match whole {
        Some(whole) => jail::launch_best(launch.plan, whole, launch.capture, observer),
        None => jail::launch_observed(launch.plan, launch.capture, observer),
    }
}

/// Whether nobody could watch after all: the host gives no listener.
fn is_unwatched(outcome: &Outcome) -> bool {
    outcome.degraded.iter().any(|reason| reason.starts_with("unobserved:"))
}

/// What the watcher does not see: hosts that the proxy refused, and reads where those are not watched.
fn further(eyes: &mut Eyes<'_>, told: Told<'_>, plan: &JailPlan, outcome: &Outcome, watched: bool) {
    for host in &outcome.refused_hosts {
        let target = Target::Address(format!("{}:{}", host.host, host.port));
        let denial =
            Denial { act: Act::Connect, target, cause: Cause::Network, errno: libc::EACCES, inferred: false };
        eyes.further(&denial, host.count);
    }
    if watched && (told.choice.reads || told.choice.mode == Mode::Trace) {
        return;
    }
    let signs = Signs {
        plan,
        line: &told.judgement.classification,
        exit: &outcome.exit,
        err: outcome.output.as_ref().map(|(_, err)| err),
        home: &told.setting.facts.home,
        cwd: &told.setting.place.cwd,
        secrets: &told.setting.facts.secrets,
    };
    let there = |path: &Path| path.symlink_metadata().is_ok();
    for denial in effects::infer(signs, there, |path| path.read_link().ok()) {
        eyes.further(&denial, 1);
    }
}

/// The values in the environment that must not be written down.
fn session_secrets(setting: &Setting) -> Vec<String> {
    let pairs = setting.facts.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    secrets_of(pairs)
}
