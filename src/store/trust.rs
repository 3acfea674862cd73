//! What a person has accepted of a workspace's own files: one small file a workspace, so that a command that needs
//! nothing else of the store opens no database.
//!
//! Danger: an entry here makes bytes of a repository the law. It holds for exactly those bytes, and its absence is
//! never a reason for a laxer law: a file that was accepted and is gone is as wrong as one that nobody has seen.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::chain::Hash;
use super::error::StoreError;

/// One accepted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// Its path below the workspace.
    pub path: String,
    /// What it is: `workflow`, `profile`, `invoked workflow` or `workflow manifest`.
    pub kind: String,
    /// The hash of the accepted bytes.
    pub hash: Hash,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The accepted text, to show what a later version changes.
    pub text: String,
}

/// What is accepted in one workspace.
#[derive(Debug)]
pub struct Ledger {
    file: PathBuf,
    workspace: PathBuf,
    entries: Vec<Trusted>,
}

impl Ledger {
    /// Reads the ledger of a workspace; without a file nothing was accepted.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of swbox's.
    pub fn read(state: &Path, workspace: &Path) -> Result<Self, StoreError> {
        let name = Hash::of(workspace.as_os_str().as_bytes()).to_string();
        let file = state.join("trust").join(&name[..32]);
        let mut text = String::new();
        let entries = match File::open(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::unavailable(&file)(error)),
            Ok(mut open) => {
                open.read_to_string(&mut text).map_err(StoreError::unavailable(&file))?;
                parse(&text, workspace).ok_or_else(|| {
                    StoreError::Damaged(format!("{} is no list of accepted files", file.display()))
                })?
            }
        };
        Ok(Self { file, workspace: workspace.to_owned(), entries })
    }

    /// What was accepted last under this path.
    pub fn get(&self, path: &str) -> Option<&Trusted> {
        self.entries.iter().find(|entry| entry.path == path)
    }

    /// All that is accepted.
    pub fn entries(&self) -> &[Trusted] {
        &self.entries
    }

    /// Accepts a file in place of what was accepted under its path before.
    ///
    /// # Errors
    /// When it cannot be written; then what was accepted before holds on.
    pub fn accept(&mut self, entry: Trusted) -> Result<(), StoreError> {
        self.change(|entries| {
            entries.retain(|other| other.path != entry.path);
            entries.push(entry);
        })
    }

    /// Takes back what was accepted under this path.
    ///
    /// # Errors
    /// As for [`Self::accept`].
    pub fn forget(&mut self, path: &str) -> Result<(), StoreError> {
        self.change(|entries| entries.retain(|other| other.path != path))
    }

    /// Reads again, changes and writes, alone: another person's answer between reading and writing is not lost.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Trusted>)) -> Result<(), StoreError> {
        let directory = self.file.parent().unwrap_or(Path::new("/")).to_owned();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(StoreError::unavailable(&directory))?;
        let lock = directory.join("lock");
        let held = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock);
        let held = held.map_err(StoreError::unavailable(&lock))?;
        held.lock().map_err(StoreError::unavailable(&lock))?;
        let state = directory.parent().unwrap_or(Path::new("/"));
        let mut entries = Self::read(state, &self.workspace)?.entries;
        change(&mut entries);
        let new = self.file.with_extension("new");
        let write = || {
            let mut file =
                OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
            file.write_all(format!("{}\n", to_json(&self.workspace, &entries)).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.file)?;
            File::open(&directory)?.sync_all()
        };
        write().map_err(StoreError::unavailable(&self.file))?;
        self.entries = entries;
        Ok(())
    }
}

fn to_json(workspace: &Path, entries: &[Trusted]) -> Value {
    let entries = entries.iter().map(|entry| {
        json!({
            "path": entry.path, "kind": entry.kind, "hash": entry.hash.to_string(), "at": entry.at, "text": entry.text,
        })
    });
    json!({ "version": 1, "workspace": workspace.to_string_lossy(), "accepted": entries.collect::<Vec<_>>() })
}

/// `None` for whatever is not exactly what [`to_json`] writes for this workspace.
fn parse(text: &str, workspace: &Path) -> Option<Vec<Trusted>> {
    let value: Value = serde_json::from_str(text).ok()?;
    if value["version"] != 1 || value["workspace"].as_str()? != workspace.to_string_lossy() {
        return None;
    }
    value["accepted"]
        .as_array()?
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().map(str::to_owned);
            let entry = Trusted {
                path: text("path")?,
                kind: text("kind")?,
                hash: Hash::from_hex(entry["hash"].as_str()?)?,
                at: entry["at"].as_u64()?,
                text: text("text")?,
            };
            (Hash::of(entry.text.as_bytes()) == entry.hash).then_some(entry)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Trusted {
        Trusted {
            path: "swbox.json".into(),
            kind: "workflow".into(),
            hash: Hash::of(text.as_bytes()),
            at: 1,
            text: text.into(),
        }
    }

    fn state(name: &str) -> PathBuf {
        let state = std::env::temp_dir().join(format!("swbox-trust-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&state);
        state
    }

    #[test]
    fn the_last_answer_holds_and_is_taken_back() {
        let state = state("last");
        let workspace = Path::new("/work/a");
        let mut ledger = Ledger::read(&state, workspace).unwrap();
        assert!(ledger.get("swbox.json").is_none());
        ledger.accept(entry("one")).unwrap();
        ledger.accept(entry("two")).unwrap();
        let again = Ledger::read(&state, workspace).unwrap();
        assert_eq!(again.entries(), [entry("two")]);
        assert!(Ledger::read(&state, Path::new("/work/b")).unwrap().entries().is_empty());
        ledger.forget("swbox.json").unwrap();
        assert!(Ledger::read(&state, workspace).unwrap().entries().is_empty());
        fs::remove_dir_all(&state).unwrap();
    }

    #[test]
    fn a_ledger_that_was_changed_is_refused() {
        let state = state("changed");
        let workspace = Path::new("/work/a");
        let mut ledger = Ledger::read(&state, workspace).unwrap();
        ledger.accept(entry("one")).unwrap();
        let text = fs::read_to_string(&ledger.file).unwrap();
        for wrong in
            [text.replace("one", "two"), String::new(), "{}".into(), text.replace("/work/a", "/work/b")]
        {
            fs::write(&ledger.file, wrong).unwrap();
            assert!(matches!(Ledger::read(&state, workspace), Err(StoreError::Damaged(_))));
        }
        fs::remove_dir_all(&state).unwrap();
    }
}
