//! Reading position over a text, with line continuations spliced out where bash splices them.
//!
//! Duty: deliver *logical* characters, so that no operator, keyword or word can be split by `\`newline.
//! Danger: splicing where bash does not (single quotes, `$'…'`, comments, quoted heredocs) would join what bash
//! keeps apart; there callers use the `raw` functions.

/// How positions of a text map to the source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'t> {
    /// The text is a contiguous piece of the source that starts here.
    Offset(usize),
    /// One source offset for each byte, and one for the end.
    Map(&'t [u32]),
}

impl Origin<'_> {
    /// The source offset of a position in the text.
    pub(super) fn source(self, position: usize) -> usize {
        match self {
            Self::Offset(base) => base + position,
            Self::Map(map) => map.get(position).or(map.last()).map_or(0, |offset| *offset as usize),
        }
    }
}

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) position: usize,
}

impl<'t> Cursor<'t> {
    pub(super) const fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn is_continuation(&self, at: usize) -> bool {
        self.bytes.get(at) == Some(&b'\\') && self.bytes.get(at + 1) == Some(&b'\n')
    }

    /// The first position at or after `at` that holds no continuation.
    fn spliced(&self, mut at: usize) -> usize {
        while self.is_continuation(at) {
            at += 2;
        }
        at
    }

    /// The byte `ahead` of the position, continuations included; 0 past the end.
    pub(super) fn raw(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    /// The `ahead`-th logical character; 0 past the end.
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        let mut at = self.spliced(self.position);
        for _ in 0..ahead {
            at = self.spliced(at + 1);
        }
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Consumes `count` logical characters. A position is never inside a character of several bytes.
    pub(super) fn advance(&mut self, count: usize) {
        for _ in 0..count {
            self.position = (self.spliced(self.position) + 1).min(self.bytes.len());
            while self.bytes.get(self.position).is_some_and(|byte| byte & 0xC0 == 0x80) {
                self.position += 1;
            }
        }
    }

    /// Consumes `count` bytes as they stand.
    pub(super) fn advance_raw(&mut self, count: usize) {
        self.position = (self.position + count).min(self.bytes.len());
    }

    /// Consumes continuations; whether there were any.
    pub(super) fn splice(&mut self) -> bool {
        let at = self.spliced(self.position);
        let moved = at != self.position;
        self.position = at;
        moved
    }

    /// Whether no logical character is left.
    pub(super) fn at_end(&self) -> bool {
        self.spliced(self.position) >= self.bytes.len()
    }

    /// Consumes blanks and continuations.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(0), b' ' | b'\t') {
            self.advance(1);
        }
        self.splice();
    }

    /// Consumes a backslash and the byte after it, which it quotes.
    pub(super) fn advance_escape(&mut self) {
        self.splice();
        self.advance_raw(2);
    }

    /// Moves to the next occurrence of `byte`, without splicing; to the end when there is none.
    pub(super) fn seek_raw(&mut self, byte: u8) -> bool {
        let rest = self.bytes.get(self.position..).unwrap_or(&[]);
        match rest.iter().position(|candidate| *candidate == byte) {
            Some(ahead) => {
                self.position += ahead;
                true
            }
            None => {
                self.position = self.bytes.len();
                false
            }
        }
    }
}

/// Whether `byte` ends a word unless quoted.
pub(super) const fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

/// Whether `byte` may stand in a variable name.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether `text` is a valid variable name.
pub(super) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|first| !first.is_ascii_digit()) && text.iter().all(|byte| is_name_byte(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peek_delivers_logical_characters() {
        let cursor = Cursor::new(b"<\\\n<\\\n\\\n-x");
        assert_eq!([cursor.peek(0), cursor.peek(1), cursor.peek(2), cursor.peek(3)], *b"<<-x");
        assert_eq!(cursor.peek(4), 0);
    }

    #[test]
    fn an_escaped_backslash_before_a_newline_is_no_continuation() {
        let mut cursor = Cursor::new(b"\\\\\nx");
        cursor.advance_escape();
        assert_eq!(cursor.peek(0), b'\n');
    }

    #[test]
    fn trailing_continuation_is_the_end() {
        assert!(Cursor::new(b"\\\n").at_end());
    }
}
