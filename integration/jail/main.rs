//! The jail on this kernel: each protection with its twin, the levels, git directories, the throw-away layer, limits,
//! signals, the terminal, what is left behind, and what a supervisor sees.
//!
//! `cargo test --test jail [-- FILTER]`, and with `-- --ignored` those that take minutes. A program of its own with one thread, since jails are launched from such only.
//! Run as root it runs everything a second time as an ordinary user. A case that this host cannot run says SKIP, and
//! fails where `SWBOX_REQUIRE` names its feature.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test program that prints its results"
)]

mod ahead;
mod capture;
mod config;
mod files;
mod git;
mod hostile;
mod kit;
mod layer;
mod leftovers;
mod levels;
mod limits;
mod outputs;
mod planted;
mod signals;
mod sockets;
mod supervised;
mod terminal;
mod truth;
mod view;
mod watched;

use std::process::ExitCode;

use kit::{Case, Verdict};

/// The program's: with it a first process works in this memory, until the block is used up.
#[global_allocator]
static MEMORY: swbox::sys::memory::Early = swbox::sys::memory::Early;

/// An ordinary user for the second run.
const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == kit::RUN) {
        return kit::run(&words[1..]);
    }
    if words.first().is_some_and(|word| word == hostile::BELOW) {
        return hostile::below(&words[1..]);
    }
    let filter = words.iter().find(|word| !word.starts_with('-'));
    let user = if kit::is_root() { "root" } else { "user" };
    let cases = [
        view::CASES,
        ahead::CASES,
        files::CASES,
        git::CASES,
        config::CASES,
        planted::CASES,
        sockets::CASES,
        layer::CASES,
        outputs::CASES,
        limits::CASES,
        capture::CASES,
        signals::CASES,
        terminal::CASES,
        leftovers::CASES,
        supervised::CASES,
        watched::CASES,
        hostile::CASES,
        levels::CASES,
        &truth::CASES.concat(),
    ]
    .concat();
    let is_long = words.iter().any(|word| word == "--ignored");
    let cases = if is_long { [leftovers::LONG, &truth::LONG.concat()].concat() } else { cases };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for Case { name, needs, run } in cases {
        if filter.is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let verdict =
            std::panic::catch_unwind(run).unwrap_or_else(|_| Verdict::Failed("panicked".to_owned()));
        match verdict {
            Verdict::Passed => {
                passed += 1;
                println!("test {user}: {name} ... ok");
            }
            Verdict::Skipped(why) if kit::required(needs) => {
                failed += 1;
                println!("test {user}: {name} ... FAILED: required, but {why}");
            }
            Verdict::Skipped(why) => {
                skipped += 1;
                println!("SKIP {user}: {name}: {why}");
            }
            Verdict::Failed(why) => {
                failed += 1;
                println!("test {user}: {name} ... FAILED: {why}");
            }
        }
    }
    println!("{user}: {passed} passed, {failed} failed, {skipped} skipped");
    let user_failed = kit::is_root() && !kit::again_as(NOBODY, &words);
    if failed == 0 && !user_failed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
