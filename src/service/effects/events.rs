//! Events of a run as JSON Lines, written outside the jail while it happens.
//!
//! Danger: the command must neither write there nor put something else in its place, so the file is opened before the
//! command begins, never by its name again, and never lies where a command may write. And a reader that does not read
//! must not stop the command: what does not fit is kept up to a bound, then counted as lost and said so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use serde_json::{Map, Value, json};

use crate::diagnostic::Diagnostic;
use crate::profile::value::lies_in;
use crate::service::clock;
use crate::service::request::EventsTo;

/// The version of the form; it grows when a field changes its meaning or goes.
pub const EVENTS_VERSION: u32 = 1;

/// Bytes that wait for a slow reader.
const WAITING: usize = 4 * 1024 * 1024;

/// What one run may write; a storm of calls must not fill a disk.
const MOST: u64 = 256 * 1024 * 1024;

/// A pipe takes that much at once or nothing.
const PIECE: usize = 4096;

/// How long a slow reader is waited for when the run has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the events of one run go.
#[derive(Debug)]
pub(in crate::service) struct Events {
    out: File,
    /// Whether a write could wait for a reader.
    slow: bool,
    name: PathBuf,
    waiting: Vec<u8>,
    written: u64,
    lost: u64,
    failed: Option<io::Error>,
}

impl Events {
    /// Opens what was asked for. `closed` are the trees in which a command may write.
    ///
    /// # Errors
    /// `events_unwritable`, `events_inside`.
    pub(in crate::service) fn open(to: &EventsTo, closed: &[&Path]) -> Result<Self, Diagnostic> {
        let (out, name) = match to {
            EventsTo::File(path) => (file(path)?, path.clone()),
            EventsTo::Descriptor(number) => (descriptor(*number)?, format!("fd:{number}").into()),
        };
        let failed = |error: io::Error| unwritable(&name, &error);
        let meta = out.metadata().map_err(failed)?;
        let kind = meta.file_type();
        if kind.is_file() {
            let place = fs::read_link(format!("/proc/self/fd/{}", raw(&out))).map_err(failed)?;
            if meta.nlink() > 1 || closed.iter().any(|tree| lies_in(&place, tree)) {
                return Err(Diagnostic::new("events_inside", "a command could write its own events there")
                    .file(&name)
                    .help("name a file outside the workspace, with no other name (hard link)"));
            }
        }
        let slow = kind.is_fifo() || kind.is_socket() || kind.is_char_device();
        Ok(Self { out, slow, name, waiting: Vec::new(), written: 0, lost: 0, failed: None })
    }

    /// Writes one event.
    pub(in crate::service) fn say(&mut self, event: &str, fields: Value) {
        if self.failed.is_some() {
            return;
        }
        let mut all = Map::new();
        all.insert("v".into(), json!(EVENTS_VERSION));
        all.insert("event".into(), json!(event));
        all.insert("time_ms".into(), json!(clock::now()));
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        let line = format!("{}\n", Value::Object(all));
        let length = line.len() as u64;
        if self.waiting.len() + line.len() > WAITING || self.written + length > MOST {
            self.lost += 1;
            return;
        }
        self.written += length;
        self.waiting.extend_from_slice(line.as_bytes());
        let flushed = self.flush();
        self.note(flushed);
    }

    /// How many events were not written.
    pub(in crate::service) fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes the last event, which fits always, and waits for a slow reader, for a while.
    ///
    /// # Errors
    /// `events_failed`: not all was written.
    pub(in crate::service) fn finish(mut self, event: &str, fields: Value) -> Result<(), Diagnostic> {
        self.written = 0;
        let lost = self.lost;
        let begun = std::time::Instant::now();
        let drained = self.drain(begun);
        self.note(drained);
        self.say(event, fields);
        let drained = self.drain(begun);
        self.note(drained);
        let why = match self.failed {
            Some(error) => error.to_string(),
            None if self.lost > lost || !self.waiting.is_empty() => "nobody reads them".to_owned(),
            None => return Ok(()),
        };
        Err(Diagnostic::new("events_failed", format!("not all events could be written: {why}"))
            .file(&self.name)
            .help("the command ran; its events are not whole"))
    }

    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.waiting = Vec::new();
            self.failed.get_or_insert(error);
        }
    }

    /// Writes what can be written without waiting.
    fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.waiting.len() && (!self.slow || ready(self.out.as_fd(), Duration::ZERO)?) {
            let rest = self.waiting.get(done..).unwrap_or_default();
            let piece = if self.slow { rest.get(..PIECE).unwrap_or(rest) } else { rest };
            done += match self.out.write(piece) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
        }
        self.waiting.drain(..done);
        Ok(())
    }

    fn drain(&mut self, begun: std::time::Instant) -> io::Result<()> {
        self.flush()?;
        while !self.waiting.is_empty() && begun.elapsed() < PATIENCE {
            let _ = ready(self.out.as_fd(), Duration::from_millis(100))?;
            self.flush()?;
        }
        Ok(())
    }
}

fn raw(file: &File) -> RawFd {
    use std::os::fd::AsRawFd;
    file.as_raw_fd()
}

/// Whether a piece can be written at once.
fn ready(out: BorrowedFd<'_>, wait: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(out, PollFlags::OUT)];
    let wait = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    };
    match poll(&mut polled, Some(&wait)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The file, appended to; made where it does not exist, for its owner alone.
fn file(path: &Path) -> Result<File, Diagnostic> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    options.open(path).map_err(|error| unwritable(path, &error))
}

