//! Typed reading of a JSON tree: a wrong type or an unknown key becomes a finding, and reading goes on.
//!
//! Danger: a misspelt restricting key (`alowed_tools`) that is merely ignored would widen the law; it is an error.

use indexmap::IndexMap;

use super::finding::Finding;
use super::format::Key;
use super::span::{Kind, Member, Node, Path};

/// Keys whose silent loss would widen what a state allows.
const RESTRICTING: [&str; 12] = [
    "allowed_tools",
    "disallowed_tools",
    "allowed_commands",
    "blocked_env",
    "requires_approval",
    "guard",
    "guards",
    "evidence",
    "max_files_per_state",
    "max_edit_lines",
    "rules",
    "protect",
];

/// Keys that anybody may write anywhere: they are for people and editors.
pub(super) const FREE: [&str; 9] =
    ["$schema", "$comment", "description", "comment", "name", "title", "version", "tags", "meta"];

/// Collects what is wrong while a tree is read.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Everything found so far.
    pub(super) findings: Vec<Finding>,
}

/// An object with the place it stands at.
#[derive(Debug, Clone)]
pub(super) struct Object<'n> {
    /// Its path.
    pub(super) path: Path,
    /// Its members.
    pub(super) members: &'n [Member],
}

impl<'n> Object<'n> {
    /// The value of `key`, where it is there and not `null`.
    pub(super) fn get(&self, key: &str) -> Option<(&'n Node, Path)> {
        let member = self.members.iter().rev().find(|member| member.key == key)?;
        (member.value.kind != Kind::Null).then(|| (&member.value, self.path.key(key)))
    }

    /// The first of several spellings that is there.
    pub(super) fn get_any(&self, keys: &[&str]) -> Option<(&'n Node, Path)> {
        keys.iter().find_map(|key| self.get(key))
    }
}

impl Reader {
    pub(super) fn error(&mut self, code: &'static str, path: &Path, message: impl Into<String>) {
        self.findings.push(Finding::error(code, path.clone(), message));
    }

