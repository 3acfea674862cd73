//! Whose turn it is to write: a queue of processes.
//!
//! Danger: a lock alone is no queue. The kernel keeps who waits for a `flock` in order, but wakes the first of them and
//! leaves the lock free: whoever runs takes it, and a writer that has just let go runs. So there are two: the one who is
//! next holds the gate and waits for the lock alone, all others wait at the gate. The kernel lets go of both when a
//! process ends, however it ends.

use std::fs::File;
use std::path::Path;

use super::error::StoreError;

/// Where all but the next wait.
pub(super) const GATE: &str = "sessions.gate";

/// What who writes holds.
pub(super) const LOCK: &str = "sessions.lock";

/// The two files, open.
#[derive(Debug)]
pub(super) struct Queue {
    gate: File,
    lock: File,
}

impl Queue {
    pub(super) fn new(gate: File, lock: File) -> Self {
        Self { gate, lock }
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// A file system without locks.
    pub(super) fn wait(&self) -> Result<Turn<'_>, StoreError> {
        let next = held(&self.gate, GATE)?;
        let lock = held(&self.lock, LOCK)?;
        drop(next);
        Ok(Turn { _lock: lock })
    }
}

/// The turn, as long as it lasts.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    _lock: Held<'a>,
}

/// A lock while it is held. It is released by hand, for a child of this process would keep it.
#[derive(Debug)]
struct Held<'a>(&'a File);

fn held<'a>(file: &'a File, name: &str) -> Result<Held<'a>, StoreError> {
    file.lock().map_err(StoreError::unavailable(Path::new(name)))?;
    Ok(Held(file))
}

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
}
