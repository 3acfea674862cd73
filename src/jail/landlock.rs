//! The plan's Landlock domain, made and entered.
//!
//! Danger: the domain holds the calling thread and all it starts from then on, for ever, and a right that the ruleset
//! does not handle is not restricted at all. So the rights are computed from the ABI the plan was made for, each is a
//! hard requirement of the crate, and anything less than "fully enforced" is an error. Landlock's rules only add
//! rights beneath a path: nothing can be carved out of a granted tree here, mounts do that.
//!
//! At the full level mounts decide what can be read, and the domain then leaves READ_FILE, READ_DIR and TRUNCATE out:
//! each open asks for the optional TRUNCATE, which walks to the root unless a rule grants it (grep 1.27 × against 1.07 ×).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::outcome::Level;
use super::plan::{Access, LandlockPlan};

/// The newest ABI that was run here; what newer kernels add is only asked for by name below.
pub const TESTED_ABI: u32 = 7;

/// The lowest ABI that can hold the file rights of a level. Below 3, `truncate` empties any file, and below 2 no rename
/// crosses a directory; at the full level read-only mounts hold the first and the second is only an inconvenience.
pub const fn needed_abi(level: Level) -> u32 {
    match level {
        Level::Full => 1,
        Level::LandlockOnly => 3,
    }
}

/// Why the domain was not entered; the command must not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ABI has none of the rights that the plan wants held.
    #[error("Landlock ABI {abi} cannot hold any right of the plan")]
    Nothing {
        /// The plan's ABI.
        abi: u32,
    },
    /// A path of the plan could not be opened, or not be made a rule.
    #[error("{}: {}", .0.display(), .1)]
    Path(PathBuf, String),
    /// The kernel refused the ruleset.
    #[error("{0}")]
    Ruleset(Box<RulesetError>),
    /// The kernel took less than was asked for.
    #[error("only {0}")]
    Partly(String),
}

impl From<RulesetError> for Error {
    fn from(error: RulesetError) -> Self {
        Self::Ruleset(Box::new(error))
    }
}

/// What the domain restricts, beyond what the plan's rules give back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handled {
    /// File rights.
    pub files: BitFlags<AccessFs>,
    /// TCP bind and connect.
    pub tcp: bool,
    /// Abstract unix sockets and signals.
    pub scopes: BitFlags<Scope>,
}

/// What the domain of `plan` restricts on a kernel of the plan's ABI. Pure.
pub fn handled(plan: &LandlockPlan) -> Handled {
    let known = kernel_rights(plan.abi);
    let mut files = rights(plan.handled);
    if plan.handled.contains(Access::MAKE) {
        // No rule ever grants these: device nodes reach the hardware past the files.
        files |= make_bitflags!(AccessFs::{ MakeChar | MakeBlock });
    }
    if plan.handle_truncate {
        files |= AccessFs::Truncate;
    }
    // Sockets of the host by path: from ABI 9 the domain holds them itself, its own sockets stay reachable.
    files |= AccessFs::ResolveUnix;
    let mut scopes = BitFlags::EMPTY;
    if plan.abi >= 6 {
        if plan.scope_abstract {
            scopes |= Scope::AbstractUnixSocket;
        }
        if plan.scope_signals {
            scopes |= Scope::Signal;
        }
    }
    Handled { files: files & known, tcp: plan.no_tcp && plan.abi >= 4, scopes }
}

/// The places of a plan's rules, held, each with the number of its rule. A path that does not exist grants nothing.
#[derive(Debug)]
pub struct Held(Vec<(usize, OwnedFd)>);

/// Finds the places of the plan's rules: in `root`, so that no link and no `..` leads out of it, or where this process is.
///
/// # Errors
/// [`Error::Path`].
pub fn find(plan: &LandlockPlan, root: Option<BorrowedFd<'_>>) -> Result<Held, Error> {
    let mut held = Vec::with_capacity(plan.grants.len());
    for (number, grant) in plan.grants.iter().enumerate() {
        let link = if grant.follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::PATH | OFlags::CLOEXEC | link;
        let straight = match plan.straight.iter().any(|around| grant.path.starts_with(around)) {
            true => ResolveFlags::NO_SYMLINKS,
            false => ResolveFlags::empty(),
        };
        let found = match root {
            Some(root) => {
                let resolve = straight | ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
                rustix::fs::openat2(root, &grant.path, flags, Mode::empty(), resolve)
            }
            None if straight.is_empty() => rustix::fs::open(&grant.path, flags, Mode::empty()),
            None => rustix::fs::openat2(CWD, &grant.path, flags, Mode::empty(), straight),
        };
        match found {
            Ok(found) => held.push((number, found)),
            // A place that is not there, or to which this user has no way, grants nothing; nor does one behind a link
            // where links are not followed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
            Err(e) => return Err(Error::Path(grant.path.clone(), e.to_string())),
        }
    }
    Ok(Held(held))
}

