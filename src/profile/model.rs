//! A profile as data: what is visible, secret, kept, limited and asked for. TOML in, diagnostics with line and column out.
//!
//! Danger: an unknown key that is silently ignored is a rule that somebody believes in. Unknown keys are refused.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::spec::{Limits, Protection, Requirement};
use super::value::{Below, Place, Size, TimeSpan, VariablePattern, is_variable_name};
use crate::classify::UserRows;
use crate::diagnostic::Diagnostic;
use crate::workflow::model::Observe;

/// One profile, or several merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// One line for people.
    pub description: String,
    /// Profiles that come before this one.
    pub extends: Vec<String>,
    /// When it applies by itself.
    pub detect: Detect,
    /// Visible trees.
    pub binds: Binds,
    /// Directories of PATH.
    pub path: SearchPath,
    /// Unreadable places.
    pub secrets: Secrets,
    /// Variables.
    pub environment: Environment,
    /// Variable → directory in the workspace's cache, for commands that build.
    pub caches: BTreeMap<VariableName, Below>,
    /// Names below the workspace with a meaning.
    pub workspace: WorkspaceNames,
    /// Hosts.
    pub network: Network,
    /// Credentials by name (`npm:registry.example`): what they are made of.
    pub credentials: BTreeMap<String, Credential>,
    /// Limits of one command.
    pub limits: LimitValues,
    /// What is asked of each protection.
    pub protections: BTreeMap<Protection, Requirement>,
    /// Command rows of the user, for programs that the tables do not know.
    pub commands: UserRows,
    /// Files of the host that commands see with a text behind their own.
    pub append: Vec<Append>,
    /// What is watched beside the ordinary: `reads`, `trace`.
    #[serde(deserialize_with = "watched")]
    pub observe: Vec<Observe>,
}

/// A file of the host that commands which execute the unseen see with `text` behind its own; where it is not visible,
/// nothing is made, or with `create` a file of the text alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// The file.
    pub path: Place,
    /// What comes behind its text, on a line of its own.
    pub text: String,
    /// Below HOME: it is made of the text where the host's own is absent or not visible.
    #[serde(default)]
    pub create: bool,
}

/// When a profile applies by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detect {
    /// One of these exists at the workspace's root.
    pub files: Vec<Below>,
    /// One of these variables is set and neither empty, `0` nor `false`.
    pub variables: Vec<VariableName>,
}

/// Visible trees; all read-only but `writable`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Binds {
    /// Programs of the system.
    pub system: Vec<Place>,
    /// Programs of version managers and of the user.
    pub toolchains: Vec<Place>,
    /// Files without programs.
    pub data: Vec<Place>,
    /// Trees outside the workspace that commands with a write right may change. Built-in profiles have none.
    pub writable: Vec<Place>,
}

/// Directories of PATH.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchPath {
    /// Always there, in this order, after what the caller's PATH has of them.
    pub system: Vec<Place>,
    /// Below the workspace: stay when the caller's PATH has them, the command may execute what the text cannot show,
    /// and it is no git command.
    pub workspace: Vec<Below>,
}

/// Unreadable places.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Secrets {
    /// Files and directories.
    pub paths: Vec<Place>,
}

/// Variables of the caller that come in, and those that are set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    /// Come in.
    pub keep: Vec<VariablePattern>,
    /// Do not, although `keep` names them.
    pub drop: Vec<VariablePattern>,
    /// Set. A leading `~/` is HOME.
    pub set: BTreeMap<VariableName, String>,
    /// Set where standard input is no terminal.
    pub unattended: BTreeMap<VariableName, String>,
    /// Set where the command reaches no network but its own loopback.
    pub offline: BTreeMap<VariableName, String>,
}

/// Names below the workspace with a meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceNames {
    /// Run-later files: read-only where they exist.
    pub protected: Vec<Below>,
    /// Kept from the throw-away layer after exit 0.
    pub outputs: Vec<Below>,
}

/// Hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Names a state with a network right may reach.
    #[serde(deserialize_with = "host_entries")]
    pub hosts: Vec<String>,
}

/// Entries that can be held as they read; each wrong one is an error at its place.
fn host_entries<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    struct Entry(String);
    impl<'de> Deserialize<'de> for Entry {
        fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
            super::value::checked(input, |text| match crate::hosts::check(text) {
                Ok(()) => Ok(Self(text.to_owned())),
                Err(bad) => Err(bad.to_string()),
            })
        }
    }
    Ok(Vec::<Entry>::deserialize(input)?.into_iter().map(|entry| entry.0).collect())
}

/// Words for what is watched.
fn watched<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<Observe>, D::Error> {
    struct Word(Observe);
    impl<'de> Deserialize<'de> for Word {
        fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
            super::value::checked(input, |text| match text {
                "reads" => Ok(Self(Observe::Reads)),
                "trace" => Ok(Self(Observe::Trace)),
                _ => Err(format!("`{text}` cannot be watched: write `reads` or `trace`")),
            })
        }
    }
    Ok(Vec::<Word>::deserialize(input)?.into_iter().map(|word| word.0).collect())
}

/// What a credential is made of, and whether commands get it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Credential {
    /// Files that become readable.
    pub files: Vec<Place>,
    /// Variables that come in.
    pub variables: Vec<VariableName>,
    /// Whether it is given; a workspace file cannot say so.
    pub grant: bool,
}

/// Limits as written; `None` where a profile says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitValues {
    timeout: Option<TimeSpan>,
    processes: Option<u64>,
    memory: Option<Size>,
    file_size: Option<Size>,
    cpu: Option<TimeSpan>,
    open_files: Option<u64>,
    scratch: Option<Size>,
    output: Option<Size>,
}

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableName(pub String);

impl<'de> Deserialize<'de> for VariableName {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        super::value::checked(input, |text| match is_variable_name(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("`{text}` is no variable name")),
        })
    }
}

impl Profile {
    /// Reads a profile file and checks the examples of its command rows.
    ///
    /// # Errors
    /// `profile_syntax` with file, line and column; what is wrong with a command row.
    pub fn from_toml(text: &str, file: &Path) -> Result<Self, Diagnostic> {
        let profile = Self::parse(text, file)?;
        match profile.commands.check().into_iter().next() {
            Some(problem) => Err(problem.file(file)),
            None => Ok(profile),
        }
    }

    fn parse(text: &str, file: &Path) -> Result<Self, Diagnostic> {
        toml::from_str(text).map_err(|error| {
            let mut problem = Diagnostic::new("profile_syntax", one_line(error.message())).file(file);
            if let Some(span) = error.span() {
                let (line, column) = position(text, span.start);
                problem.line = Some(line);
                problem.column = Some(column);
            }
            problem.help("docs/profiles.md lists every key; `swbox explain` shows what a profile comes to")
        })
    }

    /// Puts `later` over `self`: lists grow, named values are replaced.
    pub fn extend(&mut self, later: Self) {
        fn list<T: PartialEq>(into: &mut Vec<T>, from: Vec<T>) {
            if into.is_empty() {
                *into = from;
                return;
            }
            for item in from {
                if !into.contains(&item) {
                    into.push(item);
                }
            }
        }
        let Self {
            description,
            extends: _,
            detect: _,
            binds,
            path,
            secrets,
            environment,
            caches,
            workspace,
            network,
            credentials,
            limits,
            protections,
            commands,
            append,
            observe,
        } = later;
        self.description = description;
        list(&mut self.binds.system, binds.system);
        list(&mut self.binds.toolchains, binds.toolchains);
        list(&mut self.binds.data, binds.data);
        list(&mut self.binds.writable, binds.writable);
        list(&mut self.path.system, path.system);
        list(&mut self.path.workspace, path.workspace);
        list(&mut self.secrets.paths, secrets.paths);
        list(&mut self.environment.keep, environment.keep);
        list(&mut self.environment.drop, environment.drop);
        self.environment.set.extend(environment.set);
        self.environment.unattended.extend(environment.unattended);
        self.environment.offline.extend(environment.offline);
        self.caches.extend(caches);
        list(&mut self.workspace.protected, workspace.protected);
        list(&mut self.workspace.outputs, workspace.outputs);
        list(&mut self.network.hosts, network.hosts);
        self.credentials.extend(credentials);
        self.protections.extend(protections);
        self.limits.extend(limits);
        list(&mut self.commands.0, commands.0);
        list(&mut self.append, append);
        list(&mut self.observe, observe);
    }
}

