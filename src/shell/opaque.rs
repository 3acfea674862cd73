//! R9: constructs whose effect the text cannot show although the parse is sound, because bash takes *data* as code.
//!
//! Danger: a subscript in a single-quoted word is evaluated by `test -v`, `[[ -eq ]]`, `printf -v`, `read`, `unset`,
//! `declare` and their like, and `$(…)` in it runs. Such a line must never be allowed by its classes.

use super::Trust;
use super::cursor::{is_name, is_name_byte};
use super::reading::{CommandKind, RawWord, Reading};
use super::segment::{RedirectOp, Segment};
use super::word::{Arg, Piece, Span, Value};

/// A stable code and the place.
type Found = (&'static str, Span);

/// The first construct that hides what runs.
pub(super) fn find(reading: &Reading, source: &[u8], segments: &[Segment]) -> Option<Found> {
    let scan = Scan { reading, source };
    scan.parameters()
        .or_else(|| segments.iter().find_map(segment_code))
        .or_else(|| scan.tests())
        .or_else(|| scan.tainted_arithmetic(segments))
}

struct Scan<'a> {
    reading: &'a Reading,
    source: &'a [u8],
}

impl Scan<'_> {
    fn text(&self, word: &RawWord) -> &[u8] {
        self.reading.bytes(self.source, word.slice)
    }

    /// `${x@P}` expands its value as a prompt, `${!x}` takes it as a name. `x='$(rm y)'; echo ${x@P}`
    fn parameters(&self) -> Option<Found> {
        self.reading.parameters.iter().find_map(|(slice, span)| {
            let text = self.reading.bytes(self.source, *slice);
            if text.ends_with(b"@P") {
                return Some(("prompt_expansion", *span));
            }
            let inner = text.strip_prefix(b"!")?;
            // `${!prefix*}`, `${!prefix@}`, `${!array[@]}` list names or keys
            let lists = [&b"*"[..], b"@", b"[@]", b"[*]"]
                .iter()
                .any(|end| inner.strip_suffix(*end).is_some_and(is_name));
            (!lists && !inner.is_empty()).then_some(("indirect_expansion", *span))
        })
    }

    /// `[[ -v … ]]` and the arithmetic comparisons of `[[ … ]]`. `[[ 'a[$(rm x)]' -eq 1 ]]`
    fn tests(&self) -> Option<Found> {
        let tests = self.reading.commands.iter().filter(|command| command.kind == CommandKind::Test);
        tests
            .flat_map(|command| command.words.iter().enumerate().map(move |(at, word)| (command, at, word)))
            .find_map(|(command, at, word)| {
                let hides =
                    |at: usize| command.words.get(at).is_some_and(|operand| hides_code(self.text(operand)));
                let found = match self.text(word) {
                    b"-v" | b"-R" => hides(at + 1),
                    operator if is_comparison(operator) => at > 0 && hides(at - 1) || hides(at + 1),
                    _ => false,
                };
                found.then_some(("arithmetic_operand", command.span))
            })
    }

    /// Arithmetic over names while some value in the script looks like code. `x='a[$(rm y)]'; echo $((x))`
    fn tainted_arithmetic(&self, segments: &[Segment]) -> Option<Found> {
        let place = self.arithmetic_place(segments)?;
        let looped = self.reading.loop_words.iter().any(|word| hides_code(self.text(word)));
        let tainted = looped || segments.iter().any(|segment| self.holds_code(segment));
        tainted.then_some(("arithmetic_value", place))
    }

    /// Whether a segment puts text that is code to arithmetic into a variable: it need not be read here.
    fn holds_code(&self, segment: &Segment) -> bool {
        let carries = verb(segment).is_some_and(|verb| {
            is_carrier(verb) || self.reading.definitions.iter().any(|known| known.name == verb)
        });
        segment.assignments.iter().any(|assignment| is_code(&assignment.value))
            || carries
                && (arguments(segment).iter().any(|arg| is_code(&arg.value))
                    || segment.redirects.iter().any(|redirect| is_code(&redirect.target.value)))
    }

    /// Where the script evaluates arithmetic over a name or an expansion.
    fn arithmetic_place(&self, segments: &[Segment]) -> Option<Span> {
        let named = |text: &[u8]| {
            text.iter().any(|byte| is_name_byte(*byte) && !byte.is_ascii_digit() || *byte == b'$')
        };
        let arithmetic =
            self.reading.arithmetic.iter().find(|(slice, _)| named(self.reading.bytes(self.source, *slice)));
        if let Some((_, span)) = arithmetic {
            return Some(*span);
        }
        let parameter = self.reading.parameters.iter().find(|(slice, _)| {
            let text = self.reading.bytes(self.source, *slice);
            let inside =
                text.iter().position(|byte| matches!(byte, b'[' | b':')).map_or(&[][..], |at| &text[at..]);
            named(inside) && !inside.starts_with(b"[@]") && !inside.starts_with(b"[*]")
        });
        if let Some((_, span)) = parameter {
            return Some(*span);
        }
        let test = self.reading.commands.iter().find(|command| {
            command.kind == CommandKind::Test
                && command.words.iter().any(|word| is_comparison(self.text(word)) || self.text(word) == b"-v")
        });
        test.map(|command| command.span).or_else(|| {
            segments.iter().find(|segment| verb(segment) == Some("let")).map(|segment| segment.span)
        })
    }
}

