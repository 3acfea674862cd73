//! Refusals of every kind, by every kind of program: each is told with its path and its cause, and ordinary failures are
//! told by nobody.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;

use swbox::policy::WorkspaceRight;
use swbox::profile::Bind;
use swbox::supervisor::notify::Settings;

use super::scripts::toolchain;
use super::{BOTH, denials, run_with};
use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, git, is_root};

pub(crate) const CASES: &[Case] = &[
    Case { name: "truth: refusals are told with path and cause", needs: "namespaces", run: refusals },
    Case { name: "truth: ordinary failures are told by nobody", needs: "namespaces", run: ordinary },
    Case { name: "truth: limits are told", needs: "namespaces", run: limits },
];

/// The state that a case is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Read,
    Write,
    /// Writes would vanish.
    ThrowAway,
    /// The state could write, the command's classes do not.
    Narrowed,
    /// Names only.
    List,
}
use State::{List, Narrowed, Read, ThrowAway, Write};

/// State, program, what it does, what is told of it (act, path, cause).
type Row = (State, &'static str, &'static str, &'static str);

/// `~` is the place that has the workspace `w`, a directory `out` that the jail hides, and one `shown` that it shows
/// read-only and without programs.
const REFUSALS: &[Row] = &[
    (Read, "bash", "echo x > new", "Create ~/w/new Rights"),
    (Read, "bash", "echo x >> a", "Write ~/w/a Rights"),
    (Read, "bash", "mkdir sub", "Create ~/w/sub Rights"),
    (Read, "bash", "rm a", "Remove ~/w/a Rights"),
    (Read, "bash", "rmdir empty", "Remove ~/w/empty Rights"),
    (Read, "bash", "mv a b", "Rename ~/w/a Rights"),
    (Read, "bash", "ln a z", "Create ~/w/z Rights"),
    (Read, "bash", "ln -s a z", "Create ~/w/z Rights"),
    (Read, "bash", "chmod 600 a", "Metadata ~/w/a Rights"),
    (Read, "bash", "sed -i s/a/b/ a", "Create ~/w/sed~ Rights"),
    (Narrowed, "bash", "echo x > new", "Create ~/w/new Narrowed"),
    (Read, "python3", "os.truncate('a', 0)", "Write ~/w/a Rights"),
    (Read, "python3", "os.rename('a', 'n')", "Rename ~/w/a Rights"),
    (Read, "python3", "os.mkfifo('ff')", "Create ~/w/ff Rights"),
    (Read, "python3", "os.utime('a')", "Metadata ~/w/a Rights"),
    (Read, "python3", "os.setxattr('a', 'user.x', b'y')", "Metadata ~/w/a Rights"),
    (Read, "python3", "os.open('.', os.O_TMPFILE | os.O_RDWR)", "Create ~/w Rights"),
    (Read, "git", "add -A", "Create ~/w/.git/index.lock Protected"),
    (Write, "git", "commit -qam x", "Create ~/w/.git/index.lock Protected"),
    (Write, "git", "config user.name x", "Create ~/w/.git/config.lock Protected"),
    (Read, "git", "stash", "Create ~/w/.git/index.lock Protected"),
    (Write, "bash", "echo x > .git/config", "Write ~/w/.git/config Protected"),
    (Write, "bash", "echo x > .git/hooks/pre-commit", "Create ~/w/.git/hooks/pre-commit Protected"),
    (Write, "bash", "mv .git g2", "Rename ~/w/.git Protected"),
    (Write, "bash", "rm -rf .git", "Remove ~/w/.git/HEAD Protected"),
    (Write, "bash", "echo x > .envrc", "Write ~/w/.envrc Protected"),
    (Write, "python3", "os.remove('.envrc')", "Remove ~/w/.envrc Protected"),
    // Of two names the one that the jail holds.
    (Write, "python3", "os.rename('a', '.envrc')", "Rename ~/w/.envrc Protected"),
    (Write, "python3", "os.rename('a', '.git/x')", "Rename ~/w/.git/x Protected"),
    (Write, "python3", "exchange('d', '.git')", "Rename ~/w/.git Protected"),
    (Write, "python3", "os.rename('box', 'other')", "Rename ~/w/box Protected"),
    (Write, "python3", "os.rename('box/f', 'f')", "Rename ~/w/box/f Rights"),
    (Write, "python3", "os.link('a', 'box/z')", "Create ~/w/box/z Rights"),
    (Write, "python3", "openat2('../shown', '/new', 0x10)", "Create ~/shown/new Outside"),
    (Write, "python3", "openat2('../shown', '../../d/../new', 0x10)", "Create ~/shown/new Outside"),
    (Write, "python3", "openat2('.', '../shown/new', 4)", "Create ~/shown/new Outside"),
    (Write, "bash", "echo x > ../out/new", "Create ~/out/new Outside"),
    (Write, "bash", "echo x > ../shown/new", "Create ~/shown/new Outside"),
    (Write, "python3", "os.rename('d', '../out/new')", "Rename ~/out/new Outside"),
    (Write, "python3", "os.link('a', '../out/new')", "Create ~/out/new Outside"),
    (Write, "python3", "os.unlink('../out/x')", "Remove ~/out/x Outside"),
    (Write, "python3", "shutil.rmtree('../shown/d')", "Remove ~/shown/d/y Outside"),
    (Write, "c", "create ../shown/c", "Create ~/shown/c Outside"),
    (Read, "c", "create made", "Create ~/w/made Rights"),
    (Read, "c", "unlink a", "Remove ~/w/a Rights"),
    (Write, "c", "connect 192.0.2.1", "Connect 192.0.2.1:80 Network"),
    (Read, "c", "connect 192.0.2.1", "Connect ipv4 Network"),
    (Write, "bash", "echo > /dev/tcp/192.0.2.1/80", "Connect 192.0.2.1:80 Network"),
    (ThrowAway, "python3", "socket.create_connection(('192.0.2.1', 443))", "Connect 192.0.2.1:443 Network"),
    (Read, "python3", "socket.socket()", "Connect ipv4 Network"),
    (
        Write,
        "python3",
        "socket.socket(socket.AF_UNIX).connect('../out/socket')",
        "Connect ~/out/socket Outside",
    ),
    (Write, "python3", "socket.socket(socket.AF_UNIX).connect('socket')", "Connect ~/w/socket Outside"),
    (Write, "python3", "connect_abstract('listens')", "Connect @~/w/listens Network"),
    (ThrowAway, "python3", "socket.socket(socket.AF_UNIX).connect('socket')", "Connect ~/w/socket Outside"),
    (Write, "bash", "../shown/program", "Exec ~/shown/program Outside"),
    (Write, "python3", "subprocess.run(['../shown/program'])", "Exec ~/shown/program Outside"),
    (Write, "python3", "subprocess.run(['../out/program'])", "Exec ~/out/program Outside"),
    (Write, "c", "execute ../shown/program", "Exec ~/shown/program Outside"),
    (Read, "npm", "init -y", "Create ~/w/package.json Rights"),
    (Read, "cargo", "new -q --vcs none made", "Create ~/w/made Rights"),
];

/// As [`REFUSALS`], of reads: seen when they are asked for.
const READS: &[Row] = &[
    (Read, "bash", "cat ../secret", "Read ~/secret Secret"),
    (Write, "python3", "open('../secret')", "Read ~/secret Secret"),
    (Read, "c", "read ../secret", "Read ~/secret Secret"),
    (List, "bash", "cat a", "Read ~/w/a Rights"),
];

/// State, program, what fails without the jail as well.
const ORDINARY: &[(State, &str, &str)] = &[
    (Read, "bash", "cat none"),
    (Read, "bash", "rm none"),
    (Write, "bash", "mkdir empty"),
    (Write, "bash", "rmdir d"),
    (Write, "bash", "echo > none/x"),
    (Write, "bash", "echo > a/x"),
    (Write, "bash", "echo > closed"),
    (Write, "bash", "cat closed"),
    (Write, "bash", "echo > kept/x"),
    (Write, "bash", "mv none x"),
    (Write, "bash", "ln a empty"),
    (Write, "bash", "rm d"),
    (Write, "bash", "./a"),
    (Write, "bash", "./d"),
    (Write, "bash", "no-such-program"),
    (Write, "bash", "./none"),
    (Write, "python3", "os.truncate('d', 0)"),
    (Write, "python3", "open('a', 'x')"),
    (Write, "python3", "open('x' * 300, 'w')"),
    (Write, "python3", "open('loop', 'w')"),
    (Write, "python3", "os.chown('none', 0, 0)"),
    (Write, "python3", "open('/dev/full', 'w').write('x')"),
    (Write, "python3", "socket.create_connection(('127.0.0.1', 9))"),
    (Write, "python3", "socket.socket(socket.AF_UNIX).connect('a')"),
    (Write, "python3", "socket.socket(socket.AF_UNIX).connect('/tmp/none')"),
    (Write, "python3", "os.kill(99999, 0)"),
    // What would fail in that way anywhere, where the jail is the first to refuse.
    (Write, "python3", "os.rmdir('../shown/x')"),
    (Write, "python3", "os.unlink('../shown/d')"),
    (Write, "python3", "os.rmdir('../shown/d')"),
    (Write, "python3", "os.rmdir('../shown/d/.')"),
    (Write, "python3", "os.rename('../shown/x', '../shown/d')"),
    (Write, "python3", "os.rename('../shown/d', '../shown/d/e')"),
    (Write, "python3", "os.rename('.', 'z')"),
    (Write, "python3", "os.rename('none', '../out/none')"),
    (Write, "python3", "os.rmdir('.git')"),
    (Write, "python3", "os.open('../shown/x', os.O_RDWR | os.O_DIRECTORY)"),
    (Write, "python3", "os.unlink('../out/none')"),
    (Write, "python3", "os.execv('../out/none', ['x'])"),
    (Write, "python3", "os.execv('../out/x', ['x'])"),
    (Write, "python3", "openat2('.', '../shown/new', 8)"),
    (Write, "python3", "openat2('.', 'loop', 4)"),
    (Write, "python3", "openat2('../shown', 'new', 0x8000)"),
    (Write, "python3", "openat2('../shown', '../shown/new', 8)"),
    (Write, "python3", "openat2('/', os.path.abspath('../shown/new')[1:], 1)"),
    (Write, "python3", "connect_abstract('nobody')"),
    (Write, "python3", "socket.socket().bind(('192.0.2.7', 80))"),
    (Read, "python3", "open('/proc/sys/kernel/core_pattern', 'w')"),
    (Write, "c", "unlink none"),
    (Write, "git", "log no-such-branch"),
];

/// What the python rows use.
const PYTHON: &str = "
import ctypes, os, shutil, socket, struct, subprocess
def call(number, *arguments):
    if ctypes.CDLL(None, use_errno=True).syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), '')
