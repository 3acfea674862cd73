//! tar, ar, jar, zip, 7z: letters that are no ordinary options.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

/// tar's short options that take a value.
const TAR_VALUED: &str = "bCfFgHIKLNTVX";
/// tar's long options that take a value, as a word of its own where there is no `=`.
const TAR_LONG_VALUED: &[&str] = &[
    "add-file",
    "after-date",
    "blocking-factor",
    "checkpoint-action",
    "clamp-mtime",
    "directory",
    "exclude",
    "exclude-from",
    "exclude-ignore",
    "exclude-ignore-recursive",
    "exclude-tag",
    "exclude-tag-all",
    "exclude-tag-under",
    "file",
    "files-from",
    "format",
    "group",
    "group-map",
    "hole-detection",
    "index-file",
    "info-script",
    "label",
    "level",
    "listed-incremental",
    "mode",
    "mtime",
    "new-volume-script",
    "newer",
    "newer-mtime",
    "no-quote-chars",
    "occurrence",
    "one-top-level",
    "owner",
    "owner-map",
    "pax-option",
    "quote-chars",
    "quoting-style",
    "record-size",
    "rmt-command",
    "rsh-command",
    "set-mtime-command",
    "set-mtime-format",
    "sort",
    "sparse-version",
    "starting-file",
    "strip-components",
    "suffix",
    "tape-length",
    "to-command",
    "transform",
    "use-compress-program",
    "volno-file",
    "warning",
    "xattrs-exclude",
    "xattrs-include",
    "xform",
];
/// Those of them whose value is only ever attached.
const TAR_ATTACHED: &[&str] = &["one-top-level", "occurrence"];
/// tar's other long options that matter.
const TAR_LONG: &[&str] = &[
    "append",
    "catenate",
    "concatenate",
    "create",
    "delete",
    "diff",
    "compare",
    "extract",
    "get",
    "list",
    "update",
    "test-label",
    "to-stdout",
    "remove-files",
    "recursive-unlink",
    "unlink-first",
    "overwrite",
    "checkpoint",
    "keep-old-files",
    "absolute-names",
    "verbose",
    "verify",
    "totals",
    "gzip",
    "bzip2",
    "xz",
    "zstd",
    "lzma",
    "lzip",
    "lzop",
    "compress",
    "auto-compress",
    "dereference",
    "no-recursion",
    "numeric-owner",
    "preserve-permissions",
    "same-owner",
    "sparse",
    "wildcards",
    "null",
    "force-local",
    "help",
    "version",
    "show-transformed-names",
    "exclude-vcs",
    "exclude-backups",
    "exclude-caches",
    "ignore-failed-read",
    "one-file-system",
    "touch",
];

#[derive(Debug, Default)]
struct Tar<'a> {
    mode: Option<char>,
    archive: Option<Word<'a>>,
    to_stdout: bool,
    removes: bool,
    info: bool,
    local: bool,
    operands: Vec<Word<'a>>,
}

/// tar in its three styles: `xzf f`, `-xzf f`, `--extract --file=f`.
pub fn tar<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut tar = Tar::default();
    let words = &call.operands;
    let mut at = 0;
    if let Some(first) = words.first()
        && !first.known_prefix().starts_with('-')
    {
        at = 1;
        let known = first.known_prefix().to_owned();
        for letter in known.chars() {
            let value = TAR_VALUED.contains(letter).then(|| words.get(at).copied()).flatten();
            at += usize::from(value.is_some());
            tar.letter(letter, value, findings);
        }
        if first.is_dynamic() {
            findings.opaque(Cause::DynamicCode, first.span());
        }
    }
    let mut ended = false;
    while let Some(word) = words.get(at).copied() {
        at += 1;
        let known = word.known_prefix();
        if ended || !known.starts_with('-') || known == "-" {
            if tar.mode.is_none() && word.is_dynamic() && known.is_empty() && word.may_split() {
                // An unquoted variable in front may hold the options.
                findings.opaque(Cause::UnknownOption, word.span());
            }
            tar.operands.push(word);
        } else if known == "--" {
            ended = true;
        } else if let Some(body) = known.strip_prefix("--") {
            at += tar.long(body, word, words.get(at).copied(), findings);
        } else {
            for (index, letter) in known.char_indices().skip(1) {
                let after = index + letter.len_utf8();
                if TAR_VALUED.contains(letter) {
                    let attached = after < known.len() || word.is_dynamic();
                    let value = if attached { Some(word.tail(after)) } else { words.get(at).copied() };
                    at += usize::from(!attached);
                    tar.letter(letter, value, findings);
                    break;
                }
                tar.letter(letter, None, findings);
            }
        }
    }
    tar.finish(call, findings);
}

