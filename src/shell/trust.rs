//! When a reading may be relied on: the rules R1 to R8, each a function with a line that needs it.
//!
//! Danger: a rule that is too weak lets a command run that nobody judged; one that is too strong costs a prompt.

use super::reading::{CommandKind, Reading};
use super::skeleton::Skeleton;
use super::tree::Structure;

/// Why a script is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: &'static str,
    /// Source offset.
    pub(super) at: usize,
}

impl Problem {
    pub(super) const fn new(code: &'static str, at: usize) -> Self {
        Self { code, at }
    }
}

/// Words that bash reads as syntax where a command may begin.
pub(super) fn is_reserved(text: &[u8]) -> bool {
    matches!(
        text,
        b"if"
            | b"then"
            | b"else"
            | b"elif"
            | b"fi"
            | b"do"
            | b"done"
            | b"case"
            | b"esac"
            | b"while"
            | b"until"
            | b"for"
            | b"select"
            | b"function"
            | b"in"
            | b"{"
            | b"}"
            | b"!"
            | b"[["
            | b"]]"
            | b"coproc"
            | b"time"
    )
}

/// Compares one skeleton with its tree; the first rule that does not hold.
pub(super) fn check(skeleton: &Skeleton, tree: &Structure) -> Option<(&'static str, usize)> {
    r1_no_error(tree)
        .or_else(|| r2_known_kinds(tree))
        .or_else(|| r5_one_line_commands(tree))
        .or_else(|| r3_same_words(skeleton, tree))
        .or_else(|| r4_same_substitutions(skeleton, tree))
}

/// R1: the tree has no error and misses nothing. `ls &&`
fn r1_no_error(tree: &Structure) -> Option<(&'static str, usize)> {
    tree.error.map(|at| ("syntax_error", at))
}

/// R2: only kinds of node that are understood. `declare x`, were it not `www www` in the skeleton
fn r2_known_kinds(tree: &Structure) -> Option<(&'static str, usize)> {
    tree.unknown_kind.map(|at| ("unknown_syntax", at))
}

/// R3: lexer and tree give the same words to the same commands. `cat - 2>&1`
fn r3_same_words(skeleton: &Skeleton, tree: &Structure) -> Option<(&'static str, usize)> {
    let mut owners = std::collections::HashMap::new();
    for index in 0..skeleton.marks.len().max(tree.words.len()) {
        let (Some((start, command)), Some((seen, node))) = (skeleton.marks.get(index), tree.words.get(index))
        else {
            return Some(("words_differ", skeleton.marks.get(index).map_or(0, |mark| mark.0 as usize)));
        };
        let known = *owners.entry(*command).or_insert(*node);
        if start != seen || known != *node {
            return Some(("words_differ", *start as usize));
        }
    }
    let nodes: std::collections::HashSet<u32> = owners.values().copied().collect();
    (nodes.len() != owners.len()).then_some(("words_differ", 0))
}

/// R4: lexer and tree see the same substitutions. `echo "$(a)$(b)"`
fn r4_same_substitutions(skeleton: &Skeleton, tree: &Structure) -> Option<(&'static str, usize)> {
    if skeleton.substitutions == tree.substitutions {
        return None;
    }
    let pairs = skeleton.substitutions.iter().zip(&tree.substitutions);
    let at = pairs.into_iter().find(|(ours, theirs)| ours != theirs).map_or(0, |(ours, _)| ours.0);
    Some(("substitutions_differ", at as usize))
}

/// R5: no newline inside a command: between its words lie only blanks. `a | b`newline`c && d`
fn r5_one_line_commands(tree: &Structure) -> Option<(&'static str, usize)> {
    tree.odd_gap.map(|at| ("broken_command", at))
}

/// R6: no reserved word is a verb. `FOO=bar for`
pub(super) fn r6_no_reserved_verb(reading: &Reading, source: &[u8]) -> Option<Problem> {
    reading.commands.iter().filter(|command| command.kind == CommandKind::Simple).find_map(|command| {
        let verb = command.words.first()?;
        let text = reading.bytes(source, verb.slice);
        (!verb.quoted && is_reserved(text) && text != b"time")
            .then(|| Problem::new("reserved_word", verb.span.start))
    })
}

/// R7: the lexer found nothing wrong. `echo 'a`
pub(super) fn r7_lexer_content(reading: &Reading) -> Option<Problem> {
    reading.problems.first().cloned()
}

/// R8: every byte is booked as exactly one of word, redirect, heredoc, comment, operator, blank. No line is known that
/// breaks it: it is the lexer's check of itself.
pub(super) fn r8_every_byte_booked(reading: &Reading) -> Option<Problem> {
    reading.unbooked.map(|at| Problem::new("coverage", at))
}

/// One plain sentence for a problem's code.
pub(super) fn reason(code: &str) -> &'static str {
    match code {
        "too_long" => "the text is longer than 64 KiB",
        "too_many_words" => "the text has too many words",
        "too_many_expansions" => "the text has too many expansions",
        "too_many_segments" => "the text has too many commands",
        "too_deep" => "the text is nested too deeply",
        "too_complex" => "the text takes too long to parse",
        "invalid_utf8" => "the text is not valid UTF-8",
        "control_character" => "a control character makes the text look different from what bash reads",
        "odd_character" => {
            "an invisible or look-alike blank makes the text look different from what bash reads"
        }
        "unclosed_quote" => "a quote is not closed",
        "unclosed_parenthesis" => "a parenthesis is not closed",
        "unclosed_compound" => "a compound command is not closed",
        "unclosed_parameter" => "a `${` is not closed",
        "unclosed_backtick" => "a backtick is not closed",
        "unclosed_condition" => "a `[[` is not closed",
        "unclosed_array" | "unclosed_subscript" | "unclosed_pattern" | "unclosed_arithmetic" => {
            "a bracket or parenthesis is not closed"
        }
        "missing_command" => "a command is missing",
        "misplaced_keyword" => "a keyword stands where it does not belong",
        "extglob" => "extended patterns mean different things with and without `shopt -s extglob`",
        "heredoc_delimiter" => "a heredoc delimiter has an expansion or a newline in it",
        "function_substitution" => "`${ command; }` is read differently by different versions of bash",
        "reserved_word" => "a reserved word is used as a command",
        "words_differ" | "substitutions_differ" | "broken_command" | "unknown_syntax" | "coverage" => {
            "two readings of the text differ"
        }
        _ => "the text is not valid bash, or it cannot be read for certain",
    }
}
