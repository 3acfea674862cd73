//! Git directories: the known attacks, what git itself can and cannot do, worktrees and submodules.
//!
//! After each attack the host runs `git status` wherever a repository is or may be, and nothing of the jail may run.

use std::path::Path;

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, git, git_command};

pub(crate) const CASES: &[Case] = &[
    Case { name: "git attacks: nothing runs on the host afterwards", needs: "userns", run: attacks },
    Case { name: "git attacks by a git command: held, or quarantined", needs: "userns", run: attacks_by_git },
    Case { name: "git: reading works in every state", needs: "userns", run: reading },
    Case { name: "git: add and commit need the right, and work with it", needs: "userns", run: committing },
    Case {
        name: "git: what works and what fails with a protected configuration",
        needs: "userns",
        run: behaviour,
    },
    Case {
        name: "git: worktrees work, inside and outside their repository",
        needs: "userns",
        run: worktrees,
    },
    Case {
        name: "git: a `.git` file leads nowhere but to its own repository",
        needs: "userns",
        run: foreign_link,
    },
    Case { name: "git: a planted repository is reported", needs: "userns", run: planted },
    Case { name: "git: core.hooksPath in the workspace is held", needs: "userns", run: hooks_path },
    Case { name: "git: no placeholder is left", needs: "userns", run: no_placeholder },
];

/// A repository with a submodule at `v/x/sm`, a worktree at `wt`, a nested repository `nested` and a bare one `bare.git`.
fn rich() -> Place {
    let place = Place::new();
    place.repository();
    let library = place.path("library");
    std::fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q", "-b", "main"]);
    std::fs::write(library.join("f"), "1").unwrap();
    git(&library, &["add", "f"]);
    git(&library, &["commit", "-qm", "one"]);
    let workspace = place.workspace();
    git(&workspace, &["submodule", "add", "-q", library.to_str().unwrap(), "v/x/sm"]);
    git(&workspace, &["commit", "-qm", "submodule"]);
    git(&workspace, &["worktree", "add", "-q", "wt", "-b", "wt"]);
    git(&workspace, &["init", "-q", "-b", "main", "nested"]);
    git(&workspace.join("nested"), &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&workspace, &["init", "-q", "--bare", "-b", "main", "bare.git"]);
    place
}

/// Every road to code in the next `git status` of the host; `$M` makes the marker.
const ATTACKS: &[&str] = &[
    "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> .git/config",
    "mkdir e; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" > e/config; cp -r .git/. e/; echo ../e > .git/commondir",
    "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" > .git/config.worktree; git config extensions.worktreeConfig true",
    "mv .git g2; cp -r g2 .git; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> .git/config",
    "rm -rf .git; git init -q .; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> .git/config",
    "git config core.fsmonitor \"$M\"",
    "mv v v2; cp -r v2 v; printf 'gitdir: e' > v/x/sm/.git",
    "mkdir -p v/x/sm/e; cp -r .git/modules/v/x/sm/. v/x/sm/e/; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> v/x/sm/e/config; printf 'gitdir: e' > v/x/sm/.git",
    "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> .git/modules/v/x/sm/config",
    "mv nested n2; cp -r n2 nested; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> nested/.git/config",
    "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> nested/.git/config",
    "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> bare.git/config",
    "mkdir e; cp -r .git/. e/; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> e/config; printf \"gitdir: $PWD/e\" > wt/.git",
    "mv wt w2; cp -r w2 wt; mkdir e; cp -r .git/. e/; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> e/config; printf \"gitdir: $PWD/e\" > wt/.git",
    "printf '#!/bin/sh\\n%s\\n' \"$M\" > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
    "mv .git/hooks .git/h2; mkdir .git/hooks; printf '#!/bin/sh\\n%s\\n' \"$M\" > .git/hooks/post-index-change; chmod +x .git/hooks/*",
    "mv .git/info .git/i2; mkdir .git/info; echo '* filter=x' > .git/info/attributes; printf '[filter \"x\"]\\n\\tclean = \"%s\"\\n' \"$M\" >> .git/config",
    "ln .git/config c; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> c",
    "ln -s /proc/self/cwd/.git/config c; printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$M\" >> c",
];

