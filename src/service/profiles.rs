//! Choosing and reading profiles: the base, then those that fit the workspace or were named, the user's before the
//! built-in of the same name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::host::{user_profiles, variable};
use super::suggest;
use crate::diagnostic::Diagnostic;
use crate::profile::value::{Anchors, lies_in};
use crate::profile::{HostFacts, Profile, builtin};

/// Largest profile file.
const LIMIT: u64 = 256 * 1024;

/// How deep profiles may extend each other.
const DEPTH: usize = 8;

/// Profiles merged, with the names of those that took part.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    pub(super) profile: Profile,
    pub(super) names: Vec<String>,
}

impl Chosen {
    /// With the workspace's own profile after all others.
    ///
    /// # Errors
    /// A profile that it extends and that cannot be read.
    pub(super) fn and(mut self, own: Option<(PathBuf, Profile)>) -> Result<Self, Diagnostic> {
        let Some((path, profile)) = own else { return Ok(self) };
        for parent in &profile.extends {
            // Only what comes with swbox: an accepted text must not change its meaning by another file.
            let builtin = builtin::find(parent).ok_or_else(|| {
                Diagnostic::new(
                    "profile_unknown",
                    format!("a workspace's profile extends built-in ones only, not `{parent}`"),
                )
                .file(&path)
            })?;
            if !self.names.contains(parent) {
                self.names.push(parent.clone());
                self.profile.extend(builtin.profile()?);
            }
        }
        self.names.push(path.to_string_lossy().into_owned());
        self.profile.extend(profile);
        Ok(self)
    }
}

/// Reads the base and whatever is named, or what the workspace's files call for.
///
/// # Errors
/// `profile_unknown`, `profile_unreadable`, `profile_syntax`, `profile_loop`.
pub(super) fn choose(
    named: &[OsString],
    of_state: Option<&str>,
    workspace: &Path,
    facts: &HostFacts,
) -> Result<Chosen, Diagnostic> {
    let mut chosen = Chosen::default();
    let users = user_profiles(facts);
    let mut add = |name: &OsStr| add(&mut chosen, name, users.as_deref(), 0);
    add(OsStr::new("base"))?;
    if named.is_empty() {
        let anchors = Anchors { home: &facts.home, workspace, env: &facts.env };
        // What the caller's PATH finds (a version manager's node, python) is found inside as well.
        let search = variable(&facts.env, "PATH").map(std::env::split_paths).into_iter().flatten();
        let system = ["/usr", "/bin", "/sbin"].map(Path::new);
        let search: Vec<PathBuf> =
            search.filter(|directory| !system.iter().any(|place| lies_in(directory, place))).collect();
        for builtin in builtin::all() {
            let file = builtin.files.iter().any(|file| workspace.join(file).symlink_metadata().is_ok());
            if file
                || builtin.variables.iter().any(|name| is_on(facts, name))
                || builtin.holds(&search, &anchors)
            {
                add(OsStr::new(builtin.name))?;
            }
        }
    }
    for name in of_state.map(OsStr::new).into_iter().chain(named.iter().map(OsString::as_os_str)) {
        add(name)?;
    }
    Ok(chosen)
}

fn is_on(facts: &HostFacts, name: &str) -> bool {
    variable(&facts.env, name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

fn add(chosen: &mut Chosen, name: &OsStr, users: Option<&Path>, depth: usize) -> Result<(), Diagnostic> {
    let shown = name.to_string_lossy().into_owned();
    if chosen.names.contains(&shown) {
        return Ok(());
    }
    if depth > DEPTH {
        return Err(Diagnostic::new(
            "profile_loop",
            format!("profiles extend each other more than {DEPTH} deep at {shown}"),
        ));
    }
    let (profile, file) = read(name, users)?;
    chosen.names.push(shown.clone());
    for parent in &profile.extends {
        // A user's profile that shadows a built-in may extend it by its own name.
        if file.is_some()
            && *parent == shown
            && let Some(builtin) = builtin::find(parent)
        {
            chosen.profile.extend(builtin.profile()?);
            continue;
        }
        add(chosen, OsStr::new(parent), users, depth + 1)?;
    }
    chosen.profile.extend(profile);
    Ok(())
}

/// A profile by name or file, and the file it came from.
fn read(name: &OsStr, users: Option<&Path>) -> Result<(Profile, Option<PathBuf>), Diagnostic> {
    let text = name.to_string_lossy();
    if text.contains('/') || text.ends_with(".toml") {
        let path = PathBuf::from(name);
        return Ok((from_file(&path)?, Some(path)));
    }
    if let Some(path) = users.map(|users| users.join(format!("{text}.toml")))
        && path.symlink_metadata().is_ok()
    {
        return Ok((from_file(&path)?, Some(path)));
    }
    if let Some(builtin) = builtin::find(&text) {
        return Ok((builtin.profile()?, None));
    }
    let mut known: Vec<String> = builtin::all().iter().map(|builtin| builtin.name.to_owned()).collect();
    known.extend(users.map(stems).unwrap_or_default());
    Err(Diagnostic::new("profile_unknown", format!("there is no profile `{text}`"))
        .help(suggest::among(&text, &known)))
}

fn from_file(path: &Path) -> Result<Profile, Diagnostic> {
    let unreadable = |why: String| Diagnostic::new("profile_unreadable", why).file(path);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unreadable(format!("cannot be opened: {error}")))?;
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LIMIT {
        return Err(unreadable(format!("larger than {} KiB", LIMIT / 1024)));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| unreadable(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
    Profile::from_toml(&text, path)
}

/// The names of the profiles in a directory.
fn stems(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect()
}
