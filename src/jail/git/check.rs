//! Looking at a workspace after the run, when nothing of the command is alive: names that git would obey and that
//! appeared, run-later files, new repositories whose configuration runs something.
//!
//! Danger: the command chose these names. Nothing is followed through a link, and what is moved stays on its file system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::judge::Judge;
use super::survey::{Kind, kind};
use super::walk::{self, Found};
use super::{Findings, Layout, Planted, UNSEEN, git_step, record, view};
use crate::jail::plan::{JailPlan, View};

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
    repositories(plan, layout, &mut findings);
    findings
}

/// Looks for repositories wherever the command may have made or changed one, and judges them.
fn repositories(plan: &JailPlan, layout: &Layout, findings: &mut Findings) {
    let writable = view(plan) == Some(View::Writable);
    let held = layout.whole();
    let note = plan.repositories.as_deref().filter(|_| writable);
    let skip = |path: &Path| held.contains(path.as_os_str());
    let mut found = match note {
        Some(note) => walk::again(&plan.workspace, layout.since, &skip, note),
        None if writable => walk::repositories(&plan.workspace, layout.since, &skip),
        None => Found::default(),
    };
    if git_step(plan) == Some(true) {
        let parts =
            layout.known.iter().flat_map(|known| ["modules", "worktrees"].map(|part| known.join(part)));
        for part in parts {
            let more = walk::repositories(&part, layout.since, &|_| false);
            found.places.extend(more.places);
            found.bare.extend(more.bare);
            found.unseen = found.unseen.or(more.unseen);
        }
    }
    if let Some((path, why)) = found.unseen {
        let setting = format!("{UNSEEN}{why}");
        findings.planted.push(Planted { file: path, setting, moved: None });
    }
    let mut judge = Judge::new(&plan.workspace, layout, findings);
    let mut places = found.places;
    places.retain(|place| judge.place(place));
    found.bare.retain(|directory| judge.bare(directory));
    if let Some(file) = note {
        let noted = &layout.noted;
        places.extend(found.bare);
        // What is held as a whole was not walked into.
        let whole = noted.places.iter().map(|place| plan.workspace.join(place));
        places.extend(whole.filter(|place| layout.known.contains(place)));
        record::update(file, &plan.workspace, noted, &places, &found.sockets);
    }
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
