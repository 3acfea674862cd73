//! Words to values: quotes, expansions, braces, as far as the text shows them.

use super::mark;
use super::scan::{End, Reader, Scanner};

/// A word as read: its value with marks, before braces and splitting.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: Vec<u8>,
    /// It has quotes or expansions.
    pub(super) quoted: bool,
    /// The length of `name=` or `name+=` at its start, 0 when it is no assignment.
    pub(super) assign: usize,
}

const MAX_BRACE_LENGTH: usize = 512;
const MAX_BRACE_WORDS: usize = 32;

/// A value as text that a shell would read again.
pub(super) fn render(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() + 8);
    for &byte in value {
        match byte {
            mark::HOME => out.extend_from_slice(b"${HOME}"),
            mark::TILDE => out.push(b'~'),
            mark::USER => out.extend_from_slice(b"${USER}"),
            mark::UNKNOWN | mark::LOOSE | mark::PROCESS => out.extend_from_slice(b"${_}"),
            mark::STAR => out.push(b'*'),
            mark::ANY => out.push(b'?'),
            mark::SET => out.push(b'['),
            mark::OPEN => out.push(b'{'),
            mark::COMMA => out.push(b','),
            mark::CLOSE => out.push(b'}'),
            mark::SPLIT => out.push(b' '),
            _ => out.push(byte),
        }
    }
    out
}

