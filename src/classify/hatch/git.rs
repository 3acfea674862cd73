//! git: configuration that runs programs, refspecs that delete, pathspecs that overwrite.
//!
//! Danger: `-c core.pager=…`, `-c alias.x='!…'`, `ext::` URLs turn a reader into a launcher. Keys are judged by a list of
//! harmless ones; any other key is opaque.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, GitRead, GitWrite, Network};
use crate::classify::op::OpSet;
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;
use crate::shell::{Arg, Span, Value};

/// Options in front of the subcommand.
pub fn global<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in &call.given {
        let Some(value) = given.value else { continue };
        match (given.option.short, given.option.long) {
            ("c", _) => setting(call, value, findings),
            (_, "config-env") if is_harmless(value.known_prefix().split('=').next().unwrap_or("")) => {}
            (_, "config-env" | "exec-path") => findings.opaque(Cause::ExecOption, value.span()),
            _ => {}
        }
    }
}

/// `-c KEY=VALUE`.
fn setting<'a>(call: &Call<'a>, word: Word<'a>, findings: &mut Findings<'a>) {
    let known = word.known_prefix();
    let key = known.split('=').next().unwrap_or("");
    let value = word.text().and_then(|text| text.split_once('=')).map(|(_, value)| value);
    if key.len() == known.len() && word.is_dynamic() {
        findings.opaque(Cause::ExecOption, word.span());
        return;
    }
    if let Some(name) = strip_section(key, "alias") {
        // An alias counts when it is called; the subcommand decides that.
        let is_called = call.operand(0) == Some(name);
        match value {
            Some(text) if is_called => alias(call, text, word.span(), findings),
            _ => findings.opaque(Cause::ExecOption, word.span()),
        }
        return;
    }
    let is_idle = matches!(
        value,
        Some("" | "true" | "false" | "cat" | "0" | "1" | "no" | "yes" | "never" | "always" | "auto")
    );
    if !is_idle && !is_harmless(key) {
        findings.opaque(Cause::ExecOption, word.span());
    }
}

/// Runs an alias: `!text` in a shell, anything else as git's words.
fn alias<'a>(call: &Call<'a>, text: &str, span: Span, findings: &mut Findings<'a>) {
    findings.opaque(Cause::ExecOption, span);
    let rest = &call.words[(call.first_operand + 1).min(call.words.len())..];
    match text.strip_prefix('!') {
        Some(shell) => {
            let mut line = shell.to_owned();
            for arg in rest {
                line.push(' ');
                line.push_str(arg.value.literal().unwrap_or("\"$1\""));
            }
            findings.shell_text(line, span);
        }
        None => {
            let literal = |text: &str| Arg { value: Value::Literal(text.to_owned()), span };
            let mut argv = vec![literal("git")];
            argv.extend(text.split_whitespace().map(literal));
            argv.extend(rest.iter().cloned());
            findings.run_owned(argv);
        }
    }
}

fn strip_section<'t>(key: &'t str, section: &str) -> Option<&'t str> {
    let (head, rest) = key.split_once('.')?;
    head.eq_ignore_ascii_case(section).then_some(rest)
}

/// Keys that cannot make git run a program, write elsewhere or read other configuration.
fn is_harmless(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let Some((section, name)) = lower.split_once('.') else { return false };
    let is_simple = !name.contains('.');
    match section {
        "color" | "user" | "author" | "committer" | "advice" | "log" | "status" | "push" | "pull"
        | "fetch" | "rebase" | "commit" | "tag" | "gc" | "pack" | "index" | "feature" | "checkout"
        | "clean" | "rerere" | "blame" | "branch" | "column" | "i18n" | "apply" | "am" | "stash" | "safe"
        | "maintenance" | "worktree" | "versionsort" | "notes" | "http" | "fsck" | "transfer" | "show"
        | "grep" | "clone" | "merge" | "format" | "reflog" | "extensions" => {
            let is_program = matches!(name, "tool" | "guitool" | "template" | "attachwith");
            is_simple && !is_program || matches!(section, "color" | "branch" | "http" | "fsck" | "advice")
        }
        "diff" => is_simple && !matches!(name, "external" | "tool" | "guitool"),
        "init" => name == "defaultbranch",
        "protocol" => name == "version",
        "submodule" => matches!(name, "recurse" | "fetchjobs"),
        "core" => matches!(
            name,
            "abbrev"
                | "autocrlf"
                | "bare"
                | "bigfilethreshold"
                | "commentchar"
                | "compression"
                | "eol"
                | "filemode"
                | "fscache"
                | "fsyncmethod"
                | "ignorecase"
                | "ignorestat"
                | "logallrefupdates"
                | "longpaths"
                | "precomposeunicode"
                | "preloadindex"
                | "quotepath"
                | "safecrlf"
                | "sparsecheckout"
                | "symlinks"
                | "trustctime"
                | "untrackedcache"
                | "whitespace"
        ),
        _ => false,
    }
}

