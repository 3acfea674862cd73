//! The yes-or-no properties of rows and options.

/// Yes-or-no properties of a row or an option, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits(u32);

impl Traits {
    /// None.
    pub const NONE: Self = Self(0);
    /// Does what its classes say and no more.
    pub const CLOSED: Self = Self(1);
    /// Has no effect of its own.
    pub const PURE: Self = Self(1 << 1);
    /// Without file operands a pure filter of its standard input.
    pub const STDIN_FILTER: Self = Self(1 << 2);
    /// A builtin without effect outside its shell.
    pub const EFFECT_FREE: Self = Self(1 << 3);
    /// Runs the command in its operands; options end at the first operand.
    pub const WRAPPER: Self = Self(1 << 4);
    /// Runs code in another language or shell text: never the subject of an allow rule.
    pub const INTERPRETER: Self = Self(1 << 5);
    /// What it runs or touches is on another machine or in a container.
    pub const REMOTE: Self = Self(1 << 6);
    /// Options end at the first operand.
    pub const POSIX: Self = Self(1 << 7);
    /// Long options must be written out.
    pub const EXACT: Self = Self(1 << 8);
    /// `-5` and `+5` are numbers, not options.
    pub const NUMERIC: Self = Self(1 << 9);
    /// `NAME=value` words in front of the command are assignments.
    pub const ASSIGNMENTS: Self = Self(1 << 10);
    /// Its options may also stand after the subcommand.
    pub const GLOBAL: Self = Self(1 << 11);
    /// Does not inherit its parents' classes.
    pub const LOCAL: Self = Self(1 << 12);
    /// An operand that is no known subcommand is an ordinary operand.
    pub const LENIENT_SUB: Self = Self(1 << 13);
    /// Subcommands are compared without regard to case.
    pub const NOCASE_SUB: Self = Self(1 << 14);
    /// `--help` and `--version` have no special meaning.
    pub const NO_INFO: Self = Self(1 << 15);
    /// Is git itself.
    pub const GIT: Self = Self(1 << 16);
    /// (option) Prints help or a version and does nothing else.
    pub const INFO: Self = Self(1 << 17);
    /// (option) Stands for the first operand (`grep -e`, `sed -f`).
    pub const SUPPLIES_FIRST: Self = Self(1 << 18);
    /// (option) Stands for the last operand (`cp -t DIR`).
    pub const SUPPLIES_LAST: Self = Self(1 << 19);
    /// (option) The segment is neither closed nor pure any more.
    pub const UNBOUNDED: Self = Self(1 << 20);
    /// (option) Its value is the directory that relative paths start from (`git -C`, `make -C`).
    pub const CHDIR: Self = Self(1 << 21);
    /// (option) Nothing is run: the row's opacity does not apply (`bash -n`, `make -n` does *not* qualify).
    pub const TRANSPARENT: Self = Self(1 << 22);
    /// Words like `+x` are switches too (shells).
    pub const PLUS: Self = Self(1 << 24);
    /// Options may also follow the first operand, before the second (`ssh HOST -p 22 CMD…`).
    pub const RESUMES: Self = Self(1 << 25);
    /// (option) All words behind it (and its value) are operands (`python -c`, `env -S`).
    pub const ENDS: Self = Self(1 << 26);
    /// (option) The exact tool does not cover this use (`rm -r` is no `delete_file`).
    pub const NO_TOOL: Self = Self(1 << 23);

    /// As a number.
    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    /// The properties of this number.
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Only those of `other`.
    #[must_use]
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
