//! Finding the git directories of a workspace without walking it: the root's own, what its `.git` file points to,
//! submodules and worktrees by git's own records, index entries, and repositories one level down.
//!
//! Danger: a `.git` file is content that a command may have written. It is followed out of the workspace only to a git
//! directory that names this workspace as its own.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::writeback::{self, Original};
use super::{Hold, Layout, Moment, config, git_step, index, record, view, walk};
use crate::jail::plan::{JailPlan, Step, View};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

/// The largest configuration or link file that is read.
const FILE_LIMIT: u64 = 1 << 20;

/// The largest index that is searched for submodules at each launch; `.git/modules` names those of bigger ones.
const INDEX_LIMIT: u64 = 2 << 20;

/// How many configuration files are followed from one, itself included.
const INCLUDES: usize = 8;

/// How many configuration files are copied; those of further submodules are read-only.
const COPIES: usize = 32;

/// How many submodules are looked at.
const MODULE_LIMIT: usize = 1000;

/// What in a git directory makes git run programs or read configuration from elsewhere.
const EXECUTABLE_PARTS: &[&str] = &[
    "commondir",
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// Directories of a git directory that are pinned, since an executable part lies below.
const PINNED_PARTS: &[&str] = &["info", "objects", "objects/info"];

/// Finds what the plan's workspace has and decides how it is held.
pub(in crate::jail) fn survey(plan: &JailPlan) -> Layout {
    let (Some(git_write), Some(view)) = (git_step(plan), view(plan)) else { return Layout::default() };
    let mut survey = Survey {
        workspace: &plan.workspace,
        git_write,
        copies: git_write && plan.namespaces.user,
        writable: view == View::Writable,
        layout: Layout { since: Moment::now(), ..Layout::default() },
        modules: 0,
    };
    survey.root(view);
    if survey.writable {
        survey.nested();
        survey.noted(plan.repositories.as_deref());
        for step in &plan.steps {
            if let Step::Protect { name } = step {
                survey.run_later(&plan.workspace.join(name));
            }
        }
    }
    survey.layout
}

struct Survey<'a> {
    workspace: &'a Path,
    git_write: bool,
    /// Whether git commands get copies of configuration files.
    copies: bool,
    /// Whether the workspace itself is writable.
    writable: bool,
    layout: Layout,
    modules: usize,
}

