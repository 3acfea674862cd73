//! swbox on lesser hosts: what it claims there it holds, and where it cannot hold enough it refuses.
//!
//! Each host is made around the program: a filter as strict containers have it, a kernel without Landlock, an outer
//! Landlock domain, a listener in the chain, a real container. `swbox doctor` then tries every protection there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A world-readable place with a workspace, the program and the helper; removed at the end.
struct Host {
    place: PathBuf,
    under: Vec<String>,
    ordinary: bool,
    /// What the environment has besides.
    env: Vec<(&'static str, PathBuf)>,
}

impl Host {
    fn new(name: &str, ordinary: bool, under: &[&str]) -> Self {
        let place =
            Path::new("/var/tmp").join(format!("swbox-host-{name}-{ordinary}-{}", std::process::id()));
        fs::create_dir_all(place.join("workspace")).unwrap();
        fs::create_dir_all(place.join("outside")).unwrap();
        fs::write(place.join("workspace/file"), "content\n").unwrap();
        fs::write(place.join("outside/file"), "content\n").unwrap();
        fs::create_dir_all(place.join("tmp")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_swbox"), place.join("swbox")).unwrap();
        fs::copy(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/hosts/under.py"),
            place.join("under.py"),
        )
        .unwrap();
        if ordinary {
            let done = Command::new("chown").arg("-R").arg("65534:65534").arg(&place).status().unwrap();
            assert!(done.success());
        }
        let under = under.iter().map(|word| (*word).to_owned()).collect();
        Self { place, under, ordinary, env: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    fn swbox(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = if self.ordinary {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env", "python3"]);
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env_remove("HOME");
            command
        } else {
            Command::new("python3")
        };
        command.arg(self.path("under.py"));
        for word in &self.under {
            command.arg(word.replace("{place}", &self.place.to_string_lossy()));
        }
        command.arg("--").arg(self.path("swbox")).args(words).envs(self.env.iter().cloned());
        command.current_dir(self.path("workspace")).env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        command
    }

    fn doctor(&self) -> (Value, Option<i32>) {
        let output = self.swbox(&["doctor", "--json"]);
        let text = String::from_utf8_lossy(&output.stdout);
        let value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        (value, output.status.code())
    }

    /// What `state` lets a line do, as exit code and all it printed.
    fn exec(&self, state: &str, line: &str) -> (Option<i32>, String) {
        let workspace = self.path("workspace");
        let words = ["exec", "--state", state, "--workspace", workspace.to_str().unwrap(), "-c", line];
        let output = self.swbox(&words);
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text.into_owned())
    }

    /// The work of the states goes on, and only in the workspace.
    fn works(&self) {
        assert_eq!(self.exec("planning", "cat file"), (Some(0), "content\n".to_owned()));
        assert_eq!(self.exec("implementing", "echo new > made && cat made"), (Some(0), "new\n".to_owned()));
        let outside = self.path("outside/file");
        let (code, text) = self.exec("implementing", &format!("echo bad > {}", outside.display()));
        assert_ne!(code, Some(0), "{text}");
        assert_eq!(fs::read_to_string(outside).unwrap(), "content\n");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// The users a test runs as: this one, and an ordinary one where this one is root.
fn users() -> &'static [bool] {
    if rustix::process::geteuid().is_root() { &[false, true] } else { &[false] }
}

fn python(test: &str) -> bool {
    let found =
        Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    if !found {
        assert!(!std::env::var("SWBOX_REQUIRE").unwrap_or_default().contains("hosts"), "no python3");
        println!("SKIP {test}: no python3");
    }
    found
}

/// No check is refuted, none that is strict is missing, and every jail had this level.
fn sound(report: &(Value, Option<i32>), level: &str) {
    let (value, code) = report;
    assert_eq!(*code, Some(0), "{value:#}");
    for check in value["checks"].as_array().unwrap() {
        assert_ne!(check["proof"], "refuted", "{check:#}");
        assert_eq!(check["level"], level, "{check:#}");
    }
}

fn achieved<'a>(report: &'a (Value, Option<i32>), protection: &str) -> &'a Value {
    let checks = report.0["checks"].as_array().unwrap();
    &checks.iter().find(|check| check["protection"] == protection).unwrap()["achieved"]
}

#[test]
fn a_plain_host_gives_the_full_level() {
    if python("a_plain_host_gives_the_full_level") {
        for ordinary in users() {
            let host = Host::new("plain", *ordinary, &[]);
            sound(&host.doctor(), "full");
            host.works();
        }
    }
}

/// `su -m` and `sudo -E` leave the variables of a user whose places this one cannot reach.
#[test]
fn places_of_another_user_in_the_environment_hold_nothing_up() {
    const NAMES: [&str; 9] = [
        "PYENV_ROOT",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "GOPATH",
        "GOROOT",
        "NVM_DIR",
        "JAVA_HOME",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
    ];
    if python("places_of_another_user_in_the_environment_hold_nothing_up") {
        for (ordinary, under) in
            users().iter().flat_map(|user| [(*user, &[][..]), (*user, &["--no-namespaces"][..])])
        {
            let mut host = Host::new("another", ordinary, under);
            let closed = host.path("closed");
            fs::create_dir(&closed).unwrap();
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
            // A link that leads in a circle is no better.
            std::os::unix::fs::symlink("circle", host.path("circle")).unwrap();
            for place in ["closed/home", "outside/file/home", "circle"] {
                host.env = NAMES.map(|name| (name, host.path(place))).to_vec();
                for name in ["pyproject.toml", "Cargo.toml", "go.mod", "package.json", "pom.xml"] {
                    fs::write(host.path("workspace").join(name), "").unwrap();
                }
                host.works();
            }
            // Else its owner could not remove it.
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}

#[test]
fn a_filter_that_forbids_namespaces_and_mounts_leaves_landlock() {
    if python("a_filter_that_forbids_namespaces_and_mounts_leaves_landlock") {
        for ordinary in users() {
            let host = Host::new("filter", *ordinary, &["--no-namespaces"]);
            let report = host.doctor();
            sound(&report, "landlock-only");
            for held in ["reads", "writes", "network", "system-calls", "privileges"] {
                assert_eq!(achieved(&report, held), "prevented", "{held}");
            }
            for lost in ["metadata", "throw-away"] {
                assert_eq!(achieved(&report, lost), "degraded", "{lost}");
            }
            host.works();
        }
    }
}

/// What is said after a run, from swbox's first line.
fn told(host: &Host, state: &str, line: &str) -> String {
    let (_, text) = host.exec(state, line);
    let told: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("swbox: ")).collect();
    told.join("\n")
}

#[test]
fn what_the_host_cannot_give_is_not_told_as_a_missing_tool() {
    if !python("what_the_host_cannot_give_is_not_told_as_a_missing_tool") {
        return;
    }
    for ordinary in users() {
        let host = Host::new("shortfall", *ordinary, &["--no-namespaces"]);
        let workspace = host.path("workspace");
        let law = r#"{"id":"w","initial":"all","states":{
            "all":{"allowed_tools":["Read","Write","Bash","__GIT_WRITE__"],"on":{"END":"failed"}},
            "failed":{"type":"final"}}}"#;
        fs::write(host.path("w.json"), law).unwrap();
        fs::create_dir(workspace.join("src")).unwrap();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(&workspace).status().unwrap().success());
        if *ordinary {
            assert!(
                Command::new("chown").args(["-R", "65534:65534"]).arg(&workspace).status().unwrap().success()
            );
        }
        let socket = "python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", 0))'";
        let mode = "python3 -c 'import os, tempfile; os.chmod(tempfile.mkdtemp(), 0o711)'";
        for (state, line, why) in [
            ("implementing", "mkdir d", "  create  d  no-new-names: "),
            ("implementing", "echo x > top", "  create  top  no-new-names: "),
            ("committing", "git add file", "  create  .git/index.lock  no-git-write: "),
            ("testing", "python3 -c 'open(\"src/n\", \"w\")'", "  create  src/n  no-throwaway: "),
            (
                "testing",
                mode,
                "  without namespaces mode, owner, times and attributes are changed by no command",
            ),
            ("testing", socket, "  connect  a host (no ipv4 socket is given)  no-loopback: "),
        ] {
            let told = told(&host, state, line);
            assert!(told.contains(why), "{state}: {line}: {told}");
            for wrong in ["allowed_tools", "forward", "[binds]", "a line of their own"] {
                assert!(!told.contains(wrong), "{state}: {line}: {told}");
            }
            // What is said of each refusal is not said again.
            let code = why.rsplit("  ").next().unwrap();
            assert_eq!(told.matches(code).count(), 1, "{state}: {line}: {told}");
        }
        let words = ["exec", "--workflow", "../w.json", "-c", "git add file"];
        let output = host.swbox(&words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("  create  .git/index.lock  no-git-write: "), "{told}");
        let explained =
            host.swbox(&["explain", "--workspace", workspace.to_str().unwrap(), "--state", "testing"]);
        let explained = String::from_utf8_lossy(&explained.stdout);
        for row in [
            "read-only but for its declared outputs",
            "none here: no IP socket at all",
            "HOME and TMPDIR",
            "/usr",
            "cannot be opened inside",
            "landlock-only",
            "no-throwaway: ",
            "no-loopback: ",
        ] {
            assert!(explained.contains(row), "{row}: {explained}");
        }
        for row in ["its own loopback", "writes succeed and vanish", "/dev/shm"] {
            assert!(!explained.contains(row), "{row}: {explained}");
        }
        // As events tell it, while the command runs.
        let events = host.path("events.jsonl");
        let line = "python3 -c 'open(\"src/n\", \"w\")'";
        host.swbox(&["exec", "--events", events.to_str().unwrap(), "--state", "testing", "-c", line]);
        let text = fs::read_to_string(events).unwrap();
        let denial = text.lines().find(|line| line.contains("\"event\":\"denial\"")).unwrap();
        let denial: Value = serde_json::from_str(denial).unwrap();
        assert_eq!(denial["grant"]["kind"], "nothing", "{denial}");
        assert!(denial["grant"]["why"].as_str().unwrap().starts_with("no-throwaway: "), "{denial}");
        assert!(denial["forward"].is_null(), "{denial}");
        // A run that went well is quiet, and so is one that no shortcoming bears on.
        for (state, line) in [("testing", "python3 -c 'print(1)'"), ("planning", "grep -q nothing file")] {
            assert_eq!(self::told(&host, state, line), "", "{state}: {line}");
        }
        assert!(told_of_failure(&host).contains("weaker than asked on this host: no-throwaway: "));
    }
}

