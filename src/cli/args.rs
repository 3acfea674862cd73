//! What can be typed: the command line as types. What it means is `service`'s business.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use super::args_session::{
    ApproveArgs, JobArgs, JobsArgs, RejectArgs, RulesArgs, SessionCommand, StateArgs, TransitionArgs,
};
use super::output::ColorChoice;
use crate::service::{EventsTo, Observe, TimeSpan};

/// Holds an agent's commands to the rights of the phase its work is in.
///
/// A workflow (a state machine in a JSON file) says what each phase may do. swbox reads a command, asks the state
/// whether it may run, and runs it in a jail of the Linux kernel whose rights are those of the state.
#[derive(Debug, Parser)]
#[command(name = "swbox", version, max_term_width = 100, arg_required_else_help = true, after_help = AFTER_HELP)]
pub(super) struct Cli {
    /// Colour of swbox's own text: auto is on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(super) color: ColorChoice,
    #[command(subcommand)]
    pub(super) command: Command,
}

const AFTER_HELP: &str = "\
Exit codes of exec and bash: the command's own; 124 time ran out; 125 swbox could not set up; 126 refused;
127 not found; 128+n signal n.  check: 0 allow, 10 prompt, 20 forbidden.  docs/errors.md has the whole table.

Examples:
  swbox exec --state planning -- cat README.md
  swbox exec --state testing -c 'cargo test 2>&1 | tail -5'
  swbox check --state planning -c 'sed -i s/a/b/ f'
  swbox explain --state testing";

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a command in the jail of a state.
    #[command(
        after_help = "After `--` stands a program with its arguments, run without a shell; a line for bash needs -c."
    )]
    Exec(ExecArgs),
    /// A drop-in bash: `swbox bash -c LINE`, `swbox bash SCRIPT [ARG…]`; also when called as bash or sh.
    #[command(disable_help_flag = true)]
    Bash(BashArgs),
    /// Decide without running: exit 0 allow, 10 prompt, 20 forbidden.
    #[command(
        override_usage = "swbox check [OPTIONS] -c <LINE>\n       swbox check [OPTIONS] -- <CMD> [ARG…]"
    )]
    Check(CheckArgs),
    /// Show how a line is read: segments, operation classes, opacity.
    Classify(ClassifyArgs),
    /// Show what a state or a command can read, write, run and contact, and why.
    Explain(ExplainArgs),
    /// Prove on this host what can be enforced, each protection by trying the forbidden act.
    Doctor(DoctorArgs),
    /// Judge a whole history of commands against a state, before a workflow is switched on.
    Audit(AuditArgs),
    /// Look at workflows.
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Where the session is: its state, instructions and ways on.
    State(StateArgs),
    /// Ask the session to go on by an event.
    Transition(TransitionArgs),
    /// What commands of the session left running.
    Jobs(JobsArgs),
    /// What a job wrote since its command ended.
    Output(JobArgs),
    /// End a job: asked, and killed after two seconds.
    Kill(JobArgs),
    /// For the process that watches a job: writes down what it saw, which it gives on standard input.
    #[command(hide = true)]
    JobSeen,
    /// For a person: sessions.
    #[command(subcommand)]
    Session(SessionCommand),
    /// For a person: say yes to what waits.
    Approve(ApproveArgs),
    /// For a person: say no to what waits.
    Reject(RejectArgs),
    /// For a person: your own rules, which allow, ask about or forbid commands whatever the workflow.
    Rules(RulesArgs),
    /// For a person: accept the workflow or profile that a workspace brings, by its content.
    Trust(TrustArgs),
}

