//! The form of what was seen, the same for each way of seeing.
//!
//! Danger: names come from the processes that are watched; they are bytes, and whoever prints them escapes them.

use std::path::PathBuf;

/// What a call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Opens a file for reading (seen with `observe reads`).
    Read,
    /// Opens a file for writing, or changes its length.
    Write,
    /// Makes a file, directory, link, socket or device.
    Create,
    /// Removes a file or directory.
    Remove,
    /// Gives a file another name; the target is the old name, [`Touch::to`] the new one.
    Rename,
    /// Changes mode, owner, times or attributes.
    Metadata,
    /// Connects to an address or a socket, or sends there.
    Connect,
    /// Listens at an address.
    Bind,
    /// Runs a program.
    Exec,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A file by its absolute path as the host names it; a path that only the jail has (its /tmp) as the jail names it.
    Path(PathBuf),
    /// An address or a name with its port, as `host:port`.
    Address(String),
    /// A socket of the abstract name space, without the leading NUL.
    Abstract(Vec<u8>),
}

/// Why the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The state gives no such right.
    Rights,
    /// The state gives it, the command's declared classes do not.
    Narrowed,
    /// A file that is protected in every state: a git directory, a file that others run later.
    Protected,
    /// A secret of the user.
    Secret,
    /// Outside of what the jail holds at all.
    Outside,
    /// No network, or none to this place.
    Network,
}

/// A change that happened. One call may make several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// What was done.
    pub act: Act,
    /// The file.
    pub path: PathBuf,
    /// The new name, of [`Act::Rename`] and of a hard link.
    pub to: Option<PathBuf>,
}

/// A refusal by the jail. What an ordinary system would refuse as well is none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Denial {
    /// What was tried.
    pub act: Act,
    /// On what.
    pub target: Target,
    /// What stands against it.
    pub cause: Cause,
    /// The errno that the program got or, where it is predicted, will get.
    pub errno: i32,
    /// Whether this was concluded from what the command printed, and not seen.
    pub inferred: bool,
}

/// A program that was started, with the arguments that it got.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// The file that runs (of a script its interpreter), as `/proc/PID/exe` has it.
    pub file: PathBuf,
    /// The kernel's own copy of the arguments: all of them for who judges, cut where they are kept and told.
    pub argv: Vec<Vec<u8>>,
    /// Whether `argv` was cut.
    pub cut: bool,
    /// Whether it was stopped because of its arguments.
    pub stopped: bool,
}

impl Program {
    /// Bytes of arguments that are kept and told, their ends among them.
    pub const KEPT: usize = 64 * 1024;

    /// The same with no more arguments than are kept.
    #[must_use]
    pub fn short(mut self) -> Self {
        let mut left = Self::KEPT;
        let mut whole = 0;
        for word in &mut self.argv {
            if left == 0 {
                break;
            }
            self.cut |= word.len() > left;
            word.truncate(left);
            left = left.saturating_sub(word.len() + 1);
            whole += 1;
        }
        self.cut |= whole < self.argv.len();
        self.argv.truncate(whole);
        self
    }
}

/// One thing that was seen of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// Something changed.
    Touch(Touch),
    /// Something was refused.
    Denial(Denial),
    /// A program began.
    Program(Program),
    /// A call that could not be read: what it did is not known.
    Unseen {
        /// The call's name.
        call: &'static str,
        /// Why: a short word of a fixed set.
        why: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::Program;

    #[test]
    fn arguments_are_cut_where_they_are_kept_and_that_is_said() {
        let of = |argv: Vec<Vec<u8>>| Program { file: "/x".into(), argv, cut: false, stopped: false };
        let plain = of(vec![b"x".to_vec(), Vec::new(), b"y".to_vec()]);
        assert_eq!(plain.clone().short(), plain);
        let full = of(vec![vec![b'a'; Program::KEPT - 1]]);
        assert_eq!(full.clone().short(), full);
        let long = of(vec![b"x".to_vec(), vec![b'a'; Program::KEPT], b"push".to_vec()]).short();
        assert!(long.cut && long.argv.len() == 2 && long.argv[1].len() == Program::KEPT - 2);
        let many = of(vec![b"a".to_vec(); Program::KEPT]).short();
        assert!(many.cut && many.argv.len() == Program::KEPT / 2, "{}", many.argv.len());
    }
}
