//! Repositories that a command plants or changes anywhere in a writable workspace: found when its processes are dead,
//! taken out of git's sight, reported; and those that it makes for its work, which are left alone.
//!
//! After each attack the host runs git where the repository is and from the one around it: nothing of the jail may run.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, executable, git, git_command};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "planted: found at any depth, in every shape, and nothing runs",
        needs: "userns",
        run: planted_repositories_are_found_at_any_depth,
    },
    Case {
        name: "planted: each way by which git runs something is known",
        needs: "userns",
        run: each_way_by_which_git_runs_something_is_known,
    },
    Case {
        name: "planted: in two runs, each harmless by itself",
        needs: "userns",
        run: two_harmless_runs_make_nothing_that_runs,
    },
    Case {
        name: "planted: from directories that lay there before the first run",
        needs: "userns",
        run: what_lay_there_before_the_first_run_is_no_repository_by_a_name,
    },
    Case {
        name: "planted: what cannot be moved or looked into is said",
        needs: "userns",
        run: what_cannot_be_moved_or_looked_into_is_said,
    },
    Case {
        name: "planted: where nothing can be noted it is said",
        needs: "userns",
        run: where_nothing_can_be_noted_it_is_said,
    },
    Case {
        name: "planted: repositories that work needs are left alone",
        needs: "userns",
        run: repositories_that_work_needs_are_left_alone,
    },
    Case {
        name: "planted: by a run that is killed",
        needs: "userns",
        run: what_a_killed_run_planted_is_found_by_the_next,
    },
    Case {
        name: "planted: in a tree whose directories are noted",
        needs: "userns",
        run: what_is_planted_in_a_noted_tree_is_found,
    },
    Case {
        name: "nested repositories deep below: held once noted",
        needs: "userns",
        run: nested_repositories_are_held_once_noted,
    },
    Case {
        name: "nested repositories: the user's own hooks stay",
        needs: "userns",
        run: hooks_of_the_user_stay,
    },
    Case {
        name: "git: scripts and files that the configuration names are held",
        needs: "userns",
        run: what_a_git_configuration_names_is_held,
    },
];

/// A workspace with a repository, and a script at `m` that leaves the marker.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.repository();
    let script = place.write("w/m", &format!("#!/bin/sh\ntouch {}\n", place.path("marker").display()));
    executable(&script);
    place
}

/// What a person may do in such a workspace without a thought.
fn use_git(workspace: &Path, place: &str) {
    for words in [&["status"][..], &["add", "-A"], &["status"], &["log", "-1"], &["diff"]] {
        let _ = git_command(&workspace.join(place), words).output();
        let _ = git_command(workspace, words).output();
    }
    let _ = git_command(workspace, &["status", "--ignore-submodules=none"]).output();
}

