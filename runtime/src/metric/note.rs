//! Things that a repeat says of itself.

use serde::{Deserialize, Serialize};

/// A thing worth knowing about how the samples of a repeat came about. `report` has the words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The words of a scenario.
    Scenario(String),
    /// A slowdown was planted: of so many iterations, so many ran twice.
    PlantedSlowdown {
        /// Iterations that ran twice.
        twice: u64,
        /// All iterations.
        of: u64,
    },
    /// A body is so slow that fewer samples fit than were asked for.
    FewSamples {
        /// Samples that were asked for.
        asked: u64,
        /// Nanoseconds that the samples of a repeat may take.
        time: u64,
        /// Seconds in which all of them fit.
        needed: f64,
        /// Seconds of a timeout in which they do, where the present one is too short.
        timeout: Option<f64>,
    },
    /// A body is so slow that a second iteration does not fit the timeout, in nanoseconds.
    OneSample(u64),
    /// Collectors of `measure` blocks in a body on a device took so long a body, in nanoseconds.
    Collectors(f64),
    /// The first call of a body took far longer than those that were measured; both in nanoseconds.
    FirstCall {
        /// The first call.
        first: u64,
        /// A measured one.
        each: f64,
    },
    /// Dropping results takes longer than the calls that made them, outside the clock; both in nanoseconds.
    Dropping {
        /// All that was dropped.
        dropped: u64,
        /// All calls.
        called: u64,
    },
    /// A loop of the author's own states a small part of the time that it took; both in nanoseconds.
    LittleStated {
        /// The time that it states.
        stated: u64,
        /// The time that passed.
        passed: u64,
    },
    /// Batches are made many at a time: a pass has so many of them.
    Chunks(u64),
    /// Beginning an epoch takes too long for what was asked; all in nanoseconds.
    LongBeginning {
        /// For how long the clock stood.
        stood: u64,
        /// For how long it ran.
        measured: u64,
        /// For how long it was to run.
        asked: u64,
    },
    /// A value that is no finite number was left out.
    NotFinite {
        /// The metric.
        metric: String,
        /// The rank that it is of, where it is of one.
        rank: Option<usize>,
        /// The value.
        value: String,
    },
    /// The name of a metric was cut to this.
    CutName(String),
    /// More metrics than so many were handed in.
    ManyMetrics(usize),
    /// More values than so many were handed in.
    ManyValues(usize),
    /// Another thread than the measuring one panicked, with these words, and the body went on.
    ThreadPanic(String),
    /// The body left so many copies of its process (`fork` without `exec`).
    Copies(usize),
}
