//! Programs that read, filter and search text.

use crate::classify::op::OpClass::{ContentSearch, FileModify, FileRead, FileSearch, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["cat", "tac"])
        .closed()
        .stdin_filter()
        .switches("AbeEnstTuvr")
        .longs(&[
            "show-all",
            "number-nonblank",
            "show-ends",
            "number",
            "squeeze-blank",
            "show-tabs",
            "show-nonprinting",
            "before",
            "regex",
        ])
        .values("s")
        .long_values(&["separator"])
        .operands(Role::Read),
    command(&["head", "tail"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("qvzfFr")
        .longs(&["quiet", "silent", "verbose", "zero-terminated", "follow", "retry", "debug"])
        .values("ncs")
        .long_values(&["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"])
        .operands(Role::Read),
    command(&["nl"])
        .closed()
        .stdin_filter()
        .switches("p")
        .longs(&["no-renumber"])
        .values("bdfhilnsvw")
        .long_values(&[
            "body-numbering",
            "section-delimiter",
            "footer-numbering",
            "header-numbering",
            "line-increment",
            "join-blank-lines",
            "number-format",
            "number-separator",
            "starting-line-number",
            "number-width",
        ])
        .operands(Role::Read),
    command(&["wc"])
        .closed()
        .stdin_filter()
        .switches("clLmw")
        .longs(&["bytes", "chars", "lines", "words", "max-line-length", "debug"])
        .long_values(&["total"])
        .options(&[opt("", "files0-from").role(Role::Read)])
        .operands(Role::Read),
    command(&["tr"]).pure().stdin_filter().switches("cCdst").longs(&[
        "complement",
        "delete",
        "squeeze-repeats",
        "truncate-set1",
    ]),
    command(&["cut"])
        .closed()
        .stdin_filter()
        .switches("nsz")
        .longs(&["complement", "only-delimited", "zero-terminated"])
        .values("bcdfO")
        .long_values(&["bytes", "characters", "delimiter", "fields", "output-delimiter"])
        .operands(Role::Read),
    command(&["sort"])
        .closed()
        .stdin_filter()
        .worst(&[FileWrite])
        .switches("bdfgiMhnRrVcCmsuz")
        .longs(&[
            "ignore-leading-blanks",
            "dictionary-order",
            "ignore-case",
            "general-numeric-sort",
            "ignore-nonprinting",
            "month-sort",
            "human-numeric-sort",
            "numeric-sort",
            "random-sort",
            "reverse",
            "version-sort",
            "check",
            "merge",
            "stable",
            "unique",
            "zero-terminated",
            "debug",
        ])
        .values("kSt")
        .long_values(&["sort", "batch-size", "key", "buffer-size", "field-separator", "parallel"])
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("T", "temporary-directory").value(),
            opt("", "compress-program").value().opaque(Cause::ExecOption),
            opt("", "random-source").role(Role::Read),
            opt("", "files0-from").role(Role::Read),
        ])
        .operands(Role::Read),
    command(&["uniq"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("cdDizu")
        .longs(&["count", "repeated", "all-repeated", "group", "ignore-case", "unique", "zero-terminated"])
        .values("fsw")
        .long_values(&["skip-fields", "skip-chars", "check-chars"])
        .first(&[Role::Read])
        .operands(Role::Write),
    command(&[
        "grep", "egrep", "fgrep", "rgrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "zstdgrep",
    ])
    .closed()
    .stdin_filter()
    .numeric()
    .classes(&[ContentSearch])
    .worst(&[])
    .switches("EFGPiwxzsvVbHnhoqarRIUTLclyu")
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
    command(&["dos2unix", "unix2dos", "mac2unix", "unix2mac"])
        .closed()
        .switches("bcfhkloqrsuVv7")
        .values("i")
        .options(&[opt("n", "newfile"), opt("O", "to-stdout").drops(&[FileModify])])
        .classes(&[FileModify])
        .bare(&[])
        .operands(Role::Read),
    command(&["column", "fold", "fmt", "expand", "unexpand", "rev", "paste", "comm", "join", "tsort", "pr"])
        .closed()
        .stdin_filter()
        .numeric()
        .lenient()
        .operands(Role::Read),
    command(&["locate", "plocate", "mlocate"]).closed().classes(&[FileSearch]).lenient(),
    command(&["jq"])
        .closed()
        .stdin_filter()
        .switches("nrajcsSCMVegh")
        .longs(&[
            "null-input",
            "raw-output",
            "raw-output0",
            "ascii-output",
            "join-output",
            "compact-output",
            "slurp",
            "sort-keys",
            "color-output",
            "monochrome-output",
            "exit-status",
            "tab",
            "unbuffered",
            "stream",
            "stream-errors",
            "seq",
            "raw-input",
            "binary",
            "jsonargs",
            "args",
        ])
        .long_values(&["indent"])
        .options(&[
            opt("R", ""),
            opt("f", "from-file").role(Role::Read).supplies_first(),
            opt("L", "library-path").value(),
            opt("", "arg").two(),
            opt("", "argjson").two(),
            opt("", "slurpfile").two().adds(&[FileRead]),
            opt("", "rawfile").two().adds(&[FileRead]),
        ])
        .first(&[Role::Text])
        .operands(Role::Read),
];
