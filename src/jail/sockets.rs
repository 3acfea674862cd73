//! Live unix sockets of the host in what a command sees, to be masked: a mount or an address in a visible directory does
//! not keep anybody from connecting.
//!
//! The kernel lists the bound sockets of this network namespace by the names that they were bound to; at the top of the
//! workspace and at known places it is looked as well.
//! Danger: this finds what is there before the command begins and has a whole name. What is bound later, by a relative
//! name or in another network namespace stays reachable where the command may make unix sockets, and the report says so.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::outcome::Level;
use super::plan::{JailPlan, Step};
use super::seccomp::Sockets;
use crate::profile::value::lies_in;

/// Places of sockets that daemons of developer tools make inside a workspace.
const KNOWN: [&str; 1] = [".git/fsmonitor--daemon.ipc"];

/// The bound sockets of this network namespace, by the names that they were bound to.
const LIST: &str = "/proc/self/net/unix";

/// Fields of a line of [`LIST`] before the name.
const FIELDS: usize = 7;

/// How many listed names that lie nowhere visible are looked at for links.
const LINKS: usize = 64;

/// From here on the command's Landlock domain holds connections by name.
const HELD_BY_LANDLOCK: u32 = 9;

/// The sockets that the kernel lists, those at the top of the plan's workspace, at [`KNOWN`] places and where a walk before
/// this run saw some, that somebody listens on. A stale one is left: the command may want to replace it. With that, what the
/// report has to say where the list cannot be read.
pub(super) fn live(plan: &JailPlan, noted: &[PathBuf]) -> (Vec<PathBuf>, Option<String>) {
    if plan.filter.sockets == Sockets::None {
        return (Vec::new(), None);
    }
    let entries = std::fs::read_dir(&plan.workspace).into_iter().flatten().flatten();
    let top = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path());
    let known = KNOWN.iter().map(|name| plan.workspace.join(name)).filter(|path| is_socket(path));
    let noted = noted.iter().map(|name| plan.workspace.join(name)).filter(|path| is_socket(path));
    let mut found: Vec<PathBuf> = top.chain(known).chain(noted).filter(|path| listens(path)).collect();
    if plan.level == Level::Full && plan.landlock.abi < HELD_BY_LANDLOCK {
        // Nobody is disturbed: who is listed is there.
        let list = match std::fs::read(LIST) {
            Ok(list) => list,
            Err(error) => {
                let unlisted = format!(
                    "host-sockets: {LIST} cannot be read ({error}): unix sockets of the host in visible directories can be connected to"
                );
                return (found, Some(unlisted));
            }
        };
        for path in visible(plan, &list) {
            if is_socket(&path) && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    (found, None)
}

/// The names of the kernel's list that lead to what the command of a plan sees.
fn visible(plan: &JailPlan, list: &[u8]) -> Vec<PathBuf> {
    let bound = plan.steps.iter().filter_map(|step| match step {
        Step::Bind { path, .. } => Some(path.as_path()),
        _ => None,
    });
    let roots: Vec<&Path> = std::iter::once(plan.workspace.as_path()).chain(bound).collect();
    let is_seen = |path: &Path| roots.iter().any(|root| lies_in(path, root));
    let mut links = LINKS;
    let mut found = Vec::new();
    // A listener's name is in the list once for each of its connections.
    let names: BTreeSet<&[u8]> = list.split(|byte| *byte == b'\n').filter_map(name).collect();
    for name in names {
        let name = Path::new(OsStr::from_bytes(name));
        // Joined: whole names stay, a relative one may be one of a daemon that was started here.
        // Without doubled slashes, so that bytes can be compared.
        let path: PathBuf = plan.workspace.join(name).components().collect();
        if is_seen(&path) {
            found.push(path);
        } else if links > 0 && !["/run", "/var/run"].iter().any(|hidden| lies_in(&path, Path::new(hidden))) {
            links -= 1;
            found.extend(std::fs::canonicalize(&path).ok().filter(|path| is_seen(path)));
        }
    }
    found
}

/// The name in a line of the list, where it is one of a file.
fn name(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..FIELDS {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ')?;
        rest = rest.get(end..)?;
    }
    // One blank: the name may begin with some.
    rest.get(1..).filter(|name| !name.is_empty() && name[0] != b'@')
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

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_of_files_are_read_from_the_list() {
        let line = |rest: &str| format!("0000000098658fb0: 00000002 00000000 00010000 0001 01 {rest}");
        for (rest, found) in [
            ("26825842 /w/a b", Some("/w/a b")),
            ("   42  /w", Some(" /w")),
            ("26825842 @/tmp/x", None),
            ("26825842", None),
            ("26825842 ctl", Some("ctl")),
        ] {
            assert_eq!(name(line(rest).as_bytes()), found.map(str::as_bytes), "{rest:?}");
        }
        assert_eq!(name(b"Num       RefCount Protocol Flags    Type St Inode Path"), Some(&b"Path"[..]));
    }
}
