//! The compiled program equals the table, for every number and class of arguments, on both machines.

use proptest::prelude::*;

use super::interpret::{Call, run};
use super::rule::{Answer, Arch, Condition, Entry, Test};
use super::{
    Descriptors, FilterSpec, Handover, Sockets, Watching, closed, compile, compile_watched, refusal, table,
    watched,
};

const ARCHS: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

fn specs() -> Vec<FilterSpec> {
    let mut list = Vec::new();
    for sockets in [Sockets::None, Sockets::Unix, Sockets::Ip] {
        for bits in 0..32_u8 {
            list.push(FilterSpec {
                sockets,
                deny_metadata: bits & 1 != 0,
                shared_processes: bits & 2 != 0,
                shared_ipc: bits & 4 != 0,
                debug: bits & 8 != 0,
                shared_group: bits & 16 != 0,
            });
        }
    }
    list
}

/// What the kernel is to read of a register under a test; written apart from the compiler.
fn holds(condition: &Condition, arguments: [u64; 6]) -> bool {
    let value = arguments[usize::from(condition.argument)];
    let low = value & 0xFFFF_FFFF;
    match condition.test {
        Test::Is(wanted) => low == u64::from(wanted),
        Test::Any(mask) => low & u64::from(mask) > 0,
        Test::Masked(mask, wanted) => low & u64::from(mask) == u64::from(wanted),
        Test::Set64 => value > 0,
    }
}

fn judge(entry: &Entry, arguments: [u64; 6]) -> Answer {
    let hit = entry.cases.iter().find(|case| case.all.iter().all(|c| holds(c, arguments)));
    hit.map_or(entry.otherwise, |case| case.answer)
}

