//! Pictures, sound, film and documents: what they read and write, and the formats that are programs.

use crate::classify::findings::Findings;
use crate::classify::hatch::media;
use crate::classify::op::OpClass::{FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["ffmpeg", "avconv"]).raw().hatch(media::ffmpeg),
    command(&["ffprobe", "ffplay", "mediainfo", "mkvinfo", "soxi", "identify", "exiv2", "pngcheck"])
        .lenient()
        .single()
        .options(&[opt("", "o").role(Role::Write), opt("", "i").role(Role::Url)])
        .operands(Role::Read)
        .hatch(media::looks),
    command(&[
        "convert",
        "magick",
        "convert-im6",
        "composite",
        "montage",
        "stream",
        "import",
        "animate",
        "display",
        "compare",
        "conjure",
        "gm",
    ])
    .raw()
    .hatch(media::magick),
    command(&["mogrify", "mogrify-im6"]).classes(&[FileModify]).raw().hatch(media::mogrify),
    command(&["exiftool"]).lenient().single().hatch(media::exiftool),
    command(&[
        "sox",
        "play",
        "rec",
        "lame",
        "flac",
        "oggenc",
        "oggdec",
        "opusenc",
        "opusdec",
        "mpg123",
        "aplay",
        "arecord",
        "paplay",
        "mp3gain",
        "timidity",
        "fluidsynth",
    ])
    .lenient()
    .hatch(media::sound),
    command(&[
        "mkvmerge",
        "mkvextract",
        "mkvpropedit",
        "MP4Box",
        "mp4box",
        "HandBrakeCLI",
        "x264",
        "x265",
        "gst-launch-1.0",
        "cwebp",
        "dwebp",
        "gif2webp",
        "avifenc",
        "avifdec",
        "cjxl",
        "djxl",
        "cjpeg",
        "djpeg",
        "jpegtran",
        "pngquant",
        "pngcrush",
        "gifsicle",
        "potrace",
        "rsvg-convert",
        "inkscape",
        "cairosvg",
        "resvg",
        "zbarimg",
        "qrencode",
        "dcraw",
        "darktable-cli",
        "rawtherapee-cli",
        "blender",
        "openscad",
        "povray",
        "tesseract",
        "ocrmypdf",
        "unpaper",
        "scanimage",
        "vips",
        "vipsthumbnail",
        "asciinema",
        "vhs",
        "ttyrec",
    ])
    .classes(&[FileWrite])
    .lenient()
    .operands(Role::Read)
    .options(&[
        opt("o", "output").role(Role::Write),
        opt("", "python").value().opaque(Cause::Interpreter),
        opt("", "python-expr").value().opaque(Cause::Interpreter),
        opt("", "actions").value().opaque(Cause::Interpreter),
        opt("P", "").value(),
        opt("h", "").info(),
    ])
    .hatch(media::renderer),
    command(&["optipng", "jpegoptim", "oxipng", "id3tag", "id3v2", "eyeD3", "metaflac", "mat2"])
        .classes(&[FileModify])
        .lenient()
        .operands(Role::Modify),
    command(&[
        "mpv",
        "vlc",
        "mplayer",
        "feh",
        "gimp",
        "evince",
        "okular",
        "zathura",
        "mupdf",
        "xpdf",
        "libreoffice",
        "soffice",
        "unoconv",
        "ssconvert",
        "ebook-convert",
        "ebook-meta",
    ])
    .opaque(Cause::ExecOption)
    .lenient()
    .operands(Role::Read)
    .hatch(media::office),
    // PostScript is a programming language.
    command(&[
        "gs",
        "ghostscript",
        "ps2pdf",
        "pdf2ps",
        "epstopdf",
        "pstopdf",
        "ps2ascii",
        "psnup",
        "dvips",
        "dvipdfmx",
        "dvisvgm",
    ])
    .classes(&[FileWrite])
    .opaque(Cause::Interpreter)
    .lenient()
    .operands(Role::Read),
    command(&[
        "pdftotext",
        "pdftohtml",
        "pdftoppm",
        "pdftocairo",
        "pdfimages",
        "pdfseparate",
        "pdfunite",
        "pdftk",
        "qpdf",
        "mutool",
        "pdfcrop",
        "pdfjam",
        "img2pdf",
        "weasyprint",
        "wkhtmltopdf",
        "wkhtmltoimage",
        "docx2txt",
        "odt2txt",
    ])
    .classes(&[FileWrite])
    .lenient()
    .operands(Role::Read)
    .options(&[opt("o", "output").role(Role::Write), opt("h", "").info(), opt("v", "").info()])
    .hatch(pdf),
    command(&[
        "pdfinfo",
        "pdffonts",
        "pdfgrep",
        "pdfdetach",
        "antiword",
        "catdoc",
        "unrtf",
        "html2text",
        "kpsewhich",
    ])
    .lenient()
    .stdin_filter()
    .operands(Role::Read),
    command(&["pandoc"])
        .stdin_filter()
        .lenient()
        .values("frtTVMHBAcDI")
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("", "extract-media").role(Role::Write),
            opt("", "log").role(Role::Write),
            opt("F", "filter").value().opaque(Cause::ExecOption),
            opt("L", "lua-filter").value().opaque(Cause::ExecOption),
            opt("", "pdf-engine").value().opaque(Cause::ExecOption),
            opt("d", "defaults").value().opaque(Cause::Configuration),
            opt("", "data-dir").value().opaque(Cause::Configuration),
            opt("", "metadata-file").role(Role::Read),
            opt("", "template").role(Role::Read),
        ])
        .operands(Role::Url)
        .hatch(media::pandoc),
    // `\write18` runs programs where the configuration or `-shell-escape` lets it.
    command(&[
        "tex",
        "latex",
        "pdflatex",
        "pdftex",
        "xelatex",
        "xetex",
        "lualatex",
        "luatex",
        "latexmk",
        "tectonic",
        "bibtex",
        "biber",
        "makeindex",
        "mpost",
        "typst",
        "lilypond",
        "troff",
        "groff",
        "nroff",
        "eqn",
        "tbl",
        "mandoc",
        "makeinfo",
        "texi2pdf",
        "texi2any",
        "texi2dvi",
        "help2man",
        "pod2man",
        "pod2html",
        "ronn",
        "scdoc",
        "asciidoc",
        "asciidoctor",
        "a2x",
        "rst2html",
        "rst2html5",
        "rst2pdf",
        "rst2latex",
        "markdown",
        "markdown_py",
        "cmark",
        "cmark-gfm",
        "marked",
        "grip",
        "glow",
        "mdcat",
        "mermaid",
        "mmdc",
        "plantuml",
        "ditaa",
        "dot",
        "neato",
        "fdp",
        "circo",
        "twopi",
        "sfdp",
        "gvpr",
        "javadoc",
        "yardoc",
        "rdoc",
        "enscript",
        "a2ps",
    ])
    .lenient()
    .operands(Role::Read)
    .options(&[opt("o", "output").role(Role::Write), opt("O", "").adds(&[FileWrite]), opt("h", "").info()])
    .hatch(media::typesetter),
    command(&["fc-cache"]).classes(&[FileWrite]).lenient(),
    command(&["fc-list", "fc-match", "fc-query", "fc-scan"]).pure().lenient(),
    command(&["ttx", "pyftsubset", "fonttools", "fontforge", "woff2_compress", "woff2_decompress"])
        .classes(&[FileWrite, FileRead])
        .lenient(),
];

/// `pdftotext f -` writes to standard output; `wkhtmltopdf URL` fetches.
fn pdf<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if name == "pdftotext" && call.operand(1) == Some("-")
        || matches!(call.operands.last().and_then(|word| word.text()), Some("-"))
    {
        findings.drops(crate::classify::OpSet::of(&[FileWrite]));
    }
    let is_look = call.words.iter().any(|arg| {
        matches!(
            arg.value.literal(),
            Some(
                "--check"
                    | "--show-npages"
                    | "-list"
                    | "--show-encryption"
                    | "--json"
                    | "dump_data"
                    | "info"
                    | "show"
            )
        )
    });
    if is_look && matches!(name, "qpdf" | "pdfimages" | "pdftk" | "mutool" | "pdfcpu") {
        findings.drops(crate::classify::OpSet::of(&[FileWrite]));
        findings.add(FileRead, call.name.span());
    }
    if call.operands.iter().any(|word| word.known_prefix().contains("://")) {
        findings.add(Network, call.name.span());
    }
    if name == "mutool" && call.operand(0) == Some("run") {
        findings.opaque(Cause::Interpreter, call.name.span());
    }
}
