//! `exec`, `check` and the drop-in bash.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{CheckArgs, ExecArgs, Watch};
use super::exit::{self, Code};
use super::output::{ColorChoice, Paint, complain, print};
use super::refusal::{one, refusal, trailer};
use super::shell::{self, Work};
use super::show::visible;
use super::{json_line, law, quoted, required};
use crate::diagnostic::Diagnostic;
use crate::service::{
    self, Command, Decision, EventsTo, Exit, Law, Report, Run, Script, ScriptFile, TimeSpan, report, session,
};

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
                observe: args.watch.observe.into(),
                events: args.watch.events,
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
    if run.law.ticket.is_some() {
        // It is used up even where the command is then refused: the next one needs a new one.
        return perform(&session::admitted(run)?, manner);
    }
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
            None => complain(&format!("{}{}", refusal(&report.judgement, paint), line_hint(&run.command))),
        }
        complain(&trailer(report, std::io::stderr().is_terminal(), paint));
    } else if run.dry_run {
        print(&super::explain::dry_run(report, Paint::stdout(manner.color)))?;
    } else {
        complain(&trailer(report, std::io::stderr().is_terminal(), paint));
        complain(&ending(report, run));
    }
    Ok(())
}

/// What has to be said of how the command ended: nothing, unless it never began or was cut off.
fn ending(report: &Report, run: &Run) -> String {
    let Some(outcome) = &report.outcome else { return String::new() };
    match outcome.exit {
        Exit::Timeout => {
            let limit = run.timeout.map_or_else(|| "the limit of its profile or state".to_owned(), seconds);
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
                format!("swbox: {name}: not found\n{}", line_hint(&run.command))
            } else {
                format!("swbox: {name}: {error}\n")
            }
        }
        Exit::Code(_) | Exit::Signal(_) => String::new(),
    }
}

