//! The values a profile is written in: places, names, sizes and durations, each checked while it is read, so that
//! the error carries the line.
//!
//! Danger: a place that silently means something else than its author thinks shows or hides the wrong files. What
//! cannot be enforced (`*` in the middle of a path, `..`) is refused here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Where the relative part of a [`Place`] begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    Filesystem,
    Home,
    Workspace,
    Variable { name: String, otherwise: Box<Place> },
}

/// A place on the host: `/abs`, `~/x`, `./x` (workspace) or `${VAR:-fallback}/x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: Root,
    rest: String,
}

/// What a [`Place`] is resolved against.
#[derive(Debug, Clone, Copy)]
pub struct Anchors<'a> {
    /// The caller's HOME.
    pub home: &'a Path,
    /// The workspace.
    pub workspace: &'a Path,
    /// The caller's environment.
    pub env: &'a [(OsString, OsString)],
}

impl Anchors<'_> {
    /// A variable of the caller's environment.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }
}

impl std::fmt::Display for Place {
    /// As it is written in a profile.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.rest.is_empty() { "" } else { "/" };
        match &self.root {
            Root::Filesystem => write!(f, "/{}", self.rest),
            Root::Home => write!(f, "~{slash}{}", self.rest),
            Root::Workspace => write!(f, "./{}", self.rest),
            Root::Variable { name, otherwise } => write!(f, "${{{name}:-{otherwise}}}{slash}{}", self.rest),
        }
    }
}

impl Place {
    /// Reads a place as written in a profile.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("a place holds no NUL byte".to_owned());
        }
        if let Some(variable) = text.strip_prefix("${") {
            return Self::parse_variable(text, variable);
        }
        let (root, rest) = if text == "~" {
            (Root::Home, "")
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Root::Home, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Root::Workspace, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Root::Filesystem, rest)
        } else {
            return Err(format!("`{text}` is no place: begin with `/`, `~/`, `./` or `${{VAR:-fallback}}`"));
        };
        Self::new(root, rest)
    }

    fn parse_variable(text: &str, inner: &str) -> Result<Self, String> {
        let mut depth = 1_usize;
        let close = inner.char_indices().find_map(|(at, letter)| {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at)
        });
        let Some(close) = close else { return Err(format!("`{text}`: `${{` is not closed")) };
        let (name, otherwise) = inner[..close]
            .split_once(":-")
            .ok_or_else(|| format!("`{text}`: write `${{VAR:-fallback}}`; a variable alone may be unset"))?;
        if !is_variable_name(name) {
            return Err(format!("`{text}`: `{name}` is no variable name"));
        }
        let otherwise = Box::new(Self::parse(otherwise)?);
        let rest = inner[close + 1..].strip_prefix('/').unwrap_or(&inner[close + 1..]);
        if !inner[close + 1..].is_empty() && !inner[close + 1..].starts_with('/') {
            return Err(format!("`{text}`: a `/` must follow the variable"));
        }
        Self::new(Root::Variable { name: name.to_owned(), otherwise }, rest)
    }

    fn new(root: Root, rest: &str) -> Result<Self, String> {
        let rest = rest.trim_end_matches('/');
        // A hundred places are read at every start, and next to none has anything to check.
        let special = rest.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        if !special && !rest.as_bytes().windows(2).any(|pair| pair == b"..") {
            return Ok(Self { root, rest: rest.to_owned() });
        }
        let (mut name_at, mut star_before) = (0, false);
        let mut star = false;
        for (at, byte) in rest.bytes().chain([b'/']).enumerate() {
            match byte {
                b'/' if rest.get(name_at..at) == Some("..") => {
                    return Err(format!("`{rest}`: `..` cannot be held by a mount; write the real path"));
                }
                b'/' => {
                    name_at = at + 1;
                    star_before |= star && at < rest.len();
                }
                b'*' => star = true,
                b'?' | b'[' => star_before = true,
                _ => {}
            }
        }
        if star_before {
            return Err(format!("`{rest}`: only `*`, and only in the last name, can be enforced"));
        }
        Ok(Self { root, rest: rest.to_owned() })
    }

    /// The absolute path on this host; the last name may still hold a `*`. `None` when it would show everything (a
    /// variable that says `/`, HOME itself or an ancestor of it).
    pub fn resolve(&self, anchors: &Anchors<'_>) -> Option<PathBuf> {
        let mut path = match &self.root {
            Root::Filesystem => PathBuf::from("/"),
            Root::Home => anchors.home.to_owned(),
            Root::Workspace => anchors.workspace.to_owned(),
            Root::Variable { name, otherwise } => match anchors.variable(name).map(Path::new) {
                Some(value) if value.is_absolute() && is_plain(value) => {
                    if anchors.home.starts_with(value) {
                        return None;
                    }
                    // Without doubled slashes, so that bytes can be compared.
                    value.components().collect()
                }
                Some(_) | None => otherwise.resolve(anchors)?,
            },
        };
        if !self.rest.is_empty() {
            path.push(&self.rest);
        }
        Some(path)
    }

    /// Whether the last name is a pattern.
    pub fn is_pattern(&self) -> bool {
        self.rest.contains('*')
    }
}

