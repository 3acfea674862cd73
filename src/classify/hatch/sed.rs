//! sed scripts: which files they read and write, and whether they run commands.
//!
//! Danger: `w`, `W`, `e`, `r` and the flags of `s` hide between harmless text; a script that this reader cannot follow to
//! its end is opaque.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass;
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::Role;
use crate::shell::Span;

/// Judges a call of sed.
pub fn judge<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let in_place = call.has("in-place");
    let has_script = call.has("expression") || call.has("file");
    let files = if has_script { &call.operands[..] } else { call.operands.get(1..).unwrap_or(&[]) };
    for file in files {
        findings.role(if in_place { Role::Modify } else { Role::Read }, *file);
    }
    let mut text = String::new();
    let mut span = call.name.span();
    let expressions = call.all("expression").filter_map(|given| given.value);
    let first = if has_script { None } else { call.operands.first().copied() };
    for word in expressions.chain(first) {
        let Some(part) = word.numbered() else {
            findings.opaque(Cause::DynamicCode, word.span());
            return;
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part);
        span = word.span();
    }
    if script(&text, span, findings).is_none() {
        findings.opaque(Cause::ExecOption, span);
    }
}

struct Reader<'t> {
    rest: std::str::Chars<'t>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        self.rest.next()
    }

    fn skip(&mut self, accept: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&accept) {
            self.next();
        }
    }

    /// The text up to an unescaped `end`; `class`: a bracket expression hides it.
    fn until(&mut self, end: char, class: bool) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => {
                    self.next()?;
                }
                '[' if class && end != '[' => self.bracket()?,
                found if found == end => return Some(()),
                '\n' if class && end != '\n' => return None,
                _ => {}
            }
        }
    }

    /// The rest of a bracket expression.
    fn bracket(&mut self) -> Option<()> {
        if self.peek() == Some('^') {
            self.next();
        }
        if self.peek() == Some(']') {
            self.next();
        }
        loop {
            match self.next()? {
                ']' => return Some(()),
                '[' => {
                    if let Some(kind @ (':' | '.' | '=')) = self.peek() {
                        self.next();
                        let mut last = ' ';
                        loop {
                            let found = self.next()?;
                            if last == kind && found == ']' {
                                break;
                            }
                            last = found;
                        }
                    }
                }
                '\n' => return None,
                _ => {}
            }
        }
    }

    fn line(&mut self) -> String {
        let text: String = self.rest.clone().take_while(|found| *found != '\n').collect();
        for _ in text.chars() {
            self.next();
        }
        self.next();
        text
    }

    /// The text of `a`, `i`, `c`: up to a newline that no backslash hides.
    fn text(&mut self) {
        while let Some(found) = self.next() {
            match found {
                '\\' => {
                    self.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    fn address(&mut self) -> Option<bool> {
        match self.peek() {
            Some('0'..='9' | '$' | '+' | '~') => {
                self.next();
                self.skip(|found| found.is_ascii_digit() || found == '~');
            }
            Some('/') => {
                self.next();
                self.until('/', true)?;
                self.skip(|found| matches!(found, 'I' | 'M'));
            }
            Some('\\') => {
                self.next();
                let end = self.next()?;
                self.until(end, true)?;
                self.skip(|found| matches!(found, 'I' | 'M'));
            }
            _ => return Some(false),
        }
        Some(true)
    }
}

/// Reads a whole script; none when it cannot be followed.
fn script(text: &str, span: Span, findings: &mut Findings<'_>) -> Option<()> {
    let mut reader = Reader { rest: text.chars() };
    loop {
        reader.skip(|found| found.is_whitespace() || found == ';');
        if reader.peek().is_none() {
            return Some(());
        }
        if reader.address()? {
            reader.skip(char::is_whitespace);
            if reader.peek() == Some(',') {
                reader.next();
                reader.skip(char::is_whitespace);
                if !reader.address()? {
                    return None;
                }
            }
        }
        reader.skip(|found| found.is_whitespace() || found == '!');
        command(&mut reader, span, findings)?;
    }
}

fn command(reader: &mut Reader<'_>, span: Span, findings: &mut Findings<'_>) -> Option<()> {
    match reader.next()? {
        '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
        '#' => {
            reader.line();
        }
        'a' | 'i' | 'c' => reader.text(),
        ':' => {
            reader.skip(|found| !found.is_whitespace() && found != ';');
        }
        'b' | 't' | 'T' => {
            reader.skip(|found| !matches!(found, '\n' | ';' | '}'));
        }
        'q' | 'Q' | 'l' | 'L' => {
            reader.skip(|found| found == ' ' || found.is_ascii_digit());
        }
        'r' | 'R' => file(OpClass::FileRead, &reader.line(), span, findings),
        'w' | 'W' => file(OpClass::FileWrite, &reader.line(), span, findings),
        'e' => {
            let line = reader.line();
            let line = line.trim();
            findings.opaque(Cause::ExecOption, span);
            if !line.is_empty() {
                findings.shell_text(line.to_owned(), span);
            }
        }
        'y' => {
            let end = reader.next()?;
            reader.until(end, false)?;
            reader.until(end, false)?;
        }
        's' => {
            let end = reader.next()?;
            if end == '\n' || end == '\\' {
                return None;
            }
            reader.until(end, true)?;
            reader.until(end, false)?;
            loop {
                match reader.peek() {
                    Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                        reader.next();
                    }
                    Some('e') => {
                        reader.next();
                        findings.opaque(Cause::ExecOption, span);
                    }
                    Some('w') => {
                        reader.next();
                        file(OpClass::FileWrite, &reader.line(), span, findings);
                        return Some(());
                    }
                    _ => break,
                }
            }
        }
        _ => return None,
    }
    Some(())
}

fn file(class: OpClass, name: &str, span: Span, findings: &mut Findings<'_>) {
    findings.path_text(class, name.trim_start(), span);
}
