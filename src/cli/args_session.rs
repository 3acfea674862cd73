//! What can be typed of sessions.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::args::{LawArgs, Watch, span};

/// Which session, for an agent's commands.
#[derive(Debug, Args, Default)]
pub(super) struct Which {
    /// The session. Default: SWBOX_SESSION, else the workspace's.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// `swbox state`.
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    #[command(flatten)]
    pub(super) which: Which,
}

/// `swbox transition`.
#[derive(Debug, Args)]
pub(super) struct TransitionArgs {
    /// The event; `swbox state` lists them.
    #[arg(value_name = "EVENT")]
    pub(super) event: String,
    /// The state that you believe to be in; another one is refused.
    #[arg(long, value_name = "STATE")]
    pub(super) from: Option<String>,
    /// What you claim, as a JSON object; it is kept with the transition and proves nothing.
    #[arg(long, value_name = "JSON")]
    pub(super) data: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
}

/// `swbox jobs`.
#[derive(Debug, Args)]
pub(super) struct JobsArgs {
    #[command(flatten)]
    pub(super) which: Which,
}

/// `swbox output` and `swbox kill`.
#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The job; `swbox jobs` lists them.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) which: Which,
}

/// An agent's command in a line of its own.
#[derive(Debug, Parser)]
#[command(name = "swbox", disable_help_subcommand = true)]
pub(super) struct AgentCli {
    #[command(subcommand)]
    pub(super) command: AgentCommand,
}

/// The agent's commands.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
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
}

/// `swbox session`.
#[derive(Debug, Subcommand)]
pub(super) enum SessionCommand {
    /// Start a session in a workspace, which from then on runs nothing without one.
    Start(StartArgs),
    /// The sessions of the workspace.
    List {
        /// Those of every workspace.
        #[arg(long)]
        all: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// One session as it stands, with what waits for a person.
    Status {
        /// The session. Default: SWBOX_SESSION, else the workspace's.
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The journal as a story.
    Log {
        /// The session. Default: SWBOX_SESSION, else the workspace's.
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Print only the last entry's position and hash, to be kept elsewhere.
        #[arg(long, conflicts_with = "json")]
        head: bool,
        /// Print every entry as one JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// For a harness's hook: give out the right to send exactly one command into a session, once.
    Ticket {
        /// The session.
        #[arg(value_name = "ID")]
        id: String,
        /// The line, as bash would read it.
        #[arg(short = 'c', value_name = "LINE")]
        line: std::ffi::OsString,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Step the journal again and compare.
    Replay {
        /// The session. Default: SWBOX_SESSION, else the workspace's.
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Read the law anew from where it came, see the difference, and take it over.
    Reload {
        /// The session.
        #[arg(value_name = "ID")]
        id: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Move a session past every condition.
    Force {
        /// The session.
        #[arg(value_name = "ID")]
        id: String,
        /// The state to go to.
        #[arg(value_name = "STATE")]
        state: String,
        /// Why; the journal keeps it.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// End a session.
    End {
        /// The session.
        #[arg(value_name = "ID")]
        id: String,
        /// Let the workspace run without a session again.
        #[arg(long)]
        unbind: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove sessions that are over.
    Prune {
        /// Only those that ended longer ago than this: 90s, 10m, 720h.
        #[arg(long, value_name = "TIME", value_parser = span, default_value = "720h")]
        older: Duration,
        /// Only say which.
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// `swbox session start`.
#[derive(Debug, Args)]
pub(super) struct StartArgs {
    /// A workflow: a built-in's name, or a file. Default: the workspace's accepted one, else the built-in `bugfix`.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) workflow: Option<std::ffi::OsString>,
    /// A profile: a name, or a file; may be given several times. Default: those that fit the workspace.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(super) profile: Vec<std::ffi::OsString>,
    /// How the session's commands are watched from outside, where a call does not say otherwise.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(super) observe: Watch,
    /// The workspace. Default: the repository around the current directory, else that directory.
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Accept the home directory as the workspace.
    #[arg(long)]
    pub(super) allow_home: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print only the session's id.
    #[arg(long, short, conflicts_with = "json")]
    pub(super) quiet: bool,
}

/// `swbox approve`.
#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// What waits. Without it: a list of all that waits, in every session.
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// For a command: also every other with the same beginning, in this state and session.
    #[arg(long = "session", requires = "id")]
    pub(super) for_session: bool,
    /// For a command: also, by a rule of yours for this workspace, every other that begins as it is shown.
    #[arg(long, requires = "id", conflicts_with = "for_session")]
    pub(super) always: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// `swbox reject`.
#[derive(Debug, Args)]
pub(super) struct RejectArgs {
    /// What waits; `swbox session status` lists it.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Why; the agent is told.
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// `swbox rules`.
#[derive(Debug, Args)]
pub(super) struct RulesArgs {
    /// Take back a rule that `swbox approve --always` wrote.
    #[arg(long, value_name = "ID")]
    pub(super) forget: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

impl Which {
    /// The law that it names.
    pub(super) fn law(&self) -> crate::service::Law {
        super::law(LawArgs { session: self.session.clone(), ..LawArgs::default() })
    }
}
