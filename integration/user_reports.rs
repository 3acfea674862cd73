//! What users of other sandboxes reported, as kinds: each test is named for one. What stands elsewhere: terminals and
//! job control in `jail/terminal.rs`, hosts without namespaces in `hosts.rs`, nesting in `jail/levels.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod project;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use project::{Project, has, ran};

/// States of `bugfix` in which commands run.
const STATES: [&str; 4] = ["planning", "implementing", "testing", "committing"];

/// `.git` is a file in a linked worktree: nothing started, or the index could not be locked.
#[test]
fn a_linked_worktree_is_read_in_each_state_and_committed_to() {
    let project = Project::new();
    let linked = project.outside().join("linked");
    project.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "linked"]);
    let run = |state: &str, line: &str| {
        ran(project.command(&["exec", "--state", state, "-c", line]).current_dir(&linked).output().unwrap())
    };
    for state in STATES {
        let seen = run(state, "git status --short --branch");
        assert_eq!((seen.code, seen.stdout.as_str()), (0, "## linked\n"), "{state}: {seen:?}");
    }
    fs::write(linked.join("new"), "x\n").unwrap();
    let done = run("committing", "git add new && git commit -qm linked");
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(project.git(&["log", "-1", "--format=%s", "linked"]), "linked\n");
}

/// Mount points and placeholders (`HEAD`, `config`, `.bash_profile` …) stayed in the project and in HOME.
#[test]
fn no_placeholder_stays_in_the_project_or_in_home() {
    let project = Project::new();
    let (tree, around) = (project.tree(), project.surroundings());
    for state in STATES {
        let line = if state == "testing" { "sh -c 'ls -a ~ > /tmp/x'" } else { "git status --short" };
        let done = project.line(state, line);
        assert_eq!(done.code, 0, "{state}: {done:?}");
    }
    assert_eq!(project.tree(), tree);
    // swbox's own notes and caches are not in the way of anybody's log-in.
    let own = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "swbox");
    let names = |list: Vec<(PathBuf, String)>| {
        let kept = list.into_iter().map(|(path, _)| path).filter(|path| !own(path));
        kept.filter(|path| !path.is_dir()).collect::<Vec<_>>()
    };
    assert_eq!(names(project.surroundings()), names(around));
}

/// Builds failed where HOME is not there or read-only, as accounts of services and containers have it.
#[test]
fn where_nothing_can_be_kept_builds_run_and_begin_anew() {
    let project = Project::new();
    let script = "import os, sys\nkept = os.environ['PYTHONPYCACHEPREFIX']\nos.makedirs(kept, exist_ok=True)\nopen(kept + '/x', 'w')\nprint(kept)\n";
    fs::write(project.path().join("build.py"), script).unwrap();
    fs::write(project.path().join("requirements.txt"), "").unwrap();
    let tree = project.tree();
    for _ in 0..2 {
        let args = ["exec", "--json", "--state", "testing", "--profile", "python", "-c", "python3 build.py"];
        let done = ran(project.command(&args).env("XDG_CACHE_HOME", "/proc/none").output().unwrap());
        assert_eq!(done.code, 0, "{done:?}");
        let value: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let kept = value["output"]["stdout"]["text"].as_str().unwrap().trim();
        assert!(kept.starts_with("/tmp/") && !PathBuf::from(kept).exists(), "{kept}");
        let told = value["jail"]["degraded"].to_string();
        assert!(told.contains("no-cache: /proc/none/swbox/") && told.contains("XDG_CACHE_HOME"), "{told}");
    }
    assert_eq!(project.tree(), tree);
}

/// `TMPDIR` named a directory that did not exist inside, or one that was read-only.
#[test]
fn tmpdir_is_there_and_writable_whatever_the_caller_has_set() {
    let project = Project::new();
    let below = project.outside().join("tmp");
    for tmpdir in ["/tmp", "/tmp/not/there", "relative", "/usr", below.to_str().unwrap(), ""] {
        for state in ["implementing", "testing"] {
            let mut command = project.command(&["exec", "--state", state, "--", "mktemp"]);
            let made = ran(command.env("TMPDIR", tmpdir).output().unwrap());
            assert_eq!(made.code, 0, "TMPDIR={tmpdir} {state}: {made:?}");
        }
    }
    assert!(!below.exists());
}

