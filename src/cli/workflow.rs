//! `swbox workflow`: list, show, validate, graph.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::{Drawing, WorkflowCommand};
use super::classify::columns;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, print};
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::{self, Validated, report};

/// `swbox workflow …`.
pub(super) fn workflow(command: WorkflowCommand, color: ColorChoice) -> Result<u8, Diagnostic> {
    let paint = Paint::stdout(color);
    match command {
        WorkflowCommand::List { json } => list(json, paint),
        WorkflowCommand::Show { workflow, json } => show(&workflow, json, paint),
        WorkflowCommand::Validate { workflows, json } => validate(&workflows, json, paint),
        WorkflowCommand::Graph { workflow, format, state } => {
            let as_dot = format == Drawing::Dot;
            print(&service::draw_workflow(&workflow, state.as_deref(), as_dot)?)?;
            Ok(Code::OK)
        }
    }
}

fn list(as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let all = service::list_workflows();
    if as_json {
        let items: Vec<Value> = all
            .iter()
            .map(|item| json!({ "name": item.name, "about": item.about, "states": item.states }))
            .collect();
        print(&json_line(&json!({ "version": report::JSON_VERSION, "workflows": items })))?;
        return Ok(Code::OK);
    }
    let mut out = String::new();
    for item in all {
        let _ = writeln!(out, "{}  {}", paint.bold(&format!("{:<9}", item.name)), item.about);
        let _ = writeln!(out, "           {}", paint.dim(&item.states.join(", ")));
    }
    print(&out)?;
    Ok(Code::OK)
}

fn show(name: &OsStr, as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let shown = service::show_workflow(name)?;
    if as_json {
        print(&shown.text)?;
        return Ok(Code::OK);
    }
    let mut out = format!(
        "{} ({}), begins in \"{}\"\n\n",
        paint.bold(&visible(&shown.id)),
        visible(&shown.origin),
        visible(&shown.initial)
    );
    let rows: Vec<[String; 3]> = shown
        .states
        .iter()
        .map(|state| {
            let allows = match (&state.tools, state.is_final) {
                (_, true) => "(final: nothing runs)".to_owned(),
                (Some(tools), false) => visible(&tools.join(", ")),
                (None, false) => "(the default tools)".to_owned(),
            };
            let commands = state
                .commands
                .as_ref()
                .map_or_else(String::new, |commands| format!("; only {}", visible(&commands.join(", "))));
            let edges: Vec<String> = state
                .edges
                .iter()
                .map(|(event, target, asks)| {
                    let asks =
                        if asks.is_empty() { String::new() } else { format!(" ({})", asks.join(", ")) };
                    format!("{} → {}{asks}", visible(event), visible(target))
                })
                .collect();
            [visible(&state.name), format!("{allows}{commands}"), edges.join(", ")]
        })
        .collect();
    out.push_str(&columns(["state", "allows", "leads to"], &rows, paint));
    for remark in &shown.remarks {
        let _ = writeln!(out, "\n{} {}", paint.yellow("remark"), visible(&remark.to_string()));
    }
    print(&out)?;
    Ok(Code::OK)
}

fn validate(names: &[OsString], as_json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let all: Vec<Validated> =
        names.iter().map(|name| service::validate_workflow(name)).collect::<Result<_, _>>()?;
    let sound = all.iter().all(|one| one.problems.is_empty());
    if as_json {
        let list =
            |problems: &[Diagnostic]| problems.iter().map(report::diagnostic_to_json).collect::<Vec<_>>();
        let items: Vec<Value> = all
            .iter()
            .map(|one| json!({ "workflow": one.name, "problems": list(&one.problems), "advice": list(&one.advice) }))
            .collect();
        print(&json_line(&json!({ "version": report::JSON_VERSION, "sound": sound, "workflows": items })))?;
    } else {
        let mut out = String::new();
        for one in &all {
            for (name, list) in [(paint.red("problem"), &one.problems), (paint.yellow("advice"), &one.advice)]
            {
                for problem in list {
                    let _ = writeln!(out, "{name} {}", visible(&problem.to_string()));
                    if let Some(help) = &problem.help {
                        let _ = writeln!(out, "  help     {}", visible(help));
                    }
                }
            }
            if one.problems.is_empty() {
                let _ = writeln!(out, "{}: {}", visible(&one.name), paint.green("sound"));
            } else {
                let _ = writeln!(out, "{}: {} problems", visible(&one.name), one.problems.len());
            }
        }
        print(&out)?;
    }
    Ok(if sound { Code::OK } else { Code::PROBLEMS })
}
