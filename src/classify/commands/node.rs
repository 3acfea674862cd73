//! JavaScript: package managers and what they start.

use crate::classify::findings::Findings;
use crate::classify::hatch::launcher;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, GitWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Row, command, opt};

/// What every npm command takes.
const NPM_OPTIONS: &[OptionSpec<'static>] = &[
    opt("", "offline").drops(&[Network]),
    opt("v", "").info(),
    opt("", "prefix").chdir(),
    opt("C", "").chdir(),
    opt("", "script-shell").value().opaque(Cause::ExecOption),
    opt("", "node-options").value().opaque(Cause::ExecOption),
    opt("", "git").value().opaque(Cause::ExecOption),
    opt("", "editor").value().opaque(Cause::ExecOption),
    opt("", "shell").value().opaque(Cause::ExecOption),
    opt("", "viewer").value().opaque(Cause::ExecOption),
    opt("", "userconfig").value().opaque(Cause::Configuration),
    opt("", "globalconfig").value().opaque(Cause::Configuration),
];

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["npm"])
        .lenient()
        .global()
        .values("w")
        .long_values(&["workspace", "registry", "loglevel", "cache", "tag", "otp"])
        .options(NPM_OPTIONS)
        .subcommands(NPM),
    // It runs what the project has, and fetches only what is missing: where programs run it need not reach a network.
    command(&["npx"])
        .classes(&[Network])
        .tool("run_command")
        .opaque(Cause::PackageScript)
        .posix()
        .lenient()
        .hatch(launcher::fetched)
        .options(&[opt("v", "").info()]),
    command(&["pnpx", "pnpm-dlx", "create-react-app", "create-vite", "degit"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .posix()
        .lenient()
        .hatch(launcher::fetched)
        .options(&[opt("v", "").info()]),
    command(&["yarn", "yarnpkg"])
        .lenient()
        .options(&[opt("v", "").info(), opt("", "cwd").chdir()])
        .subcommands(YARN)
        .bare(&[Network])
        .hatch(bare_install),
    command(&["pnpm"])
        .lenient()
        .global()
        .values("F")
        .long_values(&["filter", "workspace-concurrency", "reporter", "loglevel"])
        .options(&[
            opt("v", "").info(),
            opt("C", "dir").chdir(),
            opt("", "script-shell").value().opaque(Cause::ExecOption),
            opt("", "config").value(),
        ])
        .subcommands(PNPM),
    command(&["corepack"]).classes(&[Network, FileWrite]).lenient(),
    command(&["nvm", "fnm", "volta", "n", "sdk", "goenv", "tfenv", "asdf", "mise"])
        .posix()
        .lenient()
        .hatch(version_manager),
    command(&[
        "lerna",
        "turbo",
        "ng",
        "vue",
        "vue-cli-service",
        "next",
        "nuxt",
        "nuxi",
        "gatsby",
        "astro",
        "svelte-kit",
        "remix",
        "vite",
        "webpack",
        "webpack-cli",
        "rollup",
        "esbuild",
        "swc",
        "parcel",
        "tsup",
        "rspack",
        "babel",
        "browserify",
        "expo",
        "eas",
        "react-native",
        "ionic",
        "cap",
        "electron",
        "storybook",
        "start-storybook",
        "plop",
        "yo",
        "nest",
        "wait-on",
        "changeset",
        "semantic-release",
        "release-it",
        "standard-version",
        "ncu",
        "npm-check-updates",
        "typedoc",
        "jsdoc",
        "docusaurus",
        "vitepress",
        "vuepress",
        "eleventy",
        "hexo",
        "hugo",
        "zola",
    ])
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[opt("v", "").info()]),
    command(&[
        "nodemon",
        "pm2",
        "concurrently",
        "npm-run-all",
        "run-s",
        "run-p",
        "cross-env",
        "cross-env-shell",
        "dotenv",
        "dotenvx",
        "env-cmd",
        "ts-node-dev",
        "node-dev",
    ])
    .opaque(Cause::PackageScript)
    .posix()
    .lenient()
    .hatch(launcher::script_runner),
    command(&[
        "prisma",
        "drizzle-kit",
        "sequelize",
        "typeorm",
        "knex",
        "graphql-codegen",
        "openapi-generator",
        "openapi-generator-cli",
        "wrangler",
        "vercel",
        "netlify",
        "firebase",
        "serverless",
        "sls",
        "gh-pages",
        "supabase",
        "sentry-cli",
        "codecov",
        "stripe",
        "heroku",
        "fly",
        "flyctl",
        "doppler",
    ])
    .classes(&[Network])
    .opaque(Cause::Configuration)
    .lenient()
    .hatch(removes),
    command(&["tsc", "vue-tsc"])
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("v", "").info(), opt("", "init").adds(&[FileWrite])]),
];

