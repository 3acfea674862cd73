//! Wrappers whose inner command stands where data alone cannot say.

use crate::classify::evaluate::assignment_name;
use crate::classify::findings::Findings;
use crate::classify::op::OpClass;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word, with_unknown};
use crate::classify::spec::Role;
use crate::shell::{Arg, Value};

/// `sudo -i`, `doas -s`: without a command a shell that reads its standard input.
pub fn interactive<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_shell = call.has("s") || call.has("i") || call.has("shell") || call.has("login");
    if findings.inner.is_empty() && is_shell {
        findings.opaque(Cause::StdinCode, call.name.span());
        findings.reads_stdin = true;
    }
}

/// `env [NAME=VALUE]… CMD…`, `env -S 'CMD…'`.
pub fn env<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_assignment =
        |arg: &&Arg| assignment_name(arg.value.known_prefix()).is_some() || arg.value.literal() == Some("-");
    let start =
        call.first_operand + call.words[call.first_operand..].iter().take_while(is_assignment).count();
    let rest = &call.words[start..];
    if let Some(split) = call.value("split-string") {
        let mut text = String::from("env");
        let words = std::iter::once(split).chain(call.words[call.first_operand..].iter().map(Word::whole));
        for word in words {
            text.push(' ');
            if !word.append_code(&findings.place.home, &mut text) {
                findings.opaque(Cause::DynamicCode, word.span());
            }
        }
        findings.shell_text(text, split.span());
        return;
    }
    if let Some(first) = rest.first() {
        let is_known = first.value.literal().is_some();
        if !is_known {
            findings.opaque(Cause::DynamicVerb, first.span);
        }
        findings.run(rest);
    }
}

/// `taskset MASK CMD…`, `taskset -c LIST CMD…`; `cpulimit -l 5 CMD…`: a first operand that begins with a digit is a setting.
pub fn after_setting<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = &call.words[call.first_operand..];
    let skip = usize::from(call.name.text() != Some("cpulimit"));
    if let Some(rest) = words.get(skip..)
        && !rest.is_empty()
    {
        findings.run(rest);
    }
}

/// `setarch [ARCH] [OPTION]… CMD…`: options may follow the architecture.
pub fn architecture<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = call.words.get(call.first_operand + 1..).unwrap_or(&[]);
    let options = words.iter().take_while(|arg| arg.value.known_prefix().starts_with('-')).count();
    if options < words.len() {
        findings.run(&words[options..]);
    }
}

/// Wrappers whose values are attached (`numactl --cpunodebind=0 CMD…`).
pub fn after_attached<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = &call.words[call.first_operand..];
    if words.is_empty() {
        return;
    }
    // A value may stand before the command: whatever word is the verb, the rest is opaque too.
    findings.opaque(Cause::UnknownOption, call.name.span());
    findings.run(words);
}

/// `flock FILE CMD…`, `flock FILE -c TEXT`, `flock 9`.
pub fn flock<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let Some((lock, rest)) = call.operands.split_first() else { return };
    match rest {
        [] => {}
        [flag, text, ..] if matches!(flag.text(), Some("-c" | "--command")) => findings.shell(*text),
        [dashes, _, ..] if dashes.text() == Some("--") => findings.run(&call.words[call.first_operand + 2..]),
        _ => findings.run(&call.words[call.first_operand + 1..]),
    }
    let is_descriptor = lock.text().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_descriptor && findings.inner.is_empty() && findings.opaque.is_none() {
        findings.opaque(Cause::StdinCode, lock.span());
    }
}

/// `chroot DIR CMD…`, `unshare CMD…`, `nsenter -t PID CMD…`: without a command a shell.
pub fn namespace<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let skip = usize::from(matches!(call.name.text().map(base), Some("chroot")));
    match call.words.get(call.first_operand + skip..) {
        Some(rest) if !rest.is_empty() => findings.run(rest),
        _ => {
            findings.opaque(Cause::StdinCode, call.name.span());
            findings.reads_stdin = true;
        }
    }
}

/// `script [FILE]` records a shell unless `-c` says what.
pub fn script<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(file) = call.operands.first() {
        if file.text() == Some("/dev/null") {
            findings.drops(crate::classify::OpSet::of(&[OpClass::FileWrite]));
        }
        findings.role(Role::Write, *file);
        for (index, word) in call.operands.iter().enumerate().skip(1) {
            if matches!(word.text(), Some("-c" | "--command"))
                && let Some(text) = call.operands.get(index + 1)
            {
                findings.shell(*text);
            }
        }
    }
    if findings.inner.is_empty() {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}

/// `su [-] [USER] -c TEXT`, `runuser -u USER CMD…`.
pub fn user_shell<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.has("user") && call.first_operand < call.words.len() {
        findings.run(&call.words[call.first_operand..]);
    }
    if findings.inner.is_empty() {
        findings.opaque(Cause::StdinCode, call.name.span());
        findings.reads_stdin = true;
    }
}

/// `xargs CMD…`: the command with words that only run time will tell behind (or in) it.
pub fn xargs<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = &call.words[call.first_operand..];
    if words.is_empty() {
        return;
    }
    let replaced =
        call.value("I").or_else(|| call.value("replace")).or_else(|| call.value("J")).and_then(Word::text);
    let replaced = match replaced {
        Some(text) if !text.is_empty() => Some(text),
        _ if call.has("replace") => Some("{}"),
        _ if call.has("I") || call.has("J") => {
            findings.opaque(Cause::DynamicCode, call.name.span());
            return;
        }
        _ => None,
    };
    let mut argv: Vec<Arg> = Vec::with_capacity(words.len() + 1);
    match replaced {
        Some(mark) => argv.extend(words.iter().map(|arg| with_unknown(arg, mark))),
        None => {
            argv.extend(words.iter().cloned());
            argv.push(Arg { value: Value::Unknown { splits: true }, span: call.name.span() });
        }
    }
    findings.run_owned(argv);
}

/// `parallel CMD… ::: ARGS`: the words are shell text with the replacement strings in it.
pub fn parallel<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in call.all("sshlogin") {
        if let Some(host) = given.value {
            findings.role(Role::Host, host);
        }
    }
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--dry-run" | "--dryrun"))) {
        return;
    }
    let words = &call.words[call.first_operand..];
    let is_separator = |arg: &Arg| arg.value.known_prefix().starts_with(":::");
    let end = words.iter().position(is_separator).unwrap_or(words.len());
    let (template, arguments) = words.split_at(end);
    if template.is_empty() {
        if arguments.is_empty() {
            findings.opaque(Cause::StdinCode, call.name.span());
        }
        for arg in arguments.iter().filter(|arg| !is_separator(arg)) {
            findings.shell(Word::whole(arg));
        }
        return;
    }
    let mut text = String::new();
    for arg in template {
        if !Word::whole(arg).append_code(&findings.place.home, &mut text) {
            findings.opaque(Cause::DynamicCode, arg.span);
        }
        text.push(' ');
    }
    let marks = ["{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"];
    let has_mark = marks.iter().any(|mark| text.contains(mark)) || text.contains("{1") || text.contains("{2");
    for mark in marks {
        text = text.replace(mark, "\"$1\"");
    }
    for number in 1..10 {
        for suffix in ["", ".", "/", "//", "/."] {
            text = text.replace(&format!("{{{number}{suffix}}}"), "\"$1\"");
        }
    }
    if !has_mark {
        text.push_str("\"$1\"");
    }
    findings.shell_text(text, template[0].span);
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
