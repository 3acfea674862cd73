//! The `swbox` program: `cli::run` decides everything, and a panic is an error like any other, never a weaker run.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        use std::io::Write;
        // Nobody can be told where that fails; the exit code still says it.
        let _ = writeln!(
            std::io::stderr(),
            "swbox: internal fault, nothing more is run: {panic} [internal_fault]\n  help     please report this with the command"
        );
        swbox::sys::process::exit_now(125);
    }));
    if let Some(code) = swbox::proxy::hidden(std::env::args_os()) {
        return code;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|name| name == swbox::jail::act::SUBCOMMAND) {
        return ExitCode::from(swbox::jail::doctor::main(&args[2..]));
    }
    ExitCode::from(swbox::cli::run(&args))
}