/// Runs every attack in jails that `jail` makes; then looks, from the host.
fn run_attacks(jail: impl Fn(&Path) -> Jail) -> Verdict {
    for attack in ATTACKS {
        let place = rich();
        let workspace = place.workspace();
        let marker = place.path("marker");
        let script = place.path("w/marker.sh");
        std::fs::write(&script, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        crate::kit::executable(&script);
        let done = jail(&workspace).sh(&format!("M={}; {attack}", script.display()));
        for place in ["", "v/x/sm", "nested", "bare.git", "wt"] {
            let _ = git_command(&workspace.join(place), &["status"]).output();
        }
        check!(!marker.exists(), "after `{attack}`: code ran; {}", done.all());
    }
    Verdict::Passed
}

fn attacks() -> Verdict {
    // The twin: the first attack does run code when nothing holds it.
    let place = rich();
    let marker = place.path("marker");
    git(&place.workspace(), &["config", "core.fsmonitor", &format!("touch {}", marker.display())]);
    let _ = git_command(&place.workspace(), &["status"]).output();
    check!(marker.exists(), "twin: fsmonitor does not run here");
    match run_attacks(Jail::write) {
        Verdict::Passed => run_attacks(Jail::throw_away),
        other => other,
    }
}

fn attacks_by_git() -> Verdict {
    match run_attacks(|workspace| Jail::write(workspace).git_write()) {
        Verdict::Passed => {}
        other => return other,
    }
    let place = rich();
    let done = Jail::write(&place.workspace())
        .git_write()
        .sh("echo ../e > .git/commondir; echo x > .git/objects/info/alternates");
    check!(done.outcome.quarantined.len() == 2, "{:?}", done.outcome);
    check!(!place.path("w/.git/commondir").exists(), "not moved away");
    check!(done.outcome.quarantined.iter().all(|path| path.exists()), "nothing is lost");
    git(&place.workspace(), &["status"]);
    Verdict::Passed
}

fn reading() -> Verdict {
    let place = rich();
    let script = "git status --short && git log --oneline && git diff HEAD~1 --stat && git -C v/x/sm status && git -C wt log -1 && git -C nested status";
    for jail in [
        Jail::read(&place.workspace()),
        Jail::write(&place.workspace()),
        Jail::throw_away(&place.workspace()),
    ] {
        let done = jail.sh(script);
        check!(done.ok(), "{}", done.all());
    }
    Verdict::Passed
}

fn committing() -> Verdict {
    let place = rich();
    let script = "echo two >> file; git add file && git commit -qm two && git log --oneline | head -1";
    let done = Jail::write(&place.workspace()).sh(script);
    check!(!done.ok() && done.err.contains("Read-only file system"), "{}", done.all());
    let done = Jail::write(&place.workspace()).git_write().sh(script);
    check!(done.ok() && done.out.contains("two") && done.outcome.quarantined.is_empty(), "{}", done.all());
    let done = Jail::read(&place.workspace())
        .git_write()
        .sh("git commit -q --allow-empty -m three && echo x > file");
    check!(!done.ok() && done.err.contains("Read-only"), "{}", done.all());
    check!(
        git(&place.workspace(), &["log", "-1", "--format=%s"]) == "three\n",
        "committed with a read-only tree"
    );
    // In a throw-away layer commits succeed and vanish, unless the command is git's.
    let done = Jail::throw_away(&place.workspace())
        .sh("git commit -q --allow-empty -m four && git log -1 --format=%s");
    check!(done.ok() && done.out == "four\n", "{}", done.all());
    check!(git(&place.workspace(), &["log", "-1", "--format=%s"]) == "three\n", "the layer did not vanish");
    Verdict::Passed
}

fn behaviour() -> Verdict {
    const WORKS: &[&str] = &[
        "git add -A && git commit -qm x --allow-empty",
        "git commit -q --amend -m y",
        "git checkout -qb topic && git checkout -q main",
        "git switch -q topic && git switch -q -",
        "echo s >> file && git stash -q && git stash pop -q && git checkout -q -- file",
        "git tag v1 && git tag -d v1",
        "git checkout -q topic && git commit -q --allow-empty -m t && git rebase -q main && git checkout -q main && git merge -q --no-ff -m m topic",
        "git cherry-pick --allow-empty topic",
        "git reset -q --hard HEAD~1",
        "git notes add -m n",
        "git gc -q",
        "git repack -qad",
        "git worktree add -q w2 && git -C w2 commit -q --allow-empty -m w && git worktree remove w2",
        "git -C v/x/sm checkout -q HEAD && git -C v/x/sm commit -q --allow-empty -m s",
        "git rm -q --cached file && git reset -q",
        "git bisect start -q && git bisect reset",
    ];
    let place = rich();
    let jail = Jail::write(&place.workspace()).git_write();
    for script in WORKS {
        let done = jail.sh(script);
        check!(done.ok() && done.outcome.quarantined.is_empty(), "{script}: {}", done.all());
    }
    git(&place.workspace(), &["fsck"]);
    Verdict::Passed
}

fn worktrees() -> Verdict {
    let place = rich();
    let linked = place.path("linked");
    git(&place.workspace(), &["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "linked"]);
    let done = Jail::read(&linked).sh("git status && git log --oneline");
    check!(done.ok(), "{}", done.all());
    let done =
        Jail::write(&linked).git_write().sh("echo n > n; git add n && git commit -qm linked && echo ok");
    check!(done.ok(), "{}", done.all());
    let main = place.workspace();
    let done = Jail::write(&linked).git_write().sh(&format!(
        "echo gitdir: /tmp > .git; echo x >> {0}/.git/config; echo x > {0}/.git/hooks/pre-commit; cat {0}/file; echo x > {0}/new",
        main.display()
    ));
    check!(done.out.is_empty(), "the main worktree is not visible: {}", done.all());
    check!(!main.join(".git/hooks/pre-commit").exists() && !main.join("new").exists(), "{}", done.all());
    check!(git(&linked, &["log", "-1", "--format=%s"]) == "linked\n", "{}", done.all());
    let submodule = main.join("v/x/sm");
    let done =
        Jail::write(&submodule).git_write().sh("git commit -q --allow-empty -m sub && git log --oneline");
    check!(done.ok(), "a submodule as the workspace: {}", done.all());
    Verdict::Passed
}

fn foreign_link() -> Verdict {
    let place = Place::new();
    place.write("private/key", "secret");
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = false\n")] {
        place.write(&format!("private/{name}"), text);
    }
    std::fs::create_dir_all(place.path("private/objects")).unwrap();
    std::fs::create_dir_all(place.path("private/refs")).unwrap();
    place.write("w/.git", &format!("gitdir: {}\n", place.path("private").display()));
    let done = Jail::read(&place.workspace()).sh(&format!("cat {}", place.path("private/key").display()));
    check!(!done.out.contains("secret"), "{}", done.all());
    Verdict::Passed
}

fn planted() -> Verdict {
    const PLANTS: &[(&str, &str)] = &[
        ("git init -q new; git -C new config core.fsmonitor /tmp/x", "core.fsmonitor"),
        ("git init -q new; git -C new config alias.st '!x'", "alias.st"),
        ("git init -q .; git config core.hooksPath h", "core.hookspath"),
        ("git init -q new; echo x > new/.git/hooks/pre-commit", "a hook"),
        ("git init -q new; echo ../x > new/.git/commondir", "redirects git"),
        ("git init -q --bare b; git -C b config core.sshCommand x", "core.sshcommand"),
        (
            "git init -q e; git -C e config core.pager x; mkdir new; mv e/.git e/g; echo 'gitdir: ../e/g' > new/.git",
            "core.pager",
        ),
    ];
    for (script, key) in PLANTS {
        let place = Place::new();
        let done = Jail::write(&place.workspace()).sh(script);
        let found = &done.outcome.planted;
        check!(found.iter().any(|planted| planted.setting == *key), "{script}: {found:?} {}", done.all());
    }
    let place = Place::new();
    let done =
        Jail::write(&place.workspace()).sh("git init -q new; cd new; git commit -q --allow-empty -m one");
    check!(done.outcome.planted.is_empty() && done.ok(), "{:?} {}", done.outcome.planted, done.all());
    Verdict::Passed
}

fn hooks_path() -> Verdict {
    let place = Place::new();
    place.repository();
    place.write("w/.husky/_/pre-commit", "one");
    git(&place.workspace(), &["config", "core.hooksPath", ".husky/_"]);
    let attack = "echo x > .husky/_/pre-commit; mv .husky h2; rm -r .husky";
    let done = Jail::write(&place.workspace()).sh(attack);
    check!(std::fs::read(place.path("w/.husky/_/pre-commit")).unwrap() == b"one", "{}", done.all());
    git(&place.workspace(), &["config", "core.hooksPath", "later"]);
    let done = Jail::write(&place.workspace()).sh("mkdir later; echo x > later/pre-commit");
    check!(done.outcome.quarantined.len() == 1 && !place.path("w/later").exists(), "{:?}", done.outcome);
    Verdict::Passed
}

fn no_placeholder() -> Verdict {
    let place = Place::new();
    for jail in [
        Jail::write(&place.workspace()),
        Jail::write(&place.workspace()).git_write(),
        Jail::read(&place.workspace()),
    ] {
        let jail = jail.with(|spec| spec.protected = [".envrc", ".vscode"].map(Into::into).into());
        let done = jail.sh("true");
        check!(done.ok(), "{}", done.all());
    }
    let left: Vec<_> = std::fs::read_dir(place.workspace()).unwrap().collect();
    check!(left.is_empty(), "{left:?}");
    Verdict::Passed
}
