//! What the last walk saw of each directory of a workspace, so that the next one only asks whether it is still so: one
//! question for a directory instead of listing it.
//!
//! Danger: a directory that is taken as it was and is not hides what a command planted in it. Nothing here rests on what a command
//! says, only on times that the kernel sets. The claim is: *while this kernel runs, the names in a directory cannot become
//! others without its device, inode number, time of change (ctime) or size becoming others*, where it was noted under these rules:
//!
//! - **The time of change is well past when the listing begins** ([`Rules::age`]). Times have a grain (a tick of the kernel, a second on some disks),
//!   so what is changed twice within one looks changed once. Whatever changes after the listing began has a time of change from then on, which is not
//!   the noted one. What was changed lately is listed anew in the next walk, as git does it with its index.
//! - **The directory's times are asked for before its names, by the descriptor that lists it.** What is changed in between shows as changed next time.
//! - **No call sets the time of change.** `utimensat` sets the other ones, and this one to now. A rename sets it in both directories around, and
//!   in the directory that is moved. A new directory that gets the number of one that is gone is new by its time, and so is a copy; one that is
//!   mounted or moved there has another device or number; one that comes back unchanged has the names it had.
//! - **The clock may not go back** behind what was noted, or a time of change could come again. Everybody's clock and the one since the start of the
//!   machine differ by a number that only the setting of the clock changes; where it became less, nothing noted counts. (Who sets the clock
//!   back and forth again between two walks has rights that no command has.) Nor does anything count that was noted before this machine started: a disk
//!   may have been elsewhere meanwhile.
//! - **Only file systems of this kernel's own** ([`SYSTEMS`]), by what it says of each device that is met, where times of change are its own and every
//!   change of names sets them. A network's, or one in a program (FUSE), has another clock and other writers. Two that need more:
//!   btrfs before Linux 5.19 makes a subvolume in a directory without setting a time, and its size tells; overlayfs shows the times of its
//!   upper directory for what comes from below as well, which only changes while nothing is mounted, so that it counts for one mount, by a number that is
//!   not given twice (Linux 6.8, before it never).
//! - **No encrypted directory**: who adds its key, which a command may, sees other names and changes nothing.
//! - **Not the last second of 32 bits**: it is what a disk with short times says of everything later.
//!
//! The note lies where no command can write. Each note holds by itself, whichever of two runs wrote it last; a sum over it tells damage of
//! a disk, and what cannot be read is not noted.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Statx, StatxAttributes, StatxFlags, fstatfs, statx};
use rustix::time::{ClockId, clock_gettime};

use super::survey::read;
use super::tree::{self, Listing, Node, Stamp};
use super::{Moment, record};

/// What the file begins with.
const HEAD: &[u8] = b"swbox tree 1\n";

/// The largest note, in bytes: about 200,000 directories. What lies beyond is listed each time.
const SIZE: usize = 16 * 1024 * 1024;

/// How much the clock may seem to have gone back, as it is not read at the same instant as the other: far below the age.
const SLACK: i64 = 250_000_000;

/// The note is written again when that part of its directories was listed in vain; less costs less than writing it.
const WORTH: usize = 256;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// `OVERLAYFS_SUPER_MAGIC`.
const OVERLAY: u64 = 0x794c_7630;

/// Kinds of file systems that count: ext2 to ext4, xfs, btrfs, tmpfs, f2fs, overlayfs.
const SYSTEMS: &[u64] = &[0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, OVERLAY];

/// `STATX_MNT_ID_UNIQUE`.
const UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// What is needed so that a directory is noted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// How long before the walk it was changed last, at least. Disks that keep whole seconds need more than one.
    pub(super) age: Duration,
    /// The kinds of file systems.
    pub(super) systems: &'static [u64],
    /// How many bytes of directories are noted.
    pub(super) bytes: usize,
}

impl Rules {
    pub(super) const OWN: Self = Self { age: Duration::from_secs(2), systems: SYSTEMS, bytes: SIZE };
}

/// When a walk begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) begun: Moment,
    /// By how many nanoseconds everybody's clock is before the one since the start of the machine: at least, and at most.
    pub(super) lead: (i64, i64),
    /// Which start of the machine.
    pub(super) boot: Vec<u8>,
}

impl Clock {
    /// `None` where the kernel does not say it.
    pub(super) fn now() -> Option<Self> {
        let nanoseconds = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
        };
        let before = nanoseconds(ClockId::Realtime);
        let running = nanoseconds(ClockId::Boottime);
        let after = nanoseconds(ClockId::Realtime);
        let boot = std::fs::read(BOOT).ok().filter(|boot| !boot.is_empty())?;
        let lead = (before.saturating_sub(running), after.saturating_sub(running));
        Some(Self { begun: Moment::now(), lead, boot })
    }
}

/// A file system that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct System {
    device: u64,
    /// The number of its mount, for the one kind that needs it.
    mount: u64,
}

