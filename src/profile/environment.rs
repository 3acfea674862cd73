//! The command's whole environment: an allow-list of the caller's, what the profile and the state set, and a PATH
//! of directories that the command cannot write.
//!
//! Danger: one variable too many (`LD_PRELOAD`, `BASH_ENV`, `GIT_SSH_COMMAND`, a token) is code or a secret inside.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::model::Profile;
use super::resolve::{HostFacts, Task};
use super::value::{Anchors, VariablePattern, lies_in};
use crate::policy::{NetworkRight, Rights, WorkspaceRight};

/// Names the index that git commands look at.
const INDEX: &str = "GIT_INDEX_FILE";

/// The environment of a command.
pub(super) fn environment(
    profile: &Profile,
    facts: &HostFacts,
    task: &Task<'_>,
    anchors: &Anchors<'_>,
    executable: &[PathBuf],
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    let rules = &profile.environment;
    let granted: Vec<&str> = profile
        .credentials
        .values()
        .filter(|credential| credential.grant)
        .flat_map(|credential| credential.variables.iter().map(|name| name.0.as_str()))
        .collect();
    for (name, value) in &facts.env {
        let names = |pattern: &VariablePattern| {
            pattern.matches(name) && !(pattern.is_open() && is_called_a_secret(name))
        };
        if granted.iter().any(|granted| name == granted) {
            env.insert(name.clone(), value.clone());
        } else if rules.keep.iter().any(names) && !rules.drop.iter().any(|pattern| pattern.matches(name)) {
            let addresses = ADDRESSES.iter().any(|address| name == address);
            env.insert(name.clone(), if addresses { without_users(value) } else { value.clone() });
        }
    }
    // Which index a hook of git is to look at (`git commit -a` has one of its own). Where git may write it would be a name
    // for git to write to.
    if !task.rights.git_write {
        let dropped = rules.drop.iter().any(|pattern| pattern.matches(OsStr::new(INDEX)));
        let index = anchors.variable(INDEX).filter(|_| !dropped);
        env.extend(index.map(|index| (INDEX.into(), index.to_owned())));
    }
    for (name, value) in &rules.set {
        env.insert(name.0.clone().into(), expand(value, facts));
    }
    if !facts.stdin_is_terminal {
        for (name, value) in &rules.unattended {
            env.insert(name.0.clone().into(), expand(value, facts));
        }
    }
    if matches!(task.rights.network, NetworkRight::None | NetworkRight::Loopback) {
        for (name, value) in &rules.offline {
            env.insert(name.0.clone().into(), expand(value, facts));
        }
    }
    if task.executes {
        for (name, directory) in &profile.caches {
            env.insert(name.0.clone().into(), facts.cache.join(&directory.0).into_os_string());
        }
    }
    // The session's own directory, private and empty inside; elsewhere than in its usual place it would hide something.
    let runtime = anchors.variable("XDG_RUNTIME_DIR").filter(|path| Path::new(path).starts_with("/run/user"));
    env.extend(runtime.map(|path| ("XDG_RUNTIME_DIR".into(), path.to_owned())));
    env.insert("HOME".into(), facts.home.clone().into_os_string());
    env.insert("PWD".into(), task.pwd.as_os_str().to_owned());
    env.insert("SHELL".into(), "/bin/bash".into());
    env.insert("PATH".into(), search_path(profile, task, anchors, executable));
    for (name, value) in task.env_overrides {
        env.insert(name.into(), value.into());
    }
    env.retain(|name, _| !task.blocked_env.iter().any(|blocked| names(blocked, name)));
    env
}

/// Variables of built-in profiles that hold addresses, in which people write their passwords.
const ADDRESSES: [&str; 2] = ["GOPROXY", "PIP_FIND_LINKS"];

/// Last parts of names whose value is a secret.
const SECRETS: [&str; 9] =
    ["AUTH", "CREDENTIAL", "CREDENTIALS", "KEY", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

fn is_called_a_secret(name: &OsStr) -> bool {
    let last = name.as_bytes().rsplit(|byte| *byte == b'_').next().unwrap_or_default();
    SECRETS.iter().any(|secret| {
        last.len() >= secret.len()
            && last.split_at(last.len() - secret.len()).1.eq_ignore_ascii_case(secret.as_bytes())
    })
}

/// Addresses without who is to be logged in there: `https://user:password@host/` is `https://host/`.
fn without_users(value: &OsStr) -> OsString {
    let (mut rest, mut plain) = (value.as_bytes(), Vec::new());
    while let Some(at) = rest.windows(3).position(|bytes| bytes == b"://") {
        let (before, after) = rest.split_at(at + 3);
        plain.extend_from_slice(before);
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b',' | b'|' | b' ' | b'\t' | b'\n');
        let host = after.iter().position(ends).unwrap_or(after.len());
        let (host, _) = after.split_at(host);
        rest = match host.iter().rposition(|byte| *byte == b'@') {
            Some(user) => after.split_at(user + 1).1,
            None => after,
        };
    }
    plain.extend_from_slice(rest);
    OsString::from_vec(plain)
}

