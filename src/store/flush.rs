//! When a commit is on the disk: the log is flushed after the turn was given away, by whoever is to answer for it.
//!
//! Danger: between commit and flush all others see what a fall of the machine would take back. So nobody acts on it: a
//! commit of any kind that finds one below it that is not known to be flushed flushes as well before it is acknowledged.
//! A flush reaches all that was committed before it began: what SQLite has meanwhile written back into the database it
//! has flushed there before it writes over the log.
//!
//! Danger: Linux tells of a failed write once an open file, and takes the bytes for written then. Whoever opens the log
//! later flushes it without an error, over a hole. So a failure is noted in the marks before anything else is tried, and
//! lasts until [`super::mend`] has taken the log out of use. Whoever was to flush may be killed before it can note that. So who
//! opened the log while a flush was owed believes its own only when that one is done, by somebody who was there before.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Durability;
use super::error::StoreError;

/// The file that says how far the log is to be flushed, how far it is, and whether it can be.
pub(super) const MARKS: &str = "sessions.marks";

/// A commit that is to be flushed, by its number among those that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due(u64);

/// The log and the marks.
#[derive(Debug)]
pub(super) struct Flush {
    log: File,
    marks: File,
    /// The last commit that was not known to be flushed when the log was opened here; 0 where all were.
    owed: Cell<u64>,
}

/// How long somebody else's flush is waited for, before that one counts as killed.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where in the file each of its numbers of eight bytes stands.
const ASKED: u64 = 0;
const FLUSHED: u64 = 8;
const BROKEN: u64 = 24;
const NAMED: u64 = 32;

/// The last commit that asked for a flush, the last that is known to have it, whether a write of the log or of the
/// database failed since it was last whole, and whether the directory with their names is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    asked: u64,
    flushed: u64,
    broken: bool,
    named: bool,
}

impl Marks {
    /// The third number is the complement of the second, as that one is written by whoever has flushed, out of turn.
    /// Where they do not fit nothing is known to be flushed, which costs a flush. What is not there is 0.
    fn read(bytes: &[u8; 40]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let [asked, flushed, complement, broken, named] =
            [0, 1, 2, 3, 4].map(|at| u64::from_ne_bytes(numbers[at]));
        let flushed = if complement == !flushed { flushed } else { 0 };
        Self { asked, flushed, broken: broken != 0, named: named == 1 }
    }
}

impl Flush {
    pub(super) fn new(log: File, marks: File) -> Self {
        // After the log was opened: what fails from then on is told here.
        let owed = read(&marks)
            .ok()
            .map_or(u64::MAX, |marks| if marks.asked > marks.flushed { marks.asked } else { 0 });
        Self { log, marks, owed: Cell::new(owed) }
    }

    /// What a commit that is about to be made has to wait for. The caller has the turn.
    ///
    /// # Errors
    /// Marks that cannot be read or written: the commit is not to be made.
    pub(super) fn due(&self, durability: Durability) -> Result<Option<Due>, StoreError> {
        let marks = self.marks()?;
        match durability {
            Durability::Machine => {
                let number = marks.asked.max(marks.flushed).saturating_add(1);
                self.write(ASKED, number)?;
                Ok(Some(Due(number)))
            }
            Durability::Process => Ok((marks.asked > marks.flushed).then_some(Due(marks.asked))),
        }
    }

