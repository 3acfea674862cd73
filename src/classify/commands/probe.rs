//! Looks at hosts and networks: names, reachability, ports, packets.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "grpcurl",
        "websocat",
        "wscat",
        "hurl",
        "ab",
        "hey",
        "siege",
        "vegeta",
        "oha",
        "iperf",
        "iperf3",
        "speedtest",
        "speedtest-cli",
        "tcping",
        "dog",
    ])
    .classes(&[Network])
    .lenient()
    .options(&[opt("o", "output").role(Role::Write)])
    .hatch(exec_address),
    command(&["wrk", "wrk2", "k6", "locust", "artillery", "jmeter"])
        .classes(&[Network])
        .opaque(Cause::ScriptFile)
        .lenient(),
    // `-c` takes a command in the traditional netcat and ncat, nothing in OpenBSD's: it counts as a command.
    command(&["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"])
        .classes(&[Network])
        .switches("46bCDdFhklNnrStUuvz")
        .longs(&[
            "ssl",
            "udp",
            "listen",
            "keep-open",
            "verbose",
            "nodns",
            "no-shutdown",
            "send-only",
            "recv-only",
            "sctp",
            "unixsock",
            "broker",
            "chat",
            "telnet",
            "crlf",
            "append-output",
            "ssl-verify",
        ])
        .values("gGIiMmOPpqsTVWwXxb")
        .long_values(&[
            "source",
            "source-port",
            "max-conns",
            "delay",
            "wait",
            "idle-timeout",
            "proxy",
            "proxy-type",
            "proxy-auth",
            "proxy-dns",
            "allow",
            "deny",
            "ssl-cert",
            "ssl-key",
            "ssl-trustfile",
            "ssl-ciphers",
            "ssl-servername",
            "ssl-alpn",
        ])
        .options(&[
            opt("c", "sh-exec").role(Role::Shell).opaque(Cause::ExecOption),
            opt("e", "exec").value().opaque(Cause::ExecOption),
            opt("", "lua-exec").value().opaque(Cause::ExecOption),
            opt("o", "output").role(Role::Write),
            opt("x", "hex-dump").role(Role::Write),
        ])
        .first(&[Role::Host]),
    command(&["socat", "socat1"]).classes(&[Network]).lenient().values("btTL").hatch(socat),
    command(&["telnet", "tn3270", "rlogin", "cu", "minicom"])
        .classes(&[Network])
        .lenient()
        .options(&[opt("S", "script").value().opaque(Cause::ScriptFile)])
        .first(&[Role::Host]),
    // Queries: `dig -f FILE` reads names from a file.
    // Accounts and services are files here; names of hosts may be asked of a server.
    command(&["getent"]).closed().lenient().values("s").long_values(&["service"]).hatch(database),
    command(&["dig", "host", "nslookup", "kdig", "delv", "whois"])
        .closed()
        .classes(&[Network])
        .lenient()
        .options(&[opt("f", "").role(Role::Read), opt("k", "").role(Role::Read)]),
    command(&[
        "ping",
        "ping6",
        "ping4",
        "fping",
        "arping",
        "hping3",
        "nping",
        "traceroute",
        "traceroute6",
        "tracepath",
        "mtr",
        "tcptraceroute",
    ])
    .closed()
    .classes(&[Network])
    .lenient(),
    command(&["nmap"]).classes(&[Network]).raw().hatch(nmap),
    command(&["masscan", "zmap", "nikto", "sqlmap", "hydra", "gobuster", "ffuf", "wpscan", "sslscan"])
        .classes(&[Network])
        .lenient()
        .options(&[
            opt("o", "output").role(Role::Write),
            opt("", "eval").value().opaque(Cause::Interpreter),
            opt("", "script").value().opaque(Cause::ExecOption),
            opt("c", "conf").value(),
        ]),
    command(&["tcpdump"])
        .classes(&[Network])
        .switches("AbdDefhHIJKlLnNOpqStuUvxX#")
        .longs(&[
            "list-interfaces",
            "print",
            "immediate-mode",
            "no-promiscuous-mode",
            "number",
            "packet-buffered",
            "monitor-mode",
        ])
        .values("BcCEGiMQsTWyZj@")
        .long_values(&[
            "buffer-size",
            "count",
            "interface",
            "direction",
            "snapshot-length",
            "linktype",
            "relinquish-privileges",
            "time-stamp-type",
            "time-stamp-precision",
        ])
        .options(&[
            opt("w", "").role(Role::Write),
            opt("r", "").role(Role::Read),
            opt("FV", "").role(Role::Read),
            opt("z", "postrotate-command").value().opaque(Cause::ExecOption),
        ]),
    command(&["tshark", "dumpcap", "wireshark", "ngrep", "editcap", "mergecap", "capinfos"])
        .classes(&[Network])
        .lenient()
        .options(&[
            opt("w", "").role(Role::Write),
            opt("O", "").value(),
            opt("r", "").role(Role::Read),
            opt("I", "").value(),
            opt("X", "").value().opaque(Cause::ExecOption),
        ]),
    command(&[
        "ssh-keyscan",
        "ntpdate",
        "sntp",
        "chronyc",
        "ntpq",
        "snmpwalk",
        "snmpget",
        "snmpset",
        "ldapsearch",
        "ldapwhoami",
        "avahi-browse",
        "avahi-resolve",
        "showmount",
        "rpcinfo",
        "arp-scan",
        "wakeonlan",
    ])
    .classes(&[Network])
    .lenient(),
    command(&["ldapadd", "ldapmodify", "ldappasswd"]).classes(&[Network]).lenient(),
    command(&["ldapdelete"]).classes(&[Network, Destructive]).lenient(),
];

