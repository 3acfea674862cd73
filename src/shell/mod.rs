//! Bash text to the commands that bash would run.
//!
//! Duty: find *every* simple command, at any nesting, and say when the reading cannot be trusted.
//! Danger: tree-sitter-bash hides executed commands without an error node, so our own lexer owns the words and
//! the tree owns only the structure; where both disagree the script is [`Trust::Untrusted`].

mod ansi;
mod assemble;
mod assigned;
mod brace;
mod characters;
mod cursor;
mod evaluate;
mod fields;
mod lexer;
mod limits;
mod loops;
mod opaque;
mod reading;
pub mod segment;
mod skeleton;
mod tree;
mod trust;
mod variables;
pub mod word;

use trust::Problem;

pub use segment::{Assignment, Chain, Context, Redirect, RedirectOp, Segment, Subshell};
pub use word::{Arg, Piece, Span, Value};

/// Whether the reading of a script may be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Lexer and tree agree on every word of every command.
    Trusted,
    /// The tree may not show what bash would run.
    Untrusted {
        /// Stable snake-case code, e.g. `syntax_error`, `too_long`, `odd_character`.
        code: &'static str,
        /// One plain sentence for a person.
        reason: String,
        /// Where.
        span: Span,
    },
}

/// A script as read: its segments and whether they may be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Every command found, in source order; for an untrusted script those seen so far (forbid rules still look at them).
    pub segments: Vec<Segment>,
    /// Names of the functions that the script defines, in source order; their bodies are reported with
    /// [`Context::in_function`]. Only a segment with [`Segment::calls_function`] surely calls one of them: the definition
    /// may stand in a branch, in a subshell, or behind the call.
    pub functions: Vec<String>,
    /// Whether this is all that bash would run.
    pub trust: Trust,
    /// A construct whose effect cannot be seen from the text although the parse is sound (`${x@P}`, `test -v 'a[…]'`).
    pub opaque: Option<(&'static str, Span)>,
    /// Names that get a value otherwise than by an assignment or a builtin: `for PATH in .`, `((PATH = 1))`, `${PATH:=.}`.
    pub assigned: Vec<String>,
    /// The subshells, numbered from 1.
    pub shells: Vec<Subshell>,
    /// The loops, numbered from 1: in which loop each is.
    pub loops: Vec<u32>,
    /// The chains of `&&`, numbered from 1.
    pub chains: Vec<Chain>,
}

/// Reads a command line or script. Total: what cannot be read for certain is [`Trust::Untrusted`].
pub fn parse(source: &str) -> Script {
    if source.len() > limits::MAX_BYTES {
        let problem = Problem::new("too_long", limits::MAX_BYTES);
        return Script {
            segments: Vec::new(),
            trust: untrusted(source, &problem),
            opaque: None,
            assigned: Vec::new(),
            functions: Vec::new(),
            shells: Vec::new(),
            loops: Vec::new(),
            chains: Vec::new(),
        };
    }
    let reading = lexer::read(source);
    let problem = trust::r7_lexer_content(&reading)
        .or_else(|| trust::r8_every_byte_booked(&reading))
        .or_else(|| trust::r6_no_reserved_verb(&reading, source.as_bytes()))
        .or_else(|| structure_problem(&reading));
    let segments = assemble::segments(&reading, source);
    Script {
        trust: problem.map_or(Trust::Trusted, |problem| untrusted(source, &problem)),
        opaque: opaque::find(&reading, source.as_bytes(), &segments),
        assigned: assigned::find(&reading, source.as_bytes()),
        segments,
        shells: reading.shells,
        loops: reading.looped,
        chains: reading.chains,
        functions: reading.definitions.into_iter().map(|definition| definition.name).collect(),
    }
}

/// Reads bytes; what is not UTF-8 is untrusted, and spans then refer to the text with U+FFFD in it.
pub fn parse_bytes(source: &[u8]) -> Script {
    let text = String::from_utf8_lossy(source);
    let mut script = parse(&text);
    if let Err(error) = std::str::from_utf8(source) {
        script.trust = untrusted(&text, &Problem::new("invalid_utf8", error.valid_up_to()));
    }
    script
}

/// An argv that is run without a shell, as one trusted segment.
pub fn from_argv(argv: &[String]) -> Script {
    let mut start = 0;
    let words = argv.iter().map(|word| {
        let span = Span::new(start, start + word.len());
        start = span.end + 1;
        Arg { value: Value::Literal(word.clone()), span }
    });
    let argv: Vec<Arg> = words.collect();
    let segment = Segment {
        span: Span::new(0, argv.last().map_or(0, |arg| arg.span.end)),
        argv,
        assignments: Vec::new(),
        redirects: Vec::new(),
        context: Context::default(),
        calls_function: false,
    };
    Script {
        segments: vec![segment],
        trust: Trust::Trusted,
        opaque: None,
        assigned: Vec::new(),
        functions: Vec::new(),
        shells: Vec::new(),
        loops: Vec::new(),
        chains: Vec::new(),
    }
}

/// Compares each skeleton with its tree.
fn structure_problem(reading: &reading::Reading) -> Option<Problem> {
    let Some(mut reader) = tree::Reader::new() else { return Some(Problem::new("no_grammar", 0)) };
    reading.skeletons.iter().find_map(|skeleton| {
        if skeleton.text.len() > limits::MAX_SKELETON {
            return Some(Problem::new("too_complex", 0));
        }
        let Some(structure) = reader.read(&skeleton.text) else {
            return Some(Problem::new("too_complex", 0));
        };
        let (code, at) = trust::check(skeleton, &structure)?;
        Some(Problem::new(code, source_offset(reading, skeleton, at)))
    })
}

/// Where in the source a place in a skeleton comes from: the last word before it.
fn source_offset(reading: &reading::Reading, skeleton: &skeleton::Skeleton, at: usize) -> usize {
    let before = skeleton.marks.iter().take_while(|(start, _)| *start as usize <= at);
    let command = before.last().and_then(|(_, command)| reading.commands.get(*command as usize));
    command.map_or(0, |command| command.span.start)
}

#[cfg(test)]
mod tests;

fn untrusted(source: &str, problem: &Problem) -> Trust {
    let start = problem.at.min(source.len());
    let length = source.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    Trust::Untrusted {
        code: problem.code,
        reason: trust::reason(problem.code).to_owned(),
        span: Span::new(start, start + length),
    }
}
