//! One command's words, judged by its row.
//!
//! Duty: subcommands, options, operands and hatches in the order that the schema promises.
//! Danger: classes are dropped only from the row's own, before options and operands add theirs.

use crate::shell::{Arg, Assignment, Span, Value};

use super::environment;
use super::findings::Findings;
use super::op::OpSet;
use super::opacity::Cause;
use super::options::{self, Call, Given, Word};
use super::spec::{CommandSpec, Role, Takes, Traits, Unknown};

/// What a row says of one call.
#[derive(Debug)]
pub struct Evaluated<'a> {
    /// The row of the program or of the innermost subcommand.
    pub leaf: &'a CommandSpec<'a>,
    /// The classes of the rows, without what was dropped.
    pub base: OpSet,
    /// `--help`, `--version` and the like.
    pub info: bool,
    /// An option that no row lists was given.
    pub unknown_option: bool,
}

/// Judges `words` (after the name `name`) by `spec`.
pub fn evaluate<'a>(
    spec: &'a CommandSpec<'a>,
    name: Word<'a>,
    words: &'a [Arg],
    fed: bool,
    findings: &mut Findings<'a>,
) -> Evaluated<'a> {
    let mut parents: Vec<&'a CommandSpec<'a>> = Vec::new();
    let mut base = OpSet::EMPTY;
    let mut row = spec;
    let mut name = name;
    let mut words = words;
    let mut unknown_option = false;
    loop {
        findings.remote |= row.traits.has(Traits::REMOTE);
        if row.traits.has(Traits::LOCAL) {
            base = OpSet::EMPTY;
        }
        let has_subcommands = !row.subcommands.is_empty();
        let mut call = options::read(row, &parents, name, words, has_subcommands);
        call.fed = fed;
        call.info &= is_all(row, words);
        call.info |= parents.is_empty() && asks_version(row, name, words);
        let sub = if call.info { Sub::None } else { subcommand(row, &call) };
        if let Sub::Row(next) = sub {
            base = base.union(row.classes);
            options_of(&call, findings);
            unknown_option |= unknown(row, &call, findings);
            if let Some(hatch) = row.hatch {
                hatch(&call, findings);
            }
            let at = call.first_operand;
            name = Word::whole(&words[at]);
            words = &words[at + 1..];
            parents.push(row);
            row = next;
            continue;
        }
        if has_subcommands && !row.traits.has(Traits::POSIX) {
            // Options may also follow the word that is no subcommand.
            call = options::read(row, &parents, name, words, false);
            call.fed = fed;
            // An unknown one may be a program of its own, or an alias for a run: `cargo x --help`.
            call.info &= is_all(row, words) && !matches!(sub, Sub::Unknown);
        }
        let bare = call.operands.is_empty();
        base = base.union(match row.bare {
            Some(classes) if bare => classes,
            _ => row.classes,
        });
        options_of(&call, findings);
        if !call.info {
            if matches!(sub, Sub::Unknown) {
                findings.opaque(Cause::UnknownSubcommand, Word::whole(&words[call.first_operand]).span());
            }
            unknown_option |= unknown(row, &call, findings);
            if let Some(cause) = row.opaque
                && !findings.transparent
            {
                findings.opaque(cause, name.span());
            }
            operands_of(&call, findings);
            if let Some(hatch) = row.hatch {
                hatch(&call, findings);
            }
        }
        let base = if call.info { OpSet::EMPTY } else { base.without(findings.dropped) };
        return Evaluated { leaf: row, base, info: call.info, unknown_option };
    }
}

/// Whether a request for help may be all that the call does: an interpreter may run its code all the same.
fn is_all(row: &CommandSpec<'_>, words: &[Arg]) -> bool {
    !row.traits.has(Traits::INTERPRETER) || words.len() == 1
}

enum Sub<'a> {
    Row(&'a CommandSpec<'a>),
    Unknown,
    None,
}