impl Survey<'_> {
    /// The `.git` of the workspace itself.
    fn root(&mut self, view: View) {
        let entry = self.workspace.join(".git");
        match kind(&entry) {
            // Read-only with the workspace, or part of the layer that vanishes.
            Kind::Directory if view == View::ThrowAway || !(self.writable || self.git_write) => {}
            Kind::Directory => self.directory(&entry),
            Kind::File => {
                if self.writable {
                    self.layout.hold(&entry, Hold::ReadOnly);
                }
                if let Some(target) = link_target(&entry) {
                    self.outside(&entry, &target);
                }
            }
            Kind::Link => {
                let Ok(target) = entry.canonicalize() else { return };
                if self.writable
                    && let Ok(text) = std::fs::read_link(&entry)
                {
                    self.layout.links.push((entry, text));
                }
                if target.starts_with(self.workspace) {
                    if view != View::ThrowAway {
                        self.directory(&target);
                    }
                } else if is_git_directory(&target) {
                    self.layout.hold(&target, Hold::ReadOnly);
                }
            }
            // The workspace is a bare repository: its parts lie among its own names.
            Kind::Missing if self.writable && is_git_directory(self.workspace) => {
                self.layout.known.push(self.workspace.to_owned());
                self.executable_parts(self.workspace);
            }
            Kind::Missing => {}
        }
    }

    /// What a `.git` file points to, when it lies outside the workspace and names `entry` as its own.
    fn outside(&mut self, entry: &Path, target: &Path) {
        if target.starts_with(self.workspace) {
            return self.directory(target);
        }
        let worktree = read_line(&target.join("gitdir")).is_some_and(|back| {
            let back = target.join(back);
            back == entry || back.canonicalize().is_ok_and(|back| back == entry)
        });
        if worktree {
            let common = read_line(&target.join("commondir"))
                .and_then(|common| target.join(common).canonicalize().ok())
                .filter(|common| target.starts_with(common.join("worktrees")) && is_git_directory(common));
            if let Some(common) = common {
                self.directory(&common);
            }
        } else if work_tree(target).is_some_and(|tree| tree == self.workspace) {
            self.directory(target);
        }
    }

    /// A git directory that git uses for this workspace.
    fn directory(&mut self, directory: &Path) {
        if self.layout.known.iter().any(|known| known == directory) {
            return;
        }
        self.layout.known.push(directory.to_owned());
        let inside = directory.starts_with(self.workspace);
        if inside && self.writable {
            self.layout.pin_ancestors(self.workspace, directory);
        }
        self.layout.quarantine.get_or_insert_with(|| directory.join("swbox-quarantine"));
        if self.git_write {
            self.layout.hold(directory, Hold::Writable);
            self.executable_parts(directory);
        } else if self.writable || !inside {
            self.layout.hold(directory, Hold::ReadOnly);
        }
        self.named_in(directory);
        self.worktrees(directory);
        self.submodules(&directory.join("modules"), 0);
        self.gitlinks(directory);
    }

    /// The parts of a writable git directory that stay read-only, and those that may not appear.
    fn executable_parts(&mut self, directory: &Path) {
        for part in PINNED_PARTS {
            let part = directory.join(part);
            if kind(&part) == Kind::Directory {
                self.layout.hold(&part, Hold::Writable);
            }
        }
        for part in EXECUTABLE_PARTS {
            let path = directory.join(part);
            // The parts of a repository that lies among the files of another may be files of that one: no link for them.
            let file = directory
                .strip_prefix(self.workspace)
                .is_ok_and(|below| below.iter().all(|part| part != ".git"));
            if *part == "config" && self.copies && !file && self.copy(&path) {
                continue;
            }
            self.executable(path);
        }
    }

    /// Gives the command a copy of a configuration file; whether that can be.
    fn copy(&mut self, path: &Path) -> bool {
        if kind(path) != Kind::File || self.layout.originals.len() >= COPIES {
            return false;
        }
        let bytes = read(path, writeback::LIMIT);
        if bytes.is_empty() {
            return false;
        }
        if !self.layout.originals.iter().any(|original| original.path == path) {
            self.layout.originals.push(Original { path: path.to_owned(), bytes });
        }
        self.layout.hold(path, Hold::Copy);
        true
    }

    fn executable(&mut self, path: PathBuf) {
        match kind(&path) {
            Kind::Missing => self.layout.forbidden.push(path),
            Kind::Link => {
                if let Ok(text) = std::fs::read_link(&path) {
                    self.layout.links.push((path, text));
                }
            }
            Kind::Directory | Kind::File => self.layout.hold(&path, Hold::ReadOnly),
        }
    }

    /// What the configuration names inside the workspace and git runs or reads as configuration: the directory of
    /// `core.hooksPath`, included files, scripts that are filters, pagers or aliases.
    fn named_in(&mut self, directory: &Path) {
        if !self.writable {
            return;
        }
        let inside = directory.starts_with(self.workspace) && directory.ends_with(".git");
        let tree = directory.parent().filter(|_| inside).unwrap_or(self.workspace).to_owned();
        let mut files = vec![directory.join("config")];
        let mut read_so_far = 0;
        while let Some(file) = files.pop().filter(|_| read_so_far < INCLUDES) {
            read_so_far += 1;
            let settings = config::settings(&read(&file, FILE_LIMIT));
            for setting in settings.iter().filter(|setting| config::is_executable(setting)) {
                let around = file.parent().unwrap_or(directory);
                for named in config::named_paths(setting, around, &tree) {
                    if !named.starts_with(self.workspace) || named == self.workspace {
                        continue;
                    }
                    let whole = config::is_place(setting);
                    if whole || matches!(kind(&named), Kind::File | Kind::Link) {
                        self.layout.pin_ancestors(self.workspace, &named);
                        self.executable(named.clone());
                    }
                    if config::is_include(setting) {
                        files.push(named);
                    }
                }
            }
        }
    }

    /// Linked worktrees: their own executable parts, and their `.git` files where they lie in the workspace.
    fn worktrees(&mut self, directory: &Path) {
        for name in names(&directory.join("worktrees")) {
            let worktree = directory.join("worktrees").join(name);
            if self.git_write {
                self.layout.hold(&worktree, Hold::Writable);
                for part in ["commondir", "config.worktree", "gitdir"] {
                    self.executable(worktree.join(part));
                }
            }
            if let Some(file) = read_line(&worktree.join("gitdir")) {
                self.link_file(&worktree.join(file));
            }
        }
    }

    /// Submodules by their git directories below `modules`; names with slashes and submodules of submodules nest.
    fn submodules(&mut self, modules: &Path, depth: usize) {
        if depth > 8 {
            return;
        }
        for name in names(modules) {
            self.modules += 1;
            if self.modules > MODULE_LIMIT {
                return;
            }
            let module = modules.join(name);
            if kind(&module.join("HEAD")) == Kind::Missing {
                self.submodules(&module, depth + 1);
                continue;
            }
            self.layout.known.push(module.clone());
            if self.git_write {
                self.layout.hold(&module, Hold::Writable);
                self.executable_parts(&module);
            }
            if let Some(tree) = work_tree(&module) {
                self.link_file(&tree.join(".git"));
            }
            self.submodules(&module.join("modules"), depth + 1);
        }
    }

    /// Entries of the index that are repositories.
    fn gitlinks(&mut self, directory: &Path) {
        if !self.writable {
            return;
        }
        for path in index::gitlinks(&read(&directory.join("index"), INDEX_LIMIT)) {
            if path.components().all(|component| matches!(component, Component::Normal(_))) {
                self.deep_repository(&path);
            }
        }
    }

    /// Repositories that former runs noted; before the first run, those that a walk finds: only who knows what was there
    /// can tell a directory that a command makes a repository of, by a name, from a person's own.
    fn noted(&mut self, note: Option<&Path>) {
        let Some(file) = note else { return };
        let note = record::open(file, self.workspace, self.layout.since, || {
            let whole = self.layout.whole();
            let since = self.layout.since;
            let found = walk::first(self.workspace, since, &|path| whole.contains(path.as_os_str()), file);
            ([found.places, found.bare].concat(), found.sockets)
        });
        for path in &note.places {
            self.deep_repository(path);
        }
        self.layout.since = note.unfinished.unwrap_or(self.layout.since);
        self.layout.noted = note;
    }

    /// A repository at a path below the workspace, if no part of that is a link by now.
    fn deep_repository(&mut self, path: &Path) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        // The working directory is the workspace.
        if rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve).is_ok() {
            self.repository(&self.workspace.join(path));
        }
    }

    /// Repositories one level down.
    fn nested(&mut self) {
        for name in names(self.workspace) {
            if name.as_bytes() != b".git" {
                self.repository(&self.workspace.join(name));
            }
        }
    }

    /// The directory `place` of the workspace, if it is a repository.
    fn repository(&mut self, place: &Path) {
        let entry = place.join(".git");
        match kind(&entry) {
            Kind::Directory => self.directory(&entry),
            Kind::File => self.link_file(&entry),
            Kind::Missing if is_git_directory(place) => self.directory(place),
            Kind::Link | Kind::Missing => {}
        }
    }

    /// A `.git` file in the workspace: whoever rewrites it redirects git.
    fn link_file(&mut self, file: &Path) {
        let Some(file) = normal(file) else { return };
        if self.writable && file.starts_with(self.workspace) && kind(&file) == Kind::File {
            self.layout.known.push(file.clone());
            self.layout.pin_ancestors(self.workspace, &file);
            self.layout.hold(&file, Hold::ReadOnly);
        }
    }

    /// A run-later file or directory.
    fn run_later(&mut self, path: &Path) {
        match kind(path) {
            Kind::Missing => self.layout.reported.push(path.to_owned()),
            Kind::Link => {
                if let Ok(text) = std::fs::read_link(path) {
                    self.layout.links.push((path.to_owned(), text));
                }
            }
            Kind::Directory | Kind::File => {
                self.layout.pin_ancestors(self.workspace, path);
                self.layout.hold(path, Hold::ReadOnly);
            }
        }
    }
}

