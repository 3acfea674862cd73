//! Looking at a workspace after the run, when nothing of the command is alive: names that git would obey and that
//! appeared, run-later files, new repositories whose configuration runs something.
//!
//! Danger: the command chose these names. Nothing is followed through a link, and what is moved stays on its file system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::survey::{Kind, is_git_directory, kind, link_target, names, read};
use super::{Findings, Layout, config, view};
use crate::jail::plan::{JailPlan, View};

/// The largest configuration that is read; a bigger one counts as planted.
const CONFIG_LIMIT: u64 = 1 << 20;

/// Checks what `layout` says about the workspace of `plan`.
pub(in crate::jail) fn check(plan: &JailPlan, layout: &Layout) -> Findings {
    let mut findings = Findings::default();
    for path in &layout.forbidden {
        if appeared(path) {
            findings.quarantined.push(quarantine(layout, path));
        }
    }
    for (path, text) in &layout.links {
        if std::fs::read_link(path).is_ok_and(|now| now == *text) {
            continue;
        }
        findings.quarantined.push(quarantine(layout, path));
    }
    findings.appeared = layout.reported.iter().filter(|path| appeared(path)).cloned().collect();
    if view(plan) == Some(View::Writable) {
        let workspace = &plan.workspace;
        judge(layout, workspace, &mut findings);
        for name in names(workspace) {
            if name != ".git" {
                judge(layout, &workspace.join(name), &mut findings);
            }
        }
    }
    findings
}

/// Whether something is at `path` and its parents are directories.
fn appeared(path: &Path) -> bool {
    kind(path) != Kind::Missing
        && path
            .parent()
            .and_then(|parent| parent.canonicalize().ok())
            .is_some_and(|parent| path.parent() == Some(parent.as_path()))
}

/// Moves `path` away, next to the git directory; gives where it is now.
fn quarantine(layout: &Layout, path: &Path) -> PathBuf {
    let Some(directory) = &layout.quarantine else { return path.to_owned() };
    let mut name = OsString::from(format!("{}-", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    let target = directory.join(name);
    if std::fs::create_dir_all(directory).is_ok() && std::fs::rename(path, &target).is_ok() {
        target
    } else {
        path.to_owned()
    }
}

/// Reports a repository at `place` that was not there before and whose configuration runs something.
fn judge(layout: &Layout, place: &Path, findings: &mut Findings) {
    let entry = place.join(".git");
    let directory = match kind(&entry) {
        Kind::Directory => entry,
        Kind::File | Kind::Link if layout.known.contains(&entry) => return,
        Kind::File => match link_target(&entry) {
            Some(target) => target,
            None => return,
        },
        Kind::Link => match entry.canonicalize() {
            Ok(target) => target,
            Err(_) => return,
        },
        // A bare layout: git takes the directory itself for a repository.
        Kind::Missing if is_git_directory(place) => place.to_owned(),
        Kind::Missing => return,
    };
    if layout.known.contains(&directory) {
        return;
    }
    for part in ["config", "config.worktree"] {
        let file = directory.join(part);
        match std::fs::symlink_metadata(&file) {
            Ok(found) if found.is_file() && found.len() <= CONFIG_LIMIT => {
                let settings = config::settings(&read(&file, CONFIG_LIMIT));
                if let Some(setting) = config::executable(&settings) {
                    findings.planted.push((file, setting.name.clone()));
                }
            }
            Ok(_) => findings.planted.push((file, "not a plain file".to_owned())),
            Err(_) => {}
        }
    }
    for (part, what) in [("commondir", "redirects git"), ("objects/info/alternates", "redirects git")] {
        let file = directory.join(part);
        if kind(&file) != Kind::Missing {
            findings.planted.push((file, what.to_owned()));
        }
    }
    let hooks = directory.join("hooks");
    if let Ok(entries) = std::fs::read_dir(&hooks) {
        let live = |name: &OsString| !name.to_string_lossy().ends_with(".sample");
        if let Some(hook) = entries.flatten().map(|entry| entry.file_name()).find(live) {
            findings.planted.push((hooks.join(hook), "a hook".to_owned()));
        }
    }
}