fn expected(rows: &[&'static Entry], arch: Arch, call: &Call) -> Answer {
    if call.audit != arch.audit() {
        return Answer::Kill;
    }
    match rows.iter().find(|entry| entry.number(arch) == Some(call.number)) {
        Some(entry) => judge(entry, call.arguments),
        None if call.number > arch.newest() => Answer::NoSys,
        None => Answer::Allow,
    }
}

/// Values of a register that can make a difference to the conditions on it.
fn classes(entry: &Entry, argument: u8) -> Vec<u64> {
    let mut values = vec![0, u64::MAX, 1 << 32];
    let conditions = entry.cases.iter().flat_map(|case| case.all).filter(|c| c.argument == argument);
    for condition in conditions {
        match condition.test {
            Test::Is(value) => {
                let value = u64::from(value);
                values.extend([value, value | 0xFFFF << 32, value ^ 1, value << 32]);
            }
            Test::Any(mask) => {
                values.extend((0..32).map(|bit| 1 << bit));
                values.extend([u64::from(mask), u64::from(mask) << 32, !u64::from(mask)]);
            }
            Test::Masked(mask, value) => {
                let (mask, value) = (u64::from(mask), u64::from(value));
                values.extend([value, value | !mask, value ^ (mask & mask.wrapping_neg()), value << 32]);
            }
            Test::Set64 => values.extend([1, 0x8000_0000, 1 << 63]),
        }
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// Every combination of the classes of the registers that `entry` looks at.
fn argument_classes(entry: &Entry) -> Vec<[u64; 6]> {
    let mut all = vec![[0_u64; 6], [u64::MAX; 6]];
    for argument in 0..6_u8 {
        let looked_at = entry.cases.iter().flat_map(|case| case.all).any(|c| c.argument == argument);
        if looked_at {
            let values = classes(entry, argument);
            all = all
                .into_iter()
                .flat_map(|arguments| {
                    values.iter().map(move |value| {
                        let mut next = arguments;
                        next[usize::from(argument)] = *value;
                        next
                    })
                })
                .collect();
        }
    }
    all
}

#[test]
fn the_program_equals_the_table_for_every_call_and_argument_class() {
    for arch in ARCHS {
        for spec in specs() {
            let program = compile(spec, arch);
            let rows: Vec<_> = closed(spec, arch).collect();
            let check = |call: &Call| {
                let answer = expected(&rows, arch, call);
                assert_eq!(
                    run(&program, call).0,
                    answer.ret(),
                    "{arch:?} {spec:?} {call:?} wants {answer:?}"
                );
            };
            let high = [1000, 9999, 0x3FFF_FFFF, 0x4000_0000, 0x4000_0002, 0x4000_0101, u32::MAX];
            for number in (0..=600).chain(high) {
                check(&Call::native(arch, number, [0; 6]));
                check(&Call::native(arch, number, [u64::MAX; 6]));
            }
            for entry in &rows {
                let number = entry.number(arch).unwrap();
                for arguments in argument_classes(entry) {
                    check(&Call::native(arch, number, arguments));
                }
            }
        }
    }
}

/// What is closed stays closed when somebody watches, or is his to refuse; nothing else is handed over but what is watched.
#[test]
fn the_watched_program_closes_what_the_plain_one_closes() {
    for arch in ARCHS {
        let ways = [(false, Descriptors::Nothing), (true, Descriptors::Times), (true, Descriptors::All)];
        let each = |spec| ways.map(|(reads, descriptors)| (spec, reads, descriptors));
        for (spec, reads, descriptors) in specs().into_iter().step_by(31).flat_map(each) {
            let plain = compile(spec, arch);
            let program =
                compile_watched(spec, Watching { reads, descriptors, how: Handover::Listener }, arch);
            let rows: Vec<_> = watched(reads, descriptors, arch).collect();
            let check = |call: &Call| {
                let (before, now) = (run(&plain, call).0, run(&program, call).0);
                let row = rows.iter().find(|row| row.number(arch) == Some(call.number));
                let wanted = row.is_some_and(|row| judge(row, call.arguments) == Answer::Watch);
                let refused = refusal(spec, arch, call.number, call.arguments);
                if before == libc::SECCOMP_RET_ALLOW {
                    let then = if wanted { Answer::Watch } else { Answer::Allow };
                    assert_eq!((now, refused), (then.ret(), None), "{arch:?} {spec:?} {call:?}");
                } else if now == Answer::Watch.ret() {
                    assert_eq!(Some(before & 0xFFFF), refused.map(i32::cast_unsigned), "{spec:?} {call:?}");
                } else {
                    assert_eq!(now, before, "{arch:?} {spec:?} {call:?}");
                }
            };
            for number in 0..=600 {
                check(&Call::native(arch, number, [0; 6]));
                check(&Call::native(arch, number, [u64::MAX; 6]));
            }
            for entry in closed(spec, arch).chain(watched(reads, descriptors, arch)) {
                for arguments in argument_classes(entry) {
                    check(&Call::native(arch, entry.number(arch).unwrap(), arguments));
                }
            }
            let steps =
                run(&program, &Call::native(arch, if arch == Arch::X86_64 { 0 } else { 63 }, [0; 6])).1;
            assert!(program.len() <= 560 && steps <= 14, "{} instructions, read {steps}", program.len());
        }
    }
}

proptest! {
    #[test]
    fn the_program_equals_the_table_for_any_registers(
        number in prop_oneof![0_u32..520, any::<u32>()],
        arguments in any::<[u64; 6]>(),
        small in any::<[u8; 6]>(),
        which in 0..96_usize,
        arm in any::<bool>(),
        native in 0..8_u8,
    ) {
        let arch = ARCHS[usize::from(arm)];
        let spec = specs()[which];
        let (program, rows) = (compile(spec, arch), closed(spec, arch).collect::<Vec<_>>());
        let audit = if native == 0 { ARCHS[usize::from(!arm)].audit() } else { arch.audit() };
        for arguments in [arguments, small.map(u64::from)] {
            let call = Call { audit, number, arguments };
            prop_assert_eq!(run(&program, &call).0, expected(&rows, arch, &call).ret());
        }
    }
}

#[test]
fn foreign_machines_are_killed_and_unreviewed_numbers_do_not_exist() {
    for (arch, foreign) in [(Arch::X86_64, 0x4000_0003), (Arch::Aarch64, 0x4000_0028)] {
        let program = compile(specs()[0], arch);
        for audit in [foreign, 0, u32::MAX] {
            let call = Call { audit, number: 20, arguments: [0; 6] };
            assert_eq!(run(&program, &call).0, libc::SECCOMP_RET_KILL_PROCESS);
        }
        // 470 on 6.19 is listns; 0x4000_0002 is x32's open; -1 is a call that a tracer skipped.
        for number in [470, 548, 0x4000_0002, u32::MAX] {
            let value = run(&program, &Call::native(arch, number, [0; 6])).0;
            assert_eq!(value, Answer::NoSys.ret(), "{number:#x}");
        }
    }
}

#[test]
fn rows_of_one_call_never_overlap_and_each_is_in_force_somewhere() {
    for arch in ARCHS {
        for spec in specs() {
            let mut numbers: Vec<_> = closed(spec, arch).map(|e| (e.number(arch), e.name)).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup_by_key(|(number, _)| *number);
            assert_eq!(all, numbers.len(), "two rows for one number: {spec:?}");
        }
    }
    for entry in table::entries() {
        let somewhere = specs().into_iter().any(|spec| entry.when.holds(spec));
        assert!(somewhere && (entry.x86_64.is_some() || entry.aarch64.is_some()), "{}", entry.name);
        assert!(entry.reason.len() > 10, "{} has no reason", entry.name);
    }
}

#[test]
fn no_row_and_no_case_is_redundant() {
    for entry in table::entries() {
        let arguments = argument_classes(entry);
        let closes = arguments.iter().any(|a| judge(entry, *a) != Answer::Allow);
        assert!(closes, "row {} closes nothing", entry.name);
        for left_out in 0..entry.cases.len() {
            let mut cases = entry.cases.to_vec();
            cases.remove(left_out);
            let without = Entry { cases: Vec::leak(cases), ..*entry };
            let matters = arguments.iter().any(|a| judge(entry, *a) != judge(&without, *a));
            assert!(matters, "case {left_out} of {} changes nothing", entry.name);
        }
    }
}

#[test]
fn both_machines_have_the_row_unless_the_call_is_one_of_the_old_ones() {
    let old = [
        "iopl",
        "ioperm",
        "modify_ldt",
        "uselib",
        "sysfs",
        "ustat",
        "_sysctl",
        "mknod",
        "open",
        "creat",
        "chmod",
        "chown",
        "lchown",
        "utime",
        "utimes",
        "futimesat",
    ];
    for entry in table::entries() {
        assert_eq!(entry.aarch64.is_none(), old.contains(&entry.name), "{}", entry.name);
        let unified = entry.x86_64.is_some_and(|n| n >= 424) || entry.aarch64.is_some_and(|n| n >= 424);
        assert!(!unified || entry.x86_64 == entry.aarch64, "{}: numbers from 424 are common", entry.name);
    }
}

/// Calls without which ordinary programs do not run, by their x86-64 numbers.
#[test]
fn ordinary_calls_stay_open_under_the_strictest_filter() {
    let strictest = FilterSpec {
        sockets: Sockets::None,
        deny_metadata: true,
        shared_processes: true,
        shared_ipc: true,
        debug: false,
        shared_group: true,
    };
    let program = compile(strictest, Arch::X86_64);
    let open = |number: i64, arguments: [u64; 6]| {
        let call = Call::native(Arch::X86_64, u32::try_from(number).unwrap(), arguments);
        run(&program, &call).0 == libc::SECCOMP_RET_ALLOW
    };
    let whatever = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_mmap,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_exit_group,
        libc::SYS_wait4,
        libc::SYS_tgkill,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setgroups,
        libc::SYS_openat2,
        libc::SYS_futex,
        libc::SYS_rseq,
        libc::SYS_arch_prctl,
        libc::SYS_close_range,
        libc::SYS_rename,
        libc::SYS_unlinkat,
        libc::SYS_pipe2,
        libc::SYS_epoll_pwait2,
        libc::SYS_memfd_create,
        libc::SYS_statx,
        libc::SYS_getrandom,
        libc::SYS_pidfd_open,
        libc::SYS_landlock_create_ruleset,
        libc::SYS_faccessat2,
        libc::SYS_inotify_init1,
        libc::SYS_copy_file_range,
        libc::SYS_flock,
        libc::SYS_mlock,
        libc::SYS_msync,
    ];
    for number in whatever {
        assert!(open(number, [0; 6]) && open(number, [u64::MAX; 6]), "{number}");
    }
    assert!(
        open(libc::SYS_kill, [4242, 15, 0, 0, 0, 0])
            && open(libc::SYS_kill, [u64::MAX - 4241, 15, 0, 0, 0, 0])
    );
    let thread = u64::from(0x003D_0F00_u32); // what pthread_create asks of clone
    assert!(open(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]));
    assert!(open(libc::SYS_clone, [0x1200011, 0, 0, 0, 0, 0]), "fork of the C library");
    assert!(open(libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0]) && open(libc::SYS_ioctl, [0, 0x5413, 0, 0, 0, 0]));
    assert!(open(libc::SYS_socketpair, [1, 0x80001, 0, 0, 0, 0]));
    assert!(open(libc::SYS_prlimit64, [0, 7, 0x7FFF_0000_1000, 0, 0, 0]), "own limits");
    assert!(open(libc::SYS_prlimit64, [4242, 7, 0, 0x7FFF_0000_1000, 0, 0]), "reading the limits of others");
    assert!(open(libc::SYS_openat, [u64::MAX - 99, 0, 0, 0xDEAD_BEEF, 0, 0]), "no mode without O_CREAT");
    assert!(open(libc::SYS_openat, [u64::MAX - 99, 0, 0o1101, 0o666, 0, 0]));
}

