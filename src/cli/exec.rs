//! `exec`, `check` and the drop-in bash.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{CheckArgs, ExecArgs};
use super::exit::{self, Code};
use super::output::{ColorChoice, Paint, complain, print};
use super::refusal::{one, refusal, trailer};
use super::shell::{self, Work};
use super::show::visible;
use super::{json_line, law, quoted, required};
use crate::diagnostic::Diagnostic;
use crate::service::{self, Command, Decision, Exit, Law, Report, Run, TimeSpan, report, session};

/// Scripts up to this size are judged by their text; longer ones are opaque.
const SCRIPT_TEXT: usize = 64 * 1024;

/// How a run's result is told.
#[derive(Debug, Clone, Copy)]
struct Manner {
    json: bool,
    quiet: bool,
    color: ColorChoice,
}

/// `swbox exec`.
pub(super) fn exec(args: ExecArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let manner = Manner { json: args.json, quiet: args.quiet, color };
    let answer = required(args.command).and_then(|command| {
        perform(
            &Run {
                law: law(args.law),
                command,
                timeout: args.timeout,
                capture: args.json,
                dry_run: args.dry_run,
            },
            manner,
        )
    });
    match answer {
        Err(problem) if args.json => {
            print(&json_line(&report::failure_to_json(&problem)))?;
            Err(problem)
        }
        answer => answer,
    }
}

/// Runs, tells, and returns the code.
fn perform(run: &Run, manner: Manner) -> Result<u8, Diagnostic> {
    if let Some(words) = session::agent_command(&run.command)?
        && !run.dry_run
        && session::applies(&run.law)?
    {
        return super::agent::in_line(&words, &run.law, manner.json, manner.color);
    }
    let report = service::run(run)?;
    let code = code_of(&report, run.dry_run);
    tell(&report, run, manner)?;
    if report.outcome.as_ref().is_some_and(|outcome| outcome.ended_by_interrupt()) {
        // Where that fails the code below is 130, which says the same.
        let _ = service::end_by_interrupt();
    }
    Ok(code)
}

/// Tells the result.
fn tell(report: &Report, run: &Run, manner: Manner) -> Result<(), Diagnostic> {
    if manner.json {
        return print(&json_line(&report.to_json()));
    }
    if manner.quiet {
        return Ok(());
    }
    let paint = Paint::stderr(manner.color);
    if !report.may_run() {
        match report.session.as_ref().filter(|session| session.refusal.is_some()) {
            Some(session) => complain(&super::agent::held_back(session, paint)),
            None => complain(&refusal(&report.judgement, paint)),
        }
        complain(&trailer(report, std::io::stderr().is_terminal()));
    } else if run.dry_run {
        print(&super::explain::dry_run(report, Paint::stdout(manner.color)))?;
    } else {
        complain(&trailer(report, std::io::stderr().is_terminal()));
        complain(&ending(report, run));
    }
    Ok(())
}

/// What has to be said of how the command ended: nothing, unless it never began or was cut off.
fn ending(report: &Report, run: &Run) -> String {
    let Some(outcome) = &report.outcome else { return String::new() };
    match outcome.exit {
        Exit::Timeout => {
            let limit = run.timeout.map_or_else(|| "its limit".to_owned(), seconds);
            format!("swbox: the time ran out after {limit}; the command and all it started were ended\n")
        }
        Exit::NotStarted { errno, .. } => {
            let error = std::io::Error::from_raw_os_error(errno);
            let Command::Argv(argv) = &run.command else {
                return format!("swbox: bash could not be started: {error}\n");
            };
            let program = argv.first().map(OsString::as_os_str).unwrap_or_default();
            let name = visible(&program.to_string_lossy());
            if error.kind() == std::io::ErrorKind::NotFound {
                let mut text = format!("swbox: {name}: not found\n");
                if program.as_bytes().contains(&b' ') {
                    text.push_str(&format!(
                        "  help     after `--` stand a program and its arguments; a line needs -c: swbox exec -c {}\n",
                        visible(&quoted(&[program]))
                    ));
                }
                text
            } else {
                format!("swbox: {name}: {error}\n")
            }
        }
        Exit::Code(_) | Exit::Signal(_) => String::new(),
    }
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_secs_f64())
}

/// The exit code of a report.
fn code_of(report: &Report, dry_run: bool) -> u8 {
    if !report.may_run() {
        return Code::REFUSED;
    }
    if report.session.as_ref().is_some_and(|session| session.unrecorded.is_some()) {
        return Code::SETUP;
    }
    let Some(outcome) = &report.outcome else { return if dry_run { Code::OK } else { Code::SETUP } };
    let unwritten = outcome.config.iter().any(|change| change.refused.is_some());
    let unkept = outcome.outputs.as_ref().is_some_and(|kept| kept.problem.is_some());
    if unwritten || unkept || !outcome.quarantined.is_empty() || !outcome.planted.is_empty() {
        return Code::SETUP;
    }
    match outcome.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => exit::of_signal(signal),
        Exit::Timeout => Code::TIMEOUT,
        Exit::NotStarted { code, .. } => code,
    }
}

