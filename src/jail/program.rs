//! The command as exec takes it: words, environment, and where its program is looked for.
//!
//! Danger: the search is that of the command's own PATH, inside; nothing is looked up on the host.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::plan::JailPlan;
use crate::diagnostic::Diagnostic;
use crate::sys::process::Command;

/// Where programs are looked for when the command's environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Lays out the command for exec.
pub(super) fn lay_out(plan: &JailPlan, env: &BTreeMap<OsString, OsString>) -> Result<Command, Diagnostic> {
    let text = |bytes: Vec<u8>, what: &str| {
        CString::new(bytes)
            .map_err(|_| Diagnostic::new("nul_in_argument", format!("{what} contains a NUL byte")))
    };
    let argv =
        plan.argv.iter().map(|arg| text(arg.as_bytes().to_vec(), "an argument")).collect::<Result<_, _>>()?;
    let path = env.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    let env = env
        .iter()
        .map(|(name, value)| {
            let mut entry = name.as_bytes().to_vec();
            entry.push(b'=');
            entry.extend(value.as_bytes());
            text(entry, "the environment")
        })
        .collect::<Result<_, _>>()?;
    let name = plan.argv.first().map(OsString::as_os_str).unwrap_or_default();
    let candidates = candidates(name, path)
        .into_iter()
        .map(|candidate| text(candidate.into_vec(), "the program's name"))
        .collect::<Result<_, _>>()?;
    Ok(Command::new(candidates, argv, env))
}

/// The paths under which `name` is tried, by the rules of execvp(3).
fn candidates(name: &OsStr, path: &OsStr) -> Vec<OsString> {
    if name.as_bytes().contains(&b'/') {
        return vec![name.to_owned()];
    }
    let directories = path.as_bytes().split(|byte| *byte == b':');
    directories
        .map(|directory| {
            let directory = if directory.is_empty() { b"." } else { directory };
            let mut candidate = directory.to_vec();
            candidate.push(b'/');
            candidate.extend(name.as_bytes());
            OsString::from_vec(candidate)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_tried_in_each_directory_of_path() {
        assert_eq!(candidates(OsStr::new("ls"), OsStr::new("/a:/b")), ["/a/ls", "/b/ls"]);
        assert_eq!(candidates(OsStr::new("ls"), OsStr::new("/a::")), ["/a/ls", "./ls", "./ls"]);
        assert_eq!(candidates(OsStr::new("./ls"), OsStr::new("/a")), ["./ls"]);
    }
}
