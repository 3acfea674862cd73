//! The vocabulary of the table: architecture, entry, case, condition, answer.
//!
//! A row is one system call. Its cases are tried in order, all conditions of a case must hold, the first case that
//! does gives the answer, else [`Entry::otherwise`].
//!
//! Danger: the kernel reads most flag arguments as 32-bit values and ignores the upper half of the register. A
//! condition that looked at all 64 bits would miss `TIOCSTI | 1 << 32`; so every test but [`Test::Set64`] is 32 bits wide.

use super::{FilterSpec, Sockets};

/// A machine whose numbers the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// x86-64; the x32 numbers that share its audit value are above [`Arch::newest`].
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// The machine this program was built for.
    #[cfg(target_arch = "x86_64")]
    pub const NATIVE: Self = Self::X86_64;
    /// The machine this program was built for.
    #[cfg(target_arch = "aarch64")]
    pub const NATIVE: Self = Self::Aarch64;

    /// `AUDIT_ARCH_*`: what the kernel reports for a call by the native entry. Any other (int 0x80, 32-bit Arm) is a
    /// different table of numbers and kills the process.
    pub const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    /// The highest number that was reviewed: `file_setattr`, Linux 6.18. All above answer ENOSYS.
    pub const fn newest(self) -> u32 {
        match self {
            Self::X86_64 | Self::Aarch64 => 469,
        }
    }
}

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// It reaches the kernel.
    Allow,
    /// It fails with EPERM: refused.
    Perm,
    /// It fails with ENOSYS: the C library and the tools fall back to what older kernels have.
    NoSys,
    /// It fails with EAFNOSUPPORT: a socket family that is not there.
    Family,
    /// It fails with EPROTONOSUPPORT: a protocol that is not there; programs fall back to TCP.
    Protocol,
    /// It fails with EOPNOTSUPP: a flag that is not there; programs fall back.
    Operation,
    /// It is handed to whoever watches, who lets the kernel go on or refuses.
    Watch,
    /// The process is killed.
    Kill,
}

impl Answer {
    /// Its errno's name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Perm => "EPERM",
            Self::NoSys => "ENOSYS",
            Self::Family => "EAFNOSUPPORT",
            Self::Protocol => "EPROTONOSUPPORT",
            Self::Operation => "EOPNOTSUPP",
            Self::Watch => "watched",
            Self::Kill => "killed",
        }
    }

    /// Its errno, where it has one.
    pub const fn errno(self) -> Option<i32> {
        match self {
            Self::Perm => Some(libc::EPERM),
            Self::NoSys => Some(libc::ENOSYS),
            Self::Family => Some(libc::EAFNOSUPPORT),
            Self::Protocol => Some(libc::EPROTONOSUPPORT),
            Self::Operation => Some(libc::EOPNOTSUPP),
            Self::Allow | Self::Watch | Self::Kill => None,
        }
    }

    /// The value a seccomp program returns for it.
    pub(super) const fn ret(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Watch => libc::SECCOMP_RET_USER_NOTIF,
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
            refused => match refused.errno() {
                Some(number) => libc::SECCOMP_RET_ERRNO | number.cast_unsigned(),
                None => libc::SECCOMP_RET_KILL_PROCESS,
            },
        }
    }
}

/// Under which [`FilterSpec`] a row is in force. Rows of one call never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Metadata calls are closed.
    MetadataClosed,
    /// Metadata calls are open (mounts bound their reach).
    MetadataOpen,
    /// Processes of others are in reach.
    SharedProcesses,
    /// Only the command's own processes have a number, but its process group has members outside.
    OwnProcesses,
    /// A signal to the process group reaches its members outside.
    SharedGroup,
    /// IPC objects of others are in reach.
    SharedIpc,
    /// No debugging.
    NoDebug,
    /// No sockets.
    NoSockets,
    /// Unix sockets only.
    UnixSockets,
    /// Unix and IP sockets.
    IpSockets,
}

impl When {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::MetadataClosed => "Landlock only, state without a write right",
            Self::MetadataOpen => "where mounts hold metadata, or it may be changed",
            Self::SharedProcesses => "without an own PID namespace",
            Self::OwnProcesses => "with an own PID namespace",
            Self::SharedGroup => "below Landlock ABI 6",
            Self::SharedIpc => "without an own IPC namespace",
            Self::NoDebug => "states that execute nothing, or without an own PID namespace",
            Self::NoSockets => "no sockets",
            Self::UnixSockets => "unix sockets only",
            Self::IpSockets => "IP sockets",
        }
    }

    /// Whether rows of this kind are in force.
    pub fn holds(self, spec: FilterSpec) -> bool {
        match self {
            Self::Always => true,
            Self::MetadataClosed => spec.deny_metadata,
            Self::MetadataOpen => !spec.deny_metadata,
            Self::SharedProcesses => spec.shared_processes,
            Self::OwnProcesses => !spec.shared_processes,
            Self::SharedGroup => spec.shared_group,
            Self::SharedIpc => spec.shared_ipc,
            Self::NoDebug => !spec.debug,
            Self::NoSockets => spec.sockets == Sockets::None,
            Self::UnixSockets => spec.sockets == Sockets::Unix,
            Self::IpSockets => spec.sockets == Sockets::Ip,
        }
    }
}

/// What is asked of one argument register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The low 32 bits are this.
    Is(u32),
    /// The low 32 bits share a bit with this.
    Any(u32),
    /// The low 32 bits under the mask are the value.
    Masked(u32, u32),
    /// The register is not zero, all 64 bits (a pointer that is given).
    Set64,
}

/// A test of an argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// Which argument.
    pub argument: u8,
    /// What is asked of it.
    pub test: Test,
}

impl Condition {
    /// Whether these registers fulfil it.
    pub fn holds(&self, arguments: [u64; 6]) -> bool {
        let Some(value) = arguments.get(usize::from(self.argument)) else { return false };
        let low = u32::try_from(value & 0xFFFF_FFFF).unwrap_or_default();
        match self.test {
            Test::Is(wanted) => low == wanted,
            Test::Any(mask) => low & mask != 0,
            Test::Masked(mask, wanted) => low & mask == wanted,
            Test::Set64 => *value != 0,
        }
    }
}

/// Conditions that must all hold, and the answer they give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// All must hold.
    pub all: &'static [Condition],
    /// The answer.
    pub answer: Answer,
}

/// One system call and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its number on x86-64.
    pub x86_64: Option<u32>,
    /// Its number on aarch64.
    pub aarch64: Option<u32>,
    /// When the row is in force.
    pub when: When,
    /// Tried in order.
    pub cases: &'static [Case],
    /// The answer when no case holds.
    pub otherwise: Answer,
    /// Why, for people.
    pub reason: &'static str,
}

impl Entry {
    /// The answer for these registers.
    pub fn answer(&self, arguments: [u64; 6]) -> Answer {
        let hit = self.cases.iter().find(|case| case.all.iter().all(|each| each.holds(arguments)));
        hit.map_or(self.otherwise, |case| case.answer)
    }

    /// Its number on `arch`, where it has one.
    pub const fn number(&self, arch: Arch) -> Option<u32> {
        match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Aarch64 => self.aarch64,
        }
    }
}
