//! The pure core builds alone (`--no-default-features --features core`), and stays free of what the program needs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The dependencies that the core has.
const CORE: &[&str] = &[
    "fast-glob",
    "indexmap",
    "rmp-serde",
    "serde",
    "serde_json",
    "shell-words",
    "thiserror",
    "tree-sitter",
    "tree-sitter-bash",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_the_core_does_not_need_is_optional() {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Value = toml::from_str(&text).unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    let full: Vec<&str> =
        manifest["features"]["full"].as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect();
    for (name, value) in dependencies {
        let optional = value.get("optional").and_then(toml::Value::as_bool).unwrap_or(false);
        assert_eq!(optional, !CORE.contains(&name.as_str()), "{name}");
        assert_eq!(optional, full.contains(&format!("dep:{name}").as_str()), "{name} in the feature `full`");
    }
}

/// Whether a build can be written here; CI runs the tests a second time as another user.
fn is_writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".core-{}", std::process::id()));
    let written = std::fs::write(&probe, b"").is_ok();
    let _ = std::fs::remove_file(probe);
    written
}

#[test]
fn the_core_builds_alone() {
    // The program's own build directory, so that nothing is compiled twice; the lock is free while tests run.
    let Some(target) = Path::new(env!("CARGO_BIN_EXE_swbox")).ancestors().nth(3) else { panic!() };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Another user may have no cargo, or none with the sources of the dependencies.
    let has_sources = Command::new(&cargo)
        .args(["tree", "--quiet", "--locked", "--offline", "--no-default-features", "--features", "core"])
        .current_dir(root())
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_sources || !is_writable(target) {
        let why =
            if has_sources { "the build directory cannot be written" } else { "cargo has not what it needs" };
        eprintln!("SKIP the_core_builds_alone: {why}");
        let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "cargo"), "{why}");
        return;
    }
    let output = Command::new(cargo)
        .args(["check", "--quiet", "--locked", "--offline", "--no-default-features", "--features", "core"])
        .args(["--lib", "--target-dir"])
        .arg(target)
        .current_dir(root())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{text}");
}
