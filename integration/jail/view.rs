//! What a command sees and is: root, processes, privileges, environment, descriptors, network.

use std::net::TcpListener;
use std::os::fd::AsRawFd;

use swbox::policy::{NetworkRight, WorkspaceRight};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, executable};

pub(crate) const CASES: &[Case] = &[
    Case { name: "the root holds what is listed, and nothing lies over it", needs: "userns", run: root },
    Case { name: "a secret is a stub that cannot be read", needs: "userns", run: secrets },
    Case { name: "processes outside are not there", needs: "userns", run: processes },
    Case { name: "no privilege, no capability, a filter", needs: "userns", run: privileges },
    Case { name: "pid 1 keeps its memory and environment to itself", needs: "userns", run: first_process },
    Case { name: "the environment is the spec's", needs: "userns", run: environment },
    Case { name: "inherited descriptors are closed", needs: "userns", run: descriptors },
    Case { name: "no network: no IP socket", needs: "userns", run: no_network },
    Case { name: "loopback is the command's own", needs: "userns", run: loopback },
    Case { name: "kernel settings cannot be written, also by user 0", needs: "userns", run: settings },
    Case { name: "System V IPC is the command's own", needs: "userns", run: ipc },
    Case {
        name: "live sockets at the top of the workspace are masked, stale ones are not",
        needs: "userns",
        run: sockets,
    },
    Case { name: "a file on standard input cannot be emptied through it", needs: "userns", run: input },
    Case { name: "names of a workspace without its contents", needs: "userns", run: names },
    Case { name: "devices, terminals and shared memory are private", needs: "userns", run: devices },
    Case { name: "TMPDIR, HOME and XDG_RUNTIME_DIR exist and can be written", needs: "userns", run: private },
];

fn root() -> Verdict {
    let place = Place::new();
    let hidden = place.write("hidden/file", "secret");
    let jail = Jail::read(&place.workspace());
    let script = format!("ls -a /; ls -a /..; ls -a /../..; cat {}", hidden.display());
    let done = jail.sh(&script);
    let mut names: Vec<_> = done.out.split_whitespace().filter(|name| !matches!(*name, "." | "..")).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| *name != "lib64" && *name != "sbin");
    check!(
        names == ["bin", "dev", "etc", "home", "lib", "proc", "tmp", "usr", "var"],
        "the root has {names:?}"
    );
    check!(done.err.contains("No such file"), "a file beside the workspace: {}", done.all());
    let mounts = jail.sh("cut -d' ' -f5 /proc/self/mountinfo").out;
    check!(mounts.lines().filter(|point| *point == "/").count() == 1, "more than one root: {mounts}");
    Verdict::Passed
}

fn secrets() -> Verdict {
    let place = Place::new();
    let file = place.write("w/.env", "TOKEN=1");
    place.write("w/keys/id", "KEY");
    let link = place.path("w/link");
    std::os::unix::fs::symlink(place.path("w/keys"), &link).unwrap();
    let script =
        "cat .env; cat keys/id; ls keys; cat link/id; chmod 644 .env; cp -r . /tmp/copy; cat /tmp/copy/.env";
    let open = Jail::read(&place.workspace()).sh(script);
    check!(open.out.contains("TOKEN=1") && open.out.contains("KEY"), "twin: {}", open.all());
    for jail in [Jail::read(&place.workspace()), Jail::write(&place.workspace())] {
        let jail =
            jail.with(|spec| spec.secrets = vec![file.clone(), place.path("w/keys"), place.path("w/absent")]);
        let done = jail.sh(script);
        check!(!done.out.contains("TOKEN") && !done.out.contains("KEY"), "{}", done.all());
        check!(done.err.contains("Permission denied"), "{}", done.all());
    }
    check!(std::fs::read(file).unwrap() == b"TOKEN=1", "the secret was changed");
    Verdict::Passed
}

fn processes() -> Verdict {
    let place = Place::new();
    let own = std::process::id();
    let done = Jail::read(&place.workspace())
        .sh(&format!("kill -0 {own}; ls -d /proc/[0-9]*; cat /proc/1/comm; tr '\\0' ' ' < /proc/1/cmdline"));
    check!(done.err.contains("No such process"), "{}", done.all());
    check!(done.out.lines().filter(|line| line.starts_with("/proc")).count() <= 3, "{}", done.all());
    check!(done.out.contains("swbox-init\nswbox-init"), "{}", done.all());
    Verdict::Passed
}

fn privileges() -> Verdict {
    let place = Place::new();
    let done = Jail::write(&place.workspace()).sh("cat /proc/self/status");
    for line in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let empty = format!("{line}:\t0000000000000000");
        check!(done.out.contains(&empty), "{line} is not empty: {}", done.all());
    }
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        check!(done.out.contains(line), "no {line}: {}", done.all());
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    check!(status.contains("NoNewPrivs:\t0"), "the launcher itself was confined");
    Verdict::Passed
}

