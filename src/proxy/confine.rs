//! The proxy's own jail: it talks to the command and to the network, so it keeps nothing but sockets.
//!
//! Danger: after [`confine`] the process opens no file, starts no process and dials no port that the list does not name.
//! Everything it needs from files is read before.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::serve::CONNECTIONS;

/// Two descriptors a connection, and some.
const DESCRIPTORS: u64 = 2 * CONNECTIONS as u64 + 64;

/// What could not be had; the proxy works without, and says so.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfineError {
    #[error("limits and capabilities: {0}")]
    Process(#[from] rustix::io::Errno),
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    #[error("the filter cannot be built: {0}")]
    Build(#[from] seccompiler::BackendError),
    #[error("seccomp: {0}")]
    Seccomp(#[from] seccompiler::Error),
}

/// Gives up everything but sockets to these TCP ports (and UDP, for names).
pub(super) fn confine(tcp_ports: impl Iterator<Item = u16>) -> Result<(), ConfineError> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let most = |value| Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(Resource::Core, most(0))?;
    setrlimit(Resource::Fsize, most(0))?;
    let open = rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(DESCRIPTORS);
    setrlimit(Resource::Nofile, most(open.min(DESCRIPTORS)))?;
    rustix::thread::set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    restrict(tcp_ports)?;
    seccompiler::apply_filter(&filter()?)?;
    Ok(())
}

fn restrict(tcp_ports: impl Iterator<Item = u16>) -> Result<(), landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(BitFlags::<Scope>::all())?
        .create()?;
    for port in tcp_ports {
        ruleset = ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    ruleset.restrict_self().map(|_| ())
}

/// Only these calls; everything else is EPERM. No file is opened and no process started, with or without Landlock.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let family = |domain: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(domain.unsigned_abs()))
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.iter().map(|&call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![family(libc::AF_INET)?, family(libc::AF_INET6)?]);
    let arch = std::env::consts::ARCH.try_into()?;
    let deny = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, deny, SeccompAction::Allow, arch)?.try_into()
}

/// What the runtime and the resolver use once they run.
const CALLS: &[i64] = &[
    // Sockets that are there, and new ones of the families above.
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    // Waiting.
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // Memory, randomness, the end.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
