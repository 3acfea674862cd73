//! Segments to operation classes.
//!
//! Duty: say what each command would do, from data tables, and where the text cannot show it ([`Opacity`]).
//! Danger: a missed class is a question that is never asked; the jail bounds what that can cost.

pub mod arity;
pub mod catastrophe;
pub mod commands;
pub mod environment;
pub mod evaluate;
pub mod findings;
pub mod hatch;
pub mod judge;
pub mod op;
pub mod opacity;
pub mod options;
mod packed;
pub mod path;
pub mod redirect;
pub mod registry;
pub mod spec;
pub mod sql;
pub mod traits;
pub mod user;
mod whereabouts;

pub use op::{Op, OpClass, OpSet, Subject};
pub use user::{UserRow, UserRows};

use crate::shell::{self, Script, Span, Trust};

use judge::Judge;
use path::Place;

/// What classification must know of the world: only names, nothing is asked of the system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// Where the command starts, absolute.
    pub cwd: String,
    /// HOME, absolute.
    pub home: String,
    /// Names of directories that lead to others by a link, absolute and plain: the name, and where it leads.
    pub names: Vec<(String, String)>,
    /// The user's own command rows.
    pub rows: UserRows,
}

/// Why what will run cannot be seen from the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opacity {
    /// Stable snake-case code, e.g. `interpreter`, `build_tool`, `unknown_program`, `dynamic_verb`, `environment`.
    pub code: &'static str,
    /// One plain clause for a person (`python -c runs code that the text cannot show`).
    pub reason: String,
    /// Where.
    pub span: Span,
}

/// One segment with all that policy needs to know of it.
///
/// Wrappers are unwrapped (`sudo`, `xargs`, `sh -c` …): the inner command gives the ops; both argvs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassifiedSegment {
    /// The program's base name after unwrapping; empty for bare assignments and redirects.
    pub program: String,
    /// The words before unwrapping, unknown words as `\u{fffd}` (which no rule can match). Where a wrapper runs several
    /// commands (`sh -c 'a; b'`, `find -exec`) only the first of them shows the wrapper's words, the others their own.
    pub raw: Vec<String>,
    /// The words after unwrapping to the fixed point, equal to `raw` without a wrapper.
    pub argv: Vec<String>,
    /// The canonical prefix (`git commit`, `docker compose up`): verb and positionals by arity, flags dropped.
    pub prefix: Vec<String>,
    /// The operations, each class at least once.
    pub ops: Vec<Op>,
    /// The set of their classes.
    pub classes: OpSet,
    /// Set when what runs cannot be seen from the text.
    pub opaque: Option<Opacity>,
    /// Does what its classes say and no more (cat, grep, git status): the jail may narrow to them.
    pub closed: bool,
    /// Has no effect of its own: `true`, `date`, `tr` as a filter, `--version` of a known program.
    pub pure: bool,
    /// A pure filter of its standard input (`head`, `sort`, `grep x` without operands): needs no tool in a pipe.
    pub stdin_filter: bool,
    /// A shell builtin without effect outside this shell (`cd`, `echo`, `export`, `true`) or a bare assignment.
    pub effect_free: bool,
    /// The program is git itself.
    pub git: bool,
    /// A wrapper or interpreter stands in front or is the program: never the subject of an allow rule.
    pub indirect: bool,
    /// Where it stands in the source.
    pub span: Span,
}

impl ClassifiedSegment {
    fn covers(&self, span: Span) -> bool {
        self.span.start <= span.start && span.end <= self.span.end
    }

    /// Makes it opaque: nothing that rests on sight holds any more.
    fn hide(&mut self, opacity: &Opacity) {
        self.opaque.get_or_insert_with(|| opacity.clone());
        self.closed = false;
        self.pure = false;
        self.stdin_filter = false;
        self.effect_free = false;
    }
}

/// The five shapes that nothing overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catastrophe {
    /// Which: `remove_root` (`/`), `remove_root_glob` (`/*`), `remove_tilde`, `remove_home`, `fork_bomb`.
    pub shape: &'static str,
    /// Where.
    pub span: Span,
}

/// All that classification says of one command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    /// Every segment.
    pub segments: Vec<ClassifiedSegment>,
    /// The union of their classes; Passthrough for a line without a command (`[[ a > b ]]`, a comment).
    pub classes: OpSet,
    /// Whether the parse may be relied on.
    pub trust: Trust,
    /// Set when any part is opaque.
    pub opaque: Option<Opacity>,
    /// Set when a catastrophic shape was found, by a path independent of the parse.
    pub catastrophe: Option<Catastrophe>,
}

/// Classifies a command line.
pub fn classify_line(source: &str, environment: &Environment) -> Classification {
    classify(source, &shell::parse(source), environment)
}

/// Classifies a script that was read from `source`.
pub fn classify(source: &str, script: &Script, environment: &Environment) -> Classification {
    let place = Place::at(&environment.cwd, &environment.home).with_names(&environment.names);
    let mut judge = Judge::new(&environment.rows, place);
    judge.script(script, source);
    let mut segments = judge.segments;
    let mut classes = segments.iter().fold(OpSet::EMPTY, |classes, segment| classes.union(segment.classes));
    if classes.is_empty() {
        classes = classes.with(OpClass::Passthrough);
    }
    let hidden = script.opaque.map(|(code, span)| Opacity {
        code,
        reason: "the line has text that bash evaluates as code".to_owned(),
        span,
    });
    if let Some(hidden) = &hidden {
        for segment in segments.iter_mut().filter(|segment| segment.covers(hidden.span)) {
            segment.hide(hidden);
        }
    }
    let opaque = segments.iter().find_map(|segment| segment.opaque.clone()).or(hidden);
    Classification {
        classes,
        trust: script.trust.clone(),
        opaque,
        catastrophe: catastrophe::find(source),
        segments,
    }
}

/// The classes of a bare prefix, as an entry of `allowed_commands` names it: `git commit` gives GitWrite, `find` gives
/// FileSearch, `cat` gives FileRead. What options, further operands and redirects would add is not in it (`uniq` reads,
/// although its second operand is written).
pub fn entry_classes(tokens: &[String]) -> OpSet {
    let place = Place::unknown("");
    let rows = UserRows::default();
    let mut judge = Judge::new(&rows, place);
    judge.script(&shell::from_argv(tokens), "");
    let bare = judge.segments.iter().fold(OpSet::EMPTY, |classes, segment| classes.union(segment.classes));
    bare.union(judge::reads_by_nature(tokens))
}
