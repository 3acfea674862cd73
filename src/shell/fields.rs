//! The fields that one word becomes: pieces collected, split where an unquoted value has blanks.
//!
//! Danger: a field too few or too many moves every argument behind it.

use super::word::{Piece, Value};

/// How a word stands in the script: what expansions apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Field splitting and globbing apply.
    Fields,
    /// Neither applies: assignments, here-strings, heredoc bodies.
    Single,
}

/// Collects the pieces of one word into fields.
pub(super) struct Builder {
    mode: Mode,
    /// A tilde counts after each colon.
    pub(super) assignment: bool,
    fields: Vec<Value>,
    pieces: Vec<Piece>,
    /// The present field exists even when empty.
    present: bool,
    /// Something unquoted and unknown may have vanished.
    any_field: bool,
    /// A `$` that begins no expansion stands in the word: bash then may split nothing.
    pub(super) lone_dollar: bool,
}

impl Builder {
    pub(super) const fn new(mode: Mode) -> Self {
        Self {
            mode,
            assignment: false,
            fields: Vec::new(),
            pieces: Vec::new(),
            present: false,
            any_field: false,
            lone_dollar: false,
        }
    }

    pub(super) fn known(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.present = true;
        if let Some(Piece::Known(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Known(text.to_owned()));
        }
    }

    pub(super) fn quoted(&mut self, bytes: &[u8]) {
        self.present = true;
        self.known(&String::from_utf8_lossy(bytes));
    }

    pub(super) fn piece(&mut self, piece: Piece) {
        self.present = true;
        self.pieces.push(piece);
    }

    pub(super) fn glob(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if self.mode == Mode::Single {
            self.known(&text);
        } else if let Some(Piece::Glob(last)) = self.pieces.last_mut() {
            last.push_str(&text);
        } else {
            self.piece(Piece::Glob(text));
        }
    }

    pub(super) fn unknown(&mut self, splits: bool) {
        self.piece(Piece::Unknown { splits: splits && self.mode == Mode::Fields });
    }

    /// An unquoted separator: what follows is another word.
    pub(super) fn separator(&mut self) {
        if self.mode == Mode::Single {
            self.known(" ");
            return;
        }
        self.any_field = true;
        if self.present {
            let value = value_of(std::mem::take(&mut self.pieces));
            self.fields.push(value);
            self.present = false;
        }
    }

    /// The unquoted value of a variable: split at blanks, patterns kept as such.
    pub(super) fn split(&mut self, value: &str) {
        self.any_field = true;
        if self.mode == Mode::Single {
            self.known(value);
            return;
        }
        for (index, part) in value.split([' ', '\t', '\n']).enumerate() {
            if index > 0 {
                self.separator();
            }
            if part.contains(['*', '?', '[', '\\']) {
                self.piece(Piece::Glob(part.to_owned()));
            } else {
                self.known(part);
            }
        }
    }

    /// Whether there was nothing, not even quotes.
    pub(super) const fn is_empty(&self) -> bool {
        !self.present && !self.any_field && self.fields.is_empty()
    }

    pub(super) fn finish(mut self) -> Vec<Value> {
        if self.lone_dollar && self.any_field {
            return vec![Value::Unknown { splits: true }];
        }
        if self.present || !self.any_field && self.fields.is_empty() {
            let value = value_of(std::mem::take(&mut self.pieces));
            self.fields.push(value);
        }
        self.fields
    }
}

fn value_of(mut pieces: Vec<Piece>) -> Value {
    match pieces.as_mut_slice() {
        [] => Value::Literal(String::new()),
        [Piece::Known(text)] => Value::Literal(std::mem::take(text)),
        [Piece::Unknown { splits }] => Value::Unknown { splits: *splits },
        _ => Value::Partial(pieces),
    }
}
