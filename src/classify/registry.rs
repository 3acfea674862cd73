//! The row of a program, by base name.
//!
//! Duty: look-up without any start-up cost: the hash table over all families is computed by the compiler.

use super::commands::FAMILIES;
use super::packed;
use super::spec::Row;

const SLOTS: usize = 4096;

/// The index of a row + 1, by hash of each name, open addressing; 0 is free.
static TABLE: [u16; SLOTS] = build();

/// The built-in row of the program with this base name.
pub fn lookup(name: &str) -> Option<&'static Row> {
    let mut slot = hash(name.as_bytes()) % SLOTS;
    loop {
        let index = usize::from(TABLE[slot]).checked_sub(1)?;
        if packed::is_named(index, name) {
            return packed::row(index);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Every built-in row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    (0..packed::COUNT).filter_map(packed::row)
}

const fn hash(name: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut index = 0;
    while index < name.len() {
        hash = (hash ^ name[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    (hash ^ (hash >> 15)) as usize
}

const fn build() -> [u16; SLOTS] {
    let mut table = [0; SLOTS];
    let mut count = 0;
    let mut family = 0;
    while family < FAMILIES.len() {
        let rows = FAMILIES[family];
        let mut row = 0;
        while row < rows.len() {
            let names = rows[row].names;
            count += 1;
            let mut name = 0;
            while name < names.len() {
                let mut slot = hash(names[name].as_bytes()) % SLOTS;
                while table[slot] != 0 {
                    slot = (slot + 1) % SLOTS;
                }
                table[slot] = count;
                name += 1;
            }
            row += 1;
        }
        family += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_own_row() {
        for row in rows() {
            for name in row.names {
                let found = lookup(name).unwrap_or_else(|| panic!("{name} is not found"));
                assert!(
                    std::ptr::eq(found, row),
                    "{name} stands in two rows: {:?} and {:?}",
                    found.names,
                    row.names
                );
            }
        }
        assert!(lookup("no-such-program").is_none());
    }
}
