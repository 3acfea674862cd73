//! Files and directories: list, copy, move, change, remove.

use crate::classify::findings::Findings;
use crate::classify::hatch::find;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileSearch, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["ls", "dir", "vdir", "exa", "eza", "lsd", "tree"])
        .closed()
        .classes(&[FileSearch])
        .lenient()
        .values("ITwLP")
        .options(&[opt("o", "").attached()])
        .operands(Role::List)
        .hatch(tree),
    command(&["find", "gfind", "bfs"]).closed().raw().classes(&[FileSearch]).hatch(find::judge),
    command(&["fd", "fdfind"])
        .closed()
        .classes(&[FileSearch])
        .switches("HIUsigaplL0qu1FhV")
        .longs(&[
            "hidden",
            "no-hidden",
            "no-ignore",
            "no-ignore-vcs",
            "no-ignore-parent",
            "no-require-git",
            "unrestricted",
            "case-sensitive",
            "ignore-case",
            "glob",
            "regex",
            "fixed-strings",
            "and",
            "absolute-path",
            "relative-path",
            "list-details",
            "follow",
            "full-path",
            "print0",
            "prune",
            "quiet",
            "show-errors",
            "one-file-system",
        ])
        .values("detESocjC")
        .long_values(&[
            "max-depth",
            "min-depth",
            "exact-depth",
            "exclude",
            "type",
            "extension",
            "size",
            "changed-within",
            "changed-before",
            "owner",
            "format",
            "batch-size",
            "color",
            "threads",
            "max-buffer-time",
            "max-results",
            "base-directory",
            "path-separator",
            "search-path",
            "strip-cwd-prefix",
            "gen-completions",
        ])
        .options(&[
            opt("x", "exec").command(),
            opt("X", "exec-batch").command(),
            opt("", "ignore-file").role(Role::Read),
        ])
        .first(&[Role::Text])
        .operands(Role::List),
    command(&[
        "stat",
        "du",
        "df",
        "file",
        "realpath",
        "readlink",
        "namei",
        "lsattr",
        "getfacl",
        "getfattr",
        "lsof",
        "fuser",
        "ncdu",
        "dust",
        "duf",
        "dua",
        "tokei",
        "findmnt",
        "mountpoint",
        "pathchk",
        "lsblk",
        "blkid",
    ])
    .closed()
    .classes(&[FileSearch])
    .lenient()
    .options(&[opt("k", "").unbounded()])
    .hatch(metadata),
    command(&["cloc"]).closed().classes(&[FileSearch]).lenient().single().options(&[
        opt("", "out").role(Role::Write),
        opt("", "report-file").role(Role::Write),
        opt("", "sql").role(Role::Write),
        opt("", "counted").role(Role::Write),
        opt("", "found").role(Role::Write),
        opt("", "ignored").role(Role::Write),
        opt("", "categorized").role(Role::Write),
        opt("", "write-lang-def").role(Role::Write),
        opt("", "extract-with").value().opaque(Cause::ExecOption),
        opt("", "vcs").value().opaque(Cause::ExecOption).except(&["git", "svn", "auto"]),
        opt("", "config").value().opaque(Cause::Configuration),
    ]),
    command(&["scc"])
        .closed()
        .classes(&[FileSearch])
        .lenient()
        .options(&[opt("o", "output").role(Role::Write), opt("", "format-multi").value().adds(&[FileWrite])]),
    command(&["basename", "dirname"]).pure().lenient(),
    command(&["cp", "gcp"])
        .closed()
        .classes(&[FileWrite])
        .switches("abdfiHlLnPpRrsTuvxZ")
        .longs(&[
            "archive",
            "attributes-only",
            "backup",
            "copy-contents",
            "debug",
            "force",
            "interactive",
            "link",
            "dereference",
            "no-clobber",
            "no-dereference",
            "preserve",
            "no-preserve",
            "parents",
            "recursive",
            "reflink",
            "remove-destination",
            "sparse",
            "strip-trailing-slashes",
            "symbolic-link",
            "no-target-directory",
            "update",
            "verbose",
            "keep-directory-symlink",
            "one-file-system",
            "context",
        ])
        .values("S")
        .long_values(&["suffix"])
        .options(&[opt("t", "target-directory").role(Role::Write).supplies_last()])
        .operands(Role::Read)
        .last(Role::Write),
    command(&["mv", "gmv"])
        .closed()
        .classes(&[FileModify])
        .switches("bfinTuvZ")
        .longs(&[
            "backup",
            "debug",
            "exchange",
            "force",
            "interactive",
            "no-clobber",
            "no-copy",
            "strip-trailing-slashes",
            "no-target-directory",
            "update",
            "verbose",
            "context",
        ])
        .values("S")
        .long_values(&["suffix"])
        .options(&[opt("t", "target-directory").role(Role::Modify).supplies_last()])
        .operands(Role::Modify),
    command(&["rename", "prename", "mmv", "detox", "vidir", "rnr"])
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("n", "").drops(&[FileModify]), opt("e", "").value().opaque(Cause::Interpreter)]),
    command(&["rm", "grm"])
        .closed()
        .classes(&[Destructive])
        .tool("delete_file")
        .switches("fiIvxPW")
        .longs(&["force", "interactive", "one-file-system", "preserve-root", "verbose"])
        .options(&[
            opt("rR", "recursive").no_tool(),
            opt("d", "dir").no_tool(),
            opt("", "no-preserve-root").no_tool(),
        ])
        .operands(Role::Delete)
        .hatch(remove),
    command(&["rmdir"])
        .closed()
        .classes(&[Destructive])
        .switches("pv")
        .longs(&["ignore-fail-on-non-empty", "parents", "verbose"])
        .operands(Role::Delete),
    command(&["unlink"])
        .closed()
        .classes(&[Destructive])
        .tool("delete_file")
        .operands(Role::Delete)
        .hatch(remove),
    command(&["shred", "srm", "wipe", "wipefs", "scrub", "blkdiscard", "trash-empty"])
        .classes(&[Destructive])
        .lenient()
        .values("ns")
        .operands(Role::Delete),
    command(&["trash", "trash-put", "rimraf", "rip"])
        .classes(&[Destructive])
        .lenient()
        .operands(Role::Delete),
    command(&["mkdir"])
        .closed()
        .classes(&[FileWrite])
        .switches("pvZ")
        .longs(&["parents", "verbose", "context"])
        .values("m")
        .long_values(&["mode"])
        .operands(Role::Write),
    command(&["mktemp", "tempfile"])
        .closed()
        .switches("dqu")
        .longs(&["directory", "dry-run", "quiet"])
        .long_values(&["suffix", "mode", "name", "prefix"])
        .options(&[opt("t", ""), opt("p", "").value(), opt("", "tmpdir").attached()])
        .hatch(temporary),
    command(&["touch"])
        .closed()
        .classes(&[FileWrite])
        .switches("acfhm")
        .longs(&["no-create", "no-dereference"])
        .values("dt")
        .long_values(&["date", "time"])
        .options(&[opt("r", "reference").value()])
        .operands(Role::Write),
    command(&["mkfifo", "mknod"])
        .closed()
        .classes(&[FileWrite])
        .values("mZ")
        .long_values(&["mode"])
        .lenient()
        .first(&[Role::Write]),
    command(&["ln", "gln"])
        .closed()
        .classes(&[FileWrite])
        .switches("bdFfiLnPrsTv")
        .longs(&[
            "backup",
            "directory",
            "force",
            "interactive",
            "logical",
            "no-dereference",
            "physical",
            "relative",
            "symbolic",
            "no-target-directory",
            "verbose",
        ])
        .values("S")
        .long_values(&["suffix"])
        .options(&[opt("t", "target-directory").role(Role::Write).supplies_last()])
        .last(Role::Write),
    command(&["link"]).closed().classes(&[FileWrite]).first(&[Role::Text]).operands(Role::Write),
    command(&["install", "ginstall"])
        .closed()
        .classes(&[FileWrite])
        .switches("bcCdDpsTvZ")
        .longs(&[
            "backup",
            "compare",
            "directory",
            "preserve-timestamps",
            "strip",
            "no-target-directory",
            "verbose",
        ])
        .values("gmoS")
        .long_values(&["group", "mode", "owner", "suffix"])
        .options(&[
            opt("t", "target-directory").role(Role::Write).supplies_last(),
            opt("", "strip-program").value().opaque(Cause::ExecOption),
        ])
        .operands(Role::Read)
        .last(Role::Write),
    command(&["chmod", "chown", "chgrp", "chcon", "gchmod", "gchown"])
        .closed()
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("", "reference").value().supplies_first(), opt("", "from").value()])
        .first(&[Role::Text])
        .operands(Role::Modify)
        .hatch(mode),
    command(&["chattr", "setfacl", "setfattr", "setcap", "chflags", "restorecon"])
        .closed()
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("mnvxMX", "").value()]),
    command(&["truncate", "fallocate"])
        .closed()
        .classes(&[FileModify])
        .switches("cocdipvxz")
        .longs(&["no-create", "io-blocks", "dig-holes", "keep-size", "punch-hole", "verbose", "zero-range"])
        .values("sloS")
        .long_values(&["size", "length", "offset"])
        .options(&[opt("r", "reference").value()])
        .operands(Role::Modify),
    command(&["dd", "gdd", "dcfldd", "dc3dd"]).closed().raw().hatch(dd),
    command(&["sync", "fsync"]).pure().lenient(),
];

