//! Manuals and pictures of text: pagers and page formats may run programs.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["man"])
        .pure()
        .lenient()
        .values("sSMmLerREp")
        .long_values(&[
            "sections",
            "manpath",
            "systems",
            "locale",
            "extension",
            "encoding",
            "preprocessor",
            "recode",
        ])
        .options(&[
            opt("P", "pager").value().opaque(Cause::ExecOption).except(&[
                "cat",
                "less",
                "more",
                "/bin/cat",
                "/usr/bin/less",
            ]),
            opt("H", "html").attached().opaque(Cause::ExecOption),
            opt("X", "gxditview").attached().opaque(Cause::ExecOption),
            // A configuration may name the programs that format a page.
            opt("C", "config-file").value().opaque(Cause::Configuration),
            opt("l", "local-file"),
            opt("u", "update").adds(&[FileWrite]),
        ]),
    command(&["info"]).pure().lenient().hatch(pages),
    command(&["man2html", "manpath", "mandb", "cheat"]).lenient().hatch(pages),
    command(&["tldr", "trans"]).classes(&[Network]).lenient(),
    // A figure is a Perl program.
    command(&["cowsay", "cowthink"])
        .pure()
        .stdin_filter()
        .lenient()
        .values("eTW")
        .options(&[opt("f", "").value().opaque(Cause::ExecOption)]),
    command(&["finger"]).classes(&[Network]).lenient(),
    command(&["msgfmt", "msgmerge", "xgettext", "msginit"])
        .classes(&[FileWrite])
        .lenient()
        .options(&[
            opt("o", "output-file").role(Role::Write).drops(&[FileWrite]),
            opt("", "output").role(Role::Write),
        ])
        .operands(Role::Read),
    command(&[
        "msgcat",
        "msgattrib",
        "msggrep",
        "msguniq",
        "msgconv",
        "gettext",
        "ngettext",
        "msgcmp",
        "msgunfmt",
        "highlight",
        "pygmentize",
        "source-highlight",
        "soelim",
        "tic",
        "infocmp",
    ])
    .lenient()
    .options(&[opt("o", "output-file").role(Role::Write)])
    .operands(Role::Read),
    command(&["msgfilter", "msgexec"]).opaque(Cause::ExecOption).lenient(),
];

/// `mandb` writes its index; an `info` page is read.
fn pages<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "mandb" | "catman" => findings.unknown_path(FileWrite, call.name.span()),
        "howdoi" => findings.add(Network, call.name.span()),
        "navi" => findings.opaque(Cause::ExecOption, call.name.span()),
        _ => {}
    }
    for arg in call.words {
        let known = arg.value.known_prefix();
        if known == "-o" || known.starts_with("--output") {
            findings.unknown_path(FileWrite, arg.span);
        }
        if known.starts_with("--restore") || known == "-e" {
            findings.opaque(Cause::Editor, arg.span);
        }
    }
}
