//! What the cases share: workspaces, specs, launching in this process or in one of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use swbox::diagnostic::Diagnostic;
use swbox::jail::{
    Capture, Exit, Host, JailPlan, Level, Outcome, end_by_interrupt, launch, launch_observed, plan, probe,
    protection,
};
use swbox::policy::{NetworkRight, Rights, WorkspaceRight};
use swbox::profile::{Aliases, Bind, Limits, Protection, Requirement, SandboxSpec};
use swbox::supervisor::notify::{Settings, Watcher};
use swbox::supervisor::trace::Tracer;
use swbox::supervisor::{self, Observed, Seen, Sink};

/// The first word with which this program launches one command and ends with its code.
pub(crate) const RUN: &str = "run";

/// The variable that names the note about repositories, for [`RUN`].
pub(crate) const NOTE: &str = "SWBOX_TEST_NOTE";

/// The variable that names a declared output, for [`RUN`].
pub(crate) const OUTPUT: &str = "SWBOX_TEST_OUTPUT";

/// One case.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// What must hold.
    pub(crate) name: &'static str,
    /// The feature of the host it needs, for `SWBOX_REQUIRE`.
    pub(crate) needs: &'static str,
    /// Tries it.
    pub(crate) run: fn() -> Verdict,
}

/// What a case came to.
pub(crate) enum Verdict {
    /// It holds.
    Passed,
    /// It does not.
    Failed(String),
    /// It cannot be tried here.
    Skipped(String),
}

impl From<Result<(), String>> for Verdict {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// Ends the case with a failure unless the condition holds.
#[macro_export]
macro_rules! check {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return $crate::kit::Verdict::Failed(format!($($text)+));
        }
    };
}

/// Whether `SWBOX_REQUIRE` names `feature`.
pub(crate) fn required(feature: &str) -> bool {
    std::env::var("SWBOX_REQUIRE").is_ok_and(|list| list.split(',').any(|name| name == feature))
}

/// Whether this process is user 0.
pub(crate) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Runs this program again as an ordinary user.
pub(crate) fn again_as(user: u32, words: &[String]) -> bool {
    let Ok(own) = std::env::current_exe() else { return false };
    let status = Command::new(own).args(words).uid(user).gid(user).env("HOME", "/nonexistent").status();
    status.is_ok_and(|status| status.success())
}

/// A directory of a case, removed with the value.
pub(crate) struct Place(PathBuf);

impl Place {
    /// A fresh one.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("swjail-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().canonicalize().unwrap().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::create_dir(path.join("w")).unwrap();
        Self(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// The workspace in it.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.0.join("w")
    }

