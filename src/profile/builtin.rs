//! The profiles that come with swbox: `profiles/*.toml`, compiled in by `build.rs`.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::model::Profile;
use super::value::{Anchors, Place, lies_in};
use crate::diagnostic::Diagnostic;

/// A profile of `profiles/`.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The file's stem.
    pub name: &'static str,
    /// It applies when one of these exists at the workspace's root.
    pub files: &'static [&'static str],
    /// It applies when one of these variables is set.
    pub variables: &'static [&'static str],
    /// It also applies when a directory of the caller's PATH lies in one of these places.
    pub toolchains: &'static [&'static str],
    /// Its binds that are at the same place everywhere, and whether programs may run there.
    pub fixed: &'static [(&'static str, bool)],
    /// Its secrets that are at the same place everywhere, without patterns.
    pub hidden: &'static [&'static str],
    /// The size of the scratch, where it says one.
    scratch: Option<&'static str>,
    packed: &'static [u8],
    /// The commented file.
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// All built-in profiles, by name.
pub fn all() -> &'static [Builtin] {
    BUILTIN
}

/// The built-in profile `name`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|builtin| builtin.name == name)
}

/// All of them as data, read once: for what is asked of them many times in a run.
pub fn profiles() -> &'static [Profile] {
    static ALL: OnceLock<Vec<Profile>> = OnceLock::new();
    ALL.get_or_init(|| BUILTIN.iter().filter_map(|builtin| builtin.profile().ok()).collect())
}

impl Builtin {
    /// Whether one of its toolchains holds one of the `directories`.
    pub fn holds(&self, directories: &[PathBuf], anchors: &Anchors<'_>) -> bool {
        let mut places = self.toolchains.iter().filter_map(|text| Place::parse(text).ok()?.resolve(anchors));
        !directories.is_empty()
            && places.any(|place| directories.iter().any(|directory| lies_in(directory, &place)))
    }

    /// The size of the scratch in bytes, where it says one.
    pub fn scratch(&self) -> Option<u64> {
        self.scratch.and_then(|text| super::value::Size::parse(text).ok()).map(|size| size.0)
    }

    /// The profile as data.
    ///
    /// # Errors
    /// Never for a released binary: a test reads them all.
    pub fn profile(&self) -> Result<Profile, Diagnostic> {
        rmp_serde::from_slice(self.packed).map_err(|error| {
            Diagnostic::new("profile_syntax", format!("built-in profile {}: {error}", self.name))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_built_in_is_sound_in_both_forms() {
        let names: Vec<_> = all().iter().map(|builtin| builtin.name).collect();
        assert_eq!(names, ["base", "c", "ci", "go", "java", "node", "python", "rust"]);
        for builtin in all() {
            let text = Profile::from_toml(builtin.text, std::path::Path::new(builtin.name)).unwrap();
            assert_eq!(builtin.profile().unwrap(), text, "{}", builtin.name);
            assert!(!text.description.is_empty() && builtin.text.starts_with('#'), "{}", builtin.name);
            assert!(text.network.hosts.is_empty(), "{}: profiles ship no hosts", builtin.name);
            assert!(text.binds.writable.is_empty(), "{}: profiles ship no writable trees", builtin.name);
            assert!(text.credentials.is_empty(), "{}: profiles grant no credentials", builtin.name);
            if builtin.name != "base" {
                assert!(!builtin.files.is_empty() || !builtin.variables.is_empty(), "{}", builtin.name);
                assert!(text.protections.is_empty(), "{}: the base asks for protections", builtin.name);
            }
        }
    }

    #[test]
    fn what_is_fixed_is_what_the_profile_binds() {
        for builtin in all() {
            let profile = builtin.profile().unwrap();
            let anchors = |home| Anchors { home: Path::new(home), workspace: Path::new("/w"), env: &[] };
            let places = |list: &[Place], exec| -> Vec<(PathBuf, bool)> {
                let fixed = list
                    .iter()
                    .filter(|place| place.resolve(&anchors("/a")) == place.resolve(&anchors("/b")));
                fixed.map(|place| (place.resolve(&anchors("/a")).unwrap(), exec)).collect()
            };
            let mut expected = places(&profile.binds.system, true);
            expected.extend(places(&profile.binds.data, false));
            let fixed: Vec<_> =
                builtin.fixed.iter().map(|(path, exec)| (PathBuf::from(path), *exec)).collect();
            assert_eq!(fixed, expected, "{}", builtin.name);
            assert_eq!(builtin.scratch(), profile.limits.limits().scratch, "{}", builtin.name);
        }
        assert!(find("base").unwrap().fixed.len() > 10);
    }

    #[test]
    fn the_base_asks_for_every_protection() {
        use super::super::spec::Protection;
        let base = find("base").unwrap().profile().unwrap();
        assert_eq!(base.protections.len(), 12);
        assert!(base.protections.contains_key(&Protection::Secrets));
    }
}
