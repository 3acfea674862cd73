//! `swbox workflow new`: a few questions, one line each; an empty answer is the one in brackets.

use std::io::BufRead;
use std::path::PathBuf;

use super::super::exit::Code;
use super::super::output::{complain, print};
use super::super::show::visible;
use crate::diagnostic::Diagnostic;
use crate::service::{self, Wishes};

/// Where a workspace brings its own workflow.
const LAWS: [&str; 2] = [".swbox/workflow.json", "swbox.json"];

/// Longest answer.
const LONGEST: usize = 4096;

/// Asks and writes.
pub(super) fn new(file: Option<PathBuf>) -> Result<u8, Diagnostic> {
    let mut lines = std::io::stdin().lock();
    let id = ask(&mut lines, "Name of the workflow", "my-workflow")?;
    let writes = yes(&mut lines, "May files be changed", true)?;
    let commands =
        list(&mut lines, "Commands that test or build, with commas between (none: nothing is run)")?;
    let commits = yes(&mut lines, "May the work be committed (a person approves first)", writes)?;
    let pushes = commits && yes(&mut lines, "May it be pushed", false)?;
    let hosts = list(&mut lines, "Hosts to publish to, with commas between (none: no network)")?;
    let file = match file {
        Some(file) => file,
        None => PathBuf::from(ask(&mut lines, "File", ".swbox/workflow.json")?),
    };
    service::new_workflow(&Wishes { id, writes, commands, commits, pushes, hosts }, &file)?;
    let name = visible(&file.to_string_lossy());
    print(&format!(
        "written: {name}\nlook at it with: swbox workflow show {name}\ntry it with:     swbox exec --workflow {name} -c LINE\n"
    ))?;
    if LAWS.iter().any(|law| file.ends_with(law)) {
        print("as the workspace's own it holds every command back until a person says: swbox trust\n")?;
    }
    Ok(Code::OK)
}

/// One answer, without the blanks around it.
fn ask(lines: &mut impl BufRead, question: &str, usual: &str) -> Result<String, Diagnostic> {
    let shown = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
    complain(&format!("{question}{shown}: "));
    let mut answer = Vec::new();
    let unreadable = |what: String| {
        Diagnostic::new("answer_unreadable", what).help("answer each question with one line of text")
    };
    let mut limited = std::io::Read::take(lines, LONGEST as u64);
    limited.read_until(b'\n', &mut answer).map_err(|error| unreadable(format!("no answer: {error}")))?;
    if answer.len() == LONGEST {
        return Err(unreadable("the answer is too long".to_owned()));
    }
    let answer = String::from_utf8(answer).map_err(|_| unreadable("the answer is not UTF-8".to_owned()))?;
    let answer = answer.trim();
    Ok(if answer.is_empty() { usual.to_owned() } else { answer.to_owned() })
}

fn yes(lines: &mut impl BufRead, question: &str, usual: bool) -> Result<bool, Diagnostic> {
    let answer = ask(lines, &format!("{question}?"), if usual { "yes" } else { "no" })?;
    match answer.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => {
            Err(Diagnostic::new("answer_unreadable", format!("{:?} is neither yes nor no", visible(&answer)))
                .help("answer yes or no; nothing was written"))
        }
    }
}

fn list(lines: &mut impl BufRead, question: &str) -> Result<Vec<String>, Diagnostic> {
    let answer = ask(lines, question, "")?;
    Ok(answer.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect())
}
