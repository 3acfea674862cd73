//! The jail is the wall, not the parser: with the decision layer switched off, what `planning` forbids still fails in the
//! kernel, from bash, from python and from a compiled C program. Each act is first done outside, where it must work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod project;

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use project::{Project, Ran, has, ran};

/// The program without decisions. `cargo test` builds it, `cargo test --test wall` does not: so it is built here.
fn unjudged() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--locked", "--example", "unjudged"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
        let here = std::env::current_exe().unwrap();
        here.parent().unwrap().parent().unwrap().join("examples/unjudged")
    };
    BUILT.get_or_init(build).clone()
}

fn inside(project: &Project, state: &str, line: &str) -> Ran {
    ran(project.command_as(&unjudged(), &[state, line]).output().unwrap())
}

/// The acts: a name, the same in every language. A program prints `done` when the act worked.
const ACTS: &[&str] = &[
    "write",
    "create",
    "append",
    "truncate",
    "unlink",
    "rename",
    "mkdir",
    "rmdir",
    "chmod",
    "utimes",
    "symlink",
    "link",
    "git-config",
    "git-hook",
    "outside-write",
    "outside-create",
    "secret",
    "tcp",
    "unix",
    "signal",
];

const PYTHON: &str = r#"
import os, socket, sys
act, out, home, port, pid = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
def put(path, flags, data=b"owned"):
    fd = os.open(path, flags, 0o644); os.write(fd, data); os.close(fd)
def unix():
    s = socket.socket(socket.AF_UNIX); s.connect(out + "/sock")
def tcp():
    s = socket.socket(); s.settimeout(2); s.connect(("127.0.0.1", port))
def secret():
    assert b"SECRET" in open(home + "/.ssh/id_ed25519", "rb").read()
W = os.O_WRONLY
{
    "write": lambda: put("config.yml", W),
    "create": lambda: put("made", W | os.O_CREAT),
    "append": lambda: put("config.yml", W | os.O_APPEND),
    "truncate": lambda: os.truncate("config.yml", 0),
    "unlink": lambda: os.unlink("config.yml"),
    "rename": lambda: os.rename("config.yml", "other.yml"),
    "mkdir": lambda: os.mkdir("made"),
    "rmdir": lambda: os.rmdir("empty"),
    "chmod": lambda: os.chmod("config.yml", 0o777),
    "utimes": lambda: os.utime("config.yml", (1, 1)),
    "symlink": lambda: os.symlink("/etc", "made"),
    "link": lambda: os.link("config.yml", "made"),
    "git-config": lambda: put(".git/config", W | os.O_APPEND),
    "git-hook": lambda: put(".git/hooks/post-checkout", W | os.O_CREAT),
    "outside-write": lambda: put(out + "/kept", W),
    "outside-create": lambda: put(out + "/made", W | os.O_CREAT),
    "secret": secret,
    "tcp": tcp,
    "unix": unix,
    "signal": lambda: os.kill(pid, 0),
}[act]()
print("done")
"#;

const C: &str = r#"
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
static int put(const char *path, int flags) {
  int fd = open(path, flags, 0644);
  return fd < 0 || write(fd, "owned", 5) != 5 ? -1 : close(fd);
}
static char *join(const char *a, const char *b) {
  static char text[4096];
  snprintf(text, sizeof text, "%s%s", a, b);
  return text;
}
int main(int argc, char **argv) {
  const char *act = argv[1], *out = argv[2], *home = argv[3];
  int port = atoi(argv[4]), pid = atoi(argv[5]), answer = -1;
#define IS(name) (!strcmp(act, name))
  if (IS("write")) answer = put("config.yml", O_WRONLY);
  if (IS("create")) answer = put("made", O_WRONLY | O_CREAT);
  if (IS("append")) answer = put("config.yml", O_WRONLY | O_APPEND);
  if (IS("truncate")) answer = truncate("config.yml", 0);
  if (IS("unlink")) answer = unlink("config.yml");
  if (IS("rename")) answer = rename("config.yml", "other.yml");
  if (IS("mkdir")) answer = mkdir("made", 0755);
  if (IS("rmdir")) answer = rmdir("empty");
  if (IS("chmod")) answer = chmod("config.yml", 0777);
  if (IS("utimes")) { struct timespec t[2] = {{1, 0}, {1, 0}}; answer = utimensat(AT_FDCWD, "config.yml", t, 0); }
  if (IS("symlink")) answer = symlink("/etc", "made");
  if (IS("link")) answer = link("config.yml", "made");
  if (IS("git-config")) answer = put(".git/config", O_WRONLY | O_APPEND);
  if (IS("git-hook")) answer = put(".git/hooks/post-checkout", O_WRONLY | O_CREAT);
  if (IS("outside-write")) answer = put(join(out, "/kept"), O_WRONLY);
  if (IS("outside-create")) answer = put(join(out, "/made"), O_WRONLY | O_CREAT);
  if (IS("secret")) { char c; int fd = open(join(home, "/.ssh/id_ed25519"), O_RDONLY); answer = fd < 0 || read(fd, &c, 1) != 1 ? -1 : 0; }
  if (IS("tcp")) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    answer = fd < 0 ? -1 : connect(fd, (void *)&to, sizeof to);
  }
  if (IS("unix")) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s/sock", out);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    answer = fd < 0 ? -1 : connect(fd, (void *)&to, sizeof to);
  }
  if (IS("signal")) answer = kill(pid, 0);
  if (answer == 0) puts("done");
  else perror(act);
  return answer != 0;
}
"#;

