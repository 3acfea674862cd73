//! The domain on this kernel. Landlock holds the calling thread only, so each case runs in a thread of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::*;
use crate::jail::plan::Grant;

/// A directory of the test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("swbox-landlock-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        for directory in ["in", "out"] {
            fs::create_dir_all(path.join(directory)).unwrap();
            fs::write(path.join(directory).join("file"), "original").unwrap();
        }
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn kernel() -> u32 {
    crate::sys::landlock::abi()
}

/// As at the full level: changes only.
fn changes(abi: u32, writable: &Path) -> LandlockPlan {
    LandlockPlan {
        abi,
        handled: Access::CHANGE.with(Access::EXECUTE).with(Access::IOCTL_DEV),
        handle_truncate: false,
        grants: vec![
            Grant { path: "/usr".into(), access: Access::EXECUTE, follow: true },
            Grant { path: writable.into(), access: Access::CHANGE, follow: true },
            Grant { path: "/dev/null".into(), access: Access::WRITE_FILE, follow: true },
            Grant { path: "/does/not/exist".into(), access: Access::CHANGE, follow: true },
        ],
        scope_abstract: true,
        scope_signals: true,
        no_tcp: false,
        stdio: false,
        straight: Vec::new(),
    }
}

/// As at the Landlock-only level: reads too.
fn everything(abi: u32, writable: &Path) -> LandlockPlan {
    let mut plan = changes(abi, writable);
    plan.handled = plan.handled.with(Access::READ);
    plan.handle_truncate = true;
    plan.grants[0].access = Access::EXECUTE.with(Access::READ);
    plan.grants[1].access = Access::CHANGE.with(Access::READ);
    plan
}

/// Runs `act` in a thread that entered the domain of `plan`.
fn inside<T: Send>(plan: &LandlockPlan, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            restrict(plan, &find(plan, None).unwrap()).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

fn refused<T>(result: std::io::Result<T>) -> bool {
    matches!(result, Err(e) if e.kind() == ErrorKind::PermissionDenied || e.raw_os_error() == Some(libc::EXDEV))
}

#[test]
fn changes_outside_the_grants_fail_and_inside_they_work() {
    let scratch = Scratch::new("changes");
    let (inner, outer) = (scratch.path("in"), scratch.path("out"));
    inside(&changes(kernel(), &inner), || {
        fs::write(inner.join("new"), "x").unwrap();
        fs::create_dir(inner.join("d")).unwrap();
        fs::rename(inner.join("new"), inner.join("d/new")).unwrap();
        fs::remove_file(inner.join("d/new")).unwrap();
        fs::write("/dev/null", "x").unwrap();
        assert_eq!(fs::read(outer.join("file")).unwrap(), b"original", "reads are left to the mounts");

        assert!(refused(fs::write(outer.join("file"), "x")));
        assert!(refused(File::create(outer.join("new"))));
        assert!(refused(fs::create_dir(outer.join("d"))));
        assert!(refused(fs::remove_file(outer.join("file"))));
        assert!(refused(fs::rename(outer.join("file"), inner.join("stolen"))));
        assert!(refused(fs::rename(inner.join("file"), outer.join("file"))));
        assert!(refused(fs::hard_link(outer.join("file"), inner.join("alias"))));
        assert!(refused(std::os::unix::fs::symlink("x", outer.join("link"))));
        assert!(refused(UnixListener::bind(outer.join("socket"))));
    });
    assert_eq!(fs::read(outer.join("file")).unwrap(), b"original");
}

#[test]
fn with_everything_handled_reads_and_truncate_are_held_too() {
    let scratch = Scratch::new("everything");
    let (inner, outer) = (scratch.path("in"), scratch.path("out"));
    inside(&everything(kernel(), &inner), || {
        assert_eq!(fs::read(inner.join("file")).unwrap(), b"original");
        File::create(inner.join("file")).unwrap().write_all(b"x").unwrap();
        assert!(refused(fs::read(outer.join("file"))));
        assert!(refused(fs::read_dir(&outer)));
        assert!(refused(OpenOptions::new().write(true).truncate(true).open(outer.join("file"))));
        assert!(refused(
            rustix::fs::open(outer.join("file"), OFlags::RDONLY | OFlags::TRUNC, Mode::empty())
                .map_err(Into::into)
        ));
        let ran = std::process::Command::new("/usr/bin/true").status();
        assert!(ran.is_ok_and(|status| status.success()));
    });
    assert_eq!(fs::read(outer.join("file")).unwrap(), b"original");
}

#[test]
fn the_list_right_shows_names_and_hides_contents() {
    let scratch = Scratch::new("list");
    let outer = scratch.path("out");
    let mut plan = everything(kernel(), &scratch.path("in"));
    plan.grants.push(Grant { path: outer.clone(), access: Access::READ_DIR, follow: true });
    inside(&plan, || {
        let names: Vec<_> = fs::read_dir(&outer).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["file"]);
        assert!(refused(fs::read(outer.join("file"))));
    });
}