/// Where the repository is, and how it is made; `$M` is the marker script.
const SHAPES: &[(&str, &str)] = &[
    ("a/b/c/d", "git init -q a/b/c/d; git -C a/b/c/d config core.fsmonitor $M"),
    (
        "a/b/c/d",
        "git init -q --bare a/b/c/d; git -C a/b/c/d config core.fsmonitor $M; git -C a/b/c/d config core.bare false; git -C a/b/c/d config core.worktree .",
    ),
    (
        "a/b/c",
        "git init -q x; git -C x config core.fsmonitor $M; mkdir -p a/b/c; mv x/.git a/g; echo gitdir: ../../g > a/b/c/.git",
    ),
    (
        "a/b/c",
        "git init -q x; git -C x config core.fsmonitor $M; mkdir -p a/b/c; mv x/.git a/g; ln -s ../../g a/b/c/.git",
    ),
    (
        "a/b/c",
        "git init -q x; git -C x config core.fsmonitor $M; mkdir -p a/b/c; mv x/.git a/g; git init -q a/b/c; echo ../../../g > a/b/c/.git/commondir",
    ),
    (
        "a/b/c",
        "git init -q x; git -C x config core.fsmonitor $M; mkdir -p a/b/c/r a/g; mv x/.git/config x/.git/objects x/.git/refs a/g; cp x/.git/HEAD a/b/c/r; echo ../../../g > a/b/c/r/commondir; mv a/b/c/r a/b/c/.git",
    ),
    (
        "a/b",
        "git init -q a/b; git -C a/b config extensions.worktreeConfig true; git -C a/b config --worktree core.fsmonitor $M",
    ),
    (
        "a/b",
        "git init -q a/b; touch a/b/f; printf '#!/bin/sh\\n%s\\n' $M > a/b/.git/hooks/post-index-change; chmod +x a/b/.git/hooks/post-index-change",
    ),
    (
        "a/b",
        "git init -q a/b; printf '[core]\\nfsmonitor = %s\\n' $M > a/b/c; git -C a/b config include.path ../c",
    ),
    (
        "a/b",
        "git init -q a/b; touch a/b/f; git -C a/b config core.hooksPath ../h; mkdir a/h; cp $M a/h/post-index-change",
    ),
    (
        "a/b",
        "git init -q a/b; printf '[includeIf \\r\"gitdir:/\"]\\n\\tpath = ../c\\n' >> a/b/.git/config; printf '[core]\\nfsmonitor = %s\\n' $M > a/b/c",
    ),
    ("a/b", "git init -q a/b; git -C a/b config core.fsmonitor $M; chmod 311 a a/b"),
    ("a/b", "git init -q a/b; git -C a/b config core.fsmonitor $M; chmod 555 a/b/.git"),
    (
        "a/b",
        "git init -q a/b; echo x > a/b/f; echo '* filter=x' > a/b/.gitattributes; git -C a/b config filter.x.clean $M",
    ),
    (
        "",
        "rm -f file; git init -q a; git -C a config core.fsmonitor $M; git -C a config core.worktree .; mv a/.git a/x; mv a/x/* .",
    ),
];

fn planted_repositories_are_found_at_any_depth() -> Verdict {
    for (repository, script) in SHAPES {
        // The twin: made outside, it does run, so that the test is one of the jail.
        for jailed in [false, true] {
            let place = place();
            let workspace = place.workspace();
            if repository.is_empty() {
                // A bare layout at the top needs a workspace without a repository.
                std::fs::remove_dir_all(workspace.join(".git")).unwrap();
            }
            let script = format!("M={}; {script}", workspace.join("m").display());
            let told = if jailed {
                let done = Jail::write(&workspace).sh(&script);
                let planted = &done.outcome.planted;
                check!(!planted.is_empty(), "`{script}` is not found: {}", done.all());
                check!(
                    planted.iter().all(|p| p.moved.as_ref().is_some_and(|moved| moved.exists())),
                    "{planted:?}"
                );
                format!("{planted:?}")
            } else {
                crate::kit::host_text(&workspace, &script);
                String::new()
            };
            use_git(&workspace, repository);
            let _ = std::process::Command::new("chmod").args(["-R", "u+rwX"]).arg(&workspace).status();
            use_git(&workspace, repository);
            check!(
                place.path("marker").exists() != jailed,
                "{}`{script}` {told}",
                if jailed { "the host ran it after " } else { "twin: the host does not run " }
            );
        }
    }
    Verdict::Passed
}

