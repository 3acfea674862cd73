//! What was found out about one segment while its row is applied; hatches write here.
//!
//! Danger: a class is only ever taken away by [`Findings::drops`], before anything is added.

use std::borrow::Cow;

use crate::shell::{Arg, Span};

use super::op::{Op, OpClass, OpSet, Subject};
use super::opacity::Cause;
use super::options::Word;
use super::path::{self, Place};
use super::spec::Role;

/// A command or text that the segment runs in its turn.
#[derive(Debug, Clone)]
pub enum Inner<'a> {
    /// An argv (`timeout 5 CMD…`, `find -exec CMD… ;`).
    Argv(Cow<'a, [Arg]>),
    /// Shell text (`sh -c TEXT`, `ssh host LINE…`), with the words it stands in.
    Text(Cow<'a, str>, Span),
}

/// The findings on one segment.
#[derive(Debug)]
pub struct Findings<'a> {
    /// Where relative paths start.
    pub place: Cow<'a, Place>,
    /// The text that the spans of its words are in; empty where there is none.
    pub source: &'a str,
    /// Operations added by options, operands and hatches.
    pub ops: Vec<Op>,
    /// Classes of the row that options took away.
    pub dropped: OpSet,
    /// The first cause of opacity.
    pub opaque: Option<(Cause, Span)>,
    /// Set when the row's own opacity does not apply.
    pub transparent: bool,
    /// Set when the segment may do more than its classes say.
    pub unbounded: bool,
    /// Set when the row's exact tool does not cover this use.
    pub no_tool: bool,
    /// Set when what is touched is on another machine: subjects are unknown then.
    pub remote: bool,
    /// Set when variables of the shell were changed that can change what later programs run.
    pub environment: Option<Span>,
    /// Set when it runs what arrives on standard input as shell text.
    pub reads_stdin: bool,
    /// What it runs in its turn.
    pub inner: Vec<Inner<'a>>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet.
    pub fn new(place: &'a Place) -> Self {
        Self {
            place: Cow::Borrowed(place),
            source: "",
            ops: Vec::new(),
            dropped: OpSet::EMPTY,
            opaque: None,
            transparent: false,
            unbounded: false,
            no_tool: false,
            remote: false,
            environment: None,
            reads_stdin: false,
            inner: Vec::new(),
        }
    }

    /// A class without a subject.
    pub fn add(&mut self, class: OpClass, span: Span) {
        self.push(class, Subject::None, span);
    }

    /// A class on the path that `word` names. Streams (`-`, `/dev/null` …) are no file.
    pub fn path(&mut self, class: OpClass, word: Word<'_>) {
        // `tee >(wc -c)`: a pipe into a command that is judged where it stands.
        if class == OpClass::FileWrite && word.is_whole() && word.span().of(self.source).starts_with(">(") {
            return;
        }
        let subject = match word.pattern() {
            Some(text) if path::is_stream(&text) => return,
            Some(text) => {
                self.path_text(class, &text, word.span());
                return;
            }
            None => Subject::Unknown,
        };
        self.push(class, subject, word.span());
    }

    /// As [`path`](Self::path), for text that is no word of its own (`of=FILE`, a name inside a sed script).
    pub fn path_text(&mut self, class: OpClass, text: &str, span: Span) {
        if path::is_stream(text) {
            return;
        }
        if path::is_device(text) && matches!(class, OpClass::FileWrite | OpClass::FileModify) {
            self.push(OpClass::Destructive, Subject::Path(text.to_owned()), span);
        }
        let mut subjects = Vec::with_capacity(1);
        self.place.each(text, |path| subjects.push(path.map_or(Subject::Unknown, Subject::Path)));
        for subject in subjects {
            self.push(class, subject, span);
        }
    }

    /// A class on a path that only run time will tell.
    pub fn unknown_path(&mut self, class: OpClass, span: Span) {
        self.push(class, Subject::Unknown, span);
    }

    /// Network with the host that `word` names.
    pub fn host(&mut self, word: Word<'_>) {
        match word.text() {
            Some(text) => self.host_text(text, word.span()),
            None => self.push(OpClass::Network, Subject::Unknown, word.span()),
        }
    }

    /// Network with the host in `text` (a host, `user@host:port` or URL).
    pub fn host_text(&mut self, text: &str, span: Span) {
        let host = path::host_of(text);
        let subject = if host.is_empty() { Subject::Unknown } else { Subject::Host(host.to_owned()) };
        self.push(OpClass::Network, subject, span);
    }

    /// What a word in this role means.
    pub fn role(&mut self, role: Role, word: Word<'a>) {
        match role {
            Role::Text => {}
            Role::Read => self.path(OpClass::FileRead, word),
            Role::Write => self.path(OpClass::FileWrite, word),
            Role::Modify => self.path(OpClass::FileModify, word),
            Role::Delete => self.path(OpClass::Destructive, word),
            Role::Search => self.path(OpClass::ContentSearch, word),
            Role::List => self.path(OpClass::FileSearch, word),
            Role::Host => self.host(word),
            Role::Url => match word.known_prefix().strip_prefix("file://") {
                Some(rest) => self.path_text(OpClass::FileRead, rest, word.span()),
                None => self.host(word),
            },
            Role::RemoteSource | Role::RemoteTarget => {
                let class = if role == Role::RemoteSource { OpClass::FileRead } else { OpClass::FileWrite };
                if path::is_remote(word.known_prefix()) {
                    self.host_text(word.known_prefix(), word.span());
                } else {
                    self.path(class, word);
                }
            }
            Role::Command => self.inner.push(Inner::Argv(Cow::Owned(vec![word.arg().clone()]))),
            Role::Line | Role::Shell => self.shell(word),
            Role::Code => self.opaque(Cause::Interpreter, word.span()),
            Role::Exec => self.opaque(Cause::ExecOption, word.span()),
            Role::Sql => self.sql(word),
        }
    }

    /// SQL text: statements that delete are Destructive; text that is not known may be one.
    pub fn sql(&mut self, word: Word<'_>) {
        let destructive = word.text().is_none_or(super::sql::deletes);
        if destructive {
            self.add(OpClass::Destructive, word.span());
        }
    }

    /// Takes classes of the row (not of operands) away.
    pub fn drops(&mut self, classes: OpSet) {
        self.dropped = self.dropped.union(classes);
    }

    /// What runs cannot be seen; the first cause stays.
    pub fn opaque(&mut self, cause: Cause, span: Span) {
        self.opaque.get_or_insert((cause, span));
    }

    /// Runs this argv.
    pub fn run(&mut self, argv: &'a [Arg]) {
        self.inner.push(Inner::Argv(Cow::Borrowed(argv)));
    }

    /// Runs an argv that was put together.
    pub fn run_owned(&mut self, argv: Vec<Arg>) {
        self.inner.push(Inner::Argv(Cow::Owned(argv)));
    }

    /// Runs a word as shell text. What is unknown in it stands as `"$1"`, and the segment is opaque.
    pub fn shell(&mut self, word: Word<'a>) {
        if let Some(text) = word.text() {
            self.inner.push(Inner::Text(Cow::Borrowed(text), word.span()));
            return;
        }
        let mut text = String::new();
        if !word.append_code(&self.place.home, &mut text) {
            self.opaque(Cause::DynamicCode, word.span());
        }
        self.shell_text(text, word.span());
    }

    /// Runs shell text that was put together.
    pub fn shell_text(&mut self, text: String, span: Span) {
        self.inner.push(Inner::Text(Cow::Owned(text), span));
    }

    fn push(&mut self, class: OpClass, subject: Subject, span: Span) {
        let subject =
            if self.remote && !matches!(subject, Subject::Host(_)) { Subject::Unknown } else { subject };
        self.ops.push(Op { class, subject, span, tool: None });
    }
}
