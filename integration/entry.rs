//! The program's entry point, which the linker is told: a static program that begins elsewhere works and is slow.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

/// Numbers of the ELF headers at a byte, as the file has them.
struct Elf(Vec<u8>);

impl Elf {
    fn number(&self, at: usize, bytes: usize) -> u64 {
        self.0[at..at + bytes].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    fn at(&self, at: usize, bytes: usize) -> usize {
        usize::try_from(self.number(at, bytes)).unwrap()
    }

    /// The value of a symbol; `None` where the file has no symbols, or none of this name.
    fn symbol(&self, name: &str) -> Option<u64> {
        let (sections, size, count) = (self.at(0x28, 8), self.at(0x3a, 2), self.at(0x3c, 2));
        let table = (0..count)
            .map(|index| sections + index * size)
            .find(|section| self.number(section + 4, 4) == 2)?;
        let names = sections + self.at(table + 0x28, 4) * size;
        let names = self.at(names + 0x18, 8);
        let (start, length, each) =
            (self.at(table + 0x18, 8), self.at(table + 0x20, 8), self.at(table + 0x38, 8));
        let wanted = [name.as_bytes(), b"\0"].concat();
        let found = (start..start + length)
            .step_by(each)
            .find(|symbol| self.0[names + self.at(*symbol, 4)..].starts_with(&wanted))?;
        Some(self.number(found + 8, 8))
    }
}

#[test]
fn a_static_program_begins_where_it_asks_for_its_pages() {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu", target_feature = "crt-static")) {
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "static"), "the program is not static");
        println!(
            "SKIP a_static_program_begins_where_it_asks_for_its_pages: the program is not static, or has another entry here"
        );
        return;
    }
    let program = Elf(std::fs::read(env!("CARGO_BIN_EXE_swbox")).unwrap());
    assert_eq!(program.0[..6], *b"\x7fELF\x02\x01");
    let entry = program.number(0x18, 8);
    let Some(own) = program.symbol("swbox_entry") else {
        // A stripped program; it begins with what keeps what the kernel says: `mov %rdx, %r12`.
        let headers = (0..program.at(0x38, 2)).map(|index| program.at(0x20, 8) + index * program.at(0x36, 2));
        let segment = headers
            .filter(|header| program.number(*header, 4) == 1)
            .find(|header| {
                let start = program.number(header + 0x10, 8);
                (start..start + program.number(header + 0x20, 8)).contains(&entry)
            })
            .unwrap();
        let at =
            usize::try_from(entry - program.number(segment + 0x10, 8)).unwrap() + program.at(segment + 8, 8);
        assert_eq!(program.0[at..at + 3], [0x49, 0x89, 0xd4]);
        return;
    };
    assert_eq!(entry, own, "{entry:#x} is not swbox_entry");
    assert_ne!(Some(entry), program.symbol("_start"));
}
