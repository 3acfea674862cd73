//! A note of where the repositories and sockets of a workspace are, below its first level: what the walk after one run found, so that
//! the next launch can hold them without a walk of its own.
//!
//! The file lies among swbox's own, which no command sees. It only says where to look: what is there is found out anew.
//!
//! Danger: none of the names is trusted. A note that is lost or old costs prevention, not detection.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use super::Moment;
use super::survey::read;

/// What the file begins with.
const HEAD: &[u8] = b"swbox repositories 2";

/// The largest note that is read.
const SIZE: u64 = 256 * 1024;

/// What stands before a path.
const REPOSITORY: u8 = b'r';
const SOCKET: u8 = b's';

/// How many repositories and how many sockets are noted. Each is a few mounts at every launch that may write.
const MOST: usize = 200;

/// What is noted of a workspace.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// Where repositories are, as paths below the workspace.
    pub(super) places: Vec<PathBuf>,
    /// Where unix sockets are, as paths below the workspace.
    pub(super) sockets: Vec<PathBuf>,
    /// When a run began that never came to its check, since swbox was killed.
    pub(super) unfinished: Option<Moment>,
    /// Nothing could be noted: if swbox is killed, nobody looks for what the command left.
    pub(super) unkept: bool,
}

/// Reads the note, and notes that a run begins. Where nobody looked yet, `look` does, for repositories and for sockets, as
/// absolute paths: what it finds was there before any command.
pub(super) fn open(
    file: &Path,
    workspace: &Path,
    now: Moment,
    look: impl FnOnce() -> (Vec<PathBuf>, Vec<PathBuf>),
) -> Note {
    let known = load(file).or_else(|| {
        let (places, sockets) = look();
        // Another first command may have begun meanwhile: then it began before this one.
        load(file).or_else(|| {
            let (places, sockets) = (wanted(workspace, &[], &places), wanted(workspace, &[], &sockets));
            let kept = write(file, &places, &sockets).and_then(|()| Ok(stamp(file, Moment::default())?));
            let owned = |paths: Vec<&Path>| paths.into_iter().map(Path::to_owned).collect();
            let (places, sockets) = (owned(places), owned(sockets));
            Some(Note { places, sockets, unfinished: None, unkept: kept.is_err() })
        })
    });
    let mut note = known.unwrap_or_default();
    // The time of the file is that of the oldest run without a check.
    if note.unfinished.is_none() {
        note.unkept |= stamp(file, now).is_err();
    }
    note
}

fn load(file: &Path) -> Option<Note> {
    let bytes = read(file, SIZE);
    let mut parts = bytes.split(|byte| *byte == 0);
    if parts.next() != Some(HEAD) {
        return None;
    }
    let plain = |path: &PathBuf| {
        let mut components = path.components();
        components.next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
    };
    let parts: Vec<&[u8]> = parts.collect();
    let of = |kind: u8| {
        let paths = parts.iter().filter_map(|part| part.strip_prefix(&[kind]));
        paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).filter(plain).take(MOST).collect()
    };
    let time = std::fs::symlink_metadata(file).ok()?;
    let unfinished = Moment { seconds: time.mtime(), nanoseconds: time.mtime_nsec() };
    Some(Note {
        places: of(REPOSITORY),
        sockets: of(SOCKET),
        unfinished: (unfinished != Moment::default()).then_some(unfinished),
        unkept: false,
    })
}

/// Sets the time of the file.
fn stamp(file: &Path, moment: Moment) -> rustix::io::Result<()> {
    let time = rustix::fs::Timespec { tv_sec: moment.seconds, tv_nsec: moment.nanoseconds };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, file, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
}

/// Notes that the check was done, and `places` and `sockets`, which are absolute, where that differs from what is `noted`.
pub(super) fn update(file: &Path, workspace: &Path, noted: &Note, places: &[PathBuf], sockets: &[PathBuf]) {
    let places = wanted(workspace, &noted.places, places);
    let sockets = wanted(workspace, &noted.sockets, sockets);
    let differs = |old: &[PathBuf], new: &[&Path]| !old.iter().map(PathBuf::as_path).eq(new.iter().copied());
    if differs(&noted.places, &places) || differs(&noted.sockets, &sockets) {
        // Without a note the next run detects what it could have prevented.
        let _ = write(file, &places, &sockets);
    }
    // Where it fails, the next check goes back further.
    let _ = stamp(file, Moment::default());
}

