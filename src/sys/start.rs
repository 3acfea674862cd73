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
#[macro_export]
macro_rules! program {
    ($start:path) => {
        // SAFETY: the C library calls it once, and nothing else of the program has this name.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::sys::start::run($start)
        }
    };
}
