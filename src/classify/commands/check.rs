//! Test runners, linters and formatters. A test runner runs the project's code; a linter reads it and says so
//! (no class: what it looks at is its business), a formatter changes it.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&[
        "pytest",
        "py.test",
        "pytest-3",
        "tox",
        "nox",
        "nose2",
        "nosetests",
        "trial",
        "behave",
        "robot",
        "stestr",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tap",
        "jasmine",
        "karma",
        "cypress",
        "playwright",
        "testcafe",
        "nightwatch",
        "wdio",
        "c8",
        "nyc",
        "qunit",
        "protractor",
        "cucumber",
        "cucumber-js",
        "newman",
        "phpunit",
        "pest",
        "rspec",
        "minitest",
        "ctest",
        "bats",
        "shellspec",
        "prove",
        "gotestsum",
        "ginkgo",
        "cargo-nextest",
        "cargo-tarpaulin",
        "grcov",
        "kcov",
        "busted",
        "runtest",
        "lit",
        "llvm-lit",
        "FileCheck",
        "gtest-parallel",
        "avocado",
        "molecule",
        "testinfra",
        "inspec",
        "goss",
        "maestro",
        "appium",
        "lighthouse",
        "pa11y",
    ])
    .opaque(Cause::TestRunner)
    .lenient()
    .options(&[opt("V", "").info()])
    .hatch(reports),
    command(&["coverage", "coverage3", "python3-coverage"]).lenient().subcommands(&[
        command(&["run", "debug"]).opaque(Cause::TestRunner).lenient(),
        command(&["report", "annotate"]).classes(&[FileRead]).lenient(),
        command(&["html", "xml", "json", "lcov"]).classes(&[FileWrite]).lenient(),
        command(&["erase"]).classes(&[Destructive]).lenient(),
        command(&["help"]).lenient(),
    ]),
    command(&["gcov", "lcov", "gcovr", "geninfo", "genhtml", "llvm-cov", "llvm-profdata"])
        .classes(&[FileWrite])
        .lenient()
        .operands(Role::Read),
    // Linters whose configuration is data.
    command(&["ruff"])
        .lenient()
        .options(&[
            opt("", "fix").adds(&[FileModify]),
            opt("", "fix-only").adds(&[FileModify]),
            opt("", "unsafe-fixes"),
            opt("", "add-noqa").adds(&[FileModify]),
            opt("o", "output-file").role(Role::Write),
            opt("", "config").value(),
        ])
        .subcommands(RUFF)
        .lenient_sub(),
    command(&[
        "shellcheck",
        "hadolint",
        "yamllint",
        "bashate",
        "pycodestyle",
        "pydocstyle",
        "pyflakes",
        "cpplint",
    ])
    .stdin_filter()
    .lenient()
    .values("efoPsSWdc")
    .long_values(&[
        "exclude",
        "include",
        "format",
        "shell",
        "severity",
        "rcfile",
        "source-path",
        "config-file",
    ])
    .operands(Role::Read),
    command(&[
        "actionlint",
        "markdownlint",
        "markdownlint-cli2",
        "vale",
        "codespell",
        "typos",
        "cspell",
        "aspell",
        "hunspell",
        "taplo",
        "tflint",
        "tfsec",
        "checkov",
        "kubeconform",
        "conftest",
        "opa",
        "vulture",
        "radon",
        "bandit",
        "cppcheck",
        "commitlint",
        "detect-secrets",
        "gitleaks",
        "trufflehog",
        "golint",
        "staticcheck",
        "gosec",
        "govulncheck",
        "buf",
        "sqlfluff",
        "linkchecker",
        "lychee",
        "selene",
        "luacheck",
        "ktlint",
        "checkstyle",
        "spotbugs",
        "swiftlint",
        "brakeman",
        "cfn-lint",
    ])
    .lenient()
    .options(&[
        opt("w", "write-changes").adds(&[FileModify]),
        opt("", "fix").adds(&[FileModify]),
        opt("", "write").adds(&[FileModify]),
        opt("i", "").value(),
        opt("o", "output").role(Role::Write),
        opt("", "output-file").role(Role::Write),
    ])
    .hatch(external_checker),
    // Linters that load plugins or configuration written in code.
    command(&[
        "eslint",
        "stylelint",
        "tslint",
        "standard",
        "oxlint",
        "biome",
        "knip",
        "depcheck",
        "madge",
        "dependency-cruiser",
        "depcruise",
        "cz",
        "mypy",
        "dmypy",
        "pyright",
        "basedpyright",
        "pyre",
        "pytype",
        "pylint",
        "flake8",
        "pyupgrade",
        "autoflake",
        "lint-imports",
        "golangci-lint",
        "revive",
        "rubocop",
        "sorbet",
        "phpstan",
        "psalm",
        "phpcs",
        "rector",
        "clang-tidy",
        "sonar-scanner",
        "codeql",
        "snyk",
        "trivy",
        "grype",
        "syft",
    ])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[
        opt("", "fix").adds(&[FileModify]),
        opt("", "write").adds(&[FileModify]),
        opt("", "apply").adds(&[FileModify]),
        opt("a", "autocorrect").value().adds(&[FileModify]),
        opt("A", "autocorrect-all").adds(&[FileModify]),
        opt("", "in-place").adds(&[FileModify]),
        opt("o", "output-file").role(Role::Write),
        opt("v", ""),
        opt("h", "").info(),
    ])
    .hatch(scanners),
    // Formatters change their operands; with `--check`, `--diff`, or on standard input they do not.
    command(&["black", "isort", "autopep8", "yapf", "docformatter", "djlint"])
        .classes(&[FileModify])
        .lenient()
        .switches("qvtSCfeb")
        .values("l")
        .options(&[
            opt("c", "").drops(&[FileModify]),
            opt("", "code").value().drops(&[FileModify]),
            opt("", "check").drops(&[FileModify]).adds(&[FileRead]),
            opt("", "check-only").drops(&[FileModify]).adds(&[FileRead]),
            opt("d", "diff").drops(&[FileModify]).adds(&[FileRead]),
            opt("i", "in-place"),
        ])
        .operands(Role::Text),
    command(&[
        "prettier",
        "js-beautify",
        "dprint",
        "svgo",
        "terser",
        "uglifyjs",
        "lessc",
        "sass",
        "node-sass",
        "postcss",
        "purgecss",
        "tailwindcss",
        "autoprefixer",
    ])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[
        opt("w", "write").adds(&[FileModify]),
        opt("r", "replace").adds(&[FileModify]),
        opt("o", "output").role(Role::Write),
        opt("", "check"),
        opt("h", "").info(),
    ]),
    command(&[
        "clang-format",
        "astyle",
        "uncrustify",
        "indent",
        "shfmt",
        "stylua",
        "swift-format",
        "swiftformat",
        "google-java-format",
        "scalafmt",
        "cmake-format",
        "buildifier",
        "nixfmt",
        "mdformat",
        "pg_format",
        "yamlfmt",
        "latexindent",
        "pint",
        "php-cs-fixer",
        "phpcbf",
        "elm-format",
        "dhall",
    ])
    .lenient()
    .stdin_filter()
    .options(&[
        opt("i", "in-place").adds(&[FileModify]),
        opt("w", "write").adds(&[FileModify]),
        opt("", "inplace").adds(&[FileModify]),
        opt("", "replace").adds(&[FileModify]),
        opt("o", "output").role(Role::Write),
        opt("", "check").drops(&[FileModify]),
        opt("", "dry-run").drops(&[FileModify]),
        opt("h", "").info(),
    ])
    .operands(Role::Read)
    .hatch(in_place),
];

