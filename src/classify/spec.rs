//! The schema of command knowledge: what a row says of a program.
//!
//! Duty: everything swbox knows of programs is data of this shape, in `commands/<family>.rs`, built by `const` functions.
//! Danger: a row that says `closed` or lists a dangerous option as harmless hides an effect from every question.
//!
//! # Adding a command
//!
//! 1. Add one [`CommandSpec`] to the family's `ROWS`, starting from [`command`]:
//!
//!    ```text
//!    command(&["head"]).closed().stdin_filter().numeric()
//!        .switches("qvz").longs(&["quiet", "silent", "verbose", "zero-terminated"])
//!        .values("cn").long_values(&["bytes", "lines"])
//!        .operands(Role::Read),
//!    ```
//!
//! 2. List **every** option: those without effect and value as `switches` (one letter each) and `longs`, those with a value
//!    but without effect as `values` and `long_values`, those with an effect as `options`. An option that the row does not
//!    list makes the segment opaque ([`Unknown::Opaque`]), adds the row's [`worst`](CommandSpec::worst) classes, or is
//!    ignored ([`lenient`](CommandSpec::lenient): only where *no* option can do more than the row's classes say).
//! 3. Say what operands are ([`Operands`]). A class that follows from an operand or an option value need not be in
//!    `classes`: `Role::Read` adds `FileRead` with the path as subject.
//! 4. Say what it is: [`closed`](CommandSpec::closed) (does what its classes say and no more: the jail then narrows to them),
//!    [`pure`](CommandSpec::pure), [`stdin_filter`](CommandSpec::stdin_filter), [`wrapper`](CommandSpec::wrapper),
//!    [`opaque`](CommandSpec::opaque).
//! 5. Add lines to `tests/classify/<family>.txt`, with one worst option among them: `head -5 f => FileRead closed`. Right of
//!    the arrow stand the exact classes (`Passthrough` for none), `opaque` when and only when the line is, and what else
//!    shall hold: `closed`, `pure`, `open` (neither), `filter`, `tool=git_commit`. A test runs every line and fails for a row without one; `⏎`
//!    is a newline.
//!
//! Classes combine so: the row's `classes` (or `bare`, without operands), those of its parents (unless
//! [`local`](CommandSpec::local)), minus what given options [`drop`](OptionSpec::drops), plus what options and operands add.
//! Nothing at all is `Passthrough`.

use super::findings::Findings;
use super::op::{OpClass, OpSet};
use super::opacity::Cause;
use super::options::Call;
pub use super::traits::Traits;

/// What an operand or an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text without effect: a pattern, a number, a name.
    Text,
    /// A file (or tree) whose content is read. `-` is standard input.
    Read,
    /// A file that is created or overwritten. `-` is standard output; `/dev/null` and its like are exempt.
    Write,
    /// A file that is changed in place.
    Modify,
    /// A file that is deleted.
    Delete,
    /// A file or tree whose content is searched.
    Search,
    /// A file or tree whose names or metadata are listed.
    List,
    /// A network host, possibly `user@host`, `host:port`.
    Host,
    /// A URL; `file:` reads, everything else is Network with its host.
    Url,
    /// A copy's source: `host:path` and `scheme://` are Network, else read.
    RemoteSource,
    /// A copy's target: `host:path` and `scheme://` are Network, else written.
    RemoteTarget,
    /// This word and all that follow are a command's argv. The inner command gives the ops.
    Command,
    /// This word and all that follow, joined by blanks, are shell text (`ssh host LINE…`, `eval`, `watch`).
    Line,
    /// This word is shell text (`su -c`).
    Shell,
    /// This word is code in another language: opaque.
    Code,
    /// This word is a file or program that is run: opaque.
    Exec,
    /// SQL text: `DROP`, `DELETE`, `TRUNCATE` … outside quotes are Destructive.
    Sql,
}

impl Role {
    /// All of them, in order.
    pub(super) const ALL: [Self; 17] = [
        Self::Text,
        Self::Read,
        Self::Write,
        Self::Modify,
        Self::Delete,
        Self::Search,
        Self::List,
        Self::Host,
        Self::Url,
        Self::RemoteSource,
        Self::RemoteTarget,
        Self::Command,
        Self::Line,
        Self::Shell,
        Self::Code,
        Self::Exec,
        Self::Sql,
    ];
}

/// What each operand (word that is no option) is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operands<'a> {
    /// The first operands, one by one.
    pub first: &'a [Role],
    /// All others.
    pub rest: Role,
    /// The last one, when there are at least two beyond `first` (`cp a b DIR`).
    pub last: Option<Role>,
}

