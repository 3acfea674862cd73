//! What is left behind: nothing, however it ends; and a launcher that launches for long stays small.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rustix::process::Signal;

use crate::check;
use crate::kit::{Case, Jail, Place, Running, Verdict, eventually, launcher, processes_with};

pub(crate) const CASES: &[Case] = &[
    Case { name: "SIGKILL of swbox at fifty moments leaves nothing", needs: "userns", run: killed },
    Case { name: "processes of the command end with it", needs: "userns", run: children },
    Case { name: "two hundred launches leave descriptors and memory flat", needs: "userns", run: flat },
];

/// Minutes: `cargo test --test jail -- --ignored`.
pub(crate) const LONG: &[Case] = &[Case {
    name: "two thousand launches leave descriptors and memory flat",
    needs: "userns",
    run: flat_for_long,
}];

fn killed() -> Verdict {
    let place = Place::new();
    place.write("w/keep", "kept");
    let marker = "27.1828";
    let script =
        format!("setsid sleep {marker} & (trap '' TERM HUP INT; sleep {marker}) & exec sleep {marker}");
    for right in ["read", "throw", "write"] {
        for moment in 0..17_u64 {
            let mut child = Running::start(&mut launcher(right, &place.workspace(), &["sh", "-c", &script]));
            std::thread::sleep(Duration::from_micros(moment * 1500));
            child.signal(Signal::KILL);
            check!(child.wait().signal() == Some(9), "it was not killed");
        }
    }
    check!(eventually(|| processes_with(marker) == 0), "{} processes are left", processes_with(marker));
    let workspace = place.workspace();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    check!(!mounts.contains(workspace.to_str().unwrap()), "a mount is left");
    let left: Vec<_> =
        std::fs::read_dir(&workspace).unwrap().flatten().map(|entry| entry.file_name()).collect();
    check!(left == ["keep"], "{left:?}");
    Verdict::Passed
}

fn children() -> Verdict {
    let place = Place::new();
    let marker = "16.1803";
    let done = Jail::write(&place.workspace())
        .sh(&format!("setsid sleep {marker} & nohup sleep {marker} >/dev/null & echo started"));
    check!(done.ok() && done.out.contains("started"), "{}", done.all());
    check!(processes_with(marker) == 0, "something runs on");
    Verdict::Passed
}

fn counts() -> (usize, u64) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let memory = std::fs::read_to_string("/proc/self/statm").unwrap();
    (descriptors, memory.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4)
}

fn flat() -> Verdict {
    launches(5, 65)
}

fn flat_for_long() -> Verdict {
    launches(67, 600)
}

/// Rounds of three launches each, from one process: it has as many descriptors and as much memory behind them as before.
fn launches(warm: usize, rounds: usize) -> Verdict {
    let place = Place::new();
    place.repository();
    let round = || {
        for jail in [
            Jail::read(&place.workspace()),
            Jail::write(&place.workspace()),
            Jail::throw_away(&place.workspace()),
        ] {
            let done = jail.sh("true");
            assert!(done.ok(), "{}", done.all());
        }
    };
    (0..warm).for_each(|_| round());
    let (descriptors, memory) = counts();
    (0..rounds).for_each(|_| round());
    let (after, grown) = counts();
    println!(
        "{} launches: {descriptors} descriptors and {memory} KiB before, {after} and {grown} KiB after",
        3 * (warm + rounds)
    );
    check!(after == descriptors, "{descriptors} descriptors became {after}");
    check!(grown < memory + 1024, "{memory} KiB became {grown}");
    Verdict::Passed
}
