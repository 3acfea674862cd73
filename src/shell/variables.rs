//! Which variables have a value that the script itself makes certain.
//!
//! Only assignments in straight-line code count, and only of names that nothing else in the script can change.
//! Danger: a value that is propagated although a loop, a branch, `read` or `eval` changed it.

use std::collections::{HashMap, HashSet};

use super::cursor::is_name_byte;
use super::loops;
use super::reading::{CommandKind, RawCommand, RawWord, Reading};
use super::word::{Arg, Piece, Value};

/// What is known of a variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup<'a> {
    /// The script gives it this value.
    Known(&'a str),
    /// The script gives it the value of an arithmetic expression.
    Number,
    /// The script does not touch it.
    Unset,
    /// The script may change it.
    Changed,
}

/// A value that the script makes certain.
#[derive(Debug)]
pub(super) enum Known {
    Text(String),
    Number,
}

/// The variables of a script, at one point of it.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: HashMap<Vec<u8>, Option<Known>>,
    /// Names that something other than straight-line code may change.
    unstable: HashSet<Vec<u8>>,
    /// Anything may have changed (`eval`, `source`, a dynamic name).
    all_unstable: bool,
    /// `$"…"` may be translated.
    pub(super) translated: bool,
    /// Which of the script's `for` loops alone set their variable.
    stable_loops: Vec<bool>,
    /// What the variables of the loops around the present command hold: names that are unstable elsewhere.
    pub(super) looped: Vec<(Vec<u8>, Known)>,
}

/// Builtins whose arguments name variables that they change.
const CHANGERS: &[&[u8]] = &[
    b"read",
    b"mapfile",
    b"readarray",
    b"declare",
    b"typeset",
    b"local",
    b"export",
    b"readonly",
    b"unset",
    b"getopts",
    b"printf",
    b"let",
    b"wait",
    b"builtin",
    b"command",
];

/// Builtins that may change anything.
const CHANGE_ALL: &[&[u8]] = &[b"eval", b"source", b".", b"trap", b"alias", b"enable", b"shopt"];

impl Variables {
    /// Nothing is certain.
    pub(super) fn unknown() -> Self {
        Self { all_unstable: true, ..Self::default() }
    }

    /// What holds inside function bodies, which run at a time that is not known: only what nothing assigns.
    pub(super) fn at_any_time(&self, reading: &Reading, source: &[u8]) -> Self {
        let mut unstable = self.unstable.clone();
        let assignments = reading.commands.iter().flat_map(|command| &command.assignments);
        unstable.extend(assignments.map(|word| name_of(reading, source, word).to_vec()));
        Self { unstable, all_unstable: self.all_unstable, translated: self.translated, ..Self::default() }
    }

    /// What of the script's variables is stable at all.
    ///
    /// Verbs that are quoted or dynamic are taken to change nothing: [`changes_variables`] tells of their values.
    pub(super) fn survey(reading: &Reading, source: &[u8]) -> Self {
        let mut variables = Self::default();
        for command in &reading.commands {
            variables.survey_command(command, reading, source);
        }
        for (slice, _) in &reading.parameters {
            let text = reading.bytes(source, *slice);
            // also in what `${a[x=1]}`, `${a:x++}` count with
            if text.contains(&b'=') || text.windows(2).any(|pair| matches!(pair, b"++" | b"--")) {
                variables.names_in(text);
            }
        }
        if !reading.loops.is_empty() {
            variables.stable_loops = loops::stable(reading, source, &variables);
        }
        for name in &reading.loop_variables {
            variables.unstable.insert(name.as_bytes().to_vec());
        }
        for (slice, _) in &reading.arithmetic {
            variables.names_in(reading.bytes(source, *slice));
        }
        if loops::evaluates_arithmetic(reading, source) {
            variables.survey_expressions(reading, source);
        }
        variables
    }

    /// Arithmetic reads the text of a variable as an expression again: `x=i=7; echo $((x))` sets `i`.
    fn survey_expressions(&mut self, reading: &Reading, source: &[u8]) {
        let values = reading.commands.iter().flat_map(|command| {
            let calls = !reading.definitions.is_empty()
                || command.words.first().is_some_and(|verb| reading.bytes(source, verb.slice) == b"set");
            let values = command.assignments.iter().map(|word| {
                let (text, length) =
                    (reading.bytes(source, word.slice), name_of(reading, source, word).len());
                text.get(length + 1..).unwrap_or(&[])
            });
            values.chain(
                command.words.iter().filter(move |_| calls).map(|word| reading.bytes(source, word.slice)),
            )
        });
        let values: Vec<&[u8]> =
            values.chain(reading.loop_words.iter().map(|word| reading.bytes(source, word.slice))).collect();
        let sets =
            |text: &&[u8]| text.contains(&b'=') || text.windows(2).any(|pair| matches!(pair, b"++" | b"--"));
        if values.iter().any(sets) {
            values.iter().for_each(|text| self.plain_names_in(text));
        }
    }

