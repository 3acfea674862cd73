//! How the note of a tree's directories is written down: each one followed by those in it, with how many bytes that all is, so that
//! it is read while the tree is walked, in the same order and without a copy.
//!
//! Danger: a name that is lost under a directory which is taken as it was is a directory that nobody walks into. What
//! cannot be read therefore is nothing, and its directory is listed.

use std::ffi::CStr;

use rustix::fs::Statx;

/// What tells that a directory was not changed; see [`super::seen`] for why that is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) links: u32,
    pub(super) modified: (i64, u32),
    pub(super) changed: (i64, u32),
}

impl Stamp {
    pub(super) fn of(found: &Statx) -> Self {
        Self {
            inode: found.stx_ino,
            size: found.stx_size,
            links: found.stx_nlink,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        }
    }
}

/// What the list of a directory's names had, and what the directory was like then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listing<'a> {
    /// Which file system it is on, as a place in the note's table.
    pub(super) system: u8,
    pub(super) stamp: Stamp,
    /// An entry `.git`.
    pub(super) git: bool,
    /// The parts of a repository.
    pub(super) bare: bool,
    /// How many names it has.
    pub(super) names: u32,
    /// Names of sockets: a byte for the length of each, and the name.
    pub(super) sockets: &'a [u8],
}

/// A directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) name: &'a CStr,
    /// Absent where it has to be listed anew.
    pub(super) listing: Option<Listing<'a>>,
    /// All of it but for the directories in it, as it is written.
    head: &'a [u8],
    /// The directories in it; with a listing these are all there are.
    below: &'a [u8],
}

/// How many bytes a directory takes beside its names.
pub(super) const FIXED: usize = 70;

/// Where the place of the file system is written.
const SYSTEM: usize = 5;

const LISTED: u8 = 1;
const GIT: u8 = 2;
const BARE: u8 = 4;

impl<'a> Node<'a> {
    /// The first directory in `bytes`, which are then what follows it.
    pub(super) fn read(bytes: &mut &'a [u8]) -> Option<Self> {
        let size = usize::try_from(u32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
        let (whole, rest) = bytes.split_at_checked(size)?;
        let mut fields = Fields(whole.get(4..)?);
        let [flags, system] = fields.array()?;
        let length = usize::from(u16::from_le_bytes(fields.array()?));
        let name = CStr::from_bytes_with_nul(fields.take(length + 1)?).ok()?;
        let listing = if flags & LISTED == 0 {
            None
        } else {
            let stamp = Stamp {
                inode: u64::from_le_bytes(fields.array()?),
                size: u64::from_le_bytes(fields.array()?),
                links: u32::from_le_bytes(fields.array()?),
                modified: fields.time()?,
                changed: fields.time()?,
            };
            let names = u32::from_le_bytes(fields.array()?);
            let sockets = usize::try_from(u32::from_le_bytes(fields.array()?)).ok()?;
            let sockets = fields.take(sockets)?;
            Some(Listing { system, stamp, git: flags & GIT != 0, bare: flags & BARE != 0, names, sockets })
        };
        *bytes = rest;
        let head = whole.get(..size - fields.0.len())?;
        Some(Self { name, listing, head, below: fields.0 })
    }

    /// The directories in it; ends early where the note is damaged, which [`Self::weight`] tells.
    pub(super) fn children(&self) -> impl Iterator<Item = Self> + use<'a> {
        let mut rest = self.below;
        std::iter::from_fn(move || Self::read(&mut rest).filter(|child| is_name(child.name)))
    }

    /// How many bytes the directories in it take at most, without those in them; `None` where the note is damaged.
    pub(super) fn weight(&self) -> Option<usize> {
        let mut rest = self.below;
        let mut weight = 0;
        while !rest.is_empty() {
            let child = Self::read(&mut rest).filter(|child| is_name(child.name))?;
            weight += FIXED + child.name.count_bytes();
        }
        Some(weight)
    }

    /// Writes it down as [`begin`] does, on the file system of that place.
    pub(super) fn begin(&self, out: &mut Vec<u8>, system: u8) -> usize {
        let at = out.len();
        out.extend_from_slice(self.head);
        if let Some(place) = out.get_mut(at + SYSTEM) {
            *place = system;
        }
        at
    }

    /// Whether no directory is in it.
    pub(super) fn is_leaf(&self) -> bool {
        self.below.is_empty()
    }
}

fn is_name(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    !bytes.contains(&b'/') && !matches!(bytes, b"" | b"." | b"..")
}

/// Writes a directory down, to be ended with [`end`] after those in it; gives where it begins.
pub(super) fn begin(out: &mut Vec<u8>, name: &CStr, listing: Option<&Listing<'_>>) -> usize {
    let at = out.len();
    let bytes = name.to_bytes_with_nul();
    let flags = listing.map_or(0, |listing| {
        LISTED | if listing.git { GIT } else { 0 } | if listing.bare { BARE } else { 0 }
    });
    out.extend([0; 4]);
    out.extend([flags, listing.map_or(0, |listing| listing.system)]);
    // A longer name than any that a system call takes would be read back as damaged.
    out.extend(u16::try_from(bytes.len() - 1).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(bytes);
    if let Some(listing) = listing {
        let stamp = &listing.stamp;
        out.extend(stamp.inode.to_le_bytes());
        out.extend(stamp.size.to_le_bytes());
        out.extend(stamp.links.to_le_bytes());
        for (seconds, nanoseconds) in [stamp.modified, stamp.changed] {
            out.extend(seconds.to_le_bytes());
            out.extend(nanoseconds.to_le_bytes());
        }
        out.extend(listing.names.to_le_bytes());
        out.extend(u32::try_from(listing.sockets.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(listing.sockets);
    }
    at
}

/// Ends the directory that begins at `at`.
pub(super) fn end(out: &mut [u8], at: usize) {
    let size = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&size.to_le_bytes());
    }
}

/// The names in [`Listing::sockets`].
pub(super) fn sockets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        bytes = rest;
        Some(name)
    })
}

/// What is left to read of a directory.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn time(&mut self) -> Option<(i64, u32)> {
        Some((i64::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?)))
    }
}
