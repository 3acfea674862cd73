//! Containers: docker and its kin, compose, image tools.

use crate::classify::findings::Findings;
use crate::classify::hatch::container;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

/// What `docker run`, `create` and `compose run` take: it must be whole, for the image and the command stand behind it.
const RUN_SWITCHES: &str = "ditPqT";
const RUN_LONGS: &[&str] = &[
    "detach",
    "disable-content-trust",
    "help",
    "init",
    "interactive",
    "no-healthcheck",
    "oom-kill-disable",
    "privileged",
    "publish-all",
    "quiet",
    "read-only",
    "rm",
    "sig-proxy",
    "tty",
    "no-deps",
    "service-ports",
    "use-aliases",
    "build",
    "remove-orphans",
    "no-TTY",
    "replace",
    "rmi",
    "tls-verify",
    "read-only-tmpfs",
    "no-hosts",
    "no-hostname",
    "env-host",
    "http-proxy",
    "passwd",
];
const RUN_VALUES: &str = "acehlmpuvwS";
const RUN_LONG_VALUES: &[&str] = &[
    "add-host",
    "annotation",
    "attach",
    "blkio-weight",
    "blkio-weight-device",
    "cap-add",
    "cap-drop",
    "cgroup-parent",
    "cgroupns",
    "cidfile",
    "cpu-period",
    "cpu-quota",
    "cpu-rt-period",
    "cpu-rt-runtime",
    "cpu-shares",
    "cpus",
    "cpuset-cpus",
    "cpuset-mems",
    "detach-keys",
    "device",
    "device-cgroup-rule",
    "device-read-bps",
    "device-read-iops",
    "device-write-bps",
    "device-write-iops",
    "dns",
    "dns-option",
    "dns-search",
    "domainname",
    "entrypoint",
    "env",
    "env-file",
    "expose",
    "gpus",
    "group-add",
    "health-cmd",
    "health-interval",
    "health-retries",
    "health-start-interval",
    "health-start-period",
    "health-timeout",
    "hostname",
    "ip",
    "ip6",
    "ipc",
    "isolation",
    "kernel-memory",
    "label",
    "label-file",
    "link",
    "link-local-ip",
    "log-driver",
    "log-opt",
    "mac-address",
    "memory",
    "memory-reservation",
    "memory-swap",
    "memory-swappiness",
    "mount",
    "name",
    "network",
    "net",
    "network-alias",
    "net-alias",
    "oom-score-adj",
    "pid",
    "pids-limit",
    "platform",
    "publish",
    "pull",
    "restart",
    "runtime",
    "security-opt",
    "shm-size",
    "stop-signal",
    "stop-timeout",
    "storage-opt",
    "sysctl",
    "tmpfs",
    "ulimit",
    "user",
    "userns",
    "uts",
    "volume",
    "volume-driver",
    "volumes-from",
    "workdir",
    "pod",
    "secret",
    "systemd",
    "tz",
    "umask",
    "arch",
    "os",
    "authfile",
    "requires",
    "timeout",
    "subuidname",
    "subgidname",
    "uidmap",
    "gidmap",
    "rootfs",
    "decryption-key",
];

