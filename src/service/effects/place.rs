//! What opens a place outside the workspace, and which places no state opens: for refusals of the jail, and before the
//! run for the way forward of a refused line, which must not lead to where the jail refuses the same. By names alone.
//!
//! Danger: a suggestion is followed. Nothing is suggested for a tree that decides what runs next.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::attribute::{Grant, is_git, nothing, profile};
use crate::classify::OpClass;
use crate::policy::{Decision, Reason};
use crate::profile::alias::plain;
use crate::profile::value::{Anchors, Place, lies_in};
use crate::profile::{HostFacts, Profile};
use crate::workflow::Machine;

/// Directories that are the command's own, whatever the state; HOME and what these variables name are as well.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const PRIVATE_BY: [&str; 2] = ["TMPDIR", "XDG_RUNTIME_DIR"];

/// How directories of these are called in which daemons and terminals of the host have their sockets: who reaches one of
/// those runs what he likes, outside.
const SOCKETS: [&str; 11] = [
    ".ICE-unix",
    ".X11-unix",
    "dbus-",
    "gpg-",
    "pulse-",
    "screen",
    "snap-private-tmp",
    "ssh-",
    "systemd-private-",
    "tmux-",
    "vscode-",
];

/// Whether a place of the host's `/tmp` is one of sockets.
fn is_of_sockets(place: &Path) -> bool {
    PRIVATE.iter().filter_map(|private| place.strip_prefix(private).ok()).any(|below| {
        let first = below.components().next().map(|first| first.as_os_str().as_bytes().to_vec());
        first.is_some_and(|first| SOCKETS.iter().any(|start| first.starts_with(start.as_bytes())))
    })
}

/// A place that a refused line would change, and that no state opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The place, as the reason names it.
    pub subject: String,
    /// What would open it.
    pub grant: Grant,
}

/// Where places lie.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct Places<'a> {
    pub(in crate::service) profile: &'a Profile,
    pub(in crate::service) anchors: Anchors<'a>,
    pub(in crate::service) facts: &'a HostFacts,
}

