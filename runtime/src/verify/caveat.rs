//! Things to know before believing the figures of a case: what its estimates say of themselves.
//!
//! Rules look at evidence. These are found where estimates are made, in `record`; both are findings.

use serde::{Deserialize, Serialize};

use crate::metric::{Note, RanOut, Stationarity};
use crate::run::TreeMemory;

/// A kind of thing to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaveatKind {
    /// Its name: the `rule` of its findings.
    pub name: &'static str,
    /// The statement for several cases together, with the bound from which on it is made.
    pub says: &'static str,
    /// The remedy; empty where nothing need be done.
    pub remedy: &'static str,
}

const fn kind(name: &'static str, says: &'static str, remedy: &'static str) -> CaveatKind {
    CaveatKind { name, says, remedy }
}

/// Every kind, the weightiest first.
pub const CAVEATS: &[CaveatKind] = &[
    kind(
        "surroundings",
        "repeats were measured in other surroundings than the first ones (`--resume --anyway`)",
        "measure anew",
    ),
    kind("ranks-differ", "ranks ran on machines or software that differ", "take machines that are alike"),
    kind(
        "ranks-apart",
        "ranks began the measured part more than 1 % of it apart",
        "measure for longer with `--min-time`, or leave a processor to each rank",
    ),
    kind("fake-device", "the device is a fake, and its figures are of no device", ""),
    kind(
        "empty-loop",
        "as fast as an empty loop: is the input a constant?",
        "use `std::hint::black_box` on the input, and return the result",
    ),
    kind(
        "no-value",
        "the metric that was to stand for the case has no value: another metric stands for it",
        "see why it is absent with `--verbose`",
    ),
    kind(
        "waited",
        "threads waited for a processor for a tenth of the wall time or more",
        "measure on a quieter machine",
    ),
    kind(
        "unlike-repeats",
        "repeats differ tenfold in iterations a sample: something disturbed their calibration",
        "rerun on a quieter machine",
    ),
    kind(
        "unsettled",
        "the later half of the samples is not what all of them are, in most repeats",
        "leave more out with `--warmup`, or measure for longer",
    ),
    kind(
        "unsteady",
        "repeats vary by a coefficient of variation of 10 % or more",
        "rerun on a quieter machine or with more repeats",
    ),
    kind(
        "outlier",
        "a repeat lies far off the others (modified z-score over 3.5, from five repeats on); it is kept",
        "",
    ),
    kind(
        "off-target",
        "the repeats ended before the interval was as narrow as `--target` asks",
        "allow for more time",
    ),
    kind(
        "own-loop",
        "a twentieth or more of an item's time is the worker's own loop: leads are given without it",
        "",
    ),
    kind("few-repeats", "a median has an interval from 6 repeats on", "`--repeats 6`"),
    kind(
        "memory",
        "peak memory is over a quarter above what the plan expected",
        "state it in the scenario's `needs`",
    ),
    kind("missing", "a metric has no value in some repeats", "see why with `--verbose`"),
    kind("sampled-memory", "the peak memory of several processes is the largest sum that was sampled", ""),
    kind(
        "short-data",
        "the data set is too small for a pass: the epoch was begun again inside it",
        "fewer `--samples`, or a larger data set",
    ),
    kind("note", "what a repeat said of itself", ""),
];

