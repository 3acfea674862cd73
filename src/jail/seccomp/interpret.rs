//! A classic BPF interpreter, to hold the compiled program against the table.

use super::rule::Arch;

/// One system call as the kernel shows it to a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) audit: u32,
    pub(super) number: u32,
    pub(super) arguments: [u64; 6],
}

impl Call {
    pub(super) fn native(arch: Arch, number: u32, arguments: [u64; 6]) -> Self {
        Self { audit: arch.audit(), number, arguments }
    }

    /// A word of `struct seccomp_data`, little endian; the instruction pointer is never looked at.
    fn word(&self, offset: u32) -> u32 {
        match offset {
            0 => self.number,
            4 => self.audit,
            16..64 => {
                let argument = self.arguments[usize::try_from((offset - 16) / 8).unwrap()];
                let half = if offset.is_multiple_of(8) { argument } else { argument >> 32 };
                u32::try_from(half & 0xFFFF_FFFF).unwrap()
            }
            _ => panic!("load of {offset}"),
        }
    }
}

/// Runs `program`; gives its value and how many instructions it took. Panics where the kernel would refuse it.
pub(super) fn run(program: &[libc::sock_filter], call: &Call) -> (u32, usize) {
    let (mut at, mut accumulator, mut steps) = (0_usize, 0_u32, 0);
    loop {
        let i = program[at];
        at += 1;
        steps += 1;
        let jump = |taken: bool| usize::from(if taken { i.jt } else { i.jf });
        match i.code {
            0x20 => {
                assert!(i.k.is_multiple_of(4), "unaligned load");
                accumulator = call.word(i.k);
            }
            0x54 => accumulator &= i.k,
            0x05 => at += usize::try_from(i.k).unwrap(),
            0x15 => at += jump(accumulator == i.k),
            0x35 => at += jump(accumulator >= i.k),
            0x45 => at += jump(accumulator & i.k != 0),
            0x06 => return (i.k, steps),
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}
