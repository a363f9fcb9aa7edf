//! What a repeat leaves for the rules of the stage `verify`: what was seen of a subject's honesty, and no
//! judgement.

use serde::{Deserialize, Serialize};

use super::{FileUse, MomentsByField};

/// The evidence of one repeat. It is journalled with the repeat, so that a stored run can be judged again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The content that an epoch must have.
    pub expected: Option<ExpectedEpoch>,
    /// Batches that did not hold what they must.
    pub miscounted: Option<Miscount>,
    /// Elements that a worker says its measured batches have.
    pub claimed: Option<u64>,
    /// The number of times that the epoch was begun for the measured passes.
    pub begun: u64,
    /// The amount that was copied out of measured passes and verified.
    pub spots: Spots,
    /// The comparison of those copies with the reference; `None` where there is nothing to compare with.
    pub compared: Option<ReferenceComparison>,
    /// The time of the repeat by two clocks.
    #[serde(default)]
    pub clocks: Option<ClockPair>,
    /// All elements of one more epoch after the measured ones, where their order is free. The parent compares
    /// them and keeps what comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_epoch: Option<EpochSum>,
    /// Reading answers of a body; `None` where it hands none in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerReading>,
    /// An epoch without a stop.
    pub unstopped: Option<UnstoppedEpoch>,
    /// Whole lives of the pipeline, in the order in which they were timed.
    #[serde(default)]
    pub lives: Vec<LifePair>,
    /// A worker's account of its time, beside what the harness saw of it.
    pub account: Option<Account>,
    /// Nanoseconds that a loop of the author's own claimed and those that passed, where it claimed more than
    /// all processors had.
    pub overclaimed: Option<(u64, u64)>,
    /// True if the samples are what the author's own loop or measurement says, whatever passed meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stated: bool,
    /// Memory that opening the pipeline made, in bytes; `None` where it is not known.
    pub grown: Option<u64>,
    /// True if a pipeline over a small part of the data had been opened in that process before, so that what
    /// is made once is no part of it.
    #[serde(default)]
    pub reopened: bool,
    /// The priority of the harness, and the highest of the case's threads when its measured part was over:
    /// less is higher.
    #[serde(default)]
    pub priority: Option<[i64; 2]>,
    /// The number of processors that the case's threads might be on and the harness might not, at that
    /// moment.
    #[serde(default)]
    pub processors_beyond: Option<u32>,
    /// Processor time of this process, and of those that it waited for, while the pipeline was opened, in
    /// nanoseconds; `None` where nothing was opened here.
    pub opening: Option<u64>,
    /// The cost of coming to a stream: import, conversion, set-up, compilation.
    pub costs: Costs,
    /// The subject's use of files; `None` where it is not known.
    pub files: Option<FileUse>,
    /// Nanoseconds of the fastest copy of as many bytes as a batch has, from cache to cache on this machine.
    pub copy: Option<f64>,
    /// Nanoseconds of a page fault on this machine.
    pub page_fault: Option<u64>,
    /// True if this process has a graphics processor open; `None` where the system does not say.
    pub gpu_open: Option<bool>,
    /// True if batches lie in the memory of the data set; `None` where it was not looked at.
    pub view: Option<bool>,
}

/// The cost of coming to a stream, in nanoseconds; `None` where there is no such step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// Importing the system.
    pub import: Option<u64>,
    /// Bringing the data into the system's own format.
    pub convert: Option<u64>,
    /// Making the pipeline.
    pub set_up: Option<u64>,
    /// Compiling it.
    pub compile: Option<u64>,
}

/// The content of an epoch, as it follows from the specification of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedEpoch {
    /// Elements of an epoch.
    pub elements: u64,
    /// Elements of a batch; the last one is short.
    pub batch: u64,
    /// Bytes of all delivered elements.
    pub bytes: u64,
    /// Bytes of the elements as they lie in the data set.
    pub source: u64,
    /// True if there is anything to be prepared.
    pub transforms: bool,
    /// True if batches come in the order of the epoch.
    pub in_order: bool,
    /// True if the data set is handed over in memory, so that no file need be read.
    pub in_memory: bool,
    /// The number of workers that make batches, each of a part of the epoch with a last batch of its own,
    /// where the order is lost.
    pub makers: u64,
    /// True if the work asks for prepared elements to be kept from one epoch to the next.
    pub keeps: bool,
    /// True if each epoch that is begun has draws of its own, so that none has the numbers of the epoch that
    /// was verified.
    #[serde(default)]
    pub renewed: bool,
}

