//! A script's segments, judged one after the other.
//!
//! Duty: walk the segments in source order with the state that earlier ones leave (working directory, aliases, variables
//! that launch programs), unwrap wrappers to the fixed point and read inner shell text.
//! Danger: whatever cannot be read or followed ends as opacity, never as nothing.

use std::rc::Rc;

use crate::shell::{self, Arg, RedirectOp, Script, Segment, Span, Trust, Value};

use super::environment::{self, SYSTEM_DIRECTORIES};
use super::evaluate;
use super::findings::{Findings, Inner};
use super::op::{Op, OpClass, OpSet, Subject};
use super::opacity::Cause;
use super::options::Word;
use super::path::Place;
use super::spec::{CommandSpec, Role, Traits};
use super::user::{Found, UserRows};
use super::whereabouts::Whereabouts;
use super::{ClassifiedSegment, Opacity, arity, redirect, registry};

/// Wrappers and shell texts inside each other beyond this are opaque.
const MAX_DEPTH: usize = 12;

/// Inner shell text of one line, all told; aliases could multiply it.
const MAX_INNER: usize = 256 * 1024;

/// The judge of one line, with what earlier segments changed.
#[derive(Debug)]
pub struct Judge<'e> {
    rows: &'e UserRows,
    at: Whereabouts,
    aliases: Vec<(String, Option<String>)>,
    /// Set once a variable was exported that can change what later programs run.
    environment: Option<Span>,
    depth: usize,
    /// Bytes of inner shell text that may still be read.
    budget: usize,
    /// The words of the present segment as written stand in a result already.
    shown: bool,
    /// What was found, in order.
    pub segments: Vec<ClassifiedSegment>,
}

/// What is already known of a command from the words around it.
#[derive(Debug, Clone)]
struct Around<'s> {
    /// The words as written in the script.
    raw: Rc<[String]>,
    /// Where everything inside a wrapper's shell text is reported.
    at: Option<Span>,
    span: Span,
    /// The text that the spans of its words are in.
    source: &'s str,
    ops: Vec<Op>,
    opaque: Option<Opacity>,
    indirect: bool,
    remote: bool,
    /// Every wrapper so far does no more than it says.
    closed: bool,
    /// Standard input comes from a pipe, file or heredoc.
    fed: bool,
    /// The literal body of its heredoc or here-string.
    body: Option<&'s str>,
    place: Place,
    /// What it changes of the shell's state outlives it.
    lasting: bool,
    /// The chain of `&&` that it stands in.
    chain: u32,
    /// It calls a function of the script, whose body is judged where it stands.
    calls: bool,
}

impl Around<'_> {
    fn opaque(&mut self, cause: Cause, span: Span, program: &str) {
        if self.opaque.is_none() {
            self.opaque = Some(Opacity { code: cause.code(), reason: cause.clause(program), span });
        }
    }

    /// The surroundings of a further command that this one runs.
    fn beside(&self) -> Self {
        Self {
            ops: Vec::new(),
            opaque: None,
            indirect: true,
            calls: false,
            fed: false,
            body: None,
            ..self.clone()
        }
    }
}

/// What a row said of the command that is put down.
#[derive(Clone, Copy)]
struct Verdict<'r> {
    program: &'r str,
    traits: Traits,
    info: bool,
    /// Operands, options or redirects gave it operations of its own.
    touches: bool,
}

impl<'e> Judge<'e> {
    /// A judge that stands in `place` and knows the user's `rows`.
    pub fn new(rows: &'e UserRows, place: Place) -> Self {
        Self {
            rows,
            at: Whereabouts::new(place),
            aliases: Vec::new(),
            environment: None,
            depth: 0,
            budget: MAX_INNER,
            shown: false,
            segments: Vec::new(),
        }
    }

    /// Judges every segment of `script`.
    pub fn script(&mut self, script: &Script, source: &str) {
        self.assigned(script, Span::new(0, script.segments.last().map_or(0, |segment| segment.span.end)));
        self.at.survey(script);
        for segment in &script.segments {
            self.shown = false;
            self.step(script, segment, source, None);
        }
    }

