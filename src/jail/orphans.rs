//! Ending what a command left behind where no PID namespace does it: the process that started the command adopts its
//! orphans and ends them, generation by generation.
//!
//! Danger: only own children are signalled, so that no number is ever that of somebody else's process.

use std::io;

use rustix::process::WaitOptions;

/// Makes this process the one that orphans below it fall to.
pub(super) fn adopt() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Whether this process has a child that lives; to be asked where orphans fall to it. With none there is nothing below it
/// at all.
pub(super) fn are_left() -> bool {
    // Children that end with another signal than SIGCHLD among them.
    let all = WaitOptions::NOHANG | WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    loop {
        match rustix::process::wait(all) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Sends `signal` to every child.
pub(super) fn signal_all(signal: i32) {
    for child in children() {
        let _ = crate::sys::signal::send(child, signal);
    }
}

/// Kills and reaps every child, and their children as they fall to this process, until there is none.
pub(super) fn end_all() {
    loop {
        signal_all(libc::SIGKILL);
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The ids of this process's children, by the parent that `/proc` names for each process.
fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mine = numbers.filter(|number| {
        std::fs::read(format!("/proc/{number}/stat")).ok().and_then(|stat| parent(&stat)) == Some(own)
    });
    mine.collect()
}

/// The parent's id in the text of `/proc/PID/stat`: the second field after the name, which may hold anything.
fn parent(stat: &[u8]) -> Option<i32> {
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(stat.get(after + 1..)?).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent(b"12 (a b) R 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (a) R 99 ) S 8 1"), Some(8));
        assert_eq!(parent(b"12 (a"), None);
    }
}
