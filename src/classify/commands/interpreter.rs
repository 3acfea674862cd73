//! Shells and other interpreters, editors and debuggers: programs that run code from text, files or standard input.

use crate::classify::hatch::{interpreter, launcher};
use crate::classify::op::OpClass::{FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "bash", "sh", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "rbash", "yash", "posh", "rksh", "oksh",
        "sash",
    ])
    .effect_free()
    .wrapper()
    .plus()
    .switches("aBCeEfghikHlmprstuvxPbD")
    .longs(&[
        "login",
        "norc",
        "noprofile",
        "posix",
        "noediting",
        "verbose",
        "debugger",
        "restricted",
        "dump-strings",
        "dump-po-strings",
        "no-rcs",
        "no-global-rcs",
        "emacs",
        "vi",
    ])
    .values("oO")
    .options(&[
        opt("c", ""),
        opt("n", ""),
        opt("", "rcfile").value().opaque(Cause::ScriptFile),
        opt("", "init-file").value().opaque(Cause::ScriptFile),
        opt("", "pretty-print"),
    ])
    .hatch(interpreter::shell),
    command(&[
        "fish",
        "csh",
        "tcsh",
        "elvish",
        "nu",
        "xonsh",
        "rc",
        "es",
        "pwsh",
        "powershell",
        "oil",
        "osh",
        "ion",
    ])
    .interpreter()
    .lenient(),
    command(&[
        "python",
        "python2",
        "python3",
        "python3.8",
        "python3.9",
        "python3.10",
        "python3.11",
        "python3.12",
        "python3.13",
        "python3.14",
        "python2.7",
        "pypy",
        "pypy3",
        "ipython",
        "ipython3",
        "micropython",
        "jython",
    ])
    .interpreter()
    .wrapper()
    .switches("BbdEiIOPqsSuvx3")
    .values("WX")
    .long_values(&["check-hash-based-pycs"])
    .options(&[
        opt("c", "").value().ends(),
        opt("m", "").value().ends(),
        opt("V", "").info(),
        opt("h?", "").info(),
        opt("", "help-all").info(),
        opt("", "help-env").info(),
        opt("", "help-xoptions").info(),
    ])
    .hatch(interpreter::python),
    command(&["node", "nodejs"])
        .interpreter()
        .lenient()
        .values("rCe")
        .long_values(&[
            "require",
            "import",
            "loader",
            "experimental-loader",
            "conditions",
            "env-file",
            "title",
            "test-name-pattern",
        ])
        .options(&[
            opt("v", "").info(),
            opt("h", "").info(),
            opt("ep", "eval").value(),
            opt("", "print").value(),
            // Only the syntax is looked at, unless a module is loaded before.
            opt("c", "check").adds(&[FileRead]).transparent(),
            opt("r", "require").value().opaque(Cause::ExecOption),
            opt("", "import").value().opaque(Cause::ExecOption),
            opt("", "loader").value().opaque(Cause::ExecOption),
            opt("", "experimental-loader").value().opaque(Cause::ExecOption),
        ])
        .hatch(interpreter::remote_code),
    command(&["bun", "bunx"])
        .interpreter()
        .lenient()
        .options(&[opt("v", "").info(), opt("e", "eval").value()])
        .subcommands(BUN)
        .lenient_sub(),
    command(&["deno"])
        .interpreter()
        .lenient()
        .options(&[opt("V", "").info()])
        .subcommands(DENO)
        .lenient_sub(),
    command(&["ts-node", "tsx", "esno", "jiti", "coffee", "babel-node", "zx", "vite-node"])
        .interpreter()
        .lenient(),
    command(&["perl", "perl5", "ruby", "jruby", "raku"])
        .interpreter()
        .options(&[
            opt("i", "").attached(),
            opt("e", "").value(),
            opt("E", "").value(),
            opt("n", ""),
            opt("p", ""),
            opt("v", ""),
            opt("V", "").attached(),
        ])
        .switches("acdfhlsStTuUwWxX0123456789yC")
        .values("FIMmDrK")
        .lenient()
        .hatch(interpreter::line_editor),
    command(&["php"]).interpreter().lenient().switches("naeHmqsw").values("cdfrBREFStzgv").options(&[
        opt("v", "version").info(),
        opt("m", "").info(),
        opt("i", "info").info(),
        // Only the syntax is looked at.
        opt("l", "syntax-check").role(Role::Read).transparent(),
        opt("S", "").value().adds(&[Network]),
    ]),
    command(&["lua", "lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit", "texlua"])
        .interpreter()
        .lenient()
        .options(&[opt("v", "").info()]),
    command(&[
        "Rscript",
        "R",
        "julia",
        "octave",
        "octave-cli",
        "scilab",
        "maxima",
        "gp",
        "sage",
        "matlab",
        "tclsh",
        "wish",
        "jimsh",
        "guile",
        "sbcl",
        "clisp",
        "ecl",
        "racket",
        "gsi",
        "csi",
        "chez",
        "scheme",
        "newlisp",
        "swipl",
        "gprolog",
        "ghci",
        "runghc",
        "runhaskell",
        "ocaml",
        "utop",
        "erl",
        "escript",
        "elixir",
        "iex",
        "irb",
        "pry",
        "groovy",
        "groovysh",
        "scala",
        "scala-cli",
        "amm",
        "kotlin",
        "jshell",
        "jrunscript",
        "jjs",
        "java",
        "clojure",
        "clj",
        "bb",
        "lein",
        "boot",
        "janet",
        "hy",
        "crystal",
        "dotnet-script",
        "fsharpi",
        "mono",
        "dart",
        "haxe",
        "gjs",
        "qjs",
        "rhino",
        "osascript",
        "wasmtime",
        "wasmer",
        "wine",
        "wine64",
        "qemu-x86_64",
        "qemu-aarch64",
        "qemu-arm",
        "slsh",
        "pike",
        "gst",
        "psysh",
        "phpdbg",
        "gnuplot",
        "lldb",
        "gdb",
        "gdb-multiarch",
        "gdbserver",
        "radare2",
        "r2",
        "cscript",
        "bpftrace",
        "stap",
        "dtrace",
        "msfconsole",
        "scapy",
        "autoexpect",
        "tasksh",
        "ginsh",
        "tdbtool",
        "rust-script",
        "evcxr",
        "yaegi",
        "gore",
        "gomacro",
    ])
    .interpreter()
    .lenient(),
    command(&["vim", "vi", "nvim", "view", "rvim", "rview", "vimdiff", "gvim", "ex", "vimtutor"])
        .opaque(Cause::Editor)
        .lenient()
        .values("cSuUiTwW")
        .long_values(&["cmd", "startuptime"])
        .operands(Role::Modify)
        .hatch(interpreter::editor),
    command(&[
        "nano",
        "pico",
        "joe",
        "jed",
        "mcedit",
        "ne",
        "emacs",
        "emacsclient",
        "mg",
        "zile",
        "ed",
        "red",
        "code",
        "cursor",
        "subl",
        "gedit",
        "kate",
        "kak",
        "hx",
        "helix",
        "micro",
        "mousepad",
        "nedit",
        "acme",
    ])
    .opaque(Cause::Editor)
    .lenient()
    .operands(Role::Modify)
    .hatch(interpreter::editor),
    command(&["tmux", "screen", "byobu", "zellij", "dtach", "abduco", "tmate"])
        .opaque(Cause::DynamicCode)
        .lenient()
        .hatch(launcher::multiplexer),
    command(&["at", "batch"]).opaque(Cause::Scheduled).lenient(),
];