const NPM: &[Row] = &[
    command(&[
        "install",
        "i",
        "in",
        "ins",
        "inst",
        "insta",
        "instal",
        "isnt",
        "isnta",
        "isntal",
        "isntall",
        "add",
        "ci",
        "clean-install",
        "ic",
        "install-clean",
        "install-test",
        "it",
        "cit",
        "update",
        "up",
        "upgrade",
        "udpate",
        "dedupe",
        "ddp",
        "rebuild",
        "rb",
        "link",
        "ln",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient()
    .options(NPM_OPTIONS),
    command(&["uninstall", "un", "unlink", "remove", "rm", "r", "prune"])
        .classes(&[Network, FileModify, Destructive])
        .lenient()
        .options(&[opt("", "dry-run").drops(&[FileModify, Destructive])]),
    command(&["test", "t", "tst", "start", "stop", "restart"]).posix().opaque(Cause::PackageScript).lenient(),
    command(&["run", "run-script", "rum", "urn"]).posix().lenient().hatch(script),
    command(&["exec", "x"])
        .posix()
        .classes(&[Network])
        .tool("run_command")
        .opaque(Cause::PackageScript)
        .lenient()
        .hatch(launcher::operands_run),
    command(&["init", "create", "innit"]).classes(&[FileWrite]).lenient().hatch(initializer),
    command(&[
        "view",
        "info",
        "show",
        "v",
        "search",
        "s",
        "se",
        "find",
        "outdated",
        "audit",
        "fund",
        "ping",
        "whoami",
        "doctor",
        "dist-tag",
        "dist-tags",
        "owner",
        "author",
        "access",
        "team",
        "token",
        "profile",
        "org",
        "ogr",
        "hook",
        "star",
        "stars",
        "unstar",
        "login",
        "adduser",
        "add-user",
        "logout",
        "deprecate",
        "undeprecate",
        "repo",
        "bugs",
        "issues",
        "docs",
        "home",
        "diff",
        "sbom",
        "trust",
    ])
    .classes(&[Network])
    .lenient()
    .hatch(audit_fix),
    command(&["publish", "stage"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
    command(&["unpublish"])
        .classes(&[Network, Destructive])
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[Destructive])]),
    command(&["pack"])
        .classes(&[FileWrite])
        .opaque(Cause::PackageScript)
        .lenient()
        .options(&[opt("", "dry-run").drops(&[FileWrite])]),
    command(&["version", "verison"])
        .classes(&[FileModify, GitWrite])
        .bare(&[])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["pkg", "set", "shrinkwrap", "completion"]).classes(&[FileModify]).lenient().hatch(reading_verb),
    command(&["config", "c"]).lenient().hatch(setting_verb),
    command(&[
        "get",
        "ls",
        "list",
        "la",
        "ll",
        "root",
        "bin",
        "prefix",
        "help",
        "help-search",
        "explain",
        "why",
        "query",
        "-l",
    ])
    .classes(&[FileRead])
    .lenient()
    .options(NPM_OPTIONS),
    command(&["cache"]).lenient().hatch(cleaning_verb),
    command(&["edit", "explore"]).opaque(Cause::ExecOption).lenient(),
];