/// A URL of git: `ext::` and `fd::` run programs.
fn url<'a>(word: Word<'a>, findings: &mut Findings<'a>) {
    let known = word.known_prefix();
    if known.starts_with("ext::") || known.starts_with("fd::") {
        findings.opaque(Cause::ExecOption, word.span());
    } else if crate::classify::path::is_remote(known) {
        findings.host_text(known, word.span());
    }
}

/// Commands whose first operands may be URLs.
pub fn remote<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in call.operands.iter().take(2) {
        url(*word, findings);
    }
}

/// `git remote update|prune|show`: the first two change refs.
pub fn remote_update<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.name.text() != Some("show") {
        findings.add(GitWrite, call.name.span());
    } else if call.operands.is_empty() || call.words.iter().any(|arg| arg.value.literal() == Some("-n")) {
        findings.drops(OpSet::of(&[Network]));
    }
}

/// `git push REMOTE REFSPEC…`: `+ref` forces, `:ref` deletes.
pub fn push<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(target) = call.operands.first() {
        url(*target, findings);
    }
    for refspec in call.operands.iter().skip(1) {
        if refspec.known_prefix().starts_with(['+', ':']) && !findings.dropped.contains(GitWrite) {
            findings.add(Destructive, refspec.span());
        }
    }
}

/// `git clone URL [DIR]`, `-c KEY=VALUE`.
pub fn clone<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in call.all("config") {
        if let Some(value) = given.value {
            setting(call, value, findings);
        }
    }
    let Some(source) = call.operands.first() else { return };
    url(*source, findings);
    match call.operands.get(1) {
        Some(target) => findings.role(Role::Write, *target),
        None => {
            let name = source.text().map(|text| {
                let text = text.trim_end_matches('/');
                let base = text.rsplit(['/', ':']).next().unwrap_or("");
                base.strip_suffix(".git").unwrap_or(base)
            });
            match name {
                Some(name) if !name.is_empty() => {
                    findings.path_text(crate::classify::OpClass::FileWrite, name, source.span());
                }
                _ => findings.unknown_path(crate::classify::OpClass::FileWrite, source.span()),
            }
        }
    }
}

/// `git checkout [TREE] -- PATHS`, `git checkout .`: overwrites what was not committed.
pub fn checkout<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let creates = call.has("b") || call.has("B") || call.has("orphan");
    if creates {
        return;
    }
    if let Some(dashes) = call.words.iter().position(|arg| arg.value.literal() == Some("--")) {
        for path in &call.words[dashes + 1..] {
            findings.path(Destructive, Word::whole(path));
        }
        return;
    }
    let looks_like_path = |word: &Word<'_>| {
        let text = word.known_prefix();
        let base = text.rsplit('/').next().unwrap_or(text);
        let extension = base.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_file = !extension.is_empty()
            && extension.len() <= 4
            && extension != "x"
            && extension.bytes().all(|byte| byte.is_ascii_alphabetic());
        matches!(text, "." | "..")
            || text.starts_with("./")
            || text.starts_with(':')
            || text.ends_with('/')
            || is_file
    };
    for (index, word) in call.operands.iter().enumerate() {
        if index > 0 || looks_like_path(word) {
            findings.path(Destructive, *word);
        }
    }
}

/// `git restore PATHS` overwrites the worktree unless it only unstages.
pub fn restore<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let only_index = call.has("staged") && !call.has("worktree");
    if only_index {
        return;
    }
    for word in &call.operands {
        findings.path(Destructive, *word);
    }
    if call.operands.is_empty() {
        findings.add(Destructive, call.name.span());
    }
}

/// `git symbolic-ref NAME` reads, with a second operand it writes.
pub fn symbolic_ref<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let deletes = call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-d" | "--delete")));
    if call.operands.len() < 2 && !deletes {
        findings.drops(OpSet::of(&[GitWrite]));
        findings.add(GitRead, call.name.span());
    }
}

/// `git config`: reads with `--get…`, `--list` or one operand.
pub fn config<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let writes = ["unset", "unset-all", "add", "replace-all", "rename-section", "remove-section"]
        .iter()
        .any(|name| call.has(name));
    let reads = ["list", "get", "get-all", "get-regexp", "get-urlmatch", "get-color", "get-colorbool"]
        .iter()
        .any(|name| call.has(name));
    if call.has("edit") || call.operand(0) == Some("edit") {
        findings.opaque(Cause::Editor, call.name.span());
        return;
    }
    let verb_reads = matches!(call.operand(0), Some("list" | "get"));
    if !writes && (reads || verb_reads || call.operands.len() < 2) {
        findings.drops(OpSet::of(&[GitWrite]));
        findings.add(GitRead, call.name.span());
    }
}
