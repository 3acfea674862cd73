//! The user's git configuration with what it includes, as far as commands get it: who commits may hang on where the
//! repository lies (`includeIf "gitdir:~/work/"`), and git inside decides that as it does outside.
//!
//! Danger: these are texts of the user's HOME. Only their harmless keys come along, see [`crate::profile::gitconfig`].

use std::io::Read;
use std::path::{Path, PathBuf};

use super::plain;
use crate::profile::gitconfig::sanitise;
use crate::profile::value::lies_in;

/// The largest file; of a longer one nothing comes along, since a part may say something else than the whole.
const LIMIT: u64 = 256 * 1024;

/// How many files may be included, and how deep.
const FILES: usize = 32;
const DEPTH: usize = 10;

/// The files that are included, and where each is inside.
type Included = Vec<(PathBuf, Vec<u8>)>;

/// The configuration in the order in which git reads it, and what it includes.
///
/// Where HOME is in the workspace, files of it are the user's own: nothing is made there, a copy lies over what there is.
pub(super) fn configuration(home: &Path, config: &Path, workspace: &Path) -> (Vec<u8>, Included) {
    let in_workspace = lies_in(home, workspace);
    if in_workspace && home.join(".gitconfig").symlink_metadata().is_err() {
        return Default::default();
    }
    let mut bytes = Vec::with_capacity(1024);
    let mut included = Included::new();
    for path in [config.join("git/config"), home.join(".gitconfig")] {
        // What cannot be read gives no configuration; git inside then has its defaults.
        let Some(text) = text(&path) else { continue };
        bytes.extend(match in_workspace {
            true => text,
            false => gathered(text, home, &path, &mut included, 0),
        });
        bytes.push(b'\n');
    }
    (bytes, included)
}

fn text(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    plain::open(path).ok()??.take(LIMIT + 1).read_to_end(&mut text).ok()?;
    Some(text).filter(|text| u64::try_from(text.len()).is_ok_and(|length| length <= LIMIT))
}

/// The text of the file at `path`, in which includes lead to their places inside; most have none.
fn gathered(text: Vec<u8>, home: &Path, path: &Path, included: &mut Included, depth: usize) -> Vec<u8> {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !has(b"[include") {
        return text;
    }
    let around = path.parent().unwrap_or(home);
    sanitise(&text, &mut |condition, place| {
        // Beside the file that says it: inside all of it is in HOME.
        let relative = condition
            .is_some_and(|text| text.split_once(':').is_some_and(|(_, text)| text.starts_with("./")));
        if depth >= DEPTH || included.len() >= FILES || relative && around != home {
            return None;
        }
        let path = match place.strip_prefix("~/") {
            Some(below) => home.join(below),
            None if place.starts_with(['~', '%']) => return None,
            None => around.join(place),
        };
        let text = self::text(&path)?;
        let inside = home.join(format!(".gitconfig.{}", included.len() + 1));
        let name = inside.to_str()?.to_owned();
        included.push((inside, Vec::new()));
        let at = included.len() - 1;
        let text = gathered(text, home, &path, included, depth + 1);
        if let Some((_, known)) = included.get_mut(at) {
            *known = text;
        }
        Some(name)
    })
}