/// What is said of a test that fails by itself.
fn told_of_failure(host: &Host) -> String {
    told(host, "testing", "python3 -c 'raise SystemExit(3)'")
}

#[test]
fn a_workspace_of_somebody_else_is_told_where_it_bears_on_a_run() {
    if !python("a_workspace_of_somebody_else_is_told_where_it_bears_on_a_run") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIP a_workspace_of_somebody_else_is_told_where_it_bears_on_a_run: needs user 0");
        return;
    }
    let host = Host::new("foreign", false, &[]);
    assert!(
        Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(host.path("workspace"))
            .status()
            .unwrap()
            .success()
    );
    let write = "python3 -c 'open(\"n\", \"w\")'";
    assert!(told(&host, "testing", write).contains("no-throwaway: the workspace belongs to another user"));
    let told_of = told(&host, "implementing", "echo 1 > n");
    assert!(told_of.contains("foreign-workspace: it belongs to user 65534"), "{told_of}");
    assert!(!told_of.contains("forward"), "{told_of}");
    let workspace = host.path("workspace");
    let explained =
        host.swbox(&["explain", "--workspace", workspace.to_str().unwrap(), "--state", "implementing"]);
    let explained = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.contains("files can be changed where everybody may"), "{explained}");
    assert!(explained.contains("foreign-workspace: it belongs to user 65534"), "{explained}");
    for (state, line) in [("testing", "python3 -c 'print(1)'"), ("implementing", "cat file")] {
        assert_eq!(told(&host, state, line), "", "{state}: {line}");
    }
    assert_eq!(told(&host, "implementing", "cat nothing"), "", "what only looks needs no right to write");
}

