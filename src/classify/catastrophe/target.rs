//! Whether a path is the root or the home directory, by meaning.

use super::mark;

/// The shape that removing `path` in `directory` (empty: unknown) has, if it is one.
pub(super) fn shape(path: &[u8], directory: &[u8]) -> Option<&'static str> {
    let joined;
    let full = match path.first() {
        None => return None,
        Some(&(b'/' | mark::HOME | mark::TILDE)) => path,
        Some(_) if directory.is_empty() => return None,
        Some(_) => {
            joined = [directory, b"/", path].concat();
            &joined
        }
    };
    match full.first() {
        Some(b'/') => root(full),
        Some(&(mark::HOME | mark::TILDE)) => home(full),
        _ => None,
    }
}

fn root(path: &[u8]) -> Option<&'static str> {
    let mut parts = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        step(&mut parts, part)?;
    }
    let mut rest = parts.as_slice();
    if let [b"proc", process, link, tail @ ..] = rest {
        let own = *process == b"self" || *process == b"thread-self" || process.iter().all(u8::is_ascii_digit);
        if own && *link == b"root" {
            rest = tail;
        }
    }
    match rest {
        [] => Some("remove_root"),
        [b"home" | b"Users", user] if *user == [mark::USER] => Some("remove_home"),
        [b"home" | b"Users", user, tail @ ..] if *user == [mark::USER] && all_globs(tail) => {
            Some("remove_home")
        }
        parts if all_globs(parts) => Some("remove_root_glob"),
        _ => None,
    }
}

fn home(path: &[u8]) -> Option<&'static str> {
    let (name, rest) = match path.split_first() {
        Some((&mark::TILDE, rest)) => ("remove_tilde", rest),
        Some((_, rest)) => ("remove_home", rest),
        None => return None,
    };
    let mut pieces = rest.split(|byte| *byte == b'/');
    let attached = pieces.next().unwrap_or(b"");
    if !attached.is_empty() && !is_glob(attached) {
        return None;
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in pieces {
        if part == b".." && parts.is_empty() {
            continue;
        }
        step(&mut parts, part)?;
    }
    all_globs(&parts).then_some(name)
}

/// Takes one more component; none when the path is not known any more.
fn step<'p>(parts: &mut Vec<&'p [u8]>, part: &'p [u8]) -> Option<()> {
    match part {
        b"" | b"." => {}
        b".." => {
            let left = parts.pop();
            if left.is_some_and(|name| name.iter().any(|byte| matches!(*byte, mark::UNKNOWN | mark::LOOSE))) {
                return None;
            }
        }
        _ => parts.push(part),
    }
    Some(())
}

fn all_globs(parts: &[&[u8]]) -> bool {
    parts.iter().all(|part| is_glob(part))
}

/// Whether a component is a pattern with no name in it: `*`, `.*`, `?*`, `.[!.]*`, `[a-z]*`.
fn is_glob(part: &[u8]) -> bool {
    let mut active = false;
    let mut inside = false;
    for &byte in part {
        match byte {
            b']' if inside => inside = false,
            _ if inside => {}
            mark::SET => {
                inside = true;
                active = true;
            }
            mark::STAR | mark::ANY => active = true,
            b'.' => {}
            _ => return false,
        }
    }
    active && !inside
}

/// Whether a file-name pattern (or plain name) may be `name`.
pub(super) fn glob_matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((&mark::STAR, rest)), _) => {
            (0..=name.len()).any(|skip| glob_matches(rest, name.get(skip..).unwrap_or(b"")))
        }
        (Some((&mark::ANY, rest)), Some((_, tail))) => glob_matches(rest, tail),
        (Some((&mark::SET, rest)), Some((first, tail))) => {
            let Some(end) = rest.iter().skip(1).position(|byte| *byte == b']').map(|index| index + 1) else {
                return *first == b'[' && glob_matches(rest, tail);
            };
            glob_matches(rest.get(end + 1..).unwrap_or(b""), tail)
        }
        (Some((byte, rest)), Some((first, tail))) => byte == first && glob_matches(rest, tail),
        _ => false,
    }
}