/// One thing to know, by its numbers. `report` has the words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// These repeats were measured in other surroundings than those in which the run began.
    Surroundings(Vec<u32>),
    /// A note of a repeat on itself.
    Note(Note),
    /// The data set was too small for a pass: the batches and the warm-up that it was to have.
    ShortData(RanOut),
    /// A figure of a device is from a fake that computes nothing.
    FakeDevice(String),
    /// So large a share of an item's time is the worker's own loop.
    OwnLoop(f64),
    /// Too few repeats for an interval.
    FewRepeats(usize),
    /// The repeats differ widely.
    Unsteady {
        /// The metric.
        metric: String,
        /// Its coefficient of variation over repeats.
        variation: f64,
    },
    /// A repeat lies far off the others. It is kept.
    Outlier {
        /// Its number.
        repeat: u32,
        /// The metric.
        metric: String,
        /// The distance from the median, as a share of the median.
        off: f64,
        /// Its modified z-score.
        score: f64,
    },
    /// Peak memory is the largest sum that was sampled over several processes.
    SampledMemory(TreeMemory),
    /// The case took more memory than the plan expected of it.
    Memory {
        /// The expected memory, in bytes.
        planned: u64,
        /// The median peak, in bytes.
        peak: f64,
    },
    /// A metric has no value in some repeats, or a collector gave none in any.
    Missing {
        /// The metric.
        metric: String,
        /// The number of repeats without a value.
        absent: usize,
        /// The number of all measured repeats.
        of: usize,
        /// The reason, in the first of them.
        why: String,
    },
    /// The samples of most repeats are not level.
    Stationarity(Stationarity),
    /// The interval is not as narrow as was asked.
    OffTarget {
        /// Half the width that was asked, as a share.
        target: f64,
        /// Half the width that it has, as a share; `None` below six repeats.
        half: Option<f64>,
        /// The limit that ended the repeats.
        ended: SpentLimit,
    },
    /// The process waited so long for a processor that its wall times are not to be relied on.
    Waited {
        /// The share of the wall time that it waited.
        share: f64,
        /// The metric that leads instead; `None` where nothing tells what it takes without the waiting.
        instead: Option<String>,
    },
    /// The repeats have numbers of iterations a sample that differ tenfold.
    Uneven {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The body cannot be told from the empty loop.
    Nothing,
    /// Ranks differ from rank 0 in these facts.
    RanksDiffer(Vec<String>),
    /// Ranks began the measured part apart from each other.
    Skew {
        /// From the first to the last, in nanoseconds.
        spread: u64,
        /// The measured part, in nanoseconds.
        region: u64,
        /// The rank that the others had waited for.
        last: usize,
    },
    /// The scenario wants another metric to stand for the case, and that has no value.
    NoPrimaryMetric(String),
}

/// A limit that ends repeats before the target that they were to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpentLimit {
    /// The most repeats were run.
    Repeats,
    /// The budget of the run was spent.
    Budget,
}

impl Caveat {
    /// Below this many repeats a median has no interval at 95 %.
    pub(crate) const FEW: usize = 6;

    /// From this coefficient of variation on a rerun is recommended: requirement of the field's CI gates.
    pub(crate) const UNSTEADY: f64 = 0.10;

    /// From this share of the measured part on it matters that ranks began it apart.
    pub(crate) const APART: f64 = 0.01;

    /// A plan's memory may be off by this share of it.
    pub(crate) const OFF: f64 = 0.25;

    pub(super) fn kind(&self) -> &'static CaveatKind {
        let name = match self {
            Self::Surroundings(_) => "surroundings",
            Self::RanksDiffer(_) => "ranks-differ",
            Self::Skew { .. } => "ranks-apart",
            Self::FakeDevice(_) => "fake-device",
            Self::Nothing => "empty-loop",
            Self::NoPrimaryMetric(_) => "no-value",
            Self::Waited { .. } => "waited",
            Self::Uneven { .. } => "unlike-repeats",
            Self::Stationarity(_) => "unsettled",
            Self::Unsteady { .. } => "unsteady",
            Self::Outlier { .. } => "outlier",
            Self::OffTarget { .. } => "off-target",
            Self::OwnLoop(_) => "own-loop",
            Self::FewRepeats(_) => "few-repeats",
            Self::Memory { .. } => "memory",
            Self::Missing { .. } => "missing",
            Self::SampledMemory(_) => "sampled-memory",
            Self::ShortData(_) => "short-data",
            Self::Note(_) => "note",
        };
        CAVEATS.iter().find(|kind| kind.name == name).expect("every kind is in the list")
    }
}
