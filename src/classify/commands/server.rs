//! Servers, mail, browsers, tunnels and backups: what they do is in their configuration.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["mail", "mailx", "mutt", "neomutt", "sendmail", "msmtp", "swaks", "fetchmail"])
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient()
        .options(&[opt("", "exec").value().opaque(Cause::ExecOption), opt("a", "").role(Role::Read)]),
    command(&["lynx", "w3m", "links", "elinks", "links2", "browsh"]).classes(&[Network]).lenient().options(
        &[
            opt("", "cfg").value().opaque(Cause::Configuration),
            opt("", "cmd_script").value().opaque(Cause::Configuration),
            opt("o", "").value(),
        ],
    ),
    command(&["firefox", "chromium", "chromium-browser", "google-chrome", "xdg-open", "open", "gio"])
        .classes(&[Network])
        .opaque(Cause::ExecOption)
        .lenient(),
    command(&["openvpn", "wg-quick", "openconnect", "pppd", "tailscaled"])
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient(),
    command(&["tailscale", "wg", "ngrok", "cloudflared", "zerotier-cli"]).classes(&[Network]).lenient(),
    command(&["rclone"])
        .classes(&[Network])
        .lenient()
        .global()
        .long_values(&[
            "config",
            "include",
            "exclude",
            "transfers",
            "checkers",
            "bwlimit",
            "log-level",
            "max-age",
            "min-age",
            "max-size",
        ])
        .options(&[
            opt("", "log-file").role(Role::Write),
            opt("", "password-command").value().opaque(Cause::ExecOption),
            opt("n", "dry-run"),
        ])
        .subcommands(RCLONE)
        .lenient_sub(),
    command(&[
        "syncthing",
        "unison",
        "transmission-cli",
        "transmission-remote",
        "transmission-daemon",
        "ipfs",
        "wormhole",
        "croc",
        "rsnapshot",
        "restic",
        "borg",
    ])
    .classes(&[Network, FileWrite])
    .lenient()
    .options(&[
        opt("", "password-command").value().opaque(Cause::ExecOption),
        opt("", "rsh").value().opaque(Cause::ExecOption),
    ])
    .hatch(forgets),
    // Servers: what they serve or run is in their configuration; `-t` only tests it.
    command(&["nginx", "apache2", "apachectl", "apache2ctl", "httpd", "sshd"])
        .classes(&[Network])
        .opaque(Cause::Configuration)
        .lenient()
        .values("cfgspk")
        .options(&[opt("tT", "").drops(&[Network]).transparent(), opt("vV", "").info()]),
    command(&[
        "caddy",
        "haproxy",
        "traefik",
        "envoy",
        "squid",
        "dnsmasq",
        "named",
        "vsftpd",
        "postfix",
        "uwsgi",
        "gunicorn",
        "uvicorn",
        "http-server",
        "serve",
        "json-server",
        "php-fpm",
        "puma",
        "mitmproxy",
        "mitmdump",
    ])
    .classes(&[Network])
    .opaque(Cause::Configuration)
    .lenient(),
    command(&["irssi", "weechat"]).classes(&[Network]).opaque(Cause::Configuration).lenient(),
];

const RCLONE: &[Row] = &[
    command(&["sync", "bisync", "move", "moveto"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[Destructive, FileWrite])])
        .operands(Role::RemoteSource)
        .last(Role::RemoteTarget),
    command(&["delete", "deletefile", "purge", "rmdir", "rmdirs", "cleanup", "dedupe"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[Destructive])]),
    command(&["copy", "copyto", "copyurl"]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["config"]).classes(&[FileWrite]).lenient(),
    command(&["*"]).lenient(),
];

/// Backup tools that drop old copies.
fn forgets<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let verb = call.operand(0);
    if matches!(verb, Some("forget" | "prune" | "delete" | "remove" | "expire" | "remove-older-than")) {
        findings.add(Destructive, call.name.span());
    }
}
