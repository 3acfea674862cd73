//! Other processes: their memory, descriptors, scheduling and limits.
//!
//! Signals to a process are not here: no register tells whose process a number is. Landlock scopes and the PID
//! namespace hold them. The process group is the caller's, for the terminal's sake, so "my group" (0) means processes
//! outside too, in every namespace.

use super::super::rule::Answer::{Allow, Perm};
use super::super::rule::When::{Always, NoDebug, OwnProcesses, SharedGroup, SharedProcesses};
use super::super::rule::{Condition, Entry, Test};
use super::{allow, is, judged, refuse, row};

const PR_SET_MM: u32 = 35;

const OWN: Condition = is(0, 0);

pub(super) const ROWS: &[Entry] = &[
    row("ptrace", (101, 117), NoDebug, Perm, TRACE),
    row("process_vm_readv", (310, 270), NoDebug, Perm, TRACE),
    row("process_vm_writev", (311, 271), NoDebug, Perm, TRACE),
    row("kcmp", (312, 272), NoDebug, Perm, TRACE),
    row("process_madvise", (440, 440), NoDebug, Perm, TRACE),
    row("process_mrelease", (448, 448), Always, Perm, "takes the memory of a dying process"),
    row("pidfd_getfd", (438, 438), Always, Perm, "copies descriptors out of another process"),
    judged(
        "prctl",
        (157, 167),
        Always,
        &[refuse(&[is(0, PR_SET_MM)])],
        Allow,
        "PR_SET_MM forges what others read of this process",
    ),
    judged("setpriority", (141, 140), SharedProcesses, &[allow(&[OWN, is(1, 0)])], Perm, OTHERS),
    judged("ioprio_set", (251, 30), SharedProcesses, &[allow(&[is(0, 1), is(1, 0)])], Perm, OTHERS),
    judged("sched_setparam", (142, 118), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("sched_setscheduler", (144, 119), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("sched_setattr", (314, 274), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("sched_setaffinity", (203, 122), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("migrate_pages", (256, 238), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("move_pages", (279, 239), SharedProcesses, &[allow(&[OWN])], Perm, OTHERS),
    judged("setpriority", (141, 140), OwnProcesses, &[refuse(&[is(0, 1), is(1, 0)])], Allow, GROUP),
    judged("ioprio_set", (251, 30), OwnProcesses, &[refuse(&[is(0, 2), is(1, 0)])], Allow, GROUP),
    judged("kill", (62, 129), SharedGroup, &[refuse(&[is(0, 0)])], Allow, GROUP),
    judged(
        "prlimit64",
        (302, 261),
        SharedProcesses,
        &[allow(&[OWN]), refuse(&[Condition { argument: 2, test: Test::Set64 }])],
        Allow,
        OTHERS,
    ),
];

const TRACE: &str = "the memory of other processes; open where the processes in reach are the command's own";
const OTHERS: &str =
    "Landlock does not cover scheduling and limits: without an own PID namespace only the caller itself (0)";
const GROUP: &str = "the process group is shared with the caller: 0 would mean its members outside as well";
