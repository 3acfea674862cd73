//! Every command of the README, run as it stands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of the `sh` blocks.
fn commands() -> Vec<String> {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// The `text` block: what a refusal looks like.
fn refusal() -> String {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    text.split("```text\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

/// Runs a line as a user would, in the clone, with a HOME of its own.
fn run(line: &str, home: &Path) -> Output {
    let real = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    let place = |name: &str, below: &str| std::env::var(name).unwrap_or_else(|_| format!("{real}/{below}"));
    let built = Path::new(env!("CARGO_BIN_EXE_swbox")).parent().unwrap().display().to_string();
    let path = format!("{built}:{}", std::env::var("PATH").unwrap());
    // The install command builds with the artefacts that are there, and installs below this HOME.
    Command::new("/bin/bash")
        .args(["-c", line])
        .current_dir(root())
        .stdin(Stdio::null())
        .env("HOME", home)
        .env("PATH", path)
        .env("CARGO_HOME", place("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", place("RUSTUP_HOME", ".rustup"))
        .env("CARGO_INSTALL_ROOT", home.join(".cargo"))
        .output()
        .unwrap()
}

#[test]
fn every_command_of_the_readme_works() {
    let home = PathBuf::from(format!("/var/tmp/swbox-readme-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    let skip_install = std::env::var_os("SWBOX_SKIP_README").is_some();
    let (mut ran, mut skipped) = (0, 0);
    for line in commands() {
        // The test suite cannot run itself; `.ci/run` is what runs this test.
        let itself = line == ".ci/run";
        if itself {
            assert!(root().join(".ci/run").is_file());
        }
        let installs = line.starts_with("cargo install");
        if itself || (installs && skip_install) {
            skipped += 1;
            continue;
        }
        let output = run(&line, &home);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}: {}\n{stdout}\n{stderr}", output.status);
        if installs {
            assert!(stdout.starts_with("# swbox\n\nA drop-in"), "{stdout}");
            assert!(stderr.ends_with(&refusal()), "{stderr}");
            assert!(home.join(".cargo/bin/swbox").is_file());
        }
        ran += 1;
    }
    if skip_install {
        println!(
            "SKIP every_command_of_the_readme_works: SWBOX_SKIP_README is set, the install command was not run"
        );
    }
    fs::remove_dir_all(&home).unwrap();
    assert!(ran >= 8 && skipped <= 2, "{ran} ran, {skipped} skipped");
}

#[test]
fn the_refusal_of_the_readme_is_what_swbox_says() {
    let home = PathBuf::from(format!("/var/tmp/swbox-readme-refusal-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    let output = run("swbox exec --state planning -c 'cat > config.yml'", &home);
    fs::remove_dir_all(&home).unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(String::from_utf8_lossy(&output.stderr), refusal());
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)).into();
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if !file.is_empty() && !file.contains("://") {
                let place = page.parent().unwrap().join(file);
                assert!(place.exists(), "{}: {target} leads nowhere", page.display());
            }
        }
    }
}
