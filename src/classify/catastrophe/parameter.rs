//! `$name` and `${name…}`: the values that the text itself gave.

use super::expand::insert;
use super::mark;
use super::scan::Scanner;

impl Scanner<'_, '_> {
    /// What is known of a parameter.
    fn value(&self, name: &[u8]) -> Option<Vec<u8>> {
        if let Some(value) = self.state.variable(name) {
            return Some(value.to_vec());
        }
        let first = name.first().copied().unwrap_or(0);
        if first.is_ascii_digit() || first == b'@' || first == b'*' {
            return self.positional(name);
        }
        match name {
            b"HOME" => Some(vec![mark::HOME]),
            b"USER" | b"LOGNAME" | b"USERNAME" => Some(vec![mark::USER]),
            b"IFS" => Some(b" ".to_vec()),
            b"PWD" if !self.state.directory.is_empty() => Some(self.state.directory.clone()),
            b"SHELL" | b"BASH" => Some(b"/bin/bash".to_vec()),
            b"PATH" | b"PWD" | b"OLDPWD" => Some(vec![b'/', mark::UNKNOWN]),
            b"FUNCNAME" => {
                let function = self.state.current.and_then(|index| self.state.functions.get(index))?;
                Some(function.name.clone())
            }
            _ => None,
        }
    }

    fn positional(&self, name: &[u8]) -> Option<Vec<u8>> {
        let Some(words) = &self.state.positional else {
            // A line of `bash -c` has none: `$9` and `$@` are fillers there. `$1` may be a script's.
            let filler = matches!(name, b"@" | b"*" | [b'4'..=b'9']) && self.state.current.is_none();
            return filler.then(Vec::new);
        };
        match name {
            b"@" | b"*" => Some(words.join(&mark::SPLIT)),
            b"0" => None,
            _ => {
                let index = std::str::from_utf8(name).ok()?.parse::<usize>().ok()?;
                Some(words.get(index.checked_sub(1)?).cloned().unwrap_or_default())
            }
        }
    }

    pub(super) fn insert_variable(&mut self, name: &[u8], out: &mut Vec<u8>, quoted: bool) {
        match self.value(name) {
            Some(value) if name == b"@" || name == b"*" => insert(out, &value, quoted),
            Some(value) => insert(out, first_element(&value), quoted),
            None => out.push(if quoted { mark::UNKNOWN } else { mark::LOOSE }),
        }
    }

    /// `${…}`, behind the brace.
    pub(super) fn parameter(&mut self, out: &mut Vec<u8>, quoted: bool) {
        if self.state.depth >= super::MAX_DEPTH {
            self.pos = self.src.len();
            return;
        }
        self.state.depth += 1;
        self.braced_parameter(out, quoted);
        self.state.depth -= 1;
    }

    fn braced_parameter(&mut self, out: &mut Vec<u8>, quoted: bool) {
        let indirect = self.eat(b'!');
        let length = !indirect && self.peek() == Some(b'#') && self.src.get(self.pos + 1) != Some(&b'}');
        if length {
            self.pos += 1;
        }
        let mut name = self.name();
        if name.is_empty()
            && let Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) = self.peek()
        {
            self.pos += 1;
            name.push(byte);
        }
        let mut subscript = Vec::new();
        if self.eat(b'[') {
            self.until(b']', true, &mut subscript);
        }
        let mut operator = Vec::new();
        while let Some(byte @ (b':' | b'-' | b'=' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',' | b'@')) =
            self.peek()
        {
            let longer = match (operator.as_slice(), byte) {
                ([], _) => true,
                (b":", b'-' | b'=' | b'+' | b'?') => true,
                ([first], second) => *first == second && matches!(second, b'#' | b'%' | b'/' | b'^' | b','),
                _ => false,
            };
            if !longer {
                break;
            }
            operator.push(byte);
            self.pos += 1;
        }
        let mut word = Vec::new();
        self.until(b'}', quoted, &mut word);
        let mut value = self.value(&name);
        if indirect {
            value = value.and_then(|name| self.value(&name));
        }
        let all = matches!(subscript.as_slice(), b"@" | b"*") || matches!(name.as_slice(), b"@" | b"*");
        let value = value.map(|value| match subscript.as_slice() {
            _ if all => value,
            [] => first_element(&value).to_vec(),
            index => std::str::from_utf8(index)
                .ok()
                .and_then(|index| index.parse::<usize>().ok())
                .and_then(|index| value.split(|byte| *byte == mark::SPLIT).nth(index))
                .map_or_else(|| vec![mark::UNKNOWN], <[u8]>::to_vec),
        });
        if length {
            out.push(mark::UNKNOWN);
            return;
        }
        if operator == b"@" && word.starts_with(b"P") {
            // Prompt expansion runs the substitutions in the value.
            if let Some(text) = &value {
                let span = self.span(self.pos.saturating_sub(1), self.pos);
                self.substitutions(text, span);
            }
        }
        let known = value.as_ref().is_some_and(|value| !value.is_empty());
        match operator.as_slice() {
            b":-" | b"-" | b":=" | b"=" if !known => {
                insert(out, &word, quoted);
                if operator.ends_with(b"=") {
                    self.state.assign(&name, word);
                }
                return;
            }
            b":+" | b"+" => {
                if known {
                    insert(out, &word, quoted);
                }
                return;
            }
            _ => {}
        }
        match value.and_then(|value| operate(value, &operator, &word)) {
            Some(value) => insert(out, &value, quoted),
            None => out.push(if quoted { mark::UNKNOWN } else { mark::LOOSE }),
        }
    }

    /// Text up to an unquoted `close`, which is consumed; its substitutions run.
    fn until(&mut self, close: u8, quoted: bool, out: &mut Vec<u8>) {
        while let Some(byte) = self.peek() {
            match byte {
                _ if byte == close => {
                    self.pos += 1;
                    return;
                }
                b'\\' => {
                    out.extend(self.src.get(self.pos + 1));
                    self.pos = (self.pos + 2).min(self.src.len());
                }
                b'\'' if !quoted => {
                    let rest = self.src.get(self.pos + 1..).unwrap_or(b"");
                    let length = rest.iter().position(|byte| *byte == b'\'').unwrap_or(rest.len());
                    out.extend_from_slice(rest.get(..length).unwrap_or(b""));
                    self.pos = (self.pos + length + 2).min(self.src.len());
                }
                b'"' => {
                    self.double_quotes(out);
                    self.pos = self.pos.min(self.src.len());
                }
                b'$' => self.dollar(out, quoted),
                b'`' => {
                    let mut text = Vec::new();
                    self.backticks(&mut text, quoted);
                    out.extend(text);
                }
                b'~' if out.is_empty() => {
                    out.push(mark::TILDE);
                    self.pos += 1;
                }
                _ => {
                    out.push(byte);
                    self.pos += 1;
                }
            }
        }
    }
}

