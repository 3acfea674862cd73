//! Keywords: compound commands, functions, `time`, `!`, `coproc`.

use super::super::cursor::{is_name, is_name_byte};
use super::super::loops::{Head, Loop};
use super::super::reading::{Definition, RawWord};
use super::super::skeleton::Checkpoint;
use super::list::{Kind, List, Position, ends_word};
use super::word::Assignments;
use super::{Lexer, Piece};

/// Keywords that begin a compound command.
const OPENERS: &[&[u8]] = &[b"{", b"if", b"while", b"until", b"for", b"select", b"case", b"[["];

impl Lexer<'_, '_> {
    /// A reserved word where keywords count; its stand-in is already taken back.
    pub(super) fn keyword(&mut self, list: &mut List, text: &[u8], start: usize) {
        if text != b"[[" {
            self.cover(Piece::Word, start);
        }
        match text {
            b"then" => self.part(list, text, &[Kind::If], Kind::Then),
            b"elif" => self.part(list, text, &[Kind::Then], Kind::If),
            b"else" => self.part(list, text, &[Kind::Then], Kind::Else),
            b"do" => self.part(list, text, &[Kind::LoopCondition], Kind::LoopBody),
            b"fi" => self.close(list, text, &[Kind::Then, Kind::Else]),
            b"done" => self.close(list, text, &[Kind::LoopBody]),
            b"}" if list.kind() == Kind::ForBrace => self.close(list, b"done", &[Kind::ForBrace]),
            b"}" => self.close(list, text, &[Kind::Brace]),
            b"esac" => self.close(list, text, &[Kind::Case]),
            b"!" | b"time" => self.pipeline_prefix(list, text == b"time"),
            b"coproc" => self.coprocess(list),
            b"function" => self.function_keyword(list),
            _ => self.opener(list, text, start),
        }
    }

    fn opener(&mut self, list: &mut List, text: &[u8], start: usize) {
        if list.position == Position::After {
            self.problem("word_after_compound");
        }
        let inner = list.inner_context();
        let function = list.function.take().is_some();
        list.needs_command = false;
        match text {
            b"{" => {
                if function {
                    self.function_stand_in();
                }
                self.out().token(b"{");
                self.push_level(list, Kind::Brace, inner);
            }
            b"if" => {
                self.out().token(b"if");
                self.push_level(list, Kind::If, inner);
            }
            b"while" | b"until" => {
                self.out().token(text);
                let mut inner = inner;
                inner.conditional = true;
                inner.looped = self.reading.looped(inner);
                self.push_level(list, Kind::LoopCondition, inner);
            }
            b"for" | b"select" => self.for_loop(list, inner, text == b"for"),
            b"case" => self.case(list, inner),
            b"[[" => self.condition(list, inner, start),
            _ => {
                // `in`, `]]`: no command begins with them
                self.problem("misplaced_keyword");
                list.restart();
            }
        }
    }

    /// The grammar wants a name and parentheses in front of a function's body.
    pub(super) fn function_stand_in(&mut self) {
        self.out().token(b"www() ");
    }

    /// Whether a keyword may end the open part.
    fn may_close(&self, list: &List, kinds: &[Kind]) -> bool {
        let ready = matches!(list.position, Position::Start | Position::After)
            && !list.needs_command
            && !list.may_be_empty
            && list.function.is_none();
        let filled = list.kind() == Kind::Case || list.level().is_some_and(|level| level.filled);
        ready && filled && list.levels.len() > 1 && kinds.contains(&list.kind())
    }

    fn closing_token(&mut self, list: &List, text: &[u8], kinds: &[Kind]) -> bool {
        if list.position == Position::After {
            self.out().token(b";");
        }
        self.out().token(text);
        if self.may_close(list, kinds) {
            return true;
        }
        self.problem("misplaced_keyword");
        false
    }

    fn part(&mut self, list: &mut List, text: &[u8], from: &[Kind], to: Kind) {
        if self.closing_token(list, text, from) {
            self.switch_level(list, to, true);
        } else {
            list.restart();
        }
    }

    fn close(&mut self, list: &mut List, text: &[u8], kinds: &[Kind]) {
        if self.closing_token(list, text, kinds) {
            let level = list.levels.pop();
            let end = self.reading.commands.len();
            let looped = level.and_then(|level| level.looped);
            if let Some(own) = looped.and_then(|index| self.reading.loops.get_mut(index)) {
                own.body.end = end;
            }
        }
        list.after_compound();
    }

