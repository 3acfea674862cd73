//! What the variable of a `for` loop holds inside the loop's body.
//!
//! Duty: which loops' variables nothing but the loop's own head sets, and what values the head gives them.
//! Danger: a value that is claimed although the body, a function, a builtin or arithmetic can set another one; a command
//! that is taken to be inside a body although it runs before or after it. In doubt a variable is as unknown as ever.

use std::ops::Range;

use super::evaluate::Evaluator;
use super::reading::{CommandKind, RawCommand, RawWord, Reading, Slice};
use super::segment::{RedirectOp, Segment};
use super::variables::{self, Known, Variables};

/// Most values of one loop that are told apart; a longer list of numbers is a number.
const MAX_VALUES: usize = 16;
/// Longest value that is told apart.
const MAX_VALUE: usize = 128;
/// Longest command that is repeated for each value.
const MAX_COMMAND: usize = 1_024;
/// Most repetitions of one command in nested loops.
const MAX_COPIES: usize = 64;
/// Most repetitions in a script.
const MAX_ALL_COPIES: usize = 128;
/// Most words of all lists together that are looked at.
const MAX_WORDS: usize = 4_096;

/// A `for` loop as lexed.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) name: String,
    pub(super) head: Head,
    /// Which commands stand in the body; empty while its end was not met.
    pub(super) body: Range<usize>,
}

/// What a loop runs over.
#[derive(Debug, Clone)]
pub(super) enum Head {
    /// These of [`Reading::loop_words`].
    Words(Range<usize>),
    /// `for ((…))`.
    Arithmetic(Slice),
}

/// What a variable holds inside a body.
#[derive(Debug, Clone)]
enum Values {
    Number,
    /// One of these.
    Each(Vec<String>),
}

/// Which of the script's loops have a variable that only their head sets; `variables` are surveyed but for loops and
/// arithmetic, which can make a variable nothing but another number.
pub(super) fn stable(reading: &Reading, source: &[u8], variables: &Variables) -> Vec<bool> {
    let heredoc = |command: &RawCommand| {
        // the body of a heredoc is read where it stands, not where its command does
        command.redirects.iter().any(|redirect| redirect.op == RedirectOp::Heredoc && !redirect.literal)
    };
    if reading.commands.iter().any(heredoc) {
        return vec![false; reading.loops.len()];
    }
    reading.loops.iter().map(|own| is_stable(own, reading, source, variables)).collect()
}

fn is_stable(own: &Loop, reading: &Reading, source: &[u8], variables: &Variables) -> bool {
    let name = own.name.as_bytes();
    let assigned = || {
        let mut assignments = reading.commands.iter().flat_map(|command| &command.assignments);
        assignments.any(|word| variables::name_of(reading, source, word) == name)
    };
    let same = || reading.loops.iter().filter(|other| other.name == own.name);
    let others = || same().filter(|other| !std::ptr::eq(*other, own));
    // `select` and `coproc` set one without being a loop of these
    let heads = reading.loop_variables.iter().filter(|other| **other == own.name).count();
    let listed = same().filter(|other| matches!(other.head, Head::Words(_))).count();
    let apart = |other: &Loop| other.body.end <= own.body.start || own.body.end <= other.body.start;
    is_ordinary(name)
        && !variables.is_unstable(name)
        && !assigned()
        && heads == listed
        && (others().next().is_none() || reading.definitions.is_empty() && others().all(apart))
}

/// A name to which bash gives no meaning and no value: all others are in capitals.
fn is_ordinary(name: &[u8]) -> bool {
    let single = matches!(name, [byte] if byte.is_ascii_alphabetic());
    (single || name.iter().any(u8::is_ascii_lowercase)) && !matches!(name, b"histchars" | b"auto_resume")
}

