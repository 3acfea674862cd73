//! What a shell leaves behind for the next command of its session: the directory it ends in and its environment. A
//! start-up file sets a trap that writes both to a directory of the command's own, and they are read from the scratch when the
//! command's processes are dead.
//!
//! Danger: the command can write anything in their place. What is read here is a wish of the command for the next one,
//! to be judged by whoever grants it, and never more.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::outcome::Level;
use super::plan::{Access, Grant, JailPlan, Step};

/// The directory of both files, inside: this command's own, also where `/tmp` is its session's.
pub(super) const DIRECTORY: &str = "/run/swbox";

/// The start-up file, inside.
const SCRIPT: &str = "/run/swbox/shell";

/// What it runs. The trap says nothing and changes no status; a shell that sets one of its own leaves nothing behind.
const TEXT: &str = "unset BASH_ENV
trap '{ set +x; } 2>/dev/null; { printf \"%s\\0\" \"$PWD\"; /usr/bin/env -0; } >| /run/swbox/farewell 2>/dev/null' EXIT
";

/// Where it lies on the scratch.
const LEFT: &str = "root/run/swbox/farewell";

/// Longest farewell that is read.
const LIMIT: u64 = 256 * 1024;

/// What a shell ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Farewell {
    /// The directory, as the shell names it.
    pub directory: PathBuf,
    /// The exported variables.
    pub env: BTreeMap<OsString, OsString>,
}

impl JailPlan {
    /// Asks the command, which must be a bash, for its farewell. A level without a root of its own gives none.
    #[must_use]
    pub fn with_farewell(mut self) -> Self {
        if self.level == Level::Full {
            self.steps.push(Step::Dir { path: DIRECTORY.into(), mode: 0o700 });
            let access = Access::CHANGE.with(Access::READ_FILE).and(self.landlock.handled);
            self.landlock.grants.push(Grant { path: DIRECTORY.into(), access, follow: false });
            self.steps.push(Step::File { path: SCRIPT.into(), bytes: TEXT.as_bytes().to_vec() });
            self.env.insert("BASH_ENV".into(), SCRIPT.into());
            self.farewell = true;
        }
        self.fallback = self.fallback.map(|lesser| Box::new(lesser.with_farewell()));
        self
    }
}

/// Reads the farewell from the scratch; `None` where there is none, or nothing that could be one.
pub(super) fn read(scratch: &OwnedFd) -> Option<Farewell> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(scratch, LEFT, flags, Mode::empty(), resolve).ok()?;
    let kind = rustix::fs::fstat(&file).map(|meta| FileType::from_raw_mode(meta.st_mode));
    if kind != Ok(FileType::RegularFile) {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(LIMIT + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > LIMIT {
        return None;
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Option<Farewell> {
    // Whole parts only: the shell may have been killed while it wrote.
    let whole = bytes.strip_suffix(b"\0")?;
    let mut parts = whole.split(|byte| *byte == 0);
    let directory = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
    let env = parts.filter_map(|part| {
        let at = part.iter().position(|byte| *byte == b'=')?;
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((text(&part[..at]), text(&part[at + 1..])))
    });
    directory.is_absolute().then(|| Farewell { env: env.collect(), directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farewell_is_read_whole_or_not_at_all() {
        let farewell = parse(b"/work/a b\0A=1\0B=x=y\nz\0odd\0C=\0").unwrap();
        assert_eq!(farewell.directory, PathBuf::from("/work/a b"));
        let env: Vec<_> = farewell.env.iter().map(|(name, value)| format!("{name:?}{value:?}")).collect();
        assert_eq!(env, ["\"A\"\"1\"", "\"B\"\"x=y\\nz\"", "\"C\"\"\""]);
        for broken in [&b""[..], b"/work", b"/work\0A=1", b"work\0", b"\0A=1\0"] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }
}
