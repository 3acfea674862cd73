//! Reads that the jail refused, concluded from how the command ended: an open for reading is not watched, because that
//! would cost each of them.
//!
//! A name that the command asked for by its text or complained about, that the host has and the jail does not show, is
//! taken for refused. Danger: the names come from the command, and the answer says that the host has them. So only HOME
//! and the profile's own secrets are looked at, few a run, and only of a command that failed. Of operands that lie
//! elsewhere nothing is looked at, and nothing said but that ([`super::beyond`]).

use std::path::{Path, PathBuf};

use super::beyond;
use super::sight::{Sight, plain, sight};
use crate::classify::{Classification, OpClass, Subject};
use crate::jail::{Captured, Exit, JailPlan};
use crate::profile::value::lies_in;
use crate::supervisor::{Act, Cause, Denial, Target};

/// How many are concluded of one run.
const MOST: usize = 8;

/// How many names are looked at.
const LOOKED: usize = 64;

/// What programs say of a file that they could not open.
const COMPLAINTS: [&str; 8] = [
    "No such file or directory",
    "Permission denied",
    "ENOENT",
    "EACCES",
    "not found",
    "cannot open",
    "can't open",
    "does not exist",
];

/// What is concluded from.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Signs<'a> {
    pub(in crate::service) plan: &'a JailPlan,
    pub(in crate::service) line: &'a Classification,
    pub(in crate::service) exit: &'a Exit,
    pub(in crate::service) err: Option<&'a Captured>,
    pub(in crate::service) home: &'a Path,
    pub(in crate::service) cwd: &'a Path,
    pub(in crate::service) secrets: &'a [PathBuf],
}

/// The reads that were probably refused; `there` says whether the host has a name, `link` reads a link.
pub(in crate::service) fn infer(
    signs: Signs<'_>,
    there: impl Fn(&Path) -> bool,
    link: impl Fn(&Path) -> Option<PathBuf>,
) -> Vec<Denial> {
    if matches!(signs.exit, Exit::Code(0) | Exit::NotStarted { .. }) {
        return Vec::new();
    }
    let operands = beyond::operands(signs.line, signs.cwd);
    let operands = operands.iter().filter_map(|name| plain(&absolute(&name.to_string_lossy(), signs.home)));
    let led: Vec<(PathBuf, bool)> =
        operands.take(LOOKED).map(|path| beyond::led(path, &signs.plan.workspace, &link)).collect();
    let mut names = named(signs.line, signs.home);
    names.extend(led.iter().filter(|(_, followed)| *followed).map(|(path, _)| path.clone()));
    if let Some(err) = signs.err {
        names.extend(complained(&String::from_utf8_lossy(&err.head), signs.home));
        names.extend(complained(&String::from_utf8_lossy(&err.tail), signs.home));
    }
    let mut denials: Vec<Denial> = Vec::new();
    for path in names.iter().filter_map(|name| plain(name)).take(LOOKED) {
        let secret = signs.secrets.iter().any(|secret| lies_in(&path, secret));
        let concerns = secret || lies_in(&path, signs.home) && path != signs.home;
        let errno = match sight(signs.plan, &path) {
            Sight::Shown => continue,
            Sight::Stub | Sight::Name => libc::EACCES,
            Sight::Absent => libc::ENOENT,
        };
        let cause = if secret { Cause::Secret } else { Cause::Outside };
        let target = Target::Path(path.clone());
        if denials.len() == MOST || !concerns || denials.iter().any(|known| known.target == target) {
            continue;
        }
        if there(&path) {
            denials.push(Denial { act: Act::Read, target, cause, errno, inferred: true });
        }
    }
    for (path, followed) in led {
        let Some(path) = beyond::hidden(signs.plan, signs.home, &path, followed) else { continue };
        let target = Target::Path(path);
        if denials.len() < MOST && denials.iter().all(|known| known.target != target) {
            denials.push(Denial {
                act: Act::Read,
                target,
                cause: Cause::Outside,
                errno: libc::ENOENT,
                inferred: true,
            });
        }
    }
    denials
}

/// Whether a class looks at files.
pub(super) const fn reads(class: OpClass) -> bool {
    matches!(class, OpClass::FileRead | OpClass::ContentSearch | OpClass::FileSearch)
}

/// The files that the text of a line reads.
fn named(line: &Classification, home: &Path) -> Vec<PathBuf> {
    let ops = line.segments.iter().flat_map(|segment| &segment.ops).filter(|op| reads(op.class));
    ops.filter_map(|op| match &op.subject {
        Subject::Path(path) => Some(absolute(path, home)),
        Subject::None | Subject::Host(_) | Subject::Unknown => None,
    })
    .collect()
}

fn absolute(text: &str, home: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(below) => home.join(below),
        None => PathBuf::from(text),
    }
}

/// The absolute names in the lines of a text that complain.
fn complained(text: &str, home: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| COMPLAINTS.iter().any(|words| line.contains(words))) {
        let mut rest = line;
        while let Some(at) = rest.find(['/', '~']) {
            let before = rest.get(..at).and_then(|before| before.chars().next_back());
            let from = rest.get(at..).unwrap_or_default();
            let quoted = before.filter(|mark| matches!(mark, '\'' | '"' | '`' | '\u{2018}' | '\u{201c}'));
            let opens =
                before.is_none_or(|mark| mark.is_whitespace() || matches!(mark, ':' | '(' | '[' | '=' | '<'));
            let end = match quoted {
                Some(_) => from.find(['\'', '"', '`', '\u{2019}', '\u{201d}']),
                None => from.find(|mark: char| {
                    mark.is_whitespace() || matches!(mark, ':' | ',' | ')' | ']' | '>' | ';')
                }),
            };
            let name = from.get(..end.unwrap_or(from.len())).unwrap_or_default();
            let is_name = name.starts_with("~/") || name.starts_with('/') && !name.starts_with("//");
            if (quoted.is_some() || opens) && is_name {
                names.push(absolute(name, home));
            }
            let step = name.len().max(1);
            rest = from.get(step..).unwrap_or_default();
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_their_files() {
        let home = Path::new("/home/u");
        let names = |text: &str| {
            complained(text, home).iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        for (text, path) in [
            ("cat: /home/u/.ssh/id_rsa: Permission denied", "/home/u/.ssh/id_rsa"),
            ("cat: '/home/u/a b': No such file or directory", "/home/u/a b"),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/home/u/x.txt'", "/home/u/x.txt"),
            ("Error: ENOENT: no such file or directory, open '/home/u/.npmrc'", "/home/u/.npmrc"),
            ("error: could not find `~/notes` (not found: ~/notes)", "/home/u/notes"),
            ("bash: line 1: /home/u/x: No such file or directory", "/home/u/x"),
            ("ls: cannot access '/home/u/y': No such file or directory", "/home/u/y"),
        ] {
            assert!(names(text).contains(&path.to_owned()), "{text}: {:?}", names(text));
        }
        assert_eq!(names("see https://x.example/a for help: not found"), Vec::<String>::new());
        assert_eq!(names("/home/u/fine: all good"), Vec::<String>::new());
    }
}
