//! Accepts the command's connections and serves each by what its first byte says: SOCKS5 or HTTP, on one port.
//!
//! Danger: the clients are the jailed command. Every wait for them has a limit and their number is bounded, so that they can
//! only starve themselves.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::dial::Gate;
use super::{http, socks};

/// Connections served at once; further ones wait in the listener's queue.
pub(super) const CONNECTIONS: usize = 256;
/// How long to wait when no descriptor is left.
const BREATH: Duration = Duration::from_millis(50);
/// Buffer of each direction of a tunnel.
const BUFFER: usize = 64 * 1024;
const SOCKS5: u8 = 5;

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Connections served at once.
    pub(super) connections: usize,
    /// How long a connection may stay silent before its first byte.
    pub(super) first_byte: Duration,
    /// How long a request's head or a SOCKS handshake may take, and how long an idle HTTP connection is kept.
    pub(super) head: Duration,
    /// How long a server may take for the head of its answer to a plain request.
    pub(super) answer: Duration,
    /// How long a tunnel of which one side has ended may stay silent.
    pub(super) lone: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            connections: CONNECTIONS,
            first_byte: minute,
            head: minute,
            answer: 10 * minute,
            lone: 10 * minute,
        }
    }
}

/// A connection's place among the [`Limits::connections`]; held as long as its tunnel lives.
pub(super) type Permit = Arc<OwnedSemaphorePermit>;

/// Serves a listener for ever.
pub(super) async fn serve(gate: Arc<Gate>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(gate.limits.connections));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::spawn(connection(Arc::clone(&gate), client, Arc::new(place)));
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn connection(gate: Arc<Gate>, client: TcpStream, permit: Permit) {
    let mut first = [0];
    let peeked = tokio::time::timeout(gate.limits.first_byte, client.peek(&mut first)).await;
    if client.set_nodelay(true).is_err() {
        return;
    }
    match (peeked, first) {
        (Ok(Ok(1)), [SOCKS5]) => socks::serve(gate, client).await,
        (Ok(Ok(1)), _) => http::serve(gate, client, permit).await,
        _ => {}
    }
}

/// Carries bytes both ways until both sides have ended. The end of one side is passed on as such; from then on the other
/// may not fall silent for longer than `lone`, since a client that is gone looks like one that only listens.
pub(super) async fn tunnel(mut client: TcpStream, mut upstream: TcpStream, lone: Duration) {
    let moved = AtomicU64::new(0);
    let (from_client, to_client) = client.split();
    let (from_upstream, to_upstream) = upstream.split();
    let mut up = pin!(carry(from_client, to_upstream, &moved));
    let mut down = pin!(carry(from_upstream, to_client, &moved));
    let (first, mut other): (_, Pin<&mut (dyn Future<Output = io::Result<()>> + Send)>) = tokio::select! {
        end = &mut up => (end, down),
        end = &mut down => (end, up),
    };
    if first.is_err() {
        return;
    }
    loop {
        let before = moved.load(Ordering::Relaxed);
        tokio::select! {
            _ = &mut other => return,
            () = tokio::time::sleep(lone) => {}
        }
        if moved.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

async fn carry(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, moved: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer).await? {
            0 => return to.shutdown().await,
            length => to.write_all(&buffer[..length]).await?,
        }
        moved.fetch_add(1, Ordering::Relaxed);
    }
}
