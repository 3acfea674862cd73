//! Choosing and reading profiles: the base, then those that fit the workspace or were named, the user's before the
//! built-in of the same name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::host::{user_profiles, variable};
use super::suggest;
use crate::diagnostic::Diagnostic;
use crate::jail::Places;
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

/// Where profiles by name are read from: the user's directory, or what a session has pinned.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    users: Option<PathBuf>,
    pinned: Option<Vec<Text>>,
    taken: Vec<Text>,
}

/// A profile that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The name or path it was asked for by.
    pub(super) name: String,
    /// Its file.
    pub(super) path: PathBuf,
    /// Its text.
    pub(super) text: String,
}

impl Shelf {
    /// The user's profiles, read as they are asked for.
    pub(super) fn of_user(facts: &HostFacts) -> Self {
        Self { users: user_profiles(facts), ..Self::default() }
    }

    /// Only these, and those that come with swbox.
    pub(super) fn pinned(texts: Vec<Text>) -> Self {
        Self { pinned: Some(texts), ..Self::default() }
    }

    /// The files that were read.
    pub(super) fn into_taken(self) -> Vec<Text> {
        self.taken
    }

    /// A profile by name or file, and the file it came from.
    fn read(&mut self, name: &OsStr) -> Result<(Profile, Option<PathBuf>), Diagnostic> {
        let shown = name.to_string_lossy();
        let pinned = |texts: &Vec<Text>| texts.iter().find(|text| text.name == shown).cloned();
        let text = match &self.pinned {
            Some(texts) => pinned(texts),
            None => self.file(name)?,
        };
        if let Some(text) = text {
            let profile = Profile::from_toml(&text.text, &text.path)?;
            let path = text.path.clone();
            self.taken.push(text);
            return Ok((profile, Some(path)));
        }
        if let Some(builtin) = builtin::find(&shown) {
            return Ok((builtin.profile()?, None));
        }
        let mut known: Vec<String> = builtin::all().iter().map(|builtin| builtin.name.to_owned()).collect();
        known.extend(self.users.as_deref().map(stems).unwrap_or_default());
        Err(Diagnostic::new("profile_unknown", format!("there is no profile `{shown}`"))
            .help(suggest::among(&shown, &known)))
    }

    /// The file that a name stands for, if it stands for one.
    fn file(&self, name: &OsStr) -> Result<Option<Text>, Diagnostic> {
        let shown = name.to_string_lossy();
        let path = if shown.contains('/') || shown.ends_with(".toml") {
            PathBuf::from(name)
        } else {
            let Some(path) = self.users.as_ref().map(|users| users.join(format!("{shown}.toml"))) else {
                return Ok(None);
            };
            if path.symlink_metadata().is_err() {
                return Ok(None);
            }
            path
        };
        Ok(Some(Text { name: shown.into_owned(), text: text(&path)?, path }))
    }
}

/// Which profiles take part, by name or file: those in front, then the state's, then those that were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) front: Vec<OsString>,
    pub(super) named: Vec<OsString>,
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
    merge(&names(named, workspace, facts), of_state, &mut Shelf::of_user(facts))
}

/// Reads and merges profiles.
///
/// # Errors
/// As for [`choose`].
pub(super) fn merge(names: &Names, of_state: Option<&str>, shelf: &mut Shelf) -> Result<Chosen, Diagnostic> {
    let mut chosen = Chosen::default();
    let front = names.front.iter().map(OsString::as_os_str);
    let named = names.named.iter().map(OsString::as_os_str);
    for name in front.chain(of_state.map(OsStr::new)).chain(named) {
        add(&mut chosen, name, shelf, 0)?;
    }
    Ok(chosen)
}

/// The base and whatever is named, or what the workspace's files call for.
pub(super) fn names(named: &[OsString], workspace: &Path, facts: &HostFacts) -> Names {
    let mut names = Names { front: vec!["base".into()], named: named.to_vec() };
    if named.is_empty() {
        let anchors = Anchors { home: &facts.home, workspace, env: &facts.env };
        // What the caller's PATH finds (a version manager's node, python) is found inside as well.
        let search = variable(&facts.env, "PATH").map(std::env::split_paths).into_iter().flatten();
        let system = ["/usr", "/bin", "/sbin"].map(Path::new);
        let search: Vec<PathBuf> =
            search.filter(|directory| !system.iter().any(|place| lies_in(directory, place))).collect();
        let mut host = Places::by_listing();
        for builtin in builtin::all() {
            let file = builtin.files.iter().any(|file| host.kind(&workspace.join(file)).is_ok());
            if file
                || builtin.variables.iter().any(|name| is_on(facts, name))
                || builtin.holds(&search, &anchors)
            {
                names.front.push(builtin.name.into());
            }
        }
    }
    names
}

fn is_on(facts: &HostFacts, name: &str) -> bool {
    variable(&facts.env, name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

fn add(chosen: &mut Chosen, name: &OsStr, shelf: &mut Shelf, depth: usize) -> Result<(), Diagnostic> {
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
    let (profile, file) = shelf.read(name)?;
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
        add(chosen, OsStr::new(parent), shelf, depth + 1)?;
    }
    chosen.profile.extend(profile);
    Ok(())
}

fn text(path: &Path) -> Result<String, Diagnostic> {
    let unreadable = |why: String| Diagnostic::new("profile_unreadable", why).file(path);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unreadable(format!("cannot be opened: {error}")))?;
    file.take(LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LIMIT {
        return Err(unreadable(format!("larger than {} KiB", LIMIT / 1024)));
    }
    String::from_utf8(bytes)
        .map_err(|error| unreadable(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

/// The names of the profiles in a directory.
fn stems(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".toml").map(str::to_owned))
        .collect()
}
