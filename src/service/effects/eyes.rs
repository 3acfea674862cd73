//! What takes each thing as it is seen: counts it, writes its event, and says whether a program may begin.
//!
//! Danger: the watched process waits for this. Nothing here blocks, grows without bound, or asks the network.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::attribute::{Ground, Refused, attribute};
use super::choose::Choice;
use super::events::{Events, bytes, text, words};
use super::programs::{Processes, readings};
use super::tally::Tally;
use super::undeclared::{Declared, Undeclared};
use super::{Effects, Stopped, Touched};
use crate::classify::{Classification, Environment, OpClass, Subject};
use crate::diagnostic::Diagnostic;
use crate::jail::{Exit, Outcome};
use crate::policy::Started;
use crate::service::report::Judgement;
use crate::service::setting::Setting;
use crate::supervisor::{Act, Cause, Denial, Observed, Program, Seen, Sink, Target, Touch, Verdict};

/// How many distinct undeclared effects are kept.
const UNDECLARED: usize = 256;

/// How many hosts of one program are named.
const HOSTS: usize = 4;

/// How many concluded or reported refusals are kept beside those that were seen.
const FURTHER: usize = 256;

/// What programs try at every start and do well without: shells open the terminal that no command gets.
const TRIED: [&str; 1] = ["/dev/tty"];

/// The watcher of one run.
#[derive(Debug)]
pub(in crate::service) struct Eyes<'a> {
    ground: Ground<'a>,
    /// What the jail that runs gives less than was asked.
    lacks: Vec<String>,
    choice: Choice,
    /// Whether changes of the workspace stay.
    keeps: bool,
    /// Whether programs are judged by what they are given.
    judges: bool,
    environment: Environment,
    secrets: &'a [String],
    events: Option<Events>,
    processes: Processes,
    /// Refusals, each once, with the program that tried it first.
    denials: Vec<Refused>,
    /// How often those were refused that the watcher did not count.
    further: HashMap<Denial, u64>,
    declared: Declared,
    undeclared: Tally<Undeclared>,
    stopped: Option<Stopped>,
}

/// What else a watcher must know.
#[derive(Debug)]
pub(in crate::service) struct Watching<'a> {
    /// How the run is watched.
    pub(in crate::service) choice: Choice,
    /// Whether the first program is the shell of a line.
    pub(in crate::service) of_line: bool,
    /// Whether changes of the workspace stay.
    pub(in crate::service) keeps: bool,
    /// Values that are not written down.
    pub(in crate::service) secrets: &'a [String],
    /// Where events go.
    pub(in crate::service) events: Option<Events>,
    /// What classification is told of the world, for arguments: their paths are only compared, so no directory is named.
    pub(in crate::service) world: Environment,
}

impl<'a> Eyes<'a> {
    /// The watcher of a run whose refusals are explained by `ground`.
    pub(in crate::service) fn new(ground: Ground<'a>, watching: Watching<'a>) -> Self {
        let Watching { choice, of_line, keeps, secrets, events, world } = watching;
        Self {
            judges: ground.policy.judges_programs(ground.law, ground.line),
            environment: world,
            processes: Processes::new(of_line),
            denials: Vec::new(),
            further: HashMap::new(),
            declared: Declared::of(ground.line),
            undeclared: Tally::new(UNDECLARED),
            stopped: None,
            lacks: Vec::new(),
            ground,
            choice,
            keeps,
            secrets,
            events,
        }
    }

    /// Writes the first event.
    pub(in crate::service) fn start(&mut self, setting: &Setting, judgement: &Judgement) {
        if self.events.is_none() {
            return;
        }
        let law = &judgement.law;
        let mut fields = Map::new();
        fields.insert("command".into(), json!(crate::store::mask(&judgement.source, self.secrets)));
        fields.insert("workflow".into(), json!(law.workflow));
        fields.insert("state".into(), json!(law.state));
        fields.insert("session".into(), json!(law.session));
        fields.extend(text("workspace", bytes(&setting.place.workspace)));
        fields.extend(text("cwd", bytes(&setting.place.cwd)));
        fields.insert("observe".into(), json!(self.choice.name()));
        self.say("start", Value::Object(fields));
    }

