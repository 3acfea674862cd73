//! Operation classes: what a segment does to the world.

use crate::shell::Span;

/// What a segment does; a segment has a *set* of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum OpClass {
    /// Creates or overwrites a file.
    FileWrite,
    /// Changes a file in place (content, mode, name).
    FileModify,
    /// Reads content.
    FileRead,
    /// Searches content.
    ContentSearch,
    /// Lists or finds names.
    FileSearch,
    /// Deletes or irreversibly wipes.
    Destructive,
    /// Talks to a network.
    Network,
    /// Changes refs, index, worktree, config or remote of a repository.
    GitWrite,
    /// Reads a repository.
    GitRead,
    /// No file or network effect known from the text.
    Passthrough,
}

impl OpClass {
    /// All classes, in the order of the design's table.
    pub const ALL: [Self; 10] = [
        Self::FileWrite,
        Self::FileModify,
        Self::FileRead,
        Self::ContentSearch,
        Self::FileSearch,
        Self::Destructive,
        Self::Network,
        Self::GitWrite,
        Self::GitRead,
        Self::Passthrough,
    ];

    /// The name used in messages, JSON and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileWrite => "FileWrite",
            Self::FileModify => "FileModify",
            Self::FileRead => "FileRead",
            Self::ContentSearch => "ContentSearch",
            Self::FileSearch => "FileSearch",
            Self::Destructive => "Destructive",
            Self::Network => "Network",
            Self::GitWrite => "GitWrite",
            Self::GitRead => "GitRead",
            Self::Passthrough => "Passthrough",
        }
    }
}

/// A set of operation classes in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct OpSet(u16);

impl OpSet {
    /// No class.
    pub const EMPTY: Self = Self(0);

    /// The set of the given classes.
    pub const fn of(classes: &[OpClass]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < classes.len() {
            bits |= 1 << classes[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// As a number.
    pub(super) const fn bits(self) -> u16 {
        self.0
    }

    /// The set of this number.
    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// With one class more.
    #[must_use]
    pub const fn with(self, class: OpClass) -> Self {
        Self(self.0 | 1 << class as u8)
    }

    /// Whether it holds `class`.
    pub const fn contains(self, class: OpClass) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the classes of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether each class of `self` is in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Its classes in table order.
    pub fn iter(self) -> impl Iterator<Item = OpClass> {
        OpClass::ALL.into_iter().filter(move |class| self.contains(*class))
    }
}

/// What an operation acts on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Subject {
    /// Nothing that has a name.
    #[default]
    None,
    /// A path as the command would see it: lexically joined to the tracked working directory; a glob stays as written.
    Path(String),
    /// A network host (with port where given).
    Host(String),
    /// Something that only run time will tell.
    Unknown,
}

/// One operation of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Its class.
    pub class: OpClass,
    /// On what.
    pub subject: Subject,
    /// The words of the source that say so.
    pub span: Span,
    /// The exact snake-case tool that also satisfies it (`git_commit` for `git commit`, `delete_file` for a plain `rm f`).
    pub tool: Option<&'static str>,
}
