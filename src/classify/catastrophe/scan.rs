//! The tokenizer's structure: commands, compounds, redirects, heredocs.
//!
//! It is loose on purpose: it never refuses a text, and where bash would, it goes on reading commands.

use super::frame::{Frame, Kind};
use super::heredoc::Pending;
use super::{MAX_DEPTH, State, mark};
use crate::shell::Span;

/// What ends a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The end of the text.
    Text,
    /// An unmatched `)`.
    Paren,
}

/// A text being read.
#[derive(Debug)]
pub(super) struct Scanner<'s, 't> {
    pub(super) src: &'s [u8],
    pub(super) pos: usize,
    /// Where the text came from in the outermost source, for nested texts.
    pub(super) origin: Option<Span>,
    pub(super) state: &'t mut State,
}

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    End,
    Chain,
    Pipe,
    Background,
}

/// A simple command as read so far.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) words: Vec<Vec<u8>>,
    pub(super) assigns: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it is given to read in the text itself: here-strings, process substitutions.
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) redirected: bool,
    /// A compound ended here: reserved words may follow.
    pub(super) closed: bool,
    pub(super) coproc: bool,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.assigns.is_empty() && !self.redirected
    }
}

/// Who runs the text that flows through a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Reader {
    #[default]
    None,
    /// An interpreter other than a shell.
    Code,
    Shell,
}

/// A pipeline as read so far.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) id: u32,
    /// How many `|` were read.
    pub(super) joints: u32,
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) reader: Reader,
    /// The words that the last stage surely printed.
    pub(super) printed: Option<Vec<Vec<u8>>>,
    /// The last stage was this bare name.
    pub(super) bare: Option<Vec<u8>>,
    start: usize,
}

/// One list of commands: the state between two commands.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) frames: Vec<Frame>,
    pub(super) seg: Segment,
    pub(super) pipe: Pipe,
    pub(super) pending: Vec<Pending>,
    pub(super) reader: Reader,
    /// After `&&` or `||`.
    pub(super) chained: bool,
    /// Calls recorded before the current and-or list.
    pub(super) list_calls: usize,
    /// A function name whose body comes next.
    pub(super) defining: Option<(Vec<u8>, usize)>,
}

impl<'s, 't> Scanner<'s, 't> {
    pub(super) fn new(src: &'s [u8], origin: Option<Span>, state: &'t mut State) -> Self {
        Self { src, pos: 0, origin, state }
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        self.origin.unwrap_or(Span::new(start, end))
    }

    pub(super) fn done(&self) -> bool {
        self.state.found.is_some()
    }