    /// Writes the last event of a command that could not be run.
    pub(in crate::service) fn failed(self, problem: &Diagnostic) {
        if let Some(events) = self.events {
            let error = json!({ "code": problem.code, "message": problem.message });
            // The failure is reported anyway; that its event was not written is the lesser one.
            let _ = events.finish("exit", json!({ "exit": null, "error": error }));
        }
    }

    fn say(&mut self, event: &str, fields: Value) {
        if let Some(events) = &mut self.events {
            events.say(event, fields);
        }
    }

    fn touch(&mut self, pid: i32, touch: &Touch) {
        self.beyond(pid, touch.act, &Target::Path(touch.path.clone()), false);
        if self.events.is_some() {
            let mut fields = Map::new();
            fields.insert("pid".into(), json!((pid != 0).then_some(pid)));
            fields.insert("act".into(), json!(touch.act));
            fields.extend(text("path", bytes(&touch.path)));
            if let Some(to) = &touch.to {
                fields.extend(text("to", bytes(to)));
            }
            fields.insert("kept".into(), json!(self.keeps));
            self.say("touch", Value::Object(fields));
        }
    }

    /// Notes an act that the line does not declare.
    fn beyond(&mut self, pid: i32, act: Act, target: &Target, refused: bool) {
        let workspace = self.ground.anchors.workspace;
        if self.declared.beyond(act, target, workspace, "git").is_none() {
            return;
        }
        let program = self.name(pid);
        let Some(class) = self.declared.beyond(act, target, workspace, &program) else { return };
        let undeclared = Undeclared { class, program, target: target.clone(), refused };
        if self.undeclared.add(&undeclared) {
            let mut fields = undeclared_fields(&undeclared);
            fields.insert("pid".into(), json!((pid != 0).then_some(pid)));
            self.say("undeclared", Value::Object(fields));
        }
    }

    fn readings(&self, program: &Program) -> Vec<Classification> {
        readings(program, &self.environment)
    }

    /// The hosts that a program was given: as its arguments mean, else as they look.
    fn asked(&self, program: &Program) -> Vec<String> {
        let meant = hosts(&self.readings(program));
        if meant.is_empty() { addressed(&program.argv) } else { meant }
    }

    fn name(&self, pid: i32) -> String {
        if pid == 0 { String::new() } else { self.processes.name(pid) }
    }

    fn denial(&mut self, pid: i32, denial: &Denial) {
        if !denial.inferred {
            self.beyond(pid, denial.act, &denial.target, true);
        }
        let hosts = self.processes.argv(pid).map(|argv| self.asked(argv)).unwrap_or_default();
        let refused = Refused {
            denial: denial.clone(),
            count: 1,
            program: self.name(pid),
            hosts: if hosts.is_empty() { self::hosts(std::slice::from_ref(self.ground.line)) } else { hosts },
            ended_well: false,
        };
        if self.events.is_some() {
            let mut fields =
                attribute(&Ground { shortfall: &self.lacks, ..self.ground }, refused.clone()).fields();
            // How often it was tried, and whether it mattered, stands in the last event.
            fields.remove("count");
            fields.remove("incidental");
            fields.insert("pid".into(), json!((pid != 0).then_some(pid)));
            self.say("denial", Value::Object(fields));
        }
        self.denials.push(refused);
    }

    /// Takes a refusal that the watcher did not see: one that was concluded, or that the proxy gave.
    pub(in crate::service) fn further(&mut self, denial: &Denial, count: u64) {
        let same = |known: &Denial| known.target == denial.target && known.act == denial.act;
        if self.denials.iter().any(|known| same(&known.denial)) {
            return;
        }
        if self.further.len() < FURTHER && self.further.insert(denial.clone(), count).is_none() {
            self.denial(0, denial);
        }
    }

