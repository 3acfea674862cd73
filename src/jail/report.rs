//! What the processes inside tell the launcher, through a packet pipe that closes on exec.
//!
//! Danger: the inside end lives in pid 1, which runs no code of the command; still each message is parsed, not trusted.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::pipe::PipeFlags;

use super::protection;
use crate::profile::Protection;

/// Where set-up can fail; each has a stable diagnostic code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// swbox is gone already.
    Parent,
    /// User and group maps.
    Maps,
    /// The scratch tmpfs.
    Root,
    /// A bind of a host tree.
    Bind,
    /// The workspace.
    Workspace,
    /// Git directories.
    Git,
    /// A protected name.
    Protect,
    /// A secret's stub.
    Secret,
    /// A made file.
    File,
    /// A private directory or link.
    Directory,
    /// Devices and pseudo-terminals.
    Device,
    /// `/proc`.
    Proc,
    /// The change of root.
    Pivot,
    /// Loopback.
    Network,
    /// Dropping capabilities.
    Capabilities,
    /// `no_new_privs`.
    NoNewPrivs,
    /// Landlock.
    Landlock,
    /// The working directory.
    Cwd,
    /// Resource limits.
    Limits,
    /// The command's process.
    Fork,
    /// seccomp.
    Seccomp,
    /// Closing descriptors.
    Descriptors,
    /// The session's namespaces and directories.
    Session,
}

impl Stage {
    const ALL: [Self; 23] = [
        Self::Parent,
        Self::Maps,
        Self::Root,
        Self::Bind,
        Self::Workspace,
        Self::Git,
        Self::Protect,
        Self::Secret,
        Self::File,
        Self::Directory,
        Self::Device,
        Self::Proc,
        Self::Pivot,
        Self::Network,
        Self::Capabilities,
        Self::NoNewPrivs,
        Self::Landlock,
        Self::Cwd,
        Self::Limits,
        Self::Fork,
        Self::Seccomp,
        Self::Descriptors,
        Self::Session,
    ];

    /// The diagnostic code.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Parent => "setup_parent",
            Self::Maps => "setup_maps",
            Self::Root => "setup_root",
            Self::Bind => "setup_bind",
            Self::Workspace => "setup_workspace",
            Self::Git => "setup_git",
            Self::Protect => "setup_protect",
            Self::Secret => "setup_secret",
            Self::File => "setup_file",
            Self::Directory => "setup_directory",
            Self::Device => "setup_device",
            Self::Proc => "setup_proc",
            Self::Pivot => "setup_pivot",
            Self::Network => "setup_network",
            Self::Capabilities => "setup_capabilities",
            Self::NoNewPrivs => "setup_no_new_privs",
            Self::Landlock => "setup_landlock",
            Self::Cwd => "setup_cwd",
            Self::Limits => "setup_limits",
            Self::Fork => "setup_fork",
            Self::Seccomp => "setup_seccomp",
            Self::Descriptors => "setup_descriptors",
            Self::Session => "setup_session",
        }
    }
}

/// A set-up step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupError {
    /// Which.
    pub stage: Stage,
    /// Its errno.
    pub errno: i32,
    /// On what, for a person.
    pub detail: String,
}

impl SetupError {
    /// A failure of `stage` on `detail`.
    pub(super) fn new(stage: Stage, error: &io::Error, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        match error.raw_os_error() {
            Some(errno) => Self { stage, errno, detail },
            None => Self { stage, errno: 0, detail: format!("{detail}: {error}") },
        }
    }
}

/// Turns an error into a [`SetupError`] of a stage.
pub(super) trait At<T> {
    /// With the stage and what it was about.
    fn at(self, stage: Stage, detail: &dyn AsDetail) -> Result<T, SetupError>;
}

/// What a step was about; formatted only when it failed.
pub(super) trait AsDetail {
    /// The text.
    fn detail(&self) -> String;
}

impl AsDetail for str {
    fn detail(&self) -> String {
        self.to_owned()
    }
}

impl AsDetail for &str {
    fn detail(&self) -> String {
        (*self).to_owned()
    }
}

impl AsDetail for std::path::Path {
    fn detail(&self) -> String {
        self.display().to_string()
    }
}

impl AsDetail for &std::path::Path {
    fn detail(&self) -> String {
        self.display().to_string()
    }
}

impl AsDetail for std::path::PathBuf {
    fn detail(&self) -> String {
        self.display().to_string()
    }
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, stage: Stage, detail: &dyn AsDetail) -> Result<T, SetupError> {
        self.map_err(|error| SetupError::new(stage, &error.into(), detail.detail()))
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// Set-up failed; the command did not run.
    Failed(SetupError),
    /// The command could not be executed.
    NotExecuted {
        /// The errno of execve.
        errno: i32,
    },
    /// The command has been executed.
    Started,
    /// The command's first process was stopped by this signal.
    Stopped(i32),
    /// A protection could not be had in full, and why.
    Degraded(Protection, String),
    /// The command runs, and nobody watches it, because the listener was refused with this errno.
    Unwatched(i32),
    /// The command's first process ended.
    Exited {
        /// Its wait status.
        status: i32,
        /// When its exec succeeded, monotonic nanoseconds.
        started: u64,
        /// When it ended.
        ended: u64,
        /// The scratch tmpfs was full then.
        full: bool,
        /// Something that it started goes on.
        left: bool,
    },
}

