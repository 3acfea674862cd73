//! `swbox workflow`: list, show, validate, graph, schema, new.

mod ask;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::{Drawing, Listing, WorkflowCommand};
use super::classify::columns;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, is_terminal, print};
use super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::{self, Picture, Validated, report};

/// Characters of a line that are shown around a problem.
const EXCERPT: usize = 100;

/// `swbox workflow …`.
pub(super) fn workflow(command: WorkflowCommand, color: ColorChoice) -> Result<u8, Diagnostic> {
    let paint = Paint::stdout(color);
    match command {
        WorkflowCommand::List { json } => list(json, paint),
        WorkflowCommand::Show { workflow, json } => show(&workflow, json, paint),
        WorkflowCommand::Validate { workflows, format, json } => {
            let usual = if is_terminal() { Listing::Source } else { Listing::Text };
            let form = if json { Listing::Json } else { format.unwrap_or(usual) };
            validate(&workflows, form, paint)
        }
        WorkflowCommand::Schema => {
            print(&service::workflow_schema())?;
            Ok(Code::OK)
        }
        WorkflowCommand::New { file } => ask::new(file),
        WorkflowCommand::Graph { workflow, format, state } => {
            let picture = match format {
                Drawing::Mermaid => Picture::Mermaid,
                Drawing::Dot => Picture::Dot,
                Drawing::Svg => Picture::Svg,
            };
            print(&service::draw_workflow(&workflow, state.as_deref(), picture)?)?;
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

fn validate(names: &[OsString], form: Listing, paint: Paint) -> Result<u8, Diagnostic> {
    let all: Vec<Validated> =
        names.iter().map(|name| service::validate_workflow(name)).collect::<Result<_, _>>()?;
    let sound = all.iter().all(|one| one.problems.is_empty());
    if form == Listing::Json {
        let list =
            |problems: &[Diagnostic]| problems.iter().map(report::diagnostic_to_json).collect::<Vec<_>>();
        let items: Vec<Value> = all
            .iter()
            .map(|one| json!({ "workflow": one.name, "problems": list(&one.problems), "advice": list(&one.advice) }))
            .collect();
        print(&json_line(&json!({ "version": report::JSON_VERSION, "sound": sound, "workflows": items })))?;
        return Ok(if sound { Code::OK } else { Code::PROBLEMS });
    }
    let mut out = String::new();
    for one in &all {
        let problems = one.problems.iter().map(|problem| (paint.red("problem"), problem));
        let advice = one.advice.iter().map(|problem| (paint.yellow("advice"), problem));
        for (name, problem) in problems.chain(advice) {
            if form == Listing::Source {
                source(&mut out, &name, problem, one, paint);
            } else {
                let _ = writeln!(out, "{name} {}", visible(&problem.to_string()));
                if let Some(help) = &problem.help {
                    let _ = writeln!(out, "  help     {}", visible(help));
                }
            }
        }
        if one.problems.is_empty() {
            let _ = writeln!(out, "{}: {}", visible(&one.name), paint.green("sound"));
        } else {
            let count = one.problems.len();
            let noun = if count == 1 { "problem" } else { "problems" };
            let _ = writeln!(out, "{}: {count} {noun}", visible(&one.name));
        }
    }
    print(&out)?;
    Ok(if sound { Code::OK } else { Code::PROBLEMS })
}

/// A problem with the lines of the file around it, and the place marked.
fn source(out: &mut String, name: &str, problem: &Diagnostic, of: &Validated, paint: Paint) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{name}[{}] {}", problem.code, paint.bold(&visible(&problem.message)));
    let (Some(line), Some(column)) = (problem.line, problem.column) else {
        if let Some(help) = &problem.help {
            let _ = writeln!(out, "  = help: {}", visible(help));
        }
        out.push('\n');
        return;
    };
    let path = problem.path.as_ref().map_or_else(String::new, |path| format!(" ({})", visible(path)));
    let width = (line + 1).to_string().len();
    let bar = paint.dim("|");
    let _ = writeln!(out, "{:width$}{} {}:{line}:{column}{path}", "", paint.dim("-->"), visible(&of.name));
    let _ = writeln!(out, "{:width$} {bar}", "");
    // A file without line ends is one long line: only what is around the place is shown.
    let begin = column.saturating_sub(1 + EXCERPT / 2);
    let cut = |text: &str| {
        let mut letters = text.chars().skip(begin);
        let mut out: String = letters.by_ref().take(EXCERPT).collect();
        if letters.next().is_some() {
            out.push('…');
        }
        if begin > 0 { format!("…{out}") } else { out }
    };
    let lines = of.text.lines().enumerate().map(|(at, text)| (at + 1, text.trim_end_matches('\r')));
    for (number, text) in lines.filter(|(number, _)| number + 1 == line || *number == line) {
        let _ = writeln!(out, "{number:width$} {bar} {}", shown(&cut(text)));
        if number == line {
            let before: String =
                cut(text).chars().take(column - 1 - begin + usize::from(begin > 0)).collect();
            let mark = "^".repeat(marked(text.chars().skip(column - 1)).min(EXCERPT / 2));
            let indent = " ".repeat(shown(&before).chars().count());
            let _ = writeln!(out, "{:width$} {bar} {indent}{}", "", paint.red(&mark));
        }
    }
    if let Some(help) = &problem.help {
        let _ = writeln!(out, "{:width$} {} help: {}", "", paint.dim("="), visible(help));
    }
    out.push('\n');
}

/// A line of the file: tabs as two blanks, control and bidi characters visible.
fn shown(text: &str) -> String {
    visible(&text.replace('\t', "  "))
}

/// How many characters the text or number that begins here has.
fn marked(mut rest: impl Iterator<Item = char>) -> usize {
    let mut count = 1;
    match rest.next() {
        Some('"') => {
            let mut escaped = false;
            for letter in rest {
                count += 1;
                match letter {
                    '"' if !escaped => break,
                    '\\' => escaped = !escaped,
                    _ => escaped = false,
                }
            }
        }
        Some(letter) if letter.is_alphanumeric() || letter == '-' => {
            count += rest.take_while(|next| next.is_alphanumeric() || *next == '.').count();
        }
        Some(_) | None => {}
    }
    count
}
