//! Interpreters: where the code comes from.
//!
//! Danger: code that the text does not show is opaque; only shell text in the line itself is read on.

use crate::classify::findings::Findings;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;
use crate::classify::{op::OpClass, registry};

/// `bash -c TEXT`, `bash FILE`, `bash` (reads its standard input).
pub fn shell<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let first = call.operands.first();
    if call.has("c") {
        match first {
            Some(text) => findings.shell(*text),
            None => findings.opaque(Cause::DynamicCode, call.name.span()),
        }
        return;
    }
    match first {
        Some(script)
            if !matches!(script.text(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
                && !has_stdin(call) =>
        {
            findings.role(Role::Read, *script);
            // `bash -n` reads the script and runs nothing; with `-i` or `+n` beside it it does.
            let options = &call.words[..call.first_operand];
            if !matches!(options, [only] if only.value.literal() == Some("-n")) {
                findings.opaque(Cause::ScriptFile, script.span());
            }
        }
        _ => {
            findings.opaque(Cause::StdinCode, call.name.span());
            findings.reads_stdin = true;
        }
    }
}

/// `bash -s ARGS` takes its code from standard input although operands follow.
fn has_stdin(call: &Call<'_>) -> bool {
    call.words[..call.first_operand].iter().any(|arg| {
        let text = arg.value.known_prefix();
        text.starts_with('-') && !text.starts_with("--") && text.contains('s')
    })
}

/// `python -m MODULE ARGS`: a module with a row of its own is that program; few others are known.
pub fn python<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let Some(module) = call.given.iter().find(|given| given.option.short == "m") else { return };
    let Some(name) = module.value.and_then(Word::text) else { return };
    // The module is the next word or attached; its arguments follow.
    let position = module.value.map_or(0, |value| crate::classify::evaluate::position(call, value));
    let rest = call.words.get(position + 1..).unwrap_or(&[]);
    let operands = || rest.iter().map(Word::whole).filter(|word| !word.known_prefix().starts_with('-'));
    match name {
        "json.tool" => {
            findings.opaque = None;
            if operands().next().is_none() {
                findings.add(OpClass::FileRead, call.name.span());
            }
            for (index, file) in operands().enumerate() {
                findings.role(if index == 0 { Role::Read } else { Role::Write }, file);
            }
        }
        "http.server" | "SimpleHTTPServer" | "smtpd" => {
            findings.add(OpClass::Network, call.name.span());
        }
        "venv" | "virtualenv" | "zipapp" | "compileall" | "py_compile" | "ensurepip" => {
            for path in operands() {
                findings.role(Role::Write, path);
            }
        }
        _ => {
            if MODULES.contains(&name) && registry::lookup(name).is_some() {
                findings.opaque = None;
                let mut argv = vec![crate::shell::Arg {
                    value: crate::shell::Value::Literal(name.to_owned()),
                    span: module.value.map_or(call.name.span(), |value| value.span()),
                }];
                argv.extend(rest.iter().cloned());
                findings.run_owned(argv);
            }
        }
    }
}

/// Modules that are the program of the same name.
const MODULES: &[&str] = &[
    "autopep8",
    "bandit",
    "black",
    "build",
    "coverage",
    "flake8",
    "hatch",
    "isort",
    "mypy",
    "nox",
    "pdm",
    "pip",
    "pipenv",
    "poetry",
    "pre_commit",
    "pycodestyle",
    "pyflakes",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "tox",
    "twine",
    "uv",
    "yapf",
];

/// `perl -i -pe CODE FILES`, `ruby -ne CODE FILES`: files that are edited or read line by line.
pub fn line_editor<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let has_code = call.has("e") || call.has("E");
    let loops = call.has("n") || call.has("p") || call.has("i");
    if !has_code {
        let is_only_version = call.operands.is_empty() && (call.has("v") || call.has("V"));
        if is_only_version {
            findings.opaque = None;
        }
        return;
    }
    if loops {
        let role = if call.has("i") { Role::Modify } else { Role::Read };
        for file in &call.operands {
            findings.role(role, *file);
        }
    }
}

/// Code from a URL.
pub fn remote_code<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        let known = word.known_prefix();
        if known.starts_with("http://")
            || known.starts_with("https://")
            || known.starts_with("npm:")
            || known.starts_with("jsr:")
        {
            findings.role(Role::Url, *word);
        }
    }
}

/// Editors take commands from options, operands that begin with `+` and standard input.
pub fn editor<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    findings.ops.retain(|op| {
        !call.operands.iter().any(|word| word.span() == op.span && word.known_prefix().starts_with('+'))
    });
}
