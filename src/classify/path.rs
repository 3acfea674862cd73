//! Lexical paths: what a word names, without asking the file system.
//!
//! Danger: links are not followed here. A subject names what the text says, for messages, interrupts and rules; the jail
//! judges the real file.

/// Directories that a command may stand in, before there are so many that it may be any.
const MOST: usize = 4;

/// Where a command stands: in one of some directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it may stand, the likeliest first.
    known: Vec<String>,
    /// It may stand elsewhere too: a `cd` could not be followed.
    elsewhere: bool,
    /// HOME, for `~`.
    pub home: String,
    /// Names that lead elsewhere: the name, and where it leads.
    names: Vec<(String, String)>,
}

impl Place {
    /// One directory.
    pub fn at(directory: &str, home: &str) -> Self {
        Self { known: vec![directory.to_owned()], elsewhere: false, home: home.to_owned(), names: Vec::new() }
    }

    /// Any directory.
    pub fn unknown(home: &str) -> Self {
        Self { known: Vec::new(), elsewhere: true, home: home.to_owned(), names: Vec::new() }
    }

    /// Where these names lead elsewhere, the earlier ones first.
    #[must_use]
    pub fn with_names(mut self, names: &[(String, String)]) -> Self {
        self.names = names.to_vec();
        self
    }

    /// Any directory, with the names of this one.
    #[must_use]
    pub fn lost(&self) -> Self {
        Self::unknown(&self.home).with_names(&self.names)
    }

    /// A plain path with what its beginning leads to.
    fn led(&self, mut path: String) -> String {
        for (name, real) in &self.names {
            let rest = path.strip_prefix(name.as_str());
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                path = [real, rest].concat();
            }
        }
        path
    }

    /// The directories, and whether it may be another one.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (&[String], bool) {
        (&self.known, self.elsewhere)
    }

    /// What `text` names, as absolute paths without `.`, `..` and doubled slashes; none where that is not known.
    pub fn each(&self, text: &str, mut named: impl FnMut(Option<String>)) {
        if let Some(path) = self.fixed(text) {
            return named(Some(path));
        }
        for directory in &self.known {
            named(Some(self.led(normalise(directory, text))));
        }
        if self.elsewhere {
            named(None);
        }
    }

    /// `text` as an absolute path, where it is the same from everywhere.
    pub fn fixed(&self, text: &str) -> Option<String> {
        match text.strip_prefix('~') {
            Some("") => Some(normalise("", &self.home)),
            Some(rest) if rest.starts_with('/') => Some(self.led(normalise(&self.home, rest))),
            _ => text.starts_with('/').then(|| self.led(normalise("", text))),
        }
    }

    /// The place after `cd text` that worked; none: nobody knows where to.
    #[must_use]
    pub fn moved(&self, text: Option<&str>) -> Self {
        let mut place = Self { elsewhere: text.is_none(), ..self.lost() };
        self.each(text.unwrap_or("/"), |directory| match directory {
            Some(directory) if text.is_some() => place.add(directory),
            _ => place.elsewhere = true,
        });
        place
    }

    /// Also the directories of another.
    pub fn join(&mut self, other: &Self) {
        self.elsewhere |= other.elsewhere;
        for directory in &other.known {
            self.add(directory.clone());
        }
    }

    fn add(&mut self, directory: String) {
        if self.known.contains(&directory) {
            return;
        }
        if self.known.len() < MOST {
            self.known.push(directory);
        } else {
            self.elsewhere = true;
        }
    }
}

fn normalise(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let mut whole = String::with_capacity(base.len() + path.len() + 1);
    for part in parts {
        whole.push('/');
        whole.push_str(part);
    }
    if whole.is_empty() {
        whole.push('/');
    }
    whole
}

/// A stream of the process itself or a bottomless device: neither read nor written as a file.
pub fn is_stream(path: &str) -> bool {
    matches!(
        path,
        "-" | "/dev/null"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/full"
            | "/dev/random"
            | "/dev/urandom"
            | "/dev/ptmx"
    ) || path.strip_prefix("/dev/fd/").is_some_and(is_digits)
        || path.strip_prefix("/proc/self/fd/").is_some_and(is_digits)
}

/// A device other than the streams: writing to it wipes what it stands for.
pub fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
        && !path.starts_with("/dev/shm/")
        && path != "/dev/shm"
        && !path.starts_with("/dev/pts/")
        && !is_stream(path)
}

/// `/dev/tcp/HOST/PORT` and `/dev/udp/…` in a redirect: the host.
pub fn network_device(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    Some(rest.split('/').next().unwrap_or(""))
}

/// The host of `host`, `user@host`, `host:port`, `scheme://user@host:port/path`.
pub fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or("");
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if let Some(inner) = rest.strip_prefix('[') {
        return inner.split(']').next().unwrap_or("");
    }
    match rest.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => rest,
    }
}

/// Whether a copy's operand names another machine: `host:path`, `user@host:path`, `scheme://…`.
pub fn is_remote(text: &str) -> bool {
    if text.contains("://") {
        return true;
    }
    match text.find(':') {
        Some(0) | None => false,
        Some(at) => !text[..at].contains('/'),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_lexically() {
        let place = Place::at("/w/src", "/home/u");
        let names = |place: &Place, text: &str| {
            let mut found = Vec::new();
            place.each(text, |path| found.push(path.unwrap_or_default()));
            found.join(" ")
        };
        for (text, path) in [
            ("a", "/w/src/a"),
            ("../a//b/./c", "/w/a/b/c"),
            ("/../x", "/x"),
            ("~/y", "/home/u/y"),
            ("~", "/home/u"),
            ("*.rs", "/w/src/*.rs"),
            ("../../..", "/"),
        ] {
            assert_eq!(names(&place, text), path);
        }
        assert_eq!(names(&place.moved(None), "a"), "");
        assert_eq!(names(&place.moved(None), "/a"), "/a");
        let mut several = place.moved(Some("../x"));
        several.join(&place);
        several.join(&place);
        assert_eq!(names(&several, "a"), "/w/x/a /w/src/a");
        assert_eq!(names(&several.moved(Some("..")), "a"), "/w/a");
        for name in ["b", "c", "d"] {
            several.join(&place.moved(Some(name)));
        }
        assert_eq!(
            several.parts(),
            (&["/w/x", "/w/src", "/w/src/b", "/w/src/c"].map(str::to_owned)[..], true)
        );
    }

    #[test]
    fn hosts_and_streams() {
        for (text, host) in [
            ("u@h:p", "h"),
            ("https://u:p@h.x:80/a?b", "h.x"),
            ("h", "h"),
            ("http://[::1]:80/", "::1"),
            ("localhost:8080", "localhost"),
        ] {
            assert_eq!(host_of(text), host);
        }
        assert!(is_remote("h:p") && is_remote("rsync://h/m") && !is_remote("./a:b") && !is_remote("a"));
        assert!(
            is_stream("/dev/fd/3")
                && !is_stream("/dev/fd/x")
                && is_device("/dev/sda")
                && !is_device("/dev/null")
        );
    }
}
