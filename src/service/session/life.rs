//! Whether a process is still the one that was noted.

use std::fs;

/// This process: its id and when it began.
pub(super) fn own() -> (i32, u64) {
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    (pid, born(pid).unwrap_or_default())
}

/// The parent of this process: its id and when it began.
pub(super) fn parent() -> (i32, u64) {
    let pid = i32::try_from(std::os::unix::process::parent_id()).unwrap_or_default();
    (pid, born(pid).unwrap_or_default())
}

/// Whether the process that was noted lives.
pub(super) fn is_alive(pid: i32, born_then: u64) -> bool {
    born(pid).is_some_and(|born| born == born_then)
}

/// When a process began, in the kernel's ticks since the machine did; none where it is gone or only its status is left.
pub(super) fn born(pid: i32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&stat[after + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    // The state is field 3, the start field 22.
    fields.nth(22 - 4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_another_of_its_number_is_not_it() {
        let (pid, born) = own();
        assert!(born > 0 && is_alive(pid, born));
        assert!(!is_alive(pid, born + 1));
        assert!(!is_alive(i32::MAX, born));
    }
}
