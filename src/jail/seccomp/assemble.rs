//! Rows to classic BPF: architecture first, unreviewed numbers next, then a balanced tree over the numbers.
//!
//! A linear list costs twice at launch: the kernel runs the program once for every number when it is installed (to
//! cache what is always allowed), and each comparison is paid there. The tree has a depth of about seven.
//!
//! The program is built from its end: a conditional jump of BPF only goes forward, and at most 255 instructions, so
//! each target must exist when the jump is written. [`Assembler::near`] lays a stepping stone where it is too far.

use super::rule::{Answer, Arch, Case, Condition, Entry, Test};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const JUMP_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_GREATER_EQUAL: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const JUMP_SET: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
pub(super) const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// How far a conditional jump may go; below 255, as a stepping stone beside it moves the other target by one.
const REACH: usize = 250;

/// The position of an instruction, counted from the end of the program.
type Label = usize;

/// The rows of one call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    /// What of it is closed.
    pub(super) closed: Option<&'static Entry>,
    /// What of the rest is watched.
    pub(super) watched: Option<&'static Entry>,
    /// Whether the watcher is told of what is closed, and gives the answer.
    pub(super) told: bool,
}

impl Rows {
    /// The one answer that the call gets whatever its arguments are.
    fn plain(self) -> Option<Answer> {
        match (self.closed, self.watched) {
            (Some(closed), None) if closed.cases.is_empty() && !self.told => Some(closed.otherwise),
            (None, Some(watched)) if watched.cases.is_empty() => Some(watched.otherwise),
            _ => None,
        }
    }
}

/// What is found at one stretch of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Answer(Answer),
    Rows(Rows),
}

#[derive(Default)]
struct Assembler {
    /// The program, last instruction first.
    reversed: Vec<libc::sock_filter>,
}

impl Assembler {
    fn push(&mut self, code: u16, k: u32, jt: u8, jf: u8) -> Label {
        self.reversed.push(libc::sock_filter { code, jt, jf, k });
        self.reversed.len() - 1
    }

    /// How many instructions a jump written now would skip.
    fn distance(&self, label: Label) -> usize {
        self.reversed.len() - 1 - label
    }

    /// `label`, or a stepping stone to it.
    fn near(&mut self, label: Label) -> Label {
        let far = self.distance(label);
        if far <= REACH {
            return label;
        }
        let target = self.reversed[label];
        if target.code == RETURN {
            self.push(RETURN, target.k, 0, 0)
        } else {
            let far = u32::try_from(far).unwrap_or(u32::MAX);
            self.push(JUMP, far, 0, 0)
        }
    }

    fn branch(&mut self, code: u16, k: u32, yes: Label, no: Label) -> Label {
        let (yes, no) = (self.near(yes), self.near(no));
        let skip = |distance| u8::try_from(distance).unwrap_or(u8::MAX);
        let (jt, jf) = (skip(self.distance(yes)), skip(self.distance(no)));
        self.push(code, k, jt, jf)
    }

    fn answer(&mut self, answer: Answer) -> Label {
        let k = answer.ret();
        let from = self.reversed.len().saturating_sub(REACH);
        match self.reversed[from..].iter().position(|i| i.code == RETURN && i.k == k) {
            Some(at) => from + at,
            None => self.push(RETURN, k, 0, 0),
        }
    }

    fn condition(&mut self, condition: Condition, yes: Label, no: Label) -> Label {
        let low = ARGUMENTS + 8 * u32::from(condition.argument);
        match condition.test {
            Test::Is(value) => self.branch(JUMP_EQUAL, value, yes, no),
            Test::Any(mask) => self.branch(JUMP_SET, mask, yes, no),
            Test::Masked(mask, value) => {
                self.branch(JUMP_EQUAL, value, yes, no);
                self.push(AND, mask, 0, 0)
            }
            Test::Set64 => {
                self.branch(JUMP_EQUAL, 0, no, yes);
                let low_half = self.push(LOAD, low, 0, 0);
                let yes = self.near(yes);
                self.branch(JUMP_EQUAL, 0, low_half, yes);
                return self.push(LOAD, low + 4, 0, 0);
            }
        };
        self.push(LOAD, low, 0, 0)
    }

    fn case(&mut self, case: &Case, answer: Label, next: Label) -> Label {
        case.all.iter().rev().fold(answer, |yes, condition| self.condition(*condition, yes, next))
    }

    fn leaf(&mut self, leaf: Leaf) -> Label {
        match leaf {
            Leaf::Answer(answer) => self.answer(answer),
            Leaf::Rows(rows) => {
                let open = match rows.watched {
                    Some(watched) => self.row(watched, |this, answer| this.answer(answer)),
                    None => self.answer(Answer::Allow),
                };
                let Some(closed) = rows.closed else { return open };
                self.row(closed, |this, answer| match answer {
                    Answer::Allow => open,
                    answer if rows.told => this.answer(told(answer)),
                    answer => this.answer(answer),
                })
            }
        }
    }

    /// The cases of `entry` in order; `place` is where an answer leads.
    fn row(&mut self, entry: &Entry, mut place: impl FnMut(&mut Self, Answer) -> Label) -> Label {
        let mut next = place(self, entry.otherwise);
        for case in entry.cases.iter().rev() {
            let answer = place(self, case.answer);
            next = self.case(case, answer, next);
        }
        next
    }

    /// The tree over `stretches`, each from its number to the next one's. Never empty.
    fn tree(&mut self, stretches: &[(u32, Leaf)]) -> Label {
        let (low, high) = stretches.split_at(stretches.len() / 2);
        if low.is_empty() {
            return self.leaf(high[0].1);
        }
        let above = self.tree(high);
        let below = self.tree(low);
        self.branch(JUMP_GREATER_EQUAL, high[0].0, above, below)
    }
}

/// What the filter answers in place of a refusal that the watcher is told of.
pub(super) const fn told(answer: Answer) -> Answer {
    match answer {
        Answer::Perm => Answer::Watch,
        answer => answer,
    }
}

/// The numbers as stretches of one leaf each, without the ones that repeat their neighbour.
fn stretches(rows: &[(u32, Rows)], arch: Arch) -> Vec<(u32, Leaf)> {
    let allow = Leaf::Answer(Answer::Allow);
    let mut list = vec![(0, allow)];
    for (number, rows) in rows {
        let leaf = rows.plain().map_or(Leaf::Rows(*rows), Leaf::Answer);
        list.extend([(*number, leaf), (number + 1, allow)]);
    }
    list.push((arch.newest() + 1, Leaf::Answer(Answer::NoSys)));
    // A later stretch at the same number replaces the earlier one, which is empty.
    list.reverse();
    list.dedup_by_key(|(number, _)| *number);
    list.reverse();
    list.dedup_by(|b, a| a.1 == b.1);
    list
}

/// The whole program for `rows`, which are sorted by number and have no number twice.
pub(super) fn program(rows: &[(u32, Rows)], arch: Arch) -> Vec<libc::sock_filter> {
    let mut assembler = Assembler::default();
    assembler.tree(&stretches(rows, arch));
    let numbers = assembler.push(LOAD, NUMBER, 0, 0);
    let foreign = assembler.answer(Answer::Kill);
    assembler.branch(JUMP_EQUAL, arch.audit(), numbers, foreign);
    assembler.push(LOAD, ARCHITECTURE, 0, 0);
    assembler.reversed.reverse();
    assembler.reversed
}
