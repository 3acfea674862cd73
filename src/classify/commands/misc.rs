//! Small programs of daily use that belong nowhere else.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{
    ContentSearch, Destructive, FileModify, FileRead, FileSearch, FileWrite, GitRead, GitWrite, Network,
};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["expr", "yes", "fortune", "cmatrix", "sl", "jot", "ascii", "dateadd", "datediff"])
        .pure()
        .lenient(),
    command(&["fzf", "sk", "peco", "gum"]).lenient().stdin_filter().options(&[
        opt("", "preview").value().opaque(Cause::ExecOption),
        opt("", "bind").value().opaque(Cause::ExecOption),
        opt("", "execute").value().opaque(Cause::ExecOption),
        opt("f", "filter").value(),
        opt("q", "query").value(),
    ]),
    command(&["zoxide", "autojump", "z", "j", "broot", "ranger", "nnn", "lf", "yazi"])
        .opaque(Cause::Editor)
        .lenient()
        .hatch(navigator),
    command(&["ctags", "etags", "cscope", "gtags", "htags", "universal-ctags"])
        .classes(&[FileWrite])
        .lenient()
        .values("IGD")
        .options(&[
            opt("f", "").role(Role::Write).drops(&[FileWrite]),
            opt("o", "output").role(Role::Write).drops(&[FileWrite]),
            opt("x", "").drops(&[FileWrite]),
            opt("L", "").role(Role::Read),
            opt("", "options").value().opaque(Cause::Configuration),
        ])
        .operands(Role::Read),
    command(&["tree-sitter", "comby", "fastmod", "jscodeshift", "sad", "ruplacer", "sd", "spatch"])
        .classes(&[FileModify])
        .lenient()
        .hatch(rewriter),
    command(&["svn", "svnadmin", "svnlook", "hg", "fossil", "cvs", "p4", "jj", "repo"])
        .lenient()
        .hatch(version_control),
    command(&[
        "git-annex",
        "git-filter-repo",
        "bfg",
        "git-flow",
        "delta",
        "diff-so-fancy",
        "stgit",
        "stg",
        "git-cliff",
        "git-chglog",
        "onefetch",
    ])
    .lenient()
    .hatch(git_friend),
    command(&["copy", "rcopy", "xcopy", "robocopy"])
        .classes(&[FileWrite])
        .lenient()
        .operands(Role::Read)
        .last(Role::Write),
    command(&["stow", "chezmoi", "yadm", "vcsh"])
        .classes(&[FileWrite])
        .opaque(Cause::Configuration)
        .lenient(),
    command(&["fdupes", "jdupes", "duperemove", "hardlink", "tmpreaper"])
        .classes(&[FileSearch])
        .lenient()
        .hatch(duplicates),
    command(&["swbox"]).lenient().opaque(Cause::ExecOption),
    command(&["claude", "codex", "gemini", "opencode", "cursor-agent"])
        .classes(&[Network])
        .opaque(Cause::ExecOption)
        .lenient(),
    command(&["meld", "kdiff3", "diffoscope", "difft", "difftastic", "icdiff", "hexedit"])
        .lenient()
        .operands(Role::Read)
        .hatch(hex_editor),
    command(&["pee", "chronic", "ifne", "mispipe", "isutf8", "vipe"])
        .lenient()
        .opaque(Cause::ExecOption)
        .hatch(moreutils),
    command(&["spell", "ispell", "dict"]).lenient().stdin_filter().operands(Role::Read),
    command(&["hledger", "ledger", "todo.sh", "taskwarrior", "timew"])
        .lenient()
        .classes(&[FileRead])
        .hatch(notes),
];

/// `zoxide query`, `autojump -s`: looks at a list of names.
fn navigator<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operand(0) == Some("query") {
        findings.add(FileSearch, call.name.span());
    }
}

/// Rewriters without `--in-place` or with `--dry-run` only show.
fn rewriter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let has = |flags: &[&str]| {
        call.words.iter().any(|arg| arg.value.literal().is_some_and(|text| flags.contains(&text)))
    };
    let shows = match name {
        "tree-sitter" => !matches!(call.operand(0), Some("generate" | "build" | "init" | "playground")),
        "comby" => !has(&["-i", "-in-place", "-d"]),
        "sd" => has(&["-p", "--preview"]) || call.operands.len() < 3,
        "sad" => !has(&["-k", "--commit"]),
        "spatch" => !has(&["--in-place", "--inplace"]),
        "ambs" => true,
        "ruplacer" => !has(&["--go"]),
        _ => has(&["--dry-run", "-n", "--dry", "-s", "--simulate", "--print-diff", "--preview"]),
    };
    if shows {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
        findings.add(ContentSearch, call.name.span());
    }
    if matches!(name, "jscodeshift" | "codemod" | "spatch" | "grit" | "gritql" | "coccinelle") {
        findings.opaque(Cause::ScriptFile, call.name.span());
    }
}

