//! Fork bombs: functions that start themselves twice at a time.
//!
//! The shape is judged on the call graph: a function that, without any condition, calls members of its own cycle at
//! least twice, one of them in a process of its own. Recursion under a condition (a tree walk, a parallel sort) is none.

use super::State;
use crate::shell::Span;

/// A function definition and the calls that its body makes.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Vec<u8>,
    pub(super) body: Vec<u8>,
    pub(super) span: Span,
    pub(super) calls: Vec<Call>,
    /// A `return` or `exit` under a condition was seen: later calls depend on it.
    pub(super) guarded: bool,
    /// The body is being run with known arguments.
    pub(super) active: bool,
}

/// A call of something by name within a function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: Vec<u8>,
    /// In a process of its own: a pipe, a subshell, the background.
    pub(super) forked: bool,
    pub(super) conditional: bool,
    /// Joined by a pipe to a call of the same name, both without arguments.
    pub(super) twin: bool,
}

const MAX_CALLS: usize = 64;
const MAX_FUNCTIONS: usize = 64;

impl State {
    /// Starts a function; its index, or none when there are too many.
    pub(super) fn define(&mut self, name: Vec<u8>, span: Span) -> Option<usize> {
        if self.functions.len() >= MAX_FUNCTIONS {
            return None;
        }
        self.functions.push(Function {
            name,
            body: Vec::new(),
            span,
            calls: Vec::new(),
            guarded: false,
            active: false,
        });
        Some(self.functions.len() - 1)
    }

    /// Records a call in the body that is being read.
    pub(super) fn record_call(&mut self, name: &[u8], forked: bool, conditional: bool, twin: bool) {
        let Some(function) = self.current.and_then(|index| self.functions.get_mut(index)) else { return };
        if function.calls.len() >= MAX_CALLS {
            return;
        }
        let forked = forked || self.forks > 0;
        let conditional = conditional || self.conditions > 0 || function.guarded;
        function.calls.push(Call { name: name.to_vec(), forked, conditional, twin });
    }

    /// How many calls the current body has made so far.
    pub(super) fn call_count(&self) -> usize {
        self.current.and_then(|index| self.functions.get(index)).map_or(0, |function| function.calls.len())
    }

    /// All calls since `from` run in the background.
    pub(super) fn fork_calls_since(&mut self, from: usize) {
        if let Some(function) = self.current.and_then(|index| self.functions.get_mut(index)) {
            for call in function.calls.iter_mut().skip(from) {
                call.forked = true;
            }
        }
    }

    /// Reports the first function that multiplies itself.
    pub(super) fn judge_functions(&mut self) {
        let bomb = (0..self.functions.len()).find(|index| self.multiplies(*index));
        if let Some(span) = bomb.and_then(|index| self.functions.get(index)).map(|function| function.span) {
            self.report("fork_bomb", span);
        }
    }

    fn multiplies(&self, index: usize) -> bool {
        let Some(function) = self.functions.get(index) else { return false };
        if function.calls.iter().any(|call| call.twin && call.name == function.name) {
            return true;
        }
        let (mut calls, mut forked) = (0, false);
        for call in function.calls.iter().filter(|call| !call.conditional) {
            if self.leads_to(&call.name, &function.name) {
                calls += 1;
                forked |= call.forked;
            }
        }
        calls >= 2 && forked
    }

    /// Whether calling `from` ends in a call of `to`, without any condition.
    fn leads_to(&self, from: &[u8], to: &[u8]) -> bool {
        let mut seen: Vec<&[u8]> = Vec::new();
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            if name == to {
                return true;
            }
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            for function in self.functions.iter().filter(|function| function.name == name) {
                open.extend(function.calls.iter().filter(|call| !call.conditional).map(|call| &*call.name));
            }
        }
        false
    }
}
