//! The lexer: one pass over the bytes that owns every word, redirect and heredoc.
//!
//! Duty: read words exactly as bash 5.2 does and emit the skeleton that the tree checks. Every byte it consumes is
//! booked as word, redirect, heredoc, comment, operator or blank; a gap makes the script untrusted (R8).
//! Danger: the tree checks the structure that is claimed here, not the quoting; a quoting error hides a command.

mod compound;
mod condition;
mod expansion;
mod heredoc;
mod list;
mod parameter;
mod redirect;
mod word;

use super::cursor::{Cursor, Origin};
use super::limits;
use super::reading::{CommandKind, RawCommand, Reading, Slice};
use super::segment::Context;
use super::skeleton::Skeleton;
use super::word::Span;
use heredoc::Pending;

/// Reads a whole script.
pub(super) fn read(source: &str) -> Reading {
    let mut reading = Reading::default();
    reading.skeletons.push(Skeleton::default());
    if let Some(problem) = super::characters::scan(source) {
        reading.problems.push(problem);
    }
    let mut lexer = Lexer {
        cursor: Cursor::new(source.as_bytes()),
        origin: Origin::Offset(0),
        text: 0,
        skeleton: 0,
        reading: &mut reading,
        depth: 0,
        capture: 0,
        arithmetic: 0,
        pipelines: 0,
        covered: 0,
        pending: Vec::new(),
        here: Context::default(),
        patterns: false,
    };
    lexer.list(None, Context::default());
    reading
}

/// What a byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Word,
    Redirect,
    Heredoc,
    Comment,
    Operator,
    Blank,
}

struct Lexer<'t, 'r> {
    cursor: Cursor<'t>,
    origin: Origin<'t>,
    /// Number of the text that is read.
    text: u32,
    /// Index of the skeleton that is written.
    skeleton: usize,
    reading: &'r mut Reading,
    depth: usize,
    /// Substitutions around this place.
    capture: u16,
    /// Arithmetic texts around this place.
    arithmetic: u16,
    /// Pipelines numbered so far.
    pipelines: u32,
    /// Up to where bytes are booked in this list.
    covered: usize,
    /// Heredocs whose bodies follow the next newline.
    pending: Vec<Pending>,
    /// Where the command that is being read stands: what a substitution in it starts from.
    here: Context,
    /// Extended patterns are allowed (inside `[[ … ]]`).
    patterns: bool,
}

impl<'t> Lexer<'t, '_> {
    fn out(&mut self) -> &mut Skeleton {
        if self.skeleton >= self.reading.skeletons.len() {
            self.reading.skeletons.push(Skeleton::default());
            self.skeleton = self.reading.skeletons.len() - 1;
        }
        &mut self.reading.skeletons[self.skeleton]
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.cursor.peek(ahead)
    }

    fn position(&self) -> usize {
        self.cursor.position
    }

    fn source_offset(&self, position: usize) -> usize {
        self.origin.source(position)
    }

    fn slice(&self, start: usize, end: usize) -> Slice {
        Slice { text: self.text, start, end }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source_offset(start), self.source_offset(end))
    }

    fn bytes(&self, start: usize, end: usize) -> &'t [u8] {
        self.cursor.bytes.get(start..end).unwrap_or(&[])
    }

    fn problem(&mut self, code: &'static str) {
        let at = self.source_offset(self.cursor.position);
        self.reading.problem(code, at);
    }

    fn unbooked(&mut self) {
        let at = self.source_offset(self.cursor.position);
        self.reading.unbooked.get_or_insert(at);
    }

    /// A limit was passed: end everything.
    fn stop(&mut self, code: &'static str) {
        self.problem(code);
        self.reading.stopped = true;
        self.cursor.position = self.cursor.bytes.len();
    }

    /// Runs `inside` one nesting level deeper, if there is one left.
    fn nested(&mut self, inside: impl FnOnce(&mut Self)) {
        if self.depth >= limits::MAX_NESTING {
            self.stop("too_deep");
            return;
        }
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        if self.reading.stopped {
            self.cursor.position = self.cursor.bytes.len();
        }
    }

    /// Books the bytes from `start` to the cursor; R8: pieces must tile the text and look like what they claim.
    fn cover(&mut self, piece: Piece, start: usize) {
        let end = self.cursor.position;
        if self.reading.stopped {
            return;
        }
        let bytes = self.bytes(start, end);
        let plausible = match piece {
            Piece::Word => !bytes.is_empty(),
            Piece::Redirect => bytes.iter().any(|byte| matches!(byte, b'<' | b'>')),
            Piece::Heredoc => true,
            Piece::Comment => bytes.first() == Some(&b'#') && !bytes.contains(&b'\n'),
            Piece::Operator => {
                bytes.iter().all(|byte| matches!(byte, b';' | b'&' | b'|' | b'(' | b')' | b'\\' | b'\n'))
            }
            Piece::Blank => bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\\')),
        };
        if start != self.covered || !plausible {
            self.unbooked();
        }
        self.covered = end;
    }

    /// Adds a command; the index is the name by which the skeleton knows it.
    fn command(&mut self, kind: CommandKind, context: Context, start: usize) -> u32 {
        if self.reading.commands.len() >= limits::MAX_SEGMENTS {
            self.stop("too_many_segments");
        }
        let index = u32::try_from(self.reading.commands.len()).unwrap_or(u32::MAX);
        let span = self.span(start, start);
        self.reading.commands.push(RawCommand {
            kind,
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            context,
            capture: self.capture,
            span,
        });
        index
    }

    fn command_mut(&mut self, index: u32) -> Option<&mut RawCommand> {
        self.reading.commands.get_mut(index as usize)
    }

    /// Extends a command's span to the cursor.
    fn extend(&mut self, index: u32) {
        let end = self.source_offset(self.cursor.position);
        if let Some(command) = self.command_mut(index) {
            command.span.end = command.span.end.max(end);
        }
    }
}