/// Other version control systems: by verb.
fn version_control<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match call.operand(0) {
        None => {}
        Some(
            "status" | "st" | "stat" | "log" | "l" | "diff" | "di" | "annotate" | "blame" | "info" | "cat"
            | "ls" | "list" | "summary" | "sum" | "branches" | "tags" | "heads" | "tip" | "id" | "identify"
            | "root" | "files" | "manifest" | "show" | "help" | "version" | "parents" | "bookmarks" | "paths"
            | "timeline" | "changes" | "whatsnew" | "describe" | "evolog" | "op" | "opened" | "where"
            | "grep" | "proplist" | "propget" | "pg" | "pl" | "youngest" | "tree" | "history" | "verify"
            | "workspace" | "interdiff",
        ) => findings.add(GitRead, span),
        Some(
            "clone" | "checkout" | "co" | "pull" | "push" | "update" | "up" | "commit" | "ci" | "sync"
            | "incoming" | "in" | "outgoing" | "out" | "export" | "import" | "switch" | "sw" | "relocate"
            | "login" | "get" | "put" | "send" | "submit" | "fetch" | "git" | "upload" | "init" | "forall"
            | "lock" | "unlock" | "copy" | "cp" | "mkdir" | "serve",
        ) => {
            let local = matches!(name, "hg" | "jj" | "darcs" | "bzr" | "brz" | "fossil" | "pijul")
                && matches!(
                    call.operand(0),
                    Some(
                        "commit"
                            | "ci"
                            | "update"
                            | "up"
                            | "checkout"
                            | "co"
                            | "init"
                            | "switch"
                            | "import"
                            | "export"
                            | "copy"
                            | "cp"
                            | "lock"
                            | "unlock"
                            | "mkdir"
                    )
                );
            findings.add(GitWrite, span);
            if !local && call.operand(0) != Some("init") {
                findings.add(Network, span);
            }
            if matches!(call.operand(0), Some("forall")) {
                findings.opaque(Cause::ExecOption, span);
            }
        }
        Some(
            "strip" | "revert" | "purge" | "delete" | "del" | "remove" | "rm" | "rollback" | "clean"
            | "cleanup" | "abandon" | "obliterate" | "prune",
        ) => {
            findings.add(GitWrite, span);
            findings.add(Destructive, span);
        }
        Some(_) => findings.add(GitWrite, span),
    }
    let overwrites = matches!(call.operand(0), Some("update" | "up" | "checkout" | "co"))
        && call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-C" | "--clean")));
    if name == "hg" && overwrites {
        findings.add(Destructive, span);
    }
    for arg in call.words {
        let known = arg.value.known_prefix();
        // `hg --config alias.x='!cmd'`, `svn --diff-cmd`, `jj --config ui.pager=…`
        if known.starts_with("--config")
            || known.starts_with("--diff-cmd")
            || known.starts_with("--diff3-cmd")
            || known.starts_with("--editor-cmd")
            || known.starts_with("--tool")
            || known == "-e" && name == "cvs"
        {
            findings.opaque(Cause::ExecOption, arg.span);
        }
    }
}

/// Companions of git: viewers read, rewriters rewrite, screens do as they are told.
fn git_friend<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "delta" | "diff-so-fancy" | "onefetch" | "git-quick-stats" | "git-standup" | "git-who" | "gource"
        | "git-cliff" | "git-chglog" => {
            findings.add(GitRead, span);
            if let Some(pager) = call.words.iter().find(|arg| arg.value.known_prefix().starts_with("--pager"))
            {
                findings.opaque(Cause::ExecOption, pager.span);
            }
            if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-o" | "--output"))) {
                findings.unknown_path(FileWrite, span);
            }
        }
        "lazygit" | "gitui" | "tig" | "gitk" => {
            findings.add(GitRead, span);
            findings.opaque(Cause::Editor, span);
        }
        "git-lfs" if matches!(call.operand(0), Some("ls-files" | "status" | "env" | "logs" | "pointer")) => {
            findings.add(GitRead, span)
        }
        "git-lfs" if matches!(call.operand(0), Some("pull" | "push" | "fetch" | "clone")) => {
            findings.add(GitWrite, span);
            findings.add(Network, span);
        }
        "git-filter-repo" | "bfg" => {
            findings.add(GitWrite, span);
            findings.add(Destructive, span);
            findings.opaque(Cause::ExecOption, span);
        }
        _ => findings.add(GitWrite, span),
    }
}

/// `fdupes -d`, `rmlint` scripts, `tmpreaper`: some delete.
fn duplicates<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let deletes = call.words.iter().any(|arg| {
        let known = arg.value.known_prefix();
        known.starts_with("--delete")
            || known == "-D"
            || known == "--clean"
            || (known.starts_with('-')
                && !known.starts_with("--")
                && known.contains('d')
                && matches!(name, "fdupes" | "jdupes"))
    });
    let dry =
        call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-t" | "--test" | "-n" | "-dryrun")));
    if deletes || matches!(name, "tmpreaper" | "tmpwatch" | "localepurge") && !dry {
        findings.add(Destructive, call.name.span());
    }
    if matches!(name, "hardlink" | "duperemove" | "rdfind") {
        findings.add(FileModify, call.name.span());
    }
    if name == "rmlint" {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

fn hex_editor<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(
        name,
        "dhex"
            | "hexedit"
            | "bvi"
            | "tweak"
            | "ghex"
            | "wxhexeditor"
            | "imhex"
            | "meld"
            | "kdiff3"
            | "xxdiff"
            | "diffuse"
    ) {
        findings.opaque(Cause::Editor, call.name.span());
    }
}

/// moreutils: some run commands, some filter.
fn moreutils<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "chronic" | "ifne" => findings.run(call.words.get(call.first_operand..).unwrap_or(&[])),
        "pee" | "mispipe" => {
            for word in &call.operands {
                findings.shell(*word);
            }
        }
        "isutf8" | "combine" | "ifdata" => findings.add(FileRead, call.name.span()),
        _ => {}
    }
}

/// Note and ledger programs write when told to add.
fn notes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(verb) = call.operand(0)
        && matches!(
            verb,
            "add"
                | "a"
                | "new"
                | "edit"
                | "done"
                | "do"
                | "start"
                | "stop"
                | "import"
                | "sync"
                | "delete"
                | "rm"
                | "modify"
                | "init"
        )
    {
        findings.add(FileModify, call.name.span());
    }
}