/// `tree -o FILE`, also in a cluster; `tree -R` starts itself anew with `-o 00Tree.html` in each directory.
fn tree<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if !call.name.text().is_some_and(|name| name.ends_with("tree")) {
        return;
    }
    if let Some(position) = cluster(call, 'o') {
        match call.words.get(position + 1) {
            Some(file) => findings.role(Role::Write, Word::whole(file)),
            None => findings.add(FileWrite, call.name.span()),
        }
    }
    if cluster(call, 'R').is_some() {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

/// Where a letter stands among the clustered options.
fn cluster(call: &Call<'_>, letter: char) -> Option<usize> {
    call.words.iter().position(|arg| {
        arg.value
            .literal()
            .is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(letter))
    })
}

/// `file -C` and `-k` keep; `fuser -k` kills; `ncdu -o FILE`, `lsof -F`.
fn metadata<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("");
    let position = |flag: &str| call.words.iter().position(|arg| arg.value.literal() == Some(flag));
    if name.ends_with("ncdu")
        && let Some(at) = cluster(call, 'o').or_else(|| cluster(call, 'O'))
    {
        match call.words.get(at + 1) {
            Some(file) => findings.role(Role::Write, Word::whole(file)),
            None => findings.unknown_path(FileWrite, call.name.span()),
        }
    }
    if name.ends_with("blkid")
        && let Some(at) = cluster(call, 'w').or_else(|| cluster(call, 'g'))
    {
        match call.words.get(at + 1) {
            Some(file) => findings.role(Role::Write, Word::whole(file)),
            None => findings.unknown_path(FileWrite, call.name.span()),
        }
    }
    if name.ends_with("file") {
        if cluster(call, 'C').is_some() || position("--compile").is_some() {
            findings.add(FileWrite, call.name.span());
        }
        for operand in &call.operands {
            findings.role(Role::Read, *operand);
        }
    }
}

