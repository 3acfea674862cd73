//! What is known of a word's value before bash runs it, computed from the word's own text.
//!
//! Danger: text claimed to be known that bash would change. Whatever is not handled here is unknown.

use std::cell::Cell;

use super::ansi::ansi;
use super::brace::{self, Part};
use super::cursor::{is_name, is_name_byte};
use super::fields::{Builder, Mode};
use super::reading::{RawWord, Reading, Slice};
use super::variables::{Lookup, Variables};
use super::word::{Arg, Piece, Value};

/// Evaluates words of one script.
pub(super) struct Evaluator<'a> {
    pub(super) reading: &'a Reading,
    pub(super) source: &'a [u8],
    variables: &'a Variables,
    /// Where in a word's expansions the last one was found.
    hint: Cell<usize>,
}

impl<'a> Evaluator<'a> {
    pub(super) const fn new(reading: &'a Reading, source: &'a [u8], variables: &'a Variables) -> Self {
        Self { reading, source, variables, hint: Cell::new(0) }
    }

    fn text(&self, word: &RawWord) -> &[u8] {
        self.reading.text(self.source, word.slice.text)
    }

    /// The arguments that a word becomes.
    pub(super) fn arguments(&self, word: &RawWord, to: &mut Vec<Arg>) {
        let (start, end) = (word.slice.start, word.slice.end);
        let text = self.text(word);
        let bytes = text.get(start..end).unwrap_or(&[]);
        if !word.quoted && is_plain(bytes) {
            to.push(Arg { value: Value::Literal(to_text(bytes)), span: word.span });
            return;
        }
        let alternatives = if bytes.contains(&b'{') && self.confuses_braces(word) || joins_again(bytes) {
            None
        } else if bytes.contains(&b'{') {
            brace::expand(text, start, end, &|at| self.skip(word, at))
        } else {
            Some(vec![vec![Part::Text(start, end)]])
        };
        let Some(alternatives) = alternatives else {
            to.push(Arg { value: Value::Unknown { splits: true }, span: word.span });
            return;
        };
        if alternatives.len() > 1
            && (bytes.contains(&b'~') || alternatives.iter().any(|parts| joins_name(text, parts)))
        {
            // `$x{a,b}` is `$xa $xb`, and `~{a,b}` is `~a ~b`
            to.push(Arg { value: Value::Unknown { splits: true }, span: word.span });
            return;
        }
        let several = alternatives.len() > 1;
        for parts in alternatives {
            let mut builder = Builder::new(Mode::Fields);
            for part in &parts {
                match part {
                    Part::Text(start, end) => self.walk(word, *start, *end, &mut builder),
                    Part::Member(member) => builder.known(member),
                }
            }
            if several && builder.is_empty() {
                // the last word of `{a,}` is none
                continue;
            }
            to.extend(builder.finish().into_iter().map(|value| Arg { value, span: word.span }));
        }
    }

    /// bash looks for braces with a scan that does not know that a quote in `"${x:-"…"}"` or ``"`…"…"`"`` is a nested
    /// one: `"${x:-"{a,b}"}"` becomes two words.
    fn confuses_braces(&self, word: &RawWord) -> bool {
        let text = self.text(word);
        let (first, last) = word.expansions;
        let entries = self.reading.expansions.get(first as usize..last as usize).unwrap_or(&[]);
        entries.iter().filter(|entry| entry.text == word.slice.text).any(|entry| {
            let body = text.get(entry.start..entry.end).unwrap_or(&[]);
            body.get(1) != Some(&b'(') && body.contains(&b'"')
        })
    }

    /// The value of a redirect's target: one word, or unknown.
    pub(super) fn target(&self, word: &RawWord) -> Value {
        let mut words = Vec::new();
        self.arguments(word, &mut words);
        if words.len() > 1 {
            // bash refuses an ambiguous redirect
            return Value::Unknown { splits: true };
        }
        words.pop().map_or(Value::Unknown { splits: true }, |word| word.value)
    }