impl<'a> Tar<'a> {
    fn letter(&mut self, letter: char, value: Option<Word<'a>>, findings: &mut Findings<'a>) {
        match letter {
            // Of two modes the one that writes counts.
            'x' | 'c' | 't' | 'r' | 'u' | 'A' | 'd' if matches!(self.mode, None | Some('t' | 'd')) => {
                self.mode = Some(letter);
            }
            'O' => self.to_stdout = true,
            'U' => {}
            'f' => self.archive = value.or(self.archive),
            'C' => {
                if let Some(value) = value {
                    let moved = findings.place.moved(value.text());
                    findings.place = std::borrow::Cow::Owned(moved);
                }
            }
            'I' | 'F' | 'T' | 'X' | 'g' => {
                let name = match letter {
                    'I' => "use-compress-program",
                    'F' => "info-script",
                    'T' => "files-from",
                    'X' => "exclude-from",
                    _ => "listed-incremental",
                };
                if let Some(value) = value {
                    valued(name, value, findings);
                }
            }
            _ => {}
        }
    }

    /// A long option, perhaps abbreviated; returns how many further words it takes.
    fn long(
        &mut self,
        body: &str,
        word: Word<'a>,
        next: Option<Word<'a>>,
        findings: &mut Findings<'a>,
    ) -> usize {
        let (name, attached) = match body.find('=') {
            Some(at) => (&body[..at], Some(word.tail(2 + at + 1))),
            None => (body, None),
        };
        let exact = TAR_LONG.iter().chain(TAR_LONG_VALUED).find(|long| **long == name);
        let found: Vec<&str> = match exact {
            Some(name) => vec![*name],
            None => TAR_LONG
                .iter()
                .chain(TAR_LONG_VALUED)
                .filter(|long| long.starts_with(name))
                .copied()
                .collect(),
        };
        let mut taken = 0;
        for name in found {
            let takes = TAR_LONG_VALUED.contains(&name) && !TAR_ATTACHED.contains(&name);
            let value = attached.or(if takes { next } else { None });
            taken = taken.max(usize::from(takes && attached.is_none()));
            match name {
                "extract" | "get" => self.letter('x', None, findings),
                "create" => self.letter('c', None, findings),
                "list" | "test-label" => self.letter('t', None, findings),
                "append" | "update" | "catenate" | "concatenate" => self.letter('r', None, findings),
                "diff" | "compare" => self.letter('d', None, findings),
                "delete" => {
                    self.letter('r', None, findings);
                    findings.add(Destructive, word.span());
                }
                "to-stdout" => self.to_stdout = true,
                "remove-files" | "recursive-unlink" => self.removes = true,
                "force-local" => self.local = true,
                "help" | "version" => self.info = true,
                "file" => self.archive = value.or(self.archive),
                "directory" => self.letter('C', value, findings),
                _ => {
                    if let Some(value) = value {
                        valued(name, value, findings);
                    }
                }
            }
        }
        if attached.is_none() && word.is_dynamic() {
            findings.opaque(Cause::UnknownOption, word.span());
        }
        taken
    }

    fn finish(self, call: &Call<'a>, findings: &mut Findings<'a>) {
        if self.info && self.mode.is_none() {
            return;
        }
        let span = call.name.span();
        if self.removes {
            findings.add(Destructive, span);
        }
        let archive = self.archive;
        if let Some(archive) = archive
            && !self.local
            && crate::classify::path::is_remote(archive.known_prefix())
        {
            findings.host(archive);
        }
        let mut on_archive = |class| {
            if let Some(archive) = archive {
                findings.path(class, archive);
            }
        };
        match self.mode {
            Some('x') => {
                on_archive(FileRead);
                if !self.to_stdout {
                    findings.path_text(FileWrite, ".", span);
                }
            }
            Some('c') => {
                on_archive(FileWrite);
                for operand in self.operands {
                    findings.role(Role::Read, operand);
                }
            }
            Some('t') if archive.is_none() => findings.add(FileRead, span),
            Some('t') => on_archive(FileRead),
            Some('d') => {
                on_archive(FileRead);
                findings.add(FileRead, span);
            }
            Some(_) => {
                on_archive(FileModify);
                for operand in self.operands {
                    findings.role(Role::Read, operand);
                }
            }
            // What it does is not to be seen: the worst.
            None => {
                findings.unknown_path(FileWrite, span);
                findings.add(FileRead, span);
            }
        }
    }
}

