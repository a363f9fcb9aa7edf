//! Things to know before believing the figures of a case.

use std::fmt;

use super::MetricRecord;
use super::derive::Measured;
use crate::metric::{Course, ELSEWHERE, Observation, Reading, Taken};
use crate::run::{Repeat, TreeMemory};
use crate::stats;

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

/// One thing to know.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Warning {
    /// What a repeat said of itself, and which repeats said it; none when all did.
    Note {
        /// What it said.
        text: String,
        /// Numbers of the repeats.
        repeats: Vec<u32>,
    },
    /// A figure of a device is from a stand-in that computes nothing.
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
        /// How far off the median it lies, as a share of the median.
        off: f64,
        /// Its modified z-score.
        score: f64,
    },
    /// Peak memory is the largest sum that was sampled over several processes.
    SampledMemory(TreeMemory),
    /// The case took more memory than the plan expected of it.
    Memory {
        /// What was expected, in bytes.
        planned: u64,
        /// The median peak, in bytes.
        peak: f64,
    },
    /// A metric has no value in some repeats, or a collector gave none in any.
    Missing {
        /// The metric.
        metric: String,
        /// In how many repeats.
        absent: usize,
        /// Of how many.
        of: usize,
        /// Why, in the first of them.
        why: String,
    },
    /// The samples of most repeats are not level.
    Course(Course),
    /// The interval is not as narrow as was asked.
    OffTarget {
        /// Half the width that was asked, as a share.
        target: f64,
        /// What it is; `None` below six repeats.
        half: Option<f64>,
        /// What ran out.
        ended: &'static str,
    },
    /// The process waited so long for a processor that its wall times are not to be relied on.
    Waited {
        /// For which share of the wall time.
        share: f64,
        /// The metric that leads instead; `None` where it does not keep a processor busy.
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
    NoHeadline(String),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note { text, repeats } => write!(f, "{text}{}", within(repeats)),
            Self::FakeDevice(name) => f.write_str(&fake_device(name)),
            Self::FewRepeats(count) => {
                let repeats = if *count == 1 { "repeat gives" } else { "repeats give" };
                write!(f, "n < {FEW}: {count} {repeats} a median without an interval")
            }
            Self::Unsteady { metric, variation } => write!(
                f,
                "{metric} varies by {:.1} % over repeats (coefficient of variation, under {:.0} % asked): rerun on a \
                 quieter machine or with more repeats",
                variation * 100.0,
                UNSTEADY * 100.0
            ),
            Self::Outlier { repeat, metric, off, score } => write!(
                f,
                "repeat {repeat} is an outlier: its {metric} lies {:.1} % {} the median (modified z-score {:.1}); \
                 it is kept",
                off.abs() * 100.0,
                if *off < 0.0 { "below" } else { "above" },
                score.abs()
            ),
            Self::SampledMemory(tree) => write!(
                f,
                "peak_memory is sampled: the largest sum over up to {} processes that was seen, not an exact peak",
                tree.processes
            ),
            Self::Memory { planned, peak } => write!(
                f,
                "peak_memory is {:.0} MiB, the plan expected {:.0} MiB: the scenario's `needs` are more than {:.0} % off",
                peak / MEBIBYTE,
                *planned as f64 / MEBIBYTE,
                OFF * 100.0
            ),
            Self::Missing { metric, absent, of, why } => {
                write!(f, "{metric} has no value in {absent} of {of} repeats: {why}")
            }
            Self::Course(Course::Flat) => f.write_str("most repeats are level"),
            Self::Course(Course::Unsteady) => f.write_str(
                "most repeats never get steady: their samples drift, and no figure of them is one to go by",
            ),
            Self::Course(course) => write!(
                f,
                "most repeats are {} before they get steady: more --warmup would leave that out",
                course.name()
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
                    None => f.write_str(
                        "measure on a quieter machine, since CPU time does not tell what it takes",
                    ),
                }
            }
            Self::Uneven { least, most } => write!(
                f,
                "repeats have {least} to {most} iterations a sample: something disturbed their calibration, and what they \
                 measured is not alike; rerun on a quieter machine"
            ),
            Self::Nothing => f.write_str(
                "as fast as an empty loop: is the input a constant? use `std::hint::black_box` on the input, and return the \
                 result",
            ),
            Self::NoHeadline(metric) => {
                write!(f, "{metric} was to stand for the case and has no value: another metric stands for it")
            }
        }
    }
}

