//! What a command may change, and how its end is told.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use swbox::jail::Exit;

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, executable, host_text};

pub(crate) const CASES: &[Case] = &[
    Case { name: "a read state changes nothing", needs: "userns", run: read_state },
    Case {
        name: "a write state writes in the workspace and nowhere else",
        needs: "userns",
        run: write_state,
    },
    Case { name: "a link out of the workspace leads nowhere", needs: "userns", run: links },
    Case { name: "exit codes are the command's, 126, 127 and 128 + n", needs: "userns", run: exits },
    Case { name: "any name of a workspace works", needs: "userns", run: odd_names },
    Case { name: "a bind is read-only, absent, or its own tree", needs: "userns", run: binds },
    Case { name: "set-up errors name the step", needs: "userns", run: errors },
    Case {
        name: "run-later files are held where they exist and reported where they are new",
        needs: "userns",
        run: run_later,
    },
];

/// Every way to change `file`, `dir` and their surroundings; each prints its name when it worked.
const CHANGES: &str = "
(echo x > file) && echo write; (echo x >> file) && echo append; (: > new) && echo create; mkdir newdir && echo mkdir
rm -f file && echo unlink; rmdir dir && echo rmdir; mv file file2 && echo rename; ln file hard && echo link
ln -s x soft && echo symlink; mkfifo fifo && echo mkfifo; truncate -s 0 file && echo truncate
chmod 777 file && echo chmod; touch file && echo utimes; python3 -c 'import os; os.setxattr(\"file\", \"user.a\", b\"1\")' && echo xattr
python3 -c 'import mmap; f = open(\"file\", \"r+b\"); mmap.mmap(f.fileno(), 0)[0:1] = b\"z\"' && echo mmap
";

fn read_state() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one\n");
    std::fs::create_dir(place.path("w/dir")).unwrap();
    let done = Jail::read(&place.workspace()).sh(CHANGES);
    check!(done.out.is_empty(), "{}", done.all());
    check!(std::fs::read(place.path("w/file")).unwrap() == b"one\n", "the file was changed");
    let twin = host_text(&place.workspace(), CHANGES);
    check!(twin.contains("write") && twin.contains("mkfifo"), "twin: {twin}");
    Verdict::Passed
}

fn write_state() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one\n");
    let outside = place.write("outside/file", "one\n");
    std::fs::create_dir(place.path("outside/dir")).unwrap();
    let script = format!("cd {} && {CHANGES}", place.path("outside").display());
    let jail = Jail::write(&place.workspace()).with(|spec| {
        spec.binds.push(swbox::profile::Bind {
            path: place.path("outside"),
            writable: false,
            exec: true,
            optional: false,
        });
    });
    let done = jail.sh(&script);
    check!(done.out.is_empty(), "{}", done.all());
    check!(std::fs::read(&outside).unwrap() == b"one\n", "the file outside was changed");
    let done = jail.sh("echo two > file; mkdir -p a/b; mv file a/b/; ln a/b/file a/hard; chmod 600 a/hard; touch -d @1 a/hard");
    check!(done.ok() && std::fs::read(place.path("w/a/hard")).unwrap() == b"two\n", "{}", done.all());
    Verdict::Passed
}

fn links() -> Verdict {
    let place = Place::new();
    let outside = place.write("outside", "one\n");
    std::os::unix::fs::symlink(&outside, place.path("w/link")).unwrap();
    let done =
        Jail::write(&place.workspace()).sh("cat link; cat ../outside; echo two > link; echo x > ../outside");
    check!(done.out.is_empty(), "{}", done.all());
    check!(std::fs::read(&outside).unwrap() == b"one\n", "written through the link");
    Verdict::Passed
}

fn exits() -> Verdict {
    let place = Place::new();
    let text = place.write("w/text", "#!/bin/sh\n");
    let odd = place.write("w/odd", "no header");
    executable(&odd);
    let interpreter = place.write("w/interpreter", "#!/no/such/thing\n");
    executable(&interpreter);
    let jail = Jail::read(&place.workspace());
    let cases: [(&[&str], Exit); 9] = [
        (&["true"], Exit::Code(0)),
        (&["sh", "-c", "exit 7"], Exit::Code(7)),
        (&["sh", "-c", "kill -9 $$"], Exit::Signal(9)),
        (&["sh", "-c", "kill -TERM $$"], Exit::Signal(15)),
        (&["no-such-program"], Exit::NotStarted { code: 127, errno: libc::ENOENT }),
        (&["./no-such-program"], Exit::NotStarted { code: 127, errno: libc::ENOENT }),
        (&["./interpreter"], Exit::NotStarted { code: 127, errno: libc::ENOENT }),
        (&[text.to_str().unwrap()], Exit::NotStarted { code: 126, errno: libc::EACCES }),
        (&["./odd"], Exit::NotStarted { code: 126, errno: libc::ENOEXEC }),
    ];
    for (command, exit) in cases {
        let done = jail.launch(command).unwrap();
        check!(done.outcome.exit == exit, "{command:?}: {:?}, not {exit:?}", done.outcome.exit);
    }
    Verdict::Passed
}

