//! `swbox session …`, `swbox approve`, `swbox reject`: a person's commands.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::agent::{refused, stands};
use super::args_session::{ApproveArgs, RejectArgs, SessionCommand, StartArgs};
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::visible;
use super::story::story;
use super::trust::difference;
use super::when::when;
use crate::diagnostic::Diagnostic;
use crate::service::report::{JSON_VERSION, diagnostic_to_json};
use crate::service::session::{self, Answered, Destination, Reply, SessionListed, Status, Verdict, Waiting};
use crate::service::{Law, Terminal};

/// `swbox session …`.
pub(super) fn session(command: SessionCommand, color: ColorChoice) -> Result<u8, Diagnostic> {
    let paint = Paint::stdout(color);
    match command {
        SessionCommand::Start(args) => start(args),
        SessionCommand::List { all, json } => list(&session::list(&Law::default(), all)?, json, paint),
        SessionCommand::Status { id, json } => status(&session::status(&this(id)?)?, json, paint),
        SessionCommand::Log { id, head, json } => log(&this(id)?, head, json, paint),
        SessionCommand::Replay { id } => replay(&this(id)?, paint),
        SessionCommand::Reload { id } => reload(&id, paint),
        SessionCommand::Force { id, state, reason } => force(&id, &state, &reason),
        SessionCommand::End { id, unbind } => {
            let state = session::end(&id, unbind)?;
            let free = if unbind { "; its workspace runs without a session again" } else { "" };
            print(&format!("{id} is over, in \"{}\"{free}\n", visible(&state)))?;
            Ok(Code::OK)
        }
        SessionCommand::Prune { older, dry_run } => {
            let gone = session::prune(session::before(older), dry_run)?;
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
        let waiting: Vec<Value> = status
            .waiting
            .iter()
            .map(|waiting| json!({ "id": waiting.id, "status": waiting.status, "shown": waiting.shown }))
            .collect();
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
    for waiting in &status.waiting {
        shown(&mut out, waiting, paint);
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

fn replay(id: &str, paint: Paint) -> Result<u8, Diagnostic> {
    let (entries, _) = session::log(id)?;
    let replayed = session::replay(id)?;
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
    Ok(if replayed.differs.is_none() { Code::OK } else { Code::PROBLEMS })
}

fn reload(id: &str, paint: Paint) -> Result<u8, Diagnostic> {
    let reload = session::reload(id)?;
    let mut person = Terminal::open("`swbox session reload`")?;
    let mut out = String::new();
    if reload.texts.0 == reload.texts.1 {
        out.push_str("the workflow is the same; profiles are taken anew\n");
    }
    difference(&mut out, &reload.texts.0, &reload.texts.1, paint);
    print(&out)?;
    let question =
        format!("Type the session's state, \"{}\", to take this law over: ", visible(&reload.state));
    if person.ask(&question)? != reload.state {
        complain("swbox: the law is unchanged\n");
        return Ok(Code::REFUSED);
    }
    session::take_over(&reload, &person)?;
    print(&format!("{id} goes on under the new law\n"))?;
    Ok(Code::OK)
}

fn force(id: &str, to: &str, reason: &str) -> Result<u8, Diagnostic> {
    let mut person = Terminal::open("`swbox session force`")?;
    let question = format!("This passes every guard and approval. Type \"{}\" to go there: ", visible(to));
    if person.ask(&question)? != to {
        complain("swbox: nothing is changed\n");
        return Ok(Code::REFUSED);
    }
    told(&session::force(id, to, reason, &person)?)
}

/// `swbox approve`.
pub(super) fn approve(args: &ApproveArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let Some(id) = &args.id else { return everything(Paint::stdout(color)) };
    let mut person = Terminal::open("`swbox approve`")?;
    let waiting = session::waiting(id)?;
    let mut out = String::new();
    shown(&mut out, &waiting, Paint::stdout(color));
    print(&out)?;
    if waiting.status != "open" {
        complain(&format!("swbox: {id} is {} and cannot be answered\n", waiting.status));
        return Ok(Code::REFUSED);
    }
    let (what, target) = match &waiting.shown.to {
        None if !waiting.shown.planted.is_empty() => {
            ("let the session go on, with these files as they are now", waiting.shown.from.clone())
        }
        None => ("let it run", waiting.shown.from.clone()),
        Some(Destination::State(state)) => ("let the session go there", state.clone()),
        Some(Destination::Return) => ("let the session return", waiting.shown.from.clone()),
        Some(Destination::Fork) => ("let the session fork", waiting.shown.from.clone()),
        Some(Destination::Invoke(workflow)) => ("let that workflow begin", workflow.clone()),
    };
    let question = format!("Type \"{}\" to {what}: ", visible(&target));
    if person.ask(&question)? != target {
        complain(&format!("swbox: {id} waits on\n"));
        return Ok(Code::REFUSED);
    }
    told(&session::answer(&waiting, Verdict::Yes { for_session: args.for_session }, &person)?)
}

/// All that waits, in every session.
fn everything(paint: Paint) -> Result<u8, Diagnostic> {
    let mut out = String::new();
    for one in session::list(&Law::default(), true)? {
        for id in &one.waiting {
            shown(&mut out, &session::waiting(id)?, paint);
        }
    }
    if out.is_empty() {
        out.push_str("nothing waits\n");
    }
    print(&out)?;
    Ok(Code::OK)
}

/// `swbox reject`.
pub(super) fn reject(args: &RejectArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let person = Terminal::open("`swbox reject`")?;
    let waiting = session::waiting(&args.id)?;
    let mut out = String::new();
    shown(&mut out, &waiting, Paint::stdout(color));
    print(&out)?;
    told(&session::answer(&waiting, Verdict::No(args.reason.clone()), &person)?)
}

/// What came of a person's word.
fn told(answered: &Answered) -> Result<u8, Diagnostic> {
    for notice in &answered.notices {
        print(&format!("{}\n", visible(notice)))?;
    }
    if let Reply::Refused(refusal) = &answered.reply {
        complain(&refused(refusal));
        return Ok(Code::REFUSED);
    }
    print(&format!("done; the session is in \"{}\"\n", visible(&answered.state)))?;
    Ok(Code::OK)
}

/// What waits, as a person must see it before answering.
fn shown(out: &mut String, waiting: &Waiting, paint: Paint) {
    let what = &waiting.shown;
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "  {} {text}", paint.bold(&format!("{name:<8}")));
    };
    let to = match &what.to {
        None if !what.planted.is_empty() => "→ the session goes on".to_owned(),
        None => "runs".to_owned(),
        Some(Destination::State(state)) => format!("→ \"{}\"", visible(state)),
        Some(Destination::Return) => "→ where the interrupt came from".to_owned(),
        Some(Destination::Fork) => "→ into its branches".to_owned(),
        Some(Destination::Invoke(workflow)) => format!("→ the workflow {}", visible(workflow)),
    };
    line("waits", &format!("{} ({}), until {}", waiting.id, waiting.status, when(what.until)));
    line("session", &format!("{} in {}", waiting.session, visible(&waiting.workspace.to_string_lossy())));
    line("asks", &format!("in \"{}\": {} {to}", visible(&what.from), visible(&what.what)));
    if let Some(message) = &what.message {
        line("question", &visible(message));
    }
    if let Some(reviewer) = &what.reviewer {
        line("for", &visible(reviewer));
    }
    if !what.claimed.is_null() {
        line("claimed", &visible(&what.claimed.to_string()));
    }
    for mismatch in &what.mismatches {
        let text = format!("{} claimed {}, seen {}", mismatch.field, mismatch.claimed, mismatch.observed);
        line("differs", &paint.red(&visible(&text)));
    }
    for proof in &what.evidence {
        line("seen", &visible(&format!("`{}` ended with {}", proof.command.join(" "), proof.exit_code)));
    }
    for planted in &what.planted {
        line("planted", &paint.red(&visible(planted)));
    }
    for file in &what.files {
        line("changed", &visible(file));
    }
}
