//! Dangerous system calls in a harmless form, for controls: does the call reach the kernel, or is it closed?
//!
//! Danger: none of these may change anything outside the calling process, whatever the kernel answers. So each gets
//! arguments that the kernel refuses (a null pointer, an impossible number) or whose effect ends with the process.
#![allow(unsafe_code)]

use std::io;

/// A call that can be attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// A new user namespace for this process.
    UserNamespace,
    /// `clone3` without arguments.
    Clone3,
    /// `clone` asking for a user namespace together with a flag that forbids it.
    CloneNamespace,
    /// `setns` of no descriptor.
    EnterNamespace,
    /// `mount` of nothing.
    Mount,
    /// `fsopen` of no name.
    NewMountInterface,
    /// An io_uring of one entry.
    Ring,
    /// `bpf` of no command.
    Bpf,
    /// A userfaultfd for this process.
    UserFault,
    /// The id of the session keyring.
    Keyring,
    /// A file by handle, without a handle.
    FileHandle,
    /// A descriptor out of no process.
    ForeignDescriptor,
    /// Becoming the tracee of the parent.
    Trace,
    /// A seccomp listener, with no program.
    Listener,
    /// A raw packet socket.
    PacketSocket,
    /// A multipath TCP socket.
    Multipath,
    /// A device node with a null path.
    DeviceNode,
    /// chmod to set-user-id with a null path.
    SetIdMode,
    /// Inode flags with no descriptor.
    InodeFlags,
    /// Typing into no terminal.
    TerminalInput,
    /// A personality that makes readable memory executable.
    Personality,
    /// A number that no reviewed kernel has.
    Unreviewed,
    /// The kernel's log, its size.
    KernelLog,
}

/// All of them, with their names on the command line of a control.
pub const ATTEMPTS: &[(&str, Attempt)] = &[
    ("user-namespace", Attempt::UserNamespace),
    ("clone3", Attempt::Clone3),
    ("clone-namespace", Attempt::CloneNamespace),
    ("enter-namespace", Attempt::EnterNamespace),
    ("mount", Attempt::Mount),
    ("new-mount-interface", Attempt::NewMountInterface),
    ("ring", Attempt::Ring),
    ("bpf", Attempt::Bpf),
    ("user-fault", Attempt::UserFault),
    ("keyring", Attempt::Keyring),
    ("file-handle", Attempt::FileHandle),
    ("foreign-descriptor", Attempt::ForeignDescriptor),
    ("trace", Attempt::Trace),
    ("listener", Attempt::Listener),
    ("packet-socket", Attempt::PacketSocket),
    ("multipath", Attempt::Multipath),
    ("device-node", Attempt::DeviceNode),
    ("set-id-mode", Attempt::SetIdMode),
    ("inode-flags", Attempt::InodeFlags),
    ("terminal-input", Attempt::TerminalInput),
    ("personality", Attempt::Personality),
    ("unreviewed", Attempt::Unreviewed),
    ("kernel-log", Attempt::KernelLog),
];

/// Makes the call. `Ok` when it worked, else its errno.
pub fn attempt(what: Attempt) -> io::Result<()> {
    let nothing = usize::MAX; // -1: no descriptor, no process
    let mut ring = [0_u8; 120]; // struct io_uring_params
    let (number, arguments) = match what {
        Attempt::UserNamespace => (libc::SYS_unshare, [flag(libc::CLONE_NEWUSER), 0, 0, 0, 0]),
        Attempt::Clone3 => (libc::SYS_clone3, [0; 5]),
        // CLONE_FS and a user namespace exclude each other: an open call answers EINVAL.
        Attempt::CloneNamespace => {
            (libc::SYS_clone, [flag(libc::CLONE_NEWUSER | libc::CLONE_FS), 0, 0, 0, 0])
        }
        Attempt::EnterNamespace => (libc::SYS_setns, [nothing, 0, 0, 0, 0]),
        Attempt::Mount => (libc::SYS_mount, [0; 5]),
        Attempt::NewMountInterface => (libc::SYS_fsopen, [0; 5]),
        Attempt::Ring => (libc::SYS_io_uring_setup, [1, ring.as_mut_ptr().expose_provenance(), 0, 0, 0]),
        Attempt::Bpf => (libc::SYS_bpf, [nothing, 0, 0, 0, 0]),
        Attempt::UserFault => (libc::SYS_userfaultfd, [flag(libc::O_CLOEXEC) | 1, 0, 0, 0, 0]),
        // KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, do not create.
        Attempt::Keyring => (libc::SYS_keyctl, [0, usize::MAX - 2, 0, 0, 0]),
        Attempt::FileHandle => (libc::SYS_open_by_handle_at, [nothing, 0, 0, 0, 0]),
        Attempt::ForeignDescriptor => (libc::SYS_pidfd_getfd, [nothing, 0, 0, 0, 0]),
        Attempt::Trace => (libc::SYS_ptrace, [0; 5]),
        Attempt::Listener => (libc::SYS_seccomp, [1, 8, 0, 0, 0]),
        Attempt::PacketSocket => (libc::SYS_socket, [flag(libc::AF_PACKET), flag(libc::SOCK_RAW), 0, 0, 0]),
        Attempt::Multipath => (libc::SYS_socket, [flag(libc::AF_INET), flag(libc::SOCK_STREAM), 262, 0, 0]),
        Attempt::DeviceNode => (libc::SYS_mknodat, [nothing, 0, 0o020_600, 0, 0]),
        Attempt::SetIdMode => (libc::SYS_fchmodat, [nothing, 0, 0o4755, 0, 0]),
        Attempt::InodeFlags => (libc::SYS_ioctl, [nothing, 0x4008_6602, 0, 0, 0]),
        // The upper half must not matter (CVE-2019-10063).
        Attempt::TerminalInput => (libc::SYS_ioctl, [nothing, 0x5412 | (1 << 32), 0, 0, 0]),
        Attempt::Personality => (libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0]),
        Attempt::Unreviewed => (9999, [0; 5]),
        Attempt::KernelLog => (libc::SYS_syslog, [10, 0, 0, 0, 0]),
    };
    let [a, b, c, d, e] = arguments;
    // SAFETY: the one pointer is to `ring`, as large as the kernel writes there; all others are null, which these calls
    // refuse or ignore. What `unshare`, `personality` and `ptrace` change ends with the process.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e) };
    if answer >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A flag of the C library as a register value.
fn flag(value: libc::c_int) -> usize {
    usize::try_from(value).unwrap_or(0)
}
