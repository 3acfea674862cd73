//! What this host can enforce, against what the base profile and the named ones ask for.

use std::ffi::OsString;
use std::path::Path;

use super::{host, profiles};
use crate::diagnostic::Diagnostic;

pub use crate::jail::doctor::{Attempted, Check, Proof, Trial};

/// Tries every protection.
///
/// # Errors
/// A profile that cannot be read, and where no place for the trials can be made.
pub fn doctor(named: &[OsString]) -> Result<Vec<Check>, Diagnostic> {
    let facts = host::facts()?;
    // No workspace is looked at: the base, and what is named.
    let chosen = profiles::choose(named, None, Path::new("/nonexistent"), &facts)?;
    crate::jail::doctor::doctor(&chosen.profile.protections)
}
