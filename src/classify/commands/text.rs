//! Programs that read, filter and search text.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{FileModify, FileRead, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};
use crate::shell::Arg;

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
    command(&["less", "more", "most", "zless", "zmore", "lessecho"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("aAcCdeEfFgGiIJKmMnNqQrRsSuUwWXLl?~")
        .longs(&[
            "QUIT-AT-EOF",
            "RAW-CONTROL-CHARS",
            "chop-long-lines",
            "ignore-case",
            "IGNORE-CASE",
            "LINE-NUMBERS",
            "line-numbers",
            "long-prompt",
            "no-init",
            "quiet",
            "quit-at-eof",
            "quit-if-one-screen",
            "quit-on-intr",
            "raw-control-chars",
            "silent",
            "squeeze-blank-lines",
            "use-color",
            "mouse",
            "no-keypad",
            "status-column",
            "incsearch",
        ])
        .values("bhjPtTxyzD#")
        .long_values(&[
            "prompt",
            "tabs",
            "shift",
            "window",
            "pattern",
            "jump-target",
            "color",
            "max-back-scroll",
        ])
        .options(&[
            opt("oO", "log-file").role(Role::Write),
            opt("", "LOG-FILE").role(Role::Write),
            opt("k", "lesskey-file").role(Role::Read).opaque(Cause::ExecOption),
            opt("", "lesskey-src").role(Role::Read).opaque(Cause::ExecOption),
            opt("", "lesskey-content").value().opaque(Cause::ExecOption),
            opt("", "cmd").value().opaque(Cause::ExecOption),
        ])
        .hatch(pager),
    command(&["tee", "sponge"])
        .closed()
        .stdin_filter()
        .switches("aip")
        .longs(&["append", "ignore-interrupts", "output-error"])
        .operands(Role::Write),
    command(&["split"])
        .closed()
        .numeric()
        .classes(&[FileWrite])
        .switches("deux")
        .longs(&["elide-empty-files", "unbuffered", "verbose", "numeric-suffixes", "hex-suffixes"])
        .values("abClnt")
        .long_values(&[
            "suffix-length",
            "additional-suffix",
            "bytes",
            "line-bytes",
            "lines",
            "number",
            "separator",
        ])
        .options(&[opt("", "filter").role(Role::Shell)])
        .first(&[Role::Read]),
    command(&["csplit"])
        .closed()
        .classes(&[FileWrite])
        .switches("kqsz")
        .longs(&["keep-files", "suppress-matched", "quiet", "silent", "elide-empty-files"])
        .values("bfn")
        .long_values(&["suffix-format", "prefix", "digits"])
        .first(&[Role::Read]),
    command(&["iconv"])
        .closed()
        .stdin_filter()
        .switches("csl")
        .longs(&["list", "silent", "verbose"])
        .values("ft")
        .long_values(&["from-code", "to-code", "byte-subst", "widechar-subst", "unicode-subst"])
        .options(&[opt("o", "output").role(Role::Write)])
        .operands(Role::Read),
    command(&["recode"]).closed().stdin_filter().lenient().first(&[Role::Text]).operands(Role::Modify),
    command(&["od"])
        .closed()
        .stdin_filter()
        .switches("abcdfilosvx")
        .longs(&["output-duplicates", "traditional"])
        .values("AjNSt")
        .long_values(&["address-radix", "skip-bytes", "read-bytes", "strings", "format", "endian"])
        .options(&[opt("w", "width").attached()])
        .operands(Role::Read),
    command(&["hexdump", "hd", "hexyl"])
        .closed()
        .stdin_filter()
        .switches("bcCdovxXp")
        .longs(&["canonical", "no-squeezing", "no-characters", "no-position", "plain"])
        .values("nseL")
        .long_values(&["length", "skip", "format", "border", "color"])
        .options(&[opt("f", "format-file").role(Role::Read)])
        .operands(Role::Read),
    command(&["strings"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("adfowh")
        .longs(&["all", "data", "print-file-name", "include-all-whitespace"])
        .values("nteTUs")
        .long_values(&["bytes", "radix", "encoding", "target", "unicode", "output-separator"])
        .operands(Role::Read),
    command(&["xxd"])
        .closed()
        .stdin_filter()
        .switches("abeEipruCd")
        .longs(&["autoskip", "bits", "EBCDIC", "include", "postscript", "plain", "ps", "revert", "uppercase"])
        .values("cgloRns")
        .long_values(&["cols", "groupsize", "len", "offset", "seek", "name"])
        .first(&[Role::Read])
        .operands(Role::Write),
    command(&["base64", "base32", "basenc"])
        .closed()
        .stdin_filter()
        .switches("diDz")
        .longs(&["decode", "ignore-garbage", "base64", "base64url", "base32", "base32hex", "base16", "z85"])
        .values("wb")
        .long_values(&["wrap", "break"])
        .options(&[opt("o", "output").role(Role::Write)])
        .operands(Role::Read),
    command(&[
        "md5",
        "md5sum",
        "sha1sum",
        "sha224sum",
        "sha256sum",
        "sha384sum",
        "sha512sum",
        "b2sum",
        "b3sum",
        "cksum",
        "sum",
        "shasum",
        "crc32",
        "xxhsum",
        "xxh64sum",
        "xxh128sum",
    ])
    .closed()
    .stdin_filter()
    .lenient()
    .values("a")
    .long_values(&["algorithm", "length"])
    .options(&[opt("c", "check").adds(&[FileRead])])
    .operands(Role::Read),
    command(&["diff", "diff3", "sdiff", "colordiff", "wdiff", "dwdiff"])
        .closed()
        .numeric()
        .switches("3aABbcdeEfHilmNnPpqrsTtuvwyZ")
        .longs(&[
            "brief",
            "color",
            "ed",
            "expand-tabs",
            "ignore-all-space",
            "ignore-blank-lines",
            "ignore-case",
            "ignore-file-name-case",
            "ignore-space-change",
            "ignore-tab-expansion",
            "ignore-trailing-space",
            "initial-tab",
            "left-column",
            "minimal",
            "new-file",
            "no-dereference",
            "normal",
            "rcs",
            "recursive",
            "report-identical-files",
            "show-c-function",
            "side-by-side",
            "speed-large-files",
            "strip-trailing-cr",
            "suppress-common-lines",
            "text",
            "unidirectional-new-file",
            "context",
            "unified",
        ])
        .values("CDFILSUWx")
        .long_values(&[
            "exclude",
            "from-file",
            "ifdef",
            "ignore-matching-lines",
            "label",
            "line-format",
            "old-line-format",
            "new-line-format",
            "unchanged-line-format",
            "palette",
            "show-function-line",
            "starting-file",
            "tabsize",
            "to-file",
            "width",
            "horizon-lines",
        ])
        .options(&[
            // `sdiff -o` asks, and one answer starts an editor.
            opt("o", "output").role(Role::Write).unbounded(),
            opt("", "paginate").unbounded(),
            opt("", "diff-program").value().opaque(Cause::ExecOption),
            opt("X", "exclude-from").role(Role::Read),
        ])
        .operands(Role::Read),
    command(&["cmp"]).closed().switches("bls").values("in").lenient().operands(Role::Read),
    command(&["patch"])
        .classes(&[FileModify])
        .switches("bceEflnNRstTuZ")
        .lenient()
        .options(&[
            opt("p", "strip").value(),
            opt("d", "directory").chdir(),
            opt("i", "input").role(Role::Read),
            opt("o", "output").role(Role::Write).drops(&[FileModify]),
            opt("r", "reject-file").role(Role::Write),
            opt("BVFDYzgxr", "").value(),
            opt("", "dry-run").drops(&[FileModify]),
        ])
        .first(&[Role::Modify])
        .operands(Role::Read),
    command(&["dos2unix", "unix2dos", "mac2unix", "unix2mac"])
        .closed()
        .switches("bcfhkloqrsuVv7F")
        .longs(&["quiet", "verbose", "force", "keepdate", "safe", "keep-bom", "add-bom", "remove-bom"])
        .values("im")
        .long_values(&["info", "convmode"])
        .options(&[opt("n", "newfile").adds(&[FileWrite]), opt("O", "to-stdout").drops(&[FileModify])])
        .classes(&[FileModify])
        .bare(&[])
        .stdin_filter(),
    command(&["column"])
        .closed()
        .stdin_filter()
        .switches("tenxJL")
        .longs(&["table", "json", "fillrows", "keep-empty-lines", "tree-id"])
        .values("csoNlREdHOTWrip")
        .long_values(&["separator", "output-separator", "output-width", "table-columns", "table-right"])
        .operands(Role::Read),
    command(&["fold", "fmt", "expand", "unexpand", "rev", "tsort", "col", "colrm", "ul"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("bscutairxfhp")
        .longs(&[
            "bytes",
            "spaces",
            "all",
            "first-only",
            "crown-margin",
            "tagged-paragraph",
            "split-only",
            "uniform-spacing",
        ])
        .values("wgl")
        .long_values(&["width", "tabs", "goal", "prefix"])
        .lenient()
        .operands(Role::Read),
    command(&["paste"])
        .closed()
        .stdin_filter()
        .switches("sz")
        .longs(&["serial", "zero-terminated"])
        .values("d")
        .long_values(&["delimiters"])
        .operands(Role::Read),
    command(&["comm"])
        .closed()
        .numeric()
        .switches("123iz")
        .longs(&["check-order", "nocheck-order", "total", "zero-terminated"])
        .long_values(&["output-delimiter"])
        .operands(Role::Read),
    command(&["join"])
        .closed()
        .switches("iz")
        .longs(&["ignore-case", "check-order", "nocheck-order", "header", "zero-terminated"])
        .values("12aevjot")
        .operands(Role::Read),
    command(&["pr"])
        .closed()
        .stdin_filter()
        .numeric()
        .switches("acdFfJmrtTvensSi")
        .longs(&["across", "merge", "omit-header", "double-space", "form-feed", "length"])
        .values("DhlNoWw")
        .lenient()
        .operands(Role::Read),
    command(&[
        "look", "vis", "unvis", "jless", "pup", "csvcut", "csvgrep", "csvlook", "csvstat", "csvsort",
        "csvjson", "csvjoin", "ansi2txt", "lolcat",
    ])
    .closed()
    .stdin_filter()
    .lenient()
    .operands(Role::Read),
    // `ptx -G IN OUT` writes its second operand.
    command(&["ptx"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("FMSWbgiow")
        .options(&[opt("G", "traditional").adds(&[FileWrite])])
        .operands(Role::Read),
    command(&["in2csv"])
        .closed()
        .stdin_filter()
        .lenient()
        .options(&[opt("", "write-sheets").value().adds(&[FileWrite])])
        .operands(Role::Read),
    command(&["htmlq"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("aBr")
        .options(&[opt("o", "output").role(Role::Write), opt("f", "filename").role(Role::Read)])
        .first(&[Role::Text]),
    command(&["gron"]).closed().stdin_filter().lenient().operands(Role::RemoteSource),
    // Its magic form runs the command in its operands: `jc ls -l`.
    command(&["jc"]).closed().stdin_filter().lenient().hatch(converter),
    command(&["dasel"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("srwptvc")
        .options(&[opt("f", "file").role(Role::Read), opt("o", "out").role(Role::Write)])
        .hatch(selector),
    command(&["mlr", "miller", "datamash"])
        .stdin_filter()
        .closed()
        .lenient()
        .options(&[opt("I", "").adds(&[FileModify])])
        .operands(Role::Read)
        .hatch(miller),
    command(&["shuf"])
        .closed()
        .stdin_filter()
        .switches("ezr")
        .longs(&["echo", "repeat", "zero-terminated"])
        .values("in")
        .long_values(&["input-range", "head-count"])
        .options(&[opt("o", "output").role(Role::Write), opt("", "random-source").role(Role::Read)])
        .operands(Role::Read),
    command(&["bat", "batcat"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("lrmH")
        .long_values(&[
            "language",
            "line-range",
            "map-syntax",
            "highlight-line",
            "style",
            "theme",
            "tabs",
            "wrap",
            "terminal-width",
            "color",
            "decorations",
            "paging",
            "file-name",
        ])
        .options(&[
            opt("", "pager").value().opaque(Cause::ExecOption).except(&["cat", "less", "never", "never*"]),
            opt("", "build").unbounded().adds(&[FileWrite]),
            opt("", "generate-config-file").adds(&[FileWrite]),
        ])
        .operands(Role::Read),
    command(&["envsubst", "numfmt", "ascii2uni", "uni2ascii", "seq", "factor", "figlet", "toilet", "jo"])
        .pure()
        .stdin_filter()
        .lenient(),
    command(&["bc"]).closed().stdin_filter().lenient().operands(Role::Read),
    command(&["dc"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("e")
        .long_values(&["expression"])
        .options(&[opt("f", "file").role(Role::Read)])
        .operands(Role::Read)
        .hatch(calculator),
];

/// `less '+!cmd' f`: the words after a plus are the pager's own commands, of which `!`, `|`, `v` and `s` reach out.
fn pager<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        match word.known_prefix().strip_prefix('+') {
            Some(command) if command.contains(['!', '|', '#', 'v', 's']) || word.is_dynamic() => {
                findings.opaque(Cause::ExecOption, word.span());
            }
            Some(_) => {}
            None => findings.role(Role::Read, *word),
        }
    }
}

/// `jc COMMAND …` runs COMMAND; `jc --ls` reads its standard input.
fn converter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let argv = call.words.get(call.first_operand..).unwrap_or(&[]);
    if !argv.is_empty() {
        findings.run(argv);
    }
}

/// `dasel put` and `dasel delete` change the file in place.
fn selector<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if matches!(call.operand(0), Some("put" | "delete")) && call.has("f") {
        findings.add(FileModify, call.name.span());
    }
}

/// `dc -e '!cmd'` runs a shell command, and so may what it reads.
fn calculator<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.fed || call.words.iter().any(|word| word.value.literal().is_none_or(|text| text.contains('!'))) {
        findings.opaque(Cause::ExecOption, call.name.span());
    }
}

/// `mlr … then tee f`, `--from f`, verbs with output files.
fn miller<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let reaches_out = |text: &str| {
        matches!(text, "tee" | "split")
            || text.contains("system")
            || text.contains("exec")
            || text.contains('>')
            || text.contains('|')
    };
    // Decompressors to run, code from a file, arguments from a file.
    let loads = |text: &str| {
        ["--prepipe", "--load", "--mload"].iter().any(|option| text.starts_with(option)) || text == "-s"
    };
    let is_code = |arg: &Arg| matches!(arg.value.literal(), Some("put" | "filter"));
    let has_code = call.words.iter().any(is_code);
    let from_file = |text: &str| has_code && text == "-f";
    if call
        .words
        .iter()
        .any(|arg| arg.value.literal().is_none_or(|text| reaches_out(text) || loads(text) || from_file(text)))
        && call.name.text() != Some("datamash")
    {
        findings.opaque(Cause::ExecOption, call.name.span());
    }
}
