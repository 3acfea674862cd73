//! The levels: what Landlock alone keeps, by ABI, and which level swbox finds inside other sandboxes.

use std::process::Command;

use swbox::jail::{Achieved, Exit, Level, plan, probe};
use swbox::policy::NetworkRight;
use swbox::profile::{Protection, Requirement};

use crate::check;
use crate::kit::{
    Case, Jail, Place, RUN, Running, Verdict, eventually, git, is_root, launcher, own, processes_with,
};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "landlock only: reads, secrets, changes, metadata in a read state",
        needs: "landlock",
        run: read_state,
    },
    Case {
        name: "landlock only: a write state around its git directories",
        needs: "landlock",
        run: write_state,
    },
    Case {
        name: "landlock only: no sockets, no signals out, private HOME and TMPDIR",
        needs: "landlock",
        run: isolation,
    },
    Case {
        name: "landlock only: nothing is left, also when swbox or its helper is killed",
        needs: "landlock",
        run: leftovers,
    },
    Case { name: "landlock only: what each ABI is good for", needs: "landlock", run: abis },
    Case {
        name: "strict protections that cannot be had are refused with a remedy",
        needs: "landlock",
        run: strict,
    },
    Case {
        name: "without user namespaces the Landlock-only level is found",
        needs: "userns",
        run: no_user_namespaces,
    },
    Case { name: "inside bubblewrap", needs: "bwrap", run: in_bubblewrap },
    Case { name: "inside a jail of its own kind of namespaces", needs: "userns", run: nested },
    Case { name: "with a masked /proc", needs: "userns", run: masked_proc },
];

/// This host's Landlock-only level.
fn bare(jail: Jail) -> Jail {
    jail.landlock_only(probe().landlock_abi)
}

fn read_state() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one\n");
    let hidden = place.write("hidden", "hidden\n");
    let secret = place.write("w/.env", "TOKEN");
    let jail = bare(Jail::read(&place.workspace())).with(|spec| spec.secrets = vec![secret.clone()]);
    let done = jail.sh(&format!("cat file; cat {}; cat .env; ls -a", hidden.display()));
    check!(done.outcome.level == Level::LandlockOnly, "{:?}", done.outcome.level);
    check!(
        done.out.contains("one") && !done.out.contains("hidden\n") && !done.out.contains("TOKEN"),
        "{}",
        done.all()
    );
    let done = jail.sh(
        "(echo x > file) && echo write; (: > new) && echo create; rm -f file && echo unlink; truncate -s 0 file && echo truncate; \
         chmod 777 file && echo chmod; mv file f2 && echo rename; ln file hard && echo link; touch -d @1 file && echo utimes; \
         python3 -c 'import os; os.setxattr(\"file\", \"user.a\", b\"1\"); print(\"xattr\")'",
    );
    check!(done.out.is_empty(), "{}", done.all());
    let done = jail.sh("cat /proc/self/status");
    // An ordinary user may not shrink the bounding set there.
    let sets = if crate::kit::is_root() {
        &["CapPrm", "CapEff", "CapAmb", "CapBnd"][..]
    } else {
        &["CapPrm", "CapEff", "CapAmb"]
    };
    for set in sets {
        check!(done.out.contains(&format!("{set}:\t0000000000000000")), "{set}: {}", done.all());
    }
    check!(std::fs::read(place.path("w/file")).unwrap() == b"one\n", "the file was changed");
    Verdict::Passed
}

fn write_state() -> Verdict {
    let place = Place::new();
    place.repository();
    place.write("w/src/a", "1");
    place.write("w/.envrc", "1");
    git(&place.workspace(), &["init", "-q", "nested"]);
    place.write("w/nested/sub/a", "1");
    let outside = place.write("outside", "one");
    let jail = bare(Jail::write(&place.workspace())).with(|spec| spec.protected = vec![".envrc".into()]);
    let done = jail.sh(&format!(
        "echo 2 > src/b && mv src/b src/c && echo 2 > file && rm src/a && mkdir src/d && chmod 700 src/d && echo ok; \
         echo x >> .git/config; touch .git/commondir; echo x > nested/.git/config; echo x > .envrc; mv .git g; rm -f .envrc; \
         echo x > {}; git status --short",
        outside.display()
    ));
    check!(done.out.starts_with("ok\n"), "{}", done.all());
    check!(!place.path("w/.git/commondir").exists() && !place.path("w/g").exists(), "{}", done.all());
    check!(std::fs::read(place.path("w/.envrc")).unwrap() == b"1", "{}", done.all());
    check!(std::fs::read(&outside).unwrap() == b"one", "{}", done.all());
    check!(done.outcome.degraded.iter().any(|text| text.starts_with("no-new-names")), "{}", done.all());
    git(&place.path("w/nested"), &["status"]);
    Verdict::Passed
}

