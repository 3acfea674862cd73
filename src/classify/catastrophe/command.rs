//! What one simple command does, as far as this check cares.

use super::code::{base64, unescape};
use super::launch::{self, Launch};
use super::scan::{Next, Pipe, Reader, Scanner, Segment, is_unknown};
use super::{MAX_DIRECTORY, mark, target};
use crate::shell::Span;

/// What a command has at hand besides its words.
#[derive(Debug)]
pub(super) struct Surroundings<'p> {
    pub(super) span: Span,
    /// Texts it may read on its standard input.
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) pipe: &'p mut Pipe,
}

/// How many launchers may stand before a command.
const MAX_LAUNCHERS: u32 = 64;

/// The base name of a program word; text that is not known counts as empty, as fillers are.
pub(super) fn base_name(word: &[u8]) -> Vec<u8> {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
    let name: Vec<u8> = name
        .iter()
        .filter(|byte| !matches!(**byte, mark::UNKNOWN | mark::LOOSE))
        .map(|byte| if *byte == mark::SET { b'[' } else { *byte })
        .collect();
    let pattern =
        word.len() <= 64 && word.iter().any(|byte| matches!(*byte, mark::STAR | mark::ANY | mark::SET));
    let tail = word.rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
    if pattern && word.contains(&b'/') && target::glob_matches(tail, b"rm") { b"rm".to_vec() } else { name }
}

impl Scanner<'_, '_> {
    /// Judges a finished command.
    pub(super) fn command(&mut self, segment: Segment, pipe: &mut Pipe, next: Next, conditional: bool) {
        let Segment { words, assigns, texts, start, end, .. } = segment;
        let span = self.span(start, end.max(start));
        let piped = pipe.joints > 0;
        let bare = pipe.bare.take();
        if words.is_empty() {
            for (name, value) in assigns {
                self.set(&name, value, conditional);
            }
            pipe.texts.extend(texts);
            return;
        }
        if let [only] = words.as_slice() {
            pipe.bare = Some(only.clone());
        }
        if self.state.current.is_some() {
            let name = words.first().map_or(b"".as_slice(), Vec::as_slice);
            if matches!(name, b"return" | b"exit") && (conditional || self.state.conditions > 0) {
                self.guard();
            }
            let twin = bare.as_deref() == Some(name) && words.len() == 1;
            let forked = piped || matches!(next, Next::Pipe | Next::Background);
            self.state.record_call(name, forked, conditional, twin);
        }
        let outer = (!assigns.is_empty()).then(|| self.state.save());
        for (name, value) in assigns {
            self.set(&name, value, false);
        }
        let printed = pipe.printed.take();
        let mut around = Surroundings { span, texts, pipe };
        around.pipe.printed = printed;
        self.state.output = None;
        self.state.echoes_input = false;
        self.run(words, &mut around, conditional);
        if let Some(outer) = outer {
            self.state.restore(outer);
        }
        let Surroundings { texts, pipe, .. } = around;
        pipe.texts.extend(texts);
        let read_on = next == Next::Pipe || pipe.reader != Reader::None;
        if let Some(output) = self.state.output.as_ref().filter(|_| read_on) {
            pipe.texts.push(output.clone());
            pipe.printed = Some(words_of(output));
        }
    }

    fn guard(&mut self) {
        if let Some(function) = self.state.current.and_then(|index| self.state.functions.get_mut(index)) {
            function.guarded = true;
        }
    }

    pub(super) fn set(&mut self, name: &[u8], value: Vec<u8>, conditional: bool) {
        // What stands behind `&&` is a branch of its own.
        let branch = self.state.branch;
        if conditional {
            self.state.next_branch(branch);
        }
        self.state.conditions += u32::from(conditional);
        self.state.assign(name, value);
        self.state.conditions -= u32::from(conditional);
        self.state.branch = branch;
    }

    /// Runs an argv that another program starts.
    pub(super) fn run_argv(&mut self, argv: &[Vec<u8>], span: Span) {
        if self.state.depth >= super::MAX_DEPTH {
            return;
        }
        self.state.depth += 1;
        let mut pipe = Pipe::default();
        let mut around = Surroundings { span, texts: Vec::new(), pipe: &mut pipe };
        self.run(argv.to_vec(), &mut around, true);
        self.state.depth -= 1;
    }

