//! Python: packages, environments and what they start.

use crate::classify::findings::Findings;
use crate::classify::hatch::launcher;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{OptionSpec, Role, Row, command, opt};

const PIP_OPTIONS: &[OptionSpec<'static>] = &[
    opt("", "log").role(Role::Write),
    opt("", "python").value().opaque(Cause::ExecOption),
    opt("", "report").role(Role::Write),
    opt("r", "requirement").role(Role::Read),
    opt("c", "constraint").role(Role::Read),
    opt("V", "").info(),
    opt("h", "").info(),
];

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["pip", "pip3", "pip2", "pip3.8", "pip3.9", "pip3.10", "pip3.11", "pip3.12", "pip3.13"])
        .lenient()
        .global()
        .values("ietfb")
        .long_values(&[
            "proxy",
            "timeout",
            "retries",
            "cache-dir",
            "index-url",
            "extra-index-url",
            "find-links",
            "target",
            "root",
            "prefix",
            "editable",
            "trusted-host",
            "format",
            "exclude",
            "path",
            "no-binary",
            "only-binary",
            "platform",
            "python-version",
            "dest",
            "wheel-dir",
            "cert",
            "client-cert",
            "upgrade-strategy",
            "config-settings",
            "global-option",
            "progress-bar",
        ])
        .options(PIP_OPTIONS)
        .subcommands(PIP),
    command(&["pipx"]).lenient().subcommands(&[
        command(&["run"])
            .classes(&[Network])
            .opaque(Cause::PackageScript)
            .posix()
            .lenient()
            .hatch(launcher::fetched),
        command(&["runpip"]).classes(&[Network]).opaque(Cause::PackageScript).posix().lenient(),
        command(&[
            "install",
            "inject",
            "upgrade",
            "upgrade-all",
            "reinstall",
            "reinstall-all",
            "install-all",
        ])
        .classes(&[Network, FileWrite])
        .opaque(Cause::PackageScript)
        .lenient(),
        command(&["uninstall", "uninstall-all", "uninject"]).classes(&[Destructive]).lenient(),
        command(&["list", "environment", "help", "completions"]).classes(&[FileRead]).lenient(),
        command(&["pin", "unpin"]).classes(&[FileModify]).lenient(),
        command(&["ensurepath"]).classes(&[FileModify]).lenient(),
    ]),
    command(&["uv"])
        .lenient()
        .global()
        .long_values(&["cache-dir", "color", "config-file", "allow-insecure-host"])
        .options(&[opt("", "directory").chdir(), opt("", "project").value(), opt("V", "").info()])
        .subcommands(UV),
    command(&["uvx"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .posix()
        .lenient()
        .hatch(launcher::fetched),
    command(&["poetry"])
        .lenient()
        .options(&[opt("C", "directory").chdir(), opt("P", "project").value(), opt("V", "").info()])
        .subcommands(POETRY),
    command(&["pipenv"]).lenient().subcommands(&[
        command(&["run"]).wrapper().operands(Role::Command),
        command(&["shell", "open", "scripts"]).opaque(Cause::PackageScript).lenient(),
        command(&["install", "sync", "update", "upgrade", "lock"])
            .classes(&[Network])
            .opaque(Cause::PackageScript)
            .lenient(),
        command(&["uninstall", "clean"]).classes(&[Network, Destructive]).lenient(),
        command(&["graph", "verify", "requirements", "--venv", "--where"]).classes(&[FileRead]).lenient(),
        command(&["check", "audit"]).classes(&[Network]).lenient(),
    ]),
    command(&["pdm", "hatch", "rye", "flit", "pip-compile", "pip-sync", "pip-audit", "pip-licenses"])
        .posix()
        .lenient()
        .opaque(Cause::PackageScript)
        .hatch(project_tool),
    command(&["conda", "mamba", "micromamba", "anaconda", "conda-lock"])
        .lenient()
        .switches("hVyqv")
        .subcommands(CONDA),
    command(&["activate", "deactivate", "workon", "mkvirtualenv", "rmvirtualenv"]).lenient(),
    command(&["pyenv", "pyenv-virtualenv", "pipsi"]).lenient().hatch(pyenv),
    command(&["virtualenv", "venv", "pyvenv"]).classes(&[FileWrite]).lenient(),
    command(&["twine", "keyring", "pypi-attestations"]).classes(&[Network]).lenient(),
    command(&[
        "django-admin",
        "manage.py",
        "flask",
        "alembic",
        "celery",
        "airflow",
        "dbt",
        "dvc",
        "mlflow",
        "scrapy",
        "streamlit",
        "gradio",
        "jupyter",
        "jupyter-lab",
        "jupyter-notebook",
        "papermill",
        "prefect",
        "dagster",
        "snakemake",
        "nextflow",
        "fabric",
        "cookiecutter",
        "copier",
        "bumpversion",
        "bump2version",
        "bump-my-version",
        "pyinstaller",
        "nuitka",
        "zipapp",
        "setup.py",
        "pybabel",
        "pydoc",
        "pydoc3",
        "2to3",
        "accelerate",
        "torchrun",
        "deepspeed",
        "huggingface-cli",
        "ollama",
        "vllm",
        "llama-cli",
        "spacy",
        "ray",
        "wandb",
        "tensorboard",
        "kaggle",
        "gdown",
        "datasette",
        "sqlite-utils",
        "openai",
        "aider",
        "llm",
    ])
    .opaque(Cause::Interpreter)
    .lenient()
    .hatch(model_client),
    command(&[
        "sphinx-build",
        "sphinx-apidoc",
        "sphinx-quickstart",
        "sphinx-autobuild",
        "mkdocs",
        "pdoc",
        "pdoc3",
        "doxygen",
    ])
    .classes(&[FileWrite])
    .opaque(Cause::BuildTool)
    .lenient(),
];

const PIP: &[Row] = &[
    // Building a source distribution runs its setup.
    command(&["install"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient()
        .options(&[opt("", "dry-run"), opt("", "no-index").drops(&[Network])]),
    command(&["download", "wheel", "lock"])
        .classes(&[Network, FileWrite])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["uninstall"]).classes(&[Destructive]).lenient(),
    command(&["search", "index"]).classes(&[Network]).lenient(),
    command(&["list", "show", "freeze", "check", "inspect", "debug", "help", "completion"])
        .classes(&[FileRead])
        .lenient()
        .hatch(outdated),
    command(&["hash"]).lenient().operands(Role::Read),
    command(&["config"]).lenient().hatch(config),
    command(&["cache"]).lenient().hatch(cache),
];

const UV: &[Row] = &[
    command(&["run"])
        .wrapper()
        .switches("nqvims")
        .longs(&[
            "frozen",
            "locked",
            "no-sync",
            "isolated",
            "offline",
            "quiet",
            "verbose",
            "no-project",
            "all-extras",
            "dev",
            "no-dev",
            "only-dev",
            "no-cache",
            "active",
            "exact",
            "native-tls",
            "no-config",
            "managed-python",
            "no-editable",
            "all-groups",
            "all-packages",
            "no-env-file",
            "refresh",
            "upgrade",
            "reinstall",
            "no-progress",
            "preview",
            "no-default-groups",
        ])
        .values("pwfCP")
        .long_values(&[
            "python",
            "with",
            "with-requirements",
            "with-editable",
            "extra",
            "group",
            "only-group",
            "no-group",
            "no-extra",
            "package",
            "index",
            "index-url",
            "default-index",
            "extra-index-url",
            "cache-dir",
            "refresh-package",
            "upgrade-package",
            "reinstall-package",
            "resolution",
            "prerelease",
            "link-mode",
            "color",
            "env-file",
            "directory",
            "project",
            "config-file",
        ])
        .options(&[
            opt("m", "module").value().opaque(Cause::Interpreter),
            opt("s", "script").opaque(Cause::Interpreter),
            opt("", "gui-script").opaque(Cause::Interpreter),
        ])
        .operands(Role::Command)
        .hatch(script_or_url),
    command(&["pip"]).lenient().subcommands(&[
        command(&["install", "sync", "compile"])
            .classes(&[Network])
            .opaque(Cause::PackageScript)
            .lenient()
            .options(&[opt("o", "output-file").role(Role::Write), opt("", "offline").drops(&[Network])]),
        command(&["uninstall"]).classes(&[Destructive]).lenient(),
        command(&["list", "show", "freeze", "check", "tree"])
            .classes(&[FileRead])
            .lenient()
            .options(&[opt("", "outdated").adds(&[Network])]),
    ]),
    command(&["sync", "add", "lock", "remove", "build"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient()
        .options(&[opt("", "offline").drops(&[Network])]),
    command(&["tool"]).lenient().subcommands(&[
        command(&["run"])
            .classes(&[Network])
            .opaque(Cause::PackageScript)
            .posix()
            .lenient()
            .hatch(launcher::fetched),
        command(&["install", "upgrade"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
        command(&["uninstall"]).classes(&[Destructive]).lenient(),
        command(&["list", "dir"]).classes(&[FileRead]).lenient(),
        command(&["update-shell"]).classes(&[FileModify]).lenient(),
    ]),
    command(&["python"]).lenient().subcommands(&[
        command(&["install", "upgrade"]).classes(&[Network, FileWrite]).lenient(),
        command(&["uninstall"]).classes(&[Destructive]).lenient(),
        command(&["pin"]).classes(&[FileWrite]).lenient(),
        command(&["list", "find", "dir"]).classes(&[FileRead]).lenient(),
    ]),
    command(&["venv", "init"]).classes(&[FileWrite]).lenient(),
    command(&["publish", "self", "auth"]).classes(&[Network]).lenient(),
    command(&["cache"]).lenient().hatch(cache),
    // `uv version 1.2.0` writes the project file.
    command(&["version"])
        .classes(&[FileModify])
        .bare(&[FileRead])
        .lenient()
        .options(&[opt("", "bump").value().adds(&[FileModify])]),
    command(&["tree", "export", "help", "generate-shell-completion"])
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("o", "output-file").role(Role::Write), opt("", "outdated").adds(&[Network])]),
    command(&["format"])
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("", "check").drops(&[FileModify]), opt("", "diff").drops(&[FileModify])]),
];

const POETRY: &[Row] = &[
    command(&["run"]).wrapper().operands(Role::Command).hatch(script_or_url),
    command(&["add", "install", "update", "lock", "sync", "publish", "search", "self"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["remove"]).classes(&[Network, FileModify]).lenient(),
    command(&["build"]).classes(&[FileWrite]).opaque(Cause::BuildTool).lenient(),
    command(&["new", "init", "export"]).classes(&[FileWrite]).lenient(),
    command(&["shell"]).opaque(Cause::Interpreter).lenient(),
    command(&["show", "check", "about", "help", "list", "debug"])
        .classes(&[FileRead])
        .lenient()
        .options(&[opt("l", "latest").adds(&[Network]), opt("o", "outdated").adds(&[Network])]),
    // `poetry version patch` writes the project file.
    command(&["version"]).classes(&[FileModify]).bare(&[FileRead]).lenient(),
    command(&["config", "source"]).lenient().hatch(config),
    command(&["env"]).lenient().hatch(cache),
    command(&["cache"]).lenient().hatch(cache),
];

const CONDA: &[Row] = &[
    command(&["install", "create", "update", "upgrade", "search", "notices"])
        .classes(&[Network])
        .opaque(Cause::PackageScript)
        .lenient(),
    command(&["remove", "uninstall", "clean"])
        .classes(&[Destructive])
        .lenient()
        .options(&[opt("d", "dry-run").drops(&[Destructive])]),
    command(&["run"])
        .wrapper()
        .switches("v")
        .longs(&["live-stream", "no-capture-output", "verbose", "dev", "debug-wrapper-scripts"])
        .values("np")
        .long_values(&["name", "prefix", "cwd"])
        .operands(Role::Command),
    command(&["env"]).lenient().subcommands(&[
        command(&["create", "update"]).classes(&[Network]).opaque(Cause::PackageScript).lenient(),
        command(&["remove"]).classes(&[Destructive]).lenient(),
        command(&["list"]).classes(&[FileRead]).lenient(),
        command(&["config"]).lenient(),
        command(&["export"]).lenient().options(&[opt("f", "file").role(Role::Write)]),
    ]),
    command(&["list", "info", "doctor", "compare", "help"]).classes(&[FileRead]).lenient(),
    command(&["activate", "deactivate", "export", "shell", "repoquery"]).lenient(),
    command(&["init", "config", "rename", "package", "pack"])
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("", "show").drops(&[FileModify]), opt("", "get").drops(&[FileModify])]),
    command(&["build", "develop", "self-update"]).classes(&[Network]).opaque(Cause::BuildTool).lenient(),
];

/// `pip list --outdated` asks the index.
fn outdated<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call
        .words
        .iter()
        .any(|arg| matches!(arg.value.literal(), Some("-o" | "--outdated" | "-u" | "--uptodate")))
    {
        findings.add(Network, call.name.span());
    }
}