/// Builtins that put an argument or their input into a variable.
fn is_carrier(verb: &str) -> bool {
    matches!(
        verb,
        "declare" | "typeset" | "local" | "export" | "readonly" | "set" | "read" | "printf" | "mapfile"
    )
}

/// Text that runs something when arithmetic takes it as a value.
fn is_code(value: &Value) -> bool {
    let code = |text: &str| text.contains(['$', '`']);
    match value {
        Value::Literal(text) => text.contains('[') && code(text),
        Value::Partial(pieces) => {
            let known = |test: &dyn Fn(&str) -> bool| {
                pieces.iter().any(|piece| match piece {
                    Piece::Known(text) | Piece::Glob(text) => test(text),
                    Piece::Home | Piece::Number | Piece::Unknown { .. } => false,
                })
            };
            known(&|text| text.contains('[')) && known(&code)
        }
        Value::Unknown { .. } => false,
    }
}

fn is_comparison(word: &[u8]) -> bool {
    matches!(word, b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge")
}

/// Whether a quoted or escaped stretch of a word's text holds a subscript with an expansion: code to arithmetic.
///
/// Unquoted expansions are commands of their own and seen as such.
fn hides_code(text: &[u8]) -> bool {
    let quoted = text.iter().any(|byte| matches!(byte, b'\'' | b'\\' | b'"'));
    quoted && text.contains(&b'[') && text.iter().any(|byte| matches!(byte, b'$' | b'`'))
}

fn verb(segment: &Segment) -> Option<&str> {
    let mut words = segment.argv.iter();
    loop {
        match words.next()?.value.literal()? {
            "builtin" | "command" => {}
            word => return Some(word),
        }
    }
}

/// What follows the verb, `builtin` and `command` passed over.
fn arguments(segment: &Segment) -> &[Arg] {
    let wrappers = segment
        .argv
        .iter()
        .take_while(|arg| matches!(arg.value.literal(), Some("builtin" | "command")))
        .count();
    segment.argv.get(wrappers + 1..).unwrap_or(&[])
}

fn segment_code(segment: &Segment) -> Option<Found> {
    if let Some(found) = variable_code(segment) {
        return Some(found);
    }
    let arguments = arguments(segment);
    let verb = verb(segment)?;
    if matches!(verb, "getopts" | "read" | "mapfile" | "readarray" | "printf" | "wait")
        && arguments
            .iter()
            .any(|arg| arg.value.literal().is_some_and(|text| text.trim_start_matches("-v") == "IFS"))
    {
        // bash 5.2 splits by the new separators and quotes by the old ones: words change that nothing expands
        return Some(("separators", segment.span));
    }
    let code = match verb {
        "test" | "[" => {
            operand_after(arguments, "-v").filter(|arg| !is_plain_name(arg)).map(|_| "arithmetic_operand")
        }
        "printf" => {
            arguments.first().and_then(|first| printf_target(first, arguments)).map(|()| "arithmetic_operand")
        }
        "read" => read_names(arguments).then_some("arithmetic_operand"),
        "let" => arguments.iter().any(|arg| !is_plain_arithmetic(arg)).then_some("arithmetic_operand"),
        name @ ("declare" | "typeset" | "local" | "export" | "readonly") => {
            declaration(arguments, matches!(name, "declare" | "typeset" | "local"))
        }
        "unset" | "getopts" => arguments.iter().any(has_subscript_code).then_some("arithmetic_operand"),
        "wait" => {
            operand_after(arguments, "-p").filter(|arg| !is_plain_name(arg)).map(|_| "arithmetic_operand")
        }
        "mapfile" | "readarray" => option_letter(arguments, 'C').then_some("callback"),
        "compgen" | "complete" => {
            (option_letter(arguments, 'C') || option_letter(arguments, 'F')).then_some("callback")
        }
        // makes a name run another program from here on
        "hash" => option_letter(arguments, 'p').then_some("command_hash"),
        "trap" => sets_trap(arguments).then_some("trap"),
        "shopt" => arguments
            .iter()
            .any(|arg| matches!(arg.value.literal(), None | Some("expand_aliases" | "extglob")))
            .then_some("shell_option"),
        "set" => ["posix", "braceexpand", "keyword"]
            .iter()
            .any(|option| option_word(arguments, option))
            .then_some("shell_option")
            .or_else(|| arguments.iter().any(ends_braces).then_some("shell_option")),
        "enable" => arguments
            .iter()
            .any(|arg| arg.value.literal().is_none_or(|text| text.starts_with("-f")))
            .then_some("loadable_builtin"),
        _ => None,
    };
    code.map(|code| (code, segment.span))
}

/// Assignments that bash runs.
fn variable_code(segment: &Segment) -> Option<Found> {
    segment.assignments.iter().find_map(|assignment| {
        let runs = is_startup_variable(&assignment.name);
        (runs && !inert(&assignment.value)).then_some(("startup_variable", assignment.span))
    })
}

/// Variables whose value bash runs, or that change how it reads what follows.
fn is_startup_variable(name: &str) -> bool {
    matches!(name, "PROMPT_COMMAND" | "BASH_ENV" | "PS4" | "PS0" | "POSIXLY_CORRECT" | "BASH_COMPAT")
}

/// A value without an expansion in it.
fn inert(value: &Value) -> bool {
    value
        .literal()
        .is_some_and(|text| text.is_empty() || !text.contains(['$', '`', '/', ' ']) && text.len() < 3)
}

fn operand_after<'a>(arguments: &'a [Arg], option: &str) -> Option<&'a Arg> {
    let at = arguments.iter().position(|arg| arg.value.literal() == Some(option))?;
    arguments.get(at + 1)
}

