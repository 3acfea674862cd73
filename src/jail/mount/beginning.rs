//! What of a root can be built before there is a plan.
//!
//! Danger: what is built and is not in the plan as it is would be seen by the command. See [`Standard::begins`].

use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::CWD;

use crate::jail::plan::{JailPlan, Step};
use crate::jail::planner::Standard;
use crate::profile::value::lies_in;

/// Directories of the host over which the scratch may lie while the root is built, since no step looks below them.
const ATTACH_AT: [&str; 2] = ["/dev/shm", "/dev/pts"];

/// What of a root can be built before there is a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::jail) struct Beginning {
    /// The size of the scratch tmpfs.
    pub(in crate::jail) scratch: Option<u64>,
    /// Where the scratch can be attached while the root is built: no step binds what is there.
    pub(in crate::jail) attach_at: Vec<&'static str>,
    /// The steps that are performed at once, if any are.
    pub(in crate::jail) standard: Option<&'static Standard>,
}

impl Beginning {
    /// Of a plan that is not there yet.
    pub(in crate::jail) fn usual(scratch: Option<u64>, uid: u32) -> Self {
        Self { scratch, attach_at: ATTACH_AT.to_vec(), standard: Some(Standard::of(uid)) }
    }

    /// Of this plan.
    pub(in crate::jail) fn of(plan: &JailPlan, uid: u32) -> Self {
        let read = |place: &Path| {
            let binds = |step: &Step| matches!(step, Step::Bind { path, .. } if lies_in(path, place));
            plan.steps.iter().any(binds)
        };
        Self {
            scratch: plan.limits.scratch,
            attach_at: ATTACH_AT.into_iter().filter(|place| !read(Path::new(place))).collect(),
            standard: Some(Standard::of(uid)).filter(|all| all.begins(plan) && !leads_around(plan, all)),
        }
    }

    /// The steps that are performed at once.
    pub(in crate::jail) fn steps(&self) -> &'static [Step] {
        self.standard.map(Standard::steps).unwrap_or_default()
    }
}

/// Whether a bind of the plan is a link to what lies around one of the standard steps: its tree has to be there first.
fn leads_around(plan: &JailPlan, standard: &Standard) -> bool {
    plan.steps.iter().any(|step| {
        let Step::Bind { path, .. } = step else { return false };
        standard.number(step).is_none()
            && is_link(path)
            && path.canonicalize().is_ok_and(|real| {
                let real = real.as_os_str().as_bytes();
                standard.is_below(real) || standard.is_secret(real)
            })
    })
}

/// Whether a link is at `path`. Most of these places do not exist, and its text is not asked for.
fn is_link(path: &Path) -> bool {
    rustix::fs::readlinkat_raw(CWD, path, &mut [MaybeUninit::uninit()]).is_ok()
}
