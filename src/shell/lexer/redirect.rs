//! Redirects: they never reach the skeleton, save for the substitutions of their targets.

use super::super::cursor::is_name_byte;
use super::super::reading::{CommandKind, RawRedirect, RawWord, Slice};
use super::super::segment::RedirectOp;
use super::list::{List, Position};
use super::word::Assignments;
use super::{Lexer, Piece};

impl Lexer<'_, '_> {
    /// Whether a redirect starts here: an operator, maybe with a descriptor glued in front.
    pub(super) fn at_redirect(&mut self) -> bool {
        match self.peek(0) {
            b'<' | b'>' => self.peek(1) != b'(',
            b'&' => self.peek(1) == b'>',
            b'0'..=b'9' | b'{' => {
                let mut cursor = self.cursor;
                self.descriptor_end(&mut cursor)
            }
            _ => false,
        }
    }

    /// Moves over `12` or `{name}`; whether a redirect operator follows at once.
    fn descriptor_end(&mut self, cursor: &mut super::Cursor<'_>) -> bool {
        let mut length = 0_usize;
        if cursor.peek(0) == b'{' {
            cursor.advance(1);
            let digit = cursor.peek(0).is_ascii_digit();
            while is_name_byte(cursor.peek(0)) {
                cursor.advance(1);
                length += 1;
            }
            let subscript = cursor.peek(0) == b'[' && length > 0;
            if subscript {
                while !matches!(cursor.peek(0), b']' | 0 | b'\n') {
                    cursor.advance(1);
                }
                cursor.advance(1);
            }
            if length == 0 || digit || cursor.peek(0) != b'}' {
                return false;
            }
            cursor.advance(1);
            let follows = matches!(cursor.peek(0), b'<' | b'>') && cursor.peek(1) != b'(';
            if subscript && follows {
                // the subscript is arithmetic
                self.problem("descriptor_subscript");
            }
            return follows;
        }
        while cursor.peek(0).is_ascii_digit() {
            cursor.advance(1);
            length += 1;
        }
        let follows = matches!(cursor.peek(0), b'<' | b'>') && cursor.peek(1) != b'(';
        if follows && length > 9 {
            // too large for a descriptor: bash takes it as a word
            self.problem("descriptor_number");
        }
        follows
    }

    /// Reads a redirect and gives it to its command.
    pub(super) fn redirect(&mut self, list: &mut List) {
        let start = self.position();
        let fd = self.descriptor();
        let (op, length) = self.redirect_operator();
        self.cursor.advance(length);
        let owner = self.redirect_owner(list, start);
        let strip_tabs = op == RedirectOp::Heredoc && length == 3;
        let mut literal = false;
        let target = if op == RedirectOp::Heredoc {
            let index = self.command_mut(owner).map_or(0, |command| command.redirects.len());
            literal = self.heredoc(strip_tabs, (owner, index));
            self.unparsed_word(self.position())
        } else {
            self.redirect_target(list, owner, matches!(op, RedirectOp::DupIn | RedirectOp::DupOut))
        };
        if op == RedirectOp::Heredoc && list.position == Position::Start {
            self.stand_in();
        }
        let span = self.span(start, self.position());
        if let Some(command) = self.command_mut(owner) {
            command.redirects.push(RawRedirect { op, fd, target, literal, span });
        }
        if list.position == Position::Start {
            list.position = Position::Prefix;
        }
        self.extend(owner);
        self.cover(Piece::Redirect, start);
    }

    fn descriptor(&mut self) -> Option<Slice> {
        let start = self.position();
        let mut end = self.cursor;
        if !matches!(self.peek(0), b'0'..=b'9' | b'{') {
            return None;
        }
        self.descriptor_end(&mut end);
        self.cursor = end;
        Some(self.slice(start, end.position))
    }

    fn redirect_operator(&self) -> (RedirectOp, usize) {
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (b'&', b'>', b'>') => (RedirectOp::BothAppend, 3),
            (b'&', ..) => (RedirectOp::BothWrite, 2),
            (b'<', b'<', b'<') => (RedirectOp::HereString, 3),
            (b'<', b'<', b'-') => (RedirectOp::Heredoc, 3),
            (b'<', b'<', _) => (RedirectOp::Heredoc, 2),
            (b'<', b'&', _) => (RedirectOp::DupIn, 2),
            (b'<', b'>', _) => (RedirectOp::ReadWrite, 2),
            (b'<', ..) => (RedirectOp::Read, 1),
            (_, b'>', _) => (RedirectOp::Append, 2),
            (_, b'&', _) => (RedirectOp::DupOut, 2),
            (_, b'|', _) => (RedirectOp::Clobber, 2),
            _ => (RedirectOp::Write, 1),
        }
    }

    /// The command that the redirect belongs to; of a compound: a command of its own.
    fn redirect_owner(&mut self, list: &mut List, start: usize) -> u32 {
        if list.position == Position::After {
            if let Some(owner) = list.compound_redirects {
                return owner;
            }
            let owner = self.command(CommandKind::CompoundRedirects, list.context(), start);
            list.compound_redirects = Some(owner);
            return owner;
        }
        self.current_command(list, start)
    }

    fn redirect_target(&mut self, list: &List, owner: u32, duplicate: bool) -> RawWord {
        self.cursor.skip_blanks();
        let start = self.position();
        if duplicate && self.peek(0) == b'-' {
            // a token of its own, whatever follows: `2>&-x` closes 2 and `x` is a word
            self.cursor.advance(1);
            if matches!(list.position, Position::Start | Position::Prefix) {
                self.stand_in();
            }
            return self.unparsed_word(start);
        }
        let before = self.out().checkpoint();
        if list.position == Position::After {
            self.out().token(b">");
        }
        let (target, word) = self.word(Assignments::None);
        if self.position() == start {
            self.problem("redirect_target");
        }
        let hidden = !self.out().has_substitution(before);
        match list.position {
            Position::Start | Position::Prefix => {
                if hidden {
                    self.out().discard(before);
                    self.stand_in();
                } else {
                    self.out().make_assignment(word);
                }
            }
            Position::Args if hidden => self.out().discard(before),
            Position::Args => self.out().mark(word, owner),
            Position::After if hidden => self.out().discard(before),
            Position::After => {}
        }
        target
    }

    /// A word from `start` to the cursor with nothing in it.
    fn unparsed_word(&self, start: usize) -> RawWord {
        let end = self.position();
        RawWord {
            slice: self.slice(start, end),
            span: self.span(start, end),
            expansions: (0, 0),
            quoted: false,
            assignment: None,
            array: false,
        }
    }

    /// An assignment that keeps the grammar happy where bash has only a redirect, `time` or `!`.
    pub(super) fn stand_in(&mut self) {
        self.out().token(b"x=w");
    }
}