/// The text when all of it stands there, patterns as written.
fn written(arg: &Arg) -> Option<String> {
    match &arg.value {
        Value::Literal(text) => Some(text.clone()),
        Value::Partial(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Known(text) | Piece::Glob(text) => Some(text.as_str()),
                Piece::Home | Piece::Number | Piece::Unknown { .. } => None,
            })
            .collect(),
        Value::Unknown { .. } => None,
    }
}

fn is_plain_name(arg: &Arg) -> bool {
    written(arg).is_some_and(|text| {
        let text = text.as_str();
        let (name, subscript) = text.split_once('[').unwrap_or((text, "]"));
        is_name(name.as_bytes()) && subscript.strip_suffix(']').is_some_and(is_plain_subscript)
            || is_option(text)
    })
}

fn is_option(text: &str) -> bool {
    text == "]" || text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain_subscript(text: &str) -> bool {
    !text.contains(['$', '`', '[', '(', '\'', '"', '\\'])
}

/// `printf -v NAME`: whether the name is anything but one.
fn printf_target(first: &Arg, arguments: &[Arg]) -> Option<()> {
    let text = first.value.known_prefix();
    if text == "-v" {
        return arguments.get(1).is_none_or(|name| !is_plain_name(name)).then_some(());
    }
    (text.starts_with("-v") && has_subscript_code(first)).then_some(())
}

/// Whether one of the names that `read` sets is no plain name.
fn read_names(arguments: &[Arg]) -> bool {
    let mut skip = false;
    arguments.iter().any(|arg| {
        if std::mem::take(&mut skip) {
            return false;
        }
        match arg.value.literal() {
            Some(text) if text.starts_with('-') => {
                skip = matches!(text.chars().last(), Some('d' | 'i' | 'n' | 'N' | 'p' | 't' | 'u'));
                false
            }
            _ => !is_plain_name(arg),
        }
    })
}

fn is_plain_arithmetic(arg: &Arg) -> bool {
    written(arg).is_some_and(|text| !text.contains(['$', '`']))
}

/// `declare` and its like: integer and reference attributes, and names that are no plain names.
fn declaration(arguments: &[Arg], attributes: bool) -> Option<&'static str> {
    for arg in arguments {
        let text = arg.value.known_prefix();
        if let Some(letters) = text.strip_prefix('-') {
            if attributes && letters.contains(['i', 'n']) {
                return Some("arithmetic_operand");
            }
            continue;
        }
        let name = text.split(['=', '+']).next().unwrap_or("");
        let whole = name.len() < text.len() || arg.value.literal().is_some();
        if !whole || !is_name(name.as_bytes()) && !name.is_empty() && name.contains(['[', '$', '`']) {
            return Some("arithmetic_operand");
        }
        let runs = is_startup_variable(name);
        let value = text.get(name.len() + 1..).unwrap_or("");
        if runs && !value.is_empty() {
            return Some("startup_variable");
        }
        if value.starts_with('(') && value.contains(['$', '`']) {
            return Some("arithmetic_operand");
        }
    }
    None
}

