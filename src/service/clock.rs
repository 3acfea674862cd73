//! Time and chance, which the pure layers get as data.

use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::diagnostic::Diagnostic;

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Letters of ids: none that look alike.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A new id: the prefix, a dash, and ten letters (50 bits) by chance.
///
/// # Errors
/// `no_chance`, where the kernel gives no random bytes.
pub(super) fn id(prefix: &str) -> Result<String, Diagnostic> {
    let mut bytes = [0_u8; 10];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).map_err(|error| {
        Diagnostic::new("no_chance", format!("/dev/urandom gives no random bytes: {error}"))
    })?;
    let letters = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    Ok(format!("{prefix}-{}", letters.collect::<String>()))
}
