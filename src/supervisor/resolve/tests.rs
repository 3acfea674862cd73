use std::fs::{File, create_dir_all};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use super::*;

/// A directory of this test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("swbox-resolve-{}-{name}", std::process::id()));
        create_dir_all(path.join("a/b")).unwrap();
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn own() -> Task {
    // A thread of its own is what a test runs in; the numbers of the process are the supervisor's case too.
    Task::open(i32::try_from(std::process::id()).unwrap()).unwrap()
}

fn at(directory: &Directory, path: &str, last: Last) -> Result<Place, Lost> {
    let start = File::open(&directory.0).unwrap();
    own().resolve(start.as_raw_fd(), path.as_bytes(), last)
}

#[test]
fn names_lose_their_dots_and_links() {
    let dir = Directory::new("dots");
    std::fs::write(dir.0.join("a/file"), "").unwrap();
    symlink("a/b", dir.0.join("short")).unwrap();
    symlink(dir.0.join("a"), dir.0.join("full")).unwrap();
    for (name, real) in [
        ("a/file", "a/file"),
        ("./a/b/../file", "a/file"),
        ("short/../file", "a/file"),
        ("full/file", "a/file"),
        ("full/b/.", "a/b"),
        ("short", "a/b"),
        ("short/", "a/b"),
        ("a/b/..", "a"),
        ("a//b/", "a/b"),
        ("new", "new"),
        ("short/new", "a/b/new"),
    ] {
        let place = at(&dir, name, Last::Follow).unwrap();
        assert_eq!(place.path, dir.0.join(real), "{name}");
        assert_eq!(place.stat.is_some(), dir.0.join(real).exists(), "{name}");
        let full = dir.0.join(name);
        let other = own().resolve(-1, full.as_os_str().as_bytes(), Last::Follow).unwrap();
        assert_eq!(other.path, place.path, "{name} as a full path");
    }
}

#[test]
fn the_last_link_is_kept_or_followed() {
    let dir = Directory::new("last");
    symlink("a/nothing-yet", dir.0.join("link")).unwrap();
    let kept = at(&dir, "link", Last::Keep).unwrap();
    assert_eq!((kept.path.clone(), kept.kind()), (dir.0.join("link"), Some(FileType::Symlink)));
    let followed = at(&dir, "link", Last::Follow).unwrap();
    assert_eq!((followed.path.clone(), followed.kind()), (dir.0.join("a/nothing-yet"), None));
    symlink("loop", dir.0.join("loop")).unwrap();
    assert_eq!(at(&dir, "loop", Last::Follow).unwrap_err().errno, Errno::LOOP);
}

#[test]
fn what_is_missing_is_told_as_it_was_written() {
    let dir = Directory::new("lost");
    std::fs::write(dir.0.join("file"), "").unwrap();
    let lost = at(&dir, "a/none/x/y", Last::Follow).unwrap_err();
    assert_eq!((lost.errno, lost.path.clone()), (Errno::NOENT, dir.0.join("a/none/x/y")));
    assert_eq!(lost.found, dir.0.join("a").as_os_str().len());
    let lost = at(&dir, "file/x", Last::Follow).unwrap_err();
    assert_eq!((lost.errno, lost.path), (Errno::NOTDIR, dir.0.join("file/x")));
    assert_eq!(own().resolve(99_999, b"x", Last::Keep).unwrap_err().errno, Errno::NOENT);
}

#[test]
fn proc_is_the_watched_process_not_the_supervisor() {
    let mut child = std::process::Command::new("sleep").arg("1000").current_dir("/").spawn().unwrap();
    let number = child.id();
    let task = Task::open(i32::try_from(number).unwrap()).unwrap();
    let found = ["/proc/self/cwd/etc", "/proc/thread-self/root/etc", "/proc/self"]
        .map(|name| task.resolve(-1, name.as_bytes(), Last::Follow).map(|place| place.path));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, [Ok("/etc".into()), Ok("/etc".into()), Ok(format!("/proc/{number}").into())]);
}

#[test]
fn descriptors_by_number_and_by_name() {
    let dir = Directory::new("descriptors");
    let file = File::create(dir.0.join("file")).unwrap();
    let task = own();
    let number = file.as_raw_fd();
    assert_eq!(task.descriptor(number).unwrap().path, dir.0.join("file"));
    for name in [format!("/dev/fd/{number}"), format!("/proc/self/fd/{number}")] {
        let place = task.resolve(-1, name.as_bytes(), Last::Follow).unwrap();
        assert_eq!(place.path, dir.0.join("file"), "{name}");
        assert!(place.parent.is_some());
    }
    std::fs::remove_file(dir.0.join("file")).unwrap();
    let gone = task.descriptor(number).unwrap();
    assert!(gone.parent.is_none() && gone.stat.is_some());
    let (read, _write) = rustix::pipe::pipe().unwrap();
    let pipe =
        task.resolve(-1, format!("/proc/self/fd/{}", read.as_raw_fd()).as_bytes(), Last::Follow).unwrap();
    assert!(is_nameless(&pipe.path) && pipe.kind() == Some(FileType::Fifo), "{pipe:?}");
}
