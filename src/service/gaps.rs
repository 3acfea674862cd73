//! A history of commands really run, each in a workspace of its own that is thrown away, to find where the tables of
//! programs say less than a program does.
//!
//! A command runs with more rights than its text needs; what it then does beyond its declared classes is a gap, and so is
//! another end or output where the rights are narrowed to those classes. An opaque line declares nothing and is not run.
//!
//! Danger: these are somebody's commands. They run in the jail, in a directory made for them, without network.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::{bytes, commands_of};
use super::clock;
use super::effects::{Choice, Undeclared};
use super::report::JSON_VERSION;
use super::request::{Command, Law, Observe, Run};
use super::run as plain;
use super::setting::Setting;
use super::watched::{self, Launch};
use crate::classify::{Classification, OpClass, Subject};
use crate::diagnostic::Diagnostic;
use crate::jail::{self, Capture, Exit, Outcome};
use crate::policy::{NetworkRight, Rights, RightsRequest, WorkspaceRight};
use crate::profile::value::lies_in;
use crate::shell::Trust;
use crate::supervisor::{Mode, Target};

/// The longest that one command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of output that are compared.
const OUTPUT: usize = 64 * 1024;

/// How many files are made for one command.
const MOST_FILES: usize = 32;

/// What a file that a command reads holds.
const TEXT: &str =
    "alpha beta\nimport os\ndef run(x):\n    return x + 1\n{\"a\": [1, 2]}\nclass Model:\n    pass\n";

/// Effects of one class by one program.
#[derive(Debug, Clone)]
pub struct Gap {
    /// The class that was not declared; none where the narrowed run ended otherwise.
    pub class: Option<OpClass>,
    /// The program.
    pub program: String,
    /// How many commands.
    pub count: usize,
    /// The first few commands.
    pub examples: Vec<String>,
    /// The first few things that were acted on.
    pub targets: Vec<String>,
}

/// A program, and the name of a class, or none for another end.
type Kind = (String, Option<&'static str>);

/// How a command ended, and what it did that it does not declare, with how often.
type Done = (Outcome, Vec<(Undeclared, u64)>);

/// What a history comes to.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    /// Commands in all.
    pub total: usize,
    /// Those that ran.
    pub ran: usize,
    /// Those that declare nothing, or cannot be read.
    pub undeclaring: usize,
    /// Those whose program this host does not have.
    pub missing: usize,
    /// Those that were ended after 10 s.
    pub timed_out: usize,
    /// Those that ended otherwise than with 0: they may not have got to what they would do.
    pub failed: usize,
    /// The gaps, the largest first.
    pub gaps: Vec<Gap>,
}

/// Runs every command of the files that declares what it does; `progress` hears done and total.
///
/// # Errors
/// A file that cannot be read, a directory that cannot be made, and whatever prevents a run at all.
pub fn gaps(
    law: &Law,
    files: &[PathBuf],
    examples: usize,
    mut progress: impl FnMut(usize, usize),
) -> Result<Gaps, Diagnostic> {
    let mut commands = Vec::new();
    for file in files {
        commands.extend(commands_of(&bytes(file)?));
    }
    let place = Scene::make()?;
    let found = place.search(law, &commands, examples, &mut progress);
    let removed = fs::remove_dir_all(&place.root);
    let gaps = found?;
    removed.map_err(|error| failed("removed", &place.root, &error))?;
    Ok(gaps)
}

/// Where the commands run.
struct Scene {
    root: PathBuf,
}

impl Scene {
    fn make() -> Result<Self, Diagnostic> {
        let root = std::env::temp_dir().join(format!("swbox-{}", clock::id("audit")?));
        let make = |path: &Path| {
            fs::DirBuilder::new().mode(0o700).create(path).map_err(|error| failed("made", path, &error))
        };
        make(&root)?;
        let root = fs::canonicalize(&root).map_err(|error| failed("made", &root, &error))?;
        make(&root.join("work"))?;
        Ok(Self { root })
    }

    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn search(
        &self,
        law: &Law,
        commands: &[String],
        examples: usize,
        progress: &mut impl FnMut(usize, usize),
    ) -> Result<Gaps, Diagnostic> {
        let law = Law { workspace: Some(self.work()), ..law.clone() };
        let mut setting = Setting::new(&law)?;
        setting.place.cwd = self.work();
        setting.complete(&law)?;
        crate::jail::set_input(&[]).map_err(|error| failed("given no input", &self.root, &error))?;
        self.lay_out(&setting)?;
        let mut gaps = Gaps { total: commands.len(), ..Gaps::default() };
        for (done, text) in commands.iter().enumerate() {
            progress(done, commands.len());
            self.one(&setting, text, examples, &mut gaps)?;
        }
        progress(commands.len(), commands.len());
        gaps.gaps.sort_by_key(|gap| std::cmp::Reverse(gap.count));
        Ok(gaps)
    }