/// The subcommand that the first operand selects.
fn subcommand<'a>(row: &'a CommandSpec<'a>, call: &Call<'a>) -> Sub<'a> {
    if row.subcommands.is_empty() {
        return Sub::None;
    }
    let Some(word) = call.operands.first() else { return Sub::None };
    let found = word.text().and_then(|text| {
        let nocase = row.traits.has(Traits::NOCASE_SUB);
        row.subcommands.iter().find(|sub| sub.names.iter().any(|name| matches(name, text, nocase)))
    });
    match found {
        Some(sub) => Sub::Row(sub),
        None if row.traits.has(Traits::LENIENT_SUB) => Sub::None,
        None => Sub::Unknown,
    }
}

/// Whether `text` is `name`, or begins with it where it ends in `*`.
fn matches(name: &str, text: &str, nocase: bool) -> bool {
    let (name, is_prefix) = match name.strip_suffix('*') {
        Some(prefix) => (prefix, true),
        None => (name, false),
    };
    let Some(head) = text.get(..name.len()) else { return false };
    (is_prefix || text.len() == name.len())
        && if nocase { head.eq_ignore_ascii_case(name) } else { head == name }
}

/// The effects of the options given; drops come first.
fn options_of<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in &call.given {
        let (applies, surely) = applies(given);
        if applies && surely && !given.doubtful {
            findings.drops(given.option.drops);
            findings.transparent |= given.option.traits.has(Traits::TRANSPARENT);
        }
    }
    for given in &call.given {
        if applies(given).0 {
            option(given, call, findings);
        }
    }
}

/// Whether the effect holds for the value given, and whether that is certain.
fn applies(given: &Given<'_>) -> (bool, bool) {
    let option = given.option;
    if option.only.is_empty() && option.except.is_empty() {
        return (true, true);
    }
    let Some(value) = given.value else { return (option.only.is_empty(), true) };
    let Some(text) = value.text() else { return (true, false) };
    let is_one = |list: &[&str]| list.iter().any(|name| matches(name, text, true));
    ((option.only.is_empty() || is_one(option.only)) && !is_one(option.except), true)
}

fn option<'a>(given: &Given<'a>, call: &Call<'a>, findings: &mut Findings<'a>) {
    let option = given.option;
    let span = call.words.get(given.index).map_or(call.name.span(), |arg| arg.span);
    for class in option.adds.iter() {
        findings.add(class, span);
    }
    if let Some(cause) = option.opaque {
        findings.opaque(cause, span);
    }
    findings.unbounded |= option.traits.has(Traits::UNBOUNDED);
    findings.no_tool |= option.traits.has(Traits::NO_TOOL);
    let Some(value) = given.value else { return };
    if option.traits.has(Traits::CHDIR) {
        let moved = findings.place.moved(value.text());
        findings.place = std::borrow::Cow::Owned(moved);
    }
    if option.takes == Takes::Rest {
        let rest = &call.words[given.index + 1..];
        let end = rest.iter().position(|arg| arg.value.literal() == Some(";")).unwrap_or(rest.len());
        findings.run_owned(for_each_name(&rest[..end]));
    } else if option.role != Role::Text {
        findings.role(option.role, value);
    }
}

/// The command that is run for each name found: the name stands at `{}` (`{/}`, `{.}` …), else behind it.
fn for_each_name(words: &[Arg]) -> Vec<Arg> {
    const MARKS: [&str; 5] = ["{}", "{/}", "{//}", "{.}", "{/.}"];
    let mark_in = |arg: &Arg| {
        let text = arg.value.literal()?;
        MARKS.into_iter().find(|mark| text.contains(mark))
    };
    let mut argv: Vec<Arg> = words
        .iter()
        .map(|arg| mark_in(arg).map_or_else(|| arg.clone(), |mark| options::with_unknown(arg, mark)))
        .collect();
    if words.iter().all(|arg| mark_in(arg).is_none()) {
        argv.extend(
            words.last().map(|last| Arg { value: Value::Unknown { splits: false }, span: last.span }),
        );
    }
    argv
}