/// Which law applies, and where.
#[derive(Debug, Args, Default)]
pub(super) struct LawArgs {
    /// A workflow: a built-in's name, or a file. Default: the built-in `bugfix`.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) workflow: Option<OsString>,
    /// The state the work is in. Default: the workflow's initial state.
    #[arg(long, short, value_name = "STATE")]
    pub(super) state: Option<String>,
    /// A session: it gives workflow, state and profiles. Default: SWBOX_SESSION, else the workspace's.
    #[arg(long, value_name = "ID", conflicts_with_all = ["workflow", "state", "profile"])]
    pub(super) session: Option<String>,
    /// A ticket that a harness's hook was given for exactly this command; it names the session and is good once.
    #[arg(long, value_name = "TICKET", conflicts_with_all = ["workflow", "state", "profile", "session"])]
    pub(super) ticket: Option<String>,
    /// A profile: a name, or a file; may be given several times. Default: those that fit the workspace.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) profile: Vec<OsString>,
    /// The workspace. Default: the repository around the current directory, else that directory.
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Accept the home directory as the workspace.
    #[arg(long)]
    pub(super) allow_home: bool,
    /// Grant all of the state's rights, also where the command declares that it needs fewer.
    #[arg(long)]
    pub(super) no_narrow: bool,
}

/// A command: one line for bash, or a program and its arguments.
#[derive(Debug, Args, Default)]
pub(super) struct CommandArgs {
    /// A line, as bash would read it.
    #[arg(short = 'c', value_name = "LINE", conflicts_with = "argv")]
    pub(super) line: Option<OsString>,
    /// A program and its arguments, run without a shell.
    #[arg(last = true, value_name = "CMD")]
    pub(super) argv: Vec<OsString>,
}

/// `swbox exec`.
#[derive(Debug, Args, Default)]
pub(super) struct ExecArgs {
    #[command(flatten)]
    pub(super) law: LawArgs,
    /// End the command and all it started after this time: 90s, 10m, 1h30m.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(super) timeout: Option<Duration>,
    /// Print one JSON object with decision, jail, exit, timing and captured output.
    #[arg(long)]
    pub(super) json: bool,
    /// Decide and plan, show both, run nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Say nothing beside what the command says; a refusal shows in the exit code alone.
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) watch: WatchArgs,
    #[command(flatten)]
    pub(super) command: CommandArgs,
}

/// How a run is watched, and who hears of it.
#[derive(Debug, Args, Default)]
pub(super) struct WatchArgs {
    /// How the command is watched from outside: auto takes the cheapest way that state, session and profile need; reads
    /// sees each open for reading too; trace has every true result.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(super) observe: Watch,
    /// Write what happens as JSON Lines to a file outside the workspace, or to an open descriptor.
    #[arg(long, value_name = "FILE|fd:N", value_parser = OsStringValueParser::new().try_map(|to| EventsTo::parse(&to)))]
    pub(super) events: Option<EventsTo>,
}

/// Ways of watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Watch {
    /// The cheapest that is needed.
    #[default]
    Auto,
    /// Nothing is seen.
    Off,
    /// Changes, connections and programs, before they happen.
    Notify,
    /// Every call with its true result.
    Trace,
    /// As notify, and each open for reading.
    Reads,
}

impl Watch {
    /// By its name.
    pub(super) fn named(name: &str) -> Option<Self> {
        clap::ValueEnum::from_str(name, false).ok()
    }
}

impl From<Watch> for Observe {
    fn from(watch: Watch) -> Self {
        match watch {
            Watch::Auto => Self::Auto,
            Watch::Off => Self::Off,
            Watch::Notify => Self::Notify,
            Watch::Trace => Self::Trace,
            Watch::Reads => Self::Reads,
        }
    }
}

/// `swbox exec` on its own: building the whole command line costs as much again as reading this part of it.
#[derive(Debug, Parser)]
#[command(name = "exec", disable_help_flag = true)]
pub(super) struct ExecCli {
    #[arg(long, value_enum, default_value_t)]
    pub(super) color: ColorChoice,
    #[command(flatten)]
    pub(super) exec: ExecArgs,
}

/// `swbox bash`: everything is the shell's to read.
#[derive(Debug, Args)]
pub(super) struct BashArgs {
    /// As for bash; before them --workflow, --state, --profile, --workspace as for exec.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(super) args: Vec<OsString>,
}

/// `swbox check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) law: LawArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Say nothing; the exit code tells.
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) command: CommandArgs,
}