/// Whether something in the script may evaluate arithmetic, which can set any variable to a number.
pub(super) fn evaluates_arithmetic(reading: &Reading, source: &[u8]) -> bool {
    let bytes = |word: &RawWord| reading.bytes(source, word.slice);
    let parameter = |slice: Slice| {
        let text = reading.bytes(source, slice);
        text.iter().enumerate().any(|(at, byte)| match byte {
            b'[' => true,
            b':' => !matches!(text.get(at + 1), Some(b'-' | b'+' | b'=' | b'?')),
            _ => false,
        })
    };
    let command = |command: &RawCommand| {
        let verb = command.words.first().map_or(&[][..], bytes);
        let subscript = |word: &RawWord| bytes(word).contains(&b'[');
        let compares = |word: &RawWord| {
            matches!(bytes(word), b"-v" | b"-R" | b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge")
        };
        match command.kind {
            CommandKind::Arithmetic => true,
            CommandKind::Test => command.words.iter().any(compares),
            _ => {
                let rest = command.words.get(1..).unwrap_or(&[]);
                command.assignments.iter().any(|word| !variables::is_simple(reading, source, word))
                    || matches!(verb, b"test" | b"[")
                        && rest.iter().any(|word| matches!(bytes(word), b"-v" | b"-R"))
                    || matches!(verb, b"let")
                    || variables::is_changer(verb) && rest.iter().any(subscript)
            }
        }
    };
    !reading.arithmetic.is_empty()
        || reading.parameters.iter().any(|(slice, _)| parameter(*slice))
        || reading.commands.iter().any(command)
}

/// The loops around the present command, while the commands are gone through in order.
#[derive(Debug)]
pub(super) struct Around<'a> {
    reading: &'a Reading,
    source: &'a [u8],
    /// The next loop whose body was not met.
    next: usize,
    /// The loops whose body the present command stands in, and what is known.
    open: Vec<(&'a Loop, Values)>,
    arithmetic: bool,
    /// Repetitions left.
    copies: usize,
    /// Words of lists that may still be looked at.
    words: usize,
}

impl<'a> Around<'a> {
    pub(super) fn new(reading: &'a Reading, source: &'a [u8]) -> Self {
        let arithmetic = !reading.loops.is_empty() && evaluates_arithmetic(reading, source);
        Self {
            reading,
            source,
            next: 0,
            open: Vec::new(),
            arithmetic,
            copies: MAX_ALL_COPIES,
            words: MAX_WORDS,
        }
    }

    /// Goes on to the command with that index; `known`: what holds before it.
    pub(super) fn enter(&mut self, index: usize, known: &Variables) {
        self.open.retain(|(own, _)| index < own.body.end);
        while let Some(own) = self.reading.loops.get(self.next).filter(|own| own.body.start <= index) {
            if own.body.contains(&index)
                && known.loop_is_stable(self.next)
                && let Some(values) = self.values(own, known)
            {
                self.open.push((own, values));
            }
            self.next += 1;
        }
    }

    /// Whether the present command stands in the body of a loop of which something is known.
    pub(super) fn is_any(&self) -> bool {
        !self.open.is_empty()
    }

    fn values(&mut self, own: &Loop, known: &Variables) -> Option<Values> {
        let range = match &own.head {
            Head::Arithmetic(slice) => {
                return begins_with_number(self.reading.bytes(self.source, *slice), own.name.as_bytes())
                    .then_some(Values::Number);
            }
            Head::Words(range) => range.clone(),
        };
        let words = self.reading.loop_words.get(range)?;
        if let [word] = words
            && is_sequence(self.reading.bytes(self.source, word.slice))
            && !known.separators_changed()
            && self.reading.definitions.iter().all(|definition| definition.name != "seq")
        {
            return Some(Values::Number);
        }
        let evaluator = Evaluator::new(self.reading, self.source, known);
        let mut args = Vec::new();
        for word in words {
            if self.words == 0 {
                return None;
            }
            evaluator.arguments(word, &mut args);
            if args.len() > self.words {
                // What was read and not used has been read: else each further list costs as much for nothing.
                self.words = 0;
                return None;
            }
        }
        self.words -= args.len();
        let values: Vec<String> =
            args.iter().map(|arg| arg.value.literal().map(str::to_owned)).collect::<Option<_>>()?;
        let numbers = values.iter().all(|value| is_integer(value));
        let few = values.len() <= MAX_VALUES && values.iter().all(|value| value.len() <= MAX_VALUE);
        if few && !self.arithmetic && !self.moves(own) {
            return Some(Values::Each(values));
        }
        numbers.then_some(Values::Number)
    }

    /// Whether a body changes the directory: then a name that is known means another file each time around.
    fn moves(&self, own: &Loop) -> bool {
        let body = self.reading.commands.get(own.body.clone()).unwrap_or(&[]);
        body.iter().filter(|command| !command.context.subshell).any(|command| {
            command.words.first().is_some_and(|verb| {
                matches!(self.reading.bytes(self.source, verb.slice), b"cd" | b"pushd" | b"popd")
            })
        })
    }

    /// What the present command becomes: one segment for each set of values that makes one of its own.
    ///
    /// `read` gives the segment under what is known; `known` is left without loop values.
    pub(super) fn segments(
        &mut self,
        command: &RawCommand,
        known: &mut Variables,
        read: impl Fn(&Variables) -> Segment,
    ) -> Vec<Segment> {
        let mut numbers = Vec::new();
        let mut lists: Vec<(&[u8], &[String])> = Vec::new();
        for (own, values) in self.open.iter().filter(|(own, _)| self.mentions(command, own.name.as_bytes())) {
            match values {
                Values::Number => numbers.push((own.name.clone().into_bytes(), Known::Number)),
                Values::Each(values) => lists.push((own.name.as_bytes(), values)),
            }
        }
        let count = lists.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
        known.looped = numbers;
        let plain = read(known);
        let length = command.span.end.saturating_sub(command.span.start);
        let copies = count.filter(|count| {
            !lists.is_empty()
                && (1..=MAX_COPIES.min(self.copies)).contains(count)
                && length <= MAX_COMMAND
                && plain.argv.len() <= command.words.len()
        });
        let mut segments = Vec::new();
        let fixed = known.looped.len();
        for copy in 0..copies.unwrap_or(0) {
            let mut rest = copy;
            known.looped.truncate(fixed);
            for (name, values) in &lists {
                if let Some(value) = values.get(rest % values.len()) {
                    known.looped.push((name.to_vec(), Known::Text(value.clone())));
                }
                rest /= values.len();
            }
            let segment = read(known);
            if !segments.contains(&segment) {
                segments.push(segment);
            }
        }
        known.looped.clear();
        self.copies -= copies.unwrap_or(0);
        if segments.is_empty() || segments.iter().any(keeps_state) {
            return vec![plain];
        }
        segments
    }

    /// Whether a command's text may use a variable.
    fn mentions(&self, command: &RawCommand, name: &[u8]) -> bool {
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        command.words.iter().chain(&command.assignments).chain(targets).any(|word| {
            let text = self.reading.bytes(self.source, word.slice);
            text.iter().enumerate().any(|(at, byte)| {
                matches!(byte, b'$' | b'{') && text.get(at + 1..).is_some_and(|rest| rest.starts_with(name))
            })
        })
    }
}

/// Whether a command changes where or how later ones run: its repetitions would be taken for one after the other, and
/// apart from those of the commands around it.
fn keeps_state(segment: &Segment) -> bool {
    segment.argv.first().is_some_and(|verb| {
        verb.value.literal().is_none_or(|verb| {
            variables::is_changer(verb.as_bytes())
                || variables::changes_all(verb.as_bytes())
                || matches!(verb, "cd" | "pushd" | "popd" | "unalias" | "set" | "exec" | "hash")
        })
    })
}

/// `NAME=` and a digit or a name: the first expression of the head gives the variable a number.
fn begins_with_number(text: &[u8], name: &[u8]) -> bool {
    text.trim_ascii_start()
        .strip_prefix(name)
        .and_then(|rest| rest.trim_ascii_start().strip_prefix(b"="))
        .and_then(|rest| rest.trim_ascii_start().first())
        .is_some_and(u8::is_ascii_alphanumeric)
}

/// `$(seq 3)`, `$(seq 1 3)`, unquoted: numbers or nothing.
fn is_sequence(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"$(seq ").and_then(|rest| rest.strip_suffix(b")"));
    inner.is_some_and(|inner| {
        inner.split(|byte| *byte == b' ').count() <= 2
            && inner
                .split(|byte| *byte == b' ')
                .all(|word| !word.is_empty() && word.len() < 10 && word.iter().all(u8::is_ascii_digit))
    })
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::shell::{Piece, Value, parse};

    /// The words of each segment; `?`: not known, `#`: a number.
    fn seen(source: &str) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Literal(text) => text.clone(),
            Value::Partial(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Known(text) | Piece::Glob(text) => text.as_str(),
                    Piece::Number => "#",
                    Piece::Home | Piece::Unknown { .. } => "?",
                })
                .collect(),
            Value::Unknown { .. } => "?".to_owned(),
        };
        let words = |segment: &crate::shell::Segment| {
            segment.argv.iter().map(|arg| text(&arg.value)).collect::<Vec<_>>().join(" ")
        };
        parse(source).segments.iter().map(words).collect()
    }

    #[test]
    fn each_value_of_a_list_gives_a_segment() {
        let source = "for p in a 'b c'; do $p -v; x \"$p\" y$p; done; z $p";
        assert_eq!(seen(source), ["a -v", "b c -v", "x a ya", "x b c yb c", "z ?"]);
        assert_eq!(seen("for i in {1..3}; do x \"${i}p\"; y; done"), ["x 1p", "x 2p", "x 3p", "y"]);
        assert_eq!(seen("for d in a b; do for f in 1 2; do x $d/$f; done; done").len(), 4);
        assert_eq!(seen("for f in a; do x $f; done; for f in b; do x $f; done"), ["x a", "x b"]);
    }

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(seen("for i in {1..20}; do x ${i}p; done"), ["x #p"]);
        assert_eq!(seen("for i in $(seq 1 5); do x ${i}p; done"), ["seq 1 5", "x #p"]);
        assert_eq!(seen("for i in 1 2; do x ${i}p $((i + 1)); done"), ["x #p #"]);
        assert_eq!(seen("for ((i=0; i<3; i++)); do x ${i}p; done"), ["x #p"]);
        assert_eq!(seen("for ((; i<3; i++)); do x $i; done"), ["x ?"]);
        assert_eq!(seen("seq() { :; }; for i in $(seq 1 5); do x $i; done").last().unwrap(), "x ?");
    }

    #[test]
    fn what_else_sets_the_variable_makes_it_unknown() {
        for body in [
            "i=y",
            "i=y z",
            "read i",
            "printf -v i y",
            "printf -vi y",
            "unset i",
            "(i=y)",
            "for i in c; do :; done",
            "g() { i=y; }; g",
            "let i=5",
            "let z=i=5",
            ": ${i:=y}",
            ": ${a[i=5]}",
            ": $((z))",
            "((z++))",
            "eval 'i=y'",
            "mapfile i",
            "read -rai",
            "builtin read i",
            "command read i",
            "builtin eval 'read i'",
            "declare -n r=i",
            "coproc i { :; }",
            "select i in y; do :; done",
            "exec {i}>n",
            "[[ z -eq 5 ]]",
            "[[ -v z ]]",
            "test -v z",
            "a[z]=1",
            "a=([z]=1)",
            ". ./y",
            "\\read i",
            "$z i",
            "trap 'i=y' DEBUG",
            "i+=y",
            "export i",
            "cat <<E\n$i\nE\n",
        ] {
            let source = format!("for i in a b; do x \"$i\"; {body}\ndone");
            assert!(seen(&source).contains(&"x ?".to_owned()), "{source} {:?}", seen(&source));
        }
        assert_eq!(seen("for IFS in a b; do x \"$IFS\"; done"), ["x ?"]);
        assert_eq!(seen("for LINES in a b; do x \"$LINES\"; done"), ["x ?"]);
        assert_eq!(seen("for i in a *; do x $i; done"), ["x ?"]);
        assert_eq!(seen("for i; do x $i; done"), ["x ?"]);
        assert_eq!(seen("for i in a b; do f() { x $i; }; done; f"), ["x ?", "f"]);
        assert_eq!(seen("for i in 1 2; do IFS=1; x $i; done").last().unwrap(), "x ?");
        assert_eq!(seen("for i in a b; do cd $i; done"), ["cd ?"]);
        assert_eq!(seen("for i in a b; do cd ..; x $i; done"), ["cd ..", "x ?"]);
        assert_eq!(seen("for i in a b; do (cd $i; x); y $i; done"), ["cd ?", "x", "y a", "y b"]);
    }

    #[test]
    fn constants_do_not_outlive_what_changes_them() {
        for change in
            ["printf -vi y", "let z=i=5", "builtin eval 'read i'", ": ${a[i=5]}", ": ${z:i++}", "a[i=5]=1"]
        {
            let source = format!("i=a; {change}; x \"$i\"");
            assert_eq!(seen(&source).last().unwrap(), "x ?", "{source}");
        }
    }

    #[test]
    fn repetitions_are_bounded() {
        let word = "for a in 1 2 3 4 5 6 7 8; do ";
        let nested = format!(
            "{word}{}{}x $a$b$c; done; done; done",
            word.replace(" a ", " b "),
            word.replace(" a ", " c ")
        );
        assert_eq!(seen(&nested).len(), 1);
        let many = format!("for i in a b c d e f g h; do {} done", "x $i; ".repeat(300));
        assert!(seen(&many).len() < 500);
    }
}
