//! Things to know before believing the figures of a case: what its estimates say of themselves.
//!
//! The rules of `verify` look at evidence; these look at what was estimated from it, and so are found where
//! estimates are made. Both are findings.

use std::fmt;

use super::MetricRecord;
use super::derive::MeasuredRepeat;
use crate::metric::names;
use crate::metric::{ELSEWHERE, Observation, RanOut, Reading, SampleKind, Stationarity};
use crate::run::{Repeat, TreeMemory};
use crate::stats;
use crate::verify::{Figure, Finding, Severity};

/// Below this many repeats a median has no interval at 95 %.
const FEW: usize = 6;

/// From this coefficient of variation on a rerun is recommended: requirement of the field's CI gates.
const UNSTEADY: f64 = 0.10;

/// From this modified z-score on a repeat is called an outlier (Iglewicz and Hoaglin 1993).
const OUTLYING: f64 = 3.5;

/// Below this many repeats no repeat is called an outlier: three that agree closely by chance would make one
/// of the fourth.
const FEW_FOR_OUTLIERS: usize = 5;

/// A plan's memory may be off by this share of it.
const OFF: f64 = 0.25;

const MEBIBYTE: f64 = (1 << 20) as f64;

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
        "threads waited for a processor for a tenth of the wall time or more: wall times are unreliable",
        "measure on a quieter machine",
    ),
    kind(
        "unlike-repeats",
        "repeats differ tenfold in iterations a sample: something disturbed their calibration",
        "rerun on a quieter machine",
    ),
    kind(
        "unsettled",
        "samples warm up, slow down or never settle in most repeats",
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

/// One thing to know.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Caveat {
    /// A note of a repeat on itself, and which repeats made it; none when all did.
    Note {
        /// The note.
        text: String,
        /// Numbers of the repeats.
        repeats: Vec<u32>,
    },
    /// The data set was too small for a pass, in these repeats; none when in all.
    ShortData {
        /// The batches and the warm-up that a pass was to have.
        of: RanOut,
        /// Numbers of the repeats.
        repeats: Vec<u32>,
    },
    /// A figure of a device is from a fake that computes nothing.
    FakeDevice(String),
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
        ended: &'static str,
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
    /// The scenario wants another metric to stand for the case, and that has no value.
    NoPrimaryMetric(String),
}

