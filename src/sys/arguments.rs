//! Overwriting the arguments of this process as other processes see them.
//!
//! The first process inside is a copy of swbox, arguments included: a `pkill -f PATTERN` of the command would match the
//! very line that swbox was called with.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static START: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Called by the C library before `main` with the process's arguments.
// SAFETY: the section holds pointers to functions of exactly this type, which glibc calls once with argc, argv, envp.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn(c_int, *const *mut c_char, *const *mut c_char) = note;

extern "C" fn note(count: c_int, arguments: *const *mut c_char, _: *const *mut c_char) {
    let Some(last) = usize::try_from(count).ok().and_then(|count| count.checked_sub(1)) else { return };
    if arguments.is_null() {
        return;
    }
    // SAFETY: argv has `count` pointers to C strings, which the kernel lays out one after the other.
    let (start, end) = unsafe {
        let (first, last) = (*arguments, *arguments.add(last));
        (first, last.add(libc::strlen(last) + 1))
    };
    START.store(start, Ordering::Relaxed);
    LENGTH.store(end.addr().saturating_sub(start.addr()), Ordering::Relaxed);
}

/// Shows `name`, cut to what fits, in place of the arguments. Those that std has handed out are copies.
pub fn show(name: &str) {
    let (start, length) = (START.load(Ordering::Relaxed), LENGTH.load(Ordering::Relaxed));
    if start.is_null() || length == 0 {
        return;
    }
    let shown = name.len().min(length - 1);
    // SAFETY: `start..start + length` are the bytes of the arguments, which live as long as the process and which
    // nothing but the kernel's `/proc/PID/cmdline` reads any more.
    unsafe {
        start.write_bytes(0, length);
        start.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), shown);
    }
}
