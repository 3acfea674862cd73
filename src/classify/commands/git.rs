//! git: one row a subcommand; what `-c`, aliases, pathspecs and refspecs add is in the hatches.

use crate::classify::hatch::git;
use crate::classify::op::OpClass::{
    ContentSearch, Destructive, FileModify, FileWrite, GitRead, GitWrite, Network,
};
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

use super::git_options::{DIFF, DRY_RUN, REMOTE, STRATEGY};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["git"])
        .git()
        .closed()
        .switches("pP")
        .longs(&[
            "paginate",
            "no-pager",
            "bare",
            "no-replace-objects",
            "no-lazy-fetch",
            "no-optional-locks",
            "no-advice",
            "literal-pathspecs",
            "glob-pathspecs",
            "noglob-pathspecs",
            "icase-pathspecs",
            "html-path",
            "man-path",
            "info-path",
        ])
        .long_values(&["git-dir", "work-tree", "namespace", "super-prefix", "list-cmds", "attr-source"])
        .options(&[
            opt("C", "").chdir(),
            opt("c", "").value(),
            opt("", "config-env").value(),
            opt("", "exec-path").attached(),
            opt("v", "").info(),
            opt("h", "").info(),
        ])
        .subcommands(SUBCOMMANDS)
        .hatch(git::global),
    command(&["gitk", "git-gui", "tig", "lazygit", "gitui"]).opaque(Cause::Editor).lenient(),
    command(&["git-lfs"]).classes(&[GitWrite, Network]).lenient(),
];

