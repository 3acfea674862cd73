//! Compilers, cmake and go: modes and options that data cannot say.

use crate::classify::OpSet;
use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileRead, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

/// Options of C-like compilers that take the next word.
const COMPILER_VALUED: &[&str] = &[
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-x",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-T",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-MT",
    "-MQ",
    "-arch",
    "-target",
    "-u",
    "-z",
    "-framework",
    "-isysroot",
    "--sysroot",
    "-e",
    "-G",
    "--param",
    "-gencode",
];

/// A C-like compiler: operands are read, `-o` (or `a.out`, `x.o`) is written.
pub fn compiler<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut words = call.operands.iter().copied();
    let (mut output, mut is_silent, mut has_source) = (false, false, false);
    while let Some(word) = words.next() {
        let known = word.known_prefix();
        match known {
            "-o" => {
                output = true;
                match words.next() {
                    Some(file) => findings.role(Role::Write, file),
                    None => findings.unknown_path(FileWrite, word.span()),
                }
            }
            "-MF" | "-MJ" | "-aux-info" => {
                if let Some(file) = words.next() {
                    findings.role(Role::Write, file);
                }
            }
            "-wrapper" | "-B" | "-specs" | "-fplugin" | "-load" | "-plugin" | "-ccbin" => {
                findings.opaque(Cause::ExecOption, word.span());
                words.next();
            }
            "-Xclang" | "-mllvm" => {
                let next = words.next();
                if next.is_none_or(|next| {
                    next.known_prefix().contains("load")
                        || next.known_prefix().contains("plugin")
                        || next.is_dynamic()
                }) {
                    findings.opaque(Cause::ExecOption, word.span());
                }
            }
            "-dumpversion" | "-dumpfullversion" | "-dumpmachine" | "-dumpspecs" => {
                is_silent = true;
                findings.add(FileRead, word.span());
            }
            "-E" | "-fsyntax-only" | "-M" | "-MM" | "-v" | "--version" | "-###" | "--help" | "-Q" | "-V" => {
                is_silent = true;
            }
            // `tcc -run`, `dmd -run`: compile and run.
            "-run" => findings.opaque(Cause::ScriptFile, word.span()),
            "-MD" | "-MMD" | "-save-temps" => findings.unknown_path(FileWrite, word.span()),
            "-" => has_source = true,
            _ if COMPILER_VALUED.contains(&known) => {
                words.next();
            }
            _ if known.starts_with("-o") && !known.starts_with("-objc") => {
                output = true;
                findings.path(FileWrite, word.tail(2));
            }
            _ if [
                "-B",
                "-specs=",
                "--specs=",
                "-fplugin=",
                "-fpass-plugin=",
                "-wrapper=",
                "-fuse-ld=/",
                "--ld-path=",
                "-Wl,-plugin",
                "-Wl,--plugin",
            ]
            .iter()
            .any(|head| known.starts_with(head)) =>
            {
                findings.opaque(Cause::ExecOption, word.span());
            }
            _ if known.starts_with("-fdump-") || known.starts_with("-save-temps") => {
                findings.unknown_path(FileWrite, word.span());
            }
            // Options from a file may be any of these.
            _ if known.starts_with('@') => findings.opaque(Cause::UnknownOption, word.span()),
            _ if known.starts_with("-print-") || known.starts_with("--print-") => {
                is_silent = true;
                findings.add(FileRead, word.span());
            }
            _ if known.starts_with('-') => {
                if word.is_dynamic() {
                    findings.opaque(Cause::UnknownOption, word.span());
                }
            }
            _ => {
                has_source = true;
                if word.is_dynamic() && word.may_split() {
                    // `$CFLAGS` may hold any option.
                    findings.opaque(Cause::UnknownOption, word.span());
                }
                findings.role(Role::Read, word);
            }
        }
    }
    let is_preprocessor = call.name.text().is_some_and(|name| name.ends_with("cpp"));
    if !output && !is_silent && has_source && !is_preprocessor {
        findings.unknown_path(FileWrite, call.name.span());
    }
}

