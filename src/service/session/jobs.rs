//! Jobs: what a command of a session left running, and the session's keeper that holds it.
//!
//! Danger: a job keeps the rights that it was started with. It is written down before it may go on, and it is ended
//! before its session enters a state that would not give them.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::none;
use super::aside::Goes;
use super::exec::{secrets, texts};
use super::find::{Bound, unknown};
use super::life::{self, Known};
use super::write::{Applied, Desk};
use super::{evidence, master};
use crate::classify::{OpClass, Subject};
use crate::diagnostic::Diagnostic;
use crate::engine::{Call, Effect, Held, Reply, What};
use crate::jail::keeper::{Entering, Keeper, Left, Marked, Output, Place, has_ended};
use crate::jail::{self, JailPlan, Observer, Outcome, Start};
use crate::policy::{Decision, NetworkRight, Rights, StateLaw, WorkspaceRight};
use crate::profile::HostFacts;
use crate::service::own_files::state_directory;
use crate::service::report::Judgement;
use crate::service::request::Law;
use crate::service::run as plain;
use crate::service::setting::Setting;
use crate::service::watched::Launch;
use crate::service::{clock, host};
use crate::store::{Durability, Running, SessionRow, Sqlite, Store, mask};

/// How long a job that is asked to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// How long it may take to write down what an ended job did last.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// Directories that the session's commands share whatever they are; HOME and what is kept beside it are shared by those
/// that may run anything.
const SHARED: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// A job as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct JobShown {
    /// Its id.
    pub id: String,
    /// The command that left it.
    pub command: String,
    /// The state that it was started in.
    pub state: String,
    /// What it may do.
    pub rights: String,
    /// Seconds since its command ended.
    pub age: u64,
    /// How many processes it has.
    pub processes: usize,
}

/// What a job wrote since its command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its first and last bytes, without what is secret.
    pub text: String,
    /// Bytes between them that were not kept.
    pub dropped: u64,
}

/// Runs a planned command, of which `whole` is the plan with its lesser ones: in the session's namespaces where it has a keeper or
/// the command needs one, else alone. `begun` is what was begun before it was judged. Gives also what it left running.
pub(super) fn launch(
    launch: Launch<'_>,
    whole: &dyn Fn() -> Result<JailPlan, Diagnostic>,
    mut begun: Option<Start<'_>>,
    mut observer: Option<&mut dyn Observer>,
    notices: &mut Vec<String>,
) -> Result<(Outcome, Option<Left>), Diagnostic> {
    let Launch { setting, run, judgement, rights, plan, capture, .. } = launch;
    let alone = |begun: Option<Start<'_>>,
                 notices: &mut Vec<String>,
                 problem: Option<String>,
                 observer: Option<&mut dyn Observer>| {
        notices.extend(problem.map(|problem| {
            format!("the command runs alone, with a /tmp and HOME of its own, and all that it starts ends with it: {problem}")
        }));
        let launched = match begun {
            Some(begun) => jail::launch_ahead(begun, plan, whole, capture, observer),
            None => jail::launch_best(plan, whole, capture, observer),
        };
        launched.map(|outcome| (outcome, None))
    };
    let Some(bound) = setting.bound.as_ref().filter(|_| plan.can_join()) else {
        return alone(begun, notices, None, observer);
    };
    if evidence::asked_for(setting, run, judgement).is_some() {
        return alone(begun, notices, None, observer);
    }
    let joining = joining(bound, rights, plan.clone());
    let beginning = jail::beginning(&joining, capture, &observer);
    let launched = if let Some(begun) = begun.take_if(|begun| begun.joins() && begun.fits(&beginning)) {
        jail::launch_in_begun(begun, &beginning, || Ok(joining), |_| capture, again(&mut observer))
    } else {
        let place = Place::new(state_directory(&setting.facts), &bound.row.id);
        let found = match Keeper::find(&place) {
            Ok(None) if needs(judgement, &setting.place.workspace) => {
                if let Some(begun) = begun.take() {
                    begun.end();
                }
                // The store stays open for as long: whoever opens it next need not read its log through.
                let (path, byte) = Sqlite::mark(state_directory(&setting.facts));
                match Keeper::start(&place, plan.limits.scratch, &Marked { path, byte }) {
                    // Of a host that gives none a command hears where it may matter to it.
                    Err(_) if !is_beside(judgement) => return alone(begun, notices, None, observer),
                    started => started.map(Some),
                }
            }
            found => found,
        };
        let entering =
            found.and_then(|keeper| keeper.map(|keeper| keeper.enter(master::master())).transpose());
        match entering.and_then(|entering| entering.map(Entering::entered).transpose()) {
            Ok(Some(session)) => {
                drop(begun);
                jail::launch_in(&joining, session, capture, again(&mut observer))
            }
            Ok(None) => return alone(begun, notices, None, observer),
            Err(error) => {
                let problem = format!("the session's keeper is not to be had ({error})");
                return alone(begun, notices, Some(problem), observer);
            }
        }
    };
    match launched {
        Err(problem) if problem.code == "setup_session" => {
            alone(None, notices, Some(problem.message), observer)
        }
        launched => launched,
    }
}

