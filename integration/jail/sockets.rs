//! Unix sockets of the host in what a command sees.

use std::path::Path;

use swbox::policy::WorkspaceRight;

use crate::check;
use crate::kit::{Case, Jail, Verdict};
use crate::planted::place;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "sockets that the kernel lists are masked wherever they lie",
        needs: "userns",
        run: sockets_that_the_kernel_lists_are_masked_wherever_they_lie,
    },
    Case {
        name: "sockets deep in the workspace are masked once noted",
        needs: "userns",
        run: sockets_deep_in_the_workspace_are_masked_once_noted,
    },
];

/// A command that connects to a unix socket.
fn connecting(path: &str) -> String {
    format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'")
}

/// A process that listens, until this is dropped.
struct Listening(std::process::Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that listens at `host.sock` of a directory, by that name.
fn listening_in(directory: &Path) -> Listening {
    let code = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind('host.sock')\ns.listen()\nprint(flush=True)\nsys.stdin.read()";
    let mut python = std::process::Command::new("python3");
    python.args(["-c", code]).current_dir(directory);
    python.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = python.spawn().unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    Listening(child)
}

fn sockets_that_the_kernel_lists_are_masked_wherever_they_lie() -> Verdict {
    let place = place();
    std::fs::create_dir_all(place.path("w/a/b")).unwrap();
    std::fs::create_dir_all(place.path("shown/d")).unwrap();
    std::os::unix::fs::symlink("w", place.path("link")).unwrap();
    let listen = |name: &str| std::os::unix::net::UnixListener::bind(place.path(name)).unwrap();
    let _listeners =
        [listen("w/a/b/one"), listen("link/a/b/two"), listen("shown/d/three"), listen("w/a/b/free")];
    let shown = place.path("shown");
    let jail = |right: &dyn Fn(Jail) -> Jail| {
        right(Jail::write(&place.workspace())).with(|spec| {
            let path = shown.clone();
            spec.binds.push(swbox::profile::Bind { path, writable: false, exec: false, optional: false });
        })
    };
    if jail(&|jail| jail).host.landlock_abi >= 9 {
        return Verdict::Skipped("Landlock holds it by itself".to_owned());
    }
    let three = shown.join("d/three").to_string_lossy().into_owned();
    for right in
        [(&|jail: Jail| jail) as &dyn Fn(Jail) -> Jail, &|jail: Jail| jail.right(WorkspaceRight::ThrowAway)]
    {
        for name in ["a/b/one", "a/b/two", &three] {
            let done = jail(right).sh(&connecting(name));
            check!(!done.ok(), "{name}: {}", done.all());
        }
        // The command's own are its own.
        let own = "python3 -c 'import socket\na = socket.socket(socket.AF_UNIX); a.bind(\"a/own\"); a.listen()\nsocket.socket(socket.AF_UNIX).connect(\"a/own\")'; s=$?; rm -f a/own; exit $s";
        let own = jail(right).sh(own);
        check!(own.ok(), "{}", own.all());
    }
    // The twin: the very same without a name in the list, since another socket took the place.
    std::fs::remove_file(place.path("w/a/b/free")).unwrap();
    let _other = listening_in(&place.path("w/a"));
    std::fs::rename(place.path("w/a/host.sock"), place.path("w/a/b/twin")).unwrap();
    let reached = jail(&|jail| jail).sh(&connecting("a/b/twin"));
    check!(reached.ok(), "{}", reached.all());
    let said = reached.outcome.degraded.iter().any(|reason| reason.starts_with("host-sockets"));
    check!(said, "{:?}", reached.outcome.degraded);
    Verdict::Passed
}

fn sockets_deep_in_the_workspace_are_masked_once_noted() -> Verdict {
    let place = place();
    std::fs::create_dir_all(place.path("w/a/b")).unwrap();
    // By a relative name: the kernel's list does not say where it is.
    let listener = listening_in(&place.path("w/a/b"));
    let note = place.path("state/note");
    let connect = connecting("a/b/host.sock");
    let jail = || Jail::write(&place.workspace()).with(|spec| spec.repositories = Some(note.clone()));
    if jail().host.landlock_abi >= 9 {
        return Verdict::Skipped("Landlock holds it by itself".to_owned());
    }
    let first = jail().with(|spec| spec.repositories = None).sh(&connect);
    check!(first.ok(), "the twin, and what is said to be degraded: {}", first.all());
    let said = first.outcome.degraded.iter().any(|reason| reason.starts_with("host-sockets"));
    check!(said, "{:?}", first.outcome.degraded);
    let second = jail().sh(&connect);
    check!(!second.ok() && second.err.contains("Permission"), "{}", second.all());
    // One that nobody listens on any more is the command's to replace.
    drop(listener);
    let own = jail().sh("rm a/b/host.sock && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"a/b/host.sock\")'");
    check!(own.ok(), "{}", own.all());
    Verdict::Passed
}
