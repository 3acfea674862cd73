//! Writes to the command's own `/tmp` and `/dev/shm`, which need no tool in a state that runs programs.
//!
//! Both are private and empty at the start, so `pytest > /tmp/log` changes nothing that anybody else sees: a program that
//! the state runs could write there anyway. Danger: a path is only text here, and a link below `/tmp` may lead into the
//! workspace. So a line that is allowed by this never gets a right to write there by another way
//! ([`rights`](super::rights)): without Write or Edit the workspace is a throw-away layer for it. A state without an
//! execute tool has no use for such files, and `cat > file` stays refused in it whatever the place. Sentinels are never
//! implied: of what deletes, only the plain `rm` of named files is free, not `rm -r`.

use super::law::StateLaw;
use crate::classify::{Classification, ClassifiedSegment, Op, OpClass, Subject};

/// Private directories, with the slash that everything below them has.
const PLACES: [&str; 2] = ["/tmp/", "/dev/shm/"];

/// Programs that put files into a directory that they are given: for them it is the directory itself, not only what is
/// below it, that they write to.
const INTO: [&str; 8] = ["bsdtar", "cp", "install", "ln", "mv", "rsync", "tar", "unzip"];

/// Whether a path is a private directory itself.
fn is_itself(path: &str, place: &str) -> bool {
    path.trim_end_matches('/') == place.trim_end_matches('/')
}

/// Whether the operation of a command writes or plainly removes a file below a private directory, as far as its text shows.
fn is_private(segment: &ClassifiedSegment, op: &Op, workspace: Option<&str>) -> bool {
    let Subject::Path(path) = &op.subject else { return false };
    if op.class == OpClass::GitWrite || op.class == OpClass::Destructive && op.tool != Some("delete_file") {
        return false;
    }
    let below = PLACES.iter().any(|place| path.strip_prefix(place).is_some_and(|rest| !rest.is_empty()));
    let puts = matches!(op.class, OpClass::FileWrite | OpClass::FileModify)
        && INTO.contains(&segment.program.as_str());
    let into = puts && PLACES.iter().any(|place| is_itself(path, place));
    if !(below || into) || path.split('/').any(|part| part == "..") {
        return false;
    }
    // Where the workspace lies below `/tmp` it is there inside too: neither it nor what holds it, nor a pattern.
    match workspace.filter(|workspace| PLACES.iter().any(|place| workspace.starts_with(place))) {
        None => true,
        Some(workspace) => {
            let is_pattern = path.contains(['*', '?', '[']);
            let path = path.trim_end_matches('/');
            let holds = |outer: &str, inner: &str| {
                inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            !is_pattern && !holds(workspace, path) && !holds(path, workspace)
        }
    }
}

/// Whether the operation changes something.
fn changes(op: &Op) -> bool {
    matches!(op.class, OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive | OpClass::GitWrite)
}

/// The state runs programs, all that the line says it changes is in private directories, and for some of that it has
/// no tool.
pub(super) fn is_scratch_line(law: &StateLaw, workspace: Option<&str>, line: &Classification) -> bool {
    let of = |segment| move |op| (segment, op);
    let ops = || line.segments.iter().flat_map(|segment| segment.ops.iter().map(of(segment)));
    let ops = || ops().filter(|(_, op): &(&ClassifiedSegment, &Op)| changes(op));
    law.executes()
        && ops().any(|(_, op)| !law.satisfies(&Op { tool: None, ..op.clone() }))
        && ops().all(|(segment, op)| is_private(segment, op, workspace))
}

/// Whether the operation, in a line that [`is_scratch_line`], needs no tool: `disallowed_tools` wins all the same.
pub(super) fn is_free(law: &StateLaw, op: &Op) -> bool {
    changes(op) && !law.denies(op)
}
