//! The user's own rules: what of the commands they allow, ask about and forbid, whatever the workflow, and what becomes of
//! a question. One file in the user's configuration directory, which no jail shows.
//!
//! Danger: an allow rule here lifts a question for good. Only a person writes it; a file that cannot be read ends every
//! command, for what it forbids is not known.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::person::Terminal;
use super::{host, own_files};
use crate::diagnostic::Diagnostic;
use crate::policy::{Base, Origin, RuleSet};
use crate::profile::HostFacts;
use crate::workflow::model::{Asking, RuleSpec, Verdict};

/// The file below the configuration directory.
const FILE: &str = "rules.toml";

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    default: Word,
    approvals: Asking,
    rule: Vec<UserRule>,
}

/// What holds where no rule speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    #[default]
    Allow,
    Prompt,
}

/// A rule of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRule {
    /// Its name, where swbox wrote it.
    #[serde(default)]
    pub id: Option<String>,
    /// How the command begins.
    pub prefix: String,
    /// What is said of it.
    pub decision: Verdict,
    /// Why.
    #[serde(default)]
    pub justification: Option<String>,
    /// Lines that it must match.
    #[serde(default, rename = "match")]
    pub matches: Vec<String>,
    /// Lines that it must not match.
    #[serde(default)]
    pub not_match: Vec<String>,
    /// The workspace that it holds in; every one where absent.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// The state that it holds in; every one where absent.
    #[serde(default)]
    pub state: Option<String>,
}

/// The user's rules.
#[derive(Debug, Clone, Default)]
pub struct UserRules {
    /// The file.
    pub file: PathBuf,
    /// What holds where no rule speaks: whether a person is asked.
    pub asks: bool,
    /// What becomes of a question.
    pub approvals: Asking,
    /// The rules in the order of the file.
    pub rules: Vec<UserRule>,
    /// The file's text; empty where there is none.
    pub(super) text: String,
}

/// The user's rules, for a person to see.
///
/// # Errors
/// As for reading them.
pub fn user_rules() -> Result<UserRules, Diagnostic> {
    UserRules::read(&host::facts()?)
}

/// Takes a rule back that an approval wrote; false where there is none of that id. Sessions that began with it keep it
/// until a person reloads their law.
///
/// # Errors
/// A file that cannot be read or written.
pub fn forget_rule(id: &str, _person: &Terminal) -> Result<bool, Diagnostic> {
    Ok(user_rules()?.without(id)?.is_some())
}

/// Whether a text of rules has one of this id; what cannot be read has it.
pub(super) fn has_rule(text: &[u8], id: &str) -> bool {
    let text = String::from_utf8(text.to_vec()).ok();
    let rules = text.and_then(|text| UserRules::parse(text, PathBuf::new()).ok());
    rules.is_none_or(|rules| rules.rules.iter().any(|rule| rule.id.as_deref() == Some(id)))
}

/// Where the file is, whether or not it is there.
fn place(facts: &HostFacts) -> PathBuf {
    facts.own.first().map(|config| config.join(FILE)).unwrap_or_default()
}

impl UserRules {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// `rules_malformed`, and a file that cannot be read.
    pub(super) fn read(facts: &HostFacts) -> Result<Self, Diagnostic> {
        let file = place(facts);
        match fs::metadata(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self { file, ..Self::default() })
            }
            _ => {
                let text = String::from_utf8(own_files::read(&file)?)
                    .map_err(|_| malformed("is not UTF-8".to_owned(), &file))?;
                Self::parse(text, file)
            }
        }
    }

    /// The rules of a text.
    ///
    /// # Errors
    /// `rules_malformed`, `rule_prefix`, `rule_example`.
    pub(super) fn parse(text: String, file: PathBuf) -> Result<Self, Diagnostic> {
        let written: Written = toml::from_str(&text).map_err(|error| malformed(error.to_string(), &file))?;
        let asks = written.default == Word::Prompt;
        let rules = Self { file, asks, approvals: written.approvals, rules: written.rule, text };
        rules.all().map_err(|problem| problem.file(&rules.file))?;
        Ok(rules)
    }

    /// The set of all of them, to find what is wrong.
    fn all(&self) -> Result<RuleSet, Diagnostic> {
        self.set(|_| true)
    }

    /// The rules that hold in a workspace and state.
    ///
    /// # Errors
    /// A rule that cannot be used.
    pub(super) fn within(&self, workspace: &Path, state: &str) -> Result<RuleSet, Diagnostic> {
        self.set(|rule| {
            rule.workspace.as_deref().is_none_or(|place| workspace.starts_with(place))
                && rule.state.as_deref().is_none_or(|name| name == state)
        })
    }

    fn set(&self, holds: impl Fn(&UserRule) -> bool) -> Result<RuleSet, Diagnostic> {
        let specs: Vec<RuleSpec> = self.rules.iter().filter(|rule| holds(rule)).map(UserRule::spec).collect();
        let base = if self.asks { Base::Prompt } else { Base::Allow };
        let mut set = RuleSet::default();
        set.base = base;
        set.add(&specs, Origin::User).map_err(|problems| {
            problems
                .into_iter()
                .next()
                .unwrap_or_else(|| Diagnostic::new("rule_prefix", "a rule cannot be used"))
        })?;
        Ok(set)
    }

    /// Writes a rule behind the others, and gives the rules with it.
    ///
    /// # Errors
    /// A file that cannot be written, a rule that cannot be used.
    pub(super) fn append(&self, rule: &UserRule) -> Result<Self, Diagnostic> {
        let mut text = self.text.clone();
        if !text.is_empty() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push('\n');
        }
        text.push_str(&rule.to_toml());
        let next = Self::parse(text, self.file.clone())?;
        next.write()?;
        Ok(next)
    }

    /// Takes a rule that swbox wrote out of the file; none where it has no such rule.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub(super) fn without(&self, id: &str) -> Result<Option<Self>, Diagnostic> {
        if !self.rules.iter().any(|rule| rule.id.as_deref() == Some(id)) {
            return Ok(None);
        }
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let own = format!("id = {}", quoted(id));
        let Some(at) = lines.iter().position(|line| line.trim() == own) else { return Ok(None) };
        let begins = |line: &&str| line.trim_start().starts_with('[');
        let first = lines[..at].iter().rposition(begins).unwrap_or(at);
        let last = lines[at..].iter().position(begins).map_or(lines.len(), |next| at + next);
        let kept: String = lines[..first].iter().chain(&lines[last..]).copied().collect();
        let next = Self::parse(kept, self.file.clone())?;
        if next.rules.len() + 1 != self.rules.len() {
            return Err(malformed(format!("the rule {id} cannot be told from its neighbours"), &self.file));
        }
        next.write()?;
        Ok(Some(next))
    }

    /// Writes the file whole or not at all.
    fn write(&self) -> Result<(), Diagnostic> {
        let unwritable = |error: std::io::Error| {
            Diagnostic::new("rules_unwritable", format!("cannot be written: {error}")).file(&self.file)
        };
        let directory = self.file.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unwritable)?;
        let beside = directory.join(format!(".{FILE}.{}", std::process::id()));
        let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
        let written = made.and_then(|mut made| {
            made.write_all(self.text.as_bytes())?;
            made.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, &self.file)).map_err(unwritable)
    }
}