/// Messages are at most this long, below the size up to which a pipe write is one packet.
const LIMIT: usize = 1024;

/// A message as it is sent. No memory is asked for: the sender may work in the receiver's.
struct Packet {
    bytes: [u8; LIMIT],
    length: usize,
}

impl Packet {
    /// Appends what there is room for.
    fn add(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let count = bytes.len().min(room.len());
        room.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        self.length += count;
    }
}

impl Message {
    fn encode(&self) -> Packet {
        let mut packet = Packet { bytes: [0; LIMIT], length: 0 };
        match self {
            Self::Failed(error) => {
                packet.add(&[0, error.stage as u8]);
                packet.add(&error.errno.to_le_bytes());
                packet.add(error.detail.as_bytes());
            }
            Self::NotExecuted { errno } => {
                packet.add(&[1]);
                packet.add(&errno.to_le_bytes());
            }
            Self::Stopped(signal) => {
                packet.add(&[2]);
                packet.add(&signal.to_le_bytes());
            }
            Self::Degraded(protection, text) => {
                packet.add(&[3, *protection as u8]);
                packet.add(text.as_bytes());
            }
            Self::Exited { status, started, ended, full, left } => {
                packet.add(&[4, u8::from(*full) | u8::from(*left) << 1]);
                packet.add(&status.to_le_bytes());
                packet.add(&started.to_le_bytes());
                packet.add(&ended.to_le_bytes());
            }
            Self::Unwatched(errno) => {
                packet.add(&[5]);
                packet.add(&errno.to_le_bytes());
            }
            Self::Started => packet.add(&[6]),
        }
        packet
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let number = |bytes: &[u8]| Some(i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?));
        let time = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
        Some(match kind {
            0 => {
                let (stage, rest) = rest.split_first()?;
                let stage = *Stage::ALL.get(usize::from(*stage))?;
                let detail = String::from_utf8_lossy(rest.get(4..)?).into_owned();
                Self::Failed(SetupError { stage, errno: number(rest)?, detail })
            }
            1 => Self::NotExecuted { errno: number(rest)? },
            2 => Self::Stopped(number(rest)?),
            3 => {
                let (number, text) = rest.split_first()?;
                let protection = *protection::ALL.get(usize::from(*number))?;
                Self::Degraded(protection, String::from_utf8_lossy(text).into_owned())
            }
            4 => {
                let (found, rest) = rest.split_first()?;
                Self::Exited {
                    status: number(rest)?,
                    started: time(rest.get(4..)?)?,
                    ended: time(rest.get(12..)?)?,
                    full: found & 1 != 0,
                    left: found & 2 != 0,
                }
            }
            5 => Self::Unwatched(number(rest)?),
            6 => Self::Started,
            _ => return None,
        })
    }

    /// Sends it; a launcher that is gone has nothing to be told.
    pub(super) fn send(&self, pipe: BorrowedFd<'_>) {
        let packet = self.encode();
        let bytes = packet.bytes.get(..packet.length).unwrap_or_default();
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(pipe, bytes));
    }

    /// Takes the next one; `None` at the end, when the last holder of the other end is gone.
    pub(super) fn receive(pipe: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        let mut buffer = [0_u8; LIMIT];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut buffer))?;
        if count == 0 {
            return Ok(None);
        }
        let message = buffer.get(..count).and_then(Self::decode);
        message.map(Some).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

/// A packet pipe: (read end, write end).
pub(super) fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT)?)
}

/// Monotonic nanoseconds; the same clock inside and outside.
pub(super) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn messages_survive_the_pipe() {
        let (reader, writer) = channel().unwrap();
        let messages = [
            Message::Failed(SetupError { stage: Stage::Descriptors, errno: 22, detail: "x".into() }),
            Message::NotExecuted { errno: 2 },
            Message::Stopped(20),
            Message::Unwatched(16),
            Message::Degraded(Protection::Secrets, "no-throwaway: why".into()),
            Message::Exited { status: 256, started: 1, ended: u64::MAX, full: true, left: false },
            Message::Exited { status: 0, started: 1, ended: 2, full: false, left: true },
        ];
        for message in &messages {
            message.send(writer.as_fd());
        }
        drop(writer);
        for message in messages {
            assert_eq!(Message::receive(reader.as_fd()).unwrap(), Some(message));
        }
        assert_eq!(Message::receive(reader.as_fd()).unwrap(), None);
    }

    #[test]
    fn a_stage_is_where_its_number_says() {
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, index);
        }
        for (index, protection) in protection::ALL.into_iter().enumerate() {
            assert_eq!(protection as usize, index);
        }
    }

    #[test]
    fn long_details_are_cut_not_split() {
        let (reader, writer) = channel().unwrap();
        Message::Degraded(Protection::Reads, "x".repeat(5000)).send(writer.as_fd());
        drop(writer);
        assert!(
            matches!(Message::receive(reader.as_fd()).unwrap(), Some(Message::Degraded(_, text)) if text.len() == LIMIT - 2)
        );
        assert_eq!(Message::receive(reader.as_fd()).unwrap(), None);
    }
}