impl Places<'_> {
    /// Whether a path lies in a tree of tools: who may write there decides what runs next.
    pub(super) fn is_tool(&self, path: &Path) -> bool {
        let trees = self.profile.binds.toolchains.iter();
        trees.filter_map(|place| place.resolve(&self.anchors)).any(|tree| lies_in(path, &tree))
    }

    /// What lets a command change `path`, outside the workspace: `itself`, or a name in its directory.
    pub(super) fn opened_for_change(&self, path: &Path, itself: bool) -> Grant {
        let path = &*self.facts.aliases.real(path);
        let place = if itself { path } else { path.parent().unwrap_or(path) };
        if self.is_tool(path) {
            return nothing("toolchains and their caches are changed by no command");
        }
        if path.parent().is_none()
            || self.is_system(path)
            || place.parent().is_some() && self.is_system(place)
        {
            return nothing("directories of the system are changed by no command");
        }
        if is_of_sockets(place) {
            return nothing("sockets of the host are within reach of no command");
        }
        let hidden = |name: &OsStr| name.as_bytes().starts_with(b".");
        let is_setting = path.parent() == Some(self.anchors.home) && path.file_name().is_some_and(hidden);
        if itself && is_setting
            || self.is_reserved(path)
            || place != self.anchors.home && self.is_reserved(place)
        {
            return nothing("what is others', or runs later, is changed by a person, outside");
        }
        self.line("writable", place)
    }

    /// The line of a list of `[binds]` that opens `place`.
    pub(super) fn line(&self, list: &str, place: &Path) -> Grant {
        let place = &*self.facts.aliases.real(place);
        if place.parent().is_none() || self.is_unseen(place) {
            return nothing("it lies in a directory that no profile may open");
        }
        let shown = match place.strip_prefix(self.anchors.home) {
            Ok(below) => Path::new("~").join(below),
            Err(_) => place.to_owned(),
        };
        // What a profile cannot say is not suggested either: a pattern, `..`, what is no text.
        let said =
            shown.to_str().filter(|text| !text.contains(|odd: char| odd.is_control() || odd == '\u{fffd}'));
        match said.filter(|text| Place::parse(text).is_ok_and(|place| !place.is_pattern())) {
            Some(text) => profile("binds", format!("{list} = [{text:?}]")),
            None => nothing("no profile can name it"),
        }
    }

    /// The places that the refused operations would change and that no state of the machine opens.
    pub(in crate::service) fn closed(&self, machine: &Machine, reasons: &[Reason]) -> Vec<Closed> {
        let mut closed: Vec<Closed> = Vec::new();
        for reason in reasons {
            let changes =
                matches!(reason.class, Some(OpClass::FileWrite | OpClass::FileModify | OpClass::Destructive));
            let Some(subject) = reason.subject.as_ref().filter(|_| changes) else { continue };
            if reason.decision != Decision::Forbidden || closed.iter().any(|known| known.subject == *subject)
            {
                continue;
            }
            let path = match subject.strip_prefix("~/") {
                Some(below) => self.anchors.home.join(below),
                None => PathBuf::from(subject),
            };
            // With `..` a name leads elsewhere than it says, where a link lies on the way.
            let Some(path) = plain(&path) else { continue };
            if let Some(grant) = self.shuts(machine, &path) {
                closed.push(Closed { subject: subject.clone(), grant });
            }
        }
        closed
    }

    /// What would open `path` to a change, where no state does.
    fn shuts(&self, machine: &Machine, path: &Path) -> Option<Grant> {
        // By another name it may be the workspace's. Names that nobody called it by are not looked up: agents choose them.
        let path = &*self.facts.aliases.real(path);
        if lies_in(path, self.anchors.workspace) {
            return is_git(path).then(|| nothing("git directories are changed by git's own commands alone"));
        }
        let private = PRIVATE.into_iter().map(Path::new);
        let by_name = PRIVATE_BY.into_iter().filter_map(|name| self.anchors.variable(name)).map(Path::new);
        let mut private = private.chain(by_name).chain([self.anchors.home]);
        if private.any(|place| lies_in(path, place)) && !self.is_tool(path) || self.is_opened(machine, path) {
            return None;
        }
        Some(self.opened_for_change(path, false))
    }

    /// Whether the profile or a state opens `path` for writing.
    fn is_opened(&self, machine: &Machine, path: &Path) -> bool {
        let of_states = machine.states.values().flat_map(|state| &state.jail.writable);
        // One that cannot be read is told when a command of that state is planned.
        let of_states = of_states.filter_map(|text| Place::parse(text).ok());
        let of_profile = self.profile.binds.writable.iter().cloned();
        of_profile
            .chain(of_states)
            .filter_map(|place| place.resolve(&self.anchors))
            .any(|place| lies_in(path, &place))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::profile::builtin;

    /// What would open a path to a change, with the built-in profile `base`.
    fn opened(home: &str, path: &str, itself: bool) -> Option<String> {
        let profile = builtin::find("base").unwrap().profile().unwrap();
        let env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), "/srv/tools/bin:/usr/bin:rel".into()),
            ("XDG_CONFIG_HOME".into(), "/data/settings".into()),
        ];
        let mut facts = HostFacts { own: vec!["/data/state/swbox".into()], ..HostFacts::default() };
        facts.aliases.add(Path::new("/data/called"), Path::new("/srv/w"));
        facts.aliases.add(Path::new("/data/me"), Path::new(home));
        let anchors = Anchors { home: Path::new(home), workspace: Path::new("/srv/w/p"), env: &env };
        let places = Places { profile: &profile, anchors, facts: &facts };
        match places.opened_for_change(Path::new(path), itself) {
            Grant::Profile { line, .. } => Some(line),
            _ => None,
        }
    }

    #[test]
    fn nothing_is_suggested_that_decides_what_runs_next() {
        for path in [
            "/opt/x/bin/cargo",
            "/opt/x",
            "/root/.ssh/authorized_keys",
            "/root/x",
            "/var/spool/cron/crontabs/root",
            "/var/lib/x/y",
            "/var/www/x",
            "/run/docker.sock",
            "/run/user/1/x",
            "/run/current-system/x",
            "/home/linuxbrew/.linuxbrew/bin/x",
            "/home/linuxbrew/x",
            "/home/other/x",
            "/home/x",
            "/snap/x",
            "/boot/x",
            "/etc/cron.d/x",
            "/usr/local/bin/x",
            "/nix/x",
            "/libx32/x",
            "/mnt/x",
            "/mnt/c/x",
            "/mnt/wsl/x",
            "/media/x",
            "/srv/x",
            "/tmp",
            "/x",
            // Around the workspace, by each name of it.
            "/srv/w/x",
            "/data/called/x",
            "/data/me/.bashrc",
            "/data/me/.ssh/x",
            // What the caller's variables name, and swbox itself.
            "/srv/tools/bin/x",
            "/srv/tools/x",
            "/data/settings/x",
            "/data/x",
            "/data/state/swbox/x/y",
            // What other projects run later.
            "/srv/other/.git/hooks/pre-commit",
            "/srv/other/.envrc",
            "/srv/other/.github/workflows/x.yml",
            // HOME.
            "/home/u/x",
            "/home/u/.bashrc",
            "/home/u/.ssh/authorized_keys",
            "/home/u/.config/x/y",
            "/home/u/.local/share/applications/x",
            "/home/u/.local/bin/x",
            "/home/u/.cargo/bin/x",
            "/home/u/.cargo/x",
            "/home/u/.vim/plugin/x",
            // No name that a profile could say.
            "/srv/*/x/y",
            "/srv/a*/x",
            "/srv/\u{fffd}/x",
            "/srv/data/../../etc/x/y",
        ] {
            assert_eq!(opened("/home/u", path, false), None, "{path}");
        }
        assert_eq!(opened("/home/u", "/home/u/.bashrc", true), None);
        // The twins: a tree of data, and what is the user's own wherever HOME lies.
        for (home, path, line) in [
            ("/home/u", "/srv/data/x", "writable = [\"/srv/data\"]"),
            ("/home/u", "/mnt/disk/x", "writable = [\"/mnt/disk\"]"),
            ("/home/u", "/data/sets/x", "writable = [\"/data/sets\"]"),
            ("/home/u", "/home/u/sets/x", "writable = [\"~/sets\"]"),
            ("/home/u", "/data/me/sets/x", "writable = [\"~/sets\"]"),
            ("/root", "/root/sets/x", "writable = [\"~/sets\"]"),
            ("/var/home/u", "/var/home/u/sets/x", "writable = [\"~/sets\"]"),
        ] {
            assert_eq!(opened(home, path, false).as_deref(), Some(line), "{path}");
        }
        for (home, path) in [("/var/home/u", "/var/home/v/x/y"), ("/export/home/u", "/export/home/v/x/y")] {
            assert_eq!(opened(home, path, false), None, "{path}");
        }
    }

    #[test]
    fn directories_of_sockets_are_suggested_to_nobody() {
        for path in [
            "/tmp/tmux-1000/default",
            "/tmp/.X11-unix/X0",
            "/var/tmp/systemd-private-x/tmp/s",
            "/tmp/ssh-a/agent.1",
        ] {
            assert_eq!(opened("/home/u", path, false), None, "{path}");
        }
        assert!(opened("/home/u", "/tmp/out/x", false).is_some());
    }

    #[test]
    fn the_workspace_is_known_by_its_names_and_nobody_looks_for_others() {
        let machine =
            crate::workflow::load(crate::workflow::builtin::builtin("bugfix").unwrap().source.as_bytes())
                .unwrap()
                .machine;
        let here = std::env::current_dir().unwrap();
        let (profile, mut facts) = (Profile::default(), HostFacts::default());
        facts.aliases.add(Path::new("/data/called"), &here);
        let anchors = Anchors { home: Path::new("/home/u"), workspace: &here, env: &[] };
        let places = Places { profile: &profile, anchors, facts: &facts };
        let shuts = |path: &str| places.shuts(&machine, Path::new(path)).is_some();
        assert!(!shuts("/data/called/x"));
        assert!(shuts("/data/called/.git/x"));
        // The kernel follows it to the workspace; swbox does not ask it.
        assert!(Path::new("/proc/self/cwd").canonicalize().is_ok_and(|led| led == here));
        assert!(shuts("/proc/self/cwd/x"));
    }
}
