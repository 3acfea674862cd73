//! Declared outputs: kept of the throw-away layer after exit 0, and nothing else is, whatever the command makes of them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use swbox::jail::Kept;

use crate::check;
use crate::kit::{Case, Done, Jail, Place, Running, Verdict, is_root, launcher};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "outputs are kept after exit 0, all else vanishes",
        needs: "overlay",
        run: outputs_are_kept_after_exit_0,
    },
    Case {
        name: "outputs: nothing is kept of a run that fails",
        needs: "overlay",
        run: nothing_is_kept_of_a_failed_run,
    },
    Case {
        name: "outputs lead nowhere through links",
        needs: "overlay",
        run: outputs_lead_nowhere_through_links,
    },
    Case {
        name: "outputs are plain files: no devices, pipes, sockets, set-id bits, shared names",
        needs: "overlay",
        run: outputs_are_plain_files,
    },
    Case {
        name: "outputs plant no repository and nothing that others obey",
        needs: "overlay",
        run: outputs_plant_nothing,
    },
    Case { name: "outputs are bounded", needs: "overlay", run: outputs_are_bounded },
    Case {
        name: "outputs are kept where there is no layer",
        needs: "overlay",
        run: outputs_are_kept_where_there_is_no_layer,
    },
    Case {
        name: "outputs: a killed swbox leaves no part of a file",
        needs: "overlay",
        run: no_part_of_a_file_is_left,
    },
];

fn jail(place: &Place, outputs: &[&str]) -> Jail {
    Jail::throw_away(&place.workspace()).with(|spec| {
        spec.outputs = outputs.iter().map(Into::into).collect();
        spec.protected = [".envrc", ".github/workflows"].map(Into::into).into();
    })
}

fn kept(done: &Done) -> Kept {
    done.outcome.outputs.clone().unwrap_or_default()
}

fn text(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path("w").join(name)).unwrap_or_else(|error| error.kind().to_string())
}

fn outputs_are_kept_after_exit_0() -> Verdict {
    let place = Place::new();
    place.write("w/dist/old", "old");
    place.write("w/dist/same", "before");
    place.write("w/src/code", "code");
    let done = jail(&place, &["dist", "deep/er/report.xml", "absent"]).sh(
        "umask 022; mkdir -p dist/a/b deep/er; echo new > dist/a/b/f; echo run > dist/run; chmod 755 dist/run; echo after > dist/same; \
         touch -d 2001-02-03 dist/run; rm dist/old; echo r > deep/er/report.xml; echo x > deep/er/other; echo evil > src/code; mkdir dist/empty",
    );
    check!(done.ok(), "{}", done.all());
    let kept = kept(&done);
    check!(kept.files == 4 && kept.left.is_empty() && kept.problem.is_none(), "{kept:?}");
    check!(kept.paths == ["dist", "deep/er/report.xml"].map(std::path::PathBuf::from), "{kept:?}");
    for (name, expected) in [
        ("dist/a/b/f", "new\n"),
        ("dist/same", "after\n"),
        ("dist/old", "old"),
        ("deep/er/report.xml", "r\n"),
        ("src/code", "code"),
    ] {
        check!(text(&place, name) == expected, "{name}: {}", text(&place, name));
    }
    check!(
        !place.path("w/deep/er/other").exists() && place.path("w/dist/empty").is_dir(),
        "not what was declared"
    );
    let run = std::fs::metadata(place.path("w/dist/run")).unwrap();
    check!(run.permissions().mode() & 0o7777 == 0o755, "{:o}", run.permissions().mode());
    check!(run.mtime() < 1_000_000_000, "the time of its last change is not that of the layer");
    // The next run sees them and builds upon them.
    let done = jail(&place, &["dist"]).sh("cat dist/a/b/f && echo two > dist/a/b/f");
    check!(done.out == "new\n" && text(&place, "dist/a/b/f") == "two\n", "{}", done.all());
    // The twin: undeclared, nothing stays.
    let done = jail(&place, &[]).sh("echo three > dist/a/b/f");
    check!(
        done.ok() && text(&place, "dist/a/b/f") == "two\n" && done.outcome.outputs.is_none(),
        "{}",
        done.all()
    );
    Verdict::Passed
}

