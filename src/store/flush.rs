//! When a commit is on the disk: the log is flushed after the turn was given away, by whoever is to answer for it.
//!
//! Danger: between commit and flush all others see what a fall of the machine would take back. So nobody acts on it: a
//! commit of any kind that finds one below it that is not known to be flushed flushes as well before it is acknowledged.
//! A flush reaches all that was committed before it began: what SQLite has meanwhile written back into the database it
//! has flushed there before it writes over the log.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Durability;
use super::error::StoreError;

/// The file that says how far the log is to be flushed, and how far it is.
pub(super) const MARKS: &str = "sessions.marks";

/// A commit that is to be flushed, by its number among those that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due(u64);

/// The log and the marks.
#[derive(Debug)]
pub(super) struct Flush {
    log: File,
    marks: File,
}

/// The last commit that asked for a flush, and the last that is known to have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    asked: u64,
    flushed: u64,
}

impl Marks {
    /// Three numbers of eight bytes: the last one the complement of the second, as that one is written by whoever has
    /// flushed, out of turn. Where they do not fit nothing is known to be flushed, which costs a flush.
    fn read(bytes: &[u8; 24]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let [asked, flushed, complement] = [0, 1, 2].map(|at| u64::from_ne_bytes(numbers[at]));
        Self { asked, flushed: if complement == !flushed { flushed } else { 0 } }
    }
}

impl Flush {
    pub(super) fn new(log: File, marks: File) -> Self {
        Self { log, marks }
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
                self.marks.write_all_at(&number.to_ne_bytes(), 0).map_err(unavailable)?;
                Ok(Some(Due(number)))
            }
            Durability::Process => Ok((marks.asked > marks.flushed).then_some(Due(marks.asked))),
        }
    }

    /// Flushes the log, and notes that.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn all(&self, due: Due) -> Result<(), StoreError> {
        self.log.sync_data().map_err(unavailable)?;
        self.done(due);
        Ok(())
    }

    /// Notes that a commit, and with it all before it, is on the disk.
    pub(super) fn done(&self, due: Due) {
        if self.marks().is_ok_and(|marks| marks.flushed >= due.0) {
            return;
        }
        let both = [due.0.to_ne_bytes(), (!due.0).to_ne_bytes()].concat();
        // Not noted, the next one flushes once more.
        let _ = self.marks.write_all_at(&both, 8);
    }

    fn marks(&self) -> Result<Marks, StoreError> {
        let mut bytes = [0; 24];
        let mut read = 0;
        while read < bytes.len() {
            match self.marks.read_at(&mut bytes[read..], read as u64).map_err(unavailable)? {
                0 => break,
                more => read += more,
            }
        }
        Ok(Marks::read(&bytes))
    }
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
