//! The running system: processes, services, users, settings of the kernel and the network.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileSearch, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    // Looks at processes, machine and user.
    command(&[
        "ps",
        "pgrep",
        "pidof",
        "pstree",
        "pwdx",
        "uptime",
        "free",
        "vmstat",
        "iostat",
        "mpstat",
        "lscpu",
        "lsusb",
        "lsmem",
        "lsns",
        "lsipc",
        "lslocks",
        "lslogins",
        "lsmod",
        "modinfo",
        "lsb_release",
        "nproc",
        "arch",
        "uname",
        "id",
        "groups",
        "whoami",
        "logname",
        "who",
        "w",
        "users",
        "last",
        "lastb",
        "lastlog",
        "tty",
        "getconf",
        "locale",
        "printenv",
        "cal",
        "ncal",
        "ipcs",
        "runlevel",
        "hostid",
        "sw_vers",
        "vm_stat",
        "getenforce",
        "sestatus",
        "systemd-detect-virt",
    ])
    .pure()
    .lenient(),
    // A host is asked over the network; `-J` hands an option to the Java machine, which may load code.
    command(&["jps"])
        .pure()
        .lenient()
        .options(&[opt("J", "").attached().opaque(Cause::ExecOption)])
        .operands(Role::Host),
    // `-N FILE` and `-n` write a configuration.
    command(&["pmap"])
        .pure()
        .lenient()
        .values("ACc")
        .options(&[opt("N", "create-rc-to").role(Role::Write), opt("n", "create-rc").adds(&[FileWrite])]),
    // `-q` asks a name server and keeps the answer.
    command(&["lspci"]).pure().lenient().values("sdipAOH").options(&[opt("qQ", "").adds(&[Network])]),
    command(&["top", "htop", "btop", "btm", "nvtop"]).pure().lenient(),
    // Their options write a report, load a program or set what they show.
    command(&[
        "sar",
        "pidstat",
        "dmidecode",
        "lshw",
        "nvidia-smi",
        "sensors",
        "inxi",
        "neofetch",
        "fastfetch",
        "xrandr",
        "numastat",
        "iotop",
        "dstat",
        "system_profiler",
    ])
    .lenient()
    .options(&[
        opt("", "dump-bin").role(Role::Write),
        opt("", "output").role(Role::Write),
        opt("", "config").value().opaque(Cause::Configuration),
    ])
    .hatch(reporter),
    command(&[
        "hostname",
        "dnsdomainname",
        "domainname",
        "hostnamectl",
        "timedatectl",
        "localectl",
        "loginctl",
    ])
    .pure()
    .lenient()
    .hatch(names),
    command(&["date", "gdate"])
        .pure()
        .switches("uR")
        .longs(&["utc", "universal", "rfc-email", "debug", "resolution"])
        .values("d")
        .long_values(&["date", "rfc-3339"])
        .options(&[
            opt("f", "file").role(Role::Read),
            opt("r", "reference").value(),
            opt("s", "set").value().unbounded(),
            opt("I", "iso-8601").attached(),
            // BSD: `-j -f FORMAT` and `-v` only compute.
            opt("j", ""),
            opt("v", "").value(),
        ])
        .numeric(),
    command(&["hwclock", "rtcwake", "adjtimex", "zdump", "tzselect"]).lenient(),
    command(&["dmesg"]).closed().classes(&[FileRead]).lenient().switches("xHTwLk").options(&[
        opt("CcD", "clear").adds(&[Destructive]),
        opt("F", "file").role(Role::Read),
        opt("n", "console-level").value().unbounded(),
    ]),
    command(&["pkill", "killall", "killall5", "renice", "taskkill"]).lenient(),
    command(&["systemctl"])
        .lenient()
        .switches("aflqi0")
        .longs(&[
            "user",
            "system",
            "global",
            "all",
            "full",
            "no-pager",
            "no-legend",
            "quiet",
            "now",
            "no-block",
            "no-ask-password",
            "force",
            "runtime",
            "failed",
            "recursive",
            "plain",
            "wait",
            "dry-run",
            "no-reload",
            "no-wall",
            "reverse",
            "after",
            "before",
            "show-types",
            "with-dependencies",
        ])
        .values("tpPno")
        .long_values(&[
            "type",
            "property",
            "lines",
            "output",
            "state",
            "job-mode",
            "signal",
            "kill-whom",
            "root",
            "preset-mode",
            "message",
            "check-inhibitors",
            "timestamp",
            "what",
            "when",
            "boot-loader-entry",
        ])
        .options(&[opt("H", "host").role(Role::Host), opt("M", "machine").value()])
        .subcommands(SYSTEMCTL)
        .bare(&[]),
    command(&[
        "service",
        "rc-service",
        "rc-update",
        "sv",
        "supervisorctl",
        "initctl",
        "launchctl",
        "chkconfig",
        "update-rc.d",
        "monit",
        "init",
    ])
    .lenient()
    .hatch(service),
    command(&["shutdown", "reboot", "poweroff", "halt"]).lenient(),
    command(&["journalctl"]).closed().classes(&[FileRead]).lenient().values("unopStgc").options(&[
        opt("", "vacuum-size").value().adds(&[Destructive]),
        opt("", "vacuum-time").value().adds(&[Destructive]),
        opt("", "vacuum-files").value().adds(&[Destructive]),
        opt("", "rotate").unbounded(),
        opt("", "flush").unbounded(),
        opt("", "setup-keys").adds(&[FileWrite]),
        opt("", "update-catalog").adds(&[FileWrite]),
        opt("", "cursor-file").role(Role::Write),
        opt("i", "file").role(Role::Read),
        opt("D", "directory").role(Role::Read),
        opt("M", "machine").value(),
    ]),
    command(&[
        "systemd-analyze",
        "systemd-cgls",
        "systemd-cgtop",
        "systemd-path",
        "systemd-escape",
        "systemd-delta",
        "networkctl",
        "busctl",
        "coredumpctl",
        "bootctl",
        "udevadm",
    ])
    .lenient()
    .hatch(control),
    command(&["systemd-tmpfiles"]).classes(&[FileWrite]).lenient().options(&[
        opt("", "remove").adds(&[Destructive]),
        opt("", "clean").adds(&[Destructive]),
        opt("", "purge").adds(&[Destructive]),
        opt("", "cat-config").drops(&[FileWrite]),
    ]),
    command(&[
        "systemd-cat",
        "systemd-inhibit",
        "systemd-notify",
        "systemd-ask-password",
        "systemd-creds",
        "systemd-socket-activate",
    ])
    .wrapper()
    .lenient()
    .operands(Role::Command),
    command(&["crontab"])
        .opaque(Cause::Scheduled)
        .bare(&[])
        .values("uT")
        .options(&[
            opt("l", "").adds(&[FileRead]).transparent(),
            opt("r", "").adds(&[Destructive]).transparent(),
            opt("i", ""),
            opt("e", "").opaque(Cause::Editor),
            opt("n", ""),
        ])
        .hatch(crontab),
    command(&["atq"]).lenient(),
    command(&["atrm"]).classes(&[Destructive]).lenient(),
    command(&["cron", "crond", "anacron", "fcron", "incrontab"])
        .opaque(Cause::Scheduled)
        .lenient()
        .hatch(run_parts),
    // Users and groups.
    command(&[
        "useradd",
        "usermod",
        "groupadd",
        "groupmod",
        "adduser",
        "addgroup",
        "passwd",
        "chpasswd",
        "gpasswd",
        "chage",
        "chsh",
        "chfn",
        "pwck",
        "grpck",
        "dscl",
        "smbpasswd",
        "htpasswd",
        "mkpasswd",
    ])
    .classes(&[FileModify])
    .lenient()
    .hatch(password),
    command(&["userdel", "groupdel", "deluser", "delgroup"]).classes(&[Destructive]).lenient(),
];

