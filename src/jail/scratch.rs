//! The private HOME and temporary directory of a command without a mount namespace: a directory of the host, removed
//! when the command's processes are gone.
//!
//! Danger: the command filled it. Nothing is followed out of it when it is removed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::plan::{JailPlan, Step};

/// How the directories are called: this, the process that made them, a moment.
const PREFIX: &str = "swbox-";

/// The directory; removed with the value.
#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes it with the plan's files below HOME.
    pub(super) fn new(plan: &JailPlan) -> io::Result<Self> {
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700);
        let place = std::env::temp_dir().canonicalize()?;
        sweep(&place);
        let mut attempt = 0;
        let root = loop {
            let root =
                place.join(format!("{PREFIX}{}-{}-{attempt}", std::process::id(), super::report::now()));
            match builder.create(&root) {
                Ok(()) => break root,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(error),
            }
        };
        let scratch = Self { root };
        for directory in ["home", "tmp", "run"] {
            builder.create(scratch.root.join(directory))?;
        }
        if let Some(home) = plan.env.get(OsStr::new("HOME")) {
            for step in &plan.steps {
                if let Step::File { path, bytes } = step
                    && let Ok(below) = path.strip_prefix(home)
                {
                    let file = scratch.root.join("home").join(below);
                    if let Some(parent) = file.parent() {
                        builder.recursive(true).create(parent)?;
                    }
                    std::fs::write(file, bytes)?;
                }
            }
        }
        Ok(scratch)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    /// `env` with HOME and the places for temporary files in it.
    pub(super) fn environment(&self, env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
        let mut env = env.clone();
        for (name, directory) in [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_RUNTIME_DIR", "run")] {
            env.insert(name.into(), self.root.join(directory).into_os_string());
        }
        // zsh keeps its here-documents there.
        env.insert("TMPPREFIX".into(), self.root.join("tmp/zsh").into_os_string());
        env
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.root).is_err() {
            unlock(&self.root);
            // What still resists is an empty shell at worst; there is nobody left to tell.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// Removes what launchers left that were killed: directories of this user whose process is gone.
fn sweep(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    let own = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        let mine = || entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) && mine() {
            drop(Scratch { root: entry.path() });
        }
    }
}

/// Makes every directory below `directory` writable again, so that it can be emptied.
fn unlock(directory: &Path) {
    let _ = std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700));
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}