fn odd_names() -> Verdict {
    for name in [&b"a b"[..], b"a,b:c\\d", b"line\nbreak", b"not-utf8-\xff", b"-dash", b"\"quote'"] {
        let place = Place::new();
        let workspace = place.path(OsStr::from_bytes(name));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(workspace.join("file"), "one").unwrap();
        for (jail, kept) in [
            (Jail::read(&workspace), false),
            (Jail::throw_away(&workspace), false),
            (Jail::write(&workspace), true),
        ] {
            let done = jail.sh("cat file; echo x > new; pwd");
            check!(done.out.contains("one"), "{name:?}: {}", done.all());
            check!(workspace.join("new").exists() == kept, "{name:?}: {}", done.all());
        }
    }
    Verdict::Passed
}

fn binds() -> Verdict {
    let place = Place::new();
    place.write("tree/sub/file", "one");
    place.write("cache/file", "one");
    let tool = place.write("tree/tool", "#!/bin/sh\necho ran");
    executable(&tool);
    std::os::unix::fs::symlink("tree", place.path("link")).unwrap();
    let bind = |name: &str, writable, exec| swbox::profile::Bind {
        path: place.path(name),
        writable,
        exec,
        optional: false,
    };
    let jail = Jail::read(&place.workspace()).with(|spec| {
        spec.binds.extend([bind("link", false, false), bind("cache", true, true)]);
        spec.binds.push(swbox::profile::Bind { optional: true, ..bind("absent", false, false) });
    });
    let root = place.path("");
    let done = jail.sh(&format!(
        "cd {}; ls; cat link/sub/file; readlink link; tree/tool; sh tree/tool; echo two > cache/file; echo x > tree/x",
        root.display()
    ));
    check!(done.out.contains("one") && done.out.contains("tree\n"), "{}", done.all());
    check!(done.out.matches("ran").count() == 1, "noexec holds exec, not reading: {}", done.all());
    check!(std::fs::read(place.path("cache/file")).unwrap() == b"two\n", "{}", done.all());
    check!(!place.path("tree/x").exists() && !done.out.contains("absent"), "{}", done.all());
    Verdict::Passed
}

fn errors() -> Verdict {
    let place = Place::new();
    let missing = Jail::read(&place.workspace()).with(|spec| {
        spec.binds.push(swbox::profile::Bind {
            path: place.path("absent"),
            writable: false,
            exec: false,
            optional: false,
        });
    });
    let problem = missing.launch(&["true"]).err();
    check!(
        problem.as_ref().is_some_and(|p| p.code == "setup_bind" && p.message.contains("absent")),
        "{problem:?}"
    );
    let cwd = Jail::read(&place.workspace()).with(|spec| spec.cwd = place.path("elsewhere"));
    let problem = cwd.launch(&["true"]).err();
    check!(problem.as_ref().is_some_and(|p| p.code == "setup_cwd"), "{problem:?}");
    let gone = Jail::read(&place.path("gone"));
    let problem = gone.launch(&["true"]).err();
    check!(problem.as_ref().is_some_and(|p| p.code == "setup_workspace"), "{problem:?}");
    let file = place.write("file", "");
    let problem = Jail::read(&file).launch(&["true"]).err();
    check!(problem.as_ref().is_some_and(|p| p.code == "setup_workspace"), "{problem:?}");
    let problem = Jail::read(&place.workspace()).launch(&["a\0b"]).err();
    check!(problem.as_ref().is_some_and(|p| p.code == "nul_in_argument"), "{problem:?}");
    let problem = Jail::read(&place.workspace()).launch(&[]).err();
    check!(problem.as_ref().is_some_and(|p| p.code == "empty_command"), "{problem:?}");
    Verdict::Passed
}

fn run_later() -> Verdict {
    let place = Place::new();
    place.write("w/.envrc", "one\n");
    place.write("w/.github/workflows/ci.yml", "one\n");
    let script = "echo x > .envrc; rm .envrc; mv .github g2; echo x > .github/workflows/ci.yml; mkdir .vscode; echo x > .vscode/tasks.json; \
                  echo y > .github/other";
    let protected = [".envrc", ".github/workflows", ".vscode", ".idea"];
    let jail = Jail::write(&place.workspace()).with(|spec| spec.protected = protected.map(Into::into).into());
    let done = jail.sh(script);
    check!(std::fs::read(place.path("w/.envrc")).unwrap() == b"one\n", "{}", done.all());
    check!(std::fs::read(place.path("w/.github/workflows/ci.yml")).unwrap() == b"one\n", "{}", done.all());
    check!(done.outcome.appeared == [place.path("w/.vscode")], "{:?}", done.outcome.appeared);
    check!(place.path("w/.github/other").exists(), "names beside it can be made: {}", done.all());
    let twin = Jail::write(&place.workspace()).sh(script);
    check!(std::fs::read(place.path("w/.envrc")).is_err(), "twin: {}", twin.all());
    Verdict::Passed
}