/// Names by a link lead where they lead on the host; what they are to the rules is what they are at the full level.
#[test]
fn a_workspace_behind_a_link_is_the_same_without_namespaces() {
    if python("a_workspace_behind_a_link_is_the_same_without_namespaces") {
        for under in [&[][..], &["--no-namespaces"]] {
            let host = Host::new(if under.is_empty() { "names" } else { "names-filter" }, false, under);
            let link = host.path("outside/lnk");
            std::os::unix::fs::symlink(&host.place, &link).unwrap();
            let workspace = link.join("workspace");
            let run = |state: &str, line: String| {
                let words = ["exec", "--state", state, "-c", &line];
                let mut words = words.map(str::to_owned).to_vec();
                words.splice(1..1, ["--workspace".to_owned(), workspace.to_string_lossy().into_owned()]);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let mut command = host.command(&words);
                let output = command.current_dir(&workspace).env("PWD", &workspace).output().unwrap();
                (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
            };
            let shown = workspace.display();
            for state in ["planning", "implementing", "testing"] {
                let expected = format!("content\n{shown}\n");
                let done = run(state, format!("cat {shown}/file; pwd"));
                assert_eq!(done, (Some(0), expected), "{under:?} {state}");
            }
            assert_eq!(run("implementing", format!("echo new > {shown}/made")).0, Some(0), "{under:?}");
            assert_eq!(fs::read_to_string(host.path("workspace/made")).unwrap(), "new\n");
            // Beside it nothing can be read.
            let beside = run("testing", format!("cat {}/outside/file", link.display()));
            assert_eq!((beside.0, beside.1.as_str()), (Some(1), ""), "{under:?}");
        }
    }
}

#[test]
fn an_outer_landlock_domain_forbids_mounts_and_the_inner_one_still_holds() {
    if python("an_outer_landlock_domain_forbids_mounts_and_the_inner_one_still_holds") {
        for ordinary in users() {
            let granted = ["--landlock", "{place}", "--landlock", "/dev", "--landlock", "/tmp"];
            let host = Host::new("domain", *ordinary, &granted);
            sound(&host.doctor(), "landlock-only");
            host.works();
        }
    }
}

#[test]
fn a_listener_that_is_already_there_changes_nothing() {
    if python("a_listener_that_is_already_there_changes_nothing") {
        for ordinary in users() {
            let host = Host::new("listener", *ordinary, &["--listener"]);
            sound(&host.doctor(), "full");
            host.works();
        }
    }
}

#[test]
fn without_landlock_nothing_runs_and_the_reason_is_told() {
    if python("without_landlock_nothing_runs_and_the_reason_is_told") {
        for errno in [libc::ENOSYS, libc::EOPNOTSUPP] {
            let host = Host::new("old", false, &["--no-landlock", &errno.to_string()]);
            let (code, text) = host.exec("planning", "cat file");
            assert_eq!(code, Some(125), "{text}");
            assert!(text.contains("landlock_too_old"), "{text}");
            let (value, code) = host.doctor();
            assert_eq!(code, Some(1), "{value:#}");
            assert!(
                value["checks"].as_array().unwrap().iter().all(|check| check["proof"] == "unproven"),
                "{value:#}"
            );
        }
    }
}

/// podman with runc and no network, on a root file system of busybox.
fn container(options: &[&str], place: &Path, command: &[&str]) -> Output {
    let hard =
        rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(1024).to_string();
    Command::new("podman")
        .args(["--runtime", "runc", "--cgroup-manager=cgroupfs", "run", "--rm", "--network=none"])
        .args(["--ulimit", &format!("nofile=1024:{hard}"), "--ulimit", "nproc=1024:1024"])
        .args(options)
        .args(["--rootfs", place.to_str().unwrap()])
        .args(command)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn in_a_real_container_it_works_and_says_what_it_has() {
    let test = "in_a_real_container_it_works_and_says_what_it_has";
    let missing = ["podman", "runc", "busybox"].into_iter().find(|program| {
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        !path.split(':').any(|directory| Path::new(directory).join(program).exists())
    });
    let reason = if rustix::process::geteuid().is_root() { missing } else { Some("root") };
    if let Some(reason) = reason {
        assert!(!std::env::var("SWBOX_REQUIRE").unwrap_or_default().contains("container"), "no {reason}");
        println!("SKIP {test}: no {reason}");
        return;
    }
    let host = Host::new("container", false, &[]);
    let root = host.path("root");
    for directory in ["bin", "etc", "proc", "sys", "dev", "tmp", "root", "work", "usr"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    fs::copy("/usr/bin/busybox", root.join("bin/busybox")).unwrap();
    for name in ["sh", "cat", "true"] {
        std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_swbox"), root.join("bin/swbox")).unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n").unwrap();
    fs::write(root.join("work/file"), "content\n").unwrap();
    let denied = r#"{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
        {"names":["unshare","mount","umount2","fsopen","fsmount","open_tree","move_mount","pivot_root"],"action":"SCMP_ACT_ERRNO"},
        {"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":38},
        {"names":["clone"],"action":"SCMP_ACT_ERRNO",
         "args":[{"index":0,"value":268435456,"valueTwo":268435456,"op":"SCMP_CMP_MASKED_EQ"}]}]}"#;
    fs::write(host.path("docker.json"), denied).unwrap();
    let docker = format!("seccomp={}", host.path("docker.json").display());
    for options in [&[][..], &["--security-opt", &docker][..]] {
        let output = container(options, &root, &["/bin/swbox", "doctor", "--json"]);
        let text = String::from_utf8_lossy(&output.stdout);
        let value: Value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(output.status.code(), Some(0), "{value:#}");
        for check in value["checks"].as_array().unwrap() {
            assert_ne!(check["proof"], "refuted", "{check:#}");
            println!("{} {} {}", check["protection"], check["achieved"], check["level"]);
        }
        let line = [
            "/bin/swbox",
            "exec",
            "--state",
            "planning",
            "--workspace",
            "/work",
            "--",
            "/bin/cat",
            "/work/file",
        ];
        let output = container(options, &root, &line);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "content\n", "{output:?}");
    }
}