/// What is to be noted of `found`. What was noted before stays first, so that a command which makes many does not push it
/// out.
fn wanted<'a>(workspace: &Path, noted: &'a [PathBuf], found: &'a [PathBuf]) -> Vec<&'a Path> {
    let found = found.iter().filter_map(|path| path.strip_prefix(workspace).ok());
    // What lies at the top is found at every launch anyway.
    let found: Vec<&Path> = found.filter(|path| path.components().count() > 1).collect();
    let mut wanted: Vec<&Path> =
        noted.iter().map(PathBuf::as_path).filter(|old| found.contains(old)).collect();
    let fresh: Vec<&Path> = found.iter().filter(|path| !wanted.contains(path)).copied().collect();
    wanted.extend(fresh);
    wanted.truncate(MOST);
    wanted
}

fn write(file: &Path, places: &[&Path], sockets: &[&Path]) -> std::io::Result<()> {
    let mut bytes = HEAD.to_vec();
    for (kind, paths) in [(REPOSITORY, places), (SOCKET, sockets)] {
        for path in paths {
            bytes.extend([0, kind]);
            bytes.extend(path.as_os_str().as_bytes());
        }
    }
    replace(file, &bytes)
}

/// Gives a file other content in one step.
pub(super) fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut fresh = file.as_os_str().to_owned();
    fresh.push(format!(".{}.new", std::process::id()));
    let fresh = Path::new(&fresh);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(fresh)?.write_all(bytes).and_then(|()| std::fs::rename(fresh, file));
    written.inspect_err(|_| drop(std::fs::remove_file(fresh)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_back_and_old_entries_stay_first() {
        let directory = std::env::temp_dir().join(format!("swbox-record-{}", std::process::id()));
        let file = directory.join("deep/note");
        let workspace = Path::new("/w");
        let places = |names: &[&str]| names.iter().map(|name| workspace.join(name)).collect::<Vec<_>>();
        let noted = || load(&file).unwrap().places;
        let note = |places: Vec<PathBuf>| Note { places, ..Note::default() };
        update(&file, workspace, &Note::default(), &places(&["a/b", "top", "", "c/d"]), &[]);
        let first = noted();
        update(&file, workspace, &note(first.clone()), &places(&["a/a", "c/d", "a/b"]), &[]);
        let second = noted();
        update(&file, workspace, &note(second.clone()), &places(&["c/d"]), &places(&["x/s", "s"]));
        let third = noted();
        let sockets = load(&file).unwrap().sockets;
        std::fs::write(&file, "swbox repositories 2\0r../x\0r/etc\0\0r\0rok/x\0s../y").unwrap();
        let hostile = noted();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(first, ["a/b", "c/d"].map(PathBuf::from));
        assert_eq!(second, ["a/b", "c/d", "a/a"].map(PathBuf::from));
        assert_eq!(third, ["c/d"].map(PathBuf::from));
        assert_eq!(sockets, ["x/s"].map(PathBuf::from));
        assert_eq!(hostile, ["ok/x"].map(PathBuf::from));
        assert_eq!(load(&file), None);
    }

    #[test]
    fn a_run_without_its_check_is_remembered_from_its_beginning() {
        let directory = std::env::temp_dir().join(format!("swbox-unfinished-{}", std::process::id()));
        let file = directory.join("note");
        let at = |seconds| Moment { seconds, nanoseconds: 5 };
        let workspace = Path::new("/w");
        let paths = |names: &[&str]| names.iter().map(|name| workspace.join(name)).collect::<Vec<_>>();
        let open = |now| open(&file, workspace, now, || (paths(&["top", "a/b"]), paths(&["x/s"])));
        let first = open(at(10));
        let second = open(at(20));
        let third = open(at(30));
        update(&file, workspace, &first, &paths(&["a/b"]), &paths(&["x/s"]));
        let fourth = open(at(40));
        std::fs::remove_dir_all(&directory).unwrap();
        // What was there before any command is known from the first one on.
        for note in [&first, &second, &third, &fourth] {
            assert_eq!((&note.places[..], &note.sockets[..]), (&["a/b".into()][..], &["x/s".into()][..]));
        }
        assert_eq!(first.unfinished, None);
        assert_eq!(second.unfinished, Some(at(10)));
        assert_eq!(third.unfinished, Some(at(10)));
        assert_eq!(fourth.unfinished, None);
        // Where nothing can be noted, each looks for itself.
        let nowhere =
            super::open(Path::new("/proc/none/note"), workspace, at(1), || (paths(&["a/b"]), Vec::new()));
        assert_eq!(nowhere.places, first.places);
        assert!(nowhere.unkept && [first, second, third, fourth].iter().all(|note| !note.unkept));
    }
}
