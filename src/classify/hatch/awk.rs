//! awk programs: which files they read and write, and whether they run commands.
//!
//! Danger: `>` is a redirect after `print` and a comparison elsewhere; a pipe or `system` runs a shell.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;
use crate::shell::Span;

/// Judges a call of awk.
pub fn judge<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut in_place = false;
    for given in call.all("include") {
        match given.value.and_then(Word::text) {
            Some("inplace" | "inplace.awk") => in_place = true,
            _ => findings.opaque(Cause::ScriptFile, call.name.span()),
        }
    }
    let has_program = ["file", "exec", "source"].iter().any(|name| call.has(name));
    let files = if has_program { &call.operands[..] } else { call.operands.get(1..).unwrap_or(&[]) };
    for file in files {
        let is_assignment = crate::classify::evaluate::assignment_name(file.known_prefix()).is_some();
        if !is_assignment {
            findings.role(if in_place { Role::Modify } else { Role::Read }, *file);
        }
    }
    let sources = call.all("source").filter_map(|given| given.value);
    let first = if has_program { None } else { call.operands.first().copied() };
    for word in sources.chain(first) {
        match word.numbered() {
            Some(text) => Program { text: &text, at: 0, span: word.span(), findings }.run(),
            None => findings.opaque(Cause::DynamicCode, word.span()),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number,
    Regex,
    Mark(&'static str),
    End,
}

struct Program<'p, 'f, 'a> {
    text: &'p str,
    at: usize,
    span: Span,
    findings: &'f mut Findings<'a>,
}

/// Longest first.
const MARKS: &[&str] = &[
    "**=", "|&", ">>", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "++", "--",
    "!~", "**", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|",
    "?", ":", "~", "$", "=", "@", "\\", "&", "\n",
];

impl Program<'_, '_, '_> {
    fn run(&mut self) {
        let mut before = Token::Mark(";");
        let mut depth = 0_i32;
        // The bracket depth at which `print` stands, while in its arguments.
        let mut printing: Option<i32> = None;
        let mut reading = false;
        loop {
            let token = self.token(&before);
            match &token {
                Token::End => return,
                Token::Name(name) => match name.as_str() {
                    "print" | "printf" => printing = Some(depth),
                    "getline" => {
                        if matches!(before, Token::Mark("|" | "|&")) {
                            // The command was the operand before the pipe.
                            self.findings.opaque(Cause::Interpreter, self.span);
                        }
                        reading = true;
                    }
                    "system" => {
                        self.findings.opaque(Cause::Interpreter, self.span);
                        let mut ahead = self.at;
                        if self.mark_at(&mut ahead, "(")
                            && let Some(text) = self.text_at(&mut ahead)
                        {
                            self.run_text(text, ahead);
                        }
                    }
                    _ => {}
                },
                Token::Mark("@") => self.findings.opaque(Cause::ScriptFile, self.span),
                Token::Mark(mark @ ("(" | "[" | "{")) => {
                    if *mark == "{" {
                        printing = None;
                    }
                    depth += 1;
                }
                Token::Mark(mark @ (")" | "]" | "}")) => {
                    if *mark == "}" {
                        printing = None;
                    }
                    reading = reading && *mark != ")";
                    depth -= 1;
                }
                Token::Mark(";" | "\n") => {
                    printing = None;
                    reading = false;
                }
                Token::Mark(">" | ">>") if printing == Some(depth) => self.target(OpClass::FileWrite),
                Token::Mark("<") if reading => self.target(OpClass::FileRead),
                Token::Mark("|" | "|&") => self.pipe(&before, printing == Some(depth)),
                _ => {}
            }
            before = token;
        }
    }

    /// The file after a redirect.
    fn target(&mut self, class: OpClass) {
        let mut ahead = self.at;
        match self.text_at(&mut ahead) {
            Some(text) if text.starts_with("/inet") => {
                let host = text.split('/').nth(4).unwrap_or("").to_owned();
                self.findings.host_text(&host, self.span);
            }
            Some(text) if self.ends_expression(ahead) => self.findings.path_text(class, &text, self.span),
            _ => self.findings.unknown_path(class, self.span),
        }
    }

    /// A command on either side of a pipe.
    fn pipe(&mut self, before: &Token, printing: bool) {
        self.findings.opaque(Cause::Interpreter, self.span);
        let mut ahead = self.at;
        let text = if printing {
            self.text_at(&mut ahead)
        } else if let Token::Text(text) = before {
            Some(text.clone())
        } else {
            None
        };
        match text {
            Some(text) if text.starts_with("/inet") => {
                let host = text.split('/').nth(4).unwrap_or("").to_owned();
                self.findings.host_text(&host, self.span);
            }
            Some(text) if printing => self.run_text(text, ahead),
            Some(text) => self.findings.shell_text(text, self.span),
            None => {}
        }
    }

    /// Runs literal text that may go on (`"rm " $1`) at `ahead`.
    fn run_text(&mut self, mut text: String, ahead: usize) {
        if !self.ends_expression(ahead) {
            text.push_str("\"$1\"");
        }
        self.findings.shell_text(text, self.span);
    }

    /// Whether the expression ends at `at` (so that a literal before it is the whole).
    fn ends_expression(&self, at: usize) -> bool {
        let rest = self.text[at..].trim_start_matches([' ', '\t']);
        rest.is_empty() || rest.starts_with([';', '}', '\n', ')', '#'])
    }

    fn text_at(&self, at: &mut usize) -> Option<String> {
        let rest = self.text[*at..].trim_start_matches([' ', '\t', '(']);
        let inner = rest.strip_prefix('"')?;
        let (text, length) = string(inner)?;
        *at = self.text.len() - inner.len() + length;
        Some(text)
    }

    fn mark_at(&self, at: &mut usize, mark: &str) -> bool {
        let rest = self.text[*at..].trim_start_matches([' ', '\t']);
        let is_there = rest.starts_with(mark);
        if is_there {
            *at = self.text.len() - rest.len() + mark.len();
        }
        is_there
    }

    fn token(&mut self, before: &Token) -> Token {
        loop {
            let rest = &self.text[self.at..];
            let Some(first) = rest.chars().next() else { return Token::End };
            match first {
                ' ' | '\t' | '\r' => self.at += 1,
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '\\' if rest[1..].starts_with('\n') => self.at += 2,
                '"' => {
                    let (text, length) = string(&rest[1..]).unwrap_or((String::new(), rest.len() - 1));
                    self.at += 1 + length;
                    return Token::Text(text);
                }
                '/' if !is_value(before) => {
                    self.at += regex(rest);
                    return Token::Regex;
                }
                _ if first.is_ascii_digit() => {
                    self.at +=
                        rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
                    return Token::Number;
                }
                _ if first.is_alphabetic() || first == '_' => {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                    self.at += end;
                    return Token::Name(rest[..end].to_owned());
                }
                _ => {
                    if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
                        self.at += mark.len();
                        return Token::Mark(mark);
                    }
                    self.at += first.len_utf8();
                }
            }
        }
    }
}

/// Whether a slash after this token divides.
fn is_value(token: &Token) -> bool {
    match token {
        Token::Name(name) => !matches!(
            name.as_str(),
            "print" | "printf" | "return" | "in" | "case" | "getline" | "else" | "do"
        ),
        Token::Text(_) | Token::Number | Token::Regex => true,
        Token::Mark(mark) => matches!(*mark, ")" | "]" | "$" | "++" | "--"),
        Token::End => false,
    }
}

/// The value of a string whose opening quote was read, and its length with the closing quote.
fn string(rest: &str) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, found)) = chars.next() {
        match found {
            '"' => return Some((text, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                // Octal and hexadecimal escapes are not evaluated: a name with them matches nothing.
                escaped @ ('0'..='7' | 'x' | 'u') => text.extend(['\u{fffd}', escaped]),
                escaped => text.push(escaped),
            },
            _ => text.push(found),
        }
    }
    None
}

/// The length of a regex literal with both slashes.
fn regex(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    let mut in_class = false;
    while let Some((at, found)) = chars.next() {
        match found {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return at + 1,
            '\n' => return at,
            _ => {}
        }
    }
    rest.len()
}
