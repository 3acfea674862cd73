//! Heredocs: delimiter, body, and the substitutions of an unquoted body.

use super::super::cursor::is_meta;
use super::super::reading::{CommandKind, RawWord, Slice};
use super::super::segment::Context;
use super::super::skeleton::Skeleton;
use super::{Lexer, Piece};

/// A heredoc whose body is still to come.
#[derive(Debug)]
pub(super) struct Pending {
    delimiter: Vec<u8>,
    quoted: bool,
    strip_tabs: bool,
    /// The redirect that gets the body: command and index.
    owner: (u32, usize),
    /// Where its command stands.
    context: Context,
}

impl Lexer<'_, '_> {
    /// Reads the delimiter word; the body is read after the next newline.
    pub(super) fn heredoc(&mut self, strip_tabs: bool, owner: (u32, usize)) -> bool {
        self.cursor.skip_blanks();
        let start = self.position();
        let (delimiter, quoted) = self.delimiter();
        if self.position() == start {
            self.problem("redirect_target");
        }
        let context = self.here;
        self.pending.push(Pending { delimiter, quoted, strip_tabs, owner, context });
        quoted
    }

    fn delimiter(&mut self) -> (Vec<u8>, bool) {
        let mut text = Vec::new();
        let mut quoted = false;
        while !self.cursor.at_end() {
            let byte = self.peek(0);
            match byte {
                b'\'' => {
                    quoted = true;
                    self.cursor.advance(1);
                    let start = self.position();
                    if !self.cursor.seek_raw(b'\'') {
                        self.problem("unclosed_quote");
                    }
                    text.extend_from_slice(self.bytes(start, self.position()));
                    self.cursor.advance_raw(1);
                }
                b'"' => {
                    quoted = true;
                    self.cursor.advance(1);
                    self.quoted_delimiter(&mut text);
                }
                b'\\' => {
                    quoted = true;
                    self.cursor.splice();
                    text.push(self.cursor.raw(1));
                    self.cursor.advance_raw(2);
                }
                b'$' | b'`' => {
                    self.problem("heredoc_delimiter");
                    text.push(byte);
                    self.cursor.advance(1);
                }
                _ if is_meta(byte) => break,
                _ => {
                    text.push(byte);
                    self.cursor.advance(1);
                }
            }
        }
        if text.contains(&b'\n') {
            self.problem("heredoc_delimiter");
        }
        (text, quoted)
    }

    fn quoted_delimiter(&mut self, text: &mut Vec<u8>) {
        loop {
            if self.cursor.at_end() {
                self.problem("unclosed_quote");
                return;
            }
            match self.peek(0) {
                b'"' => {
                    self.cursor.advance(1);
                    return;
                }
                b'\\' if matches!(self.cursor.raw(1), b'"' | b'\\' | b'$' | b'`') => {
                    text.push(self.cursor.raw(1));
                    self.cursor.advance_raw(2);
                }
                byte => {
                    if matches!(byte, b'$' | b'`') {
                        self.problem("heredoc_delimiter");
                    }
                    text.push(byte);
                    self.cursor.advance(1);
                }
            }
        }
    }