/// The observer, lent for one try.
fn again<'a>(observer: &'a mut Option<&mut dyn Observer>) -> Option<&'a mut dyn Observer> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}

/// Asks the keeper of the session `id`, where there is one, to let a command join that is not judged yet: it answers
/// meanwhile.
pub(super) fn call(facts: &HostFacts, id: &str) -> Option<Entering> {
    // It may be what somebody has typed; a session's is no path.
    if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let place = Place::new(state_directory(facts), id);
    let keeper = if place.is_taken() { Keeper::find(&place).ok().flatten() } else { None };
    // What went wrong is met again, and told, by whoever then looks for it.
    keeper?.enter(master::master()).ok()
}

/// The plan of a command that joins its session.
pub(super) fn joining(bound: &Bound, rights: &Rights, plan: JailPlan) -> JailPlan {
    let anything = bound.workflow.law(&bound.session).is_some_and(StateLaw::executes) && !rights.git_write;
    let shares = |path: &Path| anything || SHARED.iter().any(|shared| path == Path::new(shared));
    plan.joining(shares, jail::no_terminal())
}

/// Whether a command runs alone: its session has no keeper, and it needs none.
pub(super) fn runs_alone(setting: &Setting, judgement: &Judgement) -> bool {
    setting.bound.as_ref().is_some_and(|bound| {
        let place = Place::new(state_directory(&setting.facts), &bound.row.id);
        !place.is_taken() && !needs(judgement, &setting.place.workspace)
    })
}

/// Whether a command can leave something for the next one, as far as its text tells: a process, or a file in one of the
/// private directories.
fn needs(judgement: &Judgement, workspace: &Path) -> bool {
    let reading = &judgement.classification;
    let writes_elsewhere = |class: OpClass, subject: &Subject| {
        let changes = matches!(class, OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive);
        changes
            && match subject {
                Subject::Path(path) => !Path::new(path).starts_with(workspace),
                _ => true,
            }
    };
    is_beside(judgement)
        || plain::runs_the_unseen(reading)
        || reading.segments.iter().any(|segment| {
            !(segment.closed || segment.pure || segment.effect_free)
                || segment.ops.iter().any(|op| writes_elsewhere(op.class, &op.subject))
        })
}

/// Whether something may be started in the background; `a && b` and `2>&1` start nothing.
fn is_beside(judgement: &Judgement) -> bool {
    judgement.source.replace("&&", "").replace(">&", "").contains('&')
}

/// Writes down what a command left, so that it may go on: its id, or why it may not. Its keeper knows it by that name from
/// before it can be read here, so that nobody takes it for one that has ended; [`Left::keep`] then lets it go on.
pub(super) fn write_down(
    desk: &mut Desk<'_>,
    row: &mut SessionRow,
    goes: &Goes,
    rights: &Rights,
    (shown, state, store): (&str, &str, &Path),
) -> Result<Result<String, String>, Diagnostic> {
    let job = clock::id("j")?;
    let held = Held::from(rights);
    let what = What::Call(Call {
        call: job.clone(),
        tool: "Bash".to_owned(),
        decision: Decision::Allow,
        counts: false,
        writes: false,
        edit: None,
        command: None,
        question: None,
        held: Some(held.clone()),
        background: true,
    });
    let extra = json!({ "command": shown, "state": state });
    let applied = desk.apply(row, "job", clock::id("a")?, what, extra)?;
    match applied.reply {
        Reply::Allowed => {}
        Reply::Refused(refusal) => return Ok(Err(refusal.message)),
        _ => return Ok(Err("the session does not let it go on".to_owned())),
    }
    let shown = mask(shown, desk.secrets);
    let left = &goes.left;
    if left.name(&job, &shown).is_err() {
        return Ok(Err("the session's keeper is gone".to_owned()));
    }
    let born = life::born(left.process).unwrap_or_default();
    let body = Body {
        call: job.clone(),
        shown,
        state: state.to_owned(),
        held,
        at: clock::now(),
        store: store.to_string_lossy().into_owned(),
        watcher: goes.aside.as_ref().map(|aside| (aside.process, aside.born)),
    };
    let body = life::noted(json!({ "call": job, "shown": body.shown, "job": body }));
    desk.write.started(&Running {
        session: row.id.clone(),
        position: row.position,
        pid: left.process,
        born,
        body,
    })?;
    Ok(Ok(job))
}