/// A here-document needs a temporary file in some shells, and could not have one.
#[test]
fn here_documents_work_in_every_shell() {
    let project = Project::new();
    for shell in ["bash", "dash", "zsh", "ksh"] {
        if !has("here_documents_work_in_every_shell", shell) {
            continue;
        }
        let long = "x".repeat(100_000);
        let script = format!("cat <<E | wc -c\n{long}\nE\n");
        fs::write(project.path().join("script"), script).unwrap();
        let done = project.swbox(&["exec", "--state", "testing", "--", shell, "script"]);
        assert_eq!((done.code, done.stdout.trim()), (0, "100001"), "{shell}: {done:?}");
    }
}

/// A test with a server of its own could not ask it: the request needed a tool for the network.
#[test]
fn a_server_of_the_command_is_asked_in_a_state_that_only_tests() {
    const TEST: &str = "a_server_of_the_command_is_asked_in_a_state_that_only_tests";
    if !has(TEST, "python3") || !has(TEST, "curl") {
        return;
    }
    let project = Project::new();
    let serve = "python3 -m http.server 8731 --bind 127.0.0.1 > /tmp/log 2>&1 &";
    let ask = "curl -s --retry 120 --retry-delay 1 --retry-connrefused 127.0.0.1:8731/config.yml";
    let done = project.line("testing", &format!("{serve} {ask}"));
    assert_eq!((done.code, done.stdout.as_str()), (0, "name: value\n"), "{done:?}");
    // The twin: without a tool for it nobody else is asked, and the jail would reach nobody.
    let refused = project.line("testing", &format!("{serve} {ask} example.org"));
    assert_eq!(refused.code, 126, "{refused:?}");
    let alone = project.line("testing", "curl -sS -m 20 localhost:9");
    assert_ne!(alone.code, 126, "{alone:?}");
    assert!(!alone.stderr.contains("swbox:"), "nobody serves there, which is no refusal: {alone:?}");
}

/// A rule with a pattern was shown and not enforced; `..` in a rule moved what the command saw.
#[test]
fn a_rule_that_cannot_be_enforced_is_refused() {
    let project = Project::new();
    for (file, text) in [
        ("pattern.toml", "[workspace]\nprotected = [\"src/*/generated\"]\n"),
        ("parent.toml", "[workspace]\nprotected = [\"..\"]\n"),
        ("output.toml", "[workspace]\noutputs = [\"../elsewhere\"]\n"),
        ("secret.toml", "[secrets]\npaths = [\"..\"]\n"),
        ("unknown.toml", "[workspace]\nprotect = [\"src\"]\n"),
    ] {
        let path = project.outside().join(file);
        fs::write(&path, text).unwrap();
        let done =
            project.swbox(&["exec", "--profile", path.to_str().unwrap(), "--state", "planning", "-c", "pwd"]);
        assert_eq!(done.code, 125, "{file}: {done:?}");
        assert!(done.stderr.contains(file) || done.stderr.contains("help"), "{file}: {done:?}");
    }
}

/// Unix sockets were refused altogether, or those of the host were reached.
#[test]
fn unix_sockets_of_the_command_work_and_those_of_the_host_are_out_of_reach() {
    const TEST: &str = "unix_sockets_of_the_command_work_and_those_of_the_host_are_out_of_reach";
    if !has(TEST, "python3") {
        return;
    }
    let project = Project::new();
    let own = "import socket, os, tempfile\n\
               for d in (tempfile.gettempdir(), '.'):\n\
               \x20   p = os.path.join(d, 's.sock'); s = socket.socket(socket.AF_UNIX); s.bind(p); s.listen()\n\
               \x20   c = socket.socket(socket.AF_UNIX); c.connect(p); s.accept()[0].send(b'x'); assert c.recv(1) == b'x'\n";
    fs::write(project.path().join("own.py"), own).unwrap();
    let done = project.line("testing", "python3 own.py");
    assert_eq!(done.code, 0, "{done:?}");
    let sockets: Vec<PathBuf> =
        [project.outside(), project.home()].map(|place| place.join("host.sock")).into();
    for path in &sockets {
        let _listener = UnixListener::bind(path).unwrap();
        let script =
            format!("import socket; socket.socket(socket.AF_UNIX).connect({:?})", path.to_str().unwrap());
        assert_eq!(project.bare(&format!("python3 -c '{script}'")).code, 0, "the twin");
        let done = project.swbox(&["exec", "--state", "testing", "--", "python3", "-c", &script]);
        assert_ne!(done.code, 0, "{done:?}");
    }
    let docker = project.line("testing", "ls /var/run/docker.sock /run/docker.sock /run/user /run/dbus");
    assert!(docker.stdout.is_empty(), "{docker:?}");
}

