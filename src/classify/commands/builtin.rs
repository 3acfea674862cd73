//! What bash itself does: builtins, and the programs that repeat them.

use crate::classify::environment;
use crate::classify::evaluate::assignment_name;
use crate::classify::findings::Findings;
use crate::classify::op::OpClass::FileWrite;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::{Role, Row, command, opt};
use crate::shell::Value;

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["echo"]).effect_free().no_info().raw(),
    command(&[
        ":", "true", "false", "[[", "((", "let", "shift", "break", "continue", "return", "exit", "logout",
    ])
    .effect_free()
    .no_info()
    .raw()
    .hatch(arithmetic),
    command(&["test", "["]).effect_free().no_info().raw().hatch(test),
    command(&["printf"])
        .effect_free()
        .no_info()
        .posix()
        .lenient()
        .options(&[opt("v", "").value()])
        .hatch(variable),
    command(&["cd", "pushd", "popd", "dirs", "pwd"]).effect_free().lenient(),
    command(&["export", "declare", "typeset", "readonly", "local"])
        .effect_free()
        .no_info()
        .raw()
        .hatch(declare),
    command(&["unset"]).effect_free().no_info().raw().hatch(unset),
    command(&["read"])
        .effect_free()
        .switches("eErs")
        .values("dinNptu")
        .options(&[opt("a", "").value()])
        .hatch(read),
    command(&["mapfile", "readarray"])
        .effect_free()
        .switches("t")
        .values("cdnOsu")
        .options(&[opt("C", "").role(Role::Shell).opaque(Cause::DataAsCode)])
        .hatch(set_names),
    command(&["getopts"]).effect_free().lenient().hatch(set_names),
    command(&["wait"]).effect_free().switches("fn").options(&[opt("p", "").value()]).lenient().hatch(wait),
    command(&[
        "times", "umask", "ulimit", "jobs", "bg", "fg", "disown", "suspend", "caller", "type", "unalias",
        "alias",
    ])
    .effect_free()
    .lenient(),
    command(&["set", "shopt"]).effect_free().no_info().raw(),
    command(&["help"]).pure().lenient(),
    command(&["hash"]).effect_free().switches("rlt").options(&[opt("p", "").value()]).values("d").hatch(hash),
    command(&["trap"]).effect_free().switches("lpP").first(&[Role::Shell]).hatch(trap),
    command(&["compgen", "complete", "compopt"]).effect_free().lenient().options(&[
        opt("C", "").role(Role::Shell),
        opt("F", "").value().opaque(Cause::DataAsCode),
        opt("W", "").value(),
    ]),
    command(&["enable"])
        .effect_free()
        .switches("anpsd")
        .options(&[opt("f", "").value().opaque(Cause::ExecOption)]),
    command(&["bind"]).effect_free().lenient().options(&[opt("x", "").value().opaque(Cause::ExecOption)]),
    command(&["history"]).effect_free().switches("cps").values("d").numeric().options(&[
        opt("w", "").adds(&[FileWrite]),
        opt("a", "").adds(&[FileWrite]),
        opt("r", ""),
        opt("n", ""),
    ]),
    command(&["fc"]).effect_free().numeric().switches("lnr").opaque(Cause::DynamicCode).options(&[
        opt("l", "").transparent(),
        opt("e", "").value(),
        opt("s", ""),
    ]),
    command(&["eval"]).effect_free().wrapper().no_info().operands(Role::Line),
    command(&["source", "."]).wrapper().no_info().opaque(Cause::ScriptFile).hatch(source),
    command(&["exec"]).effect_free().wrapper().no_info().switches("cl").values("a").operands(Role::Command),
    command(&["command"]).effect_free().wrapper().switches("p").options(&[opt("vV", "")]).hatch(command_word),
    command(&["builtin"]).effect_free().wrapper().operands(Role::Command),
    command(&["kill"]).lenient(),
    command(&["sleep", "which", "whereis", "whatis", "apropos"]).pure().lenient(),
];