/// What every report of a run on a stand-in says.
pub(crate) fn fake_device(name: &str) -> String {
    format!("FAKE DEVICE: {name} is a stand-in, and its figures are of no device")
}

/// In which repeats something was seen; nothing is said of what was seen in all.
fn within(repeats: &[u32]) -> String {
    let numbers: Vec<String> = repeats.iter().map(ToString::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!(" (in repeat {})", numbers.join(", ")) }
}

/// That a figure is of a stand-in.
pub(super) fn stand_in(measured: &[Measured<'_>]) -> Option<Warning> {
    let devices = measured.iter().filter_map(|one| one.seen.device.as_ref());
    let device = devices.map(|device| &device.info).find(|info| info.stand_in)?;
    Some(Warning::FakeDevice(device.name.clone()))
}

/// Notes of the repeats, each once.
pub(super) fn notes(measured: &[(&Repeat, &[String])]) -> Vec<Warning> {
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
        Warning::Note { text: text.clone(), repeats }
    };
    found.into_iter().map(warn).collect()
}

/// What the values of the metric that stands for the case say of themselves. `numbers` are those of the
/// repeats.
pub(super) fn stability(headline: &MetricRecord, numbers: &[u32]) -> Vec<Warning> {
    let valued =
        headline.values.iter().zip(numbers).filter_map(|(reading, number)| Some((reading.value()?, *number)));
    let (values, numbers): (Vec<f64>, Vec<u32>) = valued.unzip();
    let mut found = Vec::new();
    if (1..FEW).contains(&values.len()) {
        found.push(Warning::FewRepeats(values.len()));
    }
    let variation = stats::coefficient_of_variation(&values);
    if variation >= UNSTEADY {
        found.push(Warning::Unsteady { metric: headline.name.clone(), variation });
    }
    if values.len() >= FEW_FOR_OUTLIERS {
        let centre = stats::median(&values);
        for ((score, value), repeat) in
            stats::modified_z_scores(&values).into_iter().zip(&values).zip(numbers)
        {
            if score.abs() > OUTLYING {
                let (metric, off) = (headline.name.clone(), (value - centre) / centre.abs());
                found.push(Warning::Outlier { repeat, metric, off, score });
            }
        }
    }
    found
}

/// From this factor on repeats of one body have no comparable samples.
const UNEVEN: u64 = 10;

/// Whether the repeats of a body have numbers of iterations a sample that differ tenfold.
pub(super) fn uneven(measured: &[&Observation]) -> Option<Warning> {
    let bodies = || measured.iter().filter(|seen| seen.taken == Some(Taken::Iterations));
    let iterations = || bodies().map(|seen| seen.iterations_per_sample);
    let (least, most) = (iterations().min()?, iterations().max()?);
    (most >= least.saturating_mul(UNEVEN) && most > least).then_some(Warning::Uneven { least, most })
}

/// Whether the measured peak is above what the plan expected. (A peak below it, of an adapter that needs less, is no
/// fault of the plan: the plan is for all adapters.)
pub(super) fn memory(planned: u64, metrics: &[MetricRecord]) -> Option<Warning> {
    let peak = metrics.iter().find(|metric| metric.name == "peak_memory")?.estimate?.median;
    (peak > planned as f64 * (1.0 + OFF)).then_some(Warning::Memory { planned, peak })
}

/// The largest tree that was seen, where any repeat had one of several processes.
pub(super) fn sampled_memory(measured: &[&Repeat]) -> Option<Warning> {
    let trees = measured.iter().filter_map(|repeat| repeat.tree).filter(|tree| tree.processes > 1);
    trees.max_by_key(|tree| tree.processes).map(Warning::SampledMemory)
}

/// A metric that only some repeats have; or one that a collector should give and none has.
pub(super) fn missing(metric: &MetricRecord) -> Option<Warning> {
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
    let collected = ["peak_memory", "memory_change", "bytes_read", "bytes_written"].contains(&name);
    let (absent, of) = (reasons.len(), metric.values.len());
    let why = (*reasons.first()?).clone();
    let missed = collected && why != ELSEWHERE;
    (absent < of || missed).then(|| Warning::Missing { metric: metric.name.clone(), absent, of, why })
}