#[test]
fn abstract_sockets_and_signals_of_others_are_out_of_reach() {
    if kernel() < 6 {
        assert!(!std::env::var("SWBOX_REQUIRE").unwrap_or_default().contains("scopes"));
        println!("SKIP abstract_sockets_and_signals_of_others_are_out_of_reach: Landlock ABI below 6");
        return;
    }
    let scratch = Scratch::new("scopes");
    use std::os::linux::net::SocketAddrExt;
    let name =
        std::os::unix::net::SocketAddr::from_abstract_name(format!("swbox-{}", std::process::id())).unwrap();
    let _server = UnixListener::bind_addr(&name).unwrap();
    let mut other = std::process::Command::new("/usr/bin/sleep").arg("30").spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&other);
    inside(&changes(kernel(), &scratch.path("in")), || {
        assert!(refused(UnixStream::connect_addr(&name)));
        let signalled = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        assert_eq!(signalled, Err(rustix::io::Errno::PERM));
    });
    UnixStream::connect_addr(&name).unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn standard_streams_keep_their_mode_when_they_are_reopened() {
    let scratch = Scratch::new("streams");
    let file = File::open(scratch.path("out/file")).unwrap();
    let read_only = stream_rights(file.as_fd());
    assert!(read_only.contains(AccessFs::ReadFile) && !read_only.contains(AccessFs::WriteFile));
    assert!(!read_only.contains(AccessFs::Truncate));
    let file = OpenOptions::new().append(true).open(scratch.path("out/file")).unwrap();
    let write_only = stream_rights(file.as_fd());
    assert!(write_only.contains(AccessFs::WriteFile) && !write_only.contains(AccessFs::ReadFile));
    let (pipe, _end) = std::io::pipe().unwrap();
    assert!(stream_rights(pipe.as_fd()).is_empty());
}

#[test]
fn what_an_abi_lacks_is_not_asked_for_and_what_it_has_is() {
    let plan = everything(1, Path::new("/w"));
    assert!(!handled(&plan).files.intersects(AccessFs::Refer | AccessFs::Truncate | AccessFs::IoctlDev));
    assert!(handled(&plan).scopes.is_empty());
    let at = |abi| handled(&everything(abi, Path::new("/w")));
    assert!(at(2).files.contains(AccessFs::Refer));
    assert!(at(3).files.contains(AccessFs::Truncate));
    assert!(at(5).files.contains(AccessFs::IoctlDev));
    assert_eq!(at(6).scopes, Scope::AbstractUnixSocket | Scope::Signal);
    assert_eq!(at(7), at(6));
    assert!(at(9).files.contains(AccessFs::ResolveUnix));
    assert!(at(1).files.contains(AccessFs::MakeChar | AccessFs::MakeBlock));
    let full = handled(&changes(7, Path::new("/w"))).files;
    assert!(!full.intersects(AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Truncate));
}

#[test]
fn an_abi_that_the_kernel_lacks_is_an_error_and_never_less() {
    let scratch = Scratch::new("older");
    let mut plan = everything(10, &scratch.path("in"));
    if kernel() >= 10 {
        println!("SKIP an_abi_that_the_kernel_lacks_is_an_error_and_never_less: the kernel has it");
        return;
    }
    let error = std::thread::scope(|s| {
        s.spawn(|| find(&plan, None).and_then(|held| restrict(&plan, &held))).join().unwrap()
    })
    .unwrap_err();
    assert!(matches!(error, Error::Ruleset(_)), "{error}");
    plan.abi = 0;
    assert!(
        std::thread::scope(|s| s
            .spawn(|| find(&plan, None).and_then(|held| restrict(&plan, &held)))
            .join()
            .unwrap())
        .is_err()
    );
}

#[test]
fn each_older_abi_holds_the_writes() {
    let scratch = Scratch::new("abis");
    let (inner, outer) = (scratch.path("in"), scratch.path("out"));
    for abi in 1..=kernel().min(TESTED_ABI) {
        inside(&everything(abi, &inner), || {
            fs::write(inner.join("file"), "x").unwrap();
            assert!(refused(fs::write(outer.join("file"), "x")), "ABI {abi}");
            assert!(refused(fs::read(outer.join("file"))), "ABI {abi}");
        });
    }
}