fn nothing_is_kept_of_a_failed_run() -> Verdict {
    let place = Place::new();
    for script in ["mkdir dist; echo x > dist/f; exit 1", "mkdir dist; echo x > dist/f; kill -9 $$"] {
        let done = jail(&place, &["dist"]).sh(script);
        check!(!done.ok() && done.outcome.outputs.is_none(), "{:?}", done.outcome);
        check!(!place.path("w/dist").exists(), "`{script}` left something");
    }
    let done = jail(&place, &["dist"])
        .with(|spec| spec.limits.timeout = Some(std::time::Duration::from_millis(200)))
        .sh("mkdir dist; echo x > dist/f; trap 'exit 0' TERM; sleep 60 & wait");
    check!(done.outcome.outputs.is_none() && !place.path("w/dist").exists(), "{:?}", done.outcome);
    Verdict::Passed
}

fn outputs_lead_nowhere_through_links() -> Verdict {
    // What is in the workspace before, what the command does, what may not be there afterwards.
    const ROWS: &[(&str, &str)] = &[
        ("true", "ln -s ../outside dist"),
        ("true", "mkdir dist; ln -s ../../outside dist/d; ln -s ../../outside/file dist/f"),
        ("true", "mkdir -p real/x; echo evil > real/x/file; ln -s real dist"),
        ("ln -s ../outside dist", "rm dist; mkdir dist; echo evil > dist/file"),
        ("mkdir dist; ln -s ../../outside dist/d", "rm dist/d; mkdir dist/d; echo evil > dist/d/file"),
        ("mkdir dist; ln -s ../../outside/file dist/f", "rm dist/f; echo evil > dist/f"),
        ("mkdir dist; ln ../outside/file dist/f", "echo evil > dist/f"),
        ("mkdir dist; ln ../outside/file dist/f", "echo evil >> dist/f; ln dist/f dist/g"),
        ("ln -s ../outside deep", "rm deep; mkdir -p deep; echo evil > deep/file"),
        ("mkdir dist; echo x > dist/d", "rm dist/d; mkdir dist/d; echo evil > dist/d/file"),
        ("mkdir -p dist/f", "rmdir dist/f; echo evil > dist/f"),
    ];
    for (before, script) in ROWS {
        let place = Place::new();
        let file = place.write("outside/file", "good");
        crate::kit::host_text(&place.workspace(), before);
        let done = jail(&place, &["dist", "deep/file"]).sh(script);
        check!(done.ok(), "{before}; {script}: {}", done.all());
        check!(
            std::fs::read_to_string(&file).unwrap() == "good",
            "`{before}` and `{script}` changed a file outside"
        );
        let names: Vec<_> = std::fs::read_dir(place.path("outside")).unwrap().collect();
        check!(names.len() == 1, "`{before}` and `{script}` made a file outside: {names:?}");
        let kept = kept(&done);
        check!(kept.problem.is_none(), "`{before}` and `{script}`: {kept:?}");
        let plain = before.contains("ln ../");
        check!(plain != kept.left.iter().any(|_| true), "`{before}` and `{script}`: {kept:?}");
    }
    Verdict::Passed
}

fn outputs_are_plain_files() -> Verdict {
    let place = Place::new();
    let done = jail(&place, &["dist"]).sh(
        "mkdir -p dist/locked; mkfifo dist/fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"dist/sock\")'; \
         echo x > dist/f; chmod 2777 dist 2>/dev/null; chmod 1777 dist/locked; echo y > dist/closed; chmod 0 dist/closed; \
         echo a > dist/a; ln dist/a dist/b; chmod 555 dist/f; truncate -s 10M dist/sparse",
    );
    check!(done.ok(), "{}", done.all());
    let kept = kept(&done);
    let left: Vec<_> = kept.left.iter().map(|(path, _)| path.display().to_string()).collect();
    let expected: &[&str] =
        if is_root() { &["dist/fifo", "dist/sock"] } else { &["dist/closed", "dist/fifo", "dist/sock"] };
    let mut sorted = left.clone();
    sorted.sort();
    check!(sorted == expected, "{left:?}");
    for name in ["dist", "dist/locked", "dist/f"] {
        let mode = std::fs::metadata(place.path("w").join(name)).unwrap().permissions().mode();
        check!(mode & 0o7000 == 0, "{name}: {mode:o}");
    }
    let (a, b) = (place.path("w/dist/a"), place.path("w/dist/b"));
    let number = |path: &Path| std::fs::metadata(path).unwrap().ino();
    check!(number(&a) != number(&b), "two names of one file stayed one");
    let sparse = std::fs::metadata(place.path("w/dist/sparse")).unwrap();
    check!(sparse.len() == 10 << 20, "{}", sparse.len());
    Verdict::Passed
}

