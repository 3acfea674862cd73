//! A panic is an error like any other: it is told, and nothing more is run.
//!
//! Danger: a panic that unwinds past a check, or ends with a code that commands use, would look like a result.

use std::io::Write;

/// Exit code of a set-up that failed.
const SETUP: i32 = 125;

/// From now on a panic anywhere in this process ends it at once with 125 and a reason.
#[expect(
    clippy::exit,
    reason = "unwinding would run on; the release build aborts with a code that is a signal's"
)]
pub fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        // Nobody can be told where that fails; the exit code still says it.
        let _ = writeln!(
            std::io::stderr(),
            "swbox: internal fault, nothing more is run: {panic} [internal_fault]\n  help     please report this with the command"
        );
        std::process::exit(SETUP);
    }));
}
