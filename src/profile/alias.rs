//! Names by which a caller speaks of the workspace or of HOME where a symbolic link leads there: `/srv/lnk/proj` for
//! `/srv/real/proj`.
//!
//! Danger: who calls chooses these names, and an agent can make links. A name decides nothing: what a command may see and
//! do hangs on the real path alone, and inside a name is a link to that and to nothing beside it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::value::lies_in;

/// A name that leads to a real directory. Both are absolute and plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: PathBuf,
    /// The directory, without links.
    pub real: PathBuf,
}

/// The names of one call, in the order in which they are looked up: a later one may lie behind an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aliases(Vec<Alias>);

impl Aliases {
    /// Also `name`, which leads to `real`, unless the others say so already.
    pub fn add(&mut self, name: &Path, real: &Path) {
        let name = self.real(name).into_owned();
        if name.as_os_str() != real.as_os_str() && name.parent().is_some() {
            self.0.push(Alias { name, real: real.to_owned() });
        }
    }

    /// All of them.
    pub fn all(&self) -> &[Alias] {
        &self.0
    }

    /// `path` by the real directory's name, where it lies behind one of them.
    pub fn real<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let mut path = Cow::Borrowed(path);
        for alias in &self.0 {
            if let Some(moved) = moved(&path, &alias.name, &alias.real) {
                path = Cow::Owned(moved);
            }
        }
        path
    }

    /// A variable's value, a path or a list of paths, by real names; none where nothing of it lies behind one of them.
    pub fn value(&self, value: &OsStr) -> Option<OsString> {
        if self.0.is_empty() {
            return None;
        }
        let parts: Vec<_> = value
            .as_bytes()
            .split(|byte| *byte == b':')
            .map(|part| self.real(Path::new(OsStr::from_bytes(part))))
            .collect();
        if parts.iter().all(|part| matches!(part, Cow::Borrowed(_))) {
            return None;
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_os_str().as_bytes()).collect();
        Some(OsString::from_vec(parts.join(&b':')))
    }
}

/// `path`, which lies in `from`, as it is named from `to` on; none where it does not lie there.
pub fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    if !lies_in(path, from) {
        return None;
    }
    let rest = path.strip_prefix(from).ok()?;
    Some(if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) })
}

/// `path` as a name that can be compared by its bytes: absolute, without doubled slashes and dots. None for a relative
/// one, and with `..`, which leads elsewhere behind a link than its text says.
pub fn plain(path: &Path) -> Option<PathBuf> {
    let fits = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    fits.then(|| path.components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(pairs: &[(&str, &str)]) -> Aliases {
        let mut all = Aliases::default();
        for (name, real) in pairs {
            all.add(Path::new(name), Path::new(real));
        }
        all
    }

    #[test]
    fn what_lies_behind_a_name_is_the_real_directorys() {
        let all = aliases(&[("/home/u", "/var/home/u"), ("/home/u/p", "/data/p"), ("/srv/l", "/srv/r")]);
        for (path, real) in [
            ("/srv/l", "/srv/r"),
            ("/srv/l/a/b", "/srv/r/a/b"),
            ("/srv/lx", "/srv/lx"),
            ("/srv", "/srv"),
            ("/home/u/x", "/var/home/u/x"),
            ("/home/u/p/x", "/data/p/x"),
            ("/var/home/u/p/x", "/data/p/x"),
            ("relative", "relative"),
            ("", ""),
        ] {
            assert_eq!(all.real(Path::new(path)), Path::new(real), "{path}");
        }
        // What another one gives, and what is real itself, is none.
        assert_eq!(aliases(&[("/home/u", "/v/u"), ("/home/u/w", "/v/u/w")]).all().len(), 1);
        assert_eq!(aliases(&[("/w", "/w"), ("/", "/w")]).all().len(), 0);
    }

    #[test]
    fn lists_of_paths_are_taken_apart() {
        let all = aliases(&[("/l", "/r")]);
        for (value, expected) in [
            ("/l/bin:/usr/bin:/l:", Some("/r/bin:/usr/bin:/r:")),
            ("/l", Some("/r")),
            ("/usr/bin:/lx/bin", None),
            ("", None),
            ("file:///l", None),
        ] {
            assert_eq!(all.value(OsStr::new(value)).as_deref(), expected.map(OsStr::new), "{value}");
        }
        assert_eq!(Aliases::default().value(OsStr::new("/l")), None);
    }

    #[test]
    fn names_are_plain_or_none() {
        for (path, expected) in [
            ("/a//b/./c/", Some("/a/b/c")),
            ("/a/b", Some("/a/b")),
            ("/a/../b", None),
            ("a/b", None),
            ("", None),
        ] {
            assert_eq!(plain(Path::new(path)).as_deref(), expected.map(Path::new), "{path}");
        }
    }
}
