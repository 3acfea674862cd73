//! The throw-away layer: writes succeed and vanish, it is bounded, and where it cannot be had the reason is said.

use std::process::Command;

use swbox::jail::{Achieved, LimitHit};
use swbox::profile::{Protection, Requirement};

use crate::check;
use crate::kit::{Case, Jail, Place, Running, Verdict, is_root, launcher};

pub(crate) const CASES: &[Case] = &[
    Case { name: "the layer takes every change, and vanishes", needs: "overlay", run: vanishes },
    Case { name: "the layer is bounded, and the limit is named", needs: "overlay", run: bounded },
    Case { name: "two layers at once do not see each other", needs: "overlay", run: parallel },
    Case { name: "a mount below the workspace: read-only, and said so", needs: "overlay", run: mount_below },
    Case { name: "where the host runs nothing the layer runs nothing", needs: "overlay", run: noexec },
    Case { name: "somebody else's workspace: read-only, and said so", needs: "overlay", run: foreign_owner },
    Case { name: "a first build, clean and rebuild work in the layer", needs: "overlay", run: builds },
];

fn vanishes() -> Verdict {
    let place = Place::new();
    place.write("w/dir/file", "one\n");
    let done = Jail::throw_away(&place.workspace()).sh(
        "echo two > dir/file; mv dir/file dir/moved; cat dir/moved; rm -r dir; mkdir -p dir/a; touch dir/a/b; ls -R; \
         python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"sock\")'; mkfifo fifo; ln dir/a/b hard; chmod 600 hard",
    );
    check!(done.ok() && done.out.contains("two"), "{}", done.all());
    check!(std::fs::read(place.path("w/dir/file")).unwrap() == b"one\n", "the change stayed");
    check!(std::fs::read_dir(place.workspace()).unwrap().count() == 1, "something stayed");
    check!(done.outcome.degraded.iter().all(|text| !text.contains("no-throwaway")), "{}", done.all());
    Verdict::Passed
}

fn bounded() -> Verdict {
    let place = Place::new();
    let jail = Jail::throw_away(&place.workspace()).with(|spec| spec.limits.scratch = Some(8 << 20));
    let done = jail.sh("head -c 64M /dev/zero > big");
    check!(!done.ok() && done.err.contains("No space left"), "{}", done.all());
    check!(done.outcome.limit == Some(LimitHit::Scratch), "{:?}", done.outcome.limit);
    let done = jail.sh("head -c 64M /dev/zero > /tmp/big");
    check!(done.outcome.limit == Some(LimitHit::Scratch), "/tmp: {:?}", done.outcome.limit);
    let done = jail.sh("head -c 4M /dev/zero > big");
    check!(done.ok() && done.outcome.limit.is_none(), "{}", done.all());
    check!(!place.path("w/big").exists(), "something stayed");
    Verdict::Passed
}

fn parallel() -> Verdict {
    let place = Place::new();
    let script = "echo $1 > f; sleep 0.3; test \"$(cat f)\" = \"$1\"";
    let children = ["a", "b"].map(|name| {
        Running::start(&mut launcher("throw", &place.workspace(), &["sh", "-c", script, "x", name]))
    });
    for mut child in children {
        check!(child.wait().success(), "one saw the other's file");
    }
    Verdict::Passed
}

/// What a script says that makes mounts of its own, in a name space of its own.
fn with_mounts(script: &str) -> Result<String, Verdict> {
    let output = Command::new("unshare").args(["-Urm", "sh", "-c", script]).output();
    let output = output.map_err(|_| Verdict::Skipped("no unshare(1)".to_owned()))?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if text.contains("unshare:") || text.contains("mount:") { Err(Verdict::Skipped(text)) } else { Ok(text) }
}

fn mount_below() -> Verdict {
    let place = Place::new();
    std::fs::create_dir(place.path("w/modules")).unwrap();
    let jail = format!("{} run throw {}", crate::kit::own().display(), place.workspace().display());
    let script = format!(
        "mount -t tmpfs x {}/modules && {jail} sh -c 'echo x > new; echo rc=$?'",
        place.workspace().display()
    );
    let text = match with_mounts(&script) {
        Ok(text) => text,
        Err(skipped) => return skipped,
    };
    check!(text.contains("Read-only file system"), "{text}");
    Verdict::Passed
}

/// A volume that is mounted `noexec` stays so below the layer; the twin without the flag runs.
fn noexec() -> Verdict {
    let place = Place::new();
    let work = place.workspace();
    for (options, runs) in [("noexec", false), ("exec", true)] {
        let jail = format!("{} run throw {}", crate::kit::own().display(), work.display());
        let script = format!(
            "mount -t tmpfs -o {options} x {0} && cd {0} && printf '#!/bin/sh\\necho ran\\n' > tool && chmod 755 tool && \
             {jail} sh -c './tool; cp tool other; ./other; echo > new && echo wrote'",
            work.display()
        );
        let text = match with_mounts(&script) {
            Ok(text) => text,
            Err(skipped) => return skipped,
        };
        check!(text.contains("wrote"), "{options}: {text}");
        check!(text.matches("ran\n").count() == if runs { 2 } else { 0 }, "{options}: {text}");
    }
    Verdict::Passed
}

fn foreign_owner() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root can give files away".to_owned());
    }
    let place = Place::new();
    place.write("w/file", "one\n");
    for name in ["w", "w/file"] {
        std::os::unix::fs::chown(place.path(name), Some(4242), Some(4242)).unwrap();
    }
    let jail = Jail::throw_away(&place.workspace());
    let done = jail.sh("cat file; echo x > new");
    check!(done.out == "one\n" && done.err.contains("Read-only"), "{}", done.all());
    check!(done.outcome.degraded.iter().any(|text| text.starts_with("no-throwaway: ")), "{}", done.all());
    let claim = done.outcome.protections.iter().find(|(name, _)| *name == Protection::ThrowAway);
    check!(claim == Some(&(Protection::ThrowAway, Achieved::Degraded)), "{claim:?}");
    let strict = Jail::throw_away(&place.workspace()).with(|spec| {
        let _ = spec.protections.insert(Protection::ThrowAway, Requirement::Strict);
    });
    let problem = strict.launch(&["true"]).err();
    check!(problem.as_ref().is_some_and(|p| p.message.contains("no-throwaway")), "{problem:?}");
    // A single file of somebody else's is no reason to give the layer up.
    std::os::unix::fs::chown(place.workspace(), Some(0), Some(0)).unwrap();
    let done = Jail::throw_away(&place.workspace()).sh("echo x > new && echo wrote");
    check!(
        done.out == "wrote\n" && done.outcome.degraded.iter().any(|text| text.contains("file belongs")),
        "{}",
        done.all()
    );
    Verdict::Passed
}

fn builds() -> Verdict {
    let place = Place::new();
    place.write("w/Makefile", "out/a: a.c\n\tmkdir -p out\n\tcp a.c out/a\nclean:\n\trm -rf out\n");
    place.write("w/a.c", "x");
    for state in ["absent", "present"] {
        let done = Jail::throw_away(&place.workspace())
            .sh("make -s && make -s clean && make -s && ls out && make -s clean && ls");
        check!(done.ok() && done.out == "a\nMakefile\na.c\n", "{state}: {}", done.all());
        let _ = std::fs::create_dir(place.path("w/out"));
    }
    Verdict::Passed
}
