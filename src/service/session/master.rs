//! For whom a session works: the process whose end is the end of what runs in it.
//!
//! Danger: a wrapper that is taken for it ends with each command, and a server with it a minute later. So shells and the
//! like are passed over.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags};

use super::life;

/// Programs that stand between a harness and its commands.
const BETWEEN: &[&str] = &[
    "ash", "bash", "busybox", "chronic", "dash", "direnv", "env", "fish", "ionice", "ksh", "nice", "nohup",
    "script", "setsid", "sh", "stdbuf", "su", "sudo", "swbox", "time", "timeout", "unshare", "xargs", "zsh",
];

/// A process, told from another one of the same number by when it began, and a handle on it.
pub(super) type Master = (i32, u64, OwnedFd);

/// The nearest ancestor that is no wrapper, else the outermost one; none where there is none but the system's first.
pub(super) fn master() -> Option<Master> {
    let mut id = i32::try_from(std::os::unix::process::parent_id()).ok()?;
    let mut found = None;
    // The chain is finite; the bound is for numbers that are given anew while it is read.
    for _ in 0..256 {
        let Some((name, parent, born)) = stat(id) else { break };
        if id != 1 || found.is_none() {
            found = Some((id, born));
        }
        if !BETWEEN.contains(&name.trim_start_matches('-')) || parent == 0 {
            break;
        }
        id = parent;
    }
    let (id, born) = found?;
    let handle = rustix::process::pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
    // Only now is the number surely its own.
    (stat(id)?.2 == born).then_some((id, born, handle))
}

/// Name, parent and beginning of a process.
fn stat(id: i32) -> Option<(String, i32, u64)> {
    parse(&life::stat(id)?)
}

fn parse(stat: &[u8]) -> Option<(String, i32, u64)> {
    let (open, close) =
        (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    // The state is field 3, the parent 4, the beginning 22.
    let mut fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
    Some((name, fields.nth(1)?.parse().ok()?, fields.nth(22 - 5)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_works_for_somebody_that_lives() {
        let (id, born, _) = master().unwrap();
        assert!(id > 0 && life::is_alive(id, born));
    }

    #[test]
    fn a_name_may_hold_anything() {
        let text = b"7 (a) b) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
        assert_eq!(parse(text), Some(("a) b".to_owned(), 3, 4711)));
        assert_eq!(parse(b"7 (a"), None);
    }
}
