//! Facts about the host that the pure part needs: HOME, environment, secrets that exist, swbox's own directories.
//!
//! Danger: every call here is on the way of every command; there is no walk of a tree.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{gituser, plain};
use crate::diagnostic::Diagnostic;
use crate::jail::Places;
use crate::profile::alias::{self, Aliases};
use crate::profile::resolve::secret_places;
use crate::profile::value::Anchors;
use crate::profile::{HostFacts, Profile, builtin};

/// How much of a file is kept before a text that a profile appends.
const APPEND_LIMIT: u64 = 64 * 1024;

/// What every command needs to know before a workspace or a profile is chosen.
///
/// # Errors
/// `no_home` where neither HOME nor the account names a home directory, or HOME is closed to this user.
pub(super) fn facts() -> Result<HostFacts, Diagnostic> {
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let named = variable(&env, "HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = named.or_else(home_of_account).ok_or_else(|| {
        let home =
            if variable(&env, "HOME").is_some() { "HOME is no absolute path" } else { "HOME is not set" };
        Diagnostic::new("no_home", format!("{home}, and this account has no home directory"))
            .help("set HOME to an absolute path; it need not exist")
    })?;
    let (called, home) = (alias::plain(&home), fs::canonicalize(&home).unwrap_or_else(|_| plain(&home)));
    let named = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"].iter().all(|name| variable(&env, name).is_some());
    if !named && is_barred(&home.join(".config")) {
        return Err(Diagnostic::new(
            "no_home",
            format!("HOME is {}, another user's directory that this one may not enter", home.display()),
        )
        .help("set HOME to a directory of this user's; it need not exist"));
    }
    let mut aliases = Aliases::default();
    if let Some(called) = called {
        aliases.add(&called, &home);
        call(&mut env, &aliases);
    }
    let place = |name: &str, below: &str| {
        let set = variable(&env, name).map(Path::new).filter(|path| path.is_absolute());
        set.map_or_else(|| home.join(below), plain)
    };
    let kept = |name: &str, below: &str| {
        let wanted = place(name, below).join("swbox");
        if !rustix::process::geteuid().is_root() {
            return wanted;
        }
        let own = || home_of_account().map(|home| home.join(below).join("swbox"));
        roots_own(wanted, &own, &|path| fs::metadata(path).ok().map(|meta| (meta.uid(), meta.mode())))
    };
    // By their real names: a link may lead into a workspace.
    let own = vec![
        resolved(place("XDG_CONFIG_HOME", ".config").join("swbox")),
        resolved(kept("XDG_STATE_HOME", ".local/state")),
        resolved(kept("XDG_CACHE_HOME", ".cache")),
    ];
    Ok(HostFacts {
        stdin_is_terminal: std::io::stdin().is_terminal(),
        gitconfig: Vec::new(),
        gitincluded: Vec::new(),
        secrets: Vec::new(),
        appended: Vec::new(),
        cache: own[2].clone(),
        cache_is_private: false,
        repositories: None,
        own,
        env,
        home,
        aliases,
    })
}

/// Variables by real names where they have others, so that places and PATH are compared with what is held. The shell's own
/// directory stays what it calls it.
pub(super) fn call(env: &mut [(OsString, OsString)], aliases: &Aliases) {
    if aliases.all().is_empty() {
        return;
    }
    for (_, value) in env.iter_mut().filter(|(name, _)| name != "PWD") {
        if let Some(real) = aliases.value(value) {
            *value = real;
        }
    }
}

/// Whether a directory of another user's is in the way, as root's HOME is for a user that was changed to without a HOME of
/// its own (`setpriv`, `docker run --user`). Rules may lie in it, so it is not passed over.
fn is_barred(path: &Path) -> bool {
    matches!(rustix::fs::stat(path), Err(Errno::ACCESS))
        && path
            .ancestors()
            .find_map(|above| fs::metadata(above).ok())
            .is_some_and(|meta| meta.uid() != rustix::process::geteuid().as_raw())
}

