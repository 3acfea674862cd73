//! The `swbox` program: `cli::run` decides everything, and a panic is an error like any other, never a weaker run.
#![no_main]

use std::ffi::OsString;

#[global_allocator]
static MEMORY: swbox::sys::memory::Early = swbox::sys::memory::Early;

swbox::program!(start);

fn start() -> u8 {
    swbox::service::end_on_panic();
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = swbox::proxy::hidden(args.iter().cloned()) {
        return code;
    }
    if args.get(1).is_some_and(|name| name == swbox::jail::act::SUBCOMMAND) {
        return swbox::jail::doctor::main(&args[2..]);
    }
    swbox::cli::run(&args)
}
