//! `[[ … ]]`: its operands are words, its substitutions run.

use super::super::cursor::is_meta;
use super::super::reading::{CommandKind, RawWord};
use super::list::List;
use super::word::Assignments;
use super::{Lexer, Piece};

impl Lexer<'_, '_> {
    /// From after `[[` to after `]]`; `start`: where `[[` began.
    pub(super) fn condition(&mut self, list: &mut List, context: super::Context, start: usize) {
        let outer = self.here;
        self.here = context;
        let before = self.out().begin_word();
        let command = self.command(CommandKind::Test, context, start);
        self.patterns = true;
        self.nested(|lexer| lexer.condition_body(command));
        self.patterns = false;
        self.out().mark(before, command);
        self.here = outer;
        self.extend(command);
        self.cover(Piece::Word, start);
        list.after_compound();
    }

    fn condition_body(&mut self, command: u32) {
        let mut regex = false;
        loop {
            self.cursor.skip_blanks();
            if self.cursor.at_end() {
                self.problem("unclosed_condition");
                return;
            }
            match self.peek(0) {
                b'\n' => {
                    if !self.pending.is_empty() {
                        self.problem("heredoc_order");
                    }
                    self.cursor.advance(1);
                    continue;
                }
                b'#' => {
                    self.cursor.seek_raw(b'\n');
                    continue;
                }
                b'(' | b')' if !regex => {
                    self.cursor.advance(1);
                    continue;
                }
                first @ (b'&' | b'|') if self.peek(1) == first && !regex => {
                    self.cursor.advance(2);
                    continue;
                }
                b'<' | b'>' if self.peek(1) != b'(' && !regex => {
                    self.cursor.advance(1);
                    continue;
                }
                _ => {}
            }
            let start = self.position();
            let word = if regex { self.regex() } else { self.word_body(Assignments::None) };
            if self.position() == start {
                self.problem("condition");
                self.cursor.advance(1);
            }
            let plain = self.plain_text(&word);
            if plain.as_deref() == Some(b"]]") {
                return;
            }
            regex = plain.as_deref() == Some(b"=~");
            if let Some(command) = self.command_mut(command) {
                command.words.push(word);
            }
        }
    }

    /// The word after `=~`: parentheses and bars belong to it.
    fn regex(&mut self) -> RawWord {
        self.cursor.splice();
        let start = self.position();
        let first = u32::try_from(self.reading.expansions.len()).unwrap_or(u32::MAX);
        let mut open = 0_usize;
        while !self.cursor.at_end() {
            match self.peek(0) {
                b'\'' => self.single_quoted(),
                b'"' => self.double_quoted(),
                b'\\' => self.cursor.advance_escape(),
                b'$' => self.dollar(false),
                b'`' => self.backtick(false),
                b'(' => {
                    open += 1;
                    self.cursor.advance(1);
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.cursor.advance(1);
                }
                b'|' => self.cursor.advance(1),
                byte if open == 0 && is_meta(byte) => break,
                _ => self.cursor.advance(1),
            }
        }
        if open > 0 {
            self.problem("unclosed_pattern");
        }
        let end = self.position();
        RawWord {
            slice: self.slice(start, end),
            span: self.span(start, end),
            expansions: (first, u32::try_from(self.reading.expansions.len()).unwrap_or(u32::MAX)),
            quoted: true,
            assignment: None,
            array: false,
        }
    }
}
