//! Where the command waits until it is traced: it says who it is, and is told to go on.
//!
//! Danger: a command that passes before it is traced is held by a filter that answers ENOSYS, and nothing else.

use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

/// Makes the launcher's end ready to learn who waits.
pub(super) fn prepare(inlet: &UnixStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_passcred(inlet, true)?)
}

/// The thread that waits, as this process's PID namespace numbers it; `None` when there is none any more.
pub(super) fn take(inlet: &UnixStream) -> io::Result<Option<i32>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        let mut into = [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(inlet, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid.as_raw_nonzero().get()),
        _ => None,
    }))
}

/// Lets it go on: traced with 0, else untraced and with the errno that stood against it.
pub(super) fn open(mut inlet: &UnixStream, errno: i32) -> io::Result<()> {
    match inlet.write_all(&errno.to_ne_bytes()) {
        // It was killed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Waits, inside; gives why it is not traced.
pub(super) fn pass(mut outlet: &UnixStream) -> io::Result<Option<i32>> {
    outlet.write_all(&[0])?;
    let mut errno = [0; 4];
    outlet.read_exact(&mut errno)?;
    Ok(Some(i32::from_ne_bytes(errno)).filter(|errno| *errno != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_known_and_told() {
        let (inlet, outlet) = UnixStream::pair().unwrap();
        prepare(&inlet).unwrap();
        let waits = std::thread::spawn(move || (pass(&outlet).unwrap(), pass(&outlet).unwrap()));
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(take(&inlet).unwrap(), Some(own));
        open(&inlet, 0).unwrap();
        assert_eq!(take(&inlet).unwrap(), Some(own));
        open(&inlet, libc::EPERM).unwrap();
        assert_eq!(waits.join().unwrap(), (None, Some(libc::EPERM)));
        assert_eq!(take(&inlet).unwrap(), None);
    }
}