fn config<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let first = call.operand(0);
    let reads = matches!(first, Some("list" | "get" | "debug" | "show"))
        || call.words.iter().any(|arg| arg.value.literal() == Some("--list"));
    if first == Some("edit") {
        findings.opaque(Cause::Editor, call.name.span());
    } else if !reads && call.operands.len() > 1 {
        findings.add(FileModify, call.name.span());
    } else {
        findings.add(FileRead, call.name.span());
    }
}

fn cache<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    match call.operand(0) {
        Some("purge" | "remove" | "clean" | "clear" | "prune") => findings.add(Destructive, call.name.span()),
        Some("use") => findings.unknown_path(FileWrite, call.name.span()),
        Some("info" | "list" | "dir" | "size" | "activate") => findings.add(FileRead, call.name.span()),
        _ => {}
    }
}

/// `uv run x.py`, `uv run https://…`: a script by path is code, not a program of the tables.
fn script_or_url<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let Some(word) = call.operands.first() else { return };
    let known = word.known_prefix();
    if known.starts_with("http://") || known.starts_with("https://") {
        findings.host(*word);
        findings.opaque(Cause::Interpreter, word.span());
    } else if known.ends_with(".py") || known == "-" {
        findings.opaque(Cause::Interpreter, word.span());
    }
}