/// Addresses that start a program instead of a connection.
fn exec_address<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        let known = word.known_prefix();
        if ["exec:", "sh-c:", "cmd:"].iter().any(|kind| known.starts_with(kind)) {
            findings.opaque(Cause::ExecOption, word.span());
        }
    }
}

/// socat's addresses: programs, files, connections.
fn socat<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for word in &call.operands {
        let known = word.known_prefix();
        // Both sides of `!!` are addresses.
        for (index, address) in known.split("!!").enumerate() {
            let kind = address.split([':', ',']).next().unwrap_or("").to_ascii_lowercase();
            match kind.as_str() {
                "exec" | "system" | "shell" => findings.opaque(Cause::ExecOption, word.span()),
                "open" | "file" | "create" | "creat" | "gopen" | "pipe" => {
                    findings.add(FileRead, word.span());
                    findings.unknown_path(FileWrite, word.span());
                }
                _ => {
                    let rest = address.split_once(':').map_or("", |(_, rest)| rest);
                    if index == 0 && kind.contains("connect")
                        || matches!(kind.as_str(), "tcp" | "tcp4" | "tcp6" | "udp" | "ssl" | "openssl")
                    {
                        findings.host_text(rest.split(',').next().unwrap_or(""), word.span());
                    }
                }
            }
        }
        if word.is_dynamic() {
            findings.opaque(Cause::DynamicCode, word.span());
        }
    }
}

/// nmap's options are words of their own kind: `-oN FILE`, `-iL FILE`, `--script NAME`.
fn nmap<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let mut words = call.operands.iter();
    while let Some(word) = words.next() {
        let known = word.known_prefix();
        match known {
            "-oN" | "-oX" | "-oG" | "-oS" | "-oA" | "-oM" => match words.next() {
                Some(file) => findings.role(Role::Write, *file),
                None => findings.unknown_path(FileWrite, word.span()),
            },
            "-iL" | "--excludefile" | "--resume" => {
                if let Some(file) = words.next() {
                    findings.role(Role::Read, *file);
                }
            }
            "-p" | "-e" | "-S" | "-g" | "-D" | "-iR" | "--exclude" | "--top-ports" | "--max-retries"
            | "--host-timeout" | "--min-rate" | "--max-rate" | "--scan-delay" | "--dns-servers"
            | "--data-length" | "--ttl" | "--proxies" => {
                words.next();
            }
            // Scripts are Lua programs; those of nmap itself are as good as unknown.
            "-sC" | "-A" | "--interactive" => findings.opaque(Cause::ScriptFile, word.span()),
            _ if known.starts_with("--script")
                || known.starts_with("--datadir")
                || known.starts_with("--servicedb") =>
            {
                findings.opaque(Cause::ScriptFile, word.span());
            }
            _ if known.starts_with("-o") && known.len() > 3 => findings.unknown_path(FileWrite, word.span()),
            _ if known.starts_with('-') => {}
            _ => findings.host(*word),
        }
    }
}

/// `getent passwd` reads accounts; `getent hosts NAME` may ask a server.
fn database<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some(
            "passwd" | "group" | "shadow" | "gshadow" | "services" | "protocols" | "rpc" | "aliases"
            | "initgroups" | "ethers",
        ) => findings.add(FileRead, call.name.span()),
        _ => findings.add(Network, call.name.span()),
    }
}
