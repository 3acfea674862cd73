//! What the lexer hands on beside the skeleton: commands with their words, redirects and places.

use super::loops::Loop;
use super::segment::{Chain, Context, RedirectOp, Subshell};
use super::skeleton::Skeleton;
use super::trust::Problem;
use super::word::Span;

/// A piece of one of a reading's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// 0 is the source; others are unescaped backtick bodies, joined heredoc bodies, words without continuations.
    pub(super) text: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// An expansion inside a word: from its `$`, backtick, `<` or `>` to one past its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expansion {
    pub(super) text: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A word as lexed.
#[derive(Debug, Clone)]
pub(super) struct RawWord {
    pub(super) slice: Slice,
    pub(super) span: Span,
    /// Which entries of [`Reading::expansions`] lie in it, nested ones included.
    pub(super) expansions: (u32, u32),
    /// Holds a quote, an escape or an expansion.
    pub(super) quoted: bool,
    /// For `NAME=…`: where the name ends and the value starts, in the text.
    pub(super) assignment: Option<(usize, usize)>,
    /// For `NAME=(…)`.
    pub(super) array: bool,
}

/// A redirect as lexed.
#[derive(Debug, Clone)]
pub(super) struct RawRedirect {
    pub(super) op: RedirectOp,
    pub(super) fd: Option<Slice>,
    pub(super) target: RawWord,
    /// A heredoc whose delimiter was quoted.
    pub(super) literal: bool,
    pub(super) span: Span,
}

/// What a command is to bash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandKind {
    /// A simple command; maybe only assignments and redirects.
    Simple,
    /// `[[ … ]]`; its operands are its words.
    Test,
    /// `(( … ))`.
    Arithmetic,
    /// The redirects of a compound command.
    CompoundRedirects,
    /// The substitutions of a heredoc body.
    HeredocBody,
}

/// A command as lexed.
#[derive(Debug, Clone)]
pub(super) struct RawCommand {
    pub(super) kind: CommandKind,
    pub(super) words: Vec<RawWord>,
    pub(super) assignments: Vec<RawWord>,
    pub(super) redirects: Vec<RawRedirect>,
    pub(super) context: Context,
    /// How many substitutions stand around it: a pipe reaches only its own level.
    pub(super) capture: u16,
    pub(super) span: Span,
}

/// A function definition.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    /// How many commands had been read before its body.
    pub(super) before: usize,
    pub(super) context: Context,
}

/// All that the lexer found.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The skeleton of the script, then those of heredoc bodies.
    pub(super) skeletons: Vec<Skeleton>,
    pub(super) commands: Vec<RawCommand>,
    /// Texts 1, 2, … ; text 0 is the source.
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) expansions: Vec<Expansion>,
    pub(super) definitions: Vec<Definition>,
    /// Variables of `for` and `select`, `coproc` names: assigned, value unknown.
    pub(super) loop_variables: Vec<String>,
    /// The `for` loops, in the order of their bodies.
    pub(super) loops: Vec<Loop>,
    /// The words that `for` and `select` run over.
    pub(super) loop_words: Vec<RawWord>,
    /// The texts of `$((…))`, `((…))`, `$[…]` and `for ((…))`.
    pub(super) arithmetic: Vec<(Slice, Span)>,
    /// The texts of `${…}` forms that are more than a name.
    pub(super) parameters: Vec<(Slice, Span)>,
    pub(super) problems: Vec<Problem>,
    /// Where a byte was booked twice or not at all.
    pub(super) unbooked: Option<usize>,
    /// Words counted so far.
    pub(super) words: usize,
    /// Bytes read ahead so far.
    pub(super) looked_ahead: usize,
    /// The subshells, numbered from 1.
    pub(super) shells: Vec<Subshell>,
    /// The chains of `&&`, numbered from 1.
    pub(super) chains: Vec<Chain>,
    /// All loops, numbered from 1: in which loop each is.
    pub(super) looped: Vec<u32>,
    /// A limit was passed: nothing more is read.
    pub(super) stopped: bool,
}

impl Reading {
    /// A subshell where commands have the context `around`.
    pub(super) fn subshell(&mut self, around: Context) -> u32 {
        self.shells.push(Subshell { within: around.shell, looped: around.looped });
        u32::try_from(self.shells.len()).unwrap_or(u32::MAX)
    }

    /// A chain inside another one; `otherwise`: where that one, the first of its list, failed.
    pub(super) fn chain(&mut self, within: u32, otherwise: u32) -> u32 {
        self.chains.push(Chain { within, otherwise });
        u32::try_from(self.chains.len()).unwrap_or(u32::MAX)
    }

    /// A loop where commands have the context `around`.
    pub(super) fn looped(&mut self, around: Context) -> u32 {
        self.looped.push(around.looped);
        u32::try_from(self.looped.len()).unwrap_or(u32::MAX)
    }

    /// Notes a problem once per code.
    pub(super) fn problem(&mut self, code: &'static str, at: usize) {
        if !self.problems.iter().any(|known| known.code == code) {
            self.problems.push(Problem::new(code, at));
        }
    }

    /// The bytes of a slice.
    pub(super) fn bytes<'a>(&'a self, source: &'a [u8], slice: Slice) -> &'a [u8] {
        self.text(source, slice.text).get(slice.start..slice.end).unwrap_or(&[])
    }

    /// The text with that number.
    pub(super) fn text<'a>(&'a self, source: &'a [u8], number: u32) -> &'a [u8] {
        match number {
            0 => source,
            other => self.texts.get(other as usize - 1).map_or(&[], Vec::as_slice),
        }
    }
}
