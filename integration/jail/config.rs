//! What git commands do to the configuration of their repository: the effect of a bare git where the setting is
//! harmless, nothing and a word about it where it is not.

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, git, git_command};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "git config: branches, refspecs and submodules have the effect of a bare git",
        needs: "userns",
        run: git_has_the_effect_it_has_without_a_jail,
    },
    Case {
        name: "git config: what runs something never gets there",
        needs: "userns",
        run: no_executable_setting_is_written,
    },
    Case {
        name: "git config: the copy is no way to anything else",
        needs: "userns",
        run: a_copy_of_any_shape_does_no_harm,
    },
    Case {
        name: "git config: what others write meanwhile stays",
        needs: "userns",
        run: changes_of_others_meanwhile_stay,
    },
];

/// A clone with a remote `origin` that has the branches `main` and `topic`, and a submodule `lib` that is not initialised.
fn clone() -> Place {
    let place = Place::new();
    let origin = place.path("origin");
    let library = place.path("library");
    for (repository, file) in [(&library, "l"), (&origin, "o")] {
        std::fs::create_dir(repository).unwrap();
        git(repository, &["init", "-q", "-b", "main"]);
        std::fs::write(repository.join(file), "1").unwrap();
        git(repository, &["add", "."]);
        git(repository, &["commit", "-qm", "one"]);
    }
    git(&origin, &["submodule", "add", "-q", library.to_str().unwrap(), "lib"]);
    git(&origin, &["commit", "-qm", "lib"]);
    git(&origin, &["branch", "topic"]);
    git(&origin, &["config", "receive.denyCurrentBranch", "ignore"]);
    let workspace = place.workspace();
    std::fs::remove_dir(&workspace).unwrap();
    git(&place.path("."), &["clone", "-q", origin.to_str().unwrap(), "w"]);
    place
}

/// A jail in which git may write and the remote can be pushed to, as a host could over a network.
fn jail(place: &Place) -> Jail {
    let bind = |path: &str| swbox::profile::Bind {
        path: place.path(path),
        writable: true,
        exec: false,
        optional: false,
    };
    let binds = [bind("origin"), bind("library")];
    Jail::write(&place.workspace()).git_write().with(|spec| {
        spec.binds.extend(binds);
        spec.env.insert("GIT_CONFIG_COUNT".into(), "1".into());
        spec.env.insert("GIT_CONFIG_KEY_0".into(), "protocol.file.allow".into());
        spec.env.insert("GIT_CONFIG_VALUE_0".into(), "always".into());
    })
}

/// The settings of the workspace's repository, without the places of temporary directories.
fn settings(place: &Place) -> Vec<String> {
    let text = git(&place.workspace(), &["config", "--local", "--list"]);
    let mut lines: Vec<_> =
        text.lines().map(|line| line.replace(&place.path("").display().to_string(), "")).collect();
    lines.sort();
    lines
}

fn git_has_the_effect_it_has_without_a_jail() -> Verdict {
    const ROWS: &[&str] = &[
        "git checkout -q -b x --track origin/topic",
        "git checkout -q topic",
        "git switch -q -c y origin/topic",
        "git branch -q --track z origin/topic",
        "git branch n && git push -q -u origin n",
        "git branch -q --set-upstream-to=origin/topic main",
        "git branch -q --set-upstream-to=origin/topic main && git branch --unset-upstream main",
        "git branch -q --track gone origin/topic && git branch -q -d gone",
        "git branch -q --track gone origin/topic && git branch -q -D gone",
        "git branch -m main other",
        "git branch -c main copy",
        "git branch -q --track z origin/topic && git branch -q -m z y && git branch -q -d y",
        "EDITOR='echo words >' git branch --edit-description main",
        "git remote set-branches origin main && git remote set-branches --add origin topic",
        "git submodule init -q",
        "git submodule update -q --init",
        "git worktree add -q --track -b t wt origin/topic",
        "git fetch -q && git pull -q",
    ];
    for script in ROWS {
        let (bare, jailed) = (clone(), clone());
        let mut host = std::process::Command::new("sh");
        host.args(["-c", script]).current_dir(bare.workspace());
        for (name, value) in git_command(&bare.workspace(), &[]).get_envs() {
            host.env(name, value.unwrap_or_default());
        }
        host.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "protocol.file.allow");
        host.env("GIT_CONFIG_VALUE_0", "always");
        let output = host.output().unwrap();
        check!(output.status.success(), "bare `{script}`: {output:?}");
        let done = jail(&jailed).sh(script);
        check!(done.ok(), "`{script}`: {}", done.all());
        let outcome = &done.outcome;
        check!(outcome.planted.is_empty() && outcome.quarantined.is_empty(), "`{script}`: {outcome:?}");
        check!(
            outcome.config.iter().all(|change| change.refused.is_none()),
            "`{script}`: {:?}",
            outcome.config
        );
        check!(
            settings(&bare) == settings(&jailed),
            "`{script}`: {:#?} {:#?}",
            settings(&bare),
            settings(&jailed)
        );
        let refs =
            |place: &Place| git(&place.workspace(), &["for-each-ref", "--format=%(refname) %(upstream)"]);
        check!(refs(&bare) == refs(&jailed), "`{script}`: {} {}", refs(&bare), refs(&jailed));
        let file = std::fs::symlink_metadata(jailed.path("w/.git/config")).unwrap();
        check!(file.is_file() && !jailed.path("w/.git/config.lock").exists(), "`{script}`: {file:?}");
    }
    Verdict::Passed
}