def openat2(directory, name, resolve):
    how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o600, resolve)
    call(437, os.open(directory, os.O_PATH), name.encode(), how, 24)
def exchange(one, other):
    call({'x86_64': 316}.get(os.uname().machine, 276), -100, one.encode(), -100, other.encode(), 2)
def connect_abstract(name):
    socket.socket(socket.AF_UNIX).connect(chr(0) + os.path.join(os.getcwd(), name))
";

/// A static program: no C library at run time that could do anything for it.
const PROGRAM: &str = r#"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words) {
    const char *what = words[1];
    if (!strcmp(what, "create")) return open(words[2], O_CREAT | O_WRONLY, 0600) < 0;
    if (!strcmp(what, "read")) return open(words[2], O_RDONLY) < 0;
    if (!strcmp(what, "unlink")) return unlink(words[2]) != 0;
    if (!strcmp(what, "execute")) return execl(words[2], words[2], (char *)0) != 0;
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };
    inet_pton(AF_INET, words[2], &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0;
}
"#;

/// Builds a C program as `name` in a place; `false` where there is no compiler.
pub(crate) fn compile(place: &Path, name: &str, text: &str) -> bool {
    let source = place.join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-static", "-O1", "-pthread", "-o"]).arg(place.join(name)).arg(&source);
    cc.status().is_ok_and(|status| status.success())
}

