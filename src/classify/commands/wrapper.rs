//! Programs that run the command in their operands. They are unwrapped: the inner command gives the operations.

use crate::classify::hatch::{launcher, wrapper};
use crate::classify::op::OpClass::{FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["env"])
        .pure()
        .wrapper()
        .assignments()
        .switches("i0v-")
        .longs(&[
            "ignore-environment",
            "null",
            "debug",
            "list-signal-handling",
            "block-signal",
            "default-signal",
            "ignore-signal",
        ])
        .values("ua")
        .long_values(&["unset", "argv0"])
        .options(&[
            opt("C", "chdir").chdir(),
            opt("S", "split-string").value().ends(),
            opt("P", "").value().opaque(Cause::Environment),
        ])
        .hatch(wrapper::env),
    command(&[
        "nohup",
        "nocache",
        "eatmydata",
        "catchsegv",
        "unbuffer",
        "caffeinate",
        "dbus-run-session",
        "fakeroot",
        "linux32",
        "linux64",
        "tini",
        "dumb-init",
        "winpty",
    ])
    .closed()
    .wrapper()
    .switches("psgv")
    .operands(Role::Command),
    command(&["setsid"])
        .closed()
        .wrapper()
        .switches("cfw")
        .longs(&["ctty", "fork", "wait"])
        .operands(Role::Command),
    command(&["stdbuf"])
        .closed()
        .wrapper()
        .values("ioe")
        .long_values(&["input", "output", "error"])
        .operands(Role::Command),
    command(&["setarch"])
        .closed()
        .wrapper()
        .switches("BFILRSTXZ3v")
        .longs(&["32bit", "addr-no-randomize", "verbose", "3gb"])
        .hatch(wrapper::architecture),
    command(&["choom"]).closed().wrapper().values("npu").operands(Role::Command),
    command(&["rlwrap"]).wrapper().switches("aAcDEhHiImNnOoPpqrRsStUvwWXz").operands(Role::Command),
    command(&["aa-exec"]).wrapper().switches("dhiv").values("pn").operands(Role::Command),
    command(&["timeout", "gtimeout"])
        .closed()
        .wrapper()
        .switches("fpv")
        .longs(&["preserve-status", "foreground", "verbose"])
        .values("ks")
        .long_values(&["kill-after", "signal"])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["nice"])
        .closed()
        .wrapper()
        .numeric()
        .values("n")
        .long_values(&["adjustment"])
        .operands(Role::Command),
    command(&["ionice"])
        .closed()
        .wrapper()
        .switches("t")
        .longs(&["ignore"])
        .values("cnpPu")
        .long_values(&["class", "classdata", "pid", "pgid", "uid"])
        .operands(Role::Command),
    command(&["chrt"])
        .closed()
        .wrapper()
        .switches("abdfiomRrvep")
        .longs(&[
            "batch",
            "deadline",
            "ext",
            "fifo",
            "idle",
            "other",
            "rr",
            "reset-on-fork",
            "all-tasks",
            "max",
            "verbose",
            "pid",
        ])
        .values("TPD")
        .long_values(&["sched-runtime", "sched-period", "sched-deadline"])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["taskset", "cpulimit", "faketime"])
        .closed()
        .wrapper()
        .switches("acpfzivbmq")
        .longs(&["all-tasks", "cpu-list", "pid", "foreground", "lazy", "verbose", "include-children"])
        .values("le")
        .long_values(&["limit", "exe", "path"])
        .hatch(wrapper::after_setting),
    command(&["numactl"])
        .closed()
        .wrapper()
        .switches("aHlst")
        .longs(&["all", "hardware", "localalloc", "show", "touch", "balancing"])
        .values("CNPimp")
        .long_values(&["cpunodebind", "physcpubind", "interleave", "membind", "preferred", "preferred-many"])
        .operands(Role::Command),
    command(&["prlimit"])
        .closed()
        .wrapper()
        .longs(&[
            "nofile",
            "nproc",
            "as",
            "core",
            "cpu",
            "data",
            "fsize",
            "stack",
            "memlock",
            "rss",
            "noheadings",
            "raw",
        ])
        .values("po")
        .long_values(&["pid", "output"])
        .options(&[opt("cdefilmnqrstuvxy", "").attached()])
        .operands(Role::Command),
    command(&["softlimit"]).closed().wrapper().values("acdflmoprst").operands(Role::Command),
    command(&["strace", "ltrace"])
        .wrapper()
        .switches("cCdfFhiknNqrTtvVwxXyYzZ")
        .longs(&[
            "follow-forks",
            "summary",
            "quiet",
            "decode-fds",
            "stack-traces",
            "absolute-timestamps",
            "relative-timestamps",
            "syscall-times",
            "successful-only",
            "failed-only",
            "no-abbrev",
            "strings-in-hex",
            "summary-only",
            "summary-wall-clock",
        ])
        .values("abeEIOpPsSuU")
        .long_values(&[
            "trace",
            "string-limit",
            "attach",
            "columns",
            "trace-path",
            "user",
            "env",
            "signal",
            "status",
            "detach-on",
        ])
        .options(&[opt("o", "output").role(Role::Write), opt("", "output-append-mode"), opt("A", "")])
        .operands(Role::Command),
    command(&["time", "gtime"])
        .closed()
        .wrapper()
        .switches("apvq")
        .longs(&["append", "portability", "verbose", "quiet"])
        .values("f")
        .long_values(&["format"])
        .options(&[opt("o", "output").role(Role::Write), opt("V", "").info()])
        .operands(Role::Command),
    command(&["flock"])
        .closed()
        .wrapper()
        .switches("esxnuoF")
        .longs(&["exclusive", "shared", "nonblock", "nb", "unlock", "close", "no-fork", "verbose"])
        .values("wE")
        .long_values(&["timeout", "wait", "conflict-exit-code"])
        .options(&[opt("c", "command").role(Role::Shell)])
        .hatch(wrapper::flock),
    command(&["systemd-nspawn", "landrun", "crun", "runc"])
        .wrapper()
        .remote()
        .opaque(Cause::ContainerImage)
        .lenient(),
    command(&["watch"])
        .wrapper()
        .switches("bcdegprtwx")
        .longs(&[
            "beep", "color", "no-color", "errexit", "chgexit", "precise", "no-rerun", "no-title", "no-wrap",
            "exec",
        ])
        .values("nqd")
        .long_values(&["interval", "equexit"])
        .options(&[opt("d", "differences").attached()])
        .operands(Role::Line),
    command(&["script"])
        .classes(&[FileWrite])
        .wrapper()
        .switches("aefqT")
        .longs(&["append", "return", "flush", "force", "quiet"])
        .values("Eomt")
        .long_values(&["echo", "output-limit", "logging-format"])
        .options(&[
            opt("c", "command").role(Role::Shell),
            opt("IOB", "log-out").role(Role::Write),
            opt("", "log-in").role(Role::Write),
            opt("", "log-io").role(Role::Write),
        ])
        .hatch(wrapper::script),
    command(&["busybox", "toybox"])
        .closed()
        .wrapper()
        .longs(&["list", "list-full"])
        .options(&[opt("", "install").adds(&[FileWrite])])
        .operands(Role::Command),
    command(&["xargs", "gxargs"])
        .closed()
        .stdin_filter()
        .wrapper()
        .switches("0optrx")
        .longs(&["null", "open-tty", "interactive", "no-run-if-empty", "verbose", "exit", "show-limits"])
        .values("EdLnPs")
        .long_values(&["delimiter", "max-lines", "max-args", "max-procs", "max-chars", "process-slot-var"])
        .options(&[
            opt("a", "arg-file").role(Role::Read),
            opt("I", "").value(),
            opt("i", "replace").attached(),
            opt("J", "").value(),
            opt("R", "").value(),
            opt("el", "eof").attached(),
        ])
        .hatch(wrapper::xargs),
    command(&["parallel", "sem", "rush"])
        .wrapper()
        .switches("0kmqruvXxz")
        .longs(&[
            "bar",
            "bg",
            "cat",
            "dry-run",
            "dryrun",
            "eta",
            "fg",
            "fifo",
            "gnu",
            "group",
            "keep-order",
            "line-buffer",
            "lb",
            "link",
            "no-notice",
            "no-run-if-empty",
            "null",
            "pipe",
            "progress",
            "quote",
            "silent",
            "tag",
            "ungroup",
            "verbose",
            "will-cite",
            "wait",
            "semaphore",
            "xargs",
        ])
        .values("CdEIjLlNnPs")
        .long_values(&[
            "jobs",
            "max-procs",
            "delay",
            "timeout",
            "retries",
            "halt",
            "colsep",
            "delimiter",
            "load",
            "memfree",
            "nice",
            "tmpdir",
            "block",
            "max-args",
            "max-replace-args",
            "header",
            "recstart",
            "recend",
            "tagstring",
            "id",
            "env",
            "shuf",
        ])
        .options(&[
            opt("a", "arg-file").role(Role::Read),
            opt("", "joblog").role(Role::Write),
            opt("", "results").role(Role::Write),
            opt("S", "sshlogin").value(),
            opt("", "sshloginfile").value().adds(&[Network]),
            opt("", "onall"),
        ])
        .hatch(wrapper::parallel),
    command(&[
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
        "ld-linux.so.2",
        "ld.so",
        "ld-musl-x86_64.so.1",
        "ld-musl-aarch64.so.1",
    ])
    .closed()
    .wrapper()
    .longs(&["list", "verify", "inhibit-cache", "list-tunables", "list-diagnostics"])
    .long_values(&["inhibit-rpath", "glibc-hwcaps-prepend", "glibc-hwcaps-mask", "argv0"])
    .options(&[
        opt("", "preload").value().opaque(Cause::Environment),
        opt("", "audit").value().opaque(Cause::Environment),
        opt("", "library-path").value().opaque(Cause::Environment),
    ])
    .operands(Role::Command),
    command(&["valgrind", "heaptrack", "rr", "uftrace"])
        .wrapper()
        .lenient()
        .options(&[opt("", "log-file").role(Role::Write)])
        .operands(Role::Command),
    command(&["multitime"]).wrapper().switches("lqsv").values("bInorRs").operands(Role::Command),
    command(&["hyperfine"])
        .wrapper()
        .permuting()
        .switches("iN")
        .longs(&["ignore-failure", "show-output"])
        .values("wmMrPDLun")
        .long_values(&[
            "warmup",
            "min-runs",
            "max-runs",
            "runs",
            "parameter-scan",
            "parameter-list",
            "style",
            "time-unit",
            "command-name",
            "output",
            "input",
        ])
        .options(&[
            opt("ps", "prepare").role(Role::Shell),
            opt("c", "cleanup").role(Role::Shell),
            opt("", "setup").role(Role::Shell),
            opt("", "conclude").role(Role::Shell),
            opt("S", "shell").value(),
            opt("", "export-json").role(Role::Write),
            opt("", "export-markdown").role(Role::Write),
            opt("", "export-csv").role(Role::Write),
        ])
        .operands(Role::Shell),
    command(&["entr"]).wrapper().switches("acdnprsxz").operands(Role::Command),
    command(&["logsave"]).wrapper().switches("asv").first(&[Role::Write]).operands(Role::Command),
    command(&["torsocks", "torify", "proxychains", "proxychains4", "tsocks"])
        .classes(&[Network])
        .wrapper()
        .switches("qi")
        .values("f")
        .operands(Role::Command),
    command(&["sshpass"])
        .wrapper()
        .switches("eV")
        .values("dpP")
        .options(&[opt("f", "").role(Role::Read)])
        .operands(Role::Command),
    command(&["ssh-agent"]).wrapper().switches("cDdks").values("aEOPt").operands(Role::Command),
    command(&["xvfb-run"])
        .wrapper()
        .switches("al")
        .longs(&["auto-servernum", "auto-display", "listen-tcp"])
        .values("efnpsw")
        .long_values(&["error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait"])
        .operands(Role::Command),
    command(&["direnv"]).wrapper().lenient().opaque(Cause::ScriptFile).hatch(launcher::direnv),
    command(&["start-stop-daemon", "daemonize", "daemon"]).wrapper().opaque(Cause::ExecOption).lenient(),
    command(&["run-parts", "run-one"]).opaque(Cause::ScriptFile).lenient(),
    command(&["expect"]).interpreter().lenient(),
];
