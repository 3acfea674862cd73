//! Rust: cargo and rustup.

use crate::classify::findings::Findings;
use crate::classify::op::OpClass::{Destructive, FileModify, FileRead, FileWrite, Network};
use crate::classify::opacity::Cause;
use crate::classify::options::Call;
use crate::classify::spec::{Role, Row, command, opt};

/// The rows of this family.
pub const ROWS: &[Row] = &[
    command(&["cargo", "cross", "cargo-zigbuild"])
        .lenient()
        .global()
        .switches("vqlh")
        .longs(&["verbose", "quiet", "locked", "offline", "frozen"])
        .values("Z")
        .long_values(&["color"])
        .options(&[
            opt("C", "").chdir(),
            // A setting may name a wrapper, linker, runner or alias.
            opt("", "config").value().opaque(Cause::ExecOption),
            opt("V", "").info(),
            opt("", "list").info(),
            opt("", "explain").value().info(),
        ])
        .subcommands(CARGO_ALL),
    command(&["rustup", "rustup-init"]).lenient().options(&[opt("V", "").info()]).subcommands(RUSTUP),
    command(&["rustfmt"])
        .closed()
        .stdin_filter()
        .classes(&[FileModify])
        .bare(&[])
        .lenient()
        .options(&[
            opt("", "check").drops(&[FileModify]),
            opt("", "emit").value().drops(&[FileModify]).only(&["stdout"]),
            opt("", "config-path").value(),
            opt("", "edition").value(),
            opt("", "config").value(),
        ])
        .operands(Role::Read),
    command(&[
        "rust-analyzer",
        "rustdoc",
        "clippy-driver",
        "wasm-pack",
        "wasm-bindgen",
        "cargo-generate",
        "maturin",
        "tauri",
    ])
    .opaque(Cause::BuildTool)
    .lenient(),
    command(&["cargo-fmt"]).classes(&[FileModify]).lenient().hatch(formats),
    command(&["cargo-audit", "cargo-binstall", "cargo-outdated"]).classes(&[Network]).lenient(),
];

/// `cargo +nightly test`: the toolchain, then as ever.
const CARGO_ALL: &[Row] = &[
    // A toolchain by its path is programs of the workspace.
    command(&["+/*", "+.*"]).opaque(Cause::ExecOption).lenient(),
    command(&["+*"]).lenient().subcommands(CARGO),
    CARGO[0],
    CARGO[1],
    CARGO[2],
    CARGO[3],
    CARGO[4],
    CARGO[5],
    CARGO[6],
    CARGO[7],
    CARGO[8],
    CARGO[9],
    CARGO[10],
    CARGO[11],
    CARGO[12],
    CARGO[13],
    CARGO[14],
    CARGO[15],
];