    /// A segment, and what its shell is like after it.
    fn step<'s>(
        &mut self,
        script: &Script,
        segment: &'s Segment,
        source: &'s str,
        outer: Option<&Around<'s>>,
    ) {
        self.segment(segment, source, outer);
        let verb = segment.argv.first().and_then(|verb| verb.value.literal());
        if segment.calls_function || verb.is_some_and(|verb| script.functions.iter().any(|name| name == verb))
        {
            self.at.called();
        }
    }

    /// Variables that change what runs, set by loops, arithmetic and expansions: they count from the first segment on.
    fn assigned(&mut self, script: &Script, span: Span) {
        let unknown = Value::Unknown { splits: false };
        let launches =
            |name: &String| environment::is_dangerous(name, &unknown) && !environment::is_common_name(name);
        if script.assigned.iter().any(launches) {
            self.environment = Some(span);
        }
    }

    fn segment<'s>(&mut self, segment: &'s Segment, source: &'s str, outer: Option<&Around<'s>>) {
        let place = self.at.enter(segment);
        let mut around = Self::around(segment, source, outer, place.clone());
        let mut findings = Findings::new(&place);
        findings.remote = around.remote;
        for redirect in &segment.redirects {
            redirect::judge(redirect, &mut findings);
        }
        around.ops = findings.ops;
        if let Some(span) = evaluate::dangerous(&segment.assignments, segment.argv.is_empty(), source) {
            around.opaque(Cause::Environment, span, "");
            if segment.argv.is_empty() {
                self.environment = Some(span);
            }
        }
        if segment.argv.is_empty() {
            let touches = !around.ops.is_empty();
            let traits = Traits::EFFECT_FREE.with(Traits::PURE).with(Traits::CLOSED);
            self.put(around, &[], &Verdict { program: "", traits, info: false, touches });
            return;
        }
        self.command(&segment.argv, around);
    }

    fn around<'s>(
        segment: &'s Segment,
        source: &'s str,
        outer: Option<&Around<'s>>,
        place: Place,
    ) -> Around<'s> {
        let mut fed = segment.context.piped_in;
        let mut body = None;
        for redirect in &segment.redirects {
            match redirect.op {
                RedirectOp::Heredoc | RedirectOp::HereString => {
                    fed = true;
                    body = redirect.target.value.literal();
                }
                RedirectOp::Read | RedirectOp::ReadWrite => {
                    fed = true;
                    body = None;
                }
                _ => {}
            }
        }
        let context = segment.context;
        Around {
            raw: match outer {
                Some(outer) => outer.raw.clone(),
                None => segment.argv.iter().map(text_of).collect(),
            },
            at: outer.map(|outer| outer.at.unwrap_or(outer.span)),
            span: segment.span,
            source,
            ops: Vec::new(),
            opaque: None,
            indirect: outer.is_some(),
            remote: outer.is_some_and(|outer| outer.remote),
            closed: outer.is_none_or(|outer| outer.closed),
            fed,
            body,
            place,
            calls: segment.calls_function,
            lasting: !context.in_function,
            chain: context.chain,
        }
    }

    /// Judges one command; a wrapper hands its inner command to this again.
    fn command<'s>(&mut self, argv: &'s [Arg], mut around: Around<'s>) {
        let Some(verb) = argv.first() else { return };
        let unknown = |program| Verdict { program, traits: Traits::NONE, info: false, touches: false };
        let Some(name) = verb.value.literal() else {
            around.opaque(Cause::DynamicVerb, verb.span, "");
            return self.put(around, argv, &unknown(""));
        };
        if self.depth > MAX_DEPTH {
            around.opaque(Cause::Unreadable, verb.span, name);
            return self.put(around, argv, &unknown(name));
        }
        if around.calls {
            let traits = Traits::EFFECT_FREE.with(Traits::PURE).with(Traits::CLOSED);
            return self.put(around, argv, &Verdict { traits, ..unknown(name) });
        }
        let alias = self.aliases.iter().rev().find(|(alias, _)| alias == name);
        if !around.indirect
            && let Some((_, text)) = alias
        {
            match text.clone() {
                Some(text) => self.text(&text, &around, false),
                None => around.opaque(Cause::DynamicCode, verb.span, name),
            }
        }
        let Some(base) = program_name(name) else {
            around.opaque(Cause::UnknownProgram, verb.span, name);
            return self.put(around, argv, &unknown(name));
        };
        if let Some(row) = registry::lookup(base) {
            return self.known(row, base, argv, 0, around);
        }
        match self.rows.find(base, &argv[1..]) {
            Found::Row(row, skip) => row.lower(|spec| self.known(spec, base, argv, skip, around)),
            Found::OtherSubcommand => {
                around.opaque(Cause::UnknownSubcommand, verb.span, name);
                self.put(around, argv, &unknown(base));
            }
            Found::Nothing => {
                around.opaque(Cause::UnknownProgram, verb.span, name);
                self.put(around, argv, &unknown(base));
            }
        }
    }

    /// Judges a command that a row is about; the `skip` words after the verb are the row's own subcommand.
    fn known(
        &mut self,
        spec: &CommandSpec<'_>,
        base: &str,
        argv: &[Arg],
        skip: usize,
        mut around: Around<'_>,
    ) {
        let [verb, rest @ ..] = argv else { return };
        let words = rest.get(skip..).unwrap_or(&[]);
        let place = around.place.clone();
        let mut findings = Findings::new(&place);
        findings.remote = around.remote;
        findings.source = around.source;
        let evaluated = evaluate::evaluate(spec, Word::whole(verb), words, around.fed, &mut findings);
        // A builtin has no path.
        if !verb.value.known_prefix().contains('/') {
            self.remember(base, words, &findings, &around);
        }

        let whole = Traits::GIT.with(Traits::WRAPPER).with(Traits::INTERPRETER);
        let traits = evaluated.leaf.traits.with(spec.traits.only(whole));
        let touches = !findings.ops.is_empty() || evaluated.unknown_option;
        let tool = if findings.no_tool { None } else { evaluated.leaf.tool };
        for op in findings.ops.iter_mut().filter(|op| evaluated.base.contains(op.class)) {
            op.tool = op.tool.or(tool);
        }
        for class in evaluated.base.iter() {
            if !findings.ops.iter().any(|op| op.class == class) {
                findings.ops.push(Op { class, subject: Subject::None, span: verb.span, tool });
            }
        }
        around.ops.append(&mut findings.ops);
        around.remote = findings.remote;
        if let Some((cause, span)) = findings.opaque {
            around.opaque(cause, span, base);
        }
        let is_bounded = traits.has(Traits::CLOSED) && !findings.unbounded;
        let inner = std::mem::take(&mut findings.inner);
        let moved = findings.place.into_owned();

        if traits.has(Traits::WRAPPER)
            && let [Inner::Argv(argv)] = &inner[..]
            && !argv.is_empty()
        {
            around.indirect = true;
            around.lasting &= lasts(base);
            around.closed &= is_bounded;
            around.place = moved;
            self.depth += 1;
            self.command(argv, around);
            self.depth -= 1;
            return;
        }
        let mut beside = around.beside();
        // A trap's text runs wherever its shell stands then.
        beside.place = if base == "trap" && self.at.moves() { moved.moved(None) } else { moved };
        beside.lasting &= lasts(base);
        beside.closed &= is_bounded || traits.has(Traits::WRAPPER);
        let body = around.body.filter(|_| findings.reads_stdin);
        let is_silent = traits.has(Traits::WRAPPER)
            && (!inner.is_empty() && around.ops.is_empty() && around.opaque.is_none());
        let before = self.segments.len();
        if !is_silent {
            let traits = if is_bounded { traits } else { traits.without(Traits::CLOSED.with(Traits::PURE)) };
            let touches = touches || !inner.is_empty();
            self.put(around.clone(), argv, &Verdict { program: base, traits, info: evaluated.info, touches });
        }
        self.depth += 1;
        for command in &inner {
            match command {
                Inner::Argv(argv) => self.command(argv, beside.clone()),
                Inner::Text(text, span) => {
                    self.text(text, &Around { span: *span, ..beside.clone() }, base == "eval");
                }
            }
        }
        if let Some(body) = body {
            self.text(body, &beside, false);
        }
        self.depth -= 1;
        if self.segments.len() == before {
            self.put(around, argv, &Verdict { program: base, traits, info: false, touches: false });
        }
    }

    /// Judges shell text that a command runs. `here`: in this very shell (`eval`), so that its changes last.
    fn text(&mut self, text: &str, around: &Around<'_>, here: bool) {
        let left = self.budget.checked_sub(text.len() + 1);
        self.budget = left.unwrap_or(0);
        let is_too_much = left.is_none() || self.depth > MAX_DEPTH;
        let script = shell::parse(if is_too_much { "" } else { text });
        if is_too_much || script.trust != Trust::Trusted || script.opaque.is_some() {
            let mut around = around.beside();
            let cause = if script.opaque.is_some() { Cause::DataAsCode } else { Cause::Unreadable };
            around.opaque(cause, around.at.unwrap_or(around.span), "");
            let row = Verdict { program: "", traits: Traits::NONE, info: false, touches: false };
            self.put(around, &[], &row);
        }
        if is_too_much {
            return;
        }
        let within = self.at.inside(around.place.clone());
        let mut at = std::mem::replace(&mut self.at, within);
        self.at.survey(&script);
        let aliases = self.aliases.len();
        let environment = self.environment;
        self.depth += 1;
        self.assigned(&script, around.at.unwrap_or(around.span));
        for segment in &script.segments {
            self.step(&script, segment, text, Some(around));
        }
        self.depth -= 1;
        let end = self.at.at_the_end();
        if here && around.lasting && end != around.place {
            at.go(end, around.chain);
        }
        self.at = at;
        if !here {
            self.aliases.truncate(aliases);
            self.environment = environment;
        }
    }

    /// What a builtin changes for the commands after it.
    fn remember(&mut self, base: &str, words: &[Arg], findings: &Findings<'_>, around: &Around<'_>) {
        if let Some(span) = findings.environment {
            self.environment = Some(span);
        }
        match base {
            "cd" | "pushd" | "popd" if around.lasting => {
                let place = self.at.target(base, words, &around.place);
                self.at.go(place, around.chain);
            }
            "alias" => {
                for arg in words {
                    let known = arg.value.known_prefix();
                    let Some(at) = known.find('=') else { continue };
                    let text = arg.value.literal().and_then(|text| text.get(at + 1..)).map(str::to_owned);
                    self.aliases.push((known[..at].to_owned(), text));
                }
            }
            _ => {}
        }
    }

    /// Puts a judged command down.
    fn put(&mut self, mut around: Around<'_>, argv: &[Arg], row: &Verdict<'_>) {
        let is_builtin = row.traits.has(Traits::EFFECT_FREE);
        if let Some(span) = self.environment
            && !is_builtin
        {
            around.opaque(Cause::Environment, span, row.program);
        }
        let mut classes = OpSet::EMPTY;
        for op in &around.ops {
            classes = classes.with(op.class);
        }
        let is_plain = classes.is_empty();
        if is_plain {
            let span = argv.first().map_or(around.span, |verb| verb.span);
            around.ops.push(Op { class: OpClass::Passthrough, subject: Subject::None, span, tool: None });
            classes = classes.with(OpClass::Passthrough);
        }
        if let Some(at) = around.at {
            for op in &mut around.ops {
                op.span = at;
            }
            if let Some(opaque) = &mut around.opaque {
                opaque.span = at;
            }
        }
        let is_seen = around.opaque.is_none();
        let is_filter = is_seen
            && row.traits.has(Traits::STDIN_FILTER)
            && !row.touches
            && classes.is_subset(OpSet::of(&[OpClass::Passthrough, OpClass::ContentSearch]));
        let unwrapped: Vec<String> = argv.iter().map(text_of).collect();
        let raw = if self.shown { unwrapped.clone() } else { around.raw.to_vec() };
        self.shown = true;
        self.segments.push(ClassifiedSegment {
            program: row.program.to_owned(),
            prefix: arity::canonical(row.program, &unwrapped),
            closed: is_seen && around.closed && (row.info || row.traits.has(Traits::CLOSED)),
            pure: is_seen && is_plain && (row.info || row.traits.has(Traits::PURE) || is_filter),
            stdin_filter: is_filter,
            effect_free: is_seen && is_plain && is_builtin,
            git: row.traits.has(Traits::GIT),
            indirect: around.indirect
                || row.traits.has(Traits::WRAPPER)
                || row.traits.has(Traits::INTERPRETER),
            span: around.at.unwrap_or(around.span),
            raw,
            argv: unwrapped,
            ops: around.ops,
            classes,
            opaque: around.opaque,
        });
    }
}

