//! Profile, host facts, workspace and rights to a [`SandboxSpec`]. Pure: whoever calls gathers the facts.
//!
//! Danger: the spec is an allow-list; a place that slips in here is visible to everything the command starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::alias::Aliases;
use super::environment::environment;
use super::gitconfig;
use super::model::Profile;
use super::spec::{Bind, Limits, SandboxSpec};
use super::value::{Anchors, Below, Place, lies_in};
use crate::diagnostic::Diagnostic;
use crate::policy::Rights;

/// What the host says, gathered before the pure part.
#[derive(Debug, Clone, Default)]
pub struct HostFacts {
    /// The caller's HOME.
    pub home: PathBuf,
    /// The caller's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Whether somebody sits at standard input.
    pub stdin_is_terminal: bool,
    /// Of the places that [`secret_places`] named: those that exist.
    pub secrets: Vec<PathBuf>,
    /// swbox's own directories (configuration, store) and the per-workspace caches of other workspaces.
    pub own: Vec<PathBuf>,
    /// The user's git configuration files, in git's order.
    pub gitconfig: Vec<u8>,
    /// What the user's git configuration includes: where each file is inside, and its text.
    pub gitincluded: Vec<(PathBuf, Vec<u8>)>,
    /// The files of the profile's `append` that exist, with the text behind their own.
    pub appended: Vec<(PathBuf, Vec<u8>)>,
    /// This workspace's cache.
    pub cache: PathBuf,
    /// Whether that lies in the command's own `/tmp`, because nothing that stays could be made.
    pub cache_is_private: bool,
    /// Where it is noted which repositories this workspace has.
    pub repositories: Option<PathBuf>,
    /// Names that lead to the workspace or to HOME by a link. The environment has real names in their place.
    pub aliases: Aliases,
}

/// What is to be run where, with which rights.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The workspace, resolved.
    pub workspace: &'a Path,
    /// Where the command starts.
    pub cwd: &'a Path,
    /// How its shell names that: the caller's own name for it, or `cwd`.
    pub pwd: &'a Path,
    /// What the state grants.
    pub rights: &'a Rights,
    /// Whether programs run whose effect the text cannot show (builds, tests): they get caches.
    pub executes: bool,
    /// The state's `blocked_env`.
    pub blocked_env: &'a [String],
    /// The state's `env_overrides`.
    pub env_overrides: &'a [(String, String)],
    /// What the state itself tells the jail.
    pub state: &'a StateJail,
    /// The caller's `--timeout`.
    pub timeout: Option<Duration>,
}

/// What a state adds to the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateJail {
    /// Further trees that commands with a write right may change.
    pub writable: Vec<Place>,
    /// Further names that are read-only.
    pub protect: Vec<Below>,
    /// Further outputs that are kept of a throw-away layer.
    pub outputs: Vec<Below>,
    /// Limits; they replace the profile's where they are set.
    pub limits: Limits,
}

/// Every place that must be unreadable where it exists; the last name may hold a `*`.
pub fn secret_places(profile: &Profile, anchors: &Anchors<'_>) -> Vec<PathBuf> {
    let granted: Vec<PathBuf> = profile
        .credentials
        .values()
        .filter(|credential| credential.grant)
        .flat_map(|credential| credential.files.iter().filter_map(|place| place.resolve(anchors)))
        .collect();
    let all = profile
        .secrets
        .paths
        .iter()
        .chain(profile.credentials.values().flat_map(|credential| credential.files.iter()));
    let mut places: Vec<PathBuf> = Vec::new();
    for path in all.filter_map(|place| place.resolve(anchors)) {
        // A granted file inside a hidden directory cannot be shown by a stub over the directory.
        if !granted.iter().any(|granted| lies_in(granted, &path)) {
            places.push(path);
        }
    }
    places
}