fn first_process() -> Verdict {
    let place = Place::new();
    let jail = Jail::read(&place.workspace());
    let done = jail.sh(
        "cat /proc/1/environ; cat /proc/1/maps; cat /proc/1/fd/0; ls /proc/1/root/; cat /proc/self/environ",
    );
    check!(!done.out.contains("CARGO"), "{}", done.all());
    check!(done.err.matches("Permission denied").count() == 4, "{}", done.all());
    check!(done.out.contains("PATH="), "twin: its own environment can be read: {}", done.all());
    Verdict::Passed
}

fn environment() -> Verdict {
    let place = Place::new();
    let jail = Jail::read(&place.workspace()).with(|spec| {
        spec.env = [("A".into(), "1 2".into()), ("PATH".into(), "/usr/bin:/bin".into())].into();
    });
    let done = jail.launch(&["env"]).unwrap();
    check!(done.out == "A=1 2\nPATH=/usr/bin:/bin\n", "{}", done.all());
    Verdict::Passed
}

fn descriptors() -> Verdict {
    let place = Place::new();
    let file = std::fs::File::open(place.write("outside", "leak")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let script = format!("cat <&{0}; cat /proc/self/fd/{0}; ls /proc/self/fd", file.as_raw_fd());
    let twin = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    check!(twin.stdout.starts_with(b"leak"), "twin: the descriptor is inheritable");
    let done = Jail::read(&place.workspace()).sh(&script);
    check!(!done.out.contains("leak"), "{}", done.all());
    Verdict::Passed
}

const SERVER: &str = "
import socket
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    s = socket.socket(family); s.bind((host, 0)); s.listen()
    c = socket.create_connection(s.getsockname()[:2]); s.accept()[0].send(b'x'); assert c.recv(1) == b'x'
u = socket.socket(socket.AF_UNIX); u.bind('/tmp/s'); u.listen(); socket.socket(socket.AF_UNIX).connect('/tmp/s')
print('served')
";

fn no_network() -> Verdict {
    let place = Place::new();
    let done = Jail::read(&place.workspace()).launch(&["python3", "-c", SERVER]).unwrap();
    check!(
        !done.out.contains("served")
            && done.err.contains("not permitted") | done.err.contains("not supported"),
        "{}",
        done.all()
    );
    let pair = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))";
    let done = Jail::read(&place.workspace()).launch(&["python3", "-c", pair]).unwrap();
    check!(done.ok(), "socketpair: {}", done.all());
    Verdict::Passed
}

fn loopback() -> Verdict {
    let place = Place::new();
    let done = Jail::write(&place.workspace()).launch(&["python3", "-c", SERVER]).unwrap();
    check!(done.out.contains("served"), "{}", done.all());
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = host.local_addr().unwrap();
    let connect = format!(
        "import socket; socket.create_connection(('127.0.0.1', {}), 2); print('reached')",
        address.port()
    );
    let done = Jail::write(&place.workspace()).launch(&["python3", "-c", &connect]).unwrap();
    check!(done.err.contains("refused") && !done.out.contains("reached"), "{}", done.all());
    let twin = Jail::write(&place.workspace()).network(NetworkRight::Open);
    let done = twin.launch(&["python3", "-c", &connect]).unwrap();
    check!(done.out.contains("reached"), "twin: {}", done.all());
    Verdict::Passed
}

fn settings() -> Verdict {
    let place = Place::new();
    let jail = Jail::write(&place.workspace()).with(|spec| {
        spec.binds.push(swbox::profile::Bind {
            path: "/sys/devices/system/cpu".into(),
            writable: false,
            exec: false,
            optional: true,
        });
    });
    let done = jail.sh(
        "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/pid_max /proc/sysrq-trigger /proc/self/oom_score_adj; do
            (echo x > $f) && echo wrote $f; done; chmod 777 /dev/null /etc /usr && echo chmod; touch /usr/x /etc/x && echo touch",
    );
    check!(done.out.is_empty(), "{}", done.all());
    Verdict::Passed
}

fn sockets() -> Verdict {
    let place = Place::new();
    place.repository();
    for name in ["w/live", "w/.git/fsmonitor--daemon.ipc", "w/stale", "w/deep/live"] {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
    }
    let listen = |name: &str| std::os::unix::net::UnixListener::bind(place.path(name)).unwrap();
    let (live, daemon) = (listen("w/live"), listen("w/.git/fsmonitor--daemon.ipc"));
    drop(listen("w/stale"));
    let script = "
import os, socket
for name in ('live', '.git/fsmonitor--daemon.ipc'):
    try: socket.socket(socket.AF_UNIX).connect(name); print('reached', name)
    except OSError as e: print('refused', e.errno)
os.unlink('stale'); socket.socket(socket.AF_UNIX).bind('stale'); print('replaced')";
    let twin = std::process::Command::new("python3")
        .args(["-c", script])
        .current_dir(place.workspace())
        .output()
        .unwrap();
    check!(twin.stdout.starts_with(b"reached"), "twin: {}", String::from_utf8_lossy(&twin.stderr));
    drop(twin);
    std::fs::remove_file(place.path("w/stale")).unwrap();
    drop(listen("w/stale"));
    let done = Jail::write(&place.workspace()).launch(&["python3", "-c", script]).unwrap();
    check!(!done.out.contains("reached") && done.out.contains("replaced"), "{}", done.all());
    drop((live, daemon));
    Verdict::Passed
}

