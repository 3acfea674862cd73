//! The machine around: network settings, kernel, screen, starters of other programs.

use crate::classify::findings::Findings;
use crate::classify::hatch::launcher;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileSearch, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::{Call, Word};
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    // The kernel.
    command(&["sysctl"])
        .closed()
        .lenient()
        .options(&[
            opt("w", "write").adds(&[FileModify]),
            opt("p", "load").attached().adds(&[FileModify]),
            opt("", "system").adds(&[FileModify]),
            opt("f", "").adds(&[FileModify]),
        ])
        .hatch(sysctl),
    command(&[
        "modprobe",
        "insmod",
        "kmod",
        "depmod",
        "dkms",
        "kexec",
        "update-initramfs",
        "dracut",
        "mkinitcpio",
        "update-grub",
        "grub-install",
        "grub-mkconfig",
        "efibootmgr",
        "bpftool",
        "perf",
        "auditctl",
        "ausearch",
        "setenforce",
        "setsebool",
        "semanage",
        "semodule",
        "aa-enforce",
        "aa-complain",
        "apparmor_parser",
    ])
    .opaque(Cause::ExecOption)
    .posix()
    .lenient()
    .hatch(kernel),
    command(&["rmmod"]).lenient(),
    command(&[
        "ipcrm",
        "ipcmk",
        "swapon",
        "swapoff",
        "zramctl",
        "cpupower",
        "ethtool",
        "rfkill",
        "alternatives",
        "update-alternatives",
        "locale-gen",
        "setxkbmap",
        "gsettings",
        "dconf",
        "pactl",
        "amixer",
        "wpctl",
        "playerctl",
        "bluetoothctl",
        "lpstat",
        "lpr",
        "lp",
    ])
    .lenient()
    .hatch(screen),
    command(&["cgexec"]).wrapper().switches("").values("g").longs(&["sticky"]).operands(Role::Command),
    // The network's settings; looking at them talks to nobody.
    command(&["ip"])
        .single()
        .lenient()
        .options(&[
            // Cut short, `-b` is `-batch`, and `-br` is `-brief`.
            opt("", "batch").value().opaque(Cause::ScriptFile),
            opt("", "batc").value().opaque(Cause::ScriptFile),
            opt("", "bat").value().opaque(Cause::ScriptFile),
            opt("", "ba").value().opaque(Cause::ScriptFile),
            opt("", "b").value().opaque(Cause::ScriptFile),
            opt("", "n").value(),
            opt("", "netns").value(),
            opt("", "f").value(),
            opt("", "family").value(),
            opt("", "l").value(),
            opt("", "loops").value(),
        ])
        .hatch(ip),
    command(&["ss"])
        .lenient()
        .values("fA")
        .long_values(&["family", "query"])
        .options(&[opt("D", "diag").role(Role::Write), opt("F", "filter").role(Role::Read)])
        .hatch(interfaces),
    command(&[
        "netstat",
        "route",
        "arp",
        "ifconfig",
        "iwconfig",
        "iwlist",
        "iw",
        "ipcalc",
        "brctl",
        "bridge",
        "tc",
        "ipset",
        "nmcli",
        "nmtui",
        "wpa_cli",
        "dhclient",
        "dhcpcd",
        "ifup",
        "ifdown",
        "netplan",
        "resolvconf",
        "iwctl",
    ])
    .lenient()
    .hatch(interfaces),
    command(&[
        "iptables",
        "ip6tables",
        "iptables-save",
        "iptables-restore",
        "ip6tables-save",
        "ip6tables-restore",
        "nft",
        "ufw",
        "firewall-cmd",
        "fail2ban-client",
    ])
    .lenient()
    .options(&[opt("", "modprobe").value().opaque(Cause::ExecOption), opt("f", "").value()]),
    command(&["tput", "clear"]).pure().lenient(),
    command(&[
        "logger",
        "wall",
        "write",
        "mesg",
        "notify-send",
        "zenity",
        "dialog",
        "whiptail",
        "say",
        "espeak",
        "espeak-ng",
        "beep",
        "stty",
        "reset",
        "setterm",
        "tset",
        "xclip",
        "xsel",
        "pbcopy",
        "pbpaste",
        "wl-copy",
        "wl-paste",
        "xdotool",
        "wmctrl",
        "ydotool",
        "scrot",
        "maim",
        "flameshot",
        "grim",
        "screencapture",
        "rofi",
        "dmenu",
    ])
    .lenient()
    .options(&[opt("f", "file").value()])
    .hatch(screen),
    command(&[
        "openvt",
        "envdir",
        "setlock",
        "Xvfb",
        "startx",
        "xinit",
        "inotifywait",
        "inotifywatch",
        "fswatch",
        "watchexec",
        "watchman",
        "pv",
        "ts",
        "task-spooler",
        "op",
        "bw",
        "pass",
        "gopass",
        "lpass",
        "secret-tool",
        "credstash",
    ])
    .posix()
    .lenient()
    .hatch(starter),
];

