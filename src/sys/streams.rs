//! Which standard streams the caller had closed, seen before the Rust runtime opens `/dev/null` in their place.
//!
//! Danger: without this a closed standard output swallows a result in silence.
#![allow(unsafe_code)]

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, Ordering};

/// How the standard streams are called, by descriptor.
const NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];

/// Bit n: descriptor n was closed when the process began.
static CLOSED: AtomicU8 = AtomicU8::new(0);

// SAFETY: the section holds pointers to functions of this type, which libc calls once before `main`; `look` needs
// nothing of the runtime that is not there by then.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: F_GETFD only asks; a closed descriptor is EBADF.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

/// The name of the first standard stream that is a directory: a jailed command would reach all that is below it.
pub fn directory_stream() -> Option<&'static str> {
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    [input.as_fd(), output.as_fd(), error.as_fd()].into_iter().zip(NAMES).find_map(|(stream, name)| {
        let found = rustix::fs::fstat(stream).ok()?;
        (rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory)
            .then_some(name)
    })
}

/// Whether no standard stream is a terminal.
pub fn no_terminal() -> bool {
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    ![input.as_fd(), output.as_fd(), error.as_fd()].into_iter().any(rustix::termios::isatty)
}

/// Puts these bytes on standard input, from their start: in memory, and sealed, so that nobody changes them.
///
/// # Errors
/// What the kernel says.
pub fn set_input(bytes: &[u8]) -> std::io::Result<()> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::io::{Seek, Write};
    let memory = memfd_create("script", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(bytes)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(rustix::stdio::dup2_stdin(&file)?)
}

/// A copy of a descriptor that was open when the process began; it closes on exec.
///
/// # Errors
/// What the kernel says: there is none of this number.
pub fn inherited(number: std::os::fd::RawFd) -> std::io::Result<std::os::fd::OwnedFd> {
    if number < 0 {
        return Err(std::io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is borrowed for this one call, which fails with EBADF where nothing of this number is open.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    Ok(rustix::io::fcntl_dupfd_cloexec(borrowed, 3)?)
}

/// The name of the first standard stream that was closed when the process began.
pub fn closed_at_start() -> Option<&'static str> {
    let closed = CLOSED.load(Ordering::Relaxed);
    NAMES.iter().enumerate().find(|(descriptor, _)| closed & (1 << descriptor) != 0).map(|(_, name)| *name)
}
