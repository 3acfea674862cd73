//! Launchers that take their command as a string: `ssh`, `su -c`, `watch`, git's hooks, escapes of other programs.

use super::command::{Surroundings, reads_program};
use super::launch::{Launch, option_width, value_of};
use super::scan::{Reader, Scanner};

pub(super) fn ssh(scanner: &mut Scanner<'_, '_>, rest: &[Vec<u8>], around: &mut Surroundings<'_>) {
    let mut words = rest;
    let mut host = false;
    for word in rest {
        if let Some(text) = value_of(word).filter(|_| word.windows(8).any(|part| part == b"Command=")) {
            scanner.nested(text, around.span, None);
        }
    }
    while let Some(word) = words.first() {
        if word.as_slice() == b"--" {
            words = &words[1..];
            continue;
        }
        let width = option_width(words, b"BbcDEeFIiJLlmOopQRSWw", &[]);
        if width > 0 {
            words = words.get(width..).unwrap_or(&[]);
        } else if host {
            break;
        } else {
            host = true;
            words = &words[1..];
        }
    }
    if words.is_empty() {
        reads_program(around, Reader::Shell);
    } else {
        scanner.nested(&words.join(&b' '), around.span, None);
    }
}

/// Launchers that take their command as one string behind `-c`, or as words.
pub(super) fn stringly(
    scanner: &mut Scanner<'_, '_>,
    program: &[u8],
    rest: &[Vec<u8>],
    around: &mut Surroundings<'_>,
) -> Launch {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        match word.as_slice() {
            b"--command" | b"--session-command" => {
                scanner.nested(rest.get(at + 1).map_or(b"".as_slice(), Vec::as_slice), around.span, None);
            }
            [b'-', b'-', name @ ..] if !name.is_empty() => {
                if let Some(text) = value_of(name).filter(|_| b"command".starts_with(&name[..1])) {
                    scanner.nested(text, around.span, None);
                }
            }
            [b'-', flags @ ..] if flags.last() == Some(&b'c') => {
                scanner.nested(rest.get(at + 1).map_or(b"".as_slice(), Vec::as_slice), around.span, None);
            }
            _ => {}
        }
        at += 1;
    }
    if program == b"su" && !rest.iter().any(|word| word.starts_with(b"-c") || word.starts_with(b"--c")) {
        reads_program(around, Reader::Shell);
        return Launch::Done;
    }
    let (short, operands): (&[u8], usize) = match program {
        b"watch" => (b"nq", 0),
        b"flock" => (b"wEc", 1),
        b"runuser" => (b"ugGswc", 0),
        b"sg" => (b"c", 1),
        _ => return Launch::Done,
    };
    let mut words = rest;
    loop {
        if words.first().is_some_and(|word| word.as_slice() == b"--") {
            words = &words[1..];
            break;
        }
        match option_width(words, short, &[b"interval", b"user", b"group", b"timeout", b"wait"]) {
            0 => break,
            width => words = words.get(width..).unwrap_or(&[]),
        }
    }
    let words = words.get(operands..).unwrap_or(&[]);
    if matches!(program, b"watch" | b"sg") {
        scanner.nested(&words.join(&b' '), around.span, None);
        return Launch::Done;
    }
    Launch::Inner(words.to_vec())
}

pub(super) fn git(scanner: &mut Scanner<'_, '_>, rest: &[Vec<u8>], around: &mut Surroundings<'_>) {
    for (at, word) in rest.iter().enumerate() {
        let tail = rest.get(at + 1..).unwrap_or(&[]);
        if let Some(text) = value_of(word).and_then(|text| text.strip_prefix(b"!")) {
            scanner.nested(text, around.span, None);
        } else if matches!(word.as_slice(), b"foreach" | b"run") && at > 0 {
            let options = tail.iter().take_while(|word| word.starts_with(b"-")).count();
            scanner.nested(&tail.get(options..).unwrap_or(&[]).join(&b' '), around.span, None);
        } else if matches!(
            word.as_slice(),
            b"-x"
                | b"--exec"
                | b"--tree-filter"
                | b"--index-filter"
                | b"--msg-filter"
                | b"--env-filter"
                | b"--commit-filter"
        ) && let Some(text) = tail.first()
        {
            scanner.nested(text, around.span, None);
        } else if let Some(text) = value_of(word).filter(|_| word.starts_with(b"--exec=")) {
            scanner.nested(text, around.span, None);
        }
    }
}

/// Strings that another program hands to a shell: `!command`, `shell command`, `…-command=command`.
pub(super) fn embedded(
    scanner: &mut Scanner<'_, '_>,
    program: &[u8],
    rest: &[Vec<u8>],
    around: &mut Surroundings<'_>,
) {
    for word in rest {
        let word = word.as_slice();
        let text = if let Some(at) = word.iter().position(|byte| *byte == b'!').filter(|at| *at <= 4) {
            word.get(at + 1..)
        } else if let Some(text) = word.strip_prefix(b"shell ").or(word.strip_prefix(b"\\! ")) {
            Some(text)
        } else if let Some(text) = word.strip_prefix(b".shell ").or(word.strip_prefix(b".system ")) {
            Some(text)
        } else if let Some(at) = word.windows(5).position(|part| part == b"exec=") {
            word.get(at + 5..)
        } else {
            value_of(word).filter(|_| word.starts_with(b"--"))
        };
        if let Some(text) = text {
            scanner.nested(text, around.span, None);
        }
    }
    if matches!(program, b"at" | b"batch") {
        reads_program(around, Reader::Shell);
    }
}