/// Rows that are padded to the longest of their batch may have so many times the bytes of the specification's
/// at most.
const PADDED: u64 = 4;

impl ExpectedEpoch {
    /// Batches of an epoch.
    #[inline]
    pub fn batches(&self) -> u64 {
        self.elements.div_ceil(self.batch.max(1))
    }

    /// The most batches that an epoch may be handed out in: each that makes batches may end with a short one.
    pub fn most_batches(&self) -> u64 {
        self.batches().saturating_add(self.short_ones() - 1)
    }

    /// Tells whether so many batches may hold so many elements: of a whole epoch all of them, of a part no
    /// more than there can be.
    pub fn holds(&self, elements: u64, batches: u64, whole: bool) -> bool {
        let right = if whole { elements == self.elements } else { elements <= self.elements };
        right && batches <= self.most_batches() && elements <= batches.saturating_mul(self.batch)
    }

    /// Tells whether so many elements may have so many bytes: those of the specification, or of rows that are
    /// padded.
    pub fn fits(&self, elements: u64, bytes: u64) -> bool {
        let row = self.bytes.div_ceil(self.elements.max(1));
        elements.checked_mul(row * PADDED).is_some_and(|most| bytes <= most)
    }

    /// The most batches of an epoch that may be short.
    fn short_ones(&self) -> u64 {
        if self.in_order { 1 } else { self.makers.max(1) }
    }

    /// Elements of the `at`-th batch, from 0; none after the last.
    #[inline]
    pub fn elements_of(&self, at: u64) -> u64 {
        self.elements.saturating_sub(at.saturating_mul(self.batch)).min(self.batch)
    }

    /// Tells whether a batch of so many elements may stand at this place: where the order is lost, the short
    /// one may be anywhere, and of any size where several make batches of their own.
    #[inline]
    pub(super) fn allows(&self, at: u64, elements: u64) -> bool {
        elements == self.elements_of(at)
            || !self.in_order
                && (elements == self.batch.min(self.elements)
                    || elements == self.elements_of(self.batches() - 1)
                    || self.short_ones() > 1 && (1..self.batch).contains(&elements))
    }
}

/// Batches that did not hold what they must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miscount {
    /// The number of batches.
    pub batches: u64,
    /// The place of the first one in its epoch, from 0.
    pub at: u64,
    /// Elements that it said it had.
    pub said: u64,
    /// Elements that it must have.
    pub expected: u64,
    /// Elements that a copy of it held, where it was copied whole and held others than it said.
    pub held: Option<u64>,
}

/// The amount that was copied out of measured passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spots {
    /// Passes of which at least one batch was.
    pub passes: u64,
    /// Batches, whole or in part.
    pub batches: u64,
    /// Elements.
    pub elements: u64,
}

/// Hashes and moments of the elements that were copied out of one batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spot {
    /// The batch's place in its epoch, from 0; `None` where it is not known.
    pub at: Option<u64>,
    /// The first of the elements within the batch.
    pub first: u64,
    /// The epoch that it is of, among those of its repeat; `None` where it is not known.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// Their hashes by the run's key.
    pub hashes: Hashes,
    /// Moments of their numbers, by field.
    pub moments: MomentsByField,
}

impl Spot {
    /// For tests of what is compared.
    #[cfg(test)]
    pub(crate) fn of_hashes(hashes: &[u128]) -> Self {
        Self {
            at: None,
            first: 0,
            epoch: None,
            hashes: Hashes(hashes.to_vec()),
            moments: MomentsByField::new(),
        }
    }
}

/// Hashes of elements, one after the other: 32 hexadecimal digits each on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hashes(pub(crate) Vec<u128>);

impl From<Hashes> for String {
    fn from(hashes: Hashes) -> Self {
        hashes.0.iter().map(|hash| format!("{hash:032x}")).collect()
    }
}

impl TryFrom<String> for Hashes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || "hashes are 32 hexadecimal digits each".to_owned();
        let (whole, rest) = text.as_bytes().as_chunks::<32>();
        if !rest.is_empty() {
            return Err(wrong());
        }
        let hash = |digits: &[u8; 32]| {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            u128::from_str_radix(digits, 16).map_err(|_| wrong())
        };
        whole.iter().map(hash).collect::<Result<_, _>>().map(Self)
    }
}

