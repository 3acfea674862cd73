//! `__proxy`: the proxy process outside the jail, and the end of it that swbox holds.
//!
//! Danger: this process has the host's network. It lives no longer than swbox: the kernel kills it with the thread that started
//! it, and the end of its control socket ends it. It runs beside swbox because the launch path has one thread and no runtime.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::confine::confine;
use super::dial::Gate;
use super::log::{Line, Log, Report};
use super::resolve::{self, Resolver, Sources};
use super::serve;
use crate::diagnostic::Diagnostic;
use crate::hosts::HostList;
use crate::sys::process::{close_from, set_name};
use crate::sys::signal::Set;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__proxy";
/// How long the proxy may take for its report.
const REPORT_TIME: Duration = Duration::from_secs(2);
/// The longest start message.
const MAX_ORDER: u32 = 1 << 20;

/// What a proxy is started for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Order {
    /// The entries of the host list.
    pub hosts: Vec<String>,
    /// The state's name, for messages.
    pub state: String,
}

/// A running proxy process. Dropping it kills the process.
#[derive(Debug)]
pub struct Spawned {
    child: Child,
    control: UnixStream,
}

impl Spawned {
    /// Starts the proxy and hands it the listener that was bound inside the jail. It accepts a little later; until then
    /// connections wait in the listener's queue. The caller drops its own copies of the listener, inside and outside, so
    /// that a dead proxy is a refused connection.
    pub fn start(order: &Order, listener: BorrowedFd<'_>) -> Result<Self, Diagnostic> {
        let failed = |error: io::Error| {
            Diagnostic::new(
                "proxy_not_started",
                format!("the proxy for the host list cannot be started: {error}"),
            )
        };
        let (control, theirs) = UnixStream::pair().map_err(failed)?;
        // What it says as it dies belongs into the report as well.
        let last_words = theirs.try_clone().map_err(failed)?;
        let child = Command::new("/proc/self/exe")
            .arg0("swbox")
            .arg(SUBCOMMAND)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(OwnedFd::from(last_words)))
            .spawn()
            .map_err(failed)?;
        let spawned = Self { child, control };
        send(&spawned.control, order, listener).map_err(failed)?;
        Ok(spawned)
    }

    /// The process, for whoever waits for children.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the proxy and takes what it refused. To be called when the command's processes are dead.
    pub fn finish(mut self) -> Report {
        let mut text = String::new();
        let asked = self
            .control
            .shutdown(std::net::Shutdown::Write)
            .and_then(|()| self.control.set_read_timeout(Some(REPORT_TIME)))
            .and_then(|()| self.control.read_to_string(&mut text));
        let mut report = Report::read(&text);
        if let Err(error) = asked {
            report.problems.push(format!("the proxy's report was not had: {error}"));
        }
        report
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // It may have ended by itself; then neither call has anything to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(mut control: &UnixStream, order: &Order, listener: BorrowedFd<'_>) -> io::Result<()> {
    let text = serde_json::to_vec(order)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let listeners = [listener];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&listeners)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(
        control,
        &[IoSlice::new(&length.to_ne_bytes())],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    control.write_all(&text)
}

fn receive(mut control: &UnixStream) -> io::Result<(Order, TcpListener)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        control,
        &mut [IoSliceMut::new(&mut length)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
    )?;
    let listener = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let length = u32::from_ne_bytes(length);
    let (4, Some(listener), 0..=MAX_ORDER) = (received.bytes, listener, length) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no start message"));
    };
    let mut text = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    control.read_exact(&mut text)?;
    Ok((serde_json::from_slice(&text)?, TcpListener::from(listener)))
}

/// The life of the proxy process: until the control socket on stdin ends.
pub fn run() -> Result<(), Diagnostic> {
    let failed = |error: io::Error| Diagnostic::new("proxy_failed", format!("the proxy: {error}"));
    live().map_err(failed)
}

fn live() -> io::Result<()> {
    // Whatever swbox's caller left open would be an open door here; and swbox blocks all signals while it launches.
    close_from(3)?;
    Set::of(&[]).apply()?;
    set_name(c"swbox-proxy");
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (order, listener) = receive(&control)?;
    let list = HostList::parse(&order.hosts).map_err(|bad| io::Error::other(format!("{bad:?}")))?;
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let sources = Sources::parse(&read("/etc/hosts"), &read("/etc/resolv.conf"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let ports: Vec<u16> = list.ports().into_iter().chain(sources.server_ports()).collect();
    resolve::prepare_randomness();
    let problem = confine(ports.into_iter())
        .err()
        .map(|error| Line::Problem { message: format!("the proxy is not confined: {error}") });
    control.set_nonblocking(true)?;
    listener.set_nonblocking(true)?;
    runtime.block_on(async {
        let gate = Arc::new(Gate {
            list,
            resolver: Resolver::new(sources),
            log: Log::new(&order.state),
            limits: serve::Limits::default(),
        });
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut control = tokio::net::UnixStream::from_std(control)?;
        tokio::spawn(serve::serve(Arc::clone(&gate), listener));
        // Nothing is sent after the start message: what comes is the end.
        if control.read_u8().await.is_ok() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        for line in problem.into_iter().chain(gate.log.lines()) {
            let mut text = serde_json::to_vec(&line)?;
            text.push(b'\n');
            control.write_all(&text).await?;
        }
        Ok(())
    })
}