fn each_way_by_which_git_runs_something_is_known() -> Verdict {
    const KEYS: &[(&str, &str)] = &[
        ("core.fsmonitor", "x"),
        ("core.hooksPath", "x"),
        ("core.sshCommand", "x"),
        ("core.pager", "x"),
        ("core.editor", "x"),
        ("core.gitProxy", "x"),
        ("core.askPass", "x"),
        ("core.attributesFile", "x"),
        ("core.alternateRefsCommand", "x"),
        ("core.worktree", "/"),
        ("sequence.editor", "x"),
        ("pager.status", "x"),
        ("filter.x.smudge", "x"),
        ("filter.x.process", "x"),
        ("diff.external", "x"),
        ("diff.x.command", "x"),
        ("diff.x.textconv", "x"),
        ("merge.x.driver", "x"),
        ("difftool.x.cmd", "x"),
        ("mergetool.x.cmd", "x"),
        ("interactive.diffFilter", "x"),
        ("alias.st", "!x"),
        ("alias.st", "--exec-path=x y"),
        ("include.path", "x"),
        ("includeIf.gitdir:/.path", "x"),
        ("credential.helper", "!x"),
        ("credential.https://x.helper", "x"),
        ("gpg.program", "x"),
        ("gpg.ssh.program", "x"),
        ("gpg.ssh.defaultKeyCommand", "x"),
        ("uploadpack.packObjectsHook", "x"),
        ("remote.o.uploadpack", "x"),
        ("remote.o.receivepack", "x"),
        ("remote.o.vcs", "x"),
        ("remote.o.url", "ext::x"),
        ("url.ext::x.insteadOf", "https:"),
        ("protocol.ext.allow", "always"),
        ("submodule.s.update", "!x"),
        ("trailer.x.command", "x"),
        ("tar.x.command", "x"),
        ("browser.x.cmd", "x"),
        ("man.x.path", "x"),
        ("init.templateDir", "x"),
        ("gc.recentObjectsHook", "x"),
        ("lfs.customtransfer.x.path", "x"),
        ("hook.x.command", "x"),
    ];
    let place = Place::new();
    let script: String = KEYS
        .iter()
        .enumerate()
        .map(|(number, (key, value))| {
            format!("git init -q d/r{number} && git -C d/r{number} config '{key}' '{value}'\n")
        })
        .collect();
    let done = Jail::write(&place.workspace()).sh(&script);
    for (number, (key, _)) in KEYS.iter().enumerate() {
        let file = place.workspace().join(format!("d/r{number}/.git/config"));
        let found = done.outcome.planted.iter().any(|planted| planted.file == file);
        check!(found, "{key} in {}: {}", file.display(), done.all());
        check!(!file.exists(), "{key} is still there");
    }
    Verdict::Passed
}

fn two_harmless_runs_make_nothing_that_runs() -> Verdict {
    const RUNS: &[(&str, &[&str])] = &[
        (
            "a/b",
            &[
                "mkdir -p a/b/g; cp -r t/.git/. a/b/g; rm a/b/g/HEAD",
                "cp t/.git/HEAD a/b/g/HEAD; mv a/b/g a/b/.git",
            ],
        ),
        ("a/b", &["mkdir -p a/b; echo gitdir: ../g > a/b/.git", "cp -r t/.git a/g"]),
        (
            "a/b",
            &[
                "mkdir -p a/b a/g; cp -r t/.git/config t/.git/objects t/.git/refs a/g",
                "git init -q a/b; echo ../../g > a/b/.git/commondir",
            ],
        ),
        (
            "a/b",
            &[
                "mkdir -p a/b; git init -q a/b; git -C a/b config core.bare false",
                "cp t/.git/config a/b/.git/config",
            ],
        ),
        ("a/b", &["mkdir -p a; cp -r t a/x; mv a/x/.git a/x/g", "mkdir -p a/b; mv a/x/g a/b/.git"]),
    ];
    for (repository, scripts) in RUNS {
        let place = place();
        let workspace = place.workspace();
        // What the runs use lies in the tree as an earlier, unnoticed fault might have left it.
        git(&workspace, &["init", "-q", "t"]);
        git(&workspace.join("t"), &["config", "core.fsmonitor", workspace.join("m").to_str().unwrap()]);
        std::fs::rename(workspace.join("t/.git"), place.path("t")).unwrap();
        let mut told = String::new();
        for script in *scripts {
            let jail = Jail::write(&workspace).with(|spec| {
                spec.repositories = Some(place.path("state/note"));
                spec.files = ["HEAD", "config"]
                    .map(|name| {
                        let bytes = std::fs::read(place.path("t").join(name)).unwrap();
                        (Path::new("/tmp/t").join(name), bytes)
                    })
                    .into();
            });
            let prepared = "mkdir -p t/.git/objects t/.git/refs; cp /tmp/t/* t/.git";
            let done = jail.sh(&format!("{prepared}; {script}; rm -rf t"));
            told.push_str(&format!("{:?} {}", done.outcome.planted, done.all()));
        }
        use_git(&workspace, repository);
        check!(!place.path("marker").exists(), "the host ran it after {scripts:?}: {told}");
    }
    Verdict::Passed
}