/// A repeat's elements beside the reference's: told by the parent, which alone has the
/// reference's hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReferenceComparison {
    /// Elements that were looked at in measured passes.
    pub elements: u64,
    /// Of them, those that are not the reference's; in order, those that are not what the reference has at
    /// their place.
    pub strangers: u64,
    /// Different places in the epoch that were looked at.
    pub places: u64,
    /// Different elements that were found there.
    pub distinct: u64,
    /// Those that were found more often within one epoch than the reference has them, where the order of
    /// elements is free: there an element may stand anywhere, and stands nowhere else in its epoch.
    #[serde(default)]
    pub again: u64,
    /// The number of elements, each seen once, that say as much of the mean as those that were looked at:
    /// `(sum n)^2 / sum n^2` over the different ones, each seen `n` times (Kish 1965).
    pub independent: f64,
    /// The share of distinct elements among the reference's.
    pub unique: f64,
    /// Moments of what the reference has where a measured repeat was looked at, by field: of its batches
    /// there, each as often as elements of it were looked at. Empty where the order of elements is free, so
    /// that any element may stand anywhere.
    #[serde(default, skip_serializing_if = "MomentsByField::is_empty")]
    pub there: MomentsByField,
    /// Reading the reference's answers, where it is a body that hands some in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerReading>,
    /// The places of copies that a part of a batch was drawn for, out of measured passes.
    #[serde(default)]
    pub drawn: DrawnPlaces,
    /// True if a whole epoch has the reference's elements; `None` in a measured repeat whose order is not
    /// free.
    pub same: Option<bool>,
}

/// Places of copies of a part of a batch: where they were drawn they are different ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnPlaces {
    /// Copies.
    pub copies: u64,
    /// Different batches of the epoch among them.
    pub batches: u64,
    /// Different first elements within a batch.
    pub firsts: u64,
    /// The number of elements of a batch that could have been the first one.
    pub room: u64,
}

/// Answers of a body that were read, outside its time. Medians over the looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerReading {
    /// Answers that were read in a look.
    pub count: u64,
    /// Nanoseconds by which reading one for the first time took longer than reading it again.
    pub late: f64,
    /// Nanoseconds of reading it again.
    pub again: f64,
    /// The beginning of the answer to the first known input; empty where that was not asked for.
    pub shown: String,
}

/// A time by two clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockPair {
    /// By the clock of the process, which everything is timed by.
    pub own: u64,
    /// By the kernel's own count, in steps of 10 ms.
    pub kernel: u64,
}

/// A whole epoch, reduced to what no order changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochSum {
    /// The number of elements.
    pub elements: u64,
    /// The sum, with wrap-around, of their hashes by the run's key: two halves of 64 bits, the upper first.
    pub sum: (u64, u64),
}

impl EpochSum {
    /// Adds elements by their hashes.
    pub(crate) fn add(&mut self, hashes: &[u128]) {
        let sum = hashes.iter().fold(self.of_hashes(), |sum, hash| sum.wrapping_add(*hash));
        self.sum = ((sum >> 64) as u64, sum as u64);
        self.elements += hashes.len() as u64;
    }

    /// Of elements with these hashes.
    pub(crate) fn of<'a>(hashes: impl Iterator<Item = &'a u128>) -> Self {
        let mut sum = Self::default();
        hashes.for_each(|hash| sum.add(std::slice::from_ref(hash)));
        sum
    }

    /// The sum of the hashes.
    pub(crate) fn of_hashes(&self) -> u128 {
        u128::from(self.sum.0) << 64 | u128::from(self.sum.1)
    }
}

impl ReferenceComparison {
    /// The number of elements that count where a mean is judged: at least one.
    pub(crate) fn sample(&self) -> f64 {
        self.independent.min(self.elements as f64).max(1.0)
    }
}

/// An epoch without a stop: the first thing that a measured repeat does. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnstoppedEpoch {
    /// From before it was begun to the end of its last batch.
    pub wall: u64,
    /// Until it was begun.
    pub begin: u64,
    /// From there to the end of the first batch.
    pub first: u64,
    /// Elements of all its batches, by the specification where there is one.
    pub elements: u64,
    /// Batches.
    pub batches: u64,
    /// True if it came to the epoch's end.
    pub ended: bool,
    /// Time that copies took, with the clock running.
    pub copied: u64,
    /// Time on a processor of all who worked on it; `None` where it is not known.
    pub cpu: Option<u64>,
    /// Time that they waited for a processor.
    pub wait: Option<u64>,
    /// Page faults meanwhile.
    pub faults: u64,
    /// Different addresses that batches had, where they lie in this process.
    pub addresses: u64,
    /// Bytes from the lowest of them to the highest.
    pub span: u64,
    /// Time that passed meanwhile by the harness's clock; `None` where the times are of that clock.
    pub passed: Option<u64>,
}