/// The spec of one command.
pub fn resolve(profile: &Profile, facts: &HostFacts, task: &Task<'_>) -> SandboxSpec {
    let anchors = Anchors { home: &facts.home, workspace: task.workspace, env: &facts.env };
    let mut binds = Binds { found: Vec::new(), workspace: task.workspace, aliases: &facts.aliases };
    for place in &profile.binds.system {
        binds.add(place, &anchors, false, true);
    }
    for place in &profile.binds.toolchains {
        binds.add(place, &anchors, false, true);
    }
    for place in &profile.binds.data {
        binds.add(place, &anchors, false, false);
    }
    let writes = task.rights.workspace >= crate::policy::WorkspaceRight::Write;
    for place in profile.binds.writable.iter().chain(&task.state.writable) {
        binds.add(place, &anchors, writes, false);
    }
    for credential in profile.credentials.values().filter(|credential| credential.grant) {
        for place in &credential.files {
            binds.add(place, &anchors, false, false);
        }
    }
    let executable: Vec<PathBuf> =
        binds.found.iter().filter(|bind| bind.exec && !bind.writable).map(|bind| bind.path.clone()).collect();
    if task.executes && !profile.caches.is_empty() && !facts.cache_is_private {
        binds.found.push(Bind { path: facts.cache.clone(), writable: true, exec: true, optional: false });
    }

    let mut secrets = facts.secrets.clone();
    for own in &facts.own {
        // But for the one with the command's own cache.
        let in_workspace = lies_in(own, task.workspace) && !lies_in(&facts.cache, own);
        let shown = in_workspace || binds.found.iter().any(|bind| lies_in(own, &bind.path));
        if shown && !secrets.contains(own) {
            secrets.push(own.clone());
        }
    }

    let mut files = Vec::new();
    let mut include = |_: Option<&str>, path: &str| {
        let known = facts.gitincluded.iter().any(|(inside, _)| inside.as_os_str() == path);
        known.then(|| path.to_owned())
    };
    let git = gitconfig::sanitise(&facts.gitconfig, &mut include);
    for (inside, text) in &facts.gitincluded {
        files.push((inside.clone(), gitconfig::sanitise(text, &mut include)));
    }
    if !git.is_empty() {
        files.push((facts.home.join(".gitconfig"), git));
    }
    if task.executes {
        let is_visible = |path: &Path| binds.found.iter().any(|bind| lies_in(path, &bind.path));
        for append in &profile.append {
            let Some(path) = append.path.resolve(&anchors) else { continue };
            if let Some(found) = facts.appended.iter().find(|(of, _)| *of == path && is_visible(of)) {
                files.push(found.clone());
            } else if append.create && lies_in(&path, &facts.home) && !is_visible(&path) {
                files.push((path, format!("{}\n", append.text).into_bytes()));
            }
        }
    }

    let mut limits = over(&task.state.limits, profile.limits.limits());
    limits.timeout = task.timeout.or(limits.timeout);
    let protected = profile.workspace.protected.iter().chain(&task.state.protect);
    SandboxSpec {
        workspace: task.workspace.to_owned(),
        cwd: task.cwd.to_owned(),
        rights: task.rights.clone(),
        home: facts.home.clone(),
        secrets,
        protected: protected.map(|name| name.0.clone()).collect(),
        files,
        script: None,
        env: environment(profile, facts, task, &anchors, &executable),
        limits,
        protections: profile.protections.clone(),
        outputs: profile
            .workspace
            .outputs
            .iter()
            .chain(&task.state.outputs)
            .map(|path| path.0.clone())
            .collect(),
        repositories: facts.repositories.clone(),
        aliases: facts.aliases.clone(),
        binds: binds.found,
    }
}

/// The state's limits where it has them, else the profile's.
fn over(state: &Limits, profile: Limits) -> Limits {
    Limits {
        timeout: state.timeout.or(profile.timeout),
        processes: state.processes.or(profile.processes),
        memory: state.memory.or(profile.memory),
        file_size: state.file_size.or(profile.file_size),
        cpu: state.cpu.or(profile.cpu),
        open_files: state.open_files.or(profile.open_files),
        scratch: state.scratch.or(profile.scratch),
        output: state.output.or(profile.output),
    }
}

/// The visible trees so far.
struct Binds<'a> {
    found: Vec<Bind>,
    workspace: &'a Path,
    aliases: &'a Aliases,
}