/// What every docker command takes in front.
const DOCKER_OPTIONS: &[OptionSpec<'static>] = &[
    opt("H", "host").role(Role::Host),
    opt("", "url").role(Role::Host),
    opt("v", "").info(),
    opt("", "config").value().opaque(Cause::Configuration),
    opt("c", "context").value(),
    opt("", "connection").value(),
];

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["docker", "podman", "nerdctl", "docker.io"])
        .lenient()
        .switches("Dr")
        .longs(&["debug", "tls", "tlsverify", "remote"])
        .values("lna")
        .long_values(&[
            "log-level",
            "tlscacert",
            "tlscert",
            "tlskey",
            "root",
            "runroot",
            "namespace",
            "address",
            "storage-driver",
            "storage-opt",
            "cgroup-manager",
            "identity",
        ])
        .options(DOCKER_OPTIONS)
        .subcommands(DOCKER),
    command(&["docker-compose", "podman-compose"])
        .lenient()
        .values("pf")
        .long_values(&[
            "file",
            "project-name",
            "project-directory",
            "profile",
            "env-file",
            "ansi",
            "parallel",
            "progress",
            "log-level",
            "compatibility",
        ])
        .options(&[opt("H", "host").role(Role::Host), opt("v", "").info(), opt("c", "context").value()])
        .subcommands(COMPOSE),
    command(&["buildah", "buildctl", "pack"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .lenient()
        .hatch(container::removes),
    command(&["skopeo", "crane", "oras", "regctl", "cosign", "notation"])
        .classes(&[Network])
        .lenient()
        .hatch(container::image_tool),
    command(&["ctr", "crictl", "containerd", "dockerd", "buildkitd"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .lenient()
        .hatch(container::removes),
    command(&[
        "lxc",
        "incus",
        "lxc-attach",
        "lxc-start",
        "lxc-create",
        "lxc-destroy",
        "lxc-ls",
        "lxd",
        "virsh",
        "virt-install",
        "qemu-system-x86_64",
        "qemu-system-aarch64",
        "qemu-img",
        "VBoxManage",
        "vboxmanage",
        "limactl",
        "lima",
        "colima",
        "multipass",
        "firecracker",
        "cloud-hypervisor",
        "toolbox",
        "distrobox",
        "distrobox-enter",
        "devcontainer",
        "vagrant",
        "wsl",
        "machinectl",
        "apptainer",
        "singularity",
        "pct",
        "qm",
    ])
    .classes(&[Network])
    .opaque(Cause::ContainerImage)
    .remote()
    .lenient()
    .hatch(container::machine),
];

const DOCKER: &[Row] = &[
    command(&["run", "create"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .wrapper()
        .remote()
        .lenient()
        .switches(RUN_SWITCHES)
        .longs(RUN_LONGS)
        .values(RUN_VALUES)
        .long_values(RUN_LONG_VALUES)
        .options(&[opt("", "cidfile").role(Role::Write)])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["exec"])
        .wrapper()
        .remote()
        .switches("dit")
        .longs(&["detach", "interactive", "tty", "privileged", "latest"])
        .values("euw")
        .long_values(&["env", "env-file", "user", "workdir", "detach-keys", "preserve-fds"])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["pull", "push", "login", "logout", "search"]).classes(&[Network]).lenient(),
    command(&["build"]).lenient().classes(&[Network]).opaque(Cause::ContainerImage).hatch(container::build),
    command(&["bake", "buildx", "builder", "farm"])
        .lenient()
        .subcommands(BUILD)
        .lenient_sub()
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .hatch(container::build),
    command(&["rm", "rmi", "untag"]).classes(&[Destructive]).lenient(),
    command(&["compose"])
        .lenient()
        .values("pf")
        .long_values(&[
            "file",
            "project-name",
            "project-directory",
            "profile",
            "env-file",
            "ansi",
            "parallel",
            "progress",
        ])
        .subcommands(COMPOSE),
    command(&[
        "ps",
        "images",
        "logs",
        "inspect",
        "stats",
        "top",
        "port",
        "diff",
        "history",
        "info",
        "version",
        "events",
        "list",
        "ls",
        "help",
        "wait",
        "healthcheck",
        "mount",
    ])
    .lenient(),
    command(&["start", "restart", "attach", "update"]).opaque(Cause::ContainerImage).lenient(),
    command(&["stop", "kill", "pause", "unpause", "rename", "tag", "init", "unmount"]).lenient(),
    // In a user namespace of the host.
    command(&["unshare"]).wrapper().longs(&["rootless-netns"]).operands(Role::Command),
    command(&["cp"]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["save", "export"]).lenient().options(&[opt("o", "output").role(Role::Write)]),
    command(&["load", "import"])
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("i", "input").role(Role::Read)]),
    command(&["commit"]).lenient(),
    command(&[
        "system",
        "container",
        "image",
        "volume",
        "network",
        "pod",
        "machine",
        "secret",
        "config",
        "context",
        "manifest",
        "plugin",
        "service",
        "stack",
        "swarm",
        "node",
        "trust",
        "checkpoint",
        "scout",
        "sbom",
        "model",
        "desktop",
        "extension",
        "generate",
        "kube",
        "play",
        "artifact",
        "quadlet",
        "auto-update",
        "namespace",
        "apparmor",
        "ipfs",
        "offload",
        "mcp",
        "sandbox",
        "ai",
        "debug",
    ])
    .lenient()
    .subcommands(MANAGE),
];

/// The second word of `docker container …`, `docker volume …` and the like.
const MANAGE: &[Row] = &[
    command(&["rm", "remove", "prune", "delete", "uninstall", "reset", "leave", "revoke"])
        .classes(&[Destructive])
        .lenient(),
    command(&[
        "ls",
        "list",
        "ps",
        "inspect",
        "df",
        "info",
        "events",
        "logs",
        "stats",
        "top",
        "port",
        "diff",
        "history",
        "show",
        "status",
        "exists",
        "services",
        "tasks",
        "use",
        "version",
        "wait",
        "quickview",
        "cves",
        "config",
        "help",
    ])
    .lenient(),
    command(&[
        "run", "create", "start", "restart", "deploy", "update", "up", "play", "init", "scale", "upgrade",
        "rollback",
    ])
    .classes(&[Network])
    .opaque(Cause::ContainerImage)
    .lenient(),
    command(&["exec", "ssh", "shell"])
        .wrapper()
        .remote()
        .switches("dit")
        .values("euw")
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["pull", "push", "install", "join", "sign", "build", "dial-stdio"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .lenient(),
    command(&[
        "stop",
        "kill",
        "pause",
        "unpause",
        "rename",
        "tag",
        "connect",
        "disconnect",
        "enable",
        "disable",
        "annotate",
        "promote",
        "demote",
        "set",
        "add",
        "commit",
        "attach",
        "unlock",
        "unlock-key",
        "ca",
        "lock",
        "default",
        "down",
        "teardown",
        "migrate",
        "renumber",
    ])
    .lenient(),
    command(&["cp"]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["save", "export"]).lenient().options(&[opt("o", "output").role(Role::Write)]),
    command(&["load", "import", "apply"])
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("i", "input").role(Role::Read)]),
];

