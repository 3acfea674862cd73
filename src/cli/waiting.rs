//! What waits for a person, as text and as JSON.
//!
//! Danger: a person judges by this. What came from an agent stands here with every control, bidi and escape character
//! made visible, and nothing of it can look like a line of swbox's own.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::output::Paint;
use super::show::visible;
use super::when::when;
use crate::service::session::{Changed, Destination, Waiting};

/// Files that are named one by one.
const MOST_FILES: usize = 40;

/// As JSON: all that the text says, and the ids to say it with.
pub(super) fn json(waiting: &Waiting) -> Value {
    json!({
        "id": waiting.id, "status": waiting.status, "session": waiting.session,
        "workspace": waiting.workspace.to_string_lossy(), "shown": waiting.shown, "changes": waiting.changes,
    })
}

/// As a person must see it before answering.
pub(super) fn text(out: &mut String, waiting: &Waiting, paint: Paint) {
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
    if let Some(command) = &what.command {
        line("in", &visible(&command.cwd));
        for part in &command.parts {
            line("runs", &visible(&part.words));
            for does in &part.does {
                line("", &format!("  {}", visible(does)));
            }
        }
        if let Some(opaque) = &command.opaque {
            line("unseen", &paint.yellow(&visible(opaque)));
        }
        for reason in &command.reasons {
            line("because", &visible(reason));
        }
        if let Some(prefix) = &command.always {
            line("--always", &format!("would allow every command that begins with `{}`", visible(prefix)));
        }
    }
    if !what.claimed.is_null() {
        line("claimed", &visible(&what.claimed.to_string()));
    }
    for mismatch in &what.mismatches {
        let text = format!("{} claimed {}, seen {}", mismatch.field, mismatch.claimed, mismatch.observed);
        line("differs", &paint.red(&visible(&text)));
    }
    for proof in &what.evidence {
        let tests = proof.tests.map_or_else(String::new, |tests| format!(" after {tests} tests"));
        line(
            "seen",
            &visible(&format!("`{}` ended with {}{tests}", proof.command.join(" "), proof.exit_code)),
        );
        if !proof.configuration.is_empty() {
            let files = visible(&proof.configuration.join(", "));
            line("", &paint.yellow(&format!("  what steers it was changed: {files}")));
        }
    }
    for planted in &what.planted {
        line("planted", &paint.red(&visible(planted)));
    }
    for change in waiting.changes.iter().take(MOST_FILES) {
        line("changed", &changed(change, paint));
    }
    if !waiting.changes.is_empty() {
        line("", &total(&waiting.changes, what.files.len()));
    }
    if what.unseen > 0 {
        let (files, commands) = match (what.files.is_empty(), what.unseen) {
            (true, 1) => ("files may have changed", "1 command".to_owned()),
            (false, 1) => ("these may not be all", "1 command".to_owned()),
            (true, count) => ("files may have changed", format!("{count} commands")),
            (false, count) => ("these may not be all", format!("{count} commands")),
        };
        let text = format!("{files}: nobody watched what {commands} wrote since the last approval");
        line("unseen", &paint.yellow(&text));
    }
}

/// One file as `git diff --stat` would tell it.
fn changed(change: &Changed, paint: Paint) -> String {
    let file = visible(&change.path);
    let counts = match (change.added, change.removed) {
        (Some(added), Some(removed)) => {
            format!("  {} {}", paint.green(&format!("+{added}")), paint.red(&format!("-{removed}")))
        }
        _ => String::new(),
    };
    let how = match change.how {
        "changed" => String::new(),
        how => format!("  {}", paint.dim(how)),
    };
    format!("{file}{counts}{how}")
}

fn total(changes: &[Changed], files: usize) -> String {
    let sum = |count: fn(&Changed) -> Option<u64>| changes.iter().filter_map(count).sum::<u64>();
    let uncounted = changes.iter().filter(|change| change.added.is_none()).count();
    let more = files.saturating_sub(MOST_FILES.min(changes.len()));
    let mut text = format!(
        "{files} file{} since the last approval: +{} -{} lines",
        if files == 1 { "" } else { "s" },
        sum(|change| change.added),
        sum(|change| change.removed)
    );
    if uncounted > 0 {
        let _ = write!(text, ", {uncounted} not counted");
    }
    if more > 0 {
        let _ = write!(text, "; {more} not named here");
    }
    text
}
