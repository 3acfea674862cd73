//! `${…}`: where it ends and what runs inside it.
//!
//! Danger: inside double quotes a single quote in `${x:-'…'}` groups for the closing brace but protects nothing:
//! `"${x:-'$(cmd)'}"` runs the command. After `# % / ^ ,` it does protect; in a subscript or an offset never.

use super::super::cursor::is_name_byte;
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
        self.parameter_name(quoted);
        let literal_quotes = match (self.peek(0), self.peek(1)) {
            (b'#' | b'%' | b'/' | b'^' | b',', _) => false,
            (b':', b'-' | b'=' | b'+' | b'?') => quoted,
            // an offset is arithmetic
            (b':', _) => true,
            _ => quoted,
        };
        let end = self.parameter_body(quoted, literal_quotes);
        let entry = (self.slice(start, end), self.span(start, end));
        self.reading.parameters.push(entry);
    }

    /// The parameter itself, with its subscript.
    fn parameter_name(&mut self, quoted: bool) {
        let opens = matches!(self.peek(1), b'(' | b'{' | b'[' | b'\'' | b'"' | b'$');
        if matches!(self.peek(0), b'#' | b'!' | b'?' | b'*' | b'@' | b'-') || self.peek(0) == b'$' && !opens {
            self.cursor.advance(1);
        }
        while is_name_byte(self.peek(0)) {
            self.cursor.advance(1);
        }
        if self.peek(0) != b'[' {
            return;
        }
        let mut open = 0_usize;
        while !self.cursor.at_end() {
            match self.peek(0) {
                b'[' => open += 1,
                b']' => open -= 1,
                b'}' => {
                    self.problem("unclosed_subscript");
                    return;
                }
                _ => {
                    self.parameter_step(quoted, true);
                    continue;
                }
            }
            self.cursor.advance(1);
            if open == 0 {
                return;
            }
        }
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
                _ => self.parameter_step(quoted, literal_quotes),
            }
        }
    }

    /// One character, quote or expansion; `literal_quotes`: single quotes protect nothing.
    fn parameter_step(&mut self, quoted: bool, literal_quotes: bool) {
        match self.peek(0) {
            b'\\' => self.cursor.advance_escape(),
            b'"' => {
                let (start, known) = (self.position(), self.reading.expansions.len());
                self.double_quoted();
                if quoted {
                    self.check_embedded(start, known);
                }
            }
            b'\'' if literal_quotes => self.literal_single_quotes(),
            b'\'' => self.single_quoted(),
            b'`' => {
                let start = self.position();
                self.backtick(false);
                if quoted && self.bytes(start, self.position()).windows(2).any(|pair| pair == b"\\\"") {
                    // bash keeps this backslash here and drops it in other quotes
                    self.problem("quote_in_parameter");
                }
            }
            b'$' if quoted && self.peek(1) == b'\'' => {
                if literal_quotes {
                    // whether this is a quote depends on the mode: no real command does it
                    self.problem("ansi_quote_in_parameter");
                }
                self.dollar(false);
            }
            b'$' => self.dollar(quoted),
            b'<' | b'>' if self.peek(1) == b'(' && !quoted => self.process_substitution(),
            b'<' | b'>' if self.peek(1) == b'(' => {
                // bash looks for its end as for that of a substitution, and then takes it as text
                self.problem("substitution_in_parameter");
                self.cursor.advance(1);
            }
            _ => self.cursor.advance(1),
        }
    }

    /// Inside quotes inside `"${…}"` a backslash before an ordinary character is taken away *before* expansion, so
    /// that `"${x:-"$\(cmd)"}"` runs the command: no real script writes one.
    fn check_embedded(&mut self, start: usize, known: usize) {
        let end = self.position();
        let text = self.bytes(0, end);
        let mut inner =
            self.reading.expansions.iter().skip(known).filter(|entry| entry.text == self.text).peekable();
        let mut at = start;
        let mut odd = false;
        while at < end {
            while inner.next_if(|entry| entry.start < at).is_some() {}
            if let Some(entry) = inner.next_if(|entry| entry.start == at && entry.end > at) {
                // nor does `\"` in backticks mean there what it means elsewhere in quotes
                odd |= text.get(at) == Some(&b'`')
                    && text.get(at..entry.end).is_some_and(|body| body.contains(&b'\\'));
                at = entry.end;
            } else if text.get(at) == Some(&b'\\') {
                odd |= !matches!(text.get(at + 1), Some(b'$' | b'`' | b'"' | b'\\' | b'\n'));
                at += 2;
            } else {
                at += 1;
            }
        }
        if odd {
            self.problem("quote_in_parameter");
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