const SYSTEMCTL: &[Row] = &[
    command(&[
        "status",
        "show",
        "cat",
        "list-*",
        "is-*",
        "get-default",
        "help",
        "show-environment",
        "whoami",
        "log-level",
        "service-log-level",
    ])
    .lenient(),
    command(&[
        "start",
        "stop",
        "restart",
        "reload",
        "try-restart",
        "reload-or-restart",
        "try-reload-or-restart",
        "kill",
        "reset-failed",
        "daemon-reload",
        "daemon-reexec",
        "isolate",
        "freeze",
        "thaw",
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "reboot",
        "poweroff",
        "halt",
        "rescue",
        "emergency",
        "kexec",
        "soft-reboot",
        "switch-root",
        "exit",
        "default",
        "cancel",
        "import-environment",
        "set-environment",
        "unset-environment",
        "bind",
        "mount-image",
    ])
    .lenient(),
    command(&[
        "enable",
        "disable",
        "reenable",
        "mask",
        "unmask",
        "preset",
        "preset-all",
        "link",
        "revert",
        "set-default",
        "set-property",
        "add-wants",
        "add-requires",
    ])
    .classes(&[FileModify])
    .lenient()
    .hatch(unit_paths),
    command(&["edit"]).opaque(Cause::Editor).lenient(),
    command(&["clean"]).classes(&[Destructive]).lenient(),
];

