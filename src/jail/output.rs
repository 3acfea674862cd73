//! Capturing a stream of any length in bounded memory: the first bytes and the last ones.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::outcome::Captured;

/// What to do with the command's standard output and error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    /// They are swbox's own.
    Inherit,
    /// They are read through pipes, and at most this many bytes of each are kept: a fifth from the start, the rest from
    /// the end.
    Keep(usize),
}

impl Capture {
    /// How much is kept of each stream.
    pub(super) fn kept(self) -> usize {
        match self {
            Self::Inherit => 0,
            Self::Keep(limit) => limit,
        }
    }
}

/// Bytes that a reader which does not read holds up.
const PENDING: usize = 64 * 1024;

/// As much as a pipe that can be written takes at once.
const PIECE: usize = 4096;

/// One stream, which is kept or handed on.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    /// Where it is handed on, and what waits for that.
    onward: Option<OwnedFd>,
    pending: VecDeque<u8>,
    /// How much more is read, where it is not read to its end.
    left: Option<u64>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Stream {
    /// A stream that reads from `pipe` and keeps `limit` bytes.
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Self {
        Self { pipe: Some(pipe), ..Self::sink(limit) }
    }

    /// A stream that is given its bytes.
    pub(super) fn sink(limit: usize) -> Self {
        let head_limit = limit / 5;
        Self {
            pipe: None,
            onward: None,
            pending: VecDeque::new(),
            left: None,
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit,
            tail_limit: limit - head_limit,
            total: 0,
        }
    }

    /// What is kept so far as text, and how much is missing in its middle.
    pub(super) fn shown(&self) -> (String, u64) {
        let text = [&self.head[..], &self.tail.iter().copied().collect::<Vec<u8>>()].concat();
        let dropped = self.total.saturating_sub(text.len() as u64);
        (String::from_utf8_lossy(&text).into_owned(), dropped)
    }

    /// A stream that is read from `pipe`, where there is one, and handed on to `onward`.
    pub(super) fn relay(pipe: Option<OwnedFd>, onward: OwnedFd) -> Self {
        Self { pipe, onward: Some(onward), ..Self::sink(0) }
    }

    /// Where to read, until the end; not while more waits than may.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        let reads = self.pending.len() < PENDING && self.left != Some(0);
        self.pipe.as_ref().filter(|_| reads).map(AsFd::as_fd)
    }

    /// Where to write what waits.
    pub(super) fn onward(&self) -> Option<BorrowedFd<'_>> {
        self.onward.as_ref().filter(|_| !self.pending.is_empty()).map(AsFd::as_fd)
    }

    /// Hands on what can be without waiting; where nobody reads, the command is to hear of it.
    pub(super) fn hand_on(&mut self) {
        let Some(onward) = &self.onward else { return };
        let (first, _) = self.pending.as_slices();
        match rustix::io::write(onward, first.get(..first.len().min(PIECE)).unwrap_or_default()) {
            Ok(count) => drop(self.pending.drain(..count)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => {
                self.pending.clear();
                self.pipe = None;
            }
        }
    }

    /// From now on only what is in the pipe already is read.
    pub(super) fn end_with_what_is_there(&mut self) {
        let there = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok());
        self.left = Some(there.unwrap_or(0));
    }

    /// Whether something is still to be read of that, or to be handed on.
    pub(super) fn is_busy(&self) -> bool {
        !self.pending.is_empty() || (self.pipe.is_some() && self.left.is_some_and(|left| left > 0))
    }

    /// Whether it is kept, not handed on.
    pub(super) fn is_kept(&self) -> bool {
        self.onward.is_none()
    }

    /// The pipe, which others may still write to.
    pub(super) fn take_pipe(&mut self) -> Option<OwnedFd> {
        self.pipe.take()
    }

    /// Reads once; at the end the pipe is closed.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let most =
            self.left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let count = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut *buffer))?;
        if count == 0 {
            self.pipe = None;
        }
        self.left = self.left.map(|left| left.saturating_sub(count as u64));
        let bytes = buffer.get(..count).unwrap_or_default();
        match self.onward {
            Some(_) => self.pending.extend(bytes),
            None => self.keep(bytes),
        }
        Ok(())
    }

    /// Takes bytes.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend(first);
        let rest = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// What was kept.
    pub(super) fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(limit: usize) -> Stream {
        Stream::new(rustix::pipe::pipe().unwrap().0, limit)
    }

    #[test]
    fn everything_is_kept_up_to_the_limit() {
        let mut stream = stream(10);
        stream.keep(b"01234");
        stream.keep(b"56789");
        let kept = stream.finish();
        assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"01"[..], &b"23456789"[..]));
        assert_eq!(kept.dropped(), 0);
    }

    #[test]
    fn the_middle_is_dropped_and_counted() {
        let mut stream = stream(10);
        for chunk in [&b"ab"[..], b"cdefghijklmnop", b"qrstuvwxyz", b"1"] {
            stream.keep(chunk);
        }
        let kept = stream.finish();
        assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"ab"[..], &b"tuvwxyz1"[..]));
        assert_eq!((kept.total, kept.dropped()), (27, 17));
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing() {
        let mut stream = stream(0);
        stream.keep(b"abc");
        assert_eq!(stream.finish().dropped(), 3);
    }
}