/// A clone or the outputs of a run that may not write bring the parts of a repository under other names; the first
/// command that may write only gives them their own.
fn what_lay_there_before_the_first_run_is_no_repository_by_a_name() -> Verdict {
    const RUNS: &[(&str, &str)] = &[
        ("sub", "mkdir sub; mv dist/e sub/.git; mv sub/.git/HEAD_ sub/.git/HEAD"),
        ("dist/e", "mv dist/e/HEAD_ dist/e/HEAD"),
        ("sub", "mkdir sub; echo gitdir: ../dist/e > sub/.git; mv dist/e/HEAD_ dist/e/HEAD"),
    ];
    for (repository, script) in RUNS {
        for jailed in [false, true] {
            let place = place();
            let workspace = place.workspace();
            git(&workspace, &["init", "-q", "t"]);
            git(&workspace.join("t"), &["config", "core.fsmonitor", workspace.join("m").to_str().unwrap()]);
            git(&workspace.join("t"), &["config", "core.worktree", "."]);
            std::fs::create_dir(workspace.join("dist")).unwrap();
            std::fs::rename(workspace.join("t/.git"), workspace.join("dist/e")).unwrap();
            std::fs::rename(workspace.join("dist/e/HEAD"), workspace.join("dist/e/HEAD_")).unwrap();
            // The clock of files is coarse: a run must begin after what was made before it.
            let made = std::fs::metadata(workspace.join("dist/e")).unwrap().modified().unwrap();
            while made.elapsed().is_ok_and(|age| age.as_millis() < 50) {
                std::thread::yield_now();
            }
            if jailed {
                let note = place.path("state/note");
                let done = Jail::write(&workspace).with(|spec| spec.repositories = Some(note)).sh(script);
                check!(done.outcome.planted.len() == 1, "`{script}`: {:?} {}", done.outcome, done.all());
            } else {
                crate::kit::host_text(&workspace, script);
            }
            use_git(&workspace, repository);
            check!(place.path("marker").exists() != jailed, "`{script}`, jailed: {jailed}");
        }
    }
    Verdict::Passed
}

fn what_cannot_be_moved_or_looked_into_is_said() -> Verdict {
    let place = place();
    let deep = "d/".repeat(300);
    let done = Jail::write(&place.workspace()).sh(&format!("mkdir -p {deep}"));
    let said = done.outcome.planted.iter().any(|planted| planted.setting.starts_with("not looked into"));
    check!(said, "{:?}", done.outcome.planted);
    let why = done.outcome.planted.iter().find_map(swbox::jail::Planted::unseen);
    check!(why == Some("it lies more than 200 directories deep"), "{why:?}");
    // A name that is taken already is no obstacle.
    let done = Jail::write(&place.workspace())
        .sh("rm -r d; git init -q n; git -C n config core.pager x; mkdir n/.git/config.swbox-quarantined");
    let moved =
        done.outcome.planted.iter().all(|planted| planted.moved.as_ref().is_some_and(|to| to.exists()));
    check!(done.outcome.planted.len() == 1 && moved, "{:?}", done.outcome.planted);
    Verdict::Passed
}

fn where_nothing_can_be_noted_it_is_said() -> Verdict {
    let place = place();
    let degraded = |note: &Path| {
        let jail = Jail::write(&place.workspace()).with(|spec| spec.repositories = Some(note.to_owned()));
        let done = jail.sh("true");
        done.outcome.degraded.iter().any(|text| text.starts_with("unnoted-run"))
    };
    let writable = place.path("state/note");
    // The first run writes the note, the second its time; neither gives anything up.
    check!(!degraded(&writable) && !degraded(&writable), "said although it was noted");
    check!(degraded(Path::new("/proc/none/note")), "not said");
    let left = std::fs::read_dir(place.path("state")).unwrap().count();
    check!(left == 1, "{left} files are left beside the note");
    Verdict::Passed
}

