//! Package managers of systems. Installing fetches and runs maintainer scripts; removing is Destructive.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

/// `-o Dpkg::Pre-Invoke=…` runs programs; settings of these groups do not.
const APT_OPTIONS: &[OptionSpec<'static>] = &[
    opt("o", "option").value().opaque(Cause::ExecOption).except(&[
        "Dpkg::Options::*",
        "Acquire::Retries*",
        "Acquire::http*",
        "Acquire::https*",
        "Acquire::Check*",
        "Acquire::Languages*",
        "Acquire::ForceIPv4*",
        "APT::Get::*",
        "APT::Install*",
        "APT::Color*",
        "APT::Acquire::*",
        "Debug::*",
        "Dpkg::Use-Pty*",
        "DPkg::Lock*",
        "Dpkg::Progress*",
    ]),
    opt("c", "config-file").value().opaque(Cause::Configuration),
    opt("s", "simulate").drops(&[Destructive]),
    opt("", "dry-run").drops(&[Destructive]),
    opt("", "just-print").drops(&[Destructive]),
    opt("", "no-act").drops(&[Destructive]),
    opt("h", "").info(),
];

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["apt", "apt-get", "aptitude", "apt-fast", "nala"])
        .lenient()
        .global()
        .switches("ydqfmubV")
        .longs(&[
            "yes",
            "assume-yes",
            "download-only",
            "quiet",
            "fix-broken",
            "no-install-recommends",
            "allow-downgrades",
            "allow-unauthenticated",
            "reinstall",
            "only-upgrade",
            "show-progress",
            "purge",
        ])
        .values("ta")
        .long_values(&["target-release", "default-release", "host-architecture"])
        .options(APT_OPTIONS)
        .subcommands(APT),
    command(&["apt-cache", "apt-file", "dpkg-query", "dpkg-checkbuilddeps", "debconf-show", "deborphan"])
        .closed()
        .classes(&[FileRead])
        .lenient()
        .options(&[
            opt("o", "option").value().opaque(Cause::ExecOption),
            opt("c", "config-file").value().opaque(Cause::Configuration),
        ])
        .hatch(updates),
    command(&["dpkg-architecture"])
        .closed()
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("c", "command").role(Role::Shell)]),
    // A format is a Perl module, looked for in `-L`.
    command(&["dpkg-parsechangelog"])
        .closed()
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("L", "").value().opaque(Cause::ExecOption)]),
    command(&[
        "apt-mark",
        "apt-config",
        "dpkg-divert",
        "dpkg-statoverride",
        "dpkg-reconfigure",
        "debconf-set-selections",
        "update-ca-certificates",
        "unattended-upgrade",
    ])
    .classes(&[FileModify])
    .lenient()
    .hatch(marks),
    command(&["add-apt-repository", "apt-add-repository", "apt-key"])
        .classes(&[Network, FileModify])
        .lenient(),
    command(&["dpkg"])
        .lenient()
        .options(&[
            opt("i", "install").adds(&[FileWrite]).opaque(Cause::PackageScript),
            opt("", "unpack").adds(&[FileWrite]).opaque(Cause::PackageScript),
            opt("", "configure").opaque(Cause::PackageScript).adds(&[FileWrite]),
            opt("rP", "remove").adds(&[Destructive]).opaque(Cause::PackageScript),
            opt("", "purge").adds(&[Destructive]).opaque(Cause::PackageScript),
            opt("", "add-architecture").adds(&[FileModify]),
            opt("", "set-selections").adds(&[FileModify]),
            opt("x", "extract").adds(&[FileWrite]),
            opt("", "pre-invoke").value().opaque(Cause::ExecOption),
            opt("", "post-invoke").value().opaque(Cause::ExecOption),
            opt("X", "vextract").adds(&[FileWrite]),
            opt("R", "raw-extract").adds(&[FileWrite]),
            opt("e", "control").adds(&[FileWrite]),
            opt("b", "build").adds(&[FileWrite]),
            opt("", "triggers-only").opaque(Cause::PackageScript),
            opt("", "clear-selections").adds(&[FileModify]),
            opt("", "remove-architecture").adds(&[FileModify]),
            opt("", "update-avail").adds(&[FileModify]),
            opt("", "merge-avail").adds(&[FileModify]),
            opt("", "clear-avail").adds(&[FileModify]),
            opt("l", "list").adds(&[FileRead]),
            opt("L", "listfiles").adds(&[FileRead]),
            opt("s", "status").adds(&[FileRead]),
            opt("S", "search").adds(&[FileRead]),
            opt("p", "print-avail").adds(&[FileRead]),
            opt("I", "info").adds(&[FileRead]),
            opt("c", "contents").adds(&[FileRead]),
            opt("C", "audit").adds(&[FileRead]),
            opt("V", "verify").adds(&[FileRead]),
            opt("", "get-selections").adds(&[FileRead]),
            opt("", "print-architecture").adds(&[FileRead]),
            opt("", "print-foreign-architectures").adds(&[FileRead]),
            opt("", "compare-versions").adds(&[FileRead]),
            opt("", "validate-pkgname").adds(&[FileRead]),
        ])
        .operands(Role::Text),
    command(&["dnf", "yum", "microdnf", "dnf5", "tdnf", "zypper", "rpm-ostree", "transactional-update"])
        .lenient()
        .switches("yqvCbn")
        .values("cdexR")
        .long_values(&["installroot", "releasever", "enablerepo", "disablerepo", "repo", "setopt", "exclude"])
        .subcommands(DNF),
    command(&["rpm", "rpmquery", "rpmkeys", "rpmdb"])
        .lenient()
        .options(&[
            opt("i", ""),
            opt("q", "query"),
            opt("V", "verify"),
            opt("K", "checksig"),
            opt("e", "erase").adds(&[Destructive]).opaque(Cause::PackageScript),
            opt("UF", "upgrade").adds(&[FileWrite]).opaque(Cause::PackageScript),
            opt("", "install").adds(&[FileWrite]).opaque(Cause::PackageScript),
            opt("", "import").adds(&[FileModify]),
            opt("", "rebuilddb").adds(&[FileModify]),
            opt("E", "eval").value().opaque(Cause::Interpreter),
            opt("", "pipe").value().opaque(Cause::ExecOption),
            opt("D", "define").value().opaque(Cause::ExecOption),
            opt("", "load").value().opaque(Cause::ExecOption),
        ])
        .hatch(rpm),
    command(&["pacman", "yay", "paru", "pamac", "pikaur", "trizen"]).lenient().hatch(pacman),
    command(&["apk"]).lenient().values("pX").subcommands(&[
        command(&["add", "update", "upgrade", "fetch"])
            .classes(&[Network])
            .opaque(Cause::PackageScript)
            .lenient(),
        command(&["del", "cache"]).classes(&[Destructive]).lenient(),
        command(&["fix", "index"]).classes(&[FileModify]).lenient(),
        command(&[
            "info", "list", "search", "policy", "stats", "dot", "audit", "verify", "version", "manifest",
        ])
        .closed()
        .classes(&[FileRead])
        .lenient(),
    ]),
    command(&["brew"]).lenient().subcommands(BREW).options(&[opt("v", "").info()]),
    command(&["snap", "snapd"]).lenient().subcommands(&[
        command(&["install", "try"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
        command(&["refresh", "download", "find", "login", "switch"]).classes(&[Network]).lenient(),
        command(&["remove", "forget"]).classes(&[Destructive]).lenient(),
        command(&["run", "start", "restart"]).opaque(Cause::PackageScript).lenient(),
        command(&[
            "list",
            "info",
            "version",
            "help",
            "changes",
            "tasks",
            "services",
            "connections",
            "interfaces",
            "logs",
            "known",
            "get",
            "model",
            "warnings",
            "saved",
        ])
        .lenient(),
        command(&[
            "set",
            "unset",
            "connect",
            "disconnect",
            "enable",
            "disable",
            "alias",
            "unalias",
            "revert",
            "ack",
            "stop",
            "save",
            "restore",
        ])
        .classes(&[FileModify])
        .lenient(),
    ]),
    command(&["flatpak"]).lenient().subcommands(&[
        command(&["install", "update", "remote-add", "remote-ls", "search", "remote-info"])
            .classes(&[Network])
            .lenient(),
        command(&["uninstall", "remove", "remote-delete"]).classes(&[Destructive]).lenient(),
        command(&["run", "enter", "build", "build-init"]).opaque(Cause::PackageScript).lenient(),
        command(&["list", "info", "history", "remotes", "ps", "documents", "permissions"])
            .classes(&[FileRead])
            .lenient(),
        command(&["config"]).lenient(),
        command(&["override", "repair", "make-current", "mask", "pin", "kill"])
            .classes(&[FileModify])
            .lenient(),
    ]),
    command(&[
        "pkg",
        "pkgin",
        "pkg_add",
        "pkg_delete",
        "pkg_info",
        "xbps-install",
        "xbps-remove",
        "xbps-query",
        "emerge",
        "equery",
        "choco",
        "winget",
        "softwareupdate",
        "fwupdmgr",
        "ubuntu-drivers",
        "do-release-upgrade",
    ])
    .lenient()
    .hatch(generic),
];

const APT: &[Row] = &[
    command(&[
        "install",
        "reinstall",
        "upgrade",
        "full-upgrade",
        "dist-upgrade",
        "safe-upgrade",
        "build-dep",
        "dselect-upgrade",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient(),
    command(&["update", "download", "source", "changelog", "fetch"]).classes(&[Network]).lenient(),
    command(&[
        "remove",
        "purge",
        "autoremove",
        "auto-remove",
        "autopurge",
        "clean",
        "autoclean",
        "auto-clean",
        "distclean",
        "forget-new",
    ])
    .classes(&[Destructive])
    .lenient(),
    command(&[
        "list",
        "show",
        "search",
        "policy",
        "depends",
        "rdepends",
        "check",
        "showsrc",
        "help",
        "moo",
        "indextargets",
        "why",
        "why-not",
        "history",
        "madison",
        "pkgnames",
        "versions",
        "showpkg",
    ])
    .classes(&[FileRead])
    .lenient(),
    command(&["edit-sources"]).opaque(Cause::Editor).lenient(),
    command(&["hold", "unhold", "markauto", "unmarkauto", "satisfy", "modernize-sources"])
        .classes(&[FileModify])
        .lenient(),
];

const DNF: &[Row] = &[
    command(&[
        "install",
        "in",
        "reinstall",
        "update",
        "up",
        "upgrade",
        "upgrade-minimal",
        "localinstall",
        "groupinstall",
        "group",
        "module",
        "distro-sync",
        "dup",
        "builddep",
        "swap",
        "downgrade",
        "patch",
        "system-upgrade",
        "copr",
        "offline",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient(),
    command(&[
        "makecache",
        "refresh",
        "ref",
        "check-update",
        "list-updates",
        "lu",
        "download",
        "search",
        "se",
        "repoquery",
        "provides",
        "whatprovides",
        "info",
        "if",
        "list",
        "ls",
        "updateinfo",
        "deplist",
        "changelog",
    ])
    .classes(&[Network])
    .lenient(),
    command(&["remove", "rm", "erase", "autoremove", "clean", "cc", "groupremove", "cleanup"])
        .classes(&[Destructive])
        .lenient(),
    command(&[
        "repolist",
        "lr",
        "repos",
        "repoinfo",
        "history",
        "help",
        "check",
        "verify",
        "status",
        "alias",
        "mark",
        "grouplist",
        "needs-restarting",
        "version",
        "ps",
    ])
    .lenient(),
    command(&[
        "config-manager",
        "addrepo",
        "ar",
        "removerepo",
        "rr",
        "modifyrepo",
        "mr",
        "versionlock",
        "addlock",
        "rebase",
        "rollback",
        "deploy",
        "kargs",
        "initramfs",
    ])
    .classes(&[FileModify])
    .lenient(),
    command(&["shell"]).opaque(Cause::ScriptFile).lenient(),
];

const BREW: &[Row] = &[
    command(&[
        "install",
        "upgrade",
        "update",
        "reinstall",
        "tap",
        "fetch",
        "bundle",
        "cask",
        "update-reset",
        "bump",
        "extract",
        "postinstall",
        "test",
        "audit",
        "livecheck",
        "gist-logs",
        "vulns",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient(),
    command(&["uninstall", "remove", "rm", "autoremove", "cleanup", "untap", "zap"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[Destructive])]),
    command(&["home", "homepage", "docs"]).lenient(),
    command(&[
        "list",
        "ls",
        "info",
        "abv",
        "deps",
        "uses",
        "leaves",
        "outdated",
        "config",
        "doctor",
        "dr",
        "commands",
        "help",
        "shellenv",
        "desc",
        "missing",
        "tap-info",
        "formulae",
        "casks",
        "log",
        "cat",
        "options",
        "--prefix",
        "--version",
    ])
    .classes(&[FileRead])
    .lenient(),
    command(&["search"]).classes(&[Network]).lenient(),
    command(&["services"]).opaque(Cause::Configuration).lenient(),
    command(&["link", "unlink", "pin", "unpin", "analytics", "migrate", "switch", "alias"])
        .classes(&[FileModify])
        .lenient(),
    command(&["edit", "create", "sh", "irb", "ruby", "prof", "developer"]).opaque(Cause::Editor).lenient(),
];

/// `apt-file update` fetches.
fn updates<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operand(0) == Some("update") {
        findings.add(Network, call.name.span());
    }
    if call.operand(0) == Some("gencaches") {
        findings.add(FileModify, call.name.span());
    }
}

fn marks<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let reads =
        call.operand(0).is_some_and(|verb| verb.starts_with("show") || matches!(verb, "dump" | "shell"));
    let lists = call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--list" | "--truename")));
    if reads || lists {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
        findings.add(FileRead, call.name.span());
    }
}

/// `rpm -i` installs, `rpm -qi` asks.
fn rpm<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let asks = call.has("query") || call.has("verify") || call.has("checksig");
    if !asks && call.has("i") {
        findings.unknown_path(FileWrite, call.name.span());
        findings.opaque(Cause::PackageScript, call.name.span());
    }
    if call.operands.iter().any(|word| word.known_prefix().contains("://")) {
        findings.add(Network, call.name.span());
    }
    if asks {
        findings.add(FileRead, call.name.span());
    }
}

/// pacman's mode letter.
fn pacman<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let Some(mode) = call.words.first().map(|arg| arg.value.known_prefix()) else {
        if name != "pacman" {
            findings.add(Network, span);
            findings.opaque(Cause::PackageScript, span);
        }
        return;
    };
    let asks = mode.contains(['i', 's', 'l', 'g', 'p']);
    if mode.starts_with("-S") || mode == "--sync" || mode == "install" || mode == "upgrade" {
        if mode.contains('c') {
            findings.add(Destructive, span);
        } else {
            findings.add(Network, span);
        }
        if !asks {
            findings.opaque(Cause::PackageScript, span);
        }
    } else if mode.starts_with("-R") || mode == "--remove" || mode == "remove" {
        findings.add(Destructive, span);
        findings.opaque(Cause::PackageScript, span);
    } else if mode.starts_with("-U") || mode == "--upgrade" {
        findings.unknown_path(FileWrite, span);
        findings.opaque(Cause::PackageScript, span);
    } else if mode.starts_with("-D") {
        findings.add(FileModify, span);
    } else if mode.starts_with("-F") && mode.contains('y') {
        findings.add(Network, span);
    } else if mode.starts_with("-Q") || mode.starts_with("-T") || mode.starts_with("-F") || mode == "--query"
    {
        findings.add(FileRead, span);
    } else if !mode.starts_with("--") && !mode.starts_with("-V") {
        findings.opaque(Cause::UnknownSubcommand, span);
    }
}

/// Others: the verb, or the program's own name, says it.
fn generic<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let verb = call.operand(0).unwrap_or("");
    let has = |flag: &str| call.words.iter().any(|arg| arg.value.known_prefix().starts_with(flag));
    if matches!(name, "pkg_delete" | "xbps-remove")
        || matches!(verb, "remove" | "uninstall" | "delete" | "rm" | "del" | "clean" | "autoremove" | "purge")
        || (name == "emerge" && (has("-C") || has("--unmerge") || has("--depclean") || has("-c")))
    {
        findings.add(Destructive, span);
    } else if matches!(name, "pkg_info" | "xbps-query" | "equery")
        || matches!(
            verb,
            "list"
                | "info"
                | "show"
                | "query"
                | "version"
                | "help"
                | "installed"
                | "which"
                | "contents"
                | "stats"
                | "leaf"
        )
    {
        findings.add(FileRead, span);
    } else if matches!(verb, "search") {
        findings.add(Network, span);
    } else {
        findings.add(Network, span);
        findings.opaque(Cause::PackageScript, span);
    }
}
