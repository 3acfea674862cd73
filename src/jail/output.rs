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

/// One captured stream.
#[derive(Debug)]
pub(super) struct Stream {
    pipe: Option<OwnedFd>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Stream {
    /// A stream that reads from `pipe` and keeps `limit` bytes.
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Self {
        let head_limit = limit / 5;
        Self {
            pipe: Some(pipe),
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit,
            tail_limit: limit - head_limit,
            total: 0,
        }
    }

    /// Where to read, until the end.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads once; at the end the pipe is closed.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let count = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut *buffer))?;
        if count == 0 {
            self.pipe = None;
        }
        self.keep(buffer.get(..count).unwrap_or_default());
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
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
