//! Programs that search text.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{ContentSearch, FileModify, FileSearch, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "grep", "egrep", "fgrep", "rgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "zstdgrep",
    ])
    .closed()
    .stdin_filter()
    .numeric()
    .classes(&[ContentSearch])
    .worst(&[])
    .switches("EFGPiwxzsvVbHnhoqaIUTLclyuZ")
    .longs(&[
        "extended-regexp",
        "fixed-strings",
        "basic-regexp",
        "perl-regexp",
        "ignore-case",
        "no-ignore-case",
        "word-regexp",
        "line-regexp",
        "null-data",
        "no-messages",
        "invert-match",
        "byte-offset",
        "line-number",
        "line-buffered",
        "with-filename",
        "no-filename",
        "only-matching",
        "quiet",
        "silent",
        "text",
        "recursive",
        "dereference-recursive",
        "files-without-match",
        "files-with-matches",
        "count",
        "initial-tab",
        "null",
        "binary",
        "color",
        "colour",
        "no-group-separator",
    ])
    .values("mABCDd")
    .long_values(&[
        "max-count",
        "label",
        "binary-files",
        "directories",
        "devices",
        "include",
        "exclude",
        "exclude-dir",
        "after-context",
        "before-context",
        "context",
        "group-separator",
    ])
    .options(&[
        opt("e", "regexp").value().supplies_first(),
        opt("f", "file").role(Role::Read).supplies_first(),
        opt("", "exclude-from").role(Role::Read),
        opt("Z", ""),
    ])
    .first(&[Role::Text])
    .operands(Role::Search),
    command(&["rg", "ripgrep"])
        .closed()
        .stdin_filter()
        .classes(&[ContentSearch])
        .switches("ahHiIlLnNopPqrsSuvwxzbc0FUVc")
        .longs(&[
            "auto-hybrid-regex",
            "binary",
            "block-buffered",
            "byte-offset",
            "case-sensitive",
            "column",
            "count",
            "count-matches",
            "crlf",
            "debug",
            "files-with-matches",
            "files-without-match",
            "fixed-strings",
            "follow",
            "glob-case-insensitive",
            "heading",
            "hidden",
            "ignore",
            "ignore-case",
            "ignore-file-case-insensitive",
            "include-zero",
            "invert-match",
            "json",
            "line-buffered",
            "line-number",
            "line-regexp",
            "max-columns-preview",
            "mmap",
            "multiline",
            "multiline-dotall",
            "no-binary",
            "no-config",
            "no-filename",
            "no-heading",
            "no-ignore",
            "no-ignore-dot",
            "no-ignore-exclude",
            "no-ignore-files",
            "no-ignore-global",
            "no-ignore-messages",
            "no-ignore-parent",
            "no-ignore-vcs",
            "no-line-number",
            "no-messages",
            "no-mmap",
            "no-pcre2-unicode",
            "no-require-git",
            "no-unicode",
            "null",
            "null-data",
            "one-file-system",
            "only-matching",
            "passthru",
            "pcre2",
            "pretty",
            "quiet",
            "search-zip",
            "smart-case",
            "stats",
            "stop-on-nonmatch",
            "text",
            "trace",
            "trim",
            "unrestricted",
            "vimgrep",
            "with-filename",
            "word-regexp",
        ])
        .values("ABCEgjMmrtTd")
        .long_values(&[
            "after-context",
            "before-context",
            "color",
            "colors",
            "context",
            "context-separator",
            "dfa-size-limit",
            "encoding",
            "engine",
            "field-context-separator",
            "field-match-separator",
            "generate",
            "glob",
            "hyperlink-format",
            "iglob",
            "max-columns",
            "max-count",
            "max-depth",
            "max-filesize",
            "path-separator",
            "pre-glob",
            "regex-size-limit",
            "replace",
            "sort",
            "sortr",
            "threads",
            "type",
            "type-add",
            "type-clear",
            "type-not",
        ])
        .options(&[
            opt("e", "regexp").value().supplies_first(),
            opt("f", "file").role(Role::Read).supplies_first(),
            opt("", "ignore-file").role(Role::Read),
            opt("", "files").supplies_first().drops(&[ContentSearch]).adds(&[FileSearch]),
            opt("", "type-list").supplies_first().drops(&[ContentSearch]),
            opt("", "pre").value().opaque(Cause::ExecOption).except(&[""]),
            opt("", "hostname-bin").value().opaque(Cause::ExecOption),
        ])
        .first(&[Role::Text])
        .operands(Role::Search),
    // `ug` reads `.ugrep` of the working directory, which may name a filter program.
    command(&["ug"]).classes(&[ContentSearch]).opaque(Cause::Configuration).lenient(),
    command(&["sift"])
        .closed()
        .stdin_filter()
        .classes(&[ContentSearch])
        .lenient()
        .options(&[
            // A file, or `tcp://HOST:PORT`.
            opt("o", "output").role(Role::RemoteTarget),
            opt("", "write-config").adds(&[FileWrite]),
            opt("", "conf").value(),
        ])
        .first(&[Role::Text])
        .operands(Role::Search),
    command(&["ag", "ack", "pt", "ugrep"])
        .closed()
        .stdin_filter()
        .classes(&[ContentSearch])
        .lenient()
        .options(&[
            opt("", "pager").value().opaque(Cause::ExecOption),
            opt("", "filter").value().opaque(Cause::ExecOption),
            opt("", "view").value().opaque(Cause::ExecOption),
            opt("", "config").attached().opaque(Cause::Configuration),
            opt("", "ackrc").value().opaque(Cause::Configuration),
            // Ack evaluates it as Perl text.
            opt("", "output").value().opaque(Cause::Interpreter),
            opt("", "save-config").adds(&[FileWrite]),
            opt("g", "").value().supplies_first().drops(&[ContentSearch]).adds(&[FileSearch]),
            opt("GABCm", "").value(),
        ])
        .first(&[Role::Text])
        .operands(Role::Search)
        .hatch(configured),
    command(&["ast-grep", "semgrep"]).classes(&[ContentSearch]).lenient().options(&[
        opt("U", "update-all").adds(&[FileModify]),
        opt("", "autofix").adds(&[FileModify]),
        opt("i", "interactive").adds(&[FileModify]),
        opt("o", "output").role(Role::Write),
        opt("f", "config").value().adds(&[Network]).only(&["auto", "p/*", "r/*", "s/*", "http*"]),
    ]),
    command(&["locate", "plocate", "mlocate"]).closed().classes(&[FileSearch]).lenient(),
];

/// `ugrep ---FILE`: options from a file.
fn configured<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(arg) = call.words.iter().find(|arg| arg.value.known_prefix().starts_with("---")) {
        findings.opaque(Cause::Configuration, arg.span);
    }
}