    /// The next byte, line continuations skipped.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.src.get(self.pos..self.pos + 2) == Some(b"\\\n") {
            self.pos += 2;
        }
        self.src.get(self.pos).copied()
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.pos += 1;
        }
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
    }

    /// Blanks, newlines and comments.
    fn spaces(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n') => self.pos += 1,
                Some(b'#') => self.comment(),
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        while self.src.get(self.pos).is_some_and(|byte| *byte != b'\n') {
            self.pos += 1;
        }
    }

    /// Reads commands up to `end`; who of them reads the standard input as a program.
    pub(super) fn list(&mut self, end: End) -> Reader {
        if self.state.depth >= MAX_DEPTH {
            self.pos = self.src.len();
            return Reader::None;
        }
        self.state.depth += 1;
        let mut level = Level { list_calls: self.state.call_count(), ..Level::default() };
        level.pipe = self.fresh_pipe();
        while !self.done() && self.step(&mut level, end) {}
        self.close(&mut level, Next::End);
        while !level.frames.is_empty() {
            self.pop(&mut level);
        }
        self.state.depth -= 1;
        level.reader
    }

    pub(super) fn fresh_pipe(&mut self) -> Pipe {
        self.state.pipelines += 1;
        Pipe { id: self.state.pipelines, start: self.pos, ..Pipe::default() }
    }

    /// Reads one token; false at the end of the list.
    fn step(&mut self, level: &mut Level, end: End) -> bool {
        self.blanks();
        let Some(byte) = self.peek() else { return false };
        if level.frames.last().is_some_and(|frame| frame.kind == Kind::CasePattern) {
            self.pattern(level, byte);
            return true;
        }
        match byte {
            b'\n' => {
                self.pos += 1;
                if !level.seg.is_empty() || level.seg.closed || level.pipe.joints == 0 {
                    self.close(level, Next::End);
                }
                self.bodies(level);
            }
            b'#' => self.comment(),
            b';' => {
                self.pos += 1;
                self.close(level, Next::End);
                if matches!(self.peek(), Some(b';' | b'&')) && level.frames.last().is_some_and(is_clause) {
                    while matches!(self.peek(), Some(b';' | b'&')) {
                        self.pos += 1;
                    }
                    if let Some(frame) = level.frames.last_mut() {
                        frame.kind = Kind::CasePattern;
                    }
                }
            }
            b'&' => {
                self.pos += 1;
                if self.eat(b'&') {
                    self.close(level, Next::Chain);
                } else if self.eat(b'>') {
                    self.eat(b'>');
                    self.redirect_target(level);
                } else {
                    self.close(level, Next::Background);
                }
            }
            b'|' => {
                self.pos += 1;
                if self.eat(b'|') {
                    self.close(level, Next::Chain);
                } else {
                    self.eat(b'&');
                    self.close(level, Next::Pipe);
                }
            }
            b'(' => self.open_paren(level),
            b')' => {
                let inside = level.frames.iter().any(|frame| frame.kind == Kind::Subshell);
                if !inside && end == End::Paren {
                    return false;
                }
                self.pos += 1;
                self.close(level, Next::End);
                if inside {
                    self.pop_to(level, Kind::Subshell);
                }
            }
            b'<' | b'>' => {
                if self.src.get(self.pos + 1) == Some(&b'(') {
                    self.word_token(level);
                } else {
                    self.redirect(level, byte);
                }
            }
            _ => self.word_token(level),
        }
        true
    }

    fn open_paren(&mut self, level: &mut Level) {
        self.pos += 1;
        if level.seg.words.len() == 1 && level.seg.assigns.is_empty() {
            let after = self.pos;
            self.blanks();
            if self.eat(b')') {
                let name = level.seg.words.pop().unwrap_or_default();
                level.defining = Some((name, level.seg.start));
                level.seg = Segment::default();
                return;
            }
            self.pos = after;
        }
        if level.seg.words.is_empty() && self.peek() == Some(b'(') && self.arithmetic(self.pos + 1) {
            level.seg.closed = true;
            return;
        }
        if !level.seg.is_empty() {
            self.close(level, Next::End);
        }
        self.push(level, Kind::Subshell);
    }

    /// A word: a reserved word at command position, an assignment, or part of a command.
    fn word_token(&mut self, level: &mut Level) {
        let start = self.pos;
        let word = self.word();
        if self.pos == start {
            self.pos += 1;
            return;
        }
        level.seg.texts.append(&mut self.state.process_output);
        if std::mem::take(&mut self.state.process_shell) {
            level.pipe.reader = Reader::Shell;
        }
        level.seg.end = self.pos;
        let raw = self.src.get(start..self.pos).unwrap_or(b"");
        let bare = !word.quoted && !raw.contains(&b'\\');
        if bare && raw.iter().all(u8::is_ascii_digit) && matches!(self.src.get(self.pos), Some(b'<' | b'>')) {
            return;
        }
        if level.seg.is_empty() {
            level.seg.start = start;
            if bare && self.reserved(level, raw) {
                return;
            }
        } else if bare && level.seg.coproc && level.seg.words.len() == 1 && opens_compound(raw) {
            level.seg = Segment { start: level.seg.start, ..Segment::default() };
            self.reserved(level, raw);
            return;
        }
        level.defining = None;
        if word.assign > 0 && level.seg.words.is_empty() {
            let (name, value) = word.text.split_at(word.assign);
            let append = name.ends_with(b"+=");
            let name = name.get(..word.assign - 1 - usize::from(append)).unwrap_or(b"");
            let mut value = self.scalar(value);
            if append {
                let mut old = self.state.variable(name).map(<[u8]>::to_vec).unwrap_or_default();
                old.extend(value);
                value = old;
            }
            level.seg.assigns.push((name.to_vec(), value));
            return;
        }
        self.split_word(word, &mut level.seg.words);
    }

    /// Handles a reserved word; false when `raw` is none.
    fn reserved(&mut self, level: &mut Level, raw: &[u8]) -> bool {
        match raw {
            b"if" => self.push(level, Kind::If),
            b"while" | b"until" => {
                let rest = self.src.get(self.pos..).unwrap_or(b"").trim_ascii_start();
                let endless = rest.starts_with(b"true") || rest.starts_with(b":");
                self.push(level, Kind::Loop);
                if endless && let Some(frame) = level.frames.last_mut().filter(|frame| frame.conditional) {
                    frame.conditional = false;
                    self.state.conditions = self.state.conditions.saturating_sub(1);
                }
            }
            b"for" | b"select" => {
                self.for_header();
                self.push(level, Kind::Loop);
            }
            b"case" => {
                self.blanks();
                self.word();
                self.spaces();
                self.word();
                self.push(level, Kind::CasePattern);
            }
            b"{" => self.push(level, Kind::Brace),
            b"}" => self.pop_to(level, Kind::Brace),
            b"fi" => self.pop_to(level, Kind::If),
            b"done" => self.pop_to(level, Kind::Loop),
            b"esac" => self.pop_to(level, Kind::CaseBody),
            b"then" | b"else" | b"elif" | b"do" => {
                let outer = level.frames.last().map_or(0, |frame| frame.branch);
                self.state.next_branch(outer);
            }
            b"!" => {}
            b"time" => {
                self.blanks();
                for option in [b"-p".as_slice(), b"--"] {
                    if self.src.get(self.pos..).is_some_and(|rest| rest.starts_with(option))
                        && matches!(self.src.get(self.pos + 2), Some(b' ' | b'\t'))
                    {
                        self.pos += 2;
                        self.blanks();
                    }
                }
            }
            b"coproc" => level.seg.coproc = true,
            b"function" => {
                let start = self.pos;
                self.blanks();
                let name = self.word().text;
                self.blanks();
                let after = self.pos;
                if self.eat(b'(') {
                    self.blanks();
                    if !self.eat(b')') {
                        self.pos = after;
                    }
                }
                level.defining = Some((name, start));
            }
            b"[[" => {
                self.condition();
                level.seg.closed = true;
            }
            _ => return false,
        }
        true
    }

    fn for_header(&mut self) {
        self.blanks();
        if self.src.get(self.pos..self.pos + 2) == Some(b"((") && self.arithmetic(self.pos + 2) {
            return;
        }
        let name = self.word().text;
        self.spaces();
        let after = self.pos;
        let word = self.word();
        if word.text != b"in" {
            self.pos = after;
            return;
        }
        let mut values = Vec::new();
        loop {
            self.blanks();
            let start = self.pos;
            if matches!(self.peek(), None | Some(b';' | b'\n' | b'&' | b'|' | b'(' | b')')) {
                break;
            }
            let word = self.word();
            if self.pos == start {
                break;
            }
            self.split_word(word, &mut values);
        }
        // One binding stands for all rounds: the dangerous one, if there is one.
        let value = values
            .iter()
            .find(|value| super::target::shape(value, &self.state.directory).is_some())
            .or(values.first());
        if let Some(value) = value.cloned() {
            self.state.assign(&name, value);
        }
    }

    /// The inside of `[[ … ]]`: only its substitutions matter, and subscripts that arithmetic evaluates.
    fn condition(&mut self) {
        while let Some(byte) = self.peek() {
            if matches!(byte, b' ' | b'\t' | b'\n' | b'(' | b')' | b'<' | b'>' | b'|' | b'&' | b';') {
                self.pos += 1;
                continue;
            }
            let start = self.pos;
            let word = self.word();
            if self.src.get(start..self.pos) == Some(b"]]") || self.pos == start {
                return;
            }
            self.subscript(&word.text, self.span(start, self.pos));
        }
    }

    /// One token of the patterns of a `case`.
    fn pattern(&mut self, level: &mut Level, byte: u8) {
        match byte {
            b')' => {
                self.pos += 1;
                if let Some(frame) = level.frames.last_mut() {
                    frame.kind = Kind::CaseBody;
                    self.state.next_branch(frame.branch);
                }
            }
            b'\n' => {
                self.pos += 1;
                self.bodies(level);
            }
            b'#' => self.comment(),
            b'(' | b'|' | b';' | b'&' | b'<' | b'>' => self.pos += 1,
            _ => {
                let start = self.pos;
                self.word();
                if self.src.get(start..self.pos) == Some(b"esac") {
                    self.pop(level);
                } else if self.pos == start {
                    self.pos += 1;
                }
            }
        }
    }

    /// Ends the current command and, unless a pipe follows, its pipeline.
    fn close(&mut self, level: &mut Level, next: Next) {
        let segment = std::mem::take(&mut level.seg);
        if !segment.is_empty() || !segment.texts.is_empty() {
            let conditional = level.chained;
            self.command(segment, &mut level.pipe, next, conditional);
        }
        if next == Next::Pipe {
            level.pipe.joints += 1;
            return;
        }
        let fresh = self.fresh_pipe();
        let pipe = std::mem::replace(&mut level.pipe, fresh);
        level.reader = level.reader.max(pipe.reader);
        if pipe.reader != Reader::None {
            for pending in level.pending.iter_mut().filter(|pending| pending.pipe == pipe.id) {
                pending.run = pipe.reader;
            }
            let span = self.span(pipe.start.min(self.pos), self.pos);
            for text in &pipe.texts {
                self.feed(text, pipe.reader, span);
            }
        }
        match next {
            Next::Chain => level.chained = true,
            Next::Background => {
                self.state.fork_calls_since(level.list_calls);
                level.chained = false;
            }
            Next::End | Next::Pipe => level.chained = false,
        }
        if next != Next::Chain {
            level.list_calls = self.state.call_count();
        }
    }

    /// Runs a text that an interpreter reads from its standard input.
    pub(super) fn feed(&mut self, text: &[u8], reader: Reader, span: Span) {
        match reader {
            Reader::None => {}
            Reader::Code => self.code(text, span),
            Reader::Shell => self.nested(text, span, None),
        }
    }

    fn redirect(&mut self, level: &mut Level, byte: u8) {
        self.pos += 1;
        level.seg.redirected = true;
        if byte == b'<' && self.eat(b'<') {
            if self.eat(b'<') {
                self.blanks();
                let word = self.word();
                let text = self.scalar(&word.text);
                level.seg.texts.push(text);
                level.seg.end = self.pos;
            } else {
                let strip = self.eat(b'-');
                self.blanks();
                let (delimiter, quoted) = self.delimiter();
                let pipe = level.pipe.id;
                level.pending.push(Pending { delimiter, quoted, strip, pipe, run: Reader::None });
            }
            return;
        }
        while matches!(self.peek(), Some(b'>' | b'&' | b'|')) {
            self.pos += 1;
        }
        self.redirect_target(level);
    }

    fn redirect_target(&mut self, level: &mut Level) {
        self.blanks();
        self.word();
        level.seg.redirected = true;
        level.seg.end = self.pos;
        level.seg.texts.append(&mut self.state.process_output);
        if std::mem::take(&mut self.state.process_shell) {
            level.pipe.reader = Reader::Shell;
        }
    }

    /// Reads a text that a shell will run.
    pub(super) fn nested(&mut self, text: &[u8], span: Span, positional: Option<Vec<Vec<u8>>>) {
        if text.is_empty() || self.state.nested_budget < text.len() || self.done() {
            return;
        }
        self.state.nested_budget -= text.len();
        let source = super::expand::render(text);
        let outer = std::mem::replace(&mut self.state.positional, positional);
        Scanner::new(&source, Some(span), self.state).list(End::Text);
        self.state.positional = outer;
    }
}

fn is_clause(frame: &Frame) -> bool {
    frame.kind == Kind::CaseBody
}

fn opens_compound(raw: &[u8]) -> bool {
    matches!(raw, b"{" | b"if" | b"while" | b"until" | b"for" | b"select" | b"case" | b"[[")
}

/// Whether a word holds nothing but text that is not known.
pub(super) fn is_unknown(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(|byte| matches!(*byte, mark::UNKNOWN | mark::LOOSE))
}