/// What is at a path, without following a link in its last name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    File,
    /// Nothing, or nothing that can be seen.
    Missing,
}

pub(super) fn kind(path: &Path) -> Kind {
    match std::fs::symlink_metadata(path) {
        Err(_) => Kind::Missing,
        Ok(found) if found.is_dir() => Kind::Directory,
        Ok(found) if found.is_symlink() => Kind::Link,
        Ok(_) => Kind::File,
    }
}

/// The names in a directory, sorted; none where it cannot be read.
pub(super) fn names(directory: &Path) -> Vec<std::ffi::OsString> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name())
        .collect();
    names.sort_unstable();
    names
}

/// The bytes of a regular file, up to `limit`; a bigger one reads as empty.
pub(super) fn read(path: &Path, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(found) = std::fs::symlink_metadata(path) else { return bytes };
    if !found.is_file() || found.len() > limit {
        return bytes;
    }
    bytes.reserve_exact(usize::try_from(found.len()).unwrap_or_default() + 1);
    if let Ok(file) = std::fs::File::open(path)
        && file.take(limit).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    bytes
}

/// The first line of a small file, as a path.
pub(super) fn read_line(path: &Path) -> Option<PathBuf> {
    let bytes = read(path, FILE_LIMIT);
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    (!line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

/// Where a `.git` file points.
pub(super) fn link_target(file: &Path) -> Option<PathBuf> {
    let line = read_line(file)?;
    let target = line.as_os_str().as_bytes().strip_prefix(b"gitdir: ")?;
    file.parent()?.join(OsStr::from_bytes(target.trim_ascii())).canonicalize().ok()
}

/// The work tree that a submodule's git directory names.
fn work_tree(directory: &Path) -> Option<PathBuf> {
    let settings = config::settings(&read(&directory.join("config"), FILE_LIMIT));
    normal(&directory.join(config::last(&settings, "core.worktree")?))
}

/// Whether git would take it for a repository.
pub(super) fn is_git_directory(path: &Path) -> bool {
    let has = |name: &str| kind(&path.join(name)) != Kind::Missing;
    has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

/// An absolute path without `.` and `..`; `None` when it climbs above the root.
pub(super) fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => normal.push(component),
        }
    }
    Some(normal)
}
