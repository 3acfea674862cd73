//! Names of a command, settled.

use super::*;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("swbox-touched-{}-{count}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn note(&self, ledger: &mut Ledger, name: &str, ways: Ways) {
        let place = fs::File::open(&self.0).unwrap();
        let before = look(&place, Path::new(name));
        ledger.note(&self.0.join(name), 7, before, ways);
    }

    /// Acts, names and new names, relative, sorted.
    fn settle(&self, ledger: &mut Ledger) -> Vec<String> {
        let below = |path: &Path| path.strip_prefix(&self.0).unwrap().display().to_string();
        let mut lines: Vec<_> = ledger
            .settle(fs::File::open(&self.0).unwrap())
            .into_iter()
            .map(|(process, touch)| {
                assert_eq!(process, 7);
                let to = touch.to.as_deref().map(below).unwrap_or_default();
                format!("{:?} {} {to}", touch.act, below(&touch.path)).trim().to_owned()
            })
            .collect();
        lines.sort();
        lines
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const WRITTEN: Ways = Ways { written: true, metadata: false, attributes: false, moved: false };
const MOVED: Ways = Ways { written: false, metadata: false, attributes: false, moved: true };

/// One look for both: nothing is between the end of one time and the begin of the next.
#[test]
fn what_is_settled_counts_from_that_look_on() {
    let place = Place::new();
    fs::write(place.0.join("kept"), "x").unwrap();
    let mut ledger = Ledger::new(&place.0);
    for name in ["kept", "made", "gone"] {
        place.note(&mut ledger, name, WRITTEN);
    }
    fs::write(place.0.join("made"), "x").unwrap();
    assert_eq!(place.settle(&mut ledger), ["Create made"]);
    let mut held = fs::File::options().append(true).open(place.0.join("made")).unwrap();
    std::io::Write::write_all(&mut held, b"more").unwrap();
    fs::remove_file(place.0.join("kept")).unwrap();
    fs::write(place.0.join("gone"), "x").unwrap();
    assert_eq!(place.settle(&mut ledger), ["Create gone", "Remove kept", "Write made"]);
    assert!(place.settle(&mut ledger).is_empty());
}

#[test]
fn what_is_the_same_was_not_touched() {
    let place = Place::new();
    for name in ["written", "opened", "removed", "replaced"] {
        fs::write(place.0.join(name), "x").unwrap();
    }
    fs::create_dir(place.0.join("directory")).unwrap();
    let mut ledger = Ledger::new(&place.0);
    for name in ["written", "opened", "removed", "replaced", "made", "never", "directory", "new/in"] {
        place.note(&mut ledger, name, WRITTEN);
    }
    fs::write(place.0.join("written"), "xy").unwrap();
    fs::remove_file(place.0.join("removed")).unwrap();
    fs::write(place.0.join("made"), "").unwrap();
    fs::write(place.0.join("temporary"), "x").unwrap();
    fs::rename(place.0.join("temporary"), place.0.join("replaced")).unwrap();
    fs::write(place.0.join("directory/child"), "").unwrap();
    assert_eq!(
        place.settle(&mut ledger),
        ["Create made", "Remove removed", "Write replaced", "Write written"]
    );
}

#[test]
fn a_rename_is_one_thing_however_long_its_way() {
    let place = Place::new();
    fs::write(place.0.join("a"), "x").unwrap();
    let mut ledger = Ledger::new(&place.0);
    for (from, to) in [("a", "b"), ("b", "c")] {
        place.note(&mut ledger, from, MOVED);
        place.note(&mut ledger, to, Ways::default());
        fs::rename(place.0.join(from), place.0.join(to)).unwrap();
    }
    assert_eq!(place.settle(&mut ledger), ["Rename a c"]);
    let mut ledger = Ledger::new(&place.0);
    for (from, to) in [("c", "a"), ("a", "b"), ("b", "c")] {
        place.note(&mut ledger, from, MOVED);
        place.note(&mut ledger, to, Ways::default());
        fs::rename(place.0.join(from), place.0.join(to)).unwrap();
    }
    assert_eq!(place.settle(&mut ledger), Vec::<String>::new(), "and back again");
}

#[test]
fn a_moved_directory_takes_its_names_along() {
    let place = Place::new();
    fs::create_dir_all(place.0.join("d/e")).unwrap();
    for name in ["d/f", "d/e/g", "d/e/h"] {
        fs::write(place.0.join(name), name).unwrap();
    }
    std::os::unix::fs::symlink("/etc", place.0.join("d/link")).unwrap();
    let mut ledger = Ledger::new(&place.0);
    place.note(&mut ledger, "d", MOVED);
    place.note(&mut ledger, "n", Ways::default());
    let directory = fs::File::open(place.0.join("d")).unwrap();
    ledger.note_tree(&directory, (&place.0.join("d"), &place.0.join("n")), None, 7);
    fs::rename(place.0.join("d"), place.0.join("n")).unwrap();
    place.note(&mut ledger, "n/e/h", WRITTEN);
    fs::remove_file(place.0.join("n/e/h")).unwrap();
    assert_eq!(
        place.settle(&mut ledger),
        [
            "Remove d/e/h",
            "Rename d n",
            "Rename d/e n/e",
            "Rename d/e/g n/e/g",
            "Rename d/f n/f",
            "Rename d/link n/link"
        ]
    );
}

#[test]
fn a_mode_that_was_changed_is_seen_and_one_that_was_set_again_is_not() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let metadata = Ways { metadata: true, ..Ways::default() };
    for name in ["a", "b"] {
        fs::write(place.0.join(name), "x").unwrap();
    }
    let mut ledger = Ledger::new(&place.0);
    for (name, mode) in [("a", 0o600), ("b", fs::metadata(place.0.join("b")).unwrap().permissions().mode())] {
        place.note(&mut ledger, name, metadata);
        fs::set_permissions(place.0.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(place.settle(&mut ledger), ["Metadata a"]);
}

#[test]
fn names_outside_and_names_through_links_are_nothing() {
    let place = Place::new();
    fs::create_dir(place.0.join("w")).unwrap();
    fs::create_dir(place.0.join("other")).unwrap();
    std::os::unix::fs::symlink("../other", place.0.join("w/link")).unwrap();
    let mut ledger = Ledger::new(&place.0.join("w"));
    ledger.note(&place.0.join("other/x"), 7, None, WRITTEN);
    ledger.note(&place.0.join("w/link/x"), 7, None, WRITTEN);
    ledger.note(&place.0.join("w"), 7, None, WRITTEN);
    fs::write(place.0.join("other/x"), "").unwrap();
    assert!(ledger.settle(fs::File::open(place.0.join("w")).unwrap()).is_empty());
}

#[test]
fn another_directory_or_kind_of_the_same_name_is_new() {
    let place = Place::new();
    for name in ["d", "e"] {
        fs::create_dir(place.0.join(name)).unwrap();
    }
    fs::write(place.0.join("f"), "x").unwrap();
    let mut ledger = Ledger::new(&place.0);
    for name in ["d", "e"] {
        place.note(&mut ledger, name, MOVED);
    }
    for name in ["moved", "new"] {
        place.note(&mut ledger, name, Ways::default());
    }
    place.note(&mut ledger, "f", WRITTEN);
    fs::rename(place.0.join("d"), place.0.join("moved")).unwrap();
    fs::create_dir(place.0.join("d")).unwrap();
    fs::remove_dir(place.0.join("e")).unwrap();
    fs::write(place.0.join("new"), "").unwrap();
    // Another link changes a time, not the file.
    fs::hard_link(place.0.join("f"), place.0.join("link")).unwrap();
    assert_eq!(place.settle(&mut ledger), ["Create d", "Create moved", "Create new", "Remove e"]);
}

#[test]
fn names_are_new_where_a_directory_above_was_not_there() {
    let place = Place::new();
    fs::create_dir_all(place.0.join("old/deep")).unwrap();
    let mut ledger = Ledger::new(&place.0);
    place.note(&mut ledger, "old/deep", Ways::default());
    place.note(&mut ledger, "new", Ways::default());
    for (name, new) in [
        ("new", true),
        ("new/a/b", true),
        ("newer", false),
        ("old", false),
        ("old/deep", false),
        ("old/deep/x", false),
        ("", false),
    ] {
        assert_eq!(ledger.is_new(&place.0.join(name)), new, "{name}");
    }
    assert!(!ledger.is_new(Path::new("/elsewhere/new")));
}

#[test]
fn directories_that_change_places_are_what_they_were() {
    let place = Place::new();
    for name in ["d", "e"] {
        fs::create_dir(place.0.join(name)).unwrap();
        fs::write(place.0.join(name).join("same"), name).unwrap();
    }
    let mut ledger = Ledger::new(&place.0);
    let [d, e] = ["d", "e"].map(|name| OwnedFd::from(fs::File::open(place.0.join(name)).unwrap()));
    let (one, other) = (place.0.join("d"), place.0.join("e"));
    place.note(&mut ledger, "d", MOVED);
    place.note(&mut ledger, "e", MOVED);
    ledger.note_tree(&d, (&one, &other), Some(&e), 7);
    ledger.note_tree(&e, (&other, &one), Some(&d), 7);
    assert!(!ledger.is_new(&one.join("same")) && !ledger.is_new(&other.join("same")));
    assert!(place.settle(&mut ledger).is_empty());
}

#[test]
fn another_link_is_no_writing_where_nobody_had_written() {
    let place = Place::new();
    let mut ledger = Ledger::new(&place.0);
    ledger.times_set();
    for name in ["closed", "open", "again"] {
        fs::write(place.0.join(name), "x").unwrap();
        place.note(&mut ledger, name, WRITTEN);
    }
    for name in ["closed", "again"] {
        let path = place.0.join(name);
        let now = look(fs::File::open(&place.0).unwrap(), Path::new(name)).unwrap();
        assert!(ledger.is_unwritten(&path, &now));
        ledger.not_written(&path);
        assert!(!ledger.is_unwritten(&path, &now));
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    for name in ["closed", "open", "again"] {
        fs::hard_link(place.0.join(name), place.0.join(format!("{name}2"))).unwrap();
    }
    place.note(&mut ledger, "again", WRITTEN);
    assert_eq!(place.settle(&mut ledger), ["Write open"]);
}

#[test]
fn too_many_names_are_counted() {
    let mut ledger = Ledger::new(Path::new("/w"));
    for number in 0..KEPT + 5 {
        ledger.note(&PathBuf::from(format!("/w/{number}")), 7, None, WRITTEN);
    }
    assert_eq!((ledger.names.len(), ledger.take_dropped()), (KEPT, 5));
}