    /// Writes a file with its parents.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `git init` in the workspace with one commit.
    pub(crate) fn repository(&self) {
        git(&self.workspace(), &["init", "-q", "-b", "main"]);
        self.write("w/file", "one\n");
        git(&self.workspace(), &["add", "-A"]);
        git(&self.workspace(), &["commit", "-qm", "one"]);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.0).stderr(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs git of the host with an identity and without the machine's configuration.
pub(crate) fn git(place: &Path, words: &[&str]) -> String {
    let output = git_command(place, words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The command that [`git`] runs.
pub(crate) fn git_command(place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(place).args(["-c", "protocol.file.allow=always"]).args(words);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in IDENTITY {
        command.env(name, value);
    }
    command
}

const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "t"),
    ("GIT_AUTHOR_EMAIL", "t@example.org"),
    ("GIT_COMMITTER_NAME", "t"),
    ("GIT_COMMITTER_EMAIL", "t@example.org"),
];

/// The variable with which every case runs watched: `notify` or `trace`. Nothing may change by that.
const WATCH: &str = "SWBOX_TEST_WATCH";

/// Launches, watched as [`WATCH`] says.
fn launch_as_told(plan: &JailPlan, capture: Capture) -> Result<Outcome, Diagnostic> {
    let settings = Settings { required: true, ..Settings::default() };
    let mut judge = Judge(|_| supervisor::Verdict::Go);
    match std::env::var(WATCH).as_deref() {
        Ok("notify") => launch_observed(plan, capture, Some(&mut Watcher::new(settings, &mut judge))),
        Ok("trace") => launch_observed(plan, capture, Some(&mut Tracer::new(settings, &mut judge))),
        _ => launch(plan, capture),
    }
}

/// A jail to launch in.
pub(crate) struct Jail {
    /// The spec.
    pub(crate) spec: SandboxSpec,
    /// What the host is taken for.
    pub(crate) host: Host,
    /// How much output is kept.
    pub(crate) keep: usize,
}

impl Jail {
    /// A read state without network over `workspace`.
    pub(crate) fn read(workspace: &Path) -> Self {
        let mut env: BTreeMap<OsString, OsString> =
            IDENTITY.map(|(name, value)| (name.into(), value.into())).into();
        env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        env.insert("HOME".into(), "/home/swjail".into());
        let system = |path: &str, exec| Bind { path: path.into(), writable: false, exec, optional: true };
        let spec = SandboxSpec {
            workspace: workspace.to_owned(),
            cwd: workspace.to_owned(),
            rights: Rights {
                workspace: WorkspaceRight::Read,
                git_write: false,
                network: NetworkRight::None,
                narrowed: Vec::new(),
            },
            binds: vec![
                system("/usr", true),
                system("/bin", true),
                system("/sbin", true),
                system("/lib", true),
                system("/lib64", true),
                system("/etc", false),
            ],
            home: "/home/swjail".into(),
            secrets: Vec::new(),
            protected: Vec::new(),
            files: Vec::new(),
            script: None,
            env,
            limits: Limits { timeout: Some(Duration::from_secs(60)), ..Limits::default() },
            protections: protection::ALL.into_iter().map(|p| (p, Requirement::Degradable)).collect(),
            outputs: Vec::new(),
            repositories: None,
            aliases: Aliases::default(),
        };
        Self { spec, host: probe(), keep: 1 << 20 }
    }

    /// A writable workspace, own loopback.
    pub(crate) fn write(workspace: &Path) -> Self {
        Self::read(workspace).right(WorkspaceRight::Write).network(NetworkRight::Loopback)
    }

    /// A throw-away layer, own loopback.
    pub(crate) fn throw_away(workspace: &Path) -> Self {
        Self::read(workspace).right(WorkspaceRight::ThrowAway).network(NetworkRight::Loopback)
    }

    /// With another workspace right.
    pub(crate) fn right(mut self, right: WorkspaceRight) -> Self {
        self.spec.rights.workspace = right;
        self
    }

    /// With another network right.
    pub(crate) fn network(mut self, network: NetworkRight) -> Self {
        self.spec.rights.network = network;
        self
    }

    /// With writable git directories.
    pub(crate) fn git_write(mut self) -> Self {
        self.spec.rights.git_write = true;
        self
    }

    /// With another change to the spec.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut SandboxSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// With every protection strict but those named.
    pub(crate) fn strict(self, but: &[Protection]) -> Self {
        let but = but.to_vec();
        self.with(|spec| {
            for (protection, requirement) in &mut spec.protections {
                if !but.contains(protection) {
                    *requirement = Requirement::Strict;
                }
            }
        })
    }

    /// On a host without user namespaces and with this Landlock ABI.
    pub(crate) fn landlock_only(mut self, abi: u32) -> Self {
        self.host.level = Level::LandlockOnly;
        self.host.landlock_abi = abi;
        self
    }

    /// Launches a program.
    pub(crate) fn launch(&self, argv: &[&str]) -> Result<Done, Diagnostic> {
        let argv: Vec<OsString> = argv.iter().map(Into::into).collect();
        Ok(Done::of(launch_as_told(&plan(&self.spec, &self.host, &argv)?, Capture::Keep(self.keep))?))
    }

    /// Launches a program that is watched; `judge` says of each thing that is seen what becomes of it.
    pub(crate) fn watch(
        &self,
        settings: Settings,
        argv: &[&str],
        judge: fn(&Observed) -> supervisor::Verdict,
    ) -> Result<(Done, Seen), Diagnostic> {
        let argv: Vec<OsString> = argv.iter().map(Into::into).collect();
        let plan = plan(&self.spec, &self.host, &argv)?;
        let mut judge = Judge(judge);
        let mut watcher = Watcher::new(settings, &mut judge);
        let outcome = launch_observed(&plan, Capture::Keep(self.keep), Some(&mut watcher))?;
        Ok((Done::of(outcome), watcher.into_seen()))
    }

    /// As [`Jail::watch`], traced.
    pub(crate) fn trace(
        &self,
        settings: Settings,
        argv: &[&str],
        judge: fn(&Observed) -> supervisor::Verdict,
    ) -> Result<(Done, Seen), Diagnostic> {
        let argv: Vec<OsString> = argv.iter().map(Into::into).collect();
        let plan = plan(&self.spec, &self.host, &argv)?;
        let mut judge = Judge(judge);
        let mut tracer = Tracer::new(settings, &mut judge);
        let outcome = launch_observed(&plan, Capture::Keep(self.keep), Some(&mut tracer))?;
        Ok((Done::of(outcome), tracer.into_seen()))
    }

    /// Launches a shell script that is traced; a set-up error fails the case.
    pub(crate) fn trace_sh(&self, script: &str) -> (Done, Seen) {
        match self.trace(Settings::default(), &["sh", "-c", script], |_| supervisor::Verdict::Go) {
            Ok(done) => done,
            Err(problem) => panic!("{problem}"),
        }
    }

    /// Launches a shell script that is watched; a set-up error fails the case.
    pub(crate) fn watch_sh(&self, script: &str) -> (Done, Seen) {
        match self.watch(Settings::default(), &["sh", "-c", script], |_| supervisor::Verdict::Go) {
            Ok(done) => done,
            Err(problem) => panic!("{problem}"),
        }
    }

    /// Launches a shell script; a set-up error fails the case.
    pub(crate) fn sh(&self, script: &str) -> Done {
        match self.launch(&["sh", "-c", script]) {
            Ok(done) => done,
            Err(problem) => panic!("{problem}"),
        }
    }
}

/// What a launch came to.
pub(crate) struct Done {
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// A sink that only judges.
struct Judge(fn(&Observed) -> supervisor::Verdict);

impl Sink for Judge {
    fn observed(&mut self, _: i32, what: &Observed) -> supervisor::Verdict {
        (self.0)(what)
    }
}

impl Done {
    fn of(outcome: Outcome) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = outcome.output.clone().unwrap();
        Self { out: text(&out.head) + &text(&out.tail), err: text(&err.head) + &text(&err.tail), outcome }
    }

    /// Whether it ended with 0.
    pub(crate) fn ok(&self) -> bool {
        self.outcome.exit == Exit::Code(0)
    }

    /// Output, errors and exit, for messages.
    pub(crate) fn all(&self) -> String {
        format!("{:?}: {}{} {:?}", self.outcome.exit, self.out, self.err, self.outcome.degraded)
    }
}

/// [`RUN`]: `RIGHT WORKSPACE COMMAND…` in a jail with inherited streams, ending with the exit code of the design.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let [right, workspace, command @ ..] = words else { return ExitCode::from(2) };
    let workspace = Path::new(workspace);
    let jail = match right.as_str() {
        "read" => Jail::read(workspace),
        "write" => Jail::write(workspace),
        "throw" => Jail::throw_away(workspace),
        "landlock" => {
            let abi = probe().landlock_abi;
            Jail::read(workspace).landlock_only(abi)
        }
        _ => return ExitCode::from(2),
    };
    let jail = jail.with(|spec| {
        spec.repositories = std::env::var_os(NOTE).map(PathBuf::from);
        spec.outputs.extend(std::env::var_os(OUTPUT).map(PathBuf::from));
        if let Some(term) = std::env::var_os("TERM") {
            spec.env.insert("TERM".into(), term);
        }
    });
    let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
    match plan(&jail.spec, &jail.host, &argv).and_then(|plan| launch_as_told(&plan, Capture::Inherit)) {
        Ok(outcome) if outcome.ended_by_interrupt() => {
            end_by_interrupt().unwrap();
            ExitCode::FAILURE
        }
        Ok(outcome) => match outcome.exit {
            Exit::Code(code) | Exit::NotStarted { code, .. } => ExitCode::from(code),
            Exit::Signal(signal) => ExitCode::from(128 + u8::try_from(signal).unwrap_or(0)),
            Exit::Timeout => ExitCode::from(124),
        },
        Err(problem) => {
            eprintln!("swbox: {problem}");
            ExitCode::from(125)
        }
    }
}

/// The command line that runs this program as a launcher of its own.
pub(crate) fn launcher(right: &str, workspace: &Path, command: &[&str]) -> Command {
    let mut launcher = Command::new(own());
    launcher.arg(RUN).arg(right).arg(workspace).args(command);
    launcher
}

/// A process of the host that is ended with the value.
pub(crate) struct Running(pub(crate) std::process::Child);

impl Running {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Runs a shell script of the host with `$JAIL` as the launcher for `right` over `workspace`, and `words` as `$1` …
pub(crate) fn script(right: &str, workspace: &Path, script: &str, words: &[&str]) -> Output {
    let jail = format!("{} {RUN} {right} {}", own().display(), workspace.display());
    let mut command = Command::new("bash");
    command.args(["-c", script, "script"]).args(words).env("JAIL", jail).current_dir(workspace);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Runs a python script of the host with `words` as its arguments; `None` where there is no python.
pub(crate) fn python(script: &str, words: &[&OsStr]) -> Option<Output> {
    Command::new("python3").arg("-c").arg(script).args(words).stdin(Stdio::null()).output().ok()
}

/// How many processes of this host have `marker` among their arguments.
pub(crate) fn processes_with(marker: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == marker.as_bytes())).count()
}

/// Waits until `condition` holds, at most a minute.
pub(crate) fn eventually(condition: impl Fn() -> bool) -> bool {
    for _ in 0..6000 {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Makes a file executable.
pub(crate) fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What a shell script prints on the host.
pub(crate) fn host_text(place: &Path, script: &str) -> String {
    let output = Command::new("sh").args(["-c", script]).current_dir(place).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
