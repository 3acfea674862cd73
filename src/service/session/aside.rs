//! What a job does after its command has ended: seen by a process of its own, and written down by another one, which that
//! starts each time. A copy of a process that had the store open must not open it again.
//!
//! Danger: what is written down here fires interrupts and voids evidence. It is taken only from the process that the job's
//! own record names as its watcher, and a job is not over before that one has said what it saw last.

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::find::{named, unknown};
use super::write::Desk;
use super::{jobs, life};
use crate::diagnostic::Diagnostic;
use crate::engine::{Ended, Touch, What};
use crate::jail::keeper::{Keeper, Left, Place};
use crate::service::effects::touched;
use crate::service::own_files::state_directory;
use crate::service::request::Law;
use crate::service::{clock, host};
use crate::store::{Durability, Store, secrets_of};
use crate::supervisor::Seen;
use crate::supervisor::aside::Aside;
use crate::supervisor::notify::{Heard, Watcher};

/// How often what was seen is written down.
const PAUSE: Duration = Duration::from_millis(500);

/// How often that is done of a file that is written to all the time.
const AGAIN: Duration = Duration::from_secs(10);

/// How many files' times are remembered.
const FILES: usize = 10_000;

/// What a command left running, and who goes on watching it.
pub(super) struct Goes {
    pub(super) left: Left,
    pub(super) aside: Option<Watching>,
}

/// The process that watches it.
pub(super) struct Watching {
    aside: Aside,
    pub(super) process: i32,
    /// When it began.
    pub(super) born: u64,
}

impl Watching {
    /// Lets it watch the job of this name.
    pub(super) fn go(self, job: &str) -> std::io::Result<()> {
        self.aside.go(job)
    }
}

/// Where a job is.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    /// The store's directory.
    pub(super) store: &'a Path,
    pub(super) session: &'a str,
    pub(super) workspace: &'a Path,
}

/// Starts a process that watches what was left, with all that the command's watcher knows; none where it was not watched,
/// or where that cannot be: its keeper then lets its calls through, and its end counts as a write.
pub(super) fn start(left: &mut Left, watcher: &mut Watcher<'_>, home: Home<'_>) -> Option<Watching> {
    let listener = left.listener().take()?;
    let made = Aside::start(&listener, &mut |job| {
        if let Ok(listener) = listener.try_clone() {
            watch(watcher, listener, home, job);
        }
    });
    let born = made.as_ref().ok().and_then(|aside| life::born(aside.process));
    match (made, born) {
        (Ok(aside), Some(born)) => Some(Watching { process: aside.process, aside, born }),
        _ => {
            *left.listener() = Some(listener);
            None
        }
    }
}

/// Watches until the end of the job.
fn watch(watcher: &mut Watcher<'_>, listener: OwnedFd, home: Home<'_>, job: &str) {
    watcher.go_on(listener);
    let mut told = Told { whole: true, ..Told::default() };
    let mut last = Instant::now();
    let mut stopped = None;
    loop {
        let patience = (watcher.holds_names() || !told.due.is_empty()).then_some(PAUSE);
        let heard = watcher.hear(patience);
        if stopped.is_none()
            && let Some(program) = watcher.stopped()
        {
            let words = program.argv.iter().map(|word| String::from_utf8_lossy(word).into_owned());
            stopped = Some(words.collect::<Vec<_>>());
            kill(home, job);
        }
        if heard == Heard::End {
            break;
        }
        if last.elapsed() >= PAUSE {
            last = Instant::now();
            told.take(&watcher.seen_since(), home.workspace);
            told.tell(home, job);
        }
    }
    told.take(&watcher.seen_since(), home.workspace);
    told.finish(home, job, stopped);
}

/// Ends the whole job at once.
fn kill(home: Home<'_>, job: &str) {
    if let Ok(Some(keeper)) = Keeper::find(&Place::new(home.store, home.session)) {
        // With a keeper that is gone went everything.
        let _ = keeper.signal(job, libc::SIGKILL);
    }
}

/// What is to be written down, and what was.
#[derive(Default)]
struct Told {
    /// Files that are to be.
    due: BTreeSet<PathBuf>,
    /// Those that are being.
    under_way: Option<(Child, BTreeSet<PathBuf>)>,
    /// When each was last.
    told: HashMap<PathBuf, Instant>,
    denials: u64,
    /// Whether nothing can be missing.
    whole: bool,
}

impl Told {
    fn take(&mut self, seen: &Seen, workspace: &Path) {
        let touched = touched(seen, workspace);
        self.whole &= touched.whole;
        self.denials += seen.denials.iter().map(|counted| counted.times).sum::<u64>();
        self.due.extend(touched.files);
    }