    fn program(&mut self, pid: i32, program: &Program) -> Verdict {
        let by_line = self.judges && self.processes.is_by_line(pid);
        self.processes.begin(pid, program);
        // Whatever was stopped before: what started that goes on, and may start more.
        let reason = if self.judges {
            let readings = self.readings(program);
            let started = Started { readings: &readings, by_line };
            self.ground.policy.judge_program(self.ground.law, self.ground.line, started)
        } else {
            None
        };
        if self.events.is_some() {
            let program = program.clone().short();
            let mut fields = Map::new();
            fields.insert("pid".into(), json!(pid));
            fields.extend(text("file", bytes(&program.file)));
            fields.extend(words("argv", &program.argv, self.secrets));
            fields.insert("cut".into(), json!(program.cut));
            let stopped =
                reason.as_ref().map(|reason| json!({ "code": reason.code, "message": reason.message }));
            fields.insert("stopped".into(), json!(stopped));
            self.say("exec", Value::Object(fields));
        }
        let Some(reason) = reason else { return Verdict::Go };
        // The first is told.
        self.stopped.get_or_insert_with(|| Stopped {
            reason,
            file: program.file.clone(),
            argv: program.clone().short().argv,
        });
        Verdict::Stop
    }

    /// What was seen, explained, and the last event written. `seen` is the watcher's own count; there is none where
    /// nobody watched.
    pub(in crate::service) fn finish(mut self, seen: Option<&Seen>, outcome: Option<&Outcome>) -> Effects {
        if let Some(limit) = outcome.and_then(|outcome| outcome.limit) {
            let inferred = outcome.is_some_and(|outcome| outcome.limit_inferred);
            self.say("limit", json!({ "limit": limit.name(), "inferred": inferred }));
        }
        let seen_denials = seen.map(|seen| seen.denials.as_slice()).unwrap_or_default();
        let counts: HashMap<&Denial, u64> =
            seen_denials.iter().map(|counted| (&counted.what, counted.times)).collect();
        let shortfall = outcome.map_or(self.lacks.as_slice(), |outcome| &outcome.degraded);
        let ground = Ground { shortfall, ..self.ground };
        let ended_well = outcome.is_some_and(|outcome| outcome.exit == Exit::Code(0));
        let denials = self.denials.iter().map(|refused| {
            let count =
                counts.get(&refused.denial).or(self.further.get(&refused.denial)).copied().unwrap_or(1);
            attribute(&ground, Refused { count, ended_well, ..refused.clone() })
        });
        let mut effects = Effects {
            choice: if seen.is_some() { self.choice } else { Choice::OFF },
            denials: denials.collect(),
            touched: seen.filter(|_| self.keeps).map(|seen| touched(seen, self.ground.anchors.workspace)),
            programs: self.processes.count,
            undeclared: self.undeclared.iter().cloned().collect(),
            unseen: seen.map(unseen).unwrap_or_default(),
            dropped: seen.map_or(0, |seen| seen.dropped) + self.undeclared.more(),
            stopped: self.stopped,
            events_failed: None,
        };
        if let Some(events) = self.events {
            let lost = events.lost();
            effects.events_failed = events.finish("exit", exit_fields(&effects, outcome, lost)).err();
        }
        effects
    }
}

/// The hosts that commands name.
fn hosts(readings: &[Classification]) -> Vec<String> {
    let mut hosts = Vec::new();
    for op in readings.iter().flat_map(|reading| &reading.segments).flat_map(|segment| &segment.ops) {
        if let (OpClass::Network, Subject::Host(host)) = (op.class, &op.subject)
            && !hosts.contains(host)
            && hosts.len() < HOSTS
        {
            hosts.push(host.clone());
        }
    }
    hosts
}

/// The hosts of the addresses (`https://host/…`) that stand in arguments, be it in code: names for a person, no more.
fn addressed(argv: &[Vec<u8>]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for word in argv {
        let text = String::from_utf8_lossy(word);
        for after in text.split("://").skip(1) {
            let authority =
                after.split(['/', '?', '#', '"', '\'', '`', '\\', ' ', '\n', ')', '}', ',']).next();
            let host = authority.unwrap_or_default().rsplit('@').next().unwrap_or_default();
            let host = host.split(':').next().unwrap_or_default();
            let plain = !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
            if plain && hosts.len() < HOSTS && !hosts.iter().any(|known| known == host) {
                hosts.push(host.to_owned());
            }
        }
    }
    hosts
}

/// Whether a refusal says nothing: everybody tries that.
fn is_tried(denial: &Denial) -> bool {
    match &denial.target {
        Target::Path(path) => TRIED.iter().any(|tried| path == Path::new(tried)),
        // The C library asks a daemon for the names of users before it reads the file.
        Target::Address(socket) => socket == "unix" && denial.cause == Cause::Narrowed,
        Target::Abstract(_) => false,
    }
}