impl Binds<'_> {
    fn add(&mut self, place: &Place, anchors: &Anchors<'_>, writable: bool, exec: bool) {
        let Some(path) = place.resolve(anchors) else { return };
        let path = self.aliases.real(&path).into_owned();
        // Nothing is ever bound inside the workspace (it is visible by itself), nor HOME or what holds it as a whole
        // unless it is a system directory that a private HOME is mounted over.
        let everything = path.as_os_str() == "/" || path.as_os_str() == anchors.home.as_os_str();
        if place.is_pattern() || everything || lies_in(&path, self.workspace) {
            return;
        }
        let inside =
            |bind: &Bind| lies_in(&path, &bind.path) && bind.exec >= exec && bind.writable >= writable;
        // A private HOME hides what a system directory shows below it.
        let hidden = |bind: &Bind| lies_in(&path, anchors.home) && !lies_in(&bind.path, anchors.home);
        if self.found.iter().any(|bind| inside(bind) && !hidden(bind)) {
            return;
        }
        self.found.push(Bind { path, writable, exec, optional: true });
    }
}

/// Directories that are the system's, not a project.
pub(crate) const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys",
    "/usr", "/nix", "/gnu", "/snap",
];

/// Directories of the system below which projects do live.
const ORDINARY_BELOW: &[&str] = &["/usr/src", "/usr/local/src", "/run/user", "/run/media"];

/// Directories that hold other people's trees: no workspace themselves, but what is below may be one.
pub(crate) const CONTAINERS: &[&str] =
    &["/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/tmp", "/var/lib"];