/// `test -v 'a[$(cmd)]'` and `let 'a[$(cmd)]'` evaluate subscripts.
fn arithmetic<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if matches!(call.name.text(), Some("let" | "((")) {
        for word in &call.operands {
            subscript(*word, findings);
            let text = word.known_prefix();
            if word.is_dynamic() || text.contains('=') || text.contains("++") || text.contains("--") {
                let is_part = |byte: char| byte == '_' || byte.is_ascii_alphanumeric();
                let launches =
                    |name: &str| environment::is_dangerous(name, &Value::Unknown { splits: false });
                if text.split(|byte| !is_part(byte)).any(launches) {
                    findings.environment = Some(word.span());
                }
            }
        }
    }
}

fn test<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for pair in call.words.windows(2) {
        if matches!(pair[0].value.literal(), Some("-v" | "-R")) {
            subscript(Word::whole(&pair[1]), findings);
        }
    }
}

fn variable<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(name) = call.value("v") {
        set(name, findings);
    }
}

fn set_names<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        set(*word, findings);
    }
}

fn read<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    set_names(call, findings);
    if let Some(name) = call.value("a") {
        set(name, findings);
    }
}

fn wait<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(name) = call.value("p") {
        set(name, findings);
    }
}

/// Without `PATH` bash runs programs of the current directory.
fn unset<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        subscript(*word, findings);
        if word.is_dynamic() || word.text() == Some("PATH") {
            findings.environment = Some(word.span());
        }
    }
}

/// A builtin gives the variable `word` a value that the text does not show: `read PATH`, `printf -v LD_PRELOAD …`.
fn set<'a>(word: Word<'a>, findings: &mut Findings<'a>) {
    subscript(word, findings);
    let name = word.text().map(|text| text.split('[').next().unwrap_or(text));
    if name.is_none_or(|name| environment::is_dangerous(name, &Value::Unknown { splits: false })) {
        findings.environment = Some(word.span());
    }
}

/// A subscript with an expansion in it is evaluated although it was quoted.
fn subscript<'a>(word: Word<'a>, findings: &mut Findings<'a>) {
    let is_code = |text: &str| text.contains('[') && text.contains(['$', '`']);
    if word.text().is_some_and(is_code) {
        findings.opaque(Cause::DataAsCode, word.span());
    }
}

/// `export NAME=value`: variables that launch programs count for the rest of the line.
fn declare<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut evaluates = false;
    for word in &call.operands {
        let known = word.known_prefix();
        if known.starts_with(['-', '+']) {
            evaluates |= known.contains(['i', 'n']);
            if known.starts_with('-') && known.contains('f') {
                return;
            }
            continue;
        }
        let Some(at) = assignment_name(known) else {
            // `local PATH` unsets it here: then programs of the current directory run.
            let unsets = known == "PATH" && matches!(call.name.text(), Some("local" | "declare" | "typeset"));
            if unsets || word.is_dynamic() && word.may_split() {
                findings.environment = Some(word.span());
            }
            subscript(*word, findings);
            continue;
        };
        if environment::is_dangerous(&known[..at], &word.tail(at + 1).value())
            && !environment::extends_path(word.span().of(findings.source))
        {
            findings.environment = Some(word.span());
            findings.opaque(Cause::Environment, word.span());
        }
        if evaluates {
            subscript(*word, findings);
        }
    }
}

/// `hash -p FILE NAME` makes NAME run FILE.
fn hash<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(value) = call.value("p") {
        findings.environment = Some(value.span());
        findings.opaque(Cause::Environment, value.span());
    }
}

/// `trap - EXIT` and `trap '' INT` run nothing.
fn trap<'a>(_: &Call<'a>, findings: &mut Findings<'a>) {
    findings.inner.retain(|inner| !matches!(inner, crate::classify::findings::Inner::Text(text, _) if matches!(&**text, "-" | "")));
}

/// `source /dev/stdin` runs what it is fed.
fn source<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => findings.reads_stdin = true,
        _ => {
            if let Some(script) = call.operands.first() {
                findings.role(Role::Read, *script);
            }
        }
    }
}

/// `command -v NAME` only looks; else the rest is run.
fn command_word<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if !call.has("v") && !call.has("V") && call.first_operand < call.words.len() {
        findings.run(&call.words[call.first_operand..]);
    }
}
