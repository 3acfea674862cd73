//! Lists: commands joined by operators, with the compounds that are open.
//!
//! The contexts of commands (piped, conditional, background …) are computed here: the grammar groups
//! `a | b && c` wrongly in places, the lexer need not.

use super::super::cursor::is_meta;
use super::super::limits;
use super::super::reading::CommandKind;
use super::super::segment::Context;
use super::word::Assignments;
use super::{Lexer, Piece};

/// Where in a command the lexer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// A command may begin; keywords count.
    Start,
    /// After an assignment or redirect of a command: the verb may come, keywords are words.
    Prefix,
    /// After the verb.
    Args,
    /// After a compound command: redirects, operators and closing keywords only.
    After,
}

/// What an open compound is, and which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The list itself.
    List,
    Brace,
    /// Body of `for x in y; { … }`, closed by a brace.
    ForBrace,
    If,
    Then,
    Else,
    LoopCondition,
    LoopBody,
    Case,
}

/// An open compound, or the list itself.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) kind: Kind,
    /// What each command in it starts from.
    pub(super) base: Context,
    /// Whether the part that is open holds a command.
    pub(super) filled: bool,
    /// The present element stands behind a `|`.
    piped: bool,
    /// The present pipeline stands behind `&&` or `||`.
    chained: bool,
    /// The chain of `&&` that is being read, and whether its list begins with it.
    chain: u32,
    leads: bool,
    /// The present pipeline stands behind `||`.
    skipped: bool,
    /// The chain of the present pipeline, where it stands behind `!`: others do not run only where it succeeded.
    negated: Option<u32>,
    /// The present command was started by `coproc`.
    coprocess: bool,
    /// The shell of the present pipeline element, where it has one of its own.
    shell: Option<u32>,
    /// How many shells there were when the present element, and the present chain, began.
    shells: (usize, usize),
    pipeline: u32,
    /// First command of the present pipeline element.
    element: usize,
    /// First command of the present chain of pipelines: what `&` sends to the background.
    first: usize,
    /// Which of the reading's loops it is the body of.
    pub(super) looped: Option<usize>,
}

/// The state of one list.
#[derive(Debug)]
pub(super) struct List {
    pub(super) position: Position,
    pub(super) levels: Vec<Level>,
    /// The command whose words are read.
    pub(super) current: Option<u32>,
    /// The command that holds the redirects of the compound that just ended.
    pub(super) compound_redirects: Option<u32>,
    /// After `&&`, `||`, `|`: a command must follow.
    pub(super) needs_command: bool,
    /// After `!` or `time`: an empty pipeline is allowed.
    pub(super) may_be_empty: bool,
    /// After `time` or `time -p`.
    pub(super) timed: bool,
    /// After the head of a function: its body must follow; the words of the head.
    pub(super) function: Option<String>,
    /// A verb of `declare`'s kind: `NAME=(…)` may be an argument.
    declares: bool,
}

impl List {
    pub(super) fn level(&self) -> Option<&Level> {
        self.levels.last()
    }

    pub(super) fn level_mut(&mut self) -> Option<&mut Level> {
        self.levels.last_mut()
    }

    pub(super) fn kind(&self) -> Kind {
        self.level().map_or(Kind::List, |level| level.kind)
    }

    /// The context of a command that begins here.
    pub(super) fn context(&self) -> Context {
        let Some(level) = self.level() else { return Context::default() };
        let mut context = level.base;
        context.piped_in |= level.piped;
        context.conditional |= level.chained;
        context.background |= level.coprocess;
        context.subshell |= level.piped || level.coprocess;
        context.chain = level.negated.unwrap_or(level.chain);
        if let Some(shell) = level.shell {
            context.shell = shell;
        }
        context.pipeline = level.pipeline;
        context
    }

    /// The context of commands inside a compound that begins here.
    pub(super) fn inner_context(&self) -> Context {
        let mut context = self.context();
        context.depth = context.depth.saturating_add(1);
        if self.function.is_some() {
            context.in_function = true;
            context.conditional = true;
        }
        context
    }

    /// After a keyword or operator: a command may begin.
    pub(super) fn restart(&mut self) {
        self.position = Position::Start;
        self.current = None;
        self.compound_redirects = None;
        self.needs_command = false;
        self.may_be_empty = false;
        self.timed = false;
        self.declares = false;
    }

    /// A compound has ended.
    pub(super) fn after_compound(&mut self) {
        self.restart();
        self.position = Position::After;
        if let Some(level) = self.level_mut() {
            level.filled = true;
        }
    }
}

