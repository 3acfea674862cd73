//! Media tools: outputs without an option, formats and filters that are programs.

use crate::classify::OpSet;
use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

/// ffmpeg's options without a value; all others take one.
const FFMPEG_SWITCHES: &[&str] = &[
    "y",
    "n",
    "an",
    "vn",
    "sn",
    "dn",
    "hide_banner",
    "nostdin",
    "stdin",
    "nostats",
    "stats",
    "shortest",
    "re",
    "L",
    "version",
    "formats",
    "codecs",
    "encoders",
    "decoders",
    "filters",
    "protocols",
    "pix_fmts",
    "bsfs",
    "devices",
    "muxers",
    "demuxers",
    "layouts",
    "sample_fmts",
    "colors",
    "buildconf",
    "h",
    "help",
    "benchmark",
    "dump",
    "hex",
    "ignore_unknown",
    "copy_unknown",
    "copyts",
    "start_at_zero",
    "autorotate",
    "noautorotate",
    "accurate_seek",
    "noaccurate_seek",
    "report",
    "debug_ts",
    "xerror",
    "psnr",
    "vstats",
    "intra",
    "bitexact",
    "find_stream_info",
    "hwaccels",
    "sources",
    "sinks",
    "stats_mux_pre",
];

/// `ffmpeg -i IN … OUT`.
pub fn ffmpeg<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut words = call.operands.iter().copied();
    while let Some(word) = words.next() {
        let known = word.known_prefix();
        let Some(name) = known.strip_prefix('-').filter(|name| !name.is_empty()) else {
            output(word, findings);
            continue;
        };
        let name = name.split(':').next().unwrap_or(name).trim_start_matches('-');
        match name {
            "i" => {
                if let Some(value) = words.next() {
                    input(value, findings);
                }
            }
            "version" | "buildconf" | "formats" | "muxers" | "demuxers" | "devices" | "codecs"
            | "decoders" | "encoders" | "bsfs" | "protocols" | "filters" | "pix_fmts" | "layouts"
            | "sample_fmts" | "hwaccels" | "colors" => findings.add(FileRead, word.span()),
            "report" => findings.unknown_path(FileWrite, word.span()),
            "progress" | "passlogfile" | "vstats_file" | "dump_attachment" | "stats_file" | "sdp_file" => {
                if let Some(value) = words.next() {
                    output(value, findings);
                }
            }
            "filter_script" | "filter_complex_script" | "attach" => {
                if let Some(value) = words.next() {
                    findings.role(Role::Read, value);
                }
            }
            _ if FFMPEG_SWITCHES.contains(&name) => {}
            _ => {
                if let Some(value) = words.next() {
                    let text = value.known_prefix();
                    // `movie=`, `sendcmd=f=`, `zmq` in filters read files or listen.
                    if text.contains("movie=") || text.contains("filename=") || text.contains("textfile=") {
                        findings.add(FileRead, value.span());
                    }
                    if text.contains("stats_file=")
                        || text.contains("log_path=")
                        || text.contains("metadata=print:file")
                    {
                        findings.unknown_path(FileWrite, value.span());
                    }
                }
            }
        }
    }
}

fn is_url(word: Word<'_>) -> bool {
    let known = word.known_prefix();
    known.contains("://") && !known.starts_with("file:")
}

fn input<'a>(word: Word<'a>, findings: &mut Findings<'a>) {
    if is_url(word) {
        findings.host(word);
    } else if !matches!(word.text(), Some("-" | "pipe:" | "pipe:0")) {
        findings.role(Role::Read, word);
    }
}

fn output<'a>(word: Word<'a>, findings: &mut Findings<'a>) {
    if is_url(word) {
        findings.host(word);
    } else if !matches!(word.text(), Some("-" | "pipe:" | "pipe:1" | "pipe:2")) {
        findings.role(Role::Write, word);
    }
}

/// ffprobe, identify …: only `http` inputs reach out; ImageMagick's formats may be programs.
pub fn looks<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    for word in &call.operands {
        if is_url(*word) {
            findings.host(*word);
        }
        if name == "identify" {
            picture(*word, findings);
        }
    }
    let changes = matches!(
        call.operand(0),
        Some("rm" | "mo" | "modify" | "mv" | "rename" | "insert" | "in" | "fi" | "fixiso")
    );
    if matches!(name, "exiv2" | "jhead" | "atomicparsley")
        && (changes || name != "exiv2" && call.words.len() > 1)
    {
        findings.add(FileModify, call.name.span());
    }
}

