//! The beginning of a command, as entries of `allowed_commands` and rules write it, and what it is by itself.

use crate::classify::{self, Environment, OpClass, OpSet};
use crate::shell;

/// The words of a prefix: `Bash(git add:*)`, `git add:*`, `git add *` and `git add` are the same. None where the text
/// is not the beginning of one command.
pub fn words(text: &str) -> Vec<String> {
    let mut plain = text.trim();
    let call = plain.strip_suffix(')').and_then(|rest| rest.split_once('('));
    let is_tool = |tool: &str| !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphabetic());
    if let Some((_, inner)) = call.filter(|(tool, _)| is_tool(tool)) {
        plain = inner.trim();
    }
    let plain = plain.strip_suffix(":*").unwrap_or(plain);
    let mut words = shell_words::split(plain).unwrap_or_default();
    if words.len() > 1 && words.last().is_some_and(|last| last == "*") {
        words.pop();
    }
    words
}

/// What a prefix grants: the classes of the bare command, and whether it is opaque by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// The classes that the command has without options, operands and redirects.
    pub classes: OpSet,
    /// What it runs cannot be seen from the text anyhow.
    pub opaque: bool,
}

/// What the words of a prefix grant. A `*` at the end of the last word is left out; one elsewhere names no command.
pub fn grant(words: &[String]) -> Grant {
    let mut words = words.to_vec();
    if let Some(stem) = words.last().and_then(|last| last.strip_suffix('*')).map(str::to_owned) {
        words.pop();
        words.extend((!stem.is_empty()).then_some(stem));
    }
    if words.is_empty() {
        return Grant { classes: OpSet::of(&[OpClass::Passthrough]), opaque: true };
    }
    let bare = classify::classify("", &shell::from_argv(&words), &Environment::default());
    Grant { classes: classify::entry_classes(&words), opaque: bare.opaque.is_some() }
}

/// The level of privilege of a class: read 0, write 1, execute 2, git-mutate 3, external 4.
pub const fn class_level(class: OpClass) -> u8 {
    match class {
        OpClass::FileRead | OpClass::ContentSearch | OpClass::FileSearch | OpClass::GitRead => 0,
        OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive => 1,
        OpClass::Passthrough => 2,
        OpClass::GitWrite => 3,
        OpClass::Network => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_spellings_meet() {
        for text in ["git add", "git add *", "git add:*", "Bash(git add:*)", " Bash(git add *) "] {
            assert_eq!(words(text), ["git", "add"], "{text}");
        }
        assert_eq!(words("*"), ["*"]);
        assert_eq!(words("npm run 'my task'"), ["npm", "run", "my task"]);
        assert_eq!(words("echo 'unfinished"), Vec::<String>::new());
        assert_eq!(words("(x)"), ["(x)"]);
    }

    #[test]
    fn a_prefix_grants_what_the_bare_command_does() {
        let classes = |text: &str| grant(&words(text)).classes;
        assert!(classes("git commit").contains(OpClass::GitWrite));
        assert!(classes("git commit*").contains(OpClass::GitWrite));
        assert!(!classes("find").contains(OpClass::Destructive));
        assert!(classes("find").contains(OpClass::FileSearch));
        assert!(classes("rm").contains(OpClass::Destructive));
        assert!(!grant(&words("git log")).opaque);
        assert!(grant(&words("*")).opaque && grant(&words("./run.sh")).opaque);
    }
}
