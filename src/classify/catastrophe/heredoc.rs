//! Heredocs: whose body is a program, and what of a body runs.

use super::scan::{Level, Reader, Scanner};

/// A heredoc whose body has not been read.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delimiter: Vec<u8>,
    pub(super) quoted: bool,
    pub(super) strip: bool,
    pub(super) pipe: u32,
    pub(super) run: Reader,
}

impl Scanner<'_, '_> {
    /// The delimiter of a heredoc, with whether any of it was quoted.
    pub(super) fn delimiter(&mut self) -> (Vec<u8>, bool) {
        let (mut text, mut quoted) = (Vec::new(), false);
        let mut quote = None;
        while let Some(byte) = self.src.get(self.pos).copied() {
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (Some(_), _) => text.push(byte),
                (None, b'\'' | b'"') => {
                    quote = Some(byte);
                    quoted = true;
                }
                (None, b'\\') => {
                    self.pos += 1;
                    match self.src.get(self.pos) {
                        Some(b'\n') | None => {}
                        Some(next) => {
                            text.push(*next);
                            quoted = true;
                        }
                    }
                }
                (None, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
                (None, _) => text.push(byte),
            }
            self.pos += 1;
        }
        (text, quoted)
    }

    /// Reads the bodies of all heredocs that were opened on the line before.
    pub(super) fn bodies(&mut self, level: &mut Level) {
        for pending in std::mem::take(&mut level.pending) {
            let start = self.pos.min(self.src.len());
            let end = self.body_end(&pending);
            let span = self.span(start, end);
            let mut text = Vec::new();
            if pending.quoted {
                if pending.run != Reader::None || pending.pipe == level.pipe.id || self.state.echoes_input {
                    text.extend_from_slice(self.src.get(start..end).unwrap_or(b""));
                }
            } else {
                let src = self.src.get(..end).unwrap_or(b"");
                let mut body = Scanner { src, pos: start, origin: self.origin, state: self.state };
                body.passive(end, &mut text);
            }
            self.feed(&text, pending.run, span);
            if self.state.echoes_input {
                self.state.output = Some(text.clone());
            }
            if pending.pipe == level.pipe.id && pending.run == Reader::None {
                level.pipe.texts.push(text);
            }
        }
    }

    /// Moves past the body and its terminator; where the body ends.
    pub(super) fn body_end(&mut self, pending: &Pending) -> usize {
        let mut joined: Vec<u8> = Vec::new();
        let mut line_start = self.pos;
        while self.pos < self.src.len() {
            let rest = self.src.get(self.pos..).unwrap_or(b"");
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or(b"");
            self.pos += length + 1;
            let continued = !pending.quoted
                && length < rest.len()
                && line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
            if continued {
                joined.extend_from_slice(line.get(..length - 1).unwrap_or(b""));
                continue;
            }
            let mut whole = line;
            if !joined.is_empty() {
                joined.extend_from_slice(line);
                whole = &joined;
            }
            while pending.strip && whole.first() == Some(&b'\t') {
                whole = whole.get(1..).unwrap_or(b"");
            }
            if whole == pending.delimiter {
                self.pos = self.pos.min(self.src.len());
                return line_start;
            }
            joined.clear();
            line_start = self.pos;
        }
        self.pos = self.src.len();
        self.pos
    }
}