/// Package managers need caches and locks below HOME also to read.
#[test]
fn caches_below_home_can_be_written_and_the_real_ones_stay() {
    let project = Project::new();
    let line = "for d in .cache/uv .npm/_cacache .cargo/registry .gradle/caches .m2/repository .local/share; do \
                mkdir -p ~/$d && echo x > ~/$d/lock || exit 1; done";
    fs::write(project.path().join("caches.sh"), line).unwrap();
    for name in ["first", "second"] {
        let done = project.line("testing", "sh caches.sh");
        assert_eq!(done.code, 0, "{name}: {done:?}");
    }
    for place in [".cache/uv", ".npm", ".cargo/registry", ".gradle", ".m2"] {
        assert!(!project.home().join(place).exists(), "{place} is in the real HOME");
    }
}

/// Programs that start many others at once failed when one start was disturbed.
#[test]
fn many_threads_start_programs_at_once() {
    if !has("many_threads_start_programs_at_once", "python3") {
        return;
    }
    let project = Project::new();
    let script = "import subprocess, concurrent.futures as f\n\
                  def run(n): return subprocess.run(['sh', '-c', 'exit %d' % (n % 7)]).returncode == n % 7\n\
                  with f.ThreadPoolExecutor(16) as pool: assert all(pool.map(run, range(200)))\n";
    fs::write(project.path().join("many.py"), script).unwrap();
    let done = project.line("testing", "python3 many.py");
    assert_eq!(done.code, 0, "{done:?}");
}