fn outputs_plant_nothing() -> Verdict {
    const ROWS: &[(&str, &str)] = &[
        ("true", "git init -q dist"),
        ("true", "git init -q dist/sub/repository"),
        ("true", "git init -q --bare dist"),
        ("true", "git init -q --bare dist/sub"),
        ("true", "mkdir dist; cp /etc/hostname dist/.GIT"),
        (
            "mkdir dist; echo 'ref: refs/heads/x' > dist/HEAD",
            "mkdir -p dist/objects dist/refs; echo '[core] pager = x' > dist/config",
        ),
        (
            "true",
            "mkdir -p dist/x/.github/workflows; echo x > dist/x/.github/workflows/ci.yml; echo x > dist/.envrc",
        ),
        ("git init -q .", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"),
    ];
    for (before, script) in ROWS {
        let place = Place::new();
        crate::kit::host_text(&place.workspace(), before);
        let done = jail(&place, &["dist", ".git/hooks", ".envrc"]).sh(script);
        check!(done.ok(), "`{script}`: {}", done.all());
        let kept = kept(&done);
        check!(!kept.left.is_empty() && kept.problem.is_none(), "`{script}`: {kept:?}");
        let found = crate::kit::host_text(
            &place.workspace(),
            "find . -name config -path '*dist*' -o -name .GIT -o -name .envrc -o -name ci.yml -o -name pre-commit -o -name objects -path '*dist*'",
        );
        check!(found.is_empty(), "`{script}` planted {found}");
    }
    Verdict::Passed
}

fn outputs_are_bounded() -> Verdict {
    let place = Place::new();
    let jail = |limit| jail(&place, &["dist"]).with(move |spec| spec.limits.scratch = Some(limit));
    let done = jail(8 << 20).sh("mkdir dist; truncate -s 1T dist/sparse; echo x > dist/f");
    check!(done.ok() && kept(&done).problem.is_some_and(|why| why.contains("limit")), "{:?}", done.outcome);
    check!(!place.path("w/dist").exists(), "a part was kept");
    let done = jail(8 << 20).sh("mkdir dist; head -c 4M /dev/zero > dist/f");
    check!(kept(&done).bytes == 4 << 20, "{:?}", done.outcome);
    Verdict::Passed
}

fn outputs_are_kept_where_there_is_no_layer() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root can give files away".to_owned());
    }
    let place = Place::new();
    place.write("w/dist/old", "old");
    std::os::unix::fs::chown(place.workspace(), Some(4242), Some(4242)).unwrap();
    std::fs::set_permissions(place.workspace(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let done = jail(&place, &["dist", "absent"]).sh("echo x > new; mkdir dist/a; echo y > dist/a/f; ls dist");
    check!(
        done.err.contains("Read-only")
            && done.outcome.degraded.iter().any(|text| text.starts_with("no-throwaway")),
        "{}",
        done.all()
    );
    check!(
        done.ok() && text(&place, "dist/a/f") == "y\n" && text(&place, "dist/old") == "old",
        "{}",
        done.all()
    );
    check!(!place.path("w/new").exists() && !place.path("w/absent").exists(), "more than that was kept");
    Verdict::Passed
}

fn no_part_of_a_file_is_left() -> Verdict {
    // The command writes much and ends at once; swbox is killed while it copies, or before or after that.
    for delay in [0, 20, 60, 120] {
        let place = Place::new();
        let mut launcher = launcher(
            "throw",
            &place.workspace(),
            &["sh", "-c", "mkdir dist; head -c 60M /dev/zero > dist/f"],
        );
        let mut running = Running::start(launcher.env(crate::kit::OUTPUT, "dist"));
        std::thread::sleep(std::time::Duration::from_millis(delay));
        running.signal(rustix::process::Signal::KILL);
        running.wait();
        let Ok(entries) = std::fs::read_dir(place.path("w/dist")) else { continue };
        for entry in entries.flatten() {
            let size = entry.metadata().unwrap().len();
            check!(size == 60 << 20, "{:?} has {size} bytes", entry.path());
        }
    }
    Verdict::Passed
}