/// A state's `blocked_env` entry: a name, or a beginning with `*`.
fn names(blocked: &str, name: &OsStr) -> bool {
    match blocked.strip_suffix('*') {
        Some(start) => name.as_bytes().starts_with(start.as_bytes()),
        None => name == blocked,
    }
}

fn expand(value: &str, facts: &HostFacts) -> OsString {
    match value.strip_prefix("~/") {
        Some(rest) => facts.home.join(rest).into_os_string(),
        None => value.into(),
    }
}

/// The caller's directories that lie in a visible place where programs may run, then the system's.
fn search_path(
    profile: &Profile,
    task: &Task<'_>,
    anchors: &Anchors<'_>,
    executable: &[PathBuf],
) -> OsString {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        // A colon cannot be written in PATH.
        if !path.as_os_str().as_bytes().contains(&b':') && !found.contains(&path) {
            found.push(path);
        }
    };
    let from_workspace = task.executes && may_search_workspace(task.rights);
    let callers = anchors.variable("PATH").unwrap_or_default();
    for entry in callers.as_bytes().split(|byte| *byte == b':') {
        let entry = Path::new(OsStr::from_bytes(entry));
        if !entry.is_absolute() || entry.components().any(|part| part == std::path::Component::ParentDir) {
            continue;
        }
        let in_toolchain = executable.iter().any(|place| lies_in(entry, place));
        let below = entry.strip_prefix(task.workspace).ok();
        let in_workspace = below.is_some_and(|below| {
            from_workspace && profile.path.workspace.iter().any(|allowed| below == allowed.0)
        });
        if in_workspace || (below.is_none() && in_toolchain) {
            add(entry.to_owned());
        }
    }
    for place in &profile.path.system {
        if let Some(path) = place.resolve(anchors) {
            add(path);
        }
    }
    let parts: Vec<Vec<u8>> = found.into_iter().map(|path| path.into_os_string().into_vec()).collect();
    OsString::from_vec(parts.join(&b':'))
}

/// Git commands never find a program where an earlier command could have put one.
fn may_search_workspace(rights: &Rights) -> bool {
    !rights.git_write && rights.workspace >= WorkspaceRight::ThrowAway
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::builtin;

    #[test]
    fn what_is_called_a_secret_is_known() {
        for name in ["MISE_SOPS_AGE_KEY", "X_TOKEN", "x_password", "NEXTEST_APIKEY", "A_CREDENTIALS"] {
            assert!(is_called_a_secret(OsStr::new(name)), "{name}");
        }
        for name in ["MISE_KEYRING", "CARGO_TERM_COLOR", "TOKEN_X", "NEXTEST_RETRIES", "LC_ALL"] {
            assert!(!is_called_a_secret(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn users_are_taken_out_of_addresses() {
        for (value, plain) in [
            ("https://u:p@x.example/a,direct", "https://x.example/a,direct"),
            ("https://a@b@x/ http://y:1/z@w", "https://x/ http://y:1/z@w"),
            ("off", "off"),
            ("https://x|https://t@y", "https://x|https://y"),
        ] {
            assert_eq!(without_users(OsStr::new(value)), OsStr::new(plain));
        }
    }

    /// Who adds a variable of this kind to a built-in profile has to say here that it may hold a password.
    #[test]
    fn addresses_of_the_built_in_profiles_are_known() {
        for profile in builtin::profiles() {
            for name in [
                "GOPROXY",
                "PIP_FIND_LINKS",
                "PIP_INDEX_URL",
                "PIP_EXTRA_INDEX_URL",
                "HTTP_PROXY",
                "HTTPS_PROXY",
                "UV_INDEX_URL",
                "npm_config_registry",
                "NPM_CONFIG_REGISTRY",
                "GOSUMDB_URL",
                "DATABASE_URL",
            ] {
                let kept = profile.environment.keep.iter().any(|pattern| pattern.matches(OsStr::new(name)));
                assert!(!kept || ADDRESSES.contains(&name), "{name}");
            }
        }
    }
}
