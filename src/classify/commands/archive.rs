//! Archives and compression: what they read, unpack and replace.

use crate::classify::findings::Findings;
use crate::classify::hatch::archive;
use crate::classify::op::OpClass::{ContentSearch, Destructive, FileModify, FileRead, FileSearch, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["tar", "gtar", "bsdtar", "star"]).closed().raw().hatch(archive::tar),
    command(&["zip"])
        .closed()
        .classes(&[FileWrite])
        .switches("0123456789aABcCDeEfFgGhHjJklLNoqrRsSTuUvwWxXyz@L$")
        .longs(&[
            "recurse-paths",
            "quiet",
            "junk-paths",
            "symlinks",
            "update",
            "freshen",
            "verbose",
            "encrypt",
            "test",
            "filesync",
            "no-dir-entries",
            "fix",
            "fixfix",
            "latest-time",
            "must-match",
        ])
        .values("bnPtZ")
        .long_values(&[
            "temp-path",
            "suffixes",
            "password",
            "compression-method",
            "split-size",
            "from-date",
            "before-date",
        ])
        .options(&[
            opt("m", "move").adds(&[Destructive]),
            opt("d", "delete").adds(&[FileModify]),
            opt("O", "output-file").role(Role::Write),
            opt("i", "include").value(),
            opt("", "exclude").value(),
            opt("", "unzip-command").value().opaque(Cause::ExecOption),
        ])
        .first(&[Role::Write])
        .operands(Role::Read)
        .hatch(archive::zip),
    command(&["unzip"])
        .closed()
        .classes(&[FileWrite])
        .switches("12aAbBCDfjKLMnoqsTuUvVWX:^/$")
        .values("PIO")
        .options(&[
            opt("lvt", "").drops(&[FileWrite]),
            opt("pczZ", "").drops(&[FileWrite]),
            opt("d", "").role(Role::Write),
            opt("x", ""),
            opt("h", "").info(),
        ])
        .first(&[Role::Read]),
    command(&["zipinfo", "zipdetails", "lsar", "unrar-nonfree-l"]).closed().lenient().first(&[Role::Read]),
    command(&["zipnote", "zipsplit", "zipcloak"]).classes(&[FileWrite]).lenient().operands(Role::Read),
    command(&["zipgrep"]).closed().classes(&[ContentSearch]).lenient(),
    // A compressor replaces its operands; as a filter, or with `-c`, it writes nothing.
    command(&[
        "gzip",
        "gunzip",
        "pigz",
        "unpigz",
        "bzip2",
        "bunzip2",
        "pbzip2",
        "lbzip2",
        "lbunzip2",
        "compress",
        "uncompress",
        "lzip",
        "plzip",
        "lzop",
        "lrzip",
        "xz",
        "unxz",
        "lzma",
        "unlzma",
        "brotli",
    ])
    .closed()
    .stdin_filter()
    .classes(&[FileWrite, FileModify])
    .bare(&[])
    .switches("0123456789adefkhLnNqrRvVzKiXFPmTl")
    .longs(&[
        "best",
        "fast",
        "force",
        "keep",
        "name",
        "no-name",
        "quiet",
        "recursive",
        "rsyncable",
        "synchronous",
        "verbose",
        "decompress",
        "uncompress",
        "compress",
        "ascii",
        "small",
        "extreme",
        "robot",
        "single-stream",
        "no-sparse",
        "no-warn",
        "ignore-check",
        "no-adjust",
        "independent",
        "huffman",
        "rle",
        "zip",
        "zlib",
        "repetitive-best",
        "repetitive-fast",
        "license",
        "exponential",
    ])
    .values("SbpCMDBUwq")
    .long_values(&[
        "suffix",
        "block-size",
        "blocksize",
        "processes",
        "threads",
        "memlimit",
        "memlimit-compress",
        "memlimit-decompress",
        "format",
        "check",
        "memory",
        "level",
        "quality",
        "lgwin",
        "flush-timeout",
        "block-list",
        "filters",
        "lzma1",
        "lzma2",
        "comment",
        "alias",
    ])
    .options(&[
        opt("c", "stdout").drops(&[FileWrite, FileModify]),
        opt("", "to-stdout").drops(&[FileWrite, FileModify]),
        opt("t", "test").drops(&[FileWrite, FileModify]),
        opt("", "list").drops(&[FileWrite, FileModify]),
        opt("o", "output").role(Role::Write),
        opt("", "files").role(Role::Read),
        opt("", "files0").role(Role::Read),
        opt("j", "rm"),
    ])
    .operands(Role::Read)
    .hatch(listing),
    command(&["zstd", "unzstd", "zstdmt", "pzstd", "lz4", "unlz4"])
        .closed()
        .stdin_filter()
        .classes(&[FileWrite])
        .bare(&[])
        .switches("0123456789dzfkqvVrHhBSiem1C")
        .longs(&[
            "force",
            "keep",
            "quiet",
            "verbose",
            "decompress",
            "uncompress",
            "compress",
            "ultra",
            "fast",
            "adaptive",
            "single-thread",
            "auto-threads",
            "long",
            "rsyncable",
            "check",
            "no-check",
            "sparse",
            "no-sparse",
            "no-progress",
            "progress",
            "content-size",
            "no-content-size",
            "asyncio",
            "no-asyncio",
            "exclude-compressed",
            "patch-apply",
            "row-match-finder",
            "no-row-match-finder",
            "best",
            "favor-decSpeed",
            "no-frame-crc",
        ])
        .values("DTBMb")
        .long_values(&[
            "threads",
            "block-size",
            "format",
            "stream-size",
            "size-hint",
            "target-compressed-block-size",
            "memory",
            "maxdict",
            "dictID",
            "memlimit",
            "memlimit-decompress",
        ])
        .options(&[
            opt("c", "stdout").drops(&[FileWrite]),
            opt("", "to-stdout").drops(&[FileWrite]),
            opt("t", "test").drops(&[FileWrite]),
            opt("l", "list").drops(&[FileWrite]),
            opt("o", "").role(Role::Write),
            opt("", "output-dir-flat").role(Role::Write),
            opt("", "output-dir-mirror").role(Role::Write),
            opt("", "filelist").role(Role::Read),
            opt("", "patch-from").role(Role::Read),
            opt("", "trace").role(Role::Write),
            opt("", "rm").adds(&[Destructive]),
            opt("", "train").adds(&[FileWrite]),
        ])
        .operands(Role::Read),
    command(&[
        "zcat", "gzcat", "bzcat", "xzcat", "lzcat", "zstdcat", "lz4cat", "lzmadec", "xzdec", "zcmp", "zdiff",
        "bzcmp", "bzdiff", "xzcmp", "xzdiff", "funzip",
    ])
    .closed()
    .stdin_filter()
    .lenient()
    .operands(Role::Read),
    command(&["7z", "7za", "7zr", "7zz", "7zzs", "p7zip"])
        .closed()
        .lenient()
        .subcommands(SEVEN_ZIP)
        .hatch(archive::seven_zip),
    command(&["rar"]).lenient().subcommands(SEVEN_ZIP),
    command(&["unrar"]).closed().lenient().subcommands(UNRAR),
    command(&["unar", "cabextract", "lha", "arj", "unarj", "ouch", "patool"])
        .classes(&[FileWrite])
        .lenient()
        .operands(Role::Read)
        .options(&[opt("l", "list").drops(&[FileWrite])]),
    command(&["cpio", "pax"])
        .closed()
        .switches("0aABcdEjkLlmnqRrSsuVvzBZ")
        .longs(&[
            "absolute-filenames",
            "no-absolute-filenames",
            "append",
            "make-directories",
            "preserve-modification-time",
            "unconditional",
            "verbose",
            "quiet",
            "null",
            "dereference",
            "link",
            "numeric-uid-gid",
            "reset-access-time",
            "sparse",
            "dot",
            "only-verify-crc",
            "renumber-inodes",
            "reproducible",
            "device-independent",
            "ignore-devno",
        ])
        .values("CHIMRWxso")
        .long_values(&["block-size", "io-size", "format", "message", "owner", "warning", "directory"])
        .options(&[
            opt("i", "extract"),
            opt("t", "list"),
            opt("p", "pass-through").adds(&[FileWrite]),
            opt("o", "create").adds(&[FileRead]),
            opt("O", "").role(Role::Write),
            opt("F", "file").role(Role::Write),
            opt("E", "pattern-file").role(Role::Read),
            opt("r", "rename"),
            opt("w", "").adds(&[FileRead]),
            opt("f", ""),
            opt("", "to-stdout"),
            opt("", "rsh-command").value().opaque(Cause::ExecOption),
        ])
        .hatch(copied_in),
    command(&["ar", "gar", "llvm-ar", "emar"]).closed().raw().hatch(archive::ar),
    command(&["ranlib", "gcc-ranlib"])
        .closed()
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("", "plugin").value().opaque(Cause::ExecOption)])
        .operands(Role::Modify),
    command(&["jar"]).closed().raw().hatch(archive::jar),
    command(&["unsquashfs", "dump.erofs", "debugfs", "bsdcpio", "ostree"])
        .classes(&[FileWrite])
        .lenient()
        .options(&[opt("lsl", "").drops(&[FileWrite])])
        .operands(Role::Read),
    command(&["mksquashfs", "genisoimage", "mkisofs", "xorriso", "xorrisofs", "mkfs.erofs"])
        .classes(&[FileWrite])
        .lenient()
        .options(&[opt("o", "").role(Role::Write)]),
    // A shell archive is a script.
    command(&["unshar", "uudecode"])
        .classes(&[FileWrite])
        .opaque(Cause::ScriptFile)
        .lenient()
        .operands(Role::Read),
    command(&["shar", "uuencode", "makeself"]).lenient().operands(Role::Read),
    command(&["dpkg-deb"])
        .lenient()
        .options(&[
            opt("xXe", "extract").adds(&[FileWrite]),
            opt("bR", "build").adds(&[FileWrite]),
            opt("", "raw-extract").adds(&[FileWrite]),
            opt("", "control").adds(&[FileWrite]),
        ])
        .operands(Role::Read),
    command(&["rpm2cpio", "rpm2archive"]).closed().stdin_filter().lenient().operands(Role::Read),
    command(&["asar", "nar"]).classes(&[FileWrite]).lenient(),
    command(&["logrotate"])
        .classes(&[FileModify, FileWrite, Destructive])
        .opaque(Cause::Configuration)
        .lenient(),
    command(&["updatedb"]).classes(&[FileWrite, FileSearch]).lenient(),
];