const RUFF: &[Row] = &[
    // `fix = true` in the project's settings makes it change files; the jail holds that.
    command(&["check", "rule", "config", "linter", "version", "help", "analyze"])
        .classes(&[FileRead])
        .lenient()
        .options(&[
            opt("", "fix").adds(&[FileModify]),
            opt("", "fix-only").adds(&[FileModify]),
            opt("", "add-noqa").adds(&[FileModify]),
            opt("o", "output-file").role(Role::Write),
            opt("", "diff"),
        ]),
    command(&["server"]).lenient(),
    command(&["format"]).classes(&[FileModify]).lenient().options(&[
        opt("", "check").drops(&[FileModify]).adds(&[FileRead]),
        opt("", "diff").drops(&[FileModify]).adds(&[FileRead]),
    ]),
    command(&["clean"]).classes(&[Destructive]).lenient(),
];

/// Reports that a runner is told to write.
fn reports<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for arg in call.words {
        let known = arg.value.known_prefix();
        if known.starts_with("--junitxml")
            || known.starts_with("--junit-xml")
            || known.starts_with("--outputFile")
        {
            findings.unknown_path(FileWrite, arg.span);
        }
    }
}

/// `vale sync`, `opa eval` and link checkers reach out.
fn external_checker<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(name, "linkchecker" | "lychee" | "govulncheck")
        || matches!((name, call.operand(0)), ("vale", Some("sync")) | ("buf", Some("push")))
    {
        findings.add(Network, call.name.span());
    }
    if matches!((name, call.operand(0)), ("opa" | "taplo" | "buf", Some("fmt" | "format"))) {
        findings.add(FileModify, call.name.span());
    }
    if name == "cppcheck" || name == "conftest" {
        for arg in call.words {
            // Add-ons are programs.
            if arg.value.known_prefix().starts_with("--addon") {
                findings.opaque(Cause::ExecOption, arg.span);
            }
        }
    }
}

fn scanners<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if matches!(name, "snyk" | "trivy" | "grype" | "sonar-scanner") {
        findings.add(Network, call.name.span());
    }
    let changes = matches!(name, "pyupgrade" | "autoflake" | "pycln" | "rector")
        || matches!((name, call.operand(0)), ("biome", Some("format")) | ("cz", Some("bump")));
    if changes
        && call
            .words
            .iter()
            .any(|arg| matches!(arg.value.literal(), Some("--write" | "-i" | "--in-place" | "-a")))
        || name == "pyupgrade"
    {
        findings.add(FileModify, call.name.span());
    }
}

/// `indent` and the fixers of PHP change their operands without being asked.
fn in_place<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    let is_dry = call.words.iter().any(|arg| {
        let known = arg.value.known_prefix();
        known.starts_with("--dry-run")
            || known == "--check"
            || known == "--test"
            || known == "-c"
            || known == "--diff"
            || known == "-d"
            || known == "--stdout"
            || known == "-st"
    });
    let fixes = matches!(
        name,
        "indent"
            | "phpcbf"
            | "php-cs-fixer"
            | "pint"
            | "stylua"
            | "astyle"
            | "nixfmt"
            | "nixpkgs-fmt"
            | "alejandra"
            | "buildifier"
            | "mdformat"
            | "swiftformat"
            | "yamlfmt"
            | "scalafmt"
            | "elm-format"
    );
    if fixes
        && !is_dry
        && (!call.operands.is_empty() || matches!(name, "pint" | "php-cs-fixer" | "scalafmt" | "yamlfmt"))
    {
        findings.add(FileModify, call.name.span());
    }
}
