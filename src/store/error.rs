//! What can go wrong with the store, and how a person hears of it.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;

/// A failure of the store. Whatever it is, the command that needed it does not run.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or directory of the store cannot be made or opened.
    #[error("{}: {source}", path.display())]
    Unavailable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A later swbox wrote it.
    #[error("the store has schema {found}, this swbox knows {known}")]
    Newer {
        /// What the file says.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// There is no space, or the quota is used up.
    #[error("no space is left for the session's record")]
    Full,
    /// The file system does not let it be written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// The file is not what swbox wrote.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The disk did not take what was written, and may have let go of it.
    #[error("the session's record is not on the disk: {0}")]
    Unflushed(String),
    /// Somebody else is at it and does not get on.
    #[error("the store's lock was not free within {seconds} s: {holder}")]
    Held {
        /// How long was waited.
        seconds: u64,
        /// Who holds it.
        holder: String,
    },
    /// Anything else that SQLite says.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    pub(super) fn unavailable(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Unavailable { path, source },
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let text = error.to_string();
        // Shared memory that cannot grow: the file system is full.
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::ReadOnly(text)
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(text),
            _ => Self::Failed(text),
        }
    }
}

impl From<StoreError> for Diagnostic {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Unavailable { .. } | StoreError::ReadOnly(_) => {
                Diagnostic::new("store_unavailable", message)
                    .help("make swbox's state directory writable, or name another with XDG_STATE_HOME")
            }
            StoreError::Newer { .. } => Diagnostic::new("store_newer", message)
                .help("a later version of swbox has used this state directory: use that one"),
            StoreError::Full => Diagnostic::new("store_full", message).help(
                "free some space in swbox's state directory; `swbox session prune` removes ended sessions",
            ),
            StoreError::Damaged(_) => Diagnostic::new("store_damaged", message).help(
                "move sessions.db out of swbox's state directory and keep it; new sessions then start afresh",
            ),
            StoreError::Unflushed(_) => Diagnostic::new("store_unflushed", message).help(
                "nothing runs until the whole record is on the disk and read through, which every command tries again: look for errors of the disk (`dmesg`), end commands of swbox that still run, or name another state directory with XDG_STATE_HOME",
            ),
            StoreError::Held { .. } => Diagnostic::new("store_held", message).help(
                "nothing was run; let that process go on (`kill -CONT`) or end it, then repeat the call",
            ),
            StoreError::Failed(_) => Diagnostic::new("store_failed", message),
        }
    }
}
