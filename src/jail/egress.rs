//! The way of the host list's listener: bound inside, handed out, given to the proxy process outside.
//!
//! Danger: the command must not run before the proxy does, and no copy of the listener may stay behind: with the proxy dead
//! a connection is refused, not left waiting.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::diagnostic::Diagnostic;
use crate::proxy::environment::PORT;
use crate::proxy::{Order, Spawned};

/// Inside: binds the listener on the own loopback, which must be up, and hands it out.
pub(super) fn hand_out(outside: &UnixStream) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [listener.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(outside, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Inside: waits until the proxy has been started; an error when it has not.
pub(super) fn await_proxy(mut outside: &UnixStream) -> io::Result<()> {
    outside.read_exact(&mut [0])
}

/// Outside: takes the listener and starts the proxy with it. `None` when the inside ended before; it reports why itself.
pub(super) fn start(order: &Order, mut inside: &UnixStream) -> Result<Option<Spawned>, Diagnostic> {
    let failed = |error: io::Error| {
        Diagnostic::new(
            "proxy_not_started",
            format!("the proxy for the host list cannot be started: {error}"),
        )
    };
    let Some(listener) = take(inside).map_err(failed)? else { return Ok(None) };
    let proxy = Spawned::start(order, listener.as_fd())?;
    inside.write_all(&[0]).map_err(failed)?;
    Ok(Some(proxy))
}

fn take(inside: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(
            inside,
            &mut [IoSliceMut::new(&mut byte)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    Ok(ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}
