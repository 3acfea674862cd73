//! The program's memory: what is asked for first comes from one block, in order, and is not taken back.
//!
//! One command needs a tenth of that block. Giving memory back costs more than it brings there: looking for free pieces is
//! a fifth of all instructions before the jail, and each piece that is freed after a fork breaks a shared page for nothing.
//! Programs that live longer fill the block once and then have the system's allocator.
//!
//! Danger: memory handed out twice. The end of what is given only grows, but for the last piece.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::mm::{Advice, madvise};

use super::process::is_child;

/// Bytes of the block; pages of it that nobody asked for do not exist.
const SIZE: usize = 4 * 1024 * 1024;

/// How much of the block may be given out when a second process comes into this memory: what both ask for while they are
/// in it together is far less than the rest.
const BEFORE_SHARED: usize = 2 * 1024 * 1024;

/// The pages of this many bytes are asked for at once: a page fault for each costs three times as much.
const STRETCH: usize = 64 * 1024;

/// Larger pieces are the system's from the start, where no second process asks for memory: it has them zeroed without touching them, and takes them back.
const LARGE: usize = 16 * 1024;

#[repr(C, align(4096))]
struct Block(UnsafeCell<[u8; SIZE]>);

// SAFETY: the block is only reached through pointers that `Early` gave out, each for bytes of its own.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(UnsafeCell::new([0; SIZE]));

/// How much of the block is given out.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// How much of the C library's heap a command of a session uses, nearly all of it through SQLite.
const HEAP: usize = 192 * 1024;

/// Whether that was expected.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Has the kernel make the pages at once that SQLite is about to ask the C library for: a fault for each costs more than all
/// of them.
pub fn expect_a_store() {
    if EXPECTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: plain numbers; the pieces are given back and not looked at, and their bytes stay as they are. Without a
    // threshold the C library would give their pages back at once.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1024 * 1024);
        // Below the size from which on each piece is a mapping of its own.
        let pieces = [libc::malloc(HEAP / 2), libc::malloc(HEAP / 2)];
        for piece in pieces {
            let inner = piece.addr().next_multiple_of(4096);
            if !piece.is_null() {
                libc::madvise(piece.with_addr(inner), HEAP / 2 - 4096, libc::MADV_POPULATE_WRITE);
            }
        }
        pieces.into_iter().rev().for_each(|piece| libc::free(piece));
    }
}

/// Whether two processes ask for memory here.
static SHARED: AtomicBool = AtomicBool::new(false);

/// How much of the block is only for the second process: what it needs before the first one is done is a fraction of that,
/// whatever the first one reads meanwhile.
const RESERVE: usize = 1024 * 1024;

/// Whether a child in this memory may have memory of the system.
static GIVES_SYSTEM: AtomicBool = AtomicBool::new(true);

/// Says that a second process may ask for memory here at once, until [`unshare`], and gives whether it may. All that it asks
/// for, large pieces too, comes from the block, which takes turns by itself: the system's allocator does not know that it
/// would have to lock, and would be left half changed by a process that is killed in it. That one is the first process's
/// alone, until it has given it.
pub fn share() -> bool {
    let shared = is_wide();
    SHARED.store(shared, Ordering::Relaxed);
    GIVES_SYSTEM.store(!shared, Ordering::Relaxed);
    shared
}

/// Whether a second process can have all of its memory of the block, or has: there is enough, and this is the program's allocator.
pub fn has_room() -> bool {
    SHARED.load(Ordering::Relaxed) || is_wide()
}

fn is_wide() -> bool {
    (1..BEFORE_SHARED).contains(&GIVEN.load(Ordering::Relaxed))
}

/// Says that the second process asks for no more, or that there is none.
pub fn unshare() {
    SHARED.store(false, Ordering::Relaxed);
    GIVES_SYSTEM.store(true, Ordering::Relaxed);
}

/// Gives a child that works in this memory the system's allocator, too: this process asks for nothing from now on.
pub(super) fn give_system() {
    GIVES_SYSTEM.store(true, Ordering::Relaxed);
}

/// The allocator of the program.
#[derive(Debug)]
pub struct Early;

/// Has the kernel make the pages of the stretch of the block that begins at `start`. Where it does not know how (before
/// Linux 5.14), each comes when it is needed.
fn prepare(start: usize) {
    if start < SIZE {
        let stretch = BLOCK.0.get().cast::<u8>().wrapping_add(start);
        // Not the C library's: its errno is that of both processes.
        // SAFETY: the stretch lies within the block, whose bytes this leaves as they are.
        let _ = unsafe { madvise(stretch.cast(), STRETCH.min(SIZE - start), Advice::LinuxPopulateWrite) };
    }
}

impl Early {
    /// The largest piece that whoever asks has of the block, and how much of that there is for it.
    fn room(shared: bool, child: bool) -> (usize, usize) {
        match (shared, child) {
            (false, _) => (LARGE, SIZE),
            (true, false) => (LARGE, SIZE - RESERVE),
            (true, true) => (SIZE, SIZE),
        }
    }

    /// As [`Self::room`], for this process as things are.
    fn own_room() -> (usize, usize) {
        let shared = SHARED.load(Ordering::Relaxed);
        Self::room(shared, shared && is_child())
    }

    /// A piece of the block, or nothing when the rest of it is too small.
    fn piece(layout: Layout) -> Option<*mut u8> {
        Self::piece_within(layout, Self::own_room())
    }