/// Several names are named files; a glob, a directory or an unknown word is not what `delete_file` is for.
fn remove<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    findings.no_tool |= call.operands.is_empty() || call.operands.iter().any(|word| word.text().is_none());
}

/// `chmod -x f`: a mode that looks like an option.
fn mode<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let Some(mode) = call.unknown else { return };
    let is_mode = mode
        .text()
        .is_some_and(|text| text.starts_with('-') && text[1..].chars().all(|c| "rwxXst,+-=ugoa".contains(c)));
    if is_mode && let Some(first) = call.operands.first() {
        findings.role(Role::Modify, *first);
    }
}

/// `dd if=IN of=OUT`; dcfldd and dc3dd have further outputs, programs to write to (`of:=CMD`), and wipe.
fn dd<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        let known = word.known_prefix();
        let (class, value) = match known.split_once('=') {
            Some(("if", _)) => (FileRead, word.tail(3)),
            Some(("of", _)) => (FileWrite, word.tail(3)),
            Some((key, _)) if key.ends_with(':') => {
                findings.opaque(Cause::ExecOption, word.span());
                continue;
            }
            Some(("wipe" | "hwipe", _)) => {
                findings.add(Destructive, word.span());
                continue;
            }
            Some((key, _))
                if key.ends_with("log") || matches!(key, "hof" | "ofs" | "hofs" | "phod" | "fhod") =>
            {
                (FileWrite, word.tail(key.len() + 1))
            }
            Some(_) => continue,
            None if word.is_dynamic() => {
                findings.unknown_path(FileWrite, word.span());
                continue;
            }
            None => continue,
        };
        findings.path(class, value);
    }
}

/// `mktemp` names its file in `/tmp` without a template, with `-t`, and with a bare `--tmpdir`; else where it is told.
fn temporary<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let template = call.operands.first();
    let directory = call.value("p").or_else(|| call.value("tmpdir"));
    let name = template.map_or(Some("tmp.XXXXXXXXXX"), |word| word.text());
    let in_temporary = template.is_none() || call.has("t") || call.has("tmpdir") || call.has("p");
    match (directory.map(|word| word.pattern()), name) {
        (Some(Some(directory)), Some(name)) => {
            findings.path_text(FileWrite, &format!("{directory}/{name}"), span);
        }
        (None, Some(name)) if in_temporary => findings.path_text(FileWrite, &format!("/tmp/{name}"), span),
        (None, Some(name)) => findings.path_text(FileWrite, name, span),
        _ => findings.unknown_path(FileWrite, span),
    }
}
