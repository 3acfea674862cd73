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

mod executed;
mod generator;
mod matcher;
mod mutated;
mod runner;
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

    /// Whether the round with that number is still to run.
    pub(crate) fn allows(&self, round: usize) -> bool {
        self.until.map_or(round < self.count, |until| Instant::now() < until)
    }
}

/// The first seed.
pub(crate) fn seed() -> u64 {
    std::env::var("SWBOX_ORACLE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
