//! A user's own command rows, from a profile: the schema of [`spec`](super::spec) with owned strings.
//!
//! Danger: a row widens what passes without a question. A row for a program that swbox knows is refused, and each row
//! carries examples that loading checks.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;

use super::op::{OpClass, OpSet};
use super::opacity::Cause;
use super::options::Word;
use super::spec::{CommandSpec, OptionSpec, Role, Takes, Traits, Unknown, command, opt};
use super::{Environment, classify_line, registry};

/// One program, or with blanks in `name` one subcommand of it (`deployctl status`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRow {
    /// The program's base name, and the words of the subcommand.
    pub name: String,
    /// Classes it always has.
    #[serde(default)]
    pub classes: Vec<OpClass>,
    /// Does what its classes say and no more.
    #[serde(default)]
    pub closed: bool,
    /// Has no effect of its own.
    #[serde(default)]
    pub pure: bool,
    /// Without file operands a pure filter of its standard input.
    #[serde(default)]
    pub stdin_filter: bool,
    /// What it runs cannot be seen from the text.
    #[serde(default)]
    pub opaque: bool,
    /// Letters of options without effect and value.
    #[serde(default)]
    pub switches: String,
    /// Long options without effect and value.
    #[serde(default)]
    pub longs: Vec<String>,
    /// Letters of options that take a value without effect.
    #[serde(default)]
    pub values: String,
    /// Long options that take a value without effect.
    #[serde(default)]
    pub long_values: Vec<String>,
    /// Options with an effect.
    #[serde(default)]
    pub options: Vec<UserOption>,
    /// Whether an option that is not listed has no effect of its own; else it makes the segment opaque.
    #[serde(default)]
    pub lenient: bool,
    /// What the first operands are.
    #[serde(default)]
    pub first: Vec<UserRole>,
    /// What all other operands are.
    #[serde(default)]
    pub operands: UserRole,
    /// Lines and what they must give; at least one.
    pub examples: Vec<UserExample>,
}

/// An option with an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserOption {
    /// Its letters.
    #[serde(default)]
    pub short: String,
    /// Its long name without dashes.
    #[serde(default)]
    pub long: String,
    /// What its value is; none when it takes none.
    pub value: Option<UserRole>,
    /// Classes it adds.
    #[serde(default)]
    pub adds: Vec<OpClass>,
    /// Classes of the row that it takes away.
    #[serde(default)]
    pub drops: Vec<OpClass>,
    /// Makes the segment opaque.
    #[serde(default)]
    pub opaque: bool,
}

/// A line and what classification must say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserExample {
    /// The line.
    pub command: String,
    /// Exactly its classes.
    pub classes: Vec<OpClass>,
    /// Whether it is opaque.
    #[serde(default)]
    pub opaque: bool,
}

/// The roles that a user's row may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserRole {
    /// Text without effect.
    #[default]
    Text,
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// A file that is changed.
    Modify,
    /// A file that is deleted.
    Delete,
    /// A file or tree that is searched.
    Search,
    /// A file or tree that is listed.
    List,
    /// A host.
    Host,
    /// A URL.
    Url,
    /// The rest is a command.
    Command,
    /// Shell text.
    Shell,
    /// A program or code that is run.
    Exec,
}

impl UserRole {
    const fn role(self) -> Role {
        match self {
            Self::Text => Role::Text,
            Self::Read => Role::Read,
            Self::Write => Role::Write,
            Self::Modify => Role::Modify,
            Self::Delete => Role::Delete,
            Self::Search => Role::Search,
            Self::List => Role::List,
            Self::Host => Role::Host,
            Self::Url => Role::Url,
            Self::Command => Role::Command,
            Self::Shell => Role::Shell,
            Self::Exec => Role::Exec,
        }
    }
}

/// What the user's rows say of a call.
#[derive(Debug, Clone, Copy)]
pub enum Found<'r> {
    /// No row is about this program.
    Nothing,
    /// A row, and how many words after the program's name belong to the subcommand.
    Row(&'r UserRow, usize),
    /// There are rows for other subcommands of it only.
    OtherSubcommand,
}

/// All rows of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserRows(pub Vec<UserRow>);

