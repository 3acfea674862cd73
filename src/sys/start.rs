//! The program's beginning and end, without the runtime's: that one reads `/proc/self/maps` for the guard page of a
//! stack that is never the problem here, which costs as much as a whole decision.
//!
//! Danger: what the runtime did and is not done here. Closed standard streams are seen by [`streams`](super::streams);
//! a broken pipe has to be an error of the write; standard output is flushed at the end.
#![allow(unsafe_code)]

use std::io::Write;

/// Runs the program: `start` gives the exit code.
pub fn run(start: fn() -> u8) -> i32 {
    // SAFETY: SIG_IGN installs no handler.
    let _ = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let code = start();
    // Whoever printed has flushed and told of an error; this is for what did not ask.
    let _ = std::io::stdout().flush();
    super::process::exit_now(i32::from(code))
}

/// Makes `start` the program's `main`.
///
/// A static program at a random address puts its own addresses in at its start, on 60 pages that the kernel would copy one
/// by one, by a fault of 4 µs each in a virtual machine. `swbox_entry` (x86-64; `build.rs` makes it the entry point) has it
/// copy them all at once, before the C library begins: `madvise(MADV_POPULATE_WRITE)` for each writable segment. Where the
/// kernel does not know that (before Linux 5.14), nothing happens.
#[macro_export]
macro_rules! program {
    ($start:path) => {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
        #[allow(unsafe_code)]
        // SAFETY: entered once, by the kernel, with the stack and `rdx` that `_start` expects: neither is changed, and the
        // registers that are have no meaning there. Only pages of this program are asked for, and their bytes stay.
        mod entry {
            std::arch::global_asm!(
                ".pushsection .text.swbox_entry,\"ax\",@progbits",
                ".globl swbox_entry",
                ".type swbox_entry,@function",
                "swbox_entry:",
                "mov %rdx, %r12", // kept: what the kernel says to run at the exit
                "lea __ehdr_start(%rip), %r13",
                "movzwl 56(%r13), %ebx", // e_phnum
                "mov 32(%r13), %r14",    // e_phoff
                "add %r13, %r14",
                "2:",
                "test %ebx, %ebx",
                "jz 4f",
                "cmpl $1, (%r14)", // PT_LOAD
                "jne 3f",
                "testl $2, 4(%r14)", // PF_W
                "jz 3f",
                "mov 16(%r14), %rdi", // p_vaddr
                "mov 32(%r14), %rsi", // p_filesz
                "add %r13, %rdi",
                "add %rdi, %rsi",
                "and $-4096, %rdi",
                "sub %rdi, %rsi",
                "mov $23, %edx", // MADV_POPULATE_WRITE
                "mov $28, %eax", // madvise
                "syscall",
                "3:",
                "add $56, %r14",
                "dec %ebx",
                "jmp 2b",
                "4:",
                "mov %r12, %rdx",
                "jmp _start",
                ".size swbox_entry, . - swbox_entry",
                ".popsection",
                options(att_syntax)
            );
        }

        // SAFETY: the C library calls it once, and nothing else of the program has this name.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::sys::start::run($start)
        }
    };
}