/// The place of a case.
fn prepare(compiled: Option<&Path>) -> (Place, [UnixListener; 3]) {
    let place = Place::new();
    place.repository();
    git(&place.workspace(), &["init", "-q", "box"]);
    place.write("w/box/f", "aaa\n");
    for name in
        ["w/a", "w/b", "w/d/e", "w/.envrc", "w/closed", "w/kept/f", "out/x", "shown/x", "shown/d/y", "secret"]
    {
        place.write(name, "aaa\n");
    }
    std::fs::create_dir(place.path("w/empty")).unwrap();
    std::os::unix::fs::symlink("loop", place.path("w/loop")).unwrap();
    let mode = |name: &str, mode| {
        std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    std::fs::copy("/bin/true", place.path("shown/program")).unwrap();
    std::fs::copy("/bin/true", place.path("out/program")).unwrap();
    if let Some(program) = compiled {
        std::fs::copy(program, place.path("w/c")).unwrap();
    }
    mode("w/closed", 0o000);
    mode("w/kept", 0o555);
    let listen = |name: &str| UnixListener::bind(place.path(name)).unwrap();
    let name = SocketAddr::from_abstract_name(place.path("w/listens").as_os_str().as_bytes()).unwrap();
    let listeners = [listen("out/socket"), listen("w/socket"), UnixListener::bind_addr(&name).unwrap()];
    (place, listeners)
}

fn jail(state: State, place: &Place) -> Jail {
    let workspace = place.workspace();
    let jail = match state {
        Read => Jail::read(&workspace),
        Write => Jail::write(&workspace),
        ThrowAway => Jail::throw_away(&workspace),
        Narrowed => Jail::read(&workspace).with(|spec| spec.rights.narrowed.push("write")),
        List => Jail::read(&workspace).right(WorkspaceRight::List),
    };
    let (shown, secret) = (place.path("shown"), place.path("secret"));
    jail.with(|spec| {
        spec.protected.push(".envrc".into());
        spec.binds.push(Bind { path: shown, writable: false, exec: false, optional: false });
        spec.binds.push(Bind { path: secret.clone(), writable: false, exec: false, optional: false });
        spec.secrets.push(secret);
    })
}

/// The words of what a program does; none where the host has no such program.
fn words(program: &str, what: &str) -> Option<Vec<String>> {
    let line = match program {
        "bash" => return Some(vec!["bash".into(), "-c".into(), what.into()]),
        "python3" => {
            return Some(vec!["python3".into(), "-c".into(), format!("{PYTHON}{what}")]);
        }
        "c" => format!("./c {what}"),
        _ => format!("{program} {what}"),
    };
    let here = matches!(program, "c" | "cargo")
        || ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|place| Path::new(place).join(program).exists());
    here.then(|| line.split(' ').map(str::to_owned).collect())
}

