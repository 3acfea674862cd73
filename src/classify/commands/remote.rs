//! Other machines: ssh and its kin, copies to and from them.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["ssh", "autossh", "dbclient", "slogin"])
        .classes(&[Network])
        .wrapper()
        .resumes()
        .remote()
        .switches("46AaCfGgKkMNnqsTtVvXxYy")
        .values("BbcDeIiJLlmpQRWSwP")
        .options(&[
            opt("o", "").value(),
            opt("E", "").role(Role::Write),
            opt("F", "").value().opaque(Cause::Configuration).except(&["none", "/dev/null"]),
            // A PKCS#11 library is loaded and run.
            opt("I", "").value().opaque(Cause::ExecOption),
            opt("V", "").info(),
            opt("Q", "").value().info(),
            opt("N", ""),
        ])
        .first(&[Role::Host])
        .operands(Role::Line)
        .hatch(ssh),
    command(&["mosh"])
        .classes(&[Network])
        .wrapper()
        .remote()
        .switches("46an")
        .long_values(&["predict", "family", "port", "bind-server", "server"])
        .options(&[opt("", "ssh").role(Role::Shell), opt("", "client").value().opaque(Cause::ExecOption)])
        .first(&[Role::Host])
        .operands(Role::Command),
    command(&["rsh", "rexec", "remsh"])
        .classes(&[Network])
        .wrapper()
        .remote()
        .values("l")
        .first(&[Role::Host])
        .operands(Role::Line),
    command(&["pssh", "parallel-ssh", "pdsh", "clush", "dsh"])
        .classes(&[Network])
        .wrapper()
        .remote()
        .switches("viPIAxXbBqS")
        .values("hHlputOoewgGfcRm")
        .operands(Role::Line),
    command(&["scp"])
        .classes(&[Network])
        .switches("12346ABCOpqRrsTv")
        .values("ciJlPX")
        .options(&[
            opt("o", "").value(),
            opt("F", "").value().opaque(Cause::Configuration).except(&["none", "/dev/null"]),
            opt("S", "").value().opaque(Cause::ExecOption),
            // A local sftp server to talk to.
            opt("D", "").value().opaque(Cause::ExecOption),
        ])
        .operands(Role::RemoteSource)
        .last(Role::RemoteTarget)
        .hatch(ssh_options),
    command(&["sftp", "psftp"])
        .classes(&[Network, FileWrite])
        .switches("46AaCfNpqrv")
        .values("BciJlPRsX")
        .options(&[
            opt("o", "").value(),
            opt("F", "").value().opaque(Cause::Configuration).except(&["none", "/dev/null"]),
            opt("SD", "").value().opaque(Cause::ExecOption),
            opt("b", "").role(Role::Read).opaque(Cause::ScriptFile),
        ])
        .hatch(sftp),
    command(&["pscp"]).classes(&[Network]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["rsync"])
        .switches("aABbcCdDEgHhiIJklLmNOopPqrRsStuUvWxXyzZ08F46")
        .longs(&[
            "8-bit-output",
            "acls",
            "address",
            "append",
            "append-verify",
            "archive",
            "atimes",
            "backup",
            "blocking-io",
            "checksum",
            "chmod",
            "chown",
            "compress",
            "copy-dest",
            "copy-devices",
            "copy-dirlinks",
            "copy-links",
            "copy-unsafe-links",
            "crtimes",
            "cvs-exclude",
            "delay-updates",
            "delete-missing-args",
            "devices",
            "dirs",
            "executability",
            "existing",
            "fake-super",
            "force",
            "from0",
            "fsync",
            "fuzzy",
            "group",
            "groupmap",
            "hard-links",
            "human-readable",
            "ignore-errors",
            "ignore-existing",
            "ignore-missing-args",
            "ignore-non-existing",
            "ignore-times",
            "implied-dirs",
            "info",
            "inc-recursive",
            "inplace",
            "ipv4",
            "ipv6",
            "itemize-changes",
            "keep-dirlinks",
            "links",
            "list-only",
            "log-file-format",
            "max-alloc",
            "mkpath",
            "munge-links",
            "new-compress",
            "no-implied-dirs",
            "no-motd",
            "no-perms",
            "no-owner",
            "no-group",
            "no-times",
            "no-compress",
            "no-whole-file",
            "no-links",
            "no-inc-recursive",
            "no-recursive",
            "no-o",
            "no-g",
            "no-p",
            "no-t",
            "no-OWNER",
            "numeric-ids",
            "old-args",
            "old-compress",
            "old-dirs",
            "omit-dir-times",
            "omit-link-times",
            "one-file-system",
            "open-noatime",
            "owner",
            "partial",
            "perms",
            "preallocate",
            "progress",
            "protect-args",
            "prune-empty-dirs",
            "quiet",
            "recursive",
            "relative",
            "safe-links",
            "secluded-args",
            "size-only",
            "sparse",
            "specials",
            "stats",
            "super",
            "times",
            "trust-sender",
            "update",
            "usermap",
            "verbose",
            "whole-file",
            "write-devices",
            "xattrs",
            "zc",
            "zl",
        ])
        .values("B@f")
        .long_values(&[
            "backup-dir",
            "block-size",
            "bwlimit",
            "checksum-choice",
            "checksum-seed",
            "compare-dest",
            "compress-choice",
            "compress-level",
            "contimeout",
            "debug",
            "dparam",
            "exclude",
            "filter",
            "iconv",
            "include",
            "link-dest",
            "max-delete",
            "max-size",
            "min-size",
            "modify-window",
            "out-format",
            "outbuf",
            "partial-dir",
            "port",
            "protocol",
            "remote-option",
            "skip-compress",
            "sockopts",
            "stop-after",
            "stop-at",
            "suffix",
            "temp-dir",
            "timeout",
            "early-input",
        ])
        .options(&[
            opt("n", "dry-run"),
            // The shell of the transfer: `ssh -p 22` is Network, anything else what it is.
            opt("e", "rsh").role(Role::Shell),
            opt("", "rsync-path").value().opaque(Cause::ExecOption).except(&[
                "rsync",
                "sudo rsync",
                "/usr/bin/rsync",
            ]),
            opt("M", "").value(),
            opt("T", "").value(),
            opt("", "daemon").adds(&[Network]).opaque(Cause::Configuration),
            opt("", "config").value().opaque(Cause::Configuration),
            opt("", "delete"),
            opt("", "del"),
            opt("", "delete-before"),
            opt("", "delete-during"),
            opt("", "delete-delay"),
            opt("", "delete-after"),
            opt("", "delete-excluded"),
            opt("", "remove-source-files"),
            opt("", "remove-sent-files"),
            opt("", "files-from").role(Role::Read),
            opt("", "exclude-from").role(Role::Read),
            opt("", "include-from").role(Role::Read),
            opt("", "password-file").role(Role::Read),
            opt("", "log-file").role(Role::Write),
            opt("", "write-batch").role(Role::Write),
            opt("", "only-write-batch").role(Role::Write),
            opt("", "read-batch").role(Role::Read),
        ])
        .hatch(rsync),
    command(&["ssh-copy-id"])
        .classes(&[Network])
        .lenient()
        .options(&[opt("F", "").value().opaque(Cause::Configuration)]),
    command(&["sshfs", "s3fs", "gcsfuse", "mount.cifs", "mount.nfs"])
        .classes(&[Network, FileWrite])
        .lenient()
        .options(&[
            opt("o", "").value().opaque(Cause::ExecOption).only(&[
                "ssh_command=*",
                "proxycommand=*",
                "sftp_server=*",
            ]),
            opt("F", "").value().opaque(Cause::Configuration),
        ]),
];