const BUILD: &[Row] = &[
    command(&["prune", "rm"]).local().classes(&[Destructive]).lenient(),
    command(&["ls", "inspect", "du", "version", "imagetools", "use", "history"])
        .local()
        .lenient()
        .hatch(transparent),
    command(&["build", "bake", "b", "create", "dial-stdio", "install", "stop"]).lenient(),
];

const COMPOSE: &[Row] = &[
    command(&["up", "build", "pull", "push", "create", "publish", "watch", "bridge"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .lenient(),
    command(&["run"])
        .classes(&[Network])
        .opaque(Cause::ContainerImage)
        .wrapper()
        .remote()
        .lenient()
        .switches(RUN_SWITCHES)
        .longs(RUN_LONGS)
        .values(RUN_VALUES)
        .long_values(RUN_LONG_VALUES)
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["exec"])
        .wrapper()
        .remote()
        .switches("dTt")
        .longs(&["detach", "no-TTY", "privileged", "interactive"])
        .values("euw")
        .long_values(&["env", "index", "user", "workdir"])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["down"]).lenient().options(&[
        opt("v", "volumes").adds(&[Destructive]),
        opt("", "rmi").value().adds(&[Destructive]),
        opt("t", "timeout").value(),
        opt("", "dry-run"),
    ]),
    command(&["rm"]).classes(&[Destructive]).lenient(),
    command(&["start", "restart", "scale", "attach"]).opaque(Cause::ContainerImage).lenient(),
    command(&["stop", "kill", "pause", "unpause"]).lenient(),
    command(&[
        "ps", "ls", "logs", "config", "convert", "images", "top", "port", "events", "version", "help",
        "wait", "stats", "volumes", "export", "commit",
    ])
    .lenient()
    .options(&[opt("o", "output").role(Role::Write)]),
    command(&["cp"]).lenient().operands(Role::RemoteSource).last(Role::RemoteTarget),
    command(&["alpha", "init"]).classes(&[FileModify]).lenient(),
];

/// A look at builders runs nothing.
fn transparent<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operand(0) == Some("create") {
        findings.add(Network, call.name.span());
    }
    if call.has("output") {
        findings.add(FileWrite, call.name.span());
    }
}
