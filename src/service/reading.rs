//! From what was typed to segments: the bytes checked, a line read by `shell`, an argv taken as it is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::request::Command;
use crate::classify::{self, Classification, Environment, UserRows};
use crate::diagnostic::Diagnostic;
use crate::profile::HostFacts;
use crate::shell::{self, Script, Span, Value};

/// The kernel takes no longer argument, its NUL included.
pub(super) const MAX_LINE: usize = 128 * 1024 - 1;

/// A command as text, and as segments.
#[derive(Debug)]
pub(super) struct Reading {
    /// The line; an argv is quoted as a shell would need it.
    pub(super) source: String,
    /// Its segments.
    pub(super) script: Script,
}

/// Reads a command.
///
/// # Errors
/// `command_empty`, `line_nul`, `line_not_utf8`, `line_too_long`.
pub(super) fn read(command: &Command) -> Result<Reading, Diagnostic> {
    match command {
        Command::Line { text, .. } => {
            let source = text_of(text.as_bytes())?.to_owned();
            let script = shell::parse(&source);
            Ok(Reading { source, script })
        }
        Command::Argv(argv) => of_argv(argv),
        // It is no argument, so the kernel's limit is not its own; what is too long to be read is not trusted.
        Command::Script(script) => {
            let source = plain_text(script.text.as_bytes())?.to_owned();
            let script = shell::parse(&source);
            Ok(Reading { source, script })
        }
    }
}

/// The text of a line, if bash could be given it.
///
/// # Errors
/// As for [`read`].
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, Diagnostic> {
    let text = plain_text(bytes)?;
    if text.len() > MAX_LINE {
        return Err(Diagnostic::new(
            "line_too_long",
            format!("the line has {} bytes; the kernel takes {MAX_LINE} as one argument", text.len()),
        )
        .help("put it into a file and run `bash FILE`"));
    }
    if text.trim().is_empty() {
        return Err(nothing());
    }
    Ok(text)
}

/// Text that bash reads as swbox does.
fn plain_text(bytes: &[u8]) -> Result<&str, Diagnostic> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Diagnostic::new("line_not_utf8", format!("byte {} of the line is not UTF-8", error.valid_up_to() + 1))
            .help("write such a name with $'\\xHH', or pass it as an argument after `--`")
    })?;
    if let Some(at) = text.find('\0') {
        return Err(Diagnostic::new(
            "line_nul",
            format!("byte {} of the line is NUL, which no command can hold", at + 1),
        )
        .help("use printf '\\0' to write one"));
    }
    Ok(text)
}

fn nothing() -> Diagnostic {
    Diagnostic::new("command_empty", "there is no command")
        .help("swbox exec -c LINE, or swbox exec -- CMD [ARG…]")
}

/// A program and its arguments: nothing in them is a shell's to expand.
fn of_argv(words: &[OsString]) -> Result<Reading, Diagnostic> {
    if words.first().is_none_or(|program| program.is_empty()) {
        return Err(nothing());
    }
    let text: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut script = shell::from_argv(&text);
    let mut source = String::new();
    let args = script.segments.iter_mut().flat_map(|segment| &mut segment.argv);
    for ((arg, word), text) in args.zip(words).zip(&text) {
        if !source.is_empty() {
            source.push(' ');
        }
        let start = source.len();
        source.push_str(&shell_words::quote(text));
        arg.span = Span::new(start, source.len());
        if word.to_str().is_none() {
            arg.value = Value::Unknown { splits: false };
        }
    }
    for segment in &mut script.segments {
        segment.span = Span::new(0, source.len());
    }
    Ok(Reading { source, script })
}

/// What classification is told of the world, wherever a command starts.
pub(super) fn known(facts: &HostFacts, rows: &UserRows) -> Environment {
    let names = facts.aliases.all().iter().map(|alias| (text(&alias.name), text(&alias.real)));
    Environment { cwd: String::new(), home: text(&facts.home), names: names.collect(), rows: rows.clone() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The segments with what each does.
pub(super) fn classify(reading: &Reading, cwd: &Path, facts: &HostFacts, rows: &UserRows) -> Classification {
    let environment = Environment { cwd: text(cwd), ..known(facts, rows) };
    classify::classify(&reading.source, &reading.script, &environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: &[u8]) -> Option<&'static str> {
        text_of(bytes).err().map(|problem| problem.code)
    }

    #[test]
    fn what_bash_cannot_be_given_is_named() {
        assert_eq!(code(b""), Some("command_empty"));
        assert_eq!(code(b" \n\t"), Some("command_empty"));
        assert_eq!(code(b"a\0b"), Some("line_nul"));
        assert_eq!(code(b"a\xff"), Some("line_not_utf8"));
        assert_eq!(code(&vec![b'a'; MAX_LINE + 1]), Some("line_too_long"));
        assert_eq!(code(&vec![b'a'; MAX_LINE]), None);
    }

    #[test]
    fn an_argv_is_taken_as_it_is() {
        use std::os::unix::ffi::OsStringExt;
        let words = ["cat", "a b", "$(rm x)", "*"].map(OsString::from);
        let reading = of_argv(&words).unwrap();
        assert_eq!(reading.source, "cat 'a b' '$(rm x)' '*'");
        let segment = &reading.script.segments[0];
        assert_eq!(segment.argv[2].value, Value::Literal("$(rm x)".to_owned()));
        assert_eq!(segment.argv[1].span.of(&reading.source), "'a b'");
        let odd = of_argv(&["cat".into(), OsString::from_vec(vec![0xff])]).unwrap();
        assert_eq!(odd.script.segments[0].argv[1].value, Value::Unknown { splits: false });
        assert!(of_argv(&[]).is_err() && of_argv(&["".into()]).is_err());
    }
}
