//! `$…`, backticks and process substitution.

use super::super::cursor::{Cursor, Origin, is_name_byte};
use super::super::limits;
use super::super::reading::{CommandKind, Expansion, RawCommand};
use super::super::segment::{Context, RedirectOp};
use super::Lexer;
use super::word::skip_quotes;

/// What a substitution does with its commands' streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Substitution {
    /// `$(…)` and backticks: output becomes text.
    Command,
    /// `<(…)`: output is read by the command.
    Input,
    /// `>(…)`: input is written by the command.
    Output,
}

impl Lexer<'_, '_> {
    /// Books an expansion; [`Self::close_expansion`] completes it.
    fn open_expansion(&mut self) -> usize {
        self.cursor.splice();
        let start = self.position();
        if self.reading.expansions.len() >= limits::MAX_EXPANSIONS {
            self.stop("too_many_expansions");
        }
        self.reading.expansions.push(Expansion { text: self.text, start, end: start });
        self.reading.expansions.len() - 1
    }

    fn close_expansion(&mut self, index: usize) {
        let end = self.position();
        if let Some(expansion) = self.reading.expansions.get_mut(index) {
            expansion.end = end;
        }
    }

    /// An expansion, or a plain `$`; `quoted`: inside double quotes.
    pub(super) fn dollar(&mut self, quoted: bool) {
        match self.peek(1) {
            b'(' => {
                let index = self.open_expansion();
                self.dollar_parenthesis();
                self.close_expansion(index);
            }
            b'{' => {
                let index = self.open_expansion();
                self.nested(|lexer| lexer.parameter(quoted));
                self.close_expansion(index);
            }
            b'[' => {
                let index = self.open_expansion();
                self.old_arithmetic();
                self.close_expansion(index);
            }
            b'\'' if !quoted => self.ansi_quoted(),
            b'"' if !quoted => {
                self.cursor.advance(1);
                self.double_quoted();
            }
            b'$' | b'#' | b'!' | b'?' | b'*' | b'@' | b'-' | b'0'..=b'9' => {
                if self.peek(1) == b'$' && matches!(self.peek(2), b'{' | b'(' | b'[') {
                    // bash parses `$$` and a brace, and expands `$` and `${`: `"$${x-"${y-'$(cmd)'}"}"` runs it
                    self.problem("dollar_dollar");
                }
                self.cursor.advance(2);
            }
            byte if is_name_byte(byte) => {
                self.cursor.advance(1);
                while is_name_byte(self.peek(0)) {
                    self.cursor.advance(1);
                }
            }
            _ => self.cursor.advance(1),
        }
    }

    fn dollar_parenthesis(&mut self) {
        if self.peek(2) == b'('
            && let Some(end) = self.arithmetic_end(3)
        {
            self.cursor.advance(3);
            let start = self.position();
            self.nested(|lexer| lexer.expressions(end));
            self.note_arithmetic(start, end);
            self.cursor.advance(2);
            return;
        }
        self.cursor.advance(2);
        self.substitution(b"$(", Substitution::Command);
    }

    /// `<(…)` or `>(…)`.
    pub(super) fn process_substitution(&mut self) {
        let index = self.open_expansion();
        let input = self.peek(0) == b'<';
        self.cursor.advance(2);
        if input {
            self.substitution(b"<(", Substitution::Input);
        } else {
            self.substitution(b">(", Substitution::Output);
        }
        self.close_expansion(index);
    }

    /// A nested list up to its `)`, the cursor after the opener.
    fn substitution(&mut self, opener: &[u8], kind: Substitution) {
        let index = self.out().open(opener);
        let context = self.inner_context(kind);
        let outer_covered = self.covered;
        let outer_here = self.here;
        let outer_pending = std::mem::take(&mut self.pending);
        let outer_patterns = std::mem::replace(&mut self.patterns, false);
        let matched = self.matched_text();
        let first = self.reading.commands.len();
        self.capture += 1;
        self.nested(|lexer| {
            lexer.list(Some(b')'), context);
        });
        if self.loses_separators(first) {
            self.problem("heredoc_in_substitution");
        }
        self.capture -= 1;
        // bash reads the body of a heredoc that the substitution left open after the next newline outside
        let left_open = std::mem::replace(&mut self.pending, outer_pending);
        if !left_open.is_empty() && !self.pending.is_empty() {
            self.problem("heredoc_order");
        }
        if matched.is_some_and(|end| end != Some(self.position()) || !left_open.is_empty()) {
            self.problem("nested_parenthesis");
        }
        self.pending.extend(left_open);
        self.covered = outer_covered;
        self.here = outer_here;
        self.patterns = outer_patterns;
        self.out().close(index, opener.len());
    }