/// A value without active patterns, braces and word boundaries: as a variable holds it.
fn plain(byte: u8) -> u8 {
    match byte {
        mark::STAR => b'*',
        mark::ANY => b'?',
        mark::SET => b'[',
        mark::OPEN => b'{',
        mark::COMMA => b',',
        mark::CLOSE => b'}',
        _ => byte,
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Scanner<'_, '_> {
    /// Reads one word; moves nowhere when there is none.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(&byte) = self.src.get(self.pos) {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'(' => {
                    let extended = word.text.len() > 1
                        && matches!(self.src.get(self.pos - 1), Some(b'!' | b'@' | b'+' | b'*' | b'?'));
                    if !extended {
                        break;
                    }
                    word.text.pop();
                    word.text.push(mark::STAR);
                    self.skip_group();
                }
                b'<' | b'>' => {
                    if self.src.get(self.pos + 1) != Some(&b'(') {
                        break;
                    }
                    word.quoted = true;
                    self.process_substitution(byte);
                    word.text.push(mark::PROCESS);
                }
                b'\\' => {
                    match self.src.get(self.pos + 1) {
                        Some(b'\n') | None => {}
                        Some(&next) => {
                            word.text.push(next);
                            word.quoted = true;
                        }
                    }
                    self.pos += 2;
                }
                b'\'' => {
                    word.quoted = true;
                    self.single_quotes(&mut word.text);
                }
                b'"' => {
                    word.quoted = true;
                    self.double_quotes(&mut word.text);
                }
                b'$' => {
                    word.quoted = true;
                    self.dollar(&mut word.text, false);
                }
                b'`' => {
                    word.quoted = true;
                    self.backticks(&mut word.text, false);
                }
                b'~' => {
                    self.pos += 1;
                    let begins = word.text.len() == word.assign
                        || (word.assign > 0 && word.text.last() == Some(&b':'));
                    let ends = match self.peek() {
                        None => true,
                        Some(next) => {
                            matches!(next, b'/' | b':' | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')')
                                || matches!(next, b'<' | b'>' | b',' | b'}')
                        }
                    };
                    let begins = begins || matches!(word.text.last(), Some(&(mark::OPEN | mark::COMMA)));
                    word.text.push(if begins && ends { mark::TILDE } else { b'~' });
                }
                b'=' => {
                    self.pos += 1;
                    let names = word.assign == 0 && !word.quoted && is_assignable(&word.text);
                    word.text.push(b'=');
                    if names {
                        word.assign = word.text.len();
                        if self.peek() == Some(b'(') {
                            self.pos += 1;
                            word.quoted = true;
                            self.array(&mut word.text);
                        }
                    }
                }
                _ => {
                    word.text.push(match byte {
                        b'*' => mark::STAR,
                        b'?' => mark::ANY,
                        b'[' => mark::SET,
                        b'{' => mark::OPEN,
                        b',' => mark::COMMA,
                        b'}' => mark::CLOSE,
                        _ => byte,
                    });
                    self.pos += 1;
                }
            }
        }
        self.pos = self.pos.min(self.src.len());
        word
    }

    /// The words that a word becomes: braces, then splitting.
    pub(super) fn split_word(&mut self, word: Word, out: &mut Vec<Vec<u8>>) {
        let mut texts = Vec::new();
        let braces = word.text.contains(&mark::OPEN)
            && word.text.len() <= MAX_BRACE_LENGTH
            && self.state.charge_ahead(word.text.len() * 8);
        if braces {
            self.braces(&word.text, &mut texts);
        } else {
            texts.push(word.text);
        }
        for mut text in texts {
            if text.contains(&mark::SPLIT) {
                out.extend(
                    text.split(|byte| *byte == mark::SPLIT)
                        .filter(|part| !part.is_empty())
                        .map(<[u8]>::to_vec),
                );
            } else {
                for byte in &mut text {
                    if matches!(*byte, mark::OPEN | mark::COMMA | mark::CLOSE) {
                        *byte = plain(*byte);
                    }
                }
                // An unquoted expansion that came to nothing is no word.
                if !text.is_empty() || word.quoted {
                    out.push(text);
                }
            }
        }
    }

    /// A word as one value, as an assignment or a here-string takes it.
    pub(super) fn scalar(&self, text: &[u8]) -> Vec<u8> {
        let array = text.last() == Some(&mark::SPLIT);
        text.iter().map(|byte| if *byte == mark::SPLIT && !array { b' ' } else { plain(*byte) }).collect()
    }

    fn braces(&mut self, text: &[u8], out: &mut Vec<Vec<u8>>) {
        if out.len() >= MAX_BRACE_WORDS {
            return;
        }
        for (open, _) in text.iter().enumerate().filter(|(_, byte)| **byte == mark::OPEN) {
            let Some((commas, close)) = self.brace_group(text, open) else { continue };
            let (before, after) = (text.get(..open).unwrap_or(b""), text.get(close + 1..).unwrap_or(b""));
            let inner = text.get(open + 1..close).unwrap_or(b"");
            let parts: Vec<Vec<u8>> = if commas.is_empty() {
                brace_range(inner)
            } else {
                let starts = std::iter::once(open + 1).chain(commas.iter().map(|comma| comma + 1));
                let ends = commas.iter().copied().chain(std::iter::once(close));
                starts.zip(ends).map(|(start, end)| text.get(start..end).unwrap_or(b"").to_vec()).collect()
            };
            if parts.is_empty() {
                continue;
            }
            for part in parts {
                if !self.state.charge_ahead(text.len()) {
                    return;
                }
                self.braces(&[before, &part, after].concat(), out);
            }
            return;
        }
        out.push(text.to_vec());
    }

    /// The commas of the group that opens at `open`, and its end.
    fn brace_group(&mut self, text: &[u8], open: usize) -> Option<(Vec<usize>, usize)> {
        let (mut depth, mut commas) = (0_u32, Vec::new());
        for (index, &byte) in text.iter().enumerate().skip(open) {
            match byte {
                mark::OPEN => depth += 1,
                mark::COMMA if depth == 1 => commas.push(index),
                mark::CLOSE => {
                    depth -= 1;
                    if depth == 0 {
                        return Some((commas, index));
                    }
                }
                _ => {}
            }
        }
        self.state.charge_ahead(text.len());
        None
    }

    /// The elements of an array literal, joined by word boundaries.
    fn array(&mut self, out: &mut Vec<u8>) {
        if self.state.depth >= super::MAX_DEPTH {
            self.pos = self.src.len();
            return;
        }
        self.state.depth += 1;
        let mut words = Vec::new();
        loop {
            match self.peek() {
                None => break,
                Some(b')') => {
                    self.pos += 1;
                    break;
                }
                Some(b' ' | b'\t' | b'\n') => self.pos += 1,
                Some(b'#') => {
                    while self.src.get(self.pos).is_some_and(|byte| *byte != b'\n') {
                        self.pos += 1;
                    }
                }
                Some(_) => {
                    let start = self.pos;
                    let word = self.word();
                    if self.pos == start {
                        self.pos += 1;
                    }
                    self.split_word(word, &mut words);
                }
            }
        }
        for word in words {
            out.extend(self.scalar(&word));
            out.push(mark::SPLIT);
        }
        self.state.depth -= 1;
    }

    fn skip_group(&mut self) {
        let mut depth = 0_u32;
        while let Some(&byte) = self.src.get(self.pos) {
            self.pos += 1;
            match byte {
                b'(' => depth += 1,
                b')' if depth <= 1 => return,
                b')' => depth -= 1,
                b'\n' => return,
                _ => {}
            }
        }
    }

    fn single_quotes(&mut self, out: &mut Vec<u8>) {
        self.pos += 1;
        let rest = self.src.get(self.pos..).unwrap_or(b"");
        let length = rest.iter().position(|byte| *byte == b'\'').unwrap_or(rest.len());
        out.extend_from_slice(rest.get(..length).unwrap_or(b""));
        self.pos += length + 1;
    }

    pub(super) fn double_quotes(&mut self, out: &mut Vec<u8>) {
        self.pos += 1;
        while let Some(&byte) = self.src.get(self.pos) {
            match byte {
                b'"' => {
                    self.pos += 1;
                    return;
                }
                b'\\' => {
                    match self.src.get(self.pos + 1) {
                        Some(b'\n') | None => {}
                        Some(&next @ (b'$' | b'`' | b'"' | b'\\')) => out.push(next),
                        Some(&next) => out.extend_from_slice(&[b'\\', next]),
                    }
                    self.pos += 2;
                }
                b'$' => self.dollar(out, true),
                b'`' => self.backticks(out, true),
                _ => {
                    out.push(byte);
                    self.pos += 1;
                }
            }
        }
    }

    /// Text in which only substitutions and backslashes count, up to `end`: heredoc bodies, arithmetic.
    pub(super) fn passive(&mut self, end: usize, out: &mut Vec<u8>) {
        while self.pos < end {
            match self.src.get(self.pos) {
                None => return,
                Some(b'\\') => {
                    match self.src.get(self.pos + 1) {
                        Some(b'\n') | None => {}
                        Some(&next @ (b'$' | b'`' | b'\\')) => out.push(next),
                        Some(&next) => out.extend_from_slice(&[b'\\', next]),
                    }
                    self.pos += 2;
                }
                Some(b'$') => self.dollar(out, true),
                Some(b'`') => self.backticks(out, true),
                Some(&byte) => {
                    out.push(byte);
                    self.pos += 1;
                }
            }
        }
    }

    /// Skips an arithmetic expression that starts at `from`, behind `((`; false when it is none.
    pub(super) fn arithmetic(&mut self, from: usize) -> bool {
        let mut depth = 0_u32;
        let mut at = from;
        let mut quote = None;
        let limit = self.state.ahead_budget;
        while let Some(&byte) = self.src.get(at).filter(|_| at - from < limit) {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (_, b'\\') => at += 1,
                (Some(_), _) => {}
                (None, b'"') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') if depth > 0 => depth -= 1,
                (None, b')') => break,
                (None, _) => {}
            }
            at += 1;
        }
        if !self.state.charge_ahead(at.saturating_sub(from)) || self.src.get(at..at + 2) != Some(b"))") {
            return false;
        }
        self.pos = from;
        let src = self.src.get(..at).unwrap_or(b"");
        let mut inner = Scanner { src, pos: from, origin: self.origin, state: self.state };
        inner.passive(at, &mut Vec::new());
        self.pos = at + 2;
        true
    }

    fn process_substitution(&mut self, direction: u8) {
        self.pos += 2;
        let saved = self.state.save();
        let outer = self.state.output.take();
        let mut outputs = std::mem::take(&mut self.state.process_output);
        self.state.forks += 1;
        let reader = self.list(End::Paren);
        self.state.forks -= 1;
        self.eat(b')');
        outputs.extend(std::mem::replace(&mut self.state.output, outer));
        self.state.process_output = outputs;
        self.state.process_shell |= direction == b'>' && reader == Reader::Shell;
        self.state.restore(saved);
    }

    /// Runs what `read` reads as a command substitution and inserts its output.
    fn substitute(&mut self, out: &mut Vec<u8>, quoted: bool, read: impl FnOnce(&mut Self)) {
        let saved = self.state.save();
        let outer = self.state.output.take();
        let outputs = std::mem::take(&mut self.state.process_output);
        self.state.forks += 1;
        read(self);
        self.state.forks -= 1;
        self.state.process_output = outputs;
        let output = std::mem::replace(&mut self.state.output, outer);
        self.state.restore(saved);
        match output {
            Some(text) => insert(out, text.trim_ascii_end(), quoted),
            None => out.push(if quoted { mark::UNKNOWN } else { mark::LOOSE }),
        }
    }

    pub(super) fn backticks(&mut self, out: &mut Vec<u8>, quoted: bool) {
        let start = self.pos;
        self.pos += 1;
        let mut text = Vec::new();
        while let Some(&byte) = self.src.get(self.pos) {
            self.pos += 1;
            match byte {
                b'`' => break,
                b'\\' => {
                    match self.src.get(self.pos) {
                        Some(&next @ (b'`' | b'$' | b'\\')) => text.push(next),
                        Some(b'"') if quoted => text.push(b'"'),
                        Some(&next) => text.extend_from_slice(&[b'\\', next]),
                        None => {}
                    }
                    self.pos += 1;
                }
                _ => text.push(byte),
            }
        }
        let span = self.span(start, self.pos.min(self.src.len()));
        self.substitute(out, quoted, |scanner| {
            Scanner::new(&text, Some(span), scanner.state).list(End::Text);
        });
    }

    /// What a `$` begins.
    pub(super) fn dollar(&mut self, out: &mut Vec<u8>, quoted: bool) {
        self.pos += 1;
        match self.peek() {
            Some(b'(') => {
                self.pos += 1;
                if self.peek() == Some(b'(') && self.arithmetic(self.pos + 1) {
                    out.push(mark::UNKNOWN);
                    return;
                }
                self.substitute(out, quoted, |scanner| {
                    scanner.list(End::Paren);
                    scanner.eat(b')');
                });
            }
            Some(b'{') => {
                self.pos += 1;
                self.parameter(out, quoted);
            }
            Some(b'[') => {
                // The old form of `$((`: what stands in it is read as part of the word.
                out.push(mark::UNKNOWN);
            }
            Some(b'\'') if !quoted => super::code::ansi_quotes(self.src, &mut self.pos, out),
            Some(b'"') if !quoted => self.double_quotes(out),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let name = self.name();
                self.insert_variable(&name, out, quoted);
            }
            Some(byte @ (b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.pos += 1;
                self.insert_variable(&[byte], out, quoted);
            }
            _ => out.push(b'$'),
        }
    }

    pub(super) fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek().filter(|byte| is_name(*byte)) {
            name.push(byte);
            self.pos += 1;
        }
        name
    }
}

