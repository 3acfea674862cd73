//! Globs of workspace paths, as interrupts have them: `*` and `?` within a name, `**` across directories, `[…]`, `{a,b}`. `?` and a
//! class stand for one byte.
//!
//! Danger: a pattern that matches nothing because it is malformed is a law that never applies, so such ones are an error
//! of the file.

/// Whether `pattern` matches the workspace-relative `path`. A pattern without a directory is about names, wherever they
/// are.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let name = if pattern.contains('/') { path } else { path.rsplit('/').next().unwrap_or(path) };
    // The library negates by a leading `!`, which here is a character of a name.
    if pattern.starts_with('!') {
        return fast_glob::glob_match(format!("\\{pattern}"), name);
    }
    fast_glob::glob_match(pattern, name)
}

/// What is wrong with a pattern: it would match nothing.
pub(crate) fn problem(pattern: &str) -> Option<&'static str> {
    let mut braces = 0_u32;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none() => return Some("a backslash quotes nothing"),
            '[' => {
                if matches!(characters.peek(), Some('!' | '^')) {
                    characters.next();
                }
                // The first character of a class may be its bracket.
                let mut first = true;
                loop {
                    match characters.next() {
                        None => return Some("`[` has no `]`"),
                        Some(']') if !first => break,
                        Some('\\') => drop(characters.next()),
                        Some(_) => {}
                    }
                    first = false;
                }
            }
            '{' => braces += 1,
            '}' => braces = braces.checked_sub(1).unwrap_or(u32::MAX),
            _ => {}
        }
        if braces > 10 {
            return Some("braces do not balance, or nest deeper than ten");
        }
    }
    (braces > 0).then_some("`{` has no `}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_people_expect() {
        for (pattern, path, wanted) in [
            ("*.py", "a.py", true),
            ("*.py", "deep/er/a.py", true),
            ("*.py", "a.pyc", false),
            ("test_*.py", "tests/test_x.py", true),
            ("tests/*.py", "tests/a.py", true),
            ("tests/*.py", "tests/deep/a.py", false),
            ("./tests/*.py", "tests/a.py", true),
            ("tests/**", "tests/deep/a.py", true),
            ("tests/**/*.py", "tests/a.py", true),
            ("**/*.lock", "Cargo.lock", true),
            ("**/*.lock", "a/b/c.lock", true),
            ("src/**/mod.rs", "src/a/b/mod.rs", true),
            (".env*", ".env.local", true),
            ("*", ".hidden", true),
            ("*.{ts,tsx}", "ui/a.tsx", true),
            ("*.{ts,tsx}", "ui/a.js", false),
            ("[a-c]?.rs", "bz.rs", true),
            ("[!a-c]?.rs", "bz.rs", false),
            ("!important", "!important", true),
            ("!important", "other", false),
            ("with space/*", "with space/f", true),
            ("ü*", "ümlaut", true),
            ("??", "ü", true),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} on {path}");
            assert_eq!(problem(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_would_match_nothing_is_a_problem() {
        for pattern in ["[a", "a[!]", "{a,b", "a}", "a\\", "[\\]"] {
            assert!(problem(pattern).is_some(), "{pattern}");
        }
        for pattern in ["[]]", "[!]]", "\\[", "a\\{b", "{a,{b,c}}"] {
            assert_eq!(problem(pattern), None, "{pattern}");
        }
    }
}
