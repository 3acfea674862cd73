//! One word: quotes, expansions, assignments, arrays.

use super::super::cursor::{is_meta, is_name_byte};
use super::super::limits;
use super::super::reading::{Expansion, RawWord, Slice};
use super::super::skeleton::Checkpoint;
use super::Lexer;

/// What may be an assignment here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assignments {
    /// Nothing: arguments, redirect targets.
    None,
    /// `NAME=(…)` as an argument of `declare` and its like.
    Compound,
    /// `NAME=…`, `NAME[…]=…`, `NAME=(…)`: in front of the verb.
    Full,
}

/// How far a word has got in looking like an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Name,
    Subscripted,
    Plus,
    Done,
    No,
}

/// Characters that make `(` an extended pattern.
const EXTGLOB: &[u8] = b"?*+@!";

impl<'t> Lexer<'t, '_> {
    /// Reads a word and emits its stand-in; the checkpoint is from before it.
    pub(super) fn word(&mut self, assignments: Assignments) -> (RawWord, Checkpoint) {
        let before = self.out().begin_word();
        (self.word_body(assignments), before)
    }

    /// Reads a word and emits only its substitutions.
    pub(super) fn word_body(&mut self, assignments: Assignments) -> RawWord {
        self.reading.words += 1;
        if self.reading.words > limits::MAX_WORDS {
            self.stop("too_many_words");
        }
        self.cursor.splice();
        let start = self.position();
        let first_expansion = self.reading.expansions.len();
        let (mut quoted, mut array) = (false, false);
        let mut cuts = Vec::new();
        let mut assignment = None;
        let mut prefix = if self.peek(0).is_ascii_digit() { Prefix::No } else { Prefix::Name };
        let mut name_end = start;
        let mut last = 0;
        loop {
            let before = self.position();
            if self.cursor.splice() {
                cuts.push((before, self.position()));
            }
            if self.cursor.at_end() {
                break;
            }
            let byte = self.peek(0);
            let at = self.position();
            match byte {
                b'\'' => self.single_quoted(),
                b'"' => self.double_quoted(),
                b'\\' => self.cursor.advance_escape(),
                b'$' => self.dollar(false),
                b'`' => self.backtick(false),
                b'<' | b'>' if self.peek(1) == b'(' => self.process_substitution(),
                b'(' if prefix == Prefix::Done
                    && assignments != Assignments::None
                    && assignment.is_some_and(|(_, value)| value == at) =>
                {
                    array = true;
                    self.array();
                }
                b'(' if EXTGLOB.contains(&last) => {
                    if !self.patterns {
                        self.problem("extglob");
                    }
                    self.pattern_group();
                }
                b'[' if prefix == Prefix::Name && assignments == Assignments::Full && at > start => {
                    name_end = at;
                    self.subscript();
                    prefix = Prefix::Subscripted;
                    last = b']';
                    continue;
                }
                _ if is_meta(byte) => break,
                _ => {
                    self.cursor.advance(1);
                    prefix = match (prefix, byte) {
                        (Prefix::Name, b'=' | b'+') if at > start => {
                            name_end = at;
                            self.after_name(byte, name_end, &mut assignment)
                        }
                        (Prefix::Subscripted, b'=' | b'+') | (Prefix::Plus, b'=') => {
                            self.after_name(byte, name_end, &mut assignment)
                        }
                        (Prefix::Name, _) if is_name_byte(byte) => Prefix::Name,
                        (Prefix::Done, _) => Prefix::Done,
                        _ => Prefix::No,
                    };
                    last = byte;
                    continue;
                }
            }
            quoted = true;
            last = 0;
            if prefix != Prefix::Done {
                prefix = Prefix::No;
            }
        }
        let end = self.position();
        let word = RawWord {
            slice: self.slice(start, end),
            span: self.span(start, end),
            expansions: (index(first_expansion), index(self.reading.expansions.len())),
            quoted,
            assignment,
            array,
        };
        if cuts.is_empty() { word } else { self.without_continuations(word, &cuts) }
    }

    /// The word as a text of its own, with its continuations cut out: what it means is read from there.
    fn without_continuations(&mut self, mut word: RawWord, cuts: &[(usize, usize)]) -> RawWord {
        let (start, end) = (word.slice.start, word.slice.end);
        let shift = |at: usize| {
            let before = cuts.iter().take_while(|(from, _)| *from < at);
            at - start - before.map(|(from, to)| to.min(&at) - from).sum::<usize>()
        };
        let mut text = Vec::with_capacity(end - start);
        let mut from = start;
        for (cut, after) in cuts {
            text.extend_from_slice(self.bytes(from, *cut));
            from = *after;
        }
        text.extend_from_slice(self.bytes(from, end));
        let number = index(self.reading.texts.len() + 1);
        let first = self.reading.expansions.len();
        for entry in word.expansions.0 as usize..word.expansions.1 as usize {
            if let Some(entry) = self.reading.expansions.get(entry).copied()
                && entry.text == self.text
            {
                let moved = Expansion { text: number, start: shift(entry.start), end: shift(entry.end) };
                self.reading.expansions.push(moved);
            }
        }
        word.slice = Slice { text: number, start: 0, end: text.len() };
        word.expansions = (index(first), index(self.reading.expansions.len()));
        word.assignment = word.assignment.map(|(name, value)| (shift(name), shift(value)));
        self.reading.texts.push(text);
        word
    }

    fn after_name(&self, byte: u8, name_end: usize, assignment: &mut Option<(usize, usize)>) -> Prefix {
        if byte == b'+' {
            return Prefix::Plus;
        }
        let mut value = self.cursor;
        value.splice();
        *assignment = Some((name_end, value.position));
        Prefix::Done
    }

    /// `'…'`, the cursor on the quote.
    pub(super) fn single_quoted(&mut self) {
        self.cursor.advance(1);
        if !self.cursor.seek_raw(b'\'') {
            self.problem("unclosed_quote");
        }
        self.cursor.advance_raw(1);
    }

    /// `"…"`, the cursor on the quote.
    pub(super) fn double_quoted(&mut self) {
        self.cursor.advance(1);
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
                b'\\' => self.cursor.advance_escape(),
                b'$' => self.dollar(true),
                b'`' => self.backtick(true),
                _ => self.cursor.advance(1),
            }
        }
    }

    /// The subscript of `NAME[…]`: to the matching bracket, blanks included, the cursor on the bracket.
    ///
    /// Its text is evaluated as arithmetic, where single quotes protect nothing.
    fn subscript(&mut self) {
        let Some(end) = self.matching_bracket() else {
            self.problem("unclosed_subscript");
            self.cursor.advance(1);
            return;
        };
        let start = self.position();
        self.cursor.advance(1);
        self.expressions(end);
        self.cursor.advance(1);
        let slice = self.slice(start + 1, end);
        let span = self.span(start + 1, end);
        self.reading.arithmetic.push((slice, span));
    }

    /// The position of the bracket that closes the one under the cursor, quotes respected.
    pub(super) fn matching_bracket(&mut self) -> Option<usize> {
        let mut cursor = self.cursor;
        let end = closing_bracket(&mut cursor);
        self.looked_ahead(cursor.position);
        end
    }

    /// `(…)` after `NAME=`, the cursor on the parenthesis.
    fn array(&mut self) {
        self.cursor.advance(1);
        loop {
            if self.cursor.at_end() {
                self.problem("unclosed_array");
                return;
            }
            match self.peek(0) {
                b')' => {
                    self.cursor.advance(1);
                    return;
                }
                b' ' | b'\t' | b'\n' => self.cursor.advance(1),
                b'#' => {
                    self.cursor.seek_raw(b'\n');
                }
                b'[' => {
                    // `[subscript]=value`: one token up to the matching bracket
                    if let Some(end) = self.matching_bracket() {
                        self.cursor.advance(1);
                        self.expressions(end);
                        self.cursor.advance(1);
                    } else {
                        self.problem("unclosed_subscript");
                        self.cursor.advance(1);
                    }
                    self.word_body(Assignments::None);
                }
                _ => {
                    let start = self.position();
                    self.word_body(Assignments::None);
                    if self.position() == start {
                        self.problem("array_element");
                        self.cursor.advance(1);
                    }
                }
            }
        }
    }

    /// The parenthesised part of an extended pattern, the cursor on the parenthesis.
    pub(super) fn pattern_group(&mut self) {
        let mut open = 0_usize;
        while !self.cursor.at_end() {
            match self.peek(0) {
                b'(' => {
                    open += 1;
                    self.cursor.advance(1);
                }
                b')' => {
                    open -= 1;
                    self.cursor.advance(1);
                    if open == 0 {
                        return;
                    }
                }
                b'\'' => self.single_quoted(),
                b'"' => self.double_quoted(),
                b'\\' => self.cursor.advance_escape(),
                b'$' => self.dollar(false),
                b'`' => self.backtick(false),
                b'<' | b'>' if self.peek(1) == b'(' => self.process_substitution(),
                _ => self.cursor.advance(1),
            }
        }
        self.problem("unclosed_pattern");
    }

    /// The word's text when it holds no quote or expansion: what keywords are compared with.
    pub(super) fn plain_text(&self, word: &RawWord) -> Option<std::borrow::Cow<'t, [u8]>> {
        if word.quoted {
            return None;
        }
        if word.slice.text != self.text {
            return Some(self.reading.bytes(&[], word.slice).to_vec().into());
        }
        Some(self.bytes(word.slice.start, word.slice.end).into())
    }
}

