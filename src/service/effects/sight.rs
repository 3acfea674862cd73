//! What of the host a planned jail shows: for a name that a command did not find, whether it is the jail that hides it.
//!
//! By names alone: a link that leads elsewhere is not followed, so what is said here is inferred, never exact.

use std::path::{Component, Path, PathBuf};

use crate::jail::{JailPlan, Level, Step, View};
use crate::profile::alias;

/// How a path of the host appears inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// As on the host.
    Shown,
    /// As a file or directory that nobody may read.
    Stub,
    /// Its name is there, its content cannot be read.
    Name,
    /// Not at all.
    Absent,
}

/// How `path` (absolute, without dots) appears.
pub(super) fn sight(plan: &JailPlan, path: &Path) -> Sight {
    let mut real = path.to_owned();
    for step in &plan.steps {
        if let Step::Alias { path, target } = step {
            real = alias::moved(&real, path, target).unwrap_or(real);
        }
    }
    let path = real.as_path();
    let secret = |step: &Step| matches!(step, Step::Secret { path: secret } if path.starts_with(secret));
    let hidden = plan.steps.iter().any(secret);
    if plan.level != Level::Full {
        return if hidden { Sight::Stub } else { Sight::Shown };
    }
    let mut nearest = (0, Sight::Absent);
    for step in &plan.steps {
        let (place, sight) = match step {
            Step::Bind { path, .. } | Step::Own { path } | Step::Device { path } => {
                (path.as_path(), Sight::Shown)
            }
            Step::File { path, .. } | Step::Script { path, .. } | Step::Symlink { path, .. } => {
                (path.as_path(), Sight::Shown)
            }
            Step::Dir { path, .. } => (path.as_path(), Sight::Absent),
            Step::Proc | Step::HostProc => (Path::new("/proc"), Sight::Shown),
            Step::Pts => (Path::new("/dev/pts"), Sight::Shown),
            Step::Workspace { view: View::Names } => (plan.workspace.as_path(), Sight::Name),
            Step::Workspace { .. } => (plan.workspace.as_path(), Sight::Shown),
            Step::Git { .. } | Step::Protect { .. } | Step::Secret { .. } | Step::Alias { .. } => continue,
        };
        let depth = place.components().count();
        if path.starts_with(place) && depth >= nearest.0 {
            // A private directory is there itself.
            let own = path == place && sight == Sight::Absent;
            nearest = (depth, if own { Sight::Shown } else { sight });
        }
    }
    match nearest.1 {
        Sight::Absent => Sight::Absent,
        _ if hidden => Sight::Stub,
        seen => seen,
    }
}

/// Whether something of the plan stands at `path`, above it or below it, other than the private directories: what is there
/// inside is then what the plan says.
pub(super) fn named_above(plan: &JailPlan, path: &Path) -> bool {
    let concerns = |place: &Path| path.starts_with(place) || place.starts_with(path);
    concerns(&plan.workspace)
        || plan.steps.iter().any(|step| match step {
            Step::Bind { path, .. }
            | Step::Own { path }
            | Step::Device { path }
            | Step::File { path, .. }
            | Step::Script { path, .. }
            | Step::Symlink { path, .. }
            | Step::Alias { path, .. }
            | Step::Secret { path } => concerns(path),
            Step::Proc | Step::HostProc => concerns(Path::new("/proc")),
            Step::Pts => concerns(Path::new("/dev/pts")),
            // The place itself is there, and what is above it.
            Step::Dir { path: own, .. } => own.starts_with(path),
            Step::Workspace { .. } | Step::Git { .. } | Step::Protect { .. } => false,
        })
}

/// The private directories of the command.
pub(super) fn private(plan: &JailPlan) -> impl Iterator<Item = &Path> {
    plan.steps.iter().filter_map(|step| match step {
        Step::Dir { path, .. } => Some(path.as_path()),
        _ => None,
    })
}

/// A path without dots and doubled slashes, as its text says; none where it is not absolute.
pub(super) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain.is_absolute().then_some(plain)
}