/// Whether a program is asked for nothing but its version, also one whose options a hatch reads.
fn asks_version(row: &CommandSpec<'_>, name: Word<'_>, words: &[Arg]) -> bool {
    let [word] = words else { return false };
    let program = name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match (word.value.literal(), program) {
        (Some("--version" | "--help"), _) => !row.traits.has(Traits::NO_INFO),
        (Some("-version"), "java" | "javac") | (Some("-v"), "perl" | "ruby" | "gcc" | "g++" | "clang") => {
            true
        }
        _ => false,
    }
}

/// What an unlisted option means; true when one was given that may matter.
fn unknown(row: &CommandSpec<'_>, call: &Call<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(word) = call.unknown else { return false };
    match row.unknown {
        Unknown::Opaque => findings.opaque(Cause::UnknownOption, word.span()),
        Unknown::Adds(classes) => {
            for class in classes.iter() {
                findings.add(class, word.span());
            }
        }
        Unknown::Ignored => return false,
    }
    true
}

fn operands_of<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let row = call.spec;
    let mut operands = &call.operands[..];
    if row.traits.has(Traits::ASSIGNMENTS) {
        while let Some((first, rest)) = operands.split_first() {
            let Some(at) = assignment_name(first.known_prefix()) else { break };
            if environment::is_dangerous(&first.known_prefix()[..at], &first.tail(at + 1).value())
                && (first.may_split() || !environment::extends_path(first.span().of(findings.source)))
            {
                findings.opaque(Cause::Environment, first.span());
            }
            operands = rest;
        }
    }
    let skip = usize::from(call.given.iter().any(|given| given.option.traits.has(Traits::SUPPLIES_FIRST)));
    let last_given = call.given.iter().any(|given| given.option.traits.has(Traits::SUPPLIES_LAST));
    let first = row.operands.first.get(skip..).unwrap_or(&[]);
    let last = row.operands.last.filter(|_| !last_given && operands.len() > first.len() + 1);
    for (index, word) in operands.iter().enumerate() {
        let role = match (first.get(index), last) {
            (Some(role), _) => *role,
            (None, Some(role)) if index + 1 == operands.len() => role,
            (None, _) => row.operands.rest,
        };
        match role {
            Role::Text => {}
            Role::Command => {
                let argv = &call.words[position(call, *word)..];
                let skip = usize::from(argv[0].value.literal() == Some("--"));
                findings.run(&argv[skip.min(argv.len() - 1)..]);
                return;
            }
            Role::Line => {
                line(&operands[index..], findings);
                return;
            }
            _ => findings.role(role, *word),
        }
    }
}

/// Joins words into the shell text that they are for `eval`, `ssh`, `watch`.
fn line<'a>(words: &[Word<'a>], findings: &mut Findings<'a>) {
    let [first, rest @ ..] = words else { return };
    if rest.is_empty() {
        findings.shell(*first);
        return;
    }
    let mut text = String::new();
    let mut span = first.span();
    let mut is_known = true;
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        is_known &= word.append_code(&findings.place.home, &mut text);
        span = Span::new(span.start.min(word.span().start), span.end.max(word.span().end));
    }
    if !is_known {
        findings.opaque(Cause::DynamicCode, span);
    }
    findings.shell_text(text, span);
}

/// Where `word` stands in the call's words.
pub fn position(call: &Call<'_>, word: Word<'_>) -> usize {
    call.words.iter().position(|arg| std::ptr::eq(arg, word.arg())).unwrap_or(call.words.len())
}

/// The length of the name in `NAME=value`.
pub fn assignment_name(text: &str) -> Option<usize> {
    let at = text.find('=')?;
    let name = &text.as_bytes()[..at];
    let begins = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let is_name = begins && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_name.then_some(at)
}

/// Whether one of the assignments in front of a command may change what runs.
/// Without a command (`is_bare`) they are the shell's own.
pub fn dangerous(assignments: &[Assignment], is_bare: bool, source: &str) -> Option<Span> {
    assignments
        .iter()
        .find(|assignment| {
            environment::is_dangerous(&assignment.name, &assignment.value)
                && !(is_bare && environment::is_common_name(&assignment.name))
                && !environment::extends_path(assignment.span.of(source))
        })
        .map(|assignment| assignment.span)
}
