use std::path::PathBuf;

use super::*;

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("swbox-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn bind(store: &mut Sqlite, key: &str) -> Result<(), StoreError> {
    let mut write = store.begin(Durability::Machine)?;
    write.bind("harness", key, "s")?;
    write.commit()
}

fn length(directory: &Path) -> u64 {
    std::fs::metadata(directory.join(LOG)).unwrap().len()
}

/// A device that cannot be flushed stands for a disk that fails.
#[test]
fn nobody_believes_a_flush_after_one_that_failed_until_all_is_in_the_database() {
    let directory = directory("unflushed");
    let mut store = Sqlite::open(&directory).unwrap();
    let marks = File::options().read(true).write(true).open(directory.join(flush::MARKS)).unwrap();
    store.flush = Flush::new(File::open("/dev/null").unwrap(), marks);
    assert!(matches!(bind(&mut store, "one"), Err(StoreError::Unflushed(_))));
    // Nor is anything begun where it fails still.
    assert!(matches!(store.begin(Durability::Process).map(drop), Err(StoreError::Unflushed(_))));
    // The disk tells who opens the log now of no error.
    let mut later = Sqlite::open(&directory).unwrap();
    assert!(later.flush.is_broken().unwrap());
    assert!(length(&directory) > 0);
    drop(later.begin(Durability::Process).unwrap());
    assert!(!later.flush.is_broken().unwrap());
    assert_eq!((length(&directory), later.flush.due(Durability::Process).unwrap()), (0, None));
    assert_eq!(later.bound("harness", "one").unwrap().as_deref(), Some("s"));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Whoever has the log open already is told by the marks alone.
#[test]
fn a_commit_beside_a_failure_is_acknowledged_only_when_all_is_in_the_database() {
    let directory = directory("beside");
    let mut store = Sqlite::open(&directory).unwrap();
    let mut write = store.begin(Durability::Machine).unwrap();
    write.bind("harness", "one", "s").unwrap();
    Sqlite::open(&directory).unwrap().flush.set_broken(&StoreError::Full).unwrap();
    write.commit().unwrap();
    assert_eq!((length(&directory), store.flush.is_broken().unwrap()), (0, false));
    // A reader that keeps the log from being taken out of use.
    let reader = Connection::open(directory.join(FILE)).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM bindings", [], |_| Ok(())).unwrap();
    store.connection.busy_timeout(Duration::ZERO).unwrap();
    bind(&mut store, "two").unwrap();
    store.flush.set_broken(&StoreError::Full).unwrap();
    assert!(matches!(bind(&mut store, "three"), Err(StoreError::Unflushed(_))));
    assert!(store.flush.is_broken().unwrap());
    drop(reader);
    bind(&mut store, "three").unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Bytes that the kernel let go of: what is read again is what the disk has.
#[test]
fn a_log_with_a_hole_is_written_nowhere() {
    use std::os::unix::fs::FileExt;
    let directory = directory("hole");
    let mut store = Sqlite::open(&directory).unwrap();
    for key in ["one", "two", "three"] {
        bind(&mut store, key).unwrap();
    }
    let log = File::options().write(true).open(directory.join(LOG)).unwrap();
    let before = std::fs::read(directory.join(LOG)).unwrap();
    log.write_all_at(&[0; 64], before.len() as u64 - 64).unwrap();
    store.flush.set_broken(&StoreError::Full).unwrap();
    let database = std::fs::read(directory.join(FILE)).unwrap();
    let error = bind(&mut store, "four").unwrap_err();
    assert!(matches!(&error, StoreError::Unflushed(why) if why.contains("parts of the log")), "{error}");
    assert_eq!(std::fs::read(directory.join(FILE)).unwrap(), database);
    // With nobody who has it open it is read as the disk has it, and what holds goes on.
    drop(store);
    let mut store = Sqlite::open(&directory).unwrap();
    bind(&mut store, "four").unwrap();
    assert!(!store.flush.is_broken().unwrap());
    let keys = ["one", "two", "three", "four"].map(|key| store.bound("harness", key).unwrap().is_some());
    assert_eq!(keys, [true, true, false, true]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_journal_that_is_not_whole_is_not_gone_on_with_after_a_failure() {
    let directory = directory("chain");
    let mut store = Sqlite::open(&directory).unwrap();
    let mut write = store.begin(Durability::Machine).unwrap();
    let mut row = SessionRow {
        id: "s".into(),
        workspace: "/w".into(),
        workflow: "w".into(),
        created: 1,
        touched: 1,
        over: false,
        state: "a".into(),
        position: 0,
        head: Hash::default(),
        body: "{}".into(),
        place: "{}".into(),
    };
    write.create(&row).unwrap();
    write.append(&mut row, 1, "event", &Value::Null).unwrap();
    write.append(&mut row, 2, "event", &Value::Null).unwrap();
    write.commit().unwrap();
    store.connection.execute("DELETE FROM journal WHERE position = 1", []).unwrap();
    bind(&mut store, "one").unwrap();
    store.flush.set_broken(&StoreError::Full).unwrap();
    assert!(matches!(bind(&mut store, "two"), Err(StoreError::Damaged(_))));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_long_log_is_written_back_behind_the_commit_and_an_error_of_that_is_noted() {
    let directory = directory("long");
    let mut store = Sqlite::open(&directory).unwrap();
    let limit = u64::from(mend::LONG) * 2 * 4200;
    for number in 0..500 {
        bind(&mut store, &number.to_string()).unwrap();
        assert!(length(&directory) < limit, "{number}: {}", length(&directory));
    }
    // A connection that cannot write the database stands for a disk that fails.
    mend::write_back(&store.connection, &store.flush).unwrap();
    assert!(!store.flush.is_broken().unwrap());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let unable = Connection::open_with_flags(directory.join(FILE), flags).unwrap();
    unable.query_row("SELECT count(*) FROM bindings", [], |_| Ok(())).unwrap();
    bind(&mut store, "more").unwrap();
    mend::write_back(&unable, &store.flush).unwrap();
    assert!(store.flush.is_broken().unwrap());
    bind(&mut store, "last").unwrap();
    assert!(!store.flush.is_broken().unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// As one leaves it that is killed between making the log and flushing the directory.
#[test]
fn the_directory_is_flushed_by_the_next_where_the_first_was_killed() {
    let directory = directory("named");
    drop(Sqlite::open(&directory).unwrap());
    let marks = File::options().read(true).write(true).open(directory.join(flush::MARKS)).unwrap();
    assert!(Flush::is_named(&marks).unwrap());
    marks.set_len(0).unwrap();
    assert!(directory.join(LOG).exists());
    drop(Sqlite::open(&directory).unwrap());
    assert!(Flush::is_named(&marks).unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// As one leaves it that is killed after the kernel told it of a failure, before it could note that.
#[test]
fn who_opens_while_a_flush_is_owed_believes_its_own_only_when_that_one_is_done() {
    let directory = directory("owed");
    let mut store = Sqlite::open(&directory).unwrap();
    bind(&mut store, "one").unwrap();
    store
        .connection
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO bindings VALUES ('harness', 'two', 's')")
        .unwrap();
    let due = store.flush.due(Durability::Machine).unwrap().unwrap();
    store.connection.execute_batch("COMMIT").unwrap();
    let mut later = Sqlite::open(&directory).unwrap();
    bind(&mut later, "three").unwrap();
    assert_eq!((length(&directory), later.flush.is_done(due).unwrap()), (0, true));
    // The twin: who was there before is told of every failure.
    let before = length(&directory);
    bind(&mut later, "four").unwrap();
    assert!(length(&directory) > before);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Each opening reads the log through, and knows nothing of what an earlier one has written back.
#[test]
fn the_log_stays_short_from_process_to_process() {
    let directory = directory("short");
    let mut longest = 0;
    for key in 0..60 {
        let mut store = Sqlite::open(&directory).unwrap();
        // As a command does: its start, and its end.
        for (durability, part) in [(Durability::Process, "start"), (Durability::Machine, "end")] {
            let mut write = store.begin(durability).unwrap();
            write.bind(part, &format!("{key}{}", "x".repeat(8000)), "s").unwrap();
            write.commit().unwrap();
        }
        longest = longest.max(length(&directory));
    }
    assert!(longest < u64::from(3 * mend::LONG) * 4096, "{longest}");
    std::fs::remove_dir_all(&directory).unwrap();
}

/// How often the index is locked where [`Sqlite::mark`] says, by processes or by openings.
fn marks(directory: &Path, kind: &str) -> usize {
    use std::os::unix::fs::MetadataExt;
    let (index, byte) = Sqlite::mark(directory);
    let inode = std::fs::metadata(index).unwrap().ino();
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let end = format!(":{inode} {byte} {byte}");
    locks.lines().filter(|line| line.contains(&format!("{kind} ")) && line.ends_with(&end)).count()
}

#[test]
fn the_mark_is_what_sqlite_locks_as_long_as_the_store_is_open() {
    let directory = directory("mark");
    let store = Sqlite::open(&directory).unwrap();
    assert_eq!(marks(&directory, "POSIX"), 1);
    drop(store);
    assert_eq!(marks(&directory, "POSIX"), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Recovery would cut the index off and make it anew.
#[test]
fn where_the_mark_is_held_the_index_is_not_made_anew() {
    let directory = directory("held");
    let mut store = Sqlite::open(&directory).unwrap();
    bind(&mut store, "one").unwrap();
    let (index, byte) = Sqlite::mark(&directory);
    // Closing it would let go of the connection's own locks.
    let held = File::open(&index).unwrap();
    let taken = crate::sys::lock::hold_byte(std::os::fd::AsFd::as_fd(&held), byte).unwrap();
    assert!(taken && marks(&directory, "OFDLCK") == 1);
    drop(store);
    // Behind the pages that the log has.
    let writes = File::options().write(true).open(&index).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&writes, b"kept", 12 * 1024).unwrap();
    let read = || std::fs::read(&index).unwrap()[12 * 1024..][..4].to_vec();
    let mut store = Sqlite::open(&directory).unwrap();
    assert_eq!(store.bound("harness", "one").unwrap().as_deref(), Some("s"));
    bind(&mut store, "two").unwrap();
    assert_eq!(read(), b"kept");
    drop((store, held));
    let store = Sqlite::open(&directory).unwrap();
    assert_eq!(store.bound("harness", "two").unwrap().as_deref(), Some("s"));
    assert_ne!(read(), b"kept", "with nobody there it is");
    std::fs::remove_dir_all(&directory).unwrap();
}