    fn pipeline_prefix(&mut self, list: &mut List, time: bool) {
        if list.position == Position::After || list.function.is_some() {
            self.problem("misplaced_keyword");
        }
        if !time {
            self.negate(list);
        }
        let needed = list.needs_command;
        list.restart();
        list.needs_command = needed;
        list.may_be_empty = !needed;
        list.timed = time;
    }

    fn coprocess(&mut self, list: &mut List) {
        if list.position == Position::After || list.function.is_some() {
            self.problem("misplaced_keyword");
        }
        self.begin_coprocess(list);
        list.restart();
        list.needs_command = true;
        let mut cursor = self.cursor;
        cursor.skip_blanks();
        let start = cursor.position;
        let mut name = Vec::new();
        while is_name_byte(cursor.peek(0)) {
            name.push(cursor.peek(0));
            cursor.advance(1);
        }
        let end = cursor.position;
        let separated = matches!(cursor.peek(0), b' ' | b'\t');
        cursor.skip_blanks();
        if !separated || !is_name(&name) || super::super::trust::is_reserved(&name) || !at_compound(cursor) {
            return;
        }
        let blank = self.position();
        self.cursor.position = start;
        self.cover(Piece::Blank, blank);
        self.cursor.position = end;
        self.cover(Piece::Word, start);
        self.reading.loop_variables.push(String::from_utf8_lossy(&name).into_owned());
    }

    /// bash takes `coproc WORD compound` as a named coprocess also where the word is no plain name.
    pub(super) fn check_coprocess_name(&mut self, list: &List, command: u32, word: &RawWord) {
        if !Self::behind_pipe(list) {
            return;
        }
        let second =
            self.reading.commands.get(command as usize).is_some_and(|command| command.words.len() == 1);
        if second && self.plain_text(word).is_some_and(|text| OPENERS.contains(&&*text)) {
            self.problem("coprocess_name");
        }
    }

    /// Books blanks, and with `newlines` also newlines and comments.
    pub(super) fn layout(&mut self, newlines: bool) {
        loop {
            let start = self.position();
            match self.peek(0) {
                b' ' | b'\t' => {
                    self.cursor.skip_blanks();
                    self.cover(Piece::Blank, start);
                }
                b'\n' if newlines => {
                    self.cursor.advance(1);
                    self.cover(Piece::Blank, start);
                    self.heredoc_bodies();
                }
                b'#' if newlines => {
                    self.splice_blank();
                    let start = self.position();
                    self.cursor.seek_raw(b'\n');
                    self.cover(Piece::Comment, start);
                }
                _ => {
                    self.splice_blank();
                    return;
                }
            }
        }
    }

    fn splice_blank(&mut self) {
        let start = self.position();
        if self.cursor.splice() {
            self.cover(Piece::Blank, start);
        }
    }

    /// One operator character.
    fn mark_operator(&mut self) {
        let start = self.position();
        self.cursor.advance(1);
        self.cover(Piece::Operator, start);
    }

    fn head_word(&mut self) -> (RawWord, Checkpoint) {
        let start = self.position();
        let result = self.word(Assignments::None);
        if self.position() == start {
            self.problem("missing_word");
        } else {
            self.cover(Piece::Word, start);
        }
        result
    }

    fn is_word(&self, word: &RawWord, text: &[u8]) -> bool {
        self.plain_text(word).is_some_and(|plain| &*plain == text)
    }

    /// From after `for` or `select` to its body.
    fn for_loop(&mut self, list: &mut List, mut inner: super::Context, is_for: bool) {
        self.here = inner;
        let mut own = None;
        self.out().token(b"for");
        self.layout(false);
        let arithmetic = self.peek(0) == b'(';
        if arithmetic {
            let start = self.position() + 2;
            self.for_arithmetic();
            let text = self.slice(start, self.position());
            let name = self.bytes(start, text.end).trim_ascii_start();
            let length = name.iter().take_while(|byte| is_name_byte(**byte)).count();
            let name = String::from_utf8_lossy(name.get(..length).unwrap_or(&[])).into_owned();
            own = Some((name, Head::Arithmetic(text)));
            self.layout(false);
        } else {
            let (variable, _) = self.head_word();
            match self.plain_text(&variable) {
                Some(name) if is_name(&name) => {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    self.reading.loop_variables.push(name);
                }
                _ => self.problem("loop_variable"),
            }
            self.layout(true);
            if self.at_keyword(b"in") {
                let name = self.plain_text(&variable).map(|name| String::from_utf8_lossy(&name).into_owned());
                let first = self.reading.loop_words.len();
                self.for_words();
                own = name.map(|name| (name, Head::Words(first..self.reading.loop_words.len())));
            }
        }
        if self.peek(0) == b';' {
            self.mark_operator();
        }
        self.layout(true);
        self.out().token(b";");
        inner.conditional = true;
        inner.looped = self.reading.looped(inner);
        let (body, before) = self.head_word();
        let brace = self.is_word(&body, b"{");
        if !brace && !self.is_word(&body, b"do") {
            self.problem("loop_body");
        }
        if !self.out().has_substitution(before) {
            self.out().discard(before);
        }
        self.out().token(b"do");
        self.push_level(list, if brace { Kind::ForBrace } else { Kind::LoopBody }, inner);
        if let Some((name, head)) = own.filter(|_| is_for)
            && let Some(level) = list.level_mut()
        {
            level.looped = Some(self.reading.loops.len());
            let start = self.reading.commands.len();
            self.reading.loops.push(Loop { name, head, body: start..start });
        }
    }