/// The life of a pipeline. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineLife {
    /// Elements that it delivered.
    pub elements: u64,
    /// Its length.
    pub wall: u64,
    /// Time on a processor of all threads.
    pub cpu: u64,
    /// Time that threads waited for a processor; `None` where it is not known.
    pub wait: Option<u64>,
    /// Page faults meanwhile.
    pub faults: u64,
}

/// Two lives that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifePair {
    /// The life over all data.
    pub whole: PipelineLife,
    /// The life over a part.
    pub part: PipelineLife,
}

/// A worker's account of a measured run, beside what the harness saw. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// From the request to the answer, by the harness's clock.
    pub passed: u64,
    /// The account that the worker gives of the time: it must add up to `passed`.
    pub claimed: u64,
    /// CPU time of its processes meanwhile, read by the harness; `None` where the system does not tell.
    pub cpu: Option<u64>,
    /// True if that is the time of all its processes: none that was there at the request had gone at the
    /// answer.
    pub all_seen: bool,
    /// CPU time that it says they used while its clock ran and while it stood.
    pub cpu_claimed: Option<u64>,
    /// The sum of its samples.
    pub samples: u64,
    /// The time that it says that its clock ran.
    pub wall: u64,
    /// The number of samples there are.
    pub count: u64,
    /// Wall and processor time while its clock stood.
    pub stopped: StoppedClock,
    /// CPU time while its clock ran.
    pub running: Option<u64>,
    /// True if its samples are whole passes.
    pub whole_pass: bool,
    /// Audits of some batches: work that was pending on a device after their last stamp.
    pub audits: Vec<Audit>,
    /// Nanoseconds of the median batch.
    pub batch: u64,
    /// The most processes of it that were seen; `None` where it is not known.
    pub processes: Option<u64>,
    /// The number of processors that it could be on; `None` where it is not known.
    pub processors: Option<u32>,
    /// Time to begin all epochs; `None` where it is not known.
    pub begins: Option<u64>,
    /// Time in which something was compiled for this run alone.
    pub compile: Option<u64>,
    /// True if it hands batches out on a device: then there are audits.
    #[serde(default)]
    pub on_device: bool,
}

/// The time that it took, once a batch was handed out and its time was taken, until its device was done with
/// it, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Waiting for the device.
    pub waited: u64,
    /// Waiting once more, when there was nothing to wait for: what it costs to ask.
    pub again: u64,
}

/// The time while the clock stood, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedClock {
    /// The time that it stood.
    pub wall: Option<u64>,
    /// Time on a processor of all.
    pub cpu: Option<u64>,
    /// Time on a processor of all but the thread of the loop.
    pub others: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: ExpectedEpoch = ExpectedEpoch {
        elements: 1000,
        batch: 64,
        bytes: 1000 * 768,
        source: 1000 * 768,
        transforms: true,
        in_order: true,
        in_memory: true,
        makers: 1,
        keeps: false,
        renewed: false,
    };

    #[test]
    fn an_epoch_that_was_timed_has_all_of_its_elements_and_a_part_no_more() {
        assert!(IMAGES.holds(1000, 16, true) && IMAGES.holds(640, 10, false));
        for (elements, batches, whole) in
            [(990, 16, true), (1001, 16, false), (641, 10, false), (1000, 17, true)]
        {
            assert!(!IMAGES.holds(elements, batches, whole), "{elements} in {batches}");
        }
        let by_three = ExpectedEpoch { in_order: false, makers: 3, ..IMAGES };
        assert!(by_three.holds(1000, 18, true), "each of three ends with a short batch");
        assert!(!by_three.holds(1000, 19, true), "and no batch besides");
        assert!(!ExpectedEpoch { in_order: true, ..by_three }.holds(1000, 17, true), "in order there is one");
        assert!(!IMAGES.holds(u64::MAX, u64::MAX, false), "and nothing wraps");
    }

    #[test]
    fn bytes_are_those_of_the_specification() {
        assert!(IMAGES.fits(640, 640 * 768), "its own");
        assert!(IMAGES.fits(640, 640 * 768 * 2), "padded");
        for (elements, bytes) in [(640, u64::MAX), (u64::MAX, 1), (0, 1)] {
            assert!(!IMAGES.fits(elements, bytes), "{bytes} bytes");
        }
    }
}
