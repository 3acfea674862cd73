//! Which files a call changes, looked at before the kernel performs it and noted when it has.
//!
//! Danger: what is not noted here is told as untouched.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags};

use super::judge::Led;
use crate::supervisor::call::{Address, Opening, Renaming, Wish};
use crate::supervisor::resolve::Place;
use crate::supervisor::touched::{Ledger, State, Ways};

const NAME: Ways = Ways { written: false, metadata: false, attributes: false, moved: false };
const WRITTEN: Ways = Ways { written: true, ..NAME };
const MOVED: Ways = Ways { moved: true, ..NAME };

/// A file that a call changes if it succeeds.
pub(super) struct Change {
    path: PathBuf,
    before: Option<State>,
    ways: Ways,
}

impl Change {
    /// It did, or may have.
    pub(super) fn happened(&self, ledger: &mut Ledger, process: i32) {
        ledger.note(&self.path, process, self.before, self.ways);
    }
}

/// What `wish` of `process` changes if it succeeds; `attributes` says that it is about extended ones. What lies below a
/// directory that may be moved is noted now: later it lies elsewhere, and what is where it was counts as untouched.
pub(super) fn read(
    ledger: &mut Ledger,
    process: i32,
    wish: &Wish,
    led: &[Led],
    attributes: bool,
) -> Vec<Change> {
    let (first, second) = (led.first().and_then(place), led.get(1).and_then(place));
    let mut changes = Vec::new();
    let mut name = |place: Option<&Place>, ways| {
        if let Some(place) = place {
            changes.push(Change { path: place.path.clone(), before: now(place), ways });
        }
    };
    match wish {
        Wish::Open(_, Opening { nameless: true, .. }) | Wish::Socket(_) | Wish::Execute(_) => {}
        Wish::Open(_, Opening { write, create, .. }) if *write || *create => name(first, WRITTEN),
        Wish::Truncate(_) => name(first, WRITTEN),
        Wish::Make(_) | Wish::Remove(..) | Wish::Bind(Address::Path(_)) => name(first, NAME),
        Wish::Metadata(_) => name(first, Ways { metadata: true, attributes, ..NAME }),
        Wish::Link(..) => {
            // What is written by its new name is written by the old one.
            name(first, NAME);
            name(second, NAME);
        }
        Wish::Rename(_, _, how) => {
            let exchange = *how == Renaming::Exchange;
            name(first, MOVED);
            name(second, if exchange { MOVED } else { NAME });
            let (Some(from), Some(to)) = (first, second) else { return changes };
            let (one, other) = (directory(from), directory(to).filter(|_| exchange));
            if let Some(one) = &one {
                ledger.note_tree(one, (&from.path, &to.path), other.as_ref(), process);
            }
            if let Some(other) = &other {
                ledger.note_tree(other, (&to.path, &from.path), one.as_ref(), process);
            }
        }
        Wish::Open(..) | Wish::Connect(_) | Wish::Bind(_) => {}
    }
    changes
}

fn place(led: &Led) -> Option<&Place> {
    led.as_ref().ok()
}

/// What the place is now.
fn now(place: &Place) -> Option<State> {
    let parent = place.parent.as_ref()?;
    State::at(parent, OsStr::new(&place.name)).ok()?
}

/// The directory at a place, if it is one.
fn directory(place: &Place) -> Option<OwnedFd> {
    if place.kind() != Some(FileType::Directory) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(place.parent.as_ref()?, &place.name, flags, Mode::empty()).ok()
}
