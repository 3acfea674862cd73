//! Text languages: sed, awk, jq and their kin, whose operands are programs.

use crate::classify::findings::Findings;
use crate::classify::hatch::{awk, sed};
use crate::classify::op::OpClass::{FileModify, FileRead, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["sed", "gsed"])
        .closed()
        .stdin_filter()
        .switches("nErsuz")
        .longs(&[
            "quiet",
            "silent",
            "debug",
            "follow-symlinks",
            "posix",
            "regexp-extended",
            "separate",
            "unbuffered",
            "null-data",
        ])
        .values("l")
        .long_values(&["line-length"])
        .options(&[
            opt("e", "expression").value().supplies_first(),
            opt("f", "file").role(Role::Read).supplies_first().opaque(Cause::ScriptFile),
            opt("i", "in-place").attached(),
            opt("", "sandbox"),
        ])
        .hatch(sed::judge),
    command(&["awk", "gawk", "mawk", "nawk", "original-awk"])
        .closed()
        .stdin_filter()
        .posix()
        .switches("bcCghIkMnNOPrsStV")
        .longs(&[
            "characters-as-bytes",
            "traditional",
            "copyright",
            "gen-pot",
            "trace",
            "csv",
            "bignum",
            "use-lc-numeric",
            "non-decimal-data",
            "optimize",
            "posix",
            "re-interval",
            "no-optimize",
            "sandbox",
            "lint-old",
            "lint",
        ])
        .values("FvW")
        .long_values(&["field-separator", "assign"])
        .options(&[
            opt("f", "file").role(Role::Read).supplies_first().opaque(Cause::ScriptFile),
            opt("E", "exec").role(Role::Read).supplies_first().opaque(Cause::ScriptFile),
            opt("e", "source").value().supplies_first(),
            opt("i", "include").value(),
            opt("l", "load").value().opaque(Cause::ExecOption),
            opt("o", "pretty-print").attached().adds(&[FileWrite]),
            opt("p", "profile").attached().adds(&[FileWrite]),
            opt("d", "dump-variables").attached().adds(&[FileWrite]),
            opt("D", "debug").attached().opaque(Cause::Interpreter),
        ])
        .hatch(awk::judge),
    command(&["jq", "gojq", "jaq"])
        .closed()
        .stdin_filter()
        .switches("nrajcsSCMVeghbR")
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
            "build-configuration",
        ])
        .long_values(&["indent"])
        .options(&[
            opt("f", "from-file").role(Role::Read).supplies_first(),
            opt("L", "library-path").value(),
            opt("", "arg").two(),
            opt("", "argjson").two(),
            opt("", "slurpfile").two().adds(&[FileRead]),
            opt("", "rawfile").two().adds(&[FileRead]),
            opt("i", "in-place").adds(&[FileModify]),
        ])
        .first(&[Role::Text])
        .operands(Role::Read),
    command(&["yq", "xq", "tomlq"])
        .closed()
        .stdin_filter()
        .lenient()
        .values("poI")
        .long_values(&[
            "input-format",
            "output-format",
            "indent",
            "arg",
            "expression",
            "xml-attribute-prefix",
        ])
        .options(&[
            opt("i", "inplace").adds(&[FileModify]),
            opt("", "in-place").adds(&[FileModify]),
            opt("s", "split-exp").value().adds(&[FileWrite]),
            opt("", "security-enable-system-operator").opaque(Cause::ExecOption),
            opt("", "from-file").role(Role::Read).supplies_first(),
        ])
        .first(&[Role::Text])
        .operands(Role::Read),
    command(&["xmllint"])
        .closed()
        .lenient()
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("", "xpath").value(),
            opt("", "schema").role(Role::RemoteSource),
            opt("", "relaxng").role(Role::RemoteSource),
            opt("", "schematron").role(Role::RemoteSource),
            opt("", "dtdvalid").role(Role::RemoteSource),
            opt("", "shell").opaque(Cause::Interpreter),
        ])
        .hatch(xml),
    command(&["xmlstarlet"])
        .closed()
        .lenient()
        .options(&[opt("L", "inplace").adds(&[FileModify])])
        .hatch(xml),
    command(&["tidy"])
        .closed()
        .lenient()
        .single()
        .options(&[
            opt("", "o").role(Role::Write),
            opt("", "output").role(Role::Write),
            opt("", "f").role(Role::Write),
            opt("", "file").role(Role::Write),
            opt("", "m").adds(&[FileModify]),
            opt("", "modify").adds(&[FileModify]),
            opt("", "change").adds(&[FileModify]),
            opt("", "write-back").value().adds(&[FileModify]),
            opt("", "config").role(Role::Read).adds(&[FileModify, FileWrite]),
        ])
        .operands(Role::Read),
    // A stylesheet is a program that may write documents.
    command(&["xsltproc"])
        .lenient()
        .opaque(Cause::ScriptFile)
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("", "nowrite").transparent(),
            opt("", "param").two(),
            opt("", "stringparam").two(),
        ])
        .hatch(xml),
];

/// Documents are files or URLs; `xmlstarlet tr` runs a stylesheet.
fn xml<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_starlet = call.name.text().is_some_and(|name| name.ends_with("xmlstarlet"));
    for word in call.operands.iter().skip(usize::from(is_starlet)) {
        findings.role(Role::RemoteSource, *word);
    }
    if is_starlet && matches!(call.operand(0), Some("tr" | "transform")) {
        findings.opaque(Cause::ScriptFile, call.name.span());
    }
}
