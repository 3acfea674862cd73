//! What a person is shown of a command that asks, and the beginning that a rule could allow for good.
//!
//! Danger: the person judges by this. All of it is what swbox itself read in the line; nothing is the agent's word.

use std::path::Path;

use crate::classify::{ClassifiedSegment, Op, Subject};
use crate::engine::{Part, Question};
use crate::policy::Decision;
use crate::service::report::Judgement;
use crate::service::setting::{Setting, shorten};

/// Parts that are shown; a longer line is shown to be longer.
const MOST: usize = 64;

/// The question that a judgement asks.
pub(super) fn of(setting: &Setting, judgement: &Judgement) -> Question {
    let reading = &judgement.classification;
    let near = |path: &str| shorten(Path::new(path), &setting.place.cwd, &setting.facts.home);
    let mut parts: Vec<Part> =
        reading.segments.iter().take(MOST).map(|segment| part(segment, &near)).collect();
    if reading.segments.len() > MOST {
        parts.push(Part { words: format!("{} more", reading.segments.len() - MOST), does: Vec::new() });
    }
    let asking = judgement.evaluation.reasons.iter().filter(|reason| reason.decision == Decision::Prompt);
    Question {
        parts,
        reasons: asking.map(|reason| reason.message.clone()).collect(),
        opaque: reading.opaque.as_ref().map(|opacity| opacity.reason.clone()),
        cwd: near_or_whole(&setting.place.cwd, &setting.place.workspace),
        always: always(setting, judgement),
    }
}

/// The directory, below the workspace where it is.
fn near_or_whole(cwd: &Path, workspace: &Path) -> String {
    match cwd.strip_prefix(workspace) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_) => cwd.to_string_lossy().into_owned(),
    }
}

fn part(segment: &ClassifiedSegment, near: &dyn Fn(&str) -> String) -> Part {
    let mut does: Vec<String> = Vec::new();
    for op in &segment.ops {
        let text = effect(op, near);
        if !does.contains(&text) {
            does.push(text);
        }
    }
    if let Some(opacity) = &segment.opaque {
        does.push(format!("opaque: {}", opacity.reason));
    }
    let words: Vec<String> = segment.raw.iter().map(|word| shell_words::quote(word).into_owned()).collect();
    Part { words: words.join(" "), does }
}

fn effect(op: &Op, near: &dyn Fn(&str) -> String) -> String {
    let class = op.class.name();
    match &op.subject {
        Subject::None => class.to_owned(),
        Subject::Path(path) => format!("{class} {}", near(path)),
        Subject::Host(host) => format!("{class} {host}"),
        Subject::Unknown => format!("{class} (what, only run time tells)"),
    }
}

/// The shortest beginning of the command that an allow rule of the user would need to lift the question: the canonical
/// prefix, or more of its words where another rule asks about that. None for what no rule may allow.
fn always(setting: &Setting, judgement: &Judgement) -> Option<String> {
    let [segment] = &judgement.classification.segments[..] else { return None };
    if segment.indirect || segment.opaque.is_some() || segment.prefix.is_empty() {
        return None;
    }
    let whole = (segment.prefix.len()..=segment.argv.len()).map(|words| &segment.argv[..words]);
    let begins = std::iter::once(&segment.prefix[..]).chain(whole);
    let plain = |word: &String| {
        !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:=@+,%".contains(letter))
    };
    for words in begins {
        if !words.iter().all(plain) {
            return None;
        }
        let prefix = words.join(" ");
        if setting.would_allow(&prefix, judgement) {
            return Some(prefix);
        }
    }
    None
}
