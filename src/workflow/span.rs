//! JSON text to a tree that remembers where each key and value stands.
//!
//! Duty: every later problem, however semantic, can name line and column. Danger: a reader that takes more or other
//! texts for JSON than the rest of the world would show a person one law and enforce another; `serde_json` is the
//! oracle in the tests. Duplicate keys are kept, so that the caller can refuse them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Nesting beyond which a document is refused.
pub const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// The six kinds of JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, kept exactly where it is an integer.
    Number(serde_json::Number),
    /// A string, escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object: its members in source order, duplicates included.
    Object(Vec<Member>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key, escapes resolved.
    pub key: String,
    /// The key's bytes, quotes included.
    pub key_range: Range<usize>,
    /// The value.
    pub value: Node,
}

/// Where the text stops being JSON, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Byte offset.
    pub at: usize,
    /// What was expected or found.
    pub message: &'static str,
    /// Whether it is the depth cap and not the syntax.
    pub too_deep: bool,
}

/// One step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into an object.
    Key(String),
    /// Into an array.
    Index(usize),
}

/// A path from the root of a document, shown as `states.planning.on.DONE` or `guards["a.b"][0]`. A longer path shares
/// its beginning: one is made for each key that is read, and hardly any is ever shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Path(Option<Arc<Link>>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Link {
    before: Path,
    step: Step,
}

impl Path {
    /// The root.
    pub const fn root() -> Self {
        Self(None)
    }

    /// One step further.
    #[must_use]
    pub fn step(&self, step: Step) -> Self {
        Self(Some(Arc::new(Link { before: self.clone(), step })))
    }

    /// One key further.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    /// One index further.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    /// The path `outer` with this one behind it.
    #[must_use]
    pub fn under(&self, outer: &Self) -> Self {
        self.steps().into_iter().fold(outer.clone(), |path, step| path.step(step.clone()))
    }

    /// Its steps from the root on.
    fn steps(&self) -> Vec<&Step> {
        let mut steps = Vec::new();
        let mut rest = &self.0;
        while let Some(link) = rest {
            steps.push(&link.step);
            rest = &link.before.0;
        }
        steps.reverse();
        steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps().into_iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    write!(f, "{}{key}", if position == 0 { "" } else { "." })?;
                }
                Step::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

impl Node {
    /// The member `key` of an object (the last one, as JSON readers do).
    pub fn get(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|member| member.key == key),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Array(_) => None,
        }
    }

    /// The bytes a path leads to (the key of a member, else the value) and how much of the path exists.
    pub fn locate(&self, path: &Path) -> (Range<usize>, Path) {
        let mut node = self;
        let mut range = self.range.start..self.range.start;
        let mut found = Path::root();
        for step in path.steps() {
            let next = match step {
                Step::Key(key) => node.get(key).map(|member| (&member.value, member.key_range.clone())),
                Step::Index(index) => match &node.kind {
                    Kind::Array(items) => items.get(*index).map(|item| (item, item.range.clone())),
                    Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Object(_) => None,
                },
            };
            let Some((value, place)) = next else { break };
            (node, range) = (value, place);
            found = found.step(step.clone());
        }
        (range, found)
    }

    /// The same value without places.
    pub fn to_value(&self) -> serde_json::Value {
        match &self.kind {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(value) => serde_json::Value::Bool(*value),
            Kind::Number(number) => serde_json::Value::Number(number.clone()),
            Kind::String(text) => serde_json::Value::String(text.clone()),
            Kind::Array(items) => items.iter().map(Self::to_value).collect(),
            Kind::Object(members) => {
                members.iter().map(|member| (member.key.clone(), member.value.to_value())).collect()
            }
        }
    }
}

