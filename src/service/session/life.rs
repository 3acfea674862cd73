//! Whether a process is still the one that was noted.
//!
//! Danger: a number means something in one PID namespace until the machine stops. Read anywhere else it says that what
//! runs has ended, and a state would be left under it.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::store::Running;

/// Where a process's number means something.
#[derive(Debug, Clone, PartialEq, Eq)]
struct World {
    /// This start of the machine.
    boot: String,
    /// The PID namespace's number.
    space: u64,
}

impl World {
    /// This process's; what cannot be read differs from nothing.
    fn own() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let space = fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
        Self { boot: boot.trim().to_owned(), space }
    }

    /// The one that a body was noted in, where it says so.
    fn of(body: &Value) -> Option<Self> {
        let world = body.get("world")?;
        Some(Self { boot: world.get("boot")?.as_str()?.to_owned(), space: world.get("space")?.as_u64()? })
    }
}

/// The name of a process that other processes with its number do not have.
pub(super) fn name(pid: impl std::fmt::Display, born: impl std::fmt::Display) -> String {
    let World { boot, space } = World::own();
    format!("process {pid} {born} {space} {boot}")
}

/// What is noted of something that runs, with where its process's number counts.
pub(super) fn noted(mut body: Value) -> String {
    let World { boot, space } = World::own();
    body["world"] = json!({ "boot": boot, "space": space });
    body.to_string()
}

/// What can be said of the process of something that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Its number counts here.
    Here,
    /// It was noted in another PID namespace: nobody here can tell, so it lives until its end is written.
    Elsewhere,
    /// The machine has stopped since.
    Gone,
}

/// Where the process of something that runs is to be looked for.
pub(super) fn known(running: &Running) -> Known {
    let body: Value = serde_json::from_str(&running.body).unwrap_or_default();
    let own = World::own();
    match World::of(&body) {
        Some(world) if world.boot != own.boot => Known::Gone,
        Some(world) if world.space != own.space => Known::Elsewhere,
        Some(_) | None => Known::Here,
    }
}

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

/// What `/proc` says of a process, which it gives at once; none where it is gone.
pub(super) fn stat(pid: i32) -> Option<Vec<u8>> {
    // Longer than any: 52 numbers, and a name of 64 bytes at most.
    let mut text = vec![0; 2048];
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    text.truncate(length);
    Some(text)
}

/// When a process began, in the kernel's ticks since the machine did; none where it is gone or only its status is left.
pub(super) fn born(pid: i32) -> Option<u64> {
    let stat = stat(pid)?;
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
    fn a_number_counts_in_its_own_world() {
        let running = |body: String| Running { session: "s".into(), position: 1, pid: 1, born: 1, body };
        assert_eq!(known(&running(noted(json!({ "call": "c" })))), Known::Here);
        let changed = |field: &str, value: Value| {
            let mut body: Value = serde_json::from_str(&noted(json!({}))).unwrap();
            body["world"][field] = value;
            known(&running(body.to_string()))
        };
        assert_eq!(changed("boot", json!("before")), Known::Gone);
        assert_eq!(changed("space", json!(1)), Known::Elsewhere);
    }

    #[test]
    fn this_process_lives_and_another_of_its_number_is_not_it() {
        let (pid, born) = own();
        assert!(born > 0 && is_alive(pid, born));
        assert!(!is_alive(pid, born + 1));
        assert!(!is_alive(i32::MAX, born));
    }
}