/// A subscript with an expansion in it, or a word of which too little is known to tell.
fn has_subscript_code(arg: &Arg) -> bool {
    written(arg).is_none_or(|text| text.contains('[') && text.contains(['$', '`']))
}

fn option_letter(arguments: &[Arg], letter: char) -> bool {
    arguments.iter().any(|arg| match arg.value.literal() {
        Some(text) => text.starts_with('-') && text.contains(letter),
        None => true,
    })
}

fn option_word(arguments: &[Arg], word: &str) -> bool {
    arguments.iter().any(|arg| arg.value.literal() == Some(word))
}

/// `set +B`: `{a,b}` is one word from here on.
fn ends_braces(arg: &Arg) -> bool {
    arg.value.literal().is_some_and(|text| text.starts_with('+') && text.contains('B'))
}

/// `trap ACTION SIGNAL…` with an action that does something.
fn sets_trap(arguments: &[Arg]) -> bool {
    let mut rest = arguments.iter().skip_while(|arg| matches!(arg.value.literal(), Some("--")));
    match rest.next().map(|action| action.value.literal()) {
        None | Some(Some("" | "-" | "-p" | "-l" | ":" | "true")) => false,
        Some(action) => rest.next().is_some() && !action.is_some_and(is_legible_handler),
    }
}

/// Whether all that a trap's text does can be judged where the trap is set, although it runs later: commands that use
/// neither the working directory nor a variable's value in a way that matters. Classification reads the text itself.
fn is_legible_handler(text: &str) -> bool {
    const MAX_BYTES: usize = 256;
    let values = ['[', '(', '`', '{', '=', '~', '\\'];
    if text.len() > MAX_BYTES || text.contains("trap") || text.contains(values) {
        return false;
    }
    let script = super::parse(text);
    script.trust == Trust::Trusted
        && script.opaque.is_none()
        && script.assigned.is_empty()
        && script.segments.iter().all(is_placeless)
}

/// Whether a command of a trap's text does the same wherever the shell then stands.
fn is_placeless(segment: &Segment) -> bool {
    let fixed = |arg: &Arg| match &arg.value {
        Value::Literal(text) => text.starts_with(['-', '/']),
        Value::Unknown { .. } => true,
        Value::Partial(_) => false,
    };
    let arguments = segment.argv.get(1..).unwrap_or(&[]);
    segment.assignments.is_empty()
        && segment.redirects.iter().all(|redirect| {
            redirect.op == RedirectOp::DupOut || redirect.target.value.literal() == Some("/dev/null")
        })
        && match segment.argv.first().and_then(|verb| verb.value.literal()) {
            Some("echo" | "exit" | "kill" | "true" | ":" | "wait") => true,
            Some("rm") => arguments.iter().all(fixed),
            _ => false,
        }
}