fn isolation() -> Verdict {
    let place = Place::new();
    let own_pid = std::process::id();
    let done = bare(Jail::write(&place.workspace())).sh(&format!(
        "mktemp && echo x > $HOME/f && echo private; kill -0 {own_pid}; cat /proc/{own_pid}/environ; \
         python3 -c 'import socket; socket.socket()'; python3 -c 'import socket; socket.socket(socket.AF_UNIX)'; echo x > /tmp/x"
    ));
    check!(done.out.contains("private") && !done.out.contains("PATH="), "{}", done.all());
    check!(done.err.matches("not permitted").count() >= 3, "{}", done.all());
    check!(
        done.err.contains("/tmp/x: Permission denied") || done.err.contains("cannot create /tmp/x"),
        "{}",
        done.all()
    );
    let left = || {
        std::fs::read_dir("/tmp").unwrap().flatten().any(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with(&format!("swbox-{own_pid}-")))
        })
    };
    check!(!left(), "the private directory is left");
    Verdict::Passed
}

fn leftovers() -> Verdict {
    let place = Place::new();
    let marker = "14.1421";
    let script = format!("setsid sleep {marker} & (trap '' TERM; sleep {marker}) & echo; sleep 0.2");
    let done = bare(Jail::read(&place.workspace())).sh(&script);
    check!(done.ok() && processes_with(marker) == 0, "after the end: {}", done.all());
    // The helper that adopts them is within the command's reach where no scope holds signals.
    let kill = format!("sleep {marker} & kill -9 $PPID || exit 7; sleep {marker}");
    let result = Jail::read(&place.workspace()).landlock_only(5).launch(&["sh", "-c", &kill]);
    check!(result.is_err(), "a helper that was killed is an error");
    check!(processes_with(marker) == 0, "after the helper was killed");
    if probe().landlock_abi >= 6 {
        let done = bare(Jail::read(&place.workspace())).sh(&kill);
        check!(done.outcome.exit == Exit::Code(7), "the helper is not in the domain: {}", done.all());
    }
    let script = format!("setsid sleep {marker} & sleep {marker}");
    let mut child = Running::start(&mut launcher("landlock", &place.workspace(), &["sh", "-c", &script]));
    check!(eventually(|| processes_with(marker) == 2), "it did not start");
    child.signal(rustix::process::Signal::KILL);
    child.wait();
    check!(eventually(|| processes_with(marker) == 0), "after swbox was killed");
    Verdict::Passed
}

fn abis() -> Verdict {
    let place = Place::new();
    for abi in 1..=probe().landlock_abi {
        let result = Jail::read(&place.workspace()).landlock_only(abi).launch(&["true"]);
        check!(result.is_ok() == (abi >= 3), "ABI {abi}: {:?}", result.err());
        let full = {
            let mut jail = Jail::write(&place.workspace());
            jail.host.landlock_abi = abi;
            jail.launch(&["sh", "-c", "mkdir -p a b; echo > a/f; mv a/f b/f; rm -r a b; ! touch /usr/x"])
        };
        check!(full.is_ok_and(|done| done.ok() || abi == 1), "full level with ABI {abi}");
    }
    Verdict::Passed
}

fn strict() -> Verdict {
    let place = Place::new();
    for protection in [Protection::Processes, Protection::NoLeftovers] {
        let jail = bare(Jail::read(&place.workspace())).with(|spec| {
            let _ = spec.protections.insert(protection, Requirement::Strict);
        });
        let problem = jail.launch(&["true"]).err();
        check!(
            problem.as_ref().is_some_and(|p| p.code == "protection_unavailable" && p.help.is_some()),
            "{protection:?}: {problem:?}"
        );
    }
    let jail = bare(Jail::write(&place.workspace())).git_write();
    let jail = jail.with(|spec| {
        let _ = spec.protections.insert(Protection::GitDirectories, Requirement::Strict);
    });
    check!(jail.launch(&["true"]).is_err(), "git-write without mounts");
    let mut none = Jail::read(&place.workspace());
    none.host.landlock_abi = 0;
    check!(none.launch(&["true"]).err().is_some_and(|p| p.code == "landlock_too_old"), "no Landlock");
    let full = plan(&Jail::read(&place.workspace()).strict(&[]).spec, &probe(), &["true".into()]).unwrap();
    check!(full.fallback.is_none() && full.no_fallback.is_some(), "a strict plan has no lesser form");
    check!(full.protections.iter().all(|(_, had)| *had != Achieved::Degraded), "{:?}", full.protections);
    Verdict::Passed
}

