//! The proxy's HTTP side: `CONNECT host:port` tunnels, and plain `http://` requests passed on one by one.
//!
//! Danger: what is judged must be what is dialled and what the server is told. The target comes from the request line
//! alone, a `Host` that says otherwise is an error, and the message is framed anew, so that nothing rides behind it.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, Scheme};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::dial::{Gate, NoConnection};
use super::serve::{Permit, tunnel};
use crate::hosts::{Host, Target};

const MAX_HEADERS: usize = 128;
const MAX_HEAD: usize = 64 * 1024;

type Answer = Response<Either<Incoming, Full<Bytes>>>;

/// Serves one client connection until it ends.
pub(super) async fn serve(gate: Arc<Gate>, client: TcpStream, permit: Permit) {
    let head_time = gate.limits.head;
    let service = service_fn(move |request| {
        let (gate, permit) = (Arc::clone(&gate), Permit::clone(&permit));
        async move { Ok::<_, Infallible>(answer(gate, request, permit).await.unwrap_or_else(refusal)) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .half_close(true)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(client), service)
        .with_upgrades();
    // A client that breaks off or talks nonsense ends its own connection only.
    let _ = connection.await;
}

async fn answer(
    gate: Arc<Gate>,
    request: Request<Incoming>,
    permit: Permit,
) -> Result<Answer, (StatusCode, String)> {
    if request.method() == Method::CONNECT {
        connect(gate, request, permit).await
    } else {
        forward(&gate, request).await
    }
}

async fn connect(
    gate: Arc<Gate>,
    mut request: Request<Incoming>,
    permit: Permit,
) -> Result<Answer, (StatusCode, String)> {
    if request.uri().scheme().is_some() {
        return Err(bad("CONNECT takes `host:port`"));
    }
    let authority = authority(request.uri())?;
    let port = authority.port_u16().ok_or_else(|| bad("CONNECT needs a port"))?;
    let target = checked_target(&gate, &authority, port, request.headers(), None)?;
    let upstream = gate.open(&target).await.map_err(status)?;
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(&mut request).await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return };
        let mut upstream = upstream;
        if upstream.write_all(&parts.read_buf).await.is_ok() {
            tunnel(parts.io.into_inner(), upstream, gate.limits.lone).await;
        }
        drop(permit);
    });
    Ok(Response::new(Either::Right(Full::default())))
}

async fn forward(gate: &Gate, request: Request<Incoming>) -> Result<Answer, (StatusCode, String)> {
    let uri = request.uri();
    if uri.scheme().is_none() {
        return Err(bad("this is a proxy: it takes `CONNECT host:port` and `GET http://host/path`"));
    }
    if uri.scheme() != Some(&Scheme::HTTP) {
        return Err(bad("only http:// is passed on; other schemes go through CONNECT"));
    }
    let authority = authority(uri)?;
    let port = authority.port_u16().unwrap_or(80);
    let target = checked_target(gate, &authority, port, request.headers(), Some(80))?;
    let host = match port {
        80 => target.host.to_string(),
        _ => target.to_string(),
    };
    let request = onward(request, &host)?;
    let upstream = gate.open(&target).await.map_err(status)?;
    let lost = |error: hyper::Error| (StatusCode::BAD_GATEWAY, format!("swbox: {target}: {error}"));
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(upstream))
        .await
        .map_err(lost)?;
    tokio::spawn(connection);
    let answered = tokio::time::timeout(gate.limits.answer, sender.send_request(request)).await;
    let silent = |_| (StatusCode::GATEWAY_TIMEOUT, format!("swbox: {target} does not answer"));
    let mut response = answered.map_err(silent)?.map_err(lost)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err((StatusCode::BAD_GATEWAY, format!("swbox: {target} switched protocols unasked")));
    }
    strip_hop_by_hop(response.headers_mut());
    Ok(response.map(Either::Left))
}

/// The request as the server gets it: origin form, the judged host, no header that was meant for the proxy.
fn onward(request: Request<Incoming>, host: &str) -> Result<Request<Incoming>, (StatusCode, String)> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse().map_err(|_| bad("the path cannot be read"))?;
    parts.version = hyper::Version::HTTP_11;
    strip_hop_by_hop(&mut parts.headers);
    // The body is asked for here, so the client was told to go on already.
    parts.headers.remove(header::EXPECT);
    let host = HeaderValue::from_str(host).map_err(|_| bad("the host cannot be read"))?;
    parts.headers.insert(header::HOST, host);
    Ok(Request::from_parts(parts, body))
}

/// The authority of the request line, without the user part that would only mislead.
fn authority(uri: &Uri) -> Result<Authority, (StatusCode, String)> {
    let authority = uri.authority().ok_or_else(|| bad("the request names no host"))?;
    if authority.as_str().contains('@') {
        return Err(bad("a user in the address is not passed on"));
    }
    if authority.port_u16() == Some(0) || authority.as_str().ends_with(':') {
        return Err(bad("the port cannot be read"));
    }
    Ok(authority.clone())
}

/// The target of the request line; a `Host` header must name the same.
fn checked_target(
    gate: &Gate,
    authority: &Authority,
    port: u16,
    headers: &HeaderMap,
    default_port: Option<u16>,
) -> Result<Target, (StatusCode, String)> {
    let target = gate.target(authority.host(), port).map_err(status)?;
    let mut hosts = headers.get_all(header::HOST).iter();
    let Some(first) = hosts.next() else { return Ok(target) };
    if hosts.next().is_some() {
        return Err(bad("more than one Host header"));
    }
    let said: Option<Authority> = first.to_str().ok().and_then(|text| text.parse().ok());
    let agrees = said.is_some_and(|said| {
        let said_port = said.port_u16().or(default_port).unwrap_or(port);
        !said.as_str().contains('@')
            && Host::parse(said.host()) == Ok(target.host.clone())
            && said_port == port
    });
    if agrees { Ok(target) } else { Err(bad("the Host header names another host than the request line")) }
}

/// Headers that are about this hop (RFC 9110, 7.6.1), and those that `Connection` names.
fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        // These frame the message and are set anew; a `Connection: host` must not take them away.
        if name != header::HOST && name != header::CONTENT_LENGTH {
            headers.remove(name);
        }
    }
    for name in [
        header::CONNECTION,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ] {
        headers.remove(name);
    }
}

fn bad(why: &str) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, format!("swbox: {why}"))
}

fn status(error: NoConnection) -> (StatusCode, String) {
    match error {
        NoConnection::Refused(text) => (StatusCode::FORBIDDEN, text),
        NoConnection::Unresolved(text) => (StatusCode::BAD_GATEWAY, text),
        NoConnection::Unreachable(text, error) if error.kind() == std::io::ErrorKind::TimedOut => {
            (StatusCode::GATEWAY_TIMEOUT, text)
        }
        NoConnection::Unreachable(text, _) => (StatusCode::BAD_GATEWAY, text),
    }
}

fn refusal((status, mut text): (StatusCode, String)) -> Answer {
    text.push('\n');
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