impl Lexer<'_, '_> {
    fn new_level(&mut self, kind: Kind, base: Context) -> Level {
        self.pipelines += 1;
        let commands = self.reading.commands.len();
        let shells = self.reading.shells.len();
        Level {
            kind,
            base,
            filled: false,
            piped: false,
            chained: false,
            chain: self.reading.chain(base.chain, 0),
            leads: true,
            skipped: false,
            negated: None,
            coprocess: false,
            shell: None,
            shells: (shells, shells),
            pipeline: self.pipelines,
            element: commands,
            first: commands,
            looped: None,
        }
    }

    pub(super) fn push_level(&mut self, list: &mut List, kind: Kind, base: Context) {
        if list.levels.len() > limits::MAX_COMPOUNDS {
            self.stop("too_deep");
        }
        let level = self.new_level(kind, base);
        list.levels.push(level);
        list.restart();
    }

    /// Starts another part of the open compound (`then`, `do`, `else` …).
    pub(super) fn switch_level(&mut self, list: &mut List, kind: Kind, conditional: bool) {
        let Some(old) = list.levels.pop() else { return };
        let mut base = old.base;
        base.conditional |= conditional;
        self.push_level(list, kind, base);
    }

    /// Reads commands up to the terminator, which is consumed but not emitted, or to the end; whether there was any.
    pub(super) fn list(&mut self, terminator: Option<u8>, base: Context) -> bool {
        let first = self.new_level(Kind::List, base);
        let mut list = List {
            position: Position::Start,
            levels: vec![first],
            current: None,
            compound_redirects: None,
            needs_command: false,
            may_be_empty: false,
            timed: false,
            function: None,
            declares: false,
        };
        self.covered = self.position();
        let closed = self.commands(&mut list, terminator);
        self.finish(&list, terminator, closed);
        list.levels.first().is_some_and(|level| level.filled)
    }

    fn finish(&mut self, list: &List, terminator: Option<u8>, closed: bool) {
        if self.reading.stopped {
            return;
        }
        if !closed && terminator.is_some() {
            self.problem("unclosed_parenthesis");
        }
        if list.levels.len() > 1 || list.function.is_some() {
            self.problem("unclosed_compound");
        }
        if list.needs_command {
            self.problem("missing_command");
        }
        if list.position == Position::Start && list.may_be_empty {
            self.stand_in();
        }
        if !closed && terminator.is_none() {
            self.heredoc_bodies();
        }
        if self.position() != self.covered + usize::from(closed) {
            self.unbooked();
        }
    }

    /// The main loop; whether the terminator was met.
    fn commands(&mut self, list: &mut List, terminator: Option<u8>) -> bool {
        loop {
            let start = self.position();
            if self.cursor.splice() {
                self.cover(Piece::Blank, start);
            }
            if self.cursor.at_end() || self.reading.stopped {
                return false;
            }
            let start = self.position();
            match self.peek(0) {
                b' ' | b'\t' => {
                    self.cursor.skip_blanks();
                    self.cover(Piece::Blank, start);
                }
                b'\n' => self.newline(list),
                b'#' => {
                    self.cursor.seek_raw(b'\n');
                    self.cover(Piece::Comment, start);
                }
                _ if self.at_redirect() => {
                    if list.function.is_some() {
                        self.problem("function_body");
                    }
                    self.here = list.context();
                    self.redirect(list);
                }
                b';' | b'&' | b'|' => self.operator(list),
                b'(' => self.parenthesis(list),
                b')' if terminator == Some(b')') && list.levels.len() == 1 => {
                    self.cursor.advance(1);
                    return true;
                }
                b')' => {
                    self.problem("stray_parenthesis");
                    self.cursor.advance(1);
                    self.cover(Piece::Operator, start);
                }
                _ => self.list_word(list),
            }
        }
    }

    /// A newline ends a command, if there is one to end; then pending heredocs follow.
    pub(super) fn newline(&mut self, list: &mut List) {
        let start = self.position();
        self.cursor.advance(1);
        self.cover(Piece::Blank, start);
        let ends = list.position != Position::Start || list.may_be_empty;
        if ends {
            self.end_pipeline(list, b";");
        }
        // the bodies' commands belong to what stands before the newline
        self.heredoc_bodies();
        if ends {
            self.next_chain(list);
            list.restart();
        }
    }