/// What the last walk noted, or nothing.
#[derive(Debug, Default)]
pub(super) struct Before {
    bytes: Vec<u8>,
    systems: Vec<System>,
    /// Where the directories begin.
    at: usize,
}

impl Before {
    /// What the file says, where that counts at `clock`.
    pub(super) fn load(file: &Path, clock: &Clock) -> Self {
        let bytes = read(file, u64::try_from(SIZE * 2).unwrap_or(u64::MAX));
        Self::parse(&bytes, clock).map(|(systems, at)| Self { systems, at, bytes }).unwrap_or_default()
    }

    fn parse(bytes: &[u8], clock: &Clock) -> Option<(Vec<System>, usize)> {
        let rest = bytes.strip_prefix(HEAD)?;
        let (sum, mut rest) = rest.split_first_chunk()?;
        if u64::from_le_bytes(*sum) != sum_of(rest) {
            return None;
        }
        rest = rest.strip_prefix(&clock.boot[..])?.strip_prefix(b"\n")?;
        let (lead, rest) = rest.split_first_chunk()?;
        if clock.lead.0.saturating_add(SLACK) < i64::from_le_bytes(*lead) {
            return None;
        }
        let (count, mut rest) = rest.split_first()?;
        let mut systems = Vec::new();
        for _ in 0..*count {
            let (device, after) = rest.split_first_chunk()?;
            let (mount, after) = after.split_first_chunk()?;
            systems.push(System { device: u64::from_le_bytes(*device), mount: u64::from_le_bytes(*mount) });
            rest = after;
        }
        Some((systems, bytes.len() - rest.len()))
    }

    /// The workspace itself, where it is the one of this name.
    pub(super) fn root(&self, name: &CStr) -> Option<Node<'_>> {
        Node::read(&mut self.bytes.get(self.at..)?).filter(|node| node.name == name)
    }
}

/// What a walk notes.
#[derive(Debug)]
pub(super) struct Seen {
    rules: Rules,
    clock: Clock,
    /// What was changed later than this is not noted.
    latest: (i64, u32),
    /// Devices that were met, and their places among those that count.
    met: Vec<(u64, Option<u8>)>,
    systems: Vec<System>,
    out: Vec<u8>,
    /// How many bytes are for directories that are written down or will be.
    reserved: usize,
    /// How many directories below one whose content is not noted the walk is.
    outside: usize,
    /// How many directories are noted, and how many of them were listed.
    noted: (usize, usize),
}

impl Seen {
    pub(super) fn new(rules: Rules, clock: Clock, before: &Before) -> Self {
        let age = rules.age;
        let mut latest = (clock.begun.seconds, clock.begun.nanoseconds);
        latest.0 = latest.0.saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
        latest.1 -= i64::from(age.subsec_nanos());
        if latest.1 < 0 {
            latest = (latest.0.saturating_sub(1), latest.1 + 1_000_000_000);
        }
        Self {
            rules,
            clock,
            latest: (latest.0, u32::try_from(latest.1).unwrap_or_default()),
            met: Vec::new(),
            systems: Vec::new(),
            out: Vec::with_capacity(before.bytes.len() + 4096),
            reserved: 4096,
            outside: 0,
            noted: (0, 0),
        }
    }

    /// Whether what was noted is on a device that was met in this walk; else it takes a descriptor to learn of it.
    pub(super) fn has_met(&self, before: &Before, listing: &Listing<'_>) -> bool {
        let system = before.systems.get(usize::from(listing.system));
        system.is_some_and(|system| self.met.iter().any(|(device, _)| *device == system.device))
    }

    /// Whether a directory is as it was noted; gives the place of its file system in the new note.
    pub(super) fn unchanged(
        &mut self,
        before: &Before,
        listing: &Listing<'_>,
        now: &Statx,
        handle: Option<BorrowedFd<'_>>,
    ) -> Option<u8> {
        let system = self.system(now, handle)?;
        let same = before.systems.get(usize::from(listing.system)) == self.systems.get(usize::from(system));
        let stamp = Stamp::of(now);
        (same && stamp == listing.stamp && self.is_settled(&stamp)).then_some(system)
    }

    /// What is to be noted of a directory whose names are listed next; `None` where it will have to be listed again.
    pub(super) fn stamp(&mut self, directory: BorrowedFd<'_>) -> Option<(u8, Stamp)> {
        let now = look(directory, b"").ok()?;
        let system = self.system(&now, Some(directory))?;
        let stamp = Stamp::of(&now);
        let plain = !now.stx_attributes.contains(StatxAttributes::ENCRYPTED);
        (plain && self.is_settled(&stamp)).then_some((system, stamp))
    }

    fn is_settled(&self, stamp: &Stamp) -> bool {
        stamp.changed <= self.latest && stamp.changed.0 != i64::from(i32::MAX)
    }

