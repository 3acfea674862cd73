//! Programs that run a command as another user or in other namespaces; they are unwrapped like every wrapper.

use crate::classify::hatch::{launcher, wrapper};
use crate::classify::op::OpClass::FileModify;
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["sudo", "pkexec"])
        .closed()
        .wrapper()
        .assignments()
        .switches("ABbEHiKkNnPSsvl")
        .longs(&[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "set-home",
            "login",
            "remove-timestamp",
            "reset-timestamp",
            "no-update",
            "non-interactive",
            "preserve-groups",
            "stdin",
            "shell",
            "validate",
            "list",
            "disable-internal-agent",
        ])
        .values("CgpRrTtUuh")
        .long_values(&[
            "close-from",
            "group",
            "prompt",
            "role",
            "type",
            "command-timeout",
            "other-user",
            "user",
            "host",
        ])
        .options(&[
            opt("D", "chdir").chdir(),
            opt("R", "chroot").chdir(),
            opt("e", "edit").opaque(Cause::Editor).adds(&[FileModify]),
            opt("is", "login"),
            opt("", "shell"),
            opt("V", "").info(),
        ])
        .operands(Role::Command)
        .hatch(wrapper::interactive),
    command(&["sudoedit", "visudo", "vipw", "vigr"]).opaque(Cause::Editor).classes(&[FileModify]).lenient(),
    command(&["doas"])
        .closed()
        .wrapper()
        .switches("Ln")
        .values("Cu")
        .options(&[opt("s", "")])
        .operands(Role::Command)
        .hatch(wrapper::interactive),
    command(&["setpriv"])
        .wrapper()
        .switches("d")
        .longs(&[
            "clear-groups",
            "keep-groups",
            "init-groups",
            "nnp",
            "no-new-privs",
            "dump",
            "list-caps",
            "reset-env",
        ])
        .long_values(&[
            "ruid",
            "euid",
            "reuid",
            "rgid",
            "egid",
            "regid",
            "groups",
            "ambient-caps",
            "inh-caps",
            "bounding-set",
            "securebits",
            "pdeathsig",
            "selinux-label",
            "apparmor-profile",
            "landlock-access",
            "landlock-rule",
            "ptracer",
        ])
        .operands(Role::Command),
    command(&["chpst"])
        .wrapper()
        .switches("012vP")
        .values("uUbenmdoprftcslL")
        .options(&[opt("/", "").chdir(), opt("C", "").chdir()])
        .operands(Role::Command),
    command(&["setuidgid", "runcon"]).wrapper().values("trul").first(&[Role::Text]).operands(Role::Command),
    command(&["firejail", "capsh"]).wrapper().lenient().hatch(wrapper::after_attached),
    command(&["chroot", "proot", "fakechroot", "schroot", "nsenter", "unshare"])
        .wrapper()
        .remote()
        .switches("mupinCUTrfFkaSeV")
        .longs(&[
            "mount",
            "uts",
            "ipc",
            "net",
            "pid",
            "user",
            "cgroup",
            "time",
            "fork",
            "mount-proc",
            "map-root-user",
            "map-current-user",
            "map-auto",
            "kill-child",
            "keep-caps",
            "skip-chdir",
            "all",
            "preserve-credentials",
            "no-fork",
        ])
        .values("tGRw")
        .long_values(&[
            "userspec",
            "groups",
            "target",
            "setuid",
            "setgid",
            "root",
            "wd",
            "propagation",
            "map-user",
            "map-group",
            "map-users",
            "map-groups",
            "setgroups",
            "monotonic",
            "boottime",
        ])
        .hatch(wrapper::namespace),
    command(&["bwrap"])
        .opaque(Cause::ContainerImage)
        .wrapper()
        .remote()
        .lenient()
        .hatch(launcher::bubblewrap),
    command(&["su"])
        .closed()
        .wrapper()
        .permuting()
        .switches("flmpP-")
        .longs(&["fast", "login", "preserve-environment", "pty"])
        .values("gGsw")
        .long_values(&["group", "supp-group", "shell", "whitelist-environment"])
        .options(&[opt("c", "command").role(Role::Shell), opt("", "session-command").role(Role::Shell)])
        .hatch(wrapper::user_shell),
    command(&["runuser"])
        .closed()
        .wrapper()
        .permuting()
        .switches("flmpP-")
        .longs(&["fast", "login", "preserve-environment", "pty"])
        .values("gGsw")
        .long_values(&["group", "supp-group", "shell", "whitelist-environment"])
        .options(&[
            opt("c", "command").role(Role::Shell),
            opt("", "session-command").role(Role::Shell),
            opt("u", "user").value(),
        ])
        .hatch(wrapper::user_shell),
    command(&["sg"])
        .wrapper()
        .permuting()
        .options(&[opt("c", "").role(Role::Shell)])
        .first(&[Role::Text])
        .operands(Role::Shell)
        .hatch(wrapper::user_shell),
    command(&["newgrp"])
        .wrapper()
        .permuting()
        .options(&[opt("c", "").role(Role::Shell)])
        .hatch(wrapper::user_shell),
    command(&["gosu", "su-exec", "setuser"]).closed().wrapper().first(&[Role::Text]).operands(Role::Command),
    command(&["systemd-run"])
        .wrapper()
        .switches("dGPqrSt")
        .longs(&[
            "user",
            "system",
            "scope",
            "wait",
            "pty",
            "pipe",
            "quiet",
            "collect",
            "no-block",
            "no-ask-password",
            "remain-after-exit",
            "send-sighup",
            "same-dir",
            "shell",
            "slice-inherit",
            "no-pager",
        ])
        .values("EHMpu")
        .long_values(&[
            "unit",
            "property",
            "description",
            "slice",
            "service-type",
            "uid",
            "gid",
            "nice",
            "setenv",
            "on-active",
            "on-boot",
            "on-startup",
            "on-unit-active",
            "on-unit-inactive",
            "on-calendar",
            "timer-property",
            "host",
            "machine",
            "expand-environment",
            "working-directory",
        ])
        .operands(Role::Command),
];