/// `swbox check`.
pub(super) fn check(args: CheckArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let judged = required(args.command).and_then(|command| service::check(&law(args.law), &command));
    let judgement = match judged {
        Err(problem) if args.json => {
            print(&json_line(&report::failure_to_json(&problem)))?;
            return Err(problem);
        }
        judged => judged?,
    };
    if args.json {
        print(&json_line(&judgement.to_json()))?;
    } else if !args.quiet {
        let paint = Paint::stdout(color);
        if judgement.allowed() {
            let mut text =
                format!("{} in state \"{}\"\n", paint.green("allowed"), visible(&judgement.law.state));
            for reason in &judgement.evaluation.reasons {
                text.push_str(&format!("  {}  {}\n", paint.dim(reason.code), one(reason)));
            }
            print(&text)?;
        } else {
            print(&refusal(&judgement, paint))?;
        }
    }
    Ok(match judgement.evaluation.decision {
        Decision::Allow => Code::OK,
        Decision::Prompt => Code::CHECK_PROMPT,
        Decision::Forbidden => Code::CHECK_FORBIDDEN,
    })
}

/// `swbox bash`, and swbox called as `bash` or `sh`. The law comes from flags in front, else from `SWBOX_WORKFLOW`,
/// `SWBOX_STATE`, `SWBOX_PROFILE` and `SWBOX_WORKSPACE` of whoever starts the shell.
pub(super) fn bash(args: &[OsString]) -> Result<u8, Diagnostic> {
    let call = shell::read(args)?;
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut law = Law {
        workflow: set("SWBOX_WORKFLOW"),
        state: set("SWBOX_STATE").map(|state| state.to_string_lossy().into_owned()),
        session: set("SWBOX_SESSION").map(|session| session.to_string_lossy().into_owned()),
        profiles: set("SWBOX_PROFILE").into_iter().collect(),
        workspace: set("SWBOX_WORKSPACE").map(PathBuf::from),
        ..Law::default()
    };
    let mut timeout = None;
    for (name, value) in call.own {
        match name {
            "--workflow" => law.workflow = Some(value),
            "--session" => law.session = Some(value.to_string_lossy().into_owned()),
            "--state" => law.state = Some(value.to_string_lossy().into_owned()),
            "--profile" => law.profiles.push(value),
            "--workspace" => law.workspace = Some(PathBuf::from(value)),
            _ => {
                let span = TimeSpan::parse(&value.to_string_lossy());
                timeout = Some(span.map_err(|problem| Diagnostic::new("bash_option", problem))?.0);
            }
        }
    }
    let command = match call.work {
        Work::About(option) => Command::Argv(vec!["bash".into(), option]),
        Work::Line { text, parameters } => {
            if text.is_empty() {
                return Ok(Code::OK);
            }
            Command::Line { text, options: call.options, parameters }
        }
        Work::Stdin(parameters) => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
                Diagnostic::new(
                    "script_unreadable",
                    format!("the script on standard input cannot be read: {error}"),
                )
            })?;
            if bytes.trim_ascii().is_empty() {
                return Ok(Code::OK);
            }
            let name = if parameters.is_empty() { Vec::new() } else { vec!["bash".into()] };
            Command::Line {
                text: OsString::from_vec(bytes),
                options: call.options,
                parameters: name.into_iter().chain(parameters).collect(),
            }
        }
        Work::Script { file, parameters } => match script(&file)? {
            None => return Ok(Code::OK),
            Some(text) if text.len() <= SCRIPT_TEXT => Command::Line {
                text,
                options: call.options,
                parameters: std::iter::once(file).chain(parameters).collect(),
            },
            Some(_) => Command::Argv(
                std::iter::once("bash".into()).chain(call.options).chain([file]).chain(parameters).collect(),
            ),
        },
    };
    let manner = Manner { json: false, quiet: false, color: ColorChoice::Auto };
    for name in ["BASH_ENV", "ENV"].into_iter().filter(|name| set(name).is_some()) {
        // To a person only: an agent would read it after every command.
        if std::io::stderr().is_terminal() {
            complain(&format!("swbox: {name} is not honoured: no start-up file is read\n"));
        }
    }
    perform(&Run { law, command, timeout, capture: false, dry_run: false }, manner)
}

/// A script's bytes, read once; `None` when there is nothing in it.
fn script(file: &OsStr) -> Result<Option<OsString>, Diagnostic> {
    let path = Path::new(file);
    let bytes = fs::read(path).map_err(|error| {
        Diagnostic::new("script_unreadable", format!("the script cannot be read: {error}")).file(path)
    })?;
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    Ok(Some(OsString::from_vec(bytes)))
}