/// ssh configuration that runs a program on this side.
fn is_exec_setting(text: &str) -> bool {
    let name: String = text
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let value = text.get(text.find(['=', ' ']).map_or(text.len(), |at| at + 1)..).unwrap_or("").trim();
    match name.as_str() {
        "proxycommand"
        | "localcommand"
        | "knownhostscommand"
        | "pkcs11provider"
        | "securitykeyprovider"
        | "xauthlocation"
        | "include"
        | "match"
        | "identityagent" => !value.eq_ignore_ascii_case("none"),
        "permitlocalcommand" => value.eq_ignore_ascii_case("yes"),
        _ => false,
    }
}

fn ssh_options<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for given in call.all("o") {
        let Some(value) = given.value else { continue };
        if value.text().is_none_or(is_exec_setting) && (value.text().is_some() || opaque_prefix(value)) {
            findings.opaque(Cause::ExecOption, value.span());
        }
    }
}

/// An unknown value matters unless its known beginning already names a harmless setting.
fn opaque_prefix(value: Word<'_>) -> bool {
    let known = value.known_prefix();
    !known.contains('=') || is_exec_setting(&format!("{known}x"))
}

fn ssh<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    ssh_options(call, findings);
    if call.fed && findings.inner.is_empty() && call.operands.len() == 1 && !call.has("N") {
        findings.opaque(Cause::StdinCode, call.name.span());
        findings.reads_stdin = true;
    }
}

fn sftp<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    ssh_options(call, findings);
    if call.fed {
        findings.opaque(Cause::StdinCode, call.name.span());
    }
}

fn rsync<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let is_dry = call.has("dry-run") && !call.all("dry-run").any(|given| given.doubtful);
    let (sources, target) = match call.operands.split_last() {
        Some((target, sources)) if !sources.is_empty() => (sources, Some(*target)),
        _ => (&call.operands[..], None),
    };
    for source in sources {
        findings.role(Role::RemoteSource, *source);
    }
    let Some(target) = target else { return };
    let is_remote = crate::classify::path::is_remote(target.known_prefix());
    if is_remote || !is_dry {
        findings.role(Role::RemoteTarget, target);
    } else {
        findings.add(FileRead, target.span());
    }
    let deletes = |option: &OptionSpec<'_>| {
        option.long == "del" || option.long.starts_with("delete") || option.long.starts_with("remove-")
    };
    if !is_dry && let Some(given) = call.given.iter().find(|given| deletes(given.option)) {
        findings.add(Destructive, call.words.get(given.index).map_or(call.name.span(), |arg| arg.span));
    }
}