/// The files below the workspace that were touched, as far as the watcher knows.
pub(in crate::service) fn touched(seen: &Seen, workspace: &Path) -> Touched {
    let mut files = BTreeSet::new();
    for touch in &seen.touched {
        // Of a further name (a hard link) the file itself stays as it was.
        let old = (touch.to.is_none() || touch.act == Act::Rename).then_some(&touch.path);
        for path in old.into_iter().chain(&touch.to) {
            let below = path.strip_prefix(workspace).ok().filter(|below| !below.as_os_str().is_empty());
            let is_git = |below: &&Path| below.components().any(|part| part.as_os_str() == ".git");
            files.extend(below.filter(|below| !is_git(below)).map(Path::to_owned));
        }
    }
    // A directory is no file. Of one that is gone only what it held tells it.
    let is_directory = |path: &PathBuf| {
        let holds = files.range::<PathBuf, _>((Excluded(path), Unbounded)).next();
        workspace.join(path).symlink_metadata().is_ok_and(|meta| meta.is_dir())
            || holds.is_some_and(|next| next.starts_with(path))
    };
    let only = files.iter().filter(|path| !is_directory(path)).cloned().collect();
    Touched { files: only, whole: seen.unseen.is_empty() && seen.dropped == 0 }
}

fn unseen(seen: &Seen) -> Vec<(&'static str, &'static str, u64)> {
    seen.unseen.iter().map(|counted| (counted.what.0, counted.what.1, counted.times)).collect()
}

impl Sink for Eyes<'_> {
    fn lacks(&mut self, degraded: &[String]) {
        self.lacks = degraded.to_vec();
    }

    fn goes_on(&mut self) {
        // Its descriptor is closed here, and the number may be another's.
        std::mem::forget(self.events.take());
    }

    fn observed(&mut self, pid: i32, what: &Observed) -> Verdict {
        match what {
            Observed::Touch(touch) => self.touch(pid, touch),
            Observed::Denial(denial) if is_tried(denial) => {}
            Observed::Denial(denial) => self.denial(pid, denial),
            Observed::Program(program) => return self.program(pid, program),
            // The watcher counts them.
            Observed::Unseen { .. } => {}
        }
        Verdict::Go
    }
}

/// An undeclared effect as JSON fields.
pub(super) fn undeclared_fields(undeclared: &Undeclared) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("class".into(), json!(undeclared.class.name()));
    fields.insert("program".into(), json!(undeclared.program));
    fields.extend(super::target_fields(&undeclared.target));
    fields.insert("refused".into(), json!(undeclared.refused));
    fields
}

/// The last event.
fn exit_fields(effects: &Effects, outcome: Option<&Outcome>, lost: u64) -> Value {
    let mut fields = effects.fields();
    fields.insert("lost".into(), json!(lost));
    match outcome {
        Some(outcome) => {
            fields.insert("exit".into(), crate::service::report::exit(outcome));
            let micros = u64::try_from(outcome.duration.as_micros()).unwrap_or(u64::MAX);
            fields.insert("run_us".into(), json!(micros));
        }
        None => {
            fields.insert("exit".into(), Value::Null);
        }
    }
    Value::Object(fields)
}

/// The trees in which a command of this plan may write: no events are written there.
pub(in crate::service) fn open_to_commands(plan: &crate::jail::JailPlan) -> Vec<&Path> {
    let writable = plan.steps.iter().filter_map(|step| match step {
        crate::jail::Step::Bind { path, writable: true, .. } => Some(path.as_path()),
        _ => None,
    });
    writable.chain([plan.workspace.as_path()]).collect()
}

#[cfg(test)]
mod tests {
    use super::addressed;

    #[test]
    fn addresses_in_arguments_are_seen_wherever_they_stand() {
        let of = |words: &[&str]| {
            addressed(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["git-remote-https", "origin", "https://u:p@a.example:8443/x.git"]), ["a.example"]);
        assert_eq!(
            of(&["python3", "-c", "get('https://a.example/x'); get(\"http://b.example\")"]),
            ["a.example", "b.example"]
        );
        assert_eq!(
            of(&["x", "https://$HOST/x", "file:///etc/hosts", "://", "a.example"]),
            Vec::<String>::new()
        );
    }
}
