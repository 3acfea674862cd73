//! Oracles for the front end: bash itself is asked what it runs.
//!
//! Short runs are part of `cargo test`. Long ones:
//!
//! ```text
//! SWBOX_ORACLE_SECONDS=7200 cargo test --release --test oracle -- executed --nocapture
//! SWBOX_ORACLE_SECONDS=600  cargo test --release --test oracle -- mutated  --nocapture
//! ```
//!
//! `SWBOX_ORACLE_SEED` sets the first seed (a miss prints the seed of its script), `SWBOX_ORACLE_SKIP=pattern,…` skips
//! scripts that contain a pattern, and `SWBOX_ORACLE_WRAPPER` a command to run bash in, e.g.
//! `bwrap --ro-bind / / --dev /dev --tmpfs /tmp --unshare-all --die-with-parent --` (blanks separate its words). Without it
//! bash runs as it is, in a throw-away directory: its PATH holds nothing, and generated scripts redirect only to plain names.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod brush;
mod executed;
mod fragments;
mod generator;
mod matcher;
mod metamorphic;
mod mutated;
mod runner;
mod stands;
mod traced;

use std::time::{Duration, Instant};

/// How long or how much a test runs.
pub(crate) struct Budget {
    until: Option<Instant>,
    count: usize,
}

impl Budget {
    /// `SWBOX_ORACLE_SECONDS`, else a number of rounds.
    pub(crate) fn rounds(count: usize) -> Self {
        let seconds = std::env::var("SWBOX_ORACLE_SECONDS").ok().and_then(|text| text.parse().ok());
        Self { until: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)), count }
    }

    /// Whether a time was given.
    pub(crate) fn is_timed(&self) -> bool {
        self.until.is_some()
    }

    /// Whether the round with that number is still to run.
    pub(crate) fn allows(&self, round: usize) -> bool {
        self.until.map_or(round < self.count, |until| Instant::now() < until)
    }
}

/// The first seed.
pub(crate) fn seed() -> u64 {
    std::env::var("SWBOX_ORACLE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Real command lines.
pub(crate) fn corpus() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut lines = Vec::new();
    for name in ["agent-commands.jsonl", "human-commands.jsonl", "classify.jsonl"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.extend(entries.map(|entry| entry["cmd"].as_str().unwrap().to_owned()));
    }
    let hidden = std::fs::read_to_string(folder.join("hidden.txt")).unwrap();
    lines.extend(
        hidden
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(_, text)| text.replace('⏎', "\n").replace('→', "\t")),
    );
    lines
}