/// A job in the store.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Body {
    call: String,
    shown: String,
    state: String,
    held: Held,
    at: u64,
    /// The store's directory, where its keeper is found.
    store: String,
    /// The process that watches it, and when that began; none where nobody does.
    #[serde(default)]
    watcher: Option<(i32, u64)>,
}

impl Body {
    fn writes(&self) -> bool {
        self.held.workspace == WorkspaceRight::Write || self.held.git_write
    }

    /// Whether the process that watches it lives: the end of the job is written down by that one.
    fn is_watched(&self) -> bool {
        self.watcher.is_some_and(|(process, born)| life::is_alive(process, born))
    }
}

/// The job of a session that this process's parent watches: its place among what runs, and whether it may write.
pub(super) fn watched_by_parent(running: &[Running], job: &str) -> Option<(u64, bool)> {
    let parent = life::parent();
    running.iter().find_map(|running| {
        let body = body(running).filter(|body| body.call == job && body.watcher == Some(parent))?;
        Some((running.position, body.writes()))
    })
}

/// The job that something running is, if it is one.
fn body(running: &Running) -> Option<Body> {
    let mut value: Value = serde_json::from_str(&running.body).ok()?;
    serde_json::from_value(value.get_mut("job")?.take()).ok()
}

/// What the end of a job means.
pub(super) struct JobEnd {
    /// Whether it could write until then.
    pub(super) writes: bool,
}

/// What the keeper of a session says of its jobs; asked when a job is first met.
#[derive(Default)]
pub(super) struct Lives(Option<Option<Vec<(String, usize)>>>);

/// What became of something that ran.
pub(super) enum Fate {
    /// It goes on, or nobody can tell that it does not.
    Lives,
    /// It has ended without an end in the journal; what that means where it was a job.
    Ended(Option<JobEnd>),
}

impl Lives {
    /// What became of something that is noted as running.
    pub(super) fn fate(&mut self, running: &Running) -> Fate {
        let job = body(running);
        let end = |job: Option<Body>| Fate::Ended(job.map(|body| JobEnd { writes: body.writes() }));
        match life::known(running) {
            Known::Elsewhere => return Fate::Lives,
            Known::Gone => return end(job),
            Known::Here => {}
        }
        let lives = life::is_alive(running.pid, running.born);
        let Some(body) = job else { return if lives { Fate::Lives } else { Fate::Ended(None) } };
        // Also one that has ended lives until its last words are written down.
        if lives && self.has_processes(running, &body) || body.is_watched() {
            return Fate::Lives;
        }
        end(Some(body))
    }

    /// Whether a job has processes, as far as its keeper says.
    fn has_processes(&mut self, running: &Running, body: &Body) -> bool {
        let known = self.0.get_or_insert_with(|| {
            let place = Place::new(Path::new(&body.store), &running.session);
            let jobs = match Keeper::find(&place) {
                Ok(Some(keeper)) => keeper.jobs().ok()?,
                // Killed a moment ago, perhaps.
                Ok(None) if has_ended(running.pid) => Vec::new(),
                Ok(None) | Err(_) => return None,
            };
            Some(jobs.into_iter().map(|one| (one.job, one.processes)).collect())
        });
        match known {
            Some(known) => known.iter().any(|(job, count)| *job == body.call && *count > 0),
            // Its keeper lives and does not say.
            None => true,
        }
    }
}

