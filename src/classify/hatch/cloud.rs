//! Cloud clients whose verbs stand at varying places.

use crate::classify::OpSet;
use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, GitWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

use super::container::is_removal;

/// The value of `--name VALUE` or `--name=VALUE`.
fn value<'a>(call: &Call<'a>, name: &str) -> Option<Word<'a>> {
    call.words.iter().enumerate().find_map(|(index, arg)| {
        let rest = arg.value.known_prefix().strip_prefix(name)?;
        if rest.is_empty() && !Word::whole(arg).is_dynamic() {
            call.words.get(index + 1).map(Word::whole)
        } else {
            rest.starts_with('=').then(|| Word::after(arg, name.len() + 1))
        }
    })
}

/// The words of a command in front of its first option: groups, verb, names.
fn verbs<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a str> {
    call.words
        .iter()
        .map(|arg| arg.value.literal().unwrap_or(""))
        .skip_while(|text| text.starts_with("--") && text.contains('='))
        .filter(|text| !text.starts_with('-'))
        .take(6)
}

fn removal<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if verbs(call).any(is_removal) {
        findings.add(Destructive, call.name.span());
    }
}

/// gcloud: `config` and `info` are local, `compute ssh --command` runs elsewhere, `storage` copies.
pub fn gcloud<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words: Vec<&str> = verbs(call).collect();
    let words: &[&str] =
        if matches!(words.first(), Some(&("beta" | "alpha" | "preview"))) { &words[1..] } else { &words };
    let span = call.name.span();
    match words {
        ["config", "list" | "get" | "get-value" | "configurations", ..]
        | ["info" | "help" | "version" | "topic" | "cheat-sheet", ..] => {
            findings.drops(OpSet::of(&[Network]));
            findings.add(FileRead, span);
            return;
        }
        // It asks whether there is such a project, zone or account.
        ["config", "set", ..] => findings.add(FileModify, span),
        ["config", ..] => {
            findings.drops(OpSet::of(&[Network]));
            findings.add(FileModify, span);
            return;
        }
        ["compute", "ssh", ..] | ["cloud-shell", "ssh", ..] => {
            findings.remote = true;
            match value(call, "--command") {
                Some(text) => findings.shell(text),
                None => findings.opaque(Cause::StdinCode, span),
            }
        }
        ["compute", "scp", ..] | ["storage", "cp" | "rsync", ..] => {
            if let Some(target) = call.operands.last() {
                findings.role(Role::RemoteTarget, *target);
            }
        }
        ["components", ..] => findings.add(FileModify, span),
        ["container", "clusters", "get-credentials", ..] | ["auth", ..] => findings.add(FileModify, span),
        ["builds", "submit", ..]
        | ["run", "deploy", ..]
        | ["app", "deploy", ..]
        | ["functions", "deploy", ..] => {
            findings.opaque(Cause::Configuration, span);
        }
        _ => {}
    }
    if value(call, "--flags-file").is_some() {
        findings.opaque(Cause::Configuration, span);
    }
    removal(call, findings);
}

/// Azure: `vm run-command invoke` runs a script elsewhere; `extension add` installs code here.
pub fn azure<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words: Vec<&str> = verbs(call).collect();
    let span = call.name.span();
    match words.as_slice() {
        ["version" | "help" | "find", ..] => findings.drops(OpSet::of(&[Network])),
        ["config" | "configure", ..] => {
            findings.drops(OpSet::of(&[Network]));
            findings.add(FileModify, span);
        }
        ["extension", "add" | "update", ..] | ["upgrade", ..] | ["ssh", ..] => {
            findings.opaque(Cause::ExecOption, span)
        }
        ["aks", "get-credentials", ..] => findings.add(FileModify, span),
        [.., "invoke"] | ["vm", "run-command", ..] | ["aks", "command", ..] | ["container", "exec", ..] => {
            findings.remote = true;
            findings.opaque(Cause::ContainerImage, span);
        }
        ["rest", ..] => {
            let method = value(call, "--method").or_else(|| value(call, "-m")).and_then(Word::text);
            if method.is_some_and(|method| method.eq_ignore_ascii_case("delete")) {
                findings.add(Destructive, span);
            }
        }
        ["storage", "blob", "download" | "download-batch", ..] => findings.unknown_path(FileWrite, span),
        _ => {}
    }
    removal(call, findings);
}

/// BigQuery: `bq query SQL`, `bq rm`.
pub fn big_query<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("query") => {
            for word in call.operands.iter().skip(1) {
                findings.sql(*word);
            }
            if call.operands.len() == 1 && call.fed {
                findings.add(Destructive, call.name.span());
            }
        }
        _ => removal(call, findings),
    }
}

/// `aws s3 sync --delete --dryrun` deletes nothing.
pub fn dry_sync<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--dryrun" | "--dry-run" | "-n"))) {
        findings.ops.retain(|op| op.class != Destructive);
    }
}

/// glab, hub, tea: as gh, less exactly.
pub fn forge<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words: Vec<&str> = verbs(call).collect();
    let span = call.name.span();
    match words.as_slice() {
        ["version" | "help" | "completion" | "config" | "alias", ..] => findings.drops(OpSet::of(&[Network])),
        ["mr" | "pr", "checkout" | "co", ..] | ["checkout", ..] => findings.add(GitWrite, span),
        ["repo", "clone", ..] | ["clone", ..] => {
            findings.add(GitWrite, span);
            findings.unknown_path(FileWrite, span);
        }
        ["release", "download", ..] | ["ci", "artifact", ..] | ["job", "artifact", ..] => {
            findings.unknown_path(FileWrite, span)
        }
        ["api", ..] => {
            let method = value(call, "--method").or_else(|| value(call, "-X")).and_then(Word::text);
            if method.is_some_and(|method| method.eq_ignore_ascii_case("delete")) {
                findings.add(Destructive, span);
            }
        }
        _ => {}
    }
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if name == "hub"
        && matches!(words.first(), Some(&("push" | "commit" | "merge" | "reset" | "am" | "apply")))
    {
        findings.add(GitWrite, span);
    }
    removal(call, findings);
}
