//! Bounded counts: what was seen often is kept once, and what is too much is only counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Distinct things in the order in which they came, each with its number.
#[derive(Debug, Clone)]
pub(super) struct Tally<K> {
    most: usize,
    index: HashMap<K, usize>,
    kept: Vec<(K, u64)>,
    more: u64,
}

impl<K: Clone + Eq + Hash> Tally<K> {
    /// One that keeps this many.
    pub(super) fn new(most: usize) -> Self {
        Self { most, index: HashMap::new(), kept: Vec::new(), more: 0 }
    }

    /// Counts `key`; whether it is new and kept.
    pub(super) fn add(&mut self, key: &K) -> bool {
        match self.index.entry(key.clone()) {
            Entry::Occupied(at) => {
                if let Some((_, count)) = self.kept.get_mut(*at.get()) {
                    *count += 1;
                }
                false
            }
            Entry::Vacant(free) if self.kept.len() < self.most => {
                free.insert(self.kept.len());
                self.kept.push((key.clone(), 1));
                true
            }
            Entry::Vacant(_) => {
                self.more += 1;
                false
            }
        }
    }

    /// What is kept, with how often it came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, u64)> {
        self.kept.iter()
    }

    /// How often something came that is not kept.
    pub(super) fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted_and_what_is_known_still_is() {
        let mut tally = Tally::new(2);
        for word in ["a", "b", "a", "c", "d", "b", "c"] {
            tally.add(&word);
        }
        assert_eq!(tally.iter().collect::<Vec<_>>(), [&("a", 2), &("b", 2)]);
        assert_eq!(tally.more(), 3);
    }
}