    /// Whether two commands follow one with a heredoc in the substitution that is read, whose commands begin at `first`.
    ///
    /// bash runs a substitution from what it printed after reading it, and bash 5.2 prints no `;` between the second and
    /// the third: `$(cat <<E` … `E` `git;` `push)` runs `git push`.
    fn loses_separators(&self, first: usize) -> bool {
        let inside = self.reading.commands.get(first..).unwrap_or(&[]);
        let own = |command: &&RawCommand| {
            command.capture == self.capture && !matches!(command.kind, CommandKind::HeredocBody)
        };
        let mut following = inside.iter().filter(own).skip_while(|command| {
            !command.redirects.iter().any(|redirect| redirect.op == RedirectOp::Heredoc)
        });
        following.next().is_some() && following.nth(1).is_some()
    }

    /// Where a substitution ends that begins with `((` although it is no arithmetic; none for others.
    ///
    /// bash takes such a one as text up to the matching parenthesis and reads commands in it only when it runs: a
    /// heredoc in it has no body outside, and `case` patterns and comments do not count.
    fn matched_text(&mut self) -> Option<Option<usize>> {
        if self.peek(0) != b'(' {
            return None;
        }
        let mut cursor = self.cursor;
        let end = closing_parenthesis(&mut cursor);
        self.looked_ahead(cursor.position);
        Some(end.map(|end| end + 1))
    }

    fn inner_context(&mut self, kind: Substitution) -> Context {
        let mut context = self.here;
        context.depth = context.depth.saturating_add(1);
        context.in_substitution = true;
        context.subshell = true;
        context.shell = self.reading.subshell(context);
        context.piped_in |= kind == Substitution::Output;
        context.piped_out = kind == Substitution::Input;
        context
    }

    /// `$'…'`, the cursor on the dollar.
    fn ansi_quoted(&mut self) {
        self.cursor.advance(2);
        loop {
            match self.cursor.raw(0) {
                b'\\' => self.cursor.advance_raw(2),
                b'\'' => {
                    self.cursor.advance_raw(1);
                    return;
                }
                _ if self.position() >= self.cursor.bytes.len() => {
                    self.problem("unclosed_quote");
                    return;
                }
                _ => self.cursor.advance_raw(1),
            }
        }
    }

    /// `$[…]`, the cursor on the dollar.
    fn old_arithmetic(&mut self) {
        self.cursor.advance(1);
        let Some(end) = self.matching_bracket() else {
            self.problem("unclosed_arithmetic");
            self.cursor.advance(1);
            return;
        };
        self.cursor.advance(1);
        let start = self.position();
        self.nested(|lexer| lexer.expressions(end));
        self.note_arithmetic(start, end);
        self.cursor.advance(1);
    }

    pub(super) fn note_arithmetic(&mut self, start: usize, end: usize) {
        let entry = (self.slice(start, end), self.span(start, end));
        self.reading.arithmetic.push(entry);
    }

    /// The position of `))` when the parentheses balance to it; else it is a nested `( … )`.
    ///
    /// `ahead`: how many logical characters the opener takes.
    pub(super) fn arithmetic_end(&mut self, ahead: usize) -> Option<usize> {
        let mut cursor = self.cursor;
        cursor.advance(ahead);
        let end = closing_parenthesis(&mut cursor).filter(|_| cursor.peek(1) == b')');
        self.looked_ahead(cursor.position);
        end
    }

    /// Counts what was read without being consumed: nested openers make that quadratic.
    pub(super) fn looked_ahead(&mut self, to: usize) {
        self.reading.looked_ahead += to.saturating_sub(self.position());
        if self.reading.looked_ahead > limits::MAX_LOOK_AHEAD {
            self.stop("too_complex");
        }
    }

