//! The calls that are handed to whoever watches: those that change files, connect, or begin a program.
//!
//! Danger: watching sees and tells, it does not decide what the table closes: these rows are only reached by calls that
//! the other rows let pass, but for [`TOLD`], whose refusals the watcher is told of and must give itself.

use super::super::rule::Answer::{Allow, Watch};
use super::super::rule::{Case, Condition, Entry, Test, When::Always};
use super::{NONE, any, is, judged, row};

/// `O_WRONLY | O_RDWR | O_CREAT | O_TRUNC`; `O_TMPFILE` must come with one of the first two.
const CHANGES: u32 = 0o1 | 0o2 | 0o100 | 0o1000;
/// `ARCH_SET_FS`: the first call of a new program's C library, when its arguments are the kernel's copy still.
const SET_FS: u32 = 0x1002;

const fn watch(all: &'static [Condition]) -> Case {
    Case { all, answer: Watch }
}

/// An address that is given.
const fn set(argument: u8) -> Condition {
    Condition { argument, test: Test::Set64 }
}

const fn watched(name: &'static str, numbers: (u32, u32), reason: &'static str) -> Entry {
    row(name, numbers, Always, Watch, reason)
}

/// Opens, where only those are watched that may change something.
pub(super) const OPENS: &[Entry] = &[
    judged("open", (2, NONE), Always, &[watch(&[any(1, CHANGES)])], Allow, FILES),
    judged("openat", (257, 56), Always, &[watch(&[any(2, CHANGES)])], Allow, FILES),
];

/// Opens, where all are watched.
pub(super) const ALL_OPENS: &[Entry] =
    &[watched("open", (2, NONE), FILES), watched("openat", (257, 56), FILES)];

/// Times, where only those are watched that are set by a name.
pub(super) const TIMES: &[Entry] =
    &[judged("utimensat", (280, 88), Always, &[watch(&[set(1)])], Allow, METADATA)];

/// Times, where all are watched.
pub(super) const ALL_TIMES: &[Entry] = &[watched("utimensat", (280, 88), METADATA)];

/// Owner and attributes by a descriptor.
pub(super) const DESCRIPTORS: &[Entry] = &[
    watched("fchown", (93, 55), METADATA),
    watched("fsetxattr", (190, 7), METADATA),
    watched("fremovexattr", (199, 16), METADATA),
];

/// All others.
pub(super) const ROWS: &[Entry] = &[
    watched("openat2", (437, 437), "its flags are in memory"),
    watched("creat", (85, NONE), FILES),
    watched("truncate", (76, 45), FILES),
    watched("mkdir", (83, NONE), NAMES),
    watched("mkdirat", (258, 34), NAMES),
    watched("mknod", (133, NONE), NAMES),
    watched("mknodat", (259, 33), NAMES),
    watched("rmdir", (84, NONE), NAMES),
    watched("unlink", (87, NONE), NAMES),
    watched("unlinkat", (263, 35), NAMES),
    watched("rename", (82, NONE), NAMES),
    watched("renameat", (264, 38), NAMES),
    watched("renameat2", (316, 276), NAMES),
    watched("link", (86, NONE), NAMES),
    watched("linkat", (265, 37), NAMES),
    watched("symlink", (88, NONE), NAMES),
    watched("symlinkat", (266, 36), NAMES),
    watched("chmod", (90, NONE), METADATA),
    watched("fchmod", (91, 52), METADATA),
    watched("fchmodat", (268, 53), METADATA),
    watched("fchmodat2", (452, 452), METADATA),
    watched("chown", (92, NONE), METADATA),
    watched("lchown", (94, NONE), METADATA),
    watched("fchownat", (260, 54), METADATA),
    watched("utime", (132, NONE), METADATA),
    watched("utimes", (235, NONE), METADATA),
    watched("futimesat", (261, NONE), METADATA),
    watched("setxattr", (188, 5), METADATA),
    watched("lsetxattr", (189, 6), METADATA),
    watched("setxattrat", (463, 463), METADATA),
    watched("removexattr", (197, 14), METADATA),
    watched("lremovexattr", (198, 15), METADATA),
    watched("removexattrat", (466, 466), METADATA),
    watched("connect", (42, 203), "whom the command calls"),
    watched("bind", (49, 200), "makes a socket's name"),
    judged(
        "sendto",
        (44, 206),
        Always,
        &[watch(&[set(4)])],
        Allow,
        "with an address it calls without connecting",
    ),
    watched("execve", (59, 221), PROGRAMS),
    watched("execveat", (322, 281), PROGRAMS),
    judged("arch_prctl", (158, NONE), Always, &[watch(&[is(0, SET_FS)])], Allow, PROGRAMS),
    watched("set_tid_address", (NONE, 96), PROGRAMS),
];

/// Calls whose refusals by the table are told: the watcher gets them and answers what the table says.
pub(super) const TOLD: &[&str] = &[
    "socket",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "utimensat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "removexattrat",
];

const FILES: &str = "may change a file";
const NAMES: &str = "changes names";
const METADATA: &str = "changes mode, owner, times or attributes";
const PROGRAMS: &str = "a program begins";