fn repositories_that_work_needs_are_left_alone() -> Verdict {
    const SCRIPTS: &[&str] = &[
        "git init -q n; cd n; echo x > f; git add f; git commit -qm one; git status",
        "mkdir -p packages/new/src; git init -q packages/new; printf '[package]\\nname = \"new\"\\n' > packages/new/Cargo.toml",
        "git clone -q . deep/er/clone; git -C deep/er/clone log",
        "git clone -q --bare . deep/mirror.git",
        "git clone -q --mirror . deep/mirror2.git",
        "git clone -q --shared . deep/shared",
        "git clone -q --depth 1 \"file://$PWD\" deep/shallow",
        "git init -q a; git -C a config user.email a@b; git -C a config alias.st status; git -C a remote add o https://example.org/x; git -C a config core.hooksPath /dev/null",
        "mkdir sep; git init -q --separate-git-dir sep/gd sep/tree",
        "git init -q super; git -C super -c protocol.file.allow=always submodule add -q \"$PWD\" sub/mod; git -C super commit -qm s",
        "git init -q many; git -C many commit -q --allow-empty -m x; git -C many worktree add -q ../wt -b wt",
        "mkdir -p node_modules/x; echo '{}' > node_modules/x/package.json; echo objects > HEAD; mkdir refs",
        "chmod 000 .; true",
    ];
    let place = place();
    for script in SCRIPTS {
        let done = Jail::write(&place.workspace()).sh(script);
        check!(
            done.ok() && done.outcome.planted.is_empty(),
            "{script}: {:?} {}",
            done.outcome.planted,
            done.all()
        );
        executable(&place.workspace());
    }
    for script in
        ["git worktree add -q deep/linked -b linked", "git -C deep/linked commit -q --allow-empty -m w"]
    {
        let done = Jail::write(&place.workspace()).git_write().sh(script);
        check!(
            done.ok() && done.outcome.planted.is_empty(),
            "{script}: {:?} {}",
            done.outcome.planted,
            done.all()
        );
    }
    Verdict::Passed
}