const SUBCOMMANDS: &[Row] = &[
    command(&["status"]).closed().classes(&[GitRead]).tool("git_status").lenient(),
    command(&["log", "whatchanged"]).closed().classes(&[GitRead]).tool("git_log").lenient().options(DIFF),
    command(&["diff"]).closed().classes(&[GitRead]).tool("git_diff").lenient().options(DIFF),
    command(&["show"]).closed().classes(&[GitRead]).tool("git_show").lenient().options(DIFF),
    command(&["diff-tree", "diff-index", "diff-files", "range-diff", "format-rev"])
        .closed()
        .classes(&[GitRead])
        .tool("git_diff")
        .lenient()
        .options(DIFF),
    command(&["rev-list", "shortlog", "blame", "annotate", "show-branch", "cherry", "reflog-show"])
        .closed()
        .classes(&[GitRead])
        .tool("git_log")
        .lenient()
        .options(DIFF),
    command(&[
        "rev-parse",
        "ls-files",
        "ls-tree",
        "cat-file",
        "name-rev",
        "describe",
        "merge-base",
        "merge-tree",
        "for-each-ref",
        "show-ref",
        "show-index",
        "check-ignore",
        "check-attr",
        "check-mailmap",
        "check-ref-format",
        "var",
        "count-objects",
        "verify-commit",
        "verify-tag",
        "verify-pack",
        "patch-id",
        "get-tar-commit-id",
        "diff-pairs",
        "last-modified",
    ])
    .closed()
    .classes(&[GitRead])
    .tool("git_read")
    .lenient(),
    command(&["fsck"]).closed().classes(&[GitRead]).tool("git_read").lenient().options(&[opt(
        "",
        "lost-found",
    )
    .adds(&[GitWrite])]),
    command(&["fast-export"]).closed().classes(&[GitRead]).tool("git_read").lenient().options(&[
        opt("", "export-marks").role(Role::Write),
        opt("", "import-marks").role(Role::Read),
        opt("", "import-marks-if-exists").role(Role::Read),
    ]),
    command(&["unpack-file"]).closed().classes(&[GitRead, FileWrite]).lenient(),
    command(&["help"]).closed().pure().lenient().options(&[opt("w", "web").opaque(Cause::ExecOption)]),
    command(&["version", "stripspace", "column", "fmt-merge-msg"]).closed().pure().lenient(),
    // Message and patch, by their two operands.
    command(&["mailinfo"]).closed().classes(&[FileWrite]).lenient(),
    command(&["interpret-trailers"])
        .closed()
        .classes(&[GitRead])
        .lenient()
        .options(&[opt("", "in-place").adds(&[FileModify])]),
    command(&["grep"]).closed().classes(&[ContentSearch]).tool("grep").lenient().options(&[
        opt("O", "open-files-in-pager").attached().opaque(Cause::ExecOption),
        opt("ABCmfe", "").value(),
        opt("", "ext-grep"),
    ]),
    command(&["add", "stage"])
        .classes(&[GitWrite])
        .tool("git_add")
        .lenient()
        .switches("vfiApuN")
        .options(DRY_RUN),
    command(&["commit"]).classes(&[GitWrite]).tool("git_commit").lenient().options(&[
        opt("n", ""),
        opt("", "dry-run").drops(&[GitWrite]).adds(&[GitRead]),
        opt("F", "file").role(Role::Read),
        opt("t", "template").role(Role::Read),
        opt("", "pathspec-from-file").role(Role::Read),
        opt("mcC", "").value(),
    ]),
    command(&["push"])
        .classes(&[GitWrite, Network])
        .tool("git_push")
        .lenient()
        .switches("uqv46")
        .options(&[
            opt("", "dry-run").drops(&[GitWrite]),
            opt("n", "").drops(&[GitWrite]),
            opt("f", "force").adds(&[Destructive]),
            opt("", "mirror").adds(&[Destructive]),
            opt("", "prune").adds(&[Destructive]),
            opt("d", "delete").adds(&[Destructive]),
            opt("o", "push-option").value(),
            opt("", "receive-pack").value().opaque(Cause::ExecOption),
            opt("", "exec").value().opaque(Cause::ExecOption),
            opt("", "repo").value(),
        ])
        .hatch(git::push),
    command(&["pull"])
        .classes(&[GitWrite, Network])
        .tool("git_pull")
        .lenient()
        .options(&[
            opt("", "upload-pack").value().opaque(Cause::ExecOption),
            opt("sXSjo", "").value(),
            opt("", "dry-run").drops(&[GitWrite]),
        ])
        .hatch(git::remote),
    command(&["fetch"])
        .classes(&[GitWrite, Network])
        .tool("git_fetch")
        .lenient()
        .options(&[
            opt("", "upload-pack").value().opaque(Cause::ExecOption),
            opt("jo", "").value(),
            opt("", "dry-run").drops(&[GitWrite]),
        ])
        .hatch(git::remote),
    command(&["clone"])
        .classes(&[FileWrite, GitWrite, Network])
        .tool("git_clone")
        .lenient()
        .options(&[
            opt("u", "upload-pack").value().opaque(Cause::ExecOption),
            opt("c", "config").value(),
            opt("", "template").value().opaque(Cause::ScriptFile),
            opt("bojq", "").value(),
            opt("", "branch").value(),
            opt("", "depth").value(),
            opt("", "origin").value(),
            opt("", "reference").value(),
            opt("", "filter").value(),
            opt("", "separate-git-dir").role(Role::Write),
        ])
        .hatch(git::clone),
    command(&["ls-remote"])
        .classes(&[Network])
        .tool("git_ls_remote")
        .lenient()
        .options(REMOTE)
        .hatch(git::remote),
    command(&["remote"])
        .closed()
        .classes(&[GitWrite])
        .bare(&[GitRead])
        .tool("git_remote")
        .lenient()
        .subcommands(&[
            command(&["show", "prune", "update"])
                .local()
                .classes(&[GitRead, Network])
                .lenient()
                .hatch(git::remote_update),
            command(&["get-url"]).local().closed().classes(&[GitRead]).lenient(),
            command(&["add", "set-url"])
                .local()
                .classes(&[GitWrite])
                .tool("git_remote")
                .lenient()
                .hatch(git::remote),
        ])
        .lenient_sub(),
    command(&["branch"])
        .classes(&[GitWrite])
        .bare(&[GitRead])
        .tool("git_branch")
        .lenient()
        .switches("vqi")
        .options(&[
            opt("l", "list").drops(&[GitWrite]).adds(&[GitRead]),
            opt("ar", "all").drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "remotes").drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "show-current").drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "contains").value().drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "no-contains").value().drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "merged").attached().drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "no-merged").attached().drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "points-at").value().drops(&[GitWrite]).adds(&[GitRead]),
            opt("", "sort").value(),
            opt("", "format").value(),
            opt("dDmMcCuf", "").adds(&[GitWrite]),
            opt("", "delete").adds(&[GitWrite]),
            opt("", "move").adds(&[GitWrite]),
            opt("", "copy").adds(&[GitWrite]),
            opt("", "force").adds(&[GitWrite]),
            opt("", "set-upstream-to").value().adds(&[GitWrite]),
            opt("", "unset-upstream").adds(&[GitWrite]),
            opt("", "edit-description").adds(&[GitWrite]),
        ]),
    command(&["tag"]).classes(&[GitWrite]).bare(&[GitRead]).tool("git_tag").lenient().options(&[
        opt("l", "list").drops(&[GitWrite]).adds(&[GitRead]),
        opt("n", "").attached().drops(&[GitWrite]).adds(&[GitRead]),
        opt("v", "verify").drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "contains").value().drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "no-contains").value().drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "merged").attached().drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "no-merged").attached().drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "points-at").value().drops(&[GitWrite]).adds(&[GitRead]),
        opt("", "sort").value(),
        opt("", "format").value(),
        opt("m", "message").value(),
        opt("F", "file").role(Role::Read),
        opt("u", "local-user").value(),
        opt("d", "delete").adds(&[GitWrite]),
        opt("f", "force").adds(&[GitWrite]),
    ]),
    command(&["checkout"])
        .classes(&[GitWrite])
        .tool("git_checkout")
        .lenient()
        .options(&[
            opt("bB", "orphan").value(),
            opt("f", "force").adds(&[Destructive]),
            opt("", "ours").adds(&[Destructive]),
            opt("", "theirs").adds(&[Destructive]),
            opt("", "pathspec-from-file").role(Role::Read).adds(&[Destructive]),
        ])
        .hatch(git::checkout),
    command(&["switch"])
        .classes(&[GitWrite])
        .tool("git_switch")
        .lenient()
        .options(&[opt("f", "force").adds(&[Destructive]), opt("", "discard-changes").adds(&[Destructive])]),
    command(&["restore"])
        .classes(&[GitWrite])
        .tool("git_restore")
        .lenient()
        .options(&[opt("S", "staged"), opt("W", "worktree"), opt("s", "source").value()])
        .hatch(git::restore),
    command(&["reset"]).classes(&[GitWrite]).tool("git_reset").lenient().options(&[
        opt("", "hard").adds(&[Destructive]),
        opt("", "merge").adds(&[Destructive]),
        opt("", "keep"),
        opt("", "pathspec-from-file").role(Role::Read),
    ]),
    command(&["clean"]).classes(&[Destructive]).tool("git_clean").lenient().switches("dfiqxX").options(&[
        opt("n", "dry-run").drops(&[Destructive]).adds(&[GitRead]),
        opt("e", "exclude").value(),
        opt("", "no-dry-run").adds(&[Destructive]),
    ]),
    command(&["stash"]).classes(&[GitWrite]).tool("git_stash").lenient().lenient_sub().subcommands(&[
        command(&["list"]).local().closed().classes(&[GitRead]).tool("git_log").lenient(),
        command(&["show"]).local().closed().classes(&[GitRead]).tool("git_diff").lenient().options(DIFF),
        command(&["drop", "clear"]).classes(&[Destructive]).tool("git_stash").lenient(),
    ]),
    command(&["rm"]).classes(&[GitWrite, Destructive]).tool("git_rm").lenient().switches("rfq").options(&[
        opt("", "cached").drops(&[Destructive]),
        opt("n", "dry-run").drops(&[GitWrite, Destructive]).adds(&[GitRead]),
    ]),
    command(&["mv"]).classes(&[GitWrite]).tool("git_mv").lenient().options(DRY_RUN),
    command(&["merge"]).classes(&[GitWrite]).tool("git_merge").lenient().options(STRATEGY),
    command(&["cherry-pick"]).classes(&[GitWrite]).tool("git_cherry_pick").lenient().options(STRATEGY),
    command(&["revert"]).classes(&[GitWrite]).tool("git_revert").lenient().options(STRATEGY),
    command(&["rebase"]).classes(&[GitWrite]).tool("git_rebase").lenient().options(&[
        opt("x", "exec").role(Role::Shell),
        opt("sX", "strategy").value(),
        opt("", "onto").value(),
    ]),
    command(&["am", "quiltimport"]).classes(&[GitWrite]).tool("git_am").lenient().operands(Role::Read),
    command(&["apply"])
        .classes(&[FileModify])
        .tool("git_apply")
        .lenient()
        .options(&[
            opt("", "check").drops(&[FileModify]),
            opt("", "stat").drops(&[FileModify]),
            opt("", "numstat").drops(&[FileModify]),
            opt("", "summary").drops(&[FileModify]),
            opt("", "apply").adds(&[FileModify]),
            opt("", "index").adds(&[GitWrite]),
            opt("", "cached").adds(&[GitWrite]).drops(&[FileModify]),
            opt("3", "3way").adds(&[GitWrite]),
            opt("pC", "").value(),
        ])
        .operands(Role::Read),
    command(&["config"])
        .classes(&[GitWrite])
        .tool("git_config")
        .lenient()
        .options(&[
            opt("f", "file").value(),
            opt("", "blob").value(),
            opt("t", "type").value(),
            opt("", "default").value(),
            opt("", "comment").value(),
            opt("l", "list"),
            opt("", "get"),
            opt("", "get-all"),
            opt("", "get-regexp"),
            opt("", "get-urlmatch"),
            opt("", "get-color"),
            opt("", "get-colorbool"),
            opt("e", "edit"),
            opt("", "unset"),
            opt("", "unset-all"),
            opt("", "add"),
            opt("", "replace-all"),
            opt("", "rename-section"),
            opt("", "remove-section"),
        ])
        .hatch(git::config),
    command(&["reflog"])
        .closed()
        .classes(&[GitRead])
        .tool("git_log")
        .lenient()
        .options(DIFF)
        .subcommands(&[command(&["expire", "delete", "drop"])
            .local()
            .classes(&[GitWrite, Destructive])
            .lenient()
            .options(&[opt("n", "dry-run").drops(&[GitWrite, Destructive]).adds(&[GitRead])])])
        .lenient_sub(),
    command(&["worktree"])
        .classes(&[GitWrite])
        .bare(&[GitRead])
        .tool("git_worktree")
        .lenient()
        .subcommands(&[
            command(&["list"]).local().closed().classes(&[GitRead]).tool("git_status").lenient(),
            command(&["remove"]).classes(&[Destructive]).tool("git_worktree").lenient(),
            command(&["prune"]).tool("git_worktree").lenient().options(&[opt("n", "dry-run")]),
        ])
        .lenient_sub(),
    command(&["submodule"])
        .classes(&[GitWrite])
        .bare(&[GitRead])
        .tool("git_submodule")
        .lenient()
        .subcommands(&[
            command(&["status", "summary"]).local().closed().classes(&[GitRead]).tool("git_status").lenient(),
            command(&["foreach"])
                .local()
                .wrapper()
                .switches("q")
                .longs(&["quiet", "recursive"])
                .operands(Role::Line),
            command(&["add", "update"])
                .classes(&[Network])
                .tool("git_submodule")
                .lenient()
                .options(&[opt("b", "branch").value(), opt("", "name").value(), opt("", "reference").value()])
                .hatch(git::remote),
            command(&["deinit"])
                .tool("git_submodule")
                .lenient()
                .options(&[opt("f", "force").adds(&[Destructive])]),
        ])
        .lenient_sub(),
    command(&["bisect"])
        .classes(&[GitWrite])
        .tool("git_bisect")
        .lenient()
        .subcommands(&[
            command(&["log", "terms"]).local().closed().classes(&[GitRead]).lenient(),
            command(&["run"]).wrapper().operands(Role::Command).opaque(Cause::ScriptFile),
        ])
        .lenient_sub(),
    command(&["notes"])
        .classes(&[GitWrite])
        .bare(&[GitRead])
        .tool("git_notes")
        .lenient()
        .subcommands(&[command(&["list", "show", "get-ref"]).local().closed().classes(&[GitRead]).lenient()])
        .lenient_sub(),
    command(&["filter-branch"]).classes(&[GitWrite, Destructive]).lenient().options(&[
        opt("", "setup").role(Role::Shell),
        opt("", "env-filter").role(Role::Shell),
        opt("", "tree-filter").role(Role::Shell),
        opt("", "index-filter").role(Role::Shell),
        opt("", "parent-filter").role(Role::Shell),
        opt("", "msg-filter").role(Role::Shell),
        opt("", "commit-filter").role(Role::Shell),
        opt("", "tag-name-filter").role(Role::Shell),
    ]),
    command(&["filter-repo"]).classes(&[GitWrite, Destructive]).opaque(Cause::Interpreter).lenient(),
    command(&["symbolic-ref"]).classes(&[GitWrite]).tool("git_update_ref").lenient().hatch(git::symbolic_ref),
    command(&[
        "update-ref",
        "update-index",
        "write-tree",
        "commit-tree",
        "mktree",
        "mktag",
        "fast-import",
        "unpack-objects",
        "index-pack",
        "pack-objects",
        "pack-refs",
        "repack",
        "replace",
        "rerere",
        "merge-index",
        "merge-file",
        "update-server-info",
        "init-db",
        "refs",
        "commit-graph",
        "multi-pack-index",
        "pack-redundant",
        "backfill",
        "init",
        "history",
        "replay",
    ])
    .classes(&[GitWrite])
    .tool("git_write")
    .lenient()
    .options(&[opt("", "template").value().opaque(Cause::ScriptFile), opt("", "output").role(Role::Write)]),
    // They overwrite the working tree.
    command(&["read-tree"]).classes(&[GitWrite]).tool("git_write").lenient().options(&[
        opt("", "reset").adds(&[Destructive]),
        opt("n", "dry-run").drops(&[GitWrite, Destructive]),
    ]),
    command(&["checkout-index"])
        .classes(&[GitWrite])
        .tool("git_write")
        .lenient()
        .switches("uqan")
        .options(&[opt("f", "force").adds(&[Destructive])]),
    command(&["hash-object"]).classes(&[GitRead]).lenient().options(&[opt("w", "").adds(&[GitWrite])]),
    command(&["gc", "prune", "prune-packed", "maintenance"])
        .classes(&[GitWrite])
        .lenient()
        .options(&[opt("", "prune").attached().adds(&[Destructive]).except(&["never"]), opt("n", "dry-run")]),
    command(&["sparse-checkout"])
        .classes(&[GitWrite])
        .lenient()
        .subcommands(&[command(&["list", "check-rules"]).local().closed().classes(&[GitRead]).lenient()])
        .lenient_sub(),
    command(&["archive"]).closed().classes(&[GitRead]).lenient().options(&[
        opt("o", "output").role(Role::Write),
        opt("", "remote").value().adds(&[Network]),
        opt("", "exec").value().opaque(Cause::ExecOption),
    ]),
    command(&["bundle"])
        .classes(&[GitRead])
        .lenient()
        .subcommands(&[
            command(&["create"]).lenient().first(&[Role::Write]),
            command(&["unbundle"]).classes(&[GitWrite]).lenient(),
        ])
        .lenient_sub(),
    command(&["format-patch"])
        .closed()
        .classes(&[FileWrite, GitRead])
        .tool("git_format_patch")
        .lenient()
        .options(&[
            opt("o", "output-directory").role(Role::Write),
            opt("", "output").role(Role::Write),
            opt("", "stdout").drops(&[FileWrite]),
        ]),
    command(&["bugreport", "diagnose"]).closed().classes(&[FileWrite]).lenient(),
    command(&["difftool", "mergetool"])
        .classes(&[GitRead])
        .opaque(Cause::ExecOption)
        .lenient()
        .options(&[opt("x", "extcmd").role(Role::Shell)]),
    command(&["request-pull", "cherry-show"]).classes(&[GitRead, Network]).lenient(),
    command(&[
        "send-email",
        "imap-send",
        "svn",
        "p4",
        "cvsimport",
        "cvsexportcommit",
        "archimport",
        "http-fetch",
        "http-push",
    ])
    .classes(&[Network, GitWrite])
    .opaque(Cause::ExecOption)
    .lenient(),
    command(&["send-pack", "fetch-pack"])
        .classes(&[Network, GitWrite])
        .lenient()
        .options(REMOTE)
        .hatch(git::remote),
    command(&[
        "upload-pack",
        "receive-pack",
        "upload-archive",
        "daemon",
        "http-backend",
        "shell",
        "cvsserver",
        "instaweb",
    ])
    .classes(&[Network])
    .opaque(Cause::ExecOption)
    .lenient(),
    command(&[
        "gui",
        "citool",
        "web--browse",
        "hook",
        "credential",
        "credential-cache",
        "credential-store",
        "remote-ext",
        "remote-fd",
        "for-each-repo",
        "flow",
        "absorb",
    ])
    .opaque(Cause::ExecOption)
    .lenient(),
    command(&["lfs"])
        .classes(&[GitWrite])
        .lenient()
        .subcommands(&[
            command(&["ls-files", "status", "env", "version", "track-list"])
                .local()
                .closed()
                .classes(&[GitRead])
                .lenient(),
            command(&["pull", "fetch", "push", "clone", "lock", "unlock", "locks"])
                .classes(&[Network])
                .lenient(),
            command(&["prune"])
                .classes(&[Destructive])
                .lenient()
                .options(&[opt("d", "dry-run").drops(&[Destructive])]),
        ])
        .lenient_sub(),
];