    fn survey_command(&mut self, command: &RawCommand, reading: &Reading, source: &[u8]) {
        let straight = is_straight(command);
        for assignment in &command.assignments {
            let name = name_of(reading, source, assignment);
            if name.starts_with(b"TEXTDOMAIN") {
                self.translated = true;
            }
            if !straight || !is_simple(reading, source, assignment) {
                self.unstable.insert(name.to_vec());
            }
            let text = reading.bytes(source, assignment.slice);
            if name.len() < text.len() && text.get(name.len()) == Some(&b'[') || assignment.array {
                // what a subscript counts with
                self.names_in(text);
            }
        }
        for redirect in &command.redirects {
            if let Some(fd) = redirect.fd {
                self.names_in(reading.bytes(source, fd));
            }
        }
        let Some(verb) = command.words.first() else { return };
        if command.kind != CommandKind::Simple {
            return;
        }
        let text = reading.bytes(source, verb.slice);
        if CHANGE_ALL.contains(&text) {
            self.all_unstable = true;
        } else if text == b"printf"
            && command.words.get(1).is_some_and(|word| is_format(reading, source, word))
        {
            // without an option it sets nothing
        } else if CHANGERS.contains(&text) {
            let hands_on = matches!(text, b"builtin" | b"command");
            let calculates = text == b"let";
            let declares = matches!(text, b"declare" | b"typeset" | b"local");
            for word in command.words.iter().skip(1) {
                let text = reading.bytes(source, word.slice);
                if word.quoted || text.contains(&b'{') {
                    self.all_unstable |= word.assignment.is_none() && !is_inert(text);
                }
                self.all_unstable |= hands_on && CHANGE_ALL.contains(&text);
                self.leading_name(text);
                if calculates || text.contains(&b'[') {
                    self.names_in(text);
                } else if let Some(letters) = text.strip_prefix(b"-") {
                    // a reference is another name for some variable
                    self.all_unstable |= declares && letters.contains(&b'n');
                    // `printf -vNAME`, `read -raNAME`
                    (0..letters.len()).for_each(|at| self.leading_name(letters.get(at..).unwrap_or(&[])));
                }
            }
        }
    }

    /// Whether something other than straight-line code, a loop or arithmetic may change a variable.
    pub(super) fn is_unstable(&self, name: &[u8]) -> bool {
        self.all_unstable || self.unstable.contains(name)
    }

    /// Whether only its head sets the variable of the loop with that index.
    pub(super) fn loop_is_stable(&self, index: usize) -> bool {
        !self.all_unstable && self.stable_loops.get(index).copied().unwrap_or(false)
    }

    fn leading_name(&mut self, text: &[u8]) {
        let length = text.iter().take_while(|byte| is_name_byte(**byte)).count();
        if length > 0 {
            self.unstable.insert(text.get(..length).unwrap_or(&[]).to_vec());
        }
    }

    fn names_in(&mut self, text: &[u8]) {
        for name in text.split(|byte| !is_name_byte(*byte)) {
            if !name.is_empty() {
                self.unstable.insert(name.to_vec());
            }
        }
    }

    /// The names in a text but for those that the shell expands before the text is a value.
    fn plain_names_in(&mut self, text: &[u8]) {
        let mut start = 0;
        for name in text.split(|byte| !is_name_byte(*byte)) {
            let before = text.get(..start).unwrap_or(&[]);
            if !name.is_empty() && !before.ends_with(b"$") && !before.ends_with(b"${") {
                self.unstable.insert(name.to_vec());
            }
            start += name.len() + 1;
        }
    }

    /// A straight-line command was passed: its assignments hold from here.
    pub(super) fn assign(&mut self, name: &[u8], value: Value) {
        if self.unstable.contains(name) || is_special(name) {
            self.values.insert(name.to_vec(), None);
            return;
        }
        let value = match value {
            Value::Literal(text) => Some(Known::Text(text)),
            Value::Partial(pieces) if matches!(pieces[..], [Piece::Number]) => Some(Known::Number),
            Value::Partial(_) | Value::Unknown { .. } => None,
        };
        self.values.insert(name.to_vec(), value);
    }