const YARN: &[Row] = &[
    command(&[
        "install",
        "add",
        "upgrade",
        "up",
        "upgrade-interactive",
        "import",
        "link",
        "dedupe",
        "rebuild",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient()
    .options(&[opt("", "offline").drops(&[Network])]),
    command(&["global", "set", "plugin"])
        .classes(&[Network, FileModify])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["remove"]).classes(&[Network, FileModify, Destructive]).lenient(),
    command(&["create"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
    command(&["dlx"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .posix()
        .lenient()
        .hatch(launcher::fetched),
    command(&["publish", "npm"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
    command(&["info", "outdated", "audit", "owner", "login", "logout", "tag", "team"])
        .classes(&[Network])
        .lenient(),
    command(&["pack", "init"]).classes(&[FileWrite]).lenient(),
    command(&["version"]).classes(&[FileModify, GitWrite]).lenient(),
    command(&["list", "why", "bin", "help", "licenses", "versions", "check", "explain"])
        .classes(&[FileRead])
        .lenient(),
    command(&["stage"]).classes(&[GitWrite]).lenient(),
    command(&["config"]).lenient().hatch(setting_verb),
    command(&["cache"]).lenient().hatch(cleaning_verb),
    command(&["autoclean", "unlink"]).classes(&[Destructive]).lenient(),
    // Anything else is a script of the project.
    command(&["exec"]).posix().opaque(Cause::PackageScript).lenient().hatch(launcher::operands_run),
    command(&["*"]).posix().opaque(Cause::PackageScript).lenient(),
];

const PNPM: &[Row] = &[
    command(&[
        "install",
        "i",
        "add",
        "update",
        "up",
        "upgrade",
        "fetch",
        "import",
        "link",
        "ln",
        "rebuild",
        "rb",
        "dedupe",
        "patch",
        "patch-commit",
        "install-test",
        "it",
        "self-update",
        "env",
        "deploy",
        "approve-builds",
    ])
    .classes(&[Network])
    .opaque(Cause::PackageScript)
    .lenient()
    .options(&[opt("", "offline").drops(&[Network])]),
    command(&["remove", "rm", "uninstall", "un", "unlink", "prune"])
        .classes(&[Network, FileModify, Destructive])
        .lenient(),
    command(&["create"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
    command(&["dlx"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .posix()
        .lenient()
        .hatch(launcher::fetched),
    command(&["publish"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
    command(&["outdated", "audit", "view", "info", "search", "whoami", "ping"]).classes(&[Network]).lenient(),
    command(&[
        "list",
        "ls",
        "ll",
        "la",
        "why",
        "licenses",
        "root",
        "bin",
        "help",
        "cat-file",
        "cat-index",
        "find-hash",
    ])
    .classes(&[FileRead])
    .lenient(),
    command(&["server"]).opaque(Cause::PackageScript).lenient(),
    command(&["config", "c"]).lenient().hatch(setting_verb),
    command(&["store", "cache"]).lenient().hatch(cleaning_verb),
    command(&["pack", "init", "setup"]).classes(&[FileWrite]).lenient(),
    command(&["exec"]).posix().opaque(Cause::PackageScript).lenient().hatch(launcher::operands_run),
    command(&["*"]).posix().opaque(Cause::PackageScript).lenient(),
];

/// `npm run` alone lists the scripts.
fn script<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operands.is_empty() && call.words.len() <= 1 {
        findings.add(FileRead, call.name.span());
    } else {
        findings.opaque(Cause::PackageScript, call.name.span());
    }
}

/// `yarn` alone installs.
fn bare_install<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operands.is_empty() && !call.info {
        findings.opaque(Cause::PackageScript, call.name.span());
    }
}

/// `npm init NAME` fetches and runs `create-NAME`.
fn initializer<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if let Some(word) = call.operands.first() {
        findings.add(Network, word.span());
        findings.opaque(Cause::PackageScript, word.span());
    }
}

/// `npm audit fix` changes what is installed.
fn audit_fix<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.name.text() == Some("audit") && call.operand(0) == Some("fix") {
        findings.add(FileModify, call.name.span());
        findings.opaque(Cause::PackageScript, call.name.span());
    }
}

fn reading_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if matches!(call.operand(0), Some("get")) || call.name.text() == Some("completion") {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
        findings.add(FileRead, call.name.span());
    }
}

/// `config set|delete|edit`: a setting may name a shell or an editor that later commands run.
fn setting_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("get" | "list" | "ls" | "help") | None
            if !call.operands.first().is_some_and(|word| word.is_dynamic()) =>
        {
            findings.add(FileRead, call.name.span());
        }
        Some("edit") => findings.opaque(Cause::Editor, call.name.span()),
        _ => findings.add(FileModify, call.name.span()),
    }
}

fn cleaning_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("clean" | "rm" | "clear" | "prune" | "purge" | "delete" | "remove") => {
            findings.add(Destructive, call.name.span());
        }
        Some("add") => findings.add(Network, call.name.span()),
        Some("ls" | "list" | "dir" | "path" | "status" | "verify") => {
            findings.add(FileRead, call.name.span());
        }
        _ => {}
    }
}

/// nvm, fnm, asdf, mise …: install fetches, exec runs, uninstall removes.
fn version_manager<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    match call.operand(0) {
        Some(
            "install" | "i" | "ls-remote" | "list-remote" | "list-all" | "upgrade" | "update" | "plugin"
            | "plugins" | "plugin-add" | "self" | "self-update" | "fetch" | "latest" | "lts" | "stable",
        ) => {
            findings.add(Network, span);
            findings.unknown_path(FileWrite, span);
        }
        Some("uninstall" | "rm" | "remove" | "prune") => findings.add(Destructive, span),
        Some("exec" | "x" | "run" | "r" | "shell" | "reshim" | "tasks" | "watch") => {
            findings.opaque(Cause::PackageScript, span);
            launcher::run_verb(call, findings);
        }
        Some("default" | "global" | "local" | "alias" | "pin" | "set" | "trust" | "flush") => {
            findings.add(FileModify, span)
        }
        Some(
            "ls" | "list" | "current" | "which" | "where" | "version" | "versions" | "info" | "help"
            | "doctor" | "env" | "root" | "bin-paths" | "settings",
        ) => findings.add(FileRead, span),
        _ => {}
    }
}

/// Verbs of platform clients that take something away.
fn removes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let removes = |text: &str| {
        let verb = text.rsplit(':').next().unwrap_or(text);
        matches!(
            verb,
            "delete" | "remove" | "rm" | "destroy" | "reset" | "purge" | "drop" | "unset" | "disable"
        )
    };
    if call.operands.iter().take(3).any(|word| word.text().is_some_and(removes)) {
        findings.add(Destructive, call.name.span());
    }
}
