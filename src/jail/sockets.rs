//! Live unix sockets of the host at known places inside the workspace, to be masked: a mount or an address in a visible
//! directory does not keep anybody from connecting.
//!
//! Danger: this finds what is cheap to find. Sockets deeper in the tree stay reachable where the command may make unix
//! sockets at all, and the report says so.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::plan::JailPlan;
use super::seccomp::Sockets;

/// Places of sockets that daemons of developer tools make inside a workspace.
const KNOWN: [&str; 1] = [".git/fsmonitor--daemon.ipc"];

/// The sockets at the top of the plan's workspace, at [`KNOWN`] places and where a walk before this run saw some, that
/// somebody listens on. A stale one is left: the command may want to replace it.
pub(super) fn live(plan: &JailPlan, noted: &[PathBuf]) -> Vec<PathBuf> {
    if plan.filter.sockets == Sockets::None {
        return Vec::new();
    }
    let entries = std::fs::read_dir(&plan.workspace).into_iter().flatten().flatten();
    let top = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path());
    let known = KNOWN.iter().map(|name| plan.workspace.join(name)).filter(|path| is_socket(path));
    let noted = noted.iter().map(|name| plan.workspace.join(name)).filter(|path| is_socket(path));
    top.chain(known).chain(noted).filter(|path| listens(path)).collect()
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Whether a connection is not refused. Where it cannot be tried, somebody is taken to listen.
fn listens(path: &Path) -> bool {
    let tried = SocketAddrUnix::new(path).and_then(|address| {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        connect(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?, &address)
    });
    tried != Err(rustix::io::Errno::CONNREFUSED)
}
