//! What a driver asks for: a command, the law it is under, and how it should run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What is to be judged or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A line for bash, with what follows it: `$0` and the positional parameters.
    Line {
        /// The bytes, handed to bash unchanged.
        text: OsString,
        /// Options for bash that stand before `-c` (`-e`, `-o pipefail`).
        options: Vec<OsString>,
        /// `$0`, `$1` …; empty for a plain line.
        parameters: Vec<OsString>,
    },
    /// A program and its arguments, without a shell.
    Argv(Vec<OsString>),
    /// A script for bash, from a file or from standard input.
    Script(Script),
}

/// A script that was read whole before anything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its bytes: those that are judged are those that run.
    pub text: OsString,
    /// Options for bash.
    pub options: Vec<OsString>,
    /// The positional parameters.
    pub parameters: Vec<OsString>,
    /// The file; standard input where absent: the text then stands there for bash, which reads it from its start.
    pub file: Option<ScriptFile>,
}

/// Where a script was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    /// As it was called: `$0`.
    pub name: OsString,
    /// Absolute and resolved.
    pub path: PathBuf,
    /// Its permissions.
    pub mode: u32,
}

impl Command {
    /// A plain line.
    pub fn line(text: impl Into<OsString>) -> Self {
        Self::Line { text: text.into(), options: Vec::new(), parameters: Vec::new() }
    }
}

/// Which law applies, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Law {
    /// A built-in workflow's name, or a file; the workspace's or `bugfix` where absent.
    pub workflow: Option<OsString>,
    /// The state; the initial one where absent.
    pub state: Option<String>,
    /// A session's id: it gives workflow, state and profiles.
    pub session: Option<String>,
    /// A ticket for exactly this command: it names the session, and is used up.
    pub ticket: Option<String>,
    /// A harness and its own id for its session, where a driver knows it; else the environment may say it.
    pub harness: Option<(String, String)>,
    /// Profiles by name or file; detected where empty.
    pub profiles: Vec<OsString>,
    /// The workspace; found from the current directory where absent.
    pub workspace: Option<PathBuf>,
    /// HOME may be the workspace.
    pub allow_home: bool,
    /// The command gets all rights of the state.
    pub no_narrow: bool,
}

/// How a run is watched, as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Observe {
    /// The cheapest way that state, session and profile need.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// What changes something, connects or begins a program is seen before it happens.
    Notify,
    /// Every call is seen with its true result, by tracing.
    Trace,
    /// As `Notify`, and each open for reading too.
    Reads,
}

/// Where the events of a run go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventsTo {
    /// Appended to this file.
    File(PathBuf),
    /// To this inherited descriptor.
    Descriptor(i32),
}

impl EventsTo {
    /// Reads `FILE` or `fd:N`; `./fd:3` is a file of that name.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &std::ffi::OsStr) -> Result<Self, String> {
        match text.to_str().and_then(|text| text.strip_prefix("fd:")) {
            Some(number) => match number.parse() {
                Ok(number) => Ok(Self::Descriptor(number)),
                Err(_) => {
                    Err(format!("`{number}` is no descriptor; write fd:3, or ./fd:{number} for a file"))
                }
            },
            None if text.is_empty() => Err("name a file or fd:N".to_owned()),
            None => Ok(Self::File(text.into())),
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The law.
    pub law: Law,
    /// The command.
    pub command: Command,
    /// Wall clock; the profile's where absent.
    pub timeout: Option<Duration>,
    /// Output is kept for the report and not passed through.
    pub capture: bool,
    /// Plan, and run nothing.
    pub dry_run: bool,
    /// How it is watched.
    pub observe: Observe,
    /// Where its events go.
    pub events: Option<EventsTo>,
}