    /// What is known of a variable here.
    pub(super) fn lookup(&self, name: &[u8]) -> Lookup<'_> {
        if !self.all_unstable
            && let Some((_, known)) = self.looped.iter().find(|(own, _)| own == name)
        {
            return match known {
                Known::Text(value) => Lookup::Known(value),
                Known::Number => Lookup::Number,
            };
        }
        if self.is_unstable(name) {
            return Lookup::Changed;
        }
        match self.values.get(name) {
            Some(Some(Known::Text(value))) => Lookup::Known(value),
            Some(Some(Known::Number)) => Lookup::Number,
            Some(None) => Lookup::Changed,
            None => Lookup::Unset,
        }
    }

    /// Whether unquoted values may be split otherwise than at blanks.
    pub(super) fn separators_changed(&self) -> bool {
        self.lookup(b"IFS") != Lookup::Unset
    }
}

/// Whether a builtin changes variables that its arguments name.
pub(super) fn is_changer(verb: &[u8]) -> bool {
    CHANGERS.contains(&verb)
}

/// Whether a builtin may change anything.
pub(super) fn changes_all(verb: &[u8]) -> bool {
    CHANGE_ALL.contains(&verb)
}

/// Whether what the command assigns holds for all that follows.
pub(super) fn is_straight(command: &RawCommand) -> bool {
    let context = command.context;
    command.words.is_empty()
        && command.kind == CommandKind::Simple
        && !context.conditional
        && !context.in_function
        && !context.in_substitution
        && !context.subshell
        && !context.background
}

/// The name that an assignment assigns.
pub(super) fn name_of<'a>(reading: &'a Reading, source: &'a [u8], word: &RawWord) -> &'a [u8] {
    let end = word.assignment.map_or(word.slice.end, |(name_end, _)| name_end);
    reading.text(source, word.slice.text).get(word.slice.start..end).unwrap_or(&[])
}

/// `NAME=value`, not `NAME+=`, `NAME[…]=` or an array.
pub(super) fn is_simple(reading: &Reading, source: &[u8], word: &RawWord) -> bool {
    let text = reading.text(source, word.slice.text);
    !word.array
        && word
            .assignment
            .is_some_and(|(name_end, value)| value == name_end + 1 && text.get(name_end) == Some(&b'='))
}

/// Whether a command whose verb is written with quotes or expansions may change variables after all.
pub(super) fn changes_variables(command: &RawCommand, argv: &[Arg]) -> bool {
    let hidden = argv.len() != command.words.len() || command.words.first().is_some_and(|verb| verb.quoted);
    let harmless = argv
        .first()
        .and_then(|verb| verb.value.literal())
        .is_some_and(|verb| !CHANGERS.contains(&verb.as_bytes()) && !CHANGE_ALL.contains(&verb.as_bytes()));
    hidden && !harmless
}

/// Whether a word is surely no option.
fn is_format(reading: &Reading, source: &[u8], word: &RawWord) -> bool {
    match reading.bytes(source, word.slice) {
        [b'\'' | b'"', first, ..] => !matches!(first, b'-' | b'$' | b'`' | b'\\' | b'\'' | b'"'),
        [first, ..] => first.is_ascii_alphanumeric() || *first == b'%',
        [] => false,
    }
}

/// An argument that names no variable: an option or a quoted text with blanks in it.
fn is_inert(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'$' | b'`' | b'{' | b'[' | b'='))
        && (text.first() == Some(&b'-') || text.contains(&b' ') || text.contains(&b'%'))
}

/// Variables that bash itself changes or gives a meaning.
fn is_special(name: &[u8]) -> bool {
    name.starts_with(b"BASH")
        || matches!(
            name,
            b"RANDOM"
                | b"SRANDOM"
                | b"SECONDS"
                | b"EPOCHSECONDS"
                | b"EPOCHREALTIME"
                | b"LINENO"
                | b"HISTCMD"
                | b"IFS"
                | b"UID"
                | b"EUID"
                | b"PPID"
                | b"SHELLOPTS"
                | b"PWD"
                | b"OLDPWD"
                | b"OPTARG"
                | b"OPTIND"
                | b"REPLY"
                | b"FUNCNAME"
                | b"GROUPS"
                | b"DIRSTACK"
                | b"PIPESTATUS"
                | b"_"
        )
}
