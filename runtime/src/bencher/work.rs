//! The work report: what a subject says it did, beside what the harness saw it deliver.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Content, visible_in_line};

/// The subject's report of its work.
///
/// ```
/// use weighbridge::{Delivery, Operator, WorkReport};
///
/// let report = WorkReport {
///     transforms: vec!["decode".to_owned(), "resize".to_owned()],
///     operators: vec![Operator::Native, Operator::Ours],
///     ran_on: "cpu".to_owned(),
///     synchronised: "returns when ready".to_owned(),
///     workers: 4,
///     ..WorkReport::default()
/// };
/// assert_eq!(report.delivery, Delivery::Owned);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkReport {
    /// Digest of the input data set. Must agree with the reference's always.
    pub input: Option<String>,
    /// The transforms it executed, in order.
    pub transforms: Vec<String>,
    /// Whose operator did each of them; empty where that is not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Operator>,
    /// The library that the operators are of, with its version, where that is not the system itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Facts of its process that may differ between systems though their work is equal: versions, threads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The device it ran on: `cpu`, `cuda:0`; and the one it delivered to, if another: `cuda:0, delivered to
    /// cpu`.
    pub ran_on: String,
    /// The way in which a batch was waited for: `returns when ready`, `stream synchronised`.
    pub synchronised: String,
    /// The form in which the consumer gets a batch: memory of its own, a view, or on the device.
    pub delivery: Delivery,
    /// Worker threads or processes that it really had.
    pub workers: u64,
    /// The entry point that handed the batches out, its origin and its version: of a system that is not the
    /// adapter itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_point: Option<String>,
    /// The reason why its work is not equal to the reference's, where the adapter says so itself: listed
    /// apart, no failure.
    pub unequal: Option<String>,
    /// The reason why nothing tells whether its work is right, where the scenario says so, with what would:
    /// not ranked, no failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

impl WorkReport {
    /// With its words as they may be shown.
    pub(super) fn visible(mut self) -> Self {
        let words = self.transforms.iter_mut().chain([&mut self.ran_on, &mut self.synchronised]);
        for word in words
            .chain(&mut self.input)
            .chain(&mut self.library)
            .chain(&mut self.entry_point)
            .chain(&mut self.unequal)
            .chain(&mut self.unverified)
        {
            *word = visible_in_line(word);
        }
        let environment = std::mem::take(&mut self.environment).into_iter();
        self.environment =
            environment.map(|(name, fact)| (visible_in_line(&name), visible_in_line(&fact))).collect();
        self
    }
}

/// Whose code does a transform. Systems that call one shared function differ in how they feed it, and in
/// nothing else.
///
/// ```
/// use weighbridge::Operator;
///
/// assert_eq!(Operator::ALL.map(Operator::name), ["native", "shared numpy", "ours"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operator {
    /// The system's own, or that of a library which its users take beside it.
    #[serde(rename = "native")]
    Native,
    /// A function in `NumPy` that every system is given alike.
    #[serde(rename = "shared numpy")]
    SharedNumpy,
    /// Code of whoever wrote the benchmark, compiled into it.
    #[serde(rename = "ours")]
    Ours,
}

impl Operator {
    /// All of them, in the order in which pages have them.
    pub const ALL: [Self; 3] = [Self::Native, Self::SharedNumpy, Self::Ours];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::SharedNumpy => "shared numpy",
            Self::Ours => "ours",
        }
    }
}

/// The form in which the consumer gets a batch.
///
/// ```
/// use weighbridge::Delivery;
///
/// assert_eq!((Delivery::View.place(), Delivery::Device.place()), ("the host", "the device"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// A buffer that holds until the consumer lets it go.
    #[default]
    Owned,
    /// A view of memory that the loader keeps: valid until the next batch is asked for.
    View,
    /// A buffer in a device's memory, complete there. Who delivers to the host has a transfer more, and does
    /// other work.
    Device,
}

impl Delivery {
    /// The memory that a batch is in when it is handed over, in words.
    pub fn place(self) -> &'static str {
        match self {
            Self::Owned | Self::View => "the host",
            Self::Device => "the device",
        }
    }
}

/// The work of one repeat: what was said and what was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The subject's own report of its work.
    pub report: WorkReport,
    /// The content that was seen: everything in an unmeasured repeat, the held-back batches in a measured
    /// one.
    pub content: Content,
}
