//! Languages with a tool of their own that builds, tests and fetches: go, Java, .NET, Ruby, PHP and others.

use crate::classify::findings::Findings;
use crate::classify::hatch::{build, launcher};
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["go"]).single().options(&[opt("", "C").chdir()]).subcommands(GO),
    command(&["gofmt", "goimports", "gofumpt", "golines", "gci"])
        .stdin_filter()
        .switches("deslw")
        .longs(&["local", "format-only", "simplify"])
        .values("r")
        .options(&[opt("w", "").adds(&[FileModify]), opt("", "cpuprofile").role(Role::Write)])
        .operands(Role::Read),
    command(&["mvn", "mvnw", "mvnd", "gradle", "gradlew", "gradlew.bat", "sbt", "ant", "mill", "bleep"])
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("v", "").info(), opt("fPplsgtTDbcI", "").value(), opt("h", "").info()])
        .hatch(publishes),
    command(&["dotnet"])
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[
            opt("h", "").info(),
            opt("", "info").info(),
            opt("", "list-sdks").info(),
            opt("", "list-runtimes").info(),
        ])
        .subcommands(DOTNET)
        .lenient_sub(),
    command(&[
        "msbuild",
        "xbuild",
        "nuget",
        "paket",
        "xcodebuild",
        "swift",
        "flutter",
        "pod",
        "carthage",
        "fastlane",
        "xcrun",
        "cabal",
        "stack",
        "dune",
        "opam",
        "rebar3",
        "mix",
        "gprbuild",
        "luarocks",
        "raco",
        "leiningen",
        "cpan",
        "cpanm",
        "conan",
        "vcpkg",
        "spack",
        "platformio",
        "pio",
        "arduino-cli",
        "nix-build",
        "nix-shell",
        "guix",
        "home-manager",
        "nixos-rebuild",
        "darwin-rebuild",
        "cachix",
        "devenv",
        "devbox",
        "pixi",
    ])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[opt("h", "").info()])
    .hatch(fetches),
    command(&[
        "nix",
        "nix-env",
        "nix-channel",
        "nix-collect-garbage",
        "nix-store",
        "nix-instantiate",
        "nix-prefetch-url",
    ])
    .opaque(Cause::BuildTool)
    .posix()
    .lenient()
    .hatch(fetches),
    command(&["gem"]).lenient().options(&[opt("h", "").info()]).subcommands(GEM),
    command(&["bundle", "bundler"]).lenient().options(&[opt("h", "").info()]).subcommands(BUNDLE),
    command(&["rails", "rbenv", "rvm", "ruby-build", "chruby", "jekyll", "wp"])
        .opaque(Cause::Interpreter)
        .lenient(),
    command(&["composer"]).classes(&[Network]).opaque(Cause::PackageScript).lenient().subcommands(COMPOSER),
];

const GO: &[Row] = &[
    // Without an option that makes it build, it reads sources; what is missing it would fetch, as cargo's queries do.
    command(&["list"]).single().classes(&[FileRead]).lenient().options(&[
        opt("", "C").chdir(),
        opt("", "export").opaque(Cause::BuildTool),
        opt("", "compiled").opaque(Cause::BuildTool),
        opt("", "u").adds(&[Network]),
        opt("", "versions").adds(&[Network]),
        opt("", "retracted").adds(&[Network]),
        opt("", "toolexec").value().opaque(Cause::ExecOption),
        opt("", "overlay").value().opaque(Cause::ExecOption),
    ]),
    command(&["build", "vet"]).single().opaque(Cause::BuildTool).lenient().options(&[
        opt("", "o").role(Role::Write),
        opt("", "toolexec").value().opaque(Cause::ExecOption),
        opt("", "vettool").value().opaque(Cause::ExecOption),
        opt("", "overlay").value().opaque(Cause::ExecOption),
    ]),
    command(&["test"]).single().opaque(Cause::TestRunner).lenient().options(&[
        opt("", "o").role(Role::Write),
        opt("", "exec").value().opaque(Cause::ExecOption),
        opt("", "toolexec").value().opaque(Cause::ExecOption),
        opt("", "coverprofile").role(Role::Write),
        opt("", "cpuprofile").role(Role::Write),
        opt("", "memprofile").role(Role::Write),
        opt("", "blockprofile").role(Role::Write),
        opt("", "trace").role(Role::Write),
        opt("", "run").value(),
        opt("", "bench").value(),
        opt("", "timeout").value(),
        opt("", "tags").value(),
        opt("", "count").value(),
        opt("", "p").value(),
        opt("", "parallel").value(),
    ]),
    command(&["run"])
        .single()
        .posix()
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("", "exec").value().opaque(Cause::ExecOption), opt("", "tags").value()])
        .hatch(build::go_remote),
    command(&["generate"]).single().opaque(Cause::BuildTool).lenient(),
    command(&["install"])
        .single()
        .classes(&[FileWrite])
        .opaque(Cause::BuildTool)
        .lenient()
        .hatch(build::go_remote),
    command(&["get"]).classes(&[Network, FileModify]).lenient(),
    command(&["mod"]).subcommands(&[
        command(&["download"]).classes(&[Network]).lenient(),
        command(&["tidy", "vendor"]).classes(&[Network, FileModify]).lenient(),
        command(&["init"]).classes(&[FileWrite]).lenient(),
        command(&["edit"])
            .single()
            .classes(&[FileModify])
            .lenient()
            .options(&[opt("", "json").drops(&[FileModify]), opt("", "print").drops(&[FileModify])]),
        command(&["graph", "why", "verify"]).classes(&[FileRead]).lenient(),
    ]),
    command(&["work"]).subcommands(&[
        command(&["init", "edit", "use"]).classes(&[FileModify]).lenient(),
        command(&["sync", "vendor"]).classes(&[Network, FileModify]).lenient(),
    ]),
    command(&["fmt", "fix"])
        .classes(&[FileModify])
        .single()
        .lenient()
        .options(&[opt("", "n").drops(&[FileModify]), opt("", "diff").drops(&[FileModify])]),
    command(&["env"])
        .single()
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("", "w").adds(&[FileModify]), opt("", "u").adds(&[FileModify])]),
    command(&["clean"])
        .classes(&[Destructive])
        .single()
        .lenient()
        .options(&[opt("", "n").drops(&[Destructive])]),
    command(&["version"]).pure().lenient(),
    command(&["doc"])
        .single()
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("", "http").unbounded().opaque(Cause::ExecOption)]),
    command(&["help"]).pure().lenient(),
    // They start a browser, or change a setting.
    command(&["bug", "telemetry"]).lenient(),
    command(&["tool"]).opaque(Cause::BuildTool).lenient(),
];

