//! The hash chain of a journal: each entry's hash covers the one before it.
//!
//! Danger: the chain shows that nothing was changed, dropped or inserted *before* a head that somebody kept elsewhere.
//! Whoever can write the whole file can also write a new chain; alone it proves no origin.

use sha2::{Digest, Sha256};

use super::record::Entry;

/// SHA-256 of an entry and all before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// From 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// The hash of an entry after `before`. Every field is preceded by its length, so that no two entries read alike.
pub(super) fn link(before: &Hash, session: &str, position: u64, at: u64, kind: &str, body: &str) -> Hash {
    let mut digest = Sha256::new();
    digest.update(before.0);
    for field in
        [session.as_bytes(), &position.to_le_bytes(), &at.to_le_bytes(), kind.as_bytes(), body.as_bytes()]
    {
        digest.update((field.len() as u64).to_le_bytes());
        digest.update(field);
    }
    Hash(digest.finalize().into())
}

/// Where a chain does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The first entry that does not fit.
    pub position: u64,
    /// Why.
    pub why: &'static str,
}

/// Checks a whole journal against the head that its session names.
///
/// # Errors
/// The first place that does not fit.
pub fn verify(session: &str, entries: &[Entry], head: &Hash) -> Result<(), Broken> {
    let mut before = Hash::default();
    let mut expected = 1;
    for entry in entries {
        let broken = |why| Err(Broken { position: entry.position, why });
        if entry.position != expected {
            return broken("an entry is missing or stands twice");
        }
        if link(&before, session, entry.position, entry.at, &entry.kind, &entry.body) != entry.hash {
            return broken("the entry was changed after it was written");
        }
        before = entry.hash;
        expected += 1;
    }
    if before == *head {
        Ok(())
    } else {
        Err(Broken { position: expected, why: "the end of the journal is missing" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> (Vec<Entry>, Hash) {
        let mut head = Hash::default();
        let mut entries = Vec::new();
        for position in 1..=4 {
            let body = format!("{{\"n\":{position}}}");
            head = link(&head, "s", position, 10 + position, "event", &body);
            entries.push(Entry { position, at: 10 + position, kind: "event".into(), body, hash: head });
        }
        (entries, head)
    }

    #[test]
    fn a_chain_holds_until_something_is_changed_dropped_or_moved() {
        let (entries, head) = journal();
        assert_eq!(verify("s", &entries, &head), Ok(()));
        assert!(verify("t", &entries, &head).is_err(), "another session's");
        let mut changed = entries.clone();
        changed[1].body = "{}".into();
        assert_eq!(verify("s", &changed, &head).unwrap_err().position, 2);
        let mut dropped = entries.clone();
        dropped.remove(2);
        assert_eq!(verify("s", &dropped, &head).unwrap_err().position, 4);
        assert_eq!(verify("s", &entries[..3], &head).unwrap_err().position, 4);
        let mut later = entries;
        later[3].at += 1;
        assert!(verify("s", &later, &head).is_err());
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let zero = Hash::default();
        assert_ne!(link(&zero, "s", 1, 1, "ab", "c"), link(&zero, "s", 1, 1, "a", "bc"));
    }

    #[test]
    fn hashes_are_read_back() {
        let hash = Hash::of(b"x");
        assert_eq!(Hash::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(Hash::from_hex("12"), None);
        assert_eq!(Hash::from_hex(&"zz".repeat(32)), None);
    }
}
