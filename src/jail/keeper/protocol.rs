//! What is said to a keeper and what it answers: one packet each, with descriptors beside it.
//!
//! Danger: both ends are swbox, but of two versions perhaps: what cannot be read is an error, never a guess.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest packet.
const LIMIT: usize = 160 * 1024;

/// Most descriptors beside one packet.
const DESCRIPTORS: usize = 8;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(super) enum Ask {
    /// A command wants to join. Answer: [`Answer::Spaces`] with the namespaces and the tree.
    Enter {
        /// For whom the session works: its process id outside and its beginning; beside it its pidfd.
        master: Option<(i32, u64)>,
    },
    /// From the command's first process; beside it its mount namespace. No answer.
    Begin,
    /// How many processes are left of the command of this connection.
    Left,
    /// They are a job from now on, and are ended with the connection unless they are kept; beside it the pipes that they may
    /// write to and the listener of their watched calls.
    Name {
        /// The job's id.
        job: String,
        /// The command, as it is shown.
        shown: String,
        /// Whether the last of the descriptors is where their watched calls arrive.
        watched: bool,
    },
    /// The job that was named through this connection goes on without it.
    Keep,
    /// They are killed.
    End,
    /// All jobs.
    List,
    /// What a job has written since its command ended: [`Answer::Output`].
    Output {
        /// Which.
        job: String,
    },
    /// A signal to each process of a job; 0 only counts.
    Signal {
        /// Which.
        job: String,
        /// The signal.
        signal: i32,
    },
    /// The end of the keeper and of everything that it holds.
    Quit,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub(super) enum Answer {
    /// Beside it user, network, IPC and PID namespace, and the tree.
    Spaces,
    /// How many processes there are.
    Processes {
        /// The number.
        count: usize,
    },
    /// The jobs.
    Jobs {
        /// Those that live and the last ones that do not.
        jobs: Vec<Seen>,
    },
    /// What a job wrote.
    Output {
        /// Its first and last bytes, not more than fit into a packet.
        text: String,
        /// Bytes between them that were dropped.
        dropped: u64,
    },
    /// Nothing is known under that name, or the request was none.
    Unknown,
}

/// A job as the keeper sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Its id.
    pub(super) job: String,
    /// Its command.
    pub(super) shown: String,
    /// How many processes it has.
    pub(super) processes: usize,
}

/// Sends one packet.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    beside: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(beside)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let slices = [IoSlice::new(&bytes)];
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(socket, &slices, &mut ancillary, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Takes one packet; `None` at the end of the connection.
pub(super) fn receive<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    // How long it is, without taking it: nearly all are short, and room for the longest is 40 pages.
    let look = RecvFlags::PEEK | RecvFlags::TRUNC;
    let (_, length) = rustix::io::retry_on_intr(|| rustix::net::recv(socket, &mut [0_u8; 0][..], look))?;
    if length > LIMIT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(
            socket.as_fd(),
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    let mut beside = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            beside.extend(descriptors);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let text = bytes.get(..received.bytes).unwrap_or_default();
    Ok(Some((serde_json::from_slice(text)?, beside)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn packets_come_whole_and_with_what_is_beside_them() {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let ask = Ask::Name { job: "j".into(), shown: "x \u{e9}".into(), watched: false };
        send(one.as_fd(), &ask, &[one.as_fd(), other.as_fd()]).unwrap();
        send(one.as_fd(), &Ask::Left, &[]).unwrap();
        let (first, beside) = receive::<Ask>(other.as_fd()).unwrap().unwrap();
        assert_eq!((first, beside.len()), (ask, 2));
        drop(beside);
        let (second, beside) = receive::<Ask>(other.as_fd()).unwrap().unwrap();
        assert_eq!((second, beside.len()), (Ask::Left, 0));
        send(one.as_fd(), &Answer::Output { text: "\0".repeat(20_000), dropped: 1 }, &[]).unwrap();
        assert!(receive::<Answer>(other.as_fd()).unwrap().is_some());
        send(one.as_fd(), &"what", &[]).unwrap();
        assert!(receive::<Ask>(other.as_fd()).is_err());
        drop(one);
        assert!(receive::<Ask>(other.as_fd()).unwrap().is_none());
    }
}
