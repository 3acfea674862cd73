//! Words of a command line: their source text, span and statically known value.
//!
//! Danger: a value that claims to be literal where bash would expand something else makes every later
//! judgement wrong. When in doubt a piece is [`Piece::Unknown`].

/// A byte range of the source text, `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span over `start..end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The part of `source` this span covers; empty when it does not lie inside.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start..self.end).unwrap_or("")
    }
}

/// A part of a value that is not wholly literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text known for certain, quotes removed.
    Known(String),
    /// An unquoted file-name pattern (`*`, `?`, `[…]`), kept as written.
    Glob(String),
    /// The user's home directory: an unquoted `~`, or `$HOME` where the script does not assign it.
    Home,
    /// A number that only bash will know (`$((…))`): digits, a minus perhaps in front, one word in any case.
    Number,
    /// Text that only bash will know (`$x`, `$(…)`). `splits`: unquoted, so it may become several words or none.
    Unknown {
        /// Whether field splitting may turn this piece into several words or none.
        splits: bool,
    },
}

/// What is known of a word's value before bash runs it: literal, partly known, or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The whole value, for certain, quotes removed.
    Literal(String),
    /// Some pieces known, some not; never empty, never one `Known` alone.
    Partial(Vec<Piece>),
    /// Nothing is known. `splits`: it may become several words or none.
    Unknown {
        /// Whether field splitting may turn this value into several words or none.
        splits: bool,
    },
}

impl Value {
    /// The literal text, when all of it is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Partial(_) | Self::Unknown { .. } => None,
        }
    }

    /// The literal text that the value surely begins with (possibly empty).
    pub fn known_prefix(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Partial(pieces) => match pieces.first() {
                Some(Piece::Known(text)) => text,
                Some(Piece::Glob(_) | Piece::Home | Piece::Number | Piece::Unknown { .. }) | None => "",
            },
            Self::Unknown { .. } => "",
        }
    }

    /// Whether field splitting or globbing may turn it into a number of words other than one.
    pub fn may_split(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Partial(pieces) => {
                pieces.iter().any(|piece| matches!(piece, Piece::Glob(_) | Piece::Unknown { splits: true }))
            }
            Self::Unknown { splits } => *splits,
        }
    }
}

/// One argument of a segment after brace expansion; several may share one source word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// What is known of its value.
    pub value: Value,
    /// The source word.
    pub span: Span,
}