    fn piece_within(layout: Layout, (largest, room): (usize, usize)) -> Option<*mut u8> {
        let mut given = GIVEN.load(Ordering::Relaxed);
        loop {
            // The block is aligned to a page, so offsets are as aligned as addresses up to that.
            if layout.align() > 4096 || layout.size() > largest {
                return None;
            }
            let start = given.checked_next_multiple_of(layout.align())?;
            let end = start.checked_add(layout.size()).filter(|end| *end <= room)?;
            match GIVEN.compare_exchange_weak(given, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if given == 0 || given.div_ceil(STRETCH) != end.div_ceil(STRETCH) {
                        prepare(given.next_multiple_of(STRETCH));
                    }
                    return Some(BLOCK.0.get().cast::<u8>().wrapping_add(start));
                }
                Err(other) => given = other,
            }
        }
    }

    /// The system's allocator. A child that would have to use it beside its parent ends, and with it the launch: only
    /// where what it needs before the plan is there exceeds the block.
    fn system() -> System {
        if !GIVES_SYSTEM.load(Ordering::Relaxed) && is_child() {
            super::process::exit_now(125);
        }
        System
    }

    /// Where in the block a pointer leads, if it does.
    fn offset(pointer: *mut u8) -> Option<usize> {
        let offset = pointer.addr().wrapping_sub(BLOCK.0.get().addr());
        (offset < SIZE).then_some(offset)
    }

    /// Moves the end of what is given from `from` to `to`, if it is there.
    fn move_end(from: usize, to: usize) -> bool {
        GIVEN.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

// SAFETY: a piece is given to one caller only, by the exchange that moves the end over it, and is taken back only as the
// last one, by the exchange that moves the end back. What does not fit, and what the system gave, is the system's.
unsafe impl GlobalAlloc for Early {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system allocator's condition.
        Self::piece(layout).unwrap_or_else(|| unsafe { Self::system().alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match Self::piece(layout) {
            Some(piece) => {
                // SAFETY: the piece has this size. It may have been given out before.
                unsafe { piece.write_bytes(0, layout.size()) };
                piece
            }
            // SAFETY: the caller's promise is the system allocator's condition.
            None => unsafe { Self::system().alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match Self::offset(pointer) {
            Some(start) => {
                Self::move_end(start + layout.size(), start);
            }
            // SAFETY: it is not of the block, so the system gave it for this layout.
            None => unsafe { Self::system().dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(start) = Self::offset(pointer) else {
            // SAFETY: it is not of the block, so the system gave it for this layout.
            return unsafe { Self::system().realloc(pointer, layout, size) };
        };
        let end = start.saturating_add(size);
        let (largest, room) = Self::own_room();
        if (size <= largest && end <= room && Self::move_end(start + layout.size(), end))
            || size <= layout.size()
        {
            return pointer;
        }
        // SAFETY: the caller promises that `size` fits this alignment; both pieces are at least the shorter length, and
        // a new piece overlaps no other.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(pointer, layout.size());
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_overlap_and_keep_their_bytes() {
        let mut live: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let mut seed = 1_u64;
        for turn in 0..20_000_u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(turn | 1);
            let pick = (seed >> 33) as usize;
            let layout = Layout::from_size_align(1 + pick % 300, 1 << (pick % 8)).unwrap();
            let mark = u8::try_from(pick % 251).unwrap();
            // SAFETY: each pointer is used with the layout it was given for, and once only after it was freed.
            unsafe {
                match pick % 4 {
                    0 | 1 => {
                        let new = Early.alloc(layout);
                        assert!(!new.is_null() && new.addr().is_multiple_of(layout.align()));
                        new.write_bytes(mark, layout.size());
                        live.push((new, layout, mark));
                    }
                    2 if !live.is_empty() => {
                        let at = if pick.is_multiple_of(3) { live.len() - 1 } else { pick % live.len() };
                        let (old, of, mark) = live.swap_remove(at);
                        let size = 1 + (pick >> 8) % 400;
                        let new = Early.realloc(old, of, size);
                        let kept = std::slice::from_raw_parts(new, size.min(of.size()));
                        assert!(kept.iter().all(|byte| *byte == mark));
                        new.write_bytes(mark, size);
                        live.push((new, Layout::from_size_align(size, of.align()).unwrap(), mark));
                    }
                    3 if !live.is_empty() => {
                        let (old, of, mark) = live.swap_remove(pick % live.len());
                        assert!(std::slice::from_raw_parts(old, of.size()).iter().all(|byte| *byte == mark));
                        Early.dealloc(old, of);
                    }
                    _ => {}
                }
            }
        }
        for (pointer, layout, mark) in live {
            // SAFETY: as above.
            unsafe {
                assert!(std::slice::from_raw_parts(pointer, layout.size()).iter().all(|byte| *byte == mark));
                Early.dealloc(pointer, layout);
            }
        }
        let large = Layout::from_size_align(LARGE + 1, 1).unwrap();
        assert_eq!(Early::piece(large), None);
        // Beside another process: the first one's large pieces are the system's, the second one has nothing but the block.
        assert_eq!(Early::piece_within(large, Early::room(true, false)), None);
        let shared = Early::piece_within(large, Early::room(true, true));
        assert!(shared.is_some_and(|piece| Early::offset(piece).is_some()));
        let whole = Layout::from_size_align(SIZE - RESERVE, 1).unwrap();
        assert_eq!(Early::piece_within(whole, (SIZE, Early::room(true, false).1)), None);
        // SAFETY: the piece has that size and is freed once.
        unsafe {
            for layout in [large, Layout::from_size_align(100, 1).unwrap()] {
                let zeroed = Early.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(zeroed, layout.size()).iter().all(|byte| *byte == 0));
                Early.dealloc(zeroed, layout);
            }
        }
        assert_eq!(Early::piece(Layout::from_size_align(1, 8192).unwrap()), None);
    }
}