    /// Arithmetic text up to `end`: treated like double-quoted text in which quotes mean nothing, so that
    /// `$(( '$(cmd)' ))` shows the command that bash runs.
    pub(super) fn expressions(&mut self, end: usize) {
        self.arithmetic = self.arithmetic.saturating_add(1);
        while self.position() < end && !self.reading.stopped {
            // A continuation right before the end is no character of the text.
            if self.cursor.splice() {
                continue;
            }
            match self.peek(0) {
                b'\\' => self.cursor.advance_escape(),
                b'$' => self.dollar(true),
                b'`' => self.backtick(true),
                b'#' => {
                    let before = self.position().checked_sub(1).and_then(|at| self.cursor.bytes.get(at));
                    if matches!(before, Some(b' ' | b'\t' | b'\n')) {
                        // a comment to bash when it looks for the end again: `$((1 # $(P\n\nQ)\n))` runs `1`
                        self.problem("comment_in_arithmetic");
                    }
                    self.cursor.advance(1);
                }
                _ => self.cursor.advance(1),
            }
        }
        self.arithmetic = self.arithmetic.saturating_sub(1);
        if self.position() != end && !self.reading.stopped {
            self.problem("quoted_expansion");
            self.cursor.position = self.position().max(end);
        }
    }

    /// A backtick substitution, the cursor on the backtick.
    pub(super) fn backtick(&mut self, quoted: bool) {
        let index = self.open_expansion();
        self.cursor.advance(1);
        let mut body = Vec::new();
        let mut map = Vec::new();
        let closed = loop {
            if self.position() >= self.cursor.bytes.len() {
                break false;
            }
            let (mut byte, next) = (self.cursor.raw(0), self.cursor.raw(1));
            let mut length = 1;
            match byte {
                b'`' => {
                    map.push(self.map_offset());
                    self.cursor.advance_raw(1);
                    break true;
                }
                b'\\' if next == b'\n' => {
                    self.cursor.advance_raw(2);
                    continue;
                }
                b'\\' if matches!(next, b'`' | b'\\' | b'$') || quoted && next == b'"' => {
                    byte = next;
                    length = 2;
                }
                b'\\' if self.position() + 1 < self.cursor.bytes.len() => {
                    // the byte that the backslash quotes cannot end the substitution
                    body.push(byte);
                    map.push(self.map_offset());
                    self.cursor.advance_raw(1);
                    byte = next;
                }
                _ => {}
            }
            body.push(byte);
            map.push(self.map_offset());
            self.cursor.advance_raw(length);
        };
        if closed {
            self.nested(|lexer| lexer.backtick_body(body, &map));
        } else {
            self.problem("unclosed_backtick");
        }
        self.close_expansion(index);
    }

    fn map_offset(&self) -> u32 {
        u32::try_from(self.source_offset(self.position())).unwrap_or(u32::MAX)
    }

    fn backtick_body(&mut self, body: Vec<u8>, map: &[u32]) {
        let index = self.out().open(b"$(");
        let context = self.inner_context(Substitution::Command);
        self.sub_text(body, map, |lexer| {
            lexer.list(None, context);
        });
        self.out().close(index, 2);
    }

    /// Reads `body` as a text of its own into the same tables.
    pub(super) fn sub_text(&mut self, body: Vec<u8>, map: &[u32], read: impl FnOnce(&mut Lexer<'_, '_>)) {
        self.reading.texts.push(Vec::new());
        let text = self.reading.texts.len();
        let mut lexer = Lexer {
            cursor: Cursor::new(&body),
            origin: Origin::Map(map),
            text: u32::try_from(text).unwrap_or(u32::MAX),
            skeleton: self.skeleton,
            reading: &mut *self.reading,
            depth: self.depth,
            capture: self.capture + 1,
            arithmetic: 0,
            pipelines: self.pipelines,
            covered: 0,
            pending: Vec::new(),
            here: self.here,
            patterns: false,
        };
        read(&mut lexer);
        self.pipelines = lexer.pipelines;
        if let Some(slot) = self.reading.texts.get_mut(text - 1) {
            *slot = body;
        }
    }
}

/// The position of the `)` that closes what is open at the cursor.
fn closing_parenthesis(cursor: &mut Cursor<'_>) -> Option<usize> {
    let mut open = 0_usize;
    while !cursor.at_end() {
        match cursor.peek(0) {
            b'(' => open += 1,
            b')' if open == 0 => {
                cursor.splice();
                return Some(cursor.position);
            }
            b')' => open -= 1,
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
