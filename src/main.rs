//! The `swbox` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = swbox::proxy::hidden(std::env::args_os()) {
        return code;
    }
    ExitCode::SUCCESS
}
