//! The pipes between a command's standard output and error and the launcher.
//!
//! Danger: a pipe that a command's background process holds keeps whoever waits for its end waiting. Of a command that
//! may leave something running the launcher hands the bytes on, and lets go of the caller's own pipe when it ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::FileType;

use super::output::Stream;

/// Standard output and error, where they are handed on.
type Both<T> = Option<(T, T)>;

/// What is read here and handed on, and what the command writes to; nothing where its streams are the caller's own.
pub(super) fn relays() -> io::Result<(Both<Stream>, Both<OwnedFd>)> {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let (out_found, err_found) = (rustix::fs::fstat(&stdout)?, rustix::fs::fstat(&stderr)?);
    let flows = |mode| matches!(FileType::from_raw_mode(mode), FileType::Fifo | FileType::Socket);
    let (out_flows, err_flows) = (flows(out_found.st_mode), flows(err_found.st_mode));
    if !(out_flows || err_flows) {
        return Ok((None, None));
    }
    let (out_onward, err_onward) =
        (stdout.as_fd().try_clone_to_owned()?, stderr.as_fd().try_clone_to_owned()?);
    if (out_found.st_dev, out_found.st_ino) == (err_found.st_dev, err_found.st_ino) {
        // One pipe, so that what is written first comes first.
        let (reader, out) = pipe()?;
        let err = out.try_clone()?;
        let streams = (Stream::relay(Some(reader), out_onward), Stream::relay(None, err_onward));
        return Ok((Some(streams), Some((out, err))));
    }
    let way = |flows: bool, onward: OwnedFd| -> io::Result<(Stream, OwnedFd)> {
        if !flows {
            let inside = onward.try_clone()?;
            return Ok((Stream::relay(None, onward), inside));
        }
        let (reader, inside) = pipe()?;
        Ok((Stream::relay(Some(reader), onward), inside))
    };
    let ((out, out_inside), (err, err_inside)) = (way(out_flows, out_onward)?, way(err_flows, err_onward)?);
    Ok((Some((out, err)), Some((out_inside, err_inside))))
}
