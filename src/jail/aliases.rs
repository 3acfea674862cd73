//! The names by which a caller speaks of the workspace and of HOME where a link of the host leads there: each is a link to
//! the real directory, made where nothing else is.
//!
//! Danger: callers choose these names, and agents make links. A name in the place of something of the root would hide that,
//! or lead a mount or a rule elsewhere; such a one is left out.

use std::path::Path;

use super::farewell;
use super::plan::Step;
use crate::profile::value::lies_in;
use crate::profile::{Alias, SandboxSpec};

/// Where nothing but what the root has there itself may have a name.
const RESERVED: [&str; 4] = ["/dev", "/proc", "/sys", farewell::DIRECTORY];

/// The steps for the names of `spec`, after `steps`, which make what they have to stay clear of.
pub(super) fn steps(spec: &SandboxSpec, steps: &[Step]) -> Vec<Step> {
    let mut made: Vec<Step> = Vec::new();
    for Alias { name, real } in spec.aliases.all() {
        if is_free(name, spec, steps) && is_free(name, spec, &made) {
            made.push(Step::Alias { path: name.clone(), target: real.clone() });
        }
    }
    made
}

/// Whether the root has nothing at `name` or below it, and nothing around it but a private directory.
fn is_free(name: &Path, spec: &SandboxSpec, steps: &[Step]) -> bool {
    let place = |step| match step {
        &Step::Workspace { .. } => Some(spec.workspace.as_path()),
        step => Step::place(step),
    };
    let touches = |place: &Path| lies_in(place, name) || lies_in(name, place);
    let files = spec.files.iter().map(|(path, _)| path).chain(spec.script.iter().map(|(path, ..)| path));
    // What lies around a private directory does not show in it.
    let nearest = steps
        .iter()
        .filter(|step| place(step).is_some_and(|place| lies_in(name, place)))
        .max_by_key(|step| place(step).map_or(0, |place| place.as_os_str().len()));
    !RESERVED.iter().map(Path::new).any(touches)
        && nearest.is_none_or(|around| matches!(around, Step::Dir { .. }))
        && !files.into_iter().any(|path| lies_in(path, name))
        && !steps.iter().filter_map(place).any(|place| lies_in(place, name))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::jail::beginning::tests;
    use crate::jail::{JailPlan, mount};
    use crate::policy::{NetworkRight, Rights, WorkspaceRight};

    /// The plan of the base profile with these names of the workspace.
    fn plan(names: &[&str]) -> JailPlan {
        let workspace = WorkspaceRight::Write;
        let rights =
            Rights { workspace, git_write: false, network: NetworkRight::None, narrowed: Vec::new() };
        tests::plan(&rights, 0, |spec| {
            spec.workspace = "/srv/w".into();
            spec.cwd.clone_from(&spec.workspace);
            spec.files.push(("/home/u/.gitconfig".into(), b"[user]\n".to_vec()));
            for name in names {
                spec.aliases.add(Path::new(name), &spec.workspace);
            }
        })
    }

    /// The names that are made of these.
    fn made(names: &[&str]) -> Vec<PathBuf> {
        let names = plan(names).steps.into_iter().filter_map(|step| match step {
            Step::Alias { path, target } => {
                assert_eq!(target, Path::new("/srv/w"));
                Some(path)
            }
            _ => None,
        });
        names.collect()
    }

    #[test]
    fn what_is_begun_ahead_holds_for_a_workspace_behind_a_link() {
        let begun = |names: &[&str]| mount::Beginning::of(&plan(names), 0);
        assert_eq!(begun(&["/lnk/w", "/home/u/l", "/tmp/l"]), begun(&[]));
        assert!(begun(&["/lnk/w"]).standard.is_some());
    }

    #[test]
    fn a_name_is_made_where_the_root_has_nothing() {
        for name in ["/lnk", "/srv/l", "/srv/a/b/c", "/home/u/l", "/home/u/a/l", "/tmp/l", "/var/tmp/l"] {
            assert_eq!(made(&[name]), [PathBuf::from(name)], "{name}");
        }
    }

    #[test]
    fn a_name_that_would_hide_or_lead_something_is_left_out() {
        for name in [
            "/",
            "/usr/l",
            "/etc/l",
            "/bin/l",
            "/opt/l",
            "/home",
            "/home/u",
            "/tmp",
            "/var",
            "/dev",
            "/dev/l",
            "/dev/shm",
            "/dev/null",
            "/proc",
            "/proc/self/cwd",
            "/sys",
            "/sys/l",
            "/run",
            "/run/swbox",
            "/run/swbox/l",
            "/srv",
            "/srv/w",
            "/srv/w/l",
            "/home/u/.gitconfig",
        ] {
            assert!(made(&[name]).is_empty(), "{name}");
        }
        // The first of two that are in each other's way.
        assert_eq!(made(&["/a/b", "/a"]), [PathBuf::from("/a/b")]);
    }
}