/// A name for ImageMagick: `|cmd`, `msl:`, `ephemeral:`, `https:`.
fn picture(word: Word<'_>, findings: &mut Findings<'_>) {
    let known = word.known_prefix();
    let format = known.split(':').next().unwrap_or("").to_ascii_lowercase();
    if known.starts_with('|')
        || (known.contains(':')
            && matches!(
                format.as_str(),
                "msl" | "mvg" | "text" | "eps" | "ps" | "pdf" | "svg" | "win" | "x" | "plt" | "man"
            ))
            && format != "text"
    {
        findings.opaque(Cause::ExecOption, word.span());
    }
    if known.contains(':') && format == "ephemeral" {
        findings.add(Destructive, word.span());
    }
    if is_url(word) {
        findings.add(Network, word.span());
    }
}

/// ImageMagick and GraphicsMagick: the last operand is the output.
pub fn magick<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let mut words: Vec<Word<'a>> = Vec::new();
    let mut all = call.operands.iter().copied().peekable();
    if all.peek().is_some_and(|word| {
        matches!(word.text(), Some("-version" | "--version" | "-help" | "-list" | "-usage"))
    }) {
        return;
    }
    let mut script = false;
    while let Some(word) = all.next() {
        match word.text() {
            Some("-write" | "+write") => {
                if let Some(file) = all.next() {
                    findings.role(Role::Write, file);
                }
            }
            Some("-script") => {
                script = true;
                findings.opaque(Cause::ScriptFile, word.span());
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => {}
            _ => {
                picture(word, findings);
                words.push(word);
            }
        }
    }
    let tool = words.first().and_then(|word| word.text()).filter(|_| matches!(name, "magick" | "gm"));
    match tool {
        Some("identify" | "compare" | "display" | "version") | None
            if matches!(name, "display" | "animate") || tool.is_some() =>
        {
            for word in words.iter().skip(1) {
                findings.role(Role::Read, *word);
            }
            return;
        }
        Some("mogrify") => {
            if let Some(last) = words.last() {
                findings.role(Role::Modify, *last);
            }
            return;
        }
        _ => {}
    }
    if script {
        return;
    }
    // An operand may be an option's value; only the last is surely a name.
    match words.split_last() {
        Some((target, sources)) => {
            let known = target.known_prefix();
            if !matches!(known, "info:" | "null:" | "info:-" | "show:" | "x:" | "win:")
                && !known.ends_with(":-")
            {
                findings.role(Role::Write, *target);
            }
            if let Some(source) = sources.first() {
                findings.role(Role::Read, *source);
            }
        }
        None => findings.unknown_path(FileWrite, call.name.span()),
    }
}

/// `mogrify` changes the pictures themselves, unless `-path` or `-format` make new ones.
pub fn mogrify<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        picture(*word, findings);
    }
    if call.operands.iter().any(|word| matches!(word.text(), Some("-path" | "-format"))) {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

/// `exiftool -TAG=VALUE F` changes F; `-if`, `-p`, `-tagsfromfile`, `-config` take code or files.
pub fn exiftool<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    for arg in call.words {
        let known = arg.value.known_prefix();
        match known {
            "-if" | "-if1" | "-config" | "-filter" | "-userParam" | "-geotag" => {
                findings.opaque(Cause::Interpreter, arg.span)
            }
            "-tagsfromfile"
            | "-TagsFromFile"
            | "-overwrite_original"
            | "-delete_original"
            | "-restore_original" => findings.add(FileModify, arg.span),
            "-w" | "-W" | "-o" | "-textOut" => findings.unknown_path(FileWrite, arg.span),
            // Expressions in tag names are Perl: `-p '${x;system("id")}'`.
            _ if known.contains("${") => findings.opaque(Cause::Interpreter, arg.span),
            _ if known.starts_with('-') && known.contains('=') => findings.add(FileModify, arg.span),
            _ => {}
        }
    }
    findings.add(FileRead, span);
}