/// `swbox classify`.
#[derive(Debug, Args)]
pub(super) struct ClassifyArgs {
    /// The line; `-` reads it from standard input.
    #[arg(value_name = "LINE", required_unless_present = "jsonl", allow_hyphen_values = true)]
    pub(super) line: Option<OsString>,
    /// A profile with command rows of your own: a name, or a file; may be given several times.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) profile: Vec<OsString>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Read objects with `id` and `cmd`, one a line, and print one object a line; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["line", "json"])]
    pub(super) jsonl: Option<PathBuf>,
}

/// `swbox explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    pub(super) law: LawArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) command: CommandArgs,
}

/// `swbox doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// A profile whose protections are asked for, beside the base: a name, or a file.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) profile: Vec<OsString>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// `swbox audit`.
#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Files with one command a line, or JSON objects with `cmd` or `command`; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) law: LawArgs,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Run the commands too, each in a workspace that is thrown away, and show what they do beyond what their text
    /// declares.
    #[arg(long)]
    pub(super) run: bool,
    /// How many commands of each group are shown.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) examples: usize,
}

/// `swbox trust`.
#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// The file; all that the workspace brings where it is absent.
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Take the acceptance back.
    #[arg(long, requires = "file")]
    pub(super) forget: bool,
    /// Only say how the files stand; exit 1 where one is not accepted.
    #[arg(long, conflicts_with = "forget")]
    pub(super) list: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// The workspace. Default: the repository around the current directory, else that directory.
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Accept the home directory as the workspace.
    #[arg(long)]
    pub(super) allow_home: bool,
}

/// `swbox workflow`.
#[derive(Debug, Subcommand)]
pub(super) enum WorkflowCommand {
    /// The workflows that have a name.
    List {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The states of a workflow: what they allow and where they lead.
    Show {
        /// A built-in's name, or a file.
        #[arg(value_name = "NAME|FILE")]
        workflow: OsString,
        /// Print the workflow itself.
        #[arg(long)]
        json: bool,
    },
    /// Find what is wrong with workflow files: all six stages, all problems at once.
    Validate {
        /// Built-ins' names, or files.
        #[arg(value_name = "NAME|FILE", required = true)]
        workflows: Vec<OsString>,
        /// How problems are shown: `text`, one line each; `source`, with the lines of the file around them (the
        /// default on a terminal); `json`.
        #[arg(long, value_name = "FORM")]
        format: Option<Listing>,
        /// The same as `--format json`.
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// The file format as a JSON Schema, for editors.
    Schema,
    /// Ask a few questions and write a workflow that passes every check.
    New {
        /// The file; asked for where it is not given.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// A workflow as a picture.
    Graph {
        /// A built-in's name, or a file.
        #[arg(value_name = "NAME|FILE")]
        workflow: OsString,
        /// The form: `mermaid` for pages, `dot` for Graphviz, `svg` for browsers.
        #[arg(long, value_name = "FORM", default_value = "mermaid")]
        format: Drawing,
        /// The state to mark.
        #[arg(long, short, value_name = "STATE")]
        state: Option<String>,
    },
}

/// How a workflow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Drawing {
    /// A Mermaid state diagram.
    Mermaid,
    /// A Graphviz digraph.
    Dot,
    /// An SVG document.
    Svg,
}

/// How the problems of a workflow are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Listing {
    /// One line each.
    Text,
    /// With the lines of the file around them.
    Source,
    /// One JSON object.
    Json,
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    TimeSpan::parse(text).map(|span| span.0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn everything_after_the_dashes_is_the_command() {
        let cli = Cli::parse_from(["swbox", "exec", "--json", "--", "cargo", "test", "--json", "--", "x"]);
        let Command::Exec(exec) = cli.command else { panic!("{cli:?}") };
        assert!(exec.json);
        assert_eq!(exec.command.argv, ["cargo", "test", "--json", "--", "x"]);
        assert!(Cli::try_parse_from(["swbox", "exec", "-c", "x", "--", "y"]).is_err());
        assert!(Cli::try_parse_from(["swbox", "exec", "ls"]).is_err());
    }
}