/// What the program of these words reads, searches or lists when it is given an operand.
pub fn reads_by_nature(words: &[String]) -> OpSet {
    let script = shell::from_argv(words);
    let Some((verb, rest)) = script.segments.first().and_then(|segment| segment.argv.split_first()) else {
        return OpSet::EMPTY;
    };
    let Some(row) = verb.value.literal().and_then(program_name).and_then(registry::lookup) else {
        return OpSet::EMPTY;
    };
    let place = Place::unknown("");
    let mut findings = Findings::new(&place);
    let leaf = evaluate::evaluate(row, Word::whole(verb), rest, false, &mut findings).leaf;
    let operands = leaf.operands;
    let roles = operands.first.iter().copied().chain([operands.rest]).chain(operands.last);
    let mut classes = roles.fold(OpSet::EMPTY, |classes, role| match role {
        Role::Read | Role::RemoteSource => classes.with(OpClass::FileRead),
        Role::Search => classes.with(OpClass::ContentSearch),
        Role::List => classes.with(OpClass::FileSearch),
        _ => classes,
    });
    // sed and awk read their files through a hatch.
    if leaf.traits.has(Traits::STDIN_FILTER) && !leaf.traits.has(Traits::PURE) {
        classes = classes.with(OpClass::FileRead);
    }
    classes
}