/// How many words an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// None; a long form may still carry `=value`.
    Nothing,
    /// One, attached or the next word.
    One,
    /// One, only attached (`-i.bak`, `--color=auto`).
    Attached,
    /// The next two words (`jq --arg a b`).
    Two,
    /// All words up to `;` or the end (`fd -x`).
    Rest,
}

impl Takes {
    /// All of them, in order.
    pub(super) const ALL: [Self; 5] = [Self::Nothing, Self::One, Self::Attached, Self::Two, Self::Rest];
}

/// How a program reads its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `-x`, clusters `-xyz`, attached `-ofile`, `--long`, `--long=value`, unique abbreviations, `--` ends.
    Gnu,
    /// `-long`, `-long value`, `-long=value`, the same with two dashes; no clusters (Go, Java, openssl, terraform).
    Single,
    /// No options: every word is an operand, the row's hatch reads them (`find`, `dd`, `tar`).
    Raw,
}

impl Style {
    /// All of them, in order.
    pub(super) const ALL: [Self; 3] = [Self::Gnu, Self::Single, Self::Raw];
}

/// What an option that the row does not list means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It may do anything.
    Opaque,
    /// These classes at worst.
    Adds(OpSet),
    /// No option can do more than the classes say.
    Ignored,
}

/// An escape hatch for what data cannot say (sed scripts, `find -exec`, `git -c`). It runs after options and operands were
/// judged and adds to (or drops from) the findings.
pub type Hatch = for<'a> fn(&Call<'a>, &mut Findings<'a>);

/// An option with an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptionSpec<'a> {
    /// Its letters (`"oO"` has two); empty for none.
    pub short: &'a str,
    /// Its long name without dashes; empty for none.
    pub long: &'a str,
    /// The words it takes.
    pub takes: Takes,
    /// Classes it adds.
    pub adds: OpSet,
    /// Classes of the row that it takes away (dry runs, `-O` in favour of `-o FILE`).
    pub drops: OpSet,
    /// What its value is.
    pub role: Role,
    /// Set when it makes the segment opaque.
    pub opaque: Option<Cause>,
    /// Its properties.
    pub traits: Traits,
    /// The effect holds only for these values (`name*` is a prefix; any case); empty for all. An unknown value counts as each of them,
    /// but never drops.
    pub only: &'a [&'a str],
    /// The effect does not hold for these values.
    pub except: &'a [&'a str],
}

/// An option, by its letters and its long name (either may be empty).
pub const fn opt<'a>(short: &'a str, long: &'a str) -> OptionSpec<'a> {
    OptionSpec {
        short,
        long,
        takes: Takes::Nothing,
        adds: OpSet::EMPTY,
        drops: OpSet::EMPTY,
        role: Role::Text,
        opaque: None,
        traits: Traits::NONE,
        only: &[],
        except: &[],
    }
}

impl<'a> OptionSpec<'a> {
    /// Takes a value without a role of its own.
    pub const fn value(mut self) -> Self {
        self.takes = Takes::One;
        self
    }

    /// Takes a value only when it is attached.
    pub const fn attached(mut self) -> Self {
        self.takes = Takes::Attached;
        self
    }

    /// Takes the next two words.
    pub const fn two(mut self) -> Self {
        self.takes = Takes::Two;
        self
    }

    /// Takes all words up to `;` or the end as a command (`fd -x`).
    pub const fn command(mut self) -> Self {
        self.takes = Takes::Rest;
        self.role = Role::Command;
        self
    }

    /// Takes a value with this role. After [`attached`](Self::attached) it stays attached-only.
    pub const fn role(mut self, role: Role) -> Self {
        if matches!(self.takes, Takes::Nothing) {
            self.takes = Takes::One;
        }
        self.role = role;
        self
    }

    /// Adds classes.
    pub const fn adds(mut self, classes: &[OpClass]) -> Self {
        self.adds = OpSet::of(classes);
        self
    }

    /// Takes classes of the row away.
    pub const fn drops(mut self, classes: &[OpClass]) -> Self {
        self.drops = OpSet::of(classes);
        self
    }

    /// Makes the segment opaque.
    pub const fn opaque(mut self, cause: Cause) -> Self {
        self.opaque = Some(cause);
        self
    }

    /// Prints help or a version and does nothing else.
    pub const fn info(self) -> Self {
        self.traits(Traits::INFO)
    }

    /// Stands for the first operand.
    pub const fn supplies_first(self) -> Self {
        self.traits(Traits::SUPPLIES_FIRST)
    }

    /// Stands for the last operand.
    pub const fn supplies_last(self) -> Self {
        self.traits(Traits::SUPPLIES_LAST)
    }

    /// The segment is neither closed nor pure with it.
    pub const fn unbounded(self) -> Self {
        self.traits(Traits::UNBOUNDED)
    }

