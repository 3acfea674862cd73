//! The independent check for the five shapes that nothing overrides.
//!
//! Duty: find `rm -r` of the root or the home directory, and fork bombs, by meaning: at any nesting, under any
//! spelling, with text in quotes and data heredocs left alone. Danger: it is the last question before the jail, so it
//! shares no code with the lexer and the tree; a fault of theirs must not be a fault of this check.
//!
//! It reads the text once with its own small tokenizer, keeps what it can know of variables, functions and the working
//! directory, and looks into every string that a shell would run (`sh -c`, `eval`, heredocs fed to a shell …). It is
//! total: look-ahead, nested texts and expansion each have a budget, and running out of one only makes it see less
//! (the main path calls such lines untrusted).

mod bomb;
mod code;
mod command;
mod expand;
mod frame;
mod heredoc;
mod iterate;
mod launch;
mod names;
mod parameter;
mod scan;
mod strings;
mod target;

use std::rc::Rc;

use super::Catastrophe;
use crate::shell::Span;

/// What a byte of an evaluated word stands for when it is no plain text: bytes that UTF-8 never contains.
mod mark {
    /// Output of a process substitution.
    pub(super) const PROCESS: u8 = 0xC0;
    /// The user's own name.
    pub(super) const USER: u8 = 0xC1;
    /// An unquoted `{`.
    pub(super) const OPEN: u8 = 0xF5;
    /// An unquoted `,`.
    pub(super) const COMMA: u8 = 0xF6;
    /// An unquoted `}`.
    pub(super) const CLOSE: u8 = 0xF7;
    /// The home directory by `$HOME`.
    pub(super) const HOME: u8 = 0xF8;
    /// The home directory by `~`.
    pub(super) const TILDE: u8 = 0xF9;
    /// Text that is not known, in quotes.
    pub(super) const UNKNOWN: u8 = 0xFA;
    /// Text that is not known and may become several words.
    pub(super) const LOOSE: u8 = 0xFB;
    /// An active `*`.
    pub(super) const STAR: u8 = 0xFC;
    /// An active `?`.
    pub(super) const ANY: u8 = 0xFD;
    /// An active `[`.
    pub(super) const SET: u8 = 0xFE;
    /// A word boundary that came out of an expansion.
    pub(super) const SPLIT: u8 = 0xFF;
}

/// How deep texts may nest.
const MAX_DEPTH: u32 = 48;
/// How many variables are remembered, and how long a value or directory.
const MAX_VARIABLES: usize = 64;
const MAX_VALUE: usize = 4096;
const MAX_DIRECTORY: usize = 256;

/// The first catastrophe in `source`, if any.
pub fn find(source: &str) -> Option<Catastrophe> {
    let mut state = State::new(source.len());
    scan::Scanner::new(source.as_bytes(), None, &mut state).list(scan::End::Text);
    state.judge_functions();
    state.found
}

/// What is known while a script is read; shared by all texts nested in it.
#[derive(Debug)]
struct State {
    found: Option<Catastrophe>,
    variables: Rc<Vec<Variable>>,
    /// `$1 …` where they are known.
    positional: Option<Vec<Vec<u8>>>,
    /// The working directory as a path; empty when unknown.
    directory: Vec<u8>,
    functions: Vec<bomb::Function>,
    /// The function whose body is being read.
    current: Option<usize>,
    /// The branch being read: commands of one branch run all or not at all.
    branch: usize,
    /// The branch around each branch; the first is its own.
    branches: Vec<usize>,
    /// How many conditional constructs lie around, within the current function.
    conditions: u32,
    /// How many subshells lie around, within the current function.
    forks: u32,
    /// What the last simple command printed, where known.
    output: Option<Vec<u8>>,
    /// The last simple command prints its standard input (`cat`): a heredoc read after it is its output.
    echoes_input: bool,
    /// Outputs of process substitutions of the current segment.
    process_output: Vec<Vec<u8>>,
    /// A `>(…)` of the current segment runs a shell on what it is fed.
    process_shell: bool,
    depth: u32,
    pipelines: u32,
    /// Bytes that nested texts may still cost.
    nested_budget: usize,
    /// Steps that look-ahead and brace expansion may still cost.
    ahead_budget: usize,
}

/// Whether a branch is `inner` or lies around it.
fn encloses(branches: &[usize], outer: usize, inner: usize) -> bool {
    let mut at = inner;
    while at > outer {
        at = branches[at];
    }
    at == outer
}

/// What a subshell does not change for the shell around it.
#[derive(Debug)]
struct Saved {
    directory: Vec<u8>,
    variables: Rc<Vec<Variable>>,
}

/// A variable that the text set.
#[derive(Debug, Clone)]
struct Variable {
    name: Vec<u8>,
    value: Vec<u8>,
    /// The branch in which it was set.
    branch: usize,
}

impl State {
    fn new(length: usize) -> Self {
        Self {
            found: None,
            variables: Rc::new(Vec::new()),
            positional: None,
            directory: Vec::new(),
            functions: Vec::new(),
            current: None,
            branch: 0,
            branches: vec![0],
            conditions: 0,
            forks: 0,
            output: None,
            echoes_input: false,
            process_output: Vec::new(),
            process_shell: false,
            depth: 0,
            pipelines: 0,
            nested_budget: 65_536 + 4 * length,
            ahead_budget: 65_536 + 8 * length,
        }
    }

    fn report(&mut self, shape: &'static str, span: Span) {
        if self.found.is_none() {
            self.found = Some(Catastrophe { shape, span });
        }
    }

    fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        self.variables.iter().find(|known| known.name == name).map(|known| known.value.as_slice())
    }

    /// Sets a variable; an assignment that may not happen does not hide a dangerous value.
    fn assign(&mut self, name: &[u8], value: Vec<u8>) {
        let conditional = self.conditions > 0;
        let value = if value.len() > MAX_VALUE { vec![mark::UNKNOWN] } else { value };
        let branch = self.branch;
        let variables = Rc::make_mut(&mut self.variables);
        let Some(index) = variables.iter().position(|known| known.name == name) else {
            if variables.len() < MAX_VARIABLES && !(conditional && name == b"HOME") {
                variables.push(Variable { name: name.to_vec(), value, branch });
            }
            return;
        };
        let known = &mut variables[index];
        let may_not_happen = conditional && !encloses(&self.branches, branch, known.branch);
        if !(may_not_happen && target::shape(&known.value, &[]).is_some()) {
            known.value = value;
            known.branch = branch;
        }
    }

    /// Another branch begins within `outer`.
    fn next_branch(&mut self, outer: usize) {
        self.branch = self.branches.len();
        self.branches.push(outer);
    }

    fn save(&self) -> Saved {
        Saved { directory: self.directory.clone(), variables: Rc::clone(&self.variables) }
    }

    fn restore(&mut self, saved: Saved) {
        self.directory = saved.directory;
        self.variables = saved.variables;
    }

    fn charge_ahead(&mut self, steps: usize) -> bool {
        let enough = self.ahead_budget >= steps;
        self.ahead_budget = self.ahead_budget.saturating_sub(steps);
        enough
    }
}

#[cfg(test)]
mod tests;
