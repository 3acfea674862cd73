//! SQLite's log as its file has it: how many of its frames hold together.
//!
//! Danger: who has the log open reads its frames by an index in shared memory and looks at no checksum. After a write that
//! failed the kernel may have let go of the bytes, and what is read again is what the disk has.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes before the first frame, and before each page.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// Frames that follow the checksum of the header and of each other, from the first on.
///
/// # Errors
/// A file that cannot be read. One that is no log has none.
pub(super) fn frames(log: &File) -> io::Result<u64> {
    let mut header = [0; HEADER];
    if !filled(log, &mut header, 0)? {
        return Ok(0);
    }
    let number = |bytes: &[u8], at: usize| word(bytes, at, true);
    let (magic, page) = (number(&header, 0), number(&header, 8));
    let page = if page == 1 { 65_536 } else { page };
    if magic & !1 != 0x377f_0682 || !(512..=65_536).contains(&page) {
        return Ok(0);
    }
    let big = magic & 1 == 1;
    let mut sum = checksum((0, 0), &header[..FRAME], big);
    if sum != (number(&header, 24), number(&header, 28)) {
        return Ok(0);
    }
    let size = FRAME + page as usize;
    let (mut frame, mut count) = (vec![0; size], 0);
    while filled(log, &mut frame, HEADER as u64 + count * size as u64)? {
        sum = checksum(checksum(sum, &frame[..8], big), &frame[FRAME..], big);
        if frame[8..16] != header[16..24] || sum != (number(&frame, 16), number(&frame, 20)) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Whether the file has as many bytes there.
fn filled(log: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    match log.read_exact_at(bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        answer => answer.map(|()| true),
    }
}

fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

/// SQLite's checksum of whole pairs of words, going on from another.
fn checksum(from: (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    bytes.chunks_exact(8).fold(from, |(one, two), pair| {
        let one = one.wrapping_add(word(pair, 0, big)).wrapping_add(two);
        (one, two.wrapping_add(word(pair, 4, big)).wrapping_add(one))
    })
}
