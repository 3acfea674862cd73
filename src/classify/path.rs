//! Lexical paths: what a word names, without asking the file system.
//!
//! Danger: links are not followed here. A subject names what the text says, for messages, interrupts and rules; the jail
//! judges the real file.

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The tracked working directory; none once a `cd` could not be followed.
    pub cwd: Option<String>,
    /// HOME, for `~`.
    pub home: String,
}

impl Place {
    /// `text` as an absolute path without `.`, `..` and doubled slashes; none when the working directory is unknown.
    pub fn resolve(&self, text: &str) -> Option<String> {
        let expanded = match text.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => format!("{}{rest}", self.home),
            _ => text.to_owned(),
        };
        if expanded.starts_with('/') {
            return Some(normalise("", &expanded));
        }
        self.cwd.as_deref().map(|cwd| normalise(cwd, &expanded))
    }

    /// The place after `cd text`.
    #[must_use]
    pub fn moved(&self, text: Option<&str>) -> Self {
        Self { cwd: text.and_then(|text| self.resolve(text)), home: self.home.clone() }
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
        let place = Place { cwd: Some("/w/src".into()), home: "/home/u".into() };
        for (text, path) in [
            ("a", "/w/src/a"),
            ("../a//b/./c", "/w/a/b/c"),
            ("/../x", "/x"),
            ("~/y", "/home/u/y"),
            ("~", "/home/u"),
            ("*.rs", "/w/src/*.rs"),
            ("../../..", "/"),
        ] {
            assert_eq!(place.resolve(text).as_deref(), Some(path));
        }
        assert_eq!(place.moved(None).resolve("a"), None);
        assert_eq!(place.moved(None).resolve("/a").as_deref(), Some("/a"));
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