    /// The place of a directory's file system among those that count.
    fn system(&mut self, found: &Statx, handle: Option<BorrowedFd<'_>>) -> Option<u8> {
        let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
        if let Some((_, system)) = self.met.iter().find(|(met, _)| *met == device) {
            return *system;
        }
        let handle = handle?;
        let mount = self.mount(handle);
        let place = u8::try_from(self.systems.len()).ok().filter(|place| *place < u8::MAX);
        let system = mount.and(place);
        if let (Some(mount), Some(_)) = (mount, system) {
            self.systems.push(System { device, mount });
        }
        self.met.push((device, system));
        system
    }

    /// The number of the mount, where the kind of file system needs one; `None` where it does not count.
    fn mount(&self, handle: BorrowedFd<'_>) -> Option<u64> {
        // As signed or unsigned as the architecture has it; the numbers have 32 bits.
        let kind = fstatfs(handle).ok()?.f_type as u64 & 0xffff_ffff;
        if !self.rules.systems.contains(&kind) {
            return None;
        }
        if kind != OVERLAY {
            return Some(0);
        }
        let found = statx(handle, c"", AtFlags::EMPTY_PATH, UNIQUE).ok()?;
        (found.stx_mask & UNIQUE.bits() != 0).then_some(found.stx_mnt_id)
    }

    /// Notes a directory that was listed; those in it follow and take `weight` bytes, then [`Self::end`].
    pub(super) fn listed(
        &mut self,
        name: &CStr,
        listing: Option<Listing<'_>>,
        weight: usize,
    ) -> Option<usize> {
        if !self.has_room(name, weight + listing.map_or(0, |listing| listing.sockets.len())) {
            return None;
        }
        self.noted.0 += usize::from(listing.is_some());
        self.noted.1 += usize::from(listing.is_some());
        Some(tree::begin(&mut self.out, name, listing.as_ref()))
    }

    /// As [`Self::listed`], for one that is as it was noted.
    pub(super) fn as_before(&mut self, node: &Node<'_>, system: u8, weight: usize) -> Option<usize> {
        let sockets = node.listing.map_or(0, |listing| listing.sockets.len());
        if !self.has_room(node.name, weight + sockets) {
            return None;
        }
        self.noted.0 += 1;
        Some(node.begin(&mut self.out, system))
    }

    fn has_room(&mut self, name: &CStr, weight: usize) -> bool {
        let room = self.outside == 0 && self.reserved + weight <= self.rules.bytes;
        if room {
            self.reserved += weight;
        } else {
            self.mention(name);
            self.outside += 1;
        }
        room
    }

    /// Ends the directory that [`Self::listed`] or [`Self::as_before`] began.
    pub(super) fn end(&mut self, begun: Option<usize>) {
        match begun {
            Some(at) => tree::end(&mut self.out, at),
            None => self.outside -= 1,
        }
    }

    /// Notes the name of a directory that was not looked into.
    pub(super) fn mention(&mut self, name: &CStr) {
        if self.outside == 0 {
            let at = tree::begin(&mut self.out, name, None);
            tree::end(&mut self.out, at);
        }
    }

    /// How many directories are noted, and how many of them were listed in this walk.
    #[cfg(test)]
    pub(super) fn noted(&self) -> (usize, usize) {
        self.noted
    }

    /// The whole note, where the next walk is better off with it than with the one before.
    pub(super) fn note(&self) -> Option<Vec<u8>> {
        let (noted, listed) = self.noted;
        if listed <= noted / WORTH {
            return None;
        }
        let mut rest = self.clock.boot.clone();
        rest.push(b'\n');
        rest.extend(self.clock.lead.1.to_le_bytes());
        rest.extend(u8::try_from(self.systems.len()));
        for system in &self.systems {
            rest.extend(system.device.to_le_bytes());
            rest.extend(system.mount.to_le_bytes());
        }
        rest.extend(&self.out);
        let mut note = HEAD.to_vec();
        note.extend(sum_of(&rest).to_le_bytes());
        note.extend(rest);
        Some(note)
    }

    /// Writes it. Where that fails, the next walk lists more.
    pub(super) fn keep(&self, file: &Path) {
        if let Some(note) = self.note() {
            let _ = record::replace(file, &note);
        }
    }
}

/// Where the note of a tree is, beside the one about its repositories.
pub(super) fn beside(repositories: &Path) -> PathBuf {
    let mut name = repositories.as_os_str().to_owned();
    name.push(".tree");
    name.into()
}

/// What the kernel says of a directory: the one that is open, or a name from there.
pub(super) fn look(at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Statx> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    statx(at, name, flags, StatxFlags::BASIC_STATS)
}

/// A sum that tells damage, not intent.
fn sum_of(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let sum = words.iter().fold(FACTOR, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(mix(sum, bytes.len() as u64), |sum, byte| mix(sum, u64::from(*byte)))
}

#[cfg(test)]
mod tests;