#[test]
fn the_tree_stays_shallow_and_short() {
    for arch in ARCHS {
        for spec in specs() {
            let program = compile(spec, arch);
            assert!(program.len() <= 420, "{} instructions", program.len());
            let deepest = (0..470).map(|n| run(&program, &Call::native(arch, n, [0; 6])).1).max().unwrap();
            assert!(deepest <= 60, "{deepest} steps");
            let read =
                run(&program, &Call::native(arch, if arch == Arch::X86_64 { 0 } else { 63 }, [0; 6])).1;
            assert!(read <= 13, "read takes {read} steps");
        }
    }
}

macro_rules! native_numbers {
    ($($name:ident)*) => {
        &[$((stringify!($name), libc::$name)),*]
    };
}

/// The C library's numbers for this machine, for every row that it names.
#[test]
fn numbers_are_those_of_the_c_library() {
    let known: &[(&str, i64)] = native_numbers!(
        SYS_clone SYS_clone3 SYS_unshare SYS_setns SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree
        SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_io_uring_setup
        SYS_io_uring_enter SYS_io_uring_register SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_fanotify_init
        SYS_seccomp SYS_add_key SYS_request_key SYS_keyctl SYS_init_module SYS_finit_module SYS_delete_module
        SYS_kexec_load SYS_kexec_file_load SYS_reboot SYS_swapon SYS_swapoff SYS_acct SYS_quotactl SYS_quotactl_fd
        SYS_syslog SYS_vhangup SYS_settimeofday SYS_clock_settime SYS_adjtimex SYS_clock_adjtime SYS_sethostname
        SYS_setdomainname SYS_lookup_dcookie SYS_nfsservctl SYS_personality SYS_shmget SYS_shmat SYS_shmctl
        SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open
        SYS_mq_unlink SYS_kill SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_kcmp SYS_process_madvise
        SYS_process_mrelease SYS_pidfd_getfd SYS_prctl SYS_setpriority SYS_ioprio_set SYS_sched_setparam
        SYS_sched_setscheduler SYS_sched_setattr SYS_sched_setaffinity SYS_migrate_pages SYS_move_pages
        SYS_prlimit64 SYS_open_by_handle_at SYS_name_to_handle_at SYS_mknodat SYS_openat SYS_fchmod SYS_fchmodat
        SYS_fchmodat2 SYS_ioctl SYS_fchown SYS_fchownat SYS_utimensat SYS_setxattr SYS_lsetxattr SYS_fsetxattr
        SYS_removexattr SYS_lremovexattr SYS_fremovexattr SYS_socket SYS_socketpair SYS_sendto SYS_sendmsg SYS_sendmmsg
        SYS_openat2 SYS_truncate SYS_mkdirat SYS_unlinkat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_connect SYS_bind
        SYS_execve SYS_execveat SYS_set_tid_address
    );
    #[cfg(target_arch = "x86_64")]
    let old: &[(&str, i64)] = native_numbers!(
        SYS_iopl SYS_ioperm SYS_modify_ldt SYS_uselib SYS_sysfs SYS_ustat SYS__sysctl SYS_mknod SYS_open SYS_creat
        SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat SYS_mkdir SYS_rmdir SYS_unlink SYS_rename
        SYS_renameat SYS_link SYS_symlink SYS_arch_prctl
    );
    #[cfg(not(target_arch = "x86_64"))]
    let old: &[(&str, i64)] = &[];
    // Newer than the C library's list; all of Linux 6.13 to 6.18.
    let newer = [
        ("SYS_setxattrat", 463),
        ("SYS_removexattrat", 466),
        ("SYS_open_tree_attr", 467),
        ("SYS_file_setattr", 469),
    ];
    for entry in table::entries().chain(watched(true, Descriptors::All, Arch::NATIVE)) {
        let Some(number) = entry.number(Arch::NATIVE) else { continue };
        let symbol = format!("SYS_{}", entry.name);
        let found = known.iter().chain(old).chain(&newer).find(|(name, _)| *name == symbol);
        assert_eq!(found.map(|(_, n)| *n), Some(i64::from(number)), "{symbol}");
    }
}

