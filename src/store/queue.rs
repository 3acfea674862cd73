//! Whose turn it is to write: a queue of processes.
//!
//! Danger: a lock alone is no queue. The kernel keeps who waits for a `flock` in order, but wakes the first of them and
//! leaves the lock free: whoever runs takes it, and a writer that has just let go runs. So there are two: the one who is
//! next holds the gate and waits for the lock alone, all others wait at the gate. The kernel lets go of both when a
//! process ends, however it ends; from one that is stopped it takes nothing, so that who waits gives up after a while.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::StoreError;
use crate::sys::lock::lock_until;

/// How long a turn is waited for. A turn takes a millisecond; fifty processes at once have theirs within half a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where all but the next wait.
pub(super) const GATE: &str = "sessions.gate";

/// What who writes holds.
pub(super) const LOCK: &str = "sessions.lock";

/// The two files, open.
#[derive(Debug)]
pub(super) struct Queue {
    gate: File,
    lock: File,
    patience: Duration,
}

impl Queue {
    pub(super) fn new(gate: File, lock: File) -> Self {
        Self { gate, lock, patience: PATIENCE }
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// `Held` where it does not come; a file system without locks.
    pub(super) fn wait(&self) -> Result<Turn<'_>, StoreError> {
        let deadline = Instant::now() + self.patience;
        let next = self.held(&self.gate, GATE, deadline)?;
        let lock = self.held(&self.lock, LOCK, deadline)?;
        drop(next);
        Ok(Turn { _lock: lock })
    }

    fn held<'a>(&self, file: &'a File, name: &str, deadline: Instant) -> Result<Held<'a>, StoreError> {
        if lock_until(file, deadline).map_err(StoreError::unavailable(Path::new(name)))? {
            return Ok(Held(file));
        }
        // Who is stopped at the gate is named only where nobody has the lock.
        let holder = holder(&self.lock).or_else(|| holder(&self.gate));
        let holder = holder.unwrap_or_else(|| "a process that cannot be seen from here has it".to_owned());
        Err(StoreError::Held { seconds: self.patience.as_secs(), holder })
    }
}

/// Who holds a file's lock, as far as the kernel shows it here: other PID namespaces' processes have no number.
fn holder(file: &File) -> Option<String> {
    let (inode, device) = file.metadata().map(|found| (found.ino().to_string(), found.dev())).ok()?;
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let found = locks.lines().filter_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; who waits has `->` behind the number.
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["FLOCK", _, _, pid, place, ..] = words.get(1..)? else { return None };
        let (on, number) = place.rsplit_once(':')?;
        let pid = pid.parse::<u32>().ok().filter(|pid| *pid > 0 && number == inode)?;
        Some((on == device, pid))
    });
    // Some file systems show another device to `stat`.
    let (_, pid) = found.max_by_key(|(same, _)| *same)?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let name = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
    let (name, stopped) =
        name.map_or(("?", false), |(name, rest)| (name, rest.starts_with(" T") || rest.starts_with(" t")));
    Some(format!("process {pid} ({name}{}) has it", if stopped { ", stopped" } else { "" }))
}

/// The turn, as long as it lasts.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    _lock: Held<'a>,
}

/// A lock while it is held. It is released by hand, for a child of this process would keep it.
#[derive(Debug)]
struct Held<'a>(&'a File);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing would do where no child has the descriptor as well.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use super::*;

    fn queue(directory: &Path) -> Queue {
        let open = |name| {
            let path = directory.join(name);
            File::options().create(true).truncate(false).write(true).open(path).unwrap()
        };
        Queue::new(open(GATE), open(LOCK))
    }

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("swbox-queue-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// With one lock the writer that lets go and asks again at once has it again nearly always.
    #[test]
    fn who_lets_go_does_not_go_before_who_waits() {
        let directory = directory("order");
        let (own, order) = (queue(&directory), Mutex::new(Vec::new()));
        for _ in 0..100 {
            order.lock().unwrap().clear();
            let turn = own.wait().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let other = queue(&directory);
                    let _turn = other.wait().unwrap();
                    order.lock().unwrap().push("who waits");
                });
                let until = Instant::now() + Duration::from_secs(60);
                while own.gate.try_lock().is_ok() {
                    own.gate.unlock().unwrap();
                    assert!(Instant::now() < until, "nobody waits");
                    std::thread::yield_now();
                }
                drop(turn);
                let _turn = own.wait().unwrap();
                order.lock().unwrap().push("who let go");
            });
            assert_eq!(*order.lock().unwrap(), ["who waits", "who let go"]);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn who_does_not_let_go_is_named_and_waited_for_no_longer_than_that() {
        let directory = directory("held");
        let (own, mut other) = (queue(&directory), queue(&directory));
        other.patience = Duration::from_millis(50);
        for at_the_gate in [false, true] {
            let kept = if at_the_gate {
                own.held(&own.gate, GATE, Instant::now())
            } else {
                Ok(own.wait().unwrap()._lock)
            };
            let error = other.wait().map(drop).unwrap_err();
            let StoreError::Held { holder, .. } = &error else { panic!("{error}") };
            assert!(holder.contains(&format!("process {} (", std::process::id())), "{holder}");
            drop(kept);
            // Nothing of the one who gave up is in the way of others.
            drop(other.wait().unwrap());
            drop(own.wait().unwrap());
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