/// Whether text before a `=` makes it an assignment.
fn is_assignable(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"+").unwrap_or(text);
    let name =
        text.iter().position(|byte| *byte == mark::SET).map_or(text, |at| text.get(..at).unwrap_or(b""));
    (name.len() == text.len() || text.last() == Some(&b']'))
        && name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| is_name(*byte))
}

/// `a..c` or `1..3`, bounded.
fn brace_range(inner: &[u8]) -> Vec<Vec<u8>> {
    let Some(at) = inner.windows(2).position(|pair| pair == b"..") else { return Vec::new() };
    let (from, to) = (inner.get(..at).unwrap_or(b""), inner.get(at + 2..).unwrap_or(b""));
    match (from, to) {
        (&[from], &[to]) if from.is_ascii_alphanumeric() && to.is_ascii_alphanumeric() => {
            let (low, high) = (from.min(to), from.max(to));
            (low..=high).take(MAX_BRACE_WORDS).map(|byte| vec![byte]).collect()
        }
        _ => Vec::new(),
    }
}

/// Puts a known value into a word. A pattern that was active where the value came from stays one in quotes: it stands
/// for the names that it matched.
pub(super) fn insert(out: &mut Vec<u8>, value: &[u8], quoted: bool) {
    out.extend(value.iter().map(|&byte| match byte {
        b' ' | b'\t' | b'\n' if !quoted => mark::SPLIT,
        b'*' if !quoted => mark::STAR,
        b'?' if !quoted => mark::ANY,
        b'[' if !quoted => mark::SET,
        mark::OPEN | mark::COMMA | mark::CLOSE if quoted => plain(byte),
        _ => byte,
    }));
}