/// No `..` in it: `starts_with` then means what it says.
fn is_plain(path: &Path) -> bool {
    !path.components().any(|component| matches!(component, Component::ParentDir))
}

/// Whether `path` is `place` or lies below it, by bytes: both are plain absolute paths, and `Path::starts_with` takes
/// components apart each time, which at every start is a third of a millisecond.
pub fn lies_in(path: &Path, place: &Path) -> bool {
    let (path, place) = (path.as_os_str().as_bytes(), place.as_os_str().as_bytes());
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || place == b"/")
}

/// Whether `name` can be the name of an environment variable of a shell.
pub fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A variable name, or one with a `*` in it: what stands before and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariablePattern {
    start: String,
    end: Option<String>,
}

impl VariablePattern {
    fn parse(text: &str) -> Result<Self, String> {
        let (start, end) = match text.split_once('*') {
            Some((start, end)) => (start, Some(end)),
            None => (text, None),
        };
        let tail = end.is_none_or(|end| end.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        if is_variable_name(start) && tail {
            return Ok(Self { start: start.to_owned(), end: end.map(str::to_owned) });
        }
        Err(format!("`{text}` is no variable name; one `*` may stand after its beginning"))
    }

    /// Whether it names more than one variable.
    pub const fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Whether it names `name`. Asked for each variable of the caller against each pattern, at every start.
    pub fn matches(&self, name: &OsStr) -> bool {
        let (name, start) = (name.as_bytes(), self.start.as_bytes());
        // Nearly all differ at once, and a call to compare them costs more.
        if name.first() != start.first() {
            return false;
        }
        match (name.strip_prefix(start), &self.end) {
            (None, _) => false,
            (Some(rest), None) => rest.is_empty(),
            (Some(rest), Some(end)) => rest.ends_with(end.as_bytes()),
        }
    }
}

/// A relative path below the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Below(pub PathBuf);

impl Below {
    /// Reads a path below the workspace.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text.strip_prefix("./").unwrap_or(text));
        let plain = path.components().all(|component| matches!(component, Component::Normal(_)));
        if text.is_empty() || !plain || text.contains(['*', '?', '[', '\0']) {
            return Err(format!(
                "`{text}` is no path below the workspace: no leading `/`, no `..`, no pattern"
            ));
        }
        Ok(Self(path.to_owned()))
    }
}

/// Bytes: `512`, `64KiB`, `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// A span of time: `90s`, `10m`, `1h30m`, `500ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan(pub Duration);

impl TimeSpan {
    /// Reads `90s`, `10m`, `1h30m`, `500ms`; a bare number is seconds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no span of time; write `90s`, `10m`, `1h30m` or `500ms`");
        let mut rest = text.trim();
        if let Ok(seconds) = rest.parse::<f64>() {
            let span = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
            return if span.is_zero() { Err(wrong()) } else { Ok(Self(span)) };
        }
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
            let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = &rest[digits..];
            let unit = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
            let part = match &rest[..unit] {
                "ms" => Some(Duration::from_millis(number)),
                "s" => Some(Duration::from_secs(number)),
                "m" => number.checked_mul(60).map(Duration::from_secs),
                "h" => number.checked_mul(3600).map(Duration::from_secs),
                "d" => number.checked_mul(86400).map(Duration::from_secs),
                _ => None,
            };
            total = part.and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
            rest = &rest[unit..];
        }
        if total.is_zero() { Err(wrong()) } else { Ok(Self(total)) }
    }
}

impl Size {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size; write a number of bytes, or `64KiB`, `512MiB`, `2GiB`");
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
        let shift = match text[digits..].trim() {
            "" | "B" => 0,
            "KiB" | "K" => 10,
            "MiB" | "M" => 20,
            "GiB" | "G" => 30,
            "TiB" | "T" => 40,
            _ => return Err(wrong()),
        };
        number.checked_mul(1 << shift).map(Self).ok_or_else(wrong)
    }
}

