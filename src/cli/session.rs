//! `swbox session …`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::agent::stands;
use super::args_session::{SessionCommand, StartArgs};
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::visible;
use super::story::story;
use super::when::when;
use super::{person, waiting};
use crate::diagnostic::Diagnostic;
use crate::service::report::{JSON_VERSION, diagnostic_to_json};
use crate::service::session::{self, SessionListed, Status};
use crate::service::{Command, Law};

/// `swbox session …`.
pub(super) fn session(command: SessionCommand, color: ColorChoice) -> Result<u8, Diagnostic> {
    let paint = Paint::stdout(color);
    match command {
        SessionCommand::Start(args) => start(args),
        SessionCommand::List { all, json } => list(&session::list(&Law::default(), all)?, json, paint),
        SessionCommand::Status { id, json } => status(&session::status(&this(id)?)?, json, paint),
        SessionCommand::Log { id, head, json } => log(&this(id)?, head, json, paint),
        SessionCommand::Ticket { id, line, json } => {
            let ticket = session::ticket(&id, &Command::line(line))?;
            let value = || json_line(&json!({ "version": JSON_VERSION, "session": id, "ticket": ticket }));
            print(&if json { value() } else { format!("{ticket}\n") })?;
            Ok(Code::OK)
        }
        SessionCommand::Replay { id, json } => replay(&this(id)?, json, paint),
        SessionCommand::Reload { id, json } => person::reload(&id, json, color),
        SessionCommand::Force { id, state, reason, json } => person::force(&id, &state, &reason, json),
        SessionCommand::End { id, unbind, json } => {
            let state = session::end(&id, unbind)?;
            if json {
                let value =
                    json!({ "version": JSON_VERSION, "session": id, "state": state, "unbound": unbind });
                print(&json_line(&value))?;
                return Ok(Code::OK);
            }
            let free = if unbind { "; its workspace runs without a session again" } else { "" };
            print(&format!("{id} is over, in \"{}\"{free}\n", visible(&state)))?;
            Ok(Code::OK)
        }
        SessionCommand::Prune { older, dry_run, json } => {
            let gone = session::prune(session::before(older), dry_run)?;
            if json {
                let value = json!({ "version": JSON_VERSION, "sessions": gone, "removed": !dry_run });
                print(&json_line(&value))?;
                return Ok(Code::OK);
            }
            let word = if dry_run { "would be removed" } else { "removed" };
            let lines: String = gone.iter().map(|id| format!("{id} {word}\n")).collect();
            print(&lines)?;
            Ok(Code::OK)
        }
    }
}

/// The session that is named, or the one that applies here.
fn this(id: Option<String>) -> Result<String, Diagnostic> {
    id.map_or_else(|| session::here(&Law::default()), Ok)
}

fn start(args: StartArgs) -> Result<u8, Diagnostic> {
    let law = Law {
        workflow: args.workflow,
        profiles: args.profile,
        workspace: args.workspace,
        allow_home: args.allow_home,
        ..Law::default()
    };
    let begun = session::start(&law, args.observe.into())?;
    if args.json {
        print(&json_line(&json!({
            "version": JSON_VERSION, "session": begun.id, "workspace": begun.workspace.to_string_lossy(),
            "workflow": begun.workflow.0, "origin": begun.workflow.1, "state": begun.state,
            "warnings": begun.warnings.iter().map(diagnostic_to_json).collect::<Vec<_>>(),
        })))?;
    } else if args.quiet {
        print(&format!("{}\n", begun.id))?;
    } else {
        print(&format!(
            "{} begins in \"{}\" of {} ({})\nThe workspace {} runs nothing without a session from now on.\n",
            begun.id,
            visible(&begun.state),
            visible(&begun.workflow.0),
            visible(&begun.workflow.1),
            visible(&begun.workspace.to_string_lossy())
        ))?;
        if !begun.warnings.is_empty() {
            complain(&format!(
                "swbox: the workflow fails {} checks of `swbox workflow validate`\n",
                begun.warnings.len()
            ));
        }
    }
    Ok(Code::OK)
}