/// The real kernel under the real program. A filter holds the thread that installed it, so each case has its own.
mod kernel {
    use super::*;
    use crate::sys::attempt::{ATTEMPTS, Attempt, attempt};

    fn inside<T: Send>(spec: FilterSpec, act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                rustix::thread::set_no_new_privs(true).unwrap();
                crate::sys::seccomp::install(&compile(spec, Arch::NATIVE)).unwrap();
                act()
            });
            thread.join().unwrap()
        })
    }

    fn strict() -> FilterSpec {
        FilterSpec {
            sockets: Sockets::None,
            deny_metadata: true,
            shared_processes: true,
            shared_ipc: true,
            debug: false,
            shared_group: true,
        }
    }

    #[test]
    fn closed_calls_answer_what_the_table_says() {
        let answers: Vec<_> = ATTEMPTS
            .iter()
            .map(|(name, what)| {
                (*name, *what, inside(strict(), || attempt(*what).map_err(|e| e.raw_os_error())))
            })
            .collect();
        for (name, what, answer) in answers {
            let wanted = match what {
                Attempt::Clone3 | Attempt::Ring | Attempt::Unreviewed => libc::ENOSYS,
                Attempt::PacketSocket => libc::EAFNOSUPPORT,
                _ => libc::EPERM,
            };
            assert_eq!(answer, Err(Some(wanted)), "{name}");
        }
    }

    /// The twin: outside the filter the same calls reach the kernel, so that EPERM above is the filter's doing.
    #[test]
    fn the_same_calls_reach_the_kernel_without_the_filter() {
        let reached = ATTEMPTS.iter().filter(|(_, what)| {
            // A traced or unshared test thread would not be the same thread; a clone that works would be a copy of it.
            !matches!(what, Attempt::Trace | Attempt::UserNamespace)
        });
        for (name, what) in reached {
            let answer = std::thread::scope(|s| s.spawn(|| attempt(*what)).join().unwrap());
            if rustix::process::geteuid().is_root() {
                let errno = answer.err().and_then(|e| e.raw_os_error());
                assert!(errno != Some(libc::EPERM) || matches!(what, Attempt::Bpf), "{name}: {errno:?}");
            }
        }
    }

    #[test]
    fn sockets_are_what_the_state_grants() {
        use std::net::{TcpListener, TcpStream, UdpSocket};
        use std::os::unix::net::{UnixDatagram, UnixStream};
        let denied = |e: &std::io::Error| e.raw_os_error() == Some(libc::EPERM);
        inside(strict(), || {
            assert!(UdpSocket::bind("127.0.0.1:0").is_err_and(|e| denied(&e)));
            assert!(TcpListener::bind("[::1]:0").is_err_and(|e| denied(&e)));
            assert!(UnixDatagram::unbound().is_err_and(|e| denied(&e)));
            UnixStream::pair().unwrap();
        });
        inside(FilterSpec { sockets: Sockets::Unix, ..strict() }, || {
            UnixDatagram::unbound().unwrap();
            assert!(UdpSocket::bind("127.0.0.1:0").is_err_and(|e| denied(&e)));
        });
        inside(FilterSpec { sockets: Sockets::Ip, ..strict() }, || {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            TcpStream::connect(server.local_addr().unwrap()).unwrap();
            UdpSocket::bind("127.0.0.1:0").unwrap();
            let errno = |what| attempt(what).err().and_then(|e| e.raw_os_error());
            assert_eq!(errno(Attempt::Multipath), Some(libc::EPROTONOSUPPORT));
            assert_eq!(errno(Attempt::PacketSocket), Some(libc::EAFNOSUPPORT));
        });
    }

    #[test]
    fn a_file_cannot_be_made_set_id_by_any_of_the_calls_with_a_mode() {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        let path = std::env::temp_dir().join(format!("swbox-set-id-{}", std::process::id()));
        let open = FilterSpec { deny_metadata: false, ..strict() };
        inside(open, || {
            for mode in [0o4755, 0o2755, 0o6755] {
                let made = std::fs::OpenOptions::new()
                    .create(true)
                    .write(true)
                    .truncate(true)
                    .mode(mode)
                    .open(&path);
                assert_eq!(made.unwrap_err().raw_os_error(), Some(libc::EPERM), "open {mode:o}");
            }
            std::fs::write(&path, "x").unwrap();
            let mode = |bits| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits));
            assert_eq!(mode(0o4755).unwrap_err().raw_os_error(), Some(libc::EPERM));
            mode(0o1755).unwrap();
        });
        inside(strict(), || {
            let mode = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700));
            assert_eq!(mode.unwrap_err().raw_os_error(), Some(libc::EPERM), "metadata is closed");
            let times = std::fs::File::open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH);
            assert_eq!(times.unwrap_err().raw_os_error(), Some(libc::EPERM));
        });
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn own_limits_and_scheduling_can_be_set_and_those_of_others_only_in_an_own_process_namespace() {
        let mut other = std::process::Command::new("/usr/bin/sleep").arg("30").spawn().unwrap();
        let pid = Some(rustix::process::Pid::from_child(&other));
        let set = |pid| {
            let limit = rustix::process::Rlimit { current: Some(100), maximum: Some(100) };
            rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit).map(drop)
        };
        inside(strict(), || {
            assert_eq!(set(pid), Err(rustix::io::Errno::PERM));
            rustix::process::getrlimit(rustix::process::Resource::Nofile);
            rustix::process::setpriority_process(None, 1).unwrap();
            assert!(rustix::process::setpriority_process(pid, 1).is_err());
        });
        inside(FilterSpec { shared_processes: false, ..strict() }, || {
            set(pid).unwrap();
            let group = rustix::process::setpriority_pgrp(None, 1);
            assert_eq!(group, Err(rustix::io::Errno::PERM), "the group has members outside");
        });
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