/// `sysctl name=value` writes also without `-w`.
fn sysctl<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let loads = ["w", "p", "system", "f"].iter().any(|option| call.has(option));
    let sets = call.operands.iter().any(|word| word.known_prefix().contains('=') || word.is_dynamic());
    if !loads && !sets && !call.words.is_empty() {
        findings.add(FileRead, call.name.span());
    }
    for word in &call.operands {
        let known = word.known_prefix();
        if known.contains('=') || word.is_dynamic() {
            findings.add(FileModify, word.span());
        }
        // `kernel.core_pattern=|PROGRAM`, `kernel.modprobe=PROGRAM`: the kernel starts it.
        if known.contains('|')
            || known.starts_with("kernel.modprobe")
            || known.starts_with("kernel.core_pattern")
        {
            findings.opaque(Cause::ExecOption, word.span());
        }
    }
}

/// Modules are code of the kernel; looks are not.
fn kernel<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "grub-mkconfig" | "update-initramfs" | "dracut" | "mkinitcpio" | "depmod" | "grub-install"
        | "update-grub" => findings.unknown_path(FileWrite, call.name.span()),
        "setenforce" | "setsebool" | "semanage" | "auditctl" => findings.add(FileModify, call.name.span()),
        _ => {}
    }
    if name == "perf" {
        launcher::perf(call, findings);
        if matches!(call.operand(0), Some("record")) {
            findings.unknown_path(FileWrite, call.name.span());
        }
    }
}

/// `ip netns exec NS CMD` runs CMD; other verbs than `show`, `list`, `get` change the machine.
fn ip<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let texts: Vec<&str> = call.operands.iter().map(|word| word.text().unwrap_or("")).collect();
    let is_netns = texts
        .first()
        .is_some_and(|text| !text.is_empty() && "netns".starts_with(text) && text.starts_with("netn"));
    let is_vrf = texts.first().is_some_and(|text| *text == "vrf");
    let is_exec = texts.get(1).is_some_and(|text| !text.is_empty() && "exec".starts_with(text));
    if (is_netns || is_vrf) && is_exec {
        let name = call.words.iter().position(|arg| arg.value.literal().is_some_and(|text| text == texts[1]));
        match name.and_then(|at| call.words.get(at + 2..)).filter(|rest| !rest.is_empty()) {
            Some(rest) => findings.run(rest),
            None => findings.opaque(Cause::DynamicCode, call.name.span()),
        }
        return;
    }
    let changes = |text: &&str| {
        matches!(
            *text,
            "add"
                | "del"
                | "delete"
                | "set"
                | "change"
                | "replace"
                | "append"
                | "flush"
                | "up"
                | "down"
                | "attach"
                | "prepend"
        )
    };
    if texts.iter().any(changes) {
        findings.unbounded = true;
    } else if texts.get(1).is_none_or(|verb| asks(verb)) {
        findings.add(FileRead, call.name.span());
    }
}

/// `ip addr`, `ip a s`, `ip route get …`: verbs may be cut short.
fn asks(verb: &str) -> bool {
    !verb.is_empty() && ["show", "list", "lst", "get"].iter().any(|full| full.starts_with(verb))
}

/// `nmcli` scripts, `dhclient -sf SCRIPT`: what they run is told in files.
fn interfaces<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(name, "dhclient" | "dhcpcd" | "ifup" | "ifdown" | "netplan") {
        findings.opaque(Cause::Configuration, call.name.span());
    }
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-sf" | "-batch" | "-b"))) {
        findings.opaque(Cause::ScriptFile, call.name.span());
    }
    let flag = |letters: &[char], longs: &[&str]| {
        call.words.iter().any(|arg| {
            let known = arg.value.known_prefix();
            let is_short = known.starts_with('-') && !known.starts_with("--");
            arg.value.literal().is_none()
                || is_short && known.contains(letters)
                || known.starts_with("--")
                    && longs.iter().any(|long| long.starts_with(known.split('=').next().unwrap_or(known)))
        })
    };
    // Sockets, routes and interfaces as the kernel shows them.
    let looks = match name {
        "ss" => !flag(&['K', 'D'], &["--kill", "--diag"]),
        "netstat" | "ipcalc" => true,
        "route" => call.operands.is_empty(),
        "arp" => !flag(&['s', 'd', 'f'], &["--set", "--delete", "--file"]),
        "ifconfig" => call.operands.len() <= 1,
        _ => false,
    };
    if looks {
        findings.add(FileRead, call.name.span());
    }
}