/// Where root keeps what it writes: not in a place of another user's (`sudo` with that one's HOME), whom files of root's would
/// lock out of it. `owner` gives owner and mode of what is there.
fn roots_own(
    wanted: PathBuf,
    own: &dyn Fn() -> Option<PathBuf>,
    owner: &dyn Fn(&Path) -> Option<(u32, u32)>,
) -> PathBuf {
    // Who is not of this user namespace has this number: nothing is known of whose it is.
    const NOBODY: u32 = 65_534;
    let is_others = |path: &Path| match path.ancestors().find_map(owner) {
        // Anybody makes a directory of his own in one like /tmp.
        Some((uid, mode)) => !matches!(uid, 0 | NOBODY) && mode & 0o1002 != 0o1002,
        None => false,
    };
    if is_others(&wanted) {
        return own().filter(|own| !is_others(own)).unwrap_or(wanted);
    }
    wanted
}

/// The path without links, as far as something is there.
fn resolved(path: PathBuf) -> PathBuf {
    for there in path.ancestors() {
        match rustix::fs::openat2(
            CWD,
            there,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        ) {
            // What is missing below it is no link.
            Ok(_) => return path,
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => break,
        }
    }
    led(&path)
}

/// Where the links of a path lead, also through directories that this process has no way into: a command may open the way.
fn led(path: &Path) -> PathBuf {
    /// As many as the kernel follows.
    const LINKS: usize = 40;
    let parts = |path: &Path| {
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect::<Vec<OsString>>()
    };
    let (mut pending, mut real, mut links) = (parts(path), PathBuf::from("/"), 0);
    while let Some(part) = pending.pop() {
        match Path::new(&part).components().next() {
            Some(Component::RootDir) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(real.pop()),
            Some(Component::Normal(_)) => {
                let next = real.join(&part);
                match fs::read_link(&next) {
                    Ok(text) if links < LINKS => {
                        links += 1;
                        pending.extend(parts(&text));
                    }
                    Ok(_) | Err(_) => real = next,
                }
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    real
}

/// Without doubled slashes and dots: paths are compared by their bytes.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Where profiles of the user are.
pub(super) fn user_profiles(facts: &HostFacts) -> Option<PathBuf> {
    facts.own.first().map(|config| config.join("profiles"))
}

/// Adds what depends on the workspace and the profile.
pub(super) fn complete(facts: &mut HostFacts, profile: &Profile, workspace: &Path) {
    if let Some(base) = facts.own.get(2) {
        facts.cache = base.join(cache_name(workspace));
    }
    facts.repositories = facts.own.get(1).map(|state| state.join("repositories").join(cache_name(workspace)));
    let anchors = Anchors { home: &facts.home, workspace, env: &facts.env };
    let places = secret_places(profile, &anchors);
    let mut found = Vec::new();
    let mut host = Places::by_name();
    // The first process looks for these, and follows their links in what is seen inside.
    let everywhere = builtin::find("base").map(|base| base.hidden).unwrap_or_default();
    for place in places {
        let bytes = place.as_os_str().as_bytes();
        if bytes.contains(&b'*') {
            for place in matching(&place) {
                found.extend(fs::canonicalize(&place).ok().filter(|real| *real != place));
                found.push(place);
            }
        } else if bytes.starts_with(b"/etc/") && everywhere.iter().any(|hidden| hidden.as_bytes() == bytes) {
            found.push(place);
        } else {
            let kind = host.kind(&place);
            // A place that this process has no way to is there: a command can open the way.
            if matches!(kind, Err(Errno::NOENT | Errno::NOTDIR)) {
                continue;
            }
            // What is behind a link may be seen by its own name: in the workspace, where HOME leads into it.
            if kind != Ok(FileType::Directory) && kind != Ok(FileType::RegularFile)
                || host.is_behind_links(&place)
            {
                let real = resolved(place.clone());
                found.extend(Some(real).filter(|real| *real != place));
            }
            found.push(place);
        }
    }
    facts.secrets = found;
    let config = facts.own.first().and_then(|own| own.parent()).unwrap_or(&facts.home);
    (facts.gitconfig, facts.gitincluded) = gituser::configuration(&facts.home, config, workspace);
    facts.appended = profile
        .append
        .iter()
        .filter_map(|append| {
            let path = append.path.resolve(&anchors)?;
            let mut bytes = Vec::new();
            let file = plain::open(&path).ok()??;
            file.take(APPEND_LIMIT).read_to_end(&mut bytes).ok()?;
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(append.text.as_bytes());
            bytes.push(b'\n');
            Some((path, bytes))
        })
        .collect();
}

/// Where builds go in the command's own `/tmp`.
const PRIVATE_CACHE: &str = "/tmp/.swbox-cache";

/// Makes the workspace's cache: for its owner alone, with a note for which workspace it is. Where it cannot be made (a HOME
/// that is not there or is not to be written, as accounts of services and containers have it) the command has one of its
/// own, which goes with it: never a place in the workspace, from where somebody outside would run what was built. Says so.
pub(super) fn make_cache(facts: &mut HostFacts, workspace: &Path) -> Option<String> {
    let wanted = facts.own.get(2).map(|base| base.join(cache_name(workspace)))?;
    let error = cache_of(&wanted, workspace).err()?;
    facts.cache = PRIVATE_CACHE.into();
    facts.cache_is_private = true;
    Some(format!(
        "no-cache: {} cannot be made ({error}): what this command builds is not there for the next one; set XDG_CACHE_HOME \
         to a directory that can be written",
        wanted.display()
    ))
}

fn cache_of(cache: &Path, workspace: &Path) -> std::io::Result<()> {
    if fs::symlink_metadata(cache)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw())
    {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(cache)?;
    let mut note = workspace.as_os_str().as_bytes().to_vec();
    note.push(b'\n');
    fs::write(cache.join("workspace"), note)
}

/// A name for the cache of a workspace: its last name for people, a hash of its path for uniqueness.
fn cache_name(workspace: &Path) -> String {
    // FNV-1a, 128 bits: stable over versions and platforms. The path is chosen by the user, not by an agent.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in workspace.as_os_str().as_bytes() {
        hash ^= u128::from(*byte);
        hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let readable: String = workspace
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(
            |letter| if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') { letter } else { '_' },
        )
        .take(32)
        .collect();
    format!("{readable}-{hash:032x}")
}

/// The value of a variable.
pub(super) fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

/// The home directory that `/etc/passwd` gives this account (a static binary has no other sources).
fn home_of_account() -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let accounts = fs::read("/etc/passwd").ok()?;
    let home = accounts.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        (fields.nth(2)? == uid.as_bytes()).then(|| fields.nth(2)).flatten()
    })?;
    let home = PathBuf::from(OsString::from_vec(home.to_vec()));
    home.is_absolute().then_some(home)
}

