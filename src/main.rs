//! The `swbox` program: `cli::run` decides everything, and a panic is an error like any other, never a weaker run.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    swbox::service::end_on_panic();
    if let Some(code) = swbox::proxy::hidden(std::env::args_os()) {
        return code;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|name| name == swbox::jail::act::SUBCOMMAND) {
        return ExitCode::from(swbox::jail::doctor::main(&args[2..]));
    }
    ExitCode::from(swbox::cli::run(&args))
}
