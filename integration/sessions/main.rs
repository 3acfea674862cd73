//! Sessions, trust and approvals from end to end, with the built program, a real terminal and a real repository.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../project.rs"]
mod project;

mod approvals;
mod aside;
mod beside;
mod carried;
mod evidence;
mod finding;
mod interrupts;
mod invoked;
mod jobs;
mod kit;
mod law;
mod planted;
mod questions;
mod races;
mod seen;
mod store;
mod trust;
mod walk;

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;

/// Run as root, everything runs once more as an ordinary user: keepers, terminals and stores are made in other ways there.
#[test]
fn all_of_it_holds_for_an_ordinary_user_too() {
    const NOBODY: u32 = 65534;
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.arg("--show-output").uid(NOBODY).gid(NOBODY).env_clear();
    again.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent");
    for name in ["SWBOX_REQUIRE", "RUST_BACKTRACE"] {
        again.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let ran = project::ran(again.output().unwrap());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for line in ran.stdout.lines() {
        match line.split_once("SKIP ") {
            Some(("", skipped)) => println!("SKIP user: {skipped}"),
            _ if line.starts_with("test result:") => println!("user: {line}"),
            _ => {}
        }
    }
}
