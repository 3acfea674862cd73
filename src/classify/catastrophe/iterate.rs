//! Launchers that run a command on each of many names: `xargs`, `find -exec`, `parallel`.

use super::command::{Surroundings, base_name, reads_program, words_of};
use super::launch::{Launch, option_width};
use super::mark;
use super::names::SHELLS;
use super::scan::{Reader, Scanner};

pub(super) fn xargs(rest: &[Vec<u8>], around: &mut Surroundings<'_>) -> Launch {
    let long: &[&[u8]] = &[
        b"arg-file",
        b"delimiter",
        b"max-lines",
        b"max-args",
        b"max-procs",
        b"max-chars",
        b"process-slot-var",
    ];
    let mut words = rest;
    let mut placeholder: Option<Vec<u8>> = None;
    while let Some(word) = words.first() {
        match word.as_slice() {
            b"-I" => placeholder = words.get(1).cloned(),
            [b'-', b'I', text @ ..] => placeholder = Some(text.to_vec()),
            b"-i" | b"--replace" => placeholder = Some(b"{}".to_vec()),
            _ => {}
        }
        let width = option_width(words, b"IEadLnPs", long);
        if width == 0 {
            break;
        }
        words = words.get(width..).unwrap_or(&[]);
    }
    let Some(first) = words.first() else { return Launch::Done };
    // `xargs sh -c`: what it reads becomes the script.
    let lacks_script = words.last().is_some_and(|word| word.starts_with(b"-") && word.ends_with(b"c"));
    if lacks_script && SHELLS.contains(&base_name(first).as_slice()) {
        reads_program(around, Reader::Shell);
    }
    let given = match around.texts.last() {
        Some(text) => words_of(text),
        None => around.pipe.printed.clone().unwrap_or_default(),
    };
    if placeholder.as_ref().is_some_and(|mark| mark == first) {
        reads_program(around, Reader::Shell);
        return Launch::Done;
    }
    let unknown = given.is_empty();
    let given = if unknown { vec![vec![mark::UNKNOWN]] } else { given };
    Launch::Inner(match placeholder {
        None if unknown => words.to_vec(),
        None => words.iter().cloned().chain(given).collect(),
        Some(mark) => substituted(words, &mark, &given.join(&b' ')),
    })
}

/// `words` with every `placeholder` in them replaced.
pub(super) fn substituted(words: &[Vec<u8>], placeholder: &[u8], value: &[u8]) -> Vec<Vec<u8>> {
    let replace = |word: &Vec<u8>| {
        let mut out = Vec::new();
        let mut rest = word.as_slice();
        while !placeholder.is_empty()
            && let Some(at) = rest.windows(placeholder.len()).position(|part| part == placeholder)
        {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(value);
            rest = &rest[at + placeholder.len()..];
        }
        out.extend_from_slice(rest);
        out
    };
    words.iter().map(replace).collect()
}

pub(super) fn find(scanner: &mut Scanner<'_, '_>, rest: &[Vec<u8>], around: &mut Surroundings<'_>) {
    let is_expression =
        |word: &Vec<u8>| word.starts_with(b"-") || matches!(word.as_slice(), b"(" | b"!" | b")");
    let globals = rest.iter().take_while(|word| matches!(word.as_slice(), b"-H" | b"-L" | b"-P")).count();
    let rest = rest.get(globals..).unwrap_or(&[]);
    let roots = rest.iter().take_while(|word| !is_expression(word)).count();
    let mut selective = false;
    let mut at = roots;
    while let Some(word) = rest.get(at) {
        match word.as_slice() {
            b"-exec" | b"-execdir" | b"-ok" | b"-okdir" => {
                let command = rest.get(at + 1..).unwrap_or(&[]);
                let length = command
                    .iter()
                    .position(|word| word.as_slice() == b";" || word.as_slice() == b"+")
                    .unwrap_or(command.len());
                let command = command.get(..length).unwrap_or(&[]);
                // Without a test in front it is run on the starting points themselves.
                let starts = rest.get(..roots).unwrap_or(&[]).iter().filter(|_| !selective);
                let found: Vec<&[u8]> = starts.map(Vec::as_slice).collect();
                let found = if found.is_empty() { vec![[mark::UNKNOWN].as_slice()] } else { found };
                for path in found {
                    scanner.run_argv(&substituted(command, b"{}", path), around.span);
                }
                at += length + 1;
            }
            b"-maxdepth" | b"-mindepth" => at += 1,
            b"-depth"
            | b"-d"
            | b"-xdev"
            | b"-mount"
            | b"-print"
            | b"-print0"
            | b"-follow"
            | b"-noleaf"
            | b"-ignore_readdir_race" => {}
            _ => selective = true,
        }
        at += 1;
    }
}

pub(super) fn parallel(scanner: &mut Scanner<'_, '_>, rest: &[Vec<u8>], around: &mut Surroundings<'_>) {
    let mut words = rest;
    loop {
        let width = option_width(
            words,
            b"jPnNLIaSECsd",
            &[
                b"jobs",
                b"max-args",
                b"arg-file",
                b"delay",
                b"timeout",
                b"joblog",
                b"results",
                b"colsep",
                b"workdir",
                b"wd",
            ],
        );
        if width == 0 || words.is_empty() {
            break;
        }
        words = words.get(width..).unwrap_or(&[]);
    }
    let is_source = |word: &Vec<u8>| word.starts_with(b":::");
    let length = words.iter().position(is_source).unwrap_or(words.len());
    let (template, sources) = words.split_at(length);
    let given: Vec<Vec<u8>> = match around.pipe.printed.clone() {
        Some(printed) if sources.is_empty() => printed,
        _ => sources.iter().filter(|word| !is_source(word)).cloned().collect(),
    };
    if template.is_empty() {
        for text in &given {
            scanner.nested(text, around.span, None);
        }
        reads_program(around, Reader::Shell);
    } else if given.is_empty() {
        scanner.nested(&template.join(&b' '), around.span, None);
    }
    for value in given.iter().take(16).filter(|_| !template.is_empty()) {
        let line = template.join(&b' ');
        let line = if line.windows(2).any(|part| part == b"{}") {
            substituted(&[line], b"{}", value).concat()
        } else {
            [line.as_slice(), b" ", value].concat()
        };
        scanner.nested(&line, around.span, None);
    }
}
