//! Refusals of a jail that gives less than the state: the state holds the right, the host could not have it held apart
//! (no throw-away layer, no loopback, no new names beside a git directory). No tool and no event helps with those.
//!
//! Danger: what is said here takes a suggestion away. So it is said only where the command's own rights cover what was
//! refused, or the jail's own words tell of it.

use std::borrow::Cow;
use std::path::Path;

use super::address::{SOCKETS, is_own};
use super::attribute::{Ground, is_git};
use crate::policy::{NetworkRight, WorkspaceRight};
use crate::profile::value::lies_in;
use crate::supervisor::{Act, Cause, Denial, Target};

/// What the jail gave less than was asked (`jail.degraded`), as far as that is known while the command runs.
pub(in crate::service) type Shortfall<'a> = &'a [String];

/// The words of a shortfall that begin with one of these codes.
fn words(shortfall: Shortfall<'_>, codes: &[&str]) -> Option<Cow<'static, str>> {
    let of = |reason: &&String| reason.split_once(':').is_some_and(|(code, _)| codes.contains(&code));
    shortfall.iter().find(of).map(|reason| Cow::Owned(reason.clone()))
}

/// Why the jail refused what the command's rights have, where that is so. `host` is what was asked for by name.
pub(super) fn kept(ground: &Ground<'_>, denial: &Denial, host: Option<&String>) -> Option<Cow<'static, str>> {
    match &denial.target {
        Target::Path(path) => match denial.act {
            Act::Read | Act::Exec | Act::Connect | Act::Bind => None,
            Act::Write | Act::Create | Act::Remove | Act::Rename | Act::Metadata => {
                of_path(ground, denial.act, denial.cause, path)
            }
        },
        Target::Address(address) => of_address(ground, denial.cause, host.unwrap_or(address)),
        Target::Abstract(_) => None,
    }
}

fn of_path(ground: &Ground<'_>, act: Act, cause: Cause, path: &Path) -> Option<Cow<'static, str>> {
    if cause == Cause::Protected && is_git(path) && ground.rights.git_write {
        let words = words(ground.shortfall, &["no-git-write"]);
        return Some(words.unwrap_or(Cow::Borrowed(
            "what git would run, and its settings, are changed by a person, outside",
        )));
    }
    if cause != Cause::Rights {
        return None;
    }
    // Where there are namespaces the filter refuses of these acts only what leaves a program for others to run.
    let lesser = shortfall_of_namespaces(ground.shortfall);
    if act == Act::Metadata && (!lesser || ground.rights.workspace == WorkspaceRight::Write) {
        return Some(Cow::Borrowed(
            "set-user-id and set-group-id bits, and flags of files, are set by no command",
        ));
    }
    if !lies_in(path, ground.anchors.workspace) {
        // A place that the command may write to: only what the filter holds is refused there.
        return Some(Cow::Borrowed(
            "without namespaces mode, owner, times and attributes are changed by no command of a state without a write right",
        ));
    }
    match ground.rights.workspace {
        WorkspaceRight::ThrowAway => Some(words(ground.shortfall, &["no-throwaway"]).unwrap_or(
            Cow::Borrowed("no-throwaway: its writes were to vanish in a layer that this host could not give"),
        )),
        WorkspaceRight::Write => {
            let words = words(ground.shortfall, &["no-new-names", "foreign-workspace"]);
            Some(words.unwrap_or(Cow::Borrowed(
                "the state gives it, and this host's jail cannot give it to a command",
            )))
        }
        WorkspaceRight::Read | WorkspaceRight::List => None,
    }
}

/// Whether what the jail lacks is namespaces.
fn shortfall_of_namespaces(shortfall: Shortfall<'_>) -> bool {
    let lacks = ["without namespaces", "without a PID namespace"];
    shortfall.iter().any(|reason| lacks.iter().any(|words| reason.contains(words)))
}

fn of_address(ground: &Ground<'_>, cause: Cause, address: &str) -> Option<Cow<'static, str>> {
    if cause != Cause::Network {
        return None;
    }
    let own = is_own(address) || SOCKETS.contains(&address);
    match ground.rights.network {
        NetworkRight::Loopback if own => words(ground.shortfall, &["no-loopback"]),
        NetworkRight::Hosts(_) => words(ground.shortfall, &["no-hosts"]),
        NetworkRight::None | NetworkRight::Loopback | NetworkRight::Open => None,
    }
}
