//! Protections × levels, rendered from the tables that the planner and `doctor` use, for `docs/threat-model.md`.
//!
//! Danger: a document that claims more than the code is believed. So no cell is written by hand: what each shape of the
//! jail achieves comes from `protection::achieved`, and a test holds the document against this rendering.

use std::fmt::Write;

use super::doctor;
use super::outcome::Achieved;
use super::planner::Shape;
use super::protection::{self, name};
use crate::policy::{NetworkRight, Rights, WorkspaceRight};
use crate::profile::Protection;

/// How a protection is made.
struct Means {
    protection: Protection,
    full: &'static str,
    landlock_only: &'static str,
}

const fn means(protection: Protection, full: &'static str, landlock_only: &'static str) -> Means {
    Means { protection, full, landlock_only }
}

const MEANS: [Means; 12] = [
    means(Protection::Reads, "only what is listed is mounted", "Landlock read rights"),
    means(Protection::Writes, "read-only mounts and Landlock", "Landlock write rights"),
    means(Protection::Metadata, "read-only mounts", "seccomp, in states without a write right"),
    means(
        Protection::GitDirectories,
        "read-only mounts, pinned ancestors; end check where git may write",
        "no write right on the workspace",
    ),
    means(Protection::ThrowAway, "overlay with a capped tmpfs", "none: the workspace is read-only"),
    means(Protection::Network, "socket filter; own network namespace", "socket filter"),
    means(Protection::HostSockets, "not mounted; Landlock scope", "socket filter; Landlock scope"),
    means(
        Protection::Processes,
        "PID namespace, own /proc, Landlock scope",
        "Landlock scope and ptrace rule",
    ),
    means(Protection::NoLeftovers, "PID namespace", "process group and subreaper"),
    means(Protection::SystemCalls, "seccomp", "seccomp"),
    means(Protection::Privileges, "no_new_privs, no capabilities", "no_new_privs, no capabilities"),
    means(
        Protection::Secrets,
        "stubs over files, scrubbed environment, closed descriptors",
        "scrubbed environment, closed descriptors",
    ),
];

/// The shapes of the jail, each a column.
const COLUMNS: [(&str, Shape, u32); 4] = [
    ("full", Shape::Full, 7),
    ("full, `/proc` masked", Shape::FullHostProc, 7),
    ("Landlock only, ABI ≥ 6", Shape::LandlockOnly, 6),
    ("Landlock only, ABI 3 to 5", Shape::LandlockOnly, 3),
];

/// The kinds of state that a cell is judged for.
fn states() -> [(&'static str, Rights); 5] {
    let rights =
        |workspace, git_write, network| Rights { workspace, git_write, network, narrowed: Vec::new() };
    [
        ("reading", rights(WorkspaceRight::Read, false, NetworkRight::None)),
        ("testing", rights(WorkspaceRight::ThrowAway, false, NetworkRight::Loopback)),
        ("writing", rights(WorkspaceRight::Write, false, NetworkRight::Loopback)),
        ("committing", rights(WorkspaceRight::Read, true, NetworkRight::None)),
        ("online", rights(WorkspaceRight::Write, false, NetworkRight::Open)),
    ]
}

const fn word(achieved: Achieved) -> &'static str {
    match achieved {
        Achieved::Prevented => "prevented",
        Achieved::Detected => "detected",
        Achieved::Degraded => "**degraded**",
        Achieved::Off => "not asked",
    }
}

/// One cell, and the reasons for what is degraded in it.
fn cell(protection: Protection, shape: Shape, abi: u32, reasons: &mut Vec<&'static str>) -> String {
    let mut groups: Vec<(Achieved, Vec<&str>)> = Vec::new();
    for (state, rights) in states() {
        let (had, reason) = protection::achieved(protection, shape, abi, &rights);
        reasons.extend(reason.filter(|reason| !reasons.contains(reason)));
        match groups.iter_mut().find(|(achieved, _)| *achieved == had) {
            Some((_, states)) => states.push(state),
            None => groups.push((had, vec![state])),
        }
    }
    groups.retain(|(achieved, _)| *achieved != Achieved::Off);
    match groups.as_slice() {
        [(achieved, _)] => word(*achieved).to_owned(),
        _ => {
            let parts =
                groups.iter().map(|(achieved, states)| format!("{}: {}", states.join(", "), word(*achieved)));
            parts.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The matrix, its reasons, and the acts that prove it, as Markdown.
pub fn markdown() -> String {
    let mut text = String::from("| protection | by, at the full level | by, with Landlock only |");
    let mut reasons = Vec::new();
    for (title, _, _) in COLUMNS {
        let _ = write!(text, " {title} |");
    }
    text.push_str("\n|---|---|---|---|---|---|---|\n");
    for row in &MEANS {
        let _ = write!(text, "| {} | {} | {} |", name(row.protection), row.full, row.landlock_only);
        for (_, shape, abi) in COLUMNS {
            let _ = write!(text, " {} |", cell(row.protection, shape, abi, &mut reasons));
        }
        text.push('\n');
    }
    text.push_str("\nWhat is degraded, and why (the words of `jail.degraded`):\n\n");
    for reason in reasons {
        let _ = writeln!(text, "- {reason}");
    }
    text.push_str(
        "\nThe acts that `swbox doctor` tries for each, outside (they work) and inside (they must not):\n\n",
    );
    for protection in protection::ALL {
        let acts: Vec<_> = doctor::acts(protection).collect();
        let _ = writeln!(text, "- {}: {}", name(protection), acts.join("; "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces what stands between the markers of `name` in `file`, or checks that it is `wanted` already.
    fn in_sync(file: &str, name: &str, wanted: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->"));
        let from = text.find(&begin).unwrap() + begin.len();
        let to = from + text[from..].find(&end).unwrap();
        if std::env::var_os("SWBOX_BLESS").is_some() {
            std::fs::write(&path, format!("{}\n{wanted}\n{}", &text[..from], &text[to..])).unwrap();
        } else {
            let (had, wanted) = (text[from..to].trim(), wanted.trim());
            let first = had.lines().zip(wanted.lines()).find(|(had, wanted)| had != wanted);
            assert!(had == wanted, "{file} is old ({first:?}): run SWBOX_BLESS=1 cargo test --lib matrix");
        }
    }

    #[test]
    fn the_threat_model_has_the_matrix_of_the_code() {
        in_sync("docs/threat-model.md", "matrix", &markdown());
    }

    #[test]
    fn the_list_of_closed_system_calls_is_that_of_the_filter() {
        in_sync("docs/system-calls.md", "calls", &crate::jail::seccomp::markdown());
    }

    #[test]
    fn every_protection_has_its_means_and_an_act_that_proves_it() {
        for (row, protection) in MEANS.iter().zip(protection::ALL) {
            assert_eq!(row.protection, protection);
            assert!(doctor::acts(protection).count() > 0, "{}", name(protection));
        }
    }
}