/// A check in a pre-commit hook looked at another index than the one that was about to be committed, and passed.
#[test]
fn a_hook_of_git_sees_what_is_about_to_be_committed() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let (hook, out) = (project.path().join(".git/hooks/pre-commit"), project.outside().join("seen"));
    let swbox = env!("CARGO_BIN_EXE_swbox");
    let line = format!(
        "#!/bin/sh\n{swbox} exec --state planning -c 'git diff --cached --name-only' > {}\n",
        out.display()
    );
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, line).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(project.path().join("CHANGES"), "by -a\n").unwrap();
    project.git(&["commit", "-q", "-a", "-m", "with all"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "CHANGES\n");
    // What is written is the repository's own index, whatever a caller names.
    let aside = project.path().join("aside");
    fs::write(project.path().join("new"), "x\n").unwrap();
    let mut command = project.command(&["exec", "--state", "committing", "-c", "git add new"]);
    let done = ran(command.env("GIT_INDEX_FILE", &aside).output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    assert!(!aside.exists());
    assert_eq!(project.git(&["diff", "--cached", "--name-only"]), "new\n");
}

/// Who commits hangs on where the repository lies, for many people: commits had the wrong author.
#[test]
fn a_commit_has_the_author_that_it_has_without_swbox() {
    let project = Project::new();
    let config = |name: &str, text: &str| fs::write(project.home().join(name), text).unwrap();
    let here = project.path().display().to_string();
    config(
        ".work",
        "[user]\n\tname = Work\n[core]\n\tfsmonitor = touch /tmp/pwned\n[include]\n\tpath = .more\n",
    );
    config(".more", "[user]\n\temail = work@example.org\n");
    config(".other", "[user]\n\tname = Other\n");
    config(
        ".gitconfig",
        &format!(
            "[user]\n\tname = Personal\n\temail = p@example.org\n[includeIf \"gitdir:{here}/\"]\n\tpath = ~/.work\n\
             [includeIf \"gitdir:/elsewhere/\"]\n\tpath = ~/.other\n[includeIf \"onbranch:no\"]\n\tpath = .other\n"
        ),
    );
    let who = |project: &Project| project.git(&["log", "-1", "--format=%an <%ae>"]);
    fs::write(project.path().join("CHANGES"), "inside\n").unwrap();
    let done = project.line("committing", "git commit -qam inside");
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(who(&project), "Work <work@example.org>\n");
    fs::write(project.path().join("CHANGES"), "outside\n").unwrap();
    let mut bare = std::process::Command::new("git");
    bare.args(["-c", "core.fsmonitor=false", "commit", "-qam", "outside"]).current_dir(project.path());
    assert!(bare.env("HOME", project.home()).env("GIT_CONFIG_NOSYSTEM", "1").status().unwrap().success());
    assert_eq!(who(&project), "Work <work@example.org>\n");
}

/// As above, and the next command: a directory that was renamed, or closed for a while, showed the secret then.
#[test]
fn a_secret_in_the_workspace_stays_hidden_in_the_next_command() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let maven = project.path().join("own/m2");
    fs::create_dir_all(&maven).unwrap();
    fs::write(maven.join("settings.xml"), "SECRET\n").unwrap();
    std::os::unix::fs::symlink(&maven, project.home().join(".m2")).unwrap();
    let line = |line: &str| {
        let words = ["exec", "--state", "implementing", "--no-narrow", "-c", line];
        let done = project.swbox(&words);
        assert!(!done.stdout.contains("SECRET"), "{line}: {done:?}");
        done
    };
    line("cat own/m2/settings.xml");
    for away in ["mv own/m2 own/m3", "mv own moved", "chmod 000 own/m2", "chmod 000 own"] {
        line(away);
        line(
            "chmod 755 own own/m2 own/m3 moved moved/m2; cat own/m2/settings.xml own/m3/settings.xml moved/m2/settings.xml",
        );
    }
    assert!(maven.join("settings.xml").exists());
    // What lies beside it is the command's.
    assert_eq!(line("echo x > own/m2/other && mv own/m2/other own/m2/file && cat own/m2/file").code, 0);
    fs::set_permissions(&maven, fs::Permissions::from_mode(0o755)).unwrap();
}

/// swbox's own files of a project of dotfiles were the agent's to change: the person's rules were gone in the next command.
#[test]
fn a_workspace_that_holds_swboxs_own_directories_behind_a_link_is_refused() {
    for (link, below) in [(".config", "config"), (".local", "local"), (".cache", "cache")] {
        let project = Project::new();
        let target = project.path().join("dotfiles").join(below);
        fs::create_dir_all(&target).unwrap();
        let place = project.home().join(link);
        let _ = fs::remove_dir_all(&place);
        std::os::unix::fs::symlink(&target, &place).unwrap();
        for state in STATES {
            let done = project.line(state, "ls");
            assert!(
                done.code == 125 && done.stderr.contains("workspace_refused"),
                "{link} {state}: {done:?}"
            );
        }
    }
}

/// An included file of git's configuration that an agent made a pipe held up every command.
#[test]
fn a_pipe_in_the_place_of_a_configuration_holds_up_nothing() {
    let project = Project::new();
    let pipe = project.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    fs::write(project.home().join(".gitconfig"), format!("[include]\n\tpath = {}\n", pipe.display()))
        .unwrap();
    let done = project.line("planning", "git status --short");
    assert_eq!(done.code, 0, "{done:?}");
}

