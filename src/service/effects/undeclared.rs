//! What a command did beyond the classes that its text declares. Pure.
//!
//! Each such effect is a gap in the tables of programs, or a program that does more than it should. An opaque line
//! declares nothing, so nothing is beyond it. What is private to the command (its `/tmp`, its HOME) is no effect.

use std::path::Path;

use crate::classify::{Classification, OpClass, OpSet};
use crate::profile::value::lies_in;
use crate::shell::Trust;
use crate::supervisor::{Act, Target};

/// One kind of effect that the text did not declare.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Undeclared {
    /// The class that would have declared it.
    pub class: OpClass,
    /// The program that did it, where known.
    pub program: String,
    /// On what.
    pub target: Target,
    /// Whether the jail let it.
    pub refused: bool,
}

/// What a line declares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declared {
    classes: Option<OpSet>,
}

/// Classes of which each declares what the others do: a file that is changed may be written anew beside it.
const CHANGES: OpSet =
    OpSet::of(&[OpClass::FileWrite, OpClass::FileModify, OpClass::GitWrite, OpClass::Destructive]);

impl Declared {
    /// Of a line.
    pub(super) fn of(line: &Classification) -> Self {
        let seen = line.trust == Trust::Trusted && line.opaque.is_none();
        Self { classes: seen.then_some(line.classes) }
    }

    /// The class of an act of `program` that the line does not declare.
    pub(super) fn beyond(
        self,
        act: Act,
        target: &Target,
        workspace: &Path,
        program: &str,
    ) -> Option<OpClass> {
        let classes = self.classes?;
        let class = class_of(act, target, workspace)?;
        let has = |class| classes.contains(class);
        let declared = match class {
            OpClass::FileWrite | OpClass::FileModify => CHANGES.iter().any(has),
            // `mv` and `sed -i` remove what they replace.
            OpClass::Destructive => {
                has(OpClass::Destructive) || has(OpClass::FileModify) || has(OpClass::GitWrite)
            }
            // What other programs write there is declared as any file is.
            OpClass::GitWrite if program != "git" => CHANGES.iter().any(has),
            OpClass::GitWrite => has(OpClass::GitWrite) || has(OpClass::GitRead) && is_refresh(target),
            class => has(class),
        };
        (!declared).then_some(class)
    }
}

/// Whether git only brings its index up to date with what it has looked at: `git status` and `git diff` do, where they can.
pub(super) fn is_refresh(target: &Target) -> bool {
    matches!(target, Target::Path(path) if path.ends_with(".git/index.lock") || path.ends_with(".git/index"))
}

/// The class of an act, where it concerns the workspace or a network.
fn class_of(act: Act, target: &Target, workspace: &Path) -> Option<OpClass> {
    match target {
        Target::Address(address) => {
            let own = address.starts_with("127.") || address.starts_with("[::1]");
            (act == Act::Connect && !own).then_some(OpClass::Network)
        }
        Target::Abstract(_) => None,
        Target::Path(path) => {
            let below = path.strip_prefix(workspace).ok().filter(|_| lies_in(path, workspace))?;
            let git = below.components().any(|part| part.as_os_str() == ".git");
            match act {
                Act::Read | Act::Exec | Act::Connect | Act::Bind => None,
                _ if git => Some(OpClass::GitWrite),
                Act::Write | Act::Create | Act::Rename => Some(OpClass::FileWrite),
                Act::Metadata => Some(OpClass::FileModify),
                Act::Remove => Some(OpClass::Destructive),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Environment, classify_line};

    fn beyond(line: &str, act: Act, target: &str) -> Option<OpClass> {
        let declared =
            Declared::of(&classify_line(line, &Environment { cwd: "/w".into(), ..Environment::default() }));
        let target = if target.starts_with('/') {
            Target::Path(target.into())
        } else {
            Target::Address(target.into())
        };
        declared.beyond(act, &target, Path::new("/w"), line.split(' ').next().unwrap_or_default())
    }

    #[test]
    fn what_the_text_declares_is_declared() {
        for (line, act, target) in [
            ("sed -i s/a/b/ f", Act::Create, "/w/sedAbC"),
            ("sed -i s/a/b/ f", Act::Rename, "/w/sedAbC"),
            ("rm f", Act::Remove, "/w/f"),
            ("mv a b", Act::Remove, "/w/a"),
            ("git checkout -- f", Act::Remove, "/w/f"),
            ("git add f", Act::Create, "/w/.git/index.lock"),
            ("curl https://x.example", Act::Connect, "9.9.9.9:443"),
            ("python3 x.py", Act::Remove, "/w/f"),
            ("cat f", Act::Create, "/tmp/x"),
            ("cat f", Act::Connect, "127.0.0.1:80"),
            ("git diff", Act::Create, "/w/.git/index.lock"),
            ("echo x > .git/hooks/y", Act::Create, "/w/.git/hooks/y"),
        ] {
            assert_eq!(beyond(line, act, target), None, "{line} {target}");
        }
    }

    #[test]
    fn what_it_does_not_is_beyond() {
        for (line, act, target, class) in [
            ("cat f", Act::Create, "/w/new", OpClass::FileWrite),
            ("grep -r x .", Act::Remove, "/w/f", OpClass::Destructive),
            ("git log", Act::Create, "/w/.git/HEAD.lock", OpClass::GitWrite),
            ("cat f", Act::Create, "/w/.git/x", OpClass::GitWrite),
            ("ls", Act::Connect, "9.9.9.9:53", OpClass::Network),
            ("cat f", Act::Metadata, "/w/f", OpClass::FileModify),
        ] {
            assert_eq!(beyond(line, act, target), Some(class), "{line} {target}");
        }
    }
}