fn input() -> Verdict {
    let place = Place::new();
    let file = place.write("input", "precious");
    let empty = "import os; os.open('/proc/self/fd/0', os.O_RDONLY | os.O_TRUNC)";
    for right in ["read", "write", "throw"] {
        let mut command = crate::kit::launcher(right, &place.workspace(), &["python3", "-c", empty]);
        let status =
            command.stdin(std::fs::File::open(&file).unwrap()).stderr(std::process::Stdio::null()).status();
        check!(!status.unwrap().success(), "{right}: it could be opened");
        check!(std::fs::read(&file).unwrap() == b"precious", "{right}: it was emptied");
    }
    let mut cat = crate::kit::launcher("read", &place.workspace(), &["cat"]);
    let output = cat.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    check!(output.stdout == b"precious", "it can be read");
    Verdict::Passed
}

/// Makes a shared memory segment with a key and says how many there are.
const SEGMENT: &str = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print('made' if libc.shmget(0x5b0c, 4096, 0o1600) >= 0 else 'refused', os.strerror(ctypes.get_errno()))
print('seen', len(open('/proc/sysvipc/shm').readlines()) - 1)
";

fn ipc() -> Verdict {
    let place = Place::new();
    let host = crate::kit::python(SEGMENT, &[]);
    let Some(host) = host else { return Verdict::Skipped("no python3".to_owned()) };
    check!(host.stdout.starts_with(b"made"), "twin: {}", String::from_utf8_lossy(&host.stdout));
    let done = Jail::read(&place.workspace()).launch(&["python3", "-c", SEGMENT]).unwrap();
    let _ = std::process::Command::new("ipcrm").args(["-M", "0x5b0c"]).status();
    check!(done.out.starts_with("made") && done.out.contains("seen 1"), "{}", done.all());
    Verdict::Passed
}

fn names() -> Verdict {
    let place = Place::new();
    place.write("w/a/file", "content");
    let list = "ls; ls a; cat a/file; grep -r content .";
    let twin = Jail::read(&place.workspace()).sh(list);
    check!(twin.out.contains("content"), "twin: {}", twin.all());
    let done = Jail::read(&place.workspace()).right(WorkspaceRight::List).sh(list);
    check!(done.out.contains("file") && !done.out.contains("content"), "{}", done.all());
    let other = Jail::read(&place.workspace())
        .right(WorkspaceRight::List)
        .sh("cat /etc/passwd | wc -l; python3 -c 'print(1)'");
    check!(other.ok(), "other files stay readable: {}", other.all());
    Verdict::Passed
}

fn devices() -> Verdict {
    let place = Place::new();
    let done = Jail::read(&place.workspace()).sh(
        "ls /dev; ls /dev/pts /dev/shm; head -c 4 /dev/urandom | wc -c; echo x > /dev/null; echo y > /dev/shm/y; \
         python3 -c 'import os, multiprocessing as m; m.Lock(); a, b = os.openpty(); os.write(a, b\"x\\n\"); print(os.read(b, 2), os.ttyname(b))'",
    );
    check!(done.out.contains("b'x\\n' /dev/pts/0"), "{}", done.all());
    check!(!std::path::Path::new("/dev/shm/y").exists(), "shared memory of the host");
    for device in ["mem", "kmsg", "vda", "sda", "kvm", "fuse"] {
        check!(!done.out.split_whitespace().any(|name| name == device), "{device}: {}", done.all());
    }
    Verdict::Passed
}

fn private() -> Verdict {
    let place = Place::new();
    let jail = Jail::read(&place.workspace()).with(|spec| {
        for (name, value) in [("TMPDIR", "/tmp/deep/er"), ("XDG_RUNTIME_DIR", "/run/user/7")] {
            spec.env.insert(name.into(), value.into());
        }
        spec.files.push(("/home/swjail/.gitconfig".into(), b"[user]\n\tname = made\n".to_vec()));
    });
    let tool = place.write("w/tool", "#!/bin/sh\necho tool");
    executable(&tool);
    let done = jail.sh(
        "mktemp; stat -c %a $XDG_RUNTIME_DIR; echo x > $HOME/x; git config --global user.name; cp tool $TMPDIR/t; $TMPDIR/t; ./tool; \
         cat <<END\nhere\nEND",
    );
    check!(done.ok(), "{}", done.all());
    for wanted in ["/tmp/deep/er/tmp.", "700", "made", "tool\ntool", "here"] {
        check!(done.out.contains(wanted), "no {wanted}: {}", done.all());
    }
    check!(!std::path::Path::new("/tmp/deep").exists(), "a directory of the host was made");
    Verdict::Passed
}
