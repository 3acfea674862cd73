//! Operands of a failed line that lie where the jail shows nothing: a sibling of the workspace, another disk, what a link in
//! the workspace leads to. The program only says "No such file or directory", and whoever reads that takes the file
//! for missing.
//!
//! Danger: an answer that depends on whether the host has the file would make this an oracle for the whole host. So nobody
//! looks: by names alone it is said where the operand lies, never whether something is there. Only links in the workspace,
//! which the command sees itself, are read.

use std::path::{Component, Path, PathBuf};

use super::sight::{named_above, plain, private};
use crate::classify::{Classification, Subject};
use crate::jail::JailPlan;
use crate::profile::value::lies_in;

/// How many links are followed for one operand.
const LINKS: usize = 16;

/// Directories at the root that hosts keep people's files, disks and services in. Of others it is likelier that they are
/// mistyped, or no file names at all (`/api/v1`).
const USUAL: [&str; 14] = [
    "code",
    "data",
    "home",
    "media",
    "mnt",
    "opt",
    "projects",
    "root",
    "run",
    "scratch",
    "srv",
    "var",
    "work",
    "workspace",
];

/// Where a name leads by the links that lie in the workspace, and whether there was one. `link` reads one.
pub(super) fn led(
    path: PathBuf,
    workspace: &Path,
    link: impl Fn(&Path) -> Option<PathBuf>,
) -> (PathBuf, bool) {
    let (mut path, mut followed) = (path, false);
    for _ in 0..LINKS {
        let Ok(below) = path.strip_prefix(workspace) else { break };
        let mut reached = workspace.to_owned();
        let mut parts = below.components();
        let target = parts.by_ref().find_map(|part| {
            reached.push(part);
            link(&reached)
        });
        let Some(target) = target else { break };
        reached.pop();
        let Some(next) = plain(&reached.join(target).join(parts.as_path())) else { break };
        (path, followed) = (next, true);
    }
    (path, followed)
}

/// The operands of the line that are read, or run by an interpreter, as they stand there.
pub(super) fn operands(line: &Classification, cwd: &Path) -> Vec<PathBuf> {
    let mut operands = Vec::new();
    for segment in &line.segments {
        let script = segment.argv.get(1).filter(|word| segment.opaque.is_some() && is_name(word));
        operands.extend(script.map(|word| cwd.join(word)));
        for op in segment.ops.iter().filter(|op| super::inferred::reads(op.class)) {
            if let Subject::Path(path) = &op.subject {
                operands.push(PathBuf::from(path));
            }
        }
    }
    operands
}

/// Whether a word is plainly the name of a file elsewhere.
fn is_name(word: &str) -> bool {
    let odd = |mark: char| mark.is_whitespace() || mark.is_control() || "\u{fffd}:*?[]{}$`'\"".contains(mark);
    (word.starts_with('/') || word.starts_with("../")) && !word.contains(odd)
}

/// What of `path` lies where the jail shows nothing, if it does; `followed` says that a link of the workspace led there.
pub(super) fn hidden(plan: &JailPlan, home: &Path, path: &Path, followed: bool) -> Option<PathBuf> {
    // A pattern that found nothing is about its directory.
    let patterned = |path: &Path| path.to_string_lossy().contains(['*', '?', '[']);
    let path = path.ancestors().find(|path| !patterned(path))?;
    if lies_in(path, home) || lies_in(path, &plan.workspace) || path.parent().is_none() {
        return None;
    }
    let own = |path: &Path| private(plan).any(|own| own == path);
    let above = plan.workspace.ancestors().skip(1);
    let beside =
        above.take_while(|above| above.parent().is_some() && !own(above)).any(|above| lies_in(path, above));
    if named_above(plan, path) || !beside && private(plan).any(|own| lies_in(path, own)) {
        return None;
    }
    let first = path.components().find_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let usual = first.is_some_and(|name| USUAL.contains(&name));
    (followed || beside || usual).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_in_the_workspace_and_no_further() {
        let links = [
            ("/w/data", "/mnt/data"),
            ("/w/a", "b"),
            ("/w/b", "../other/x"),
            ("/w/in", "sub/dir"),
            ("/w/loop", "loop"),
            ("/mnt/data/x", "/w/secret"),
        ];
        let link = |path: &Path| {
            let found = links.iter().find(|(from, _)| path == Path::new(from));
            found.map(|(_, to)| PathBuf::from(to))
        };
        for (name, to, followed) in [
            ("/w/data/x", "/mnt/data/x", true),
            ("/w/a", "/other/x", true),
            ("/w/in/f", "/w/sub/dir/f", true),
            ("/w/plain/f", "/w/plain/f", false),
            ("/srv/f", "/srv/f", false),
            ("/w/loop", "/w/loop", true),
        ] {
            assert_eq!(led(name.into(), Path::new("/w"), link), (PathBuf::from(to), followed), "{name}");
        }
    }

    #[test]
    fn only_what_looks_like_a_file_elsewhere_is_a_script() {
        for (word, is) in [
            ("/srv/run.py", true),
            ("../x.js", true),
            ("x.py", false),
            ("-c", false),
            ("/a b", false),
            ("/srv/x:/y", false),
            ("/srv/*", false),
        ] {
            assert_eq!(is_name(word), is, "{word}");
        }
    }
}
