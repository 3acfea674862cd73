//! Bash text to the commands that bash would run.
//!
//! Duty: find *every* simple command, at any nesting, and say when the reading cannot be trusted.
//! Danger: tree-sitter-bash hides executed commands without an error node, so our own lexer owns the words and
//! the tree owns only the structure; where both disagree the script is [`Trust::Untrusted`].

pub mod segment;
pub mod word;

pub use segment::{Assignment, Context, Redirect, RedirectOp, Segment};
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
    /// Names of the functions that the script defines, in source order; such a name as a verb runs the bodies reported with
    /// [`Context::in_function`], not the program of that name.
    pub functions: Vec<String>,
    /// Whether this is all that bash would run.
    pub trust: Trust,
    /// A construct whose effect cannot be seen from the text although the parse is sound (`${x@P}`, `test -v 'a[…]'`).
    pub opaque: Option<(&'static str, Span)>,
}