/// Makes the domain and enters it; sets `no_new_privs`. No path is looked up. Standard streams keep their mode when they
/// are reopened, if the plan says so.
///
/// # Errors
/// Anything less than the whole domain.
pub fn restrict(plan: &LandlockPlan, held: &Held) -> Result<(), Error> {
    let handled = handled(plan);
    if handled.files.is_empty() {
        return Err(Error::Nothing { abi: plan.abi });
    }
    let mut ruleset = create(handled)?;
    for (number, found) in &held.0 {
        let Some(grant) = plan.grants.get(*number) else { continue };
        let mut files = rights(grant.access) & handled.files;
        if plan.handle_truncate && grant.access.contains(Access::WRITE_FILE) {
            files |= handled.files & AccessFs::Truncate;
        }
        add(&mut ruleset, found.as_fd(), files).map_err(|why| Error::Path(grant.path.clone(), why))?;
    }
    if plan.stdio {
        let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        for stream in [input.as_fd(), output.as_fd(), error.as_fd()] {
            // A memory file has no place that a rule could name: it then cannot be reopened, which is no weaker.
            let _ = add(&mut ruleset, stream, stream_rights(stream) & handled.files);
        }
    }
    match ruleset.restrict_self() {
        Ok(status) if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs => Ok(()),
        Ok(status) => Err(Error::Partly(format!("{:?}", status.ruleset))),
        Err(e) => Err(e.into()),
    }
}

fn create(handled: Handled) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(handled.files)?;
    if handled.tcp {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    if !handled.scopes.is_empty() {
        ruleset = ruleset.scope(handled.scopes)?;
    }
    ruleset.create()
}

fn add(ruleset: &mut RulesetCreated, at: BorrowedFd<'_>, files: BitFlags<AccessFs>) -> Result<(), String> {
    let stat = rustix::fs::fstat(at).map_err(|e| e.to_string())?;
    let files = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => files,
        _ => files & AccessFs::from_file(ABI::V10),
    };
    if files.is_empty() {
        return Ok(());
    }
    ruleset.add_rule(PathBeneath::new(at, files)).map_err(|e| e.to_string())?;
    Ok(())
}

/// What a standard stream that is a regular file or a terminal may be reopened for: what its own descriptor can do.
fn stream_rights(stream: BorrowedFd<'_>) -> BitFlags<AccessFs> {
    let Ok(stat) = rustix::fs::fstat(stream) else { return BitFlags::EMPTY };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::CharacterDevice) {
        return BitFlags::EMPTY;
    }
    let Ok(flags) = rustix::fs::fcntl_getfl(stream) else { return BitFlags::EMPTY };
    let mode = flags & OFlags::ACCMODE;
    let mut files = make_bitflags!(AccessFs::{ IoctlDev });
    if mode != OFlags::WRONLY {
        files |= AccessFs::ReadFile;
    }
    if mode != OFlags::RDONLY {
        files |= AccessFs::WriteFile | AccessFs::Truncate;
    }
    files
}

/// The kernel's rights for swbox's groups, without truncate.
fn rights(access: Access) -> BitFlags<AccessFs> {
    let groups = [
        (Access::READ_FILE, make_bitflags!(AccessFs::{ ReadFile })),
        (Access::READ_DIR, make_bitflags!(AccessFs::{ ReadDir })),
        (Access::EXECUTE, make_bitflags!(AccessFs::{ Execute })),
        (Access::WRITE_FILE, make_bitflags!(AccessFs::{ WriteFile })),
        (Access::MAKE, make_bitflags!(AccessFs::{ MakeReg | MakeDir | MakeSym | MakeFifo | MakeSock })),
        (Access::REMOVE, make_bitflags!(AccessFs::{ RemoveFile | RemoveDir })),
        (Access::REFER, make_bitflags!(AccessFs::{ Refer })),
        (Access::IOCTL_DEV, make_bitflags!(AccessFs::{ IoctlDev })),
    ];
    let granted = groups.into_iter().filter(|(group, _)| access.contains(*group));
    granted.fold(BitFlags::EMPTY, |all, (_, files)| all | files)
}

/// The rights that a kernel of this ABI knows.
fn kernel_rights(abi: u32) -> BitFlags<AccessFs> {
    AccessFs::from_all(ABI::from(i32::try_from(abi).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests;