/// HOME as the workspace, as some have it: nothing of swbox's is made in it.
#[test]
fn home_as_the_workspace_keeps_what_it_had() {
    let project = Project::new();
    let home = project.home();
    fs::write(home.join("more"), "[user]\n\temail = m@example.org\n").unwrap();
    for with in [true, false] {
        if with {
            fs::write(home.join(".gitconfig"), "[user]\n\tname = Ada\n[include]\n\tpath = more\n").unwrap();
        } else {
            fs::rename(home.join(".gitconfig"), home.join("away")).unwrap();
            fs::create_dir_all(home.join(".config/git")).unwrap();
            fs::write(home.join(".config/git/config"), "[user]\n\tname = Ada\n").unwrap();
        }
        for (state, line) in
            [("planning", "ls"), ("implementing", "touch x"), ("implementing", "cat .local/state/swbox/*")]
        {
            let words =
                ["exec", "--allow-home", "--workspace", home.to_str().unwrap(), "--state", state, "-c", line];
            let done = ran(project.command(&words).current_dir(&home).output().unwrap());
            assert_eq!(done.code, i32::from(line.starts_with("cat")), "{state}: {done:?}");
        }
        let made = fs::read_dir(&home).unwrap().flatten().map(|entry| entry.file_name());
        let made: Vec<_> = made.filter(|name| name.to_string_lossy().starts_with(".gitconfig")).collect();
        assert_eq!(made.len(), usize::from(with), "{made:?}");
    }
}

/// A secret of the system behind links by a place that is not shown: it was open by its real name.
#[test]
fn a_secret_of_the_system_is_hidden_wherever_it_leads() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP a_secret_of_the_system_is_hidden_wherever_it_leads: no root");
        return;
    }
    const SCENE: &str = "mount -t tmpfs t /mnt && mkdir /mnt/up /mnt/work && \
        mount -t overlay o -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work /etc && mount -t tmpfs t /opt && \
        mkdir /opt/k && echo SECRET > /opt/k/key && echo plain > /opt/plain && ln -s /opt/k /mnt/lnk && \
        rm -rf /etc/wireguard && ln -s /mnt/lnk /etc/wireguard && exec \"$@\"";
    let project = Project::new();
    for (file, shown) in [("/opt/plain", true), ("/opt/k/key", false), ("/etc/wireguard/key", false)] {
        let mut command =
            project.command_as(std::path::Path::new("unshare"), &["-m", "sh", "-c", SCENE, "sh"]);
        command.args([env!("CARGO_BIN_EXE_swbox"), "exec", "--state", "planning", "--", "cat", file]);
        let done = ran(command.output().unwrap());
        assert_eq!(done.code == 0, shown, "{file}: {done:?}");
        assert!(!done.stdout.contains("SECRET"), "{file}: {done:?}");
    }
}

/// A project of dotfiles, where `~/.config` leads into the workspace: the token was read by its other name.
#[test]
fn a_secret_behind_a_linked_directory_is_hidden_by_both_names() {
    let project = Project::new();
    let config = project.path().join("dotfiles/config");
    fs::create_dir_all(config.join("gh")).unwrap();
    fs::write(config.join("gh/hosts.yml"), "TOP SECRET TOKEN\n").unwrap();
    fs::write(config.join("plain"), "plain\n").unwrap();
    fs::remove_dir(project.home().join(".config")).unwrap();
    std::os::unix::fs::symlink(&config, project.home().join(".config")).unwrap();
    // Not in the workspace, see below.
    let own = project.outside().join("config");
    let line = |state: &str, line: &str| {
        let mut command = project.command(&["exec", "--state", state, "-c", line]);
        ran(command.env("XDG_CONFIG_HOME", &own).output().unwrap())
    };
    for state in STATES {
        let done = line(state, "cat dotfiles/config/plain");
        assert_eq!((done.code, done.stdout.as_str()), (0, "plain\n"), "{state}: {done:?}");
        for name in ["dotfiles/config/gh/hosts.yml", "~/.config/gh/hosts.yml"] {
            let done = line(state, &format!("cat {name}"));
            assert!(done.code != 0 && !done.stdout.contains("TOKEN"), "{state} {name}: {done:?}");
        }
    }
}

/// A hidden file looked as if it did not exist, or its error as if the agent were broken.
#[test]
fn a_hidden_secret_says_permission_and_what_is_not_shown_says_absent() {
    let project = Project::new();
    let done = project.swbox(&["exec", "--state", "planning", "--", "cat", "/etc/shadow"]);
    assert!(done.stderr.contains("Permission denied"), "{done:?}");
    let absent = project.outside().join("file");
    fs::write(&absent, "x").unwrap();
    let done = project.swbox(&["exec", "--state", "planning", "--", "cat", absent.to_str().unwrap()]);
    assert!(done.stderr.contains("No such file"), "{done:?}");
}

