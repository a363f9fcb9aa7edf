//! How much one repeat measures, and what for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metric::Entry;

/// What a repeat is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Take samples.
    Measure,
    /// Take none; go through everything once and hash every element that is delivered.
    Verify,
    /// See that it works at all, on as little as possible.
    Smoke,
}

/// How much a repeat measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Batches (streamed items, or blocks of iterations) left out at the start of each pass.
    pub warmup: u64,
    /// Batches of one pass, and the least that is measured.
    pub batches: u64,
    /// Passes repeat until this much has been measured.
    pub min_time: Duration,
}

impl Limits {
    /// The least that shows that a case works: two batches.
    pub const SMOKE: Self = Self { warmup: 0, batches: 2, min_time: Duration::ZERO };
}

/// Where in its life a repeat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Making the adapter, the data, the pipeline.
    SetUp,
    /// Going through what is left out.
    WarmUp,
    /// Taking samples.
    Timed,
    /// All that comes after the last sample.
    TearDown,
}

impl Phase {
    /// What the time of the phase is charged to, where nothing tells it apart.
    pub(super) fn entry(self) -> Entry {
        match self {
            Self::SetUp => Entry::Data,
            Self::WarmUp => Entry::WarmUp,
            Self::Timed => Entry::Measured,
            Self::TearDown => Entry::TearDown,
        }
    }

    /// The phase as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::WarmUp => "warm-up",
            Self::Timed => "timed region",
            Self::TearDown => "tear-down",
        }
    }
}