/// Reads a string and checks it inside the visitor, so that the reader's error carries the place of this very value.
pub(super) fn checked<'de, D: Deserializer<'de>, T>(
    input: D,
    check: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    struct Checked<T>(fn(&str) -> Result<T, String>);
    impl<T> Visitor<'_> for Checked<T> {
        type Value = T;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("text")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            (self.0)(&number.to_string()).map_err(E::custom)
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            (self.0)(&number.to_string()).map_err(E::custom)
        }
    }
    input.deserialize_any(Checked(check))
}

/// [`Deserialize`] by a checking function.
macro_rules! checked_text {
    ($($kind:ty),*) => {$(
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                checked(input, Self::parse)
            }
        }
    )*};
}
checked_text!(Place, VariablePattern, Below, Size, TimeSpan);

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, env: &[(&str, &str)]) -> Option<PathBuf> {
        let env: Vec<(OsString, OsString)> =
            env.iter().map(|(key, value)| (OsString::from(key), OsString::from(value))).collect();
        let anchors = Anchors { home: Path::new("/home/u"), workspace: Path::new("/w"), env: &env };
        Place::parse(text).unwrap().resolve(&anchors)
    }

    #[test]
    fn places_resolve() {
        assert_eq!(resolve("/etc/", &[]), Some("/etc".into()));
        assert_eq!(resolve("~/.cargo/bin", &[]), Some("/home/u/.cargo/bin".into()));
        assert_eq!(resolve("./.env", &[]), Some("/w/.env".into()));
        assert_eq!(resolve("${CARGO_HOME:-~/.cargo}/bin", &[]), Some("/home/u/.cargo/bin".into()));
        assert_eq!(resolve("${CARGO_HOME:-~/.cargo}/bin", &[("CARGO_HOME", "/c")]), Some("/c/bin".into()));
        assert_eq!(resolve("${A:-${B:-/b}/x}/y", &[]), Some("/b/x/y".into()));
        assert_eq!(resolve("${A:-${B:-/b}/x}/y", &[("B", "/bb")]), Some("/bb/x/y".into()));
    }

    #[test]
    fn a_variable_never_shows_home_or_the_root() {
        assert_eq!(resolve("${GOROOT:-/g}", &[("GOROOT", "/")]), None);
        assert_eq!(resolve("${GOROOT:-/g}", &[("GOROOT", "/home")]), None);
        assert_eq!(resolve("${GOROOT:-/g}", &[("GOROOT", "/home/u")]), None);
        assert_eq!(resolve("${GOROOT:-/g}", &[("GOROOT", "relative")]), Some("/g".into()));
        assert_eq!(resolve("${GOROOT:-/g}", &[("GOROOT", "/x/../home/u")]), Some("/g".into()));
    }

    #[test]
    fn a_name_that_begins_alike_lies_elsewhere() {
        for (path, place, expected) in [
            ("/usr/bin", "/usr", true),
            ("/usr", "/usr", true),
            ("/usrx", "/usr", false),
            ("/us", "/usr", false),
            ("/usr", "/", true),
            ("/", "/", true),
        ] {
            assert_eq!(lies_in(Path::new(path), Path::new(place)), expected, "{path} {place}");
        }
    }

    #[test]
    fn what_cannot_be_enforced_is_refused() {
        for text in
            ["etc", "", "~root/x", "/a/*/b", "/a/../b", "/a/?", "${A}/x", "${A:-/x", "${A:-/x}y", "${1:-/x}"]
        {
            assert!(Place::parse(text).is_err(), "{text}");
        }
        assert!(Place::parse("/etc/ssh/ssh_host_*_key").unwrap().is_pattern());
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!(Size::parse("2GiB"), Ok(Size(2 << 30)));
        assert_eq!(Size::parse("64"), Ok(Size(64)));
        assert!(Size::parse("2GB").is_err());
        assert!(Size::parse("99999999TiB").is_err());
        assert_eq!(TimeSpan::parse("1h30m").unwrap().0, Duration::from_secs(5400));
        assert_eq!(TimeSpan::parse("500ms").unwrap().0, Duration::from_millis(500));
        assert_eq!(TimeSpan::parse("2.5").unwrap().0, Duration::from_millis(2500));
        for text in ["", "m", "5x", "-1", "0", "0s", "nan", "inf", "99999999999999999999s"] {
            assert!(TimeSpan::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn variable_patterns() {
        let pattern: VariablePattern = serde_json::from_str("\"MISE_*_TOKEN\"").unwrap();
        assert!(pattern.matches(OsStr::new("MISE_X_TOKEN")));
        assert!(!pattern.matches(OsStr::new("MISE_TOKEN")));
        assert!(!pattern.matches(OsStr::new("MISE_X")));
        assert!(serde_json::from_str::<VariablePattern>("\"*\"").is_err());
        assert!(serde_json::from_str::<VariablePattern>("\"A=B\"").is_err());
    }
}