    /// Flushes the log, and notes that; or that it failed.
    ///
    /// # Errors
    /// What the disk says, now or to somebody else.
    pub(super) fn all(&self, due: Due) -> Result<(), StoreError> {
        if let Err(error) = self.sync() {
            self.set_broken(&error)?;
            return Err(error);
        }
        // Who opened the log after somebody else's failure is told nothing by its own flush.
        if self.is_broken()? {
            return Err(StoreError::Unflushed("an earlier write of the session's record failed".to_owned()));
        }
        let until = Instant::now() + PATIENCE;
        while !self.is_done(Due(self.owed.get()))? {
            if Instant::now() > until {
                return Err(StoreError::Unflushed("an earlier flush was not ended".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.owed.set(0);
        self.done(due);
        Ok(())
    }

    /// Whether a commit is known to be on the disk, and nothing failed since.
    ///
    /// # Errors
    /// Marks that cannot be read.
    pub(super) fn is_done(&self, due: Due) -> Result<bool, StoreError> {
        let marks = self.marks()?;
        Ok(marks.flushed >= due.0 && !marks.broken)
    }

    /// Flushes the log.
    ///
    /// # Errors
    /// What the disk says, the first time that it is asked through this open file.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.log.sync_data().map_err(|error| StoreError::Unflushed(error.to_string()))
    }

    /// The log's file.
    pub(super) fn log(&self) -> &File {
        &self.log
    }

    /// Whether a write failed, and nobody has mended it since.
    ///
    /// # Errors
    /// Marks that cannot be read.
    pub(super) fn is_broken(&self) -> Result<bool, StoreError> {
        Ok(self.marks()?.broken)
    }

    /// Notes that a write failed.
    ///
    /// # Errors
    /// `error`, where that cannot be noted.
    pub(super) fn set_broken(&self, error: &StoreError) -> Result<(), StoreError> {
        self.write(BROKEN, 1).map_err(|_| StoreError::Unflushed(error.to_string()))
    }

    /// Notes that all that was committed is in the database, on the disk, and the log empty. The caller has the turn.
    ///
    /// # Errors
    /// Marks that cannot be read or written.
    pub(super) fn mended(&self) -> Result<(), StoreError> {
        self.done(Due(self.marks()?.asked));
        self.owed.set(0);
        self.write(BROKEN, 0)
    }

    /// Whether the directory is on the disk with the names of the store's files in it.
    ///
    /// # Errors
    /// Marks that cannot be read.
    pub(super) fn is_named(marks: &File) -> Result<bool, StoreError> {
        Ok(read(marks)?.named)
    }

    /// Notes whether it is.
    ///
    /// # Errors
    /// Marks that cannot be written.
    pub(super) fn set_named(marks: &File, named: bool) -> Result<(), StoreError> {
        write(marks, NAMED, u64::from(named))
    }

    /// Notes that a commit, and with it all before it, is on the disk.
    fn done(&self, due: Due) {
        if self.marks().is_ok_and(|marks| marks.flushed >= due.0) {
            return;
        }
        let both = [due.0.to_ne_bytes(), (!due.0).to_ne_bytes()].concat();
        // Not noted, the next one flushes once more.
        let _ = self.marks.write_all_at(&both, FLUSHED);
    }

    fn marks(&self) -> Result<Marks, StoreError> {
        read(&self.marks)
    }

    fn write(&self, at: u64, number: u64) -> Result<(), StoreError> {
        write(&self.marks, at, number)
    }
}

fn read(marks: &File) -> Result<Marks, StoreError> {
    let mut bytes = [0; 40];
    let mut read = 0;
    while read < bytes.len() {
        match marks.read_at(&mut bytes[read..], read as u64).map_err(unavailable)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(Marks::read(&bytes))
}

fn write(marks: &File, at: u64, number: u64) -> Result<(), StoreError> {
    marks.write_all_at(&number.to_ne_bytes(), at).map_err(unavailable)
}

fn unavailable(error: std::io::Error) -> StoreError {
    StoreError::unavailable(Path::new(MARKS))(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(name: &str) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("swbox-marks-{name}-{}", std::process::id()));
        let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
        (path, file)
    }

    #[test]
    fn what_begins_waits_for_the_flush_of_what_it_was_judged_by() {
        let (path, file) = marks("order");
        let one = Flush::new(file.try_clone().unwrap(), file.try_clone().unwrap());
        let other = Flush::new(file.try_clone().unwrap(), file);
        assert_eq!(one.due(Durability::Process).unwrap(), None);
        let first = one.due(Durability::Machine).unwrap().unwrap();
        // Also where the process that committed it was killed before its flush.
        assert_eq!(other.due(Durability::Process).unwrap(), Some(first));
        let second = other.due(Durability::Machine).unwrap().unwrap();
        other.all(second).unwrap();
        // The later flush reached the earlier commit; the earlier one's own end takes nothing back.
        assert_eq!(one.due(Durability::Process).unwrap(), None);
        one.all(first).unwrap();
        assert_eq!(other.due(Durability::Process).unwrap(), None);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn marks_that_do_not_fit_are_no_proof_of_a_flush() {
        let (path, file) = marks("torn");
        let flush = Flush::new(file.try_clone().unwrap(), file.try_clone().unwrap());
        let due = flush.due(Durability::Machine).unwrap().unwrap();
        flush.all(due).unwrap();
        assert_eq!(flush.due(Durability::Process).unwrap(), None);
        file.write_all_at(&[0xff], 9).unwrap();
        assert_eq!(flush.due(Durability::Process).unwrap(), Some(due));
        flush.all(due).unwrap();
        assert_eq!(flush.due(Durability::Process).unwrap(), None);
        std::fs::remove_file(path).unwrap();
    }
}