/// Runs this program as the launcher of `script` by a command of the host that ends in `sh -c`.
fn within(outer: &[&str], before: &str, right: &str, place: &Place, script: &str) -> Result<String, String> {
    let line = format!(
        "{before} exec {} {RUN} {right} {} sh -c '{script}'",
        own().display(),
        place.workspace().display()
    );
    let (program, words) = outer.split_first().ok_or("no program")?;
    let output =
        Command::new(program).args(words).args(["sh", "-c", &line]).output().map_err(|e| e.to_string())?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(text) }
}

fn no_user_namespaces() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one");
    let before = "echo 0 > /proc/sys/user/max_user_namespaces || exit 99;";
    let script = "cat file; echo x > file; readlink /proc/self/ns/mnt; cat /proc/1/comm; true";
    match within(&["unshare", "-Ur"], before, "read", &place, script) {
        Ok(text) => {
            check!(text.contains("one") && text.contains("Permission denied"), "{text}");
            check!(!text.contains("swbox-init"), "{text}");
            Verdict::Passed
        }
        Err(text) if text.contains("unshare:") => Verdict::Skipped(text),
        Err(text) => Verdict::Failed(text),
    }
}

fn in_bubblewrap() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one");
    let w = place.workspace();
    let w = w.to_str().unwrap();
    let own = own();
    let own = own.to_str().unwrap();
    let outer = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--bind",
        w,
        w,
        "--ro-bind",
        own,
        own,
        "--unshare-all",
        "--",
    ];
    for (right, wanted) in [("read", "Read-only file system"), ("throw", "wrote"), ("write", "wrote")] {
        match within(
            &outer,
            "",
            right,
            &place,
            "cat file; echo x > new && echo wrote; cat /proc/1/comm; true",
        ) {
            Ok(text) => check!(
                // As root bubblewrap masks parts of /proc, so that no fresh one can be had inside.
                text.contains("one") && text.contains(wanted) && (is_root() || text.contains("swbox-init")),
                "{right}: {text}"
            ),
            Err(text) if text.contains("No such file") && text.contains("os error 2") => {
                return Verdict::Skipped("no bwrap".to_owned());
            }
            Err(text) => return Verdict::Failed(text),
        }
    }
    check!(place.path("w/new").exists(), "the write state wrote");
    Verdict::Passed
}

fn nested() -> Verdict {
    let place = Place::new();
    let outer = ["unshare", "-Urmpf", "--mount-proc"];
    match within(&outer, "", "write", &place, "echo x > f; cat /proc/1/comm; echo done") {
        Ok(text) => {
            check!(text.contains("done") && text.contains("swbox-init"), "{text}");
            Verdict::Passed
        }
        Err(text) => Verdict::Failed(text),
    }
}

fn masked_proc() -> Verdict {
    let place = Place::new();
    place.write("w/file", "one");
    let before = "mount -t tmpfs x /proc/acpi 2>/dev/null || mount -t tmpfs x /proc/fs || exit 99;";
    let outer = ["unshare", "-Urm"];
    match within(
        &outer,
        before,
        "write",
        &place,
        "cat file; echo x > new; bash -c \"cat <(echo sub)\"; ls /proc/self/fd >/dev/null && echo proc; touch /usr/x",
    ) {
        Ok(_) => Verdict::Failed("touch /usr/x worked".to_owned()),
        Err(text) => {
            check!(
                text.contains("one")
                    && text.contains("sub")
                    && text.contains("proc")
                    && text.contains("Read-only"),
                "{text}"
            );
            check!(place.path("w/new").exists(), "{text}");
            let done = Jail::write(&place.workspace()).network(NetworkRight::None).sh("true");
            check!(done.outcome.exit == Exit::Code(0), "{}", done.all());
            Verdict::Passed
        }
    }
}