/// The place where the acts are done, with the servers they try to reach.
struct Scene {
    project: Project,
    tcp: TcpListener,
    _unix: UnixListener,
}

impl Scene {
    fn new() -> Self {
        let project = Project::new();
        fs::create_dir(project.path().join("empty")).unwrap();
        fs::write(project.path().join("act.py"), PYTHON).unwrap();
        fs::write(project.path().join("act.c"), C).unwrap();
        let unix = UnixListener::bind(project.outside().join("sock")).unwrap();
        Self { tcp: TcpListener::bind("127.0.0.1:0").unwrap(), _unix: unix, project }
    }

    fn arguments(&self, act: &str) -> String {
        format!(
            "{act} {} {} {} {}",
            self.project.outside().display(),
            self.project.home().display(),
            self.tcp.local_addr().unwrap().port(),
            std::process::id()
        )
    }

    /// Each act works outside and fails inside, and nothing of the host changed.
    fn hold(&self, program: &str, state: &str, acts: &[&str]) {
        for act in acts {
            let control = Self::new();
            if program == "./act" {
                fs::copy(self.project.path().join("act"), control.project.path().join("act")).unwrap();
            }
            let bare = control.project.bare(&format!("{program} {}", control.arguments(act)));
            assert_eq!(bare.stdout, "done\n", "{program} {act}: must work outside: {bare:?}");

            let (tree, around) = (self.project.tree(), self.project.surroundings());
            let git = self.git_files();
            let held = inside(&self.project, state, &format!("{program} {}", self.arguments(act)));
            assert!(!held.stdout.contains("done"), "{program} {act} worked in {state}: {held:?}");
            assert!(held.code != 0 && held.code != 125, "{program} {act}: must have been tried: {held:?}");
            assert_eq!((self.project.tree(), self.project.surroundings()), (tree, around), "{program} {act}");
            assert_eq!(self.git_files(), git, "{program} {act}");
        }
    }

    fn git_files(&self) -> (Vec<u8>, bool) {
        let git = self.project.path().join(".git");
        (fs::read(git.join("config")).unwrap(), git.join("hooks/post-checkout").exists())
    }
}

#[test]
fn a_panic_is_a_set_up_error() {
    let project = Project::new();
    let ran = ran(project.command_as::<&str>(&unjudged(), &[]).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("on purpose") && ran.stderr.contains("[internal_fault]"), "{ran:?}");
}

#[test]
fn python_is_held_in_planning() {
    if has("python_is_held_in_planning", "python3") {
        Scene::new().hold("python3 act.py", "planning", ACTS);
    }
}

#[test]
fn a_compiled_program_is_held_in_planning() {
    if !has("a_compiled_program_is_held_in_planning", "cc") {
        return;
    }
    let scene = Scene::new();
    let built = scene.project.bare("cc -o act act.c");
    assert_eq!(built.code, 0, "{built:?}");
    scene.hold("./act", "planning", ACTS);
    scene.hold(
        "./act",
        "review",
        &["write", "create", "unlink", "rename", "git-config", "outside-write", "secret", "tcp"],
    );
}

#[test]
fn bash_is_held_in_planning() {
    let project = Project::new();
    let (tree, around) = (project.tree(), project.surroundings());
    let outside = project.outside();
    let outside = outside.display();
    for line in [
        "cat > config.yml <<< owned".to_owned(),
        "echo owned >> README.md".to_owned(),
        "sed -i s/value/owned/ config.yml".to_owned(),
        "rm -rf build".to_owned(),
        "mv src elsewhere".to_owned(),
        "git commit --allow-empty -m x".to_owned(),
        "git checkout HEAD~1".to_owned(),
        "exec 3<>/dev/tcp/127.0.0.1/1".to_owned(),
        format!("echo owned > {outside}/made"),
        "cat ~/.ssh/id_ed25519".to_owned(),
    ] {
        let held = inside(&project, "planning", &line);
        assert!(held.code != 0 && held.code != 125, "{line}: {held:?}");
        assert!(!held.stdout.contains("SECRET"), "{line}: {held:?}");
        assert_eq!((project.tree(), project.surroundings()), (tree.clone(), around.clone()), "{line}");
    }
    assert_eq!(project.git(&["log", "--oneline"]).lines().count(), 4);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn writing_states_are_held_to_the_workspace() {
    if !has("writing_states_are_held_to_the_workspace", "cc") {
        return;
    }
    let scene = Scene::new();
    assert_eq!(scene.project.bare("cc -o act act.c").code, 0);
    for state in ["implementing", "testing"] {
        let acts = ["git-config", "git-hook", "outside-write", "outside-create", "secret", "unix", "signal"];
        let acts = if state == "testing" { &acts[2..] } else { &acts[..] };
        scene.hold("./act", state, acts);
    }
    // The throw-away layer takes the change to git's files as it takes any other.
    let git = scene.git_files();
    inside(
        &scene.project,
        "testing",
        &format!("./act git-config {}", scene.arguments("x").trim_start_matches("x ")),
    );
    assert_eq!(scene.git_files(), git);
    assert!(Path::new("/proc/self").exists());
}