    /// Has written down what is new, unless somebody is at it.
    fn tell(&mut self, home: Home<'_>, job: &str) {
        if let Some((mut child, files)) = self.under_way.take() {
            match child.try_wait() {
                Ok(None) => {
                    self.under_way = Some((child, files));
                    return;
                }
                Ok(Some(status)) if status.success() => {}
                Ok(Some(_)) | Err(_) => self.due.extend(files),
            }
        }
        let recent = |path: &PathBuf| self.told.get(path).is_some_and(|at| at.elapsed() < AGAIN);
        let now: BTreeSet<PathBuf> = self.due.iter().filter(|path| !recent(path)).cloned().collect();
        if now.is_empty() {
            return;
        }
        self.due.retain(|path| !now.contains(path));
        if self.told.len() > FILES {
            self.told.clear();
        }
        self.told.extend(now.iter().map(|path| (path.clone(), Instant::now())));
        let word = Word::of(home, job, &now);
        match word.send() {
            Ok(child) => self.under_way = Some((child, now)),
            Err(_) => self.due.extend(now),
        }
    }

    /// Has the end written down with all that is left to tell.
    fn finish(mut self, home: Home<'_>, job: &str, stopped: Option<Vec<String>>) {
        if let Some((mut child, files)) = self.under_way.take()
            && !matches!(child.try_wait(), Ok(Some(status)) if status.success())
        {
            // It may wait for this very end. What is told twice was touched all the same.
            self.due.extend(files);
        }
        let word = Word {
            over: true,
            whole: self.whole,
            denials: u32::try_from(self.denials).unwrap_or(u32::MAX),
            stopped,
            ..Word::of(home, job, &self.due)
        };
        // Where it cannot be written down the job counts as lost.
        if let Ok(mut child) = word.send() {
            let _ = child.wait();
        }
    }
}

/// What is to be written down of a job.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Word {
    session: String,
    job: String,
    touched: Vec<String>,
    denials: u32,
    whole: bool,
    over: bool,
    /// The arguments of a program that may not run.
    stopped: Option<Vec<String>>,
}

impl Word {
    fn of(home: Home<'_>, job: &str, files: &BTreeSet<PathBuf>) -> Self {
        let touched = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Self { session: home.session.to_owned(), job: job.to_owned(), touched, ..Self::default() }
    }

    /// Gives it to a process that writes it down.
    fn send(&self) -> std::io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("job-seen").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let text = serde_json::to_vec(self)?;
        match child.stdin.take() {
            Some(mut input) => input.write_all(&text)?,
            None => return Err(std::io::ErrorKind::BrokenPipe.into()),
        }
        Ok(child)
    }
}

/// Writes down what the parent of this process has seen of the job that it watches.
///
/// # Errors
/// `job_unknown` where it watches none of this name, and what keeps the session from being read or written.
pub fn job_seen(text: &str) -> Result<(), Diagnostic> {
    let word: Word = serde_json::from_str(text).map_err(|_| jobs::unknown_job(""))?;
    let facts = host::facts()?;
    let law = Law { session: Some(word.session.clone()), ..Law::default() };
    let mut bound = named(&facts, &law, false)?.ok_or_else(|| unknown(&word.session))?.read()?;
    let pairs = facts.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let secrets = secrets_of(pairs);
    let mut desk = Desk::new(bound.store.begin(Durability::Machine)?, Rc::clone(&bound.workflow), &secrets);
    let mut row = desk.write.session(&bound.row.id)?.ok_or_else(|| unknown(&bound.row.id))?;
    let running = desk.write.running(&row.id)?;
    let Some((position, writes)) = jobs::watched_by_parent(&running, &word.job) else {
        return Err(jobs::unknown_job(&word.job));
    };
    let mut effects = Vec::new();
    if !word.touched.is_empty() {
        let touched = word.touched.iter().map(|path| Touch { path: path.clone(), kept: true }).collect();
        let what = What::Touched { call: word.job.clone(), touched };
        effects.extend(desk.apply(&mut row, "job_seen", clock::id("x")?, what, json!(null))?.effects);
        desk.tell_others(&row, &word.touched)?;
    }
    if word.over {
        desk.write.ended(&row.id, position)?;
        let what = What::Ended(Ended {
            call: word.job.clone(),
            exit_code: word.stopped.as_ref().map(|_| 126),
            lost: writes && !word.whole,
            denials: word.denials,
            ..Ended::default()
        });
        let extra = json!({ "stopped": word.stopped });
        effects.extend(desk.apply(&mut row, "job_end", clock::id("x")?, what, extra)?.effects);
    }
    desk.commit()?;
    bound.reread()?;
    let store = state_directory(&facts).to_owned();
    jobs::settle(&mut bound, &secrets, &store, &effects)?;
    jobs::close(&bound.row, &store);
    Ok(())
}