/// What the value of a tar option means.
fn valued<'a>(name: &str, value: Word<'a>, findings: &mut Findings<'a>) {
    match name {
        // The value is a program with options, run by a shell: `zstd -19` is what its row says.
        "use-compress-program" => findings.shell(value),
        "to-command" => {
            findings.opaque(Cause::ExecOption, value.span());
            findings.shell(value);
        }
        "checkpoint-action" => {
            let known = value.known_prefix();
            if let Some(text) = known.strip_prefix("exec=") {
                findings.opaque(Cause::ExecOption, value.span());
                if value.text().is_some() {
                    findings.shell_text(text.to_owned(), value.span());
                }
            } else if value.is_dynamic() {
                findings.opaque(Cause::ExecOption, value.span());
            }
        }
        "info-script" | "new-volume-script" | "rsh-command" | "rmt-command" | "set-mtime-command" => {
            findings.opaque(Cause::ExecOption, value.span());
        }
        "files-from" | "exclude-from" | "group-map" | "owner-map" => findings.path(FileRead, value),
        "listed-incremental" | "index-file" | "volno-file" => findings.path(FileWrite, value),
        _ => {}
    }
}

/// `ar x lib.a`, `ar rcs lib.a o…`, `ar t lib.a`.
pub fn ar<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    super::build::plugin(call, findings);
    let mut words = call.operands.iter();
    let Some(first) = words.next() else { return };
    let letters = first.known_prefix().trim_start_matches('-');
    let span = call.name.span();
    if letters == "-version" || letters == "-help" || letters == "V" {
        return;
    }
    let archive = words.find(|word| !word.known_prefix().starts_with("--"));
    if letters.starts_with('M') || first.is_dynamic() {
        findings.opaque(Cause::StdinCode, first.span());
    }
    match letters.chars().find(|letter| "dmpqrstx".contains(*letter)) {
        Some('x') => {
            findings.path_text(FileWrite, ".", span);
            if let Some(archive) = archive {
                findings.path(FileRead, *archive);
            }
        }
        Some('t' | 'p') => {
            if let Some(archive) = archive {
                findings.path(FileRead, *archive);
            }
        }
        _ => {
            if letters.contains('d') {
                findings.add(FileModify, span);
            }
            match archive {
                Some(archive) => findings.path(FileWrite, *archive),
                None => findings.unknown_path(FileWrite, span),
            }
            for file in words {
                findings.role(Role::Read, *file);
            }
        }
    }
}

/// `jar xf a.jar`, `jar --create --file a.jar`.
pub fn jar<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let Some(first) = call.operands.first() else { return };
    let known = first.known_prefix();
    let has = |long: &str| call.operands.iter().any(|word| word.text() == Some(long));
    if matches!(known, "--help" | "--version" | "-h") {
        return;
    }
    // `-J` hands an option to the Java machine, which may load code; `@` reads options from a file.
    if let Some(word) = call
        .operands
        .iter()
        .find(|word| word.known_prefix().starts_with("-J") || word.known_prefix().starts_with('@'))
    {
        findings.opaque(Cause::ExecOption, word.span());
    }
    let letters = if known.starts_with("--") { "" } else { known };
    if letters.contains('t') || has("--list") || has("--describe-module") {
        findings.add(FileRead, span);
    } else {
        findings.add(FileRead, span);
        findings.unknown_path(FileWrite, span);
    }
}

/// `zip -T -TT CMD` runs CMD on the archive.
pub fn zip<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for arg in call.words {
        let known = arg.value.known_prefix();
        if known.starts_with('-') && !known.starts_with("--") && known.contains("TT") {
            findings.opaque(Cause::ExecOption, arg.span);
        }
    }
}

/// `-sdel` deletes the packed files, `-o{DIR}` is where they go.
pub fn seven_zip<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for arg in call.words {
        match arg.value.known_prefix() {
            "-sdel" => findings.add(Destructive, arg.span),
            "-so" => findings.drops(crate::classify::OpSet::of(&[FileWrite])),
            _ => {}
        }
    }
}