    /// The value of an assignment, here-string: no splitting, no globbing.
    pub(super) fn single(&self, word: &RawWord, start: usize) -> Value {
        let mut builder = Builder::new(Mode::Single);
        builder.assignment = true;
        self.walk(word, start, word.slice.end, &mut builder);
        builder.finish().pop().unwrap_or_else(|| Value::Literal(String::new()))
    }

    /// The text of a heredoc.
    pub(super) fn heredoc(&self, word: &RawWord, literal: bool) -> Value {
        let text = self.text(word).get(word.slice.start..word.slice.end).unwrap_or(&[]);
        if literal || !text.iter().any(|byte| matches!(byte, b'$' | b'`' | b'\\')) {
            return Value::Literal(to_text(text));
        }
        let mut builder = Builder::new(Mode::Single);
        let mut at = word.slice.start;
        while at < word.slice.end {
            at = self.double_quoted_step(word, at, word.slice.end, b"\\$`", &mut builder);
        }
        builder.finish().pop().unwrap_or_else(|| Value::Literal(String::new()))
    }

    /// The end of the expansion that starts at `at`.
    fn expansion(&self, word: &RawWord, at: usize) -> Option<usize> {
        let (first, last) = word.expansions;
        let entries = self.reading.expansions.get(first as usize..last as usize)?;
        if !matches!(self.text(word).get(at), Some(b'$' | b'`' | b'<' | b'>')) {
            return None;
        }
        // entries of one text are in order of start, and words are mostly read from front to back
        let hint = self.hint.get();
        let passed = hint.checked_sub(1).and_then(|last| entries.get(last));
        let from = if passed.is_some_and(|entry| entry.start < at) { hint } else { 0 };
        let own = (from..entries.len()).find(|index| {
            entries.get(*index).is_some_and(|entry| entry.text == word.slice.text && entry.start >= at)
        });
        let index = own.filter(|index| entries.get(*index).is_some_and(|entry| entry.start == at))?;
        self.hint.set(index + 1);
        let entry = entries.get(index)?;
        (entry.end > at).then_some(entry.end)
    }

    /// The end of a quoted stretch or expansion that starts at `at`: what brace expansion passes over.
    fn skip(&self, word: &RawWord, at: usize) -> Option<usize> {
        let text = self.text(word);
        if let Some(end) = self.expansion(word, at) {
            return Some(end);
        }
        match text.get(at)? {
            b'\\' => Some(at + 2),
            b'\'' => Some(closing_quote(text, at + 1) + 1),
            b'$' if text.get(at + 1) == Some(&b'\'') => Some(ansi_end(text, at + 2) + 1),
            b'"' => {
                let mut at = at + 1;
                while at < word.slice.end && text.get(at) != Some(&b'"') {
                    at = match self.expansion(word, at) {
                        Some(end) => end,
                        None if text.get(at) == Some(&b'\\') => at + 2,
                        None => at + 1,
                    };
                }
                Some(at + 1)
            }
            _ => None,
        }
    }

    /// Evaluates unquoted text.
    fn walk(&self, word: &RawWord, start: usize, end: usize, builder: &mut Builder) {
        let text = self.text(word);
        let mut at = start;
        while at < end {
            let byte = text.get(at).copied().unwrap_or(0);
            let tilde = byte == b'~' && (at == word.slice.start || self.after_assignment(word, at, builder));
            at = match byte {
                b'\\' if text.get(at + 1) == Some(&b'\n') => at + 2,
                b'\\' if at + 1 >= end => {
                    builder.quoted(b"\\");
                    end
                }
                b'\\' => {
                    let next = character_end(text, at + 1, end);
                    builder.quoted(text.get(at + 1..next).unwrap_or(b"\\"));
                    next.max(at + 1)
                }
                b'\'' => {
                    let close = closing_quote(text, at + 1).min(end);
                    builder.quoted(text.get(at + 1..close).unwrap_or(&[]));
                    close + 1
                }
                b'"' => self.double_quoted(word, at + 1, end, builder),
                b'$' => self.dollar(word, at, end, false, builder),
                b'`' | b'<' | b'>' => match self.expansion(word, at) {
                    Some(close) => {
                        builder.unknown(byte == b'`');
                        close
                    }
                    None => {
                        builder.unknown(true);
                        end
                    }
                },
                b'~' if tilde => self.tilde_prefix(text, at, end, builder),
                b'*' | b'?' => {
                    builder.glob(&text[at..=at]);
                    at + 1
                }
                b'[' => bracket(text, at, end, builder),
                b'(' => {
                    // an array or an extended pattern
                    builder.unknown(true);
                    end
                }
                _ => {
                    let mut stop = at + 1;
                    while stop < end && !is_special(text.get(stop).copied().unwrap_or(0)) {
                        stop += 1;
                    }
                    builder.known(&to_text(text.get(at..stop).unwrap_or(&[])));
                    stop
                }
            };
        }
    }

