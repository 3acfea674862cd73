//! The machine itself: modules, keys, tracing, clocks, and interfaces whose history is one of holes.

use super::super::rule::Answer::{Allow, NoSys, Perm};
use super::super::rule::{Entry, When::Always, When::SharedIpc};
use super::{NONE, allow, any, is, judged, refuse, row};

/// `SECCOMP_SET_MODE_FILTER` and `SECCOMP_FILTER_FLAG_NEW_LISTENER`.
const SET_MODE_FILTER: u32 = 1;
const NEW_LISTENER: u32 = 8;

pub(super) const ROWS: &[Entry] = &[
    row("io_uring_setup", (425, 425), Always, NoSys, RING),
    row("io_uring_enter", (426, 426), Always, NoSys, RING),
    row("io_uring_register", (427, 427), Always, NoSys, RING),
    row("bpf", (321, 280), Always, Perm, "programs in the kernel"),
    row(
        "perf_event_open",
        (298, 241),
        Always,
        Perm,
        "reads other processes and the kernel; a history of holes",
    ),
    row(
        "userfaultfd",
        (323, 282),
        Always,
        Perm,
        "stops the kernel in the middle of a copy: widens every race",
    ),
    row("fanotify_init", (300, 262), Always, Perm, "watches and holds up the file accesses of others"),
    judged(
        "seccomp",
        (317, 277),
        Always,
        &[refuse(&[is(0, SET_MODE_FILTER), any(1, NEW_LISTENER)])],
        Allow,
        "the newest listener answers first: an own one would shadow the supervisor's",
    ),
    row("add_key", (248, 217), Always, Perm, KEYS),
    row("request_key", (249, 218), Always, Perm, KEYS),
    row("keyctl", (250, 219), Always, Perm, KEYS),
    row("init_module", (175, 105), Always, Perm, MODULES),
    row("finit_module", (313, 273), Always, Perm, MODULES),
    row("delete_module", (176, 106), Always, Perm, MODULES),
    row("kexec_load", (246, 104), Always, Perm, "another kernel"),
    row("kexec_file_load", (320, 294), Always, Perm, "another kernel"),
    row("reboot", (169, 142), Always, Perm, "the machine is not the command's"),
    row("swapon", (167, 224), Always, Perm, "the machine is not the command's"),
    row("swapoff", (168, 225), Always, Perm, "the machine is not the command's"),
    row("acct", (163, 89), Always, Perm, "writes a file of the kernel's choosing for every process"),
    row("quotactl", (179, 60), Always, Perm, "limits of other users"),
    row("quotactl_fd", (443, 443), Always, Perm, "limits of other users"),
    row("syslog", (103, 116), Always, Perm, "kernel messages hold addresses and other users' doings"),
    row("vhangup", (153, 58), Always, Perm, "takes the terminal from its user"),
    row("iopl", (172, NONE), Always, Perm, "ports of the hardware"),
    row("ioperm", (173, NONE), Always, Perm, "ports of the hardware"),
    row("modify_ldt", (154, NONE), Always, Perm, "16-bit segments; a history of holes"),
    row("settimeofday", (164, 170), Always, Perm, CLOCK),
    row("clock_settime", (227, 112), Always, Perm, CLOCK),
    row("adjtimex", (159, 171), Always, Perm, CLOCK),
    row("clock_adjtime", (305, 266), Always, Perm, CLOCK),
    row("sethostname", (170, 161), Always, Perm, "the name of the machine"),
    row("setdomainname", (171, 162), Always, Perm, "the name of the machine"),
    row("lookup_dcookie", (212, 18), Always, NoSys, OLD),
    row("nfsservctl", (180, 42), Always, NoSys, OLD),
    row("uselib", (134, NONE), Always, NoSys, OLD),
    row("sysfs", (139, NONE), Always, NoSys, OLD),
    row("ustat", (136, NONE), Always, NoSys, OLD),
    row("_sysctl", (156, NONE), Always, NoSys, OLD),
    judged(
        "personality",
        (135, 92),
        Always,
        &[
            allow(&[is(0, 0)]),
            allow(&[is(0, 0x0008)]),
            allow(&[is(0, 0x2_0000)]),
            allow(&[is(0, 0x2_0008)]),
            allow(&[is(0, 0x4_0000)]),
            allow(&[is(0, u32::MAX)]),
        ],
        Perm,
        "flags that weaken memory protection; asking, linux32, uname26 and no address randomisation (gdb) are fine",
    ),
    row("shmget", (29, 194), SharedIpc, Perm, IPC),
    row("shmat", (30, 196), SharedIpc, Perm, IPC),
    row("shmctl", (31, 195), SharedIpc, Perm, IPC),
    row("semget", (64, 190), SharedIpc, Perm, IPC),
    row("semop", (65, 193), SharedIpc, Perm, IPC),
    row("semtimedop", (220, 192), SharedIpc, Perm, IPC),
    row("semctl", (66, 191), SharedIpc, Perm, IPC),
    row("msgget", (68, 186), SharedIpc, Perm, IPC),
    row("msgsnd", (69, 189), SharedIpc, Perm, IPC),
    row("msgrcv", (70, 188), SharedIpc, Perm, IPC),
    row("msgctl", (71, 187), SharedIpc, Perm, IPC),
    row("mq_open", (240, 180), SharedIpc, Perm, IPC),
    row("mq_unlink", (241, 181), SharedIpc, Perm, IPC),
];

const RING: &str = "does file and network operations that no filter sees; libraries fall back";
const KEYS: &str = "keyrings have no namespace: the session's keys are the user's";
const MODULES: &str = "code in the kernel";
const CLOCK: &str = "the clock is everybody's";
const OLD: &str = "obsolete; current kernels answer the same or no program needs it";
const IPC: &str =
    "System V and POSIX queues are found by name, and without an own namespace they are the host's";
