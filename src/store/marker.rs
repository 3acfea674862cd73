//! That a workspace was ever bound to a session: an empty file a workspace, asked by every command that names neither
//! state nor session.
//!
//! Danger: a workspace that was bound must not run unbound, or the end of a session would be a way out of its law.

use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::chain::Hash;
use super::error::StoreError;

fn place(state: &Path, workspace: &Path) -> PathBuf {
    let name = Hash::of(workspace.as_os_str().as_bytes()).to_string();
    state.join("bound").join(&name[..32])
}

/// Whether a workspace was bound. What cannot be looked at counts as bound.
pub fn was_bound(state: &Path, workspace: &Path) -> bool {
    !matches!(place(state, workspace).symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

/// Notes that it is.
///
/// # Errors
/// A directory or file that cannot be made.
pub fn mark_bound(state: &Path, workspace: &Path) -> Result<(), StoreError> {
    let file = place(state, workspace);
    let directory = file.parent().unwrap_or(state);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(StoreError::unavailable(directory))?;
    let made = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&file);
    made.and_then(|made| made.sync_all()).map_err(StoreError::unavailable(&file))
}

/// Takes that back.
///
/// # Errors
/// A file that cannot be removed.
pub fn unmark_bound(state: &Path, workspace: &Path) -> Result<(), StoreError> {
    let file = place(state, workspace);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::unavailable(&file)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
