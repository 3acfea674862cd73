//! Policy over hand-made segments: what classification says is given, so each rule is tested alone.

use super::*;
use crate::classify::{Classification, ClassifiedSegment, Op, OpClass, OpSet, Opacity, Subject};
use crate::shell::{Span, Trust};
use crate::workflow::{Loaded, builtin::builtin, load};

mod commands;
mod lines;
mod programs;
mod properties;
mod real;
mod rights;
mod rules;
mod tools;

/// A machine from a built-in's name or from JSON text.
fn machine(text: &str) -> Machine {
    let source = builtin(text).map_or(text, |builtin| builtin.source);
    let Loaded { machine, .. } = load(source.as_bytes()).unwrap_or_else(|all| panic!("{all:?}"));
    machine
}

/// One work state and a final one.
fn one_state(state: &str) -> Machine {
    machine(&format!(
        r#"{{"id": "one", "initial": "s", "states": {{"s": {state}, "end": {{"type": "final"}}}}}}"#
    ))
}

struct Segment(ClassifiedSegment);

/// A segment whose words are split at blanks and whose canonical prefix is its first two plain words.
fn segment(text: &str) -> Segment {
    let argv: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let program = argv.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word)).to_owned();
    let mut prefix: Vec<String> =
        argv.iter().filter(|word| !word.starts_with('-')).take(2).cloned().collect();
    if let Some(first) = prefix.first_mut() {
        first.clone_from(&program);
    }
    Segment(ClassifiedSegment {
        git: program == "git",
        program,
        raw: argv.clone(),
        argv,
        prefix,
        ops: Vec::new(),
        classes: OpSet::EMPTY,
        opaque: None,
        closed: false,
        pure: false,
        stdin_filter: false,
        effect_free: false,
        indirect: false,
        span: Span::new(0, text.len()),
    })
}

impl Segment {
    fn op(mut self, class: OpClass) -> Self {
        self.0.ops.push(Op { class, subject: Subject::None, span: self.0.span, tool: None });
        self.0.classes = self.0.classes.with(class);
        self
    }
    fn on(mut self, subject: &str) -> Self {
        if let Some(op) = self.0.ops.last_mut() {
            op.subject = Subject::Path(subject.to_owned());
        }
        self
    }
    fn tool(mut self, name: &'static str) -> Self {
        if let Some(op) = self.0.ops.last_mut() {
            op.tool = Some(name);
        }
        self
    }
    fn host(mut self, host: &str) -> Self {
        if let Some(op) = self.0.ops.last_mut() {
            op.subject = Subject::Host(host.to_owned());
        }
        self
    }
    /// Behind a wrapper, written as `raw`.
    fn wrapped(mut self, raw: &str) -> Self {
        self.0.raw = raw.split_whitespace().map(str::to_owned).collect();
        self.0.indirect = true;
        self
    }
    fn prefix(mut self, prefix: &str) -> Self {
        self.0.prefix = prefix.split_whitespace().map(str::to_owned).collect();
        self
    }
    fn pure(mut self) -> Self {
        self.0.pure = true;
        self
    }
    fn filter(mut self) -> Self {
        self.0.stdin_filter = true;
        self
    }
    fn effect_free(mut self) -> Self {
        self.0.effect_free = true;
        self
    }
    fn closed(mut self) -> Self {
        self.0.closed = true;
        self
    }
    fn opaque(mut self) -> Self {
        let span = self.0.span;
        self.0.opaque = Some(Opacity { code: "build_tool", reason: "runs what it finds".into(), span });
        self.op(OpClass::Passthrough)
    }
}

fn line(segments: Vec<Segment>) -> Classification {
    let segments: Vec<ClassifiedSegment> = segments.into_iter().map(|segment| segment.0).collect();
    Classification {
        classes: segments.iter().fold(OpSet::EMPTY, |set, segment| set.union(segment.classes)),
        trust: Trust::Trusted,
        opaque: segments.iter().find_map(|segment| segment.opaque.clone()),
        catastrophe: None,
        segments,
    }
}

fn untrusted(mut line: Classification) -> Classification {
    line.trust = Trust::Untrusted {
        code: "syntax_error",
        reason: "the quote never ends".into(),
        span: Span::new(0, 1),
    };
    line
}

fn decide(machine: &Machine, line: &Classification) -> (Decision, Vec<&'static str>) {
    let answer = ask(machine, "s", "the line", line);
    (answer.decision, codes(&answer))
}

fn ask(machine: &Machine, state: &str, text: &str, line: &Classification) -> Evaluation {
    let policy = Policy::compile(machine, RuleSet::default()).unwrap();
    policy.evaluate(policy.state(state).unwrap(), text, line)
}

fn codes(evaluation: &Evaluation) -> Vec<&'static str> {
    evaluation.reasons.iter().map(|reason| reason.code).collect()
}
