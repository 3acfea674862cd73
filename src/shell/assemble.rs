//! From the lexer's tables to segments.

use super::evaluate::Evaluator;
use super::loops;
use super::reading::{CommandKind, RawCommand, RawRedirect, RawWord, Reading};
use super::segment::{Assignment, Redirect, RedirectOp, Segment};
use super::variables::{self, Variables};
use super::word::{Arg, Piece, Value};

/// The segments of a reading, in source order.
pub(super) fn segments(reading: &Reading, source: &str) -> Vec<Segment> {
    let source = source.as_bytes();
    let (mut segments, certain) = evaluated(reading, source, Variables::survey(reading, source));
    if !certain {
        segments = evaluated(reading, source, Variables::unknown()).0;
    }
    if segments.iter().any(may_undefine) {
        segments.iter_mut().for_each(|segment| segment.calls_function = false);
    }
    segments.sort_by_key(|segment| segment.span.start);
    segments
}

/// Whether a segment may take a function away or put another one in its place.
fn may_undefine(segment: &Segment) -> bool {
    segment.argv.first().is_some_and(|verb| {
        verb.value.literal().is_none_or(|verb| {
            matches!(verb, "unset" | "eval" | "source" | "." | "alias" | "builtin" | "command" | "trap")
        })
    })
}

/// The segments, and whether the variables are as certain as they were taken to be.
fn evaluated(reading: &Reading, source: &[u8], mut known: Variables) -> (Vec<Segment>, bool) {
    let inside_functions = known.at_any_time(reading, source);
    let mut segments = Vec::with_capacity(reading.commands.len());
    let mut certain = true;
    let mut around = loops::Around::new(reading, source);
    for (index, command) in reading.commands.iter().enumerate() {
        around.enter(index, &known);
        if matches!(command.kind, CommandKind::Simple | CommandKind::CompoundRedirects) {
            let read = |known: &Variables| segment(&Evaluator::new(reading, source, known), command, index);
            let first = segments.len();
            if command.context.in_function {
                // a function's body runs later, with values from then
                segments.push(read(&inside_functions));
            } else if around.is_any() {
                segments.extend(around.segments(command, &mut known, read));
            } else {
                segments.push(read(&known));
            }
            let new = segments.get(first..).unwrap_or(&[]);
            certain &= !new.iter().any(|segment| variables::changes_variables(command, &segment.argv));
        }
        if variables::is_straight(command) {
            assign(&mut known, command, reading, source);
        }
    }
    (segments, certain)
}

fn assign(known: &mut Variables, command: &RawCommand, reading: &Reading, source: &[u8]) {
    for word in &command.assignments {
        let value = if variables::is_simple(reading, source, word) {
            Evaluator::new(reading, source, known).single(word, value_start(word))
        } else {
            Value::Unknown { splits: false }
        };
        known.assign(variables::name_of(reading, source, word), value);
    }
}

fn value_start(word: &RawWord) -> usize {
    word.assignment.map_or(word.slice.start, |(_, value)| value)
}

fn segment(evaluator: &Evaluator<'_>, command: &RawCommand, index: usize) -> Segment {
    let mut argv = Vec::with_capacity(command.words.len());
    for word in &command.words {
        evaluator.arguments(word, &mut argv);
    }
    let calls_function = argv.first().and_then(|verb| verb.value.literal()).is_some_and(|verb| {
        evaluator.reading.definitions.iter().any(|definition| {
            let context = definition.context;
            definition.name == verb
                && definition.before <= index
                && !context.conditional
                && !context.in_function
                && !context.subshell
                && !context.background
        })
    });
    Segment {
        argv,
        assignments: command.assignments.iter().map(|word| assignment(evaluator, word)).collect(),
        redirects: command.redirects.iter().map(|raw| redirect(evaluator, raw)).collect(),
        span: command.span,
        context: command.context,
        calls_function,
    }
}

fn assignment(evaluator: &Evaluator<'_>, word: &RawWord) -> Assignment {
    let Evaluator { reading, source, .. } = *evaluator;
    let name = String::from_utf8_lossy(variables::name_of(reading, source, word)).into_owned();
    let value = if word.array {
        Value::Unknown { splits: false }
    } else if variables::is_simple(reading, source, word) {
        evaluator.single(word, value_start(word))
    } else {
        appended(evaluator.single(word, value_start(word)))
    };
    Assignment { name, value, span: word.span }
}

/// The value of `NAME+=…`: unknown text and what is added to it.
fn appended(value: Value) -> Value {
    let mut pieces = vec![Piece::Unknown { splits: false }];
    match value {
        Value::Literal(text) if text.is_empty() => {}
        Value::Literal(text) => pieces.push(Piece::Known(text)),
        Value::Partial(more) => pieces.extend(more),
        Value::Unknown { .. } => {}
    }
    if pieces.len() == 1 { Value::Unknown { splits: false } } else { Value::Partial(pieces) }
}

fn redirect(evaluator: &Evaluator<'_>, raw: &RawRedirect) -> Redirect {
    let bytes =
        |slice| String::from_utf8_lossy(evaluator.reading.bytes(evaluator.source, slice)).into_owned();
    let fd = raw.fd.map(bytes);
    let value = match raw.op {
        RedirectOp::Heredoc => evaluator.heredoc(&raw.target, raw.literal),
        RedirectOp::HereString => evaluator.single(&raw.target, raw.target.slice.start),
        _ => evaluator.target(&raw.target),
    };
    let op = match raw.op {
        RedirectOp::DupOut if fd.as_deref().is_none_or(|fd| fd == "1") && !is_descriptor(&value) => {
            RedirectOp::BothWrite
        }
        op => op,
    };
    Redirect { op, fd, target: Arg { value, span: raw.target.span }, span: raw.span }
}

/// The target of a duplicate: digits, `-`, or digits and `-`.
fn is_descriptor(value: &Value) -> bool {
    value.literal().is_some_and(|text| {
        let digits = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
