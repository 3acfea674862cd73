//! Places for which no line of a profile is suggested: who writes there decides what runs next, for the user or for others,
//! and who reads there learns what is not his. By names alone, from the profiles' own lists as far as they say it.
//!
//! Danger: a suggestion is followed, and agents choose the names. What is not known to be harmless is no suggestion, and
//! nobody looks at the host.

use std::path::{Path, PathBuf};

use super::attribute::is_git;
use super::place::Places;
use crate::profile::builtin;
use crate::profile::resolve::{CONTAINERS, SYSTEM};
use crate::profile::value::{Below, Place, lies_in};

/// Trees of services, boot loaders and other people, beside those of the system.
const OTHERS: [&str; 5] = ["/home", "/mnt/c", "/mnt/wsl", "/root", "/var"];

/// Of these nothing is suggested for reading either: other people's, queues, sockets, what the kernel tells.
const UNSEEN: [&str; 8] = ["/boot", "/dev", "/home", "/proc", "/root", "/run", "/sys", "/var/spool"];

/// What a directory is called that holds HOMEs.
const HOMES: [&str; 4] = ["home", "homes", "users", "Users"];

/// Trees below HOME that shells, desktops and editors take programs and settings from. A hidden file directly in HOME
/// is one as well.
const SETTINGS: [&str; 17] = [
    ".bashrc.d",
    ".cache/swbox",
    ".config",
    ".emacs.d",
    ".gdb",
    ".githooks",
    ".ipython",
    ".jupyter",
    ".kde",
    ".local",
    ".oh-my-zsh",
    ".profile.d",
    ".tmux",
    ".vim",
    ".vscode",
    ".vscode-server",
    ".zsh",
];

/// Variables with paths in them that programs, libraries or settings are taken from.
const VARIABLES: [&str; 14] = [
    "BASH_ENV",
    "ENV",
    "GIT_TEMPLATE_DIR",
    "LD_LIBRARY_PATH",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PYTHONPATH",
    "RUBYLIB",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "ZDOTDIR",
];

/// Whether one of two places lies in the other.
fn meet(place: &Path, tree: &Path) -> bool {
    lies_in(place, tree) || lies_in(tree, place)
}

impl Places<'_> {
    /// Whether `place` is the system's or holds a part of it, as the profile and what refuses workspaces say.
    pub(super) fn is_system(&self, place: &Path) -> bool {
        let listed = SYSTEM.iter().map(PathBuf::from);
        let shown = self.profile.binds.system.iter().filter_map(|system| system.resolve(&self.anchors));
        listed.chain(shown).any(|tree| self.touches(place, &tree))
    }

    /// Whether who may write to `place` decides what runs later, or changes what is not this project's.
    pub(super) fn is_reserved(&self, place: &Path) -> bool {
        if self.is_unseen(place) || self.is_system(place) {
            return true;
        }
        let others = OTHERS.iter().map(PathBuf::from);
        let settings = SETTINGS.iter().map(|name| self.anchors.home.join(name));
        let variables = VARIABLES.iter().filter_map(|name| self.anchors.variable(name));
        let variables = variables.flat_map(std::env::split_paths).filter(|path| path.parent().is_some());
        let mut trees = others.chain(settings).chain(variables);
        if trees.any(|tree| self.touches(place, &tree)) || self.is_read(place) {
            return true;
        }
        let protected =
            |above: &Path| self.profile.workspace.protected.iter().any(|Below(name)| above.ends_with(name));
        is_git(place) || place.ancestors().any(protected)
    }

    /// Whether `place` is not even suggested for reading: around HOME or the workspace, of other users, a secret, swbox's
    /// own.
    pub(super) fn is_unseen(&self, place: &Path) -> bool {
        let home = self.anchors.home;
        let around = lies_in(home, place) || lies_in(self.anchors.workspace, place);
        let beside = home
            .parent()
            .filter(|above| above.file_name().is_some_and(|name| HOMES.iter().any(|homes| name == *homes)));
        let others = UNSEEN.iter().map(Path::new).chain(beside);
        let is_whole = CONTAINERS.iter().any(|container| lies_in(Path::new(container), place));
        if around || is_whole || others.into_iter().any(|tree| self.is_within(place, tree)) {
            return true;
        }
        let own = self.facts.own.iter().chain([&self.facts.cache]);
        let mut own = own.filter(|own| !own.as_os_str().is_empty());
        own.any(|own| meet(place, own)) || self.is_secret(place)
    }

    /// Whether `place` lies in a place of secrets, granted or not, or holds one.
    fn is_secret(&self, place: &Path) -> bool {
        let credentials = self.profile.credentials.values().flat_map(|credential| &credential.files);
        let mut secrets = self.profile.secrets.paths.iter().chain(credentials);
        secrets.any(|secret| self.meets(place, secret))
    }

    /// Whether commands read or run what lies in `place`, by this profile or by one that other projects have.
    fn is_read(&self, place: &Path) -> bool {
        let shown = |profile: &crate::profile::Profile| {
            let binds = &profile.binds;
            binds.toolchains.iter().chain(&binds.data).any(|tree| self.meets(place, tree))
        };
        shown(self.profile) || builtin::profiles().iter().any(shown)
    }

    /// Whether `place` and a place of a profile lie in each other; a pattern stands for its directory.
    fn meets(&self, place: &Path, of: &Place) -> bool {
        let Some(tree) = of.resolve(&self.anchors) else { return false };
        let tree = if of.is_pattern() { tree.parent().unwrap_or(&tree) } else { &tree };
        self.touches(place, tree)
    }

    /// Whether `place` lies in `tree` or holds it.
    fn touches(&self, place: &Path, tree: &Path) -> bool {
        self.is_within(place, tree) || lies_in(tree, place)
    }

    /// Whether `place` lies in `tree`; what is the user's own counts for itself where HOME lies in the tree.
    fn is_within(&self, place: &Path, tree: &Path) -> bool {
        let home = self.anchors.home;
        lies_in(place, tree) && !(lies_in(home, tree) && lies_in(place, home))
    }
}
