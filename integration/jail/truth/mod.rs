//! What the supervisor tells, against the truth: the two ways of watching against each other, the touched files against an
//! inventory, refusals against what was tried, hostile programs against both.

mod attribution;
mod hostile;
mod inventory;
mod scripts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Denial, Observed, Seen, Target, Verdict as Judgement};

use crate::kit::{Case, Done, Jail};

/// The cases that take seconds.
pub(crate) const CASES: &[&[Case]] = &[attribution::CASES, scripts::CASES, hostile::CASES];

/// Those that take minutes.
pub(crate) const LONG: &[&[Case]] = &[scripts::LONG, hostile::LONG];

/// A way of watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Predicted.
    Notify,
    /// With the kernel's own answers.
    Trace,
}

/// Both.
pub(crate) const BOTH: [How; 2] = [How::Notify, How::Trace];

fn go(_: &Observed) -> Judgement {
    Judgement::Go
}

/// Runs a program that is watched in one of the ways.
pub(crate) fn run(jail: &Jail, how: How, argv: &[&str]) -> (Done, Seen) {
    run_with(jail, how, Settings { required: true, ..Settings::default() }, argv)
}

/// As [`run`], with settings.
pub(crate) fn run_with(jail: &Jail, how: How, settings: Settings, argv: &[&str]) -> (Done, Seen) {
    let done = match how {
        How::Notify => jail.watch(settings, argv, go),
        How::Trace => jail.trace(settings, argv, go),
    };
    done.unwrap_or_else(|problem| panic!("{how:?}: {problem}"))
}

/// A path below `place` by what it is there, so that two runs in two places can be compared. The names of temporary files
/// of sed and cp are another each time.
fn below(place: &Path, path: &Path) -> String {
    let path = match path.strip_prefix(place) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    };
    let (before, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let temporary =
        [("sed", 9), ("Cu", 8)].iter().find(|(word, long)| name.starts_with(word) && name.len() == *long);
    temporary.map_or(path.clone(), |(word, _)| format!("{before}/{word}~"))
}

/// What was refused, one line each.
pub(crate) fn denials(place: &Path, seen: &Seen) -> BTreeSet<String> {
    let line = |denial: &Denial| {
        let target = match &denial.target {
            Target::Path(path) => below(place, path),
            Target::Address(address) => address.clone(),
            Target::Abstract(name) => {
                format!("@{}", below(place, Path::new(&*String::from_utf8_lossy(name))))
            }
        };
        format!("{:?} {target} {:?} {}", denial.act, denial.cause, denial.errno)
    };
    seen.denials.iter().map(|counted| line(&counted.what)).collect()
}

/// The names that were touched, old and new.
pub(crate) fn touched_names(seen: &Seen) -> BTreeSet<PathBuf> {
    seen.touched.iter().flat_map(|touch| [Some(touch.path.clone()), touch.to.clone()]).flatten().collect()
}

/// What is in one set and not in the other, for messages.
pub(crate) fn differences<T: Ord + std::fmt::Debug>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> String {
    let only: Vec<_> = one.difference(other).map(|item| format!("- {item:?}")).collect();
    let extra: Vec<_> = other.difference(one).map(|item| format!("+ {item:?}")).collect();
    [only, extra].concat().join("\n")
}
