//! `swbox state` and `swbox transition`, as programs of their own and as lines of an agent's shell.

use std::fmt::Write as _;

use clap::Parser;
use serde_json::{Value, json};

use super::args_session::{AgentCli, AgentCommand, StateArgs, TransitionArgs};
use super::denials;
use super::exit::Code;
use super::jobs;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::{visible, visible_lines};
use crate::diagnostic::Diagnostic;
use crate::service::Law;
use crate::service::report::JSON_VERSION;
use crate::service::session::{self, Asked, Gathered, Handout, Offer, Refusal, Reply, SessionShown};

/// `swbox state`.
pub(super) fn state(args: &StateArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    tell_state(&args.which.law(), args.which.json, color)
}

/// `swbox transition`.
pub(super) fn transition(args: &TransitionArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    go_on(args, &args.which.law(), args.which.json, color)
}

/// An agent's command that stood alone in a line: answered here, outside the jail, for the session of that line.
pub(super) fn in_line(
    words: &[String],
    law: &Law,
    as_json: bool,
    color: ColorChoice,
) -> Result<u8, Diagnostic> {
    let words = std::iter::once("swbox").chain(words.iter().map(String::as_str));
    let cli = match AgentCli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            print(&error.render().to_string())?;
            return Ok(Code::OK);
        }
        Err(error) => {
            complain(&error.render().to_string());
            return Ok(Code::REFUSED);
        }
    };
    let which = match &cli.command {
        AgentCommand::State(args) => &args.which,
        AgentCommand::Transition(args) => &args.which,
        AgentCommand::Jobs(args) => &args.which,
        AgentCommand::Output(args) | AgentCommand::Kill(args) => &args.which,
    };
    if which.session.is_some() {
        return Err(Diagnostic::new("session_none", "an agent speaks for its own session only")
            .help("leave --session out"));
    }
    let as_json = as_json || which.json;
    match &cli.command {
        AgentCommand::State(_) => tell_state(law, as_json, color),
        AgentCommand::Transition(args) => go_on(args, law, as_json, color),
        AgentCommand::Jobs(_) => jobs::list(law, as_json, color),
        AgentCommand::Output(args) => jobs::output(&args.id, law, as_json),
        AgentCommand::Kill(args) => jobs::kill(&args.id, law, as_json),
    }
}

fn tell_state(law: &Law, as_json: bool, color: ColorChoice) -> Result<u8, Diagnostic> {
    let standing = session::state(law)?;
    if as_json {
        let value = json!({
            "version": JSON_VERSION, "session": standing.session, "handout": standing.handout,
            "rejected": standing.rejected,
        });
        print(&json_line(&value))?;
    } else {
        let mut out = String::new();
        let paint = Paint::stdout(color);
        stands(&mut out, &standing.session, &standing.handout, paint);
        said_no(&mut out, standing.rejected.as_deref(), paint);
        print(&out)?;
    }
    Ok(Code::OK)
}

fn go_on(args: &TransitionArgs, law: &Law, as_json: bool, color: ColorChoice) -> Result<u8, Diagnostic> {
    let data = match &args.data {
        None => Value::Null,
        Some(text) => serde_json::from_str(text).map_err(|error| {
            Diagnostic::new("data_not_json", format!("--data is no JSON: {error}"))
                .help("--data '{\"key\": \"value\"}'")
        })?,
    };
    let asked = Asked { event: args.event.clone(), from: args.from.clone(), data, subagent: false };
    let went = session::transition(law, asked)?;
    let moved = matches!(went.reply, Reply::Moved { .. } | Reply::Noted);
    if as_json {
        let value = json!({
            "version": JSON_VERSION, "session": went.session, "answer": went.reply, "notices": went.notices,
            "evidence": went.evidence.iter().map(Gathered::to_json).collect::<Vec<_>>(),
            "handout": went.standing, "rejected": went.rejected,
        });
        print(&json_line(&value))?;
        return Ok(if moved { Code::OK } else { Code::REFUSED });
    }
    let mut out = String::new();
    for notice in &went.notices {
        let _ = writeln!(out, "{}", visible(notice));
    }
    for evidence in &went.evidence {
        denials::of_evidence(&mut out, evidence, Paint::stdout(color));
    }
    match &went.reply {
        Reply::Moved { from, to, .. } => {
            let _ = writeln!(out, "\"{}\" → \"{}\"", visible(from), visible(to));
        }
        Reply::Parked { approval } => {
            let _ = writeln!(
                out,
                "a person must say yes: {approval} waits for `swbox approve {approval}`; the state is unchanged until then"
            );
        }
        Reply::Refused(refusal) => out.push_str(&refused(refusal)),
        Reply::Waiting { .. } => out.push_str("the transition waits for a result\n"),
        Reply::Noted | Reply::Allowed | Reply::Forbidden => {}
    }
    said_no(&mut out, went.rejected.as_deref(), Paint::stdout(color));
    if let (Some(handout), true) = (&went.standing, moved) {
        stands(&mut out, &went.session, handout, Paint::stdout(color));
    }
    print(&out)?;
    Ok(if moved { Code::OK } else { Code::REFUSED })
}

