//! Segments: the simple commands that bash would run, however deeply nested.
//!
//! Danger: a segment that is missing here is a command that nobody judges. The list is a superset of what runs.

use super::word::{Arg, Span, Value};

/// One simple command that bash would run, with all that it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Program name and arguments after brace expansion; empty for a bare assignment or redirect.
    pub argv: Vec<Arg>,
    /// Assignments in front of the verb (or alone).
    pub assignments: Vec<Assignment>,
    /// Redirects in source order; those of an enclosing compound are repeated on a segment of their own with empty `argv`.
    pub redirects: Vec<Redirect>,
    /// From the first to the last byte of the command.
    pub span: Span,
    /// Where it stands.
    pub context: Context,
    /// Calls a function that this script surely defined before: the body's segments are in the list, the call itself
    /// does nothing.
    pub calls_function: bool,
}

/// Where a segment stands in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// Nesting depth of substitutions, subshells and compounds; 0 at the top.
    pub depth: u16,
    /// Inside `$(…)`, backticks or a process substitution.
    pub in_substitution: bool,
    /// Inside a function body: runs only when the function is called.
    pub in_function: bool,
    /// Reads its standard input from another segment through a pipe.
    pub piped_in: bool,
    /// Writes its standard output into another segment through a pipe.
    pub piped_out: bool,
    /// In a branch, loop or after `&&`/`||`: may run or not, or several times.
    pub conditional: bool,
    /// Started with `&` or `coproc`.
    pub background: bool,
    /// In a subshell (parentheses, pipe, substitution): what it changes (`cd`, variables) does not outlive it.
    pub subshell: bool,
    /// In which shell, as a number of [`Script::shells`](super::Script::shells); 0 is the script's own.
    pub shell: u32,
    /// In which loop, as a number of [`Script::loops`](super::Script::loops); 0 for none. It may run before and after
    /// everything else in it.
    pub looped: u32,
    /// In which chain of `&&`, as a number of [`Script::chains`](super::Script::chains): it runs only where all before it
    /// in that chain, and in those that one stands in, succeeded.
    pub chain: u32,
    /// Which pipeline it belongs to: segments joined by `|` share the number.
    pub pipeline: u32,
}

/// Where a subshell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subshell {
    /// In which shell.
    pub within: u32,
    /// In which loop, as [`Context::looped`] says it.
    pub looped: u32,
}

/// Where a chain of `&&` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// In which chain; 0 is the script.
    pub within: u32,
    /// It runs where this chain, with which its list begins, failed; 0 where it stands otherwise.
    pub otherwise: u32,
}

/// `NAME=value` or `NAME+=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable's name, without subscript.
    pub name: String,
    /// What is known of the value; arrays are `Unknown`.
    pub value: Value,
    /// The whole assignment.
    pub span: Span,
}

/// The redirect operators of bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectOp {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DupIn,
    /// `>&` with a digit or `-`: a duplicate, no file.
    DupOut,
    /// `>& file` or `&> file`: both streams into a file.
    BothWrite,
    /// `&>> file`
    BothAppend,
    /// `<<` or `<<-`
    Heredoc,
    /// `<<<`
    HereString,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The operator.
    pub op: RedirectOp,
    /// The descriptor in front of the operator, as written (`2`, `{fd}`), or none.
    pub fd: Option<String>,
    /// The target word; for a heredoc its body (literal when the delimiter was quoted).
    pub target: Arg,
    /// The whole redirect.
    pub span: Span,
}