/// Generators and other compilers: file operands are read; print modes write nothing.
pub fn generator<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    plugin(call, findings);
    let prints = call.words.iter().any(|arg| {
        matches!(
            arg.value.literal(),
            Some("-version" | "-V" | "-vV" | "-help" | "-h" | "-t" | "-print-targets" | "-E")
        ) || arg.value.known_prefix().starts_with("--print")
    });
    let m4 = call.name.text().is_some_and(|name| name.ends_with("m4"));
    if call.operands.is_empty() || prints || m4 {
        findings.drops(OpSet::of(&[FileWrite]));
    }
    if m4 {
        // `syscmd` and `esyscmd` run shell text.
        findings.opaque(Cause::Interpreter, call.name.span());
    }
    if let Some(output) = call.value("o") {
        findings.role(Role::Write, output);
        findings.drops(OpSet::of(&[FileWrite]));
    }
    let is_rustc = call.name.text().is_some_and(|name| name.ends_with("rustc"));
    if is_rustc && matches!(call.words, [only] if matches!(only.value.literal(), Some("-vV" | "-Vv"))) {
        findings.add(FileRead, call.name.span());
    }
    for arg in call.words {
        let known = arg.value.known_prefix();
        let sets_linker = is_rustc && (known.contains("linker=") || known.starts_with("-Zcodegen-backend"));
        if sets_linker || known.starts_with('@') {
            findings.opaque(Cause::ExecOption, arg.span);
        }
        // `nim r`, `zig run`, `ghc -e`, `v run`: compile and run.
        if matches!(arg.value.literal(), Some("run" | "r" | "test" | "-e" | "build"))
            && call.words.first().is_some_and(|first| std::ptr::eq(first, arg))
        {
            findings.opaque(Cause::BuildTool, arg.span);
        }
    }
    for word in &call.operands {
        findings.role(Role::Read, *word);
    }
}

/// cmake's modes: configure, `--build`, `--install`, `-E TOOL`, `-P SCRIPT`.
pub fn cmake<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    match call.words.first().map(|arg| arg.value.literal()) {
        None => {}
        Some(Some("-E")) => tool(call, findings),
        Some(Some("--list-presets" | "-h" | "-H" | "-help" | "-version")) => {}
        Some(Some(known)) if known.starts_with("--help") => {}
        Some(Some("--build" | "--workflow" | "--open")) => findings.opaque(Cause::BuildTool, span),
        Some(_) => {
            findings.opaque(Cause::BuildTool, span);
            findings.add(FileWrite, span);
        }
    }
}

fn tool<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.words.get(1).and_then(|arg| arg.value.literal());
    let words = call.words.get(2..).unwrap_or(&[]);
    let span = call.name.span();
    match name {
        Some("rm" | "remove" | "remove_directory") => findings.add(Destructive, span),
        Some(
            "copy"
            | "copy_directory"
            | "copy_directory_if_different"
            | "copy_if_different"
            | "rename"
            | "create_symlink"
            | "create_hardlink"
            | "make_directory"
            | "touch"
            | "touch_nocreate"
            | "tar",
        ) => findings.unknown_path(FileWrite, span),
        Some("cat" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "compare_files") => {
            for arg in words {
                findings.role(Role::Read, Word::whole(arg));
            }
        }
        Some(
            "echo" | "echo_append" | "sleep" | "true" | "false" | "environment" | "capabilities" | "help",
        ) => {}
        Some("time" | "chdir" | "env") => {
            let is_setting = |known: &str| known.contains('=') || known.starts_with("--");
            let skip = match name {
                Some("chdir") => 1,
                Some("env") => words.iter().take_while(|arg| is_setting(arg.value.known_prefix())).count(),
                _ => 0,
            };
            if name == Some("env") && skip > 0 {
                findings.opaque(Cause::Environment, span);
            }
            findings.run(words.get(skip..).unwrap_or(&[]));
        }
        _ => findings.opaque(Cause::BuildTool, span),
    }
}

/// `go run PACKAGE@VERSION` fetches; `go run ./cmd` does not.
pub fn go_remote<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(word) = call.operands.first() {
        let known = word.known_prefix();
        let is_remote = known.contains('@')
            || known
                .split('/')
                .next()
                .is_some_and(|head| !head.starts_with('.') && head.contains('.') && known.contains('/'));
        if is_remote {
            findings.host_text(known.split('/').next().unwrap_or(""), word.span());
        }
    }
}

/// `bundle exec X`: programs of the project's own packages, whatever their names.
pub fn project_code<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    findings.opaque(Cause::PackageScript, call.name.span());
}

/// `ld -plugin FILE`, `ar --plugin FILE`: a library that is loaded.
pub fn plugin<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let plugins = call.words.iter().filter(|arg| {
        let known = arg.value.known_prefix();
        known.starts_with('-') && known.trim_start_matches('-').starts_with("plugin")
    });
    for word in plugins {
        findings.opaque(Cause::ExecOption, word.span);
    }
}