    /// Whether `at` is where a tilde counts in a value: after `NAME=`, and in assignments after each colon.
    fn after_assignment(&self, word: &RawWord, at: usize, builder: &Builder) -> bool {
        let starts = word.assignment.is_some_and(|(_, value)| value == at);
        let in_value = builder.assignment || word.assignment.is_some_and(|(_, value)| value < at);
        starts || in_value && self.text(word).get(at.wrapping_sub(1)) == Some(&b':')
    }

    fn double_quoted(&self, word: &RawWord, start: usize, end: usize, builder: &mut Builder) -> usize {
        let text = self.text(word);
        builder.quoted(&[]);
        let mut at = start;
        while at < end {
            if text.get(at) == Some(&b'"') {
                return at + 1;
            }
            at = self.double_quoted_step(word, at, end, b"\\$`\"", builder);
        }
        end
    }

    /// One step through double-quoted text; `escapable`: what a backslash quotes there.
    fn double_quoted_step(
        &self,
        word: &RawWord,
        at: usize,
        end: usize,
        escapable: &[u8],
        builder: &mut Builder,
    ) -> usize {
        let text = self.text(word);
        match text.get(at).copied().unwrap_or(0) {
            b'\\' => match text.get(at + 1) {
                Some(b'\n') => at + 2,
                Some(next) if escapable.contains(next) => {
                    builder.quoted(&[*next]);
                    at + 2
                }
                _ => {
                    builder.quoted(b"\\");
                    at + 1
                }
            },
            b'$' => self.dollar(word, at, end, true, builder),
            b'`' => {
                builder.unknown(false);
                self.expansion(word, at).unwrap_or(end)
            }
            _ => {
                let mut stop = at + 1;
                while stop < end && !matches!(text.get(stop), Some(b'\\' | b'$' | b'`' | b'"')) {
                    stop += 1;
                }
                builder.quoted(text.get(at..stop).unwrap_or(&[]));
                stop
            }
        }
    }

    /// A dollar and what belongs to it.
    fn dollar(&self, word: &RawWord, at: usize, end: usize, quoted: bool, builder: &mut Builder) -> usize {
        let text = self.text(word);
        if let Some(close) = self.expansion(word, at) {
            let inner = text.get(at + 2..close.saturating_sub(1)).unwrap_or(&[]);
            match text.get(at + 1) {
                Some(b'{') => self.parameter(inner, quoted, builder),
                Some(b'(') if self.is_arithmetic(word, at) => builder.piece(Piece::Number),
                Some(b'[') => builder.unknown(false),
                // a continued line: behind it may be `{x[@]}`, which is no word or several even in quotes
                Some(b'\\') => builder.unknown(true),
                _ => builder.unknown(!quoted),
            }
            return close;
        }
        match text.get(at + 1).copied() {
            Some(b'\'') if !quoted => {
                let close = ansi_end(text, at + 2).min(end);
                match ansi(text.get(at + 2..close).unwrap_or(&[])) {
                    Some(value) => builder.quoted(value.as_bytes()),
                    None => builder.unknown(false),
                }
                close + 1
            }
            Some(b'"') if !quoted && !self.variables.translated => {
                self.double_quoted(word, at + 2, end, builder)
            }
            Some(b'"') if !quoted => {
                let mut ignored = Builder::new(Mode::Single);
                let close = self.double_quoted(word, at + 2, end, &mut ignored);
                builder.unknown(false);
                close
            }
            Some(b'@') => {
                builder.unknown(true);
                at + 2
            }
            Some(b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9') => {
                builder.unknown(!quoted);
                at + 2
            }
            Some(b'\\') => {
                // a continuation inside `$\`newline`name`: no need to know; or a dollar that stands for itself
                builder.lone_dollar |= !quoted;
                builder.unknown(true);
                end
            }
            Some(byte) if is_name_byte(byte) => {
                let mut stop = at + 1;
                while stop < end && text.get(stop).copied().is_some_and(is_name_byte) {
                    stop += 1;
                }
                if text.get(stop) == Some(&b'\\') && text.get(stop + 1) == Some(&b'\n') {
                    builder.unknown(true);
                    return end;
                }
                self.variable(text.get(at + 1..stop).unwrap_or(&[]), quoted, builder);
                stop
            }
            _ => {
                builder.known("$");
                builder.lone_dollar |= !quoted;
                at + 1
            }
        }
    }

