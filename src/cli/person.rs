//! `swbox approve`, `swbox reject`, and the words of `swbox session` that need a person's.

use serde_json::{Value, json};

use super::agent::refused;
use super::args_session::{ApproveArgs, RejectArgs};
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::visible;
use super::trust::difference;
use super::waiting;
use crate::diagnostic::Diagnostic;
use crate::service::report::JSON_VERSION;
use crate::service::session::{self, Answered, ApprovalScope, Destination, Reply, Verdict, Waiting};
use crate::service::{Law, Terminal};

/// `swbox session reload`.
pub(super) fn reload(id: &str, as_json: bool, color: ColorChoice) -> Result<u8, Diagnostic> {
    let reload = session::reload(id)?;
    let mut person = Terminal::open("`swbox session reload`")?;
    let paint = Paint::stdout(color);
    let mut out = String::new();
    if reload.texts.0 == reload.texts.1 {
        out.push_str("the workflow is the same; profiles and the user's rules are taken anew\n");
    }
    difference(&mut out, &reload.texts.0, &reload.texts.1, paint);
    difference(&mut out, &reload.rules.0, &reload.rules.1, paint);
    tell(&mut person, &out, as_json)?;
    let question =
        format!("Type the session's state, \"{}\", to take this law over: ", visible(&reload.state));
    let taken = person.ask(&question)? == reload.state;
    if taken {
        session::take_over(&reload, &person)?;
    }
    if as_json {
        print(&json_line(
            &json!({ "version": JSON_VERSION, "session": id, "taken": taken, "state": reload.state }),
        ))?;
    } else if taken {
        print(&format!("{id} goes on under the new law\n"))?;
    } else {
        complain("swbox: the law is unchanged\n");
    }
    Ok(if taken { Code::OK } else { Code::REFUSED })
}

/// `swbox session force`.
pub(super) fn force(id: &str, to: &str, reason: &str, as_json: bool) -> Result<u8, Diagnostic> {
    let mut person = Terminal::open("`swbox session force`")?;
    let question = format!("This passes every guard and approval. Type \"{}\" to go there: ", visible(to));
    if person.ask(&question)? != to {
        return unanswered(id, "nothing is changed", as_json);
    }
    told(id, &session::force(id, to, reason, &person)?, as_json)
}

/// `swbox approve`.
pub(super) fn approve(args: &ApproveArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let paint = Paint::stdout(color);
    let Some(id) = &args.id else { return everything(args.json, paint) };
    let mut person = Terminal::open("`swbox approve`")?;
    let waiting = session::waiting(id)?;
    let mut out = String::new();
    waiting::text(&mut out, &waiting, paint);
    tell(&mut person, &out, args.json)?;
    if waiting.status != "open" {
        return unanswered(id, &format!("{id} is {} and cannot be answered", waiting.status), args.json);
    }
    if args.always && waiting.shown.command.as_ref().is_none_or(|command| command.always.is_none()) {
        let why = format!(
            "{id} cannot be approved with --always: no rule of the user may or could allow it for good"
        );
        return unanswered(id, &why, args.json);
    }
    let (what, target) = asks(&waiting);
    if person.ask(&format!("Type \"{}\" to {what}: ", visible(&target)))? != target {
        return unanswered(id, &format!("{id} waits on"), args.json);
    }
    let scope = match (args.for_session, args.always) {
        (_, true) => ApprovalScope::Always,
        (true, false) => ApprovalScope::Session,
        (false, false) => ApprovalScope::Once,
    };
    told(id, &session::answer(&waiting, Verdict::Yes(scope), &person)?, args.json)
}

/// What a yes does, and the word that says it.
fn asks(waiting: &Waiting) -> (&'static str, String) {
    match &waiting.shown.to {
        None if !waiting.shown.planted.is_empty() => {
            ("let the session go on, with these files as they are now", waiting.shown.from.clone())
        }
        None => ("let it run", waiting.shown.from.clone()),
        Some(Destination::State(state)) => ("let the session go there", state.clone()),
        Some(Destination::Return) => ("let the session return", waiting.shown.from.clone()),
        Some(Destination::Fork) => ("let the session fork", waiting.shown.from.clone()),
        Some(Destination::Invoke(workflow)) => ("let that workflow begin", workflow.clone()),
    }
}

/// `swbox reject`.
pub(super) fn reject(args: &RejectArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let mut person = Terminal::open("`swbox reject`")?;
    let waiting = session::waiting(&args.id)?;
    let mut out = String::new();
    waiting::text(&mut out, &waiting, Paint::stdout(color));
    tell(&mut person, &out, args.json)?;
    told(&args.id, &session::answer(&waiting, Verdict::No(args.reason.clone()), &person)?, args.json)
}

/// All that waits, in every session.
fn everything(as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let mut all = Vec::new();
    for one in session::list(&Law::default(), true)? {
        for id in &one.waiting {
            all.push(session::waiting(id)?);
        }
    }
    if as_json {
        let all: Vec<Value> = all.iter().map(waiting::json).collect();
        print(&json_line(&json!({ "version": JSON_VERSION, "waiting": all })))?;
        return Ok(Code::OK);
    }
    let mut out = String::new();
    for (at, one) in all.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        waiting::text(&mut out, one, paint);
    }
    if out.is_empty() {
        out.push_str("nothing waits\n");
    }
    print(&out)?;
    Ok(Code::OK)
}

/// Shows a person what is asked: on standard output, which is for the result alone where that is JSON.
fn tell(person: &mut Terminal, text: &str, as_json: bool) -> Result<(), Diagnostic> {
    if as_json { person.show(text) } else { print(text) }
}

/// That a person was asked and did not say so.
fn unanswered(id: &str, why: &str, as_json: bool) -> Result<u8, Diagnostic> {
    complain(&format!("swbox: {why}\n"));
    if as_json {
        print(&json_line(&json!({ "version": JSON_VERSION, "id": id, "answer": null, "why": why })))?;
    }
    Ok(Code::REFUSED)
}

/// What came of a person's word.
fn told(id: &str, answered: &Answered, as_json: bool) -> Result<u8, Diagnostic> {
    let refused_by = match &answered.reply {
        Reply::Refused(refusal) => Some(refusal),
        _ => None,
    };
    let code = if refused_by.is_some() { Code::REFUSED } else { Code::OK };
    if as_json {
        let rule = answered.rule.as_ref().map(
            |(rule, file)| json!({ "id": rule.id, "prefix": rule.prefix, "file": file.to_string_lossy() }),
        );
        print(&json_line(&json!({
            "version": JSON_VERSION, "id": id, "answer": answered.reply, "state": answered.state,
            "notices": answered.notices, "rule": rule,
        })))?;
        return Ok(code);
    }
    for notice in &answered.notices {
        print(&format!("{}\n", visible(notice)))?;
    }
    if let Some(refusal) = refused_by {
        complain(&refused(refusal));
        return Ok(code);
    }
    if let Some((rule, file)) = &answered.rule {
        print(&format!(
            "the rule {} in {} allows `{}` in this workspace from now on\n",
            rule.id.as_deref().unwrap_or_default(),
            visible(&file.to_string_lossy()),
            visible(&rule.prefix)
        ))?;
    }
    print(&format!("done; the session is in \"{}\"\n", visible(&answered.state)))?;
    Ok(code)
}