    /// The tree that each command begins with: a few files, committed.
    fn lay_out(&self, setting: &Setting) -> Result<(), Diagnostic> {
        let work = self.work();
        for name in ["README.md", "src/main.py", "src/util.py", "tests/test_main.py", "data.json"] {
            write(&work.join(name))?;
        }
        let init =
            "git init -q . && git add -A && git -c user.name=a -c user.email=a@b.example commit -qm first";
        let rights = Rights { git_write: true, ..wide() };
        // Without git the tree has no repository; commands of git then fail, and have no gap.
        let _ = self.launch(setting, init, &rights)?;
        fs::rename(&work, self.root.join("template")).map_err(|error| failed("kept", &work, &error))
    }

    /// One command: wide, and where it can be narrowed so as well.
    fn one(&self, setting: &Setting, text: &str, examples: usize, gaps: &mut Gaps) -> Result<(), Diagnostic> {
        let policy = setting.policy()?;
        let Ok(judgement) = setting.judge(&policy, &Command::line(text)) else {
            gaps.undeclaring += 1;
            return Ok(());
        };
        let line = &judgement.classification;
        let declares = line.trust == Trust::Trusted && line.opaque.is_none() && line.catastrophe.is_none();
        if !declares {
            gaps.undeclaring += 1;
            return Ok(());
        }
        let law = policy.require_state(&setting.state)?;
        let narrow = policy.rights(law, line, RightsRequest { hosts: &[], narrow: true });
        let transparent =
            line.segments.iter().all(|one| one.closed || one.pure || one.stdin_filter || one.effect_free);
        self.renew(line)?;
        let Some((outcome, undeclared)) = self.launch(setting, text, &wide())? else {
            gaps.undeclaring += 1;
            return Ok(());
        };
        gaps.ran += 1;
        gaps.missing += usize::from(outcome.exit == Exit::Code(127));
        gaps.timed_out += usize::from(outcome.exit == Exit::Timeout);
        gaps.failed += usize::from(!matches!(outcome.exit, Exit::Code(0 | 127) | Exit::Timeout));
        let mut kinds: BTreeMap<Kind, (Option<OpClass>, Vec<String>)> = BTreeMap::new();
        for (effect, _) in undeclared {
            let kind = (effect.program.clone(), Some(effect.class.name()));
            let (_, targets) = kinds.entry(kind).or_insert((Some(effect.class), Vec::new()));
            targets.push(self.shown(&effect.target));
        }
        if transparent && !changes(line) && outcome.exit != Exit::Timeout {
            self.renew(line)?;
            let rights = Rights { workspace: WorkspaceRight::Read, network: NetworkRight::None, ..narrow };
            if let Some((other, _)) = self.launch(setting, text, &rights)?
                && other.exit != Exit::Timeout
                && differs(&outcome, &other)
                && self.is_steady(setting, text, line, &outcome)?
            {
                let program = line.segments.first().map(|one| one.program.clone()).unwrap_or_default();
                kinds.insert((program, None), (None, vec![ends(&outcome, &other)]));
            }
        }
        for ((program, _), (class, targets)) in kinds {
            gaps.take(class, program, text, &targets, examples);
        }
        Ok(())
    }