/// Refuses a workspace that would hand out more than a project. All paths are plain: see [`lies_in`].
///
/// # Errors
/// `workspace_refused` with the reason and what to do.
pub fn check_workspace(workspace: &Path, facts: &HostFacts, allow_home: bool) -> Result<(), Diagnostic> {
    let refuse = |why: String, help: &str| {
        Err(Diagnostic::new("workspace_refused", format!("{} is no workspace: {why}", workspace.display()))
            .help(help))
    };
    let elsewhere = "name the project's directory with --workspace DIR";
    let is = |place: &Path| workspace.as_os_str() == place.as_os_str();
    if is(Path::new("/")) {
        return refuse("it is the whole file system".to_owned(), elsewhere);
    }
    if is(&facts.home) {
        return if allow_home {
            Ok(())
        } else {
            refuse("it is your home directory".to_owned(), "name a project below it, or say --allow-home")
        };
    }
    if lies_in(&facts.home, workspace) {
        return refuse(format!("your home directory {} lies in it", facts.home.display()), elsewhere);
    }
    if let Some(own) = facts.own.iter().find(|own| lies_in(own, workspace))
        && (!lies_in(workspace, &facts.home) || !allow_home)
    {
        let help = "keep it elsewhere with XDG_CONFIG_HOME, XDG_STATE_HOME or XDG_CACHE_HOME, or name another directory with --workspace DIR";
        return refuse(format!("swbox's own directory {} lies in it", own.display()), help);
    }
    if let Some(own) = facts.own.iter().chain([&facts.cache]).find(|own| lies_in(workspace, own)) {
        return refuse(format!("it lies in swbox's own directory {}", own.display()), elsewhere);
    }
    if let Some(secret) = facts.secrets.iter().find(|secret| lies_in(workspace, secret)) {
        return refuse(format!("it lies in the secret place {}", secret.display()), elsewhere);
    }
    let ordinary = ORDINARY_BELOW.iter().map(Path::new).any(|place| lies_in(workspace, place) && !is(place));
    if !ordinary && SYSTEM.iter().any(|place| lies_in(workspace, Path::new(place))) {
        return refuse("it is a system directory".to_owned(), elsewhere);
    }
    if CONTAINERS.iter().any(|place| is(Path::new(place))) {
        return refuse("it holds more than one project".to_owned(), elsewhere);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::builtin;
    use super::*;
    use crate::policy::{NetworkRight, WorkspaceRight};

    fn facts(env: &[(&str, &str)]) -> HostFacts {
        HostFacts {
            home: "/home/u".into(),
            env: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            own: vec!["/home/u/.config/swbox".into(), "/home/u/.local/state/swbox".into()],
            cache: "/home/u/.cache/swbox/1".into(),
            repositories: None,
            ..HostFacts::default()
        }
    }

    fn spec(profiles: &[&str], right: WorkspaceRight, git_write: bool, facts: &HostFacts) -> SandboxSpec {
        let mut profile = Profile::default();
        for name in profiles {
            profile.extend(builtin::find(name).unwrap().profile().unwrap());
        }
        let rights =
            Rights { workspace: right, git_write, network: NetworkRight::None, narrowed: Vec::new() };
        let task = Task {
            workspace: Path::new("/home/u/w"),
            cwd: Path::new("/home/u/w/src"),
            pwd: Path::new("/home/u/w/src"),
            rights: &rights,
            executes: right == WorkspaceRight::ThrowAway,
            blocked_env: &["SECRET_*".to_owned(), "TZ".to_owned()],
            env_overrides: &[("STAGE".to_owned(), "plan".to_owned())],
            state: &StateJail::default(),
            timeout: None,
        };
        resolve(&profile, facts, &task)
    }

    fn var<'a>(spec: &'a SandboxSpec, name: &str) -> Option<&'a str> {
        spec.env.get(std::ffi::OsStr::new(name)).and_then(|value| value.to_str())
    }

    #[test]
    fn the_environment_is_an_allow_list() {
        let facts = facts(&[
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("LD_PRELOAD", "/x.so"),
            ("BASH_ENV", "/x"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("CARGO_REGISTRY_TOKEN", "x"),
            ("CARGO_TERM_COLOR", "never"),
            ("MISE_X_TOKEN", "x"),
            ("MISE_SOPS_AGE_KEY", "x"),
            ("MISE_ENV", "x"),
            ("CARGO_PROFILE_PASSWORD", "x"),
            ("LC_TOKEN", "x"),
            ("LC_MINE", "x"),
            ("GITHUB_TOKEN", "x"),
            ("TMPDIR", "/nowhere"),
            ("XDG_RUNTIME_DIR", "/etc"),
        ]);
        let spec = spec(&["base", "rust", "ci"], WorkspaceRight::Read, false, &facts);
        let kept = ["LANG", "LC_ALL", "CARGO_TERM_COLOR", "MISE_ENV"];
        for (name, _) in &facts.env {
            let name = name.to_str().unwrap();
            assert_eq!(spec.env.contains_key(std::ffi::OsStr::new(name)), kept.contains(&name), "{name}");
        }
        assert_eq!(var(&spec, "STAGE"), Some("plan"));
        assert_eq!(var(&spec, "GIT_TERMINAL_PROMPT"), Some("0"));
        assert_eq!(var(&spec, "HOME"), Some("/home/u"));
        assert_eq!(var(&spec, "CARGO_TARGET_DIR"), None, "a read state needs no cache");
        assert_eq!(var(&spec, "CARGO_NET_OFFLINE"), Some("true"), "there is no network");
    }

    #[test]
    fn path_holds_system_and_toolchain_directories_only() {
        let host = [(
            "PATH",
            "/home/u/w/.venv/bin:/home/u/evil:/home/u/.cargo/bin:.:rel:/usr/bin:/home/u/w/bin:/usr/../x",
        )];
        let read = spec(&["base", "rust", "python"], WorkspaceRight::Read, false, &facts(&host));
        assert_eq!(
            var(&read, "PATH"),
            Some("/home/u/.cargo/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin")
        );
        let test = spec(&["base", "rust", "python"], WorkspaceRight::ThrowAway, false, &facts(&host));
        assert!(var(&test, "PATH").unwrap().starts_with("/home/u/w/.venv/bin:/home/u/.cargo/bin:"));
        let git = spec(&["base", "python"], WorkspaceRight::Write, true, &facts(&host));
        assert!(!var(&git, "PATH").unwrap().contains("/home/u/w"));
    }

    #[test]
    fn builds_get_the_cache_and_nothing_else_is_writable() {
        let spec = spec(&["base", "rust"], WorkspaceRight::ThrowAway, false, &facts(&[]));
        assert_eq!(var(&spec, "CARGO_TARGET_DIR"), Some("/home/u/.cache/swbox/1/cargo-target"));
        let writable: Vec<_> =
            spec.binds.iter().filter(|bind| bind.writable).map(|bind| &bind.path).collect();
        assert_eq!(writable, [Path::new("/home/u/.cache/swbox/1")]);
    }

    #[test]
    fn no_bind_shows_home_the_root_or_the_workspace() {
        let host = [
            ("JAVA_HOME", "/"),
            ("PYENV_ROOT", "/home/u"),
            ("CARGO_HOME", "/home/u/w/cargo"),
            ("GOROOT", "/home"),
        ];
        let spec =
            spec(&["base", "rust", "java", "python", "go"], WorkspaceRight::Write, false, &facts(&host));
        for bind in &spec.binds {
            assert!(
                bind.path != Path::new("/home/u") && !Path::new("/home/u").starts_with(&bind.path),
                "{bind:?}"
            );
            assert!(!bind.path.starts_with("/home/u/w"), "{bind:?}");
        }
    }

    #[test]
    fn a_text_is_appended_to_what_is_visible_and_made_below_home_only() {
        let mut profile = builtin::find("base").unwrap().profile().unwrap();
        let append = |path: &str, create: bool| {
            format!("[[append]]\npath = \"{path}\"\ntext = \"x\"\ncreate = {create}\n")
        };
        let text = [
            append("/etc/a", false),
            append("~/.b", true),
            append("~/.hidden", false),
            append("/etc/c", true),
        ];
        profile.append.clear();
        profile.extend(Profile::from_toml(&text.concat(), Path::new("p")).unwrap());
        let mut facts = facts(&[]);
        facts.appended =
            [("/etc/a", "own\nx\n"), ("/home/u/.b", "secret\nx\n"), ("/home/u/.hidden", "secret\nx\n")]
                .map(|(path, text)| (path.into(), text.into()))
                .to_vec();
        let rights = Rights {
            workspace: WorkspaceRight::ThrowAway,
            git_write: false,
            network: NetworkRight::None,
            narrowed: Vec::new(),
        };
        let mut task = Task {
            workspace: Path::new("/w"),
            cwd: Path::new("/w"),
            pwd: Path::new("/w"),
            rights: &rights,
            executes: true,
            blocked_env: &[],
            env_overrides: &[],
            state: &StateJail::default(),
            timeout: None,
        };
        let files = resolve(&profile, &facts, &task).files;
        let expected =
            [("/etc/a", "own\nx\n"), ("/home/u/.b", "x\n")].map(|(path, text)| (path.into(), text.into()));
        assert_eq!(files, expected, "what HOME hides is not shown by a text behind it");
        task.executes = false;
        assert!(resolve(&profile, &facts, &task).files.is_empty());
    }

    #[test]
    fn refused_workspaces() {
        let facts = facts(&[]);
        for path in [
            "/",
            "/home",
            "/home/u",
            "/home/u/.config",
            "/home/u/.config/swbox/x",
            "/usr",
            "/usr/bin",
            "/usr/src",
            "/etc/x",
            "/tmp",
            "/proc/self",
            "/home/u/.cache/swbox/1/x",
            "/home/u/.local",
        ] {
            let refusal = check_workspace(Path::new(path), &facts, false);
            assert_eq!(refusal.map_err(|problem| problem.code), Err("workspace_refused"), "{path}");
        }
        for path in ["/home/u/w", "/usr/src/app", "/tmp/x", "/srv/p", "/work/a b,c:d\n"] {
            assert_eq!(check_workspace(Path::new(path), &facts, false), Ok(()), "{path}");
        }
        assert_eq!(check_workspace(Path::new("/home/u"), &facts, true), Ok(()));
        assert!(check_workspace(Path::new("/home"), &facts, true).is_err());
    }

    #[test]
    fn a_granted_credential_is_shown_and_no_stub_hides_it() {
        let mut profile = builtin::find("base").unwrap().profile().unwrap();
        let text = "[credentials.\"npm:r.example\"]\nfiles = [\"~/.npmrc\"]\nvariables = [\"NPM_TOKEN\"]\ngrant = true";
        profile.extend(Profile::from_toml(text, Path::new("p")).unwrap());
        let facts = facts(&[("NPM_TOKEN", "t")]);
        let anchors = Anchors { home: &facts.home, workspace: Path::new("/w"), env: &facts.env };
        assert!(!secret_places(&profile, &anchors).contains(&"/home/u/.npmrc".into()));
        let rights = Rights {
            workspace: WorkspaceRight::Read,
            git_write: false,
            network: NetworkRight::None,
            narrowed: Vec::new(),
        };
        let task = Task {
            workspace: Path::new("/w"),
            cwd: Path::new("/w"),
            pwd: Path::new("/w"),
            rights: &rights,
            executes: false,
            blocked_env: &[],
            env_overrides: &[],
            state: &StateJail::default(),
            timeout: None,
        };
        let spec = resolve(&profile, &facts, &task);
        assert_eq!(var(&spec, "NPM_TOKEN"), Some("t"));
        assert!(spec.binds.iter().any(|bind| bind.path == Path::new("/home/u/.npmrc") && !bind.writable));
    }
}
