//! Container and machine tools whose verbs stand at varying places.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileRead, FileWrite};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::Role;

/// Verbs that take something away for good.
pub fn is_removal(verb: &str) -> bool {
    let verb = verb.rsplit([':', '/']).next().unwrap_or(verb);
    matches!(
        verb,
        "delete"
            | "rm"
            | "remove"
            | "destroy"
            | "purge"
            | "prune"
            | "terminate"
            | "wipe"
            | "drop"
            | "undefine"
            | "reset"
            | "rmi"
            | "clear"
            | "flush"
            | "erase"
            | "del"
            | "rb"
            | "unregister"
            | "uninstall"
            | "expunge"
            | "truncate"
            | "empty"
    ) || [
        "delete-",
        "remove-",
        "destroy-",
        "terminate-",
        "purge-",
        "batch-delete",
        "deregister-",
        "drop-",
        "delete_",
        "remove_",
        "vol-delete",
        "pool-destroy",
        "snapshot-delete",
    ]
    .iter()
    .any(|head| verb.starts_with(head))
}

/// Destructive when one of the first four operands is a verb of removal.
pub fn removes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in call.operands.iter().take(4) {
        if word.text().is_some_and(is_removal) {
            findings.add(Destructive, word.span());
            return;
        }
    }
}

/// `docker build`: `-o DIR` writes what was built.
pub fn build<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut words = call.words.iter();
    while let Some(arg) = words.next() {
        match arg.value.known_prefix() {
            "-o" | "--output" | "--iidfile" | "--metadata-file" => {
                if let Some(value) = words.next() {
                    findings.role(Role::Write, Word::whole(value));
                }
            }
            _ => {}
        }
    }
}

/// skopeo, crane, cosign: `delete` removes, `copy … dir:` and `export`, `pull` write.
pub fn image_tool<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    removes(call, findings);
    if matches!(call.operand(0), Some("export" | "pull" | "save" | "sync" | "download")) {
        findings.unknown_path(FileWrite, call.name.span());
    }
    if call.operand(0) == Some("copy") {
        for word in &call.operands {
            let known = word.known_prefix();
            if ["dir:", "oci:", "oci-archive:", "docker-archive:"].iter().any(|kind| known.starts_with(kind))
            {
                findings.unknown_path(FileWrite, word.span());
            }
        }
    }
}

/// Virtual machines and system containers: a look runs nothing, `exec NAME [--] CMD` runs CMD inside.
pub fn machine<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    removes(call, findings);
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if name.ends_with("destroy") {
        findings.add(Destructive, call.name.span());
    }
    let is_exec =
        matches!(call.operand(0), Some("exec" | "shell" | "ssh" | "run")) && !matches!(name, "vagrant");
    if is_exec && let Some(at) = call.words.iter().position(|arg| arg.value.literal() == Some("--")) {
        findings.run(call.words.get(at + 1..).unwrap_or(&[]));
    } else if is_exec
        && let Some(rest) = call.words.get(call.first_operand + 2..).filter(|rest| !rest.is_empty())
    {
        findings.run(rest);
    }
    if name == "vagrant" && call.operand(0) == Some("ssh") {
        for pair in call.words.windows(2) {
            if matches!(pair[0].value.literal(), Some("-c" | "--command")) {
                findings.shell(Word::whole(&pair[1]));
            }
        }
    }
    if name == "qemu-img" {
        findings.unknown_path(FileWrite, call.name.span());
        findings.add(FileRead, call.name.span());
    }
    if findings.inner.is_empty() && matches!(call.operand(0), Some("console" | "attach")) {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}