impl UserRule {
    fn spec(&self) -> RuleSpec {
        RuleSpec {
            prefix: self.prefix.clone(),
            decision: self.decision,
            justification: self.justification.clone(),
            matches: self.matches.clone(),
            not_match: self.not_match.clone(),
        }
    }

    /// The decision as it is written.
    pub fn word(&self) -> &'static str {
        match self.decision {
            Verdict::Allow => "allow",
            Verdict::Prompt => "prompt",
            Verdict::Forbid => "forbid",
        }
    }

    fn to_toml(&self) -> String {
        let mut text = String::from("[[rule]]\n");
        let mut line = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                text.push_str(&format!("{name} = {}\n", quoted(value)));
            }
        };
        line("id", self.id.as_deref());
        line("prefix", Some(&self.prefix));
        line("decision", Some(self.word()));
        line("workspace", self.workspace.as_ref().and_then(|place| place.to_str()));
        line("state", self.state.as_deref());
        line("justification", self.justification.as_deref());
        text
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn malformed(why: String, file: &Path) -> Diagnostic {
    let why: String = why.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    Diagnostic::new("rules_malformed", format!("the user's rules cannot be used: {why}"))
        .file(file)
        .help("docs/sessions.md shows what the file may say")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("swbox-rules-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        place
    }

    fn rule(id: &str, prefix: &str) -> UserRule {
        UserRule {
            id: Some(id.to_owned()),
            prefix: prefix.to_owned(),
            decision: Verdict::Allow,
            justification: None,
            matches: Vec::new(),
            not_match: Vec::new(),
            workspace: Some("/w \"x\"".into()),
            state: None,
        }
    }

    #[test]
    fn a_rule_is_written_and_taken_out_and_nothing_else_is_touched() {
        let place = directory("write");
        let text = "# mine\ndefault = \"prompt\" # so\n\n[[rule]]\nprefix = \"git push\"\ndecision = \"forbid\"\n# kept\n";
        let mine = UserRules::parse(text.to_owned(), place.join(FILE)).unwrap();
        assert!(mine.asks && mine.approvals == Asking::Park);
        let one = mine.append(&rule("r-1", "npm ci")).unwrap();
        let two = one.append(&rule("r-2", "cargo doc")).unwrap();
        assert_eq!(two.rules.len(), 3);
        let there = UserRules::parse(fs::read_to_string(&two.file).unwrap(), two.file.clone()).unwrap();
        assert_eq!(there.rules, two.rules);
        assert_eq!(there.rules[1].workspace.as_deref(), Some(Path::new("/w \"x\"")));
        assert!(two.without("r-3").unwrap().is_none());
        let left = two.without("r-1").unwrap().unwrap();
        let ids: Vec<_> = left.rules.iter().map(|rule| rule.id.as_deref()).collect();
        assert_eq!(ids, [None, Some("r-2")]);
        let last = left.without("r-2").unwrap().unwrap();
        assert_eq!(last.text.trim_end(), text.trim_end());
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_rule_holds_where_it_says() {
        let text = "[[rule]]\nprefix = \"wc\"\ndecision = \"forbid\"\nworkspace = \"/a\"\nstate = \"s\"\n";
        let rules = UserRules::parse(text.to_owned(), "f".into()).unwrap();
        for (workspace, state, holds) in
            [("/a", "s", true), ("/a/b", "s", true), ("/ab", "s", false), ("/a", "t", false)]
        {
            let set = rules.within(Path::new(workspace), state).unwrap();
            assert_eq!(!set.is_empty(), holds, "{workspace} {state}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "default = \"forbid\"",
            "aprovals = \"deny\"",
            "approvals = \"never\"",
            "[[rule]]\nprefix = \"\"\ndecision = \"allow\"",
            "[[rule]]\nprefix = \"wc\"",
            "[[rule]]\nprefix = \"wc\"\ndecision = \"allow\"\nhosts = []",
            "[[rule]]\nprefix = \"wc\"\ndecision = \"allow\"\nmatch = [\"ls\"]",
        ] {
            assert!(UserRules::parse(text.to_owned(), "f".into()).is_err(), "{text}");
        }
    }
}