    /// Judges an argv: launchers are taken off until a command stands there.
    pub(super) fn run(&mut self, mut argv: Vec<Vec<u8>>, around: &mut Surroundings<'_>, conditional: bool) {
        for _ in 0..MAX_LAUNCHERS {
            while argv.first().is_some_and(|word| is_unknown(word) && argv.len() > 1) {
                argv.remove(0);
            }
            let Some(first) = argv.first() else { return };
            if self.call_function(&argv, around.span) {
                return;
            }
            let program = base_name(first);
            if program == b"rm" {
                return self.remove(&argv, around.span);
            }
            if self.builtin(&program, &argv, around, conditional) {
                return;
            }
            match launch::launch(self, &program, argv, around) {
                Launch::Inner(inner) => argv = inner,
                Launch::Done => return,
            }
        }
    }

    fn remove(&mut self, argv: &[Vec<u8>], span: Span) {
        let (mut recursive, mut options) = (false, true);
        let mut targets: Vec<&[u8]> = Vec::new();
        for word in argv.iter().skip(1) {
            let known: Vec<u8> =
                word.iter().copied().filter(|byte| !matches!(*byte, mark::UNKNOWN | mark::LOOSE)).collect();
            match known.as_slice() {
                b"--" if options => options = false,
                [b'-', b'-', rest @ ..] if options => {
                    recursive |= !rest.is_empty() && b"recursive".starts_with(rest);
                }
                [b'-', flags @ ..] if options && !flags.is_empty() => {
                    recursive |= flags.iter().any(|flag| matches!(flag, b'r' | b'R'));
                }
                // Text that is not known may hold the flags.
                [] => recursive |= word.contains(&mark::LOOSE) && argv.len() > 2,
                _ => targets.push(word),
            }
        }
        if !recursive {
            return;
        }
        if let Some(shape) = targets.into_iter().find_map(|path| target::shape(path, &self.state.directory)) {
            self.state.report(shape, span);
        }
    }

    /// Runs a function's body with its arguments, when they could matter.
    fn call_function(&mut self, argv: &[Vec<u8>], span: Span) -> bool {
        let Some((name, arguments)) = argv.split_first() else { return false };
        let index = self.state.functions.iter().rposition(|function| function.name == *name);
        let Some(index) = index else { return false };
        let Some(function) = self.state.functions.get_mut(index) else { return false };
        if function.active || function.body.is_empty() {
            return true;
        }
        function.active = true;
        let body = function.body.clone();
        let current = self.state.current;
        self.nested(&body, span, Some(arguments.to_vec()));
        self.state.current = current;
        if let Some(function) = self.state.functions.get_mut(index) {
            function.active = false;
        }
        true
    }

