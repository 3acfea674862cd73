//! The throw-away layer: an overlay over the workspace whose upper half lives on the capped scratch tmpfs and vanishes
//! with the command. Whether a host can have one is found out by trying.
//!
//! Danger: a workspace that is read-only because no layer could be had is safe but surprising; the reason is reported.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatVfsMountFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen,
};

/// How many entries of the workspace are asked for their owner.
const OWNERS_LIMIT: usize = 256;

/// A layer that was had.
pub(super) struct Layer {
    /// The detached mount.
    pub(super) tree: OwnedFd,
    /// What in it cannot be changed all the same.
    pub(super) lacking: Option<String>,
}

/// Mounts an overlay over the working directory, with `upper` and `work` made on `scratch`. An error is the reason why
/// this workspace on this host cannot have one.
pub(super) fn over_working_directory(scratch: &OwnedFd, workspace: &Path) -> Result<Layer, String> {
    let tree = mount(scratch).map_err(|error| reason(&error, workspace))?;
    Ok(Layer {
        tree,
        lacking: foreign().map(|name| {
            format!("no-throwaway: {name} belongs to another user or group and cannot be changed")
        }),
    })
}

fn mount(scratch: &OwnedFd) -> io::Result<OwnedFd> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let lower = rustix::fs::openat(CWD, ".", directory, Mode::empty())?;
    let found = rustix::fs::fstat(&lower)?;
    let strange = strangers();
    // What has an owner without a name in this user namespace cannot be copied up: every change would fail.
    if strange(found.st_uid, found.st_gid) {
        return Err(io::Error::from_raw_os_error(libc::EOVERFLOW));
    }
    let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
    let half = |name: &str| {
        rustix::fs::mkdirat(scratch, name, mode)?;
        rustix::fs::openat(scratch, name, directory, Mode::empty())
    };
    let (upper, work) = (half("upper")?, half("work")?);
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // By descriptor: names with commas, colons and backslashes would be taken apart.
    for (key, directory) in [("lowerdir", &lower), ("upperdir", &upper), ("workdir", &work)] {
        fsconfig_set_string(context.as_fd(), key, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
    }
    fsconfig_set_flag(context.as_fd(), "userxattr")?;
    fsconfig_create(context.as_fd())?;
    let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    // Where the host lets nothing run, as on a volume that is mounted so, neither does the layer over it.
    if rustix::fs::fstatvfs(&lower)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        flags |= MountAttrFlags::MOUNT_ATTR_NOEXEC;
    }
    let tree = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    // There are more reasons for which the mount succeeds and every change fails: try one.
    let probe = format!(".swbox-{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    drop(rustix::fs::openat(&tree, &probe, flags, Mode::from_raw_mode(0o600))?);
    rustix::fs::unlinkat(&tree, &probe, AtFlags::empty())?;
    Ok(tree)
}

/// Says of a user and group whether one of them has no name here: such ids show as the overflow ids.
fn strangers() -> impl Fn(u32, u32) -> bool {
    let overflow = |name: &str| {
        let id = std::fs::read_to_string(format!("/proc/sys/kernel/overflow{name}")).ok();
        id.and_then(|id| id.trim().parse().ok()).unwrap_or(65534_u32)
    };
    let (uid, gid) = (overflow("uid"), overflow("gid"));
    let own = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    move |user, group| (user == uid && user != own.0) || (group == gid && group != own.1)
}

/// The first entry of the working directory that belongs to a stranger.
fn foreign() -> Option<String> {
    let entries = std::fs::read_dir(".").ok()?.flatten().take(OWNERS_LIMIT);
    let strange = strangers();
    let mut foreign =
        entries.filter(|entry| entry.metadata().is_ok_and(|found| strange(found.uid(), found.gid())));
    foreign.next().map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Why it failed, for a person.
fn reason(error: &io::Error, workspace: &Path) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EOVERFLOW | libc::EACCES) => "the workspace belongs to another user or group".to_owned(),
        Some(libc::EINVAL) => match mount_below(workspace) {
            Some(mount) => format!("{mount} is a mount below the workspace"),
            None => "overlay file systems are stacked too deep here, or this one cannot be a lower layer"
                .to_owned(),
        },
        Some(libc::EPERM | libc::ENODEV) => {
            "this kernel has no overlay file system for user namespaces".to_owned()
        }
        _ => error.to_string(),
    };
    format!("no-throwaway: {why}; the workspace is read-only but for its declared outputs")
}

/// A mount of the host below `workspace`, if there is one.
fn mount_below(workspace: &Path) -> Option<String> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    let table = String::from_utf8_lossy(&table);
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut below = points.filter(|point| {
        let point = Path::new(point);
        point.starts_with(workspace) && point != workspace
    });
    below.next()
}

/// mountinfo writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_names_are_read_back() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
    }

    #[test]
    fn the_reasons_are_told_apart() {
        let reason = |errno| reason(&io::Error::from_raw_os_error(errno), Path::new("/nonexistent"));
        assert!(reason(libc::EOVERFLOW).contains("another user"));
        assert!(reason(libc::EINVAL).contains("stacked too deep"));
        assert!(reason(libc::ENODEV).contains("no overlay"));
        assert!(reason(libc::EIO).starts_with("no-throwaway: "));
    }
}
