//! Encoded text and program code: what decodes to, or calls, a command.

use super::mark;
use super::scan::Scanner;
use crate::shell::Span;

/// `$'…'`, from the quote on.
pub(super) fn ansi_quotes(src: &[u8], pos: &mut usize, out: &mut Vec<u8>) {
    *pos += 1;
    let rest = src.get(*pos..).unwrap_or(b"");
    let mut end = 0;
    while let Some(byte) = rest.get(end) {
        match byte {
            b'\'' => break,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    let end = end.min(rest.len());
    unescape(rest.get(..end).unwrap_or(b""), out);
    *pos = (*pos + end + 1).min(src.len());
}

/// Backslash escapes of `$'…'`, `printf` and `echo -e`.
pub(super) fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&kind) = text.get(at) else {
            out.push(b'\\');
            return;
        };
        at += 1;
        match kind {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' | b'E' => out.push(27),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'c' => {
                out.push(text.get(at).map_or(0, |byte| byte & 0x1f));
                at += 1;
            }
            b'x' => push_char(number(text, &mut at, 16, 2), out),
            b'u' => push_char(number(text, &mut at, 16, 4), out),
            b'U' => push_char(number(text, &mut at, 16, 8), out),
            b'0'..=b'7' => {
                // `echo -e` writes a leading zero more.
                at -= usize::from(kind != b'0');
                push_char(number(text, &mut at, 8, 3), out);
            }
            other => out.push(other),
        }
    }
}

fn number(text: &[u8], at: &mut usize, radix: u32, most: usize) -> u32 {
    let mut value = 0_u32;
    for _ in 0..most {
        let Some(digit) = text.get(*at).and_then(|byte| char::from(*byte).to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        *at += 1;
    }
    value
}

fn push_char(value: u32, out: &mut Vec<u8>) {
    match u8::try_from(value) {
        Ok(byte) if byte < 0x80 => out.push(byte),
        _ => out.push(b'?'),
    }
}

/// Base64 text to bytes; what is no base64 is skipped.
pub(super) fn base64(text: &[u8]) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::with_capacity(text.len()), 0_u32, 0_u32);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            let decoded = (bits >> count & 0xff) as u8;
            // Only text matters here, and a mark must not come out of data.
            out.push(if decoded < 0x80 { decoded } else { b'?' });
        }
    }
    out
}

/// Functions of scripting languages that run a command given as text or list.
const CALLS: &[&[u8]] = &[
    b"system",
    b"popen",
    b"popen2",
    b"popen3",
    b"exec",
    b"execSync",
    b"execFile",
    b"execFileSync",
    b"spawn",
    b"spawnSync",
    b"run",
    b"call",
    b"check_call",
    b"check_output",
    b"Popen",
    b"shell_exec",
    b"passthru",
    b"getoutput",
    b"getstatusoutput",
    b"proc_open",
    b"execute",
    b"execl",
    b"execlp",
    b"execv",
    b"execvp",
    b"qx",
];

/// Functions that remove a tree.
const REMOVERS: &[&[u8]] =
    &[b"rmtree", b"rm_rf", b"rm_r", b"rmSync", b"remove_tree", b"removeSync", b"remove_dir_all"];

impl Scanner<'_, '_> {
    /// Looks for calls in a program of another language that run a catastrophe.
    pub(super) fn code(&mut self, text: &[u8], span: Span) {
        if self.state.nested_budget < text.len() {
            return;
        }
        self.state.nested_budget -= text.len();
        if forks_forever(text) {
            self.state.report("fork_bomb", span);
        }
        let mut at = 0;
        while let Some(&quote) = text.get(at) {
            if !matches!(quote, b'"' | b'\'' | b'`') {
                at += 1;
                continue;
            }
            let head = text.get(..at).unwrap_or(b"").trim_ascii_end();
            let (literal, next) = string_literal(text, at);
            at = next;
            let list = head.ends_with(b"[");
            let head = head.strip_suffix(b"[").unwrap_or(head).trim_ascii_end();
            let piped =
                head.ends_with(b"|") || text.get(at..).unwrap_or(b"").trim_ascii_start().starts_with(b"|");
            let head = head.strip_suffix(b"(").unwrap_or(head).trim_ascii_end();
            let start = head.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
            let callee = head.get(start.map_or(0, |start| start + 1)..).unwrap_or(b"");
            if REMOVERS.contains(&callee) {
                let target: &[u8] = if literal.starts_with(b"~") {
                    &[&[mark::TILDE], literal.get(1..).unwrap_or(b"")].concat()
                } else {
                    &literal
                };
                if let Some(shape) = super::target::shape(target, b"") {
                    self.state.report(shape, span);
                }
            } else if CALLS.contains(&callee) || piped || quote == b'`' {
                if list {
                    let mut argv = vec![literal];
                    while let Some(open) = next_in_list(text, at) {
                        let (literal, next) = string_literal(text, open);
                        argv.push(literal);
                        at = next;
                    }
                    self.run_argv(&argv, span);
                } else {
                    self.nested(&literal, span, None);
                }
            }
        }
    }

    /// A word that arithmetic may evaluate: a subscript in quotes runs its substitutions.
    pub(super) fn subscript(&mut self, text: &[u8], span: Span) {
        let subscripted = text.iter().any(|byte| *byte == b'[' || *byte == mark::SET);
        if subscripted && text.iter().any(|byte| *byte == b'$' || *byte == b'`') {
            self.substitutions(text, span);
        }
    }

    /// Runs the substitutions in a text that was data until now.
    pub(super) fn substitutions(&mut self, text: &[u8], span: Span) {
        if self.state.nested_budget < text.len() || self.state.depth >= super::MAX_DEPTH {
            return;
        }
        self.state.nested_budget -= text.len();
        self.state.depth += 1;
        let source = super::expand::render(text);
        Scanner::new(&source, Some(span), self.state).passive(source.len(), &mut Vec::new());
        self.state.depth -= 1;
    }
}

/// The string literal that opens at `open`, and the position behind it.
fn string_literal(text: &[u8], open: usize) -> (Vec<u8>, usize) {
    let quote = text.get(open).copied().unwrap_or(b'"');
    let mut at = open + 1;
    let mut raw = Vec::new();
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\\' => {
                raw.push(b'\\');
                raw.extend(text.get(at));
                at += 1;
            }
            _ if byte == quote => break,
            _ => raw.push(byte),
        }
    }
    let mut literal = Vec::new();
    unescape(&raw, &mut literal);
    (literal, at)
}

/// Where the next element of a list of strings opens.
fn next_in_list(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let skipped = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b','))?;
    matches!(rest.get(skipped), Some(b'"' | b'\'')).then_some(from + skipped)
}

/// The one-line fork bombs of scripting languages: an endless loop around `fork`.
fn forks_forever(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    if text.len() > 400 || !text.contains("fork") {
        return false;
    }
    let flat: String =
        text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | ';' | '{' | '}')).collect();
    let loops = ["forkwhilefork", "forkwhile1", "while1fork", "loopfork", "forkwhiletrue", "whiletruefork"];
    let loops_python = ["whileTrue:os.fork", "while1:os.fork", "while1fork", "whileTrue:fork", "while1:fork"];
    loops.iter().chain(&loops_python).any(|shape| flat.contains(shape))
}