    /// Builtins and printers whose effect on later words is known; true when nothing more is to be judged.
    fn builtin(
        &mut self,
        program: &[u8],
        argv: &[Vec<u8>],
        around: &mut Surroundings<'_>,
        conditional: bool,
    ) -> bool {
        let rest = argv.get(1..).unwrap_or(&[]);
        match program {
            b"echo" => {
                let flags = rest.iter().take_while(|word| is_echo_flag(word)).count();
                let text = rest.get(flags..).unwrap_or(&[]).join(&b' ');
                let escapes = rest.iter().take(flags).any(|word| word.contains(&b'e'));
                self.state.output = Some(if escapes { unescaped(&text) } else { text });
            }
            b"printf" => self.printf(rest, around.span, conditional),
            b"cat" | b"tee" => {
                let text = around.texts.first().or(around.pipe.texts.last());
                let is_bare = rest.iter().all(|word| word.starts_with(b"-"));
                self.state.output = text.filter(|_| is_bare).cloned();
                self.state.echoes_input = is_bare;
            }
            b"base64" if rest.iter().any(|word| is_decode_flag(word)) => {
                let decoded: Vec<Vec<u8>> =
                    around.texts.iter().chain(&around.pipe.texts).map(|text| base64(text)).collect();
                self.state.output = decoded.last().cloned();
                around.pipe.texts.extend(decoded);
            }
            b"whoami" | b"logname" => self.state.output = Some(vec![mark::USER]),
            b"id" if rest.iter().any(|word| word.as_slice() == b"-un") => {
                self.state.output = Some(vec![mark::USER]);
            }
            b"realpath" | b"readlink" | b"which" => self.state.output = rest.last().cloned(),
            b"pwd" => self.state.output = Some(self.state.directory.clone()).filter(|path| !path.is_empty()),
            b"command" if rest.first().is_some_and(|word| matches!(word.as_slice(), b"-v" | b"-V")) => {
                self.state.output = rest.get(1).cloned();
            }
            b"type" => self.state.output = rest.last().cloned(),
            b"cd" | b"pushd" => self.change_directory(rest),
            b"popd" => self.state.directory.clear(),
            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" => {
                for word in rest {
                    self.subscript(word, around.span);
                    if let Some(at) = word.iter().position(|byte| *byte == b'=') {
                        let (name, value) = word.split_at(at);
                        self.set(name, value.get(1..).unwrap_or(b"").to_vec(), conditional);
                    }
                }
            }
            b"unset" => {
                for word in rest {
                    self.subscript(word, around.span);
                    self.set(word, vec![mark::UNKNOWN], conditional);
                }
            }
            b"set" => {
                if let Some(at) = rest.iter().position(|word| word.as_slice() == b"--") {
                    self.state.positional = Some(rest.get(at + 1..).unwrap_or(&[]).to_vec());
                } else if rest.first().is_some_and(|word| !word.starts_with(b"-") && !word.starts_with(b"+"))
                {
                    self.state.positional = Some(rest.to_vec());
                }
            }
            b"shift" => {
                if let Some(words) = self.state.positional.as_mut().filter(|words| !words.is_empty()) {
                    words.remove(0);
                }
            }
            b"read" => {
                for word in rest {
                    self.subscript(word, around.span);
                }
                let name = rest.iter().rfind(|word| !word.starts_with(b"-"));
                let text = around.texts.last().or(around.pipe.texts.last());
                if let (Some(name), Some(text)) = (name, text) {
                    let text = text.trim_ascii().to_vec();
                    self.set(&name.clone(), text, conditional);
                }
            }
            b"let" | b"test" | b"[" | b"getopts" | b"wait" => {
                for word in rest {
                    self.subscript(word, around.span);
                }
            }
            _ => return false,
        }
        true
    }

    fn printf(&mut self, rest: &[Vec<u8>], span: Span, conditional: bool) {
        let variable = match rest {
            [flag, name, ..] if flag.as_slice() == b"-v" => {
                self.subscript(name, span);
                Some(name.clone())
            }
            _ => None,
        };
        let rest = rest.get(if variable.is_some() { 2 } else { 0 }..).unwrap_or(&[]);
        let rest = if rest.first().is_some_and(|word| word.as_slice() == b"--") { &rest[1..] } else { rest };
        let Some((format, arguments)) = rest.split_first() else { return };
        let mut out = Vec::new();
        let mut left = arguments.iter();
        loop {
            let before = left.len();
            fill(&unescaped(format), &mut left, &mut out);
            if left.len() == 0 || left.len() == before || out.len() > super::MAX_VALUE {
                break;
            }
        }
        match variable {
            Some(name) => self.set(&name, out, conditional),
            None => self.state.output = Some(out),
        }
    }

    fn change_directory(&mut self, rest: &[Vec<u8>]) {
        let path = rest.iter().find(|word| !word.starts_with(b"-") || word.as_slice() == b"-");
        let directory = &mut self.state.directory;
        match path.map(Vec::as_slice) {
            None => *directory = vec![mark::HOME],
            Some(b"-" | b"") => directory.clear(),
            Some(path @ [b'/' | mark::HOME | mark::TILDE, ..]) => *directory = path.to_vec(),
            Some(path) if is_unknown(path) => directory.clear(),
            Some(_) if directory.is_empty() => {}
            Some(path) => {
                directory.push(b'/');
                directory.extend_from_slice(path);
            }
        }
        if directory.len() > MAX_DIRECTORY {
            directory.clear();
        }
    }
}

/// One pass of a `printf` format over its arguments.
fn fill<'a>(format: &[u8], arguments: &mut impl Iterator<Item = &'a Vec<u8>>, out: &mut Vec<u8>) {
    let mut bytes = format.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        for kind in bytes.by_ref() {
            match kind {
                b'%' => out.push(b'%'),
                b'b' => {
                    if let Some(argument) = arguments.next() {
                        unescape(argument, out);
                    }
                }
                b'-' | b'+' | b' ' | b'#' | b'.' | b'0'..=b'9' | b'*' => continue,
                _ => {
                    if let Some(argument) = arguments.next() {
                        out.extend_from_slice(argument);
                    }
                }
            }
            break;
        }
    }
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    unescape(text, &mut out);
    out
}

pub(super) fn words_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

fn is_echo_flag(word: &[u8]) -> bool {
    matches!(word, [b'-', rest @ ..] if !rest.is_empty() && rest.iter().all(|byte| matches!(byte, b'n' | b'e' | b'E')))
}

fn is_decode_flag(word: &[u8]) -> bool {
    match word {
        [b'-', b'-', rest @ ..] => !rest.is_empty() && b"decode".starts_with(rest),
        [b'-', flags @ ..] => flags.iter().any(|flag| matches!(flag, b'd' | b'D')),
        _ => false,
    }
}

/// What an interpreter that reads its program from the standard input makes of the pipeline.
pub(super) fn reads_program(around: &mut Surroundings<'_>, reader: Reader) {
    around.pipe.reader = around.pipe.reader.max(reader);
}
