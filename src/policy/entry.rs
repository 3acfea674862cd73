//! One entry of `allowed_commands`, or the prefix of a rule: words that a command must begin with.
//!
//! Danger: the published reading is `starts_with` on the whole line, which `pytest; rm -rf x` passes. Here an entry is
//! a list of words and is held against one command after unwrapping.

use std::sync::OnceLock;

use crate::classify::ClassifiedSegment;
use crate::workflow::prefix::{self, Grant};

/// A compiled prefix.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// As written.
    pub(super) text: String,
    all: Vec<String>,
    words: Vec<String>,
    flags: Vec<String>,
    grant: OnceLock<Grant>,
}

/// Whose directories hold programs that go by their bare name.
const PROGRAM_DIRECTORIES: [&str; 7] =
    ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/bin"];

impl Entry {
    /// Compiles the text.
    pub(super) fn new(text: &str) -> Self {
        let all = prefix::words(text);
        let (flags, words) = all.iter().cloned().partition(|word| word.starts_with('-') && word.len() > 1);
        Self { text: text.to_owned(), all, words, flags, grant: OnceLock::new() }
    }

    /// What it grants to a command that matches; found on first use, since most entries are never met.
    pub(super) fn grant(&self) -> Grant {
        *self.grant.get_or_init(|| prefix::grant(&self.all))
    }

    /// How many words it has; a longer one is more specific.
    pub(super) fn len(&self) -> usize {
        self.words.len() + self.flags.len()
    }

    /// Whether the command, unwrapped, begins with it: the reading that grants.
    pub(super) fn matches(&self, segment: &ClassifiedSegment) -> bool {
        let by_name = is_program_path(segment.argv.first().map_or("", String::as_str));
        self.begins(&segment.argv, &segment.prefix, by_name, Reading::Strict)
    }

    /// Whether the command as written, wrappers included, begins with it: the reading that grants.
    pub(super) fn matches_raw(&self, segment: &ClassifiedSegment) -> bool {
        segment.raw == segment.argv && self.matches(segment)
            || self.begins(&segment.raw, &[], false, Reading::Strict)
    }

    /// Whether the command may be meant, as written or unwrapped, wherever its program lies: the reading that refuses.
    pub(super) fn concerns(&self, segment: &ClassifiedSegment) -> bool {
        // Where all is understood and the subcommand comes first, `git stash push` is no `git push`; else any operand may
        // be the subcommand.
        let leads = segment.argv.get(1).is_none_or(|word| !word.starts_with('-'));
        let is_read = leads && segment.opaque.is_none() && segment.raw == segment.argv;
        self.begins(&segment.argv, &segment.prefix, true, Reading::Wide)
            || !is_read && self.begins(&segment.raw, &[], true, Reading::Wide)
    }

    /// `prefix` is the canonical prefix, which knows the options that take a value (`git -C dir push` is `git push`).
    fn begins(&self, argv: &[String], prefix: &[String], by_name: bool, reading: Reading) -> bool {
        let Some((program, operands)) = argv.split_first() else { return false };
        let Some((first, rest)) = self.words.split_first() else { return false };
        let named = word_matches(first, program) || by_name && word_matches(first, base_name(program));
        if !named {
            return false;
        }
        if !self.flags.iter().all(|flag| operands.iter().any(|operand| word_matches(flag, operand))) {
            return false;
        }
        let known = prefix.get(1..).unwrap_or_default();
        let common = known.len().min(rest.len());
        if !rest[..common].iter().zip(known).all(|(word, actual)| word_matches(word, actual)) {
            return false;
        }
        let further = &rest[common..];
        if further.is_empty() {
            return true;
        }
        let Some(behind) = behind(operands, known) else { return false };
        self.continues(behind, further, reading)
    }

    /// The words beyond the canonical prefix. To grant they must follow at once: an operand could be an option's value.
    fn continues(&self, operands: &[String], further: &[String], reading: Reading) -> bool {
        let mut operands = operands.iter();
        further.iter().all(|word| match reading {
            Reading::Wide => operands.any(|operand| word_matches(word, operand)),
            Reading::Strict => {
                let of_entry = |operand: &String| self.flags.iter().any(|flag| word_matches(flag, operand));
                let self_contained = |operand: &String| operand.starts_with("--") && operand.contains('=');
                let next = operands.find(|operand| !of_entry(operand) && !self_contained(operand));
                next.is_some_and(|operand| word_matches(word, operand))
            }
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Strict,
    Wide,
}

/// The operands behind the last word of the canonical prefix; `None` where it is spelt otherwise than the words.
fn behind<'a>(operands: &'a [String], known: &[String]) -> Option<&'a [String]> {
    known.iter().try_fold(operands, |rest, word| {
        let found = rest.iter().position(|operand| operand == word)?;
        Some(&rest[found + 1..])
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a program word is a bare name, or a path whose directory holds programs by convention.
fn is_program_path(program: &str) -> bool {
    match program.rsplit_once('/') {
        None => true,
        Some((directory, _)) => {
            PROGRAM_DIRECTORIES.contains(&directory)
                || directory.ends_with("/.bin")
                || (directory.ends_with("/bin") && directory.contains("venv"))
        }
    }
}

/// `*` in the pattern matches any part of one word; an unknown word (U+FFFD) matches nothing.
fn word_matches(pattern: &str, word: &str) -> bool {
    if word.contains('\u{fffd}') {
        return false;
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| word.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
