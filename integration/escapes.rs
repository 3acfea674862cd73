//! The escape battery (`integration/escapes/`) with swbox as the wrapper: no probe may escape, and each must escape bare.
//!
//! One state runs here; the full cross of states and users is `cargo test --test escapes -- --ignored`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ORDINARY: u32 = 65534;

/// A world-readable copy of the battery and of swbox, so that an ordinary user can run both; removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        // Not below /tmp or HOME, which are private inside: the probes' outside must be a real one.
        let base = if rustix::process::geteuid().is_root() { "/srv" } else { env!("CARGO_TARGET_TMPDIR") };
        let place = Path::new(base).join(format!("swbox-{name}-{}", std::process::id()));
        fs::create_dir_all(place.join("bin")).unwrap();
        let battery = Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/escapes");
        run(Command::new("cp").arg("-r").arg(battery).arg(&place));
        fs::copy(env!("CARGO_BIN_EXE_swbox"), place.join("bin/swbox")).unwrap();
        fs::create_dir(place.join("arena")).unwrap();
        Self(place)
    }

    fn battery(&self) -> PathBuf {
        self.0.join("escapes")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// Whether this host has what the probes are built and run with.
fn can_run(test: &str) -> bool {
    let missing: Vec<_> = ["python3", "cc", "make", "git"]
        .into_iter()
        .filter(|program| {
            let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
            !found.is_ok_and(|status| status.success())
        })
        .collect();
    if missing.is_empty() {
        return true;
    }
    assert!(!std::env::var("SWBOX_REQUIRE").unwrap_or_default().contains("escapes"), "{missing:?} missing");
    println!("SKIP {test}: needs {}", missing.join(", "));
    false
}

/// Runs the battery in `state` as `uid`, watched as `observe` says, and gives its result.
fn battery(place: &Place, state: &str, uid: Option<u32>, observe: &str) -> serde_json::Value {
    let result = place.battery().join(format!("{state}.json"));
    let mut command = match uid {
        Some(uid) => {
            run(Command::new("chown").args(["-R", &format!("{uid}:{uid}")]).arg(&place.0));
            let mut command = Command::new("setpriv");
            command.args([&format!("--reuid={uid}"), &format!("--regid={uid}"), "--clear-groups", "python3"]);
            // An own Python of root's is out of an ordinary user's reach.
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env_remove("HOME");
            command
        }
        None => Command::new("python3"),
    };
    let output = command
        .arg(place.battery().join("battery.py"))
        .args(["--state", state, "--preset", "swbox", "--arena-root"])
        .arg(place.0.join("arena"))
        .arg("--json")
        .arg(&result)
        .env("SWBOX", place.0.join("bin/swbox"))
        .env("SWBOX_OBSERVE", observe)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let found = fs::read(&result).unwrap_or_else(|_| {
        panic!("the battery ended without a result: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    serde_json::from_slice(&found).unwrap()
}

fn holds(result: &serde_json::Value, at_least: u64) {
    let rows = result["rows"].as_array().unwrap();
    let failed: Vec<_> = rows
        .iter()
        .filter(|row| row["outcome"] == "FAIL")
        .map(|row| format!("{} {} {}", row["id"], row["verdict"], row["detail"]))
        .collect();
    println!(
        "state {} uid {}: {} passed, {} failed",
        result["state"], result["uid"], result["passed"], result["failed"]
    );
    assert!(failed.is_empty(), "{failed:#?}");
    // Each counted probe escaped without the jail; a host where few do would prove little.
    assert!(result["passed"].as_u64().unwrap() >= at_least, "only {} probes count here", result["passed"]);
}

#[test]
fn nothing_escapes_from_implementing() {
    if can_run("nothing_escapes_from_implementing") {
        holds(&battery(&Place::new("escapes"), "B", None, "auto"), 100);
    }
}

#[test]
#[ignore = "a quarter of an hour: cargo test --test escapes -- --ignored"]
fn nothing_escapes_from_any_state_as_any_user() {
    assert!(can_run("nothing_escapes_from_any_state_as_any_user"));
    for state in ["A", "B", "C"] {
        holds(&battery(&Place::new("escapes-all"), state, None, "auto"), 100);
        if rustix::process::geteuid().is_root() {
            holds(&battery(&Place::new("escapes-user"), state, Some(ORDINARY), "auto"), 100);
        }
    }
}

#[test]
#[ignore = "ten minutes: cargo test --test escapes watched -- --ignored"]
fn nothing_escapes_from_a_watched_command() {
    assert!(can_run("nothing_escapes_from_a_watched_command"));
    for observe in ["off", "notify", "reads", "trace"] {
        println!("watched: {observe}");
        holds(&battery(&Place::new("escapes-watched"), "B", None, observe), 100);
    }
}