/// The way out of `swbox exec -- 'ls -la'`: one word with blanks in it is hardly a program.
fn line_hint(command: &Command) -> String {
    match command {
        Command::Argv(argv) => match &argv[..] {
            [line] if line.as_bytes().contains(&b' ') => format!(
                "  help     after `--` stand a program and its arguments; a line needs -c: swbox exec -c {}\n",
                visible(&quoted(&[line]))
            ),
            _ => String::new(),
        },
        Command::Line { .. } | Command::Script(_) => String::new(),
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
    let effects = report.effects.as_ref();
    if !outcome.is_sound() || effects.is_some_and(|effects| effects.events_failed.is_some()) {
        return Code::SETUP;
    }
    if effects.is_some_and(|effects| effects.stopped.is_some()) {
        return Code::REFUSED;
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
    let command = required(args.command);
    let hint = command.as_ref().map(line_hint).unwrap_or_default();
    let judged = command.and_then(|command| service::check(&law(args.law), &command));
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
            print(&format!("{}{hint}", refusal(&judgement, paint)))?;
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
    let mut observe = set("SWBOX_OBSERVE").map(|how| watched(&how)).transpose()?;
    let mut events = set("SWBOX_EVENTS").map(|to| told(&to)).transpose()?;
    for (name, value) in call.own {
        match name {
            "--workflow" => law.workflow = Some(value),
            "--session" => law.session = Some(value.to_string_lossy().into_owned()),
            "--state" => law.state = Some(value.to_string_lossy().into_owned()),
            "--profile" => law.profiles.push(value),
            "--workspace" => law.workspace = Some(PathBuf::from(value)),
            "--observe" => observe = Some(watched(&value)?),
            "--events" => events = Some(told(&value)?),
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
            if std::io::stdin().is_terminal() {
                complain("swbox: there is no prompt: what is typed runs as a whole when it ends (Ctrl-D)\n");
            }
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
            service::set_input(&bytes).map_err(|error| {
                Diagnostic::new("script_unreadable", format!("the script cannot be handed on: {error}"))
            })?;
            Command::Script(Script {
                text: OsString::from_vec(bytes),
                options: call.options,
                parameters,
                file: None,
            })
        }
        Work::Script { file, parameters } => match script(file, call.options, parameters) {
            Found::Nothing => return Ok(Code::OK),
            Found::Work(command) => command,
            // As bash says it, and with its exit code.
            Found::Missing(text, code) => {
                complain(&text);
                return Ok(code);
            }
        },
    };
    let manner = Manner { json: false, quiet: false, color: ColorChoice::Auto };
    for name in ["BASH_ENV", "ENV"].into_iter().filter(|name| set(name).is_some()) {
        // To a person only: an agent would read it after every command.
        if std::io::stderr().is_terminal() {
            complain(&format!("swbox: {name} is not honoured: no start-up file is read\n"));
        }
    }
    let observe = observe.unwrap_or_default().into();
    perform(&Run { law, command, timeout, capture: false, dry_run: false, observe, events }, manner)
}

/// A way of watching by its name.
fn watched(name: &OsStr) -> Result<Watch, Diagnostic> {
    name.to_str().and_then(Watch::named).ok_or_else(|| {
        let shown = visible(&name.to_string_lossy());
        Diagnostic::new("bash_option", format!("`{shown}` is no way of watching"))
            .help("known: auto, off, notify, trace, reads")
    })
}

/// Where events go.
fn told(to: &OsStr) -> Result<EventsTo, Diagnostic> {
    EventsTo::parse(to).map_err(|problem| Diagnostic::new("bash_option", problem))
}

/// What was found where a script should be.
enum Found {
    /// A script without a command in it.
    Nothing,
    /// It runs.
    Work(Command),
    /// It does not: bash's words and code.
    Missing(String, u8),
}

/// A script, read once.
fn script(name: OsString, options: Vec<OsString>, parameters: Vec<OsString>) -> Found {
    let missing = |why: &str, code| {
        Found::Missing(format!("bash: {}: {why}\n", visible(&name.to_string_lossy())), code)
    };
    // Bash looks for a bare name that is not here in PATH; here `$0` is then the path, so that it is found inside too.
    let is_bare = !name.as_bytes().contains(&b'/') && !Path::new(&name).exists();
    let searched = std::env::var_os("PATH").filter(|_| is_bare).and_then(|search| {
        std::env::split_paths(&search).map(|directory| directory.join(&name)).find(|path| path.is_file())
    });
    let found = searched.unwrap_or_else(|| PathBuf::from(&name));
    let (meta, bytes) = match fs::metadata(&found).and_then(|meta| Ok((meta, fs::read(&found)?))) {
        Ok(found) => found,
        Err(error) => {
            return match error.kind() {
                std::io::ErrorKind::NotFound => missing("No such file or directory", Code::NOT_FOUND),
                std::io::ErrorKind::IsADirectory => missing("Is a directory", Code::REFUSED),
                std::io::ErrorKind::PermissionDenied => missing("Permission denied", Code::REFUSED),
                _ => missing(&error.to_string(), Code::REFUSED),
            };
        }
    };
    if bytes.trim_ascii().is_empty() {
        return Found::Nothing;
    }
    let is_text = bytes.len() <= SCRIPT_TEXT && !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok();
    let path = fs::canonicalize(&found).ok().filter(|_| meta.is_file());
    let words = || options.iter().cloned();
    Found::Work(match path {
        // Long, or no text: nothing shows what it does. Bash reads it where it lies.
        _ if !is_text => Command::Argv(
            std::iter::once("bash".into()).chain(words()).chain([name.clone()]).chain(parameters).collect(),
        ),
        Some(path) => Command::Script(Script {
            text: OsString::from_vec(bytes),
            options,
            parameters,
            file: Some(ScriptFile { name: found.into(), path, mode: meta.mode() & 0o777 }),
        }),
        // A pipe (`bash <(…)`) is empty once it is read.
        None => Command::Line {
            text: OsString::from_vec(bytes),
            options,
            parameters: std::iter::once(name.clone()).chain(parameters).collect(),
        },
    })
}