const BUN: &[Row] = &[
    command(&[
        "install", "i", "add", "a", "update", "upgrade", "remove", "rm", "outdated", "publish", "create",
        "c", "x", "link",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient(),
    command(&["run", "test", "dev", "start", "exec", "repl", "init"]).opaque(Cause::PackageScript).lenient(),
    command(&["build"]).opaque(Cause::BuildTool).lenient().classes(&[FileWrite]),
    command(&["pm"]).lenient(),
];

const DENO: &[Row] = &[
    command(&["run", "eval", "repl", "serve", "x"]).interpreter().lenient().hatch(interpreter::remote_code),
    command(&["test", "bench"]).opaque(Cause::TestRunner).lenient().hatch(interpreter::remote_code),
    command(&["task"]).opaque(Cause::PackageScript).lenient(),
    command(&["check", "info", "doc", "types", "completions", "lint", "coverage"])
        .lenient()
        .hatch(interpreter::remote_code),
    command(&["fmt"]).classes(&[FileModify]).lenient().options(&[opt("", "check").drops(&[FileModify])]),
    command(&["compile", "bundle", "vendor"])
        .classes(&[FileWrite])
        .opaque(Cause::BuildTool)
        .lenient()
        .hatch(interpreter::remote_code),
    command(&[
        "install",
        "add",
        "cache",
        "publish",
        "deploy",
        "jsr",
        "upgrade",
        "uninstall",
        "remove",
        "outdated",
        "update",
        "audit",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient(),
    command(&["init"]).classes(&[FileWrite]).lenient(),
];