    /// Emits an operator after the present pipeline, which must exist.
    fn end_pipeline(&mut self, list: &mut List, operator: &[u8]) {
        if list.position == Position::Start {
            if list.may_be_empty {
                self.stand_in();
            } else {
                self.problem("missing_command");
            }
        }
        if list.function.take().is_some() {
            self.problem("function_body");
        }
        if let Some(level) = list.level_mut() {
            level.filled = true;
        }
        self.out().token(operator);
    }

    fn next_chain(&mut self, list: &mut List) {
        let commands = self.reading.commands.len();
        let shells = self.reading.shells.len();
        self.pipelines += 1;
        let pipeline = self.pipelines;
        let chain = self.reading.chain(list.level().map_or(0, |level| level.base.chain), 0);
        if let Some(level) = list.level_mut() {
            level.piped = false;
            level.chained = false;
            (level.chain, level.leads, level.skipped, level.negated) = (chain, true, false, None);
            level.coprocess = false;
            level.shell = None;
            level.shells = (shells, shells);
            level.pipeline = pipeline;
            level.element = commands;
            level.first = commands;
        }
    }

    fn operator(&mut self, list: &mut List) {
        let start = self.position();
        match (self.peek(0), self.peek(1)) {
            (b';', b';' | b'&') if list.kind() == Kind::Case => {
                let length = if self.peek(1) == b';' && self.peek(2) == b'&' { 3 } else { 2 };
                self.cursor.advance(length);
                self.cover(Piece::Operator, start);
                self.end_case_item(list);
            }
            (b';', b';') => {
                self.cursor.advance(2);
                self.problem("stray_separator");
                self.cover(Piece::Operator, start);
            }
            (b'&', b'&') | (b'|', b'|') => self.chain(list, if self.peek(0) == b'&' { b"&&" } else { b"||" }),
            (b'|', next) => self.pipe(list, if next == b'&' { b"|&" } else { b"|" }),
            (first, _) => {
                self.cursor.advance(1);
                self.cover(Piece::Operator, start);
                self.end_pipeline(list, if first == b'&' { b"&" } else { b";" });
                if first == b'&' {
                    self.send_to_background(list);
                }
                self.next_chain(list);
                list.restart();
            }
        }
    }

    fn chain(&mut self, list: &mut List, operator: &[u8]) {
        let start = self.position();
        self.cursor.advance(2);
        self.cover(Piece::Operator, start);
        self.end_pipeline(list, operator);
        let commands = self.reading.commands.len();
        let shells = self.reading.shells.len();
        self.pipelines += 1;
        let pipeline = self.pipelines;
        if let Some(level) = list.level_mut() {
            level.piped = false;
            level.chained = true;
            level.negated = None;
            let failed = if level.leads { level.chain } else { 0 };
            if operator == b"||" {
                (level.chain, level.leads) = (self.reading.chain(level.base.chain, failed), false);
            } else if std::mem::replace(&mut level.skipped, false) {
                // `a || b && c`: where `a` worked `c` runs without `b`.
                level.chain = self.reading.chain(level.base.chain, 0);
            }
            level.skipped = operator == b"||";
            level.coprocess = false;
            level.shell = None;
            level.shells.0 = shells;
            level.pipeline = pipeline;
            level.element = commands;
        }
        list.restart();
        list.needs_command = true;
    }

    fn pipe(&mut self, list: &mut List, operator: &[u8]) {
        let start = self.position();
        self.cursor.advance(operator.len());
        self.cover(Piece::Operator, start);
        self.end_pipeline(list, operator);
        let commands = self.reading.commands.len();
        let element = list.level().map_or(commands, |level| level.element);
        let capture = self.capture;
        for command in self.reading.commands.iter_mut().skip(element) {
            command.context.subshell = true;
            command.context.piped_out |= command.capture == capture;
        }
        let before = list.level().map_or(0, |level| level.shells.0);
        self.own_shell(list, element, before);
        let next = list.level().map(|level| self.reading.subshell(level.base));
        let shells = self.reading.shells.len();
        if let Some(level) = list.level_mut() {
            level.piped = true;
            level.coprocess = false;
            level.shell = next;
            level.shells.0 = shells;
            level.element = commands;
        }
        list.restart();
        list.needs_command = true;
    }

    fn send_to_background(&mut self, list: &List) {
        let first = list.level().map_or(0, |level| level.first);
        for command in self.reading.commands.iter_mut().skip(first) {
            command.context.background = true;
            command.context.subshell = true;
        }
        let before = list.level().map_or(0, |level| level.shells.1);
        self.own_shell(list, first, before);
    }

