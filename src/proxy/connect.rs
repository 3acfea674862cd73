//! `__connect HOST PORT`: asks the proxy for a connection and carries stdin and stdout over it, as ssh's ProxyCommand.
//!
//! Runs inside the jail with the rights of the command; it opens nothing that the command could not open itself.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};

use super::environment::PORT;
use crate::diagnostic::Diagnostic;

/// The longest answer head that is read.
const MAX_HEAD: u64 = 16 * 1024;

/// Connects and carries until both directions have ended.
pub fn run(host: &str, port: &str) -> Result<(), Diagnostic> {
    let failed = |error: io::Error| {
        Diagnostic::new(
            "proxy_unreachable",
            format!("swbox's proxy cannot be asked for {host}:{port}: {error}"),
        )
    };
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).map_err(failed)?;
    let mut answers = BufReader::new(stream.try_clone().map_err(failed)?);
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    write!(&stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").map_err(failed)?;
    if let Some(refusal) = read_answer(&mut answers).map_err(failed)? {
        return Err(Diagnostic::new("proxy_refused", refusal));
    }
    let upwards = std::thread::spawn(move || {
        // The far side may stop listening first; ssh then learns it from its own stream.
        let _ = io::copy(&mut io::stdin().lock(), &mut &stream);
        let _ = stream.shutdown(Shutdown::Write);
    });
    carry(&mut answers, &mut io::stdout().lock()).map_err(failed)?;
    // The far side is done: what stdin still holds has no reader, so nobody waits for its end.
    drop(upwards);
    Ok(())
}

/// Copies with a flush after each piece: stdout is line-buffered and ssh's packets are no lines.
fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..length])?;
        to.flush()?;
    }
}

/// Reads the answer's head; the text of the body where it is no success.
fn read_answer(answers: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = answers.take(MAX_HEAD);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let granted = line.split(' ').nth(1).is_some_and(|status| status.starts_with('2'));
    let mut length = 0;
    loop {
        let mut header = String::new();
        if head.read_line(&mut header)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    if granted {
        return Ok(None);
    }
    let mut body = String::new();
    answers.take(length.min(MAX_HEAD)).read_to_string(&mut body)?;
    Ok(Some(body.trim().trim_start_matches("swbox: ").to_owned()))
}