/// pdm, hatch, rye …: they run hooks of the project in nearly every command.
fn project_tool<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    launcher::run_verb(call, findings);
    match call.operand(0) {
        Some(
            "install" | "add" | "update" | "sync" | "lock" | "publish" | "fetch" | "self" | "dep" | "tools"
            | "toolchain",
        ) => findings.add(Network, call.name.span()),
        Some("remove" | "clean" | "cache") => findings.add(Destructive, call.name.span()),
        _ => {
            if call.name.text().is_some_and(|name| name.starts_with("pip-")) {
                findings.add(Network, call.name.span());
            }
        }
    }
}

fn pyenv<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let span = call.name.span();
    match call.operand(0) {
        Some("install" | "update") => {
            findings.add(Network, span);
            findings.opaque(Cause::BuildTool, span);
        }
        Some("uninstall" | "virtualenv-delete") => findings.add(Destructive, span),
        Some("exec") => findings.run(call.words.get(1..).unwrap_or(&[])),
        // Without a version they show the one in force.
        Some("global" | "local") if call.operands.len() == 1 => findings.add(FileRead, span),
        Some("global" | "local" | "rehash" | "virtualenv") => findings.add(FileModify, span),
        Some("version" | "versions" | "which" | "whence" | "root" | "prefix" | "commands" | "shims") => {
            findings.add(FileRead, span);
        }
        _ => {}
    }
}

/// Clients that fetch models, data sets or answers.
fn model_client<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("");
    if matches!(
        name,
        "huggingface-cli" | "ollama" | "kaggle" | "gdown" | "wandb" | "openai" | "aider" | "llm"
    ) {
        findings.add(Network, call.name.span());
    }
    if matches!((name, call.operand(0)), ("ollama", Some("rm")) | ("huggingface-cli", Some("delete-cache"))) {
        findings.add(Destructive, call.name.span());
    }
    let row_reads = matches!((name, call.operand(0)), ("pydoc" | "pydoc3", Some(_)));
    if row_reads {
        findings.add(FileRead, call.name.span());
    }
}
