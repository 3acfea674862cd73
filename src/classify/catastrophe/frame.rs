//! Compounds: what they open, and what they restore when they close.

use super::scan::{Level, Pipe, Reader, Scanner, Segment};

/// How many compounds may be open at once.
const MAX_FRAMES: usize = 256;

/// Which compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    If,
    Loop,
    Brace,
    Subshell,
    /// `case`, between patterns.
    CasePattern,
    /// `case`, in a clause.
    CaseBody,
}

/// An open compound, with what it restores when it closes.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) pipe: Pipe,
    pub(super) reader: Reader,
    pub(super) chained: bool,
    pub(super) branch: usize,
    pub(super) list_calls: usize,
    pub(super) conditional: bool,
    /// The function that this compound is the body of, with the one around it and what counts to restore.
    pub(super) function: Option<(usize, Option<usize>, u32, u32, usize)>,
    pub(super) saved: Option<super::Saved>,
}

impl Scanner<'_, '_> {
    pub(super) fn push(&mut self, level: &mut Level, kind: Kind) {
        level.seg = Segment::default();
        if level.frames.len() >= MAX_FRAMES {
            return;
        }
        let pipe = std::mem::take(&mut level.pipe);
        level.pipe = self.fresh_pipe();
        let outer_chained = level.chained;
        let function = level.defining.take().and_then(|(name, start)| {
            let index = self.state.define(name, self.span(start, self.pos))?;
            let saved =
                (index, self.state.current, self.state.conditions, self.state.forks, level.list_calls);
            self.state.current = Some(index);
            self.state.conditions = 0;
            self.state.forks = 0;
            level.chained = false;
            Some(saved)
        });
        let chained = level.chained;
        let conditional = function.is_none()
            && (chained || matches!(kind, Kind::If | Kind::Loop | Kind::CasePattern | Kind::CaseBody));
        self.state.conditions += u32::from(conditional);
        let branch = self.state.branch;
        self.state.next_branch(branch);
        let subshell = kind == Kind::Subshell;
        self.state.forks += u32::from(subshell && function.is_none());
        let saved = subshell.then(|| self.state.save());
        level.frames.push(Frame {
            kind,
            start: self.pos,
            pipe,
            reader: level.reader,
            chained: outer_chained,
            branch,
            list_calls: level.list_calls,
            conditional,
            function,
            saved,
        });
        level.reader = Reader::None;
        level.chained = false;
        level.list_calls = self.state.call_count();
    }

    /// Closes the innermost compound of a kind, with those that were left open within it.
    pub(super) fn pop_to(&mut self, level: &mut Level, kind: Kind) {
        if level.frames.iter().any(|frame| frame.kind == kind) {
            while level.frames.last().is_some_and(|frame| frame.kind != kind) {
                self.pop(level);
            }
            self.pop(level);
        }
    }

    pub(super) fn pop(&mut self, level: &mut Level) {
        let Some(frame) = level.frames.pop() else { return };
        let inner = level.reader;
        level.pipe = frame.pipe;
        level.reader = frame.reader.max(inner);
        level.chained = frame.chained;
        self.state.branch = frame.branch;
        level.list_calls = frame.list_calls;
        level.pipe.reader = level.pipe.reader.max(inner);
        level.pipe.bare = None;
        level.pipe.printed = None;
        level.seg = Segment { closed: true, start: self.pos, ..Segment::default() };
        if frame.conditional {
            self.state.conditions = self.state.conditions.saturating_sub(1);
        }
        if let Some(saved) = frame.saved {
            self.state.restore(saved);
            if frame.function.is_none() {
                self.state.forks = self.state.forks.saturating_sub(1);
            }
        }
        if let Some((index, current, conditions, forks, calls)) = frame.function {
            let body = self.src.get(frame.start..self.pos).unwrap_or(b"");
            if let Some(function) = self.state.functions.get_mut(index) {
                function.body = body.to_vec();
            }
            self.state.current = current;
            self.state.conditions = conditions;
            self.state.forks = forks;
            level.list_calls = calls;
        }
    }
}