    /// Its value is the directory that relative paths start from.
    pub const fn chdir(mut self) -> Self {
        self.takes = Takes::One;
        self.traits(Traits::CHDIR)
    }

    /// Nothing is run with it: the row's opacity does not apply.
    pub const fn transparent(self) -> Self {
        self.traits(Traits::TRANSPARENT)
    }

    /// All words behind it (and its value) are operands.
    pub const fn ends(self) -> Self {
        self.traits(Traits::ENDS)
    }

    /// The row's exact tool does not cover this use.
    pub const fn no_tool(self) -> Self {
        self.traits(Traits::NO_TOOL)
    }

    /// The effect holds only for these values.
    pub const fn only(mut self, values: &'a [&'a str]) -> Self {
        self.only = values;
        self
    }

    /// The effect does not hold for these values.
    pub const fn except(mut self, values: &'a [&'a str]) -> Self {
        self.except = values;
        self
    }

    const fn traits(mut self, traits: Traits) -> Self {
        self.traits = self.traits.with(traits);
        self
    }
}

/// What is known of a program or of a subcommand.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec<'a> {
    /// Base names; a subcommand's may end in `*` (`delete-*`).
    pub names: &'a [&'a str],
    /// The classes it always has.
    pub classes: OpSet,
    /// The classes without operands, where they differ.
    pub bare: Option<OpSet>,
    /// The exact tool that also satisfies `classes` (not what options, operands and redirects add).
    pub tool: Option<&'static str>,
    /// Its properties.
    pub traits: Traits,
    /// How it reads options.
    pub style: Style,
    /// What an unlisted option means.
    pub unknown: Unknown,
    /// Letters of options without effect and value.
    pub switches: &'a str,
    /// Long options without effect and value.
    pub longs: &'a [&'a str],
    /// Letters of options that take a value without effect.
    pub values: &'a str,
    /// Long options that take a value without effect.
    pub long_values: &'a [&'a str],
    /// Options with an effect; they win over the four lists above.
    pub options: &'a [OptionSpec<'a>],
    /// What its operands are.
    pub operands: Operands<'a>,
    /// Its subcommands; the first operand selects one.
    pub subcommands: &'a [CommandSpec<'a>],
    /// Set when what it runs cannot be seen from the text.
    pub opaque: Option<Cause>,
    /// The escape hatch.
    pub hatch: Option<Hatch>,
}

/// A row that lives as long as the program.
pub type Row = CommandSpec<'static>;