/// The name to look up: the word itself, or the base of a path into a system directory.
fn program_name(name: &str) -> Option<&str> {
    let Some((directory, base)) = name.rsplit_once('/') else { return Some(name) };
    if SYSTEM_DIRECTORIES.contains(&directory) {
        return Some(base);
    }
    let is_roundabout = name.starts_with('/')
        && (name.starts_with("//")
            || directory.ends_with('/')
            || directory.contains("//")
            || directory.contains("/."));
    let plain = if is_roundabout { Place::unknown("").fixed(directory) } else { None };
    plain.is_some_and(|directory| SYSTEM_DIRECTORIES.contains(&&*directory)).then_some(base)
}

/// A word as rules see it: what is not known is a character that no rule can match.
fn text_of(arg: &Arg) -> String {
    match &arg.value {
        Value::Literal(text) => text.clone(),
        Value::Partial(pieces) => {
            let mut text = String::new();
            for piece in pieces {
                match piece {
                    shell::Piece::Known(part) | shell::Piece::Glob(part) => text.push_str(part),
                    shell::Piece::Home => text.push('~'),
                    shell::Piece::Number | shell::Piece::Unknown { .. } => text.push('\u{fffd}'),
                }
            }
            text
        }
        Value::Unknown { .. } => "\u{fffd}".to_owned(),
    }
}

/// Whether what runs through a command changes this shell: a program changes its own alone.
fn lasts(base: &str) -> bool {
    matches!(base, "builtin" | "command" | "eval")
}
