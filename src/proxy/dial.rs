//! The one door to the network: a target is judged, resolved, each address judged, and exactly a judged address dialled.
//!
//! Danger: there is no second resolution after the verdict, so a name server that answers differently the second time
//! (rebinding) gains nothing. Nobody else in the proxy opens a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::log::Log;
use super::resolve::{LookupError, Resolver};
use super::serve::Limits;
use crate::hosts::HostList;
use crate::hosts::{Host, Target};

/// How long one address may take to answer.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long an address has before the next one is tried beside it (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried.
const ADDRESSES: usize = 8;

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// The list refuses it; the text is for the client.
    Refused(String),
    /// The name has no address.
    Unresolved(String),
    /// No address answered.
    Unreachable(String, io::Error),
}

/// The list, the resolver, the record and the limits of one command.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) list: HostList,
    pub(super) resolver: Resolver,
    pub(super) log: Log,
    pub(super) limits: Limits,
}

impl Gate {
    /// Reads a host and a port as a client gave them.
    pub(super) fn target(&self, host: &str, port: u16) -> Result<Target, NoConnection> {
        match Host::parse(host) {
            Ok(host) => Ok(Target { host, port }),
            Err(why) => Err(NoConnection::Refused(self.log.bad_host(host, port, why))),
        }
    }

    /// Opens a connection to a target, if the list lets it.
    pub(super) async fn open(&self, target: &Target) -> Result<TcpStream, NoConnection> {
        let refused = |why| NoConnection::Refused(self.log.refused(target, why));
        let grant = self.list.admit(target).map_err(refused)?;
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                self.resolver.lookup(name).await.map_err(|error| unresolved(target, &error))?
            }
        };
        let mut admitted = Vec::new();
        let mut why = None;
        for address in addresses {
            let address = address.to_canonical();
            match self.list.admit_address(grant, address, target.port) {
                Ok(()) => admitted.push(SocketAddr::new(address, target.port)),
                Err(refusal) => why = why.or(Some(refusal)),
            }
        }
        match why {
            Some(why) if admitted.is_empty() => Err(refused(why)),
            _ => dial(alternate(admitted)).await.map_err(|error| {
                NoConnection::Unreachable(format!("swbox: {target} cannot be reached: {error}"), error)
            }),
        }
    }
}

fn unresolved(target: &Target, error: &LookupError) -> NoConnection {
    NoConnection::Unresolved(format!("swbox: host \"{}\": {error}", target.host))
}

/// The families in turn, each in its own order, IPv6 first.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (v6, v4): (Vec<_>, Vec<_>) = addresses.into_iter().partition(SocketAddr::is_ipv6);
    let mut turns = Vec::new();
    let (mut v6, mut v4) = (v6.into_iter(), v4.into_iter());
    loop {
        let before = turns.len();
        turns.extend(v6.next().into_iter().chain(v4.next()));
        if turns.len() == before || turns.len() >= ADDRESSES {
            return turns;
        }
    }
}

/// The first of these addresses that answers.
async fn dial(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut trying = JoinSet::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        match waiting.next() {
            Some(address) => {
                trying.spawn(async move {
                    tokio::time::timeout(CONNECT_TIME, TcpStream::connect(address)).await?
                });
            }
            None if trying.is_empty() => return Err(failed),
            None => {}
        }
        let answer = if waiting.len() == 0 {
            trying.join_next().await
        } else {
            match tokio::time::timeout(HEAD_START, trying.join_next()).await {
                Ok(answer) => answer,
                Err(_) => continue,
            }
        };
        match answer {
            Some(Ok(Ok(stream))) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Some(Ok(Err(error))) => failed = error,
            Some(Err(error)) => failed = io::Error::other(error),
            None => {}
        }
    }
}
