//! What was noted, against what a command may do to the tree, on the file systems of this machine. The measure is the walk
//! that lists everything.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::jail::git::walk::{Found, repositories, walk};

/// As the real ones, with an age that a test can wait for: still more than a tick of any kernel.
const QUICK: Rules = Rules { age: Duration::from_millis(40), ..Rules::OWN };

/// A workspace and its note.
struct Ground {
    base: PathBuf,
    rules: Rules,
}

impl Ground {
    fn new() -> Self {
        Self::at(&std::env::temp_dir())
    }

    fn at(directory: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("swbox-seen-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let base = directory.canonicalize().unwrap().join(name);
        fs::create_dir_all(base.join("w")).unwrap();
        Self { base, rules: QUICK }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.join("w").join(name)
    }

    fn with(self, directories: &[&str]) -> Self {
        for directory in directories {
            fs::create_dir_all(self.path(directory)).unwrap();
        }
        self
    }

    fn note(&self) -> PathBuf {
        self.base.join("state/note.tree")
    }

    /// Waits until what was changed so far is past.
    fn settle(&self) {
        let wanted = Instant::now() + self.rules.age + Duration::from_millis(20);
        while Instant::now() < wanted {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A walk by the note, which it writes anew; gives also how many directories are noted and how many of them were listed.
    fn again(&self) -> (Found, (usize, usize)) {
        let clock = Clock::now().unwrap();
        let before = Before::load(&self.note(), &clock);
        let seen = Seen::new(self.rules, clock, &before);
        let (found, seen) = walk(&self.path(""), Moment::default(), &|_| false, &before, Some(seen));
        let seen = seen.unwrap();
        seen.keep(&self.note());
        (sorted(found), seen.noted())
    }

    fn whole(&self) -> Found {
        sorted(repositories(&self.path(""), Moment::default(), &|_| false))
    }

    /// Notes what is there when all of it is past.
    fn noted(&self) -> usize {
        self.settle();
        self.again();
        let (found, (noted, listed)) = self.again();
        assert_eq!(found, self.whole());
        assert_eq!(listed, 0, "twin: nothing that is noted is listed");
        noted
    }

    /// What a walk by the note finds, which is what one finds that lists everything.
    fn found(&self) -> Vec<String> {
        let (found, _) = self.again();
        assert_eq!(found, self.whole());
        let below = |path: &PathBuf| path.strip_prefix(self.path("")).unwrap().display().to_string();
        found.places.iter().chain(&found.bare).chain(&found.sockets).map(below).collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn sorted(mut found: Found) -> Found {
    for paths in [&mut found.places, &mut found.bare, &mut found.sockets] {
        paths.sort();
    }
    found
}

/// Where the tests are done: on the disk and in memory.
fn grounds() -> Vec<Ground> {
    let memory = Path::new("/dev/shm");
    let usable = fs::create_dir_all(memory.join(format!("swbox-seen-{}", std::process::id()))).is_ok();
    let _ = fs::remove_dir(memory.join(format!("swbox-seen-{}", std::process::id())));
    let mut grounds = vec![Ground::new()];
    grounds.extend(usable.then(|| Ground::at(memory)));
    grounds
}

/// Runs `test` in a thread that may mount what nobody else sees.
fn mounting(name: &str, test: impl FnOnce() + Send + 'static) {
    let done = std::thread::spawn(move || {
        let flags = rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).is_err()
            || rustix::mount::mount_change("/", flags).is_err()
        {
            return false;
        }
        test();
        true
    });
    if !done.join().unwrap() {
        assert!(!std::env::var("SWBOX_REQUIRE").unwrap_or_default().contains("mounts"));
        println!("SKIP {name}: no mounts for this user");
    }
}

fn mount(kind: &str, at: &Path, options: &str) {
    let options = std::ffi::CString::new(options).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", at, kind, flags, options.as_c_str()).unwrap();
}

fn unmount(at: &Path) {
    rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH).unwrap();
}

#[test]
fn what_is_as_it_was_is_not_listed_and_not_written_again() {
    for ground in grounds() {
        let ground = ground.with(&["a/b/c", "a/d/.git", "bare/objects", "bare/refs", "e/f"]);
        fs::write(ground.path("bare/HEAD"), "").unwrap();
        let _socket = UnixListener::bind(ground.path("e/socket")).unwrap();
        assert_eq!(ground.noted(), 11);
        let written = fs::metadata(ground.note()).unwrap().ino();
        assert_eq!(ground.found(), ["a/d", "bare", "e/socket"]);
        assert_eq!(fs::metadata(ground.note()).unwrap().ino(), written);
        // One more: only that and what is around it.
        fs::create_dir(ground.path("a/b/new")).unwrap();
        ground.settle();
        let (_, (noted, listed)) = ground.again();
        assert_eq!((noted, listed), (12, 2));
        assert_ne!(fs::metadata(ground.note()).unwrap().ino(), written);
    }
}

#[test]
fn what_is_planted_in_a_noted_tree_is_found() {
    type Plant = fn(&Ground);
    let plants: [(&str, Plant, &[&str]); 9] = [
        ("made deep below", |ground| fs::create_dir(ground.path("a/b/c/.git")).unwrap(), &["a/b/c"]),
        ("a file of that name", |ground| fs::write(ground.path("a/b/.git"), "gitdir: x").unwrap(), &["a/b"]),
        (
            "prepared elsewhere and moved in",
            |ground| fs::rename(ground.base.join("prepared"), ground.path("a/b/new")).unwrap(),
            &["a/b/new"],
        ),
        (
            "moved over an empty directory",
            |ground| fs::rename(ground.base.join("prepared"), ground.path("a/b/c")).unwrap(),
            &["a/b/c"],
        ),
        (
            "exchanged for a directory",
            |ground| {
                let (one, other) = (ground.base.join("prepared"), ground.path("a/b"));
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, flags).unwrap();
            },
            &["a/b"],
        ),
        (
            "put below a directory that is moved away and back",
            |ground| {
                fs::rename(ground.path("a"), ground.base.join("elsewhere")).unwrap();
                fs::create_dir(ground.base.join("elsewhere/b/c/.git")).unwrap();
                fs::rename(ground.base.join("elsewhere"), ground.path("a")).unwrap();
            },
            &["a/b/c"],
        ),
        (
            "made a bare repository by a last name",
            |ground| {
                fs::create_dir(ground.path("half/refs")).unwrap();
            },
            &["half"],
        ),
        (
            "with the times set back to what was noted",
            |ground| {
                let noted = fs::metadata(ground.path("a/b")).unwrap();
                fs::create_dir(ground.path("a/b/.git")).unwrap();
                let file = fs::File::open(ground.path("a/b")).unwrap();
                let times = fs::FileTimes::new();
                let times = times.set_modified(noted.modified().unwrap());
                file.set_times(times.set_accessed(noted.accessed().unwrap())).unwrap();
                assert_eq!(
                    noted.modified().unwrap(),
                    fs::metadata(ground.path("a/b")).unwrap().modified().unwrap()
                );
            },
            &["a/b"],
        ),
        (
            "a socket",
            |ground| drop(UnixListener::bind(ground.path("a/b/c/socket")).unwrap()),
            &["a/b/c/socket"],
        ),
    ];
    for (name, plant, wanted) in plants {
        for ground in grounds() {
            let ground = ground.with(&["a/b/c", "half/objects"]);
            fs::write(ground.path("half/HEAD"), "").unwrap();
            fs::create_dir_all(ground.base.join("prepared/.git")).unwrap();
            assert_eq!(ground.noted(), 6, "{name}");
            assert!(ground.found().is_empty(), "{name}");
            plant(&ground);
            assert_eq!(ground.found(), wanted, "{name}");
            // Also by the note after the next, and when it is gone again.
            ground.noted();
            assert_eq!(ground.found(), wanted, "{name}");
            let there = ground.path(wanted[0]);
            let _ = fs::remove_dir_all(&there).or_else(|_| fs::remove_file(&there));
            assert!(ground.found().is_empty(), "{name}");
        }
    }
}

#[test]
fn a_link_in_place_of_a_noted_directory_leads_nowhere() {
    for ground in grounds() {
        let ground = ground.with(&["a/b/c"]);
        fs::create_dir_all(ground.base.join("elsewhere/c/.git")).unwrap();
        ground.noted();
        for replaced in ["a/b/c", "a/b", "a"] {
            fs::rename(ground.path(replaced), ground.base.join("old")).unwrap();
            symlink(ground.base.join("elsewhere"), ground.path(replaced)).unwrap();
            assert!(ground.found().is_empty(), "{replaced}");
            fs::remove_file(ground.path(replaced)).unwrap();
            fs::rename(ground.base.join("old"), ground.path(replaced)).unwrap();
            ground.noted();
        }
    }
}

#[test]
fn a_recycled_number_is_another_directory() {
    for ground in grounds() {
        let ground = ground.with(&["a/b"]);
        ground.noted();
        let number = fs::metadata(ground.path("a/b")).unwrap().ino();
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut recycled = false;
        // Not every file system does it: then there is nothing to confuse.
        while !recycled && Instant::now() < deadline {
            fs::remove_dir_all(ground.path("a/b")).unwrap();
            fs::create_dir(ground.path("a/b")).unwrap();
            recycled = fs::metadata(ground.path("a/b")).unwrap().ino() == number;
            if !recycled && ground.base.starts_with("/dev/shm") {
                break;
            }
        }
        fs::create_dir(ground.path("a/b/.git")).unwrap();
        assert_eq!(ground.found(), ["a/b"], "recycled: {recycled}");
    }
}

#[test]
fn what_was_changed_lately_is_listed_again() {
    for mut ground in grounds() {
        ground.rules = Rules::OWN;
        let ground = ground.with(&["a/b"]);
        for round in 0..200 {
            // At most what is around, when this takes long.
            let (_, (noted, _)) = ground.again();
            assert!(noted <= 2, "{noted}");
            let planted = ground.path(&format!("a/b/{round}/.git"));
            fs::create_dir_all(&planted).unwrap();
            assert_eq!(ground.found(), [format!("a/b/{round}")]);
            fs::remove_dir_all(planted.parent().unwrap()).unwrap();
        }
    }
}

/// `ramfs` is memory without the finer times of `tmpfs`: two changes within one tick look like one.
const RAMFS: u64 = 0x8584_58f6;

#[test]
fn without_an_age_a_change_in_the_same_tick_is_missed() {
    mounting("without_an_age_a_change_in_the_same_tick_is_missed", || {
        let mut ground = Ground::new();
        mount("ramfs", &ground.path(""), "");
        let attack = |ground: &Ground, round: u32| {
            let place = ground.path(&format!("{round}"));
            fs::create_dir(&place).unwrap();
            ground.again();
            // A directory would show: it is one more link.
            fs::write(place.join(".git"), "gitdir: x").unwrap();
            let missed = ground.again().0 != ground.whole();
            fs::remove_dir_all(&place).unwrap();
            missed
        };
        // Not among the kinds that count.
        assert_eq!(ground.again().1, (0, 0));
        ground.rules = Rules { systems: &[RAMFS], ..Rules::OWN };
        assert!((0..500).all(|round| !attack(&ground, round)));
        // The twin.
        ground.rules.age = Duration::ZERO;
        let deadline = Instant::now() + Duration::from_secs(60);
        let missed = (0..).take_while(|_| Instant::now() < deadline).any(|round| attack(&ground, round));
        assert!(missed, "the rule is not what holds it");
        unmount(&ground.path(""));
    });
}

#[test]
fn a_mount_in_the_tree_is_another_device() {
    mounting("a_mount_in_the_tree_is_another_device", || {
        let ground = Ground::new().with(&["a/b", "c"]);
        ground.noted();
        for place in ["a/b", "a", "c"] {
            mount("tmpfs", &ground.path(place), "");
            fs::create_dir_all(ground.path(place).join("d/.git")).unwrap();
            assert_eq!(ground.found(), [format!("{place}/d")]);
            assert_eq!(ground.noted(), if place == "a" { 5 } else { 6 });
            unmount(&ground.path(place));
            assert!(ground.found().is_empty());
            // Another one of the same kind, with the same numbers.
            mount("tmpfs", &ground.path(place), "");
            fs::create_dir_all(ground.path(place).join("e/d/.git")).unwrap();
            assert_eq!(ground.found(), [format!("{place}/e/d")]);
            unmount(&ground.path(place));
            ground.noted();
        }
    });
}

#[test]
fn merged_directories_of_an_overlay_show_their_changes() {
    mounting("merged_directories_of_an_overlay_show_their_changes", || {
        // Both layers on one file system, and each on its own.
        for apart in [false, true] {
            let ground = Ground::new();
            let layer = |name: &str| ground.base.join(name);
            for name in ["lower", "upper", "work"] {
                fs::create_dir(layer(name)).unwrap();
            }
            if apart {
                mount("tmpfs", &layer("lower"), "");
            }
            fs::create_dir_all(layer("lower").join("a/b/c")).unwrap();
            fs::create_dir_all(layer("lower").join("gone/d")).unwrap();
            let options = format!(
                "lowerdir={},upperdir={},workdir={}",
                layer("lower").display(),
                layer("upper").display(),
                layer("work").display()
            );
            mount("overlay", &ground.path(""), &options);
            if ground.noted() == 0 {
                println!("SKIP merged_directories_of_an_overlay_show_their_changes: no number of a mount");
                return;
            }
            let identity = |name: &str| {
                let found = fs::metadata(ground.path(name)).unwrap();
                (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
            };
            // From below only, then copied up, then merged.
            for round in ["from below", "merged"] {
                let before = identity("a/b/c");
                fs::create_dir(ground.path("a/b/c/.git")).unwrap();
                println!("overlay, layers apart: {apart}, {round}: {before:?} -> {:?}", identity("a/b/c"));
                assert_eq!(ground.found(), ["a/b/c"], "{round}");
                fs::remove_dir(ground.path("a/b/c/.git")).unwrap();
                assert!(ground.found().is_empty(), "{round}");
                ground.noted();
            }
            // What is removed leaves a mark above, and can be made anew.
            fs::remove_dir_all(ground.path("gone")).unwrap();
            ground.noted();
            fs::create_dir_all(ground.path("gone/.git")).unwrap();
            assert_eq!(ground.found(), ["gone"]);
            fs::remove_dir_all(ground.path("gone")).unwrap();
            ground.noted();
            // Mounted again over a layer that was changed meanwhile: the times above are as they were.
            let before = identity("a/b/c");
            unmount(&ground.path(""));
            fs::create_dir(layer("lower").join("a/b/c/.git")).unwrap();
            mount("overlay", &ground.path(""), &options);
            let now = identity("a/b/c");
            println!("overlay, layers apart: {apart}, mounted again: {before:?} -> {now:?}");
            assert_eq!((before.2, before.3), (now.2, now.3), "twin: the time tells");
            assert_eq!(ground.found(), ["a/b/c"]);
            unmount(&ground.path(""));
        }
    });
}

#[test]
fn a_note_that_is_damaged_counts_for_nothing() {
    let ground = Ground::new().with(&["a/b/.git", "a/c"]);
    ground.noted();
    let note = fs::read(ground.note()).unwrap();
    let clock = Clock::now().unwrap();
    let root = std::ffi::CString::new(ground.path("").as_os_str().as_encoded_bytes()).unwrap();
    let counts = |bytes: &[u8], clock: &Clock, root: &CStr| {
        fs::write(ground.note(), bytes).unwrap();
        Before::load(&ground.note(), clock).root(root).is_some()
    };
    assert!(counts(&note, &clock, &root), "twin");
    for at in 0..note.len() {
        let mut damaged = note.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(!counts(&damaged, &clock, &root), "byte {at}");
        assert!(!counts(&note[..at], &clock, &root), "the first {at} bytes");
    }
    // Of another start of the machine, of a clock that went back, of another workspace.
    let other = Clock { boot: b"other\n".to_vec(), ..clock.clone() };
    let back = clock.lead.0 - 1_000_000_000;
    let back = Clock { lead: (back, back), ..clock.clone() };
    let forth = clock.lead.0 + 1_000_000_000;
    let forth = Clock { lead: (forth, forth), ..clock.clone() };
    assert!(!counts(&note, &other, &root) && !counts(&note, &back, &root) && !counts(&note, &clock, c"/w"));
    assert!(counts(&note, &forth, &root));
    fs::write(ground.note(), vec![0; 3 * SIZE]).unwrap();
    assert_eq!(ground.found(), ["a/b"]);
}

/// A note with a right sum and anything in it: nothing that is read of it ends the program or goes on for ever.
#[test]
fn a_note_of_any_content_is_read() {
    let ground = Ground::new().with(&["a/b/.git", "a/c"]);
    ground.noted();
    let note = fs::read(ground.note()).unwrap();
    let mut random = Random(7);
    for _ in 0..2000 {
        let mut damaged = note.clone();
        for _ in 0..=random.below(3) {
            let at = HEAD.len() + 8 + random.below(note.len() - HEAD.len() - 8);
            damaged[at] = [0, 1, 0x7f, 0xff][random.below(4)];
        }
        let sum = sum_of(&damaged[HEAD.len() + 8..]);
        damaged[HEAD.len()..HEAD.len() + 8].copy_from_slice(&sum.to_le_bytes());
        fs::write(ground.note(), &damaged).unwrap();
        ground.again();
    }
}

#[test]
fn what_the_note_has_no_room_for_is_listed() {
    let mut ground = Ground::new();
    ground.rules.bytes = 8192;
    let names: Vec<String> = (0..300).map(|number| format!("{}/{number}", number % 7)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ground = ground.with(&names).with(&["6/300/.git", "0/301/.git"]);
    let noted = ground.noted();
    assert!((1..200).contains(&noted), "{noted}");
    assert!(fs::metadata(ground.note()).unwrap().len() < 8192 + 4096);
    assert_eq!(ground.found(), ["0/301", "6/300"]);
    for name in names {
        fs::create_dir(ground.path(name).join(".git")).unwrap();
    }
    assert_eq!(ground.found().len(), 302);
}

#[test]
fn what_is_too_deep_or_too_much_is_so_again() {
    let ground = Ground::new().with(&[&"d/".repeat(203)]);
    fs::create_dir(ground.path("s")).unwrap();
    let sockets: Vec<_> =
        (0..1010).map(|number| UnixListener::bind(ground.path(&format!("s/{number}"))).unwrap()).collect();
    ground.noted();
    let found = ground.again().0;
    assert!(found.unseen.is_some() && found.sockets.len() == 1000, "{found:?}");
    drop(sockets);
}

#[test]
fn what_was_left_out_once_is_looked_into_later() {
    let ground = Ground::new().with(&["a/b/.git", "c"]);
    ground.settle();
    let clock = Clock::now().unwrap();
    let before = Before::default();
    let seen = Seen::new(ground.rules, clock, &before);
    let left_out = ground.path("a");
    let (found, seen) =
        walk(&ground.path(""), Moment::default(), &|path| path == left_out, &before, Some(seen));
    seen.unwrap().keep(&ground.note());
    assert!(found.places.is_empty());
    assert_eq!(ground.found(), ["a/b"]);
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn directory(&mut self, ground: &Ground) -> PathBuf {
        let mut at = ground.path("");
        while self.below(4) != 0 {
            let entries = fs::read_dir(&at).map(|entries| entries.flatten().collect::<Vec<_>>());
            let mut inner: Vec<_> = entries.unwrap_or_default();
            inner.retain(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            inner.sort_by_key(fs::DirEntry::file_name);
            if inner.is_empty() {
                break;
            }
            at = inner[self.below(inner.len())].path();
        }
        at
    }

    fn name(&mut self) -> &'static str {
        ["a", "b", "c", ".git", "HEAD", "objects", "refs", "commondir", "d e\n"][self.below(9)]
    }

    /// Changes the tree somehow; what cannot be done is not done.
    fn change(&mut self, ground: &Ground) {
        let (one, other) = (self.directory(ground), self.directory(ground));
        let (there, elsewhere) = (one.join(self.name()), other.join(self.name()));
        let at_root = one == ground.path("");
        let _ = match self.below(12) {
            0..=3 => fs::create_dir(&there),
            4 => fs::write(&there, ""),
            5 => fs::rename(&there, &elsewhere),
            6 if !at_root => fs::rename(&one, &elsewhere),
            7 if !at_root => fs::remove_dir_all(&one).and_then(|()| fs::create_dir(&one)),
            8 if !at_root => fs::remove_dir_all(&one).and_then(|()| symlink(&other, &one)),
            9 => fs::remove_file(&there),
            10 => UnixListener::bind(&there).map(drop),
            11 if !at_root => fs::set_permissions(&one, fs::Permissions::from_mode(0o300)),
            _ => {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &there, rustix::fs::CWD, &elsewhere, flags)
                    .map_err(Into::into)
            }
        };
    }
}

#[test]
fn on_any_tree_after_any_changes_it_is_what_a_whole_walk_finds() {
    let mut saved = 0;
    for seed in 0..12 {
        for ground in grounds() {
            let mut random = Random(seed);
            for _ in 0..60 {
                random.change(&ground);
            }
            for round in 0..6 {
                // Now and then without waiting, so that some of it is listed and some not.
                if random.below(4) != 0 {
                    ground.settle();
                }
                let (found, (noted, listed)) = ground.again();
                assert_eq!(found, ground.whole(), "seed {seed}, round {round}");
                saved += noted - listed;
                for _ in 0..random.below(6) {
                    random.change(&ground);
                }
            }
        }
    }
    assert!(saved > 500, "twin: {saved} directories were as they had been");
}
