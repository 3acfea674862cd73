//! `${…}`: where it ends and what runs inside it.
//!
//! Danger: inside double quotes a single quote in `${x:-'…'}` groups for the closing brace but protects nothing:
//! `"${x:-'$(cmd)'}"` runs the command. After `# % / ^ ,` it does protect.

use super::super::cursor::{Cursor, is_name_byte};
use super::Lexer;

impl Lexer<'_, '_> {
    /// The cursor on the dollar.
    pub(super) fn parameter(&mut self, quoted: bool) {
        self.cursor.advance(2);
        let start = self.position();
        if matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'|') {
            self.problem("function_substitution");
        }
        if self.simple_parameter() {
            return;
        }
        let literal_quotes = quoted && !is_pattern_operation(self.cursor);
        let end = self.parameter_body(quoted, literal_quotes);
        let entry = (self.slice(start, end), self.span(start, end));
        self.reading.parameters.push(entry);
    }

    /// `${name}` and `${#name}`: consumed when it is one.
    fn simple_parameter(&mut self) -> bool {
        let mut cursor = self.cursor;
        if cursor.peek(0) == b'#' && is_name_byte(cursor.peek(1)) {
            cursor.advance(1);
        }
        let mut named = false;
        while is_name_byte(cursor.peek(0)) {
            named = true;
            cursor.advance(1);
        }
        if !named || cursor.peek(0) != b'}' {
            return false;
        }
        cursor.advance(1);
        self.cursor = cursor;
        true
    }

    /// To the closing brace, which is consumed; returns where it stands.
    fn parameter_body(&mut self, quoted: bool, literal_quotes: bool) -> usize {
        // a special parameter or the length sign: `${#}`, `${!x}`, `${$}`, `${'}` is none
        let opens = matches!(self.peek(1), b'(' | b'{' | b'[' | b'\'' | b'"' | b'$');
        if matches!(self.peek(0), b'#' | b'!' | b'?' | b'*' | b'@' | b'-') || self.peek(0) == b'$' && !opens {
            self.cursor.advance(1);
        }
        loop {
            if self.cursor.at_end() {
                self.problem("unclosed_parameter");
                return self.position();
            }
            match self.peek(0) {
                b'}' => {
                    self.cursor.splice();
                    let end = self.position();
                    self.cursor.advance(1);
                    return end;
                }
                b'\\' => self.cursor.advance_escape(),
                b'"' => self.double_quoted(),
                b'\'' if literal_quotes => self.literal_single_quotes(),
                b'\'' => self.single_quoted(),
                b'`' => self.backtick(quoted),
                b'$' if quoted && self.peek(1) == b'\'' => {
                    if literal_quotes {
                        // whether this is a quote depends on the mode: no real command does it
                        self.problem("ansi_quote_in_parameter");
                    }
                    self.dollar(false);
                }
                b'$' => self.dollar(quoted),
                b'<' | b'>' if self.peek(1) == b'(' && !quoted => self.process_substitution(),
                _ => self.cursor.advance(1),
            }
        }
    }

    /// `'…'` that hides a closing brace but no expansion.
    fn literal_single_quotes(&mut self) {
        let mut end = self.cursor;
        end.advance(1);
        if !end.seek_raw(b'\'') {
            self.problem("unclosed_quote");
        }
        self.cursor.advance(1);
        if self.bytes(self.position(), end.position).contains(&b'"') {
            self.problem("quote_in_parameter");
        }
        self.expressions(end.position);
        self.cursor.advance_raw(1);
    }
}

/// Whether the parameter is followed by an operator whose word is a pattern; the cursor after `${`.
fn is_pattern_operation(mut cursor: Cursor<'_>) -> bool {
    if cursor.peek(0) == b'!' {
        cursor.advance(1);
    }
    if is_name_byte(cursor.peek(0)) {
        while is_name_byte(cursor.peek(0)) {
            cursor.advance(1);
        }
    } else if !cursor.at_end() {
        cursor.advance(1);
    }
    if cursor.peek(0) == b'[' {
        let mut open = 0_usize;
        while !cursor.at_end() {
            match cursor.peek(0) {
                b'[' => open += 1,
                b']' => open = open.saturating_sub(1),
                b'\\' => cursor.advance(1),
                _ => {}
            }
            cursor.advance(1);
            if open == 0 {
                break;
            }
        }
    }
    matches!(cursor.peek(0), b'#' | b'%' | b'/' | b'^' | b',')
}
