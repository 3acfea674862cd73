//! The command line: what was typed goes to `service`, what comes back is shown, and the exit code is chosen.
//!
//! Danger: standard output and error belong to the command. swbox writes there only where it was asked to answer
//! itself, and after the command has ended.

mod agent;
mod args;
mod args_session;
mod audit;
mod classify;
mod denials;
mod doctor;
mod exec;
pub mod exit;
mod explain;
mod jobs;
mod output;
mod person;
mod quick;
mod refusal;
mod rules;
mod session;
mod shell;
mod show;
mod story;
mod trust;
mod waiting;
mod weaker;
mod when;
mod workflow;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Parser;

use self::args::{Cli, Command, ExecCli, LawArgs};
use self::exit::Code;
use self::output::{ColorChoice, Paint, complain, print};
use crate::diagnostic::Diagnostic;
use crate::service;

/// Runs swbox with these arguments, the program's name first; returns the exit code.
pub fn run(args: &[OsString]) -> u8 {
    let answer = match service::closed_stream() {
        Some(stream) => Err(Diagnostic::new("stream_closed", format!("{stream} is closed"))
            .help("give the command a standard stream: </dev/null, >/dev/null or 2>/dev/null")),
        None => match service::directory_stream() {
            Some(stream) => Err(Diagnostic::new("stream_directory", format!("{stream} is a directory"))
                .help("a command could reach all files below it; give it /dev/null or a file")),
            None => dispatch(args),
        },
    };
    answer.unwrap_or_else(|problem| {
        complain(&refusal::failure(&problem, Paint::stderr(ColorChoice::Auto)));
        exit::of_problem(&problem)
    })
}

fn dispatch(args: &[OsString]) -> Result<u8, Diagnostic> {
    let called_as = args.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    // A login shell is called as `-bash`.
    let name = called_as.to_str().unwrap_or_default().trim_start_matches('-');
    if matches!(name, "bash" | "sh") {
        return exec::bash(args.get(1..).unwrap_or_default());
    }
    if args.get(1).is_some_and(|command| command == "bash") {
        return bash(&args[2..]);
    }
    let is_exec = args.get(1).is_some_and(|command| command == "exec");
    if let Some(exec) = args.get(2..).filter(|_| is_exec).and_then(quick::read) {
        return exec::exec(exec, ColorChoice::default());
    }
    // What it does not understand, help among it, is the whole command line's to answer.
    if is_exec && let Ok(cli) = ExecCli::try_parse_from(&args[1..]) {
        return exec::exec(cli.exec, cli.color);
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, args),
    };
    let color = cli.color;
    match cli.command {
        Command::Exec(args) => exec::exec(args, color),
        Command::Bash(args) => bash(&args.args),
        Command::Check(args) => exec::check(args, color),
        Command::Classify(args) => classify::classify(&args, color),
        Command::Explain(args) => explain::explain(args, color),
        Command::Doctor(args) => doctor::doctor(&args, color),
        Command::Audit(args) => audit::audit(args, color),
        Command::Workflow(command) => workflow::workflow(command, color),
        Command::State(args) => agent::state(&args, color),
        Command::Jobs(args) => jobs::list(&args.which.law(), args.which.json, color),
        Command::Output(args) => jobs::output(&args.id, &args.which.law(), args.which.json),
        Command::JobSeen => jobs::seen(),
        Command::Kill(args) => jobs::kill(&args.id, &args.which.law(), args.which.json),
        Command::Transition(args) => agent::transition(&args, color),
        Command::Session(command) => session::session(command, color),
        Command::Approve(args) => person::approve(&args, color),
        Command::Reject(args) => person::reject(&args, color),
        Command::Rules(args) => rules::rules(&args, color),
        Command::Trust(args) => trust::trust(&args, color),
    }
}

/// `swbox bash`: its help is swbox's, everything else is the shell's.
fn bash(args: &[OsString]) -> Result<u8, Diagnostic> {
    if args.first().is_some_and(|first| first == "--help") {
        print(shell::HELP)?;
        return Ok(Code::OK);
    }
    exec::bash(args)
}

/// Help, the version, or what is wrong with the arguments.
fn usage(error: &clap::Error, args: &[OsString]) -> Result<u8, Diagnostic> {
    let text = error.render();
    if !error.use_stderr() {
        print(&text.to_string())?;
        return Ok(Code::OK);
    }
    complain(&text.to_string());
    let of_exec = args.get(1).is_some_and(|command| command == "exec" || command == "check");
    if of_exec && error.kind() == clap::error::ErrorKind::UnknownArgument {
        complain(
            "\n  help     a program stands after `--`: swbox exec -- ls -la; a line after -c: swbox exec -c 'ls | head'\n",
        );
    }
    // A command's own exit code may be 2: whoever runs one must be able to tell.
    let runs = args.get(1).is_some_and(|command| command == "exec" || command == "bash");
    Ok(if runs { Code::SETUP } else { Code::USAGE })
}

/// The law as `service` takes it.
fn law(args: LawArgs) -> service::Law {
    service::Law {
        workflow: args.workflow,
        state: args.state,
        session: args.session,
        ticket: args.ticket,
        harness: None,
        profiles: args.profile,
        workspace: args.workspace,
        allow_home: args.allow_home,
        no_narrow: args.no_narrow,
    }
}

/// The command as `service` takes it; `None` where none was given.
fn command(args: args::CommandArgs) -> Option<service::Command> {
    match args.line {
        Some(line) => Some(service::Command::line(line)),
        None if args.argv.is_empty() => None,
        None => Some(service::Command::Argv(args.argv)),
    }
}

/// The command, or what to type.
fn required(args: args::CommandArgs) -> Result<service::Command, Diagnostic> {
    command(args).ok_or_else(|| {
        Diagnostic::new("command_empty", "there is no command")
            .help("give a line with -c LINE, or a program after `--`")
    })
}

/// One JSON value as one line.
fn json_line(value: &serde_json::Value) -> String {
    format!("{value}\n")
}

/// Several words as the shell would need them, for messages.
fn quoted(words: &[&OsStr]) -> String {
    words
        .iter()
        .map(|word| shell_words::quote(&word.to_string_lossy()).into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