impl Caveat {
    fn kind(&self) -> &'static CaveatKind {
        let name = match self {
            Self::FakeDevice(_) => "fake-device",
            Self::Nothing => "empty-loop",
            Self::NoPrimaryMetric(_) => "no-value",
            Self::Waited { .. } => "waited",
            Self::Uneven { .. } => "unlike-repeats",
            Self::Stationarity(_) => "unsettled",
            Self::Unsteady { .. } => "unsteady",
            Self::Outlier { .. } => "outlier",
            Self::OffTarget { .. } => "off-target",
            Self::FewRepeats(_) => "few-repeats",
            Self::Memory { .. } => "memory",
            Self::Missing { .. } => "missing",
            Self::SampledMemory(_) => "sampled-memory",
            Self::ShortData { .. } => "short-data",
            Self::Note { .. } => "note",
        };
        CAVEATS.iter().find(|kind| kind.name == name).expect("every kind is in the list")
    }

    /// The amount by which the caveat weighs, in percent or another unit, where there is one.
    fn figure(&self) -> Option<Figure> {
        let percent = |share: f64| Some(Figure { value: share * 100.0, unit: "%".into() });
        match self {
            Self::Unsteady { variation, .. } => percent(*variation),
            Self::Waited { share, .. } => percent(*share),
            Self::Outlier { off, .. } => percent(off.abs()),
            Self::OffTarget { half, .. } => percent((*half)?),
            Self::Memory { peak, .. } => Some(Figure { value: peak / MEBIBYTE, unit: "MiB".into() }),
            Self::SampledMemory(tree) => {
                Some(Figure { value: tree.processes as f64, unit: "processes".into() })
            }
            _ => None,
        }
    }

    /// As a finding.
    pub(super) fn finding(&self) -> Finding {
        let CaveatKind { name, remedy, .. } = *self.kind();
        let repeats = match self {
            Self::Note { repeats, .. } | Self::ShortData { repeats, .. } => repeats.clone(),
            Self::Outlier { repeat, .. } => vec![*repeat],
            _ => Vec::new(),
        };
        Finding {
            rule: name.to_owned(),
            severity: Severity::Caveat,
            repeats,
            detail: self.to_string(),
            remedy: remedy.to_owned(),
            figure: self.figure(),
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note { text, .. } => f.write_str(text),
            Self::ShortData { of, .. } => write!(
                f,
                "the data set is too small for a pass of {} batches after {} of warm-up: the epoch was begun \
                 again inside it",
                of.batches, of.warmup
            ),
            Self::FakeDevice(name) => f.write_str(&fake_device(name)),
            Self::FewRepeats(count) => {
                let repeats = if *count == 1 { "repeat gives" } else { "repeats give" };
                write!(f, "{count} {repeats} a median without an interval, which needs {FEW}")
            }
            Self::Unsteady { metric, variation } => write!(
                f,
                "{metric} varies by {:.1} % over repeats (coefficient of variation, under {:.0} % asked)",
                variation * 100.0,
                UNSTEADY * 100.0
            ),
            Self::Outlier { repeat, metric, off, score } => write!(
                f,
                "repeat {repeat} is an outlier: its {metric} lies {:.1} % {} the median (modified z-score \
                 {:.1}); it is kept",
                off.abs() * 100.0,
                if *off < 0.0 { "below" } else { "above" },
                score.abs()
            ),
            Self::SampledMemory(tree) => write!(
                f,
                "peak_memory is sampled: the largest sum over up to {} processes that was seen, not an exact \
                 peak",
                tree.processes
            ),
            Self::Memory { planned, peak } => write!(
                f,
                "peak_memory is {:.0} MiB, the plan expected {:.0} MiB: the scenario's `needs` are more than \
                 {:.0} % off",
                peak / MEBIBYTE,
                *planned as f64 / MEBIBYTE,
                OFF * 100.0
            ),
            Self::Missing { metric, absent, of, why } => {
                write!(f, "{metric} has no value in {absent} of {of} repeats: {why}")
            }
            Self::Stationarity(Stationarity::Flat) => f.write_str("most repeats are level"),
            Self::Stationarity(Stationarity::Unsteady) => f.write_str(
                "most repeats never get steady: their samples do not settle, and no figure of them is one to \
                 go by",
            ),
            Self::Stationarity(stationarity) => write!(
                f,
                "most repeats are {} before they get \
                steady",
                stationarity.name()
            ),
            Self::OffTarget { target, half, ended } => {
                let half =
                    half.map_or("no".to_owned(), |half| format!("plus or minus {:.1} %", half * 100.0));
                write!(f, "the {ended} ran out before the target of {} %: {half} interval", target * 100.0)
            }
            Self::Waited { share, instead } => {
                let share = share * 100.0;
                write!(
                    f,
                    "waited for a processor in {share:.0} % of the wall time: wall times are unreliable; "
                )?;
                match instead {
                    Some(metric) => write!(f, "{metric} leads instead"),
                    None => f.write_str("nothing tells what it takes without that"),
                }
            }
            Self::Uneven { least, most } => write!(
                f,
                "repeats have {least} to {most} iterations a sample: something disturbed their calibration, \
                 and what they measured is not alike"
            ),
            Self::Nothing => f.write_str("as fast as an empty loop: is the input a constant?"),
            Self::NoPrimaryMetric(metric) => {
                write!(f, "{metric} was to stand for the case and has no value: another metric stands for it")
            }
        }
    }
}

/// The sentence that every report of a run on a fake has.
pub(crate) fn fake_device(name: &str) -> String {
    format!("FAKE DEVICE: {name} is a fake, and its figures are of no device")
}