/// Ends jobs that a move asks to be ended, and lets the move go on; what came of it where there was one.
pub(super) fn settle(
    bound: &mut Bound,
    secrets: &[String],
    store: &Path,
    effects: &[Effect],
) -> Result<Option<(Applied, Vec<String>)>, Diagnostic> {
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::KillJobs { request, jobs } => Some((request.clone(), jobs.clone())),
        _ => None,
    });
    let Some((request, jobs)) = asked else { return Ok(None) };
    let place = Place::new(store, &bound.row.id);
    // Before they are ended: their watchers write down the end, and then nobody knows their lines.
    let before = bound.store.running(&bound.row.id)?;
    end(&place, &jobs);
    let known: Vec<Body> = before.iter().filter_map(body).collect();
    await_watchers(known.iter().filter(|body| jobs.contains(&body.call)));
    let (pid, born) = life::own();
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), secrets);
    let mut row = desk.write.session(&bound.row.id)?.ok_or_else(|| unknown(&bound.row.id))?;
    let shown: Vec<(String, String)> = known.into_iter().map(|body| (body.call, body.shown)).collect();
    for running in desk.write.running(&row.id)? {
        // That these jobs are being ended: that they were is said here.
        if (running.pid, running.born) == (pid, born) && running.body.contains("\"ending\"") {
            desk.write.ended(&row.id, running.position)?;
        }
    }
    desk.bury(&mut row)?;
    let lives: Vec<String> =
        desk.write.running(&row.id)?.iter().filter_map(body).map(|body| body.call).collect();
    let survivors: Vec<String> = jobs.iter().filter(|job| lives.contains(job)).cloned().collect();
    let gone = jobs.iter().filter(|job| !survivors.contains(job));
    let mut notices: Vec<String> = gone
        .map(|job| {
            let name = shown.iter().find(|(id, _)| id == job).map_or("", |(_, shown)| shown.as_str());
            format!("the job {job} (`{name}`) had rights that the next state does not give, and was ended")
        })
        .collect();
    let what = What::JobsEnded { request, survivors };
    let applied = desk.apply(&mut row, "event", clock::id("x")?, what, Value::Null)?;
    notices.extend(texts(&desk));
    desk.commit()?;
    (bound.row, bound.session) = (row, applied.session.clone());
    match settle(bound, secrets, store, &applied.effects)? {
        Some((last, more)) => {
            notices.extend(more);
            Ok(Some((last, notices)))
        }
        None => Ok(Some((applied, notices))),
    }
}

/// Ends jobs: asked, then killed. What came of it is seen when their ends are written down.
fn end(place: &Place, jobs: &[String]) {
    let Ok(Some(keeper)) = Keeper::find(place) else { return };
    let until = Instant::now() + GRACE;
    let mut number = libc::SIGTERM;
    while jobs.iter().any(|job| matches!(keeper.signal(job, 0), Ok(Some(1..)))) {
        for job in jobs {
            // With a keeper that is gone went everything.
            let _ = keeper.signal(job, number);
        }
        if number == libc::SIGKILL {
            return;
        }
        number = if Instant::now() < until { 0 } else { libc::SIGKILL };
        std::thread::sleep(PAUSE);
    }
}