/// `sar -o FILE` writes, `pidstat -e CMD` runs.
fn reporter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    for (index, arg) in call.words.iter().enumerate() {
        match (name, arg.value.literal()) {
            ("sar", Some("-o")) => findings.unknown_path(FileWrite, arg.span),
            ("pidstat", Some("-e")) => findings.run(call.words.get(index + 1..).unwrap_or(&[])),
            _ => {}
        }
    }
}

/// `hostname NAME`, `timedatectl set-time`: they change what the look would show.
fn names<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let changes = match (name, call.operand(0)) {
        ("hostname" | "domainname", Some(_)) => true,
        (_, Some(verb)) => {
            verb.starts_with("set-")
                || verb.starts_with("terminate-")
                || verb.starts_with("kill-")
                || matches!(verb, "hostname" | "lock-session" | "enable-linger")
        }
        (_, None) => !call.operands.is_empty(),
    };
    let host = call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-H" | "--host")));
    // What asks the interfaces or a resolver needs sockets: narrowed to what a pure program needs it would say something else.
    let asks = |arg: &str| match arg.strip_prefix("--") {
        Some(long) => {
            ["alias", "all-", "domain", "fqdn", "ip-", "long"].iter().any(|one| long.starts_with(one))
        }
        None => arg.strip_prefix('-').is_some_and(|short| short.contains(['a', 'A', 'd', 'f', 'i', 'I'])),
    };
    if name == "dnsdomainname"
        || name == "hostname" && call.words.iter().filter_map(|arg| arg.value.literal()).any(asks)
    {
        findings.unbounded = true;
        findings.add(FileRead, call.name.span());
    }
    if host && name.ends_with("ctl") {
        findings.add(Network, call.name.span());
    }
    if changes {
        findings.add(FileModify, call.name.span());
    }
}

/// Services start what their files say; a look does not.
fn service<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    // `service ../../bin/sh` leaves the directory of services.
    if let Some(word) = call.operands.iter().find(|word| word.known_prefix().contains('/')) {
        findings.opaque(Cause::ExecOption, word.span());
    }
    if call.operands.iter().any(|word| {
        matches!(
            word.text(),
            Some("enable" | "disable" | "on" | "off" | "defaults" | "add" | "load" | "bootstrap")
        )
    }) {
        findings.add(FileModify, call.name.span());
    }
    if call.operands.iter().any(|word| matches!(word.text(), Some("remove" | "del" | "unload" | "bootout"))) {
        findings.add(FileModify, call.name.span());
    }
}

/// A unit by its path says what will be started.
fn unit_paths<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(word) = call.operands.iter().find(|word| word.known_prefix().contains('/')) {
        findings.opaque(Cause::ScriptFile, word.span());
    }
}

fn control<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    match call.operand(0) {
        Some(
            "install" | "update" | "remove" | "hwdb" | "create" | "attach" | "detach" | "set-property"
            | "reload",
        ) => findings.add(FileModify, span),
        Some("debug" | "gdb" | "trigger" | "test-builtin") => findings.opaque(Cause::ExecOption, span),
        Some("dump")
            if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-o" | "--output"))) =>
        {
            findings.unknown_path(FileWrite, span);
        }
        _ => {}
    }
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-H" | "--host"))) {
        findings.add(Network, span);
    }
}

/// `crontab` alone reads a table from its standard input where that is not a terminal.
fn crontab<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(word) = call.operands.first() {
        findings.role(Role::Read, *word);
    }
}

/// `run-parts --test DIR` only lists.
fn run_parts<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--test" | "--list"))) {
        findings.add(FileSearch, call.name.span());
    }
}

/// `mkpasswd`, `htpasswd -n` and `passwd -S` only print.
fn password<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let has = |flag: &str| call.words.iter().any(|arg| arg.value.known_prefix().starts_with(flag));
    let only_prints = name == "mkpasswd"
        || (name == "htpasswd" && (has("-n") || has("-bn") || has("-nb")))
        || (name == "passwd" && (has("-S") || has("--status")))
        || (name == "chage" && has("-l"));
    if only_prints {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
    }
    if name == "dscl" && has("-delete") {
        findings.add(Destructive, call.name.span());
    }
}