/// What was told of a row, both ways, without errnos.
fn told(
    row: (State, &str, &str),
    reads: bool,
    compiled: Option<&Path>,
) -> Option<Vec<(String, Vec<String>)>> {
    let (state, program, what) = row;
    if program == "c" && compiled.is_none() {
        return None;
    }
    let words = words(program, what)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut all = Vec::new();
    for how in BOTH {
        let (place, _listeners) = prepare(compiled);
        let prepared = jail(state, &place);
        let prepared = if program == "cargo" { toolchain(program, prepared)? } else { prepared };
        let settings = Settings { reads, required: true, ..Settings::default() };
        let settings =
            if state == Narrowed { Settings { narrowed: vec!["write"], ..settings } } else { settings };
        let (done, seen) = run_with(&prepared, how, settings, &words);
        let lines = denials(&place.path(""), &seen);
        let bare = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
        all.push((format!("{how:?}: {}", done.all()), lines.iter().map(bare).collect()));
    }
    Some(all)
}

fn refusals() -> Verdict {
    let (mut failed, mut told_of, mut skipped) = (Vec::new(), 0, Vec::new());
    let place = Place::new();
    let compiled = compile(&place.path(""), "c", PROGRAM).then(|| place.path("c"));
    let rows = REFUSALS.iter().map(|row| (row, false)).chain(READS.iter().map(|row| (row, true)));
    for ((state, program, what, wanted), reads) in rows {
        let Some(runs) = told((*state, program, what), reads, compiled.as_deref()) else {
            skipped.push(*program);
            continue;
        };
        told_of += 1;
        for (all, lines) in runs {
            if !lines.iter().any(|line| line == wanted) {
                failed.push(format!("{state:?} {program} {what}: wanted {wanted}, told {lines:?}; {all}"));
            }
        }
    }
    if !skipped.is_empty() {
        let who = if is_root() { "root" } else { "user" };
        println!("SKIP {who}: truth: rows of {skipped:?}: not here");
    }
    check!(failed.is_empty(), "{} of {told_of}\n{}", failed.len(), failed.join("\n"));
    check!(!is_root() || told_of >= 40 || !skipped.is_empty(), "only {told_of} rows");
    Verdict::Passed
}

fn ordinary() -> Verdict {
    let mut failed = Vec::new();
    let place = Place::new();
    let compiled = compile(&place.path(""), "c", PROGRAM).then(|| place.path("c"));
    for row in ORDINARY {
        for (all, lines) in told(*row, true, compiled.as_deref()).unwrap_or_default() {
            if !lines.is_empty() {
                failed.push(format!("{row:?}: told {lines:?}; {all}"));
            }
        }
    }
    check!(failed.is_empty(), "{}", failed.join("\n"));
    Verdict::Passed
}

fn limits() -> Verdict {
    for how in BOTH {
        let place = Place::new();
        let jail = Jail::write(&place.workspace()).with(|spec| spec.limits.file_size = Some(4096));
        let settings = Settings { required: true, ..Settings::default() };
        let (done, _) = run_with(&jail, how, settings, &["bash", "-c", "head -c 9000 /dev/zero > big"]);
        check!(done.outcome.limit.is_some(), "{how:?}: {}", done.all());
    }
    Verdict::Passed
}