fn list(found: &[SessionListed], as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    if as_json {
        let all: Vec<Value> = found.iter().map(listed).collect();
        print(&json_line(&json!({ "version": JSON_VERSION, "sessions": all })))?;
        return Ok(Code::OK);
    }
    let mut out = String::new();
    for one in found {
        let over =
            one.over.as_ref().map_or_else(String::new, |reason| format!("  over: {}", visible(reason)));
        let _ = writeln!(
            out,
            "{}  {}  {:<12} {:<14} {}{over}",
            paint.bold(&one.id),
            when(one.touched),
            visible(&one.workflow),
            visible(&one.state),
            visible(&one.workspace.to_string_lossy())
        );
        for id in &one.waiting {
            let _ = writeln!(out, "    {} waits for a person", paint.yellow(id));
        }
    }
    if found.is_empty() {
        out.push_str("no sessions here; `swbox session list --all` looks everywhere\n");
    }
    print(&out)?;
    Ok(Code::OK)
}

fn listed(one: &SessionListed) -> Value {
    json!({
        "session": one.id, "workspace": one.workspace.to_string_lossy(), "workflow": one.workflow, "state": one.state,
        "over": one.over, "created": one.created, "touched": one.touched, "waiting": one.waiting,
    })
}

fn status(status: &Status, as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    if as_json {
        let waiting: Vec<Value> = status.waiting.iter().map(waiting::json).collect();
        let mut value = listed(&status.listed);
        value["version"] = json!(JSON_VERSION);
        value["handout"] = json!(status.handout);
        value["origin"] = json!(status.origin);
        value["running"] = json!(status.running);
        value["parked"] = json!(waiting);
        value["head"] = json!({ "position": status.head.0, "hash": status.head.1.to_string() });
        print(&json_line(&value))?;
        return Ok(Code::OK);
    }
    let mut out = String::new();
    if let Some(handout) = &status.handout {
        stands(&mut out, &status.listed.id, handout, paint);
    }
    for (call, position) in &status.running {
        let _ = writeln!(out, "  {} {call} since entry {position}", paint.bold("runs    "));
    }
    for one in &status.waiting {
        waiting::text(&mut out, one, paint);
    }
    print(&out)?;
    Ok(Code::OK)
}

fn log(id: &str, head: bool, as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let (entries, hash) = session::log(id)?;
    if head {
        print(&format!("{id} {} {hash}\n", entries.len()))?;
    } else if as_json {
        let lines: String = entries
            .iter()
            .map(|entry| {
                json_line(&json!({
                    "position": entry.position, "at": entry.at, "kind": entry.kind, "hash": entry.hash.to_string(),
                    "body": entry.body,
                }))
            })
            .collect();
        print(&lines)?;
    } else {
        print(&story(&entries, paint))?;
    }
    Ok(Code::OK)
}

fn replay(id: &str, as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let (entries, _) = session::log(id)?;
    let replayed = session::replay(id)?;
    let code = if replayed.differs.is_none() { Code::OK } else { Code::PROBLEMS };
    if as_json {
        print(&json_line(&json!({
            "version": JSON_VERSION, "session": id, "events": replayed.events, "state": replayed.state,
            "same": replayed.differs.is_none(), "differs": replayed.differs,
        })))?;
        return Ok(code);
    }
    let mut out = story(&entries, paint);
    let verdict = match replayed.differs {
        None => paint.green("the same session"),
        Some(position) => paint.red(&format!("another session, from entry {position} on")),
    };
    let _ = writeln!(
        out,
        "{} events stepped again end in \"{}\": {verdict}",
        replayed.events,
        visible(&replayed.state)
    );
    print(&out)?;
    Ok(code)
}