/// A row for the program (or subcommand) of these names.
pub const fn command<'a>(names: &'a [&'a str]) -> CommandSpec<'a> {
    CommandSpec {
        names,
        classes: OpSet::EMPTY,
        bare: None,
        tool: None,
        traits: Traits::NONE,
        style: Style::Gnu,
        unknown: Unknown::Opaque,
        switches: "",
        longs: &[],
        values: "",
        long_values: &[],
        options: &[],
        operands: Operands { first: &[], rest: Role::Text, last: None },
        subcommands: &[],
        opaque: None,
        hatch: None,
    }
}

impl<'a> CommandSpec<'a> {
    /// The classes it always has.
    pub const fn classes(mut self, classes: &[OpClass]) -> Self {
        self.classes = OpSet::of(classes);
        self
    }

    /// The classes without operands, where they differ (`kubectl` alone prints help: `bare(&[])`).
    pub const fn bare(mut self, classes: &[OpClass]) -> Self {
        self.bare = Some(OpSet::of(classes));
        self
    }

    /// The exact tool that also satisfies its classes.
    pub const fn tool(mut self, tool: &'static str) -> Self {
        self.tool = Some(tool);
        self
    }

    /// Does what its classes say and no more, whatever its input holds.
    pub const fn closed(self) -> Self {
        self.traits(Traits::CLOSED)
    }

    /// Has no effect of its own (also closed). File operands still count.
    pub const fn pure(self) -> Self {
        self.traits(Traits::PURE.with(Traits::CLOSED))
    }

    /// Without file operands it is a pure filter of its standard input.
    pub const fn stdin_filter(self) -> Self {
        self.traits(Traits::STDIN_FILTER)
    }

    /// A builtin without effect outside its shell (also pure).
    pub const fn effect_free(self) -> Self {
        self.traits(Traits::EFFECT_FREE.with(Traits::PURE).with(Traits::CLOSED))
    }

    /// Runs the command in its operands (say where with [`Role::Command`], [`Role::Line`], [`Role::Shell`]).
    pub const fn wrapper(self) -> Self {
        self.traits(Traits::WRAPPER.with(Traits::POSIX))
    }

    /// After [`wrapper`](Self::wrapper): options may follow operands all the same (`su deploy -c TEXT`).
    pub const fn permuting(mut self) -> Self {
        self.traits = self.traits.without(Traits::POSIX);
        self
    }

    /// Runs code in another language: opaque unless an option says otherwise; options end at the script.
    pub const fn interpreter(self) -> Self {
        self.traits(Traits::INTERPRETER.with(Traits::POSIX)).opaque(Cause::Interpreter)
    }

    /// What it runs or touches is on another machine or in a container.
    pub const fn remote(self) -> Self {
        self.traits(Traits::REMOTE)
    }

    /// Options end at the first operand.
    pub const fn posix(self) -> Self {
        self.traits(Traits::POSIX)
    }

    /// Long options must be written out (no abbreviation).
    pub const fn exact(self) -> Self {
        self.traits(Traits::EXACT)
    }

    /// `-5` and `+5` are numbers.
    pub const fn numeric(self) -> Self {
        self.traits(Traits::NUMERIC)
    }

    /// `NAME=value` words in front of the command are assignments.
    pub const fn assignments(self) -> Self {
        self.traits(Traits::ASSIGNMENTS)
    }

    /// Its options may also stand after the subcommand (`kubectl get -n x`).
    pub const fn global(self) -> Self {
        self.traits(Traits::GLOBAL)
    }

    /// Does not inherit its parents' classes.
    pub const fn local(self) -> Self {
        self.traits(Traits::LOCAL)
    }

    /// An operand that is no known subcommand is an ordinary operand of this row.
    pub const fn lenient_sub(self) -> Self {
        self.traits(Traits::LENIENT_SUB)
    }

    /// Subcommands are compared without regard to case.
    pub const fn nocase_sub(self) -> Self {
        self.traits(Traits::NOCASE_SUB)
    }

    /// `--help` and `--version` have no special meaning (`echo`, `test`).
    pub const fn no_info(self) -> Self {
        self.traits(Traits::NO_INFO)
    }

    /// Words like `+x` are switches too.
    pub const fn plus(self) -> Self {
        self.traits(Traits::PLUS)
    }

    /// Options may also follow the first operand, before the second (`ssh HOST -p 22 CMD…`).
    pub const fn resumes(self) -> Self {
        self.traits(Traits::RESUMES)
    }

    /// Is git itself.
    pub const fn git(self) -> Self {
        self.traits(Traits::GIT)
    }

    /// Single-dash long options.
    pub const fn single(mut self) -> Self {
        self.style = Style::Single;
        self
    }

    /// Reads no options at all; the hatch does.
    pub const fn raw(mut self) -> Self {
        self.style = Style::Raw;
        self
    }

    /// An unlisted option adds these classes instead of making the segment opaque.
    pub const fn worst(mut self, classes: &[OpClass]) -> Self {
        self.unknown = Unknown::Adds(OpSet::of(classes));
        self
    }

    /// No option, listed or not, can do more than the classes say.
    pub const fn lenient(mut self) -> Self {
        self.unknown = Unknown::Ignored;
        self
    }

    /// Letters of options without effect and value.
    pub const fn switches(mut self, letters: &'a str) -> Self {
        self.switches = letters;
        self
    }

    /// Long options without effect and value (an attached `=value` is accepted).
    pub const fn longs(mut self, names: &'a [&'a str]) -> Self {
        self.longs = names;
        self
    }

    /// Letters of options that take a value without effect.
    pub const fn values(mut self, letters: &'a str) -> Self {
        self.values = letters;
        self
    }

    /// Long options that take a value without effect.
    pub const fn long_values(mut self, names: &'a [&'a str]) -> Self {
        self.long_values = names;
        self
    }

    /// Options with an effect.
    pub const fn options(mut self, options: &'a [OptionSpec<'a>]) -> Self {
        self.options = options;
        self
    }

    /// What each operand is.
    pub const fn operands(mut self, role: Role) -> Self {
        self.operands.rest = role;
        self
    }

    /// What the first operands are.
    pub const fn first(mut self, roles: &'a [Role]) -> Self {
        self.operands.first = roles;
        self
    }

    /// What the last of several operands is.
    pub const fn last(mut self, role: Role) -> Self {
        self.operands.last = Some(role);
        self
    }

    /// Its subcommands.
    pub const fn subcommands(mut self, rows: &'a [CommandSpec<'a>]) -> Self {
        self.subcommands = rows;
        self
    }

    /// What it runs cannot be seen from the text.
    pub const fn opaque(mut self, cause: Cause) -> Self {
        self.opaque = Some(cause);
        self
    }

    /// With an escape hatch.
    pub const fn hatch(mut self, hatch: Hatch) -> Self {
        self.hatch = Some(hatch);
        self
    }

    const fn traits(mut self, traits: Traits) -> Self {
        self.traits = self.traits.with(traits);
        self
    }
}