impl UserRows {
    /// The row with the longest name that the words begin with.
    pub fn find(&self, program: &str, words: &[crate::shell::Arg]) -> Found<'_> {
        let mut found = Found::Nothing;
        let mut length = 0;
        for row in &self.0 {
            let mut parts = row.name.split_whitespace();
            if parts.next() != Some(program) {
                continue;
            }
            let count = row.name.split_whitespace().count();
            let is_prefix = parts
                .enumerate()
                .all(|(index, part)| words.get(index).map(Word::whole).and_then(Word::text) == Some(part));
            if is_prefix && count > length {
                found = Found::Row(row, count - 1);
                length = count;
            } else if matches!(found, Found::Nothing) {
                found = Found::OtherSubcommand;
            }
        }
        // An option in front hides the subcommand from us: what follows may be any of them.
        let has_subcommands = self.0.iter().any(|row| {
            let mut parts = row.name.split_whitespace();
            parts.next() == Some(program) && parts.next().is_some()
        });
        let is_hidden = words.first().is_some_and(|arg| arg.value.known_prefix().starts_with('-'));
        match found {
            Found::Row(_, 0) if has_subcommands && is_hidden => Found::OtherSubcommand,
            found => found,
        }
    }

    /// Every problem of these rows: shadowed programs, missing or failing examples.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let environment = Environment { rows: self.clone(), ..Environment::default() };
        for (index, row) in self.0.iter().enumerate() {
            let path = format!("commands[{index}]");
            let mut problem = |code, message: String, help: &str| {
                let mut diagnostic = Diagnostic::new(code, message).help(help);
                diagnostic.path = Some(path.clone());
                problems.push(diagnostic);
            };
            let Some(program) = row.name.split_whitespace().next() else {
                problem(
                    "command_row_name",
                    "a command row has no name".to_owned(),
                    "give the program's base name",
                );
                continue;
            };
            if program.contains('/') {
                problem("command_row_name", format!("`{program}` is a path"), "give the program's base name");
            }
            if registry::lookup(program).is_some() {
                problem(
                    "command_row_known",
                    format!("swbox already knows `{program}`"),
                    "remove the row; rules can allow or forbid the command",
                );
                continue;
            }
            if row.examples.is_empty() {
                problem(
                    "command_row_example",
                    format!("`{}` has no example", row.name),
                    "add one line with its classes",
                );
            }
            for example in &row.examples {
                let found = classify_line(&example.command, &environment);
                let wanted = OpSet::of(&example.classes);
                if found.classes != wanted || found.opaque.is_some() != example.opaque {
                    let names: Vec<&str> = found.classes.iter().map(OpClass::name).collect();
                    let sight = if found.opaque.is_some() { ", opaque" } else { "" };
                    problem(
                        "command_row_example",
                        format!("`{}` gives {}{sight}", example.command, names.join(", ")),
                        "correct the row or the example",
                    );
                }
            }
        }
        problems
    }
}

impl UserRow {
    /// Calls `with` with this row in the schema of the tables.
    pub fn lower<T>(&self, with: impl FnOnce(&CommandSpec<'_>) -> T) -> T {
        let longs: Vec<&str> = self.longs.iter().map(String::as_str).collect();
        let long_values: Vec<&str> = self.long_values.iter().map(String::as_str).collect();
        let options: Vec<OptionSpec<'_>> = self.options.iter().map(UserOption::lower).collect();
        let first: Vec<Role> = self.first.iter().map(|role| role.role()).collect();
        let names = [self.name.split_whitespace().next().unwrap_or("")];
        let mut spec = command(&names)
            .switches(&self.switches)
            .longs(&longs)
            .values(&self.values)
            .long_values(&long_values)
            .options(&options)
            .first(&first)
            .operands(self.operands.role());
        spec.classes = OpSet::of(&self.classes);
        for (is_set, traits) in [
            (self.closed, Traits::CLOSED),
            (self.pure, Traits::PURE.with(Traits::CLOSED)),
            (self.stdin_filter, Traits::STDIN_FILTER),
            (self.runs_command(), Traits::WRAPPER.with(Traits::POSIX)),
        ] {
            if is_set {
                spec.traits = spec.traits.with(traits);
            }
        }
        if self.lenient {
            spec.unknown = Unknown::Ignored;
        }
        if self.opaque {
            spec = spec.opaque(Cause::Configuration);
        }
        with(&spec)
    }

    fn runs_command(&self) -> bool {
        self.operands == UserRole::Command || self.first.contains(&UserRole::Command)
    }
}

impl UserOption {
    fn lower(&self) -> OptionSpec<'_> {
        let mut option = opt(&self.short, &self.long);
        if let Some(role) = self.value {
            option.takes = Takes::One;
            option.role = role.role();
        }
        option.adds = OpSet::of(&self.adds);
        option.drops = OpSet::of(&self.drops);
        if self.opaque {
            option.opaque = Some(Cause::ExecOption);
        }
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(json: &str) -> UserRows {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn examples_are_checked() {
        let good = rows(
            r#"[{"name": "deployctl status", "classes": ["Network"], "closed": true, "lenient": true,
                 "examples": [{"command": "deployctl status web", "classes": ["Network"]}]},
                {"name": "fmtx", "operands": "modify", "options": [{"long": "check", "drops": ["FileModify"]},
                 {"short": "o", "value": "write"}], "examples": [
                 {"command": "fmtx -o out a.x", "classes": ["FileWrite", "FileModify"]},
                 {"command": "fmtx --zzz a.x", "classes": ["FileModify"], "opaque": true}]}]"#,
        );
        assert_eq!(good.check(), []);
        let bad = rows(
            r#"[{"name": "cat", "examples": []}, {"name": "x y", "examples": [{"command": "x y", "classes": ["Network"]}]}]"#,
        );
        let codes: Vec<&str> = bad.check().iter().map(|problem| problem.code).collect();
        assert_eq!(codes, ["command_row_known", "command_row_example"]);
    }

    #[test]
    fn another_subcommand_is_opaque() {
        let rows = rows(
            r#"[{"name": "deployctl status", "examples": [{"command": "deployctl status", "classes": ["Passthrough"]}]}]"#,
        );
        let environment = Environment { rows, ..Environment::default() };
        assert!(classify_line("deployctl status", &environment).opaque.is_none());
        assert!(classify_line("deployctl destroy", &environment).opaque.is_some());
        assert!(classify_line("deployctl -v status", &environment).opaque.is_some());
    }
}