/// The position of the bracket that closes the one under the cursor, quotes respected.
fn closing_bracket(cursor: &mut super::Cursor<'_>) -> Option<usize> {
    let mut open = 0_usize;
    while !cursor.at_end() {
        match cursor.peek(0) {
            b'[' => open += 1,
            b']' => {
                open = open.saturating_sub(1);
                if open == 0 {
                    cursor.splice();
                    return Some(cursor.position);
                }
            }
            b'\\' => {
                cursor.advance_escape();
                continue;
            }
            quote @ (b'\'' | b'"' | b'`') => {
                if !skip_quotes(cursor, quote) {
                    return None;
                }
                continue;
            }
            _ => {}
        }
        cursor.advance(1);
    }
    None
}

/// Skips a quoted stretch, the cursor on the opening quote; whether it is closed.
pub(super) fn skip_quotes(cursor: &mut super::Cursor<'_>, quote: u8) -> bool {
    cursor.advance(1);
    if quote == b'\'' {
        let closed = cursor.seek_raw(b'\'');
        cursor.advance_raw(1);
        return closed;
    }
    while !cursor.at_end() {
        match cursor.peek(0) {
            b'\\' => cursor.advance_escape(),
            byte => {
                cursor.advance(1);
                if byte == quote {
                    return true;
                }
            }
        }
    }
    false
}

fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