    pub(super) fn wrong_type(&mut self, node: &Node, path: &Path, wanted: &str) {
        let found = match &node.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        };
        self.error("wrong_type", path, format!("expected {wanted}, found {found}"));
    }

    /// An object with any keys.
    pub(super) fn open_object<'n>(&mut self, node: &'n Node, path: &Path) -> Option<Object<'n>> {
        let Kind::Object(members) = &node.kind else {
            self.wrong_type(node, path, "an object");
            return None;
        };
        for (position, member) in members.iter().enumerate() {
            if members[..position].iter().any(|earlier| earlier.key == member.key) {
                let message = format!("the key {:?} is given twice", member.key);
                self.findings.push(
                    Finding::error("duplicate_key", path.key(&member.key), message)
                        .help("readers differ in which one they take; keep one"),
                );
            }
        }
        Some(Object { path: path.clone(), members })
    }

    /// An object that should have no other keys than those of the tables.
    pub(super) fn object<'n>(&mut self, node: &'n Node, path: &Path, known: &[&[Key]]) -> Option<Object<'n>> {
        let object = self.open_object(node, path)?;
        for member in object.members {
            let key = member.key.as_str();
            let mut names = known.iter().flat_map(|keys| keys.iter()).map(|one| one.name);
            if names.clone().any(|name| name == key)
                || FREE.contains(&key)
                || key.starts_with('_')
                || key.starts_with("x-")
            {
                continue;
            }
            let near = names.by_ref().filter(|name| distance(key, name) <= 2);
            let near = near.min_by_key(|name| distance(key, name));
            let at = path.key(key);
            self.findings.push(match near {
                Some(name) if RESTRICTING.contains(&name) => Finding::error(
                    "misspelt_key",
                    at,
                    format!("unknown key {key:?}; ignoring it could allow more than was meant"),
                )
                .help(format!("write `{name}`, or rename the key if something else is meant")),
                Some(name) => Finding::advice("unknown_key", at, format!("unknown key {key:?} is ignored"))
                    .help(format!("did you mean `{name}`?")),
                None => Finding::advice("unknown_key", at, format!("unknown key {key:?} is ignored"))
                    .help("free keys belong in `meta` or `context`, or start with `x-`"),
            });
        }
        Some(object)
    }

    pub(super) fn text(&mut self, node: &Node, path: &Path) -> Option<String> {
        match &node.kind {
            Kind::String(text) => Some(text.clone()),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Array(_) | Kind::Object(_) => {
                self.wrong_type(node, path, "a string");
                None
            }
        }
    }

    pub(super) fn string(&mut self, object: &Object<'_>, key: &str) -> Option<String> {
        let (node, path) = object.get(key)?;
        self.text(node, &path)
    }

    pub(super) fn required(&mut self, object: &Object<'_>, key: &str) -> Option<String> {
        if object.get(key).is_none() {
            self.error("missing_key", &object.path, format!("`{key}` is missing"));
        }
        self.string(object, key)
    }

    pub(super) fn flag(&mut self, object: &Object<'_>, key: &str) -> Option<bool> {
        let (node, path) = object.get(key)?;
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        self.wrong_type(node, &path, "true or false");
        None
    }

    pub(super) fn items<'n>(&mut self, node: &'n Node, path: &Path) -> &'n [Node] {
        if let Kind::Array(items) = &node.kind {
            return items;
        }
        self.wrong_type(node, path, "an array");
        &[]
    }

    pub(super) fn strings(&mut self, object: &Object<'_>, keys: &[&str]) -> Option<Vec<String>> {
        let (node, path) = object.get_any(keys)?;
        let items = self.items(node, &path);
        Some(items.iter().enumerate().filter_map(|(at, item)| self.text(item, &path.index(at))).collect())
    }

    /// A string or an array of strings.
    pub(super) fn one_or_many(&mut self, object: &Object<'_>, key: &str) -> Option<Vec<String>> {
        let (node, _) = object.get(key)?;
        if let Kind::String(text) = &node.kind {
            return Some(vec![text.clone()]);
        }
        self.strings(object, &[key])
    }

    pub(super) fn count<T: TryFrom<u64>>(&mut self, object: &Object<'_>, key: &str) -> Option<T> {
        let (node, path) = object.get(key)?;
        let number = match &node.kind {
            Kind::Number(number) => number.as_u64().and_then(|number| T::try_from(number).ok()),
            Kind::Null | Kind::Bool(_) | Kind::String(_) | Kind::Array(_) | Kind::Object(_) => {
                self.wrong_type(node, &path, "a whole number");
                return None;
            }
        };
        if number.is_none() {
            self.error("out_of_range", &path, "expected a whole number from 0 that fits this field");
        }
        number
    }

    /// A number in `base` units, or text with a unit from `units` (`"90s"`, `"512M"`).
    pub(super) fn quantity(
        &mut self,
        object: &Object<'_>,
        key: &str,
        units: &[(&str, u64)],
        base: u64,
    ) -> Option<u64> {
        let (node, path) = object.get(key)?;
        let value = match &node.kind {
            Kind::Number(number) => number.as_u64().and_then(|number| number.checked_mul(base)),
            Kind::String(text) => {
                let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                let (digits, unit) = text.split_at(split);
                let factor = units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| *factor);
                digits.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor))
            }
            Kind::Null | Kind::Bool(_) | Kind::Array(_) | Kind::Object(_) => None,
        };
        if value.is_none() {
            let names: Vec<_> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
            let message = format!("expected a whole number, or text like \"10{}\"", names[0]);
            self.findings.push(
                Finding::error("bad_quantity", path, message).help(format!("units: {}", names.join(", "))),
            );
        }
        value
    }

    /// One word out of a fixed list.
    pub(super) fn word<T: Copy>(&mut self, object: &Object<'_>, key: &str, words: &[(&str, T)]) -> Option<T> {
        let (node, path) = object.get(key)?;
        let text = self.text(node, &path)?;
        self.choose(&text, &path, words)
    }

    pub(super) fn choose<T: Copy>(&mut self, text: &str, path: &Path, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let list: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.error("unknown_value", path, format!("{text:?} is not one of {}", list.join(", ")));
        }
        found
    }

    /// An object read as a map, member by member.
    pub(super) fn map<T>(
        &mut self,
        object: &Object<'_>,
        keys: &[&str],
        mut each: impl FnMut(&mut Self, &Node, &Path) -> Option<T>,
    ) -> IndexMap<String, T> {
        let Some((node, path)) = object.get_any(keys) else { return IndexMap::new() };
        let Some(inner) = self.open_object(node, &path) else { return IndexMap::new() };
        let mut out = IndexMap::new();
        for member in inner.members {
            let at = path.key(&member.key);
            self.name(&member.key, &at);
            if let Some(value) = each(self, &member.value, &at) {
                out.insert(member.key.clone(), value);
            }
        }
        out
    }

    /// Names are shown to people: no control characters, not empty.
    fn name(&mut self, name: &str, path: &Path) {
        if name.is_empty() || is_unshowable(name) {
            self.error("odd_name", path, "a name must not be empty nor hold control or bidi characters");
        }
    }
}

/// Whether a terminal would act on part of a name instead of showing it.
pub(super) fn is_unshowable(name: &str) -> bool {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    name.chars().any(acts)
}

/// Levenshtein distance, for "did you mean".
pub(super) fn distance(left: &str, right: &str) -> usize {
    if left.len().abs_diff(right.len()) > 4 {
        return usize::MAX;
    }
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
