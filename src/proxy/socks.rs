//! The proxy's SOCKS5 side: CONNECT with a name or an address; no authentication, no BIND, no UDP.
//!
//! Danger: an address in a SOCKS request was resolved by somebody else; it is judged as an address and must be listed.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use fast_socks5::server::{Socks5ServerProtocol, states::CommandRead};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use tokio::net::TcpStream;

use super::dial::{Gate, NoConnection};
use super::serve::tunnel;

type Asked = Socks5ServerProtocol<TcpStream, CommandRead>;

/// Serves one client connection until it ends.
pub(super) async fn serve(gate: Arc<Gate>, client: TcpStream) {
    let handshake = async { Socks5ServerProtocol::accept_no_auth(client).await?.read_command().await };
    // Nobody is there to be told when the handshake fails: the connection ends.
    let Ok(Ok((asked, command, to))) = tokio::time::timeout(gate.limits.head, handshake).await else {
        return;
    };
    match open(&gate, command, &to).await {
        Ok(upstream) => {
            let unspecified = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let local = upstream.local_addr().unwrap_or(unspecified);
            if let Ok(client) = asked.reply_success(local).await {
                tunnel(client, upstream, gate.limits.lone).await;
            }
        }
        Err(error) => refuse(asked, &error).await,
    }
}

async fn open(gate: &Gate, command: Socks5Command, to: &TargetAddr) -> Result<TcpStream, ReplyError> {
    if command != Socks5Command::TCPConnect {
        return Err(ReplyError::CommandNotSupported);
    }
    let (host, port) = match to {
        TargetAddr::Ip(address) => (address.ip().to_string(), address.port()),
        TargetAddr::Domain(name, port) => (name.clone(), *port),
    };
    let opened = match gate.target(&host, port) {
        Ok(target) => gate.open(&target).await,
        Err(error) => Err(error),
    };
    opened.map_err(|error| match error {
        NoConnection::Refused(_) => ReplyError::ConnectionNotAllowed,
        NoConnection::Unresolved(_) => ReplyError::HostUnreachable,
        NoConnection::Unreachable(_, error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => ReplyError::ConnectionRefused,
            io::ErrorKind::NetworkUnreachable => ReplyError::NetworkUnreachable,
            _ => ReplyError::HostUnreachable,
        },
    })
}

async fn refuse(asked: Asked, error: &ReplyError) {
    // The client may be gone; then there is nobody to tell.
    let _ = asked.reply_error(error).await;
}
