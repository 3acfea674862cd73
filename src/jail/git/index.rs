//! Finding the submodule entries (gitlinks) of a git index. Pure.
//!
//! Danger: bytes come from the workspace; every length is checked and a broken index ends the search.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Mode of a gitlink entry.
const GITLINK: u32 = 0o160_000;

/// The paths of all gitlinks in an index of version 2, 3 or 4 with SHA-1 ids.
pub(super) fn gitlinks(index: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if index.get(..4) != Some(b"DIRC") {
        return found;
    }
    let (Some(version), Some(count)) = (number(4), number(8)) else { return found };
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let (Some(mode), Some(flags)) = (number(at + 24), index.get(at + 60..at + 62)) else { return found };
        let extended = version >= 3 && flags.first().is_some_and(|byte| byte & 0x40 != 0);
        let start = at + if extended { 64 } else { 62 };
        let rest = index.get(start..).unwrap_or_default();
        let consumed = if version == 4 {
            let Some((keep, used)) = offset(rest) else { return found };
            let suffix = rest.get(used..).unwrap_or_default();
            let Some(end) = suffix.iter().position(|byte| *byte == 0) else { return found };
            name.truncate(name.len().saturating_sub(keep));
            name.extend(suffix.get(..end).unwrap_or_default());
            start + used + end + 1
        } else {
            let Some(end) = rest.iter().position(|byte| *byte == 0) else { return found };
            if mode == GITLINK {
                name = rest.get(..end).unwrap_or_default().to_vec();
            }
            // Padded with one to eight NUL bytes to a multiple of eight.
            at + ((start - at + end + 8) & !7)
        };
        if mode == GITLINK {
            found.push(PathBuf::from(OsString::from_vec(name.clone())));
        }
        at = consumed;
    }
    found
}

/// The variable-length number of version 4: how much of the former name to drop, and its length in bytes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        if index > 0 {
            value += 1;
        }
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(version: u32, mode: u32, name: &[u8], keep: u8) -> Vec<u8> {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.resize(60, 0);
        entry.extend([0, u8::try_from(name.len()).unwrap()]);
        if version == 4 {
            entry.push(keep);
        }
        entry.extend(name);
        entry.push(0);
        while version != 4 && !entry.len().is_multiple_of(8) {
            entry.push(0);
        }
        entry
    }

    fn index(version: u32, entries: &[Vec<u8>]) -> Vec<u8> {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        index.extend(entries.concat());
        index
    }

    #[test]
    fn gitlinks_are_found_among_files() {
        let entries = [
            entry(2, 0o100_644, b"a", 0),
            entry(2, GITLINK, b"lib/one", 0),
            entry(2, 0o100_755, b"lib/two-longer-name", 0),
            entry(2, GITLINK, b"z", 0),
        ];
        assert_eq!(gitlinks(&index(2, &entries)), [PathBuf::from("lib/one"), PathBuf::from("z")]);
    }

    #[test]
    fn version_four_shares_prefixes() {
        let entries =
            [entry(4, 0o100_644, b"lib/a", 0), entry(4, GITLINK, b"one", 1), entry(4, GITLINK, b"two", 3)];
        assert_eq!(gitlinks(&index(4, &entries)), [PathBuf::from("lib/one"), PathBuf::from("lib/two")]);
    }

    #[test]
    fn a_broken_index_ends_the_search() {
        let whole = index(2, &[entry(2, GITLINK, b"sm", 0), entry(2, GITLINK, b"other", 0)]);
        for length in 0..whole.len() {
            assert!(gitlinks(&whole[..length]).len() <= 2);
        }
        assert!(gitlinks(b"DIRC\0\0\0\x02\xff\xff\xff\xff").is_empty());
    }
}