    fn for_words(&mut self) {
        self.head_keyword();
        self.out().token(b"in");
        let mut empty = true;
        loop {
            self.layout(false);
            match self.peek(0) {
                b';' | b'\n' => break,
                _ if self.cursor.at_end() || self.at_redirect() => {
                    self.problem("loop_words");
                    break;
                }
                _ => {}
            }
            let start = self.position();
            let (word, _) = self.head_word();
            if self.position() == start {
                break;
            }
            self.reading.loop_words.push(word);
            empty = false;
        }
        if empty {
            self.out().token(b"www");
        }
    }

    /// Consumes a keyword that was seen to be there.
    fn head_keyword(&mut self) {
        let (_, before) = self.head_word();
        self.out().discard(before);
    }

    fn at_keyword(&self, keyword: &[u8]) -> bool {
        keyword.iter().enumerate().all(|(at, byte)| self.peek(at) == *byte)
            && ends_word(self.peek(keyword.len()))
    }

    fn for_arithmetic(&mut self) {
        let end = if self.peek(1) == b'(' { self.arithmetic_end(2) } else { None };
        let Some(end) = end else {
            self.problem("loop_arithmetic");
            self.mark_operator();
            return;
        };
        let start = self.position();
        self.out().token(b"www in www");
        // Bash wants three expressions; a semicolon in quotes or a substitution divides none.
        let text = self.bytes(start + 2, end);
        let semicolons = text.iter().filter(|byte| **byte == b';').count();
        let hides = text.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'(' | b'\\' | b'$'));
        if semicolons < 2 || semicolons > 2 && !hides {
            self.problem("loop_arithmetic");
        }
        self.arithmetic_text(end);
        self.cover(Piece::Word, start);
    }

    /// `((…))` to after its end, the cursor on the first parenthesis.
    fn arithmetic_text(&mut self, end: usize) {
        self.cursor.advance(2);
        let text = self.position();
        self.nested(|lexer| lexer.expressions(end));
        self.note_arithmetic(text, end);
        if self.cursor.raw(1) != b')' {
            // bash looks for the second parenthesis without splicing
            self.problem("split_operator");
        }
        self.cursor.advance(2);
    }

    /// From after `case` to its first item.
    fn case(&mut self, list: &mut List, mut inner: super::Context) {
        self.here = inner;
        self.out().token(b"case");
        self.layout(false);
        self.head_word();
        self.layout(true);
        if self.at_keyword(b"in") {
            self.head_keyword();
        } else {
            self.problem("case_in");
        }
        self.out().token(b"in");
        inner.conditional = true;
        self.push_level(list, Kind::Case, inner);
        self.case_patterns(list);
    }

    /// Patterns up to the `)` of an item, or `esac`.
    fn case_patterns(&mut self, list: &mut List) {
        self.here = list.context();
        self.layout(true);
        if self.peek(0) == b'(' {
            if self.arithmetic > 0 {
                // bash keeps what it read in a substitution as printed anew, with patterns that open no parenthesis; it
                // then counts parentheses to tell `$((1 + $(case x in (x) P;; esac)))` from a subshell, and runs `1`
                self.problem("case_in_arithmetic");
            }
            self.mark_operator();
            self.layout(false);
        } else if self.at_keyword(b"esac") {
            self.head_keyword();
            self.out().token(b"esac");
            list.levels.pop();
            list.after_compound();
            return;
        }
        loop {
            let start = self.position();
            self.head_word();
            if self.position() == start {
                break;
            }
            self.layout(false);
            match self.peek(0) {
                b'|' => {
                    self.mark_operator();
                    self.out().token(b"|");
                    self.layout(false);
                }
                b')' => {
                    self.mark_operator();
                    self.out().token(b")");
                    break;
                }
                _ => {
                    self.problem("case_pattern");
                    break;
                }
            }
        }
        list.restart();
    }

    /// After `;;`, `;&` or `;;&`.
    pub(super) fn end_case_item(&mut self, list: &mut List) {
        if list.needs_command || list.function.is_some() {
            self.problem("missing_command");
        }
        if list.position == Position::Start && list.may_be_empty {
            self.stand_in();
        }
        self.out().token(b";;");
        self.switch_level(list, Kind::Case, true);
        self.case_patterns(list);
    }

    /// `(` in a list: arithmetic or a subshell.
    pub(super) fn parenthesis(&mut self, list: &mut List) {
        let start = self.position();
        if list.position != Position::Start {
            self.problem("stray_parenthesis");
            if list.position != Position::After {
                self.mark_operator();
                return;
            }
        }
        let inner = list.inner_context();
        self.here = inner;
        list.needs_command = false;
        if self.peek(1) == b'('
            && let Some(end) = self.arithmetic_end(2)
        {
            list.function = None;
            let before = self.out().begin_word();
            let command = self.command(super::CommandKind::Arithmetic, inner, start);
            self.arithmetic_text(end);
            self.out().mark(before, command);
            self.extend(command);
            self.cover(Piece::Word, start);
            list.after_compound();
            return;
        }
        if list.function.take().is_some() {
            self.function_stand_in();
        }
        self.mark_operator();
        self.out().token(b"(");
        let mut inner = inner;
        inner.subshell = true;
        inner.shell = self.reading.subshell(inner);
        self.nested(|lexer| {
            if !lexer.list(Some(b')'), inner) {
                lexer.problem("missing_command");
            }
        });
        let end = self.position();
        if !self.reading.stopped && end > self.covered {
            self.cover(Piece::Operator, end - 1);
        }
        self.out().token(b")");
        list.after_compound();
    }

    /// `NAME ()`: whether the word just read is one; then its stand-in is taken back.
    pub(super) fn function_head(&mut self, list: &mut List, word: &RawWord, before: Checkpoint) -> bool {
        let mut cursor = self.cursor;
        cursor.skip_blanks();
        if cursor.peek(0) != b'(' {
            return false;
        }
        cursor.advance(1);
        cursor.skip_blanks();
        if cursor.peek(0) != b')' {
            return false;
        }
        if self.out().has_substitution(before) {
            self.problem("function_name");
            return false;
        }
        self.out().discard(before);
        self.define(list, word);
        self.layout(false);
        self.mark_operator();
        self.layout(false);
        self.mark_operator();
        true
    }

    fn define(&mut self, list: &mut List, word: &RawWord) {
        let name = self.plain_text(word).map(|text| String::from_utf8_lossy(&text).into_owned());
        if name.is_none() {
            self.problem("function_name");
        }
        let name = name.unwrap_or_default();
        let definition =
            Definition { name: name.clone(), before: self.reading.commands.len(), context: list.context() };
        self.reading.definitions.push(definition);
        let needed = list.needs_command;
        list.restart();
        list.needs_command = needed;
        list.function = Some(name);
    }

    fn function_keyword(&mut self, list: &mut List) {
        if list.position == Position::After || list.function.is_some() {
            self.problem("misplaced_keyword");
        }
        self.layout(false);
        let (word, before) = self.head_word();
        if self.out().has_substitution(before) {
            self.problem("function_name");
        } else {
            self.out().discard(before);
        }
        self.define(list, &word);
        let mut cursor = self.cursor;
        cursor.skip_blanks();
        if cursor.peek(0) != b'(' {
            return;
        }
        cursor.advance(1);
        cursor.skip_blanks();
        if cursor.peek(0) == b')' {
            self.layout(false);
            self.mark_operator();
            self.layout(false);
            self.mark_operator();
        }
    }
}

/// Whether a compound command begins here.
fn at_compound(cursor: super::Cursor<'_>) -> bool {
    cursor.peek(0) == b'('
        || OPENERS.iter().any(|opener| {
            opener.iter().enumerate().all(|(at, byte)| cursor.peek(at) == *byte)
                && ends_word(cursor.peek(opener.len()))
        })
}
