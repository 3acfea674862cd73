//! Namespaces and mounts: what could undo the view the jail was built with.

use super::super::rule::Answer::{Allow, NoSys, Perm};
use super::super::rule::{Entry, When::Always};
use super::{any, judged, refuse, row};

/// `CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}`.
const NEW: u32 = 0x7E02_0000;
/// `CLONE_NEWTIME`; in `clone` this bit is part of the exit signal and makes no namespace.
const NEW_TIME: u32 = 0x80;
/// `CLONE_UNTRACED`: no tracer gets the child, whatever it has asked for.
const UNTRACED: u32 = 0x0080_0000;

pub(super) const ROWS: &[Entry] = &[
    judged(
        "clone",
        (56, 220),
        Always,
        &[refuse(&[any(0, NEW | UNTRACED)])],
        Allow,
        "a user namespace gives back every capability inside it; an untraced child would escape a tracing supervisor",
    ),
    row("clone3", (435, 435), Always, NoSys, "its flags are in memory; the C library falls back to clone"),
    judged(
        "unshare",
        (272, 97),
        Always,
        &[refuse(&[any(0, NEW | NEW_TIME)])],
        Allow,
        "a user namespace gives back every capability inside it; unsharing files or fs is harmless",
    ),
    row("setns", (308, 268), Always, Perm, "would enter the namespaces of another process"),
    row("mount", (165, 40), Always, Perm, MOUNTS),
    row("umount2", (166, 39), Always, Perm, MOUNTS),
    row("pivot_root", (155, 41), Always, Perm, MOUNTS),
    row("chroot", (161, 51), Always, Perm, "the first step of the classic way out of a root"),
    row("open_tree", (428, 428), Always, Perm, MOUNTS),
    row("move_mount", (429, 429), Always, Perm, MOUNTS),
    row("fsopen", (430, 430), Always, Perm, FILE_SYSTEMS),
    row("fsconfig", (431, 431), Always, Perm, FILE_SYSTEMS),
    row("fsmount", (432, 432), Always, Perm, FILE_SYSTEMS),
    row("fspick", (433, 433), Always, Perm, FILE_SYSTEMS),
    row("mount_setattr", (442, 442), Always, Perm, "could clear read-only"),
    row("open_tree_attr", (467, 467), Always, Perm, "a second way to open_tree and mount_setattr"),
];

const MOUNTS: &str = "mounts decide what can be read and written";
const FILE_SYSTEMS: &str = "the newer mount interface: file system code of the kernel fed by the command";