/// A refused operation led to trying again without the sandbox, or again and again: the refusal says what allows it.
#[test]
fn a_refusal_is_structured_final_and_names_the_way_forward() {
    let project = Project::new();
    let (code, value) = project.json("planning", "echo x > config.yml");
    assert_eq!(code, 126);
    let reason = &value["reasons"][0];
    assert!(reason["code"].is_string() && reason["needs"][0].is_string(), "{reason}");
    assert_eq!(value["hint"]["state"], "implementing", "{}", value["hint"]);
}

/// A protection that could not be had was reported as if it were.
#[test]
fn what_is_not_enforced_is_never_reported_as_enforced() {
    let project = Project::new();
    let (_, value) = project.json("testing", "true");
    let jail = &value["jail"];
    let protections = jail["protections"].as_object().unwrap();
    let degraded: Vec<_> = protections.iter().filter(|(_, how)| *how == "degraded").collect();
    let reasons = jail["degraded"].as_array().unwrap();
    assert!(degraded.is_empty() || !reasons.is_empty(), "{jail}");
    let (code, value) = project.json("implementing", "python3 -c 'pass'");
    if code == 0 && value["jail"]["protections"]["host-sockets"] == "degraded" {
        let reasons = value["jail"]["degraded"].to_string();
        assert!(reasons.contains("host-sockets"), "{reasons}");
    }
}

/// What was left for a later git, or what git said and was not so, went unnoticed: the run ends with 125 and says it.
#[test]
fn what_a_run_leaves_for_git_ends_it_with_125_and_is_said() {
    let project = Project::new();
    fs::write(
        project.path().join("plant.py"),
        "import os\nos.makedirs('a/b/.git/objects'); os.makedirs('a/b/.git/refs')\n\
         open('a/b/.git/HEAD', 'w').write('ref: refs/heads/x\\n'); open('a/b/.git/config', 'w').write('[core]\\n\\tpager = x\\n')\n",
    )
    .unwrap();
    fs::write(project.path().join("flow.json"), FLOW).unwrap();
    let run = |state: &str, line: &str| {
        let flow = project.path().join("flow.json");
        let args = ["exec", "--workflow", flow.to_str().unwrap(), "--state", state, "--json", "-c", line];
        let done = project.swbox(&args);
        (done.code, serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap_or_default())
    };
    if has("what_a_run_leaves_for_git_ends_it_with_125_and_is_said", "python3") {
        let (code, value) = run("work", "python3 plant.py");
        assert_eq!((code, &value["jail"]["planted"][0]["setting"]), (125, &"core.pager".into()), "{value}");
        assert!(!project.path().join("a/b/.git/config").exists());
    }
    let (code, value) = run("work", "git config core.pager x");
    assert_eq!((code, &value["jail"]["config"][0]["written"]), (125, &false.into()), "{value}");
    let (code, value) = run("work", "git branch -m main other");
    assert_eq!((code, value["jail"]["config"].to_string().contains("refused\":\"")), (0, false), "{value}");
    assert_eq!(project.git(&["branch", "--show-current"]), "other\n");
    let (code, value) = run("build", "make -f out.mk");
    assert_eq!((code, &value["jail"]["outputs"]), (2, &serde_json::Value::Null), "{value}");
    fs::write(project.path().join("out.mk"), "all:\n\tmkdir -p dist; echo x > dist/f; echo y > other\n")
        .unwrap();
    let (code, value) = run("build", "make -f out.mk");
    assert_eq!((code, &value["jail"]["outputs"]["files"]), (0, &1.into()), "{value}");
    assert!(project.path().join("dist/f").exists() && !project.path().join("other").exists());
}

const FLOW: &str = r#"{"id": "flow", "initial": "work", "states": {
  "work": {"allowed_tools": ["Read", "Write", "Bash", "__GIT_WRITE__"], "on": {"NEXT": "build"}},
  "build": {"allowed_tools": ["Read", "run_build"], "jail": {"outputs": ["dist"]}, "on": {"DONE": "end"}},
  "end": {"type": "final"}}}"#;