    /// Whether the `$((` at `at` is arithmetic: `$((a) | (b))` is none.
    fn is_arithmetic(&self, word: &RawWord, at: usize) -> bool {
        let starts = |slice: &Slice| slice.text == word.slice.text && slice.start == at + 3;
        self.reading.arithmetic.iter().any(|(slice, _)| starts(slice))
    }

    /// `${…}`.
    fn parameter(&self, inner: &[u8], quoted: bool, builder: &mut Builder) {
        if is_name(inner) {
            self.variable(inner, quoted, builder);
        } else if !quoted && is_blank_slice(inner) && self.variables.lookup(b"IFS") == Lookup::Unset {
            builder.separator();
        } else {
            let many = inner.windows(2).any(|pair| pair == b"[@" || pair == b"@]") || inner.starts_with(b"@");
            builder.unknown(!quoted || many || inner.starts_with(b"!"));
        }
    }

    /// An unquoted tilde at a place where it counts.
    fn tilde_prefix(&self, text: &[u8], at: usize, end: usize, builder: &mut Builder) -> usize {
        let mut stop = at + 1;
        while stop < end && !matches!(text.get(stop), Some(b'/' | b':')) {
            stop += 1;
        }
        let name = text.get(at + 1..stop).unwrap_or(&[]);
        if name.is_empty() {
            match self.variables.lookup(b"HOME") {
                Lookup::Unset => builder.piece(Piece::Home),
                Lookup::Known(home) => builder.quoted(home.as_bytes()),
                Lookup::Number | Lookup::Changed => builder.unknown(false),
            }
            return stop;
        }
        if name.iter().any(|byte| matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`')) {
            // a quote in the prefix makes it plain text
            builder.known("~");
            return at + 1;
        }
        builder.unknown(false);
        stop
    }

    fn variable(&self, name: &[u8], quoted: bool, builder: &mut Builder) {
        match (name, self.variables.lookup(name)) {
            (_, Lookup::Known(value)) if quoted => builder.quoted(value.as_bytes()),
            (_, Lookup::Known(value)) if !self.variables.separators_changed() => builder.split(value),
            (_, Lookup::Number) if quoted || !self.variables.separators_changed() => {
                builder.piece(Piece::Number);
            }
            (b"HOME", Lookup::Unset) => builder.piece(Piece::Home),
            (b"IFS", Lookup::Unset) if quoted => builder.quoted(b" \t\n"),
            (b"IFS", Lookup::Unset) => builder.separator(),
            _ => builder.unknown(!quoted),
        }
    }
}

/// Whether a part ends in a dollar or a variable's name, which the next part would go on with.
fn joins_name(text: &[u8], parts: &[Part]) -> bool {
    parts.iter().any(|part| {
        let Part::Text(start, end) = part else { return false };
        let mut bytes = text.get(*start..*end).unwrap_or(&[]);
        loop {
            match bytes {
                // a continued line
                [rest @ .., b'\\', b'\n'] => bytes = rest,
                [rest @ .., last] if is_name_byte(*last) => bytes = rest,
                _ => return bytes.last() == Some(&b'$'),
            }
        }
    })
}

/// `${IFS%??}`, `${IFS:0:1}` and their like: some of the default separators, so a separator when unquoted.
fn is_blank_slice(inner: &[u8]) -> bool {
    matches!(
        inner,
        b"IFS%?" | b"IFS%??" | b"IFS#?" | b"IFS#??" | b"IFS:0:1" | b"IFS:1:1" | b"IFS:2:1" | b"IFS:0:2"
    )
}

const fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'\'' | b'"' | b'$' | b'`' | b'<' | b'>' | b'~' | b'*' | b'?' | b'[' | b'(')
}

/// Whether an unquoted word stands for itself.
fn is_plain(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| is_special(*byte) || *byte == b'{')
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where the quote that ends a single-quoted stretch stands.
fn closing_quote(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or(&[]);
    rest.iter().position(|byte| *byte == b'\'').map_or(text.len(), |ahead| start + ahead)
}

/// Where the quote that ends `$'…'` stands.
fn ansi_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && text.get(at) != Some(&b'\'') {
        at += if text.get(at) == Some(&b'\\') { 2 } else { 1 };
    }
    at.min(text.len())
}

/// One past the character that starts at `at`.
fn character_end(text: &[u8], at: usize, end: usize) -> usize {
    let mut stop = at + 1;
    while stop < end && text.get(stop).is_some_and(|byte| byte & 0xc0 == 0x80) {
        stop += 1;
    }
    stop.min(end)
}

/// Where the bracket that closes a pattern stands: not the first character, nor inside `[:class:]`.
fn bracket_end(inside: &[u8]) -> Option<usize> {
    let mut at = usize::from(matches!(inside.first(), Some(b'!' | b'^')));
    at += usize::from(inside.get(at) == Some(&b']'));
    loop {
        match inside.get(at)? {
            b']' => return Some(at),
            b'[' if matches!(inside.get(at + 1), Some(b':' | b'.' | b'=')) => {
                let mark = *inside.get(at + 1)?;
                let rest = inside.get(at + 2..)?;
                let end = rest.windows(2).position(|pair| pair == [mark, b']']);
                at += end.map_or(1, |end| end + 4);
            }
            _ => at += 1,
        }
    }
}

/// `[…]` as a pattern, if it is closed.
fn bracket(text: &[u8], at: usize, end: usize, builder: &mut Builder) -> usize {
    /// Longer brackets are not looked at: nothing is claimed of them.
    const FAR: usize = 256;
    let rest = text.get(at + 1..end).unwrap_or(&[]);
    let near = rest.get(..FAR.min(rest.len())).unwrap_or(rest);
    let Some(close) = bracket_end(near) else {
        // A value may close it, or what stands too far away. Whoever looks further for each bracket looks for ever.
        if near.len() < rest.len() || near.iter().any(|byte| matches!(byte, b'$' | b'`')) {
            builder.unknown(true);
            return end;
        }
        builder.known("[");
        return at + 1;
    };
    let inside = rest.get(..close).unwrap_or(&[]);
    if inside.iter().any(|byte| is_special(*byte) && *byte != b'[') {
        // what is quoted or expanded in a bracket is part of one pattern: `[a$-c]` and `[^]\a]` are names of files
        builder.unknown(true);
        return end;
    }
    builder.glob(text.get(at..at + close + 2).unwrap_or(&[]));
    at + close + 2
}

/// Whether `$!` may stand after another expansion: while it is unset, bash 5.2 does not split what stands before it.
fn joins_again(bytes: &[u8]) -> bool {
    let quoted = bytes.len() > 1
        && bytes.first() == Some(&b'"')
        && bytes.iter().skip(1).position(|byte| *byte == b'"') == Some(bytes.len() - 2);
    let before = || bytes.iter().position(|byte| matches!(byte, b'$' | b'`')).unwrap_or(bytes.len());
    !quoted && bytes.windows(2).rposition(|pair| pair == b"$!").is_some_and(|at| before() < at)
}

#[cfg(test)]
mod tests;