/// That a figure is of a fake.
pub(super) fn fake(measured: &[MeasuredRepeat<'_>]) -> Option<Caveat> {
    let devices = measured.iter().filter_map(|one| one.seen.device.as_ref());
    let device = devices.map(|device| &device.info).find(|info| info.fake)?;
    Some(Caveat::FakeDevice(device.name.clone()))
}

/// That the data set was too small for a pass.
pub(super) fn short_data(measured: &[MeasuredRepeat<'_>]) -> Option<Caveat> {
    let short = || measured.iter().filter_map(|one| Some((one.repeat.number, one.seen.ran_out?)));
    let (_, of) = short().next()?;
    let repeats: Vec<u32> = short().map(|(number, _)| number).collect();
    let repeats = if repeats.len() == measured.len() { Vec::new() } else { repeats };
    Some(Caveat::ShortData { of, repeats })
}

/// Notes of the repeats, each once.
pub(super) fn notes(measured: &[(&Repeat, &[String])]) -> Vec<Caveat> {
    let mut found: Vec<(&String, Vec<u32>)> = Vec::new();
    for (repeat, notes) in measured {
        for note in *notes {
            match found.iter_mut().find(|(text, _)| *text == note) {
                Some((_, repeats)) if repeats.contains(&repeat.number) => {}
                Some((_, repeats)) => repeats.push(repeat.number),
                None => found.push((note, vec![repeat.number])),
            }
        }
    }
    let warn = |(text, repeats): (&String, Vec<u32>)| {
        let repeats = if repeats.len() == measured.len() { Vec::new() } else { repeats };
        Caveat::Note { text: text.clone(), repeats }
    };
    found.into_iter().map(warn).collect()
}

/// Returns the caveats on the values of the primary metric. `numbers` are those of the repeats.
pub(super) fn stability(primary_metric: &MetricRecord, numbers: &[u32]) -> Vec<Caveat> {
    let valued = primary_metric
        .values
        .iter()
        .zip(numbers)
        .filter_map(|(reading, number)| Some((reading.value()?, *number)));
    let (values, numbers): (Vec<f64>, Vec<u32>) = valued.unzip();
    let mut found = Vec::new();
    if (1..FEW).contains(&values.len()) {
        found.push(Caveat::FewRepeats(values.len()));
    }
    let variation = stats::coefficient_of_variation(&values);
    if variation >= UNSTEADY {
        found.push(Caveat::Unsteady { metric: primary_metric.name.clone(), variation });
    }
    if values.len() >= FEW_FOR_OUTLIERS {
        let centre = stats::median(&values);
        for ((score, value), repeat) in
            stats::modified_z_scores(&values).into_iter().zip(&values).zip(numbers)
        {
            if score.abs() > OUTLYING {
                let (metric, off) = (primary_metric.name.clone(), (value - centre) / centre.abs());
                found.push(Caveat::Outlier { repeat, metric, off, score });
            }
        }
    }
    found
}

/// From this factor on repeats of one body have no comparable samples.
const UNEVEN: u64 = 10;

/// Tells whether the repeats of a body have numbers of iterations a sample that differ tenfold.
pub(super) fn uneven(measured: &[&Observation]) -> Option<Caveat> {
    let bodies = || measured.iter().filter(|seen| seen.taken == Some(SampleKind::Iterations));
    let iterations = || bodies().map(|seen| seen.iterations_per_sample);
    let (least, most) = (iterations().min()?, iterations().max()?);
    (most >= least.saturating_mul(UNEVEN) && most > least).then_some(Caveat::Uneven { least, most })
}

/// Tells whether the measured peak is above what the plan expected. (A peak below it, of an adapter that
/// needs less, is no fault of the plan: the plan is for all adapters.)
pub(super) fn memory(planned: u64, metrics: &[MetricRecord]) -> Option<Caveat> {
    let peak = metrics.iter().find(|metric| metric.name == names::PEAK_MEMORY)?.estimate?.median;
    (peak > planned as f64 * (1.0 + OFF)).then_some(Caveat::Memory { planned, peak })
}

/// The largest tree that was seen, where any repeat had one of several processes.
pub(super) fn sampled_memory(measured: &[&Repeat]) -> Option<Caveat> {
    let trees = measured.iter().filter_map(|repeat| repeat.tree).filter(|tree| tree.processes > 1);
    trees.max_by_key(|tree| tree.processes).map(Caveat::SampledMemory)
}

/// A metric that only some repeats have; or one that a collector should give and none has.
pub(super) fn missing(metric: &MetricRecord) -> Option<Caveat> {
    let reasons: Vec<&String> = metric
        .values
        .iter()
        .filter_map(|reading| match reading {
            Reading::Absent(why) => Some(why),
            Reading::Value(_) | Reading::Below(_) => None,
        })
        .collect();
    let name = metric.name.rsplit('/').next().unwrap_or_default();
    // The other metrics are absent for want of something that the scenario does not do, which is no fault.
    let collected =
        [names::PEAK_MEMORY, "memory_change", names::BYTES_READ, names::BYTES_WRITTEN].contains(&name);
    let (absent, of) = (reasons.len(), metric.values.len());
    let why = (*reasons.first()?).clone();
    let missed = collected && why != ELSEWHERE;
    (absent < of || missed).then(|| Caveat::Missing { metric: metric.name.clone(), absent, of, why })
}
