//! What the `landlock` crate does not tell without building a ruleset.
#![allow(unsafe_code)]

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: libc::c_long = 1;

/// The kernel's Landlock ABI; 0 where it has none, or it is disabled or filtered.
pub fn abi() -> u32 {
    // SAFETY: with a null attribute, size 0 and the version flag the call only returns a number.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, VERSION) };
    u32::try_from(answer).unwrap_or(0)
}
