//! `swbox trust`: what a workspace brings, shown against what was accepted, and the question.

use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::args::TrustArgs;
use super::exit::Code;
use super::json_line;
use super::output::{ColorChoice, Paint, complain, print};
use super::show::{visible, visible_lines};
use crate::diagnostic::Diagnostic;
use crate::service::report::{JSON_VERSION, diagnostic_to_json};
use crate::service::{Candidate, Standing, Terminal, accept_file, candidates, forget_file};

/// Lines around a change.
const CONTEXT: usize = 3;

/// What a person types to accept.
const YES: &str = "accept";

/// `swbox trust`.
pub(super) fn trust(args: &TrustArgs, color: ColorChoice) -> Result<u8, Diagnostic> {
    let found = candidates(args.workspace.as_deref(), args.file.as_deref(), args.allow_home)?;
    let paint = Paint::stdout(color);
    if args.list || found.is_empty() {
        return list(&found, args.json, paint);
    }
    let mut person = Terminal::open("`swbox trust`")?;
    let refused = ask(&found, args, &mut person, paint)?;
    if args.json {
        // As they stand now.
        let found = candidates(args.workspace.as_deref(), args.file.as_deref(), args.allow_home)?;
        print(&as_json(&found))?;
    }
    Ok(if refused { Code::PROBLEMS } else { Code::OK })
}

/// Asks about each; whether one is not accepted.
fn ask(
    found: &[Candidate],
    args: &TrustArgs,
    person: &mut Terminal,
    paint: Paint,
) -> Result<bool, Diagnostic> {
    let say = |person: &mut Terminal, text: &str| if args.json { person.show(text) } else { print(text) };
    let mut refused = false;
    for candidate in found {
        if args.forget {
            if candidate.before.is_none() {
                say(person, &format!("{} was never accepted\n", candidate.name))?;
                continue;
            }
            forget_file(candidate, person)?;
            say(person, &format!("{} is not accepted any more\n", candidate.name))?;
            continue;
        }
        say(person, &shown(candidate, paint))?;
        match candidate.standing {
            Standing::Accepted => continue,
            Standing::Gone => {
                refused = true;
                continue;
            }
            Standing::New | Standing::Changed => {}
        }
        if !candidate.problems.is_empty() {
            refused = true;
            continue;
        }
        let question = format!("Type \"{YES}\" to make it the {} of this workspace: ", candidate.kind);
        if person.ask(&question)? == YES {
            accept_file(candidate, person)?;
            say(person, &format!("{} is accepted\n", candidate.name))?;
        } else {
            refused = true;
            complain(&format!("swbox: {} is not accepted\n", candidate.name));
        }
    }
    Ok(refused)
}

fn list(found: &[Candidate], json: bool, paint: Paint) -> Result<u8, Diagnostic> {
    let accepted = found.iter().all(|candidate| candidate.standing == Standing::Accepted);
    let code = if accepted { Code::OK } else { Code::PROBLEMS };
    if json {
        print(&as_json(found))?;
        return Ok(code);
    }
    let mut out = String::new();
    for candidate in found {
        let _ = writeln!(out, "{}  {}", paint.bold(&format!("{:<22}", candidate.name)), standing(candidate));
    }
    if found.is_empty() {
        out.push_str("this workspace brings no workflow and no profile of its own\n");
    }
    print(&out)?;
    Ok(code)
}

/// The files as they stand, with the texts that a person is shown the difference of.
fn as_json(found: &[Candidate]) -> String {
    let files: Vec<Value> = found
        .iter()
        .map(|candidate| {
            json!({
                "workspace": candidate.workspace.to_string_lossy(), "path": candidate.name, "kind": candidate.kind,
                "standing": word(candidate.standing), "text": candidate.text, "before": candidate.before,
                "asks": candidate.asks, "problems": diagnostics(&candidate.problems),
                "remarks": diagnostics(&candidate.remarks),
            })
        })
        .collect();
    json_line(&json!({ "version": JSON_VERSION, "files": files }))
}

fn diagnostics(found: &[Diagnostic]) -> Vec<Value> {
    found.iter().map(diagnostic_to_json).collect()
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "new",
        Standing::Changed => "changed",
        Standing::Accepted => "accepted",
        Standing::Gone => "gone",
    }
}

fn standing(candidate: &Candidate) -> &'static str {
    match candidate.standing {
        Standing::New => "new: nobody has accepted it",
        Standing::Changed => "changed since it was accepted",
        Standing::Accepted => "accepted",
        Standing::Gone => "accepted, and gone",
    }
}

/// A file as a person must see it before accepting: the difference, what it asks for, what is wrong with it.
fn shown(candidate: &Candidate, paint: Paint) -> String {
    let path = candidate.workspace.join(&candidate.name);
    let mut out = format!(
        "{} ({}): {}\n",
        paint.bold(&visible(&path.to_string_lossy())),
        candidate.kind,
        standing(candidate)
    );
    match candidate.standing {
        Standing::Accepted | Standing::Gone => return out,
        Standing::New => {
            for line in visible_lines(&candidate.text) {
                let _ = writeln!(out, "  {line}");
            }
        }
        Standing::Changed => {
            difference(&mut out, candidate.before.as_deref().unwrap_or_default(), &candidate.text, paint)
        }
    }
    for ask in &candidate.asks {
        let _ = writeln!(out, "{} {}", paint.yellow("asks to"), visible(ask));
    }
    for problem in &candidate.problems {
        let _ = writeln!(out, "{} {}", paint.red("cannot be accepted:"), visible(&problem.to_string()));
    }
    for remark in &candidate.remarks {
        let _ = writeln!(out, "{} {}", paint.yellow("warning:"), visible(&remark.to_string()));
    }
    out
}

pub(super) fn difference(out: &mut String, before: &str, after: &str, paint: Paint) {
    let diff = TextDiff::from_lines(before, after);
    for group in diff.grouped_ops(CONTEXT) {
        if let Some(first) = group.first() {
            let _ = writeln!(out, "  {}", paint.dim(&format!("line {}", first.new_range().start + 1)));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = visible(change.value().trim_end_matches(['\n', '\r']));
            let line = match change.tag() {
                ChangeTag::Delete => paint.red(&format!("- {line}")),
                ChangeTag::Insert => paint.green(&format!("+ {line}")),
                ChangeTag::Equal => format!("  {line}"),
            };
            let _ = writeln!(out, "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_goes_and_what_comes_and_hides_nothing() {
        let mut out = String::new();
        difference(&mut out, "a\nb\nc\n", "a\nB\x1b[2J\nc\n", Paint::plain());
        assert_eq!(out, "  line 1\n  a\n- b\n+ B\\u{1b}[2J\n  c\n");
    }
}