impl LimitValues {
    fn extend(&mut self, later: Self) {
        let Self { timeout, processes, memory, file_size, cpu, open_files, scratch, output } = later;
        self.timeout = timeout.or(self.timeout);
        self.processes = processes.or(self.processes);
        self.memory = memory.or(self.memory);
        self.file_size = file_size.or(self.file_size);
        self.cpu = cpu.or(self.cpu);
        self.open_files = open_files.or(self.open_files);
        self.scratch = scratch.or(self.scratch);
        self.output = output.or(self.output);
    }

    /// The limits of a command.
    pub fn limits(&self) -> Limits {
        let bytes = |size: Option<Size>| size.map(|size| size.0);
        Limits {
            timeout: self.timeout.map(|span| span.0),
            processes: self.processes,
            memory: bytes(self.memory),
            file_size: bytes(self.file_size),
            cpu: self.cpu.map(|span| span.0.as_secs().max(1)),
            open_files: self.open_files,
            scratch: bytes(self.scratch),
            output: bytes(self.output),
        }
    }
}

/// Line and column (in characters, both from 1) of a byte.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// The parser's message without its picture of the source.
fn one_line(message: &str) -> String {
    message.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Diagnostic {
        Profile::from_toml(text, Path::new("p.toml")).unwrap_err()
    }

    #[test]
    fn errors_carry_line_and_column() {
        let unknown = refused("description = \"x\"\n[binds]\nsytem = [\"/usr\"]\n");
        assert_eq!((unknown.code, unknown.line, unknown.column), ("profile_syntax", Some(3), Some(1)));
        assert!(unknown.message.contains("sytem"), "{unknown}");

        let place = refused("[binds]\nsystem = [\n  \"/usr\",\n  \"usr/bin\",\n]\n");
        assert_eq!((place.line, place.column), (Some(4), Some(3)), "{place}");
        assert!(place.message.contains("is no place"), "{place}");

        let syntax = refused("[binds\n");
        assert_eq!(syntax.line, Some(1), "{syntax}");

        for text in [
            "[limits]\nmemory = \"2GB\"",
            "[protections]\nreads = \"maybe\"",
            "[protections]\nread = \"strict\"",
            "[environment.set]\n\"A=B\" = \"x\"",
            "[workspace]\noutputs = [\"../x\"]",
            "[secrets]\npaths = [\"/a/*/b\"]",
            "[network]\nhosts = [\"a.example\", \"https://b.example\"]",
            "description = \"x\"\nobserve = [\"writes\"]",
        ] {
            assert_eq!(refused(text).line, Some(2), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn later_profiles_add_and_replace() {
        let file = Path::new("p");
        let mut base = Profile::from_toml(
            "[binds]\nsystem=[\"/usr\"]\n[limits]\nprocesses=5\nmemory=\"1GiB\"\n[protections]\nreads=\"strict\"",
            file,
        )
        .unwrap();
        let later =
            "[binds]\nsystem=[\"/usr\",\"/opt\"]\n[limits]\nprocesses=9\n[protections]\nreads=\"degradable\"";
        base.extend(Profile::from_toml(later, file).unwrap());
        assert_eq!(base.binds.system.len(), 2);
        let limits = base.limits.limits();
        assert_eq!((limits.processes, limits.memory), (Some(9), Some(1 << 30)));
        assert_eq!(base.protections.get(&Protection::Reads), Some(&Requirement::Degradable));
    }
}