    /// What began at a command, when there were so many shells, turns out to run in a shell of its own.
    fn own_shell(&mut self, list: &List, first: usize, before: usize) {
        let Some(base) = list.level().map(|level| level.base) else { return };
        let own = self.reading.subshell(base);
        let last = self.reading.shells.len() - 1;
        for shell in self.reading.shells.iter_mut().take(last).skip(before) {
            if shell.within == base.shell {
                shell.within = own;
            }
        }
        for command in self.reading.commands.iter_mut().skip(first) {
            if command.context.shell == base.shell {
                command.context.shell = own;
            }
        }
    }

    /// `!`: what follows in the chain runs where this fails.
    pub(super) fn negate(&mut self, list: &mut List) {
        if let Some(level) = list.level_mut() {
            level.negated = Some(self.reading.chain(level.chain, 0));
        }
    }

    pub(super) fn begin_coprocess(&mut self, list: &mut List) {
        if let Some(level) = list.level_mut() {
            level.coprocess = true;
            level.shell = Some(self.reading.subshell(level.base));
        }
    }

    /// Whether the word that follows is the program although it is spelled `time`: bash looks for the keyword
    /// only where a pipeline begins.
    pub(super) fn behind_pipe(list: &List) -> bool {
        list.level().is_some_and(|level| level.piped || level.coprocess)
    }

    /// The command whose words are read; begun when there is none.
    pub(super) fn current_command(&mut self, list: &mut List, start: usize) -> u32 {
        if let Some(command) = list.current {
            return command;
        }
        let command = self.command(CommandKind::Simple, list.context(), start);
        list.current = Some(command);
        list.needs_command = false;
        if let Some(level) = list.level_mut() {
            level.filled = true;
        }
        command
    }

    /// A word in a list: keyword, assignment, verb or argument.
    fn list_word(&mut self, list: &mut List) {
        let start = self.position();
        self.here = list.context();
        if list.position == Position::Start && self.peek(0) == b'!' && self.peek(1) == b'(' {
            // without extglob this is the keyword and a subshell
            self.cursor.advance(1);
            self.cover(Piece::Word, start);
            list.may_be_empty = true;
            return;
        }
        let assignments = match list.position {
            Position::Start | Position::Prefix => Assignments::Full,
            Position::Args if list.declares => Assignments::Compound,
            Position::Args | Position::After => Assignments::None,
        };
        let (word, before) = self.word(assignments);
        if self.position() == start {
            self.problem("stuck");
            self.cursor.advance(1);
        }
        let keywords_count = matches!(list.position, Position::Start | Position::After);
        if keywords_count && !word.quoted {
            let text = self.plain_text(&word).unwrap_or_default();
            let program = *text == *b"time" && Self::behind_pipe(list);
            if super::super::trust::is_reserved(&text) && !program {
                self.out().discard(before);
                self.keyword(list, &text, start);
                return;
            }
            if list.timed && (*text == *b"-p" || *text == *b"--") {
                self.out().discard(before);
                list.timed = *text == *b"-p";
                self.cover(Piece::Word, start);
                return;
            }
        }
        self.cover(Piece::Word, start);
        if list.position == Position::After {
            self.problem("word_after_compound");
            list.restart();
        }
        if list.function.take().is_some() {
            self.problem("function_body");
        }
        if list.position != Position::Args && word.assignment.is_some() {
            self.out().make_assignment(before);
            let command = self.current_command(list, start);
            if let Some(command) = self.command_mut(command) {
                command.assignments.push(word);
            }
            list.position = Position::Prefix;
            self.extend(command);
            return;
        }
        let is_verb = list.position != Position::Args;
        if is_verb && list.current.is_none() && self.function_head(list, &word, before) {
            return;
        }
        let command = self.current_command(list, start);
        self.out().mark(before, command);
        if is_verb {
            let text = self.plain_text(&word);
            let declares = text.as_deref().is_some_and(is_declaration);
            list.declares = declares;
        } else {
            self.check_coprocess_name(list, command, &word);
        }
        if let Some(command) = self.command_mut(command) {
            command.words.push(word);
        }
        list.position = Position::Args;
        self.extend(command);
    }
}

/// Builtins after which bash reads `NAME=(…)` as one word.
fn is_declaration(verb: &[u8]) -> bool {
    matches!(verb, b"declare" | b"typeset" | b"local" | b"export" | b"readonly" | b"alias" | b"eval" | b"let")
}

/// Whether a word that ends here is followed by something that cannot be glued to it.
pub(super) const fn ends_word(byte: u8) -> bool {
    byte == 0 || is_meta(byte)
}