    /// Reads the bodies of all pending heredocs, the cursor at the start of a line.
    pub(super) fn heredoc_bodies(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.position();
            self.heredoc_body(&pending);
            self.cover(Piece::Heredoc, start);
        }
    }

    fn heredoc_body(&mut self, pending: &Pending) {
        let start = self.position();
        let mut end = start;
        let mut joined: Option<(Vec<u8>, Vec<u32>)> = None;
        while self.position() < self.cursor.bytes.len() {
            let line_start = self.position();
            let (line, map, contiguous, last) = self.logical_line(pending);
            if last {
                break;
            }
            if !contiguous && joined.is_none() {
                let bytes = self.bytes(start, line_start).to_vec();
                let map = (start..line_start).map(|at| self.offset_at(at)).collect();
                joined = Some((bytes, map));
            }
            if let Some((bytes, offsets)) = &mut joined {
                bytes.extend_from_slice(&line);
                offsets.extend_from_slice(&map);
                if self.position() > line_start && self.bytes(self.position() - 1, self.position()) == b"\n" {
                    bytes.push(b'\n');
                    offsets.push(self.offset_at(self.position() - 1));
                }
            }
            end = self.position();
        }
        let after = self.cursor;
        let span = self.span(start, end);
        let slice = match joined {
            None => self.plain_body(pending, start, end),
            Some((bytes, mut map)) => {
                map.push(self.offset_at(end));
                let length = bytes.len();
                let text = self.reading.texts.len() + 1;
                self.sub_text(bytes, &map, |lexer| lexer.body_substitutions(pending, 0, length));
                Slice { text: u32::try_from(text).unwrap_or(u32::MAX), start: 0, end: length }
            }
        };
        self.cursor = after;
        let expansions = u32::try_from(self.reading.expansions.len()).unwrap_or(u32::MAX);
        let first = self.reading.expansions.iter().rposition(|entry| {
            entry.text != slice.text || entry.start < slice.start || entry.start >= slice.end
        });
        let first = u32::try_from(first.map_or(0, |at| at + 1)).unwrap_or(u32::MAX);
        let (command, index) = pending.owner;
        let literal = pending.quoted;
        if let Some(redirect) = self.command_mut(command).and_then(|command| command.redirects.get_mut(index))
        {
            redirect.literal = literal;
            redirect.target = RawWord {
                slice,
                span,
                expansions: (first.min(expansions), expansions),
                quoted: true,
                assignment: None,
                array: false,
            };
        }
    }

    /// The body stands in this text as it is.
    fn plain_body(&mut self, pending: &Pending, start: usize, end: usize) -> Slice {
        self.body_substitutions(pending, start, end);
        self.slice(start, end)
    }

    fn offset_at(&self, position: usize) -> u32 {
        u32::try_from(self.source_offset(position)).unwrap_or(u32::MAX)
    }

    /// One line without its newline, continuations joined in an unquoted body, tabs stripped for `<<-`; with the
    /// source offset of each byte, whether the bytes stand in the text just so, and whether it ends the body: bash
    /// compares a line of `<<-` with the delimiter before and after it strips the tabs (`<<-'\tEOF'`).
    fn logical_line(&mut self, pending: &Pending) -> (Vec<u8>, Vec<u32>, bool, bool) {
        let mut line = Vec::new();
        let mut map = Vec::new();
        let mut contiguous = true;
        loop {
            let start = self.position();
            let found = self.cursor.seek_raw(b'\n');
            let end = self.position();
            self.cursor.advance_raw(1);
            let backslashes = self.bytes(start, end).iter().rev().take_while(|byte| **byte == b'\\').count();
            let continued = !pending.quoted && found && backslashes % 2 == 1;
            let kept = if continued { end - 1 } else { end };
            line.extend_from_slice(self.bytes(start, kept));
            map.extend((start..kept).map(|at| self.offset_at(at)));
            if !continued {
                break;
            }
            contiguous = false;
        }
        let mut last = line == pending.delimiter;
        if pending.strip_tabs {
            // of the joined line: a tab behind a continuation may be a leading one
            let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
            contiguous &= tabs == 0;
            line.drain(..tabs);
            map.drain(..tabs);
            last |= line == pending.delimiter;
        }
        (line, map, contiguous, last)
    }

    /// The substitutions of an unquoted body, in a skeleton of their own: quotes are ordinary there.
    fn body_substitutions(&mut self, pending: &Pending, start: usize, end: usize) {
        let body = self.bytes(start, end);
        if pending.quoted || !body.iter().any(|byte| matches!(byte, b'$' | b'`')) {
            return;
        }
        let outer = (self.skeleton, self.here, self.capture, self.cursor);
        self.reading.skeletons.push(Skeleton::default());
        self.skeleton = self.reading.skeletons.len() - 1;
        self.here = pending.context;
        self.cursor.bytes = self.cursor.bytes.get(..end).unwrap_or(&[]);
        self.cursor.position = start;
        let command = self.command(CommandKind::HeredocBody, pending.context, start);
        let before = self.out().begin_word();
        self.nested(|lexer| {
            while !lexer.cursor.at_end() {
                match lexer.peek(0) {
                    b'\\' => lexer.cursor.advance_escape(),
                    b'$' => lexer.dollar(true),
                    b'`' => lexer.backtick(false),
                    _ => lexer.cursor.advance(1),
                }
            }
        });
        self.out().mark(before, command);
        (self.skeleton, self.here, self.capture, self.cursor) = outer;
    }
}