/// A copy of an inherited descriptor that the command does not get.
fn descriptor(number: RawFd) -> Result<File, Diagnostic> {
    let name = PathBuf::from(format!("fd:{number}"));
    if number < 3 {
        return Err(Diagnostic::new("events_unwritable", "standard streams belong to the command")
            .file(&name)
            .help("open another one: swbox exec --events fd:3 … 3>FILE"));
    }
    let copy = crate::jail::inherited(number).map_err(|error| unwritable(&name, &error))?;
    let access = rustix::fs::fcntl_getfl(&copy).map_err(|error| unwritable(&name, &error.into()))?;
    if access & OFlags::ACCMODE == OFlags::RDONLY {
        return Err(unwritable(&name, &io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    Ok(File::from(copy))
}

fn unwritable(name: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::new("events_unwritable", format!("events cannot be written there: {error}"))
        .file(name)
        .help("name a file that can be made or appended to, or a descriptor that is open for writing: fd:3")
}

/// Arguments as JSON fields: as text without secrets, and where one is no UTF-8 those as hexadecimal bytes, each in its
/// place. One that held a secret has no bytes.
pub(super) fn words(name: &str, argv: &[Vec<u8>], secrets: &[String]) -> Vec<(String, Value)> {
    let shown = |word: &Vec<u8>| {
        let text = String::from_utf8_lossy(word);
        let masked = crate::store::mask(&text, secrets);
        let odd = std::str::from_utf8(word).is_err() && masked == text;
        (masked, odd.then(|| hex(word)))
    };
    let (texts, bytes): (Vec<String>, Vec<Option<String>>) = argv.iter().map(shown).unzip();
    let mut fields = vec![(name.to_owned(), json!(texts))];
    if bytes.iter().any(Option::is_some) {
        fields.push((format!("{name}_hex"), json!(bytes)));
    }
    fields
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path or other bytes as JSON fields: as text, and as hexadecimal bytes where they are no UTF-8.
pub(in crate::service) fn text(name: &str, bytes: &[u8]) -> Vec<(String, Value)> {
    let mut fields = vec![(name.to_owned(), json!(String::from_utf8_lossy(bytes)))];
    if std::str::from_utf8(bytes).is_err() {
        fields.push((format!("{name}_hex"), json!(hex(bytes))));
    }
    fields
}

/// The bytes of a path.
pub(in crate::service) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("swbox-events-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        fs::canonicalize(place).unwrap()
    }

    fn code(opened: Result<Events, Diagnostic>) -> &'static str {
        opened.err().map_or("", |problem| problem.code)
    }

    #[test]
    fn a_file_that_a_command_could_reach_is_refused() {
        let place = place("inside");
        let to = |path: &Path| EventsTo::File(path.to_owned());
        let inside = place.join("w/log");
        fs::create_dir_all(place.join("w")).unwrap();
        assert_eq!(code(Events::open(&to(&inside), &[&place.join("w")])), "events_inside");
        std::os::unix::fs::symlink(place.join("w"), place.join("link")).unwrap();
        assert_eq!(code(Events::open(&to(&place.join("link/log")), &[&place.join("w")])), "events_inside");
        let out = place.join("out");
        fs::write(&out, "").unwrap();
        fs::hard_link(&out, place.join("w/other")).unwrap();
        assert_eq!(code(Events::open(&to(&out), &[&place.join("w")])), "events_inside");
        std::os::unix::fs::symlink(place.join("fresh"), place.join("to")).unwrap();
        assert_eq!(code(Events::open(&to(&place.join("to")), &[])), "events_unwritable");
        assert_eq!(code(Events::open(&to(&place), &[])), "events_unwritable");
        assert_eq!(code(Events::open(&EventsTo::Descriptor(1), &[])), "events_unwritable");
        assert_eq!(code(Events::open(&EventsTo::Descriptor(900), &[])), "events_unwritable");
        let fresh = place.join("fresh");
        let mut events = Events::open(&to(&fresh), &[&place.join("w")]).unwrap();
        events.say("start", json!({ "a": 1 }));
        events.finish("exit", json!({})).unwrap();
        let lines = fs::read_to_string(&fresh).unwrap();
        assert_eq!(lines.lines().count(), 2);
        assert_eq!(fs::metadata(&fresh).unwrap().mode() & 0o777, 0o600);
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_full_disk_is_said_and_stops_nothing() {
        let mut events = Events::open(&EventsTo::File("/dev/full".into()), &[]).unwrap();
        events.say("start", json!({}));
        events.say("touch", json!({}));
        assert_eq!(events.finish("exit", json!({})).unwrap_err().code, "events_failed");
    }

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut events = Events {
            out: File::from(writer),
            slow: true,
            name: "x".into(),
            waiting: Vec::new(),
            written: 0,
            lost: 0,
            failed: None,
        };
        let long = "x".repeat(60_000);
        for _ in 0..200 {
            events.say("touch", json!({ "path": long }));
        }
        assert!(events.lost() > 0 && events.waiting.len() <= WAITING);
        drop(reader);
        assert_eq!(events.finish("exit", json!({})).unwrap_err().code, "events_failed");
    }
}