/// A state as an agent reads it.
pub(super) fn stands(out: &mut String, id: &str, handout: &Handout, paint: Paint) {
    let over = if handout.over { ", which is the end" } else { "" };
    let _ = writeln!(
        out,
        "session {id} ({}) is in {}{over}",
        visible(&handout.workflow),
        paint.bold(&format!("\"{}\"", visible(&handout.state)))
    );
    let mut field = |name: &str, text: &str| {
        let _ = writeln!(out, "  {} {text}", paint.bold(&format!("{name:<8}")));
    };
    if let Some(instructions) = &handout.instructions {
        for line in visible_lines(instructions) {
            field("do", &line);
        }
    }
    if let Some(tools) = &handout.allowed_tools {
        field("tools", &visible(&tools.join(", ")));
    }
    if let Some(commands) = &handout.allowed_commands {
        field("commands", &visible(&commands.join(", ")));
    }
    if let Some(most) = handout.max_iterations {
        field("calls", &format!("{} of {most}", handout.calls));
    }
    for offer in &handout.events {
        field("event", &offered(offer));
    }
    if let Some((approval, planted)) = &handout.alarm {
        let found = visible(&planted.join(", "));
        field("parked", &format!("a command left what makes git run programs: {found}"));
        field("", "nothing runs and no event leads on until a person has looked");
        field(
            "forward",
            &format!(
                "a person answers in a terminal: swbox approve {approval}, or swbox reject {approval} --reason TEXT"
            ),
        );
    }
    for approval in &handout.approvals {
        field("waits", &format!("{approval} for a person"));
    }
    if let Some((name, files)) = &handout.interrupt {
        field("because", &format!("{} fired on {}", visible(name), visible(&files.join(", "))));
    }
    for branch in &handout.branches {
        field("branch", &visible(branch));
    }
    if handout.over {
        field("forward", "a person starts anew: swbox session start");
    }
}

/// What a person answered last, where that was no.
fn said_no(out: &mut String, rejected: Option<&str>, paint: Paint) {
    if let Some(reason) = rejected {
        let _ = writeln!(out, "  {} a person said: {}", paint.bold("rejected"), visible(reason));
    }
}

fn offered(offer: &Offer) -> String {
    let targets: Vec<String> =
        offer.targets.iter().map(|target| format!("\"{}\"", visible(target))).collect();
    let mut text = format!("{} → {}", visible(&offer.event), targets.join(" or "));
    if !offer.requires.is_empty() {
        let _ = write!(text, " (needs {})", offer.requires.join(" and "));
    }
    text
}

/// Why a session did not move, or did not let a command run.
pub(super) fn refused(refusal: &Refusal) -> String {
    let mut out = format!("swbox: {} [{}]\n", visible(&refusal.message), refusal.code.name());
    let _ = writeln!(out, "  forward  {}", refusal.code.remedy());
    for offer in &refusal.events {
        let _ = writeln!(out, "  event    {}", offered(offer));
    }
    if let Some(approval) = &refusal.approval {
        let _ = writeln!(out, "  waits    {approval}; a person says yes with: swbox approve {approval}");
    }
    out
}

/// What is said of a command that the session held back.
pub(super) fn held_back(session: &SessionShown, _paint: Paint) -> String {
    session.refusal.as_ref().map(refused).unwrap_or_default()
}
