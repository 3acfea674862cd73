//! Starting a keeper: a process of its own session, pid 1 of new namespaces, with a root that shows nothing.
//!
//! Danger: it outlives whoever starts it. Every descriptor that it does not need is closed, standard streams among
//! them, else a harness would wait for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};
use rustix::process::DumpableBehavior;

use super::client::Place;
use super::serve::Keeper;
use crate::jail::namespace;
use crate::sys::lock::hold_byte;
use crate::sys::peer::close_all_but;
use crate::sys::process::{Memory, exit_now, fresh_session_keyring, set_name, spawn_into};
use crate::sys::signal::{self, Set};

/// The namespaces that a session has of its own.
const NAMESPACES: i32 =
    libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWNET;

/// The directory of the tmpfs that commands get.
const SHARED: &str = "session";

/// A byte of a file that is locked for reading as long as a keeper lives, for whoever asks whether anybody has it.
#[derive(Debug, Clone)]
pub struct Marked {
    /// The file, by its absolute path.
    pub path: PathBuf,
    /// The byte.
    pub byte: u32,
}

impl Marked {
    /// Locks it, where it is there and nobody writes.
    fn hold(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&self.path, flags, Mode::empty()).ok()?;
        hold_byte(file.as_fd(), self.byte).is_ok_and(|held| held).then_some(file)
    }
}

/// What a keeper holds.
pub(super) struct Held {
    pub(super) listener: OwnedFd,
    pub(super) signals: OwnedFd,
    /// User, network, IPC and PID namespace, in the order in which they are joined.
    pub(super) spaces: [OwnedFd; 4],
    /// Whether anybody was named for whom the session works.
    pub(super) masters_known: bool,
    root: OwnedFd,
    /// The file with the byte.
    _marked: Option<OwnedFd>,
}

impl Held {
    /// A mount of the shared directory, to be attached by whoever gets it.
    pub(super) fn tree(&self) -> io::Result<OwnedFd> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        Ok(open_tree(&self.root, SHARED, flags)?)
    }
}

/// Starts it and waits until it answers. `socket` is bound to the keeper's name; `size` bounds its tmpfs.
pub(super) fn start(place: &Place, socket: OwnedFd, size: Option<u64>, marked: &Marked) -> io::Result<()> {
    let directory = place.open()?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let (reader, ready) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut own = Some((socket, ready));
    let mut keeper = || match own.take() {
        Some((socket, ready)) => live(socket, &directory, place.name(), ready, ids, (size, marked)),
        None => 1,
    };
    let mut middle = || {
        // Of its own session, and nobody's child: the end of the terminal is not its end.
        let made = detach(&null).and_then(|()| spawn_into(NAMESPACES, Memory::Copied, &mut keeper));
        // Before that is dropped, which would end it.
        exit_now(i32::from(made.is_err()))
    };
    let code = spawn_into(0, Memory::Copied, &mut middle)?.wait()?;
    drop(own);
    if code != 0 {
        return Err(io::Error::other("this host gives it no namespaces"));
    }
    let mut answer = [0; 4];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(&reader, &mut answer))?;
    match (count, i32::from_ne_bytes(answer)) {
        (4, 0) => Ok(()),
        (4, errno) => Err(io::Error::from_raw_os_error(errno)),
        _ => Err(io::Error::other("it ended before it was ready")),
    }
}

/// Says over the pipe why there is no keeper.
fn tell(ready: &OwnedFd, error: &io::Error) {
    let errno = error.raw_os_error().filter(|errno| *errno != 0).unwrap_or(libc::EIO);
    // Where nobody listens there is nobody to be told.
    let _ = rustix::io::write(ready, &errno.to_ne_bytes());
}

fn detach(null: &OwnedFd) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::stdio::dup2_stdin(null)?;
    rustix::stdio::dup2_stdout(null)?;
    rustix::stdio::dup2_stderr(null)?;
    Ok(())
}

/// The keeper's process; never returns.
fn live(
    listener: OwnedFd,
    directory: &OwnedFd,
    name: &str,
    ready: OwnedFd,
    ids: (u32, u32),
    (size, marked): (Option<u64>, &Marked),
) -> ! {
    let kept = [listener.as_raw_fd(), directory.as_raw_fd(), ready.as_raw_fd()];
    let code = match close_all_but(&kept).and_then(|()| prepare(listener, ids, size, marked)) {
        Ok(held) => {
            let mut keeper = Keeper::new(held);
            let said = rustix::io::write(&ready, &0_i32.to_ne_bytes());
            drop(ready);
            let ended = said.map_err(io::Error::from).and_then(|_| keeper.live());
            // Where that fails the next start takes the name.
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
            i32::from(ended.is_err())
        }
        Err(error) => {
            tell(&ready, &error);
            1
        }
    };
    exit_now(code)
}

/// Makes the namespaces habitable.
fn prepare(listener: OwnedFd, ids: (u32, u32), size: Option<u64>, marked: &Marked) -> io::Result<Held> {
    // As long as its path leads there.
    let marked = marked.hold();
    set_name(c"swbox-keeper");
    crate::sys::arguments::show("swbox-keeper");
    fresh_session_keyring();
    rustix::thread::set_no_new_privs(true)?;
    namespace::map_ids(ids.0, ids.1)?;
    crate::sys::net::loopback_up()?;
    rustix::process::umask(Mode::empty());
    // What is blocked is pending even for pid 1: nothing but the ends of children is read, whoever sends it.
    Set::all().apply()?;
    let signals = signal::descriptor(&Set::of(&[libc::SIGCHLD]))?;
    let space = |name: &str| {
        rustix::fs::open(format!("/proc/self/ns/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    };
    let spaces = [space("user")?, space("net")?, space("ipc")?, space("pid")?];
    let root = root(size)?;
    // Not before: its own files in /proc would be the host's root's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // From here on it answers: whoever asks sees this process as the one that listens.
    rustix::net::listen(&listener, 128)?;
    Ok(Held { listener, signals, spaces, masters_known: false, root, _marked: marked })
}

/// A root with the shared directory and a `/proc`, and nothing of the host.
fn root(size: Option<u64>) -> io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    let closed = attributes | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, closed)?;
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "mode", "0755")?;
    if let Some(size) = size {
        fsconfig_set_string(context.as_fd(), "size", size.to_string())?;
    }
    fsconfig_create(context.as_fd())?;
    let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    for name in [SHARED, "proc"] {
        rustix::fs::mkdirat(&root, name, Mode::from_raw_mode(0o755))?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    // It needs a place in the old root for a moment; nothing is read there any more.
    move_mount(&root, "", CWD, "/proc", flags)?;
    move_mount(&proc, "", &root, "proc", flags)?;
    rustix::process::fchdir(&root)?;
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(root)
}