/// Programs that read or write a file on the side.
fn screen<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    match name {
        "scrot" | "maim" | "flameshot" | "grim" | "screencapture" => {
            findings.unknown_path(FileWrite, call.name.span());
            let has_exec = call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-e" | "--exec")));
            if name == "scrot" && has_exec {
                findings.opaque(Cause::ExecOption, call.name.span());
            }
        }
        "lp" | "lpr" => {
            for word in &call.operands {
                findings.role(Role::Read, *word);
            }
        }
        "update-alternatives" | "alternatives" => {
            let changes = call.words.iter().any(|arg| {
                matches!(
                    arg.value.literal(),
                    Some("--install" | "--set" | "--remove" | "--remove-all" | "--config" | "--auto")
                )
            });
            if changes {
                findings.add(FileModify, call.name.span());
            }
        }
        "rofi" | "xdotool" | "ydotool" => findings.opaque(Cause::ExecOption, call.name.span()),
        "espeak" | "espeak-ng" | "say"
            if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("-w" | "-o"))) =>
        {
            findings.unknown_path(FileWrite, call.name.span());
        }
        _ => {}
    }
    if let Some(file) = call.value("f")
        && matches!(name, "logger" | "espeak" | "espeak-ng" | "say")
    {
        findings.role(Role::Read, file);
    }
}

/// Programs that start others, or hand secrets to them; pure meters are told apart.
fn starter<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let span = call.name.span();
    match name {
        "pv" | "progress" | "ts" => {
            for word in call.operands.iter().filter(|_| name == "pv") {
                findings.role(Role::Read, *word);
            }
        }
        "inotifywait" | "inotifywatch" | "fswatch" => findings.add(FileSearch, span),
        "op" | "bw" | "lpass" | "security" | "secret-tool" | "pass" | "gopass" | "keepassxc-cli"
        | "credstash" => {
            findings.add(FileRead, span);
            if matches!(name, "op" | "bw" | "lpass" | "credstash") {
                findings.add(Network, span);
            }
            match call.operands.iter().take(3).find_map(|word| {
                word.text().filter(|text| {
                    matches!(
                        *text,
                        "delete"
                            | "rm"
                            | "remove"
                            | "run"
                            | "insert"
                            | "generate"
                            | "edit"
                            | "git"
                            | "create"
                            | "set"
                            | "add"
                    )
                })
            }) {
                Some("delete" | "rm" | "remove") => findings.add(Destructive, span),
                Some("run" | "git" | "edit") => findings.opaque(Cause::ExecOption, span),
                Some(_) => findings.add(FileModify, span),
                None => {}
            }
        }
        "xvfb-run" | "entr" | "watchexec" | "envdir" | "setlock" | "daemonize" => {
            // The command stands behind options whose arity is not told here.
            findings.opaque(Cause::ExecOption, span);
            let skip = usize::from(matches!(name, "envdir" | "setlock"));
            if let Some(rest) = call.words.get(call.first_operand + skip..).filter(|rest| !rest.is_empty()) {
                findings.run(rest);
            }
        }
        _ => findings.opaque(Cause::ExecOption, span),
    }
    let dashes = call.words.iter().position(|arg| arg.value.literal() == Some("--"));
    if findings.inner.is_empty()
        && let Some(rest) = dashes.and_then(|at| call.words.get(at + 1..)).filter(|rest| !rest.is_empty())
    {
        findings.run(rest);
    }
    let expects =
        call.words.windows(2).filter(|pair| name == "expect" && pair[0].value.literal() == Some("-c"));
    for pair in expects {
        if let Some(text) = pair[1].value.literal().and_then(|text| text.trim_start().strip_prefix("spawn "))
        {
            findings.shell_text(text.to_owned(), Word::whole(&pair[1]).span());
        }
    }
}