const SEVEN_ZIP: &[Row] = &[
    command(&["a", "u"]).classes(&[FileWrite]).lenient().first(&[Role::Write]).operands(Role::Read),
    command(&["x", "e"]).classes(&[FileWrite]).lenient().first(&[Role::Read]),
    command(&["d", "rn", "k", "c", "cw", "s", "rr"]).classes(&[FileModify]).lenient().first(&[Role::Modify]),
    command(&["l", "t", "h", "lt", "lb", "v", "vt", "vb", "p", "pb"]).lenient().first(&[Role::Read]),
    command(&["b", "i"]).lenient(),
];

const UNRAR: &[Row] = &[
    command(&["x", "e"]).classes(&[FileWrite]).lenient().first(&[Role::Read]),
    command(&["l", "lt", "lb", "t", "v", "vt", "vb", "p", "lta", "vta"]).lenient().first(&[Role::Read]),
];

/// `-l` lists in most compressors, but is a width or level in some: it then only fails to take writes away.
fn listing<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let lists = call.words.iter().any(|arg| {
        arg.value
            .literal()
            .is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('l'))
    });
    let name = call.name.text().unwrap_or("");
    if lists
        && (name.ends_with("gzip")
            || name.ends_with("gunzip")
            || name.ends_with("xz")
            || name.ends_with("pigz"))
    {
        findings.drops(crate::classify::OpSet::of(&[FileWrite, FileModify]));
    }
}

/// `cpio -it` lists what `cpio -i` would extract.
fn copied_in<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.has("i") && !call.has("t") {
        findings.add(FileWrite, call.name.span());
    }
}
