//! Everything that was seen of one command, each thing once, in bounded memory.
//!
//! Danger: a command can do as many different things as it likes. What no longer fits is counted, never kept.

use std::collections::HashMap;

use super::observed::{Denial, Observed, Program, Touch};

/// How many different things of a kind are kept.
const KEPT: usize = 10_000;

/// How many touched files are kept.
const KEPT_FILES: usize = 100_000;

/// One thing and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted<T> {
    /// What.
    pub what: T,
    /// How often.
    pub times: u64,
}

/// What was seen, in the order of first sight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Files that are not what they were. Complete when the command has ended.
    pub touched: Vec<Touch>,
    /// What the jail refused.
    pub denials: Vec<Counted<Denial>>,
    /// Programs that ran or were stopped.
    pub programs: Vec<Counted<Program>>,
    /// Calls that could not be read: call, why.
    pub unseen: Vec<Counted<(&'static str, &'static str)>>,
    /// How many things were not kept because there were too many different ones.
    pub dropped: u64,
    /// How many calls were handed over.
    pub calls: u64,
    /// Where each thing is in its list.
    index: HashMap<Key, usize>,
}

/// What makes two things the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Denial(Denial),
    Program(Program),
    Unseen(&'static str, &'static str),
}

impl Seen {
    /// Notes `what`; whether it is new.
    pub fn note(&mut self, what: &Observed) -> bool {
        match what {
            Observed::Touch(touch) => {
                let room = self.touched.len() < KEPT_FILES;
                if room {
                    self.touched.push(touch.clone());
                } else {
                    self.dropped += 1;
                }
                room
            }
            Observed::Denial(denial) => {
                let key = Key::Denial(denial.clone());
                count(&mut self.denials, &mut self.index, &mut self.dropped, key, || denial.clone())
            }
            Observed::Program(program) => {
                let key = Key::Program(program.clone());
                count(&mut self.programs, &mut self.index, &mut self.dropped, key, || program.clone())
            }
            Observed::Unseen { call, why } => {
                let key = Key::Unseen(call, why);
                count(&mut self.unseen, &mut self.index, &mut self.dropped, key, || (*call, *why))
            }
        }
    }
}

/// Counts a thing in its list; whether it was put there now.
fn count<T>(
    list: &mut Vec<Counted<T>>,
    index: &mut HashMap<Key, usize>,
    dropped: &mut u64,
    key: Key,
    what: impl FnOnce() -> T,
) -> bool {
    if let Some(counted) = index.get(&key).and_then(|at| list.get_mut(*at)) {
        counted.times += 1;
        return false;
    }
    if list.len() >= KEPT {
        *dropped += 1;
        return false;
    }
    index.insert(key, list.len());
    list.push(Counted { what: what(), times: 1 });
    true
}