fn first_element(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == mark::SPLIT).next().unwrap_or(b"")
}

/// Applies an operator that changes a value; none when the result is not known.
fn operate(value: Vec<u8>, operator: &[u8], word: &[u8]) -> Option<Vec<u8>> {
    let plain_value = value.iter().all(u8::is_ascii);
    let plain_word = word.iter().all(|byte| byte.is_ascii() && !matches!(byte, b'*' | b'?' | b'['));
    match operator {
        b"" | b":?" | b"?" | b":-" | b"-" | b":=" | b"=" => Some(value),
        b":" => slice(&value, word),
        b"," | b",," if plain_value => Some(value.to_ascii_lowercase()),
        b"^" | b"^^" if plain_value => Some(value.to_ascii_uppercase()),
        b"@" if plain_value && word == b"L" => Some(value.to_ascii_lowercase()),
        b"@" if plain_value && word == b"U" => Some(value.to_ascii_uppercase()),
        b"@" if word == b"P" || word == b"Q" || word == b"E" => Some(value),
        b"%" | b"%%" if plain_word => Some(value.strip_suffix(word).unwrap_or(&value).to_vec()),
        b"#" | b"##" if plain_word => Some(value.strip_prefix(word).unwrap_or(&value).to_vec()),
        b"/" | b"//" if plain_word && plain_value => replace(&value, word, operator == b"//"),
        _ => None,
    }
}

/// `${x:offset:length}` with literal, non-negative numbers.
fn slice(value: &[u8], word: &[u8]) -> Option<Vec<u8>> {
    let mut numbers = std::str::from_utf8(word).ok()?.splitn(2, ':');
    let offset = numbers.next()?.trim().parse::<usize>().ok()?;
    let length = match numbers.next() {
        None => None,
        Some(text) => Some(text.trim().parse::<usize>().ok()?),
    };
    match (value.first(), offset, length) {
        (_, 0, None) => Some(value.to_vec()),
        // Every home directory begins with the root.
        (Some(&(mark::HOME | mark::TILDE)), 0, Some(1)) => Some(b"/".to_vec()),
        _ => {
            let end = length.map_or(value.len(), |length| offset.saturating_add(length)).min(value.len());
            let part = value.get(offset.min(end)..end)?;
            part.iter().all(u8::is_ascii).then(|| part.to_vec())
        }
    }
}

/// Literal replacement of the first or of all occurrences.
fn replace(value: &[u8], word: &[u8], all: bool) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(value).ok()?;
    let (from, to) =
        std::str::from_utf8(word).ok()?.split_once('/').unwrap_or((std::str::from_utf8(word).ok()?, ""));
    if from.is_empty() {
        return None;
    }
    Some(if all { text.replace(from, to) } else { text.replacen(from, to, 1) }.into_bytes())
}