const CARGO: &[Row] = &[
    command(&[
        "build",
        "b",
        "check",
        "c",
        "clippy",
        "doc",
        "d",
        "rustc",
        "rustdoc",
        "run",
        "r",
        "bench",
        "expand",
        "miri",
        "watch",
        "llvm-cov",
        "tarpaulin",
        "criterion",
        "udeps",
        "bloat",
        "asm",
        "flamegraph",
        "fuzz",
        "geiger",
        "semver-checks",
        "public-api",
        "hack",
        "make",
        "zigbuild",
        "leptos",
        "tauri",
        "wasi",
        "component",
        "ndk",
        "dist",
        "sort",
    ])
    .posix()
    .opaque(Cause::BuildTool)
    .lenient()
    .options(&[opt("", "fix").adds(&[FileModify])])
    .hatch(flags),
    // An alias of the workspace for `cargo run`: also `--help` runs its code.
    command(&["xtask"]).posix().no_info().opaque(Cause::BuildTool).lenient(),
    command(&["test", "t", "nextest", "insta", "mutants"])
        .posix()
        .opaque(Cause::TestRunner)
        .lenient()
        .hatch(flags),
    command(&[
        "fetch",
        "update",
        "search",
        "login",
        "logout",
        "owner",
        "yank",
        "audit",
        "outdated",
        "deny",
        "vet",
        "binstall",
        "info",
        "generate-lockfile",
    ])
    .classes(&[Network])
    .lenient(),
    command(&["add", "upgrade", "vendor"])
        .classes(&[Network, FileModify])
        .lenient()
        .options(&[opt("", "dry-run").drops(&[FileModify])]),
    command(&["remove", "rm", "set-version"])
        .classes(&[FileModify])
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[FileModify])]),
    command(&["install", "publish", "release"]).classes(&[Network]).opaque(Cause::BuildTool).lenient(),
    command(&["package", "pack", "deb", "generate-rpm"])
        .classes(&[FileWrite])
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("l", "list").drops(&[FileWrite])]),
    command(&["uninstall"]).classes(&[Destructive]).lenient(),
    // It asks the compiler, through the workspace's own `rustc-wrapper`, for names of outputs. What it deletes is made again by
    // the next build, so who may build may clean, as with `make clean`; of another directory nobody knows that.
    command(&["clean"])
        .classes(&[Destructive])
        .tool("run_build")
        .opaque(Cause::BuildTool)
        .lenient()
        .options(&[opt("n", "dry-run").drops(&[Destructive]), opt("", "target-dir").value().no_tool()]),
    command(&["fmt", "sort-derives"]).classes(&[FileModify]).lenient().hatch(formats),
    command(&["fix"]).classes(&[FileModify]).opaque(Cause::BuildTool).lenient(),
    command(&["new", "init", "generate", "init-workspace"]).classes(&[FileWrite]).lenient(),
    // They may resolve versions over the network, without `--offline`.
    command(&[
        "metadata",
        "tree",
        "pkgid",
        "locate-project",
        "verify-project",
        "read-manifest",
        "license",
        "about",
        "machete",
        "sbom",
        "cyclonedx",
        "report",
        "modules",
        "msrv",
        "lichking",
        "shear",
    ])
    .classes(&[FileRead])
    .lenient(),
    command(&["help", "version", "-V"]).pure().lenient(),
    command(&["config", "configs"]).classes(&[FileRead]).lenient(),
];

const RUSTUP: &[Row] = &[
    command(&["run"])
        .wrapper()
        .switches("h")
        .longs(&["install"])
        .first(&[Role::Text])
        .operands(Role::Command),
    command(&["update", "self", "check"]).classes(&[Network]).lenient(),
    command(&["toolchain", "target", "component"]).lenient().subcommands(&[
        command(&["install", "add", "update"]).classes(&[Network, FileWrite]).lenient(),
        command(&["uninstall", "remove"]).classes(&[Destructive]).lenient(),
        command(&["link"]).classes(&[FileWrite]).lenient(),
        command(&["list", "help"]).classes(&[FileRead]).lenient(),
    ]),
    command(&["default", "set"]).classes(&[FileModify]).lenient().bare(&[FileRead]),
    command(&["override"]).classes(&[FileModify]).lenient().bare(&[FileRead]).hatch(overrides),
    // They open a browser or a pager.
    command(&["doc", "man"]).lenient(),
    command(&["show", "which", "completions", "help"]).classes(&[FileRead]).lenient(),
    command(&["install"]).classes(&[Network, FileWrite]).lenient(),
    command(&["uninstall"]).classes(&[Destructive]).lenient(),
];

/// `rustup override list` shows.
fn overrides<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operand(0) == Some("list") {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
        findings.add(FileRead, call.name.span());
    }
}

/// Options that stand behind the package's own operands.
fn flags<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for pair in call.words.windows(2) {
        if matches!(pair[0].value.literal(), Some("--target-dir" | "--artifact-dir" | "--out-dir"))
            && pair[1].value.literal().is_none()
        {
            findings.opaque(Cause::UnknownOption, pair[1].span);
        }
    }
    for arg in call.words.iter().take_while(|arg| arg.value.literal() != Some("--")) {
        let known = arg.value.known_prefix();
        if known == "--config" || known.starts_with("--config=") {
            findings.opaque(Cause::ExecOption, arg.span);
        }
        if known == "--fix" || known == "--accept" {
            findings.add(FileModify, arg.span);
        }
    }
}

/// `cargo fmt --check` and `cargo fmt -- --check` change nothing.
fn formats<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.words.iter().any(|arg| matches!(arg.value.literal(), Some("--check" | "--emit=stdout"))) {
        findings.drops(crate::classify::OpSet::of(&[FileModify]));
    }
}