/// Waits until those who watch jobs that were ended have written down what those did last. One that does not come to it
/// counts as a job that lives.
fn await_watchers<'a>(ended: impl Iterator<Item = &'a Body>) {
    let until = Instant::now() + LAST_WORDS;
    for body in ended {
        while body.is_watched() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Waits until what the jobs did last that have just ended by themselves is written down, so that nobody hears of one as living.
pub(super) fn await_ended(bound: &Bound) -> Result<(), Diagnostic> {
    let running = bound.store.running(&bound.row.id)?;
    let mut lives = Lives::default();
    let mut ended = Vec::new();
    for one in &running {
        let watched = body(one).filter(|body| life::known(one) == Known::Here && body.is_watched());
        if let Some(body) = watched
            && !(life::is_alive(one.pid, one.born) && lives.has_processes(one, &body))
        {
            ended.push(body);
        }
    }
    await_watchers(ended.iter());
    Ok(())
}

/// Ends the keeper of a session that is over, and with it all that runs there.
pub(super) fn close(row: &SessionRow, store: &Path) {
    if !row.over {
        return;
    }
    // Where it does not answer it ends with whoever the session works for.
    if let Ok(Some(keeper)) = Keeper::find(&Place::new(store, &row.id)) {
        let _ = keeper.quit();
    }
}

/// The session of this request, with what has ended written down.
fn look(law: &Law) -> Result<Looked, Diagnostic> {
    let setting = Setting::new(law)?;
    let hidden = secrets(&setting);
    let place =
        setting.bound.as_ref().map(|bound| Place::new(state_directory(&setting.facts), &bound.row.id));
    let (Some(mut bound), Some(place)) = (setting.bound, place) else { return Err(none()) };
    await_ended(&bound)?;
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &hidden);
    let mut row = desk.write.session(&bound.row.id)?.ok_or_else(|| unknown(&bound.row.id))?;
    desk.bury(&mut row)?;
    let jobs = desk.write.running(&row.id)?.iter().filter_map(body).collect();
    desk.commit()?;
    Ok(Looked { session: row.id, place, jobs, hidden })
}

/// A session's jobs.
struct Looked {
    session: String,
    place: Place,
    jobs: Vec<Body>,
    /// What must not be shown.
    hidden: Vec<String>,
}

/// The jobs of the session of this request: its id, and those that live.
///
/// # Errors
/// `session_none`, and what keeps the session from being read or written.
pub fn jobs(law: &Law) -> Result<(String, Vec<JobShown>), Diagnostic> {
    let Looked { session, place, jobs, .. } = look(law)?;
    let seen = match Keeper::find(&place) {
        Ok(Some(keeper)) => keeper.jobs().unwrap_or_default(),
        Ok(None) | Err(_) => Vec::new(),
    };
    let now = clock::now();
    let shown = jobs.into_iter().map(|body| JobShown {
        processes: seen.iter().find(|one| one.job == body.call).map_or(0, |one| one.processes),
        rights: rights(&body.held),
        id: body.call,
        command: body.shown,
        state: body.state,
        age: now.saturating_sub(body.at) / 1000,
    });
    Ok((session, shown.collect()))
}

/// What a job may do, in words.
fn rights(held: &Held) -> String {
    let files = match held.workspace {
        WorkspaceRight::List => "names only",
        WorkspaceRight::Read => "reads",
        WorkspaceRight::ThrowAway => "writes vanish",
        WorkspaceRight::Write => "writes",
    };
    let git = if held.git_write { ", git" } else { "" };
    let network = match &held.network {
        NetworkRight::None => String::new(),
        NetworkRight::Loopback => ", loopback".to_owned(),
        NetworkRight::Hosts(hosts) => format!(", {} hosts", hosts.len()),
        NetworkRight::Open => ", network".to_owned(),
    };
    format!("{files}{git}{network}")
}

/// What a job wrote since its command ended.
///
/// # Errors
/// `job_unknown`, and as for [`jobs`].
pub fn output(law: &Law, job: &str) -> Result<Written, Diagnostic> {
    let Looked { place, hidden, .. } = look(law)?;
    let found = Keeper::find(&place).ok().flatten().and_then(|keeper| keeper.output(job).ok().flatten());
    let Some(Output { text, dropped }) = found else { return Err(unknown_job(job)) };
    Ok(Written { text: mask(&text, &hidden), dropped })
}

/// Ends a job: asked, and killed after two seconds.
///
/// # Errors
/// `job_unknown`, `job_lives` where it would not end, and as for [`jobs`].
pub fn kill(law: &Law, job: &str) -> Result<(), Diagnostic> {
    let Looked { place, jobs, .. } = look(law)?;
    if !jobs.iter().any(|body| body.call == job) {
        return Err(unknown_job(job));
    }
    end(&place, &[job.to_owned()]);
    await_watchers(jobs.iter().filter(|body| body.call == job));
    if look(law)?.jobs.iter().any(|body| body.call == job) {
        return Err(Diagnostic::new("job_lives", format!("the job {job} would not end"))
            .help("a person ends everything of the session: swbox session end"));
    }
    Ok(())
}

pub(super) fn unknown_job(job: &str) -> Diagnostic {
    Diagnostic::new("job_unknown", format!("the session has no job `{job}`"))
        .help("`swbox jobs` lists those that live; what one wrote is kept until its session's processes end")
}

/// The store's directory, for those who have no setting.
pub(super) fn store() -> Result<std::path::PathBuf, Diagnostic> {
    Ok(state_directory(&host::facts()?).to_owned())
}