fn no_executable_setting_is_written() -> Verdict {
    const ROWS: &[(&str, &str)] = &[
        ("git config core.fsmonitor x", "core.fsmonitor"),
        ("git config core.hooksPath x", "core.hookspath"),
        ("git config include.path x", "include.path"),
        ("git config alias.st '!x'", "alias.st"),
        ("git config filter.x.clean x", "filter.x.clean"),
        ("git config remote.origin.uploadpack x", "remote.origin.uploadpack"),
        ("git config submodule.lib.update '!x'", "submodule.lib.update"),
        ("git config submodule.lib.url 'ext::sh -c x'", "submodule.lib.url"),
        ("git config branch.main.mergeOptions '-s x'", "branch.main.mergeoptions"),
        ("git config remote.origin.fetch '+refs/heads/*:refs/heads/*'", "remote.origin.fetch"),
        ("git config extensions.worktreeConfig true", "extensions.worktreeconfig"),
        ("git config a.b c", "a.b"),
        ("git remote add o /x", "remote.o.url"),
        ("git remote set-url origin https://example.org/", "remote.origin.url"),
        ("git push -q -u \"$(git config remote.origin.url)\" main", "branch.main.remote"),
        ("git checkout -q -b x --track origin/topic; git config core.pager x", "core.pager"),
        (
            "printf '[branch \"q\"]\\n\\tremote = origin\\n[core]\\n\\tpager = x\\n' >> .git/config",
            "core.pager",
        ),
        (
            "git -c protocol.file.allow=always submodule -q update --init; git -C lib config core.pager x",
            "core.pager",
        ),
    ];
    for (script, key) in ROWS {
        let place = clone();
        let before = std::fs::read(place.path("w/.git/config")).unwrap();
        let done = jail(&place).sh(script);
        let refused = |name: &str| {
            let mut changes = done.outcome.config.iter().filter(|change| change.refused.is_some());
            changes.any(|change| change.settings.iter().any(|setting| setting == name))
        };
        let planted = done.outcome.planted.iter().any(|planted| planted.setting == *key);
        check!(refused(key) || planted, "`{script}` is not told: {:?} {}", done.outcome, done.all());
        if !planted {
            let after = std::fs::read(place.path("w/.git/config")).unwrap();
            check!(before == after, "`{script}` changed {}", String::from_utf8_lossy(&after));
        }
    }
    Verdict::Passed
}

fn a_copy_of_any_shape_does_no_harm() -> Verdict {
    const ROWS: &[&str] = &[
        "rm /.swbox-git/0/config",
        "rm /.swbox-git/0/config; ln -s /etc/passwd /.swbox-git/0/config",
        "rm /.swbox-git/0/config; mkfifo /.swbox-git/0/config",
        "rm /.swbox-git/0/config; mkdir /.swbox-git/0/config",
        "rm -r /.swbox-git/0; ln -s /etc /.swbox-git/0",
        "head -c 3M /dev/zero > .git/config",
        "printf '\\377\\376[core]\\n\\tpager = x\\n' > .git/config",
        "rm -f .git/config; mv .git/config .git/c; ln -f /etc/passwd .git/config; git config core.pager x",
    ];
    for script in ROWS {
        let place = clone();
        let before = std::fs::read(place.path("w/.git/config")).unwrap();
        let done = jail(&place).sh(script);
        let after = std::fs::read(place.path("w/.git/config")).unwrap();
        check!(before == after, "`{script}` changed {}", String::from_utf8_lossy(&after));
        check!(
            done.outcome.config.iter().any(|change| change.refused.is_some()),
            "`{script}`: {:?}",
            done.outcome
        );
        check!(git(&place.workspace(), &["status", "--short"]).is_empty(), "`{script}`");
    }
    // A text that is laid out anew and says the same is no change.
    let place = clone();
    let done = jail(&place).sh("sed -i 's/^\\t/  /' /.swbox-git/0/config && git status");
    check!(done.ok() && done.outcome.config.is_empty(), "{:?}", done.outcome);
    Verdict::Passed
}

fn changes_of_others_meanwhile_stay() -> Verdict {
    let place = clone();
    let fifo = place.path("w/go");
    std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    let workspace = place.workspace();
    let script = "git branch -q --track z origin/topic; echo ready > ready; cat go";
    // The host's part is a process of its own: jails are launched by one thread alone.
    let mut other = crate::kit::Running::start(
        std::process::Command::new("sh")
            .args(["-c", "until test -e ready; do :; done; git config user.name me; git config core.pager cat; echo > go"])
            .current_dir(&workspace),
    );
    let done = jail(&place).sh(script);
    check!(other.wait().success(), "the other git");
    check!(done.ok() && done.outcome.config.len() == 1, "{:?} {}", done.outcome.config, done.all());
    let text = std::fs::read_to_string(place.path("w/.git/config")).unwrap();
    for part in ["name = me", "pager = cat", "[branch \"z\"]"] {
        check!(text.contains(part), "{part} is missing: {text}");
    }
    // A lock that somebody holds is respected.
    std::fs::write(place.path("w/.git/config.lock"), "").unwrap();
    let done = jail(&place).sh("git branch -q --track z2 origin/topic");
    let refused = done.outcome.config.iter().find_map(|change| change.refused.clone());
    check!(
        refused.is_some_and(|why| why.contains("config.lock")),
        "{:?} {}",
        done.outcome.config,
        done.all()
    );
    Verdict::Passed
}