/// Line and column, both from 1, the column in characters, of a byte offset.
pub fn line_column(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Reads a whole document.
///
/// # Errors
/// The first place where the text is not JSON (RFC 8259), or nests deeper than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.fault("text after the end of the document"));
    }
    Ok(node)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, message: &'static str) -> Fault {
        Fault { at: self.at, message, too_deep: false }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault { at: self.at, message: "nests too deeply", too_deep: true });
        }
        self.blanks();
        let start = self.at;
        let kind = match self.peek() {
            None => return Err(self.fault("the document ends where a value should stand")),
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
        };
        Ok(Node { range: start..self.at, kind })
    }

    fn word(&mut self) -> Result<Kind, Fault> {
        for (word, kind) in [("null", Kind::Null), ("true", Kind::Bool(true)), ("false", Kind::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(self.fault("expected a value"))
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Fault> {
        self.at += 1;
        let mut members = Vec::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Kind::Object(members));
        }
        loop {
            self.blanks();
            let start = self.at;
            if self.peek() != Some(b'"') {
                let comma = members.is_empty();
                return Err(self.fault(if comma {
                    "expected a key in double quotes or `}`"
                } else {
                    "expected a key in double quotes after the comma"
                }));
            }
            let key = self.string()?;
            let key_range = start..self.at;
            self.blanks();
            if !self.take(b':') {
                return Err(self.fault("expected `:` after the key"));
            }
            let value = self.value(depth + 1)?;
            members.push(Member { key, key_range, value });
            self.blanks();
            if self.take(b'}') {
                return Ok(Kind::Object(members));
            }
            if !self.take(b',') {
                return Err(self.fault("expected `,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Kind::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(b']') {
                return Ok(Kind::Array(items));
            }
            if !self.take(b',') {
                return Err(self.fault("expected `,` or `]`"));
            }
        }
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.fault("expected a digit"));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.fault("expected a digit after the point"));
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            if self.digits() == 0 {
                return Err(self.fault("expected a digit in the exponent"));
            }
        }
        match serde_json::from_str(&self.text[start..self.at]) {
            Ok(number) => Ok(Kind::Number(number)),
            Err(_) => Err(Fault { at: start, message: "number out of range", too_deep: false }),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<String, Fault> {
        let opening = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.text[plain..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.fault("a control character in a string must be escaped")),
                None => {
                    return Err(Fault { at: opening, message: "this string never ends", too_deep: false });
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        self.at += 1;
        let escaped = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            Some(_) | None => return Err(self.fault("unknown escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let start = self.at - 1;
        let lone = Fault { at: start, message: "lone surrogate in a `\\u` escape", too_deep: false };
        let high = self.hex4()?;
        if !(0xd800..0xe000).contains(&high) {
            return char::from_u32(high).ok_or(lone);
        }
        if high >= 0xdc00 || !self.take(b'\\') || self.peek() != Some(b'u') {
            return Err(lone);
        }
        let low = self.hex4()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or(lone)
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        self.at += 1;
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|text| u32::from_str_radix(text, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => Err(self.fault("expected four hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_places() {
        let text = "{\n  \"a\": [1, {\"b\": \"é\"}],\n  \"x y\": null\n}";
        let node = parse(text).unwrap();
        let place = |path: &Path| line_column(text, node.locate(path).0.start);
        assert_eq!(place(&Path::root().key("a")), (2, 3));
        let inner = Path::root().key("a").index(1).key("b");
        assert_eq!((place(&inner), inner.to_string().as_str()), ((2, 13), "a[1].b"));
        assert_eq!(Path::root().key("x y").to_string(), "[\"x y\"]");
        assert_eq!(place(&Path::root().key("x y").key("gone")), (3, 3), "as far as the path exists");
    }

    #[test]
    fn faults_name_their_place() {
        for (text, at, part) in [
            ("", 0, "ends where a value"),
            ("{\"a\" 1}", 5, "`:`"),
            ("{\"a\": 1,}", 8, "after the comma"),
            ("[1 2]", 3, "`,` or `]`"),
            ("[1,]", 3, "expected a value"),
            ("{} x", 3, "after the end"),
            ("\"abc", 0, "never ends"),
            ("\"a\nb\"", 2, "control character"),
            ("\"\\x\"", 2, "unknown escape"),
            ("\"\\ud800\"", 1, "surrogate"),
            ("01", 1, "after the end"),
            ("1.", 2, "after the point"),
            ("1e999", 0, "out of range"),
            ("'a'", 0, "expected a value"),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!(fault.at, at, "{text}");
            assert!(fault.message.contains(part), "{text}: {}", fault.message);
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).unwrap_err().too_deep);
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn reads_what_serde_writes(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parse(&text).unwrap().to_value(), theirs);
        }

        #[test]
        fn accepts_what_serde_accepts(text in r#"[ \[\]{}:,"\\a-cu0-9eE.+tn-]{0,24}"#) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let ours = parse(&text);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
            if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
                prop_assert_eq!(ours.to_value(), theirs);
            }
        }
    }
}
