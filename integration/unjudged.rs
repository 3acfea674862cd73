//! Runs a line in a state of `bugfix` whatever the decision says: the decision layer switched off, for `wall.rs`. It is
//! a program of the tests and no part of swbox. Without arguments it panics.
#![allow(clippy::panic, reason = "it shows what a panic comes to")]

use std::process::ExitCode;

use swbox::service::{Command, Exit, Law, Observe, Run, end_on_panic, run_unjudged};

fn main() -> ExitCode {
    end_on_panic();
    let mut args = std::env::args_os().skip(1);
    if args.len() == 0 {
        panic!("on purpose");
    }
    let state = args.next().map(|state| state.to_string_lossy().into_owned());
    let Some(line) = args.next() else { return ExitCode::from(2) };
    let law = Law { state, ..Law::default() };
    let run = Run {
        law,
        command: Command::line(line),
        timeout: None,
        capture: false,
        dry_run: false,
        observe: Observe::Auto,
        events: None,
    };
    let code = match run_unjudged(&run).map(|report| report.outcome.map(|outcome| outcome.exit)) {
        Ok(Some(Exit::Code(code) | Exit::NotStarted { code, .. })) => code,
        Ok(Some(Exit::Signal(_) | Exit::Timeout) | None) => 124,
        Err(problem) => {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{problem}\n").as_bytes());
            125
        }
    };
    ExitCode::from(code)
}