const DOTNET: &[Row] = &[
    command(&["test", "vstest"]).opaque(Cause::TestRunner).lenient(),
    command(&["build", "run", "publish", "pack", "msbuild", "watch", "exec", "fsi", "format"])
        .opaque(Cause::BuildTool)
        .lenient(),
    command(&["restore", "add", "nuget", "tool", "workload", "package"])
        .classes(&[Network])
        .opaque(Cause::BuildTool)
        .lenient(),
    command(&["new", "sln"]).classes(&[FileWrite]).lenient(),
    command(&["clean"])
        .classes(&[Destructive])
        .tool("run_build")
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("o", "output").value().no_tool()]),
    command(&["list", "help", "--info", "sdk"]).classes(&[FileRead]).local().lenient(),
];

const GEM: &[Row] = &[
    command(&["install", "update", "fetch", "push", "yank", "owner", "signin"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["uninstall", "cleanup"]).classes(&[Destructive]).lenient(),
    command(&[
        "list",
        "env",
        "environment",
        "which",
        "contents",
        "dependency",
        "specification",
        "help",
        "info",
        "query",
        "stale",
    ])
    .classes(&[FileRead])
    .lenient()
    .options(&[opt("r", "remote").adds(&[Network]), opt("b", "both").adds(&[Network])]),
    command(&["search", "outdated"]).classes(&[Network]).lenient(),
    command(&["sources", "pristine", "rdoc", "check"]).lenient(),
    command(&["build", "unpack"]).classes(&[FileWrite]).opaque(Cause::BuildTool).lenient(),
    command(&["exec", "open"]).classes(&[Network]).opaque(Cause::PackageScript).posix().lenient(),
];

const BUNDLE: &[Row] = &[
    command(&["exec", "e"]).wrapper().lenient().operands(Role::Command).hatch(build::project_code),
    command(&["install", "i", "update", "add", "lock", "outdated", "cache", "package", "pristine"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["remove", "clean"]).classes(&[Destructive]).lenient(),
    command(&["init", "gem", "binstubs", "config"]).classes(&[FileWrite]).lenient(),
    command(&[
        "show", "info", "list", "check", "platform", "viz", "version", "help", "env", "doctor", "licenses",
    ])
    .lenient(),
    command(&["open", "console"]).opaque(Cause::Interpreter).lenient(),
];

const COMPOSER: &[Row] = &[
    command(&["run", "run-script", "exec", "test", "dump-autoload", "dumpautoload"])
        .local()
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&[
        "show",
        "info",
        "validate",
        "licenses",
        "depends",
        "why",
        "prohibits",
        "status",
        "about",
        "list",
        "help",
        "check-platform-reqs",
    ])
    .local()
    .lenient(),
    command(&["*"]).opaque(Cause::PackageScript).lenient(),
];

/// Goals and tasks that upload or download.
fn publishes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if matches!(call.words, [only] if only.value.literal() == Some("-version")) {
        findings.opaque = None;
        findings.add(FileRead, call.name.span());
    }
    for word in &call.operands {
        let known = word.known_prefix();
        let name = known.rsplit(':').next().unwrap_or(known);
        if name == "deploy"
            || name.starts_with("publish")
            || known.starts_with("dependency:")
            || name == "upload"
        {
            findings.add(Network, word.span());
        }
    }
}

/// Package managers of their languages: these verbs fetch.
fn fetches<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    launcher::nix(call, findings);
    let fetches = |word: Option<&str>| {
        matches!(
            word,
            Some(
                "install"
                    | "i"
                    | "update"
                    | "upgrade"
                    | "get"
                    | "deps.get"
                    | "deps"
                    | "fetch"
                    | "add"
                    | "restore"
                    | "publish"
                    | "upload"
                    | "push"
                    | "download"
                    | "search"
                    | "pull"
                    | "resolve"
                    | "bootstrap"
                    | "switch"
                    | "shell"
                    | "develop"
                    | "build"
                    | "run"
            )
        )
    };
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let builds = matches!(call.operand(0), Some("build" | "run" | "shell"));
    let is_fetcher = name.starts_with("nix") || matches!(name, "pixi" | "devbox" | "guix");
    if fetches(call.operand(0)) && (!builds || is_fetcher)
        || matches!(name, "cpan" | "cpanm" | "nix-channel" | "nix-prefetch-url")
    {
        findings.add(Network, call.name.span());
    }
    if matches!(call.operand(0), Some("clean" | "uninstall" | "remove" | "unregister" | "erase"))
        || name == "nix-collect-garbage"
    {
        findings.add(Destructive, call.name.span());
    }
}