/// The entries that a pattern in the last name matches.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (pattern.parent(), pattern.file_name()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| name_matches(name.as_bytes(), entry.file_name().as_bytes()))
        .map(|entry| entry.path())
        .collect()
}

/// Whether `*` in `pattern` can be filled so that it becomes `name`.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| name_matches(rest, &name[skip..])),
        Some((first, rest)) => {
            name.split_first().is_some_and(|(head, tail)| head == first && name_matches(rest, tail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("ssh_host_*_key", "ssh_host_rsa_key", true),
            ("ssh_host_*_key", "ssh_host_rsa_key.pub", false),
            ("*", "x", true),
            ("a*b*", "ab", true),
            ("a", "b", false),
        ] {
            assert_eq!(name_matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn root_writes_nothing_into_another_users_home() {
        let owner = |path: &Path| match path.to_str()? {
            "/" | "/root" | "/var" | "/root/s" => Some((0, 0o755)),
            "/tmp" => Some((1000, 0o1777)),
            "/home/u" | "/root/u" => Some((1000, 0o755)),
            "/unmapped" => Some((65_534, 0o755)),
            _ => None,
        };
        let kept = |wanted: &str, own: Option<&str>| {
            let own = || own.map(PathBuf::from);
            roots_own(wanted.into(), &own, &owner).to_string_lossy().into_owned()
        };
        for wanted in ["/root/.local/state/swbox", "/tmp/x/swbox", "/var/lib/x", "/unmapped/x", "/new"] {
            assert_eq!(kept(wanted, Some("/root/s")), wanted);
        }
        assert_eq!(kept("/home/u/.local/state/swbox", Some("/root/s")), "/root/s");
        assert_eq!(kept("/home/u", Some("/root/s")), "/root/s");
        // There is no better place.
        assert_eq!(kept("/home/u/x", None), "/home/u/x");
        assert_eq!(kept("/home/u/x", Some("/root/u/x")), "/home/u/x");
    }

    #[test]
    fn cache_names_are_stable_distinct_and_plain() {
        let name = cache_name(Path::new("/work/a b"));
        assert_eq!(name, cache_name(Path::new("/work/a b")));
        assert!(name.starts_with("a_b-") && name.len() == 36, "{name}");
        assert_ne!(name, cache_name(Path::new("/work/a_b")));
        assert_ne!(cache_name(Path::new("/x/p")), cache_name(Path::new("/y/p")));
    }
}