/// sox and the encoders: the last of several operands is written.
pub fn sound<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let plays = matches!(
        name,
        "play" | "mpg123" | "mpg321" | "ogg123" | "aplay" | "paplay" | "timidity" | "fluidsynth"
    );
    for word in &call.operands {
        let known = word.known_prefix();
        if known.starts_with('|') {
            findings.opaque(Cause::ExecOption, word.span());
        } else if is_url(*word) {
            findings.host(*word);
        } else if known.contains(['.', '/']) {
            findings.role(Role::Read, *word);
        }
    }
    if matches!(name, "mp3gain" | "normalize-audio") {
        findings.add(FileModify, call.name.span());
    } else if !plays && !call.operands.is_empty() || matches!(name, "rec" | "arecord" | "parecord") {
        let file = call.operands.iter().rev().find(|word| word.known_prefix().contains(['.', '/']));
        match file {
            Some(file) => findings.role(Role::Write, *file),
            None => findings.unknown_path(FileWrite, call.name.span()),
        }
    }
}

/// Renderers whose documents may hold scripts.
pub fn renderer<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(name, "blender" | "gst-launch-1.0" | "asciinema" | "vhs" | "ttyrec" | "terminalizer") {
        findings.opaque(Cause::ExecOption, call.name.span());
    }
    if call.operands.iter().any(|word| word.known_prefix().contains("://")) {
        findings.add(Network, call.name.span());
    }
    if name == "zbarimg" {
        findings.drops(OpSet::of(&[FileWrite]));
    }
}

/// Office programs: macros, conversions, recent files.
pub fn office<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let converts =
        call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--convert-to" | "--outdir" | "-o")));
    if converts || matches!(name, "unoconv" | "ssconvert" | "ebook-convert") {
        findings.unknown_path(FileWrite, call.name.span());
    }
    if call.operands.iter().any(|word| word.known_prefix().contains("://")) {
        findings.add(Network, call.name.span());
    }
}

/// A `.lua` reader or writer is a program.
pub fn pandoc<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for pair in call.words.windows(2) {
        let is_format = matches!(
            pair[0].value.literal(),
            Some("-t" | "-f" | "-r" | "-w" | "--to" | "--from" | "--read" | "--write")
        );
        if is_format && pair[1].value.literal().is_none_or(|text| text.ends_with(".lua")) {
            findings.opaque(Cause::ExecOption, pair[1].span);
        }
    }
    let attached = call.words.iter().any(|arg| {
        let known = arg.value.known_prefix();
        (known.starts_with("--to=")
            || known.starts_with("--from=")
            || known.starts_with("-t")
            || known.starts_with("-f"))
            && known.ends_with(".lua")
    });
    if attached {
        findings.opaque(Cause::ExecOption, call.name.span());
    }
    // Plain names are files, not hosts.
    let url = |word: &Word<'_>| word.known_prefix().contains("://");
    findings.ops.retain(|op| op.class != Network);
    for word in &call.operands {
        if url(word) {
            findings.host(*word);
        } else {
            findings.role(Role::Read, *word);
        }
    }
}

/// Typesetters write beside their input; those that print a conversion do not.
pub fn typesetter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let span = call.name.span();
    let prints = matches!(
        name,
        "troff"
            | "groff"
            | "nroff"
            | "eqn"
            | "tbl"
            | "mandoc"
            | "markdown"
            | "markdown_py"
            | "cmark"
            | "cmark-gfm"
            | "multimarkdown"
            | "marked"
            | "kramdown"
            | "discount"
            | "glow"
            | "mdcat"
            | "rst2html"
            | "rst2html5"
            | "rst2latex"
            | "dot"
            | "neato"
            | "fdp"
            | "circo"
            | "twopi"
            | "sfdp"
            | "pod2man"
            | "pod2html"
            | "scdoc"
    );
    let runs = name.contains("tex") && name != "bibtex"
        || matches!(
            name,
            "arara"
                | "latexmk"
                | "context"
                | "asy"
                | "lilypond"
                | "gvpr"
                | "tectonic"
                | "mf"
                | "mpost"
                | "metapost"
                | "help2man"
                | "mmdc"
                | "mermaid"
                | "plantuml"
                | "asciidoctor"
                | "a2x"
                | "grip"
        );
    if !prints && !call.operands.is_empty() {
        findings.unknown_path(FileWrite, span);
    }
    if runs
        || call.words.iter().any(|arg| {
            matches!(arg.value.literal(), Some("-shell-escape" | "--shell-escape" | "-U" | "-enable-write18"))
                || arg.value.known_prefix().starts_with("-shell-escape")
        })
    {
        findings.opaque(Cause::BuildTool, span);
    }
    if name == "grip" || call.operands.iter().any(|word| word.known_prefix().contains("://")) {
        findings.add(Network, span);
    }
}