    /// Whether a command ends a second and a third time as it did: one that tells the time, or numbers of files that are
    /// used anew, does not.
    fn is_steady(
        &self,
        setting: &Setting,
        text: &str,
        line: &Classification,
        first: &Outcome,
    ) -> Result<bool, Diagnostic> {
        for _ in 0..2 {
            self.renew(line)?;
            let again = self.launch(setting, text, &wide())?;
            if again.is_none_or(|(again, _)| differs(first, &again)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The workspace as at the beginning, with the files that a line reads.
    fn renew(&self, line: &Classification) -> Result<(), Diagnostic> {
        let work = self.work();
        if work.exists() {
            let _ = open_up(&work);
            fs::remove_dir_all(&work).map_err(|error| failed("emptied", &work, &error))?;
        }
        copy(&self.root.join("template"), &work).map_err(|error| failed("laid out", &work, &error))?;
        let reads = |class| matches!(class, OpClass::FileRead | OpClass::ContentSearch | OpClass::FileModify);
        let ops = line.segments.iter().flat_map(|one| &one.ops).filter(|op| reads(op.class));
        for op in ops.take(MOST_FILES) {
            let Subject::Path(path) = &op.subject else { continue };
            let path = Path::new(path);
            let plain = !path.components().any(|part| matches!(part, std::path::Component::ParentDir));
            let known = plain && lies_in(path, &work) && !path.to_string_lossy().contains(['*', '?', '[']);
            if known && !path.exists() {
                // A name that cannot be made is one that the command does not find.
                let _ = write(path);
            }
        }
        Ok(())
    }

    /// Runs a line; nothing where it cannot be planned.
    fn launch(&self, setting: &Setting, text: &str, rights: &Rights) -> Result<Option<Done>, Diagnostic> {
        let policy = setting.policy()?;
        let command = Command::line(text);
        let judgement = setting.judge(&policy, &command)?;
        let run = Run {
            law: Law::default(),
            command,
            timeout: Some(TIMEOUT),
            capture: true,
            dry_run: false,
            observe: Observe::Notify,
            events: None,
        };
        let Ok(plan) = plain::plan(setting, rights, false, &run.command, run.timeout, jail::plan) else {
            return Ok(None);
        };
        let choice = watched::possible(Choice { mode: Mode::Notify, reads: false });
        let (judgement, plan) = (&judgement, &plan);
        let capture = Capture::Keep(OUTPUT);
        let launch = Launch { setting, run: &run, judgement, rights, plan, capture, choice };
        let (outcome, effects) = watched::launch(launch, None)?;
        Ok(Some((outcome, effects.undeclared)))
    }

    fn shown(&self, target: &Target) -> String {
        match target {
            Target::Path(path) => {
                path.strip_prefix(self.work()).unwrap_or(path).to_string_lossy().into_owned()
            }
            Target::Address(address) => address.clone(),
            Target::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
        }
    }
}

/// More rights than a line of the history declares.
fn wide() -> Rights {
    Rights {
        workspace: WorkspaceRight::Write,
        git_write: false,
        network: NetworkRight::Loopback,
        narrowed: Vec::new(),
    }
}

/// Whether a line declares that it changes something.
fn changes(line: &Classification) -> bool {
    [OpClass::FileWrite, OpClass::FileModify, OpClass::Destructive, OpClass::GitWrite, OpClass::Network]
        .into_iter()
        .any(|class| line.classes.contains(class))
}

fn differs(wide: &Outcome, narrow: &Outcome) -> bool {
    let text = |outcome: &Outcome| outcome.output.as_ref().map(|(out, _)| (out.head.clone(), out.total));
    wide.exit != narrow.exit || text(wide) != text(narrow)
}

fn ends(wide: &Outcome, narrow: &Outcome) -> String {
    format!("{:?}, narrowed {:?}", wide.exit, narrow.exit)
}

impl Gaps {
    fn take(
        &mut self,
        class: Option<OpClass>,
        program: String,
        text: &str,
        targets: &[String],
        examples: usize,
    ) {
        let at = self.gaps.iter().position(|gap| gap.class == class && gap.program == program);
        let at = at.unwrap_or_else(|| {
            self.gaps.push(Gap { class, program, count: 0, examples: Vec::new(), targets: Vec::new() });
            self.gaps.len() - 1
        });
        let Some(gap) = self.gaps.get_mut(at) else { return };
        gap.count += 1;
        if gap.examples.len() < examples {
            gap.examples.push(text.to_owned());
        }
        for target in targets {
            if gap.targets.len() < examples && !gap.targets.contains(target) {
                gap.targets.push(target.clone());
            }
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let gaps = self.gaps.iter().map(|gap| {
            json!({
                "class": gap.class.map(OpClass::name),
                "program": gap.program,
                "count": gap.count,
                "examples": gap.examples,
                "targets": gap.targets,
            })
        });
        json!({
            "version": JSON_VERSION,
            "total": self.total,
            "ran": self.ran,
            "undeclaring": self.undeclaring,
            "missing": self.missing,
            "timed_out": self.timed_out,
            "failed": self.failed,
            "gaps": gaps.collect::<Vec<_>>(),
        })
    }
}

fn write(path: &Path) -> Result<(), Diagnostic> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| failed("made", parent, &error))?;
    fs::write(path, TEXT).map_err(|error| failed("made", path, &error))
}

/// Gives the owner back what a command took from itself, so that the tree can be removed.
fn open_up(path: &Path) -> std::io::Result<()> {
    if !path.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        open_up(&entry?.path())?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::new("audit_scene", format!("the throw-away workspace cannot be {what}: {error}"))
        .file(path)
        .help("make the temporary directory writable, or set TMPDIR")
}
