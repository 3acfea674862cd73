//! Forbidden acts, tried by swbox's own code: the hidden `swbox __probe ACT [ARGUMENT…]`.
//!
//! `doctor` runs each act twice, outside (it must work, else the control proves nothing) and inside a real jail (it
//! must fail). An act says in one line what happened and ends with [`DONE`] or [`REFUSED`].
//!
//! Danger: these run on a user's host. None may change anything but files that `doctor` made for it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;

use crate::sys::attempt::{ATTEMPTS, attempt};

/// Exit code: the act worked.
pub const DONE: u8 = 0;
/// Exit code: the act was refused.
pub const REFUSED: u8 = 10;
/// Exit code: no such act.
pub const USAGE: u8 = 2;

/// The hidden subcommand that performs acts.
pub const SUBCOMMAND: &str = "__probe";

/// How long a held lock is held at most; it ends when its file is gone.
const HOLD: Duration = Duration::from_secs(20);

/// Performs the act that `words` name and prints what happened. Returns the exit code.
pub fn main(words: &[OsString]) -> u8 {
    let (name, arguments) = match words.split_first() {
        Some((name, arguments)) => (name.to_string_lossy(), arguments),
        None => return USAGE,
    };
    let Some(result) = perform(&name, arguments) else { return USAGE };
    let (code, line) = match result {
        Ok(()) => (DONE, "done".to_owned()),
        Err(error) => (REFUSED, error.to_string()),
    };
    // Nobody to tell when standard output is closed: the code says it.
    let _ = writeln!(io::stdout(), "{line}");
    code
}

/// The act of that name, or `None` where there is none or its arguments are not right.
fn perform(name: &str, arguments: &[OsString]) -> Option<io::Result<()>> {
    let text = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    let path = |at: usize| arguments.get(at).map(Path::new);
    Some(match name {
        "read" => fs::read(path(0)?).map(drop),
        "list" => fs::read_dir(path(0)?).map(drop),
        "write" => OpenOptions::new().append(true).open(path(0)?).and_then(|mut f| f.write_all(b"written\n")),
        "create" => OpenOptions::new().write(true).create_new(true).open(path(0)?).map(drop),
        "rename" => fs::rename(path(0)?, path(1)?),
        "chmod" => chmod(path(0)?),
        "connect-unix" => UnixStream::connect(path(0)?).map(drop),
        "connect-abstract" => connect_abstract(arguments.first()?),
        "connect-tcp" => {
            let address = text(0)?.parse().ok()?;
            TcpStream::connect_timeout(&address, Duration::from_secs(2)).map(drop)
        }
        "own-loopback" => own_loopback(),
        "send-udp" => send_udp(text(0)?),
        "signal" => {
            let pid = text(0)?.parse().ok().and_then(Pid::from_raw)?;
            rustix::process::test_kill_process(pid).map_err(Into::into)
        }
        "see" => see(text(0)?, text(1)?),
        "environment" => present(std::env::var_os(text(0)?).is_some()),
        "descriptor" => fs::symlink_metadata(format!("/proc/self/fd/{}", text(0)?)).map(drop),
        "privileges" => privileges(),
        "hold" => hold(path(0)?),
        "holder" => holder(path(0)?),
        "call" => {
            let (_, what) = ATTEMPTS.iter().find(|(name, _)| Some(*name) == text(0))?;
            attempt(*what)
        }
        _ => return None,
    })
}

fn present(there: bool) -> io::Result<()> {
    if there { Ok(()) } else { Err(io::Error::from(io::ErrorKind::NotFound)) }
}

fn connect_abstract(name: &OsStr) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name.as_bytes())?;
    UnixStream::connect_addr(&address).map(drop)
}

/// The mode the file has already: an act on the metadata that changes nothing.
fn chmod(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::metadata(path)?.permissions())
}

fn send_udp(address: &str) -> io::Result<()> {
    UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", address).map(drop)
}

/// Not forbidden but granted: a server and a client on the loopback of this place.
fn own_loopback() -> io::Result<()> {
    let server = std::net::TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect_timeout(&server.local_addr()?, Duration::from_secs(2)).map(drop)
}

/// Whether the process `pid` that has `word` on its command line can be seen.
fn see(pid: &str, word: &str) -> io::Result<()> {
    let line = fs::read(format!("/proc/{pid}/cmdline"))?;
    present(line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
}

/// Works where a privilege is held or could be gained. The bounding set is none: it only limits what an exec could give,
/// and with `no_new_privs` none gives anything; an ordinary user cannot empty it.
fn privileges() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(line.unwrap_or(":0").trim_start_matches(':').trim(), 16).unwrap_or(u64::MAX)
    };
    let held = ["CapInh", "CapPrm", "CapEff", "CapAmb"].into_iter().any(|set| field(set) != 0);
    if held || field("NoNewPrivs") == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

/// Leaves a process behind that holds a lock on `path`, in a session of its own.
fn hold(path: &Path) -> io::Result<()> {
    let holder = Command::new("/proc/self/exe")
        .args([OsStr::new(SUBCOMMAND), OsStr::new("holder"), path.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut byte = [0];
    holder.stdout.map_or(Ok(()), |mut output| output.read_exact(&mut byte))
}

/// What [`hold`] leaves behind.
fn holder(path: &Path) -> io::Result<()> {
    // A session of its own; it may be one already.
    let _ = rustix::process::setsid();
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    io::stdout().write_all(b"h")?;
    io::stdout().flush()?;
    let begun = std::time::Instant::now();
    while begun.elapsed() < HOLD && rustix::fs::fstat(&file)?.st_nlink > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