/// A repository three levels down, and a jail that notes what it finds.
fn with_nested(hook: bool) -> (Place, impl Fn() -> Jail) {
    let place = place();
    git(&place.workspace(), &["init", "-q", "x/y/z"]);
    git(&place.path("w/x/y/z"), &["commit", "-q", "--allow-empty", "-m", "one"]);
    if hook {
        let hook = place.write("w/x/y/z/.git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
        executable(&hook);
        git(&place.path("w/x/y/z"), &["config", "core.pager", "less"]);
    }
    // The clock of files is coarse: a run must begin after what was made before it.
    let made = std::fs::metadata(place.path("w/x/y/z/.git/config")).unwrap().modified().unwrap();
    while made.elapsed().is_ok_and(|age| age.as_millis() < 50) {
        std::thread::yield_now();
    }
    let (workspace, note) = (place.workspace(), place.path("state/note"));
    let jail = move || {
        let note = note.clone();
        Jail::write(&workspace).with(|spec| spec.repositories = Some(note))
    };
    (place, jail)
}

fn nested_repositories_are_held_once_noted() -> Verdict {
    let (place, jail) = with_nested(false);
    let attack = "echo '[core] pager = x' >> x/y/z/.git/config; echo rc=$?";
    // The twin: where nothing is noted it can be changed, and is found afterwards.
    let done = jail().with(|spec| spec.repositories = None).sh(attack);
    check!(done.out == "rc=0\n" && done.outcome.planted.len() == 1, "{:?} {}", done.outcome, done.all());
    std::fs::rename(place.path("w/x/y/z/.git/config.swbox-quarantined"), place.path("w/x/y/z/.git/config"))
        .unwrap();
    // Before the first run somebody looks.
    let done = jail().sh(attack);
    check!(done.err.contains("Read-only") && done.outcome.planted.is_empty(), "{}", done.all());
    let done = jail().sh("mv x/y/z x/y/k; mv x/y x/k; mv x k; git -C x/y/z status");
    check!(done.err.matches("busy").count() == 3 && done.ok(), "{}", done.all());
    // A note leads nowhere through a link, and one about what is gone does no harm.
    std::fs::rename(place.path("w/x"), place.path("w/real")).unwrap();
    std::os::unix::fs::symlink("real", place.path("w/x")).unwrap();
    let done = jail().sh("cat x/y/z/.git/HEAD");
    check!(done.ok() && done.out.starts_with("ref:"), "{}", done.all());
    std::fs::remove_file(place.path("w/x")).unwrap();
    check!(jail().sh("true").ok(), "a note about what is gone");
    let done = jail().sh(&attack.replace("x/y", "real/y"));
    check!(done.err.contains("Read-only"), "it is noted where it is now: {}", done.all());
    Verdict::Passed
}

fn hooks_of_the_user_stay() -> Verdict {
    let (place, jail) = with_nested(true);
    let done = jail().sh("echo x > x/y/z/new; mkdir x/y/z/d; git -C x/y/z status --short");
    check!(done.ok() && done.outcome.planted.is_empty(), "{:?} {}", done.outcome.planted, done.all());
    check!(place.path("w/x/y/z/.git/hooks/pre-commit").exists(), "the hook is gone");
    Verdict::Passed
}

fn what_a_git_configuration_names_is_held() -> Verdict {
    let place = place();
    for (name, text) in
        [("scripts/clean.sh", "cat"), (".gitconfig", "[core]\n\tpager = cat\n"), ("run", "true")]
    {
        place.write(&format!("w/{name}"), text);
    }
    let workspace = place.workspace();
    git(&workspace, &["config", "filter.x.clean", "sh scripts/clean.sh %f"]);
    git(&workspace, &["config", "include.path", "../.gitconfig"]);
    git(&workspace, &["config", "alias.r", "!./run"]);
    let done = Jail::write(&workspace).sh(
        "for f in scripts/clean.sh .gitconfig run; do echo x >> $f; rm -f $f; mv $f other; done; mv scripts s2; ls; echo ok > scripts/new",
    );
    check!(done.err.matches("Read-only").count() == 3, "{}", done.all());
    check!(done.out.contains("scripts") && done.outcome.planted.is_empty(), "{}", done.all());
    for name in ["scripts/clean.sh", ".gitconfig", "run", "scripts/new"] {
        check!(workspace.join(name).exists(), "{name} is gone");
    }
    Verdict::Passed
}

/// A run that is killed never comes to its check: the next one looks back to its beginning.
fn what_a_killed_run_planted_is_found_by_the_next() -> Verdict {
    let place = place();
    let workspace = place.workspace();
    let script = format!(
        "git init -q a/b; git -C a/b config core.fsmonitor {}; touch done; sleep 600",
        workspace.join("m").display()
    );
    let note = place.path("state/note");
    let mut launcher = crate::kit::launcher("write", &workspace, &["sh", "-c", &script]);
    let mut killed = crate::kit::Running::start(launcher.env(crate::kit::NOTE, &note));
    check!(crate::kit::eventually(|| workspace.join("done").exists()), "it does not come to its end");
    killed.signal(rustix::process::Signal::KILL);
    killed.wait();
    check!(workspace.join("a/b/.git/config").exists(), "twin: it was not planted");
    let done = Jail::write(&workspace).with(|spec| spec.repositories = Some(note)).sh("true");
    check!(done.outcome.planted.len() == 1, "{:?}", done.outcome);
    use_git(&workspace, "a/b");
    check!(!place.path("marker").exists(), "the host ran it");
    Verdict::Passed
}

fn what_is_planted_in_a_noted_tree_is_found() -> Verdict {
    let place = place();
    let workspace = place.workspace();
    for directory in ["a/b/c", "a/d", "e/half"] {
        std::fs::create_dir_all(workspace.join(directory)).unwrap();
    }
    let note = place.path("state/note");
    let jail = || Jail::write(&workspace).with(|spec| spec.repositories = Some(note.clone()));
    let tree = place.path("state/note.tree");
    let written = || std::fs::metadata(&tree).map(|found| (found.ino(), found.len()));
    let noted = || {
        // As soon as the last change is well past, all is noted and no run writes it again.
        crate::kit::eventually(|| {
            let before = jail().sh("true").ok().then(&written);
            let after = jail().sh("true").ok().then(&written);
            matches!((before, after), (Some(Ok(before)), Some(Ok(after))) if before == after && after.1 > 500)
        })
    };
    let config = format!("config core.fsmonitor {}", workspace.join("m").display());
    for (plant, planted) in [
        (format!("git init -q a/b/c; git -C a/b/c {config}"), "a/b/c"),
        (
            format!(
                "git init -q $HOME/r; git -C $HOME/r {config}; cp -a $HOME/r a/d/r; touch -d 2001-01-01 a/d"
            ),
            "a/d/r",
        ),
        (format!("git init -q n; git -C n {config}; mv a/d/r n/; rm -r a; mv n a"), "a"),
    ] {
        check!(noted(), "it is never noted whole: {:?}", written());
        let done = jail().sh(&plant);
        check!(done.outcome.planted.len() == 1, "{plant}: {:?} {}", done.outcome, done.all());
        use_git(&workspace, planted);
        check!(!place.path("marker").exists(), "the host ran it: {plant}");
    }
    Verdict::Passed
}
